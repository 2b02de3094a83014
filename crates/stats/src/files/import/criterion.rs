//! Importer of criterion's `target/criterion/**/new/{benchmark,sample,estimates}.json`.
//!
//! `sample.json` holds iterations and nanoseconds of each sample, `benchmark.json` what it is called,
//! `estimates.json` what criterion made of it. The caller walks the directory; all samples of a benchmark
//! come from one process.
#![deny(clippy::indexing_slicing)]

use serde::Deserialize;

use super::{Format, Gathered, Import, ImportError, charge_runs, describe, in_process, run};
use crate::files::memory;
use crate::files::samples::{Benchmark, Measured, Metadata, MetadataValue, Run, SamplesError, Subject, from_json};

/// The files of one benchmark.
#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    /// Content of criterion's `benchmark.json`.
    pub benchmark: &'a [u8],
    /// Content of criterion's `sample.json`.
    pub sample: &'a [u8],
    /// `estimates.json`, if there is one.
    pub estimates: Option<&'a [u8]>,
}

#[derive(Deserialize)]
struct Identity {
    full_id: String,
    #[serde(default)]
    group_id: Option<String>,
    #[serde(default)]
    function_id: Option<String>,
    #[serde(default)]
    value_str: Option<String>,
}

#[derive(Deserialize)]
struct Sample {
    #[serde(default)]
    sampling_mode: Option<String>,
    #[serde(deserialize_with = "memory::list")]
    iters: Vec<f64>,
    #[serde(deserialize_with = "memory::list")]
    times: Vec<f64>,
}

#[derive(Deserialize)]
struct Estimates {
    mean: Estimate,
    #[serde(default)]
    slope: Option<Estimate>,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
}

/// Reads the files of all benchmarks.
///
/// # Errors
/// What is wrong and where, in the files of the benchmark at the place given.
pub fn import(all: &[Files<'_>]) -> Result<Import, (usize, ImportError)> {
    let lengths = all.iter().flat_map(|files| [Some(files.benchmark), Some(files.sample), files.estimates]);
    memory::accounted(lengths.flatten().map(<[u8]>::len).sum(), || {
        let mut gathered = Gathered::default();
        for (index, files) in all.iter().enumerate() {
            let (name, benchmark) = benchmark(files).map_err(|error| (index, error))?;
            gathered.add(&name, benchmark);
        }
        gathered.finish(Format::Criterion, "no benchmark").map_err(|error| (0, error))
    })
}

fn benchmark(files: &Files<'_>) -> Result<(String, Benchmark), ImportError> {
    let identity: Identity = from_json(files.benchmark)?;
    let sample: Sample = from_json(files.sample)?;
    if sample.iters.len() != sample.times.len() {
        let found = format!("{} iterations and {} times", sample.iters.len(), sample.times.len());
        return Err(SamplesError::Rule { path: "times".to_owned(), expected: "one for each of `iters`", found }.into());
    }
    charge_runs(sample.times.len()).map_err(SamplesError::from)?;
    let mut runs: Vec<Run> = Vec::with_capacity(sample.iters.len());
    for (&iterations, &ns) in sample.iters.iter().zip(&sample.times) {
        let wall_s = Some(ns * 1e-9).filter(|time| *time >= 0.0 && time.is_finite());
        let measured = Measured { wall_s, ..Measured::default() };
        runs.push(Run { measured: Some(Box::new(measured)), ..run(ns * 1e-9 / iterations, iterations) });
    }
    in_process(&mut runs, 0);
    let mut metadata = Metadata::new();
    describe(&mut metadata, "sampling_mode", sample.sampling_mode.as_deref());
    if let Some(estimates) = files.estimates {
        let estimates: Estimates = from_json(estimates)?;
        let slope = estimates.slope.map(|slope| ("criterion_slope_s", slope));
        for (key, estimate) in [("criterion_mean_s", estimates.mean)].into_iter().chain(slope) {
            let number = serde_json::Number::from_f64(estimate.point_estimate * 1e-9);
            metadata.extend(number.map(|number| (key.to_owned(), MetadataValue::Number(number))));
        }
    }
    let parameters = [("group", identity.group_id), ("function", identity.function_id), ("value", identity.value_str)];
    let parameters = parameters.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    let subject = Some(Subject { parameters, ..Subject::default() });
    let benchmark = Benchmark { metadata, runs, subject, ..Benchmark::new(&identity.full_id) };
    Ok((identity.full_id, benchmark))
}
