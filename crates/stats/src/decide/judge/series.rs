//! Series of one metric over all pairs, and the error that may still be spent on it.

use super::Ratio;
use super::pair_selection::select_pairs;
use crate::describe::quantile::{median_of_sorted, robust_deviation};
use crate::infer::spending::Boundary;
use crate::infer::{sign_test, signed_rank};
use crate::interval::Interval;

/// Ratios in the order in which they came.
#[derive(Debug, Clone)]
pub(super) struct Series {
    pub ratios: Vec<Ratio>,
    /// Pairs whose ratio is not finite.
    pub left_out: usize,
    /// Remaining error for a difference in this metric.
    difference: Boundary,
    /// Remaining error for equivalence within the margin, which all metrics must show.
    agreement: Boundary,
    test: Test,
    /// Weights at the last look, by place.
    looked_at: Vec<Weight>,
}

/// Test by which a metric is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Test {
    SignedRanks,
    Signs,
}

/// Effect of the sign of one pair on a test's statistic.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weight {
    place: usize,
    size: f64,
}

/// Values of a metric at one look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// Interval at the level of a difference.
    pub difference: Option<Interval>,
    /// Interval at the level of agreement.
    pub agreement: Option<Interval>,
    /// 1.4826 × MAD of the log ratios that were judged.
    pub deviation: Option<f64>,
    /// Fewer pairs than this could not have decided.
    pub needed: usize,
    /// Pairs that were not judged, because the machine was slow around them.
    pub disturbed: usize,
}

impl Series {
    /// `metrics`: among how many the error of a difference is divided.
    pub fn new(test: Test, alpha: f64, metrics: f64) -> Series {
        Series {
            ratios: Vec::new(),
            left_out: 0,
            difference: Boundary::new(alpha / metrics),
            agreement: Boundary::new(alpha),
            test,
            looked_at: Vec::new(),
        }
    }

    /// Spends, from here on, all of `alpha` that is not spent at a `share` of the budget.
    pub fn resume(&mut self, alpha: f64, share: f64) {
        self.difference = Boundary::resume(alpha, share);
        self.agreement = Boundary::resume(alpha, share);
    }

    /// All of `alpha` from the beginning.
    pub fn spend_all(&mut self, alpha: f64) {
        self.difference = Boundary::new(alpha);
    }

    pub fn push(&mut self, ratio: Ratio) {
        let usable = ratio.log.is_finite() && ratio.level.is_finite();
        if usable { self.ratios.push(ratio) } else { self.left_out += 1 }
    }

    /// The log ratios at the given places, ascending.
    fn logs(&self, places: &[usize]) -> Vec<f64> {
        let mut logs: Vec<f64> = places.iter().map(|&place| self.ratios[place].log).collect();
        logs.sort_unstable_by(f64::total_cmp);
        logs
    }

    /// Squared correlation, under "no difference", of the test's statistic with that of the last look.
    fn shared(&self, weights: &[Weight]) -> f64 {
        let squares = |weights: &[Weight]| weights.iter().map(|weight| weight.size.powi(2)).sum::<f64>();
        let mut last = self.looked_at.iter().peekable();
        let mut products = 0.0;
        for weight in weights {
            while last.next_if(|last| last.place < weight.place).is_some() {}
            if let Some(known) = last.next_if(|last| last.place == weight.place) {
                products += known.size * weight.size;
            }
        }
        if products > 0.0 { products.powi(2) / (squares(weights) * squares(&self.looked_at)) } else { 0.0 }
    }

    /// Weight of each pair in the statistic: its rank by size, or 1.
    fn weights(&self, places: &[usize]) -> Vec<Weight> {
        if self.test == Test::Signs {
            return places.iter().map(|&place| Weight { place, size: 1.0 }).collect();
        }
        let mut by_size = places.to_vec();
        by_size.sort_unstable_by(|&a, &b| self.ratios[a].log.abs().total_cmp(&self.ratios[b].log.abs()));
        let mut weights: Vec<Weight> =
            by_size.iter().zip(1u32..).map(|(&place, rank)| Weight { place, size: f64::from(rank) }).collect();
        weights.sort_unstable_by_key(|weight| weight.place);
        weights
    }

    /// The interval were the next look, at `share`, now.
    pub fn live(&self, share: f64) -> Option<Interval> {
        let places = select_pairs(&self.ratios);
        let level = self.difference.level(share, self.shared(&self.weights(&places)));
        self.test.intervals(&self.logs(&places), [level]).map(|[interval]| interval)
    }

    /// Evaluates the pairs so far and spends the error up to `share`.
    pub fn look(&mut self, share: f64) -> Seen {
        let places = select_pairs(&self.ratios);
        let logs = self.logs(&places);
        let weights = self.weights(&places);
        let shared = self.shared(&weights);
        let level = self.difference.look(share, shared);
        let agreement = self.agreement.look(share, shared);
        self.looked_at = weights;
        let intervals = self.test.intervals(&logs, [level, agreement]);
        Seen {
            difference: intervals.map(|[difference, _]| difference),
            agreement: intervals.map(|[_, agreement]| agreement),
            deviation: robust_deviation(&logs),
            needed: signed_rank::values_needed(level),
            disturbed: self.ratios.len() - places.len(),
        }
    }
}

/// The median of values of an even shape seldom lies outside the Hodges–Lehmann interval at this level: 7 % of normal
/// samples, as the difference of both has 0.72 of the deviation σ/√n that the estimate has 1.02 of.
const UNEVEN_LEVEL: f64 = 0.2;

impl Test {
    /// Signed ranks ask that values lie evenly around their centre. Random order makes it so where the builds are the
    /// same; where they differ, as when B has a second, slower mode that A has not, the Hodges–Lehmann estimate is not the
    /// median, and ranks reject a median of 0 that is true. Where median and ranks disagree, the interval is
    /// therefore that of the ranks and of the signs together, and the estimate the median. It only ever gets wider, so where
    /// signed ranks are exact it errs no more often than they do; where they are not, it holds the median as often as
    /// signs do, once there are pairs enough to notice.
    fn intervals<const LEVELS: usize>(self, sorted: &[f64], levels: [f64; LEVELS]) -> Option<[Interval; LEVELS]> {
        let median = median_of_sorted(sorted)?;
        let signs = |level| sign_test::interval(sorted, level).expect("values with a median have its interval");
        if self == Test::Signs {
            return Some(levels.map(signs));
        }
        let ranks = signed_rank::intervals(sorted, levels)?;
        let even = !signed_rank::interval(sorted, UNEVEN_LEVEL)?.excludes(median);
        let widened = |at: usize| {
            let (ranks, signs) = (ranks[at], signs(levels[at]));
            Interval { low: ranks.low.min(signs.low), high: ranks.high.max(signs.high), ..signs }
        };
        Some(if even { ranks } else { std::array::from_fn(widened) })
    }
}
