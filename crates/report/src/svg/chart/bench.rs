//! Charts of one bench: how much it changes, and how its values ran along the time.

use std::fmt::Write;

use prony_stats::Interval;
use prony_stats::quantile::{quantile_of_sorted, sorted};

use super::ratios::Ratios;
use super::{axis_title, frames_below, grid_below, labels, labels_below, left_of, texts_below, value_grid};
use crate::change;
use crate::svg::axis::Axis;
use crate::svg::drawing::{Anchor, At, Drawing};

/// Width of these charts, of which a wide page shows two beside each other and a phone one.
pub const WIDTH: f64 = 440.0;
/// Left end of a grid with short labels, and its right end.
pub(super) const LEFT: f64 = 44.0;
pub(super) const RIGHT: f64 = WIDTH - 10.0;
/// Top of a grid below the title of its axis.
const TOP: f64 = 26.0;
/// Marks of one series; of more the page shows one in this many, and says so.
pub const MARKS_MAX: usize = 1_500;

/// A change with its interval.
#[derive(Debug, Clone)]
pub struct Change {
    /// What changes, and in which metric.
    pub name: String,
    /// Log ratio of B to A.
    pub interval: Interval,
    /// True if it enters the verdict.
    pub is_judged: bool,
}

/// Values of one command in the order in which they were measured.
#[derive(Debug, Clone)]
pub struct Values {
    /// Name of the command.
    pub name: String,
    /// Its place among the commands, which chooses colour and mark.
    pub series: usize,
    /// When, in seconds or as a number, and the value.
    pub points: Vec<(f64, f64)>,
    /// Interval of the median; its bounds are infinite where there are too few values.
    pub median: Option<Interval>,
}

/// Intervals of all changes on one axis of ratios, with the margin within which two are the same. `scale`: the changes that
/// the axis holds, of several such charts.
pub fn changes(changes: &[Change], scale: &[Change], margin: f64) -> Drawing {
    const ROW: f64 = 40.0;
    const TOP: f64 = 6.0;
    let bottom = TOP + ROW * changes.len() as f64;
    // Lines stay below the text of each row.
    let bands: Vec<(f64, f64)> =
        (0..changes.len()).map(|row| TOP + ROW * row as f64).map(|top| (top + 18.0, top + 36.0)).collect();
    let mut drawing = Drawing::new(WIDTH, bottom + 22.0, "change of each metric with its interval");
    let ends = scale.iter().flat_map(|change| {
        let Interval { estimate, low, high, .. } = change.interval;
        [estimate, low, high]
    });
    let axis = Ratios::over(ends.chain([-margin, margin]), 14.0, RIGHT - 16.0, 6);
    let at = |log: f64| axis.axis().at(log);
    let tip = "within the margin, differences count as none";
    for &(top, bottom) in &bands {
        drawing.rect("same", (at(-margin), top), (at(margin) - at(-margin), bottom - top), tip);
    }
    grid_below(&mut drawing, axis.axis(), &bands);
    texts_below(&mut drawing, axis.axis(), bottom + 15.0, |tick| axis.label(tick));
    for &(top, bottom) in &bands {
        drawing.line("zero", (at(0.0), top), (at(0.0), bottom));
    }
    for (row, change) in changes.iter().enumerate() {
        let y = TOP + ROW * row as f64;
        let Interval { estimate, low, high, .. } = change.interval;
        let note = if change.is_judged { "" } else { ", informational" };
        let said = format!("{}: {}{note}", change.name, change::change(&change.interval));
        let (class, mark) = if change.is_judged { ("", "k1") } else { ("q", "k0") };
        drawing.text_within(class, Anchor::Start, (14.0, y + 13.0), WIDTH - 28.0, &said);
        drawing.group(mark);
        if low.is_finite() && high.is_finite() {
            drawing.line(&format!("span {mark}"), (at(low), y + 27.0), (at(high), y + 27.0));
        }
        if estimate.is_finite() {
            drawing.group(&format!("m {mark}"));
            drawing.mark(0, (at(estimate), y + 27.0), &said);
            drawing.end();
        }
        drawing.end();
    }
    drawing
}

/// Ratio of each pair along the time, and the interval of all of them. `points`: when, and the log ratio; `ratio`: of what,
/// `B to A`.
pub fn pairs(points: &[(f64, f64)], ratio: &str, interval: &Interval, by_time: bool) -> Drawing {
    const BOTTOM: f64 = 190.0;
    let label = format!("ratio of {ratio} in each pair, in the order of time");
    let mut drawing = Drawing::new(WIDTH, 232.0, &label);
    let logs = sorted(&points.iter().map(|point| point.1).filter(|log| log.is_finite()).collect::<Vec<_>>());
    // One pair that was disturbed must not press the others into a line: what is beyond is at the edge.
    let quantile = |share| quantile_of_sorted(&logs, share).unwrap_or(0.0);
    let (first, third) = (quantile(0.25), quantile(0.75));
    let reach = 3.0 * (third - first);
    let inside = logs.iter().copied().filter(|log| (first - reach..=third + reach).contains(log));
    let axis = Ratios::over(inside.chain([interval.low, interval.high]), BOTTOM, 12.0, 6);
    let left = ratio_grid(&mut drawing, &axis, RIGHT);
    let (low, high) = (axis.axis().at(interval.low), axis.axis().at(interval.high));
    if interval.width().is_finite() {
        let tip = format!("interval of the difference: {}", change::change(interval));
        drawing.rect("ci", (left, high), (RIGHT - left, low - high), &tip);
        let y = axis.axis().at(interval.estimate);
        drawing.line("usual thin", (left, y), (RIGHT, y));
    }
    let zero = axis.axis().at(0.0);
    drawing.line("zero", (left, zero), (RIGHT, zero));
    let x = along(&mut drawing, points.iter().map(|point| point.0), by_time, (left, 12.0, BOTTOM));
    let ends = axis.axis().ends();
    drawing.group("k1");
    drawing.group("m k1");
    for &(when, log) in thinned(points).filter(|point| point.1.is_finite()) {
        let is_beyond = !(ends.0..=ends.1).contains(&log);
        let tip = format!("{}{}", change::value(log), if is_beyond { ", beyond this chart" } else { "" });
        // A triangle points to where it would be.
        let shape = match is_beyond {
            true if log > 0.0 => 2,
            true => 4,
            false => 0,
        };
        drawing.mark(shape, (x.at(when), axis.axis().at(log)), &tip);
    }
    drawing.end();
    drawing.end();
    drawing
}

/// A grid of ratios with labels at the left; its left end.
pub(super) fn ratio_grid(drawing: &mut Drawing, axis: &Ratios, right: f64) -> f64 {
    let left = left_of(axis.axis().ticks().iter().map(|&tick| axis.label(tick)), LEFT);
    for &tick in axis.axis().ticks() {
        let y = axis.axis().at(tick);
        drawing.line("grid", (left, y), (right, y));
        drawing.text("q small", Anchor::End, (left - 6.0, y + 4.0), &axis.label(tick));
    }
    left
}

/// Axis of times or other values that grow upwards: logarithmic where they differ by more than ten times.
fn upwards(values: impl Iterator<Item = f64> + Clone, bottom: f64) -> Axis {
    let least = values.clone().filter(|&value| value > 0.0).fold(f64::INFINITY, f64::min);
    let greatest = values.clone().fold(0.0, f64::max);
    match greatest / least > 10.0 {
        true => Axis::logarithmic(values, bottom, TOP),
        false => Axis::linear(values, bottom, TOP, 5),
    }
}

/// Values of each command along the time. `unit`: of the values.
pub fn values(rows: &[Values], unit: &str, by_time: bool) -> Drawing {
    const BOTTOM: f64 = 204.0;
    let mut drawing = Drawing::new(WIDTH, 246.0, "values of each command in the order of time");
    let all = || rows.iter().flat_map(|row| row.points.iter());
    let axis = upwards(all().map(|point| point.1), BOTTOM);
    let quantity = axis.quantity(unit);
    let left = left_of(labels(&axis, &quantity), LEFT);
    axis_title(&mut drawing, &axis, quantity.unit(), 12.0);
    value_grid(&mut drawing, &axis, &quantity, (left, RIGHT));
    let x = along(&mut drawing, all().map(|point| point.0), by_time, (left, TOP, BOTTOM));
    for row in rows {
        let series = format!("k{}", row.series);
        drawing.group_with(&format!("m {series}"), &[("data-name", &row.name)]);
        for &(when, value) in thinned(&row.points) {
            drawing.mark(row.series, (x.at(when), axis.at(value)), &quantity.value(value));
        }
        drawing.end();
    }
    drawing
}

/// The axis below: seconds, or numbers of pairs or runs.
fn along(
    drawing: &mut Drawing,
    when: impl Iterator<Item = f64> + Clone,
    by_time: bool,
    (left, top, bottom): (f64, f64, f64),
) -> Axis {
    let (from, to) = (left + 6.0, RIGHT - 8.0);
    let last = when.fold(0.0, f64::max);
    let ticks = Axis::linear([0.0, last], from, to, 6);
    let ticks: Vec<f64> = ticks.ticks().iter().copied().filter(|tick| by_time || tick.fract() == 0.0).collect();
    let axis = Axis::exact(0.0, last, from, to, &ticks);
    labels_below(drawing, &axis, (top, bottom), prony_text::plain);
    let name = if by_time { "seconds since the start" } else { "number of the run" };
    drawing.text("q", Anchor::Middle, ((from + to) / 2.0, bottom + 34.0), name);
    axis
}

/// One in this many points, so that a chart stays small.
pub fn thinned<T>(points: &[T]) -> impl Iterator<Item = &T> {
    points.iter().step_by(points.len().div_ceil(MARKS_MAX).max(1))
}

/// Time of each frame of a replay along the demo: fastest to slowest of each stretch, and its median.
pub fn frames(frame_ms: &[f64]) -> Drawing {
    const BOTTOM: f64 = 204.0;
    const PARTS: usize = 360;
    let mut drawing = Drawing::new(WIDTH, 246.0, "time of each frame along the demo");
    let seconds: Vec<f64> = frame_ms.iter().map(|ms| ms / 1e3).collect();
    let axis = match upwards(seconds.iter().copied(), BOTTOM) {
        axis if axis.is_log() => axis,
        _ => Axis::linear(seconds.iter().copied().chain([0.0]), BOTTOM, TOP, 5),
    };
    let quantity = axis.quantity("second");
    let left = left_of(labels(&axis, &quantity), LEFT);
    axis_title(&mut drawing, &axis, quantity.unit(), 12.0);
    value_grid(&mut drawing, &axis, &quantity, (left, RIGHT));
    let x = frames_below(&mut drawing, seconds.len(), (left, RIGHT), (TOP, BOTTOM));
    let size = seconds.len().div_ceil(PARTS).max(1);
    let (mut envelope, mut typical) = (String::new(), String::new());
    for (part, values) in seconds.chunks(size).enumerate() {
        let ordered = sorted(values);
        let (Some(&low), Some(&high)) = (ordered.first(), ordered.last()) else { continue };
        let middle = x.at((part * size) as f64 + values.len() as f64 / 2.0);
        let median = quantile_of_sorted(&ordered, 0.5).unwrap_or(low);
        let _ = write!(envelope, "M{} {}V{}", At(middle), At(axis.at(low)), At(axis.at(high).min(axis.at(low) - 0.5)));
        let _ = write!(typical, "{}{} {}", if part == 0 { 'M' } else { 'L' }, At(middle), At(axis.at(median)));
    }
    drawing.group("k1");
    drawing.wide_path("e k1", &envelope, ((RIGHT - left) * size as f64 / seconds.len().max(1) as f64).max(1.0) + 0.2);
    drawing.path("usual thin", &typical, "");
    drawing.end();
    drawing
}
