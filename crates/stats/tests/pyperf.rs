//! The real pyperf reads what we write, with and without what prony adds.

use std::path::{Path, PathBuf};
use std::process::Command;

use prony_stats::samples::{
    Benchmark, Circumstances, Faults, Measured, Measurement, MetadataValue, Run, Samples, Subject, Switches, Unit,
    Warmup,
};
use serde_json::{Value, json};

/// What `scripts/setup test` installs.
fn python() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join("target/pyperf/bin/python3");
    assert!(python.exists(), "{} is missing: `make setup` installs it", python.display());
    python
}

/// Runs pyperf; its output when it ends well.
fn pyperf(arguments: &[&str], files: &[&Path]) -> String {
    let output = Command::new(python())
        .args(["-m", "pyperf"])
        .args(arguments)
        .args(files)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .expect("Python starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stderr.is_empty(), "pyperf {arguments:?}: {}\n{stderr}", output.status);
    String::from_utf8(output.stdout).expect("pyperf writes UTF-8")
}

/// Two benchmarks, measured in pairs, with all that a file can hold. `factor`: of all times.
fn samples(factor: f64) -> Samples {
    let benchmark = |name: &str, base_s: f64| {
        let mut benchmark = Benchmark::new(name);
        benchmark.metadata.insert("hostname".to_owned(), MetadataValue::text("bench-1"));
        benchmark.metadata.insert("mem_max_rss".to_owned(), 4096.into());
        benchmark.runs.push(Run {
            warmups: vec![Warmup { loops: 1, value: base_s * 2.0 }],
            values: Vec::new(),
            ..Run::of(1.0)
        });
        benchmark.runs.extend((0..20_u64).map(|pair| {
            let time = factor * base_s * (1.0 + 0.001 * (pair * 7 % 20) as f64);
            let measured = Measured {
                pair: Some(pair),
                place: Some(pair % 2),
                wall_s: Some(time),
                cpu_s: Some(time * 0.9),
                uncontended_s: Some(time * 0.95),
                wait_s: Some(time * 0.05),
                faults: Some(Faults { minor: 80, major: 0 }),
                switches: Some(Switches { voluntary: 2, involuntary: 1 }),
                migrations: Some(0),
                peak_rss_bytes: Some(3 << 20),
                exit_code: Some(0),
                counters: [("instructions".to_owned(), 12_345_678)].into(),
                allocated_bytes: Some(512.0),
                allocations: Some(4.0),
                frame_ns: vec![1_000_000, 1_200_000],
                ..Measured::default()
            };
            let mut run = Run { measured: Some(Box::new(measured)), ..Run::of(time) };
            run.metadata.insert("date".to_owned(), MetadataValue::text("2026-11-21 20:32:49.125000"));
            run.metadata.insert("command_max_rss".to_owned(), (3_u64 << 20).saturating_add(4096 * pair).into());
            run
        }));
        benchmark.subject = Some(Subject {
            command: vec!["./server".to_owned(), "--port=8080".to_owned()],
            build: json!({ "build_id": "5a3f" }),
            measurement: Some(Measurement {
                name: "dm1.demo".to_owned(),
                pairing: Some("8e".to_owned()),
                budget_s: Some(20.0),
                pairs_done_s: vec![0.4, 0.9],
                judged_frames: vec![[3, 1], [6, 40]],
            }),
            ..Subject::default()
        });
        benchmark
    };
    Samples {
        benchmarks: vec![benchmark("./server --port=8080", 0.02), benchmark("client äöü | tee", 0.05)],
        circumstances: Some(Circumstances {
            prony_version: "0.1.0".to_owned(),
            machine: json!({ "cpu": { "model": "AMD EPYC" }, "kernel": "6.1.0" }),
            pairing: Some("7f".to_owned()),
            budget_s: Some(8.0),
            pairs_min: 10,
            pairs_max: Some(500),
            pairs_done_s: (1..=20).map(|pair| f64::from(pair) * 0.1).collect(),
            ..Circumstances::default()
        }),
    }
}

fn write(directory: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, bytes).expect("a scratch file");
    path
}

fn scratch(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&path).expect("a scratch directory");
    path
}

/// Removes the key wherever it stands.
fn without_prony(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("prony");
            map.values_mut().for_each(without_prony);
        }
        Value::Array(items) => items.iter_mut().for_each(without_prony),
        _ => {}
    }
}

#[test]
fn pyperf_reads_our_samples_with_and_without_the_prony_key() {
    let directory = scratch("pyperf-reads");
    let bytes = [1.0, 1.5].map(|factor| samples(factor).encode().expect("sound samples"));
    let [a, b] = [("a.json", &bytes[0]), ("b.json", &bytes[1])].map(|(name, bytes)| write(&directory, name, bytes));
    let mut plain: Value = serde_json::from_slice(&bytes[0]).expect("JSON");
    without_prony(&mut plain);
    // Of the same name, as pyperf shows it.
    let plain = write(&scratch("pyperf-reads-plain"), "a.json", plain.to_string().as_bytes());

    let compared = pyperf(&["compare_to"], &[&a, &b]);
    assert!(compared.contains("./server --port=8080") && compared.contains("1.50x slower"), "{compared}");
    for verb in ["show", "check", "hist", "stats", "metadata", "dump"] {
        let [with, without] = [&a, &plain].map(|file| pyperf(&[verb], &[file]));
        let expected = if verb == "metadata" { "hostname: bench-1" } else { "client äöü | tee" };
        assert!(with.contains(expected), "{verb}: {with}");
        assert_eq!(with, without, "{verb}");
    }
    let dump = pyperf(&["dump", "-v"], &[&a]);
    assert!(dump.contains("command_max_rss: 3072.0 KiB"), "pyperf knows the peak memory: {dump}");
    let stats = pyperf(&["stats"], &[&a]);
    for line in ["Total number of values: 20", "Number of calibration run: 1", "Minimum:         20.0 ms"] {
        assert!(stats.contains(line), "{line}: {stats}");
    }
}

#[test]
fn pyperf_takes_every_unit_and_every_kind_of_value() {
    let directory = scratch("pyperf-units");
    let mut samples = samples(1.0);
    samples.benchmarks[0].unit = Unit::Byte;
    samples.benchmarks[0].inner_loops = 3;
    samples.benchmarks[1].unit = Unit::Integer;
    let run = &mut samples.benchmarks[1].runs[1];
    run.loops = 8;
    run.metadata.insert("tags".to_owned(), MetadataValue::Tags(vec!["net".to_owned()]));
    run.metadata.insert("yes".to_owned(), MetadataValue::Boolean(true));
    let file = write(&directory, "units.json", &samples.encode().expect("sound samples"));
    for verb in ["show", "check", "hist", "stats", "metadata", "dump"] {
        pyperf(&[verb], &[&file]);
    }
}

#[test]
fn what_pyperf_writes_again_is_what_we_wrote_without_the_prony_key() {
    let directory = scratch("pyperf-writes");
    let file = write(&directory, "ours.json", &samples(1.0).encode().expect("sound samples"));
    let theirs = directory.join("theirs.json");
    let _ = std::fs::remove_file(&theirs);
    pyperf(&["convert", "--indent", "-o", theirs.to_str().expect("a path in UTF-8")], &[&file]);
    let read = Samples::decode(&std::fs::read(&theirs).expect("pyperf wrote it")).expect("pyperf's own file");
    let mut ours = samples(1.0);
    ours.circumstances = None;
    for benchmark in &mut ours.benchmarks {
        benchmark.subject = None;
        benchmark.runs.iter_mut().for_each(|run| run.measured = None);
    }
    // pyperf moves what all runs that it kept share; the values are what counts.
    for (ours, read) in ours.benchmarks.iter().zip(&read.benchmarks) {
        assert_eq!((&ours.name, ours.unit, ours.clusters()), (&read.name, read.unit, read.clusters()));
    }
}
