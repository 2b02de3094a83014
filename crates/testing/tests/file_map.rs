//! The map of all source files in `docs/internals/files.md`: made from what each file says of itself in its first lines, in the order in
//! which crates depend on each other.

use prony_testing::sources::{check_page, root, rust_below};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// The first paragraph of a file's documentation, up to its first full stop, without links.
fn first_sentence(file: &Path) -> String {
    let source = fs::read_to_string(file).expect("text");
    let lines = source.lines().skip_while(|line| line.is_empty());
    let lines = lines.map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let paragraph = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    assert!(!paragraph.is_empty(), "{} says in no `//!` line what it holds", file.display());
    let sentence = paragraph.split_once(". ").map_or(paragraph.as_str(), |(first, _)| first);
    sentence.trim_end_matches(['.', ':']).replace("[`", "`").replace("`]", "`").replace('|', "\\|")
}

/// Members of the workspace, in the order of its manifest.
fn members() -> Vec<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("text");
    let members = manifest.lines().filter_map(|line| line.trim().strip_prefix("\"crates/")?.split_once('"'));
    members.map(|(name, _)| name.to_owned()).collect()
}

fn map() -> String {
    let mut out = "# Source files\n\n\
        What each source file of each crate holds, crates in the order in which they depend on each other, taken from the first line of \
        the file. [ARCHITECTURE.md](../../ARCHITECTURE.md) says how they work together. Made by \
        `PRONY_WRITE_PAGES=1 cargo test -p prony-testing --test file_map`.\n"
        .to_owned();
    for name in members() {
        let sources = root().join("crates").join(&name).join("src");
        let mut files = rust_below(&sources);
        // A module stands before what is in it.
        files.sort_by_key(|file| match file.file_name().is_some_and(|name| name == "mod.rs") {
            true => file.parent().map(Path::to_owned),
            false => Some(file.with_extension("")),
        });
        let (roots, others): (Vec<_>, Vec<_>) =
            files.iter().partition(|file| [sources.join("lib.rs"), sources.join("main.rs")].contains(file));
        let title = roots.first().map(|file| first_sentence(file)).unwrap_or_default();
        let _ = writeln!(out, "\n## `crates/{name}`\n\n{title}.\n\n| file | content |\n|---|---|");
        for file in others {
            let path = file.strip_prefix(&sources).expect("it was found there");
            let (shown, mark) = match path.file_name().is_some_and(|name| name == "mod.rs") {
                true => (format!("{}/", path.parent().expect("it has a folder").display()), "**"),
                false => (path.display().to_string(), ""),
            };
            let _ = writeln!(out, "| {mark}`{shown}`{mark} | {} |", first_sentence(file));
        }
    }
    out
}

#[test]
fn the_map_of_source_files_is_that_of_this_checkout() {
    let path = root().join("docs/internals/files.md");
    check_page(&path, &map(), "PRONY_WRITE_PAGES=1 cargo test -p prony-testing --test file_map");
}
