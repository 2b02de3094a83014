//! Stems of symbols: what their names begin with, read without demangling them.
//!
//! Symbols with the same name in its shortest form have the same stem, so only those of one stem are compared. It holds the
//! identifiers up to the first template argument, operator, constructor or unnamed type: `llvm`, `SelectionDAG`, `getNode`
//! of `_ZN4llvm12SelectionDAG7getNodeEj`. Grammars: Itanium C++ ABI 5.1, Rust RFC 2603.
#![deny(clippy::indexing_slicing)]

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::mangling::{counted, is_legacy_hash, is_mangled, rust_identifier};

/// A hash of the identifiers of a stem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Stem(u64);

/// Namespace of functions that only one source file knows.
pub(super) const ANONYMOUS: &str = "(anonymous namespace)";

impl Stem {
    /// The stem of a symbol without the marks of copies.
    pub(super) fn of_symbol(symbol: &str) -> Stem {
        let mut identifiers = Identifiers::default();
        if let Some(rest) = symbol.strip_prefix("_R") {
            rust(rest, &mut identifiers);
        } else if let Some(rest) = symbol.strip_prefix("__Z").or_else(|| symbol.strip_prefix("_Z")) {
            itanium(rest, &mut identifiers);
        } else if is_mangled(symbol) {
            // Swift abbreviates words that repeat, so that identifiers are not there to read: all are of one stem.
            identifiers.push("$s");
        } else {
            identifiers.push(symbol);
        }
        identifiers.stem()
    }

    /// True of the stem that all symbols of Swift have.
    pub(super) fn is_of_swift(self) -> bool {
        self == Stem::of_symbol("$s")
    }

    /// The stem of a name whose identifiers are known.
    pub(super) fn of_identifiers<'a>(identifiers: impl IntoIterator<Item = &'a str>) -> Stem {
        let mut all = Identifiers::default();
        for identifier in identifiers {
            if !all.push(identifier) {
                break;
            }
        }
        all.stem()
    }
}

#[derive(Default)]
struct Identifiers {
    hasher: FxHasher,
    last: String,
}

impl Identifiers {
    /// False if the stem ends here: a constructor has the name of its class.
    fn push(&mut self, identifier: &str) -> bool {
        let identifier = match identifier {
            // Left out of names, as no source has them.
            "__cxx11" | "__1" => return true,
            "basic_string" => "string",
            unnamed if unnamed.starts_with("_GLOBAL__N") => ANONYMOUS,
            plain => plain,
        };
        if identifier == self.last {
            return false;
        }
        identifier.hash(&mut self.hasher);
        identifier.clone_into(&mut self.last);
        true
    }

    fn stem(self) -> Stem {
        Stem(self.hasher.finish())
    }
}

fn itanium(rest: &str, identifiers: &mut Identifiers) {
    // Of what is local to a function, the function comes first.
    let mut rest = rest.trim_start_matches('Z');
    if rest.starts_with("Th") || rest.starts_with("Tv") || rest.starts_with("Tc") {
        // Thunks: offsets, and the function.
        identifiers.push("{thunk}");
        rest = rest.trim_start_matches(|letter: char| "Tchvn_".contains(letter) || letter.is_ascii_digit());
    } else if let Some(kind) = rest.get(..2).filter(|kind| kind.starts_with(['T', 'G'])) {
        identifiers.push(kind);
        rest = rest.get(2..).unwrap_or_default();
    }
    rest = rest.trim_start_matches('Z');
    match rest.strip_prefix('N') {
        Some(nested) => {
            rest = nested.trim_start_matches(['r', 'V', 'K', 'R', 'O']);
            while let Some((identifier, after)) = component(rest) {
                // The hash of Rust's legacy mangling is no part of a name.
                // And where it begins with a type, as `<A as B>::f`, its present mangling begins with no identifier.
                if is_legacy_hash(identifier) && after.starts_with('E') || identifier.starts_with("_$LT$") {
                    return;
                }
                if !push_component(identifier, identifiers) {
                    return;
                }
                rest = after;
            }
        }
        None => {
            let Some((first, after)) = component(rest) else { return };
            if push_component(first, identifiers)
                && first == "St"
                && let Some((second, _)) = component(after)
            {
                push_component(second, identifiers);
            }
        }
    }
}

/// Abbreviations of the standard library (5.1.10) are spelled out.
fn push_component(component: &str, identifiers: &mut Identifiers) -> bool {
    match component {
        "St" => identifiers.push("std"),
        "Sa" => identifiers.push("std") && identifiers.push("allocator"),
        // It is a template, whose arguments are not written: `std::__cxx11::basic_string<char>` has the same name.
        "Ss" | "Sb" => {
            identifiers.push("std");
            identifiers.push("string");
            false
        }
        identifier => identifiers.push(identifier),
    }
}

/// The first identifier or abbreviation, and what is behind it.
fn component(rest: &str) -> Option<(&str, &str)> {
    if ["St", "Sa", "Ss", "Sb"].iter().any(|known| rest.starts_with(known)) {
        return rest.split_at_checked(2);
    }
    // Internal linkage, as GCC and Clang have it.
    let (identifier, mut after) = counted(rest.strip_prefix('L').unwrap_or(rest))?;
    // ABI tags are behind what they belong to.
    while let Some((_, behind)) = after.strip_prefix('B').and_then(counted) {
        after = behind;
    }
    Some((identifier, after))
}

fn rust(rest: &str, identifiers: &mut Identifiers) {
    let mut rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
    // Tags come first, the outermost of them for the last identifier.
    loop {
        rest = match rest.as_bytes() {
            [b'I', ..] => rest.get(1..).unwrap_or_default(),
            [b'N', _, ..] => rest.get(2..).unwrap_or_default(),
            [b'C', ..] => rest.get(1..).unwrap_or_default(),
            _ => break,
        };
    }
    while let Some((identifier, after)) = rust_identifier(rest) {
        if !identifiers.push(identifier) {
            return;
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identifiers(stem: &[&str]) -> Stem {
        Stem::of_identifiers(stem.iter().copied())
    }

    #[test]
    fn a_stem_ends_before_what_names_do_not_write_as_identifiers() {
        for (symbol, stem) in [
            ("f", &["f"][..]),
            ("_Z1fi", &["f"]),
            ("_ZL1fi", &["f"]),
            ("_Z1f3Foo", &["f"]),
            ("_ZN4llvm12SelectionDAG7getNodeEj", &["llvm", "SelectionDAG", "getNode"]),
            ("_ZNK3Foo3barEv", &["Foo", "bar"]),
            ("_ZN12_GLOBAL__N_11fEi", &[ANONYMOUS, "f"]),
            ("_ZNSt6vectorIiSaIiEE9push_backERKi", &["std", "vector"]),
            ("_ZSt4moveIRiEvOT_", &["std", "move"]),
            ("_ZNSs6appendEPKc", &["std", "string"]),
            ("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKc", &["std", "string"]),
            ("_ZN3FooC2Ev", &["Foo"]),
            ("_ZN3Foo3FooEv", &["Foo"]),
            ("_ZZ4mainENKUllE_clEl", &["main"]),
            ("_ZThn16_N3Foo3barEv", &["{thunk}", "Foo", "bar"]),
            ("_ZN1fB5cxx111gEv", &["f", "g"]),
            ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", &["core", "fmt", "Formatter", "pad"]),
            ("_RNvNtCs1234_7mycrate3foo3bar", &["mycrate", "foo", "bar"]),
            ("_RINvC1a1fhEC1b", &["a", "f"]),
            ("_RNvXs_C1aNtB4_1SNtB4_1T1f", &[]),
            ("_ZN22_$LT$a..S$u20$as$u20$a..T$GT$1f17h0123456789abcdefE", &[]),
            ("$s4main7receive3buf1nS2i_SitF", &["$s"]),
        ] {
            assert_eq!(Stem::of_symbol(symbol), identifiers(stem), "{symbol}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_symbol_has_a_stem(symbol in "(_Z|_R|__Z)?[NZTGSCLB0-9a-zst_é]{0,40}") {
            Stem::of_symbol(&symbol);
        }
    }
}
