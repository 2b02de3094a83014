//! Forms of symbols: prefixes of languages, identifiers, marks of copies.
#![deny(clippy::indexing_slicing)]

/// Prefixes: Itanium C++ ABI 5.1.2 and legacy Rust, Rust RFC 2603, Swift's docs/ABI/Mangling.rst (5, 4.2, 4.0).
pub(crate) fn is_mangled(name: &str) -> bool {
    ["_Z", "__Z", "_R", "$s", "$S", "_$s", "_$S", "_T0"].iter().any(|prefix| name.starts_with(prefix))
}

/// Splits off what GCC and LLVM put behind the names of copies and parts of functions, or the version of a name.
pub(super) fn split_copy(symbol: &str) -> (&str, &str) {
    const MARKS: [&str; 7] = [".constprop.", ".isra.", ".part.", ".cold", ".lto_priv.", ".llvm.", ".localalias"];
    let mark = MARKS.iter().filter_map(|mark| symbol.find(mark)).filter(|&at| at > 0).min();
    // `clock_gettime@@GLIBC_2.17`, as symbol tables have it.
    let is_version =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._".contains(&byte));
    let version = symbol
        .split_once('@')
        .filter(|(plain, version)| !plain.is_empty() && is_version(version.trim_start_matches('@')))
        .map(|(plain, _)| plain.len());
    let end = mark.into_iter().chain(version).min().unwrap_or(symbol.len());
    symbol.split_at_checked(end).unwrap_or((symbol, ""))
}

/// A symbol of Rust's legacy mangling in two: what is before its hash, and the hash.
pub(super) fn split_legacy_hash(symbol: &str) -> Option<(&str, &str)> {
    let rest = symbol.strip_prefix("_Z").and(symbol.strip_suffix('E'))?;
    let (before, hash) = rest.split_at_checked(rest.len().checked_sub(17)?)?;
    (before.ends_with("17") && is_legacy_hash(hash)).then_some((before, hash))
}

/// `h` and 16 hexadecimal digits.
pub(super) fn is_legacy_hash(identifier: &str) -> bool {
    let is_hexadecimal = |hash: &str| hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    identifier.strip_prefix('h').is_some_and(|hash| hash.len() == 16 && is_hexadecimal(hash))
}

/// An identifier behind its length.
pub(super) fn counted(rest: &str) -> Option<(&str, &str)> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (length, rest) = rest.split_at_checked(digits)?;
    rest.split_at_checked(length.parse().ok()?)
}

/// An identifier with its disambiguator: `s1234_7mycrate`, `u8gdel_5qa`.
pub(super) fn rust_identifier(rest: &str) -> Option<(&str, &str)> {
    let rest = match rest.strip_prefix('s') {
        Some(number) => number.split_once('_')?.1,
        None => rest,
    };
    let rest = rest.strip_prefix('u').unwrap_or(rest);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (length, rest) = rest.split_at_checked(digits)?;
    let length = length.parse().ok()?;
    rest.strip_prefix('_').unwrap_or(rest).split_at_checked(length)
}

/// A number of Rust's mangling: none is 0, and digits count from 1.
pub(super) fn base_62(digits: &str) -> Option<usize> {
    if digits.is_empty() {
        return Some(0);
    }
    let number = digits.bytes().try_fold(0_usize, |number, byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'z' => byte - b'a' + 10,
            b'A'..=b'Z' => byte - b'A' + 36,
            _ => return None,
        };
        number.checked_mul(62)?.checked_add(usize::from(digit))
    })?;
    number.checked_add(1)
}
