//! Frame times: how slow the slowest are, and where in the replay.

use std::fmt::Write;

use prony_text::{Quantity, count};

use super::{described, frames_below, labels, left_of, value_grid};
use crate::study::frames::{QUANTILES, Trace};
use crate::study::matrix::Matrix;
use crate::svg::axis::Axis;
use crate::svg::drawing::{Anchor, At, Drawing, cut};

/// Traces of the configurations that replayed one workload on one machine.
#[derive(Debug)]
pub struct Panel<'t> {
    /// Index of the panel's machine, from 0.
    pub machine: usize,
    /// Index of the panel's workload, from 0.
    pub workload: usize,
    /// Index of each configuration with its trace.
    pub traces: Vec<(usize, &'t Trace)>,
}

impl Panel<'_> {
    /// Title of the panel, for instance `dm1 on i7-3770K`.
    pub fn name(&self, matrix: &Matrix<'_>) -> String {
        let (machine, workload) = (&matrix.results.machines[self.machine], &matrix.results.workloads[self.workload]);
        match matrix.results.machines.len() {
            1 => workload.name.clone(),
            _ => format!("{} on {}", workload.name, machine.name),
        }
    }
}

/// What panels that are compared share: the unit, and the values for which their axes have room.
#[derive(Debug)]
pub struct Scale {
    /// The unit in which times are shown.
    pub quantity: Quantity,
    quantiles: Vec<f64>,
}

impl Scale {
    /// The scale of all of these panels.
    pub fn of(panels: &[Panel<'_>]) -> Scale {
        let traces = || panels.iter().flat_map(|panel| panel.traces.iter().map(|(_, trace)| trace));
        let quantiles: Vec<f64> = traces().flat_map(|trace| trace.quantiles.iter().copied()).collect();
        Scale { quantity: axis(quantiles.iter().copied(), 1.0, 0.0).quantity("second"), quantiles }
    }
}

/// Draws the share of frames that are faster against their time: the scale doubles its patience with each step to the right.
pub fn quantiles(matrix: &Matrix<'_>, panel: &Panel<'_>, scale: &Scale) -> Drawing {
    const WIDTH: f64 = 372.0;
    const RIGHT: f64 = WIDTH - 16.0;
    const BOTTOM: f64 = 196.0;
    let label = format!("frame time quantiles of {}: one line per configuration", panel.name(matrix));
    let mut drawing = Drawing::new(WIDTH, 232.0, &label);
    let quantity = &scale.quantity;
    let y = axis(scale.quantiles.iter().copied(), BOTTOM, 12.0);
    let left = left_of(labels(&y, quantity), 36.0);
    value_grid(&mut drawing, &y, quantity, (left, RIGHT));
    // As many places as there are quantiles that differ from the maximum for this many frames.
    let frames = panel.traces.iter().map(|(_, trace)| trace.frames).max().unwrap_or(1) as f64;
    let shown: Vec<usize> =
        (0..QUANTILES.len()).filter(|&at| QUANTILES[at] == 1.0 || (1.0 - QUANTILES[at]) * frames >= 2.0).collect();
    let nines = |p: f64| -(1.0 - p).log10();
    let last = shown.iter().rev().nth(1).map_or(1.0, |&at| nines(QUANTILES[at]));
    let x = |at: usize| {
        let place = if QUANTILES[at] == 1.0 { last + 0.7 } else { nines(QUANTILES[at]) };
        left + 10.0 + place / (last + 0.7) * (RIGHT - left - 22.0)
    };
    let names = [(0, "0"), (2, "50 %"), (4, "90 %"), (6, "99 %"), (7, "99.9 %"), (8, "99.99 %"), (9, "max")];
    for (at, name) in names.into_iter().filter(|(at, _)| shown.contains(at)) {
        drawing.line("grid", (x(at), 12.0), (x(at), BOTTOM));
        drawing.text("q small", Anchor::Middle, (x(at), BOTTOM + 15.0), name);
    }
    drawing.text("q", Anchor::Middle, ((left + RIGHT) / 2.0, 228.0), "share of frames that are faster");
    for (configuration, trace) in &panel.traces {
        let series = matrix.configurations[*configuration].series;
        drawing.group(&format!("k{series}"));
        let d = shown.iter().enumerate().fold(String::new(), |mut d, (place, &at)| {
            let _ = write!(d, "{}{} {}", if place == 0 { 'M' } else { 'L' }, At(x(at)), At(y.at(trace.quantiles[at])));
            d
        });
        drawing.path(&format!("l k{series}"), &d, "");
        drawing.group_with(&format!("m k{series}"), &[("data-name", &matrix.configurations[*configuration].name)]);
        for &at in &shown {
            let what = match QUANTILES[at] {
                0.0 => "fastest frame".to_owned(),
                1.0 => "slowest frame".to_owned(),
                p => format!("{} % of frames within", prony_text::plain(p * 100.0)),
            };
            let tip = format!("{what} {}", quantity.value(trace.quantiles[at]));
            drawing.mark(series, (x(at), y.at(trace.quantiles[at])), &tip);
        }
        drawing.end();
        drawing.end();
    }
    drawing
}

/// Draws each frame's time along the replay, a row a configuration: from the fastest to the slowest frame of each stretch over
/// all replays, and the typical one as a line. `parts`: stretches a row at most.
pub fn traces(matrix: &Matrix<'_>, panel: &Panel<'_>, parts: usize, scale: &Scale) -> Drawing {
    const WIDTH: f64 = 1080.0;
    const LEFT: f64 = 190.0;
    const RIGHT: f64 = WIDTH - 8.0;
    const ROW: f64 = 62.0;
    let bottom = ROW * panel.traces.len() as f64 + 4.0;
    let height = bottom + 42.0;
    let label = format!("time of each frame of {}: one row per configuration", panel.name(matrix));
    let mut drawing = Drawing::new(WIDTH, height, &label);
    let quantity = &scale.quantity;
    let reduced: Vec<_> = panel.traces.iter().map(|(_, trace)| trace.reduced(parts)).collect();
    // From the fastest to the slowest frame of all panels.
    let all = || scale.quantiles.iter().copied();
    let frames = panel.traces.iter().map(|(_, trace)| trace.frames).max().unwrap_or(1);
    let x = frames_below(&mut drawing, frames, (LEFT, RIGHT), (4.0, bottom));
    drawing.attribute("data-x", &described(&x));
    drawing.attribute("data-unit", quantity.unit());
    for (row, ((configuration, trace), parts)) in panel.traces.iter().zip(&reduced).enumerate() {
        let (top, bottom) = (6.0 + ROW * row as f64, ROW * (row as f64 + 1.0) - 6.0);
        let y = axis(all(), bottom, top);
        let series = matrix.configurations[*configuration].series;
        let name = &matrix.configurations[*configuration].name;
        drawing.group_with(&format!("k{series}"), &[("data-y", &described(&y)), ("data-name", name)]);
        drawing.group(&format!("m k{series}"));
        drawing.mark(series, (10.0, (top + bottom) / 2.0), "");
        drawing.end();
        drawing.text("small", Anchor::Start, (20.0, (top + bottom) / 2.0 - 2.0), &cut(name, 122.0));
        drawing.text("q small", Anchor::Start, (20.0, (top + bottom) / 2.0 + 12.0), &count(trace.runs, "replay"));
        for (tick, place) in ends(&y) {
            drawing.line("grid", (LEFT, y.at(tick)), (RIGHT, y.at(tick)));
            drawing.text("q small", Anchor::End, (LEFT - 6.0, y.at(tick) + place), &quantity.tick(tick));
        }
        let width = (x.at(trace.frames as f64) - LEFT) / parts.len() as f64;
        let (mut envelope, mut typical) = (String::new(), String::new());
        for (at, part) in parts.iter().enumerate() {
            let middle = LEFT + width * (at as f64 + 0.5);
            let (low, high) = (y.at(part.min), y.at(part.max));
            // A stroke of no length is not drawn.
            let _ = write!(envelope, "M{} {}V{}", At(middle), At(low), At(high.min(low - 0.5)));
            let _ = write!(typical, "{}{} {}", if at == 0 { 'M' } else { 'L' }, At(middle), At(y.at(part.typical)));
        }
        drawing.wide_path(&format!("e k{series}"), &envelope, width.max(1.0) + 0.2);
        drawing.path("usual thin", &typical, "");
        drawing.end();
    }
    drawing
}

/// The lowest and the highest tick of a short axis, with what to add to centre their labels.
fn ends(axis: &Axis) -> impl Iterator<Item = (f64, f64)> {
    let ticks = axis.ticks();
    let chosen = match ticks {
        [] => vec![],
        [only] => vec![(*only, 4.0)],
        [first, .., last] => vec![(*first, 3.0), (*last, 5.0)],
    };
    chosen.into_iter()
}

/// Logarithmic where the slowest takes ten times as long as the fastest.
fn axis(values: impl Iterator<Item = f64> + Clone, bottom: f64, top: f64) -> Axis {
    let least = values.clone().filter(|&value| value > 0.0).fold(f64::INFINITY, f64::min);
    let greatest = values.clone().fold(0.0, f64::max);
    match greatest / least > 10.0 {
        true => Axis::logarithmic(values, bottom, top),
        false => Axis::linear(values.chain([0.0]), bottom, top, 4),
    }
}
