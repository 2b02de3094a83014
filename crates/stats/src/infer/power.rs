//! How large a difference a number of values finds, and how many values a difference takes.

use crate::describe::distribution::{normal_quantile_above, student_quantile_above};
use crate::infer::signed_rank;

/// Share of cases in which a difference of the stated size is found.
pub const POWER: f64 = 0.9;

/// Asymptotic efficiency of the signed rank test relative to Student's, for normal values: 3/π (Hodges & Lehmann 1956).
const EFFICIENCY: f64 = 3.0 / std::f64::consts::PI;

/// Values from which more are no answer to anything: the search ends there.
const VALUES_MAX: usize = 1_000_000;

/// Smallest centre that the signed rank test at `alpha` calls different from 0 in nine of ten samples of `n` values.
///
/// `deviation`: standard deviation of the values. (t₁₋α⁄₂ + t₀.₉) σ ∕ √(n · 3∕π) with n − 1 degrees of freedom; infinite for fewer
/// values than the test needs. Source: Lehmann 1975, *Nonparametrics*, section 4.2.
pub fn detectable(deviation: f64, n: usize, alpha: f64) -> f64 {
    if n < signed_rank::values_needed(alpha).max(2) {
        return f64::INFINITY;
    }
    let freedom = (n - 1) as f64;
    let quantiles = student_quantile_above(alpha / 2.0, freedom) + student_quantile_above(1.0 - POWER, freedom);
    quantiles * deviation / (n as f64 * EFFICIENCY).sqrt()
}

/// Least number of values of which [`detectable`] is `difference` or less; `None` if it is beyond a million or not known.
pub fn values_for(deviation: f64, difference: f64, alpha: f64) -> Option<usize> {
    if !deviation.is_finite() || difference <= 0.0 {
        return None;
    }
    // The normal quantiles are below those of Student, so that the search starts below its end.
    let quantiles = normal_quantile_above(alpha / 2.0) + normal_quantile_above(1.0 - POWER);
    let start = ((quantiles * deviation / difference).powi(2) / EFFICIENCY).floor();
    let start = (start.min(VALUES_MAX as f64) as usize).max(signed_rank::values_needed(alpha).max(2));
    (start..=VALUES_MAX).find(|&n| detectable(deviation, n, alpha) <= difference)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::quantile::sorted;
    use crate::noise::normal;
    use crate::seed::Seed;

    #[test]
    fn a_difference_of_that_size_is_found_in_nine_of_ten_samples() {
        let mut seed = Seed::new(31);
        for n in [8, 12, 20, 50] {
            let difference = detectable(1.0, n, 0.05);
            let samples = 2000;
            let finds = |seed: &mut Seed| {
                let values: Vec<f64> = (0..n).map(|_| difference + normal(seed)).collect();
                signed_rank::interval(&sorted(&values), 0.05).expect("there are values").excludes(0.0)
            };
            let found = (0..samples).filter(|_| finds(&mut seed)).count() as f64 / f64::from(samples);
            assert!((0.85..0.95).contains(&found), "n = {n}: {found}");
        }
    }

    #[test]
    fn so_many_values_are_the_least_that_find_it() {
        for deviation in [0.001, 0.01, 0.04, 0.2] {
            let n = values_for(deviation, 0.01, 0.05).expect("it is not beyond all numbers");
            assert!(detectable(deviation, n, 0.05) <= 0.01);
            assert!(n == 6 || detectable(deviation, n - 1, 0.05) > 0.01, "{deviation}: {n}");
        }
        assert_eq!(values_for(f64::NAN, 0.01, 0.05), None);
        assert_eq!(detectable(0.01, 5, 0.05), f64::INFINITY);
    }
}
