//! A study over commits, in the terminal.

use std::fmt::Write;

use prony_stats::change_points::ChangePoint;
use prony_study::history::{History, Point};
use prony_text::Quantity;

use super::words::{columns, levels, metric};
use crate::change;
use crate::words::with_interval;

/// The answer. `names`: of the studies.
pub fn text(names: &[String], history: &History) -> String {
    let mut out = format!("{}\n", metric(&history.metric));
    for series in &history.series {
        let title = match series.levels.is_empty() {
            true => "all".to_owned(),
            false => levels(&series.levels),
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
        out += &columns(&rows);
    }
    let changes: usize = history.series.iter().map(|series| series.changes.len()).sum();
    let studies = names.len();
    let _ = match (changes, studies) {
        (0, 0..7) => {
            writeln!(out, "\n{studies} studies: at least seven are needed to distinguish a change from chance")
        }
        // With several configurations it takes more studies than seven, as each is tested at a share of the error.
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
pub fn marked(history: &History, change: &ChangePoint) -> String {
    let by = change::value((change.after / change.before).ln());
    let way = if history.is_worse(change) { "worse" } else { "better" };
    format!("← {by} from here on, p = {:.3}: {way}", change.p)
}
