//! The mean change of several benchmarks: the geometric mean of their ratios.

use crate::describe::distribution::normal_quantile_above;
use crate::interval::Interval;

/// Mean of log ratios that were estimated apart from each other, with an interval for the mean of *these* benchmarks.
///
/// Each interval gives its standard error: half its width over the normal quantile of its level. The errors of the
/// benchmarks are taken to be independent, as of runs at different times; what they have in common, such as a machine
/// that became slower between two files, is in no interval of one file either. Nothing is said of other benchmarks. `level`:
/// two-sided error. `None` without ratios; bounds are infinite where one of the intervals is.
pub fn geometric_mean(ratios: &[Interval], level: f64) -> Option<Interval> {
    let n = ratios.len();
    let estimate = ratios.iter().map(|ratio| ratio.estimate).sum::<f64>() / n as f64;
    if !estimate.is_finite() {
        return None;
    }
    let error = |ratio: &Interval| {
        let quantile = normal_quantile_above((1.0 - ratio.confidence) / 2.0);
        if ratio.width() == 0.0 { 0.0 } else { ratio.width() / 2.0 / quantile }
    };
    let squares: f64 = ratios.iter().map(|ratio| error(ratio).powi(2)).sum();
    let half = normal_quantile_above(level / 2.0) * squares.sqrt() / n as f64;
    let half = if half.is_finite() { half } else { f64::INFINITY };
    Some(Interval { estimate, low: estimate - half, high: estimate + half, confidence: 1.0 - level, n })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::noise::normal;

    fn known(estimate: f64, error: f64, level: f64) -> Interval {
        let half = normal_quantile_above(level / 2.0) * error;
        Interval { estimate, low: estimate - half, high: estimate + half, confidence: 1.0 - level, n: 30 }
    }

    #[test]
    fn the_mean_of_ratios_is_that_of_their_logarithms() {
        let mean = geometric_mean(&[known(2f64.ln(), 0.01, 0.05), known(0.5f64.ln(), 0.01, 0.05)], 0.05);
        let mean = mean.expect("there are ratios");
        assert!(mean.estimate.abs() < 1e-12 && mean.n == 2);
        // Two errors of 1 % are one of 0.7 %.
        assert!((mean.width() / 2.0 - 1.96 * 0.01 / 2f64.sqrt()).abs() < 1e-5, "{mean:?}");
        assert_eq!(geometric_mean(&[], 0.05), None);
        let unknown = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY, ..known(0.0, 0.01, 0.05) };
        assert!(
            geometric_mean(&[known(0.0, 0.01, 0.05), unknown], 0.05).is_some_and(|mean| mean.width().is_infinite())
        );
        let exact = Interval { estimate: 0.1, low: 0.1, high: 0.1, confidence: 0.95, n: 9 };
        assert!(geometric_mean(&[exact], 0.05).is_some_and(|mean| mean.width() == 0.0));
    }

    #[test]
    fn the_interval_holds_the_mean_as_often_as_stated_whatever_the_levels() {
        const FILES: usize = 4000;
        let mut seed = Seed::new(3);
        let wrong = (0..FILES).filter(|_| {
            let ratios: Vec<Interval> = (0..8)
                .map(|at| {
                    let (truth, error) = (0.01 * f64::from(at), 0.002 * f64::from(at + 1));
                    // As Holm's steps leave them.
                    known(truth + error * normal(&mut seed), error, 0.05 / f64::from(at % 3 + 1))
                })
                .collect();
            geometric_mean(&ratios, 0.05).expect("there are ratios").excludes(0.035)
        });
        let wrong = wrong.count() as f64 / FILES as f64;
        assert!((0.035..0.065).contains(&wrong), "{wrong}");
    }
}
