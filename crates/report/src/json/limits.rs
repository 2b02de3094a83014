//! Limits as JSON: every figure, with the values and the code behind it.

pub mod shares;

use std::collections::BTreeMap;

use prony_limits::{Experiment, Limits, Line, Measured, Taint};
use serde::Serialize;

/// The requested limits.
#[derive(Debug, Serialize)]
pub struct LimitsDocument<'a> {
    fingerprint: String,
    machine: Option<&'a str>,
    cpu: usize,
    seconds: f64,
    complete: bool,
    /// Share of the CPU's time that the hypervisor gave to others.
    steal: Option<f64>,
    figures: Vec<Shown<'a>>,
    not_measured: Vec<NotMeasured<'a>>,
}

#[derive(Debug, Serialize)]
struct Shown<'a> {
    experiment: &'static str,
    name: &'a str,
    unit: &'a str,
    #[serde(flatten)]
    figure: Figure,
    /// Not as many undisturbed samples as a figure rests on.
    disturbed: bool,
    steal: Option<f64>,
    faults: f64,
    core_hz: f64,
    cycles_each: Option<f64>,
    #[serde(flatten)]
    code: Code<'a>,
    /// Values of all samples, disturbed ones included.
    values: &'a [f64],
    /// Why each may be slower than the hardware; `null`: nothing was seen.
    taints: Vec<Option<&'static str>>,
    parameters: &'a BTreeMap<String, String>,
}

/// Figure of a case, and the samples that it rests on.
#[derive(Debug, Serialize)]
struct Figure {
    /// The best of times and rates, the median of cycles.
    value: f64,
    best: f64,
    median: f64,
    worst: f64,
    /// Number of values behind it.
    n: usize,
    /// Share of all samples that may be slower than the hardware, 0 to 1.
    contaminated: f64,
}

/// Code that a case emitted and ran.
#[derive(Debug, Serialize)]
struct Code<'a> {
    /// Length of the innermost loop in bytes; `None` where no code was emitted.
    loop_bytes: Option<u64>,
    /// The instructions of that loop, from the memory in which it ran.
    listing: Vec<&'a Line>,
    /// Instructions of it that are not among them, as it has many of the same.
    left_out: usize,
    /// Every byte that was emitted, in hexadecimal, unless it is too long.
    code: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct NotMeasured<'a> {
    experiment: &'static str,
    name: Option<&'a str>,
    reason: &'a str,
}

/// The answer of the requested experiments.
pub fn answer<'a>(limits: &'a Limits, requested: &[Experiment]) -> LimitsDocument<'a> {
    let is_requested = |experiment| requested.contains(&experiment);
    LimitsDocument {
        fingerprint: limits.fingerprint.to_string(),
        machine: limits.facts.cpu.model.as_deref(),
        cpu: limits.cpu,
        seconds: limits.elapsed.as_secs_f64(),
        complete: !limits.stopped,
        steal: limits.steal,
        figures: limits.measured.iter().filter(|case| is_requested(case.experiment)).filter_map(shown).collect(),
        not_measured: limits
            .skipped
            .iter()
            .filter(|skipped| is_requested(skipped.experiment))
            .map(|skipped| NotMeasured {
                experiment: skipped.experiment.word(),
                name: skipped.name.as_deref(),
                reason: &skipped.reason,
            })
            .collect(),
    }
}

fn shown(measured: &Measured) -> Option<Shown<'_>> {
    let figure = measured.figure()?;
    Some(Shown {
        experiment: measured.experiment.word(),
        name: &measured.name,
        unit: &measured.unit,
        figure: Figure {
            value: figure.value,
            best: figure.best,
            median: figure.median,
            worst: figure.worst,
            n: figure.n,
            contaminated: figure.contaminated,
        },
        disturbed: !measured.series.is_clean(),
        steal: measured.series.steal,
        faults: figure.faults,
        core_hz: figure.core_hz,
        cycles_each: measured.cycles_each(),
        code: Code {
            loop_bytes: measured.listing.as_ref().map(|listing| listing.loop_bytes),
            listing: measured.listing.iter().flat_map(|listing| listing.loop_lines()).collect(),
            left_out: measured.listing.as_ref().map_or(0, |listing| listing.left_out),
            code: measured.listing.as_ref().map(|listing| listing.code.as_str()).filter(|code| !code.is_empty()),
        },
        values: &measured.values,
        taints: measured.series.samples.iter().map(|sample| sample.taint.map(Taint::word)).collect(),
        parameters: &measured.facts,
    })
}
