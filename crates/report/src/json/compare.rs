//! The answer of `prony compare` as JSON.

use prony_stats::compare::Compared;
use prony_stats::rejudge::Rejudgement;
use prony_stats::{Interval, Verdict};
use serde::Serialize;

use crate::change::to_percent;
use crate::compare::{CompareOptions, warnings};

/// JSON document of the answer.
#[derive(Debug, Serialize)]
pub struct CompareDocument {
    /// The worst of all comparisons.
    verdict: Verdict,
    alpha: f64,
    margin_pct: f64,
    comparisons: Vec<One>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct One {
    a: Side,
    b: Side,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    verdict: Verdict,
    metric: String,
    unit: String,
    /// Cost of B relative to A: of a rate, its inverse.
    estimate_pct: Option<f64>,
    low_pct: Option<f64>,
    high_pct: Option<f64>,
    /// Everything the judge says, as log ratios.
    judged: Option<Rejudgement>,
}

#[derive(Debug, Serialize)]
struct Side {
    file: String,
    format: &'static str,
    benchmark: String,
    values: usize,
}

/// JSON document of the answer, from the comparisons.
pub fn answer(options: &CompareOptions<'_>, compared: &[Compared<'_>]) -> CompareDocument {
    let any = |verdict| compared.iter().any(|one| one.verdict() == verdict);
    let order = [Verdict::Slower, Verdict::Unclear, Verdict::Faster, Verdict::Same];
    CompareDocument {
        verdict: order.into_iter().find(|&verdict| any(verdict)).unwrap_or(Verdict::Unclear),
        alpha: options.alpha,
        margin_pct: options.margin * 100.0,
        comparisons: compared.iter().map(|one| self::one(options, one)).collect(),
        warnings: warnings(options, compared),
    }
}

fn one(options: &CompareOptions<'_>, one: &Compared<'_>) -> One {
    let side = |place: usize| {
        let benchmark = [one.a, one.b][place];
        Side {
            file: one.files[place].name.clone(),
            format: one.files[place].format.name(),
            benchmark: benchmark.name.clone(),
            values: benchmark.values().count(),
        }
    };
    let ratio = one.answer.as_ref().map(Rejudgement::ratio);
    // JSON has no infinity: a bound that is not there is null.
    let percent = |of: fn(Interval) -> f64| ratio.map(of).map(to_percent).filter(|percent| percent.is_finite());
    One {
        a: side(0),
        b: side(1),
        group: options.group_by.map(|key| one.group(key)),
        verdict: one.verdict(),
        metric: one.b.metric().to_owned(),
        unit: one.b.unit_name().to_owned(),
        estimate_pct: percent(|ratio| ratio.estimate),
        low_pct: percent(|ratio| ratio.low),
        high_pct: percent(|ratio| ratio.high),
        judged: one.answer.clone(),
    }
}
