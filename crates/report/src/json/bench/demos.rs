//! Two builds on demos, as JSON.

use prony_bench::{DemoEnded, DemoOptions, DemoReport, Demos};
use prony_stats::Verdict;
use prony_stats::frames::FrameComparison;
use serde::Serialize;

use super::{Judgement, judgement};
use crate::bench::demos::failure;
use crate::change::to_percent;
use crate::json::limits::shares::WorkloadRate;

/// Builds on one demo, or on each of several.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum DemosDocument<'a> {
    /// All that is known of the only one.
    One(Box<OfOne<'a>>),
    /// The verdict for all, and each.
    Several(Several<'a>),
}

/// The answer on one demo.
#[derive(Debug, Serialize)]
pub struct OfOne<'a> {
    #[serde(flatten)]
    verdict: Option<Judgement>,
    seconds: f64,
    complete: bool,
    alpha: f64,
    seed: u64,
    commands: [&'a str; 2],
    frames: Option<&'a FrameComparison>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rates: Vec<WorkloadRate>,
    warnings: Vec<String>,
    /// Why the builds could not be compared; there is no verdict then.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The answer on several demos.
#[derive(Debug, Serialize)]
pub struct Several<'a> {
    /// The worst of all demos.
    verdict: Verdict,
    /// Of all demos together.
    alpha: f64,
    margin_pct: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    geometric_mean: Option<Mean>,
    demos: Vec<OfDemo<'a>>,
}

#[derive(Debug, Serialize)]
struct Mean {
    estimate_pct: f64,
    low_pct: Option<f64>,
    high_pct: Option<f64>,
}

#[derive(Debug, Serialize)]
struct OfDemo<'a> {
    demo: &'a str,
    #[serde(flatten)]
    answer: OfOne<'a>,
}

/// The answer. `rates`: what each build does in a second, of the only demo.
pub fn answer(demos: &Demos, rates: Vec<WorkloadRate>) -> DemosDocument<'_> {
    if let ([only], 1) = (demos.all.as_slice(), demos.requested) {
        return DemosDocument::One(Box::new(of_one(&only.options, &only.report, rates)));
    }
    let percent = |log: f64| Some(to_percent(log)).filter(|percent| percent.is_finite());
    DemosDocument::Several(Several {
        verdict: demos.verdict(),
        alpha: demos.alpha,
        margin_pct: to_percent(demos.margin),
        geometric_mean: demos.mean().map(|mean| Mean {
            estimate_pct: to_percent(mean.estimate),
            low_pct: percent(mean.low),
            high_pct: percent(mean.high),
        }),
        demos: demos
            .all
            .iter()
            .map(|one| OfDemo { demo: &one.name, answer: of_one(&one.options, &one.report, Vec::new()) })
            .collect(),
    })
}

fn of_one<'a>(options: &'a DemoOptions, report: &'a DemoReport, rates: Vec<WorkloadRate>) -> OfOne<'a> {
    let error = failure(options, report).map(|(_, message)| message);
    OfOne {
        verdict: report.outcome.as_ref().filter(|_| error.is_none()).map(|outcome| judgement(outcome, "cpu")),
        seconds: report.elapsed_s,
        complete: matches!(report.ended, DemoEnded::Complete),
        alpha: options.plan.alpha,
        seed: options.seed,
        commands: [&options.builds[0].name, &options.builds[1].name],
        frames: report.frames.as_ref().ok(),
        rates,
        warnings: report.warnings.iter().map(ToString::to_string).collect(),
        error,
    }
}
