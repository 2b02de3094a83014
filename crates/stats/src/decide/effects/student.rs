//! Size with an interval from the values of units (Student 1908).

use std::collections::BTreeMap;

use super::least_squares::{self, Table};
use super::pairs::Pair;
use super::repeats::{Repeats, Spread};
use super::{OTHERS_MIN, Over, Size};
use crate::describe::distribution::{student_above, student_quantile_above};
use crate::describe::quantile::median;
use crate::interval::Interval;

/// Estimates of the units, whichever entries of the table are missing.
pub(super) fn units(table: &Table) -> BTreeMap<usize, f64> {
    least_squares::rows(table).unwrap_or_else(|| least_squares::means(table))
}

/// Size by units; `None` without any. `pairs`: what the units are made of, where that is known.
pub(super) fn size(over: Over, units: &BTreeMap<usize, f64>, pairs: &[Pair], alpha: f64) -> Option<Size> {
    let values: Vec<f64> = units.values().copied().collect();
    let mut size = Size {
        over,
        median: median(&values)?,
        min: values.iter().copied().fold(f64::INFINITY, f64::min),
        max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        interval: interval(&values, alpha)?,
        of: over,
        others: None,
        one_repeat: None,
        error: f64::INFINITY,
        freedom: 0.0,
        p: None,
        p_holm: None,
        units: units.iter().map(|(&unit, &value)| (unit, value)).collect(),
    };
    let of_units = Spread::of(&values);
    let repeats = Repeats::of(pairs).filter(|_| over != Over::Machines);
    size.one_repeat = repeats.as_ref().map(Repeats::of_one).map(|one| (one.variance_of_mean.sqrt(), one.freedom));
    match repeats.filter(|_| over == Over::Workloads) {
        Some(repeats) => {
            size.others = (values.len() >= OTHERS_MIN).then_some(size.interval);
            size.of = Over::Repeats;
            size.interval.n = repeats.count();
            size.rest_on(&[repeats.of_mean()], alpha);
        }
        None => size.rest_on(&[of_units], alpha),
    }
    Some(size)
}

impl Size {
    /// Interval and chance from what is known of the error of the estimate.
    pub(super) fn rest_on(&mut self, spreads: &[Spread], alpha: f64) {
        let (reach, error, freedom) = reach(spreads, alpha);
        let Interval { estimate, .. } = self.interval;
        (self.interval.low, self.interval.high) = (estimate - reach, estimate + reach);
        (self.error, self.freedom) = (error, freedom);
        self.p = self.chance_beyond(0.0);
    }

    /// Interval over the draws that all cells share, where the units are machines: both vary.
    pub(super) fn rest_on_draws(&mut self, draws: &BTreeMap<usize, f64>, alpha: f64) {
        if self.over == Over::Machines {
            let machines: Vec<f64> = self.units.iter().map(|unit| unit.1).collect();
            let draws: Vec<f64> = draws.values().copied().collect();
            self.rest_on(&[Spread::of(&machines), Spread::of(&draws)], alpha);
        }
    }

    /// Difference from another size of the same units, which is independent of this one: two runs of a study. `None`
    /// where they have no unit in common, or are not over the same kind of units.
    ///
    /// Machines and, without repeats, workloads are compared one by one. Of these very workloads both are known by their
    /// repeats, and their variances add up.
    pub fn more_than(&self, other: &Size, alpha: f64) -> Option<Size> {
        if self.over != other.over {
            return None;
        }
        let others: BTreeMap<usize, f64> = other.units.iter().copied().collect();
        let apart = |&(unit, value): &(usize, f64)| Some((unit, value - others.get(&unit)?));
        let units: BTreeMap<usize, f64> = self.units.iter().filter_map(apart).collect();
        let mut size = size(self.over, &units, &[], alpha)?;
        if [self.of, other.of] == [Over::Repeats; 2] {
            size.of = Over::Repeats;
            size.interval.estimate = self.interval.estimate - other.interval.estimate;
            size.interval.n = self.interval.n + other.interval.n;
            let of = |size: &Size| Spread { variance_of_mean: size.error.powi(2), freedom: size.freedom };
            size.rest_on(&[of(self), of(other)], alpha);
        }
        Some(size)
    }

    /// Chance of a mean so far from 0 or farther where there is at most a difference of `margin`; `None` where nothing is
    /// known of the error.
    pub fn chance_beyond(&self, margin: f64) -> Option<f64> {
        let beyond = self.interval.estimate.abs() - margin;
        match (self.error.is_finite(), self.error > 0.0) {
            (false, _) => None,
            (true, true) => Some((2.0 * student_above(beyond.max(0.0) / self.error, self.freedom)).min(1.0)),
            (true, false) => Some(if beyond > 0.0 { 0.0 } else { 1.0 }),
        }
    }
}

/// Student's interval of the mean, with infinite bounds for a single value; `None` without values.
pub fn interval(values: &[f64], alpha: f64) -> Option<Interval> {
    let n = values.len();
    let estimate = values.iter().sum::<f64>() / n as f64;
    let reach = match n {
        0 => return None,
        1 => f64::INFINITY,
        n => student_quantile_above(alpha / 2.0, (n - 1) as f64) * variance_of_mean(values).sqrt(),
    };
    Some(Interval { estimate, low: estimate - reach, high: estimate + reach, confidence: 1.0 - alpha, n })
}

/// Variance of the mean of at least two values.
fn variance_of_mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0) / n
}

impl Spread {
    /// Spread of the mean of values; unknown if there is only one.
    pub fn of(values: &[f64]) -> Spread {
        match values.len() {
            0 | 1 => Spread { variance_of_mean: f64::INFINITY, freedom: 0.0 },
            n => Spread { variance_of_mean: variance_of_mean(values), freedom: (n - 1) as f64 },
        }
    }
}

/// The interval when workloads are taken for a choice too: variances of means add up, with the freedom of Satterthwaite
/// (1946). `spreads`: two for each edge that has other workloads at either end, of `edges` that were averaged.
pub(super) fn wider(
    interval: &Interval,
    units: &BTreeMap<usize, f64>,
    spreads: Vec<Spread>,
    edges: usize,
    alpha: f64,
) -> Interval {
    let values: Vec<f64> = units.values().copied().collect();
    let of_units = (values.len() > 1)
        .then(|| Spread { variance_of_mean: variance_of_mean(&values), freedom: (values.len() - 1) as f64 });
    let share = 1.0 / (edges * edges).max(1) as f64;
    let of_workloads = spreads
        .into_iter()
        .map(|spread| Spread { variance_of_mean: share * spread.variance_of_mean, freedom: spread.freedom });
    let parts: Vec<Spread> = of_units.into_iter().chain(of_workloads).collect();
    let (reach, _, _) = reach(&parts, alpha);
    Interval { low: interval.estimate - reach, high: interval.estimate + reach, ..*interval }
}

/// Half width of an interval from variances of several sources, its standard error, and its degrees of freedom
/// (Satterthwaite 1946).
pub(super) fn reach(parts: &[Spread], alpha: f64) -> (f64, f64, f64) {
    let variance: f64 = parts.iter().map(|part| part.variance_of_mean).sum();
    if variance == 0.0 || !variance.is_finite() {
        return (variance, variance, f64::INFINITY);
    }
    let known = parts.iter().filter(|part| part.variance_of_mean > 0.0);
    let squares: f64 = known.map(|part| part.variance_of_mean.powi(2) / part.freedom).sum();
    let freedom = variance.powi(2) / squares;
    (student_quantile_above(alpha / 2.0, freedom) * variance.sqrt(), variance.sqrt(), freedom)
}
