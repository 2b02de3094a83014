//! Histograms as JSON.

use prony_stats::histogram::Histogram;
use prony_stats::samples::Benchmark;
use serde::Serialize;

/// The histogram of a benchmark.
#[derive(Debug, Serialize)]
pub struct HistDocument<'a> {
    file: &'a str,
    benchmark: &'a str,
    unit: &'a str,
    /// `null` when no value counts.
    histogram: Option<Histogram>,
}

impl HistDocument<'_> {
    /// The histogram of a benchmark of a file.
    pub fn of<'a>(file: &'a str, benchmark: &'a Benchmark, bins: usize) -> HistDocument<'a> {
        let values: Vec<f64> = benchmark.values().collect();
        let histogram = Histogram::of(&values, bins);
        HistDocument { file, benchmark: &benchmark.name, unit: benchmark.unit_name(), histogram }
    }
}
