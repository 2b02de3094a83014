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
//! Where that gives no bound, as ten values a side and the level of many questions do, the exact distribution of the count has one
//! (`rank_sum`). It knows neither correlation nor unequal spread, both of which separate small samples by chance: so the
//! interval is at least that of Welch's t statistic, with as many values in a row taken for one as all comparisons
//! together show ([`Together`]). A correlation that ten values seem to have is mostly chance; a thousand can prove one.
//!
//! Resampling processes (a cluster bootstrap) was left: it needs a seed, and with the 5 to 20 processes of
//! a usual file its intervals are known to be too short (Davison & Hinkley 1997, 5.7).
//!
//! What no computation can see is a machine that changed between the two samples. Only pairs can.

use serde::Serialize;

use crate::describe::distribution::student_quantile_above;
use crate::describe::outliers::Outliers;
use crate::describe::quantile::{self, median};
use crate::infer::rank_sum;
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
    /// Values on each side that would do, where there is no interval for lack of them: processes, or values of the only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub values_needed: Option<usize>,
    /// Data of A that the comparison rests on.
    pub a: Basis,
    /// Data of B that the comparison rests on.
    pub b: Basis,
}

impl Comparison {
    /// The same where differences below the margin are tolerated: none is claimed whose estimate is below it.
    pub fn tolerating(mut self, margin: f64) -> Comparison {
        self.verdict = self.verdict.tolerating(&self.interval, margin);
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

/// Values that show how many in a row are worth one.
const VALUES_MIN: usize = 100;

/// As many are supposed where fewer values seem to follow each other: as of values that are each like the last by 0.6.
const TIME_SUPPOSED: f64 = 4.0;

/// Values of a side that seem to follow each other if they do by 0.6, in four of five cases.
const VALUES_TELLING: usize = 10;

/// As many are supposed where fewer values do not seem to follow each other.
const TIME_UNSEEN: f64 = 2.0;

/// Comparisons that are made together: what all of them say of how values follow each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Together {
    /// Values in a row that are worth one.
    time: f64,
    /// Number of values that say so.
    values: usize,
}

impl Together {
    /// Of all pairs of samples that are compared. Each holds the values of its processes, as for [`compare`].
    pub fn of<'a>(pairs: impl IntoIterator<Item = &'a [Vec<Vec<f64>>; 2]>) -> Together {
        let placements = |[a, b]: &[Vec<Vec<f64>>; 2]| {
            let shift = Shift::between(&observations(a).0, &observations(b).0, None)?;
            Some([shift.a_placements, shift.b_placements])
        };
        let series: Vec<Vec<f64>> = pairs.into_iter().filter_map(placements).flatten().collect();
        let series: Vec<&[f64]> = series.iter().map(Vec::as_slice).collect();
        Together { time: serial::correlation_time(&series), values: series.iter().map(|series| series.len()).sum() }
    }
}

/// Compares samples: each holds the values of its processes, in the order in which they ran, warm-ups excluded.
///
/// `alpha`: chance to claim a difference where there is none. `margin`: smaller differences count as none, a log ratio. `together`: of
/// all comparisons of which this is one; `None` for one by itself.
/// `None` where a side has no value above 0; such values have no ratio and are left out.
pub fn compare(
    a: &[Vec<f64>],
    b: &[Vec<f64>],
    alpha: f64,
    margin: f64,
    together: Option<Together>,
) -> Option<Comparison> {
    let (a_logs, a_values, a_processes) = observations(a);
    let (b_logs, b_values, b_processes) = observations(b);
    let shift = Shift::between(&a_logs, &b_logs, together)?;
    let interval = shift.interval(alpha);
    let verdict = Verdict::of_interval(&interval, margin);
    let basis = |logs: &[f64], values, processes| Basis {
        values,
        processes,
        worth: logs.len() as f64 / shift.time,
        follows_the_last: serial::follows_the_last(logs),
        outliers: Outliers::of(logs),
    };
    let values_needed = (!interval.width().is_finite()).then(|| rank_sum::enough(alpha)).flatten();
    let values_needed = values_needed.filter(|&needed| needed > a_logs.len().min(b_logs.len()));
    Some(Comparison {
        verdict,
        interval,
        values_needed,
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
    /// The same where no rank bounds the interval and these values alone cannot show how many.
    time_supposed: f64,
    a_placements: Vec<f64>,
    b_placements: Vec<f64>,
    /// Variance of the share of pairs in which B is above A, once it is moved down by the estimate.
    variance: f64,
    freedom: f64,
}

impl Shift {
    /// `a`, `b`: in the order in which they were taken. `None` when one is empty.
    fn between(a: &[f64], b: &[f64], together: Option<Together>) -> Option<Shift> {
        let (a_sorted, b_sorted) = (quantile::sorted(a), quantile::sorted(b));
        if a.is_empty() || b.is_empty() {
            return None;
        }
        let estimate = median_difference(&a_sorted, &b_sorted);
        let a_moved: Vec<f64> = a.iter().map(|value| value + estimate).collect();
        let a_moved_sorted: Vec<f64> = a_sorted.iter().map(|value| value + estimate).collect();
        let a_placements = placements(&a_moved, &b_sorted);
        let b_placements = placements(b, &a_moved_sorted);
        let own = serial::correlation_time(&[&a_placements, &b_placements]);
        let time = together.map_or(own, |together| own.max(together.time));
        let known = together.filter(|together| together.values >= VALUES_MIN);
        let is_long = a.len() + b.len() >= VALUES_MIN;
        // A few values that follow each other say that they do, and not how much; fewer do not even say that.
        let time_supposed = match (a.len().min(b.len()), known) {
            _ if is_long => time,
            (_, Some(together)) => own.min(TIME_SUPPOSED).max(together.time),
            _ if own > 1.0 => time.max(TIME_SUPPOSED),
            (..VALUES_TELLING, _) => time.max(TIME_UNSEEN),
            _ => time,
        };
        let (m, n) = (a.len() as f64, b.len() as f64);
        // Never below what it is for samples of one distribution, which small samples may miss by luck.
        let share = |placements: &[f64]| variance(placements).max(1.0 / 12.0) / placements.len() as f64;
        let variance = time * (share(&a_placements) + share(&b_placements));
        let freedom = ((m + n) / time - 2.0).max(1.0);
        Some(Shift { a_sorted, b_sorted, estimate, time, time_supposed, a_placements, b_placements, variance, freedom })
    }

    fn interval(&self, level: f64) -> Interval {
        let pairs = self.a_sorted.len() * self.b_sorted.len();
        let away = student_quantile_above(level / 2.0, self.freedom) * self.variance.sqrt();
        let outside = (pairs as f64 * (0.5 - away) + 0.5).max(0.0) as usize;
        let at = |rank| selection::select(&Differences { a: &self.a_sorted, b: &self.b_sorted }, rank);
        let bounds = |outside: usize| match outside {
            0 => (f64::NEG_INFINITY, f64::INFINITY),
            outside => (at(outside - 1), at(pairs - outside)),
        };
        let (low, high) = match outside {
            0 => {
                let (m, n) = (self.a_sorted.len(), self.b_sorted.len());
                let (low, high) = bounds(rank_sum::outside(m, n, level / 2.0).unwrap_or(0));
                let away = self.welch_width(level);
                (low.min(self.estimate - away), high.max(self.estimate + away))
            }
            outside => bounds(outside),
        };
        let n = self.a_sorted.len() + self.b_sorted.len();
        Interval { estimate: self.estimate, low, high, confidence: 1.0 - level, n }
    }
}

impl Shift {
    /// Half the width of the interval of Welch's t statistic (Welch 1947), with fewer values where they follow each other.
    fn welch_width(&self, level: f64) -> f64 {
        let (m, n) = (self.a_sorted.len() as f64, self.b_sorted.len() as f64);
        let time = self.time_supposed;
        // Values that follow each other lie closer together than they would by themselves: their variance is τ/n too small.
        let of_mean = |values: &[f64], n: f64| variance(values) / n / (1.0 - (time - 1.0) / (n - 1.0)).max(0.2);
        let [a, b] = [of_mean(&self.a_sorted, m), of_mean(&self.b_sorted, n)];
        let freedom = (a + b).powi(2) / (a.powi(2) / (m - 1.0) + b.powi(2) / (n - 1.0));
        // Of values that are all equal on both sides, nothing is known but their ranks.
        let freedom = if freedom.is_finite() { freedom } else { m + n - 2.0 };
        let freedom = (freedom / time).min((m + n) / time - 2.0).max(1.0);
        student_quantile_above(level / 2.0, freedom) * (time * (a + b)).sqrt()
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
