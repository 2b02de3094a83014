//! Every flag of every verb is used by name in a test, a benchmark, a script or a study.

use prony_testing::sources::{files_below, root};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Text of tests, and of what uses prony beside its own sources.
fn uses() -> String {
    let root = root();
    let is_text = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        !["target", "results", "snapshots", "images", "node_modules"].contains(&name) && !name.ends_with(".json")
    };
    let folders = ["crates", "scripts", "studies", ".ci", "Makefile"].map(|name| root.join(name));
    let files = folders.iter().flat_map(|folder| files_below(folder, &is_text));
    let mut all = String::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let within = file.strip_prefix(&root).expect("it was found there");
        let parts: Vec<&str> = within.iter().filter_map(|part| part.to_str()).collect();
        // Of sources of crates, what is a test.
        if parts.first() != Some(&"crates") || parts.get(2) != Some(&"src") || file.ends_with("tests.rs") {
            all.push_str(&text);
        } else if let Some((_, tests)) = text.split_once("#[cfg(test)]\nmod tests {") {
            all.push_str(tests);
        }
    }
    all
}

fn is_letter(letter: char) -> bool {
    letter.is_ascii_lowercase() || letter == '-'
}

/// The flags in a text, each from `--` on.
fn flags(text: &str) -> BTreeSet<&str> {
    let starts = text.match_indices("--").filter(|&(at, _)| !text[..at].ends_with(is_letter));
    let flags = starts.map(|(at, _)| {
        let rest = &text[at..];
        &rest[..rest.find(|letter| !is_letter(letter)).unwrap_or(rest.len())]
    });
    flags.filter(|flag| flag.len() > 2).collect()
}

#[test]
fn each_flag_is_used_by_name() {
    let page = fs::read_to_string(root().join("docs/reference/command-line.md")).expect("the reference is there");
    let lines = page.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let all: BTreeSet<&str> = lines
        .flat_map(|line| flags(line.split("  ").next().unwrap_or(line)))
        .filter(|flag| *flag != "--help")
        .collect();
    assert!(all.len() > 150, "{} flags in the reference", all.len());
    let uses = uses();
    let used = flags(&uses);
    let unused: Vec<&&str> = all.iter().filter(|flag| !used.contains(**flag)).collect();
    assert!(unused.is_empty(), "no test, script or study uses {unused:?}");
}
