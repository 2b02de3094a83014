//! Display names of the functions of one object: as short as possible, with no two functions of one name.
//!
//! A name loses what most readers do not need, its parameters, hashes and marks of copies, as long as no other function of
//! the object has the same name without them. Which functions an object has, its symbol table says, and the names of inlined
//! functions in its debug information; so a function has one name in all profiles of a file, whatever was sampled.
//!
//! One function under two symbols keeps its short name: two symbols of one address, and the variants of a constructor or a
//! destructor (`C1`, `C2`, `D0`, … of the Itanium C++ ABI, 5.1.4.3), which are one function of the source.
#![deny(clippy::indexing_slicing)]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::demangle::{Detail, demangled};
use super::mangling::{is_mangled, split_copy, split_legacy_hash};
use super::readable::without_parameters;
use super::stem::Stem;

/// The name of each of these symbols, which are those of all functions of an object.
pub fn distinct_names<'a>(symbols: impl IntoIterator<Item = &'a str>) -> FxHashMap<&'a str, String> {
    let mut by_stem: FxHashMap<Stem, Vec<&str>> = FxHashMap::default();
    for symbol in symbols {
        by_stem.entry(Stem::of_symbol(split_copy(symbol).0)).or_default().push(symbol);
    }
    let mut names = FxHashMap::default();
    for (&stem, symbols) in &by_stem {
        let of_stem = Names::of(stem, symbols.iter().copied(), []);
        for &symbol in symbols {
            let name = of_stem.name(symbol, |stem| by_stem.contains_key(&stem));
            names.insert(symbol, name.expect("it is one of them"));
        }
    }
    names
}

/// Names that a function of this display name would have if no other one had the same, the longest first.
pub(crate) fn shorter_names(name: &str) -> Vec<String> {
    let marked = [" [clone ", " [crate ", " [_", " [$"]
        .iter()
        .find_map(|mark| Some(name.strip_suffix(']')?.rsplit_once(mark)?.0));
    let without_copy = marked.unwrap_or(split_copy(name).0);
    let mut names = vec![without_copy.to_owned(), without_parameters(without_copy)];
    names.retain(|shorter| shorter != name && !shorter.is_empty());
    names
}

/// Names of the symbols of one stem. What is more than their short names is read when it is requested.
#[derive(Debug)]
pub(super) struct Names {
    stem: Stem,
    /// The short name of each symbol.
    short: FxHashMap<Rc<str>, Rc<str>>,
    /// The symbols of each short name.
    by_short: FxHashMap<Rc<str>, Vec<Rc<str>>>,
    compiled: FxHashSet<Rc<str>>,
    /// Names of symbols that share their short ones.
    known: RefCell<FxHashMap<Rc<str>, String>>,
}

impl Names {
    /// `compiled`: symbols of code; `stated`: those that debug information states, perhaps the same, which have no marks of
    /// copies.
    pub(super) fn of<'a>(
        stem: Stem,
        compiled: impl IntoIterator<Item = &'a str>,
        stated: impl IntoIterator<Item = &'a str>,
    ) -> Names {
        let compiled: FxHashSet<Rc<str>> = compiled.into_iter().map(Rc::from).collect();
        // In a fixed order: of the variants of a constructor, the first gives its symbol.
        let symbols: BTreeSet<Rc<str>> = compiled.iter().cloned().chain(stated.into_iter().map(Rc::from)).collect();
        let (short, by_short) = (FxHashMap::default(), FxHashMap::<Rc<str>, Vec<Rc<str>>>::default());
        let mut names = Names { stem, short, by_short, compiled, known: RefCell::default() };
        let mut read: FxHashMap<&str, Rc<str>> = FxHashMap::default();
        for symbol in &symbols {
            let (base, _) = split_copy(symbol);
            // Instances of a generic function have many symbols, which are read once.
            let without_hash = split_legacy_hash(base).map_or(base, |(before, _)| before);
            let short = read.entry(without_hash).or_insert_with(|| demangled(base, Detail::Name).into());
            names.by_short.entry(Rc::clone(short)).or_default().push(Rc::clone(symbol));
            names.short.insert(Rc::clone(symbol), Rc::clone(short));
        }
        names
    }

    /// The symbols of a short name.
    pub(super) fn alike(&self, short: &str) -> &[Rc<str>] {
        self.by_short.get(short).map(Vec::as_slice).unwrap_or_default()
    }

    /// The name of one of the symbols. `is_taken`: the object has symbols of that stem, too.
    pub(super) fn name(&self, symbol: &str, is_taken: impl Fn(Stem) -> bool) -> Option<String> {
        let short = self.short.get(symbol)?;
        let alike = self.alike(short);
        if alike.len() > 1 {
            let known = |names: &FxHashMap<Rc<str>, String>| names.get(symbol).cloned();
            if let Some(known) = known(&self.known.borrow()) {
                return Some(known);
            }
            let mut names = self.known.borrow_mut();
            name_several(short, alike, &self.compiled, &mut names);
            return known(&names);
        }
        // A name of Swift may be that of a function of another language, which has a stem of its own.
        let is_shared = self.stem.is_of_swift() && is_taken(Stem::of_symbol(short));
        Some(if is_shared { demangled(split_copy(symbol).0, Detail::Parameters) } else { short.as_ref().to_owned() })
    }
}

/// Names symbols that have one short name.
fn name_several(
    short: &str,
    symbols: &[Rc<str>],
    compiled: &FxHashSet<Rc<str>>,
    names: &mut FxHashMap<Rc<str>, String>,
) {
    // Functions of the source, each with its symbols.
    let mut functions: BTreeMap<(String, String), Vec<&Rc<str>>> = BTreeMap::new();
    let bases: FxHashSet<&str> = symbols.iter().map(|symbol| split_copy(symbol).0).collect();
    let is_one = bases.len() == 1;
    for symbol in symbols {
        let base = split_copy(symbol).0;
        let key = match split_legacy_hash(base) {
            _ if is_one => <(String, String)>::default(),
            Some((_, hash)) => (format!("{short}::{hash}"), String::new()),
            None => (demangled(base, Detail::Whole), without_variant(base)),
        };
        functions.entry(key).or_default().push(symbol);
    }
    let several = functions.len() > 1;
    let with_parameters = |whole: &str, symbols: &[&Rc<str>]| match symbols.first() {
        Some(symbol) if several && split_legacy_hash(split_copy(symbol).0).is_some() => whole.to_owned(),
        Some(symbol) if several => demangled(split_copy(symbol).0, Detail::Parameters),
        _ => short.to_owned(),
    };
    let parameters: Vec<String> =
        functions.iter().map(|((whole, _), symbols)| with_parameters(whole, symbols)).collect();
    let (mut with_these, mut with_this) = (FxHashMap::default(), FxHashMap::default());
    for ((whole, _), parameters) in functions.keys().zip(&parameters) {
        *with_these.entry(parameters.as_str()).or_insert(0) += 1;
        *with_this.entry(whole.as_str()).or_insert(0) += 1;
    }
    for (((whole, _), symbols), parameters) in functions.iter().zip(&parameters) {
        let name = match (with_these.get(parameters.as_str()), with_this.get(whole.as_str())) {
            (Some(1), _) => Some(parameters),
            (_, Some(1)) => Some(whole),
            // Of two with internal linkage, or in the n-th block of a function, the symbol alone says which it is.
            _ => None,
        };
        let of_code = symbols.iter().filter(|symbol| compiled.contains(**symbol));
        let copies: FxHashSet<&str> = of_code.map(|symbol| split_copy(symbol).1).collect();
        for &symbol in symbols {
            let name = match name {
                Some(name) => name_of_copy(name, symbol, copies.len() > 1),
                None => format!("{short} [{symbol}]"),
            };
            names.insert(Rc::clone(symbol), name);
        }
    }
}

/// The name of a function of which this symbol is a copy. `several`: there is more than one of them.
fn name_of_copy(name: &str, symbol: &str, several: bool) -> String {
    match split_copy(symbol) {
        (_, copy) if !several || copy.is_empty() => name.to_owned(),
        // As c++filt of GNU binutils writes it.
        (base, copy) if is_mangled(base) && copy.starts_with('.') => format!("{name} [clone {copy}]"),
        (_, copy) => format!("{name}{copy}"),
    }
}

/// A symbol in which variants of constructors and destructors are alike. Only symbols of one whole name may be compared by it:
/// `C1` may be a class, too.
fn without_variant(symbol: &str) -> String {
    let mut out = String::with_capacity(symbol.len());
    for character in symbol.chars() {
        let is_variant = matches!(character, '0'..='5') && out.ends_with(['C', 'D']) && symbol.starts_with("_Z");
        out.push(if is_variant { '_' } else { character });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(symbols: &[&str]) -> Vec<String> {
        let names = distinct_names(symbols.iter().copied());
        symbols.iter().map(|symbol| names[symbol].clone()).collect()
    }

    #[test]
    fn what_alone_has_its_name_is_written_short() {
        let symbols = [
            "_Z1fi",
            "g.part.0",
            "_ZN3FooC1Ev",
            "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
            "$s4main7receive3buf1nS2i_SitF",
        ];
        assert_eq!(names(&symbols), ["f", "g", "Foo::Foo", "core::fmt::Formatter::pad", "receive"]);
    }

    #[test]
    fn overloads_have_their_parameters() {
        assert_eq!(names(&["_Z1fi", "_Z1fd", "_Z1gv"]), ["f(int)", "f(double)", "g"]);
        assert_eq!(names(&["_ZN1A1fEv", "_ZNK1A1fEv"]), ["A::f()", "A::f() const"]);
        // A function of C beside one of C++.
        assert_eq!(names(&["f", "_Z1fi"]), ["f", "f(int)"]);
        // Results distinguish the instances of templates.
        assert_eq!(names(&["_Z1fIiEiT_", "_Z1fIiEdT_"]), ["int f<int>(int)", "double f<int>(int)"]);
    }

    #[test]
    fn names_of_two_versions_of_the_standard_library_stay_two() {
        let symbols = ["_ZNSs6appendEPKc", "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc"];
        let [old, new] = <[String; 2]>::try_from(names(&symbols)).expect("two");
        assert_ne!(old, new);
        assert!(new.contains("__cxx11"), "{new}");
    }

    #[test]
    fn copies_beside_their_function_keep_their_marks() {
        let symbols = ["_Z1fi", "_Z1fi.cold", "_Z1fi.part.0", "_Z1gi.constprop.0", "h", "h.cold", "i@V_1", "i@@V_2"];
        let expected = ["f", "f [clone .cold]", "f [clone .part.0]", "g", "h", "h.cold", "i@V_1", "i@@V_2"];
        assert_eq!(names(&symbols), expected);
        let expected = ["f(int)", "f(int) [clone .cold]", "f(double)"];
        assert_eq!(names(&["_Z1fi", "_Z1fi.cold", "_Z1fd"]), expected);
    }

    #[test]
    fn a_function_that_is_inlined_beside_its_only_copy_is_one() {
        let name = |compiled: &[&str], stated: &[&str], symbol: &str| {
            let names = Names::of(Stem::of_symbol(symbol), compiled.iter().copied(), stated.iter().copied());
            names.name(symbol, |_| false).expect("it is one of them")
        };
        for symbol in ["_Z1fi.isra.0", "_Z1fi"] {
            assert_eq!(name(&["_Z1fi.isra.0"], &["_Z1fi"], symbol), "f");
        }
        let expected = ["g(int)", "g(int) [clone .part.0]", "g(double)"];
        let symbols = ["_Z1gi", "_Z1gi.part.0", "_Z1gd"];
        assert_eq!(symbols.map(|symbol| name(&["_Z1gi.part.0", "_Z1gi"], &["_Z1gi", "_Z1gd"], symbol)), expected);
    }

    #[test]
    fn variants_of_a_constructor_are_one_function() {
        assert_eq!(
            names(&["_ZN3FooC1Ei", "_ZN3FooC2Ei", "_ZN3FooD0Ev", "_ZN3FooD2Ev"]),
            ["Foo::Foo", "Foo::Foo", "Foo::~Foo", "Foo::~Foo"]
        );
        assert_eq!(
            names(&["_ZN3FooC1Ei", "_ZN3FooC2Ei", "_ZN3FooC1Ed"]),
            ["Foo::Foo(int)", "Foo::Foo(int)", "Foo::Foo(double)"]
        );
        assert_eq!(names(&["_Z1f2C1", "_Z1f2C2"]), ["f(C1)", "f(C2)"]);
    }

    #[test]
    fn instances_of_a_generic_function_have_hashes_or_crates() {
        let legacy = ["_ZN1a1f17h0123456789abcdefE", "_ZN1a1f17hfedcba9876543210E"];
        assert_eq!(names(&legacy), ["a::f::h0123456789abcdef", "a::f::hfedcba9876543210"]);
        assert_eq!(names(&["_RINvC1a1fhEC1b", "_RINvC1a1fhEC1c"]), ["a::f::<u8> [crate b]", "a::f::<u8> [crate c]"]);
        assert_eq!(names(&["_RNvCs1_1a1f", "_RNvCs2_1a1f"]), ["a[3]::f", "a[4]::f"]);
    }

    #[test]
    fn a_function_of_swift_beside_one_of_c_has_its_parameters() {
        let swift = "$s4main7receive3buf1nS2i_SitF";
        assert_eq!(names(&[swift, "send"]), ["receive", "send"]);
        assert_eq!(names(&[swift, "receive"]), ["receive(buf: Int, n: Int)", "receive"]);
    }

    #[test]
    fn where_no_name_distinguishes_the_symbol_does() {
        let symbols = ["_ZL1fi", "_Z1fi"];
        assert_eq!(names(&symbols), ["f [_ZL1fi]", "f [_Z1fi]"]);
    }
}
