//! Wilcoxon's signed rank test, and the interval of all centres that it does not reject.
//!
//! Valid when each value is as likely to have either sign under "no difference", which the random order of a
//! pair makes true whatever noise follows the machine from run to run.

use crate::describe::distribution::{normal_above, normal_quantile_above};
use crate::infer::walsh;
use crate::interval::Interval;

/// Up to here the distribution of the statistic is counted out; above, it is normal to three digits in the tails.
const EXACT_VALUES_MAX: usize = 64;

/// Two-sided p value of "the centre is 0".
///
/// Zeros take part in the ranking and then count for neither side (Pratt 1959), equal sizes share their mean rank.
/// Up to 64 values the distribution given these ranks is exact, ties and zeros included; above it is normal
/// with the variance of these ranks and a correction for continuity. 1 without a value other than 0.
pub fn p_value(values: &[f64]) -> f64 {
    let mut sizes: Vec<(f64, bool)> = values.iter().map(|&value| (value.abs(), value > 0.0)).collect();
    sizes.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    // Twice the rank, which is whole even where two share one; and whether the value is above 0.
    let mut doubled_ranks: Vec<(usize, bool)> = Vec::with_capacity(sizes.len());
    let mut start = 0;
    for tied in sizes.chunk_by(|a, b| a.0 == b.0) {
        let doubled_rank = 2 * start + tied.len() + 1;
        start += tied.len();
        if tied[0].0 != 0.0 {
            doubled_ranks.extend(tied.iter().map(|&(_, positive)| (doubled_rank, positive)));
        }
    }
    let total: usize = doubled_ranks.iter().map(|&(rank, _)| rank).sum();
    let positive: usize = doubled_ranks.iter().filter(|&&(_, positive)| positive).map(|&(rank, _)| rank).sum();
    let smaller = positive.min(total - positive);
    let tail = if values.len() <= EXACT_VALUES_MAX {
        let chances = null_distribution(doubled_ranks.iter().map(|&(rank, _)| rank));
        chances[..=smaller].iter().sum()
    } else {
        let variance: f64 = doubled_ranks.iter().map(|&(rank, _)| (rank as f64).powi(2) / 4.0).sum();
        if variance == 0.0 {
            return 1.0;
        }
        // Sums of doubled ranks move in steps of 2 where there are no ties, so half a step is 1.
        normal_above((total as f64 / 2.0 - smaller as f64 - 1.0) / variance.sqrt())
    };
    (2.0 * tail).min(1.0)
}

/// Chance of each sum when every score is taken or left by a toss of a coin; the index is the sum.
fn null_distribution(scores: impl Iterator<Item = usize>) -> Vec<f64> {
    let mut chances = vec![1.0];
    for score in scores {
        let reached = chances.len();
        chances.resize(reached + score, 0.0);
        for sum in (0..chances.len()).rev() {
            let with = if sum >= score { chances[sum - score] } else { 0.0 };
            let without = if sum < reached { chances[sum] } else { 0.0 };
            chances[sum] = 0.5 * (with + without);
        }
    }
    chances
}

/// The Hodges–Lehmann estimate with the interval of all centres that the test does not reject at `level`.
///
/// `sorted`: ascending. `level`: the two-sided error, 0.05 for 95 %. `None` without values. With ties or zeros the
/// closed interval holds the truth at least as often as stated (Randles & Wolfe 1979, 6.2).
pub fn interval(sorted: &[f64], level: f64) -> Option<Interval> {
    intervals(sorted, [level]).map(|[interval]| interval)
}

/// [`interval`] at several levels, for little more than the price of one.
pub fn intervals<const LEVELS: usize>(sorted: &[f64], levels: [f64; LEVELS]) -> Option<[Interval; LEVELS]> {
    if sorted.is_empty() {
        return None;
    }
    let n = sorted.len();
    let estimate = walsh::hodges_lehmann(sorted);
    Some(averages_outside(n, levels).map(|(level, outside)| {
        let (low, high) = match outside {
            0 => (f64::NEG_INFINITY, f64::INFINITY),
            outside => (walsh::select(sorted, outside - 1), walsh::select(sorted, walsh::count(n) - outside)),
        };
        Interval { estimate, low, high, confidence: 1.0 - level, n }
    }))
}

/// The largest k for which P(T < k) ≤ `level`/2, T the rank sum of `n` values without ties: the bounds are the k-th
/// Walsh averages from either end.
fn averages_outside<const LEVELS: usize>(n: usize, levels: [f64; LEVELS]) -> [(f64, usize); LEVELS] {
    if n <= EXACT_VALUES_MAX {
        let chances = null_distribution(1..=n);
        return levels.map(|level| {
            let mut sum = 0.0;
            let within = |chance: &&f64| {
                sum += **chance;
                sum <= level / 2.0
            };
            (level, chances.iter().take_while(within).count())
        });
    }
    let averages = walsh::count(n) as f64;
    let deviation = (averages * (2 * n + 1) as f64 / 12.0).sqrt();
    levels.map(|level| {
        let bound = averages / 2.0 + 0.5 - normal_quantile_above(level / 2.0) * deviation;
        (level, bound.max(0.0) as usize)
    })
}

/// Number of pairs that the test needs before any result can be significant at `level`.
pub fn values_needed(level: f64) -> usize {
    // All n on one side has chance 2 · 2⁻ⁿ.
    (1.0 - level.log2()).ceil().max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::quantile::sorted;

    #[test]
    fn small_samples_are_counted_out() {
        // Hamilton depression scores, Hollander & Wolfe 1973, p. 29; R and SciPy 1.17 give p = 0.0390625 and T = 5.
        let before = [1830, 500, 1620, 2480, 1680, 1880, 1550, 3060, 1300];
        let after = [878, 647, 598, 2050, 1060, 1290, 1060, 3140, 1290];
        let falls: Vec<f64> = before.iter().zip(after).map(|(&was, is)| f64::from(was - is) / 1000.0).collect();
        assert_eq!(p_value(&falls), 0.0390625);
        // The same page: estimate 0.46, and R's wilcox.test(conf.int = TRUE) gives 0.010 to 0.786 at 96.1 %.
        let interval = interval(&sorted(&falls), 0.05).expect("there are values");
        assert!((interval.estimate - 0.46).abs() < 1e-9, "{interval:?}");
        assert!((interval.low - 0.010).abs() < 1e-9 && (interval.high - 0.786).abs() < 1e-9, "{interval:?}");
    }

    #[test]
    fn ties_and_zeros_follow_pratt() {
        // scipy.stats.wilcoxon(y, zero_method="pratt", method=PermutationMethod()): all 1,024 signs of the ten.
        let values = [0.0, 0.0, 1.0, -1.0, 2.0, 2.0, -3.0, 4.0, 5.0, 5.0, -6.0, 7.0];
        assert!((p_value(&values) - 0.22265625).abs() < 1e-12);
        assert_eq!(p_value(&[0.0; 5]), 1.0);
        assert_eq!(p_value(&[]), 1.0);
    }

    #[test]
    fn large_samples_are_normal_with_the_variance_of_their_ranks() {
        // scipy.stats.wilcoxon(z, zero_method="pratt", method="asymptotic", correction=True).
        let values: Vec<f64> = (0..100).map(|i| f64::from((i * 37) % 101 - 50) / 10.0 + 0.31).collect();
        assert!((p_value(&values) - 0.3047313651178153).abs() < 1e-9);
        let tied: Vec<f64> = values.iter().map(|value| value.round_ties_even()).collect();
        assert!((p_value(&tied) - 0.2811937949331671).abs() < 1e-9);
    }

    #[test]
    fn bounds_sit_at_the_ranks_of_the_tables() {
        // Hollander & Wolfe 1999, table A.4: critical values of T at two-sided 5 % (5, 8 at 10, 25 at 15, 52 at 20).
        for (n, largest_rejected) in [(6, 0), (10, 8), (15, 25), (20, 52)] {
            assert_eq!(averages_outside(n, [0.05]), [(0.05, largest_rejected + 1)], "n = {n}");
        }
        assert_eq!(averages_outside(5, [0.05]), [(0.05, 0)]);
        assert_eq!(values_needed(0.05), 6);
        // Counted out and normal meet where one hands over to the other.
        let [(_, exact)] = averages_outside(64, [0.01]);
        let [(_, normal)] = averages_outside(65, [0.01]);
        assert!(normal > exact && normal < exact + 40, "{exact} {normal}");
    }

    #[test]
    fn few_values_have_no_bounds() {
        let interval = interval(&[1.0, 2.0, 4.0], 0.05).expect("there are values");
        assert_eq!((interval.low, interval.high), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!(interval.estimate, 2.25);
    }
}
