//! One command by itself: how long it takes, how sure that is, and how much it varies.

use prony_stats::distribution::{normal_above, normal_quantile_above};
use prony_stats::samples::Benchmark;
use prony_stats::serial::correlation_time;
use prony_stats::{Interval, quantile, sign_test};

use crate::sample::of_runs;

/// One command by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The value that a worker gave, or wall time, in the benchmark's unit.
    pub value: Spread,
    /// CPU time, in seconds.
    pub cpu_s: Option<Spread>,
    /// Wall time without the wait for a CPU, in seconds; `None` where that is not known of every run.
    pub net_s: Option<Spread>,
}

/// Some values of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// The median with its interval; the bounds are infinite where there are too few values.
    pub median: Interval,
    /// Mean.
    pub mean: f64,
    /// Standard deviation of a sample; 0 of one value.
    pub deviation: f64,
    /// The lowest.
    pub min: f64,
    /// The highest.
    pub max: f64,
}

impl Spread {
    /// Of `values`; the interval errs with probability `alpha`. `None` without values.
    pub fn of(values: &[f64], alpha: f64) -> Option<Spread> {
        let sorted = quantile::sorted(values);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let n = sorted.len() as f64;
        let mean = sorted.iter().sum::<f64>() / n;
        let squares = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let deviation = if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
        // Neighbours in time resemble each other, as noise comes in bursts, so n values are worth fewer. Of a
        // median only the side matters that a value is on.
        let sides = sides(values, quantile::median_of_sorted(&sorted)?);
        let worth = correlation_time(&[&sides]);
        let median = sign_test::interval(&sorted, level_of_correlated(alpha, worth))?;
        let median = Interval { confidence: 1.0 - alpha, ..median };
        Some(Spread { median, mean, deviation, min, max })
    }
}

fn sides(values: &[f64], median: f64) -> Vec<f64> {
    values.iter().map(|value| if *value > median { 1.0 } else { 0.0 }).collect()
}

/// The level whose normal quantile is farther out by the square root of `worth`: an interval at it is as wide
/// as one of `worth` times fewer values.
fn level_of_correlated(alpha: f64, worth: f64) -> f64 {
    2.0 * normal_above(normal_quantile_above(alpha / 2.0) * worth.sqrt())
}

impl Summary {
    /// Of all runs of a benchmark that have values.
    pub fn of(benchmark: &Benchmark, alpha: f64) -> Option<Summary> {
        let values: Vec<f64> = benchmark.values().collect();
        let (cpu, net) = of_runs(benchmark);
        Some(Summary {
            value: Spread::of(&values, alpha)?,
            cpu_s: Spread::of(&cpu, alpha),
            net_s: net.and_then(|net| Spread::of(&net, alpha)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_wider_where_values_resemble_their_neighbours() {
        // The same 200 values: mixed, and in bursts of 20.
        let mixed: Vec<f64> = (0..200).map(|at| 1.0 + f64::from(at * 77 % 200) / 200.0).collect();
        let bursts: Vec<f64> =
            (0..200).map(|at| 1.0 + f64::from(at / 20 % 2) / 2.0 + f64::from(at % 20) / 40.0).collect();
        let width = |values: &[f64]| Spread::of(values, 0.05).expect("there are values").median.width();
        assert!(width(&bursts) > 2.0 * width(&mixed), "{} and {}", width(&bursts), width(&mixed));
    }

    #[test]
    fn a_spread_is_that_of_the_values() {
        let spread = Spread::of(&[3.0, 1.0, 2.0, 4.0], 0.05).expect("there are values");
        assert_eq!((spread.min, spread.max, spread.mean, spread.median.estimate), (1.0, 4.0, 2.5, 2.5));
        assert!((spread.deviation - (5.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!(spread.median.low.is_infinite(), "four values say nothing at 5 %");
        assert_eq!(Spread::of(&[], 0.05), None);
    }
}
