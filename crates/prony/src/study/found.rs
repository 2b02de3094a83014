//! Functions that the verbs on results share: reading results, sizes in per cent, columns of text.

use std::path::Path;

use prony_stats::Verdict;
use prony_stats::effects::{Over, Size};
use prony_study::results_file::{self, LoadError};
use prony_study::{Direction, Metric, Results};
use prony_text::{Table, Untrusted, signed, thousands};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::failure::Failure;
use prony_report::words::{digits, to_percent};

/// Reads the directory of a study; `verb`: what is to be done with it.
///
/// # Errors
/// With the next step.
pub fn load(verb: &str, directory: &Path) -> Result<Results, Failure> {
    results_file::load(directory).map_err(|error| {
        let failure = Failure::new(format!("cannot {verb} {}: {error}", directory.display()));
        match error {
            LoadError::NoStudy { .. } => failure.hint(
                "`prony study run study.toml -o DIR` and `prony study import TABLE -o DIR` make such a directory",
            ),
            LoadError::Format { .. } => failure.hint("it was made by another version of prony: use that version"),
            LoadError::Json { .. } | LoadError::Unfit { .. } => {
                failure.hint("the file was truncated or altered: import or run the study again")
            }
            _ => failure,
        }
    })
}

/// Size of an effect in per cent of speed-up.
#[derive(Debug, Serialize)]
pub struct Percent {
    pub usual_pct: f64,
    pub min_pct: f64,
    pub max_pct: f64,
    pub mean_pct: f64,
    /// Null where there is no interval.
    pub low_pct: Option<f64>,
    pub high_pct: Option<f64>,
    pub confidence: f64,
    /// Unit of replication of the size.
    pub over: Over,
    /// Number of these units that were counted.
    pub n: usize,
    /// Unit that the interval takes as drawn at random: with `repeats` it refers to these very workloads.
    pub of: Over,
    /// The interval for other workloads like these, where the other one speaks of these.
    pub like_these_pct: Option<[f64; 2]>,
    pub p: Option<f64>,
    /// Adjusted p-value over all questions together (Holm); null up to ten questions, except of `diff`, whose changes
    /// exceed the margin.
    pub p_holm: Option<f64>,
    /// Away from 0 by more than chance explains.
    pub found: bool,
}

impl Percent {
    pub fn of(size: &Size, alpha: f64) -> Percent {
        // JSON has no infinity: a bound that is not there is null.
        let bound = |log: f64| Some(to_percent(log)).filter(|percent| percent.is_finite() && log.is_finite());
        Percent {
            usual_pct: to_percent(size.median),
            min_pct: to_percent(size.min),
            max_pct: to_percent(size.max),
            mean_pct: to_percent(size.interval.estimate),
            low_pct: bound(size.interval.low),
            high_pct: bound(size.interval.high),
            confidence: size.interval.confidence,
            over: size.over,
            n: size.units.len(),
            of: size.of,
            like_these_pct: size.others.and_then(|others| Some([bound(others.low)?, bound(others.high)?])),
            p: size.p,
            p_holm: size.p_holm,
            found: size.is_found(alpha),
        }
    }
}

/// Units of a size by name, in per cent. `machines`, `workloads`: their names by index.
pub fn by_unit(size: &Size, machines: &[String], workloads: &[String]) -> Map<String, Value> {
    let name = |unit: usize| match size.over {
        Over::Machines => machines.get(unit).cloned(),
        Over::Workloads => workloads.get(unit).cloned(),
        Over::Repeats => None,
    };
    let named =
        |&(unit, value): &(usize, f64)| (name(unit).unwrap_or_else(|| unit.to_string()), to_percent(value).into());
    size.units.iter().map(named).collect()
}

/// Median of an effect in per cent, for instance `+96 %`.
pub fn median(size: &Size) -> String {
    format!("{} %", signed(to_percent(size.median), spread_digits(size)))
}

/// `+65 … +112 %`, or nothing where there is one value only.
pub fn range(size: &Size) -> String {
    let digits = spread_digits(size);
    let [min, max] = [size.min, size.max].map(to_percent);
    match min == max {
        true => String::new(),
        false => format!("{} … {} %", signed(min, digits), signed(max, digits)),
    }
}

/// Bounds of an interval, for instance `[+78, +108]`, or `none`.
pub fn bounds(size: &Size) -> String {
    let [low, high] = [size.interval.low, size.interval.high];
    if !low.is_finite() || !high.is_finite() {
        return "none".to_owned();
    }
    let [low, high] = [low, high].map(to_percent);
    let digits = digits(high - low);
    format!("[{}, {}]", signed(low, digits), signed(high, digits))
}

fn spread_digits(size: &Size) -> usize {
    digits(to_percent(size.max) - to_percent(size.min)).min(1)
}

/// `machines`, of what counts once.
pub fn units(size: &Size) -> &'static str {
    match size.over {
        Over::Machines => "machines",
        Over::Workloads => "workloads",
        Over::Repeats => "repeats",
    }
}

/// Word for the later of two: rates are higher or lower, all else faster or slower.
pub fn word(verdict: Verdict, metric: &Metric) -> &'static str {
    match (verdict, metric.unit.as_str(), metric.direction) {
        (Verdict::Same, ..) => "same",
        (Verdict::Unclear, ..) => "unclear",
        (Verdict::Faster, "second", Direction::Lower) => "faster",
        (Verdict::Slower, "second", Direction::Lower) => "slower",
        (Verdict::Faster, _, Direction::Lower) | (Verdict::Slower, _, Direction::Higher) => "lower",
        (Verdict::Slower, _, Direction::Lower) | (Verdict::Faster, _, Direction::Higher) => "higher",
    }
}

/// `duration in second for 120,000 frames, lower is better`.
pub fn metric(metric: &Metric) -> String {
    let normalised = metric.normalise.as_ref().map_or_else(String::new, |normalise| {
        let to = match normalise.to.fract() == 0.0 && normalise.to < 1e15 {
            true => thousands(normalise.to as u64),
            false => normalise.to.to_string(),
        };
        format!(" for {to} {}", Untrusted::new(&normalise.by))
    });
    let better = match metric.direction {
        Direction::Lower => "lower is better",
        Direction::Higher => "higher is better",
    };
    format!("{} in {}{normalised}, {better}", Untrusted::new(&metric.name), Untrusted::new(&metric.unit))
}

/// Levels of a configuration, for instance `Engine=Opt Plugins=Stock`.
pub fn levels(levels: &[(String, String)]) -> String {
    levels
        .iter()
        .map(|(factor, level)| format!("{}={}", Untrusted::new(factor), Untrusted::new(level)))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Rows as columns, the first row for heads.
pub fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let mut table = Table::new();
    rows.iter().for_each(|row| table.row(row.clone()));
    table.text()
}
