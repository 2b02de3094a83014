//! Answers on studies, as JSON.

pub mod diff;
pub mod effects;
pub mod history;
pub mod import;
pub mod merge;
pub mod plan;
pub mod status;

use prony_stats::effects::{Over, Size};
use prony_study::Results;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::change::to_percent;

/// Size of an effect in per cent of speed-up.
#[derive(Debug, Serialize)]
struct Percent {
    usual_pct: f64,
    min_pct: f64,
    max_pct: f64,
    mean_pct: f64,
    /// Null where there is no interval.
    low_pct: Option<f64>,
    high_pct: Option<f64>,
    confidence: f64,
    /// Unit of replication of the size.
    over: Over,
    /// Number of these units that were counted.
    n: usize,
    /// Unit that the interval takes as drawn at random: with `repeats` it refers to these very workloads.
    of: Over,
    /// The interval for other workloads like these, where the other one speaks of these.
    like_these_pct: Option<[f64; 2]>,
    p: Option<f64>,
    /// Adjusted p-value over all questions together (Holm); null up to ten questions, except of `diff`, whose changes
    /// exceed the margin.
    p_holm: Option<f64>,
    /// Away from 0 by more than chance explains.
    found: bool,
}

impl Percent {
    fn of(size: &Size, alpha: f64) -> Percent {
        // JSON has no infinity: a bound that is not there is null.
        let bound = |log: f64| Some(to_percent(log)).filter(|percent| percent.is_finite() && log.is_finite());
        Percent {
            usual_pct: to_percent(size.median),
            min_pct: to_percent(size.min),
            max_pct: to_percent(size.max),
            mean_pct: to_percent(size.interval.estimate),
            low_pct: bound(size.interval.low),
            high_pct: bound(size.interval.high),
            confidence: size.interval.confidence,
            over: size.over,
            n: size.units.len(),
            of: size.of,
            like_these_pct: size.others.and_then(|others| Some([bound(others.low)?, bound(others.high)?])),
            p: size.p,
            p_holm: size.p_holm,
            found: size.is_found(alpha),
        }
    }
}

/// Units of a size by name, in per cent.
fn by_unit(size: &Size, results: &Results) -> Map<String, Value> {
    let name = |unit: usize| match size.over {
        Over::Machines => results.machines[unit].name.clone(),
        Over::Workloads => results.workloads[unit].name.clone(),
        Over::RandomLevels => results.random_levels(unit),
        Over::Repeats => unit.to_string(),
    };
    let named = |&(unit, value): &(usize, f64)| (name(unit), to_percent(value).into());
    size.units.iter().map(named).collect()
}
