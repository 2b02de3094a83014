use std::collections::BTreeMap;

use prony_stats::Interval;
use prony_stats::samples::{Benchmark, Measured, Run};
use serde_json::{Value, json};

use super::*;
use crate::results::{Direction, Factor, FailureKind, Machine, Metric, Normalise, Role, State, Workload};

fn results() -> Results {
    let cell = |key: &str, role, state| Cell {
        key: key.to_owned(),
        machine: 0,
        workload: 0,
        repeat: 1,
        levels: vec![1],
        role,
        state,
        attempt: 1,
        value: Some(0.25),
        spread: Some(Interval { estimate: 0.25, low: f64::NEG_INFINITY, high: f64::INFINITY, confidence: 0.95, n: 2 }),
        samples: Some(format!("cells/{key}.json")),
        seconds: Some(3.5),
        provenance: BTreeMap::from([("command".to_owned(), "./server".to_owned())]),
    };
    let failed = State::Failed { kind: FailureKind::Transient, message: "the disk is full".to_owned() };
    Results {
        title: "a study".to_owned(),
        metric: Metric {
            name: "cpu".to_owned(),
            unit: "second".to_owned(),
            direction: Direction::Lower,
            normalise: Some(Normalise { by: "frames".to_owned(), to: 120_000.0 }),
        },
        factors: vec![Factor {
            name: "clients".to_owned(),
            levels: vec!["1".to_owned(), "2".to_owned()],
            numbers: Some(vec![1.0, 2.0]),
            random: false,
        }],
        workloads: vec![Workload {
            name: "dm1".to_owned(),
            axes: BTreeMap::from([("map".to_owned(), "dm1".to_owned())]),
        }],
        machines: vec![Machine { name: "here".to_owned(), facts: Value::Null, disturbances: Vec::new() }],
        cells: vec![cell("a", Role::Measured, State::Done), cell("b", Role::Control, failed)],
        seed: 7,
        random: Vec::new(),
    }
}

fn written(change: impl FnOnce(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(&to_json(&results()).expect("all is finite")).expect("it is JSON");
    change(&mut value);
    value.to_string()
}

#[test]
fn results_are_read_as_they_were_written_even_without_bounds() {
    let text = to_json(&results()).expect("all is finite");
    assert_eq!(parse(&text, Path::new("results.json")).expect("it was just written"), results());
}

#[test]
fn results_that_do_not_fit_to_each_other_say_where() {
    let error =
        |change: fn(&mut Value)| parse(&written(change), Path::new("r.json")).expect_err("it does not fit").to_string();
    assert_eq!(error(|all| all["format"] = json!(2)), "r.json: expected format 1, found 2");
    assert_eq!(
        error(|all| all["results"]["cells"][1]["machine"] = json!(1)),
        "r.json: cell b: expected a machine below 1, found 1"
    );
    assert_eq!(
        error(|all| all["results"]["cells"][0]["workload"] = json!(9)),
        "r.json: cell a: expected a workload below 1, found 9"
    );
    assert_eq!(
        error(|all| all["results"]["cells"][0]["levels"] = json!([2])),
        "r.json: cell a: expected a level of `clients` below 2, found 2"
    );
    assert_eq!(
        error(|all| all["results"]["cells"][0]["levels"] = json!([])),
        "r.json: cell a: expected 1 levels, found 0"
    );
    assert_eq!(
        error(|all| all["results"]["factors"][0]["numbers"] = json!([1.0])),
        "r.json: factor `clients`: expected 2 numbers, found 1"
    );
    assert!(error(|all| all["results"]["cells"][0]["colour"] = json!(1)).contains("unknown field `colour`"));
}

#[test]
fn a_directory_without_a_study_says_what_it_lacks() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    let error = load(directory.path()).expect_err("it is empty").to_string();
    assert!(error.ends_with(": expected results.json or study.toml in it, found neither"), "{error}");
}

#[test]
fn frames_come_from_the_samples_file_and_from_nowhere_else() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    let mut results = results();
    let mut benchmark = Benchmark::new("dm1");
    let mut run = Run::of(0.25);
    run.measured = Some(Box::new(Measured { frame_ns: vec![5, 7], ..Measured::default() }));
    benchmark.runs.push(run);
    let samples = Samples { benchmarks: vec![benchmark], circumstances: None };
    fs::create_dir(directory.path().join("cells")).expect("a scratch directory takes it");
    let bytes = samples.encode().expect("it holds the rules");
    fs::write(directory.path().join("cells/a.json"), bytes).expect("a scratch directory takes it");
    assert_eq!(frames(&results.cells[0], directory.path()).expect("it is there"), [[5, 7]]);
    for outside in ["/etc/passwd", "../a.json", "cells/../../a.json"] {
        results.cells[0].samples = Some(outside.to_owned());
        let error = frames(&results.cells[0], directory.path()).expect_err("it lies outside").to_string();
        assert!(error.ends_with(": expected a samples file inside of the study"), "{error}");
    }
}
