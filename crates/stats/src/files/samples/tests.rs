use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn decode(json: &Value) -> Result<Samples, SamplesError> {
    Samples::decode(json.to_string().as_bytes())
}

/// A file as small as it may be.
fn smallest() -> Value {
    json!({ "version": "1.0", "benchmarks": [{ "metadata": { "name": "copy" }, "runs": [{ "values": [0.5] }] }] })
}

/// The smallest file with something else at a place.
fn with(pointer: &str, value: Value) -> Value {
    let mut file = smallest();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer has a parent");
    file.pointer_mut(parent).expect("the parent is there")[key] = value;
    file
}

#[test]
fn the_smallest_file_is_one_value_with_a_name() {
    let samples = decode(&smallest()).expect("a sound file");
    let copy = samples.benchmark("copy").expect("its one benchmark");
    assert_eq!((copy.unit, copy.inner_loops, copy.runs.len(), copy.runs[0].loops), (Unit::Second, 1, 1, 1));
    assert_eq!(copy.values().collect::<Vec<_>>(), [0.5]);
    assert_eq!((copy.metric(), copy.unit_name(), copy.better()), ("wall", "second", Better::Lower));
    assert_eq!(samples.circumstances, None);
}

#[test]
fn a_name_that_a_metric_had_before_is_read() {
    let mut file = with("/benchmarks/0/runs/0/prony", json!({ "wall_s": 0.5, "net_s": 0.25 }));
    file["benchmarks"][0]["prony"] = json!({ "metric": "net" });
    let samples = decode(&file).expect("a sound file");
    assert_eq!(samples.benchmarks[0].metric(), "uncontended");
    let of_run =
        samples.benchmarks[0].runs[0].measured.as_ref().and_then(|measured| measured.value(Metric::Uncontended));
    assert_eq!(of_run, Some(0.25));
    assert_eq!(serde_json::from_value::<Metric>(json!("net")).ok(), Some(Metric::Uncontended));
    let written = String::from_utf8(samples.encode().expect("samples")).expect("text");
    assert!(written.contains("\"uncontended_s\"") && !written.contains("net_s"), "{written}");
}

#[test]
fn metadata_of_the_file_the_benchmark_and_the_run_come_together() {
    let samples = decode(&json!({
        "version": "1.0",
        "metadata": { "hostname": "bench-1", "loops": 8, "unit": "byte", "load_avg_1min": 0.5 },
        "benchmarks": [{
            "metadata": { "name": "copy", "load_avg_1min": 1 },
            "runs": [{ "values": [1, 2.5], "warmups": [[1, 0]], "metadata": { "loops": 4, "load_avg_1min": 2 } }, { "values": [3] }],
        }],
    }));
    let copy = &samples.expect("a sound file").benchmarks[0];
    assert_eq!((copy.unit, copy.runs[0].loops, copy.runs[1].loops), (Unit::Byte, 4, 8));
    assert_eq!(copy.metadata["hostname"], MetadataValue::text("bench-1"));
    assert_eq!(copy.metadata["load_avg_1min"], 1.into());
    assert_eq!(copy.runs[0].metadata["load_avg_1min"], 2.into());
    assert_eq!(copy.runs[0].warmups, [Warmup { loops: 1, value: 0.0 }]);
    assert!(copy.runs[1].metadata.is_empty());
}

#[test]
fn an_error_names_the_place_and_what_was_expected_and_found() {
    let values = "/benchmarks/0/runs/0/values";
    let metadata = |key: &str, value: Value| with(&format!("/benchmarks/0/metadata/{key}"), value);
    let files = [
        with("/benchmarks", json!([])),
        with("/benchmarks", json!({ "copy": 1 })),
        with("/benchmarks/0/runs", json!([])),
        with("/benchmarks/0/runs", json!([{}])),
        with(values, json!([0.5, 0.25, "1 s"])),
        with(values, json!([0.5, 0])),
        with(values, json!([0.5, -1.5])),
        with(values, json!(null)),
        with("/benchmarks/0/runs/0/warmups", json!([[1, 0.5], [0, 0.5]])),
        with("/benchmarks/0/runs/0/warmups", json!([[1, -0.5]])),
        with("/benchmarks/0/runs/0/warmups", json!([0.5])),
        with("/benchmarks/0/metadata", json!({})),
        metadata("name", json!(7)),
        metadata("name", json!(" \n")),
        metadata("unit", json!("parsec")),
        metadata("loops", json!(0)),
        metadata("inner_loops", json!(1.5)),
        metadata("cpu_model_name", json!("two\nlines")),
        metadata("mem_max_rss", json!("much")),
        metadata("duration", json!(-1)),
        metadata("date", json!("yesterday")),
        metadata("tags", json!(["all"])),
        metadata("hostname", json!(["a"])),
        metadata("hostname", json!(null)),
        with("/benchmarks/0/runs", json!([{ "values": [1] }, { "values": [1], "metadata": { "name": "move" } }])),
        with("/benchmarks/0/runs", json!([{ "values": [1], "metadata": { "aslr": "on" } }, { "values": [1] }])),
        with("/benchmarks", json!([smallest()["benchmarks"][0], smallest()["benchmarks"][0]])),
        with("/version", json!("1.1")),
        with("/version", json!(null)),
        with("/prony", json!({ "version": 2 })),
        with("/prony", json!({ "machine": {} })),
        with("/prony", json!({ "version": 1, "warnings": "hot" })),
        with("/benchmarks/0/prony", json!({ "better": "sideways" })),
        with("/benchmarks/0/runs/0/prony", json!({ "cpu_s": -1 })),
        with("/benchmarks/0/runs/0/prony", json!({ "frame_ns": [1, 2.5] })),
    ];
    let mut errors: Vec<String> =
        files.iter().map(|file| decode(file).expect_err(&file.to_string()).to_string()).collect();
    for text in ["", "{", "[1]", "{\"version\": \"1.0\"}", "{\"version\": \"1.0\", \"benchmarks\": [NaN]}"] {
        errors.push(Samples::decode(text.as_bytes()).expect_err(text).to_string());
    }
    let text = smallest().to_string() + "{}";
    errors.push(Samples::decode(text.as_bytes()).expect_err("two documents").to_string());
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn a_newer_version_is_named_even_where_its_shape_is_unknown() {
    let file = json!({ "version": "1.0", "prony": { "version": 9 }, "benchmarks": "elsewhere" });
    assert_eq!(decode(&file), Err(SamplesError::PronyVersion { found: 9, supported: 1 }));
    let file = json!({ "version": "2.0", "suites": [] });
    assert_eq!(decode(&file), Err(SamplesError::Version { found: "\"2.0\"".to_owned() }));
}

#[test]
fn facts_have_a_budget_of_their_own() {
    let facts = |bytes: usize| decode(&with("/prony", json!({ "version": 1, "machine": "x".repeat(bytes) })));
    assert!(facts(1 << 19).is_ok());
    let error = facts(1 << 20).expect_err("too long").to_string();
    assert!(error.starts_with("`prony.machine`: length expected at most 1048576 bytes, found 1048578"), "{error}");
}

#[test]
fn messages_show_the_beginning_of_what_is_too_long_to_show() {
    let error = decode(&with("/benchmarks/0/runs/0/values", json!(["x".repeat(100_000)]))).expect_err("a text");
    assert!(error.to_string().len() < 400, "{error}");
    let error = decode(&with("/benchmarks/0/metadata/unit", json!("ä".repeat(100_000)))).expect_err("no unit");
    assert!(error.to_string().len() < 600, "{error}");
}

#[test]
fn what_pyperf_would_refuse_is_not_written() {
    let mut samples = Samples { benchmarks: vec![Benchmark::new(" two\nlines ")], circumstances: None };
    assert_eq!(samples.benchmarks[0].name, "two lines");
    assert!(samples.encode().is_err(), "without a run");
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        samples.benchmarks[0].runs = vec![Run::of(value)];
        assert!(samples.encode().is_err(), "{value}");
    }
    samples.benchmarks[0].runs = vec![Run::of(1.0)];
    assert!(samples.encode().is_ok());
    samples.benchmarks[0].metadata.insert("name".to_owned(), MetadataValue::text("twice"));
    assert!(samples.encode().is_err(), "a field among the metadata");
}

#[test]
fn what_all_benchmarks_share_stands_once() {
    let benchmark = |name| {
        let mut benchmark = Benchmark::new(name);
        benchmark.metadata.insert("hostname".to_owned(), MetadataValue::text("bench-1"));
        benchmark.runs = vec![Run { loops: 4, ..Run::of(0.5) }, Run { loops: 4, ..Run::of(0.25) }];
        benchmark
    };
    let samples = Samples { benchmarks: vec![benchmark("a"), benchmark("b")], circumstances: None };
    let json: Value = serde_json::from_slice(&samples.encode().expect("sound samples")).expect("JSON");
    assert_eq!(
        json,
        json!({
            "version": "1.0",
            "metadata": { "hostname": "bench-1" },
            "benchmarks": [
                { "metadata": { "loops": 4, "name": "a", "unit": "second" }, "runs": [{ "values": [0.5] }, { "values": [0.25] }] },
                { "metadata": { "loops": 4, "name": "b", "unit": "second" }, "runs": [{ "values": [0.5] }, { "values": [0.25] }] },
            ],
        })
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn decoding_gives_back_what_was_encoded(samples in samples()) {
        let bytes = samples.encode().expect("samples that hold to the rules");
        prop_assert_eq!(Samples::decode(&bytes), Ok(samples));
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = Samples::decode(&bytes);
    }
}

fn samples() -> impl Strategy<Value = Samples> {
    (btree_map(text(), benchmark(), 1..4), option::of(circumstances())).prop_map(|(benchmarks, circumstances)| {
        Samples {
            benchmarks: benchmarks.into_iter().map(|(name, benchmark)| Benchmark { name, ..benchmark }).collect(),
            circumstances,
        }
    })
}

fn text() -> impl Strategy<Value = String> {
    any::<String>().prop_map(|text| one_line(&text))
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let known = btree_map(prop::sample::select(vec!["duration", "mem_max_rss"]), (1_u64..9).prop_map_into(), 0..2);
    let value = prop_oneof![
        text().prop_map(MetadataValue::Text),
        any::<i64>().prop_map(|number| MetadataValue::Number(number.into())),
        prop::num::f64::NORMAL
            .prop_map(|number| MetadataValue::Number(serde_json::Number::from_f64(number).expect("it is normal"))),
        any::<bool>().prop_map(MetadataValue::Boolean),
    ];
    (known, btree_map("x_[a-z]{1,5}", value, 0..4)).prop_map(|(known, other)| {
        known.into_iter().map(|(key, value): (&str, MetadataValue)| (key.to_owned(), value)).chain(other).collect()
    })
}

fn benchmark() -> impl Strategy<Value = Benchmark> {
    let unit = prop::sample::select(vec![Unit::Second, Unit::Byte, Unit::Integer]);
    (unit, 1..5_u64, metadata(), vec(run(), 1..4), option::of(subject())).prop_map(
        |(unit, inner_loops, metadata, runs, subject)| Benchmark {
            name: String::new(),
            unit,
            inner_loops,
            metadata,
            runs,
            subject,
        },
    )
}

fn run() -> impl Strategy<Value = Run> {
    let positive = prop::num::f64::POSITIVE | prop::num::f64::SUBNORMAL;
    let values = vec(positive.prop_map(|value: f64| value.abs()), 1..5);
    let warmups = vec((1_u64..1000, 0.0..1e9_f64).prop_map(|(loops, value)| Warmup { loops, value }), 0..3);
    (1..5_u64, warmups, values, metadata(), option::of(measured())).prop_map(
        |(loops, warmups, values, metadata, measured)| Run {
            loops,
            warmups,
            values,
            metadata,
            measured: measured.map(Box::new),
        },
    )
}

fn measured() -> impl Strategy<Value = Measured> {
    let times = vec(option::of(0.0..1e9_f64), 8);
    let counts = vec(option::of(any::<u64>()), 5);
    let faults = option::of((any::<u64>(), any::<u64>()));
    let counters = btree_map(any::<String>(), any::<u64>(), 0..3);
    (times, counts, faults, option::of(any::<i32>()), counters, vec(any::<u64>(), 0..5)).prop_map(
        |(times, counts, faults, exit_code, counters, frame_ns)| Measured {
            pair: counts[0],
            place: counts[1],
            wall_s: times[0],
            cpu_s: times[1],
            uncontended_s: times[2],
            wait_s: times[3],
            user_s: times[4],
            system_s: times[5],
            faults: faults.map(|(minor, major)| Faults { minor, major }),
            switches: faults.map(|(voluntary, involuntary)| Switches { voluntary, involuntary }),
            migrations: counts[2],
            peak_rss_bytes: counts[3],
            allocated_bytes: times[6],
            allocations: times[7],
            exit_code,
            counters,
            frame_ns,
        },
    )
}

fn facts() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<String>().prop_map(Value::from),
        btree_map(any::<String>(), vec(any::<i64>(), 0..3), 0..4).prop_map(|map| json!(map)),
    ]
}

fn circumstances() -> impl Strategy<Value = Circumstances> {
    let times = (option::of(0.0..1e9_f64), vec(0.0..1e9_f64, 0..3));
    let metric =
        option::of(prop_oneof![Just(Metric::Cpu), Just(Metric::Uncontended), Just(Metric::Wall), Just(Metric::Rss)]);
    let judged = (times, metric, (0..9_u64, option::of(1..9_u64)), vec(any::<[u64; 2]>(), 0..3));
    (any::<String>(), facts(), facts(), option::of(any::<String>()), judged, vec(any::<String>(), 0..3)).prop_map(
        |(
            prony_version,
            machine,
            tuning,
            pairing,
            ((budget_s, pairs_done_s), metric, (pairs_min, pairs_max), judged_frames),
            warnings,
        )| Circumstances {
            version: PronyVersion,
            prony_version,
            machine,
            tuning,
            pairing,
            budget_s,
            pairs_min,
            pairs_max,
            metric,
            pairs_done_s,
            judged_frames,
            warnings,
        },
    )
}

fn subject() -> impl Strategy<Value = Subject> {
    let apart = (
        any::<String>(),
        option::of(any::<String>()),
        option::of(0.0..1e9_f64),
        vec(0.0..1e9_f64, 0..3),
        vec(any::<[u64; 2]>(), 0..3),
    )
        .prop_map(|(name, pairing, budget_s, pairs_done_s, judged_frames)| Measurement {
            name,
            pairing,
            budget_s,
            pairs_done_s,
            judged_frames,
        });
    let names = (option::of(any::<String>()), option::of(any::<String>()), any::<bool>(), option::of(apart));
    (vec(any::<String>(), 0..3), facts(), names, btree_map(any::<String>(), any::<String>(), 0..3)).prop_map(
        |(command, build, (metric, unit, higher, measurement), parameters)| Subject {
            command,
            build,
            metric,
            unit,
            better: if higher { Better::Higher } else { Better::Lower },
            parameters,
            measurement,
        },
    )
}
