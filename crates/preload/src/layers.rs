//! Dependencies between the modules of the library: layers in the order of `lib.rs`, without circles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

/// Layers as `lib.rs` has them: groups of modules, each with a comment in front.
fn layers() -> BTreeMap<String, usize> {
    let source = fs::read_to_string(Path::new(SOURCES).join("lib.rs")).expect("it is there");
    let mut layer = 0;
    let mut modules = BTreeMap::new();
    for line in source.lines() {
        if line.starts_with("// ") {
            layer += 1;
        } else if let Some(name) = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
            modules.insert(name.to_owned(), layer);
        }
    }
    modules.remove("layers");
    modules
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files_below(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// Names that stand behind `prefix::` in the source, one or a list in braces.
fn named_behind<'a>(source: &'a str, prefix: &str) -> impl Iterator<Item = &'a str> {
    let is_word = |byte: char| byte.is_alphanumeric() || byte == '_';
    source.match_indices(prefix).filter(move |&(at, _)| !source[..at].ends_with([':', '_'])).flat_map(move |(at, _)| {
        let rest = &source[at + prefix.len()..];
        let list = rest.strip_prefix('{').and_then(|list| list.split('}').next());
        list.unwrap_or(rest.split(|byte| !is_word(byte)).next().unwrap_or(rest)).split(',').map(str::trim)
    })
}

/// Each module with those that it uses.
fn uses(modules: &BTreeMap<String, usize>) -> BTreeMap<String, BTreeSet<String>> {
    let mut files = Vec::new();
    files_below(Path::new(SOURCES), &mut files);
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in files {
        let within = path.strip_prefix(SOURCES).expect("it was found there");
        let top = within.iter().next().and_then(|name| Path::new(name).file_stem()).unwrap_or_default();
        let Some(top) = top.to_str().filter(|top| modules.contains_key(*top)) else { continue };
        let depth = within.iter().count() - usize::from(within.ends_with("mod.rs"));
        let root = "super::".repeat(depth);
        let source = fs::read_to_string(&path).expect("text");
        let named = named_behind(&source, &root).chain(named_behind(&source, "crate::"));
        let used = named.filter_map(|name| name.split("::").next()).filter(|name| modules.contains_key(*name));
        uses.entry(top.to_owned()).or_default().extend(used.filter(|name| *name != top).map(str::to_owned));
    }
    uses
}

#[test]
fn no_module_uses_one_of_a_layer_below() {
    let modules = layers();
    let uses = uses(&modules);
    assert_eq!(uses.len(), modules.len(), "{:?}", uses.keys());
    for (module, used) in &uses {
        for other in used {
            assert!(modules[other] <= modules[module], "`{module}` uses `{other}`, which is of a layer below");
        }
    }
    assert!(uses["hooks"].contains("player") && uses["player"].contains("state"), "{uses:?}");
}

#[test]
fn modules_use_each_other_in_no_circle() {
    let mut uses = uses(&layers());
    // Whoever uses nobody that is left cannot be on a circle.
    while let Some(free) = uses.iter().find(|(_, used)| used.is_empty()).map(|(module, _)| module.clone()) {
        uses.remove(&free);
        uses.values_mut().for_each(|used| {
            used.remove(&free);
        });
    }
    assert!(uses.is_empty(), "a circle among {uses:?}");
}
