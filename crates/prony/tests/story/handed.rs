//! What a server is handed when it starts: its standard streams, descriptors beside them, limits and signals.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use crate::calls::compiled;
use prony_testing::recording::replay;
use prony_testing::scratch::{Scratch, Turn, run};
use prony_testing::{CommandOutput, prony};

/// A shell that runs this script, with these arguments and behind them `prony`, to which more can be added.
pub fn prony_by_shell(script: &str, before: &[&str]) -> Command {
    let prony = prony();
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).args(before).arg(prony.get_program());
    shell.envs(prony.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}

/// Records by a shell that has `file` as its first argument, and behind it the command that records.
fn record_by_shell(script: &str, file: &str, arguments: &[&str]) {
    let recorded = CommandOutput::to(prony_by_shell(script, &[file]).arg("record").args(arguments));
    assert_eq!(recorded.code, Some(0), "{recorded:?}");
}

#[test]
fn what_a_server_is_handed_beside_its_standard_streams_is_recorded() {
    let _turn = Turn::take();
    let scratch = Scratch::new("handed");
    let server = compiled(&scratch, "handed.c", &[]);
    let [file, demo] = ["file", "x.demo"].map(|name| scratch.arg(name));
    std::fs::write(&file, "in a file\nmore\n").expect("the scratch directory is writable");
    let script =
        r#"file=$1; shift; echo "through a pipe" | { exec 7<"$file" 8<&0 9</dev/null </dev/null >/dev/null; "$@"; }"#;
    record_by_shell(script, &file, &["-o", &demo, "--", &server]);
    // The replay has neither.
    std::fs::remove_file(&file).expect("it is there");
    replay(&scratch, demo.as_ref(), &[], &[]).assert_identical();
    let sent = run(prony().args(["demo", "dump", "--full", "--call", "send", &demo]));
    assert!(sent.contains("|in a file, throu|"), "{sent}");
}

#[test]
fn a_file_as_standard_input_is_a_file_in_a_replay_too() {
    let _turn = Turn::take();
    let scratch = Scratch::new("given");
    let server = compiled(&scratch, "given.c", &[]);
    let [file, demo] = ["file", "x.demo"].map(|name| scratch.arg(name));
    std::fs::write(&file, "read before\nread now\nleft\n").expect("the scratch directory is writable");
    let script = r#"exec <"$1" >"$1.copy"; shift; read before; exec "$@""#;
    record_by_shell(script, &file, &["--follow-exec", "-o", &demo, "--", &server]);
    std::fs::remove_file(&file).expect("it is there");
    replay(&scratch, demo.as_ref(), &[], &[]).assert_identical();
    let sent = run(prony().args(["demo", "dump", "--full", "--call", "send", &demo]));
    for part in ["|12, then 21, rea|", "|mapped read befo|", "|read now.|"] {
        assert!(sent.contains(part), "{part} in {sent}");
    }
}

const ANSWERS: &str = "heard one\nheard two\nheard the end\n";

/// Checks a demo of `spoken heard` that was asked for `one` and `two`.
fn assert_spoken(scratch: &Scratch, demo: &str, server: &str) {
    let same = replay(scratch, demo.as_ref(), &[], &[]);
    same.assert_identical();
    assert_eq!(same.number("output_bytes_verified"), ANSWERS.len() as u64, "{same}");
    let other = replay(scratch, demo.as_ref(), &[], &[server.to_owned(), "found".to_owned()]);
    assert_eq!(other.answer["verdict"], "diverged", "{other}");
}

#[test]
fn what_a_server_writes_to_standard_output_are_answers_on_request() {
    let _turn = Turn::take();
    let scratch = Scratch::new("stdio");
    let server = compiled(&scratch, "spoken.c", &[]);
    let demo = scratch.arg("x.demo");
    let mut record = prony();
    record.args(["record", "--stdio", "-o", &demo, "--", &server, "heard"]);
    let mut recorder =
        record.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("prony is there");
    let mut input = recorder.stdin.take().expect("it is a pipe");
    input.write_all(b"one\ntwo\nquit\n").expect("the server reads");
    let recorded = recorder.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&recorded.stderr);
    assert_eq!((recorded.status.code(), recorded.stdout.as_slice()), (Some(0), ANSWERS.as_bytes()), "{said}");
    assert!(said.contains("ready\n") && said.contains("recorded "), "{said}");
    assert_spoken(&scratch, &demo, &server);
    // It waits in `read`, which ends no frame unless `--frame-on` names it.
    let command = format!("{server} heard");
    let judged = CommandOutput::to(prony().args(["bench", "--runs", "2", "--demo", &demo, &command, &command]));
    assert_eq!(judged.code, Some(3), "{judged:?}");
    assert!(judged.stdout.starts_with("no frames to compare") && judged.stderr.contains("--frame-on"), "{judged:?}");
}

#[test]
fn standard_streams_that_are_one_socket_are_a_conversation() {
    let _turn = Turn::take();
    let scratch = Scratch::new("inetd");
    let server = compiled(&scratch, "spoken.c", &[]);
    let demo = scratch.arg("x.demo");
    let (mut client, end) = UnixStream::pair().expect("sockets can be made");
    let [input, output] = [end.try_clone().expect("it can be shared"), end].map(|end| Stdio::from(OwnedFd::from(end)));
    let mut prony = prony();
    prony.args(["record", "-o", &demo, "--", &server, "heard"]).stdin(input).stdout(output).stderr(Stdio::piped());
    let recorder = prony.spawn().expect("prony is there");
    // It holds the other end, whose last copy has to be closed.
    drop(prony);
    client.write_all(b"one\ntwo\n").expect("the server reads");
    client.shutdown(Shutdown::Write).expect("it is connected");
    let mut answers = String::new();
    client.read_to_string(&mut answers).expect("it is text");
    assert_eq!(answers, ANSWERS);
    let recorded = recorder.wait_with_output().expect("it ends");
    assert_eq!(recorded.status.code(), Some(0), "{}", String::from_utf8_lossy(&recorded.stderr));
    assert_spoken(&scratch, &demo, &server);
}

#[test]
fn a_server_that_ignores_the_interrupt_from_its_start_is_ended_by_it_all_the_same() {
    let _turn = Turn::take();
    let scratch = Scratch::new("background");
    let server = compiled(&scratch, "spoken.c", &[]);
    let mut shell = prony_by_shell(r#"trap "" INT; exec "$@""#, &[]);
    shell.args(["record", "--stdio", "-o", &scratch.arg("x.demo"), "--", &server, "heard"]);
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut recorder = shell.spawn().expect("a shell is there");
    // The server waits for a line.
    let _input = recorder.stdin.take().expect("it is a pipe");
    let mut said = BufReader::new(recorder.stderr.take().expect("it is a pipe"));
    let mut line = String::new();
    while line != "ready\n" {
        line.clear();
        assert!(said.read_line(&mut line).expect("it is text") > 0, "the server did not start");
    }
    run(Command::new("kill").args(["-INT", &recorder.id().to_string()]));
    let mut rest = String::new();
    said.read_to_string(&mut rest).expect("it is text");
    assert_eq!(recorder.wait().expect("it ends").code(), Some(128 + 15), "{rest}");
}

#[test]
fn signals_limits_and_the_mask_of_files_are_those_of_the_one_that_starts_the_recording() {
    let _turn = Turn::take();
    let scratch = Scratch::new("started");
    let server = compiled(&scratch, "started.c", &[]);
    let demo = scratch.arg("x.demo");
    let script = r#"shift; umask 027; ulimit -S -n 1500; ulimit -S -s 4096; trap "" HUP PIPE; exec "$@""#;
    record_by_shell(script, "", &["-o", &demo, "--", &server]);
    let sent = run(prony().args(["demo", "dump", "--full", "--call", "send", &demo]));
    for part in ["|umask 027, files|", "| 1500, stack 419|", "|4304, pipe 1, hu|", "|p 1,"] {
        assert!(sent.contains(part), "{part} in {sent}");
    }
    // This process has others.
    replay(&scratch, demo.as_ref(), &[], &[]).assert_identical();
    replay(&scratch, demo.as_ref(), &[], &[server]).assert_identical();
}
