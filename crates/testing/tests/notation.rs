//! One notation of a change: only `change.rs` of `report` writes one, and other sources cannot make the figures of one without being
//! found here.

use prony_testing::sources::{files_below, root};
use std::fs;
use std::path::Path;

/// What a source contains that turns a log ratio, or a quotient, into text, and what it does instead.
const MAKINGS: [(&str, &str); 8] = [
    ("exp_m1()", "change::value, change::change"),
    ("to_percent(", "change::value, change::change; only fields of JSON are in per cent"),
    ("signed(", "change::value"),
    (":+.", "change::value"),
    ("} % [{", "change::change"),
    ("}× as fast", "change::value, with the quantity behind it"),
    ("slower by {", "change::change, with the quantity behind it"),
    ("faster by {", "change::change, with the quantity behind it"),
];

/// Sources that may: the notation, fields of JSON, and what only compares or weighs.
const MAY: [(&str, &str); 5] = [
    ("crates/report/src/change.rs", "the notation"),
    ("crates/report/src/json/", "fields in per cent"),
    ("crates/report/src/text/study/effects.rs", "weights of confounded terms"),
    ("crates/report/src/bench/profiled.rs", "shares of the whole difference, with their sign"),
    ("crates/report/src/svg/chart/ratios.rs", "places round per cent on an axis"),
];

fn is_source(path: &Path) -> bool {
    let is_test = path.file_name().is_some_and(|name| name == "tests.rs" || name == "tests");
    !is_test && (path.is_dir() || path.extension().is_some_and(|extension| extension == "rs"))
}

/// True where a line contains it, and not as the end of a longer name.
fn has(line: &str, making: &str) -> bool {
    let is_part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let is_name = making.starts_with(char::is_alphabetic);
    line.match_indices(making).any(|(at, _)| !is_name || !is_part(line[..at].chars().next_back()))
}

/// Lines with makings of a change, before the tests of the file.
fn found_in(text: &str) -> Vec<(usize, &'static str, &'static str)> {
    let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).enumerate();
    let code = lines.filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.flat_map(|(number, line)| {
        let makings = MAKINGS.iter().filter(move |(making, _)| has(line, making));
        makings.map(move |&(making, instead)| (number + 1, making, instead))
    })
    .collect()
}

#[test]
fn a_change_is_written_in_one_place() {
    let root = root();
    let mut found = Vec::new();
    for folder in ["crates/report/src", "crates/prony/src", "crates/bench/src", "crates/study/src"] {
        for file in files_below(&root.join(folder), &is_source) {
            let place = file.strip_prefix(&root).unwrap_or(&file).display().to_string();
            let Ok(text) = fs::read_to_string(&file) else { continue };
            if MAY.iter().any(|(may, _)| place.starts_with(may)) {
                continue;
            }
            let lines = found_in(&text).into_iter();
            found.extend(lines.map(|(line, making, instead)| format!("{place}:{line}: `{making}`: use {instead}")));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn what_may_write_changes_still_does() {
    for (place, _) in MAY {
        let files = files_below(&root().join(place), &is_source);
        let is_needed =
            files.iter().filter_map(|file| fs::read_to_string(file).ok()).any(|text| !found_in(&text).is_empty());
        assert!(is_needed, "{place} needs no exception any more");
    }
}

#[test]
fn the_makings_of_a_change_are_found_in_code_and_nowhere_else() {
    assert_eq!(found_in("let a = x.exp_m1() * 100.0;").len(), 1);
    assert_eq!(found_in("format!(\"B is slower by {x} %\")").len(), 1);
    assert_eq!(found_in("format!(\"{x:.1} % [{low:.1}, {high:.1}]\")").len(), 1);
    assert!(found_in("let pid = child.cast_signed();").is_empty());
    assert!(found_in("// x.exp_m1()\n#[cfg(test)]\nlet a = x.exp_m1();").is_empty());
}
