//! Sizes in per cent, names of levels, and columns, as all answers on studies write them.

use prony_stats::Verdict;
use prony_stats::effects::{Over, Size};
use prony_study::{Direction, Metric};
use prony_text::{Table, Untrusted, signed, thousands};

use crate::words::{digits, to_percent};

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
