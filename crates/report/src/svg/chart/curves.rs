//! Curves that are not of a study: one quantity along another, a line a series, in a file of its own.

use std::fmt::Write;

use prony_text::{Quantity, plain};

use super::{axis_title, labels, labels_below, left_of, value_grid};
use crate::svg::axis::Axis;
use crate::svg::drawing::{Anchor, At, Drawing, width};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
/// Left end of titles and legends, and of a grid with short labels.
const MARGIN: f64 = 8.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = WIDTH - 20.0;
const BOTTOM: f64 = HEIGHT - 46.0;
/// Height of a line of the legend.
const LINE: f64 = 18.0;
/// Labels of an axis of equal steps.
const STEPS: usize = 8;
/// More points than this are a line without marks.
const MARKED_MOST: usize = 40;

/// Scale and unit of the horizontal axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Along {
    /// Sizes in bytes, at equal ratios.
    Bytes,
    /// Logarithmic scale: equal distances are equal ratios.
    Ratios,
    /// Linear scale: equal distances are equal differences.
    Steps,
}

/// Chart of one or more curves.
#[derive(Debug, Clone)]
pub struct Curves {
    /// Title for screen readers and above the chart.
    pub title: String,
    /// Horizontal axis: its scale, and a label of the varied quantity.
    pub along: (Along, String),
    /// The unit of the values: `B/s`, `second`, `cycles`.
    pub unit: String,
    /// True if the vertical axis is logarithmic.
    pub log: bool,
    /// The lines, in the order of the legend.
    pub lines: Vec<Curve>,
    /// Places along the axis that have a name, as the size of a cache.
    pub marks: Vec<(f64, String)>,
}

/// Curve with a name and a point for each value of the varied quantity.
#[derive(Debug, Clone)]
pub struct Curve {
    /// Name of the curve in the legend.
    pub name: String,
    /// Points from left to right.
    pub points: Vec<Point>,
}

/// A point of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Position on the horizontal axis.
    pub at: f64,
    /// Value on the vertical axis.
    pub value: f64,
    /// The least and the greatest value seen there; both the value where there is no spread.
    pub range: (f64, f64),
}

impl Curves {
    /// The chart as an SVG file.
    pub fn svg(&self) -> String {
        self.drawing().file(self.lines.len())
    }

    /// The chart as a part of a page.
    pub(crate) fn drawing(&self) -> Drawing {
        let mut drawing = Drawing::new(WIDTH, HEIGHT, &self.title);
        drawing.text_within("t", Anchor::Start, (MARGIN, 20.0), RIGHT - MARGIN, &self.title);
        let top = self.legend(&mut drawing) + 26.0;
        let y = self.axis_of_values(top);
        let quantity = y.quantity(&self.unit);
        let left = left_of(labels(&y, &quantity), LEFT);
        let x = self.axis_along(left);
        value_grid(&mut drawing, &y, &quantity, (left, RIGHT));
        labels_below(&mut drawing, &x, (top, BOTTOM), |tick| match self.along.0 {
            Along::Bytes => binary(tick),
            _ => plain(tick),
        });
        for (at, name) in &self.marks {
            let place = x.at(*at);
            drawing.path("cross", &format!("M{} {}V{}", At(place), At(top), At(BOTTOM)), name);
            drawing.text("q small over", Anchor::End, (place - 3.0, top + 10.0), name);
        }
        drawing.text("q", Anchor::Middle, ((left + RIGHT) / 2.0, HEIGHT - 10.0), &self.along.1);
        axis_title(&mut drawing, &y, quantity.unit(), top - 10.0);
        for (series, line) in self.lines.iter().enumerate() {
            draw_line(&mut drawing, &quantity, series, line, (&x, &y));
        }
        drawing
    }

    /// Names with their marks, as many a line as fit; answers where they end.
    fn legend(&self, drawing: &mut Drawing) -> f64 {
        let (mut x, mut y) = (MARGIN, 40.0);
        for (series, line) in self.lines.iter().enumerate() {
            let wide = width(&line.name) + 26.0;
            if x + wide > RIGHT && x > MARGIN {
                (x, y) = (MARGIN, y + LINE);
            }
            drawing.group(&format!("m k{series}"));
            drawing.mark(series, (x + 6.0, y - 4.0), "");
            drawing.end();
            drawing.text("", Anchor::Start, (x + 15.0, y), &line.name);
            x += wide;
        }
        y
    }

    /// The horizontal axis of a grid that begins at `left`.
    fn axis_along(&self, left: f64) -> Axis {
        let mut places: Vec<f64> =
            self.lines.iter().flat_map(|line| line.points.iter().map(|point| point.at)).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let (from, to) = (left + 8.0, RIGHT - 8.0);
        match self.along.0 {
            Along::Bytes => {
                // Powers of two, whatever lies between them.
                let powers: Vec<f64> = places.iter().copied().filter(|place| place.log2().fract() == 0.0).collect();
                let ends = [places.first(), places.last()].into_iter().flatten().copied();
                let ticks = if powers.is_empty() { places.clone() } else { powers };
                let axis = Axis::sweep(&ticks, true, from, to, 10);
                if ticks.len() == places.len() { axis } else { axis.reaching(ends) }
            }
            Along::Ratios => Axis::logarithmic(places, from, to),
            // Few places have no others between them: there is no 1.5 threads.
            Along::Steps => match places[..] {
                [first, .., last] if places.len() <= STEPS => Axis::exact(first, last, from, to, &places),
                _ => Axis::linear(places, from, to, STEPS),
            },
        }
    }

    fn axis_of_values(&self, top: f64) -> Axis {
        let values = self.lines.iter().flat_map(|line| line.points.iter().map(|point| point.value));
        match self.log {
            true => Axis::logarithmic(values, BOTTOM, top).with_room(0.04),
            false => Axis::linear(values.chain([0.0]), BOTTOM, top, 6),
        }
    }
}

fn draw_line(drawing: &mut Drawing, quantity: &Quantity, series: usize, line: &Curve, (x, y): (&Axis, &Axis)) {
    let known = |point: &&Point| point.at.is_finite() && point.value.is_finite();
    let points: Vec<&Point> = line.points.iter().filter(known).collect();
    let path = points.iter().enumerate().fold(String::new(), |mut d, (place, point)| {
        let _ = write!(d, "{}{} {}", if place == 0 { 'M' } else { 'L' }, At(x.at(point.at)), At(y.at(point.value)));
        d
    });
    drawing.path(&format!("l k{series}"), &path, "");
    if points.len() > MARKED_MOST {
        return;
    }
    drawing.group(&format!("m k{series}"));
    for point in points {
        let (low, high) = point.range;
        let at = plain(point.at);
        let tip = format!(
            "{} at {at}: {} [{}, {}]",
            line.name,
            quantity.value(point.value),
            quantity.number(low),
            quantity.number(high)
        );
        drawing.mark(series, (x.at(point.at), y.at(point.value)), &tip);
    }
    drawing.end();
}

/// `16 KiB`, as memory is built.
fn binary(bytes: f64) -> String {
    match bytes {
        bytes if bytes >= f64::from(1 << 30) => format!("{} GiB", plain(bytes / f64::from(1 << 30))),
        bytes if bytes >= f64::from(1 << 20) => format!("{} MiB", plain(bytes / f64::from(1 << 20))),
        bytes if bytes >= 1024.0 => format!("{} KiB", plain(bytes / 1024.0)),
        bytes => format!("{} B", plain(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: &[f64], log: bool) -> String {
        let point =
            |(place, &value): (usize, &f64)| Point { at: f64::from(4096 << place), value, range: (value, value) };
        let points: Vec<Point> = values.iter().enumerate().map(point).collect();
        let line = |name: &str| Curve { name: name.to_owned(), points: points.clone() };
        Curves {
            title: "bandwidth by size".to_owned(),
            along: (Along::Bytes, "bytes touched".to_owned()),
            unit: "B/s".to_owned(),
            log,
            lines: vec![line("load"), line("<store>")],
            marks: vec![(32768.0, "L1".to_owned())],
        }
        .svg()
    }

    #[test]
    fn curves_have_a_legend_units_and_named_places() {
        let svg = chart(&[2e11, 2e11, 1e11, 5e10, 2e10], true);
        for part in [
            "bandwidth by size",
            ">load</text>",
            "&lt;store&gt;",
            ">GB/s, logarithmic</text>",
            ">4 KiB</text>",
            ">L1</text>",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
    }

    #[test]
    fn a_few_places_are_the_labels_of_their_axis() {
        let points = [1.0, 2.0].map(|at| Point { at, value: at, range: (at, at) }).to_vec();
        let curves = Curves {
            title: "threads".to_owned(),
            along: (Along::Steps, "threads".to_owned()),
            unit: "B/s".to_owned(),
            log: false,
            lines: vec![Curve { name: "load".to_owned(), points }],
            marks: Vec::new(),
        };
        assert_eq!(curves.axis_along(LEFT).ticks(), [1.0, 2.0]);
    }

    #[test]
    fn whatever_the_values_are_there_is_a_chart() {
        for values in [&[][..], &[f64::NAN], &[0.0], &[-1.0, f64::INFINITY], &[1e300, 1e-300]] {
            assert!(chart(values, true).contains("</svg>") && chart(values, false).contains("</svg>"), "{values:?}");
        }
    }
}
