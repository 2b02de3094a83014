//! Importer of JMH's `-rf json`.
//!
//! `[{"jmhVersion", "benchmark", "mode", "params", "primaryMetric": {"scoreUnit", "rawData": [[…], …]}, …}]`: one list of iterations for each
//! fork, which is a process. Times are `ns/op` to `day/op`; throughput is `ops/s` and the like, of which more is better. The mode
//! `sample` has a histogram instead (`rawDataHistogram`), which is left out and named, as are secondary metrics.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Format, Gathered, Import, ImportError, charge_runs, describe};
use crate::files::memory::{self, Owns};
use crate::files::samples::{Benchmark, Better, Metadata, Run, SamplesError, Subject, Unit, from_json, shown};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    benchmark: String,
    mode: String,
    #[serde(default, deserialize_with = "memory::optional_map")]
    params: Option<BTreeMap<String, String>>,
    #[serde(default)]
    vm_name: Option<String>,
    #[serde(default)]
    vm_version: Option<String>,
    primary_metric: Metric,
    #[serde(default, deserialize_with = "memory::optional_map")]
    secondary_metrics: Option<BTreeMap<String, Skipped>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metric {
    score_unit: String,
    #[serde(default, deserialize_with = "memory::list")]
    raw_data: Vec<Fork>,
}

/// The iterations of a fork.
#[derive(Deserialize)]
#[serde(transparent)]
struct Fork(#[serde(deserialize_with = "memory::list")] Vec<Number>);

/// A metric that is not read.
#[derive(Deserialize)]
struct Skipped(IgnoredAny);

/// A number; those that JSON lacks are texts: `"NaN"`.

#[derive(Deserialize, Clone, Copy)]
#[serde(untagged)]
enum Number {
    Finite(f64),
    Odd(IgnoredAny),
}

impl Owns for Entry {}
impl Owns for Fork {}
impl Owns for Number {}
impl Owns for Skipped {}

/// All entries of a file.
#[derive(Deserialize)]
#[serde(transparent)]
struct File(#[serde(deserialize_with = "memory::list")] Vec<Entry>);

/// Seconds of a unit of time, as `java.util.concurrent.TimeUnit` has them: two whole numbers, of which one is divided by the other.
fn seconds(unit: &str) -> Option<(f64, f64)> {
    Some(match unit {
        "ns" => (1.0, 1e9),
        "us" => (1.0, 1e6),
        "ms" => (1.0, 1e3),
        "s" => (1.0, 1.0),
        "min" => (60.0, 1.0),
        "hr" => (3600.0, 1.0),
        "day" => (86_400.0, 1.0),
        _ => return None,
    })
}

/// What a number in this unit is multiplied with and divided by, and whether it is a rate; `None` for other units.
fn scale(unit: &str) -> Option<(f64, f64, bool)> {
    match unit.split_once('/')? {
        (time, "op") => seconds(time).map(|(factor, divisor)| (factor, divisor, false)),
        ("ops", time) => seconds(time).map(|(factor, divisor)| (divisor, factor, true)),
        _ => None,
    }
}

/// True for a list whose first element is a result of JMH.
pub(super) fn is_jmh(list: &[u8]) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct First {
        #[serde(rename = "benchmark")]
        _benchmark: IgnoredAny,
        #[serde(rename = "primaryMetric")]
        _primary_metric: IgnoredAny,
    }
    let first = list.get(1..).unwrap_or_default();
    serde_json::Deserializer::from_slice(first).into_iter::<First>().next().is_some_and(|first| first.is_ok())
}

/// Parses the JSON of JMH.
///
/// # Errors
/// What is wrong and where.
pub fn import(bytes: &[u8]) -> Result<Import, ImportError> {
    let File(entries) = from_json(bytes)?;
    let found = format!("{} results, none with raw data", entries.len());
    let mut gathered = Gathered::default();
    let mut left_out = 0;
    for entry in &entries {
        left_out += entry.secondary_metrics.as_ref().map_or(0, BTreeMap::len);
        let params = entry.params.iter().flatten().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
        let name = match params.as_slice() {
            [] => entry.benchmark.clone(),
            params => format!("{}[{}]", entry.benchmark, params.join(", ")),
        };
        let Metric { score_unit, raw_data } = &entry.primary_metric;
        let Some((factor, divisor, is_rate)) = scale(score_unit) else {
            gathered.note(format!("`{}` skipped: unknown unit {}", shown(&name), shown(score_unit)));
            continue;
        };
        if raw_data.is_empty() {
            gathered.note(format!("`{}` skipped: mode {} has no raw data", shown(&name), shown(&entry.mode)));
            continue;
        }
        charge_runs(raw_data.len()).map_err(SamplesError::from)?;
        let value = |number: &Number| match number {
            Number::Finite(value) => value * factor / divisor,
            // Left out and counted with the values that are not above 0.
            Number::Odd(_) => f64::NAN,
        };
        let run = |Fork(values): &Fork| Run { values: values.iter().map(value).collect(), ..Run::of(0.0) };
        let runs: Vec<Run> = raw_data.iter().map(run).collect();
        let mut metadata = Metadata::new();
        describe(&mut metadata, "vm_name", entry.vm_name.as_deref());
        describe(&mut metadata, "vm_version", entry.vm_version.as_deref());
        let mut benchmark = Benchmark { metadata, runs, ..Benchmark::new(&name) };
        if is_rate {
            benchmark.unit = Unit::Integer;
            benchmark.subject = Some(Subject {
                metric: Some("throughput".to_owned()),
                unit: Some("operations/s".to_owned()),
                better: Better::Higher,
                ..Subject::default()
            });
        }
        gathered.add(&name, benchmark);
    }
    if left_out > 0 {
        gathered.note(format!("{left_out} secondary metrics skipped: only the primary one is read"));
    }
    gathered.finish(Format::Jmh, &found)
}
