//! Centre and spread of one benchmark.

use crate::describe::outliers::Outliers;
use crate::describe::quantile::{median, quantile_of_sorted, robust_deviation, sorted};
use crate::files::samples::Benchmark;
use crate::infer::single_sample::median_interval;
use crate::interval::Interval;

/// Error of the interval of the centre.
const ALPHA: f64 = 0.05;
/// Shares of the values below a quantile, from the least value to the largest.
const SHARES: [f64; 8] = [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0];

/// What the values of a benchmark are like, warm-ups not counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Number of processes.
    pub processes: usize,
    /// Number of values.
    pub values: usize,
    /// Number of warm-ups, which do not count.
    pub warmups: usize,
    /// Loops a value stands for, from the fewest to the most.
    pub loops: [u64; 2],
    /// Median of the processes' medians; of one process, of its values.
    pub median: Option<Interval>,
    /// Mean of all values.
    pub mean: f64,
    /// Standard deviation; `None` of one value.
    pub deviation: Option<f64>,
    /// 1.4826 × MAD.
    pub robust_deviation: Option<f64>,
    /// Shares of values, and the value that this many are below.
    pub quantiles: Vec<(f64, f64)>,
    /// Number of values far from the others.
    pub outliers: usize,
}

impl Summary {
    /// `None` when no value counts.
    pub fn of(benchmark: &Benchmark) -> Option<Summary> {
        let ordered = sorted(&benchmark.values().collect::<Vec<_>>());
        let clusters = benchmark.clusters();
        let mean = ordered.iter().sum::<f64>() / ordered.len() as f64;
        let squares: f64 = ordered.iter().map(|value| (value - mean).powi(2)).sum();
        let counted = || benchmark.runs.iter().filter(|run| !run.values.is_empty());
        Some(Summary {
            processes: clusters.len(),
            values: ordered.len(),
            warmups: benchmark.runs.iter().map(|run| run.warmups.len()).sum(),
            loops: [counted().map(|run| run.loops).min()?, counted().map(|run| run.loops).max()?],
            median: benchmark_median(benchmark, ALPHA),
            mean,
            deviation: (ordered.len() > 1).then(|| (squares / (ordered.len() - 1) as f64).sqrt()),
            robust_deviation: robust_deviation(&ordered),
            quantiles: SHARES
                .into_iter()
                .filter_map(|share| Some((share, quantile_of_sorted(&ordered, share)?)))
                .collect(),
            outliers: Outliers::of(&ordered).count(),
        })
    }
}

/// The median of a benchmark with its interval: of one process, of its values; of several, of their medians, because the
/// values of a process resemble each other. `level`: two-sided error. `None` without values.
pub fn benchmark_median(benchmark: &Benchmark, level: f64) -> Option<Interval> {
    match benchmark.clusters().as_slice() {
        [only] => median_interval(only, level),
        several => median_interval(&several.iter().filter_map(|values| median(values)).collect::<Vec<_>>(), level),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::samples::Run;

    #[test]
    fn a_process_counts_once() {
        let runs = (0..12).map(|at| Run { values: vec![f64::from(at * 5 % 12); 3], ..Run::of(1.0) });
        let several = Benchmark { runs: runs.collect(), ..Benchmark::new("several") };
        assert_eq!(benchmark_median(&several, 0.05).map(|median| median.n), Some(12));
        let only = Run { values: vec![1.0, 2.0, 3.0], ..Run::of(1.0) };
        let one = Benchmark { runs: vec![only], ..Benchmark::new("one") };
        assert_eq!(benchmark_median(&one, 0.05).map(|median| median.n), Some(3));
    }
}
