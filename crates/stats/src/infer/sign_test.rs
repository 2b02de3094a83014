//! The sign test, and the interval of the median that belongs to it.
//!
//! Asks less than signed ranks, nothing of the sizes, and is the stronger one where a few values are far out.

use crate::describe::distribution::{coin_at_most, normal_quantile_above};
use crate::describe::quantile::median_of_sorted;
use crate::interval::Interval;

/// Two-sided p value of "the median is 0", exact; zeros are left out. 1 without a value other than 0.
pub fn p_value(values: &[f64]) -> f64 {
    let above = values.iter().filter(|&&value| value > 0.0).count();
    let below = values.iter().filter(|&&value| value < 0.0).count();
    (2.0 * coin_at_most(above + below, above.min(below))).min(1.0)
}

/// The median with the interval of all medians that the test does not reject at `level`.
///
/// `sorted`: ascending. `level`: the two-sided error. `None` without values. The bounds are order statistics
/// (Hettmansperger & McKean 2011, 1.3), so ties only make the interval hold more often.
pub fn interval(sorted: &[f64], level: f64) -> Option<Interval> {
    let n = sorted.len();
    let estimate = median_of_sorted(sorted)?;
    let (low, high) = match values_outside(n, level) {
        0 => (f64::NEG_INFINITY, f64::INFINITY),
        outside => (sorted[outside - 1], sorted[n - outside]),
    };
    Some(Interval { estimate, low, high, confidence: 1.0 - level, n })
}

/// The largest k for which P(X < k) ≤ `level`/2, X the heads of `n` tosses.
fn values_outside(n: usize, level: f64) -> usize {
    let tail = level / 2.0;
    let near = n as f64 / 2.0 - normal_quantile_above(tail) * (n as f64).sqrt() / 2.0;
    let mut outside = near.clamp(0.0, n as f64 / 2.0) as usize;
    // The normal guess is off by one or two at most.
    while outside > 0 && coin_at_most(n, outside - 1) > tail {
        outside -= 1;
    }
    while outside < n / 2 && coin_at_most(n, outside) <= tail {
        outside += 1;
    }
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chance_is_that_of_a_fair_coin() {
        // scipy.stats.binomtest(7, 9).pvalue; zeros do not count.
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, -1.0, -2.0, 0.0, 0.0];
        assert!((p_value(&values) - 0.1796875).abs() < 1e-12);
        assert_eq!(p_value(&[0.0]), 1.0);
    }

    #[test]
    fn bounds_are_order_statistics() {
        // Conover 1999, table A3: with n = 10 the 2nd and 9th values hold the median in 97.9 % of cases.
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let of_ten = interval(&values, 0.05).expect("there are values");
        assert_eq!((of_ten.low, of_ten.estimate, of_ten.high), (2.0, 5.5, 9.0));
        // scipy.stats.binom.ppf(0.025, 10000, 0.5) = 4902.
        assert_eq!(values_outside(10_000, 0.05), 4902);
        assert_eq!(values_outside(5, 0.05), 0);
        assert_eq!(values_outside(0, 0.05), 0);
    }
}
