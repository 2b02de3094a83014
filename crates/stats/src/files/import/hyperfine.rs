//! hyperfine's `--export-json`, version 1 (up to 1.20) and version 2.
//!
//! Version 1: `{"results": [{"command", "mean", "stddev", "median", "user", "system", "min", "max", "times",
//! "memory_usage_byte", "exit_codes", "parameters"}]}`; before 1.10 a `parameter` without a name, before 1.12 no exit
//! codes. Version 2 states `"schema_version": 2` and has one object a run under `measurements`, each quantity with
//! its unit.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Format, Gathered, Import, ImportError, charge_runs};
use crate::files::memory::{self, Owns};
use crate::files::samples::{Benchmark, Measured, MetadataValue, Run, SamplesError, Subject, from_json, shown};

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    schema_version: Option<u64>,
    #[serde(deserialize_with = "memory::list")]
    results: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    command: String,
    #[serde(default, deserialize_with = "memory::map")]
    parameters: BTreeMap<String, Parameter>,
    #[serde(default)]
    parameter: Option<String>,
    #[serde(default, deserialize_with = "memory::optional_list")]
    times: Option<Vec<f64>>,
    #[serde(default)]
    user: Option<f64>,
    #[serde(default)]
    system: Option<f64>,
    #[serde(default, deserialize_with = "memory::list")]
    memory_usage_byte: Vec<f64>,
    #[serde(default, deserialize_with = "memory::list")]
    exit_codes: Vec<Option<i32>>,
    #[serde(default, deserialize_with = "memory::optional_list")]
    measurements: Option<Vec<Measurement>>,
}

/// A value of version 1, or an object of version 2.
#[derive(Deserialize)]
#[serde(untagged)]
enum Parameter {
    Text(String),
    Object { value: String },
}

#[derive(Deserialize)]
struct Measurement {
    time_wall_clock: Quantity,
    #[serde(default)]
    time_cpu: Option<Quantity>,
    #[serde(default)]
    time_user: Option<Quantity>,
    #[serde(default)]
    time_system: Option<Quantity>,
    #[serde(default, alias = "peak_memory_usage")]
    memory_peak_resident: Option<Quantity>,
    #[serde(default)]
    exit_code: Option<i32>,
}

#[derive(Deserialize)]
struct Quantity {
    value: f64,
    unit: Unit,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Second,
    Millisecond,
    Microsecond,
    Byte,
    Kibibyte,
    Mebibyte,
    Gibibyte,
    Tebibyte,
}

/// The newest version that is known.
const NEWEST: u64 = 2;

/// Each command is looked up among all, and a comparison of more is of no use.
const MOST_RESULTS: usize = 10_000;

/// Reads a file of either version.
///
/// # Errors
/// What is wrong and where.
pub fn import(bytes: &[u8]) -> Result<Import, ImportError> {
    let file: File = from_json(bytes)?;
    if let Some(found) = file.schema_version.filter(|&version| version > NEWEST) {
        let path = "schema_version".to_owned();
        return Err(SamplesError::Rule { path, expected: "at most 2", found: found.to_string() }.into());
    }
    let mut gathered = Gathered::default();
    let same_command = |entry: &Entry| file.results.iter().filter(|other| other.command == entry.command).count() > 1;
    let found = format!("{} results with a summary only", file.results.len());
    if file.results.len() > MOST_RESULTS {
        let found = file.results.len().to_string();
        return Err(SamplesError::Rule { path: "results".to_owned(), expected: "at most 10,000", found }.into());
    }
    for entry in &file.results {
        charge_runs(entry.runs()).map_err(SamplesError::from)?;
        let parameters = parameters(entry);
        let runs: Vec<Run> = match (&entry.measurements, &entry.times) {
            (Some(measurements), _) => measurements.iter().map(of_measurement).collect(),
            (None, Some(times)) => times.iter().enumerate().map(|(index, &time)| of_time(entry, index, time)).collect(),
            (None, None) => {
                gathered.note(format!("`{}` skipped: a summary without times", shown(&entry.command)));
                continue;
            }
        };
        let name = match parameters.is_empty() || !same_command(entry) {
            true => entry.command.clone(),
            false => {
                let given = parameters.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>();
                format!("{} ({})", entry.command, given.join(", "))
            }
        };
        note_failures(&mut gathered, &name, &runs);
        let mut benchmark = Benchmark { runs, ..Benchmark::new(&name) };
        // Version 1 has the mean of all runs only; it goes back into an export.
        for (key, mean) in [("user_mean_s", entry.user), ("system_mean_s", entry.system)] {
            let number = mean.filter(|_| entry.measurements.is_none()).and_then(serde_json::Number::from_f64);
            benchmark.metadata.extend(number.map(|number| (key.to_owned(), MetadataValue::Number(number))));
        }
        let command = vec![entry.command.clone()];
        benchmark.subject = Some(Subject { command, parameters, ..Subject::default() });
        gathered.add(&name, benchmark);
    }
    gathered.finish(Format::Hyperfine, &found)
}

impl Owns for Entry {}
impl Owns for Measurement {}

impl Owns for Parameter {
    fn owned_bytes(&self) -> usize {
        let (Parameter::Text(text) | Parameter::Object { value: text }) = self;
        text.owned_bytes()
    }
}

impl Entry {
    /// Number of its runs.
    fn runs(&self) -> usize {
        self.measurements.as_ref().map(Vec::len).or(self.times.as_ref().map(Vec::len)).unwrap_or(0)
    }
}

fn parameters(entry: &Entry) -> BTreeMap<String, String> {
    let text = |value: &Parameter| match value {
        Parameter::Text(value) | Parameter::Object { value } => value.clone(),
    };
    let named = entry.parameters.iter().map(|(name, value)| (name.clone(), text(value)));
    let unnamed = entry.parameter.iter().map(|value| ("parameter".to_owned(), value.clone()));
    named.chain(unnamed).collect()
}

fn of_time(entry: &Entry, index: usize, time: f64) -> Run {
    let measured = Measured {
        wall_s: Some(time).filter(|&time| time >= 0.0),
        peak_rss_bytes: entry.memory_usage_byte.get(index).map(|&bytes| bytes as u64),
        exit_code: entry.exit_codes.get(index).copied().flatten(),
        ..Measured::default()
    };
    Run { measured: Some(Box::new(measured)), ..Run::of(time) }
}

fn of_measurement(measurement: &Measurement) -> Run {
    let seconds = |quantity: &Option<Quantity>| {
        quantity.as_ref().map(Quantity::in_base_unit).filter(|&time| time >= 0.0 && time.is_finite())
    };
    let wall_s = measurement.time_wall_clock.in_base_unit();
    let measured = Measured {
        wall_s: Some(wall_s).filter(|&time| time >= 0.0 && time.is_finite()),
        cpu_s: seconds(&measurement.time_cpu),
        user_s: seconds(&measurement.time_user),
        system_s: seconds(&measurement.time_system),
        peak_rss_bytes: measurement.memory_peak_resident.as_ref().map(|memory| memory.in_base_unit() as u64),
        exit_code: measurement.exit_code,
        ..Measured::default()
    };
    Run { measured: Some(Box::new(measured)), ..Run::of(wall_s) }
}

fn note_failures(gathered: &mut Gathered, name: &str, runs: &[Run]) {
    let code = |run: &Run| run.measured.as_ref().and_then(|measured| measured.exit_code);
    let failures = runs.iter().filter(|run| code(run).is_some_and(|code| code != 0)).count();
    if failures > 0 {
        let (name, all) = (shown(name), runs.len());
        gathered.note(format!("`{name}`: {failures} of {all} runs ended with an exit code other than 0"));
    }
}

impl Quantity {
    /// Value in seconds or bytes.
    fn in_base_unit(&self) -> f64 {
        let factor = match self.unit {
            Unit::Second | Unit::Byte => 1.0,
            Unit::Millisecond => 1e-3,
            Unit::Microsecond => 1e-6,
            Unit::Kibibyte => 1024.0,
            Unit::Mebibyte => 1024.0 * 1024.0,
            Unit::Gibibyte => 1024.0 * 1024.0 * 1024.0,
            Unit::Tebibyte => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        };
        self.value * factor
    }
}
