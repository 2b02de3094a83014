//! `prony debug`: back to the last change of a variable, two builds side by side, and hashes of a server at a call.

use std::fs;

use crate::calls::compiled;
use crate::debug::{ROUNDS, STACK, at, last, recorded, top_of};
use prony_testing::CommandOutput;
use prony_testing::recording::{Server, record_with};
use prony_testing::scratch::{Scratch, Turn, program};
use serde_json::Value;

/// Rounds of `subjects/calls/written.c`: more than the records from which a search starts.
const WRITTEN_ROUNDS: &str = "40";

/// Records `written.c`, and returns the build and the file that it reads.
fn recorded_writes(scratch: &Scratch) -> (String, String) {
    program("/usr/bin/gdb", "gdb");
    let build = compiled(scratch, "written.c", &["-g", "-O0"]);
    let page = scratch.write("page.txt", "bbbbbbbb");
    let server = Server::new([build.as_str(), WRITTEN_ROUNDS, page.as_str()]);
    record_with(scratch, &server, &[], |stop| stop.wait());
    (build, page)
}

/// Runs gdb at the last call of this kind of `written.c`.
fn at_last(scratch: &Scratch, call: &str, commands: &[&str], build: &str, page: &str) -> CommandOutput {
    let (_, record, _) = last(scratch, call);
    let mut arguments = vec!["debug".to_owned(), "story.demo".to_owned(), "--batch".to_owned()];
    arguments.extend(["--record".to_owned(), record.to_string()]);
    arguments.extend(commands.iter().flat_map(|command| ["--gdb-command".to_owned(), (*command).to_owned()]));
    arguments.extend(["--", build, WRITTEN_ROUNDS, page].map(str::to_owned));
    scratch.prony(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// What gdb printed from this text on.
fn after<'a>(found: &'a CommandOutput, text: &str) -> &'a str {
    let (_, after) = found.stdout.split_once(text).unwrap_or_else(|| panic!("no {text}: {found:?}"));
    after
}

#[test]
fn the_last_write_of_a_variable_is_stopped_at_and_then_the_one_before_it() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-last-write");
    let (build, _) = recorded(&scratch, ROUNDS, &[]);
    let (_, record, _) = last(&scratch, "send");
    let commands = [
        "print value",
        "prony last-write value",
        STACK[0],
        STACK[1],
        "prony last-write value",
        "prony last-write round",
    ];
    let found = at(&scratch, &["--record", &record.to_string()], &commands, &build, ROUNDS);
    assert!(found.stdout.contains("$1 = 117"), "{found:?}");
    let first = after(&found, "value: last changed after record ");
    assert!(first.contains("after:  117\n"), "{found:?}");
    assert!(top_of(&found).starts_with("#0  send_answer (fd=3, round=39)"), "{found:?}");
    // From there on: what stood there before was left by a function that is over, or is the same variable of an earlier round.
    let second = after(&found, "value: last changed after record ").split_once("value: last changed").expect("twice").1;
    assert!(!second.split("\n#0").next().expect("a part").contains("after:  117\n"), "{found:?}");
    assert!(found.stdout.contains("round: last changed"), "{found:?}");
    assert_eq!(found.code, Some(0), "{found:?}");
}

#[test]
fn a_write_by_another_thread_or_by_a_recorded_call_is_stopped_at() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-writers");
    let (build, page) = recorded_writes(&scratch);
    let by_thread = ["prony last-write total", STACK[0], STACK[1]];
    let found = at_last(&scratch, "send", &by_thread, &build, &page);
    let text = after(&found, "total: last changed ");
    assert!(text.contains("before: 741\n") && text.contains("after:  780\n"), "{found:?}");
    assert!(top_of(&found).contains("add_to_total (amount=39)"), "{found:?}");
    assert!(found.stdout.contains(" run_thread (round="), "{found:?}");

    let by_call = ["prony last-write -size 2 question", STACK[0], STACK[1]];
    let found = at_last(&scratch, "send", &by_call, &build, &page);
    assert!(after(&found, "question: last changed ").contains("by prony, which answers the call"), "{found:?}");
    assert!(top_of(&found).contains(" take_question (fd="), "{found:?}");
}

#[test]
fn a_variable_without_a_write_and_writes_without_a_change_are_kept_apart_from_changes() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-no-writes");
    let (build, page) = recorded_writes(&scratch);
    let commands = ["prony last-write fixed", "prony last-write level", STACK[0], STACK[1]];
    let found = at_last(&scratch, "send", &commands, &build, &page);
    assert!(after(&found, "fixed: ").starts_with("no instruction has changed it since record 0"), "{found:?}");
    let level = after(&found, "level: last changed ");
    assert!(level.contains("before: 2\n") && level.contains("after:  3\n"), "{found:?}");
    assert!(top_of(&found).contains("set_level (round=3)"), "{found:?}");
    // The system wrote it, which no watchpoint sees.
    let found = at_last(&scratch, "send", &["print *page", "prony last-write *page"], &build, &page);
    assert!(found.stdout.contains("98 'b'"), "{found:?}");
    assert!(after(&found, "*page: ").contains("without an instruction of the server"), "{found:?}");
}

#[test]
fn what_cannot_be_searched_for_is_named() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-write-errors");
    let (build, _) = recorded(&scratch, ROUNDS, &[]);
    let long = ["prony last-write -size 4000 text"];
    let found = at(&scratch, &["--frame", "9"], &long, &build, ROUNDS);
    assert!(found.stderr.contains("No symbol \"text\" in current context"), "{found:?}");
    for (command, message) in [
        ("prony last-write", "expected a variable or an address"),
        ("prony last-write -size 0 round", "expected a number of bytes and an expression behind -size"),
        ("prony last-write -size 4000 round", "the processor watches 32 at most"),
        ("prony last-write nothing", "No symbol \"nothing\" in current context"),
        ("prony last-write 1.5", "expected a variable or an address"),
    ] {
        let found = at(&scratch, &["--frame", "9"], &[command], &build, ROUNDS);
        assert!(found.stderr.contains(message), "{command}: {found:?}");
    }
}

#[test]
fn two_builds_are_stopped_where_they_differ_with_what_computed_the_byte() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-both");
    let (build, _) = recorded(&scratch, ROUNDS, &[]);
    let other = compiled(&scratch, "answered.c", &["-g", "-O0", "-DOTHER_ANSWER"]);
    let [old, new] = [&build, &other].map(|build| format!("{build} {ROUNDS}"));
    let page = scratch.arg("both.html");
    let both = ["debug", "story.demo", "--divergence", "--both", &old, &new];
    let found = scratch.prony(&[&both[..], &["--export-html", &page]].concat());
    assert!(found.stdout.contains("byte 13 last changed after record "), "{found:?}");
    assert!(found.stdout.contains("to 31\n") && found.stdout.contains("to 32\n"), "{found:?}");
    assert_eq!(found.stdout.matches(" send_answer (fd=3, round=7) at ").count(), 4, "{found:?}");
    assert_eq!(found.stdout.matches("answered.c:42\n").count(), 2, "{found:?}");
    assert!(found.stdout.contains("  send_answer: value = 21, 22\n"), "{found:?}");
    assert_eq!(found.code, Some(1), "{found:?}");
    let html = fs::read_to_string(&page).expect("a page was written");
    assert!(html.contains("<td><code>21</code></td><td><code>22</code></td>"), "{html}");

    let found = scratch.prony(&[&both[..], &["--json"]].concat());
    let answer: Value = serde_json::from_str(&found.stdout).unwrap_or_else(|error| panic!("{error}: {found:?}"));
    for (side, byte) in [("old", 0x31), ("new", 0x32)] {
        assert_eq!(answer[side]["write"]["new"], byte, "{found:?}");
        assert_eq!(answer[side]["stack"][0]["function"], "send_answer", "{found:?}");
        assert_eq!(answer[side]["record"], answer["divergence"]["record"], "{found:?}");
    }
    // Without a divergence there is nothing to compare.
    let found = scratch.prony(&["debug", "story.demo", "--divergence", "--both", &old, &old]);
    assert!(found.stdout.contains("story.demo: identical"), "{found:?}");
    assert!(found.stderr.contains("the new build does not diverge"), "{found:?}");
    assert_eq!(found.code, Some(0), "{found:?}");
}

#[test]
fn the_same_call_reached_twice_has_the_same_hashes_and_another_has_others() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-hash");
    let (build, page) = recorded_writes(&scratch);
    let hashes = |call: &str| {
        let found = at_last(&scratch, call, &["prony hash"], &build, &page);
        let line = found.stdout.lines().find(|line| line.starts_with("registers "));
        line.unwrap_or_else(|| panic!("no hashes: {found:?}")).to_owned()
    };
    let sent = hashes("send");
    assert_eq!(sent.split_whitespace().count(), 6, "{sent}");
    assert_eq!(hashes("send"), sent);
    let earlier = hashes("bind");
    for (one, other) in sent.split_whitespace().zip(earlier.split_whitespace()).skip(1).step_by(2) {
        assert_ne!(one, other, "{sent} {earlier}");
    }
}

#[test]
fn lldb_stops_at_a_place_in_the_frame_of_the_server() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-lldb");
    let lldb = program("/usr/bin/lldb", "lldb");
    let (build, _) = recorded(&scratch, ROUNDS, &["-DSTAMPS"]);
    let (_, record, _) = last(&scratch, "send");
    let record = record.to_string();
    let found = at(
        &scratch,
        &["--record", &record, "--debugger", &lldb],
        &["frame variable round", "continue"],
        &build,
        ROUNDS,
    );
    assert!(found.stdout.contains("send_answer(fd=3, round=39)"), "{found:?}");
    assert!(found.stdout.contains("(long) round = 39"), "{found:?}");
    assert!(found.stdout.contains("exited with status = 0"), "{found:?}");
    assert!(found.stdout.contains("story.demo: identical"), "{found:?}");
    assert_eq!(found.code, Some(0), "{found:?}");
    // It cannot go back.
    let other = compiled(&scratch, "answered.c", &["-g", "-O0", "-DOTHER_ANSWER"]);
    let [old, new] = [&build, &other].map(|build| format!("{build} {ROUNDS}"));
    let refused =
        scratch.prony(&["debug", "story.demo", "--divergence", "--both", &old, &new, "--debugger", "/usr/bin/lldb"]);
    assert!(refused.stderr.contains("expected gdb, found `/usr/bin/lldb`"), "{refused:?}");
    assert_eq!(refused.code, Some(2), "{refused:?}");
}
