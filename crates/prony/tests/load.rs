//! `prony load` against real servers on the stock library.

use std::process::Output;

use prony_testing::enet::server::{Server, closed_port};
use prony_testing::prony;
use serde_json::Value;
use tempfile::TempDir;

fn load(port: u16, words: &[&str]) -> Output {
    let server = format!("127.0.0.1:{port}");
    let all: Vec<&str> = ["load", "enet", "--connect", &server].iter().chain(words).copied().collect();
    prony().args(all).output().expect("it was just built")
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("it is text")
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Fifty clients for a second, whose packets all arrive however busy the machine is.
const FIFTY: [&str; 10] =
    ["--clients", "50", "--rate", "20", "--reliable", "--duration", "1s", "--deadline", "1m", "--connect-timeout=1m"];

#[test]
fn a_load_is_answered_in_json_and_kept_as_samples() {
    let server = Server::stock(&["--poll-hz", "1000"]);
    let folder = TempDir::new().expect("a folder");
    let samples = folder.path().join("samples.json");
    let (path, pid) = (samples.display().to_string(), server.pid().to_string());
    let words = [&FIFTY[..], &["--json", "--seed", "7", "--server-pid", &pid, "-o", &path]].concat();
    let output = load(server.port, &words);
    let answer = json(&output);
    assert_eq!(answer["good"], true, "{answer}");
    assert_eq!(answer["setup"]["seed"], 7);
    assert_eq!((&answer["connect"]["connected"], &answer["packets"]["reply_ratio"]), (&50.into(), &1.0.into()));
    assert_eq!((&answer["packets"]["sent"], &answer["packets"]["answered"]), (&1000.into(), &1000.into()));
    assert_eq!(answer["latency_s"]["n"], 1000);
    let at = |quantile: &str| answer["latency_s"][quantile].as_f64().expect("there are answers");
    assert!(0.0 < at("min") && at("min") <= at("p50") && at("p50") <= at("p99") && at("p99") <= at("max"));
    assert!(answer["server"]["cpu_s"].as_f64().is_some_and(|seconds| seconds > 0.0));
    assert_eq!(answer["generator"].as_array().map(Vec::len), Some(1));
    // On a machine that is busy with other things the generator may be late, and says so.
    let is_trusted = answer["warnings"].as_array().is_some_and(Vec::is_empty);
    assert!(is_trusted || matches!(output.status.code(), Some(0 | 3)), "{answer}");
    assert!(!is_trusted || output.status.success());

    let shown = prony().args(["stats", &path]).output().expect("it was just built");
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    for name in ["load latency p50", "load latency p99", "load connect", "load server cpu"] {
        assert!(text(&shown.stdout).contains(name), "{}", text(&shown.stdout));
    }
    let again = load(server.port, &["-o", &path]);
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("file exists"));
}

#[test]
fn a_load_is_reported_in_words() {
    let server = Server::stock(&[]);
    let output = load(server.port, &FIFTY);
    let words = text(&output.stdout);
    for part in ["50 of 50 clients", "1,000 packets in 1.00 s", "1,000 in time (100.000 %)", "(n = 1,000)", "our CPU"] {
        assert!(words.contains(part), "{words}");
    }
}

#[test]
fn a_full_server_is_a_finding() {
    let server = Server::stock(&["--slots", "3"]);
    let output = load(server.port, &["--clients", "5", "--duration", "100ms", "--connect-timeout", "1s", "--json"]);
    let answer = json(&output);
    assert_eq!((&answer["good"], &answer["connect"]["connected"]), (&false.into(), &3.into()));
    assert_eq!(answer["connect"]["failed"]["timed_out"], 2);
    assert!(matches!(output.status.code(), Some(1 | 3)), "{answer}");
}

#[test]
fn a_port_without_a_server_is_reported_with_the_next_step() {
    for sharing in ["--own-sockets", "--shared-socket"] {
        let output = load(closed_port(), &[sharing, "--clients", "5"]);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
        let talk = text(&output.stderr);
        assert!(talk.starts_with("error: no client connected to 127.0.0.1:"), "{talk}");
        assert!(talk.contains("5 × nothing listens on the port") && talk.contains("hint: start the server"), "{talk}");
    }
}

#[test]
fn a_server_that_speaks_otherwise_is_reported_with_what_it_may_be() {
    let server = Server::stock(&["--checksum"]);
    let output = load(server.port, &["--clients", "5", "--connect-timeout", "200ms"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--checksum"), "{}", text(&output.stderr));
}

#[test]
fn wrong_words_are_refused_before_anything_is_sent() {
    for words in
        [&["--clients", "0"][..], &["--payload", "15"], &["--own-sockets", "--shared-socket"], &["--rate", "-1"]]
    {
        assert_eq!(load(closed_port(), words).status.code(), Some(2), "{words:?}");
    }
    let nowhere = prony().args(["load", "enet", "--connect", "127.0.0.1"]).output().expect("it was just built");
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(text(&nowhere.stderr).contains("hint: use the form 127.0.0.1:7777"), "{}", text(&nowhere.stderr));
    let no_process = load(closed_port(), &["--server-pid", "4294967295"]);
    assert!(text(&no_process.stderr).contains("no process 4294967295"), "{}", text(&no_process.stderr));
}

#[test]
fn packets_of_several_channels_may_be_lost_as_far_as_is_allowed() {
    let server = Server::stock(&["--poll-hz", "1000"]);
    let words = [&FIFTY[..], &["--json", "--channels", "3", "--throttle", "--loss-max", "100%"]].concat();
    let answer = json(&load(server.port, &words));
    assert_eq!((&answer["setup"]["channels"], &answer["good"]), (&3.into(), &true.into()), "{answer}");
}
