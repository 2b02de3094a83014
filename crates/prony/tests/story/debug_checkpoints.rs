//! `prony debug`: back to an earlier place from a checkpoint of the server.

use std::fs;

use crate::debug::{at, last, recorded};
use prony_testing::CommandOutput;
use prony_testing::scratch::{Scratch, Turn};

/// Rounds of `subjects/calls/answered.c` that take several checkpoints, and more than are kept.
const SOME: &str = "8000";
const MANY: &str = "50000";

/// How the server came to each place at which gdb stopped it: what stands behind the number of its process.
fn ways(found: &CommandOutput) -> Vec<&str> {
    let lines = found.stdout.lines().filter_map(|line| line.strip_prefix("  process "));
    lines.map(|line| line.splitn(3, ", ").nth(2).unwrap_or("")).collect()
}

fn hashes(found: &CommandOutput) -> Vec<&str> {
    found.stdout.lines().filter(|line| line.starts_with("registers ")).collect()
}

fn is_checkpoint(way: &str) -> bool {
    way.starts_with("from a checkpoint at record ")
}

#[test]
fn going_back_starts_from_a_checkpoint_and_comes_to_the_same_memory() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-checkpoint");
    let (build, _) = recorded(&scratch, MANY, &[]);
    let commands = [
        "prony hash",
        "prony back",
        "print round",
        "prony frame 1000",
        "print round",
        "prony frame 45000",
        "prony hash",
        "up",
        "prony last-write round",
        "continue",
    ];
    // With all records in memory, and in windows.
    for memory in ["512MiB", "1MiB"] {
        let found = at(&scratch, &["--frame", "45000", "--max-memory", memory], &commands, &build, MANY);
        let ways = ways(&found);
        assert_eq!(ways.len(), 4, "{found:?}");
        assert!(ways[0].is_empty() && ways[1..].iter().all(|way| is_checkpoint(way)), "{ways:?}: {found:?}");
        assert!(found.stdout.contains("$1 = 44998\n") && found.stdout.contains("$2 = 999\n"), "{found:?}");
        let [before, after] = hashes(&found)[..] else { panic!("two hashes: {found:?}") };
        assert_eq!(before, after);
        assert!(found.stdout.contains("after:  44999\n"), "{found:?}");
        assert!(found.stdout.contains("story.demo: identical"), "{found:?}");
        assert_eq!(found.code, Some(0), "{found:?}");
    }
}

#[test]
fn a_divergence_is_come_back_to_from_a_checkpoint() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-checkpoint-divergence");
    recorded(&scratch, SOME, &[]);
    let late = crate::calls::compiled(&scratch, "answered.c", &["-g", "-O0", "-DLATE_ANSWER=7000"]);
    let commands = ["prony back 100", "prony divergence", "print round", "prony last-write value", "print round"];
    let found = at(&scratch, &["--divergence"], &commands, &late, SOME);
    let ways = ways(&found);
    assert_eq!(ways.len(), 3, "{found:?}");
    assert!(ways[1..].iter().all(|way| is_checkpoint(way)), "{ways:?}: {found:?}");
    assert!(found.stdout.contains("$1 = 7000\n") && found.stdout.contains("$2 = 7000\n"), "{found:?}");
    assert!(found.stdout.contains("after:  21001\n"), "{found:?}");
    assert_eq!(found.stdout.matches("stopped where it diverged").count(), 2, "{found:?}");
    assert_eq!(found.code, Some(1), "{found:?}");
}

#[test]
fn a_file_that_the_server_writes_is_as_without_going_back() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-checkpoint-log");
    let log = scratch.arg("rounds.log");
    let (build, _) = recorded(&scratch, SOME, &["-DLOG=\"rounds.log\""]);
    let whole = fs::read_to_string(&log).expect("the server wrote it");
    let commands = ["prony back 3000", "prony frame 7500", "continue"];
    let found = at(&scratch, &["--frame", "7000"], &commands, &build, SOME);
    assert!(ways(&found)[1..].iter().all(|way| is_checkpoint(way)), "{found:?}");
    assert!(found.stdout.contains("story.demo: identical"), "{found:?}");
    assert_eq!(fs::read_to_string(&log).expect("the replay wrote it"), whole);
}

#[test]
fn what_keeps_a_server_from_having_checkpoints_is_named() {
    let _turn = Turn::take();
    for (name, flags, reason) in [
        ("children", "-DCHILD", "a server with children has no checkpoints"),
        ("memory", "-DSHARES", "a server that shares memory has no checkpoints"),
        ("file", "-DKEEPS=\"kept.bin\"", "a server that has a file open for reading and writing has no checkpoints"),
    ] {
        let scratch = Scratch::new(&format!("debug-checkpoint-{name}"));
        let (build, _) = recorded(&scratch, SOME, &[flags]);
        let (process, record, _) = last(&scratch, "send");
        let place = ["--record", &record.to_string(), "--process", &process.to_string()];
        let found = at(&scratch, &place, &["prony back 10"], &build, SOME);
        assert_eq!(ways(&found), ["", &format!("by another replay: {reason}")], "{found:?}");
    }
    // Before the first one, there is none.
    let scratch = Scratch::new("debug-checkpoint-first");
    let (build, _) = recorded(&scratch, SOME, &[]);
    let found = at(&scratch, &["--frame", "7000"], &["prony frame 10"], &build, SOME);
    assert_eq!(ways(&found), ["", "by another replay"], "{found:?}");
}
