//! All machines beside each other: a bar a configuration, a tick a workload.

use std::fmt::Write;

use prony_stats::quantile::median;
use prony_text::Quantity;

use super::{labels, left_of, value_grid};
use crate::study::matrix::Matrix;
use crate::svg::axis::Axis;
use crate::svg::drawing::{Anchor, At, Drawing};

/// Left end of a grid with short labels.
const LEFT: f64 = 44.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 300.0;
const HEIGHT: f64 = 336.0;
/// More bars than this are not distinguished in a row.
pub const MOST_BARS: usize = 160;

/// Draws bars of all machines; `None` when there is nothing to draw or too much for one row.
pub fn draw(matrix: &Matrix<'_>, quantity: &Quantity) -> Option<Drawing> {
    let machines = &matrix.results.machines;
    let series = matrix.configurations.len();
    if series * machines.len() > MOST_BARS || matrix.groups().next().is_none() {
        return None;
    }
    // Whole places are shorter to write.
    let bar = (1020.0 / (machines.len() as f64 * (series as f64 + 1.0))).clamp(8.0, 34.0).floor();
    let machine_width = bar * (series as f64 + 1.0);
    let axis = Axis::linear(matrix.groups().map(|group| group.3.median).chain([0.0]), BOTTOM, TOP, 6);
    let first = left_of(labels(&axis, quantity), LEFT);
    let right = first + machine_width.max(60.0) * machines.len() as f64;
    let label = format!(
        "{}, one bar per configuration and machine: median of its workloads; ticks: each workload",
        matrix.metric()
    );
    let mut drawing = Drawing::new(right + 8.0, HEIGHT, &label);
    value_grid(&mut drawing, &axis, quantity, (first, right));
    for (machine, facts) in machines.iter().enumerate() {
        let left = first + machine_width.max(60.0) * machine as f64;
        for configuration in 0..series {
            let x = left + (bar / 2.0).floor() + bar * configuration as f64;
            draw_bar(&mut drawing, matrix, quantity, &axis, (configuration, machine), (x, bar - 3.0));
        }
        let middle = left + machine_width / 2.0;
        drawing.text_within("", Anchor::Middle, (middle, BOTTOM + 18.0), machine_width.max(60.0) - 4.0, &facts.name);
    }
    drawing.line("zero", (first, axis.at(0.0)), (right, axis.at(0.0)));
    Some(drawing)
}

fn draw_bar(
    drawing: &mut Drawing,
    matrix: &Matrix<'_>,
    quantity: &Quantity,
    axis: &Axis,
    (configuration, machine): (usize, usize),
    (x, width): (f64, f64),
) {
    let workloads = 0..matrix.results.workloads.len();
    let values: Vec<f64> =
        workloads.filter_map(|workload| Some(matrix.group(configuration, machine, workload)?.median)).collect();
    let Some(middle) = median(&values) else { return };
    let name = &matrix.configurations[configuration].name;
    let tip = format!(
        "{name} on {}: {}, median of {}",
        matrix.results.machines[machine].name,
        quantity.value(middle),
        prony_text::count(values.len(), "workload")
    );
    drawing.group(&format!("k{configuration}"));
    let (zero, y) = (axis.at(0.0), axis.at(middle));
    drawing.rect("b", (x, y.min(zero)), (width, (zero - y).abs()), &tip);
    if values.len() > 1 {
        let ticks = values.iter().fold(String::new(), |mut d, &value| {
            let _ = write!(d, "M{} {}h{}", At(x - 1.0), At(axis.at(value)), At(width + 2.0));
            d
        });
        drawing.path("tick", &ticks, "");
    }
    drawing.end();
}
