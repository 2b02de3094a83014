//! Names of real functions, `symbols/*.tsv`: symbols that public libraries and programs define, and their names in profiles
//! when these are all functions of an object. Symbol tables as a whole: `examples/distinct_names.rs`.

use std::collections::{BTreeMap, BTreeSet};

use prony_profile::{demangle, distinct_names};

const LANGUAGES: [(&str, &str, usize); 4] = [
    ("C++", include_str!("symbols/cpp.tsv"), 350),
    ("Rust", include_str!("symbols/rust.tsv"), 350),
    ("Go", include_str!("symbols/go.tsv"), 250),
    ("Swift", include_str!("symbols/swift.tsv"), 350),
];

/// Symbols with their names.
fn rows(text: &str) -> Vec<(&str, &str)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split_once('\t').unwrap_or_else(|| panic!("`{line}`: no tab"))).collect()
}

/// A symbol in which the variants of constructors and destructors are one: `C2` and `D0` are `C1` and `D1`.
fn without_variant(symbol: &str) -> String {
    ["C2E", "C3E", "D0E", "D2E"]
        .iter()
        .fold(symbol.to_owned(), |symbol, variant| symbol.replace(variant, &format!("{}1E", &variant[..1])))
}

#[test]
fn real_functions_have_the_names_that_they_had() {
    for (language, text, least) in LANGUAGES {
        let rows = rows(text);
        assert!(rows.len() >= least, "{language}: {}", rows.len());
        let names = distinct_names(rows.iter().map(|&(symbol, _)| symbol));
        for (symbol, expected) in rows {
            assert_eq!(names[symbol], expected, "{language}: {symbol}");
        }
    }
}

#[test]
fn no_two_functions_have_one_name() {
    for (language, text, _) in LANGUAGES {
        let rows = rows(text);
        let mut by_name: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (symbol, name) in distinct_names(rows.iter().map(|&(symbol, _)| symbol)) {
            by_name.entry(name).or_default().insert(without_variant(symbol));
        }
        by_name.retain(|_, symbols| symbols.len() > 1);
        assert!(by_name.is_empty(), "{language}: {by_name:#?}");
    }
}

#[test]
fn a_name_is_short_unless_another_function_has_it() {
    for (language, text, _) in LANGUAGES {
        let rows = rows(text);
        let mut alike: BTreeMap<String, usize> = BTreeMap::new();
        for (symbol, _) in &rows {
            *alike.entry(demangle(symbol)).or_default() += 1;
        }
        let names = distinct_names(rows.iter().map(|&(symbol, _)| symbol));
        for (symbol, _) in rows {
            let short = demangle(symbol);
            assert!(alike[&short] > 1 || names[symbol] == short, "{language}: {symbol}: {}", names[symbol]);
        }
        let shared = alike.values().filter(|&&count| count > 1).count();
        assert!(shared > 0 || language == "Go", "{language}: the corpus has no two functions of one short name");
    }
}

/// Alone, each symbol can be read, so that nothing of its language's mangling is left.
#[test]
fn every_symbol_is_read() {
    for (language, text, _) in LANGUAGES.iter().filter(|(language, ..)| *language != "Go") {
        for (symbol, _) in rows(text) {
            assert_ne!(demangle(symbol), symbol, "{language}");
        }
    }
}
