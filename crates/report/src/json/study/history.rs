//! A study over commits, as JSON, and as github-action-benchmark reads it.

use std::path::Path;

use prony_stats::change_points::ChangePoint;
use prony_study::history::{History, Point, Series};
use serde::Serialize;
use serde_json::{Value, json};

use crate::change::to_percent;
use crate::text::study::history::marked;
use crate::text::study::words::levels;

/// The answer. `studies`: their directories and names.
pub fn answer(studies: &[(&Path, String)], history: &History, alpha: f64, seed: u64) -> Value {
    let point = |point: &Point| {
        let bound = |of: fn(&prony_stats::Interval) -> f64| point.interval.as_ref().map(of);
        json!({
            "study": studies[point.study].1,
            "directory": studies[point.study].0.to_string_lossy(),
            "value": point.value,
            "low": bound(|interval| interval.low),
            "high": bound(|interval| interval.high),
        })
    };
    let change = |series: &Series, change: &ChangePoint| {
        json!({
            "at": studies[series.points[change.at].study].1,
            "change_pct": to_percent((change.after / change.before).ln()),
            "before": change.before,
            "after": change.after,
            "p": change.p,
            "worse": history.is_worse(change),
        })
    };
    let series = |series: &Series| {
        let levels: serde_json::Map<String, Value> =
            series.levels.iter().map(|(factor, level)| (factor.clone(), level.clone().into())).collect();
        json!({
            "levels": levels,
            "points": series.points.iter().map(point).collect::<Vec<_>>(),
            "changes": series.changes.iter().map(|one| change(series, one)).collect::<Vec<_>>(),
            "patchy": series.patchy,
        })
    };
    json!({
        "metric": history.metric,
        "alpha": alpha,
        "seed": seed,
        "studies": studies.iter().map(|(_, name)| name).collect::<Vec<_>>(),
        "series": history.series.iter().map(series).collect::<Vec<_>>(),
    })
}

/// An entry of github-action-benchmark's `customSmallerIsBetter` and `customBiggerIsBetter`.
#[derive(Debug, Serialize)]
pub struct Entry {
    name: String,
    unit: String,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<String>,
}

/// Entries for the values of a study, one for each configuration: that tool keeps the earlier ones itself.
pub fn entries(history: &History, study: usize) -> Vec<Entry> {
    history.series.iter().filter_map(|series| entry(history, series, study)).collect()
}

fn entry(history: &History, series: &Series, study: usize) -> Option<Entry> {
    let at = series.points.iter().position(|point| point.study == study)?;
    let point = &series.points[at];
    let configuration = levels(&series.levels);
    let name = match configuration.is_empty() {
        true => history.metric.name.clone(),
        false => format!("{}: {configuration}", history.metric.name),
    };
    let half = point.interval.map(|interval| interval.width() / 2.0).filter(|half| half.is_finite());
    let change = series.changes.iter().find(|change| change.at == at);
    Some(Entry {
        name,
        unit: history.metric.unit.clone(),
        value: point.value,
        range: half.map(|half| format!("± {half:.3e}")),
        extra: change.map(|change| marked(history, change)),
    })
}
