//! Summary of a single command: its time, the uncertainty, and the variation.

use prony_stats::Metric;
use prony_stats::samples::Benchmark;
use prony_stats::single_sample::median_interval;
use prony_stats::summary::benchmark_median;
use prony_stats::{Interval, quantile};

use crate::sample::{of_runs, rss_of_runs};

/// Summary of the runs of one command.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The value that a worker gave, or wall time, in the benchmark's unit; the median is that of processes, of which each
    /// counts once.
    pub value: Spread,
    /// CPU time of a run, in seconds; `None` without a complete run.
    pub cpu_s: Option<Spread>,
    /// Wall time without the wait for a CPU, in seconds; `None` where that is not known of every run.
    pub uncontended_s: Option<Spread>,
    /// Peak of the resident memory, in bytes; `None` where it is known of no run.
    pub rss_bytes: Option<Spread>,
}

/// Spread of values of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// The median with its interval; the bounds are infinite where there are too few values.
    pub median: Interval,
    /// Mean of the values, in their unit.
    pub mean: f64,
    /// Standard deviation of a sample; 0 of one value.
    pub deviation: f64,
    /// Lowest of the values, in their unit.
    pub min: f64,
    /// Highest of the values, in their unit.
    pub max: f64,
}

impl Spread {
    /// Spread of `values`; the interval errs with probability `alpha`. `None` without values.
    pub fn of(values: &[f64], alpha: f64) -> Option<Spread> {
        let sorted = quantile::sorted(values);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let n = sorted.len() as f64;
        let mean = sorted.iter().sum::<f64>() / n;
        let squares = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let deviation = if n > 1.0 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
        let median = median_interval(values, alpha)?;
        Some(Spread { median, mean, deviation, min, max })
    }
}

impl Summary {
    /// Spread of this metric; `None` if it was not measured. The values of a worker are under `Metric::Cpu` where
    /// they are no times of a process.
    pub fn of_metric(&self, metric: Metric) -> Option<&Spread> {
        match metric {
            Metric::Cpu => self.cpu_s.as_ref(),
            Metric::Uncontended => self.uncontended_s.as_ref(),
            Metric::Wall => Some(&self.value),
            Metric::Rss => self.rss_bytes.as_ref(),
            Metric::AllocatedBytes | Metric::Allocations => None,
        }
    }

    /// Summary of all runs of a benchmark that have values.
    pub fn of(benchmark: &Benchmark, alpha: f64) -> Option<Summary> {
        let values: Vec<f64> = benchmark.values().collect();
        let (cpu, uncontended) = of_runs(benchmark);
        Some(Summary {
            value: Spread { median: benchmark_median(benchmark, alpha)?, ..Spread::of(&values, alpha)? },
            cpu_s: Spread::of(&cpu, alpha),
            uncontended_s: uncontended.and_then(|uncontended| Spread::of(&uncontended, alpha)),
            rss_bytes: Spread::of(&rss_of_runs(benchmark), alpha),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_that_of_the_values() {
        let spread = Spread::of(&[3.0, 1.0, 2.0, 4.0], 0.05).expect("there are values");
        assert_eq!((spread.min, spread.max, spread.mean, spread.median.estimate), (1.0, 4.0, 2.5, 2.5));
        assert!((spread.deviation - (5.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!(spread.median.low.is_infinite(), "four values say nothing at 5 %");
        assert_eq!(Spread::of(&[], 0.05), None);
    }
}
