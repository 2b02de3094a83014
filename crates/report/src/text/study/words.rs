//! Sizes in per cent, names of levels, and columns, as all answers on studies write them.

use prony_stats::Verdict;
use prony_stats::effects::{Over, Size};
use prony_study::{Direction, Metric};
use prony_text::{Table, Untrusted, thousands};

use crate::change::{self, Form, change};
use crate::study::quantity::Changing;

/// Cells of an effect: its mean with the interval, its median, and `−21 … +3 %` where there are several values.
pub fn sizes(changing: &Changing, size: &Size) -> [String; 3] {
    let [median, range] = spread(changing, size);
    [change(&changing.ratio(&size.interval)), median, range]
}

/// Median of an effect, and its range.
pub fn spread(changing: &Changing, size: &Size) -> [String; 2] {
    let (low, high) = changing.ends(size.min, size.max);
    let median = changing.log(size.median);
    if low == high {
        return [change::value(median), String::new()];
    }
    let form = Form::ranges([(low, high)]);
    [form.value(median), form.range(low, high)]
}

/// `machines`, of what counts once.
pub fn units(size: &Size) -> &'static str {
    match size.over {
        Over::Machines => "machines",
        Over::Workloads => "workloads",
        Over::Repeats => "repeats",
        Over::RandomLevels => "random levels",
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
