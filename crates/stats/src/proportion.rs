//! Shares: intervals of a proportion, and of the difference of two.

use crate::distribution::normal_quantile_above;
use crate::interval::Interval;

/// Score interval of a proportion (Wilson 1927).
///
/// `share`: found among `n` observations, 0 to 1; `n` need not be whole, for observations of unequal weight.
/// `level`: the two-sided error. Without observations all of 0 to 1.
pub fn wilson(share: f64, n: f64, level: f64) -> Interval {
    let observed = n.round().max(0.0) as usize;
    if n <= 0.0 {
        return Interval { estimate: share, low: 0.0, high: 1.0, confidence: 1.0 - level, n: observed };
    }
    let z2 = normal_quantile_above(level / 2.0).powi(2);
    let centre = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = (z2 * (share * (1.0 - share) / n + z2 / (4.0 * n * n))).sqrt() / (1.0 + z2 / n);
    // At both ends the formula is exact, its arithmetic is not.
    let low = if share <= 0.0 { 0.0 } else { (centre - half).max(0.0) };
    let high = if share >= 1.0 { 1.0 } else { (centre + half).min(1.0) };
    Interval { estimate: share, low, high, confidence: 1.0 - level, n: observed }
}

/// How much larger the proportion `b` is than `a`: the hybrid score interval (Newcombe 1998, method 10).
///
/// Each is a share and its n, as for [`wilson`]. The `n` of the result is the smaller one.
pub fn difference(a: (f64, f64), b: (f64, f64), level: f64) -> Interval {
    let (of_a, of_b) = (wilson(a.0, a.1, level), wilson(b.0, b.1, level));
    let estimate = b.0 - a.0;
    Interval {
        estimate,
        low: estimate - (of_b.estimate - of_b.low).hypot(of_a.high - of_a.estimate),
        high: estimate + (of_b.high - of_b.estimate).hypot(of_a.estimate - of_a.low),
        confidence: 1.0 - level,
        n: of_a.n.min(of_b.n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn intervals_are_those_of_the_literature() {
        // statsmodels.stats.proportion.proportion_confint(15, 148, method="wilson").
        let interval = wilson(15.0 / 148.0, 148.0, 0.05);
        assert!((interval.low - 0.0624).abs() < 5e-5 && (interval.high - 0.1605).abs() < 5e-5, "{interval:?}");
        // Newcombe 1998, table II, row (a), method 10: 56/70 − 48/80.
        let interval = difference((48.0 / 80.0, 80.0), (56.0 / 70.0, 70.0), 0.05);
        assert!((interval.low - 0.0524).abs() < 5e-5 && (interval.high - 0.3339).abs() < 5e-5, "{interval:?}");
    }

    #[test]
    fn none_and_all_of_n_have_bounds_within_0_and_1() {
        let (none, all) = (wilson(0.0, 20.0, 0.05), wilson(1.0, 20.0, 0.05));
        assert_eq!((none.low, all.high), (0.0, 1.0));
        assert!((none.high - 0.1611).abs() < 1e-4 && (all.low - 0.8389).abs() < 1e-4);
        let nothing = wilson(0.0, 0.0, 0.05);
        assert_eq!((nothing.low, nothing.high, nothing.n), (0.0, 1.0, 0));
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        let mut seed = Seed::new(7);
        for truth in [0.02, 0.3] {
            let trials = 4000;
            let holds = (0..trials).filter(|_| {
                let found = (0..300).filter(|_| (seed.below(10_000) as f64) < truth * 10_000.0).count();
                let interval = wilson(found as f64 / 300.0, 300.0, 0.05);
                !interval.excludes(truth)
            });
            let rate = holds.count() as f64 / f64::from(trials);
            assert!((rate - 0.95).abs() < 0.02, "{truth}: {rate}");
        }
    }
}
