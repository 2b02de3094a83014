//! The charts: each takes values that are known, and places them.

pub mod bars;
pub mod bench;
pub mod commands;
pub mod curves;
pub mod distributions;
pub mod dots;
pub mod flame;
pub mod frame_ratios;
pub mod frames;
pub mod impact;
pub mod ratios;
pub mod sweep;

use prony_text::Quantity;

use crate::svg::axis::Axis;
use crate::svg::drawing::{Anchor, Drawing, width};

/// Digits are wider than other letters: labels get this many times the width of text.
const WIDER: f64 = 1.15;

/// Left end of a grid whose labels stand to the left of it: `least`, or farther right where they are wider.
fn left_of(labels: impl IntoIterator<Item = String>, least: f64) -> f64 {
    labels.into_iter().map(|label| width(&label) * WIDER + 8.0).fold(least, f64::max)
}

/// Labels of the ticks of an axis.
fn labels<'a>(axis: &'a Axis, quantity: &'a Quantity) -> impl Iterator<Item = String> + 'a {
    axis.ticks().iter().map(|&tick| quantity.tick(tick))
}

/// A grid with labels at the left, for values that grow upwards, between `left` and `right`.
fn value_grid(drawing: &mut Drawing, axis: &Axis, quantity: &Quantity, (left, right): (f64, f64)) {
    for &tick in axis.ticks() {
        let y = axis.at(tick);
        drawing.line("grid", (left, y), (right, y));
        drawing.text("q", Anchor::End, (left - 6.0, y + 4.0), &quantity.tick(tick));
    }
}

/// What a vertical axis shows, above it: a unit, and whether equal distances are equal ratios.
fn axis_title(drawing: &mut Drawing, axis: &Axis, unit: &str, y: f64) {
    let title = axis_words(axis, unit);
    if !title.is_empty() {
        drawing.text("q", Anchor::Start, (6.0, y), &title);
    }
}

/// A unit or name, marked where the axis is logarithmic.
fn axis_words(axis: &Axis, unit: &str) -> String {
    match (axis.is_log(), unit.is_empty()) {
        (false, _) => unit.to_owned(),
        (true, true) => "logarithmic".to_owned(),
        (true, false) => format!("{unit}, logarithmic"),
    }
}

/// A grid with labels below, for values that grow to the right.
fn labels_below(drawing: &mut Drawing, axis: &Axis, (top, bottom): (f64, f64), text: impl Fn(f64) -> String) {
    grid_below(drawing, axis, &[(top, bottom)]);
    texts_below(drawing, axis, bottom + 15.0, text);
}

/// The lines of such a grid within bands of the chart, from their top to their bottom: between them there is text.
fn grid_below(drawing: &mut Drawing, axis: &Axis, bands: &[(f64, f64)]) {
    for &tick in axis.ticks() {
        let x = axis.at(tick);
        for &(top, bottom) in bands.iter().filter(|(top, bottom)| bottom > top) {
            drawing.line("grid", (x, top), (x, bottom));
        }
    }
}

/// The labels of such a grid, those that do not overlap the ones before them.
fn texts_below(drawing: &mut Drawing, axis: &Axis, y: f64, text: impl Fn(f64) -> String) {
    let mut free_from = f64::NEG_INFINITY;
    for &tick in axis.ticks() {
        let (x, text) = (axis.at(tick), text(tick));
        // Where a label would be cut at an edge of the chart it begins or ends there instead.
        let half = width(&text) * WIDER / 2.0;
        let edge = drawing.width();
        let ((place, anchor), start) = match x {
            x if x + half > edge => ((edge - 1.0, Anchor::End), edge - 2.0 * half),
            x if x < half => ((1.0, Anchor::Start), 0.0),
            x => ((x, Anchor::Middle), x - half),
        };
        if start >= free_from {
            drawing.text("q", anchor, (place, y), &text);
            free_from = start + 2.0 * half + 4.0;
        }
    }
}

/// Frames along the bottom of a chart, in units that fit: `k frames`.
fn frames_below(drawing: &mut Drawing, frames: usize, (left, right): (f64, f64), (top, bottom): (f64, f64)) -> Axis {
    let round = Axis::linear([0.0, frames as f64], left, right, 6);
    let axis = Axis::exact(0.0, frames as f64, left, right, round.ticks());
    let quantity = axis.quantity("frames");
    labels_below(drawing, &axis, (top, bottom), |tick| quantity.tick(tick));
    let unit = if quantity.unit() == "frames" { "frame" } else { quantity.unit() };
    drawing.text("q", Anchor::Middle, ((left + right) / 2.0, bottom + 34.0), unit);
    axis
}

/// Ends of an axis in values and places, for the page's script: `0,8,40,300,lin`.
fn described(axis: &Axis) -> String {
    let (low, high) = axis.ends();
    let kind = if axis.is_log() { "log" } else { "lin" };
    format!("{low:e},{high:e},{},{},{kind}", axis.at(low), axis.at(high))
}
