//! Histograms in the terminal.

use prony_stats::histogram::Histogram;
use prony_stats::samples::Benchmark;
use prony_text::{Untrusted, count};

use super::bench::histogram_lines;

/// The histogram of a benchmark, with the name of its file if that is given; `None` when no value counts.
pub fn text(file: Option<&str>, benchmark: &Benchmark, bins: usize) -> Option<String> {
    let values: Vec<f64> = benchmark.values().collect();
    let histogram = Histogram::of(&values, bins)?;
    let file = file.map_or_else(String::new, |file| format!("{}: ", Untrusted::new(file)));
    let mut out = format!("{file}{}: {}\n", Untrusted::new(&benchmark.name), count(values.len() as u64, "value"));
    histogram_lines(&mut out, &histogram, benchmark.unit_name());
    Some(out)
}
