use std::fmt::Write;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::files::samples::Better;
use crate::metric::Metric;

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
fn summary(name: &str, import: &Import) -> String {
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
        .map(|name| summary(name, &import(&golden(name)).unwrap_or_else(|error| panic!("{name}: {error}"))))
        .collect();
    all.push(summary("criterion", &golden_criterion(&["copy-vec-64", "flat-s", "sum"])));
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
fn units_that_a_go_benchmark_made_are_read_where_their_direction_is_known() {
    let line = |rest: &str| format!("BenchmarkX-8 10 20 ns/op {rest}\n");
    let text = ["7 p99-ns 3 hits/s 90 hits 5 depth 1 odd\n", "8 p99-ns 4 hits/s 91 hits 6 depth 2 odd\n"].map(line);
    let text = format!("Unit hits better=higher\nUnit depth better=lower assume=exact\n{}", text.concat());
    let import = import(text.as_bytes()).expect("it is sound");
    let read = import.samples.benchmarks.iter().map(|one| {
        (one.name.as_str(), one.metric(), one.unit_name(), one.better(), one.values().collect::<Vec<f64>>())
    });
    assert_eq!(
        read.collect::<Vec<_>>(),
        [
            ("BenchmarkX", "wall", "second", Better::Lower, vec![20e-9, 20e-9]),
            ("BenchmarkX p99-ns", "p99-ns", "p99-ns", Better::Lower, vec![7.0, 8.0]),
            ("BenchmarkX hits/s", "hits/s", "hits/s", Better::Higher, vec![3.0, 4.0]),
            ("BenchmarkX hits", "hits", "hits", Better::Higher, vec![90.0, 91.0]),
            ("BenchmarkX depth", "depth", "depth", Better::Lower, vec![5.0, 6.0]),
        ]
    );
    let unknown = "skipped, as nothing says which way is better: odd; a line `Unit odd better=lower` in the file does";
    assert_eq!(import.notes, [unknown]);
    // Go leaves the time out where the benchmark says so.
    let alone = super::import(b"BenchmarkX-8 10 7 p99-ns\nBenchmarkX-8 10 8 p99-ns\n").expect("it is sound");
    assert_eq!(alone.samples.benchmarks.len(), 1);
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

#[test]
fn each_metric_of_google_benchmark_is_that_of_its_file() {
    for name in ["google-benchmark.json", "google-benchmark-repetitions.json"] {
        let file: Value = serde_json::from_slice(&golden(name)).expect("it is JSON");
        let entries = file["benchmarks"].as_array().expect("a list");
        let import = import(&golden(name)).expect("a sound file");
        for benchmark in &import.samples.benchmarks {
            for (metric, key) in [(Metric::Wall, "real_time"), (Metric::Cpu, "cpu_time")] {
                let expected = entries.iter().filter(|entry| {
                    let run = entry["run_name"].as_str().or(entry["name"].as_str());
                    run == Some(&benchmark.name) && entry["run_type"].as_str().is_none_or(|kind| kind == "iteration")
                });
                let seconds = |entry: &Value| {
                    let unit = match entry["time_unit"].as_str() {
                        Some("us") => 1e-6,
                        Some("ms") => 1e-3,
                        Some("s") => 1.0,
                        _ => 1e-9,
                    };
                    entry[key].as_f64().expect("a time") * unit
                };
                let expected: Vec<f64> = expected.map(seconds).collect();
                let found: Vec<f64> = benchmark.by(metric).values().collect();
                assert_eq!(found.len(), expected.len(), "{name}, {}, {key}", benchmark.name);
                for (found, expected) in found.iter().zip(&expected) {
                    assert!((found / expected - 1.0).abs() < 1e-9, "{name}, {}, {key}: {found}", benchmark.name);
                }
            }
        }
    }
}

#[test]
fn numbers_that_json_does_not_have_refuse_no_file() {
    let file = |counter: &str| {
        format!(
            "{{\"context\": {{}}, \"benchmarks\": [{{\"name\": \"BM_NaN \\\"%\", \"iterations\": 10, \"real_time\": 10.5, \
             \"cpu_time\": 9.5, \"time_unit\": \"us\", \"rate\": {counter}}}]}}"
        )
    };
    for counter in ["NaN", "-NaN", "Infinity", "-Infinity", "nan", "-inf", "2%"] {
        let import = import(file(counter).as_bytes()).unwrap_or_else(|error| panic!("{counter}: {error}"));
        let [only] = import.samples.benchmarks.as_slice() else { panic!("{counter}: {import:?}") };
        assert_eq!((only.name.as_str(), only.values().collect::<Vec<_>>()), ("BM_NaN \"%", vec![10.5e-6]), "{counter}");
    }
    assert!(import(file("nonsense").as_bytes()).is_err());
}

#[test]
fn a_line_that_is_broken_costs_itself_and_is_named() {
    let text = "goos: linux\npkg: ex/p\nBenchmarkA-8   \t 1000\t 1100 ns/op\nBenchmarkB-8   \tpool: 4 workers started\n 1000\t 2100 ns/op\n\
                BenchmarkC-8   \t 1000\t 3100 ns/op\nBenchmarkD-8 \t 1000\t 2100 ns/op\tretrying in 5\nPASS\n";
    let names = |import: &Import| -> Vec<String> {
        import.samples.benchmarks.iter().map(|benchmark| benchmark.name.clone()).collect()
    };
    let read = import(text.as_bytes()).expect("two lines are sound");
    assert_eq!(names(&read), ["BenchmarkA", "BenchmarkC"]);
    assert_eq!(
        read.notes,
        [
            "line 4: expected a number of iterations, found pool:; skipped",
            "line 7: expected pairs of value and unit, found 2100 ns/op retrying in 5; skipped"
        ]
    );
    let event = |line: &str| serde_json::json!({ "Action": "output", "Package": "ex/p", "Output": line }).to_string();
    let events: Vec<String> = text.split_inclusive('\n').map(event).collect();
    let events = format!("{}\n{}\n", serde_json::json!({ "Action": "start", "Package": "ex/p" }), events.join("\n"));
    assert_eq!(import(events.as_bytes()).expect("the same in events"), read);
    let utf16: Vec<u8> = [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    assert_eq!(import(&utf16).expect("the same in UTF-16"), read);
    assert_eq!(import(format!("\u{feff}{text}").as_bytes()).expect("the same behind a mark"), read);
}

#[test]
fn a_configuration_within_a_file_is_part_of_a_name() {
    let names = |text: &str| -> Vec<String> {
        let import = import(text.as_bytes()).expect("a sound file");
        import.samples.benchmarks.into_iter().map(|benchmark| benchmark.name).collect()
    };
    let line = "BenchmarkX-8\t1000\t1000.0 ns/op\n";
    assert_eq!(
        names(&format!("branch: old\n\n{line}\nbranch: new\n{line}")),
        ["BenchmarkX branch=old", "BenchmarkX branch=new"]
    );
    let output = |arch: &str, cpu: &str| format!("goos: linux\ngoarch: {arch}\npkg: ex/p\ncpu: {cpu}\n{line}PASS\n");
    assert_eq!(
        names(&(output("amd64", "Alpha") + &output("arm64", "Beta"))),
        ["BenchmarkX cpu=Alpha goarch=amd64", "BenchmarkX cpu=Beta goarch=arm64"]
    );
    assert_eq!(names(&output("amd64", "Alpha").repeat(2)), ["BenchmarkX"]);
    // What a benchmark logs between results is no configuration.
    assert_eq!(names(&format!("{line}pool: 4\n{line}pool: 5\n{line}")), ["BenchmarkX"]);
}

fn packed(content: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(content).expect("memory takes it");
    gzip.finish().expect("memory takes it")
}

#[test]
fn a_packed_file_is_the_file_in_it() {
    let file =
        br#"{"version": "1.0", "benchmarks": [{"metadata": {"name": "copy"}, "runs": [{"values": [0.5, 0.25]}]}]}"#;
    assert_eq!(import(&packed(file)), import(file));
    let cut = import(&packed(file)[..30]).expect_err("it is cut");
    assert!(cut.to_string().contains("cannot be unpacked"), "{cut}");
    let twice = import(&packed(&packed(file))).expect_err("packed twice");
    assert_eq!(twice.to_string(), "expected samples, found a gzip archive in another one");
    // A few hundred kilobytes that unpack to hundreds of megabytes end at what a file of that size may take.
    let bomb = import(&packed(&vec![b' '; 300 << 20])).expect_err("it is too large");
    assert!(bomb.to_string().contains("memory"), "{bomb}");
}

#[test]
fn pytest_benchmark_has_the_seconds_of_each_round() {
    let file = br#"{"machine_info": {"node": "vm", "python_version": "3.11.2"}, "version": "5.1.0", "benchmarks": [
        {"name": "test_sum[10]", "fullname": "tests/test_a.py::test_sum[10]", "stats": {"data": [2e-6, 3e-6], "iterations": 50, "mean": 2.5e-6}},
        {"name": "test_b", "fullname": "tests/test_a.py::test_b", "stats": {"iterations": 1, "mean": 0.5}}]}"#;
    let found = import(file).expect("it is sound");
    assert_eq!(found.format, Format::PytestBenchmark);
    let [sum] = &found.samples.benchmarks[..] else { panic!("one has rounds: {found:?}") };
    assert_eq!((sum.name.as_str(), sum.runs[0].loops), ("tests/test_a.py::test_sum[10]", 50));
    assert_eq!(sum.values().collect::<Vec<_>>(), [2e-6, 3e-6]);
    assert_eq!(sum.clusters().len(), 1, "rounds of one process");
    assert!(found.notes[0].contains("--benchmark-save-data"), "{:?}", found.notes);
}

#[test]
fn jmh_has_a_process_for_each_fork_and_rates_of_which_more_is_better() {
    let file = br#"[
        {"jmhVersion": "1.37", "benchmark": "org.Copy.run", "mode": "avgt", "forks": 2, "vmName": "OpenJDK", "params": {"size": "10"},
         "primaryMetric": {"score": 2.0, "scoreUnit": "us/op", "rawData": [[2.0, 2.5], [1.5, "NaN"]]},
         "secondaryMetrics": {"gc.count": {"score": 1.0}}},
        {"benchmark": "org.Copy.rate", "mode": "thrpt", "primaryMetric": {"scoreUnit": "ops/ms", "rawData": [[4.0]]}},
        {"benchmark": "org.Copy.sample", "mode": "sample", "primaryMetric": {"scoreUnit": "ns/op", "rawDataHistogram": [[[[1, 2]]]]}},
        {"benchmark": "org.Copy.odd", "mode": "avgt", "primaryMetric": {"scoreUnit": "B/op", "rawData": [[1]]}}]"#;
    let found = import(file).expect("it is sound");
    assert_eq!(found.format, Format::Jmh);
    let [time, rate] = &found.samples.benchmarks[..] else { panic!("two can be read: {found:?}") };
    assert_eq!((time.name.as_str(), time.clusters().len()), ("org.Copy.run[size=10]", 2));
    assert_eq!(time.values().collect::<Vec<_>>(), [2e-6, 2.5e-6, 1.5e-6]);
    assert_eq!((rate.values().next(), rate.better(), rate.unit_name()), (Some(4000.0), Better::Higher, "operations/s"));
    let notes = found.notes.join("; ");
    for expected in ["mode sample has no raw data", "unknown unit B/op", "1 secondary metrics", "1 of 4 values skipped"]
    {
        assert!(notes.contains(expected), "{expected}: {notes}");
    }
    assert!(import(b"[]").is_err() && import(b"[1, 2]").is_err());
}
