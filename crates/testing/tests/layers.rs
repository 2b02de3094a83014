//! Dependencies between the modules of each crate: no circles, and layers in the order of `lib.rs` where it has any.

use prony_testing::sources::{root, rust_below};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Modules by name, each with the modules of its crate that it uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

/// The folder with the sources of each crate, by its name.
fn crates() -> BTreeMap<String, PathBuf> {
    let entries =
        fs::read_dir(root().join("crates")).expect("it can be listed").map(|entry| entry.expect("an entry").path());
    let sources = entries.map(|path| path.join("src")).filter(|path| path.is_dir());
    sources
        .map(|path| {
            let name =
                path.parent().and_then(Path::file_name).expect("a crate has a name").to_string_lossy().into_owned();
            (name, path)
        })
        .collect()
}

/// The module at the root of its crate to which a file belongs.
fn top(sources: &Path, file: &Path) -> String {
    let within = file.strip_prefix(sources).expect("it was found there");
    let first = within.iter().next().and_then(|name| Path::new(name).file_stem());
    first.and_then(|name| name.to_str()).expect("names are text").to_owned()
}

/// Names that stand behind `prefix` in the source, one or a list in braces.
fn named_behind<'a>(source: &'a str, prefix: &str) -> impl Iterator<Item = &'a str> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    source.match_indices(prefix).filter(move |&(at, _)| !source[..at].ends_with([':', '_'])).flat_map(move |(at, _)| {
        let rest = &source[at + prefix.len()..];
        let list = rest.strip_prefix('{').and_then(|list| list.split('}').next());
        list.unwrap_or(rest.split(|letter| !is_word(letter)).next().unwrap_or(rest)).split(',').map(str::trim)
    })
}

fn uses(sources: &Path) -> Uses {
    let files = rust_below(sources);
    let roots = ["lib".to_owned(), "main".to_owned()];
    let names: BTreeSet<String> =
        files.iter().map(|file| top(sources, file)).filter(|name| !roots.contains(name)).collect();
    let mut uses: Uses = names.iter().map(|name| (name.clone(), BTreeSet::new())).collect();
    for file in files {
        let module = top(sources, &file);
        let Some(used) = uses.get_mut(&module) else { continue };
        let within = file.strip_prefix(sources).expect("it was found there");
        let depth = within.iter().count() - usize::from(within.ends_with("mod.rs"));
        let source = fs::read_to_string(&file).expect("text");
        let source = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let up = "super::".repeat(depth);
        let named = named_behind(source, &up).chain(named_behind(source, "crate::"));
        let named = named.filter_map(|name| name.split("::").next());
        used.extend(named.filter(|name| *name != module && names.contains(*name)).map(str::to_owned));
    }
    uses
}

/// The modules that are on a circle, or between two.
fn circles(mut uses: Uses) -> BTreeSet<String> {
    loop {
        let used: BTreeSet<String> = uses.values().flatten().cloned().collect();
        let free = |(module, of_module): (&String, &BTreeSet<String>)| {
            (of_module.is_empty() || !used.contains(module)).then(|| module.clone())
        };
        let free: BTreeSet<String> = uses.iter().filter_map(free).collect();
        if free.is_empty() {
            return uses.into_keys().collect();
        }
        uses.retain(|module, _| !free.contains(module));
        uses.values_mut().for_each(|of_module| of_module.retain(|other| !free.contains(other)));
    }
}

#[test]
fn modules_use_each_other_in_no_circle() {
    for (name, sources) in crates() {
        assert_eq!(circles(uses(&sources)), BTreeSet::new(), "circles among the modules of `{name}`");
    }
}

/// Layers as `lib.rs` has them: groups of modules, each with a comment in front.
fn layers(sources: &Path) -> BTreeMap<String, usize> {
    let source = fs::read_to_string(sources.join("lib.rs")).unwrap_or_default();
    let mut layer = 0;
    let mut modules = BTreeMap::new();
    for line in source.lines() {
        if line.starts_with("// ") {
            layer += 1;
        } else if let Some(name) = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
            modules.insert(name.to_owned(), layer);
        }
    }
    modules
}

#[test]
fn no_module_uses_one_of_a_layer_below() {
    let mut looked_at = Vec::new();
    for (name, sources) in crates() {
        let layers = layers(&sources);
        if layers.values().max().is_none_or(|&most| most < 2) {
            continue;
        }
        for (module, used) in uses(&sources) {
            for other in used {
                let (Some(own), Some(its)) = (layers.get(&module), layers.get(&other)) else { continue };
                assert!(its <= own, "`{module}` of `{name}` uses `{other}`, which is of a layer below");
            }
        }
        looked_at.push(name);
    }
    assert!(["preload", "replay"].iter().all(|name| looked_at.iter().any(|other| other == name)), "{looked_at:?}");
}

#[test]
fn a_circle_is_found() {
    let uses = |pairs: &[(&str, &[&str])]| {
        let pairs = pairs.iter();
        circles(pairs.map(|(name, used)| ((*name).into(), used.iter().map(|&other| other.into()).collect())).collect())
    };
    assert!(uses(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])]).is_empty());
    let found = uses(&[("a", &["b"]), ("b", &["c"]), ("c", &["b", "d"]), ("d", &[])]);
    assert_eq!(found, BTreeSet::from(["b".to_owned(), "c".to_owned()]));
}
