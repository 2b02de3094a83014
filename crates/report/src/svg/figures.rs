//! Selection of a study's charts: the page and the files show the same ones.

use prony_text::Quantity;

use crate::Report;
use crate::study::matrix::Matrix;
use crate::svg::axis::Axis;
use crate::svg::chart::frames::{Panel, Scale};
use crate::svg::chart::{bars, dots, flame, frames, impact, sweep};
use crate::svg::drawing::Drawing;

/// Limit of charts of one kind; a note counts the rest.
const PANELS_MAX: usize = 24;
/// Traces on a page, and what all of them together may weigh: a stretch of frames is some 22 bytes.
const TRACES_MAX: usize = 240;
const TRACE_BYTES: usize = 420_000;
const STRETCH_BYTES: usize = 22;

/// A chart and what stands above it.
#[derive(Debug)]
pub struct Figure {
    /// Heading above the chart, as text.
    pub name: String,
    /// Drawing of the chart, as SVG elements.
    pub chart: Drawing,
}

/// Charts of one kind, and their number.
#[derive(Debug, Default)]
pub struct Series {
    /// Charts in the order in which they are shown.
    pub figures: Vec<Figure>,
    /// Number of charts that there could be.
    pub all: usize,
    /// Names of the lines that all of the charts have in common; none where these are the configurations.
    pub lines: Vec<String>,
}

/// All charts of a study.
#[derive(Debug)]
pub struct Figures {
    /// Chart of the effects; `None` without an effect.
    pub impact: Option<Drawing>,
    /// All machines beside each other.
    pub bars: Option<Drawing>,
    /// Charts by factors that are numbers.
    pub sweeps: Vec<(String, Series)>,
    /// Charts of the machines, one for each.
    pub machines: Series,
    /// Charts of the quantiles of frame times.
    pub quantiles: Series,
    /// Charts of each frame's time.
    pub traces: Series,
    /// Flame graphs, one for each profile.
    pub flames: Series,
}

/// The unit in which the values of a study are shown: that of the axes of its machines, which begin at 0.
pub fn quantity(matrix: &Matrix<'_>) -> Quantity {
    Axis::linear(sweep::values(matrix).into_iter().chain([0.0]), 0.0, 1.0, 5).quantity(&matrix.results.metric.unit)
}

/// The unit of the axis that all panels of a sweep share.
pub fn swept_quantity(matrix: &Matrix<'_>) -> Quantity {
    sweep::quantity(&sweep::values(matrix), &matrix.results.metric.unit)
}

impl Figures {
    /// Draws all charts of a report.
    pub fn of(report: &Report<'_>) -> Figures {
        let matrix = &report.matrix;
        let quantity = quantity(matrix);
        // Many points of a sweep beside each other say less than their curve.
        let is_plain = matrix.sweep.is_none();
        let machines = 0..matrix.results.machines.len();
        let machine = |machine: usize| {
            let chart = dots::draw(matrix, &quantity, machine)?;
            Some(Figure { name: matrix.results.machines[machine].name.clone(), chart })
        };
        let values = sweep::values(matrix);
        let swept = swept_quantity(matrix);
        let sweeps = sweep::all(matrix).into_iter().map(|along| {
            let panels = along.panels(matrix);
            let draw = |panel: &sweep::Panel| Figure {
                name: panel.name.clone(),
                chart: sweep::draw(matrix, &swept, &along, panel, &values),
            };
            let figures = panels.iter().take(PANELS_MAX).map(draw).collect();
            let series = Series { figures, all: panels.len(), lines: sweep::common_lines(matrix) };
            (along.name.clone(), series)
        });
        let (quantiles, traces) = of_frames(report);
        let flames: Vec<Figure> = report
            .extras
            .profiles
            .iter()
            .filter_map(|(name, stacks)| Some(Figure { name: name.clone(), chart: flame::draw(name, stacks)? }))
            .collect();
        Figures {
            impact: impact::draw(matrix, &report.findings.effects.effects),
            // Of one machine alone they would repeat its own chart.
            bars: (is_plain && machines.len() > 1).then(|| bars::draw(matrix, &quantity)).flatten(),
            sweeps: sweeps.filter(|(_, series)| !series.figures.is_empty()).collect(),
            machines: match is_plain {
                true => Series {
                    figures: machines.clone().filter_map(machine).take(PANELS_MAX).collect(),
                    all: machines.len(),
                    lines: Vec::new(),
                },
                false => Series::default(),
            },
            quantiles,
            traces,
            flames: Series { all: flames.len(), figures: flames, lines: Vec::new() },
        }
    }

    /// Charts with names for files, made of letters, digits and dashes.
    pub fn named(self) -> Vec<(String, Drawing)> {
        let mut named: Vec<(String, Drawing)> = Vec::new();
        named.extend(self.impact.map(|chart| ("impact".to_owned(), chart)));
        named.extend(self.bars.map(|chart| ("machines".to_owned(), chart)));
        let sweeps = self.sweeps.into_iter().map(|(name, series)| (format!("by-{}", dashed(&name)), series));
        let rest = [
            ("machine", self.machines),
            ("quantiles", self.quantiles),
            ("frames", self.traces),
            ("flame", self.flames),
        ];
        for (kind, series) in sweeps.chain(rest.map(|(kind, series)| (kind.to_owned(), series))) {
            for (place, figure) in series.figures.into_iter().enumerate() {
                let name = format!("{kind}-{}-{}", place + 1, dashed(&figure.name));
                named.push((name.trim_end_matches('-').to_owned(), figure.chart));
            }
        }
        named
    }
}

fn of_frames(report: &Report<'_>) -> (Series, Series) {
    let matrix = &report.matrix;
    let mut panels: Vec<Panel<'_>> = Vec::new();
    let mut keys: Vec<_> = report.extras.frames.traces.iter().collect();
    keys.sort_by_key(|((configuration, machine, workload), _)| (*machine, *workload, *configuration));
    for (&(configuration, machine, workload), trace) in keys {
        match panels.last_mut() {
            Some(panel) if (panel.machine, panel.workload) == (machine, workload) => {
                panel.traces.push((configuration, trace))
            }
            _ => panels.push(Panel { machine, workload, traces: vec![(configuration, trace)] }),
        }
    }
    let all = panels.len();
    panels.truncate(PANELS_MAX);
    while panels.len() > 1 && panels.iter().map(|panel| panel.traces.len()).sum::<usize>() > TRACES_MAX {
        panels.pop();
    }
    let traces = panels.iter().map(|panel| panel.traces.len()).sum::<usize>().max(1);
    let parts = (TRACE_BYTES / STRETCH_BYTES / traces).clamp(40, 900);
    let scale = Scale::of(&panels);
    let figures = |draw: &dyn Fn(&Panel<'_>) -> Drawing| {
        let figure = |panel: &Panel<'_>| Figure {
            name: format!("{}, {}", panel.name(matrix), scale.quantity.unit()),
            chart: draw(panel),
        };
        Series { figures: panels.iter().map(figure).collect(), all, lines: Vec::new() }
    };
    (
        figures(&|panel| frames::quantiles(matrix, panel, &scale)),
        figures(&|panel| frames::traces(matrix, panel, parts, &scale)),
    )
}

/// A name of others as a part of a file's name.
fn dashed(name: &str) -> String {
    let letters =
        name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' });
    let dashed: String = letters.take(40).collect();
    dashed.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_leads_nowhere_else() {
        assert_eq!(dashed("../../etc/passwd"), "etc-passwd");
        assert_eq!(dashed("i7-3770K @ 3.5 GHz"), "i7-3770k-3-5-ghz");
    }
}
