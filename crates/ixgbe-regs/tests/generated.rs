//! The generated files are those that the table gives.

#[path = "../examples/tables/languages.rs"]
mod languages;
#[path = "../examples/tables/table.rs"]
mod table;

use std::fs;
use std::path::Path;

#[test]
fn every_language_has_the_registers_of_the_table() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(here.join("registers.toml")).expect("it is part of the crate");
    let table = table::read(&table).expect("the table is well-formed");
    for (path, text) in languages::files(&table) {
        let there = fs::read_to_string(here.join(path)).unwrap_or_default();
        assert!(there == text, "{path} is out of date: run `cargo run -p prony-ixgbe-regs --example tables`");
    }
}

#[test]
fn no_two_names_of_the_table_are_equal_in_any_language() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(here.join("registers.toml")).expect("it is part of the crate");
    let table = table::read(&table).expect("the table is well-formed");
    let mut names: Vec<String> = table.register.iter().map(|register| register.name.clone()).collect();
    names.extend(table.constants().into_iter().map(|(name, ..)| name));
    names.extend(table.value.iter().map(|value| value.name.clone()));
    let number = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), number);
}
