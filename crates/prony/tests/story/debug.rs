//! `prony debug`: gdb on a server, stopped at a frame, at a record and at a divergence of its replay.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::calls::compiled;
use prony_testing::CommandOutput;
use prony_testing::recording::{Server, record_with};
use prony_testing::scratch::{Scratch, Turn, program};
use serde_json::Value;

/// Rounds of `subjects/calls/answered.c`.
pub const ROUNDS: &str = "40";

/// Records the server built with these flags.
pub fn recorded(scratch: &Scratch, rounds: &str, flags: &[&str]) -> (String, PathBuf) {
    program("/usr/bin/gdb", "gdb");
    let build = compiled(scratch, "answered.c", &[&["-g", "-O0"], flags].concat());
    let (_, demo) = record_with(scratch, &Server::new([build.as_str(), rounds]), &[], |stop| stop.wait());
    (build, demo)
}

/// Runs gdb at a place, with these commands.
pub fn at(scratch: &Scratch, place: &[&str], commands: &[&str], build: &str, rounds: &str) -> CommandOutput {
    let mut arguments = vec!["debug", "story.demo", "--batch"];
    arguments.extend(place);
    for command in commands {
        arguments.extend(["--gdb-command", command]);
    }
    arguments.extend(["--", build, rounds]);
    scratch.prony(&arguments)
}

/// The first line of a backtrace, behind this text that gdb was made to print.
pub fn top_of(found: &CommandOutput) -> &str {
    let (_, after) = found.stdout.split_once("the stack\n").unwrap_or_else(|| panic!("no stack: {found:?}"));
    after.lines().next().unwrap_or_default()
}

pub const STACK: [&str; 2] = ["echo the stack\\n", "backtrace"];

/// Number and frame of the last record of this call.
pub fn last(scratch: &Scratch, call: &str) -> (u64, u64, u64) {
    let dump = scratch.prony(&["demo", "dump", "story.demo", "--json", "--call", call]);
    let line = dump.stdout.lines().last().unwrap_or_else(|| panic!("no {call}: {dump:?}"));
    let record: Value = serde_json::from_str(line).expect("a line is an object");
    let field = |name: &str| record[name].as_u64().unwrap_or_else(|| panic!("no {name} in {line}"));
    (field("process"), field("record"), field("frame"))
}

/// What gdb prints, without the numbers of processes.
fn without_pids(found: &CommandOutput) -> Vec<&str> {
    let has_pid = |line: &&str| line.contains("LWP") || line.contains("process ");
    found.stdout.lines().filter(|line| !has_pid(line)).collect()
}

#[test]
fn a_record_and_a_frame_are_stopped_at_twice_with_the_same_stack_and_registers() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-places");
    let (build, _) = recorded(&scratch, ROUNDS, &[]);
    let (_, record, frame) = last(&scratch, "send");
    let (record, frame) = (record.to_string(), frame.to_string());
    let commands = [STACK[0], STACK[1], "info registers rip rsp rbx rbp r12 r13 r14 r15", "x/8i $pc", "info locals"];
    let stops = [(); 2].map(|()| at(&scratch, &["--record", &record], &commands, &build, ROUNDS));
    for found in &stops {
        assert!(found.stdout.contains("story.demo: stopped in frame "), "{found:?}");
        assert!(found.stdout.contains(&format!(", before the call of record {record}: send, ")), "{found:?}");
        assert!(top_of(found).contains(" send_answer (fd=") && top_of(found).contains("round="), "{found:?}");
        assert!(found.stdout.contains("answer 39 is 117"), "{found:?}");
        assert_eq!(found.code, Some(0), "{found:?}");
    }
    assert_eq!(without_pids(&stops[0]), without_pids(&stops[1]));
    // The frame begins with the reading of the clock.
    let first = at(&scratch, &["--frame", &frame], &STACK, &build, ROUNDS);
    assert!(first.stdout.contains(&format!("stopped in frame {frame}, ")), "{first:?}");
    assert_eq!(first.code, Some(0), "{first:?}");
}

#[test]
fn a_record_far_into_a_long_demo_is_stopped_at() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-long");
    let (build, _) = recorded(&scratch, "20000", &[]);
    let (_, record, _) = last(&scratch, "send");
    let place = ["--record", &record.to_string(), "--max-memory", "1MiB"];
    let commands = [STACK[0], STACK[1], "prony last-write value", "continue"];
    let found = at(&scratch, &place, &commands, &build, "20000");
    assert!(top_of(&found).contains("round=19999"), "{found:?}");
    assert!(found.stdout.contains("value: last changed ") && found.stdout.contains("after:  59997\n"), "{found:?}");
    assert!(found.stdout.contains("story.demo: identical"), "{found:?}");
    assert_eq!(found.code, Some(0), "{found:?}");
}

#[test]
fn bytes_that_the_server_has_never_written_are_those_of_any_other_replay() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-unwritten");
    let (build, _) = recorded(&scratch, ROUNDS, &["-DUNWRITTEN"]);
    let replayed = scratch.prony(&["replay", "story.demo", "--", &build, ROUNDS]);
    assert!(replayed.stdout.starts_with("story.demo: identical"), "{replayed:?}");
    let found = at(&scratch, &["--frame", "30"], &["continue"], &build, ROUNDS);
    assert!(
        found.stdout.contains("stopped in frame 30, ") && found.stdout.contains("story.demo: identical"),
        "{found:?}"
    );
    assert_eq!(found.code, Some(0), "{found:?}");
}

#[test]
fn instructions_that_the_replay_answers_are_passed_over() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-stamps");
    let (build, _) = recorded(&scratch, ROUNDS, &["-DSTAMPS"]);
    let commands = ["break perror", "tbreak send_answer", "continue", STACK[0], STACK[1], "finish", "continue"];
    let found = at(&scratch, &["--frame", "9"], &commands, &build, ROUNDS);
    assert!(top_of(&found).starts_with("#0  send_answer (fd="), "{found:?}");
    let returned = |line: &str| line.contains("take_turn (fd=") && !line.starts_with('#');
    assert!(found.stdout.lines().any(returned), "{found:?}");
    assert!(!found.stdout.contains("SIG"), "{found:?}");
    assert!(found.stdout.contains("story.demo: identical"), "{found:?}");
    assert_eq!(found.code, Some(0), "{found:?}");
}

#[test]
fn a_divergence_is_stopped_at_in_the_function_that_made_it() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-divergence");
    recorded(&scratch, ROUNDS, &[]);
    let other = compiled(&scratch, "answered.c", &["-g", "-O0", "-DOTHER_ANSWER"]);
    let replayed = scratch.prony(&["replay", "story.demo", "--", &other, ROUNDS]);
    let hint = format!("hint: `prony debug --divergence story.demo -- {other} {ROUNDS}` opens gdb there");
    assert!(replayed.stderr.contains(&hint), "{replayed:?}");

    for place in [&["--divergence"][..], &["--frame", "9"], &["--record", "60"]] {
        let found = at(&scratch, place, &[STACK[0], STACK[1], "print value"], &other, ROUNDS);
        if place[0] == "--divergence" {
            assert!(found.stdout.contains("story.demo: stopped where it diverged: different output"), "{found:?}");
        }
        assert!(found.stdout.contains("nswer 7 is 21|"), "{found:?}");
        assert!(found.stdout.contains("nswer 7 is 22|"), "{found:?}");
        assert!(top_of(&found).contains(" send_answer (fd=") && top_of(&found).contains("round="), "{found:?}");
        assert!(found.stdout.contains("= 22"), "{found:?}");
        assert_eq!(found.code, Some(1), "{found:?}");
    }
}

#[test]
fn a_replay_goes_on_to_its_end_under_gdb_and_breakpoints_work() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-continue");
    let (build, _) = recorded(&scratch, ROUNDS, &[]);
    let whole = at(&scratch, &["--frame", "2"], &["continue"], &build, ROUNDS);
    assert!(whole.stdout.contains("exited normally"), "{whole:?}");
    assert!(whole.stdout.contains("story.demo: identical"), "{whole:?}");
    assert_eq!(whole.code, Some(0), "{whole:?}");
    let commands = ["break send_answer if round == 30", "continue", STACK[0], STACK[1]];
    let stopped = at(&scratch, &["--frame", "2"], &commands, &build, ROUNDS);
    assert!(top_of(&stopped).starts_with("#0  send_answer (fd="), "{stopped:?}");
    assert!(stopped.stdout.contains("round=30"), "{stopped:?}");
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    // One that is identical has no divergence to stop at.
    let identical = at(&scratch, &["--divergence"], &STACK, &build, ROUNDS);
    assert!(identical.stdout.contains("story.demo: identical"), "{identical:?}");
    assert!(identical.stderr.contains("the replay did not come to the place"), "{identical:?}");
    assert_eq!(identical.code, Some(0), "{identical:?}");
}

#[test]
fn one_gdb_replays_again_to_other_places_and_keeps_its_breakpoints() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-again");
    let (build, _) = recorded(&scratch, ROUNDS, &[]);
    let (_, record, _) = last(&scratch, "send");
    let to_record = format!("prony record {record}");
    let commands = [
        "prony back",
        STACK[1],
        "break send_answer",
        "prony frame 20",
        "continue",
        "prony frame 7000",
        &to_record,
        STACK[1],
        "prony back 3",
        "prony divergence",
        "prony nowhere",
    ];
    let found = at(&scratch, &["--frame", "9"], &commands, &build, ROUNDS);
    let places: Vec<&str> = found.stdout.lines().filter(|line| line.starts_with("story.demo: stopped")).collect();
    let frames = ["9,", "8,", "20,", "39,", "36,"].map(|frame| format!("story.demo: stopped in frame {frame} "));
    assert_eq!(places.len(), frames.len(), "{found:?}");
    for (place, frame) in places.iter().zip(&frames) {
        assert!(place.starts_with(frame.as_str()), "{found:?}");
    }
    // One before the place, and the one that the breakpoint stops in.
    assert!(found.stdout.contains("take_turn (fd=3, round=7)"), "{found:?}");
    assert!(found.stdout.contains("Breakpoint 1, send_answer (fd=3, round=20)"), "{found:?}");
    assert!(found.stdout.contains(" in send_answer (fd=3, round=39)"), "{found:?}");
    for message in [
        "expected a frame below 40, found frame 7000",
        "the replay ended without coming there",
        "expected a place: frame N, record N or divergence",
    ] {
        assert!(found.stderr.contains(message), "{found:?}");
    }
    assert!(!found.stderr.contains("gdb was not started"), "{found:?}");
    assert_eq!(found.code, Some(0), "{found:?}");
}

#[test]
fn the_process_that_has_the_record_is_stopped() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-processes");
    let (build, _) = recorded(&scratch, ROUNDS, &["-DCHILD"]);
    let (process, record, _) = last(&scratch, "send");
    assert_eq!(process, 1);
    let commands = [STACK[0], STACK[1], "prony last-write value"];
    let found = at(&scratch, &["--record", &record.to_string(), "--process", "1"], &commands, &build, ROUNDS);
    assert!(found.stdout.contains(" of process 1: send, "), "{found:?}");
    assert!(found.stdout.contains("value: last changed ") && found.stdout.contains("after:  117\n"), "{found:?}");
    assert!(top_of(&found).contains(" send_answer (fd="), "{found:?}");
    assert_eq!(found.code, Some(0), "{found:?}");
}

#[test]
fn a_build_has_its_variables_and_prints_where_gdb_does() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-flags");
    let (build, _) = recorded(&scratch, ROUNDS, &[]);
    let shown = "python print(open('/proc/%d/environ' % gdb.selected_inferior().pid).read().replace(chr(0), ' '))";
    let place = ["--frame", "2", "--env", "SPEED=high", "--show-output", "--allow-truncated"];
    let found = at(&scratch, &place, &[shown], &build, ROUNDS);
    assert!(found.stdout.contains("SPEED=high"), "{found:?}");
    assert_eq!(found.code, Some(0), "{found:?}");
}

#[test]
fn what_cannot_be_debugged_is_named() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-errors");
    let (build, _) = recorded(&scratch, ROUNDS, &[]);
    let refused = at(&scratch, &["--frame", "100000"], &[], &build, ROUNDS);
    assert!(refused.stderr.contains("found frame 100000"), "{refused:?}");
    assert!(refused.stderr.contains("hint: `prony demo frames` lists the frames"), "{refused:?}");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let refused = at(&scratch, &["--record", "9", "--process", "7"], &[], &build, ROUNDS);
    assert!(refused.stderr.contains("process 7 has no call at record 9 or behind it"), "{refused:?}");
    let missing = at(&scratch, &["--frame", "2", "--debugger", "no-such-gdb"], &[], &build, ROUNDS);
    assert!(missing.stderr.contains("cannot start `no-such-gdb`"), "{missing:?}");
    let idle = at(&scratch, &["--frame", "2", "--debugger", "true"], &[], &build, ROUNDS);
    assert!(idle.stderr.contains("without attaching to process "), "{idle:?}");
    assert_eq!(idle.code, Some(2), "{idle:?}");
    let nowhere = scratch.prony(&["debug", "story.demo", "--", &build]);
    assert_eq!(nowhere.code, Some(2), "{nowhere:?}");
}

#[test]
fn a_debugger_elsewhere_is_waited_for_on_a_port() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-port");
    program("/usr/bin/gdbserver", "gdbserver");
    let (build, _) = recorded(&scratch, ROUNDS, &[]);
    let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port is free");
    let port = free.port().to_string();
    let script = scratch.arg("gdb.py");
    let flags = ["--gdb-port", &port, "--gdb-script", &script];
    let mut prony =
        scratch.command(&[&["debug", "story.demo", "--frame", "5"][..], &flags, &["--", &build, ROUNDS]].concat());
    let mut prony = prony.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("prony is built");
    // It says how to connect, and then waits.
    let mut lines = BufReader::new(prony.stderr.take().expect("it is a pipe")).lines().map_while(Result::ok);
    let hint = lines.find(|line| line.starts_with("hint: `gdb ")).expect("a hint");
    assert!(hint.contains(&format!("'target remote localhost:{port}' -x {script}")), "{hint}");
    assert!(lines.any(|line| line.starts_with("Listening on port ")));
    let command = hint.split('`').nth(1).expect("the command").replacen("gdb ", "/usr/bin/gdb -nx -batch ", 1);
    let found =
        CommandOutput::to(Command::new("/bin/sh").args(["-c", &format!("{command} -ex backtrace -ex detach {build}")]));
    let rest: Vec<String> = lines.collect();
    let ended = prony.wait_with_output().expect("it ends when gdb has gone");
    assert!(found.stdout.contains(" take_turn (fd="), "{found:?} {rest:?}");
    assert_eq!(ended.status.code(), Some(0), "{ended:?} {rest:?}");
}
