//! A table in Markdown, as hyperfine users paste it into an issue.

use std::fmt::Write;

use prony_text::markdown_code;

use super::{command_with_values, timed};
use crate::files::samples::Samples;
use crate::interval::Interval;
use crate::metric::Metric;

/// Table with a row for each benchmark that takes time. `relative`: how each benchmark compares with the reference, or with
/// the fastest, as the interval of a log ratio, in the order of `samples.benchmarks`; without one the cell is empty, and that
/// of the reference is 1, which has none beside others that have: otherwise the first. `metric`: what the ratios are of, where
/// that is one metric and not the wall time of the other columns.
pub fn markdown(samples: &Samples, relative: &[Option<Interval>], metric: Option<Metric>) -> String {
    let rows: Vec<_> = timed(samples).collect();
    let reference = (0..samples.benchmarks.len()).find(|&place| relative.get(place).copied().flatten().is_none());
    let shortest = rows.iter().map(|(_, summary)| summary.mean).fold(f64::INFINITY, f64::min);
    let (unit, factor) = match shortest {
        seconds if seconds >= 1.0 => ("s", 1.0),
        seconds if seconds >= 1e-3 => ("ms", 1e3),
        seconds if seconds >= 1e-6 => ("µs", 1e6),
        _ => ("ns", 1e9),
    };
    let of = match metric {
        None | Some(Metric::Wall) => "",
        Some(Metric::Cpu) => " CPU time",
        Some(Metric::Uncontended) => " wall minus CPU wait",
        Some(Metric::Rss) => " peak memory",
        Some(Metric::AllocatedBytes | Metric::Allocations) => " allocations",
    };
    let mut out = format!(
        "| Command | Mean ± σ [{unit}] | Min [{unit}] | Max [{unit}] | Values | Relative{of} |\n|:---|---:|---:|---:|---:|---:|\n"
    );
    for (benchmark, summary) in rows {
        let number = |seconds: f64| format!("{:.1}", seconds * factor);
        let spread = summary.stddev.map_or_else(String::new, |stddev| format!(" ± {}", number(stddev)));
        let place = samples.benchmarks.iter().position(|other| std::ptr::eq(other, benchmark));
        let relative = match place.and_then(|place| relative.get(place).copied().flatten()) {
            Some(interval) => {
                let Interval { estimate, low, high, .. } = interval.map(f64::exp);
                format!("{estimate:.3} [{low:.3}, {high:.3}]")
            }
            None if place == reference => "1".to_owned(),
            None => String::new(),
        };
        let _ = writeln!(
            out,
            "| {} | {}{spread} | {} | {} | {} | {relative} |",
            markdown_code(&command_with_values(benchmark)),
            number(summary.mean),
            number(summary.min),
            number(summary.max),
            benchmark.values().count(),
        );
    }
    out
}
