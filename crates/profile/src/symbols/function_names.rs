//! Functions of one object by address, with names that distinguish them.
#![deny(clippy::indexing_slicing)]

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use gimli::{EndianRcSlice, Reader as _, RunTimeEndian};
use memchr::memchr_iter;
use rustc_hash::FxHashMap;

use super::demangle::{Detail, demangled};
use super::distinct::Names;
use super::mangling::split_copy;
use super::scope::ScopedName;
use super::stem::Stem;
use crate::elf::Functions;

/// Functions of an object, and all symbols that its debug information states.
#[derive(Default)]
pub(super) struct FunctionNames {
    functions: Functions,
    /// Strings of the debug information, `.debug_str`.
    strings: Option<EndianRcSlice<RunTimeEndian>>,
    by_stem: OnceCell<Vec<(Stem, Place)>>,
    known: RefCell<FxHashMap<Stem, Rc<Names>>>,
}

/// Where a symbol is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Function(u32),
    /// Offset in the strings.
    String(u32),
}

impl FunctionNames {
    pub(super) fn of(functions: Functions, strings: Option<EndianRcSlice<RunTimeEndian>>) -> FunctionNames {
        FunctionNames { functions, strings, ..FunctionNames::default() }
    }

    /// The name of the function at an address.
    pub(super) fn at(&self, address: u64) -> Option<String> {
        self.functions.at(address).map(|function| self.of_symbol(&function.name))
    }

    /// The name of a function of which debug information states the symbol.
    pub(super) fn of_symbol(&self, symbol: &str) -> String {
        let base = split_copy(symbol).0;
        let known = self.of_stem(Stem::of_symbol(base));
        // Symbols of split debug information are not known beforehand: each keeps what may distinguish it.
        self.known_name(&known, symbol).unwrap_or_else(|| demangled(base, Detail::Parameters))
    }

    /// The name of a function that has no symbol in debug information.
    pub(super) fn of_scoped(&self, name: &ScopedName) -> String {
        let known = self.of_stem(Stem::of_identifiers(name.identifiers.iter().map(String::as_str)));
        let alike = known.alike(&name.short);
        let is_same = |symbol: &str| demangled(split_copy(symbol).0, Detail::Parameters) == name.with_parameters;
        match alike.iter().map(|symbol| &**symbol).find(|symbol| is_same(symbol)) {
            // Elsewhere it was not inlined.
            Some(symbol) => self.known_name(&known, symbol).unwrap_or_else(|| name.with_parameters.clone()),
            None if name.is_overloaded || !alike.is_empty() => name.with_parameters.clone(),
            None => name.short.clone(),
        }
    }

    fn known_name(&self, names: &Names, symbol: &str) -> Option<String> {
        names.name(symbol, |stem| self.by_stem().binary_search_by_key(&stem, |&(other, _)| other).is_ok())
    }

    fn by_stem(&self) -> &[(Stem, Place)] {
        self.by_stem.get_or_init(|| self.sorted())
    }

    fn of_stem(&self, stem: Stem) -> Rc<Names> {
        if let Some(known) = self.known.borrow().get(&stem) {
            return Rc::clone(known);
        }
        let by_stem = self.by_stem();
        let from = by_stem.partition_point(|&(other, _)| other < stem);
        let alike = by_stem.iter().skip(from).take_while(|&&(other, _)| other == stem);
        let (compiled, stated): (Vec<Place>, Vec<Place>) =
            alike.map(|&(_, place)| place).partition(|place| matches!(place, Place::Function(_)));
        let [compiled, stated] = [compiled, stated]
            .map(|places| places.into_iter().filter_map(|place| self.symbol(place)).collect::<Vec<String>>());
        let known = Rc::new(Names::of(stem, compiled.iter().map(String::as_str), stated.iter().map(String::as_str)));
        self.known.borrow_mut().insert(stem, Rc::clone(&known));
        known
    }

    fn symbol(&self, place: Place) -> Option<String> {
        match place {
            Place::Function(index) => self.functions.iter().nth(index as usize).map(|function| function.name.clone()),
            Place::String(offset) => {
                let strings = self.strings.as_ref()?.to_slice().ok()?;
                let string = strings.get(offset as usize..)?.split(|&byte| byte == 0).next()?;
                std::str::from_utf8(string).ok().map(str::to_owned)
            }
        }
    }

    /// All symbols, by their stems.
    fn sorted(&self) -> Vec<(Stem, Place)> {
        let stem = |symbol: &str| Stem::of_symbol(split_copy(symbol).0);
        let functions = self.functions.iter().zip(0..);
        let mut all: Vec<_> =
            functions.map(|(function, index)| (stem(&function.name), Place::Function(index))).collect();
        if let Some(Ok(strings)) = self.strings.as_ref().map(|strings| strings.to_slice()) {
            let mut start = 0;
            for end in memchr_iter(0, &strings) {
                if let (Some(string), Ok(offset)) = (strings.get(start..end), u32::try_from(start))
                    && is_function(string)
                    && let Ok(symbol) = std::str::from_utf8(string)
                {
                    all.push((stem(symbol), Place::String(offset)));
                }
                start = end + 1;
            }
        }
        all.sort_unstable();
        all
    }
}

/// True if a string may be the symbol of a function of C++ or Rust. Only their debug information has both names and symbols.
fn is_function(string: &[u8]) -> bool {
    let is_data = string.starts_with(b"_ZT") || string.starts_with(b"_ZG");
    string.len() <= SYMBOL_BYTES_MAX && (string.starts_with(b"_Z") || string.starts_with(b"_R")) && !is_data
}

/// Longer symbols are not read.
const SYMBOL_BYTES_MAX: usize = 64 << 10;
