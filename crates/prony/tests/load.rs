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
fn a_burst_connects_while_the_others_are_measured() {
    let server = Server::stock(&["--poll-hz", "1000"]);
    let answer = json(&load(server.port, &[&FIFTY[..], &["--burst", "20", "--json"]].concat()));
    assert_eq!((&answer["setup"]["burst"], &answer["connect"]["connected"]), (&20.into(), &50.into()), "{answer}");
    let sizes: Vec<u64> = answer["connect"]["batches"]
        .as_array()
        .expect("batches")
        .iter()
        .filter_map(|batch| batch["connected"].as_u64())
        .collect();
    assert_eq!(sizes, [30, 20]);
    // 30 clients send in the whole second, those of the burst at most in what is left of it.
    let sent = answer["packets"]["sent"].as_u64().expect("a number");
    assert!((600..=900).contains(&sent), "{answer}");
    assert_eq!(answer["packets"]["reply_ratio"], 1.0);
}

/// Short steps whose outcome does not depend on how busy the machine is: only slots are missing.
const SEARCH: [&str; 13] = [
    "--until",
    "max<3600s",
    "--rate",
    "20",
    "--reliable",
    "--duration",
    "100ms",
    "--deadline",
    "1m",
    "--connect-timeout",
    "2s",
    "--settle",
    "1ms",
];

#[test]
fn the_capacity_of_a_server_with_few_slots_is_their_number() {
    let server = Server::stock(&["--slots", "40", "--poll-hz", "1000"]);
    let folder = TempDir::new().expect("a folder");
    let [svg, html, samples] = ["c.svg", "c.html", "c.json"].map(|name| folder.path().join(name).display().to_string());
    let pid = server.pid().to_string();
    let more = ["--clients", "10..80", "--until", "loss<100%", "--precision", "20%", "--server-pid", &pid, "--json"];
    let files = ["--svg", &svg, "--export-html", &html, "-o", &samples];
    let output = load(server.port, &[&SEARCH[..], &more, &files].concat());
    let answer = json(&output);
    assert_eq!((&answer["answer"]["kind"], &answer["end"]), (&"found".into(), &"decided".into()), "{answer}");
    let at = |name: &str| answer["answer"]["clients"][name].as_f64().expect("a number");
    assert!((36.0..45.0).contains(&at("estimate")), "{answer}");
    assert!(at("low") <= 41.0 && at("high") >= 40.0 && at("high") - at("low") <= 11.0, "{answer}");
    assert!(answer["curve"][0]["server_share_per_client"]["n"].as_u64() == Some(1), "{answer}");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("slots may limit the server"), "{}", text(&output.stderr));

    let read = |path: &str| std::fs::read_to_string(path).expect("it was written");
    assert!(read(&svg).contains("latency by number of clients"));
    assert!(read(&html).contains("Server CPU per client"));
    assert!(read(&samples).contains("load latency p99, 10 clients"));
}

#[test]
fn a_range_that_holds_or_does_not_is_reported_as_that() {
    let few = Server::stock(&["--slots", "1", "--poll-hz", "1000"]);
    let output = load(few.port, &[&SEARCH[..], &["--clients", "2..4"]].concat());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(text(&output.stdout).starts_with("none: max < 3,600 s does not hold for 2 clients"), "{output:?}");

    let enough = Server::stock(&["--poll-hz", "1000"]);
    let output = load(enough.port, &[&SEARCH[..], &["--clients", "2..4"]].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text(&output.stdout).starts_with("not reached: 4 clients hold max < 3,600 s"), "{output:?}");

    let output = load(enough.port, &[&SEARCH[..], &["--clients", "2..4", "--steps-max", "1"]].concat());
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(text(&output.stderr).contains("wider than requested after 1 step"), "{output:?}");
}

#[test]
fn a_search_that_cannot_be_is_refused_with_the_next_step() {
    for (words, expected) in [
        (&["--clients", "5..10"][..], "hint: add a condition"),
        (&["--clients", "10..5", "--until", "p99<1ms"], "LOW (10) is not below HIGH (5)"),
        (&["--clients", "5..10", "--until", "p99<1"], "such as 50ms"),
        (&["--clients", "5..10", "--until", "p99<1ms", "--rate", "0"], "no answers are requested"),
        (&["--clients", "5", "--burst", "5"], "--burst (5) is not below --clients (5)"),
        (&["--precision", "5%"], "--until"),
    ] {
        let output = load(closed_port(), words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(text(&output.stderr).contains(expected), "{words:?}: {}", text(&output.stderr));
    }
    let gone = load(closed_port(), &["--clients", "5..10", "--until", "p99<1ms"]);
    assert!(text(&gone.stderr).starts_with("error: no client connected to"), "{}", text(&gone.stderr));
}

#[test]
fn packets_of_several_channels_may_be_lost_as_far_as_is_allowed() {
    let server = Server::stock(&["--poll-hz", "1000"]);
    let words = [&FIFTY[..], &["--json", "--channels", "3", "--throttle", "--loss-max", "100%"]].concat();
    let answer = json(&load(server.port, &words));
    assert_eq!((&answer["setup"]["channels"], &answer["good"]), (&3.into(), &true.into()), "{answer}");
}
