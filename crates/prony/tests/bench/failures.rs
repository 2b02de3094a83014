//! Every way in which a bench can fail, on purpose.

use std::fs;
use std::io::Read;
use std::process::{Child, Stdio};

use prony_testing::CommandOutput;
use prony_testing::scratch::Scratch;

use crate::scratch;

/// What a failure says; nothing on standard output, exit code 2.
fn failure(answer: &CommandOutput) -> &str {
    assert_eq!((answer.code, answer.stdout.as_str()), (Some(2), ""), "{answer:?}");
    &answer.stderr
}

#[test]
fn a_command_that_is_none_is_reported_before_anything_runs() {
    let scratch = scratch();
    fs::write(scratch.file("plain"), "text").expect("the directory is writable");
    let said: Vec<String> = [
        &["bench", "no-such-program-here"][..],
        &["bench", "./missing"],
        &["bench", "./plain"],
        &["bench", ""],
        &["bench", "echo 'open"],
        &["bench", "true", "no-such-program-here | wc"],
        &["bench", "--shell=no-such-shell", "true"],
    ]
    .map(|arguments| failure(&scratch.prony(arguments)).to_owned())
    .to_vec();
    insta::assert_snapshot!("no_command", said.join("\n"));
}

#[test]
fn flags_that_do_not_fit_are_reported() {
    let scratch = scratch();
    let said: Vec<String> = [
        &["bench", "--parameter", "n=1,2", "true"][..],
        &["bench", "--parameter", "n=1", "--parameter", "n=2", "echo {n}"],
        &["bench", "--parameter-scan", "n", "1", "many", "echo {n}"],
        &["bench", "--parameter-scan", "n", "3", "1", "echo {n}"],
        &["bench", "--parameter-scan", "n", "1", "1000", "echo {n}"],
        &["bench", "--prepare", "a", "--prepare", "b", "true"],
        &["bench", "--command-name", "a", "--command-name", "b", "true"],
        &["bench", "--input", "missing", "true"],
        &["bench", "--duet", "true", "true", "true"],
        &["bench", "--duet", "--output", "both.txt", "true", "true"],
        &[
            "bench",
            "--duet",
            "--shell",
            "--runs",
            "1",
            r#"echo '{"metric": "wall", "value": 1, "unit": "s"}' >&3"#,
            "true",
        ],
        &["bench", "--export-json", "missing/samples.json", "true"],
    ]
    .map(|arguments| failure(&scratch.prony(arguments)).to_owned())
    .to_vec();
    insta::assert_snapshot!("no_fit", said.join("\n"));
    for wrong in [
        &["bench"][..],
        &["bench", "--alpha", "5", "true"],
        &["bench", "--margin", "0%", "true"],
        &["bench", "--max-time", "8x", "true"],
        &["bench", "--max-time", "0", "true"],
        &["bench", "--margin", "0.05", "true"],
        &["bench", "--runs", "0", "true"],
        &["bench", "--parameter", "n", "true"],
    ] {
        assert!(failure(&scratch.prony(wrong)).starts_with("error: "), "{wrong:?}");
    }
}

#[test]
fn a_run_that_fails_shows_the_end_of_what_it_said() {
    let scratch = scratch();
    scratch.script("fails", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i >&2; done; exit 7");
    scratch.script("dies", "echo going >&2; kill -SEGV $$");
    fs::write(scratch.file("not-a-program"), "\u{7f}").expect("the directory is writable");
    scratch.script("quiet", "exit 3");
    let said: Vec<String> = [
        &["bench", "./fails"][..],
        &["bench", "./dies"],
        &["bench", "./quiet"],
        &["bench", "--warmup", "0", "./quiet"],
        &["bench", "--shell", "no-such-program-here"],
        &["bench", "--prepare", "echo not ready >&2; exit 4", "true"],
        &["bench", "--setup", "exit 5", "true"],
        &["bench", "--runs", "1", "--cleanup", "exit 6", "true"],
        &["bench", "--pin", "100000", "true"],
        &["bench", "--output", "missing/file", "true"],
        &["bench", "./quiet && echo"],
    ]
    .map(|arguments| failure(&scratch.prony(arguments)).replace(&scratch.file("").display().to_string(), "…/"))
    .to_vec();
    insta::assert_snapshot!("run_fails", said.join("\n"));
}

#[test]
fn a_failure_may_be_ignored_and_is_counted() {
    let scratch = scratch();
    let answer = scratch.prony(&["bench", "--ignore-failure", "--runs", "3", "--shell", "exit 9"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.stderr.contains("warning: 3 of 3 runs of `exit 9` failed"), "{answer:?}");
}

#[test]
fn what_was_measured_before_a_failure_is_exported_and_marked() {
    let scratch = scratch();
    // The fourth run fails: a warm-up and two runs are good.
    scratch.script("fourth", "echo >> count; test $(wc -l < count) -lt 4");
    let answer = scratch.prony(&["bench", "--runs", "9", "--export-json", "samples.json", "./fourth"]);
    let said = failure(&answer);
    assert!(said.contains("warning: samples.json contains the 2 rounds before a command failed"), "{said}");
    assert!(said.contains("error: run 3 of `./fourth`: expected exit code 0, found 1"), "{said}");
    let samples: serde_json::Value = serde_json::from_str(&scratch.read("samples.json")).expect("it is whole");
    let runs = samples["benchmarks"][0]["runs"].as_array().expect("there are runs");
    assert_eq!(runs.iter().filter(|run| run["values"].is_array()).count(), 2, "{samples}");
    let warnings = samples["prony"]["warnings"].as_array().expect("there are some");
    let mark = "ended early: run 3 of `./fourth`: expected exit code 0, found 1";
    assert!(warnings.iter().any(|warning| warning == mark), "{samples}");
}

/// Benches a script that at some time writes a line to `fifo` and does not end; returns when it did, with that line.
fn bench_until_it_stays(scratch: &Scratch, script: &str, runs: &str) -> (Child, String) {
    scratch.pipe("fifo");
    scratch.script("stays", script);
    let child = scratch
        .command(&["bench", "--runs", runs, "--export-json", "samples.json", "./stays"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command is built");
    let mut said = String::new();
    fs::File::open(scratch.file("fifo")).and_then(|mut fifo| fifo.read_to_string(&mut said)).expect("the run opens it");
    (child, said)
}

#[test]
fn an_interrupt_ends_the_command_and_keeps_what_was_measured() {
    let scratch = scratch();
    // A warm-up and two runs end by themselves; the next one says that it runs, and does not end.
    let script = "echo >> count; test $(wc -l < count) -lt 4 || { echo here > fifo; exec sleep 1000; }";
    let (child, said) = bench_until_it_stays(&scratch, script, "9");
    let killed = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.expect("procps is there").success());
    let output = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), said.as_str()), (Some(3), "here\n"), "{stderr}");
    assert!(stderr.contains("warning: interrupted after 2 rounds"), "{stderr}");
    let samples: serde_json::Value = serde_json::from_str(&scratch.read("samples.json")).expect("it is whole");
    let runs = samples["benchmarks"][0]["runs"].as_array().expect("there are runs");
    assert_eq!(runs.iter().filter(|run| run["values"].is_array()).count(), 2, "{samples}");
}

#[test]
fn a_bench_that_is_killed_leaves_what_was_measured() {
    let scratch = scratch();
    // Runs end by themselves until there is something to leave; the next one says who it is, and does not end.
    let script = "test -e samples.json.partial || exit 0; echo $$ > fifo; exec sleep 1000";
    let (mut child, run) = bench_until_it_stays(&scratch, script, "1000000");
    child.kill().expect("it runs");
    child.wait().expect("it is ours");
    // It is killed with the bench, and may be gone by now.
    std::process::Command::new("kill").arg(run.trim()).output().expect("procps is there");
    assert!(!scratch.file("samples.json").exists());
    let answer = scratch.prony(&["stats", "samples.json.partial"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(answer.stdout.contains("./stays"), "{answer:?}");

    let answer = scratch.prony(&["bench", "--runs", "100", "--export-json", "samples.json", "sleep 0.02"]);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(scratch.file("samples.json").exists() && !scratch.file("samples.json.partial").exists(), "it is over");
}
