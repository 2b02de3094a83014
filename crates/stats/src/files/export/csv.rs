//! A table in CSV with hyperfine's columns.

use std::collections::BTreeSet;
use std::fmt::Write;

use prony_text::csv_field;

use super::{command, timed};
use crate::files::samples::Samples;

/// Table with a line for each benchmark that takes time, in seconds: `command,mean,stddev,median,user,system,min,max`
/// and a column for each parameter. A field is empty where there is nothing to say.
pub fn csv(samples: &Samples) -> String {
    let subjects = samples.benchmarks.iter().filter_map(|benchmark| benchmark.subject.as_ref());
    let parameters: BTreeSet<&str> =
        subjects.flat_map(|subject| subject.parameters.keys()).map(String::as_str).collect();
    let mut out = "command,mean,stddev,median,user,system,min,max".to_owned();
    for parameter in &parameters {
        let _ = write!(out, ",{}", csv_field(&format!("parameter_{parameter}")));
    }
    out.push('\n');
    for (benchmark, summary) in timed(samples) {
        out.push_str(&csv_field(&command(benchmark)));
        let (mean, median, min, max) = (Some(summary.mean), Some(summary.median), Some(summary.min), Some(summary.max));
        for number in [mean, summary.stddev, median, summary.user, summary.system, min, max] {
            out.push(',');
            if let Some(number) = number {
                let _ = write!(out, "{number}");
            }
        }
        for parameter in &parameters {
            let value = benchmark.subject.as_ref().and_then(|subject| subject.parameters.get(*parameter));
            let _ = write!(out, ",{}", csv_field(value.map_or("", String::as_str)));
        }
        out.push('\n');
    }
    out
}
