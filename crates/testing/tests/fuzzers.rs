//! The fuzzers are a workspace of their own, which is checked and not linked. Where it builds the crates of others as this one does, they are
//! checked once.

use prony_testing::sources::root;
use std::collections::BTreeMap;
use std::fs;

/// Settings of the profile `dev` for crates of others, by their names.
fn overrides(manifest: &str) -> BTreeMap<String, Vec<String>> {
    let mut tables: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut table = None;
    for line in manifest.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            let name = name.strip_prefix("profile.dev.package.").and_then(|name| name.strip_suffix(']'));
            table = name.filter(|name| !name.starts_with("prony-") && !name.starts_with('"')).map(str::to_owned);
        } else if let Some(table) = &table {
            tables.entry(table.clone()).or_default().push(line.to_owned());
        }
    }
    tables
}

/// A program without it has no `main`, which only a link would say.
#[test]
fn every_fuzzer_has_its_entry() {
    let manifest = fs::read_to_string(root().join("fuzz/Cargo.toml")).expect("it is in the repository");
    let paths = manifest.lines().filter_map(|line| line.strip_prefix("path = \"")?.strip_suffix('"'));
    let mut named: Vec<&str> = paths.filter(|path| path.starts_with("fuzz_targets/")).collect();
    named.sort_unstable();
    let entries = fs::read_dir(root().join("fuzz/fuzz_targets")).expect("it is in the repository");
    let names = entries.map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned());
    let mut found: Vec<String> = names.map(|name| format!("fuzz_targets/{name}")).collect();
    found.sort_unstable();
    assert_eq!(named, found, "[[bin]] of fuzz/Cargo.toml");
    for path in named {
        let text = fs::read_to_string(root().join("fuzz").join(path)).expect("it is in the repository");
        let entries = text.matches("\nfuzz_target!(").count();
        assert!(entries == 1 && text.contains("\n#![no_main]\n"), "{path}: {entries} entries");
    }
}

#[test]
fn the_fuzzer_builds_the_crates_of_others_as_the_workspace_does() {
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("it is in the repository");
    let lock = read("fuzz/Cargo.lock");
    let is_built = |package: &str| lock.contains(&format!("\nname = \"{package}\"\n"));
    let mut expected = overrides(&read("Cargo.toml"));
    expected.retain(|package, _| is_built(package));
    assert!(expected.contains_key("zstd-sys"), "{expected:?}");
    assert_eq!(overrides(&read("fuzz/Cargo.toml")), expected, "[profile.dev.package] of fuzz/Cargo.toml");
}
