//! Importer of Google Benchmark's `--benchmark_format=json`.
//!
//! `{"context": {…}, "benchmarks": [{"name", "run_name", "run_type", "iterations", "real_time", "cpu_time",
//! "time_unit", …}]}`. Means and other aggregates are left out: they are computed from the repetitions. All
//! repetitions are of one process.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Format, Gathered, Import, ImportError, charge_runs, describe, in_process, run};
use crate::files::memory::{self, Owns};
use crate::files::samples::{Benchmark, Measured, Metadata, Run, SamplesError, from_json, shown};

#[derive(Deserialize)]
struct File {
    context: Context,
    #[serde(deserialize_with = "memory::list")]
    benchmarks: Vec<Entry>,
}

#[derive(Deserialize)]
struct Context {
    #[serde(default)]
    host_name: Option<String>,
    #[serde(default)]
    num_cpus: Option<u64>,
    #[serde(default)]
    executable: Option<String>,
    #[serde(default)]
    library_build_type: Option<String>,
    #[serde(default)]
    cpu_scaling_enabled: bool,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    #[serde(default)]
    run_name: Option<String>,
    #[serde(default)]
    run_type: Option<String>,
    #[serde(default)]
    error_occurred: bool,
    #[serde(default)]
    error_message: Option<String>,
    #[serde(default)]
    iterations: f64,
    #[serde(default)]
    real_time: Option<f64>,
    #[serde(default)]
    cpu_time: Option<f64>,
    #[serde(default)]
    time_unit: TimeUnit,
    /// With a memory manager: allocations of an iteration.
    #[serde(default)]
    allocs_per_iter: Option<f64>,
}

#[derive(Deserialize, Clone, Copy, Default)]
#[serde(rename_all = "lowercase")]
enum TimeUnit {
    #[default]
    Ns,
    Us,
    Ms,
    S,
}

/// Parses the JSON of Google Benchmark.
///
/// # Errors
/// What is wrong and where.
pub fn import(bytes: &[u8]) -> Result<Import, ImportError> {
    let file: File = from_json(bytes)?;
    let found = format!("{} entries, none of them an iteration", file.benchmarks.len());
    charge_runs(file.benchmarks.len()).map_err(SamplesError::from)?;
    let mut gathered = Gathered::default();
    if file.context.library_build_type.as_deref() == Some("debug") {
        gathered.note("the library was built without optimisation (library_build_type: debug)".to_owned());
    }
    if file.context.cpu_scaling_enabled {
        gathered.note("the CPU changed its frequency while it was measured (cpu_scaling_enabled)".to_owned());
    }
    // In the order of their first repetition.
    let mut order: Vec<&str> = Vec::new();
    let mut runs: BTreeMap<&str, Vec<Run>> = BTreeMap::new();
    for entry in file.benchmarks.iter().filter(|entry| entry.is_iteration()) {
        let name = entry.run_name.as_deref().unwrap_or(&entry.name);
        if entry.error_occurred {
            let message = entry.error_message.as_deref().unwrap_or("no message");
            gathered.note(format!("`{}` skipped: it failed: {}", shown(name), shown(message)));
            continue;
        }
        let Some(run) = entry.run() else { continue };
        let all = runs.entry(name).or_default();
        if all.is_empty() {
            order.push(name);
        }
        all.push(run);
    }
    let mut metadata = Metadata::new();
    describe(&mut metadata, "hostname", file.context.host_name.as_deref());
    describe(&mut metadata, "executable", file.context.executable.as_deref());
    metadata.extend(file.context.num_cpus.map(|cpus| ("cpu_count".to_owned(), cpus.into())));
    for name in order {
        let mut runs = runs.remove(name).unwrap_or_default();
        in_process(&mut runs, 0);
        gathered.add(name, Benchmark { metadata: metadata.clone(), runs, ..Benchmark::new(name) });
    }
    gathered.finish(Format::GoogleBenchmark, &found)
}

/// The file with `null` for numbers that JSON does not have: the library writes counters of 0/0 as `NaN` and rates without an end as
/// `Infinity`, and before version 1.5 shares as `2%`. `None` where there are none of these.
pub(super) fn without_odd_numbers(bytes: &[u8]) -> Option<Vec<u8>> {
    const ODD: [&[u8]; 6] = [b"NaN", b"nan", b"Infinity", b"infinity", b"Inf", b"inf"];
    let mut out = Vec::with_capacity(bytes.len());
    let (mut rest, mut in_string) = (bytes, false);
    while let [first, behind @ ..] = rest {
        let unsigned = rest.strip_prefix(b"-").unwrap_or(rest);
        let odd = ODD.iter().find(|odd| !in_string && unsigned.starts_with(odd));
        if let Some(odd) = odd {
            out.extend_from_slice(b"null");
            rest = unsigned.get(odd.len()..).unwrap_or_default();
            continue;
        }
        match (first, in_string) {
            (b'"', _) => in_string = !in_string,
            (b'\\', true) => {
                out.push(*first);
                out.extend(behind.first());
                rest = behind.get(1..).unwrap_or_default();
                continue;
            }
            (b'%', false) => {
                rest = behind;
                continue;
            }
            _ => {}
        }
        out.push(*first);
        rest = behind;
    }
    (out != bytes).then_some(out)
}

impl Owns for Entry {}

impl Entry {
    /// Before version 1.5 only the end of its name marks an aggregate.
    fn is_iteration(&self) -> bool {
        match self.run_type.as_deref() {
            Some(kind) => kind == "iteration",
            None => !["_mean", "_median", "_stddev", "_cv", "_BigO", "_RMS"].iter().any(|end| self.name.ends_with(end)),
        }
    }

    fn run(&self) -> Option<Run> {
        let factor = match self.time_unit {
            TimeUnit::Ns => 1e-9,
            TimeUnit::Us => 1e-6,
            TimeUnit::Ms => 1e-3,
            TimeUnit::S => 1.0,
        };
        let real_s = self.real_time? * factor;
        let of_all = |one: f64| Some(one * self.iterations).filter(|all| *all >= 0.0 && all.is_finite());
        let measured = Measured {
            wall_s: of_all(real_s),
            cpu_s: self.cpu_time.and_then(|time| of_all(time * factor)),
            allocations: self.allocs_per_iter.filter(|count| *count >= 0.0 && count.is_finite()),
            ..Measured::default()
        };
        Some(Run { measured: Some(Box::new(measured)), ..run(real_s, self.iterations) })
    }
}
