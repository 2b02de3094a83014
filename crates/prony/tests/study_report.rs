//! `prony study report` on a directory as `study run` leaves it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;

use prony_study::{Cell, Direction, Factor, Machine, Metric, Results, Role, State, Workload};
use serde_json::Value;

/// Two builds on three machines; the new one takes two thirds of the time, more or less.
fn study() -> Results {
    let cells = (0..3usize).flat_map(|machine| {
        (0..3u32).flat_map(move |repeat| {
            (0..2usize).map(move |build| {
                let uneven = 1.0 + 0.01 * f64::from(repeat) + 0.02 * (machine * build) as f64;
                let value = [1.5, 1.0][build] * (1.0 + machine as f64) * uneven;
                Cell {
                    key: format!("{machine}{repeat}{build}").repeat(10),
                    machine,
                    workload: 0,
                    repeat,
                    levels: vec![build],
                    role: Role::Measured,
                    state: State::Done,
                    attempt: 1,
                    value: Some(value),
                    spread: None,
                    samples: None,
                    seconds: Some(value),
                    provenance: BTreeMap::new(),
                }
            })
        })
    });
    let machine = |name: &str| Machine { name: name.to_owned(), facts: Value::Null, disturbances: Vec::new() };
    Results {
        title: "builds".to_owned(),
        metric: Metric {
            name: "CPU time".to_owned(),
            unit: "second".to_owned(),
            direction: Direction::Lower,
            normalise: None,
        },
        factors: vec![Factor {
            name: "build".to_owned(),
            levels: vec!["old".to_owned(), "new".to_owned()],
            numbers: None,
            random: false,
        }],
        workloads: vec![Workload { name: "dm1".to_owned(), axes: BTreeMap::new() }],
        machines: ["a", "b", "c"].map(machine).to_vec(),
        cells: cells.collect(),
        seed: 7,
        random: Vec::new(),
    }
}

fn report(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = prony_testing::prony();
    command.args(["study", "report"]).arg("study").args(arguments).current_dir(dir);
    command.output().expect("prony starts")
}

fn scratch() -> tempfile::TempDir {
    let dir = tempfile::tempdir().expect("a scratch directory");
    fs::create_dir(dir.path().join("study")).expect("a scratch directory takes it");
    let json = prony_study::results_file::to_json(&study()).expect("all is finite");
    fs::write(dir.path().join("study/results.json"), json).expect("a scratch directory takes it");
    dir
}

#[test]
fn the_page_is_one_file_that_names_no_other_place() {
    let dir = scratch();
    let output = report(dir.path(), &[]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stdout.is_empty());
    let page = fs::read_to_string(dir.path().join("study/report.html")).expect("it was written");
    assert!(page.contains("new is ") && page.contains(" faster than old"));
    assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("//cdn"));
}

#[test]
fn a_page_that_is_there_is_replaced_on_demand_only() {
    let dir = scratch();
    fs::write(dir.path().join("page.html"), "mine").expect("a scratch directory takes it");
    let output = report(dir.path(), &["-o", "page.html"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "error: cannot write page.html: file exists\nhint: use --force to overwrite it\n");
    assert_eq!(fs::read_to_string(dir.path().join("page.html")).expect("it is there"), "mine");
    assert_eq!(report(dir.path(), &["-o", "page.html", "--force"]).status.code(), Some(0));
    assert!(fs::read_to_string(dir.path().join("page.html")).expect("it is there").starts_with("<!doctype html>"));
}

#[test]
fn markdown_goes_to_standard_output_and_charts_into_their_directory() {
    let dir = scratch();
    let output = report(dir.path(), &["--markdown", "--svg", "charts"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("it is text");
    assert!(text.starts_with("## builds\n"), "{text}");
    assert!(!dir.path().join("study/report.html").exists());
    let mut names: Vec<String> = fs::read_dir(dir.path().join("charts"))
        .expect("it was made")
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["impact.svg", "machine-1-a.svg", "machine-2-b.svg", "machine-3-c.svg", "machines.svg"]);
}

#[test]
fn json_says_what_the_first_screen_says() {
    let dir = scratch();
    let output = report(dir.path(), &["--json"]);
    let answer: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(answer["verdict"]["tone"], "good");
    assert_eq!(answer["written"], serde_json::json!(["study/report.html"]));
    assert!(answer["trust"].as_array().is_some_and(|trust| trust.iter().any(|chip| chip["text"] == "18/18 cells")));
}

#[test]
fn a_directory_without_a_study_names_the_next_step() {
    let dir = tempfile::tempdir().expect("a scratch directory");
    fs::create_dir(dir.path().join("study")).expect("a scratch directory takes it");
    let output = report(dir.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("error: cannot report study: study: expected results.json or study.toml in it"), "{said}");
    assert!(said.contains("\nhint: `prony study run study.toml -o DIR` and"), "{said}");
}
