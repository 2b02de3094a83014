//! Centre and spread of stored samples, in the terminal.

use std::fmt::Write;

use prony_stats::samples::Benchmark;
use prony_stats::summary::Summary;
use prony_text::{Quantity, Untrusted, count, quantity, thousands};

use crate::change;
use crate::words::{metric_name, with_interval};

/// A benchmark and its summary. `file`: where there are several.
pub fn text(file: Option<&str>, benchmark: &Benchmark, summary: &Summary) -> String {
    let own = |value: f64| quantity(value, benchmark.unit_name());
    let file = file.map_or_else(String::new, |file| format!("{}: ", Untrusted::new(file)));
    let mut out = format!("{file}{}\n", Untrusted::new(&benchmark.name));
    let mut line = |name: &str, text: String| {
        let _ = writeln!(out, "  {name:<14}{text}");
    };
    let loops = match summary.loops {
        [1, 1] => String::new(),
        [few, many] if few == many => format!(", {} each", count(few, "loop")),
        [few, many] => format!(", {} to {} loops each", thousands(few), thousands(many)),
    };
    let warmups = match summary.warmups {
        0 => String::new(),
        warmups => format!("; {} skipped", count(warmups as u64, "warm-up")),
    };
    let processes = match summary.processes {
        1 => "one process".to_owned(),
        several => format!("{} processes", thousands(several as u64)),
    };
    line("samples", format!("{} from {processes}{loops}{warmups}", thousands(summary.values as u64)));
    line(
        "metric",
        format!("{} in {}", Untrusted::new(metric_name(benchmark.metric())), Untrusted::new(benchmark.unit_name())),
    );
    if let Some(median) = &summary.median {
        let scale = Quantity::of(median.estimate, benchmark.unit_name());
        line("median [95 %]", format!("{}, n = {}", with_interval(&scale, median), thousands(median.n as u64)));
    }
    let deviation = summary.deviation.map_or_else(String::new, |deviation| {
        format!(", σ {} ({:.1} %)", own(deviation), 100.0 * deviation / summary.mean)
    });
    line("mean", own(summary.mean) + &deviation);
    if let Some(robust) = summary.robust_deviation.filter(|_| summary.values > 1) {
        line("robust σ", format!("{} ({:.1} %), 1.4826 × MAD", own(robust), 100.0 * robust / summary.mean));
    }
    for &(share, value) in &summary.quantiles {
        let name = match share {
            0.0 => "min".to_owned(),
            1.0 => "max".to_owned(),
            share => format!("p{:.0}", share * 100.0),
        };
        line(&name, format!("{} ({} against the mean)", own(value), change::value((value / summary.mean).ln())));
    }
    line("outliers", thousands(summary.outliers as u64));
    out
}
