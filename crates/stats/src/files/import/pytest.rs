//! Importer of pytest-benchmark's `--benchmark-json`.
//!
//! `{"machine_info": {…}, "benchmarks": [{"name", "fullname", "params", "stats": {"data", "iterations", …}, …}], "version"}`. `data` has the
//! seconds of an iteration in each round; files of `--benchmark-save` have it only with `--benchmark-save-data`. All are of one process.
#![deny(clippy::indexing_slicing)]

use serde::Deserialize;

use super::{Format, Gathered, Import, ImportError, charge_runs, describe, run};
use crate::files::memory::{self, Owns};
use crate::files::samples::{Benchmark, Metadata, Run, SamplesError, from_json, shown};

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    machine_info: MachineInfo,
    #[serde(deserialize_with = "memory::list")]
    benchmarks: Vec<Entry>,
}

#[derive(Deserialize, Default)]
struct MachineInfo {
    #[serde(default)]
    node: Option<String>,
    #[serde(default)]
    python_version: Option<String>,
    #[serde(default)]
    python_implementation: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    #[serde(default)]
    fullname: Option<String>,
    stats: Stats,
}

#[derive(Deserialize)]
struct Stats {
    #[serde(default, deserialize_with = "memory::list")]
    data: Vec<f64>,
    #[serde(default)]
    iterations: f64,
}

impl Owns for Entry {}

/// Parses the JSON of pytest-benchmark.
///
/// # Errors
/// What is wrong and where.
pub fn import(bytes: &[u8]) -> Result<Import, ImportError> {
    let file: File = from_json(bytes)?;
    let mut gathered = Gathered::default();
    let mut metadata = Metadata::new();
    describe(&mut metadata, "hostname", file.machine_info.node.as_deref());
    describe(&mut metadata, "python_version", file.machine_info.python_version.as_deref());
    describe(&mut metadata, "python_implementation", file.machine_info.python_implementation.as_deref());
    let found = format!("{} benchmarks, none with times of rounds", file.benchmarks.len());
    charge_runs(file.benchmarks.len()).map_err(SamplesError::from)?;
    for Entry { name, fullname, stats } in file.benchmarks {
        // Tests of several files may have one name; the path says which.
        let name = fullname.unwrap_or(name);
        if stats.data.is_empty() {
            gathered.note(format!(
                "`{}` skipped: it has no times of rounds; --benchmark-json writes them, --benchmark-save with --benchmark-save-data",
                shown(&name)
            ));
            continue;
        }
        let run = Run { values: stats.data, ..run(0.0, stats.iterations) };
        gathered.add(&name, Benchmark { metadata: metadata.clone(), runs: vec![run], ..Benchmark::new(&name) });
    }
    gathered.finish(Format::PytestBenchmark, &found)
}
