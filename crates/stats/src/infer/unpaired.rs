//! Compares two stored samples that were not taken in pairs.
//!
//! Values of one process resemble each other (layout of memory, hash seeds, the core it got), so a process counts once:
//! as the logarithm of the median of its values. Between the processes of the two samples the Mann–Whitney count is
//! inverted, with three changes that the simulations in this file's tests ask for:
//!
//! * its variance is estimated from the placements (Brunner & Munzel 2000), so that one sample may be noisier;
//! * it is multiplied by the number of placements in a row that are worth one ([`crate::infer::serial`]), because processes
//!   that ran one after the other share the machine's mood;
//! * Student's quantile takes the place of the normal one, with the freedom that is left.
//!
//! Resampling processes (a cluster bootstrap) was left: it needs a seed, and with the 5 to 20 processes of
//! a usual file its intervals are known to be too short (Davison & Hinkley 1997, 5.7).
//!
//! What no computation can see is a machine that changed between the two samples. Only pairs can.

use serde::Serialize;

use crate::describe::distribution::student_quantile_above;
use crate::describe::outliers::Outliers;
use crate::describe::quantile::{self, median};
use crate::infer::selection::{self, Staircase};
use crate::infer::serial;
use crate::interval::Interval;
use crate::verdict::Verdict;

/// B relative to A, from samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Verdict on B relative to A.
    pub verdict: Verdict,
    /// Log ratio ln(B/A) of a typical process; `n` counts the processes of both.
    pub interval: Interval,
    /// Data of A that the comparison rests on.
    pub a: Basis,
    /// Data of B that the comparison rests on.
    pub b: Basis,
}

impl Comparison {
    /// The same where differences below the margin are tolerated: none is claimed whose estimate is below it.
    pub fn tolerating(mut self, margin: f64) -> Comparison {
        let tolerated =
            matches!(self.verdict, Verdict::Faster | Verdict::Slower) && self.interval.estimate.abs() < margin;
        if tolerated {
            self.verdict = if self.interval.lies_within(margin) { Verdict::Same } else { Verdict::Unclear };
        }
        self
    }
}

/// Data of one side of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Basis {
    /// Number of values, warm-ups not counted.
    pub values: usize,
    /// Processes with values; when there is one only, its values are taken for as many, and the comparison speaks of
    /// these two processes, not of the programs.
    pub processes: usize,
    /// Effective number of independent observations.
    pub worth: f64,
    /// Correlation of each observation with the next, where it is more than chance.
    pub follows_the_last: Option<f64>,
    /// Processes, or values of the only one, that lie far out.
    pub outliers: Outliers,
}

/// Compares samples: each holds the values of its processes, in the order in which they ran, warm-ups excluded.
///
/// `alpha`: chance to claim a difference where there is none. `margin`: smaller differences count as none, a log ratio.
/// `None` where a side has no value above 0; such values have no ratio and are left out.
pub fn compare(a: &[Vec<f64>], b: &[Vec<f64>], alpha: f64, margin: f64) -> Option<Comparison> {
    let (a_logs, a_values, a_processes) = observations(a);
    let (b_logs, b_values, b_processes) = observations(b);
    let shift = Shift::between(&a_logs, &b_logs)?;
    let interval = shift.interval(alpha);
    let verdict = match interval {
        interval if interval.low > 0.0 => Verdict::Slower,
        interval if interval.high < 0.0 => Verdict::Faster,
        interval if interval.lies_within(margin) => Verdict::Same,
        _ => Verdict::Unclear,
    };
    let basis = |logs: &[f64], values, processes| Basis {
        values,
        processes,
        worth: logs.len() as f64 / shift.time,
        follows_the_last: serial::follows_the_last(logs),
        outliers: Outliers::of(logs),
    };
    Some(Comparison {
        verdict,
        interval,
        a: basis(&a_logs, a_values, a_processes),
        b: basis(&b_logs, b_values, b_processes),
    })
}

/// Logarithms of what stands for each process; values and processes that they rest on.
fn observations(processes: &[Vec<f64>]) -> (Vec<f64>, usize, usize) {
    let usable = |process: &Vec<f64>| -> Vec<f64> {
        process.iter().copied().filter(|value| value.is_finite() && *value > 0.0).collect()
    };
    let processes: Vec<Vec<f64>> = processes.iter().map(usable).filter(|process| !process.is_empty()).collect();
    let values = processes.iter().map(Vec::len).sum();
    let observations: Vec<f64> = match processes.as_slice() {
        [only] => only.clone(),
        several => several.iter().filter_map(|process| median(process)).collect(),
    };
    (observations.into_iter().map(f64::ln).collect(), values, processes.len())
}

/// Estimate of the shift of B relative to A.
struct Shift {
    a_sorted: Vec<f64>,
    b_sorted: Vec<f64>,
    estimate: f64,
    /// Observations in a row that are worth one.
    time: f64,
    /// Variance of the share of pairs in which B is above A, once it is moved down by the estimate.
    variance: f64,
    freedom: f64,
}

impl Shift {
    /// `a`, `b`: in the order in which they were taken. `None` when one is empty.
    fn between(a: &[f64], b: &[f64]) -> Option<Shift> {
        let (a_sorted, b_sorted) = (quantile::sorted(a), quantile::sorted(b));
        if a.is_empty() || b.is_empty() {
            return None;
        }
        let estimate = median_difference(&a_sorted, &b_sorted);
        let a_moved: Vec<f64> = a.iter().map(|value| value + estimate).collect();
        let a_moved_sorted: Vec<f64> = a_sorted.iter().map(|value| value + estimate).collect();
        let a_placements = placements(&a_moved, &b_sorted);
        let b_placements = placements(b, &a_moved_sorted);
        let time = serial::correlation_time(&[&a_placements, &b_placements]);
        let (m, n) = (a.len() as f64, b.len() as f64);
        // Never below what it is for samples of one distribution, which small samples may miss by luck.
        let share = |placements: &[f64]| variance(placements).max(1.0 / 12.0) / placements.len() as f64;
        let variance = time * (share(&a_placements) + share(&b_placements));
        let freedom = ((m + n) / time - 2.0).max(1.0);
        Some(Shift { a_sorted, b_sorted, estimate, time, variance, freedom })
    }

    fn interval(&self, level: f64) -> Interval {
        let pairs = self.a_sorted.len() * self.b_sorted.len();
        let away = student_quantile_above(level / 2.0, self.freedom) * self.variance.sqrt();
        let outside = (pairs as f64 * (0.5 - away) + 0.5).max(0.0) as usize;
        let at = |rank| selection::select(&Differences { a: &self.a_sorted, b: &self.b_sorted }, rank);
        let (low, high) = match outside {
            0 => (f64::NEG_INFINITY, f64::INFINITY),
            outside => (at(outside - 1), at(pairs - outside)),
        };
        let n = self.a_sorted.len() + self.b_sorted.len();
        Interval { estimate: self.estimate, low, high, confidence: 1.0 - level, n }
    }
}

/// Hodges–Lehmann estimate of a shift: the median of all differences b − a (Hodges & Lehmann 1963).
fn median_difference(a_sorted: &[f64], b_sorted: &[f64]) -> f64 {
    selection::median(&Differences { a: a_sorted, b: b_sorted })
}

/// Share of `others`, which are sorted, below each value; half of those equal to it.
fn placements(values: &[f64], others: &[f64]) -> Vec<f64> {
    // In the order of the values, `others` are passed once; a search for each value would miss the caches each time.
    let mut order: Vec<(f64, u32)> = values.iter().copied().zip(0..).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut not_above) = (0, 0);
    let mut placements = vec![0.0; values.len()];
    for (value, place) in order {
        below += others.iter().skip(below).take_while(|other| **other < value).count();
        not_above = not_above.max(below);
        not_above += others.iter().skip(not_above).take_while(|other| **other <= value).count();
        placements[place as usize] = (below + not_above) as f64 / (2 * others.len()) as f64;
    }
    placements
}

/// Unbiased; 0 for a single value.
fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    if n > 1.0 { squares / (n - 1.0) } else { 0.0 }
}

/// All differences b − a, ascending in b and descending in a.
struct Differences<'a> {
    a: &'a [f64],
    b: &'a [f64],
}

impl Staircase for Differences<'_> {
    fn rows(&self) -> usize {
        self.a.len()
    }

    fn columns(&self) -> usize {
        self.b.len()
    }

    fn first_column(&self, _row: usize) -> usize {
        0
    }

    fn value(&self, row: usize, column: usize) -> f64 {
        self.b[column] - self.a[self.a.len() - 1 - row]
    }
}

#[cfg(test)]
mod tests;
