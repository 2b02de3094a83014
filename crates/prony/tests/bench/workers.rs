//! Workers: commands that measure themselves, in several languages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use prony_testing::CommandOutput;
use prony_testing::scratch::Scratch;

use crate::scratch;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/workers")
}

fn build(scratch: &Scratch, compiler: &str, arguments: &[&str], install: &str) {
    let built = Command::new(compiler).args(arguments).current_dir(scratch.path()).output();
    let built = built.unwrap_or_else(|error| panic!("{compiler}: {error}: {install}"));
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// The first command calibrated itself, and its values are of one loop: all loops fit into the time of the whole bench.
fn assert_values_are_of_one_loop(scratch: &Scratch, bench: Duration) {
    let samples: serde_json::Value = serde_json::from_str(&scratch.read("samples.json")).expect("it is JSON");
    let runs = samples["benchmarks"][0]["runs"].as_array().expect("there are runs");
    let calibration = runs[0]["warmups"].as_array().and_then(|warmups| warmups.last()).expect("it warms up");
    let loops = calibration[0].as_u64().expect("a number of loops");
    assert!(loops > 1, "calibrated: {}", runs[0]);
    let values = runs[1..].iter().flat_map(|run| run["values"].as_array().expect("values"));
    let seconds: f64 = values.map(|value| value.as_f64().expect("a number")).sum();
    assert!(loops as f64 * seconds <= bench.as_secs_f64(), "{loops} loops of {seconds} s in {bench:?}");
}

/// A worker against itself with a quarter more work: measured by its own values, and slower.
fn assert_measures(scratch: &Scratch, command: &str) {
    let arguments = ["bench", "--json", "--min-time", "5ms", "--runs", "12", "--export-json", "samples.json"];
    let [a, b] = ["20000", "40000"].map(|work| format!("{command} {work}"));
    let begun = Instant::now();
    let answer = scratch.prony(&[&arguments[..], &[&a, &b]].concat());
    let bench = begun.elapsed();
    let json = answer.json();
    assert_eq!(json["verdict"], "slower", "{json}");
    let samples: serde_json::Value = serde_json::from_str(&scratch.read("samples.json")).expect("it is JSON");
    let runs = samples["benchmarks"][0]["runs"].as_array().expect("there are runs");
    let counts = |run: &serde_json::Value, what: &str| run[what].as_array().map_or(0, Vec::len);
    let first = counts(&runs[1], "values") + counts(&runs[1], "warmups");
    assert_eq!(first, 8, "the first processes show where values settle: {}", runs[1]);
    let later: Vec<usize> = runs[runs.len() - 5..].iter().map(|run| counts(run, "values")).collect();
    assert!(later.iter().all(|&values| values == later[0] && values >= 1), "all others alike: {later:?}");
    assert_values_are_of_one_loop(scratch, bench);
}

#[test]
fn the_c_worker_measures_itself() {
    let scratch = scratch();
    let source = examples().join("worker.c").display().to_string();
    build(&scratch, "cc", &["-O1", "-o", "worker", &source], "apt-get install gcc libc6-dev");
    assert_measures(&scratch, "./worker");
}

#[test]
fn the_rust_worker_measures_itself() {
    let scratch = scratch();
    let source = examples().join("worker.rs").display().to_string();
    build(&scratch, "rustc", &["-O", "--edition", "2024", "-o", "worker", &source], "https://rustup.rs");
    assert_measures(&scratch, "./worker");
}

#[test]
fn the_python_worker_measures_itself() {
    let scratch = scratch();
    assert_measures(&scratch, &format!("python3 {}", examples().join("worker.py").display()));
}

#[test]
fn a_python_statement_is_timed_as_pyperf_does() {
    let scratch = scratch();
    let arguments = ["bench", "--json", "--runs", "8", "--min-time", "5ms", "--export-json", "samples.json"];
    let statements = ["--setup", "d = list(range(100))", "--python", "sum(d)", "--python", "sum(d + d)"];
    let begun = Instant::now();
    let answer = scratch.prony(&[&arguments[..], &statements].concat());
    let bench = begun.elapsed();
    let json = answer.json();
    assert_eq!((answer.code, json["verdict"].as_str()), (Some(1), Some("slower")), "{json}");
    assert_eq!(
        (json["commands"][0]["name"].as_str(), json["commands"][0]["unit"].as_str()),
        (Some("sum(d)"), Some("second"))
    );
    assert_values_are_of_one_loop(&scratch, bench);
    assert!(json["metrics"]["uncontended"]["pairs"].as_u64() == Some(8), "{json}");
}

#[test]
fn a_statement_that_raises_shows_its_lines() {
    let scratch = scratch();
    let answer = scratch.prony(&["bench", "--python", "1 / 0"]);
    assert_eq!(answer.code, Some(2), "{answer:?}");
    assert!(answer.stderr.contains("warm-up 1 of `1 / 0`: expected exit code 0, found 1"), "{answer:?}");
    assert!(answer.stderr.contains("ZeroDivisionError"), "{answer:?}");
}

#[test]
fn a_rate_is_better_when_it_is_higher() {
    let scratch = scratch();
    for (name, rate) in [("low", 100), ("high", 200)] {
        let line = format!("{{\"metric\": \"requests\", \"value\": {rate}, \"unit\": \"requests/s\"}}");
        scratch.script(name, &format!("echo '{line}' >&$PRONY_FD"));
    }
    let answer = scratch.prony(&["bench", "--json", "--runs", "12", "./low", "./high"]);
    let json = answer.json();
    assert_eq!(
        (answer.code, json["verdict"].as_str(), json["metric"].as_str()),
        (Some(0), Some("faster"), Some("requests"))
    );
    // Half the time for each request.
    assert!((json["estimate_pct"].as_f64().unwrap_or(0.0) + 50.0).abs() < 1e-9, "{json}");
    assert_eq!(json["commands"][1]["unit"], "requests/s", "{json}");
}

#[test]
fn lines_that_are_no_values_are_reported() {
    let scratch = scratch();
    scratch.script("talks", "echo hello >&$PRONY_FD");
    scratch.script("warms", "test -e warm && echo '{\"value\": 1, \"warmup\": true}' >&$PRONY_FD; touch warm");
    scratch.script("only-warms", "echo '{\"value\": 1, \"warmup\": true}' >&$PRONY_FD");
    scratch.script("bytes", "echo '{\"metric\": \"size\", \"value\": 1, \"unit\": \"byte\"}' >&$PRONY_FD");
    scratch.script("times", "echo '{\"value\": 1}' >&$PRONY_FD");
    let said: Vec<String> = [
        &["bench", "./talks"][..],
        &["bench", "./only-warms"],
        &["bench", "./times", "./bytes"],
        &["bench", "./bytes", "true"],
    ]
    .map(|arguments| {
        let answer = scratch.prony(arguments);
        assert_eq!(answer.code, Some(2), "{answer:?}");
        answer.stderr
    })
    .to_vec();
    insta::assert_snapshot!("no_values", said.join("\n"));
}

#[test]
fn every_example_is_in_the_guide() {
    let guide = fs::read_to_string(examples().join("README.md")).expect("the guide is there");
    for file in fs::read_dir(examples()).expect("the examples are there") {
        let name = file.expect("it is readable").file_name();
        let name = name.to_string_lossy();
        assert!(name == "README.md" || guide.contains(&format!("]({name})")), "{name} is not in the guide");
    }
}

/// Python with pyperf, as `scripts/setup test` installs it.
fn python_with_pyperf() -> String {
    let python = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/pyperf/bin/python3");
    assert!(std::path::Path::new(python).exists(), "pyperf is missing: scripts/setup test");
    python.to_owned()
}

/// A script as pyperf's documentation has them, with every kind of benchmark that times this process.
const SCRIPT: &str = "\
import pyperf, time

def own(loops, n):
    begin = time.perf_counter()
    for _ in range(loops):
        sum(range(n))
    return time.perf_counter() - begin

def add(parser_args, command):
    command.extend(['--size', str(parser_args.size)])

runner = pyperf.Runner(add_cmdline_args=add)
runner.argparser.add_argument('--size', type=int, default=100)
size = runner.parse_args().size
data = list(range(size))
print('loading')
runner.bench_func('sum', sum, data)
runner.timeit('sorted', 'sorted(data)', globals={'data': data})
runner.bench_time_func('own', own, size, inner_loops=2)
";

#[test]
fn each_benchmark_of_a_pyperf_script_is_judged() {
    let scratch = scratch();
    scratch.write("old/bench.py", SCRIPT);
    scratch.write("new/bench.py", format!("{SCRIPT}runner.bench_func('only here', int)\n"));
    let python = python_with_pyperf();
    let arguments =
        ["bench", "--pyperf", "old/bench.py", "--pyperf", "new/bench.py --size 1000", "--interpreter", &python];
    let flags = ["--runs", "12", "--min-time", "2ms", "--json", "--export-json", "samples.json", "--html", "page.html"];
    let answer = scratch.prony(&[&arguments[..], &flags].concat());
    let json = answer.json();
    // Ten times as much work.
    assert_eq!(answer.code, Some(1), "{answer:?}");
    assert!(answer.stderr.contains("1 benchmark of new/bench.py --size 1000 not in every script"), "{answer:?}");
    let judged = json["benchmarks"].as_array().expect("a list");
    let names: Vec<&str> = judged.iter().filter_map(|of| of["benchmark"].as_str()).collect();
    assert_eq!(names, ["sum", "sorted", "own"]);
    for of in judged {
        assert_eq!((of["verdict"].as_str(), of["rounds"].as_u64()), (Some("slower"), Some(12)), "{of}");
        // A third of the 5 % for each.
        assert!((of["alpha"].as_f64().expect("a number") - 0.05 / 3.0).abs() < 1e-12, "{of}");
    }
    // A function that times itself may time a part of what runs, so CPU time is not that of its value.
    assert!(judged[0]["metrics"]["uncontended"].is_object() && judged[2]["metrics"]["uncontended"].is_null(), "{json}");
    let stored: serde_json::Value = serde_json::from_str(&scratch.read("samples.json")).expect("it is JSON");
    let names = stored["benchmarks"].as_array().expect("a list").iter().map(|of| of["metadata"]["name"].clone());
    let names: Vec<serde_json::Value> = names.collect();
    assert_eq!(names[..2], ["sum [old/bench.py]", "sum [new/bench.py --size 1000]"], "{names:?}");
    assert_eq!(names.len(), 6, "{names:?}");
    let html = scratch.read("page.html");
    for part in [
        "3 benchmarks of 2 scripts",
        ">3 slower</strong>",
        ">sum</th>",
        "B new/bench.py --size 1000",
        ">Distributions ",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert_eq!(html.matches("tone bad").count(), 3, "{html}");
    let many = scratch.prony(&[&arguments[..], &["--svg", "x.svg"]].concat());
    assert_eq!(many.code, Some(2), "{many:?}");
    assert!(many.stderr.contains("--svg: expected one benchmark, found 3"), "{many:?}");
}

#[test]
fn scripts_have_names_a_reference_and_pictures() {
    let scratch = scratch();
    let python = python_with_pyperf();
    scratch.write("one.py", "import pyperf\npyperf.Runner().bench_func('sum', sum, range(500))\n");
    scratch.write("more.py", "import pyperf\npyperf.Runner().bench_func('sum', sum, range(5000))\n");
    let flags = ["bench", "--interpreter", &python, "--runs", "12", "--min-time", "1ms", "--export-json", "s.json"];
    let scripts = ["--pyperf", "one.py", "--pyperf", "more.py"];
    let more = ["-n", "small", "-n", "large", "--reference", "large", "--svg", "x.svg", "--html", "x.html"];
    let answer = scratch.prony(&[&flags[..], &scripts, &more].concat());
    assert_eq!(answer.code, Some(0), "the small one is faster than the reference: {answer:?}");
    assert!(answer.stdout.contains("A is faster: "), "{answer:?}");
    let (svg, html) = (scratch.read("x.svg"), scratch.read("x.html"));
    assert!(svg.contains(">small</text>") && svg.contains(">large</text>"), "{svg}");
    assert!(html.contains("B: large; A: small") && html.contains("A against B"), "{html}");
    // A script against itself: what it leaves are two benchmarks.
    let twice = scratch.prony(&[&flags[..], &["--pyperf", "one.py", "--pyperf", "one.py"]].concat());
    assert_ne!(twice.code, Some(2), "{twice:?}");
    assert!(scratch.read("s.json").contains("sum [one.py (2)]"), "{twice:?}");
    let names = scratch.prony(&[&flags[..], &scripts, &["-n", "a", "-n", "b", "-n", "c"]].concat());
    assert!(names.stderr.contains("expected at most one --command-name for each of 2 scripts, found 3"), "{names:?}");
}

#[test]
fn a_script_that_cannot_be_judged_says_why() {
    let scratch = scratch();
    let python = python_with_pyperf();
    scratch.write("none.py", "print('hello')\n");
    scratch.write("wrong.py", "import pyperf\nrunner = pyperf.Runner()\nrunner.bench_func('x', lambda: 1 / 0)\n");
    let said = |script: &str, interpreter: &str| {
        let answer = scratch.prony(&["bench", "--pyperf", script, "--interpreter", interpreter, "--runs", "2"]);
        assert_eq!(answer.code, Some(2), "{answer:?}");
        answer.stderr
    };
    assert!(said("none.py", &python).contains("error: none.py has no benchmark"));
    assert!(said("no-such-file.py", &python).contains("No such file"));
    assert!(said("wrong.py", &python).contains("ZeroDivisionError"));
    // An interpreter for which it is not installed.
    scratch.write("without/pyperf.py", "raise ModuleNotFoundError(\"No module named 'pyperf'\")\n");
    let mut bench = scratch.command(&["bench", "--pyperf", "wrong.py", "--interpreter", &python]);
    let answer = CommandOutput::to(bench.env("PYTHONPATH", scratch.file("without")));
    assert!(answer.stderr.contains("-m pip install pyperf`"), "{answer:?}");
}

#[test]
fn several_setups_come_before_a_python_statement() {
    let scratch = scratch();
    let flags =
        ["bench", "--json", "--runs", "2", "--min-time", "1ms", "--python", "a + b", "-s", "a = 1", "-s", "b = a"];
    let answer = scratch.prony(&flags);
    assert_eq!(answer.code, Some(0), "{answer:?}");
    let answer = scratch.prony(&["bench", "--runs", "2", "--setup", "true", "--setup", "true", "true"]);
    assert_eq!(answer.code, Some(2), "{answer:?}");
    assert!(answer.stderr.contains("expected one --setup, or one for each of 1 commands, found 2"), "{answer:?}");
}
