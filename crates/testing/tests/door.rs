//! The command decides nothing: what is enough, too much or significant is decided in the crates that know why.

use prony_testing::sources::{root, rust_below};
use std::fs;

/// Parts of a line that hold a decision: a threshold, the error of a test, a part of it for several questions, or a mean of results.
const DECISIONS: [&str; 5] = ["alpha / ", "ALPHA", "geometric_mean(", "unpaired::", "sign_test::"];

#[test]
fn the_command_has_no_threshold_and_makes_no_test() {
    let root = root();
    let mut found = Vec::new();
    for file in rust_below(&root.join("crates/prony/src")) {
        let within = file.strip_prefix(&root).expect("it was found there");
        // Ranges of flags, and what is said of them, are those of the command line.
        if within.iter().any(|part| part == "cli" || part == "cli.rs") {
            continue;
        }
        let text = fs::read_to_string(&file).expect("text");
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            let is_comment = line.trim_start().starts_with("//");
            let is_threshold = line.contains("const ") && line.contains(": f64 = ");
            if !is_comment && (is_threshold || DECISIONS.iter().any(|decision| line.contains(decision))) {
                found.push(format!("{}:{}: {}", within.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "decided in the command:\n{}", found.join("\n"));
}

/// Files that start this very program, or become another one.
const STARTERS: [&str; 3] = ["doctor.rs", "nic/guard.rs", "nic/join.rs"];

#[test]
fn the_command_starts_no_program_but_itself() {
    let sources = root().join("crates/prony/src");
    let starts = |file: &std::path::PathBuf| {
        let within = file.strip_prefix(&sources).expect("it was found there");
        let text = fs::read_to_string(file).expect("text");
        text.contains("Command::new(").then(|| within.display().to_string())
    };
    let mut found: Vec<String> =
        rust_below(&sources).iter().filter_map(starts).filter(|file| !file.starts_with("cli")).collect();
    found.sort();
    assert_eq!(found, STARTERS, "started in the command");
}
