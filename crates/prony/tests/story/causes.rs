//! Why a replay diverged, reported by one command: `subjects/calls/needs.c` does without something of the machine
//! only by doing something else.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::calls::compiled;
use crate::failures::story;
use crate::habits::ask;
use prony_testing::prony;
use prony_testing::recording::{Recording, Replay, Server, Stop, record_with, replay};
use prony_testing::scratch::{Scratch, Turn, free_address, run};

/// A recording of `needs.c`.
struct Needs {
    scratch: Scratch,
    /// What the server needs.
    path: PathBuf,
    recording: Recording,
    demo: PathBuf,
}

/// Records the server while `drive` sends requests and provides what it needs.
fn recorded(how: &str, flags: &[&str], drive: impl FnOnce(SocketAddr, &str, &Stop) + Send) -> Needs {
    let scratch = Scratch::new(&format!("needs-{how}"));
    let address = free_address();
    let path = scratch.arg("needed");
    let server = compiled(&scratch, "needs.c", &[]);
    let server = Server::new([server, address.port().to_string(), how.to_owned(), path.clone()]);
    let (recording, demo) = record_with(&scratch, &server, flags, |stop| drive(address, &path, stop));
    Needs { scratch, path: path.into(), recording, demo }
}

impl Needs {
    fn explain(&self) -> Replay {
        replay(&self.scratch, &self.demo, &["--explain", "--watchdog", "1s"], &[])
    }

    /// What `--explain` says to a person.
    fn explanation(&self) -> String {
        let mut prony = prony();
        let output = prony.args(["replay", "--explain", "--watchdog", "1s"]).arg(&self.demo).current_dir("/").output();
        let output = output.expect("prony starts");
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat()
    }
}

/// The likeliest cause of a divergence.
fn first(answer: &Replay) -> (&str, &str) {
    let cause = &answer.answer["causes"][0];
    (cause["cause"].as_str().unwrap_or_default(), cause["text"].as_str().unwrap_or_default())
}

/// The first call that fails here and did not while recording.
fn failed(answer: &Replay) -> &Value {
    &answer.answer["failed_calls"][0]
}

#[test]
fn a_call_that_fails_in_a_replay_alone_is_named() {
    let _turn = Turn::take();
    let needs = recorded("chmod", &[], |address, path, stop| {
        fs::write(path, "").expect("the directory is writable");
        ask(address, stop);
    });
    assert_eq!(needs.recording.code, 0, "{}", needs.recording);
    replay(&needs.scratch, &needs.demo, &[], &[]).assert_identical();
    fs::remove_file(&needs.path).expect("it was made");
    let answer = needs.explain();
    assert_eq!(answer.code, 1, "{answer}");
    assert_eq!(answer.answer["recorded_build"], true, "{answer}");
    let (path, found) = (needs.path.to_str(), failed(&answer));
    assert_eq!((found["call"].as_str(), found["path"].as_str()), (Some("chmod"), path), "{answer}");
    assert_eq!((&found["error"], &found["recorded"]), (&"ENOENT".into(), &"not_failed".into()), "{answer}");
    assert_eq!(first(&answer).0, "failed_call", "{answer}");
    // What the server says of it itself is kept, though it printed into a pipe.
    let printed = answer.answer["printed"].to_string();
    assert!(printed.contains("needs chmod") && printed.contains("chmod: No such file or directory"), "{answer}");
    // Without --explain the hint says it, and leads to it.
    let answer = replay(&needs.scratch, &needs.demo, &[], &[]);
    let hint = format!("hint: chmod({}) fails here (ENOENT, no such file or directory)", needs.path.display());
    assert!(answer.said.contains(&hint) && answer.said.contains("`prony replay --explain "), "{answer}");
}

#[test]
fn a_name_that_was_made_from_an_inode_is_distinguished_from_a_missing_file() {
    let _turn = Turn::take();
    let needs = recorded("names", &[], |address, path, stop| {
        fs::write(path, "").expect("the directory is writable");
        let inode = fs::metadata(path).expect("it was made").ino();
        fs::write(format!("{path}.{inode}"), "").expect("the directory is writable");
        ask(address, stop);
    });
    assert_eq!(needs.recording.code, 0, "{}", needs.recording);
    replay(&needs.scratch, &needs.demo, &[], &[]).assert_identical();
    // The same file, but another one: the first is kept, so that its inode is not used again.
    let kept = needs.path.with_extension("kept");
    fs::rename(&needs.path, &kept).expect("it was made");
    fs::write(&needs.path, "").expect("the directory is writable");
    let answer = needs.explain();
    let (cause, text) = first(&answer);
    assert_eq!(cause, "made_up_name", "{answer}");
    let recorded = format!("{}.{}", needs.path.display(), fs::metadata(&kept).expect("it was kept").ino());
    assert!(text.contains(&recorded), "{answer}");
}

#[test]
fn what_an_earlier_run_has_left_is_named() {
    let _turn = Turn::take();
    let needs = recorded("mkdir", &[], |address, _, stop| ask(address, stop));
    assert_eq!(needs.recording.code, 0, "{}", needs.recording);
    let answer = needs.explain();
    assert_eq!((&failed(&answer)["call"], &failed(&answer)["error"]), (&"mkdir".into(), &"EEXIST".into()), "{answer}");
    assert_eq!(answer.answer["divergence"]["class"], "early_exit", "{answer}");
    let explanation = needs.explanation();
    assert!(
        explanation.contains(&format!("remove `{}`, which an earlier run has left", needs.path.display())),
        "{explanation}"
    );
    fs::remove_dir(&needs.path).expect("the server made it");
    replay(&needs.scratch, &needs.demo, &[], &[]).assert_identical();
}

#[test]
fn a_call_that_failed_while_recording_alone_is_named() {
    let _turn = Turn::take();
    let needs = recorded("access", &[], |address, _, stop| ask(address, stop));
    fs::write(&needs.path, "").expect("the directory is writable");
    let answer = needs.explain();
    let found = &answer.answer["unfailed_calls"][0];
    assert_eq!((found["call"].as_str(), found["path"].as_str()), (Some("access"), needs.path.to_str()), "{answer}");
    assert_eq!(first(&answer).0, "unfailed_call", "{answer}");
    assert!(!answer.said.contains("its own recording"), "it is the recorded build: {answer}");
}

/// A recording of a server that reads from a named pipe to which nothing writes during the replay.
fn recorded_with_pipe(how: &str) -> Needs {
    let needs = recorded(how, &[], |address, path, stop| {
        run(Command::new("mkfifo").arg(path));
        std::thread::scope(|scope| {
            scope.spawn(|| fs::write(path, "x"));
            ask(address, stop);
        });
    });
    assert_eq!(needs.recording.code, 0, "{}", needs.recording);
    needs
}

#[test]
fn a_thread_that_holds_up_others_is_distinguished_from_those_that_wait() {
    let _turn = Turn::take();
    let answer = recorded_with_pipe("joins").explain();
    assert_eq!(answer.answer["divergence"]["class"], "starvation", "{answer}");
    let threads = answer.answer["divergence"]["threads"].as_array().expect("there are threads");
    let does = |number: u64| {
        let found = threads.iter().find(|thread| thread["thread"] == number);
        found
            .and_then(|thread| thread["system_call"].as_str())
            .unwrap_or_else(|| panic!("no thread {number}: {answer}"))
    };
    assert_eq!((does(0), does(1)), ("futex", "openat"), "{answer}");
    let (cause, text) = first(&answer);
    assert!(cause == "blocked" && text.starts_with("thread 1 sleeps in openat"), "{answer}");
}

#[test]
fn a_thread_that_was_passed_in_its_turn_is_named_with_its_last_call() {
    let _turn = Turn::take();
    let answer = recorded_with_pipe("waits").explain();
    // The others go on without it, and meet what it has not done yet.
    assert_eq!(answer.answer["divergence"]["class"], "order", "{answer}");
    let (cause, text) = first(&answer);
    assert!(cause == "raced" && text.contains("most recently, thread 1 made no call for a long time"), "{answer}");
    assert!(text.ends_with("(thread starts)"), "since which call: {answer}");
}

#[test]
fn a_thread_that_waits_for_what_does_not_come_is_named_with_its_call() {
    let _turn = Turn::take();
    let needs = recorded_with_pipe("reads");
    let answer = needs.explain();
    assert_eq!((answer.code, &answer.answer["divergence"]["class"]), (3, &"starvation".into()), "{answer}");
    let thread = &answer.answer["divergence"]["threads"][0];
    assert_eq!((&thread["doing"], &thread["system_call"]), (&"sleeps".into(), &"openat".into()), "{answer}");
    assert_eq!(thread["call"], "recvfrom", "since which call: {answer}");
    assert_eq!(first(&answer).0, "blocked", "{answer}");
    let explanation = needs.explanation();
    assert!(!explanation.contains("--watchdog"), "more time does not bring it: {explanation}");
}

#[test]
fn a_build_that_computes_is_given_time() {
    let _turn = Turn::take();
    for how in ["computes", "child"] {
        let needs = recorded(how, &[], |address, _, stop| ask(address, stop));
        assert_eq!(needs.recording.code, 0, "{}", needs.recording);
        // It computes for longer than a second without a call, in a thread or a process beside the first.
        needs.explain().assert_identical();
    }
}

#[test]
fn output_that_was_verified_counts_however_often_the_loop_turned() {
    let _turn = Turn::take();
    let needs = recorded("turns", &[], |address, _, stop| ask(address, stop));
    let answer = replay(&needs.scratch, &needs.demo, &[], &[]);
    answer.assert_identical();
    assert!(answer.number("frames") > answer.number("output_bytes_verified"), "{answer}");
}

#[test]
fn a_recording_says_whether_its_demo_holds() {
    let _turn = Turn::take();
    let holds = recorded("none", &["--check"], |address, _, stop| ask(address, stop));
    assert_eq!(holds.recording.code, 0, "{}", holds.recording);
    let fails = recorded("mkdir", &["--check"], |address, _, stop| ask(address, stop));
    assert_eq!(fails.recording.code, 1, "the server ended with 0, and its demo does not hold: {}", fails.recording);
    let said = fs::read_to_string(fails.scratch.path().join("record.stdout")).expect("it has answered");
    assert!(said.contains("checked: the demo is not replayable") && said.contains("EEXIST"), "{said}");
    let said = fs::read_to_string(holds.scratch.path().join("record.stdout")).expect("it has answered");
    assert!(said.contains("checked: the demo is replayable") && said.contains("story.demo: identical"), "{said}");
}

#[test]
fn only_hints_that_apply_are_given() {
    let _turn = Turn::take();
    let story = story("hints");
    let explained = |change: &str, flags: &[&str]| {
        let mut prony = prony();
        prony.args(["replay", "--explain"]).args(flags).arg(&story.demo).arg("--").args(story.build(change));
        let output = prony.current_dir("/").output().expect("prony starts");
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat()
    };
    for change in ["OTHER_OUTPUT", "OTHER_ORDER", "EXTRA_CALL", "CLOSES_EARLY", "NEVER_QUITS", "CRASHES"] {
        let explanation = explained(change, &[]);
        assert!(explanation.contains("(other_build)"), "{change}: {explanation}");
        // A letter is no number, and no thread was slow.
        assert!(!explanation.contains("--tolerance") && !explanation.contains("--watchdog"), "{change}: {explanation}");
        assert_eq!(explanation.contains("--exclude-object"), change == "EXTRA_CALL", "{change}: {explanation}");
        assert_eq!(explanation.contains("its own recording"), change == "OTHER_ORDER", "{change}: {explanation}");
    }
    let explanation = explained("SPINS", &["--watchdog", "1s"]);
    assert!(
        explanation.contains("--watchdog 6s") && explanation.contains("thread 0 runs in its own code"),
        "{explanation}"
    );
}
