//! Names as they stand in the source: C++, Rust and Swift; C and Go names are plain.
#![deny(clippy::indexing_slicing)]

use symbolic_common::{Language, Name, NameMangling};
use symbolic_demangle::{Demangle, DemangleOptions};

use super::readable::without_defaults;

/// The name of a function without its parameters, as its language writes it.
///
/// What compilers add for copies of a function (`.constprop.0`, `.isra.0`, `.part.0`, `.cold`) is left out, as all of
/// them are that function; names that are not mangled come back as they are.
pub fn demangle(symbol: &str) -> String {
    let plain = without_copies(symbol);
    if !is_mangled(plain) {
        return plain.to_owned();
    }
    let language = if plain.starts_with("_R") { Language::Rust } else { Language::Unknown };
    let name = Name::new(plain, NameMangling::Mangled, language);
    let demangled = name.demangle(DemangleOptions::name_only()).unwrap_or_else(|| plain.to_owned());
    // The specialisations of Swift are described in sentences before the name.
    without_defaults(demangled.rsplit_once(" of ").map_or(demangled.as_str(), |(_, name)| name).to_owned())
}

/// Prefixes: Itanium C++ ABI 5.1.2 and legacy Rust, Rust RFC 2603, Swift's docs/ABI/Mangling.rst (5, 4.2, 4.0).
pub(crate) fn is_mangled(name: &str) -> bool {
    ["_Z", "__Z", "_R", "$s", "$S", "_$s", "_$S", "_T0"].iter().any(|prefix| name.starts_with(prefix))
}

/// Leaves out what GCC and LLVM put behind the names of copies and parts of functions.
fn without_copies(name: &str) -> &str {
    const MARKS: [&str; 7] = [".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.", ".llvm.", ".localalias"];
    let first = MARKS.iter().filter_map(|mark| name.find(mark)).filter(|&at| at > 0).min();
    let name = first.map_or(name, |at| &name[..at]);
    // `clock_gettime@@GLIBC_2.17`: the version of a name, as symbol tables have it.
    let is_version =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._".contains(&byte));
    match name.split_once('@') {
        Some((plain, version)) if !plain.is_empty() && is_version(version.trim_start_matches('@')) => plain,
        _ => name,
    }
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
        }
    }
}
