//! The charts: each takes values that are known, and places them.

pub mod bars;
pub mod bench;
pub mod commands;
pub mod curves;
pub mod dots;
pub mod flame;
pub mod frames;
pub mod impact;
pub mod ratios;
pub mod sweep;

use prony_text::Quantity;

use crate::svg::axis::Axis;
use crate::svg::drawing::{Anchor, Drawing, width};

/// A grid with labels at the left, for values that grow upwards, between `left` and `right`.
fn value_grid(drawing: &mut Drawing, axis: &Axis, quantity: &Quantity, (left, right): (f64, f64)) {
    for &tick in axis.ticks() {
        let y = axis.at(tick);
        drawing.line("grid", (left, y), (right, y));
        drawing.text("q", Anchor::End, (left - 6.0, y + 4.0), &quantity.tick(tick));
    }
}

/// Labels below, for values that grow to the right.
fn labels_below(drawing: &mut Drawing, axis: &Axis, (top, bottom): (f64, f64), text: impl Fn(f64) -> String) {
    let mut free_from = f64::NEG_INFINITY;
    for &tick in axis.ticks() {
        let (x, text) = (axis.at(tick), text(tick));
        drawing.line("grid", (x, top), (x, bottom));
        // Fonts differ in width, and the last label would be cut at the edge: it ends there instead.
        let half = width(&text) * 0.65;
        let edge = drawing.width();
        let ((place, anchor), start) = match x + half > edge {
            true => ((edge - 1.0, Anchor::End), edge - 2.0 * half),
            false => ((x, Anchor::Middle), x - half),
        };
        if start >= free_from {
            drawing.text("q", anchor, (place, bottom + 15.0), &text);
            free_from = start + 2.0 * half + 4.0;
        }
    }
}

/// Ends of an axis in values and places, for the page's script: `0,8,40,300,lin`.
fn described(axis: &Axis) -> String {
    let (low, high) = axis.ends();
    let kind = if axis.is_log() { "log" } else { "lin" };
    format!("{low:e},{high:e},{},{},{kind}", axis.at(low), axis.at(high))
}
