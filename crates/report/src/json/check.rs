//! What speaks against trusting samples, as JSON.

use prony_stats::check::{Checked, Finding};
use serde::Serialize;

use crate::change::to_percent;
use crate::text::check::sentence;

/// The answer for one benchmark.
#[derive(Debug, Serialize)]
pub struct CheckDocument<'a> {
    file: &'a str,
    benchmark: &'a str,
    /// The smallest difference that a comparison with as many values as these could see, in per cent.
    detectable_difference_pct: Option<f64>,
    findings: Vec<Found>,
}

#[derive(Debug, Serialize)]
struct Found {
    kind: &'static str,
    /// Sentence that describes the finding.
    text: String,
}

/// The answer for a benchmark of this file.
pub fn answer<'a>(file: &'a str, benchmark: &'a str, checked: &Checked) -> CheckDocument<'a> {
    CheckDocument {
        file,
        benchmark,
        detectable_difference_pct: checked.detectable_difference.map(to_percent),
        findings: checked
            .findings
            .iter()
            .map(|finding| Found { kind: kind(finding), text: sentence(finding) })
            .collect(),
    }
}

/// Name of a finding.
fn kind(finding: &Finding) -> &'static str {
    match finding {
        Finding::TooFewValues(_) => "too_few_values",
        Finding::DetectableDifference { .. } => "detectable_difference",
        Finding::NoValues => "no_values",
        Finding::OneProcess { .. } => "one_process",
        Finding::FewProcesses { .. } => "few_processes",
        Finding::Short { .. } => "short",
        Finding::WarmUp { .. } => "warm_up",
        Finding::Drift { .. } => "drift",
        Finding::Autocorrelation { .. } => "autocorrelation",
        Finding::Outliers { .. } => "outliers",
        Finding::Waiting { .. } => "waiting",
        Finding::Failed { .. } => "failed",
        Finding::FrequencyTrap => "frequency_trap",
    }
}
