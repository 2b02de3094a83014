//! What changed between two runs of a study, as JSON.

use prony_stats::Verdict;
use prony_study::Metric;
use prony_study::diff::{Diff, Drift};
use serde::Serialize;

use super::Percent;
use crate::change::to_percent;
use crate::text::study::diff::effect_word;

/// Answer to `study diff`, as JSON.
#[derive(Debug, Serialize)]
pub struct DiffDocument<'a> {
    /// The worst of all configurations.
    verdict: Verdict,
    metric: &'a Metric,
    alpha: f64,
    margin_pct: f64,
    whole: Percent,
    configurations: Vec<Configuration<'a>>,
    effects: Vec<Effect<'a>>,
    left_out: &'a [String],
    /// Place of the drift between the two runs: `machines`, `blocks` or `unknown`.
    drift: &'static str,
    /// Standard deviation from block to block, where that is it.
    drift_pct: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Configuration<'a> {
    levels: std::collections::BTreeMap<&'a str, &'a str>,
    verdict: Verdict,
    #[serde(flatten)]
    change: Percent,
}

#[derive(Debug, Serialize)]
struct Effect<'a> {
    factor: &'a str,
    from: &'a str,
    to: &'a str,
    verdict: &'static str,
    #[serde(flatten)]
    change: Percent,
}

/// The answer. `alpha`: probability of any false alarm; `margin`: a smaller change is none, as a share.
pub fn answer<'a>(metric: &'a Metric, difference: &'a Diff, alpha: f64, margin: f64) -> DiffDocument<'a> {
    DiffDocument {
        verdict: difference.worst(),
        metric,
        alpha,
        margin_pct: margin * 100.0,
        whole: Percent::of(&difference.whole, alpha),
        configurations: difference
            .configurations
            .iter()
            .map(|change| Configuration {
                levels: change.levels.iter().map(|(factor, level)| (factor.as_str(), level.as_str())).collect(),
                verdict: change.verdict,
                change: Percent::of(&change.size, alpha),
            })
            .collect(),
        effects: difference
            .effects
            .iter()
            .map(|change| Effect {
                factor: &change.factor,
                from: &change.from,
                to: &change.to,
                verdict: effect_word(change.verdict),
                change: Percent::of(&change.size, alpha),
            })
            .collect(),
        left_out: &difference.left_out,
        drift: match difference.drift {
            Drift::Machines => "machines",
            Drift::Blocks { .. } => "blocks",
            Drift::Unknown => "unknown",
        },
        drift_pct: match difference.drift {
            Drift::Blocks { deviation } => Some(to_percent(deviation)),
            Drift::Machines | Drift::Unknown => None,
        },
    }
}
