//! `scripts/bench-limits`, which makes the table of `docs/results/README.md`: what it refuses to publish, and what it needs.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/bench-limits");

/// The table of results that were stored, five rounds of one row that every machine has.
fn reported(ours: f64, likwid: f64) -> Output {
    let target = tempfile::tempdir().expect("a scratch directory");
    let line = format!(
        "{{\"pages\": \"4K\", \"way\": \"load\", \"level\": \"DRAM\", \"first\": \"ours\", \
         \"ours\": {{\"median\": {ours}}}, \"likwid\": {{\"mean\": {likwid}}}}}\n"
    );
    fs::create_dir(target.path().join("limits")).expect("a scratch directory takes it");
    fs::write(target.path().join("limits/results.jsonl"), line.repeat(5)).expect("a scratch directory takes it");
    let mut command = Command::new("python3");
    command.args([SCRIPT, "--report-only"]).env("CARGO_TARGET_DIR", target.path());
    command.output().expect("python3 is there: apt-get install python3")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("it says text")
}

#[test]
fn a_row_that_beats_its_peer_by_more_than_a_quarter_is_not_published_unexplained() {
    let output = reported(2.6e10, 2e10);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stdout).contains("1.30 [1.30 1.30] **unexplained**"), "{output:?}");
    assert!(text(&output.stderr).contains("hint: find out why, and say so in EXPLAINED"), "{output:?}");
    let output = reported(2.4e10, 2e10);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).contains("| 4K | load | DRAM | 24.0 | 20.0 | 1.20 [1.20 1.20] | 5 |"), "{output:?}");
}

#[test]
fn without_likwid_it_says_what_installs_it() {
    let python = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let python = text(&python.expect("python3 is there: apt-get install python3").stdout);
    let nothing = tempfile::tempdir().expect("a scratch directory");
    let mut command = Command::new(Path::new(python.trim()));
    let output = command.arg(SCRIPT).env("PATH", nothing.path()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = text(&output.stderr);
    assert_eq!(said, "error: expected likwid-bench, found no such program\nhint: apt-get install likwid\n");
}
