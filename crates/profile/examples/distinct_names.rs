//! Names of all functions in the symbol tables of files, and whether each function keeps a name of its own.
//!
//! `cargo run --release -p prony-profile --example distinct_names -- FILE...`; exit code 1 if two functions have one name.
//! Read independently of the library: symbols of code with a definition, one for each address.
#![allow(missing_docs)]

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::Instant;

use object::{Object as _, ObjectSymbol as _, SymbolKind};
use prony_profile::{demangle, distinct_names};

/// Counts of one file, or of all.
#[derive(Default)]
struct Counts {
    functions: usize,
    /// Symbols that are mangled and could not be read.
    unread: usize,
    /// Functions that would share their name if all were written short.
    alike: usize,
    /// Symbols of constructors and destructors that are one function of the source.
    variants: usize,
    merged: usize,
}

fn main() -> ExitCode {
    let mut all: BTreeMap<&str, Counts> = BTreeMap::new();
    for path in std::env::args().skip(1) {
        let began = Instant::now();
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("error: cannot read `{path}`: {error}");
                return ExitCode::from(2);
            }
        };
        let Ok(file) = object::File::parse(&*bytes) else {
            eprintln!("error: `{path}` is no object file");
            return ExitCode::from(2);
        };
        let mut symbols = BTreeMap::new();
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            let is_code = symbol.kind() == SymbolKind::Text && symbol.is_definition();
            if let (true, Ok(name)) = (is_code, symbol.name()) {
                symbols.entry(symbol.address()).or_insert(name);
            }
        }
        let symbols: BTreeSet<&str> = symbols.into_values().collect();
        let names = distinct_names(symbols.iter().copied());
        let mut by_name: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut by_short: BTreeMap<String, usize> = BTreeMap::new();
        for symbol in &symbols {
            by_name.entry(names[symbol].as_str()).or_default().push(symbol);
            *by_short.entry(demangle(symbol)).or_default() += 1;
            let counts = all.entry(language(symbol)).or_default();
            counts.functions += 1;
            let is_unread = language(symbol) != "plain" && symbol.starts_with(&demangle(symbol));
            counts.unread += usize::from(is_unread);
            if is_unread {
                println!("not read: {symbol}");
            }
        }
        for symbol in &symbols {
            all.entry(language(symbol)).or_default().alike += usize::from(by_short[&demangle(symbol)] > 1);
        }
        for (name, symbols) in by_name.iter().filter(|(_, symbols)| symbols.len() > 1) {
            let counts = all.entry(language(symbols[0])).or_default();
            if symbols.iter().all(|symbol| is_variant(symbol, symbols[0])) {
                counts.variants += symbols.len() - 1;
            } else {
                counts.merged += symbols.len() - 1;
                println!("merged: {name}: {symbols:?}");
            }
        }
        eprintln!("{path}: {} functions, {:.1} s", symbols.len(), began.elapsed().as_secs_f64());
    }
    println!("language   functions  alike if short  variants  not read  merged");
    for (language, counts) in &all {
        let Counts { functions, unread, alike, variants, merged } = counts;
        println!("{language:9} {functions:10} {alike:15} {variants:9} {unread:9} {merged:7}");
    }
    ExitCode::from(u8::from(all.values().any(|counts| counts.merged > 0)))
}

fn language(symbol: &str) -> &'static str {
    let is_legacy = symbol.split('.').next().and_then(|base| base.strip_suffix('E')).is_some_and(|base| {
        let hash = base.len().checked_sub(17).and_then(|at| base.get(at..)).and_then(|hash| hash.strip_prefix('h'));
        hash.is_some_and(|hash| hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
    });
    match symbol {
        symbol if symbol.starts_with("_R") || is_legacy => "Rust",
        symbol if symbol.starts_with("_Z") => "C++",
        symbol if ["$s", "$S", "_$s", "_T0"].iter().any(|prefix| symbol.starts_with(prefix)) => "Swift",
        _ => "plain",
    }
}

/// True of two symbols that differ in the number of a constructor or a destructor alone (`C1`, `D0`).
fn is_variant(a: &str, b: &str) -> bool {
    let differ: Vec<usize> =
        a.bytes().zip(b.bytes()).enumerate().filter(|(_, (a, b))| a != b).map(|(at, _)| at).collect();
    let is_number = |byte: u8| (b'0'..=b'5').contains(&byte);
    let is_kind = |at: usize| {
        at.checked_sub(1).is_some_and(|before| b"CD".contains(&a.as_bytes()[before]))
            && is_number(a.as_bytes()[at])
            && is_number(b.as_bytes()[at])
    };
    a.len() == b.len() && differ.into_iter().all(is_kind)
}
