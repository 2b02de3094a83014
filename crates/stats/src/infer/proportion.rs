//! Shares: intervals of a proportion, and of the difference of two.

use crate::describe::distribution::{incomplete_beta, normal_quantile_above};
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

/// Exact interval of a proportion (Clopper & Pearson 1934): each bound errs with `level` / 2 at most, also far out, where the bounds
/// of [`wilson`] lie too near to a small share.
///
/// Arguments as for [`wilson`].
pub fn exact(share: f64, n: f64, level: f64) -> Interval {
    let observed = n.round().max(0.0) as usize;
    let confidence = 1.0 - level;
    if n <= 0.0 {
        return Interval { estimate: share, low: 0.0, high: 1.0, confidence, n: observed };
    }
    // P(X ≥ k) for X binomial with probability x is the incomplete beta function of k and n − k + 1.
    let (found, near) = (share.clamp(0.0, 1.0) * n, wilson(share, n, level));
    let low = match share <= 0.0 {
        true => 0.0,
        false => beta_quantile(found, n - found + 1.0, level / 2.0, near.low).min(share),
    };
    let high = match share >= 1.0 {
        true => 1.0,
        false => beta_quantile(found + 1.0, n - found, 1.0 - level / 2.0, near.high).max(share),
    };
    Interval { estimate: share, low, high, confidence, n: observed }
}

/// The x at which the beta distribution of `a` and `b` reaches `target`: Newton's steps from `start`, halving where they leave what is
/// known to hold the answer.
fn beta_quantile(a: f64, b: f64, target: f64, start: f64) -> f64 {
    let normaliser = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let (mut low, mut high) = (0.0, 1.0);
    let mut x = if start > 0.0 && start < 1.0 { start } else { 0.5 };
    for _ in 0..200 {
        let above = incomplete_beta(a, b, x) - target;
        if above < 0.0 {
            low = x
        } else {
            high = x
        }
        let density = ((a - 1.0) * x.ln() + (b - 1.0) * (1.0 - x).ln() - normaliser).exp();
        let step = x - above / density;
        let next = if step > low && step < high { step } else { 0.5 * (low + high) };
        if (next - x).abs() <= 1e-12 * x {
            return next;
        }
        x = next;
    }
    x
}

/// Interval of the difference `b` − `a` of two independent estimates, from an interval of each: the distances of the estimates
/// and their bounds are added in quadrature (Newcombe 1998, whose method 10 this is for two [`wilson`] intervals; Zou & Donner
/// 2008 for any two). The `n` of the result is the smaller one.
pub fn difference(a: Interval, b: Interval) -> Interval {
    let estimate = b.estimate - a.estimate;
    Interval {
        estimate,
        low: estimate - (b.estimate - b.low).hypot(a.high - a.estimate),
        high: estimate + (b.high - b.estimate).hypot(a.estimate - a.low),
        confidence: a.confidence.min(b.confidence),
        n: a.n.min(b.n),
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
        let interval = difference(wilson(48.0 / 80.0, 80.0, 0.05), wilson(56.0 / 70.0, 70.0, 0.05));
        assert!((interval.low - 0.0524).abs() < 5e-5 && (interval.high - 0.3339).abs() < 5e-5, "{interval:?}");
    }

    #[test]
    fn exact_intervals_err_as_the_binomial_distribution_does() {
        // Sums of binomial probabilities, solved for the probability.
        for (found, n, level, low, high) in [
            (15.0, 148.0, 0.05, 0.057_844_010_1, 0.161_650_490_3),
            (5.0, 6000.0, 6e-5, 5.728_052_1e-5, 3.517_729_168e-3),
        ] {
            let interval = exact(found / n, n, level);
            let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 1e-7;
            assert!(near(interval.low, low) && near(interval.high, high), "{interval:?}");
        }
        // None of n: 1 − (α/2)^(1/n).
        let none = exact(0.0, 300.0, 1e-4);
        assert_eq!(none.low, 0.0);
        assert!((none.high - (1.0 - 0.5e-4f64.powf(1.0 / 300.0))).abs() < 1e-12, "{none:?}");
        let all = exact(1.0, 300.0, 1e-4);
        assert_eq!(all.high, 1.0);
        assert!((all.low - (1.0 - none.high)).abs() < 1e-12, "{all:?}");
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
