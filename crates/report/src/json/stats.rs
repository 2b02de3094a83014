//! Centre and spread of stored samples, as JSON.

use prony_stats::Interval;
use prony_stats::samples::Benchmark;
use prony_stats::summary::Summary;
use serde::Serialize;

/// The answer for one benchmark.
#[derive(Debug, Serialize)]
pub struct StatsDocument<'a> {
    file: &'a str,
    benchmark: &'a str,
    metric: &'a str,
    unit: &'a str,
    processes: usize,
    values: usize,
    warmups: usize,
    /// Loops a value stands for, from the fewest to the most.
    loops: [u64; 2],
    /// Median of the processes' medians; of one process, of its values.
    median: Option<Interval>,
    mean: f64,
    deviation: Option<f64>,
    robust_deviation: Option<f64>,
    quantiles: &'a [(f64, f64)],
    outliers: usize,
}

/// The answer for a benchmark of this file.
pub fn answer<'a>(file: &'a str, benchmark: &'a Benchmark, summary: &'a Summary) -> StatsDocument<'a> {
    StatsDocument {
        file,
        benchmark: &benchmark.name,
        metric: benchmark.metric(),
        unit: benchmark.unit_name(),
        processes: summary.processes,
        values: summary.values,
        warmups: summary.warmups,
        loops: summary.loops,
        median: summary.median,
        mean: summary.mean,
        deviation: summary.deviation,
        robust_deviation: summary.robust_deviation,
        quantiles: &summary.quantiles,
        outliers: summary.outliers,
    }
}
