//! JSON of a search.

use prony_bench::bisect::{BisectReport, Commit, Culprit, Regression, Step};
use prony_stats::Interval;
use serde::Serialize;

/// The answer of `--json`.
#[derive(Debug, Serialize)]
pub struct BisectDocument<'a> {
    /// `commit`, `one_of`, `none`, `undecided` or `interrupted`.
    result: &'static str,
    regression: Option<Regression>,
    /// The commit that was found, or those that remain, the latest last.
    commits: &'a [Commit],
    /// Number of commits from the good one to the bad one, without the good one.
    searched: usize,
    alpha: f64,
    margin: f64,
    /// Log ratio between "not slower" and "slower".
    threshold: Option<f64>,
    resumed_steps: usize,
    steps: &'a [Step],
    trees: Vec<String>,
    /// Times of the commit that was found, as a log ratio to the one before it.
    effect: Option<Interval>,
}

/// Converts a report. `alpha`: error probability of the search; `margin`: a smaller slowdown is none, as a share.
pub fn answer(alpha: f64, margin: f64, report: &BisectReport) -> BisectDocument<'_> {
    use prony_bench::bisect::{Found, Purpose};
    let commits = &report.history.commits;
    let (result, range) = match &report.culprit {
        Culprit::Commit(at) => ("commit", *at..*at + 1),
        Culprit::OneOf(range) => ("one_of", *range.start()..*range.end() + 1),
        Culprit::None => ("none", 0..0),
        Culprit::Undecided => ("undecided", 0..0),
        Culprit::Interrupted => ("interrupted", 0..0),
    };
    let effect = report.steps.iter().find(|step| step.purpose == Purpose::Effect);
    BisectDocument {
        result,
        regression: report.regression,
        commits: &commits[range],
        searched: report.history.last(),
        alpha,
        margin,
        threshold: report.threshold,
        resumed_steps: report.resumed,
        steps: &report.steps,
        trees: report.trees.iter().map(|tree| tree.display().to_string()).collect(),
        effect: effect.and_then(|step| match step.found {
            Found::Compared { ratio, .. } => ratio,
            _ => None,
        }),
    }
}
