//! Estimate of a single command: its typical time, and the uncertainty.
//!
//! Nothing is drawn at random here, so what one run says about the next counts: runs in a row share the
//! machine's mood, and a hundred of them may be worth ten.

use crate::describe::distribution::student_quantile_above;
use crate::describe::quantile::{median_of_sorted, sorted};
use crate::infer::serial;
use crate::infer::spending::{Boundary, LOOKS};
use crate::interval::Interval;

/// The median of values in the order in which they were taken, with its interval.
///
/// Bounds are order statistics, as of the sign test, as far apart as this many independent values would have them
/// as these are worth ([`serial::correlation_time`] of "above the median or not"), by Student's quantile of that
/// many. `level`: two-sided error. `None` without values; bounds are infinite where the values are worth too few.
pub fn median_interval(values: &[f64], level: f64) -> Option<Interval> {
    let sorted = sorted(values);
    let n = sorted.len();
    let estimate = median_of_sorted(&sorted)?;
    let sides: Vec<f64> =
        values.iter().map(|value| (value - estimate).partial_cmp(&0.0).map_or(0.0, |side| side as i8 as f64)).collect();
    let (low, high) = match outside(n, serial::correlation_time(&[&sides]), level) {
        0 => (f64::NEG_INFINITY, f64::INFINITY),
        outside => (sorted[outside - 1], sorted[n - outside]),
    };
    Some(Interval { estimate, low, high, confidence: 1.0 - level, n })
}

/// Values outside of the interval on each side, of `n` of which each `time` in a row are worth one; 0: there are too few.
fn outside(n: usize, time: f64, level: f64) -> usize {
    let away = student_quantile_above(level / 2.0, n as f64 / time - 1.0) * (n as f64 * time).sqrt() / 2.0;
    (n as f64 / 2.0 - away).max(0.0) as usize
}

/// Reason why the median of a sample has no interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooFew {
    /// There are fewer values than any interval needs.
    Values {
        /// Number of values.
        n: usize,
        /// The least number that has an interval, if values are independent.
        needed: usize,
    },
    /// There would be enough, but consecutive values are correlated, and worth too few independent ones.
    Correlated {
        /// Number of values.
        n: usize,
    },
}

impl TooFew {
    /// Reason why an interval of [`median_interval`] has no bounds; `None` where it has.
    pub fn of(median: &Interval) -> Option<TooFew> {
        let (n, level) = (median.n, 1.0 - median.confidence);
        if median.is_bounded() {
            return None;
        }
        let needed = (n + 1..=NEEDED_MAX).find(|&n| outside(n, 1.0, level) > 0);
        Some(match needed.filter(|_| outside(n, 1.0, level) == 0) {
            Some(needed) => TooFew::Values { n, needed },
            None => TooFew::Correlated { n },
        })
    }
}

/// No level in use needs as many values for an interval.
const NEEDED_MAX: usize = 1000;

/// Takes times of one command until the interval is as narrow as requested, at the looks of [`LOOKS`].
#[derive(Debug, Clone)]
pub struct SingleSample {
    precision: f64,
    budget_s: f64,
    values: Vec<f64>,
    used: f64,
    error: Boundary,
}

impl SingleSample {
    /// `precision`: half width wanted, as a share of the estimate. `alpha`: error of the interval over all looks.
    pub fn new(alpha: f64, precision: f64, budget_s: f64) -> SingleSample {
        SingleSample { precision, budget_s, values: Vec::new(), used: 0.0, error: Boundary::new(alpha) }
    }

    /// Adds a time; one that is not finite says nothing and is passed over.
    pub fn push(&mut self, seconds: f64) {
        if seconds.is_finite() {
            self.values.push(seconds);
        }
    }

    /// Time of the next look, in seconds since the start; `None` after the last.
    pub fn next_look_s(&self) -> Option<f64> {
        LOOKS.into_iter().find(|&share| share > self.used).map(|share| share * self.budget_s)
    }

    /// Looks if a look is due at `elapsed_s`. `Some` when it is precise enough or the budget is used.
    pub fn look(&mut self, elapsed_s: f64) -> Option<Interval> {
        let due =
            LOOKS.into_iter().rev().find(|share| share * self.budget_s <= elapsed_s).filter(|&due| due > self.used)?;
        self.used = due;
        // What earlier looks had in common with this one is not known where values hang together, so nothing is shared.
        let level = self.error.look(due, 0.0);
        let interval = median_interval(&self.values, level)?;
        let precise = interval.width() <= 2.0 * self.precision * interval.estimate.abs();
        (precise || due >= 1.0).then_some(interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::noise::{normal, uniform};

    /// Number of intervals of a thousand, each of `n` values, that miss the true median, 0.
    fn missed(n: usize, phi: f64, two_modes: bool) -> usize {
        let miss = |at: u64| {
            let mut seed = Seed::new(at);
            let mut state = normal(&mut seed);
            let mut next = || {
                state = phi * state + (1.0 - phi * phi).sqrt() * normal(&mut seed);
                let mode = if two_modes { if uniform(&mut seed) < 0.5 { -3.0 } else { 3.0 } } else { 0.0 };
                state + mode
            };
            let values: Vec<f64> = (0..n).map(|_| next()).collect();
            median_interval(&values, 0.05).expect("there are values").excludes(0.0)
        };
        (0..1000).filter(|&at| miss(at)).count()
    }

    #[test]
    fn the_interval_contains_the_median_as_often_as_stated() {
        // 5 % and three standard errors.
        for (n, phi, two_modes) in
            [(20, 0.0, false), (100, 0.0, false), (100, 0.0, true), (200, 0.6, false), (400, 0.9, false)]
        {
            let missed = missed(n, phi, two_modes);
            assert!(missed <= 71, "n = {n}, like the last {phi}, two modes {two_modes}: {missed} of 1000");
        }
    }

    #[test]
    fn a_steady_command_is_done_early_and_a_noisy_one_at_the_budget() {
        let run = |spread: f64| {
            let mut seed = Seed::new(4);
            let mut alone = SingleSample::new(0.05, 0.01, 8.0);
            let mut elapsed_s = 0.0;
            loop {
                alone.push(0.02 * (spread * normal(&mut seed)).exp());
                elapsed_s += 0.02;
                if let Some(interval) = alone.look(elapsed_s) {
                    return (elapsed_s, interval);
                }
            }
        };
        let (elapsed_s, interval) = run(0.01);
        assert!(elapsed_s < 1.1 && interval.width() <= 2.0 * 0.01 * interval.estimate, "{elapsed_s} {interval:?}");
        let (elapsed_s, interval) = run(1.0);
        assert!(elapsed_s >= 7.99 && interval.width() > 0.0002, "{elapsed_s} {interval:?}");
    }

    #[test]
    fn few_values_have_no_bounds() {
        let interval = median_interval(&[1.0, 2.0, 3.0], 0.05).expect("there are values");
        assert_eq!((interval.estimate, interval.low, interval.high), (2.0, f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!(median_interval(&[], 0.05), None);
        assert_eq!(TooFew::of(&interval), Some(TooFew::Values { n: 3, needed: 9 }));
        let eight: Vec<f64> = (0..8).map(|at| f64::from(at * 5 % 8)).collect();
        let nine: Vec<f64> = (0..9).map(|at| f64::from(at * 5 % 9)).collect();
        let why = |values: &[f64]| median_interval(values, 0.05).map(|interval| TooFew::of(&interval));
        assert_eq!([why(&eight), why(&nine)], [Some(Some(TooFew::Values { n: 8, needed: 9 })), Some(None)]);
    }

    #[test]
    fn correlated_values_are_too_few_because_they_are_correlated() {
        let rising: Vec<f64> = (0..26).map(f64::from).collect();
        let interval = median_interval(&rising, 0.05).expect("there are values");
        assert_eq!(TooFew::of(&interval), Some(TooFew::Correlated { n: 26 }));
    }
}
