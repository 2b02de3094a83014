//! Chart of one machine: a row for each workload, a mark for each configuration, and its interval behind it.

use std::fmt::Write;

use prony_text::Quantity;

use crate::study::matrix::Matrix;
use crate::svg::axis::Axis;
use crate::svg::drawing::{Anchor, At, Drawing, width};

use super::labels_below;

const WIDTH: f64 = 372.0;
const ROW: f64 = 22.0;
const TOP: f64 = 8.0;
/// Rows of one chart; what is beyond is in the table of cells.
pub const MOST_ROWS: usize = 40;

/// Draws a machine; `None` when nothing was measured on it.
pub fn draw(matrix: &Matrix<'_>, quantity: &Quantity, machine: usize) -> Option<Drawing> {
    let workloads = &matrix.results.workloads;
    let rows = workloads.len().min(MOST_ROWS);
    if !matrix.groups().any(|group| group.1 == machine) {
        return None;
    }
    // Machines are compared: all of them have the same scale.
    let bounds = matrix.groups().flat_map(|group| {
        let (low, high) = group.3.bounds();
        [low, high, group.3.median]
    });
    let left = workloads.iter().take(rows).map(|workload| width(&workload.name)).fold(40.0, f64::max).min(120.0) + 18.0;
    let bottom = TOP + ROW * rows as f64;
    let label = format!(
        "{} on {}: one row per workload, one mark per configuration",
        matrix.metric(),
        matrix.results.machines[machine].name
    );
    let mut drawing = Drawing::new(WIDTH, bottom + 40.0, &label);
    let axis = Axis::linear(bounds.chain([0.0]), left, WIDTH - 12.0, 5);
    labels_below(&mut drawing, &axis, (TOP, bottom), |tick| quantity.tick(tick));
    let unit = if quantity.unit().is_empty() { String::new() } else { format!(", {}", quantity.unit()) };
    let middle = (left + WIDTH - 12.0) / 2.0;
    let name = format!("{}{unit}", matrix.metric());
    drawing.text_within("q", Anchor::Middle, (middle, bottom + 32.0), WIDTH - left, &name);
    let mut grid = String::new();
    let y = |row: usize| TOP + ROW * (row as f64 + 0.5);
    for (row, workload) in workloads.iter().enumerate().take(rows) {
        drawing.text_within("", Anchor::End, (left - 8.0, y(row) + 4.0), left - 10.0, &workload.name);
        let _ = write!(grid, "M{} {}H{}", At(left), At(y(row)), At(WIDTH - 12.0));
    }
    drawing.path("grid", &grid, "");
    // The first configuration last: what all are compared with lies on top.
    for (configuration, one) in matrix.configurations.iter().enumerate().rev() {
        drawing.group_with(&format!("m k{}", one.series), &[("data-name", &one.name)]);
        for (row, workload) in workloads.iter().enumerate().take(rows) {
            let Some(group) = matrix.group(configuration, machine, row) else { continue };
            let (low, high) = group.bounds();
            if axis.at(high) - axis.at(low) > 9.0 {
                drawing.line(&format!("w k{}", one.series), (axis.at(low), y(row)), (axis.at(high), y(row)));
            }
            let tip = format!("{}: {}", workload.name, quantity.value(group.median));
            drawing.mark(one.series, (axis.at(group.median), y(row)), &tip);
        }
        drawing.end();
    }
    Some(drawing)
}
