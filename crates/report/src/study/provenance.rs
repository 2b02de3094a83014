//! Origin of the values: machines, and the facts about each configuration.

use std::collections::{BTreeMap, BTreeSet};

use prony_study::{Machine, State};
use serde_json::Value;

use crate::study::by_level::ByLevel;
use crate::study::matrix::Matrix;

/// Letters of a value that are shown.
const VALUE_LETTERS: usize = 400;
/// Values that are listed of one key.
const VALUES_MAX: usize = 64;

/// Fact that holds for all cells, for those of a level, or for all of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// `command`, `sha256`, an environment variable.
    pub key: String,
    /// A level, `allocator = jemalloc`, or the name of a configuration; empty: of all.
    pub of: String,
    /// Value of the fact; in a command that levels change, with `{allocator}` in the place that they change.
    pub value: String,
}

/// Facts about the origin of the cells, unless they differ for each cell.
pub fn entries(matrix: &Matrix<'_>) -> Vec<Entry> {
    // By key and configuration; `None` once a second value was seen.
    let mut seen: BTreeMap<&str, BTreeMap<usize, Option<&str>>> = BTreeMap::new();
    let mut ran = BTreeSet::new();
    for cell in matrix.results.cells.iter().filter(|cell| !matches!(cell.state, State::Skipped { .. })) {
        let Some(configuration) = matrix.configuration(&cell.levels) else { continue };
        if cell.attempt > 0 {
            ran.insert(configuration);
        }
        for (key, value) in &cell.provenance {
            let known = seen.entry(key).or_default().entry(configuration).or_insert(Some(value));
            if *known != Some(value.as_str()) {
                *known = None;
            }
        }
    }
    let mut entries = Vec::new();
    for (key, values) in seen {
        let distinct: BTreeSet<Option<&str>> = values.values().copied().collect();
        let entry = |of: String, value: &str| Entry { key: key.to_owned(), of, value: cut(value) };
        // One that is not there is a value, too: an environment that only some levels set.
        let whole = ran.iter().chain(values.keys()).map(|&one| (one, values.get(&one).copied().unwrap_or(Some(""))));
        let whole: Option<BTreeMap<usize, &str>> = whole.map(|(one, value)| Some((one, value?))).collect();
        if let ([Some(value)], true) =
            (distinct.iter().copied().collect::<Vec<_>>().as_slice(), values.len() >= ran.len())
        {
            entries.push(entry(String::new(), value));
        } else if let Some(by_level) = whole.and_then(|whole| ByLevel::of(matrix, &whole)) {
            if !by_level.template.is_empty() {
                entries.push(entry(String::new(), &by_level.template));
            }
            let parts = by_level.parts.iter().filter(|(_, part)| !part.is_empty()).take(VALUES_MAX);
            entries.extend(parts.map(|(level, part)| entry(level.clone(), part)));
        } else {
            let known = values.iter().filter_map(|(&configuration, value)| Some((configuration, (*value)?)));
            let name = |configuration: usize| matrix.configurations[configuration].name.clone();
            entries.extend(known.take(VALUES_MAX).map(|(one, value)| entry(name(one), value)));
        }
    }
    entries
}

/// Commands that measure a study again and compare, a line each. Paths in its file mean the directory where that file was
/// written: what was shipped is taken along instead, and no cell of it has run in the new directory.
pub fn again(directory: &str, can_run_again: bool) -> String {
    let place = quoted(directory.trim_end_matches('/'));
    let run = format!(
        "mkdir -p NEW/work\ncp -r {place}/study.toml {place}/builds NEW\nprony study resume NEW\nprony study diff {place} NEW\n"
    );
    let report = format!("prony study report {place} -o report.html\n");
    if can_run_again { run + &report } else { report }
}

/// A path as a shell takes it.
pub fn quoted(path: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+=:,@%".contains(letter);
    match !path.is_empty() && !path.starts_with('-') && path.chars().all(is_plain) {
        true => path.to_owned(),
        false => {
            let path = if path.starts_with('-') { format!("./{path}") } else { path.to_owned() };
            format!("'{}'", path.replace('\'', r"'\''"))
        }
    }
}

/// Facts about a machine as pairs of name and value; empty if nothing is known.
pub fn machine(machine: &Machine) -> Vec<(&'static str, String)> {
    of_facts(&machine.facts)
}

/// The same of facts as `prony machine show --json` prints them, which may be a stranger's.
pub fn of_facts(facts: &Value) -> Vec<(&'static str, String)> {
    let text = |path: &str| match facts.pointer(path) {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(Value::Bool(is)) => Some(if *is { "on" } else { "off" }.to_owned()),
        _ => None,
    };
    let governors = facts.pointer("/frequency/governors").and_then(Value::as_object);
    let governors =
        governors.map(|names| names.keys().cloned().collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty());
    [
        ("processor", text("/cpu/model")),
        ("cores", text("/cpu/cores")),
        ("kernel", text("/kernel/release")),
        ("governor", governors),
        ("turbo", text("/frequency/turbo")),
        ("hypervisor", text("/hypervisor")),
        ("tuned", text("/tuned")),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, cut(&value?))))
    .collect()
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(VALUE_LETTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_is_run_again_from_what_was_shipped_and_its_name_is_one_word_to_a_shell() {
        let commands = again("a study's results/", true);
        assert!(commands.starts_with("mkdir -p NEW/work\ncp -r 'a study'\\''s results'/study.toml "), "{commands}");
        assert!(commands.contains("\nprony study resume NEW\n"));
        assert_eq!(again("-x", false), "prony study report './-x' -o report.html\n");
    }
}
