//! `prony study history`: a study over commits, and where it changed.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use prony_stats::change_points::ChangePoint;
use prony_study::history::{History, Point, Series, history};
use prony_study::{Direction, JoinError, Results};
use prony_text::{Quantity, signed};
use serde::Serialize;
use serde_json::{Value, json};

use super::diff::unfit;
use super::found;
use crate::cli::study::HistoryArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};
use prony_report::words::{to_percent, with_interval};

/// # Errors
/// When a study cannot be read, or does not fit to the first, or the export cannot be written.
pub fn run(args: &HistoryArgs) -> Result<Exit, Failure> {
    let studies: Vec<Results> =
        args.studies.iter().map(|study| found::load("follow", study)).collect::<Result<_, _>>()?;
    let joined = |error: JoinError| unfit(&args.studies[0], &args.studies[error.study()], &error);
    let history = history(&studies.iter().collect::<Vec<_>>(), args.alpha, args.seed).map_err(joined)?;
    let names: Vec<String> = args.studies.iter().map(|study| name(study)).collect();
    if let Some(path) = &args.export_github_action_benchmark {
        export(path, args.force, &history, studies.len() - 1)?;
    }
    if args.json {
        output::print_json(&answer(args, &names, &history))?;
    } else {
        output::print(&text(&names, &history))?;
    }
    for series in history.series.iter().filter(|series| series.patchy) {
        eprintln!(
            "warning: `{}`: compared although the studies have no machine and workload in common",
            found::levels(&series.levels)
        );
    }
    let became_worse =
        history.series.iter().any(|series| series.changes.last().is_some_and(|last| is_worse(&history, last)));
    Ok(if became_worse { Exit::Finding } else { Exit::Good })
}

/// Name of a study: the last part of its path.
fn name(study: &Path) -> String {
    let last = study.file_name().map(|name| name.to_string_lossy().into_owned());
    last.unwrap_or_else(|| study.display().to_string())
}

fn is_worse(history: &History, change: &ChangePoint) -> bool {
    match history.metric.direction {
        Direction::Lower => change.after > change.before,
        Direction::Higher => change.after < change.before,
    }
}

fn text(names: &[String], history: &History) -> String {
    let mut out = format!("{}\n", found::metric(&history.metric));
    for series in &history.series {
        let title = match series.levels.is_empty() {
            true => "all".to_owned(),
            false => found::levels(&series.levels),
        };
        let _ = writeln!(out, "\n{title}");
        let typical = series.points.first().map_or(1.0, |point| point.value);
        let scale = Quantity::of(typical, &history.metric.unit);
        let mut rows: Vec<[String; 3]> = Vec::new();
        for (at, point) in series.points.iter().enumerate() {
            let change = series.changes.iter().find(|change| change.at == at);
            rows.push([
                format!("  {}", names[point.study]),
                shown(&scale, point),
                change.map_or_else(String::new, |change| marked(history, change)),
            ]);
        }
        out += &found::columns(&rows);
    }
    let changes: usize = history.series.iter().map(|series| series.changes.len()).sum();
    let studies = names.len();
    let _ = match (changes, studies) {
        (0, 0..7) => {
            writeln!(out, "\n{studies} studies: at least seven are needed to distinguish a change from chance")
        }
        // With several configurations it takes more studies than seven, as each is asked at a share of the error.
        (0, _) => writeln!(out, "\nno significant change in {studies} studies"),
        _ => {
            let changes = prony_text::count(changes as u64, "change");
            writeln!(out, "\n{changes} in {studies} studies: each mark is the first study after a change")
        }
    };
    out
}

fn shown(scale: &Quantity, point: &Point) -> String {
    point.interval.as_ref().map_or_else(|| scale.value(point.value), |interval| with_interval(scale, interval))
}

/// `← +33.2 % from here on, p = 0.001: worse`.
fn marked(history: &History, change: &ChangePoint) -> String {
    let by = to_percent((change.after / change.before).ln());
    let way = if is_worse(history, change) { "worse" } else { "better" };
    format!("← {} % from here on, p = {:.3}: {way}", signed(by, 1), change.p)
}

/// Answer to `study history`, as JSON.
fn answer(args: &HistoryArgs, names: &[String], history: &History) -> Value {
    let point = |point: &Point| {
        let bound = |of: fn(&prony_stats::Interval) -> f64| point.interval.as_ref().map(of);
        json!({
            "study": names[point.study],
            "directory": args.studies[point.study].to_string_lossy(),
            "value": point.value,
            "low": bound(|interval| interval.low),
            "high": bound(|interval| interval.high),
        })
    };
    let change = |series: &Series, change: &ChangePoint| {
        json!({
            "at": names[series.points[change.at].study],
            "change_pct": to_percent((change.after / change.before).ln()),
            "before": change.before,
            "after": change.after,
            "p": change.p,
            "worse": is_worse(history, change),
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
        "alpha": args.alpha,
        "seed": args.seed,
        "studies": names,
        "series": history.series.iter().map(series).collect::<Vec<_>>(),
    })
}

/// An entry of github-action-benchmark's `customSmallerIsBetter` and `customBiggerIsBetter`.
#[derive(Debug, Serialize)]
struct Entry {
    name: String,
    unit: String,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<String>,
}

/// Writes the values of a study: that tool keeps the earlier ones itself.
fn export(path: &Path, force: bool, history: &History, study: usize) -> Result<(), Failure> {
    let entries: Vec<Entry> = history.series.iter().filter_map(|series| entry(history, series, study)).collect();
    let text = serde_json::to_string_pretty(&entries)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", path.display())))?;
    let mut file = NewFile::create(path, force)?;
    file.file().write_all((text + "\n").as_bytes()).map_err(|error| Failure::io("write", path, &error))?;
    file.finish()?;
    let tool = match history.metric.direction {
        Direction::Lower => "customSmallerIsBetter",
        Direction::Higher => "customBiggerIsBetter",
    };
    eprintln!("{}: for github-action-benchmark with `tool: '{tool}'`", path.display());
    Ok(())
}

fn entry(history: &History, series: &Series, study: usize) -> Option<Entry> {
    let at = series.points.iter().position(|point| point.study == study)?;
    let point = &series.points[at];
    let configuration = found::levels(&series.levels);
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
