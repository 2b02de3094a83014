use std::fmt::Write;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

fn golden(name: &str) -> Vec<u8> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn golden_criterion(names: &[&str]) -> Import {
    let files: Vec<[Vec<u8>; 3]> = names
        .iter()
        .map(|name| ["benchmark", "sample", "estimates"].map(|file| golden(&format!("criterion/{name}/{file}.json"))))
        .collect();
    let files: Vec<criterion::Files<'_>> = files
        .iter()
        .map(|[benchmark, sample, estimates]| criterion::Files { benchmark, sample, estimates: Some(estimates) })
        .collect();
    criterion::import(&files).expect("a sound directory")
}

/// What a reader of the file would check by eye.
fn told(name: &str, import: &Import) -> String {
    let mut out = format!("{name}: {}\n", import.format.name());
    for note in &import.notes {
        let _ = writeln!(out, "  note: {note}");
    }
    for benchmark in &import.samples.benchmarks {
        let clusters = benchmark.clusters().len();
        let _ = writeln!(out, "  {}, {} runs, {clusters} processes", benchmark.name, benchmark.runs.len());
        for (key, value) in &benchmark.metadata {
            let _ = writeln!(out, "    {key} = {value}");
        }
        if let Some(subject) = &benchmark.subject {
            let _ = writeln!(out, "    command {:?}, parameters {:?}", subject.command, subject.parameters);
        }
        let run = &benchmark.runs[0];
        let _ = writeln!(out, "    first: {} loops, {:?}, {} warm-ups", run.loops, run.values, run.warmups.len());
        if let Some(measured) = &run.measured {
            let _ = writeln!(out, "    first: {}", serde_json::to_string(measured).expect("numbers only"));
        }
    }
    out
}

#[test]
fn files_of_the_real_tools_are_read() {
    let files = [
        "pyperf-timeit.json",
        "pyperf-command.json",
        "hyperfine-1.15.json",
        "hyperfine-1.20-one-run.json",
        "hyperfine-1.20-parameter.json",
        "hyperfine-2.0.json",
        "hyperfine-2.0-parameter.json",
        "google-benchmark.json",
        "google-benchmark-repetitions.json",
        "go-bench.txt",
    ];
    let mut all: Vec<String> = files
        .iter()
        .map(|name| told(name, &import(&golden(name)).unwrap_or_else(|error| panic!("{name}: {error}"))))
        .collect();
    all.push(told("criterion", &golden_criterion(&["copy-vec-64", "flat-s", "sum"])));
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn what_was_imported_can_be_written_and_read_again() {
    for name in ["hyperfine-2.0.json", "google-benchmark-repetitions.json", "go-bench.txt", "pyperf-command.json"] {
        let samples = import(&golden(name)).expect("a sound file").samples;
        let bytes = samples.encode().expect("sound samples");
        assert_eq!(import(&bytes).expect("our own file").samples, samples, "{name}");
    }
}

#[test]
fn old_files_of_hyperfine_lack_what_came_later() {
    let old = br#"{"results": [
        {"command": "sleep 0.1", "mean": 0.1, "stddev": 0.01, "user": 0, "system": 0, "min": 0.1, "max": 0.1,
         "times": [0.1, 0.11], "parameter": "1"},
        {"command": "sleep 0.2", "mean": 0.2, "stddev": 0.01, "user": 0, "system": 0, "min": 0.2, "max": 0.2}]}"#;
    let import = import(old).expect("a sound file");
    assert_eq!(import.notes, ["`sleep 0.2` skipped: a summary without times"]);
    let subject = import.samples.benchmarks[0].subject.as_ref().expect("what hyperfine knows");
    assert_eq!(subject.parameters["parameter"], "1");
}

#[test]
fn several_outputs_of_go_in_one_text_are_several_processes() {
    let one = "goos: linux\npkg: a/b\nBenchmarkX-8 10 20 ns/op\nBenchmarkX-8 10 21 ns/op\nPASS\nok a/b 1s\n";
    let import = import((one.to_owned() + one).as_bytes()).expect("sound text");
    assert_eq!(import.samples.benchmarks[0].clusters().len(), 2);
    assert_eq!(import.samples.benchmarks[0].name, "BenchmarkX");
}

#[test]
fn a_number_at_the_end_of_a_name_stays_unless_all_names_have_it() {
    let text = "BenchmarkSize-10 5 20 ns/op\nBenchmarkSize-100 5 21 ns/op\n";
    let names: Vec<String> =
        import(text.as_bytes()).expect("sound text").samples.benchmarks.into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["BenchmarkSize-10", "BenchmarkSize-100"]);
}

#[test]
fn errors_name_the_place_and_what_was_expected() {
    let criterion = |sample: &str| {
        let benchmark = br#"{"full_id": "sum"}"#;
        let files = [criterion::Files { benchmark, sample: sample.as_bytes(), estimates: None }];
        criterion::import(&files).expect_err(sample).1.to_string()
    };
    let texts = [
        "",
        "mean 5 ms",
        "{",
        "{}",
        "{\"results\": 1}",
        "{\"results\": []}",
        "{\"results\": [{\"command\": \"a\", \"times\": [\"b\"]}]}",
        "{\"results\": [{\"command\": \"a\"}]}",
        "{\"results\": [{\"command\": \"a\", \"times\": [0, -1]}]}",
        "{\"results\": [], \"schema_version\": 3}",
        "{\"results\": [{\"command\": \"a\", \"measurements\": [{\"time_wall_clock\": {\"value\": 1, \"unit\": \"week\"}}]}]}",
        "{\"context\": {}, \"benchmarks\": []}",
        "{\"context\": {}, \"benchmarks\": [{\"name\": \"a\", \"time_unit\": \"fortnight\"}]}",
        "goos: linux\nPASS\n",
        "goos: linux\nBenchmarkA-8 10 fast ns/op\n",
        "goos: linux\nBenchmarkA-8 10 20 ns/op 30\n",
        "BenchmarkA-8 10 20 B/op\n",
    ];
    let mut errors: Vec<String> =
        texts.iter().map(|text| import(text.as_bytes()).expect_err(text).to_string()).collect();
    errors.push(import(b"\x1f\x8b\x08").expect_err("compressed").to_string());
    errors.push(criterion("{\"iters\": [1, 2], \"times\": [1]}"));
    errors.push(criterion("{\"iters\": [0], \"times\": [0]}"));
    errors.push(criterion("{\"iters\": [1]}"));
    insta::assert_snapshot!(errors.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn go_text_of_any_shape_is_read_or_refused(text in "(goos: linux\n)?(Benchmark[A-z/=-]{0,3}(-[0-9]{1,2})?[ \t][0-9]{1,3}[ \t][0-9.e]{1,4} (ns/op|x)\n){0,4}") {
        if let Ok(import) = import(text.as_bytes()) {
            prop_assert!(import.samples.encode().is_ok());
        }
    }
}
