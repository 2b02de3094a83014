//! Names as they stand in the source: C++, Rust and Swift; C and Go names are plain.
#![deny(clippy::indexing_slicing)]

use symbolic_common::{Language, Name, NameMangling};
use symbolic_demangle::{Demangle, DemangleOptions};

use super::mangling::{base_62, is_mangled, rust_identifier, split_copy, split_legacy_hash};
use super::readable::{without_defaults, without_parameters};

/// How much of a name is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// The name alone.
    Name,
    /// With parameters; in Rust, which has no overloads, with the crate that instantiated a generic function, or else with the
    /// hashes of crates and of legacy symbols.
    Parameters,
    /// With everything that the symbol states: results, default arguments, all hashes.
    Whole,
}

/// The name of a function without its parameters, as its language writes it.
///
/// What compilers add for copies of a function (`.constprop.0`, `.isra.0`, `.part.0`, `.cold`) is left out, as all of
/// them are that function; names that are not mangled come back as they are.
pub fn demangle(symbol: &str) -> String {
    demangled(split_copy(symbol).0, Detail::Name)
}

/// The name that a symbol without the mark of a copy stands for; the symbol itself if it stands for none.
pub(super) fn demangled(symbol: &str, detail: Detail) -> String {
    let name = match language(symbol) {
        None => None,
        Some(Language::Rust) => rust(symbol, detail),
        Some(language) => {
            let options = match detail {
                Detail::Name => DemangleOptions::name_only(),
                Detail::Parameters => DemangleOptions::name_only().parameters(true),
                Detail::Whole => DemangleOptions::complete(),
            };
            Name::new(symbol, NameMangling::Mangled, language).demangle(options).map(|name| match detail {
                // The specialisations of Swift are described in sentences before the name.
                Detail::Name if symbol.contains("_Z") => without_defaults(without_parameters(&name)),
                Detail::Name => name.rsplit_once(" of ").map_or(name.as_str(), |(_, name)| name).to_owned(),
                Detail::Parameters => without_defaults(name),
                Detail::Whole => name,
            })
        }
    };
    name.unwrap_or_else(|| symbol.to_owned())
}

/// The language of a mangled symbol.
fn language(symbol: &str) -> Option<Language> {
    match symbol {
        plain if !is_mangled(plain) => None,
        rust if rust.starts_with("_R") || split_legacy_hash(rust).is_some() => Some(Language::Rust),
        _ => Some(Language::Unknown),
    }
}

fn rust(symbol: &str, detail: Detail) -> Option<String> {
    let name = rustc_demangle::try_demangle(symbol).ok()?;
    let instantiating = if detail == Detail::Name { None } else { instantiating_crate(symbol) };
    let instantiating = instantiating.as_deref().and_then(|root| rustc_demangle::try_demangle(root).ok());
    Some(match (detail, instantiating) {
        (Detail::Name, _) => format!("{name:#}"),
        // Hashes distinguish crates of one name only.
        (Detail::Parameters, Some(instantiating)) => format!("{name:#} [crate {instantiating:#}]"),
        (Detail::Whole, Some(instantiating)) => format!("{name} [crate {instantiating}]"),
        (_, None) => name.to_string(),
    })
}

/// The symbol of the crate that instantiated a generic function: a path of a crate behind that of the function (RFC 2603, 2.2).
fn instantiating_crate(symbol: &str) -> Option<String> {
    let path = symbol.strip_prefix("_R")?;
    // Either a crate, or a reference back to one: `B`, a number of base 62, `_`.
    let mut places = path.rmatch_indices(['C', 'B']);
    let (before, tail) = places.find_map(|(at, _)| {
        let (before, tail) = path.split_at_checked(at)?;
        rustc_demangle::try_demangle(symbol.get(..at + 2)?).ok().map(|_| (before, tail))
    })?;
    let behind = match tail.strip_prefix('B') {
        Some(reference) => before.get(base_62(reference.strip_suffix('_')?)?..)?.strip_prefix('C')?,
        None => tail.strip_prefix('C')?,
    };
    let (_, after) = rust_identifier(behind)?;
    let root = behind.get(..behind.len() - after.len())?;
    Some(format!("_RC{root}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_source() {
        for (symbol, name) in [
            ("main", "main"),
            ("net/http.(*Client).Do", "net/http.(*Client).Do"),
            ("runtime.mallocgc", "runtime.mallocgc"),
            ("_ZN7CServer6DoTickEi", "CServer::DoTick"),
            ("_ZN7CServer6DoTickEi.constprop.0", "CServer::DoTick"),
            ("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int>::push_back"),
            ("crc32_of.part.0.cold", "crc32_of"),
            ("clock_gettime@@GLIBC_2.17", "clock_gettime"),
            ("memcpy@GLIBC_2.2.5", "memcpy"),
            ("odd@name here", "odd@name here"),
            ("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad"),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"),
            ("$s4main7receive3buf1nS2i_SitF", "receive"),
            ("_T03foo3BarC3basyAA3ZimCAE_tF", "Bar.bas"),
        ] {
            assert_eq!(demangle(symbol), name, "{symbol}");
        }
    }

    #[test]
    fn what_only_looks_mangled_stays_as_it_is() {
        for symbol in ["_Z", "_ZN", "_R", "$s", "$", "_T0", "", ".cold", "_Zzzz", "\u{fffd}_ZN"] {
            assert_eq!(demangle(symbol), symbol);
            assert_eq!(demangled(symbol, Detail::Whole), symbol);
        }
    }

    #[test]
    fn what_distinguishes_functions_is_in_their_whole_names() {
        for (symbol, parameters, whole) in [
            ("_Z1fi", "f(int)", "f(int)"),
            ("_ZNK1A1gIiEET_S1_", "A::g<int>(int) const", "int A::g<int>(int) const"),
            ("_Z1fSs", "f(std::string)", "f(std::string)"),
            (
                "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
                "core::fmt::Formatter::pad::h0123456789abcdef",
                "core::fmt::Formatter::pad::h0123456789abcdef",
            ),
            ("_RNvNtCs1234_7mycrate3foo3bar", "mycrate[3c1c0]::foo::bar", "mycrate[3c1c0]::foo::bar"),
            ("_RINvC1a1fhEC1b", "a::f::<u8> [crate b]", "a::f::<u8> [crate b]"),
            ("_RINvC1a1fNtC1b1TEB9_", "a::f::<b::T> [crate b]", "a::f::<b::T> [crate b]"),
            (
                "$s4main7receive3buf1nS2i_SitF",
                "receive(buf: Int, n: Int)",
                "main.receive(buf: Swift.Int, n: Swift.Int) -> Swift.Int",
            ),
        ] {
            assert_eq!(
                [demangled(symbol, Detail::Parameters), demangled(symbol, Detail::Whole)],
                [parameters, whole],
                "{symbol}"
            );
        }
    }
}
