//! Chart of measured commands: a row for each, or their values along a parameter, every mark with its interval.

use std::fmt::Write;

use prony_text::{Quantity, plain};

use super::{axis_words, labels, labels_below, left_of, value_grid};
use crate::svg::axis::{Axis, is_log_sweep};
use crate::svg::drawing::{Anchor, At, Drawing, width};

/// Width of a file, and of the chart on a wide and on a narrow page.
const FILE: f64 = 760.0;
const BROAD: f64 = 1056.0;
const NARROW: f64 = 360.0;
/// Height of a chart along a parameter.
const HEIGHT: f64 = 420.0;
/// Values that differ by more than this factor have a logarithmic axis, where the parameter has one.
const LOG_FROM: f64 = 10.0;
/// Height of a row, and of a line of the legend.
const ROW: f64 = 24.0;
/// Widest column of names, as a share of the width.
const NAMES_MOST: f64 = 0.43;

/// Measured commands as a chart.
#[derive(Debug, Clone)]
pub struct Commands {
    /// Title, also for screen readers.
    pub title: String,
    /// Name of what was measured, such as `CPU time`.
    pub metric: String,
    /// Unit of the values: `second`, `byte`.
    pub unit: String,
    /// Name of the parameter along which values are drawn; without one each point is a row of its own.
    pub parameter: Option<String>,
    /// Series of points, in the order of the legend; of rows, from top to bottom.
    pub series: Vec<CommandSeries>,
}

/// Points of a chart with a common name.
#[derive(Debug, Clone)]
pub struct CommandSeries {
    /// Name in the legend, or of the row.
    pub name: String,
    /// Points from left to right; of a row, the first one counts.
    pub points: Vec<CommandPoint>,
}

/// A measured command.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommandPoint {
    /// Value of the parameter.
    pub at: f64,
    /// Typical value.
    pub value: f64,
    /// Bounds of its interval; not finite where there are too few values.
    pub interval: (f64, f64),
}

impl CommandPoint {
    /// The interval, if it is known.
    fn bounds(&self) -> Option<(f64, f64)> {
        Some(self.interval).filter(|(low, high)| low.is_finite() && high.is_finite())
    }

    fn reach(&self) -> [f64; 3] {
        let (low, high) = self.bounds().unwrap_or((self.value, self.value));
        [low, self.value, high]
    }

    fn tip(&self, name: &str, quantity: &Quantity) -> String {
        let value = quantity.value(self.value);
        match self.bounds() {
            Some((low, high)) => {
                format!("{name}: {value} [{}, {}]", quantity.number(low), quantity.number(high))
            }
            None => format!("{name}: {value}"),
        }
    }
}

impl Commands {
    /// The chart as an SVG file.
    pub fn svg(&self) -> String {
        self.drawing(FILE, true).file(self.series.len())
    }

    /// The chart for a wide page and for a narrow one, without the title, which the page has.
    pub(crate) fn broad_and_narrow(&self) -> [Drawing; 2] {
        [BROAD, NARROW].map(|wide| self.drawing(wide, false))
    }

    fn drawing(&self, wide: f64, is_titled: bool) -> Drawing {
        match &self.parameter {
            Some(parameter) => self.along(parameter, wide, is_titled),
            None => self.rows(wide, is_titled),
        }
    }

    fn points(&self) -> impl Iterator<Item = &CommandPoint> {
        self.series.iter().flat_map(|series| &series.points).filter(|point| point.value.is_finite())
    }

    /// A row for each command, from 0 on, so that lengths are in the ratio of the values.
    fn rows(&self, wide: f64, is_titled: bool) -> Drawing {
        let right = wide - 20.0;
        let top = if is_titled { 34.0 } else { 6.0 };
        let bottom = top + ROW * self.series.len() as f64;
        let mut drawing = Drawing::new(wide, bottom + 42.0, &self.title);
        let names = self.series.iter().map(|series| width(&series.name)).fold(60.0, f64::max).min(NAMES_MOST * wide);
        let left = names + 20.0;
        if is_titled {
            drawing.text_within("t", Anchor::Start, (8.0, 20.0), wide - 16.0, &self.title);
        }
        let reach = self.points().flat_map(CommandPoint::reach);
        let axis = Axis::linear(reach.chain([0.0]), left, right, (wide / 125.0) as usize);
        let quantity = axis.quantity(&self.unit);
        labels_below(&mut drawing, &axis, (top, bottom), |tick| quantity.tick(tick));
        let title = self.axis_label(&quantity);
        drawing.text_within("q", Anchor::Middle, ((left + right) / 2.0, bottom + 34.0), right - left, &title);
        for (row, series) in self.series.iter().enumerate() {
            let y = top + ROW * (row as f64 + 0.5);
            drawing.text_within("", Anchor::End, (left - 8.0, y + 4.0), names, &series.name);
            let Some(point) = series.points.first().filter(|point| point.value.is_finite()) else { continue };
            if let Some((low, high)) = point.bounds() {
                drawing.line("w k0", (axis.at(low), y), (axis.at(high), y));
            }
            drawing.group("m k0");
            drawing.mark(0, (axis.at(point.value), y), &point.tip(&series.name, &quantity));
            drawing.end();
        }
        drawing
    }

    /// Values along a parameter, a line for each series.
    fn along(&self, parameter: &str, wide: f64, is_titled: bool) -> Drawing {
        let right = wide - 20.0;
        let height = if is_titled { HEIGHT } else { (wide * 0.36).max(300.0) };
        let mut drawing = Drawing::new(wide, height, &self.title);
        let bottom = height - 46.0;
        if is_titled {
            drawing.text_within("t", Anchor::Start, (8.0, 20.0), right - 8.0, &self.title);
        }
        let top = self.legend(&mut drawing, (8.0, right), if is_titled { 42.0 } else { 16.0 }) + 26.0;
        let mut places: Vec<f64> = self.points().map(|point| point.at).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let is_log = is_log_sweep(&places);
        let reach = || self.points().flat_map(CommandPoint::reach);
        let (least, greatest) = reach().fold((f64::INFINITY, 0.0f64), |(low, high), at| (low.min(at), high.max(at)));
        let y = match is_log && least > 0.0 && greatest / least > LOG_FROM {
            true => Axis::logarithmic(reach(), bottom, top),
            false => Axis::linear(reach().chain([0.0]), bottom, top, 6),
        };
        let quantity = y.quantity(&self.unit);
        let left = left_of(labels(&y, &quantity), 44.0);
        let x = Axis::sweep(&places, is_log, left + 8.0, right - 8.0, (wide / 75.0) as usize);
        value_grid(&mut drawing, &y, &quantity, (left, right));
        labels_below(&mut drawing, &x, (top, bottom), plain);
        drawing.text_within("q", Anchor::Middle, ((left + right) / 2.0, height - 10.0), right - left, parameter);
        let title = axis_words(&y, &self.axis_label(&quantity));
        drawing.text_within("q", Anchor::Start, (6.0, top - 10.0), right - 6.0, &title);
        for (k, series) in self.series.iter().enumerate() {
            let mut points: Vec<&CommandPoint> =
                series.points.iter().filter(|point| point.value.is_finite() && point.at.is_finite()).collect();
            points.sort_by(|a, b| a.at.total_cmp(&b.at));
            let path = points.iter().enumerate().fold(String::new(), |mut d, (place, point)| {
                let letter = if place == 0 { 'M' } else { 'L' };
                let _ = write!(d, "{letter}{} {}", At(x.at(point.at)), At(y.at(point.value)));
                d
            });
            drawing.path(&format!("l k{k}"), &path, "");
            for point in &points {
                if let Some((low, high)) = point.bounds() {
                    drawing.line(&format!("w k{k}"), (x.at(point.at), y.at(low)), (x.at(point.at), y.at(high)));
                }
            }
            drawing.group(&format!("m k{k}"));
            for point in points {
                let name = format!("{}, {parameter} = {}", series.name, plain(point.at));
                drawing.mark(k, (x.at(point.at), y.at(point.value)), &point.tip(&name, &quantity));
            }
            drawing.end();
        }
        drawing
    }

    /// `CPU time in ms`.
    fn axis_label(&self, quantity: &Quantity) -> String {
        match quantity.unit() {
            "" => self.metric.clone(),
            unit => format!("{} in {unit}", self.metric),
        }
    }

    /// Names with their marks, as many a line as fit; answers where they end. One series needs none.
    fn legend(&self, drawing: &mut Drawing, (left, right): (f64, f64), top: f64) -> f64 {
        let (mut x, mut y) = (left, top);
        if self.series.len() < 2 {
            return top - 22.0;
        }
        for (k, series) in self.series.iter().enumerate() {
            let wide = width(&series.name) + 26.0;
            if x + wide > right && x > left {
                (x, y) = (left, y + 18.0);
            }
            drawing.group(&format!("m k{k}"));
            drawing.mark(k, (x + 6.0, y - 4.0), "");
            drawing.end();
            drawing.text_within("", Anchor::Start, (x + 15.0, y), right - left - 15.0, &series.name);
            x += wide;
        }
        y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(parameter: Option<&str>, series: &[(&str, &[(f64, f64)])]) -> Commands {
        let series = series.iter().map(|(name, points)| CommandSeries {
            name: (*name).to_owned(),
            points: points
                .iter()
                .map(|&(at, value)| CommandPoint { at, value, interval: (value * 0.9, value * 1.1) })
                .collect(),
        });
        Commands {
            title: "sort big".to_owned(),
            metric: "CPU time".to_owned(),
            unit: "second".to_owned(),
            parameter: parameter.map(str::to_owned),
            series: series.collect(),
        }
    }

    #[test]
    fn a_scan_has_a_line_with_intervals_and_an_axis_of_its_values() {
        let svg = chart(Some("threads"), &[("sort big", &[(4.0, 0.01), (1.0, 0.04), (2.0, 0.02)])]).svg();
        for part in [">threads</text>", ">CPU time in ms</text>", ">1</text>", ">2</text>", ">4</text>"] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert_eq!(svg.matches("class=\"w k0\"").count(), 3, "{svg}");
        assert!(svg.contains("sort big, threads = 1: 40.0 ms [36.0, 44.0]"), "{svg}");
        let two = chart(Some("n"), &[("a", &[(1.0, 1.0)]), ("<b>", &[(1.0, 2.0)])]).svg();
        assert!(two.contains(">&lt;b&gt;</text>"), "{two}");
    }

    #[test]
    fn commands_without_a_parameter_have_a_row_each() {
        let svg = chart(None, &[("gzip", &[(0.0, 2.0)]), ("zstd", &[(0.0, 0.5)])]).svg();
        assert!(svg.contains(">gzip</text>") && svg.contains(">zstd</text>") && svg.contains("CPU time in s"), "{svg}");
        assert_eq!(svg.matches("<use ").count(), 2, "{svg}");
    }

    #[test]
    fn whatever_is_unknown_is_left_out() {
        for parameter in [None, Some("n")] {
            let mut unknown = chart(parameter, &[("a", &[(1.0, f64::NAN)]), ("b", &[])]);
            assert!(unknown.svg().contains("</svg>"));
            unknown.series[0].points[0] =
                CommandPoint { at: 1.0, value: 1.0, interval: (f64::NEG_INFINITY, f64::INFINITY) };
            assert!(unknown.broad_and_narrow().iter().all(|chart| !chart.inline().contains("class=\"w k0\"")));
        }
    }
}
