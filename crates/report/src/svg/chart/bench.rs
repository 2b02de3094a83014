//! Charts of one bench: how much it changes, how its values are spread, and how they ran along the time.

use std::fmt::Write;

use prony_stats::Interval;
use prony_stats::histogram::Histogram;
use prony_stats::quantile::{quantile_of_sorted, sorted};
use prony_text::{Quantity, count, plain, thousands};

use super::ratios::Ratios;
use super::{labels_below, value_grid};
use crate::change;
use crate::svg::axis::Axis;
use crate::svg::drawing::{Anchor, At, Drawing, width};

/// Width of these charts, of which a wide page shows two beside each other and a phone one.
pub const WIDTH: f64 = 440.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = WIDTH - 10.0;
/// Bins of a distribution.
const BINS: usize = 48;
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
    const ROW: f64 = 38.0;
    const TOP: f64 = 6.0;
    let bottom = TOP + ROW * changes.len() as f64;
    let mut drawing = Drawing::new(WIDTH, bottom + 22.0, "change of each metric with its interval");
    let ends = scale.iter().flat_map(|change| {
        let Interval { estimate, low, high, .. } = change.interval;
        [estimate, low, high]
    });
    let axis = Ratios::over(ends.chain([-margin, margin]), 14.0, RIGHT - 16.0, 6);
    let at = |log: f64| axis.axis().at(log);
    let tip = "within the margin, differences count as none";
    drawing.rect("same", (at(-margin), TOP), (at(margin) - at(-margin), bottom - TOP), tip);
    labels_below(&mut drawing, axis.axis(), (TOP, bottom), |tick| axis.label(tick));
    drawing.line("zero", (at(0.0), TOP), (at(0.0), bottom));
    for (row, change) in changes.iter().enumerate() {
        let y = TOP + ROW * row as f64;
        let Interval { estimate, low, high, .. } = change.interval;
        let note = if change.is_judged { "" } else { ", informational" };
        let said = format!("{}: {}{note}", change.name, change::change(&change.interval));
        let (class, mark) = if change.is_judged { ("", "k1") } else { ("q", "k0") };
        drawing.text_within(class, Anchor::Start, (14.0, y + 13.0), WIDTH - 28.0, &said);
        drawing.group(mark);
        if low.is_finite() && high.is_finite() {
            drawing.line(&format!("span {mark}"), (at(low), y + 26.0), (at(high), y + 26.0));
        }
        if estimate.is_finite() {
            drawing.group(&format!("m {mark}"));
            drawing.mark(0, (at(estimate), y + 26.0), &said);
            drawing.end();
        }
        drawing.end();
    }
    drawing
}

/// Medians that differ by more than this factor leave nothing to see on a common scale.
const OWN_SCALES_FROM: f64 = 2.0;

/// True where each command has a scale of its own, relative to its median; the relative scale is common.
pub fn has_own_scales(rows: &[Values]) -> bool {
    let medians = || rows.iter().filter_map(|row| Some(row.median?.estimate)).filter(|median| *median > 0.0);
    let (least, greatest) =
        medians().fold((f64::INFINITY, 0.0f64), |(low, high), median| (low.min(median), high.max(median)));
    greatest / least > OWN_SCALES_FROM
}

/// Histograms of all commands on the same axis, or on the same relative one, and their medians with intervals.
pub fn distributions(rows: &[Values], unit: &str) -> Option<Drawing> {
    const ROW: f64 = 78.0;
    let is_relative = has_own_scales(rows);
    let typical = |row: &Values| row.median.map_or(0.0, |median| median.estimate);
    let common = Quantity::of(rows.iter().map(typical).fold(0.0, f64::max), unit);
    // What the values of each command are divided by.
    let one = |row: &Values| if is_relative && typical(row) > 0.0 { typical(row) } else { 1.0 };
    let all: Vec<f64> = rows.iter().flat_map(|row| row.points.iter().map(|point| point.1 / one(row))).collect();
    let whole = Histogram::of(&all, BINS)?;
    let (low, high) = (whole.low, whole.edge(whole.counts.len()));
    let counted: Vec<Vec<usize>> = rows.iter().map(|row| binned(row, one(row), &whole)).collect();
    let most = counted.iter().flatten().copied().max().unwrap_or(1).max(1) as f64;
    let bottom = ROW * rows.len() as f64;
    let mut drawing = Drawing::new(WIDTH, bottom + 38.0, "distribution of the values of each command");
    let (left, right) = (14.0, RIGHT - 10.0);
    let ticks = Axis::linear([low, high], left, right, 6);
    let axis = Axis::exact(low, if high > low { high } else { low + low.abs().max(1e-12) }, left, right, ticks.ticks());
    labels_below(&mut drawing, &axis, (18.0, bottom), |tick| match is_relative {
        true if (tick - 1.0).abs() < 1e-9 => "0".to_owned(),
        true => format!("{}{} %", if tick > 1.0 { "+" } else { "−" }, plain(((tick - 1.0).abs() * 1e4).round() / 1e2)),
        false => common.tick(tick),
    });
    for (at, (row, counts)) in rows.iter().zip(&counted).enumerate() {
        let (top, base) = (ROW * at as f64 + 20.0, ROW * (at as f64 + 1.0) - 8.0);
        let series = format!("k{}", row.series);
        let n = row.points.len();
        let one = one(row);
        let quantity = if is_relative { &Quantity::of(typical(row), unit) } else { &common };
        let median = row.median.as_ref().map_or_else(String::new, |median| {
            let Interval { estimate, low, high, .. } = *median;
            quantity.interval(estimate, low, high).unwrap_or_else(|| quantity.value(estimate))
        });
        let said = format!("{median}, n = {}", thousands(n));
        drawing.group(&series);
        drawing.group(&format!("m {series}"));
        drawing.mark(row.series, (left + 5.0, top - 9.0), "");
        drawing.end();
        drawing.text("q", Anchor::End, (right, top - 5.0), &said);
        let room = right - left - 26.0 - width(&said);
        drawing.text_within("", Anchor::Start, (left + 14.0, top - 5.0), room, &row.name);
        for (bin, &in_bin) in counts.iter().enumerate().filter(|(_, in_bin)| **in_bin > 0) {
            let (from, to) = (axis.at(whole.edge(bin)), axis.at(whole.edge(bin + 1)));
            // All values equal: one bin of no width.
            let wide = if to - from > 0.5 { to - from - 0.6 } else { 8.0 };
            let height = (base - top) * in_bin as f64 / most;
            let tip = format!(
                "{} from {} to {}",
                count(in_bin as u64, "value"),
                quantity.value(whole.edge(bin) * one),
                quantity.value(whole.edge(bin + 1) * one)
            );
            drawing.rect(&format!("b {series}"), (from, base - height), (wide, height), &tip);
        }
        if let Some(median) = row.median {
            let [estimate, low, high] = [median.estimate, median.low, median.high].map(|value| value / one);
            if low.is_finite() && high.is_finite() {
                let (from, to) = (axis.at(low), axis.at(high));
                drawing.rect("ci", (from, top), (to - from, base - top), "95 % interval of the median");
            }
            drawing.line("usual", (axis.at(estimate), top), (axis.at(estimate), base));
        }
        drawing.line("zero", (left, base), (right, base));
        beyond(&mut drawing, row, one, &whole, (left, right), top + 10.0, quantity);
        drawing.end();
    }
    let unit = if is_relative { "from the median" } else { common.unit() };
    drawing.text("q", Anchor::Middle, ((left + right) / 2.0, bottom + 32.0), unit);
    Some(drawing)
}

/// Counts the values of a command, divided by `one`.
fn binned(row: &Values, one: f64, whole: &Histogram) -> Vec<usize> {
    let (low, high) = (whole.low, whole.edge(whole.counts.len()));
    let mut counts = vec![0; whole.counts.len()];
    let last = counts.len() - 1;
    for value in row.points.iter().map(|point| point.1 / one).filter(|value| (low..=high).contains(value)) {
        let bin = if whole.bin_width > 0.0 { ((value - low) / whole.bin_width) as usize } else { 0 };
        counts[bin.min(last)] += 1;
    }
    counts
}

/// How many values are too far out for the axis, and how far.
fn beyond(
    drawing: &mut Drawing,
    row: &Values,
    one: f64,
    whole: &Histogram,
    (left, right): (f64, f64),
    y: f64,
    quantity: &Quantity,
) {
    let (low, high) = (whole.low * one, whole.edge(whole.counts.len()) * one);
    let values = || row.points.iter().map(|point| point.1);
    let above = values().filter(|&value| value > high).count();
    if above > 0 {
        let greatest = values().fold(f64::NEG_INFINITY, f64::max);
        let text = format!("{} up to {} →", thousands(above), quantity.value(greatest));
        drawing.text("q small", Anchor::End, (right, y), &text);
    }
    let below = values().filter(|&value| value < low).count();
    if below > 0 {
        let least = values().fold(f64::INFINITY, f64::min);
        drawing.text(
            "q small",
            Anchor::Start,
            (left, y),
            &format!("← {} down to {}", thousands(below), quantity.value(least)),
        );
    }
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
    for &tick in axis.axis().ticks() {
        let y = axis.axis().at(tick);
        drawing.line("grid", (LEFT, y), (RIGHT, y));
        drawing.text("q small", Anchor::End, (LEFT - 6.0, y + 4.0), &axis.label(tick));
    }
    let (low, high) = (axis.axis().at(interval.low), axis.axis().at(interval.high));
    if interval.width().is_finite() {
        let tip = format!("interval of the difference: {}", change::change(interval));
        drawing.rect("ci", (LEFT, high), (RIGHT - LEFT, low - high), &tip);
        let y = axis.axis().at(interval.estimate);
        drawing.line("usual thin", (LEFT, y), (RIGHT, y));
    }
    let zero = axis.axis().at(0.0);
    drawing.line("zero", (LEFT, zero), (RIGHT, zero));
    let x = along(&mut drawing, points.iter().map(|point| point.0), by_time, (12.0, BOTTOM));
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

/// Values of each command along the time.
pub fn values(rows: &[Values], quantity: &Quantity, by_time: bool) -> Drawing {
    const BOTTOM: f64 = 190.0;
    let mut drawing = Drawing::new(WIDTH, 232.0, "values of each command in the order of time");
    let all = || rows.iter().flat_map(|row| row.points.iter());
    let least = all().map(|point| point.1).filter(|&value| value > 0.0).fold(f64::INFINITY, f64::min);
    let greatest = all().map(|point| point.1).fold(0.0, f64::max);
    let axis = match greatest / least > 10.0 {
        true => Axis::logarithmic(all().map(|point| point.1), BOTTOM, 12.0),
        false => Axis::linear(all().map(|point| point.1), BOTTOM, 12.0, 5),
    };
    value_grid(&mut drawing, &axis, quantity, (LEFT, RIGHT));
    let x = along(&mut drawing, all().map(|point| point.0), by_time, (12.0, BOTTOM));
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
    (top, bottom): (f64, f64),
) -> Axis {
    let (from, to) = (LEFT + 6.0, RIGHT - 8.0);
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
pub fn frames(frame_ms: &[f64], quantity: &Quantity) -> Drawing {
    const BOTTOM: f64 = 190.0;
    const PARTS: usize = 360;
    let mut drawing = Drawing::new(WIDTH, 232.0, "time of each frame along the demo");
    let seconds: Vec<f64> = frame_ms.iter().map(|ms| ms / 1e3).collect();
    let least = seconds.iter().copied().filter(|&value| value > 0.0).fold(f64::INFINITY, f64::min);
    let greatest = seconds.iter().copied().fold(0.0, f64::max);
    let axis = match greatest / least > 10.0 {
        true => Axis::logarithmic(seconds.iter().copied(), BOTTOM, 12.0),
        false => Axis::linear(seconds.iter().copied().chain([0.0]), BOTTOM, 12.0, 5),
    };
    value_grid(&mut drawing, &axis, quantity, (LEFT, RIGHT));
    let x = Axis::linear([0.0, seconds.len() as f64], LEFT, RIGHT, 5);
    let x = Axis::exact(0.0, seconds.len() as f64, LEFT, RIGHT, x.ticks());
    labels_below(&mut drawing, &x, (12.0, BOTTOM), |tick| prony_text::thousands(tick as usize));
    drawing.text("q", Anchor::Middle, ((LEFT + RIGHT) / 2.0, BOTTOM + 34.0), "frame");
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
    drawing.wide_path("e k1", &envelope, ((RIGHT - LEFT) * size as f64 / seconds.len().max(1) as f64).max(1.0) + 0.2);
    drawing.path("usual thin", &typical, "");
    drawing.end();
    drawing
}
