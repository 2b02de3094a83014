//! Names of functions to which debug information gives no symbol, made of the scopes in which they are declared.
//!
//! GCC states no symbol for what only one source file knows: lambdas, members of local classes, static functions. Their names
//! are written as demangled symbols are, so that a function has one name where it was inlined and where it was not:
//! `main::{lambda(long)#1}::operator()`.
#![deny(clippy::indexing_slicing)]

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use gimli::{
    AttributeValue, DebuggingInformationEntry, DwLang, DwTag, Dwarf, EndianRcSlice, Reader as _, RunTimeEndian, Unit,
    UnitHeader, UnitOffset, UnitRef,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::readable::without_defaults;
use super::stem::ANONYMOUS;

type Slice = EndianRcSlice<RunTimeEndian>;
type Entry = DebuggingInformationEntry<Slice>;

/// Entries of all units that are kept, 16 bytes each.
const ENTRIES_MOST: usize = 8 << 20;
/// References between the entries of one function, one scope in another, and types of types.
const DEPTH_MOST: usize = 32;
/// Longer lists of parameters are left out.
const NAME_BYTES_MOST: usize = 4096;

/// Entries that are read for one name: types may refer to each other in circles.
const ENTRIES_FOR_NAME: u32 = 100_000;

/// The name of a function within its namespaces, classes and functions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScopedName {
    /// Without parameters.
    pub(super) short: String,
    /// With parameters, also those of the functions in which it is declared.
    pub(super) with_parameters: String,
    /// Another function of the unit has the same name without parameters.
    pub(super) is_overloaded: bool,
    /// The identifiers that its symbol would begin with.
    pub(super) identifiers: Vec<String>,
}

/// The name of a function, if it has one that is made of scopes.
type Known = Option<Rc<ScopedName>>;

/// Names of functions of one file, made when they are first requested.
#[derive(Default)]
pub(super) struct Scopes {
    /// By the address of the unit and the offset in it.
    names: RefCell<FxHashMap<(usize, usize), Known>>,
    units: RefCell<FxHashMap<usize, Rc<Tree>>>,
    entries: Cell<usize>,
    headers: RefCell<Option<Rc<[UnitHeader<Slice>]>>>,
    referenced: RefCell<FxHashMap<usize, Rc<Unit<Slice>>>>,
}

/// Entries of one unit that may be scopes, in the order of their offsets.
struct Tree {
    nodes: Vec<Node>,
    /// How many functions of one name a scope has.
    overloads: RefCell<FxHashMap<Option<u32>, Rc<Overloads>>>,
    /// Names of lambdas and unnamed types.
    unnamed: RefCell<FxHashMap<u32, String>>,
    /// Scopes whose unnamed types are being numbered.
    numbering: RefCell<FxHashSet<Option<u32>>>,
}

/// Functions of one scope, by name.
type Overloads = FxHashMap<String, usize>;

struct Node {
    offset: usize,
    parent: Option<u32>,
    tag: DwTag,
}

impl Tree {
    fn read(unit: UnitRef<'_, Slice>, most: usize) -> gimli::Result<Tree> {
        let mut nodes: Vec<Node> = Vec::new();
        let mut above: Vec<(isize, u32)> = Vec::new();
        // The skeleton of a split unit states no language.
        let language = unit.entry(unit.header.root_offset())?.attr_value(gimli::DW_AT_language);
        let most =
            if matches!(language, Some(AttributeValue::Language(language)) if has_scopes(language)) { most } else { 0 };
        let mut entries = unit.entries_raw(None)?;
        while !entries.is_empty() && nodes.len() < most {
            let (offset, depth) = (entries.next_offset(), entries.next_depth());
            let Some(abbreviation) = entries.read_abbreviation()? else { continue };
            entries.skip_attributes(abbreviation.attributes())?;
            let tag = abbreviation.tag();
            if !is_scope(tag) {
                continue;
            }
            while above.last().is_some_and(|&(last, _)| last >= depth) {
                above.pop();
            }
            let parent = above.last().map(|&(_, index)| index);
            if abbreviation.has_children() {
                above.push((depth, nodes.len() as u32));
            }
            nodes.push(Node { offset: offset.0, parent, tag });
        }
        Ok(Tree { nodes, overloads: RefCell::default(), unnamed: RefCell::default(), numbering: RefCell::default() })
    }

    fn index(&self, offset: UnitOffset<usize>) -> Option<u32> {
        self.nodes.binary_search_by_key(&offset.0, |node| node.offset).ok().map(|index| index as u32)
    }

    fn node(&self, index: u32) -> Option<&Node> {
        self.nodes.get(index as usize)
    }

    /// Entries directly in a scope, or outside of all.
    fn children(&self, parent: Option<u32>) -> impl Iterator<Item = (u32, &Node)> {
        let from = parent.map_or(0, |parent| parent as usize + 1);
        let nodes = self.nodes.iter().zip(0..).skip(from).map(|(node, index)| (index, node));
        // Those of a scope follow it, and what follows them has a scope before it.
        nodes
            .take_while(move |(_, node)| parent.is_none() || node.parent >= parent)
            .filter(move |(_, node)| node.parent == parent)
    }

    /// The scope in which an entry is named; blocks of a function are none.
    fn scope_of(&self, node: &Node) -> Option<u32> {
        let mut parent = node.parent;
        for _ in 0..DEPTH_MOST {
            let node = parent.and_then(|index| self.node(index));
            let Some(block) = node.filter(|node| node.tag == gimli::DW_TAG_lexical_block) else { break };
            parent = block.parent;
        }
        parent
    }
}

fn is_scope(tag: DwTag) -> bool {
    is_type(tag) || matches!(tag, gimli::DW_TAG_namespace | gimli::DW_TAG_subprogram | gimli::DW_TAG_lexical_block)
}

fn is_type(tag: DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_class_type
            | gimli::DW_TAG_structure_type
            | gimli::DW_TAG_union_type
            | gimli::DW_TAG_enumeration_type
    )
}

/// An entry of a unit, with the entries around it.
#[derive(Clone)]
struct Position<'a> {
    unit: UnitRef<'a, Slice>,
    tree: Rc<Tree>,
    offset: UnitOffset<usize>,
    /// Entries that may still be read.
    left: Rc<Cell<u32>>,
}

impl Scopes {
    /// The name of the function to which an entry leads: itself, what it was inlined from, or its declaration.
    pub(super) fn name(&self, unit: UnitRef<'_, Slice>, entry: UnitOffset<usize>) -> Known {
        let key = (address(unit), entry.0);
        if let Some(known) = self.names.borrow().get(&key) {
            return known.clone();
        }
        let name = self.read(unit, entry).map(Rc::new);
        self.names.borrow_mut().insert(key, name.clone());
        name
    }

    fn tree(&self, unit: UnitRef<'_, Slice>) -> Option<Rc<Tree>> {
        let key = address(unit);
        if let Some(known) = self.units.borrow().get(&key) {
            return Some(Rc::clone(known));
        }
        let left = ENTRIES_MOST.checked_sub(self.entries.get()).filter(|&left| left > 0)?;
        let tree = Rc::new(Tree::read(unit, left).ok()?);
        self.entries.set(self.entries.get() + tree.nodes.len());
        self.units.borrow_mut().insert(key, Rc::clone(&tree));
        Some(tree)
    }

    fn read(&self, unit: UnitRef<'_, Slice>, offset: UnitOffset<usize>) -> Option<ScopedName> {
        let entry = unit.entry(offset).ok()?;
        // Of programs that were optimised as a whole, the function may be in another unit.
        let origin = entry.attr_value(gimli::DW_AT_abstract_origin);
        if let Some(AttributeValue::DebugInfoRef(other)) = origin {
            let (other, offset) = self.unit_at(unit.dwarf, other.0)?;
            return self.read_in(UnitRef::new(unit.dwarf, &other), offset);
        }
        self.read_in(unit, offset)
    }

    fn read_in(&self, unit: UnitRef<'_, Slice>, offset: UnitOffset<usize>) -> Option<ScopedName> {
        let left = Rc::new(Cell::new(ENTRIES_FOR_NAME));
        let position = Position { unit, tree: self.tree(unit)?, offset, left };
        let (declaration, entry) = position.declaration()?;
        // What other languages may call has its name for a symbol.
        if matches!(entry.attr_value(gimli::DW_AT_external), Some(AttributeValue::Flag(true))) {
            return None;
        }
        let mut name = Writer::default();
        declaration.write_scoped(&mut name, 0)?;
        let short = without_defaults(name.short);
        let with_parameters = without_defaults(name.with_parameters);
        Some(ScopedName { short, with_parameters, is_overloaded: name.is_overloaded, identifiers: name.identifiers })
    }

    /// The unit at a place of the debug information, and the place in it.
    fn unit_at(&self, dwarf: &Dwarf<Slice>, place: usize) -> Option<(Rc<Unit<Slice>>, UnitOffset<usize>)> {
        let headers = Rc::clone(self.headers.borrow_mut().get_or_insert_with(|| {
            let mut headers = Vec::new();
            let mut units = dwarf.units();
            while let Ok(Some(header)) = units.next() {
                headers.push(header);
            }
            headers.into()
        }));
        let start = |header: &UnitHeader<Slice>| header.debug_info_offset().map_or(0, |start| start.0);
        let after = headers.partition_point(|header| start(header) <= place);
        let header = headers.get(after.checked_sub(1)?)?;
        let start = start(header);
        let mut referenced = self.referenced.borrow_mut();
        let unit = match referenced.get(&start) {
            Some(unit) => Rc::clone(unit),
            None => {
                let unit = Rc::new(dwarf.unit(header.clone()).ok()?);
                referenced.insert(start, Rc::clone(&unit));
                unit
            }
        };
        Some((unit, UnitOffset(place - start)))
    }
}

/// True for languages in which functions have scopes, and names alone do not distinguish them.
pub(super) fn has_scopes(language: DwLang) -> bool {
    matches!(
        language,
        gimli::DW_LANG_C_plus_plus
            | gimli::DW_LANG_C_plus_plus_03
            | gimli::DW_LANG_C_plus_plus_11
            | gimli::DW_LANG_C_plus_plus_14
            | gimli::DW_LANG_C_plus_plus_17
            | gimli::DW_LANG_C_plus_plus_20
            | gimli::DW_LANG_Rust
    )
}

/// Units stay where they are as long as their file is open.
fn address(unit: UnitRef<'_, Slice>) -> usize {
    std::ptr::from_ref(unit.unit).addr()
}

/// A name that is written from the outermost scope on.
#[derive(Default)]
struct Writer {
    short: String,
    with_parameters: String,
    is_overloaded: bool,
    identifiers: Vec<String>,
    /// Behind a function or a template, a symbol has more than identifiers.
    is_past_identifiers: bool,
}

impl Writer {
    fn push(&mut self, name: &str) {
        for text in [&mut self.short, &mut self.with_parameters] {
            if !text.is_empty() {
                text.push_str("::");
            }
            text.push_str(name);
        }
        if !self.is_past_identifiers {
            let identifier = if name == ANONYMOUS { name } else { name.split(['<', '{', '(']).next().unwrap_or(name) };
            let is_special = name.starts_with("operator") || name.starts_with('~');
            self.is_past_identifiers = identifier != name || is_special;
            if !identifier.is_empty() && !is_special {
                self.identifiers.push(identifier.to_owned());
            }
        }
    }
}

impl Position<'_> {
    fn at(&self, offset: UnitOffset<usize>) -> Self {
        Position { offset, ..self.clone() }
    }

    fn entry(&self) -> Option<Entry> {
        self.left.set(self.left.get().checked_sub(1)?);
        self.unit.entry(self.offset).ok()
    }

    /// The entry to which an attribute refers, if it is in the same unit.
    fn reference(&self, entry: &Entry, attribute: gimli::DwAt) -> Option<Self> {
        match entry.attr_value(attribute)? {
            AttributeValue::UnitRef(offset) => Some(self.at(offset)),
            AttributeValue::DebugInfoRef(place) => {
                place.to_unit_offset(&self.unit.header).map(|offset| self.at(offset))
            }
            _ => None,
        }
    }

    fn text(&self, entry: &Entry, attribute: gimli::DwAt) -> Option<String> {
        let text = self.unit.attr_string(entry.attr_value(attribute)?).ok()?;
        Some(text.to_string_lossy().ok()?.into_owned())
    }

    /// Where the entry is declared.
    fn declaration(&self) -> Option<(Self, Entry)> {
        let mut position = self.clone();
        for _ in 0..DEPTH_MOST {
            let entry = position.entry()?;
            let next = position.reference(&entry, gimli::DW_AT_specification);
            match next.or_else(|| position.reference(&entry, gimli::DW_AT_abstract_origin)) {
                Some(next) => position = next,
                None => return Some((position, entry)),
            }
        }
        None
    }

    /// Writes the name with those of its scopes in front.
    fn write_scoped(&self, name: &mut Writer, depth: usize) -> Option<()> {
        if depth > DEPTH_MOST || name.with_parameters.len() > NAME_BYTES_MOST {
            return None;
        }
        let (position, entry) = self.declaration()?;
        let index = position.tree.index(position.offset)?;
        let node = position.tree.node(index)?;
        let scope = position.tree.scope_of(node);
        if let Some(scope) = scope.and_then(|index| position.tree.node(index)) {
            position.at(UnitOffset(scope.offset)).write_scoped(name, depth + 1)?;
        }
        let own = position.text(&entry, gimli::DW_AT_name).map(|own| with_usual_types(&own));
        match node.tag {
            gimli::DW_TAG_subprogram => {
                let own = own?;
                name.push(&own);
                // What is in a function has a symbol of another form.
                name.is_past_identifiers = true;
                name.with_parameters.push_str(&position.parameters(&entry, depth + 1)?);
                name.is_overloaded |= position.overloads(node.parent).get(&own).is_some_and(|&count| count > 1);
            }
            gimli::DW_TAG_namespace => name.push(own.as_deref().unwrap_or(ANONYMOUS)),
            _ => match own {
                Some(own) => name.push(&own),
                None => name.push(&position.unnamed(index, scope, depth + 1)?),
            },
        }
        Some(())
    }

    /// `(int, char const*) const`: the parameters of a function, without the object.
    fn parameters(&self, function: &Entry, depth: usize) -> Option<String> {
        let (types, of_object) = self.parameter_types(depth)?;
        let is_constant = || {
            let object = of_object.or_else(|| {
                let object = self.reference(function, gimli::DW_AT_object_pointer)?;
                object.reference(&object.entry()?, gimli::DW_AT_type)
            })?;
            object.type_name(depth).ok().map(|name| name.trim_end_matches(" const").ends_with(" const*"))
        };
        let mark = if is_constant() == Some(true) { " const" } else { "" };
        Some(format!("({}){mark}", types.join(", ")))
    }

    /// Types of the parameters of a function, and that of its object.
    fn parameter_types(&self, depth: usize) -> Option<(Vec<String>, Option<Self>)> {
        let mut entries = self.unit.entries_raw(Some(self.offset)).ok()?;
        let (mut types, mut of_object) = (Vec::new(), None);
        let mut is_first = true;
        while is_first || entries.next_depth() > 0 {
            if entries.is_empty() {
                break;
            }
            let (offset, level) = (entries.next_offset(), entries.next_depth());
            let Some(abbreviation) = entries.read_abbreviation().ok()? else { continue };
            entries.skip_attributes(abbreviation.attributes()).ok()?;
            if is_first && !abbreviation.has_children() {
                break;
            }
            is_first = false;
            if level != 1 {
                continue;
            }
            match abbreviation.tag() {
                gimli::DW_TAG_formal_parameter => {
                    let parameter = self.at(offset);
                    let entry = parameter.entry()?;
                    let of = parameter.reference(&entry, gimli::DW_AT_type).map(Self::unqualified);
                    if matches!(entry.attr_value(gimli::DW_AT_artificial), Some(AttributeValue::Flag(true))) {
                        of_object = of_object.or(of);
                    } else {
                        types.push(of.map_or(Ok("?".to_owned()), |of| of.type_name(depth)).ok()?);
                    }
                }
                gimli::DW_TAG_unspecified_parameters => types.push("...".to_owned()),
                _ => {}
            }
            if types.iter().map(String::len).sum::<usize>() > NAME_BYTES_MOST {
                return None;
            }
        }
        Some((types, of_object))
    }

    /// The type without `const` around it, which is no part of a function's type.
    fn unqualified(self) -> Self {
        let entry =
            self.entry().filter(|entry| matches!(entry.tag, gimli::DW_TAG_const_type | gimli::DW_TAG_volatile_type));
        entry.and_then(|entry| self.reference(&entry, gimli::DW_AT_type)).unwrap_or(self)
    }

    /// How many functions of each name a scope has.
    fn overloads(&self, scope: Option<u32>) -> Rc<Overloads> {
        if let Some(known) = self.tree.overloads.borrow().get(&scope) {
            return Rc::clone(known);
        }
        let mut counts = Overloads::default();
        for (_, node) in self.tree.children(scope).filter(|(_, node)| node.tag == gimli::DW_TAG_subprogram) {
            let position = self.at(UnitOffset(node.offset));
            if let Some(name) = position.entry().and_then(|entry| position.text(&entry, gimli::DW_AT_name)) {
                *counts.entry(with_usual_types(&name)).or_insert(0) += 1;
            }
        }
        let counts = Rc::new(counts);
        self.tree.overloads.borrow_mut().insert(scope, Rc::clone(&counts));
        counts
    }

    /// `{lambda(int)#2}`, `{unnamed type#1}`: numbered within their scope, as in symbols (Itanium C++ ABI, 5.1.5 and 5.1.8).
    fn unnamed(&self, index: u32, scope: Option<u32>, depth: usize) -> Option<String> {
        if let Some(known) = self.tree.unnamed.borrow().get(&index) {
            return Some(known.clone());
        }
        // A lambda may be a parameter of another one.
        if !self.tree.numbering.borrow_mut().insert(scope) {
            return Some("{lambda}".to_owned());
        }
        let from = scope.map_or(0, |scope| scope as usize + 1);
        let within = self
            .tree
            .nodes
            .iter()
            .zip(0_u32..)
            .skip(from)
            .take_while(|(node, _)| scope.is_none() || node.parent >= scope);
        let mut unnamed = Vec::new();
        for (node, index) in within.filter(|(node, _)| is_type(node.tag) && self.tree.scope_of(node) == scope) {
            let position = self.at(UnitOffset(node.offset));
            let Some(entry) = position.entry() else { continue };
            if entry.attr(gimli::DW_AT_name).is_some() || entry.attr(gimli::DW_AT_specification).is_some() {
                continue;
            }
            let number = |attribute| entry.attr(attribute).and_then(|attribute| attribute.udata_value()).unwrap_or(0);
            let place = (number(gimli::DW_AT_decl_line), number(gimli::DW_AT_decl_column), node.offset);
            unnamed.push((place, index, position.signature(index, depth)));
        }
        self.tree.numbering.borrow_mut().remove(&scope);
        unnamed.sort_unstable();
        let mut counts: FxHashMap<Option<&str>, usize> = FxHashMap::default();
        let mut known = self.tree.unnamed.borrow_mut();
        let counts_all = self.counts_all_lambdas();
        for (_, index, signature) in &unnamed {
            let counted = if counts_all { signature.as_ref().map(|_| "") } else { signature.as_deref() };
            let count = counts.entry(counted).or_default();
            *count += 1;
            let name = match signature {
                Some(signature) => format!("{{lambda{signature}#{count}}}"),
                None => format!("{{unnamed type#{count}}}"),
            };
            known.insert(*index, name);
        }
        known.get(&index).cloned()
    }

    /// True of GCC before 13, which numbers all lambdas of a function; later those with the same parameters (`-fabi-version=18`).
    fn counts_all_lambdas(&self) -> bool {
        let root = self.unit.header.root_offset();
        let producer = self.unit.entry(root).ok().and_then(|root| self.text(&root, gimli::DW_AT_producer));
        let version = producer.as_deref().and_then(|producer| producer.strip_prefix("GNU C++")?.split(' ').nth(1));
        let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
        major.is_some_and(|major| major < 13)
    }

    /// The parameters of a lambda; `None` of other unnamed types.
    fn signature(&self, index: u32, depth: usize) -> Option<String> {
        let mut functions = self.tree.children(Some(index)).filter(|(_, node)| node.tag == gimli::DW_TAG_subprogram);
        functions.find_map(|(_, node)| {
            let position = self.at(UnitOffset(node.offset));
            let name = position.text(&position.entry()?, gimli::DW_AT_name)?;
            let is_call = name == "operator()" || name.starts_with("operator()<");
            let (types, _) = is_call.then(|| position.parameter_types(depth))??;
            Some(format!("({})", types.join(", ")))
        })
    }

    /// A type as demangled symbols have it: `char const*`.
    fn type_name(&self, depth: usize) -> Result<String, TooDeep> {
        if depth > DEPTH_MOST {
            return Err(TooDeep);
        }
        let unknown = || Ok("?".to_owned());
        let Some(entry) = self.entry() else { return unknown() };
        let target = |mark: &str| match self.reference(&entry, gimli::DW_AT_type) {
            Some(target) => target.pointed(mark, depth + 1),
            None => Ok(format!("void{mark}")),
        };
        match entry.tag {
            gimli::DW_TAG_pointer_type => target("*"),
            gimli::DW_TAG_reference_type => target("&"),
            gimli::DW_TAG_rvalue_reference_type => target("&&"),
            gimli::DW_TAG_const_type => target(" const"),
            gimli::DW_TAG_volatile_type => target(" volatile"),
            gimli::DW_TAG_restrict_type => target(""),
            gimli::DW_TAG_typedef => match target("")? {
                unnamed if unnamed.contains("{unnamed") => Ok(self.text(&entry, gimli::DW_AT_name).unwrap_or(unnamed)),
                named => Ok(named),
            },
            tag if is_type(tag) => {
                let mut name = Writer::default();
                match self.write_scoped(&mut name, depth + 1) {
                    Some(()) => Ok(name.with_parameters),
                    None => Err(TooDeep),
                }
            }
            _ => match self.text(&entry, gimli::DW_AT_name) {
                Some(name) => Ok(with_usual_types(&name)),
                None => unknown(),
            },
        }
    }

    /// A type with a mark behind it, which of a function's type is in the middle: `void (*)(int)`.
    fn pointed(&self, mark: &str, depth: usize) -> Result<String, TooDeep> {
        let Some(entry) = self.entry().filter(|entry| entry.tag == gimli::DW_TAG_subroutine_type) else {
            return Ok(self.type_name(depth)? + mark);
        };
        let result = match self.reference(&entry, gimli::DW_AT_type) {
            Some(result) => result.type_name(depth + 1)?,
            None => "void".to_owned(),
        };
        let (types, _) = self.parameter_types(depth + 1).ok_or(TooDeep)?;
        Ok(format!("{result} ({mark})({})", types.join(", ")))
    }
}

/// Types of types of types.
struct TooDeep;

/// GCC's names of the types of numbers, `long unsigned int`, as symbols have them.
fn with_usual_types(name: &str) -> String {
    const NAMES: [(&str, &str); 6] = [
        ("long long unsigned int", "unsigned long long"),
        ("long long int", "long long"),
        ("long unsigned int", "unsigned long"),
        ("short unsigned int", "unsigned short"),
        ("long int", "long"),
        ("short int", "short"),
    ];
    match name.contains(" int") {
        false => name.to_owned(),
        true => NAMES.iter().fold(name.to_owned(), |name, (theirs, usual)| name.replace(theirs, usual)),
    }
}
