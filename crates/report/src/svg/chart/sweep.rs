//! A value along a quantity that is varied: a line a series, its interval as a band, and where a stopping rule ended it.

use std::fmt::Write;

use prony_stats::quantile::median;
use prony_study::{Role, State};
use prony_text::{Quantity, plain};

use super::{labels_below, value_grid};
use crate::study::matrix::{Group, Matrix};
use crate::svg::axis::{Axis, is_log_sweep};
use crate::svg::drawing::{Anchor, At, Drawing};

const WIDTH: f64 = 372.0;
const LEFT: f64 = 50.0;
const RIGHT: f64 = WIDTH - 14.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 206.0;
const HEIGHT: f64 = 244.0;

/// Quantity along the horizontal axis of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Along {
    /// Name of the factor, or of the workloads' axis.
    pub name: String,
    /// Values along the axis, ascending.
    pub points: Vec<f64>,
    source: Source,
}

#[derive(Debug, Clone, PartialEq)]
enum Source {
    Factor(usize),
    /// The number of each workload.
    Workloads(Vec<f64>),
}

/// Panel of a sweep's charts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panel {
    /// Index of the panel's machine, from 0.
    pub machine: usize,
    /// The workloads that are shown in it.
    pub workloads: Vec<usize>,
    /// Title of the panel, as text.
    pub name: String,
}

/// Everything that is varied as a quantity: the factor of a sweep, and axes of workloads with three numbers and more.
pub fn all(matrix: &Matrix<'_>) -> Vec<Along> {
    let results = matrix.results;
    let of_factor = matrix.sweep.and_then(|factor| {
        let points = results.factors[factor].numbers.clone()?;
        Some(Along { name: results.factors[factor].name.clone(), points, source: Source::Factor(factor) })
    });
    let axes = results.workloads.first().map(|workload| workload.axes.keys().cloned().collect::<Vec<_>>());
    let of_workloads = axes.unwrap_or_default().into_iter().filter_map(|axis| {
        let numbers = results.workloads.iter().map(|workload| workload.axes.get(&axis)?.trim().parse::<f64>().ok());
        let numbers: Vec<f64> = numbers.collect::<Option<_>>()?;
        let mut points = numbers.clone();
        points.sort_by(f64::total_cmp);
        points.dedup();
        (points.len() >= 3 && points.iter().all(|point| point.is_finite())).then_some(Along {
            name: axis,
            points,
            source: Source::Workloads(numbers),
        })
    });
    of_factor.into_iter().chain(of_workloads).collect()
}

impl Along {
    /// The charts: one a machine and workload, or for an axis of the workloads one a machine and what else workloads vary.
    pub fn panels(&self, matrix: &Matrix<'_>) -> Vec<Panel> {
        let results = matrix.results;
        let mut kinds: Vec<(String, Vec<usize>)> = Vec::new();
        for (place, workload) in results.workloads.iter().enumerate() {
            let kind = match &self.source {
                Source::Factor(_) => workload.name.clone(),
                Source::Workloads(_) => {
                    let rest = workload.axes.iter().filter(|(name, _)| **name != self.name);
                    rest.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(", ")
                }
            };
            match kinds.iter_mut().find(|(name, _)| *name == kind) {
                Some((_, workloads)) => workloads.push(place),
                None => kinds.push((kind, vec![place])),
            }
        }
        let has_values = |machine: usize, workloads: &[usize]| {
            matrix.groups().any(|group| group.1 == machine && workloads.contains(&group.2))
        };
        let mut panels = Vec::new();
        for (machine, facts) in results.machines.iter().enumerate() {
            for (kind, workloads) in kinds.iter().filter(|(_, workloads)| has_values(machine, workloads)) {
                let name = match (kinds.len(), kind.is_empty()) {
                    (1, _) | (_, true) => facts.name.clone(),
                    _ if results.machines.len() == 1 => kind.clone(),
                    _ => format!("{} · {kind}", facts.name),
                };
                panels.push(Panel { machine, workloads: workloads.clone(), name });
            }
        }
        panels
    }

    /// The points of one line: place on the axis, and the values there.
    fn line<'m>(&self, matrix: &'m Matrix<'_>, panel: &Panel, series: usize) -> Vec<(f64, Vec<&'m Group>)> {
        let at = |point: f64| -> Vec<&'m Group> {
            let of_series = |configuration: &usize| matrix.configurations[*configuration].series == series;
            let configurations = (0..matrix.configurations.len()).filter(of_series);
            match &self.source {
                Source::Factor(factor) => {
                    let here = configurations.filter(|&configuration| {
                        self.points[matrix.configurations[configuration].levels[*factor]] == point
                    });
                    here.flat_map(|configuration| {
                        panel
                            .workloads
                            .iter()
                            .filter_map(move |&workload| matrix.group(configuration, panel.machine, workload))
                    })
                    .collect()
                }
                Source::Workloads(numbers) => {
                    let here = panel.workloads.iter().filter(|&&workload| numbers[workload] == point);
                    let here: Vec<usize> = here.copied().collect();
                    configurations
                        .flat_map(|configuration| {
                            here.iter()
                                .filter_map(move |&workload| matrix.group(configuration, panel.machine, workload))
                        })
                        .collect()
                }
            }
        };
        let points = self.points.iter().map(|&point| (point, at(point)));
        points.filter(|(_, groups)| !groups.is_empty()).collect()
    }

    /// The first point that a stopping rule left out of a series, and why.
    fn halted(&self, matrix: &Matrix<'_>, panel: &Panel, series: usize) -> Option<(f64, String)> {
        let Source::Factor(factor) = self.source else { return None };
        let here = matrix.results.cells.iter().filter(|cell| {
            cell.role == Role::Measured
                && cell.machine == panel.machine
                && panel.workloads.contains(&cell.workload)
                && matrix.configuration(&cell.levels).is_some_and(|one| matrix.configurations[one].series == series)
        });
        let reached = here.clone().filter(|cell| cell.state == State::Done).map(|cell| cell.levels[factor]).max();
        let skipped = here.filter_map(|cell| match &cell.state {
            State::Skipped { why } if Some(cell.levels[factor]) > reached => Some((cell.levels[factor], why)),
            _ => None,
        });
        skipped.min_by_key(|&(level, _)| level).map(|(level, why)| (self.points[level], why.clone()))
    }
}

/// Draws one panel; all panels share the axis of values.
pub fn draw(matrix: &Matrix<'_>, quantity: &Quantity, along: &Along, panel: &Panel, values: &[f64]) -> Drawing {
    let label = format!(
        "{} by {} on {}: one line per configuration, its band from the lowest to the highest bound",
        matrix.metric(),
        along.name,
        panel.name
    );
    let mut drawing = Drawing::new(WIDTH, HEIGHT, &label);
    let x = Axis::sweep(&along.points, is_log_sweep(&along.points), LEFT + 8.0, RIGHT - 8.0, 9);
    let y = value_axis(values);
    value_grid(&mut drawing, &y, quantity, (LEFT, RIGHT));
    labels_below(&mut drawing, &x, (BOTTOM, BOTTOM), plain);
    drawing.text("q", Anchor::Middle, ((LEFT + RIGHT) / 2.0, HEIGHT - 6.0), &along.name);
    for series in 0..matrix.series.len() {
        drawing.group(&format!("k{series}"));
        draw_line(&mut drawing, matrix, quantity, along, panel, series, (&x, &y));
        if let Some((point, why)) = along.halted(matrix, panel, series) {
            let before = along.points.iter().rev().find(|&&other| other < point).copied().unwrap_or(point);
            let place = (x.at(before) + x.at(point)) / 2.0;
            drawing.path(
                "cross",
                &format!("M{} {}V{}", At(place), At(TOP), At(BOTTOM)),
                &format!("{} ends here: {why}", matrix.series[series]),
            );
            drawing.text("bad small", Anchor::End, (place - 4.0, TOP + 9.0 + 12.0 * series as f64), "stopped");
        }
        drawing.end();
    }
    drawing
}

/// Logarithmic where values differ by more than thirty times, as they do when something saturates.
fn value_axis(values: &[f64]) -> Axis {
    let positive = values.iter().copied().filter(|&value| value > 0.0).fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(0.0, f64::max);
    match highest / positive > 30.0 && values.iter().all(|&value| value > 0.0) {
        true => Axis::logarithmic(values.iter().copied(), BOTTOM, TOP).with_room(0.02),
        false => Axis::linear(values.iter().copied().chain([0.0]), BOTTOM, TOP, 5),
    }
}

/// All values that the panels of a sweep have to have room for.
pub fn values(matrix: &Matrix<'_>) -> Vec<f64> {
    let bounds = matrix.groups().flat_map(|(_, _, _, group)| {
        let (low, high) = group.bounds();
        [low, high]
    });
    bounds.collect()
}

fn draw_line(
    drawing: &mut Drawing,
    matrix: &Matrix<'_>,
    quantity: &Quantity,
    along: &Along,
    panel: &Panel,
    series: usize,
    (x, y): (&Axis, &Axis),
) {
    let points: Vec<(f64, f64, (f64, f64), usize)> = along
        .line(matrix, panel, series)
        .into_iter()
        .filter_map(|(point, groups)| {
            let middle = median(&groups.iter().map(|group| group.median).collect::<Vec<_>>())?;
            let low = groups.iter().map(|group| group.bounds().0).fold(f64::INFINITY, f64::min);
            let high = groups.iter().map(|group| group.bounds().1).fold(f64::NEG_INFINITY, f64::max);
            Some((point, middle, (low, high), groups.iter().map(|group| group.values.len()).sum()))
        })
        .collect();
    if points.is_empty() {
        return;
    }
    let path = |ends: &mut dyn Iterator<Item = (f64, f64)>, first: char| {
        ends.enumerate().fold(String::new(), |mut d, (place, (point, value))| {
            let _ = write!(d, "{}{} {}", if place == 0 { first } else { 'L' }, At(x.at(point)), At(y.at(value)));
            d
        })
    };
    let upper = path(&mut points.iter().map(|point| (point.0, point.2.1)), 'M');
    let lower = path(&mut points.iter().rev().map(|point| (point.0, point.2.0)), 'L');
    drawing.path(&format!("a k{series}"), &format!("{upper}{lower}Z"), "");
    drawing.path(&format!("l k{series}"), &path(&mut points.iter().map(|point| (point.0, point.1)), 'M'), "");
    drawing.group_with(&format!("m k{series}"), &[("data-name", &matrix.series[series])]);
    for (point, middle, (low, high), runs) in points {
        let tip = format!(
            "{} = {}: {} [{}, {}], {}",
            along.name,
            plain(point),
            quantity.value(middle),
            quantity.number(low),
            quantity.number(high),
            prony_text::count(runs, "run"),
        );
        drawing.mark(series, (x.at(point), y.at(middle)), &tip);
    }
    drawing.end();
}
