//! Servers of our own that make the calls the others may not: `subjects/calls`.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::habits::ask;
use crate::proof::{Flip, prove};
use prony_testing::CommandOutput;
use prony_testing::recording::{Server, Stop, record, record_with, replay};
use prony_testing::scratch::{Scratch, Turn, free_address, program, run};

/// Flags for every server of `subjects/calls`: `-m32` makes all of them programs of i386.
fn flags_for_all() -> Vec<String> {
    let given = std::env::var("PRONY_STORY_FLAGS").unwrap_or_default();
    given.split_whitespace().map(str::to_owned).collect()
}

/// True if the servers of `subjects/calls` are programs of i386.
pub fn is_i386() -> bool {
    flags_for_all().iter().any(|flag| flag == "-m32")
}

/// Compiles a file of `subjects/calls` with these flags on top; returns the program.
pub fn compiled(scratch: &Scratch, source: &str, flags: &[&str]) -> String {
    let (compiler, packages) =
        if source.ends_with(".c") { ("/usr/bin/gcc", "gcc libc6-dev") } else { ("/usr/bin/g++", "g++") };
    let out = scratch.arg(&[source, &flags.concat()].concat().replace(['.', '/'], "-"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../subjects/calls").join(source);
    let compiler = program(compiler, packages);
    run(Command::new(compiler).args(["-O2", "-pthread", "-o", &out]).args(flags_for_all()).args(flags).arg(source));
    out
}

/// Every line that `lines.c` knows.
const LINES: &[&str] = &[
    "echo hello there",
    "time",
    "random",
    "work 1000",
    "fork",
    "spawn",
    "popen",
    "signal",
    "ticks",
    "who",
    "resolve",
    "proc",
    "pipe",
    "pair",
    "uring",
    "raw",
    "sleep",
    "work 77777",
    "echo end of the round",
];

/// Sends the lines in turn over one connection; counts the answers.
fn converse(address: std::net::SocketAddr, first: usize, answered: &AtomicU32, stop: &Stop) {
    let Ok(stream) = TcpStream::connect(address) else { return stop.wait() };
    let mut reader = BufReader::new(&stream);
    for round in first.. {
        let line = LINES[round % LINES.len()];
        let mut answer = String::new();
        let heard = (&stream).write_all(format!("{line}\n").as_bytes()).and_then(|()| reader.read_line(&mut answer));
        match heard {
            _ if stop.is_set() => return,
            Ok(0) | Err(_) => return stop.wait(),
            Ok(_) => {}
        }
        let (sent, answered_with) = (line.split(' ').next(), answer.split([' ', '\n']).next());
        assert_eq!(sent, answered_with, "{line}: {answer}");
        if line == "uring" {
            // What the recorder cannot see it keeps the server from using.
            assert_eq!(answer, "uring Function not implemented\n");
        }
        answered.fetch_add(1, Ordering::Relaxed);
        std::thread::park_timeout(Duration::from_millis(25));
    }
}

#[test]
fn a_server_with_every_kind_of_call_replays_identically() {
    prove_every_call("lines", &[]);
}

/// Proves the demo of `lines.c`, compiled with these flags.
pub fn prove_every_call(story: &str, flags: &[&str]) {
    let _turn = Turn::take();
    let scratch = Scratch::new(story);
    let address = free_address();
    let server = Server::new([compiled(&scratch, "lines.c", flags), address.port().to_string()]);
    let answered = AtomicU32::new(0);
    let demo = record(&scratch, &server, |stop| {
        if stop.until(|| TcpStream::connect(address).is_ok()) {
            std::thread::scope(|scope| {
                for client in 0..3 {
                    let answered = &answered;
                    scope.spawn(move || converse(address, client * 5, answered, stop));
                }
            });
        }
    });
    let answered = answered.into_inner();
    assert!(answered > 300, "{answered} lines were answered");
    prove(&scratch, &demo, Flip::input(|line| line.starts_with(b"echo hello").then_some(6)));
}

#[test]
fn a_build_with_sanitizers_is_recorded_and_replayed() {
    prove_every_call("sanitized", &["-g", "-fsanitize=address,undefined"]);
}

#[test]
fn a_build_with_the_runtime_of_a_sanitizer_in_it_is_recorded_and_replayed() {
    let scratch = Scratch::new("sanitized-static");
    let demo = scratch.arg("claims.demo");
    let sanitized = compiled(&scratch, "claims.c", &["-g", "-fsanitize=address", "-static-libasan"]);
    let mut command = scratch.command(&["record", "-o", &demo, "--", &sanitized, "2"]);
    // Of 32 bits it looks for leaks by calls of libc, of a process that a replay does not know.
    let mut kept: &[&str] = &[];
    if is_i386() {
        command.env("ASAN_OPTIONS", "detect_leaks=0");
        kept = &["--env", "ASAN_OPTIONS=detect_leaks=0"];
    }
    let recording = CommandOutput::to(&mut command);
    assert!(
        recording.code == Some(0) && recording.stderr.contains("holds the runtime of a sanitizer"),
        "{recording:?}"
    );
    let answer = scratch.prony(&[&["replay", &demo], kept].concat());
    assert!(answer.code == Some(0) && answer.stdout.contains("identical"), "{answer:?}");
}

#[test]
fn a_build_with_sanitizers_joins_the_replay_of_another_one() {
    let scratch = Scratch::new("sanitized-build");
    let demo = scratch.arg("claims.demo");
    let plain = compiled(&scratch, "claims.c", &[]);
    run(&mut scratch.command(&["record", "-o", &demo, "--", &plain, "2"]));
    for flags in
        [&["-g", "-fsanitize=address"][..], &["-g", "-fsanitize=address", "-static-libasan"], &["-fsanitize=undefined"]]
    {
        let sanitized = compiled(&scratch, "claims.c", flags);
        // A static runtime of 32 bits looks for leaks by calls of libc, which the recorded program did not make.
        let is_32_bit = std::env::var("PRONY_STORY_FLAGS").is_ok_and(|flags| flags.contains("-m32"));
        let without_leaks: &[&str] = match is_32_bit && flags.contains(&"-static-libasan") {
            true => &["--env", "ASAN_OPTIONS=detect_leaks=0"],
            false => &[],
        };
        let build = ["--show-output", "--", &sanitized, "2"];
        let answer = scratch.prony(&[&["replay", &demo], without_leaks, &build[..]].concat());
        assert_eq!(answer.code, Some(0), "{flags:?}: {answer:?}");
        assert!(answer.stdout.contains("identical"), "{flags:?}: {answer:?}");
    }
}

#[test]
fn a_pool_of_cpp_threads_on_one_socket_replays_identically() {
    let _turn = Turn::take();
    let scratch = Scratch::new("pool");
    let address = free_address();
    let server = Server::new([compiled(&scratch, "pool.cpp", &[]), address.port().to_string()]);
    let mut answered = 0;
    let demo = record(&scratch, &server, |stop| {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("loopback has a free port");
        socket.connect(address).expect("loopback is reachable");
        socket.set_read_timeout(Some(Duration::from_millis(100))).expect("the timeout is not zero");
        let mut buffer = [0; 256];
        for number in 1.. {
            if stop.is_set() {
                break;
            }
            // Two at once, so that two threads of the pool have something to do.
            for half in [number, number * 1000] {
                let _ = socket.send(half.to_string().as_bytes());
            }
            answered += (0..2).filter(|_| socket.recv(&mut buffer).is_ok()).count();
            std::thread::park_timeout(Duration::from_millis(2));
        }
    });
    assert!(answered > 500, "{answered} datagrams were answered");
    prove(&scratch, &demo, Flip::input(|number| number.ends_with(b"000").then_some(0)));
}

#[test]
fn a_build_that_passes_addresses_to_its_own_threads_is_identical() {
    let _turn = Turn::take();
    let scratch = Scratch::new("own-words");
    let address = free_address();
    let port = address.port().to_string();
    let [old, other] = [&[][..], &["-falign-functions=1024"]].map(|flags| compiled(&scratch, "own_words.c", flags));
    let server = Server::new([old.as_str(), &port]);
    let (recording, demo) = record_with(&scratch, &server, &[], |stop| ask(address, stop));
    assert!(demo.exists(), "the recording left no demo: {recording}");
    let answer = replay(&scratch, &demo, &[], &[other, port.clone()]);
    answer.assert_identical();
    assert!(answer.number("resynced") >= 30, "an address each time: {answer}");
    let same = replay(&scratch, &demo, &[], &[old, port]);
    same.assert_identical();
    assert_eq!(same.number("resynced"), 0, "{same}");
}

#[test]
fn a_child_that_takes_long_over_its_end_keeps_the_order_of_threads() {
    let _turn = Turn::take();
    let scratch = Scratch::new("slow-child");
    let address = free_address();
    let server = Server::new([compiled(&scratch, "slow_child.c", &["-pthread"]), address.port().to_string()]);
    let (recording, demo) = record_with(&scratch, &server, &[], |stop| ask(address, stop));
    assert_eq!(recording.code, 0, "{recording}");
    let answer = replay(&scratch, &demo, &[], &[]);
    answer.assert_identical();
    assert_eq!(answer.number("overlapped"), 0, "{answer}");
}
