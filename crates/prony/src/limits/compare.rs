//! `prony limits compare`: how near a workload came to what the hardware does at best.

use std::fmt::Write;
use std::path::Path;

use prony_limits::{Limits, Rate, Share, fingerprint, reference, reference_experiment, shares};
use prony_machine::Facts;
use prony_stats::samples::{BYTES, Benchmark, ITEMS, MetadataValue, OPERATIONS, Samples};
use prony_stats::single_sample::median_interval;
use prony_text::significant;
use serde::Serialize;
use serde_json::Number;

use super::{human, store, tables};
use crate::cli::limits::CompareLimitsArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::samples::load_all;

/// Limits that a workload is held against unless all are asked for with `--json`.
const SHOWN: usize = 12;

/// Rate of a benchmark: the median with its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    pub name: String,
    pub rate: Rate,
    /// The bounds of the rate with 95 %; not finite where there are too few values.
    pub low: f64,
    pub high: f64,
    pub n: usize,
}

#[derive(Debug, Serialize)]
struct Answer {
    fingerprint: String,
    workloads: Vec<Answered>,
}

/// The rate of a workload, the median.
#[derive(Debug, Serialize)]
struct RateOut {
    name: String,
    unit: &'static str,
    value: f64,
    /// The bounds of the rate with 95 %; `null` with too few values.
    low: Option<f64>,
    high: Option<f64>,
    n: usize,
}

#[derive(Debug, Serialize)]
struct Answered {
    #[serde(flatten)]
    held: Held,
    shares: Vec<ShareOut>,
}

/// Rate of a workload of known amount and its share of one limit, as shown here and by `prony bench`.
#[derive(Debug, Serialize)]
pub struct Held {
    #[serde(flatten)]
    rate: RateOut,
    /// Of what one thread loads from memory, or of what a core adds; `null` where that was not measured on this machine.
    share: Option<ShareOut>,
    /// Name of the experiment that measures the limit.
    #[serde(skip)]
    measured_by: &'static str,
}

#[derive(Debug, Serialize)]
struct ShareOut {
    of: String,
    limit: f64,
    share: f64,
    n: usize,
    contaminated: f64,
}

/// # Errors
/// When either file cannot be read, they are of two machines, or no benchmark says how much a run is.
pub fn run(args: &CompareLimitsArgs) -> Result<Exit, Failure> {
    let loaded = load_all("compare", std::slice::from_ref(&args.run), args.read)?;
    let samples = &loaded[0].samples;
    let limits = store::load(args.from.as_deref())?;
    same_machine(&args.run, samples, &limits)?;
    let workloads: Vec<Workload> = samples.benchmarks.iter().filter_map(workload).collect();
    if workloads.is_empty() {
        let file = args.run.display();
        return Err(Failure::new(format!(
            "cannot compare {file}: no benchmark states its bytes or operations per run"
        ))
        .hint("measure with `prony bench --bytes N --export-json FILE COMMAND`, or --operations N"));
    }
    for workload in &workloads {
        if shares(&limits.measured, workload.rate).is_empty() {
            return Err(Failure::new(format!(
                "cannot compare `{}` of {}: expected limits of {}, found none of machine {}",
                workload.name,
                args.run.display(),
                workload.unit(),
                limits.fingerprint
            ))
            .hint(format!("run `prony limits {}`", reference_experiment(workload.rate))));
        }
    }
    if args.json {
        output::print_json(&Answer {
            fingerprint: limits.fingerprint.to_string(),
            workloads: workloads.iter().map(|workload| answered(workload, &limits)).collect(),
        })?;
    } else {
        let mut out = String::new();
        for workload in &workloads {
            let _ = write!(out, "{}", text(workload, &limits));
        }
        output::print(&out)?;
    }
    Ok(Exit::Good)
}

/// # Errors
/// When the samples are of another machine, or do not say of which.
fn same_machine(path: &Path, samples: &Samples, limits: &Limits) -> Result<(), Failure> {
    let file = path.display();
    let facts = samples.circumstances.as_ref().map(|circumstances| circumstances.machine.clone()).unwrap_or_default();
    let facts: Facts = serde_json::from_value(facts).map_err(|_| {
        Failure::new(format!("cannot compare {file}: it does not state the machine"))
            .hint("samples of `prony bench --export-json FILE` state it")
    })?;
    let found = fingerprint(&facts);
    if found == limits.fingerprint {
        return Ok(());
    }
    let model = |facts: &Facts| facts.cpu.model.clone().unwrap_or_else(|| "an unknown processor".to_owned());
    Err(Failure::new(format!(
        "cannot compare {file}: expected samples of machine {} ({}), found machine {found} ({})",
        limits.fingerprint,
        model(&limits.facts),
        model(&facts)
    ))
    .hint("measure the limits there, or give them with --from FILE"))
}

/// Rate of a benchmark; `None` if the amount of work per run is unknown.
pub fn workload(benchmark: &Benchmark) -> Option<Workload> {
    let values: Vec<f64> = benchmark.values().collect();
    let interval = median_interval(&values, 0.05)?;
    let amount = |name: &str| match benchmark.metadata.get(name)? {
        MetadataValue::Number(number) => number.as_f64().filter(|amount| *amount > 0.0),
        _ => None,
    };
    let unit = benchmark.unit_name();
    let seconds = matches!(unit, "second" | "s");
    let (rate, low, high) = match (amount(BYTES), amount(OPERATIONS)) {
        (Some(bytes), _) if seconds => {
            (Rate::Bytes(bytes / interval.estimate), bytes / interval.high, bytes / interval.low)
        }
        (_, Some(count)) if seconds => {
            (Rate::Operations(count / interval.estimate), count / interval.high, count / interval.low)
        }
        _ if unit == "B/s" => (Rate::Bytes(interval.estimate), interval.low, interval.high),
        _ if unit.ends_with("/s") => (Rate::Operations(interval.estimate), interval.low, interval.high),
        _ => return None,
    };
    Some(Workload { name: benchmark.name.clone(), rate, low, high, n: interval.n })
}

impl Workload {
    fn value(&self) -> f64 {
        match self.rate {
            Rate::Bytes(value) | Rate::Operations(value) => value,
        }
    }

    fn unit(&self) -> &'static str {
        match self.rate {
            Rate::Bytes(_) => "B/s",
            Rate::Operations(_) => "operations/s",
        }
    }
}

/// A workload and what it is of the limits: first of the one that `prony bench` names too, then of those that it came nearest to.
fn text(workload: &Workload, limits: &Limits) -> String {
    let unit = workload.unit();
    let bounds = match workload.low.is_finite() && workload.high.is_finite() && workload.low > 0.0 {
        true => format!(" [{}, {}]", tables::quantity(workload.low, unit), tables::quantity(workload.high, unit)),
        false => ", too few values for an interval".to_owned(),
    };
    let mut out =
        format!("{}  {}{bounds}, n = {}\n", workload.name, tables::quantity(workload.value(), unit), workload.n);
    let mut all = shares(&limits.measured, workload.rate);
    match reference(&all, workload.rate) {
        Some(share) => human::share_lines(&mut out, std::slice::from_ref(share), unit),
        None => out += &not_measured(workload.rate),
    }
    out += "  closest limits, not necessarily the bottleneck:\n";
    all.sort_by(|a, b| distance(a).total_cmp(&distance(b)));
    let left = all.len().saturating_sub(SHOWN);
    all.truncate(SHOWN);
    human::share_lines(&mut out, &all, unit);
    if left > 0 {
        let _ = writeln!(out, "  {left} more, listed by --json");
    }
    out
}

/// Distance from the limit, as a ratio.
fn distance(share: &Share) -> f64 {
    share.share.ln().abs()
}

fn answered(workload: &Workload, limits: &Limits) -> Answered {
    Answered {
        held: held_against(workload, Some(limits)),
        shares: shares(&limits.measured, workload.rate).into_iter().map(share_out).collect(),
    }
}

fn rate_out(workload: &Workload) -> RateOut {
    RateOut {
        name: workload.name.clone(),
        unit: workload.unit(),
        value: workload.value(),
        low: bound(workload.low),
        high: bound(workload.high),
        n: workload.n,
    }
}

fn share_out(share: Share) -> ShareOut {
    let Share { of, limit, share, n, contaminated } = share;
    ShareOut { of, limit, share, n, contaminated }
}

/// A bound of a rate, if it is known: with too few values the time may be anything, so that it is 0 or not finite.
fn bound(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite() && *value > 0.0)
}

/// Notes how much a run is, where `prony bench` was told, so that files say it too.
pub fn note(samples: &mut Samples, bytes: Option<f64>, operations: Option<f64>, items: Option<f64>) {
    for (name, amount) in [(BYTES, bytes), (OPERATIONS, operations), (ITEMS, items)] {
        let Some(number) = amount.and_then(Number::from_f64) else { continue };
        for benchmark in &mut samples.benchmarks {
            benchmark.metadata.insert(name.to_owned(), MetadataValue::Number(number.clone()));
        }
    }
}

/// Rates of the commands of `prony bench` with a known amount of work per run, compared with the limits of memory
/// bandwidth or of a core's additions.
pub fn held(samples: &Samples) -> Vec<Held> {
    let workloads: Vec<Workload> = samples.benchmarks.iter().filter_map(workload).collect();
    if workloads.is_empty() {
        return Vec::new();
    }
    let limits = store::of_here();
    workloads.iter().map(|workload| held_against(workload, limits.as_ref())).collect()
}

fn held_against(workload: &Workload, limits: Option<&Limits>) -> Held {
    let all = limits.map_or_else(Vec::new, |limits| shares(&limits.measured, workload.rate));
    Held {
        rate: rate_out(workload),
        share: reference(&all, workload.rate).cloned().map(share_out),
        measured_by: reference_experiment(workload.rate).word(),
    }
}

/// Lines of text for people, one for each rate.
pub fn lines(held: &[Held]) -> String {
    let mut missing: Vec<&str> = held.iter().filter(|held| held.share.is_none()).map(|held| held.measured_by).collect();
    missing.sort_unstable();
    missing.dedup();
    let known: String = held.iter().filter_map(line).collect();
    missing.iter().fold(known, |lines, experiment| lines + &to_measure(experiment))
}

fn not_measured(rate: Rate) -> String {
    to_measure(reference_experiment(rate).word())
}

fn to_measure(experiment: &str) -> String {
    let what = if experiment == "ports" { "what a core adds" } else { "what memory loads" };
    format!("  {what} was not measured on this machine: run `prony limits {experiment}`\n")
}

fn line(held: &Held) -> Option<String> {
    let Held { rate, share, .. } = held;
    let share = share.as_ref()?;
    Some(format!(
        "  {}: {} (median, n = {}) is {} % of {}: {} (n = {})\n",
        rate.name,
        tables::quantity(rate.value, rate.unit),
        rate.n,
        significant(share.share * 100.0),
        share.of,
        tables::quantity(share.limit, rate.unit),
        share.n
    ))
}

#[cfg(test)]
mod tests {
    use prony_stats::samples::Run;

    use super::*;

    fn samples(seconds: &[f64]) -> Samples {
        let mut benchmark = Benchmark::new("./copy big");
        benchmark.runs = seconds.iter().map(|&seconds| Run::of(seconds)).collect();
        Samples { benchmarks: vec![benchmark], circumstances: None }
    }

    #[test]
    fn a_run_of_known_bytes_has_a_rate_and_others_have_none() {
        let mut of_bytes = samples(&[2.0; 9]);
        assert_eq!(workload(&of_bytes.benchmarks[0]), None);
        note(&mut of_bytes, Some(4e9), None, None);
        let known = workload(&of_bytes.benchmarks[0]).expect("bytes and times");
        assert_eq!((known.rate, known.low, known.high, known.n), (Rate::Bytes(2e9), 2e9, 2e9, 9));
        let mut of_operations = samples(&[0.5; 9]);
        note(&mut of_operations, None, Some(1e6), None);
        assert_eq!(workload(&of_operations.benchmarks[0]).map(|known| known.rate), Some(Rate::Operations(2e6)));
    }

    #[test]
    fn bounds_that_too_few_values_leave_open_are_none() {
        let mut few = samples(&[1.0, 1.5, 2.0]);
        note(&mut few, None, Some(3.0), None);
        let known = held_against(&workload(&few.benchmarks[0]).expect("operations and times"), None);
        let rate = &known.rate;
        assert_eq!((rate.value, rate.low, rate.high, rate.n), (2.0, None, None, 3));
        assert!(known.share.is_none());
        assert!(lines(&[known]).contains("run `prony limits ports`") && lines(&[]).is_empty());
    }

    #[test]
    fn what_a_run_is_goes_with_the_samples_into_their_file() {
        let mut known = samples(&[2.0, 2.5]);
        note(&mut known, Some(4e9), None, None);
        let read = Samples::decode(&known.encode().expect("samples")).expect("what was written");
        assert_eq!(workload(&read.benchmarks[0]), workload(&known.benchmarks[0]));
        assert!(workload(&read.benchmarks[0]).is_some());
    }
}
