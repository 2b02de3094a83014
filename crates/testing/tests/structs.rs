//! A struct has fifteen fields at most: what has more is made of groups, each with a name.

use prony_testing::sources::{root, rust_below};
use std::fs;

const FIELDS_MAX: usize = 15;

/// Those that keep more, and why.
const EXCUSED: [(&str, &str); 1] = [(
    "Measured",
    "each field is a key of the samples file, and serde's flatten would hold what the reader's account does not know",
)];

/// Names of structs with more fields, with their number. A layout that others prescribe is no choice of ours.
fn too_large(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    let mut is_foreign = false;
    while let Some(line) = lines.next() {
        is_foreign = match line.trim_start() {
            attribute if attribute.starts_with("#[repr(C") => true,
            comment if comment.starts_with("//") || comment.starts_with("#[") => is_foreign,
            _ if line.contains("struct ") => is_foreign,
            _ => false,
        };
        let Some((before, after)) = line.split_once("struct ") else { continue };
        if !line.ends_with('{') || !(before.trim().is_empty() || before.trim_start().starts_with("pub")) {
            continue;
        }
        let indent = " ".repeat(line.len() - line.trim_start().len());
        let (end, field) = (format!("{indent}}}"), format!("{indent}    "));
        let is_field = |line: &&str| {
            let Some(rest) = line.strip_prefix(&field) else { return false };
            let rest =
                rest.strip_prefix("pub").map_or(rest, |rest| rest.split_once(' ').map_or(rest, |(_, rest)| rest));
            let name = rest.split(':').next().unwrap_or_default();
            rest.contains(": ")
                && !name.is_empty()
                && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
        };
        let number = lines.by_ref().take_while(|line| *line != end).filter(is_field).count();
        let name: String = after.chars().take_while(|letter| letter.is_alphanumeric()).collect();
        if number > FIELDS_MAX && !is_foreign {
            found.push((name, number));
        }
        is_foreign = false;
    }
    found
}

#[test]
fn structs_are_made_of_groups() {
    let mut found = Vec::new();
    for file in rust_below(&root().join("crates")) {
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let excess =
            too_large(&text).into_iter().filter(|(name, _)| EXCUSED.iter().all(|(excused, _)| excused != name));
        found.extend(excess.map(|(name, number)| format!("{}: {name} has {number} fields", file.display())));
    }
    assert!(found.is_empty(), "more than {FIELDS_MAX}; group them:\n{}", found.join("\n"));
}

#[test]
fn a_struct_of_sixteen_fields_is_found() {
    let fields: String = (0..=FIELDS_MAX).map(|number| format!("    pub(crate) field_{number}: u32,\n")).collect();
    let text = format!("/// What it is: this.\npub struct Large {{\n{fields}}}\n");
    assert_eq!(too_large(&text), [("Large".to_owned(), FIELDS_MAX + 1)]);
    assert_eq!(too_large(&format!("#[repr(C)]\n{text}")), []);
    assert_eq!(too_large(&text.replace("    pub(crate) field_0: u32,\n", "")), []);
}
