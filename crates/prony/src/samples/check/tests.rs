use super::*;
use crate::samples::tests::stored;

#[test]
fn each_finding_has_its_evidence() {
    let samples = stored();
    let texts: Vec<String> =
        samples.benchmarks.iter().map(|benchmark| check("x.json", benchmark, 0.01_f64.ln_1p()).text(true)).collect();
    insta::assert_snapshot!(texts.join(""));
}

#[test]
fn a_first_value_that_is_always_slow_asks_for_another_warm_up() {
    let runs =
        (0..10).map(|number| Run { values: vec![1.3, 1.0 + 0.01 * f64::from(number), 1.01, 1.02], ..Run::of(1.0) });
    let benchmark = Benchmark { runs: runs.collect(), ..Benchmark::new("cold") };
    let (kind, text) = warming_up(&benchmark).expect("ten of ten");
    assert_eq!((kind, text.contains("one more warm-up")), ("warming_up", true), "{text}");
}

#[test]
fn a_few_values_of_one_process_resolve_nothing() {
    let benchmark = Benchmark { runs: vec![Run::of(1.0)], ..Benchmark::new("once") };
    let kinds: Vec<&str> = check("x", &benchmark, 0.01).findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, ["too_few_values", "one_process"]);
}
