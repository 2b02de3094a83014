//! A value along a quantity that is varied: a line a series, its interval as a band, and where a stopping rule ended it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use prony_stats::quantile::median;
use prony_study::{Role, State};
use prony_text::{Quantity, plain};

use super::{axis_words, labels, labels_below, left_of, value_grid};
use crate::study::matrix::{Group, Matrix};
use crate::svg::axis::{Axis, is_log_sweep};
use crate::svg::drawing::{Anchor, At, Drawing};

const WIDTH: f64 = 372.0;
/// Left end of a grid with short labels.
const LEFT: f64 = 36.0;
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
    /// Its lines, in the order in which they are drawn.
    pub lines: Vec<Line>,
}

/// A line of a panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Index of the series, from 0.
    pub series: usize,
    /// Its place among the lines that panels have in common, which chooses colour and mark.
    pub place: usize,
    /// The class of its marks: `k`… of a configuration, `c`… of a line that small panels have in common.
    class: String,
}

/// More lines than this are not distinguished in one panel: they are drawn as small multiples.
const LINES_MAX: usize = 8;
/// Small multiples of one machine and workload that still fit on a screen.
const MULTIPLES_MAX: usize = 12;

/// How many lines become several panels: some factors distinguish the lines of a panel, the others the panels.
#[derive(Debug)]
struct Multiples {
    of_lines: Vec<usize>,
    of_panels: Vec<usize>,
}

impl Multiples {
    /// `None` where one panel can show all lines.
    fn of(matrix: &Matrix<'_>) -> Option<Multiples> {
        if matrix.series.len() <= LINES_MAX {
            return None;
        }
        let factors = &matrix.results.factors;
        let varied: Vec<usize> = (0..factors.len()).filter(|&factor| Some(factor) != matrix.sweep).collect();
        let panels = |of_lines: &[usize]| -> usize {
            let rest = varied.iter().filter(|factor| !of_lines.contains(factor));
            rest.fold(1, |product: usize, &factor| product.saturating_mul(factors[factor].levels.len()))
        };
        // The first factors are what a study is about.
        let (mut of_lines, mut lines) = (Vec::new(), 1);
        for &factor in &varied {
            let more = lines * factors[factor].levels.len();
            if more > LINES_MAX || (lines > 1 && panels(&of_lines) <= MULTIPLES_MAX) {
                break;
            }
            of_lines.push(factor);
            lines = more;
        }
        let of_panels = varied.into_iter().filter(|factor| !of_lines.contains(factor)).collect();
        Some(Multiples { of_lines, of_panels })
    }

    /// Names of the lines that the panels have in common: `stock/64`.
    fn lines(&self, matrix: &Matrix<'_>) -> Vec<String> {
        let mut names = vec![String::new()];
        for &factor in &self.of_lines {
            let levels = &matrix.results.factors[factor].levels;
            let with = |name: &String| {
                let join = |level: &String| if name.is_empty() { level.clone() } else { format!("{name}/{level}") };
                levels.iter().map(join).collect::<Vec<String>>()
            };
            names = names.iter().flat_map(with).collect();
        }
        names
    }

    /// The panels: what distinguishes each, and its lines.
    fn panels(&self, matrix: &Matrix<'_>) -> Vec<(String, Vec<Line>)> {
        let factors = &matrix.results.factors;
        let mut panels: BTreeMap<Vec<usize>, Vec<Line>> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for configuration in matrix.configurations.iter().filter(|one| seen.insert(one.series)) {
            let levels = |of: &[usize]| of.iter().map(|&factor| configuration.levels[factor]).collect::<Vec<usize>>();
            let place = self
                .of_lines
                .iter()
                .fold(0, |place, &factor| place * factors[factor].levels.len() + configuration.levels[factor]);
            let line = Line { series: configuration.series, place, class: format!("c{place}") };
            panels.entry(levels(&self.of_panels)).or_default().push(line);
        }
        let name = |levels: &[usize]| {
            let named = self.of_panels.iter().zip(levels);
            let named =
                named.map(|(&factor, &level)| format!("{} {}", factors[factor].name, factors[factor].levels[level]));
            named.collect::<Vec<String>>().join(" · ")
        };
        panels.into_iter().map(|(levels, lines)| (name(&levels), lines)).collect()
    }
}

/// Names of the lines that small multiples have in common; none where the lines are the configurations.
pub fn common_lines(matrix: &Matrix<'_>) -> Vec<String> {
    Multiples::of(matrix).map_or_else(Vec::new, |multiples| multiples.lines(matrix))
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
    /// The charts: one a machine and workload, or for an axis of the workloads one a machine and what else workloads vary; of many
    /// lines several of each.
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
        let all = || matrix.series.iter().enumerate();
        let line = |(series, _): (usize, &String)| Line { series, place: series, class: format!("k{series}") };
        let parts = match Multiples::of(matrix) {
            Some(multiples) => multiples.panels(matrix),
            None => vec![(String::new(), all().map(line).collect())],
        };
        let mut panels = Vec::new();
        for (machine, facts) in results.machines.iter().enumerate() {
            for (kind, workloads) in kinds.iter().filter(|(_, workloads)| has_values(machine, workloads)) {
                let name = match (kinds.len(), kind.is_empty()) {
                    (1, _) | (_, true) => facts.name.clone(),
                    _ if results.machines.len() == 1 => kind.clone(),
                    _ => format!("{} · {kind}", facts.name),
                };
                let is_alone = results.machines.len() == 1 && kinds.len() == 1;
                for (part, lines) in &parts {
                    let name = match (part.is_empty(), is_alone) {
                        (true, _) => name.clone(),
                        (false, true) => part.clone(),
                        (false, false) => format!("{name} · {part}"),
                    };
                    let panel = Panel { machine, workloads: workloads.clone(), name, lines: lines.clone() };
                    if panel.lines.iter().any(|line| !self.line(matrix, &panel, line.series).is_empty()) {
                        panels.push(panel);
                    }
                }
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
    let y = value_axis(values);
    let left = left_of(labels(&y, quantity), LEFT);
    let x = Axis::sweep(&along.points, is_log_sweep(&along.points), left + 8.0, RIGHT - 8.0, 9);
    value_grid(&mut drawing, &y, quantity, (left, RIGHT));
    labels_below(&mut drawing, &x, (BOTTOM, BOTTOM), plain);
    let name = axis_words(&x, &along.name);
    drawing.text_within("q", Anchor::Middle, ((left + RIGHT) / 2.0, HEIGHT - 6.0), RIGHT - left, &name);
    for (row, line) in panel.lines.iter().enumerate() {
        let series = line.series;
        drawing.group(&line.class);
        draw_line(&mut drawing, matrix, quantity, along, panel, line, (&x, &y));
        if let Some((point, why)) = along.halted(matrix, panel, series) {
            let before = along.points.iter().rev().find(|&&other| other < point).copied().unwrap_or(point);
            let place = (x.at(before) + x.at(point)) / 2.0;
            drawing.path(
                "cross",
                &format!("M{} {}V{}", At(place), At(TOP), At(BOTTOM)),
                &format!("{} ends here: {why}", matrix.series[series]),
            );
            drawing.text("bad small over", Anchor::End, (place - 4.0, TOP + 9.0 + 12.0 * row as f64), "stopped");
        }
        drawing.end();
    }
    drawing
}

/// The unit of the axis that all panels share.
pub fn quantity(values: &[f64], unit: &str) -> Quantity {
    value_axis(values).quantity(unit)
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
    line: &Line,
    (x, y): (&Axis, &Axis),
) {
    let points: Vec<(f64, f64, (f64, f64), usize)> = along
        .line(matrix, panel, line.series)
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
    let Line { series, place, class } = line;
    drawing.path(&format!("a {class}"), &format!("{upper}{lower}Z"), "");
    drawing.path(&format!("l {class}"), &path(&mut points.iter().map(|point| (point.0, point.1)), 'M'), "");
    drawing.group_with(&format!("m {class}"), &[("data-name", &matrix.series[*series])]);
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
        drawing.mark(*place, (x.at(point), y.at(middle)), &tip);
    }
    drawing.end();
}
