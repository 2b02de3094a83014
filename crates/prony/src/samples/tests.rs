use std::path::Path;

use prony_stats::import::Beginning;
use prony_stats::import::Format;
use prony_stats::samples::{
    Benchmark, Better, Circumstances, Measured, MetadataValue, Run, Samples, Subject, Unit, Warmup,
};

use super::*;

/// Stored samples: a quiet benchmark of many processes, and a disturbed one of a single process.
pub fn stored() -> Samples {
    let runs = (0..12_u64).map(|number| Run {
        loops: 64,
        warmups: vec![Warmup { loops: 64, value: 0.001_05 }],
        values: vec![0.001 + 1e-6 * (number * 7 % 12) as f64, 0.001 + 1e-6 * (number * 11 % 12) as f64],
        ..Run::of(1.0)
    });
    let quiet = Benchmark { runs: runs.collect(), ..Benchmark::new("quiet") };
    let values: Vec<f64> = (0..40).map(|number| 2e-5 + 1e-7 * f64::from(number * number)).collect();
    let measured = Measured { wall_s: Some(0.1), wait_s: Some(0.03), exit_code: Some(3), ..Measured::default() };
    let run = Run { values, measured: Some(Box::new(measured)), ..Run::of(1.0) };
    Samples {
        benchmarks: vec![quiet, Benchmark { runs: vec![run], ..Benchmark::new("disturbed") }],
        circumstances: None,
    }
}

/// A file of one benchmark, `factor` times as slow as that of 1, in pairs or not.
pub fn loaded(name: &str, factor: f64, pairing: Option<&str>) -> Loaded {
    let runs = (0..60_u64).map(|number| {
        // Both files saw the same machine when they are pairs.
        let mood =
            1.0 + 0.1 * (number * 37 % 60) as f64 / 60.0 + 0.004 * ((number * 17 + name.len() as u64) % 13) as f64;
        let time = 0.02 * mood * factor;
        let measured = Measured {
            pair: Some(number),
            cpu_s: Some(time),
            uncontended_s: Some(time),
            wall_s: Some(time * 1.01),
            ..Measured::default()
        };
        Run { measured: Some(Box::new(measured)), ..Run::of(time) }
    });
    let benchmark = Benchmark { runs: runs.collect(), ..Benchmark::new("serve") };
    let circumstances = Circumstances { pairing: pairing.map(str::to_owned), ..Circumstances::default() };
    let samples = Samples { benchmarks: vec![benchmark], circumstances: Some(circumstances) };
    Loaded { name: name.to_owned(), format: Format::Samples, samples }
}

/// The same in other words: a rate, of which more is better.
pub fn as_rate(mut loaded: Loaded) -> Loaded {
    let benchmark = &mut loaded.samples.benchmarks[0];
    benchmark.unit = Unit::Integer;
    benchmark.runs.iter_mut().flat_map(|run| &mut run.values).for_each(|value| *value = 1.0 / *value);
    benchmark.subject = Some(Subject {
        metric: Some("requests".to_owned()),
        unit: Some("requests/s".to_owned()),
        better: Better::Higher,
        ..Subject::default()
    });
    loaded
}

/// With another value of a metadata.
pub fn described(mut loaded: Loaded, key: &str, text: &str) -> Loaded {
    loaded.samples.benchmarks[0].metadata.insert(key.to_owned(), MetadataValue::text(text));
    loaded
}

#[test]
fn what_cannot_be_read_names_the_file_and_the_next_step() {
    let errors = [
        ImportError::Packed("a gzip archive that cannot be unpacked: corrupt deflate stream".to_owned()),
        ImportError::Unknown { found: Beginning::Text("\"mean 5 ms\"".to_owned()) },
        ImportError::NoTimes { found: "no line of a benchmark".to_owned() },
        SamplesError::Version { found: "6".to_owned() }.into(),
        SamplesError::PronyVersion { found: 2, supported: 1 }.into(),
        SamplesError::TooLong { most: MOST_BYTES, found: MOST_BYTES + 1 }.into(),
        SamplesError::Json { path: "benchmarks[0].runs".to_owned(), problem: "missing field `values`".to_owned() }
            .into(),
    ];
    let texts: Vec<String> =
        errors.iter().map(|error| unreadable("compare", Path::new("x.json"), error).to_string()).collect();
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn a_directory_of_criterion_is_read_whole() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../stats/tests/golden/criterion/sum");
    let scratch = std::env::temp_dir().join(format!("prony-criterion-{}", std::process::id()));
    for place in ["sum/new", "group/vec/64/new", "sum/base"] {
        fs::create_dir_all(scratch.join(place)).expect("a scratch directory");
        for name in ["benchmark.json", "sample.json", "estimates.json"] {
            fs::copy(golden.join(name), scratch.join(place).join(name)).expect("a scratch file");
        }
    }
    let loaded = load("compare", &scratch).expect("two benchmarks");
    let at = |place: &str| load("compare", Path::new(&format!("{}{place}", scratch.display())));
    for (place, count) in [("@base", 1), ("@new", 2), ("/sum@base", 1), ("/sum/base", 1)] {
        assert_eq!(at(place).expect("it is there").samples.benchmarks.len(), count, "{place}");
    }
    let missing = at("@main").expect_err("no such baseline").to_string();
    assert!(missing.contains("no main/sample.json of criterion below it"), "{missing}");
    assert!(missing.contains("there are base, new: read one with"), "{missing}");
    fs::remove_dir_all(&scratch).expect("a scratch directory");
    let names: Vec<&str> = loaded.samples.benchmarks.iter().map(|benchmark| benchmark.name.as_str()).collect();
    assert_eq!((loaded.format, names), (Format::Criterion, vec!["sum", "sum #2"]));
}
