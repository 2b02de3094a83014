//! From the values of units to a size with an interval (Student 1908).

use std::collections::BTreeMap;

use super::least_squares::{self, Table};
use super::{Over, Size};
use crate::distribution::{student_above, student_quantile_above};
use crate::interval::Interval;
use crate::quantile::median;

/// What units are worth, whatever of the table is missing.
pub(super) fn units(table: &Table) -> BTreeMap<usize, f64> {
    least_squares::rows(table).unwrap_or_else(|| least_squares::means(table))
}

/// Size by units; `None` without any.
pub(super) fn size(over: Over, units: &BTreeMap<usize, f64>, alpha: f64) -> Option<Size> {
    let values: Vec<f64> = units.values().copied().collect();
    let interval = interval(&values, alpha)?;
    Some(Size {
        over,
        usual: median(&values)?,
        min: values.iter().copied().fold(f64::INFINITY, f64::min),
        max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        interval,
        p: chance(&values),
        p_holm: None,
        units: units.iter().map(|(&unit, &value)| (unit, value)).collect(),
    })
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

/// Chance of a mean so far from 0 or farther, if the values scatter around 0; `None` for fewer than two.
pub fn chance(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let error = variance_of_mean(values).sqrt();
    match (values.len(), error > 0.0) {
        (0 | 1, _) => None,
        (n, true) => Some((2.0 * student_above(mean.abs() / error, (n - 1) as f64)).min(1.0)),
        (_, false) => Some(if mean == 0.0 { 1.0 } else { 0.0 }),
    }
}

/// Variance of the mean of at least two values.
fn variance_of_mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0) / n
}

/// What the choice of workloads adds at one end of an edge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    /// Variance of the mean over the workloads.
    pub variance_of_mean: f64,
    /// Workloads less one.
    pub freedom: f64,
}

impl Spread {
    /// Of the values of workloads; unknown where there is one only.
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
    let variance: f64 = parts.iter().map(|part| part.variance_of_mean).sum();
    let reach = if variance == 0.0 {
        0.0
    } else if !variance.is_finite() {
        f64::INFINITY
    } else {
        let squares: f64 = parts.iter().map(|part| part.variance_of_mean.powi(2) / part.freedom).sum();
        student_quantile_above(alpha / 2.0, variance.powi(2) / squares) * variance.sqrt()
    };
    Interval { low: interval.estimate - reach, high: interval.estimate + reach, ..*interval }
}
