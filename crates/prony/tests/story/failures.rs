//! Every way in which a recording or a replay can fail, on purpose: `subjects/calls/answers.c`.

use std::fs;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

use crate::calls::{compiled, is_i386};
use prony_testing::prony;
use prony_testing::recording::{Recording, Replay, Server, Stop, record_with, replay};
use prony_testing::scratch::{Scratch, Turn, free_address, run};

/// Answers that a recording holds; the other builds go wrong at the twentieth.
pub const ANSWERS: u32 = 40;

/// A recording of `answers.c` that ended at `quit`.
pub struct Story {
    pub scratch: Scratch,
    pub arguments: [String; 2],
    pub recording: Recording,
    pub demo: PathBuf,
}

/// Asks `questions` times and takes both answers to each; false when the server went away.
pub fn ask(address: SocketAddr, questions: u32, stop: &Stop) -> bool {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    socket.set_read_timeout(Some(Duration::from_millis(200))).expect("the timeout is not zero");
    let mut buffer = [0; 1024];
    for question in 0..questions {
        // Sent again without an answer: the server may not listen yet.
        while !stop.is_set() {
            socket.send_to(format!("question {question}").as_bytes(), address).expect("loopback is reachable");
            if socket.recv(&mut buffer).is_ok() && socket.recv(&mut buffer).is_ok() {
                break;
            }
        }
    }
    !stop.is_set()
}

pub fn quit(address: SocketAddr) {
    let socket = UdpSocket::bind(("127.0.0.1", 0)).expect("loopback has a free port");
    socket.send_to(b"quit", address).expect("loopback is reachable");
}

/// Records the plain build.
pub fn story(name: &str) -> Story {
    story_with(name, &[])
}

/// As [`story`], with flags for `prony record`.
pub fn story_with(name: &str, flags: &[&str]) -> Story {
    story_of(name, &[], flags)
}

/// As [`story_with`], of the build with these macros, which may end before it has answered.
fn story_of(name: &str, macros: &[&str], flags: &[&str]) -> Story {
    let scratch = Scratch::new(name);
    let address = free_address();
    let names = scratch.write("names", "answer\n");
    let arguments = [address.port().to_string(), names];
    let server = Server::new([vec![compiled(&scratch, "answers.c", macros)], arguments.to_vec()].concat());
    let (recording, demo) = record_with(&scratch, &server, flags, |stop| {
        let answered = ask(address, ANSWERS, stop);
        assert!(answered || !macros.is_empty(), "the server answers");
        quit(address);
    });
    assert!(demo.exists(), "the recording left no demo: {recording}");
    Story { scratch, arguments, recording, demo }
}

impl Story {
    /// Replays the demo against a build with this macro.
    fn replay_build(&self, change: &str, flags: &[&str]) -> Replay {
        replay(&self.scratch, &self.demo, flags, &self.build(change))
    }

    /// Another build and its arguments.
    pub fn build(&self, change: &str) -> Vec<String> {
        let build = compiled(&self.scratch, "answers.c", &[&format!("-D{change}")]);
        [vec![build], self.arguments.to_vec()].concat()
    }
}

#[track_caller]
fn assert_diverged(answer: &Replay, class: &str) {
    assert_eq!(answer.answer["divergence"]["class"], class, "expected another class: {answer}");
    assert_eq!(answer.code, 1, "a divergence is a finding: {answer}");
    assert_eq!(answer.answer["verdict"], "diverged", "{answer}");
}

#[test]
fn a_recorded_crash_is_no_divergence() {
    let _turn = Turn::take();
    let story = story_of("crashing", &["-DCRASHES_AT_ONCE"], &[]);
    assert_eq!(story.recording.code, 128 + 6, "it ended by SIGABRT: {}", story.recording);
    let again = replay(&story.scratch, &story.demo, &[], &[]);
    again.assert_identical();
    assert_eq!(again.answer["crashed_as_recorded"], 6, "{again}");
    // Mended, it goes as far as there are records.
    let mended = replay(&story.scratch, &story.demo, &[], &story.build("MENDED"));
    mended.assert_identical();
    assert!(mended.answer["crashed_as_recorded"].is_null(), "{mended}");
}

#[test]
fn every_way_in_which_a_build_goes_wrong_has_its_word() {
    let _turn = Turn::take();
    let story = story("builds");
    replay(&story.scratch, &story.demo, &[], &[]).assert_identical();

    let output = story.replay_build("OTHER_OUTPUT", &[]);
    assert_diverged(&output, "output");
    let facts = &output.answer["divergence"];
    assert_eq!(facts["byte"], 0, "the first letter differs: {output}");
    assert_eq!(facts["call"], "sendto", "{output}");
    assert!(facts["expected_hex"].as_str().is_some_and(|hex| hex.starts_with("616e7377")), "`answ`: {output}");
    assert!(facts["found_hex"].as_str().is_some_and(|hex| hex.starts_with("606e7377")), "`\\`nsw`: {output}");
    assert!(facts["recent"].as_array().is_some_and(|calls| !calls.is_empty()), "the calls before it: {output}");

    assert_diverged(&story.replay_build("EXTRA_CALL", &[]), "unrecorded_call");
    assert_diverged(&story.replay_build("OTHER_ORDER", &[]), "order");
    assert_diverged(&story.replay_build("CLOSES_EARLY", &[]), "early_exit");
    assert_diverged(&story.replay_build("NEVER_QUITS", &[]), "late_exit");
    let crashed = story.replay_build("CRASHES", &[]);
    assert_diverged(&crashed, "crash");
    let last = crashed.answer["divergence"]["record"].as_u64().expect("a number") - 1;
    let hint = crashed
        .said
        .split("hint: `")
        .find_map(|hint| Some(hint.split_once("` opens gdb at the last call before it")?.0));
    let words: Vec<&str> = hint.expect("a hint").split(' ').collect();
    assert_eq!(words[..4], ["prony", "debug", "--record", &last.to_string()], "{crashed}");
    let in_gdb = ["--batch", "--gdb-command", "continue"];
    let stopped = story.scratch.prony(&[&words[1..4], &in_gdb, &words[4..]].concat());
    assert!(stopped.stdout.contains("received signal SIGABRT"), "{stopped:?}");
    let killed = story.replay_build("KILLED", &[]);
    assert_diverged(&killed, "crash");
    let detail = killed.answer["divergence"]["detail"].as_str().unwrap_or_default();
    assert!(detail.starts_with("SIGKILL ended the build after "), "{killed}");
}

#[test]
fn a_build_that_reads_the_clock_more_often_is_identical() {
    let _turn = Turn::take();
    let story = story("clocks");
    let answer = story.replay_build("EXTRA_CLOCKS", &[]);
    answer.assert_identical();
    assert!(answer.number("clocks_added") >= u64::from(ANSWERS) * 3, "three more each time: {answer}");
}

#[test]
fn a_thread_that_starves_is_named_and_the_result_is_not_trusted() {
    let _turn = Turn::take();
    let story = story("starvation");
    let answer = story.replay_build("SPINS", &["--watchdog", "1s"]);
    assert_eq!(answer.answer["divergence"]["class"], "starvation", "expected another class: {answer}");
    assert_eq!(answer.code, 3, "a starved thread says little about the build: {answer}");
}

/// The clock goes on with the records, so a loop that waits for it in a place where the recorded server did not never ends.
#[test]
fn a_build_that_waits_for_time_that_does_not_pass_is_ended_and_named() {
    let _turn = Turn::take();
    let story = story("still-clock");
    // Not the twelvefold time of a build that computes.
    let answer = story.replay_build("WAITS_FOR_TIME", &["--watchdog", "5s"]);
    assert_eq!(answer.answer["divergence"]["class"], "starvation", "expected another class: {answer}");
    let detail = answer.answer["divergence"]["detail"].as_str().expect("a detail");
    assert!(detail.starts_with("thread 0 makes calls again and again that are not in the recording"), "{answer}");
    assert_eq!(answer.code, 3, "{answer}");
}

#[test]
fn a_file_that_is_missing_is_named() {
    let _turn = Turn::take();
    let story = story_with("missing", &["--pack", "0"]);
    fs::remove_file(&story.arguments[1]).expect("the server's file is there");
    let answer = replay(&story.scratch, &story.demo, &[], &[]);
    assert_diverged(&answer, "missing_file");
    assert!(answer.answer.to_string().contains(&story.arguments[1]), "the file is named: {answer}");
}

#[test]
fn a_recording_keeps_the_exit_code_of_its_server() {
    let _turn = Turn::take();
    let story = story("exit");
    assert_eq!(story.recording.code, 7, "`quit` ends the server with 7: {}", story.recording);
}

#[test]
fn an_interrupted_recording_passes_the_signal_on_and_closes_its_demo() {
    let _turn = Turn::take();
    let scratch = Scratch::new("interrupt");
    let address = free_address();
    let names = scratch.write("names", "answer\n");
    let server = Server::new([compiled(&scratch, "answers.c", &[]), address.port().to_string(), names]);
    let (recording, demo) = record_with(&scratch, &server, &[], |stop| {
        assert!(ask(address, ANSWERS, stop), "the server answers");
        stop.interrupt();
    });
    assert_eq!(recording.code, 5, "the server's handler ends it with 5: {recording}");
    replay(&scratch, &demo, &[], &[]).assert_identical();
}

#[test]
fn a_demo_without_output_means_little() {
    let _turn = Turn::take();
    let scratch = Scratch::new("weak");
    let address = free_address();
    let names = scratch.write("names", "answer\n");
    let server = Server::new([compiled(&scratch, "answers.c", &[]), address.port().to_string(), names]);
    let (recording, demo) = record_with(&scratch, &server, &["--for", "1s"], |stop| stop.wait());
    let answer = replay(&scratch, &demo, &[], &[]);
    assert_eq!((answer.code, &answer.answer["verdict"]), (3, &"weak".into()), "{answer}\n{recording}");
}

#[test]
fn the_place_of_a_divergence_has_its_line() {
    let _turn = Turn::take();
    let scratch = Scratch::new("lines");
    let address = free_address();
    let (names, others) = (scratch.write("names", "answer\n"), scratch.write("others", "another\n"));
    let program = [compiled(&scratch, "answers.c", &["-g"]), address.port().to_string()];
    let server = Server::new(program.iter().cloned().chain([names]));
    let (recording, demo) = record_with(&scratch, &server, &[], |stop| {
        ask(address, ANSWERS, stop);
        quit(address);
    });
    let [server, port] = program;
    let answer = replay(&scratch, &demo, &[], &[server, port, others]);
    assert_eq!(answer.answer["verdict"], "diverged", "{answer}\n{recording}");
    let places = answer.answer["divergence"]["backtrace"].to_string();
    assert!(places.contains("(main at ") && places.contains("answers.c:"), "{answer}");
}

#[test]
fn a_call_that_is_not_recorded_is_named_when_it_is_used() {
    let _turn = Turn::take();
    // `adjtimex`, as x86-64 and i386 number it.
    let by_number = format!("unrecorded system call {} by answers", if is_i386() { 124 } else { 159 });
    let by_name = "unrecorded call adjtimex by answers".to_owned();
    for (how, unrecorded) in [(&["-DRAW"][..], by_number), (&["-DRAW", "-DNAMED"], by_name)] {
        let scratch = Scratch::new("raw");
        let address = free_address();
        let names = scratch.write("names", "answer\n");
        let server = Server::new([compiled(&scratch, "answers.c", how), address.port().to_string(), names]);
        let (recording, demo) = record_with(&scratch, &server, &[], |stop| {
            ask(address, ANSWERS, stop);
            quit(address);
        });
        assert!(recording.said.contains(&unrecorded), "the call is named: {recording}");
        // What it got is not in what it sent, which is not known beforehand.
        let answer = replay(&scratch, &demo, &[], &[]);
        assert_eq!((answer.code, &answer.answer["verdict"]), (3, &"weak".into()), "{answer}");
        assert!(answer.answer["reasons"].to_string().contains(&unrecorded), "{answer}");
    }
}

#[test]
fn a_plugin_with_system_calls_of_its_own_is_named() {
    let _turn = Turn::take();
    let scratch = Scratch::new("plugin");
    let plugin = compiled(&scratch, "answers.c", &["-DRAW", "-shared", "-fPIC", "-m64"]);
    let loads = format!("import ctypes; ctypes.CDLL('{plugin}')");
    let server = Server::new(["python3".to_owned(), "-c".to_owned(), loads]);
    let (recording, _) = record_with(&scratch, &server, &[], |stop| stop.wait());
    let named = format!("{plugin} was loaded while the server ran and contains system call instructions");
    assert!(recording.said.contains(&named), "{recording}");
}

#[test]
fn a_server_with_a_console_is_ended_by_what_it_reads() {
    let _turn = Turn::take();
    let scratch = Scratch::new("console");
    let server = Server::new([compiled(&scratch, "console.c", &[])]);
    let flags = ["--for", "1s", "--end-input", r"quit\n"];
    let (recording, demo) = record_with(&scratch, &server, &flags, |stop| stop.wait());
    let info = run(prony().args(["demo", "info", "--json"]).arg(&demo));
    let info: serde_json::Value = serde_json::from_str(&info).expect("the answer is JSON");
    assert_eq!(info["exit"]["code"], 0, "{recording}");
    let replayed = replay(&scratch, &demo, &[], &[]);
    assert!(replayed.answer["verdict"] == "weak" && replayed.answer["divergence"].is_null(), "{replayed}");
}

#[test]
fn a_program_without_glibc_is_refused_by_name() {
    let _turn = Turn::take();
    // A program of musl is one by its loader, which need not be there.
    for (how, reason) in [("-static", "static"), ("-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1", "musl")] {
        let scratch = Scratch::new("static");
        let server = Server::new([compiled(&scratch, "answers.c", &[how]), "1".into(), "names".into()]);
        let (recording, demo) = record_with(&scratch, &server, &[], |stop| stop.wait());
        assert_eq!(recording.code, 2, "it cannot be recorded: {recording}");
        assert!(recording.said.contains(reason), "the reason is named: {recording}");
        assert!(!demo.exists(), "there is no demo of it: {recording}");
    }
}
