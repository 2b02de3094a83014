//! `prony debug`: gdb on a server, stopped at a frame, at a record and at a divergence of its replay.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::calls::compiled;
use prony_testing::CommandOutput;
use prony_testing::recording::{Server, record_with};
use prony_testing::scratch::{Scratch, Turn, program};
use serde_json::Value;

/// Rounds of `subjects/calls/answered.c`.
const ROUNDS: &str = "40";

/// Records the server built with these flags.
fn recorded(scratch: &Scratch, flags: &[&str]) -> (String, PathBuf) {
    program("/usr/bin/gdb", "gdb");
    let build = compiled(scratch, "answered.c", &[&["-g"], flags].concat());
    let (_, demo) = record_with(scratch, &Server::new([build.as_str(), ROUNDS]), &[], |stop| stop.wait());
    (build, demo)
}

/// Runs gdb at a place, with these commands.
fn at(scratch: &Scratch, place: &[&str], commands: &[&str], build: &str) -> CommandOutput {
    let mut arguments = vec!["debug", "story.demo", "--batch"];
    arguments.extend(place);
    for command in commands {
        arguments.extend(["--gdb-command", command]);
    }
    arguments.extend(["--", build, ROUNDS]);
    scratch.prony(&arguments)
}

/// The first line of a backtrace, behind this text that gdb was made to print.
fn top_of(found: &CommandOutput) -> &str {
    let (_, after) = found.stdout.split_once("the stack\n").unwrap_or_else(|| panic!("no stack: {found:?}"));
    after.lines().next().unwrap_or_default()
}

const STACK: [&str; 2] = ["echo the stack\\n", "backtrace"];

/// Number and frame of the last record of this call.
fn last(scratch: &Scratch, call: &str) -> (u64, u64, u64) {
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
    let (build, _) = recorded(&scratch, &[]);
    let (_, record, frame) = last(&scratch, "send");
    let (record, frame) = (record.to_string(), frame.to_string());
    let commands = [STACK[0], STACK[1], "info registers", "x/8i $pc", "info locals"];
    let stops = [(); 2].map(|()| at(&scratch, &["--record", &record], &commands, &build));
    for found in &stops {
        assert!(found.stdout.contains("story.demo: stopped in frame "), "{found:?}");
        assert!(found.stdout.contains(&format!(", before the call of record {record}: send, ")), "{found:?}");
        assert!(top_of(found).contains(" send_answer (fd=") && top_of(found).contains("round="), "{found:?}");
        assert!(found.stdout.contains("answer 39 is 117"), "{found:?}");
        assert_eq!(found.code, Some(0), "{found:?}");
    }
    assert_eq!(without_pids(&stops[0]), without_pids(&stops[1]));
    // The frame begins with the reading of the clock.
    let first = at(&scratch, &["--frame", &frame], &STACK, &build);
    assert!(first.stdout.contains(&format!("stopped in frame {frame}, ")), "{first:?}");
    assert_eq!(first.code, Some(0), "{first:?}");
    let windows = at(&scratch, &["--record", &record, "--max-memory", "1"], &commands, &build);
    assert_eq!(without_pids(&windows), without_pids(&stops[0]));
}

#[test]
fn a_divergence_is_stopped_at_in_the_function_that_made_it() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-divergence");
    recorded(&scratch, &[]);
    let other = compiled(&scratch, "answered.c", &["-g", "-DOTHER_ANSWER"]);
    let replayed = scratch.prony(&["replay", "story.demo", "--", &other, ROUNDS]);
    let hint = format!("hint: `prony debug story.demo --divergence -- {other} {ROUNDS}` opens gdb there");
    assert!(replayed.stderr.contains(&hint), "{replayed:?}");

    for place in [&["--divergence"][..], &["--frame", "9"], &["--record", "60"]] {
        let found = at(&scratch, place, &[STACK[0], STACK[1], "print value"], &other);
        if place[0] == "--divergence" {
            assert!(found.stdout.contains("story.demo: stopped where it diverged: output"), "{found:?}");
        }
        assert!(found.stdout.contains("|answer 7 is 21|"), "{found:?}");
        assert!(found.stdout.contains("|answer 7 is 22|"), "{found:?}");
        assert!(top_of(&found).contains(" send_answer (fd=") && top_of(&found).contains("round="), "{found:?}");
        assert!(found.stdout.contains("= 22"), "{found:?}");
        assert_eq!(found.code, Some(1), "{found:?}");
    }
}

#[test]
fn a_replay_goes_on_to_its_end_under_gdb_and_breakpoints_work() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-continue");
    let (build, _) = recorded(&scratch, &[]);
    let whole = at(&scratch, &["--frame", "2"], &["continue"], &build);
    assert!(whole.stdout.contains("exited normally"), "{whole:?}");
    assert!(whole.stdout.contains("story.demo: identical"), "{whole:?}");
    assert_eq!(whole.code, Some(0), "{whole:?}");
    let commands = ["break send_answer if round == 30", "continue", STACK[0], STACK[1]];
    let stopped = at(&scratch, &["--frame", "2"], &commands, &build);
    assert!(top_of(&stopped).starts_with("#0  send_answer (fd="), "{stopped:?}");
    assert!(stopped.stdout.contains("round=30"), "{stopped:?}");
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    // One that is identical has no divergence to stop at.
    let identical = at(&scratch, &["--divergence"], &STACK, &build);
    assert!(identical.stdout.contains("story.demo: identical"), "{identical:?}");
    assert!(identical.stderr.contains("the replay did not come to the place"), "{identical:?}");
    assert_eq!(identical.code, Some(0), "{identical:?}");
}

#[test]
fn the_process_that_has_the_record_is_stopped() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-processes");
    let (build, _) = recorded(&scratch, &["-DCHILD"]);
    let (process, record, _) = last(&scratch, "send");
    assert_eq!(process, 1);
    let found = at(&scratch, &["--record", &record.to_string(), "--process", "1"], &STACK, &build);
    assert!(found.stdout.contains(" of process 1: send, "), "{found:?}");
    assert!(top_of(&found).contains(" send_answer (fd="), "{found:?}");
    assert_eq!(found.code, Some(0), "{found:?}");
}

#[test]
fn a_build_has_its_variables_and_prints_where_gdb_does() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-flags");
    let (build, _) = recorded(&scratch, &[]);
    let shown = "python print(open('/proc/%d/environ' % gdb.selected_inferior().pid).read())";
    let place = ["--frame", "2", "--env", "SPEED=high", "--show-output", "--allow-truncated"];
    let found = at(&scratch, &place, &[shown], &build);
    assert!(found.stdout.contains("SPEED=high"), "{found:?}");
    assert_eq!(found.code, Some(0), "{found:?}");
}

#[test]
fn what_cannot_be_debugged_is_named() {
    let _turn = Turn::take();
    let scratch = Scratch::new("debug-errors");
    let (build, _) = recorded(&scratch, &[]);
    let refused = at(&scratch, &["--frame", "100000"], &[], &build);
    assert!(refused.stderr.contains("found frame 100000"), "{refused:?}");
    assert!(refused.stderr.contains("hint: `prony demo frames` lists the frames"), "{refused:?}");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let refused = at(&scratch, &["--record", "9", "--process", "7"], &[], &build);
    assert!(refused.stderr.contains("process 7 has no call at record 9 or behind it"), "{refused:?}");
    let missing = at(&scratch, &["--frame", "2", "--debugger", "no-such-gdb"], &[], &build);
    assert!(missing.stderr.contains("cannot start `no-such-gdb`"), "{missing:?}");
    let idle = at(&scratch, &["--frame", "2", "--debugger", "true"], &[], &build);
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
    let (build, _) = recorded(&scratch, &[]);
    let free = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port is free");
    let port = free.port().to_string();
    let mut prony =
        scratch.command(&["debug", "story.demo", "--frame", "5", "--gdb-port", &port, "--", &build, ROUNDS]);
    let prony = prony.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("prony is built");
    // gdb tries to connect for so many seconds.
    let target = format!("target remote localhost:{port}");
    let found = CommandOutput::to(
        Command::new("/usr/bin/gdb")
            .args([
                "-nx",
                "-batch",
                "-ex",
                "set tcp connect-timeout 60",
                "-ex",
                &target,
                "-ex",
                "backtrace",
                "-ex",
                "detach",
            ])
            .arg(&build),
    );
    let ended = prony.wait_with_output().expect("it ends when gdb has gone");
    assert!(found.stdout.contains("take_turn (fd="), "{found:?} {ended:?}");
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
}
