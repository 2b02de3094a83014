//! Variation of a comparison from repeat to repeat, with machines and workloads fixed.
//!
//! A machine and workload is a stratum, and its repeats are drawn again: what an effect is *on these workloads* is the mean
//! of the strata, and the variance of that is Σ s²ₖ/nₖ / K² over K strata, with the freedom of Satterthwaite (1946), as
//! workloads need not scatter alike. A repeat is a block, and counts once: all edges in it saw the same machine.

use std::collections::BTreeMap;

use super::pairs::Pair;

/// A variance, and how many squares it is known from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    /// Variance of the mean, in squared log ratios.
    pub variance_of_mean: f64,
    /// Squares less what was taken from them.
    pub freedom: f64,
}

/// The comparisons of a design by machine and workload, and in each by repeat.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Repeats(Vec<Stratum>);

#[derive(Debug, Clone, Copy, PartialEq)]
struct Stratum {
    repeats: f64,
    /// Variance between its repeats, where there is more than one; else what the others have in common.
    variance: f64,
}

/// Sum of the comparisons in each repeat, and their number.
type Sums = BTreeMap<u32, (f64, f64)>;

impl Repeats {
    /// `None` where nothing was repeated.
    pub fn of(pairs: &[Pair]) -> Option<Repeats> {
        let mut strata: BTreeMap<(usize, Option<usize>), Sums> = BTreeMap::new();
        for pair in pairs {
            let sum = strata.entry((pair.machine, pair.workload)).or_default().entry(pair.repeat).or_default();
            *sum = (sum.0 + pair.d, sum.1 + 1.0);
        }
        let squares = |repeats: &Sums| {
            let values: Vec<f64> = repeats.values().map(|(sum, n)| sum / n).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
        };
        let freedom: usize = strata.values().map(|repeats| repeats.len() - 1).sum();
        let common = strata.values().map(squares).sum::<f64>() / freedom as f64;
        let stratum = |repeats: &Sums| Stratum {
            repeats: repeats.len() as f64,
            variance: if repeats.len() > 1 { squares(repeats) / (repeats.len() - 1) as f64 } else { common },
        };
        (freedom > 0).then(|| Repeats(strata.values().map(stratum).collect()))
    }

    /// Number of values over all strata.
    pub fn count(&self) -> usize {
        self.0.iter().map(|stratum| stratum.repeats as usize).sum()
    }

    /// Spread of the mean of the strata, if repeats are independent of each other.
    pub fn of_mean(&self) -> Spread {
        self.weighted(|stratum| 1.0 / stratum.repeats / (self.0.len() as f64).powi(2))
    }

    /// Spread of the mean of the strata, if the repeats of all strata share their error: one more repeat, or one more
    /// workload, does not make it smaller.
    pub fn of_one(&self) -> Spread {
        self.weighted(|_| 1.0 / self.0.len() as f64)
    }

    /// Variance of a weighted sum, with its degrees of freedom (Satterthwaite 1946).
    fn weighted(&self, weight: impl Fn(&Stratum) -> f64) -> Spread {
        let all: f64 = self.0.iter().map(|stratum| stratum.repeats - 1.0).sum();
        // Strata without repeats of their own have the variance that the others have in common.
        let borrowed: f64 = self.0.iter().filter(|stratum| stratum.repeats < 2.0).map(&weight).sum();
        let (mut variance, mut squares) = (0.0, 0.0);
        for stratum in self.0.iter().filter(|stratum| stratum.repeats > 1.0) {
            let freedom = stratum.repeats - 1.0;
            let part = (weight(stratum) + borrowed * freedom / all) * stratum.variance;
            variance += part;
            squares += part.powi(2) / freedom;
        }
        Spread { variance_of_mean: variance, freedom: if squares > 0.0 { variance.powi(2) / squares } else { all } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(workload: usize, repeat: u32, d: f64) -> Pair {
        Pair { edge: 0, machine: 0, workload: Some(workload), repeat, d }
    }

    #[test]
    fn variances_of_strata_add_up_as_by_hand() {
        // s² is 2 and 8 of two repeats each: 2/2 + 8/2 over 2² strata; freedom 1.25² / (0.25² + 1²).
        let pairs = [pair(0, 0, 1.0), pair(0, 1, 3.0), pair(1, 0, 10.0), pair(1, 1, 14.0)];
        let repeats = Repeats::of(&pairs).expect("there are repeats");
        let spread = repeats.of_mean();
        assert_eq!((repeats.count(), spread.variance_of_mean), (4, 1.25));
        assert!((spread.freedom - 1.5625 / 1.0625).abs() < 1e-12, "{spread:?}");
        assert_eq!(repeats.of_one().variance_of_mean, 5.0);
    }

    #[test]
    fn what_was_not_repeated_has_the_scatter_of_the_rest() {
        let pairs = [pair(0, 0, 1.0), pair(0, 1, 3.0), pair(1, 0, 10.0)];
        let spread = Repeats::of(&pairs).expect("there are repeats").of_mean();
        assert_eq!(spread, Spread { variance_of_mean: (2.0 / 2.0 + 2.0) / 4.0, freedom: 1.0 });
        assert_eq!(Repeats::of(&[pair(0, 0, 1.0), pair(1, 0, 2.0)]), None);
        assert_eq!(Repeats::of(&[]), None);
    }

    #[test]
    fn edges_of_one_repeat_count_once() {
        let one = [pair(0, 0, 1.0), pair(0, 1, 3.0)];
        let other_edge = one.clone().map(|pair| Pair { edge: 1, ..pair });
        assert_eq!(Repeats::of(&one), Repeats::of(&[one.clone(), other_edge].concat()));
    }
}
