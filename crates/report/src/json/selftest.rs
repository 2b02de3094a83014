//! A command compared with itself, as JSON.

use prony_bench::{Ended, Options, RESOLUTIONS_S, Selftest};
use serde::Serialize;

use crate::change::to_percent;

/// The answer of `prony selftest`.
#[derive(Debug, Serialize)]
pub struct SelftestDocument {
    command: String,
    comparisons: usize,
    false_alarms: usize,
    same: usize,
    alpha: f64,
    /// Probability of this many false alarms if the judge is right.
    chance: f64,
    resolutions: Vec<Resolved>,
    pair_deviation_pct: Option<f64>,
    pairs: usize,
    pairs_per_s: f64,
    cpu_s: Option<f64>,
    contention: Option<f64>,
    complete: bool,
}

/// The smallest difference that is found in a time.
#[derive(Debug, Serialize)]
struct Resolved {
    seconds: f64,
    difference_pct: Option<f64>,
}

/// The answer.
pub fn answer(options: &Options, found: &Selftest) -> SelftestDocument {
    let percent = |log_ratio: f64| log_ratio.is_finite().then(|| to_percent(log_ratio));
    SelftestDocument {
        command: options.subjects[0].name.clone(),
        comparisons: found.comparisons,
        false_alarms: found.false_alarms,
        same: found.same,
        alpha: options.plan.alpha,
        chance: found.chance_of_false_alarms(options.plan.alpha),
        resolutions: RESOLUTIONS_S
            .map(|seconds| Resolved { seconds, difference_pct: percent(found.resolution(seconds).difference) })
            .into(),
        pair_deviation_pct: percent(found.deviation),
        pairs: found.pairs,
        pairs_per_s: found.pairs_per_s,
        cpu_s: found.cpu_s.is_finite().then_some(found.cpu_s),
        contention: found.contention,
        complete: matches!(found.ended, Ended::Complete),
    }
}
