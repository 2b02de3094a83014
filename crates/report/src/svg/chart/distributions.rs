//! How values are spread: a histogram for each command on one axis, its bins logarithmic where equal ones would hide a mode.

use prony_stats::Interval;
use prony_stats::histogram::Histogram;
use prony_text::{Quantity, count, plain, thousands};

use super::bench::{RIGHT, Values, WIDTH};
use super::{axis_words, grid_below, texts_below};
use crate::svg::axis::Axis;
use crate::svg::drawing::{Anchor, Drawing, width};

/// Bins of a distribution.
const BINS: usize = 48;
/// Logarithmic bins at most and at least: of values that span decades, each mode still has several, and few values are no comb.
const LOG_BINS_MAX: usize = 96;
const LOG_BINS_MIN: usize = 12;
/// Medians that differ by more than this factor leave nothing to see on a common scale.
const OWN_SCALES_FROM: f64 = 2.0;
/// Values that span two decades have logarithmic bins.
const DECADES: f64 = 100.0;
/// With a smaller span, logarithmic bins are hardly different from equal ones.
const SPAN_LEAST: f64 = 4.0;
/// A share of values beyond the axis that is no outlier but a mode of its own, and how many these are at least.
const MODE: f64 = 0.05;
const MODE_VALUES: usize = 5;
/// A share of values in one bin that hides how they are spread, of at least this many values: of a few, any bin holds such a share.
const SQUEEZED: f64 = 1.0 / 3.0;
const SQUEEZED_VALUES: f64 = 30.0;
/// Height of a row.
const ROW: f64 = 78.0;

/// True where each command has a scale of its own, relative to its median; the relative scale is common.
pub fn has_own_scales(rows: &[Values]) -> bool {
    let medians = || rows.iter().filter_map(|row| Some(row.median?.estimate)).filter(|median| *median > 0.0);
    let (least, greatest) =
        medians().fold((f64::INFINITY, 0.0f64), |(low, high), median| (low.min(median), high.max(median)));
    greatest / least > OWN_SCALES_FROM
}

/// Bins of all histograms of a chart.
#[derive(Debug, Clone, PartialEq)]
struct Bins {
    /// Ascending; one more than there are bins.
    edges: Vec<f64>,
    is_log: bool,
}

impl Bins {
    /// Equal bins over the values without outliers, or bins of equal ratios over all of them where those span decades, or where
    /// equal bins would leave a mode out or squeeze one into a single bin. `None` without values.
    fn of(values: &[f64]) -> Option<Bins> {
        let equal = Histogram::of(values, BINS)?;
        let span = if equal.least > 0.0 { equal.greatest / equal.least } else { 1.0 };
        let beyond = equal.below + equal.above;
        let all = (equal.counts.iter().sum::<usize>() + beyond) as f64;
        let fullest = equal.counts.iter().copied().max().unwrap_or(0) as f64 / all;
        let leaves_out = beyond >= MODE_VALUES && beyond as f64 / all >= MODE;
        let squeezes = all >= SQUEEZED_VALUES && fullest >= SQUEEZED;
        if span >= DECADES || span >= SPAN_LEAST && (leaves_out || squeezes) {
            let bins = ((4.0 * all.sqrt()) as usize).clamp(LOG_BINS_MIN, LOG_BINS_MAX);
            let step = span.ln() / bins as f64;
            let between = (1..bins).map(|bin| equal.least * (step * bin as f64).exp());
            let edges = [equal.least].into_iter().chain(between).chain([equal.greatest]).collect();
            return Some(Bins { edges, is_log: true });
        }
        Some(Bins { edges: (0..=equal.counts.len()).map(|bin| equal.edge(bin)).collect(), is_log: false })
    }

    fn ends(&self) -> (f64, f64) {
        (self.edges.first().copied().unwrap_or(0.0), self.edges.last().copied().unwrap_or(0.0))
    }

    /// Counts the values in each bin; the last bin holds its upper end too.
    fn counts(&self, values: impl Iterator<Item = f64>) -> Vec<usize> {
        let bins = self.edges.len() - 1;
        let (low, high) = self.ends();
        let mut counts = vec![0; bins];
        for value in values.filter(|value| (low..=high).contains(value)) {
            let bin = self.edges.partition_point(|&edge| edge <= value).saturating_sub(1);
            counts[bin.min(bins - 1)] += 1;
        }
        counts
    }

    fn axis(&self, from: f64, to: f64) -> Axis {
        let (low, high) = self.ends();
        match self.is_log {
            true => Axis::logarithmic([low, high], from, to),
            false => {
                let ticks = Axis::linear([low, high], from, to, 6);
                let high = if high > low { high } else { low + low.abs().max(1e-12) };
                Axis::exact(low, high, from, to, ticks.ticks())
            }
        }
    }
}

/// What all rows of a chart share.
struct Scale<'a> {
    axis: Axis,
    bins: Bins,
    unit: &'a str,
    /// The unit of the axis; `None` where each row is relative to its median.
    common: Option<Quantity>,
    /// Values of the fullest bin.
    most: f64,
}

/// Histograms of all commands on the same axis, or on the same relative one, and their medians with intervals.
pub fn distributions(rows: &[Values], unit: &str) -> Option<Drawing> {
    let is_relative = has_own_scales(rows);
    let ones: Vec<f64> = rows.iter().map(|row| if is_relative { median_or_one(row) } else { 1.0 }).collect();
    let scaled = rows.iter().zip(&ones).map(|(row, one)| row.points.iter().map(move |point| point.1 / one));
    let all: Vec<f64> = scaled.clone().flatten().collect();
    let bins = Bins::of(&all)?;
    let counted: Vec<Vec<usize>> = scaled.map(|values| bins.counts(values)).collect();
    let bottom = ROW * rows.len() as f64;
    let (left, right) = (14.0, RIGHT - 10.0);
    let axis = bins.axis(left, right);
    let common = (!is_relative).then(|| axis.quantity(unit));
    let most = counted.iter().flatten().copied().max().unwrap_or(1).max(1) as f64;
    let scale = Scale { axis, bins, unit, common, most };
    let mut drawing = Drawing::new(WIDTH, bottom + 38.0, "distribution of the values of each command");
    let bands: Vec<(f64, f64)> = (0..rows.len()).map(band).collect();
    grid_below(&mut drawing, &scale.axis, &bands);
    texts_below(&mut drawing, &scale.axis, bottom + 15.0, |tick| scale.label(tick));
    for (at, ((row, counts), &one)) in rows.iter().zip(&counted).zip(&ones).enumerate() {
        scale.draw_row(&mut drawing, row, counts, one, band(at), (left, right));
    }
    let unit = scale.common.as_ref().map_or("from the median", |common| common.unit());
    let unit = if is_relative && scale.bins.is_log { "the median" } else { unit };
    drawing.text("q", Anchor::Middle, ((left + right) / 2.0, bottom + 32.0), &axis_words(&scale.axis, unit));
    Some(drawing)
}

/// The median of a row, by which its values are divided.
fn median_or_one(row: &Values) -> f64 {
    row.median.map(|median| median.estimate).filter(|&median| median > 0.0).unwrap_or(1.0)
}

/// Top and bottom of the bars of a row.
fn band(row: usize) -> (f64, f64) {
    (ROW * row as f64 + 20.0, ROW * (row as f64 + 1.0) - 8.0)
}

impl Scale<'_> {
    fn label(&self, tick: f64) -> String {
        match &self.common {
            Some(common) => common.tick(tick),
            None if self.bins.is_log => format!("{}×", plain(tick)),
            None if (tick - 1.0).abs() < 1e-9 => "0".to_owned(),
            None => {
                let percent = ((tick - 1.0).abs() * 1e4).round() / 1e2;
                format!("{}{} %", if tick > 1.0 { "+" } else { "−" }, plain(percent))
            }
        }
    }

    fn draw_row(
        &self,
        drawing: &mut Drawing,
        row: &Values,
        counts: &[usize],
        one: f64,
        (top, base): (f64, f64),
        (left, right): (f64, f64),
    ) {
        let axis = &self.axis;
        let series = format!("k{}", row.series);
        let typical = row.median.map_or(one, |median| median.estimate);
        let quantity = match &self.common {
            Some(common) if !self.bins.is_log => common.clone(),
            _ => Quantity::of(typical, self.unit),
        };
        let median = row.median.as_ref().map_or_else(String::new, |median| {
            let Interval { estimate, low, high, .. } = *median;
            quantity.interval(estimate, low, high).unwrap_or_else(|| quantity.value(estimate))
        });
        let said = format!("{median}, n = {}", thousands(row.points.len()));
        drawing.group(&series);
        drawing.group(&format!("m {series}"));
        drawing.mark(row.series, (left + 5.0, top - 9.0), "");
        drawing.end();
        drawing.text("q", Anchor::End, (right, top - 5.0), &said);
        let room = right - left - 26.0 - width(&said);
        drawing.text_within("", Anchor::Start, (left + 14.0, top - 5.0), room, &row.name);
        for (edges, &in_bin) in self.bins.edges.windows(2).zip(counts).filter(|(_, in_bin)| **in_bin > 0) {
            let (from, to) = (axis.at(edges[0]), axis.at(edges[1]));
            // All values equal: one bin of no width.
            let wide = if to - from > 0.5 { to - from - 0.6 } else { 8.0 };
            let height = (base - top) * in_bin as f64 / self.most;
            let (low, high) = (edges[0] * one, edges[1] * one);
            let unit = Quantity::of(high, self.unit);
            let tip = format!("{} from {} to {}", count(in_bin as u64, "value"), unit.value(low), unit.value(high));
            drawing.rect(&format!("b {series}"), (from, base - height), (wide, height), &tip);
        }
        if let Some(median) = row.median {
            let [estimate, low, high] = [median.estimate, median.low, median.high].map(|value| value / one);
            if low.is_finite() && high.is_finite() {
                let (from, to) = (axis.at(low), axis.at(high));
                drawing.rect("ci", (from, top), (to - from, base - top), "95 % interval of the median");
            }
            drawing.line("usual", (axis.at(estimate), top), (axis.at(estimate), base));
        }
        drawing.line("zero", (left, base), (right, base));
        self.beyond(drawing, row, one, (left, right), top + 10.0);
        drawing.end();
    }

    /// How many values are too far out for the axis, and how far.
    fn beyond(&self, drawing: &mut Drawing, row: &Values, one: f64, (left, right): (f64, f64), y: f64) {
        let (low, high) = self.bins.ends();
        let values = || row.points.iter().map(|point| point.1);
        let text = |value: f64| Quantity::of(value, self.unit).value(value);
        let above = values().filter(|&value| value > high * one).count();
        if above > 0 {
            let greatest = values().fold(f64::NEG_INFINITY, f64::max);
            let said = format!("{} up to {} →", thousands(above), text(greatest));
            drawing.text("q small over", Anchor::End, (right, y), &said);
        }
        let below = values().filter(|&value| value < low * one).count();
        if below > 0 {
            let least = values().fold(f64::INFINITY, f64::min);
            let said = format!("← {} down to {}", thousands(below), text(least));
            drawing.text("q small over", Anchor::Start, (left, y), &said);
        }
    }
}

#[cfg(test)]
mod tests {
    use prony_stats::single_sample::median_interval;

    use super::*;

    fn row(name: &str, values: &[f64]) -> Values {
        let points = values.iter().enumerate().map(|(at, &value)| (at as f64, value)).collect();
        Values { name: name.to_owned(), series: 0, points, median: median_interval(values, 0.05) }
    }

    /// Values around each of these places, as many as it says.
    fn modes(places: &[(f64, usize)]) -> Vec<f64> {
        let around = |place: f64, at: usize| place * (1.0 + 0.002 * (at % 50) as f64);
        places.iter().flat_map(|&(place, n)| (0..n).map(move |at| around(place, at))).collect()
    }

    #[test]
    fn a_second_mode_is_seen_however_far_it_is() {
        // Within two decades; 60 : 40 and 92 : 8, of which equal bins squeeze the first mode and leave out the second.
        for (first, second) in [((10e-6, 600), (500e-6, 400)), ((1e-3, 920), (9e-3, 80)), ((1e-6, 500), (4e-3, 500))] {
            let bins = Bins::of(&modes(&[first, second])).expect("there are values");
            assert!(bins.is_log, "{first:?} {second:?}");
            for (place, n) in [first, second] {
                let counts = bins.counts(modes(&[(place, n)]).into_iter());
                assert_eq!(counts.iter().sum::<usize>(), n, "no value is left out");
            }
            let used = bins.counts(modes(&[first, second]).into_iter()).iter().filter(|&&count| count > 0).count();
            assert!(used >= 3, "{used} bins for two modes");
        }
    }

    #[test]
    fn one_mode_and_its_outliers_have_equal_bins() {
        let mut values = modes(&[(10e-3, 300)]);
        assert!(!Bins::of(&values).expect("there are values").is_log);
        values.extend([45e-3, 50e-3]);
        let bins = Bins::of(&values).expect("there are values");
        assert!(!bins.is_log && bins.ends().1 < 40e-3, "{:?}", bins.ends());
        let few = [0.12, 0.16, 0.16, 0.17, 0.18, 0.2, 0.21, 0.61];
        assert!(!Bins::of(&few).expect("there are values").is_log, "one outlier is no mode");
        assert!(!Bins::of(&[0.0, 1.0, 1000.0]).expect("there are values").is_log, "0 has no logarithm");
        assert!(!Bins::of(&[7.0; 9]).expect("there are values").is_log);
    }

    #[test]
    fn a_logarithmic_axis_says_so_and_has_one_unit() {
        let svg = distributions(&[row("a", &modes(&[(10e-6, 600), (5e-3, 400)]))], "second").expect("drawn").inline();
        assert!(svg.contains(">µs, logarithmic</text>"), "{svg}");
        assert!(svg.contains(">100</text>") && svg.contains(">1,000</text>"), "{svg}");
        let svg = distributions(&[row("a", &modes(&[(10e-3, 600)]))], "second").expect("drawn").inline();
        assert!(svg.contains(">ms</text>") && !svg.contains("logarithmic"), "{svg}");
        let rows = [row("a", &modes(&[(10e-6, 600), (5e-3, 400)])), row("b", &modes(&[(1e-3, 600)]))];
        let svg = distributions(&rows, "second").expect("drawn").inline();
        assert!(svg.contains(">the median, logarithmic</text>") && svg.contains(">1×</text>"), "{svg}");
    }

    #[test]
    fn every_value_is_in_the_bin_of_its_edges() {
        let bins = Bins::of(&modes(&[(10e-3, 300)])).expect("there are values");
        let (low, high) = bins.ends();
        assert_eq!(bins.counts([low, high, low / 2.0, high * 2.0].into_iter()).iter().sum::<usize>(), 2);
        assert_eq!(distributions(&[row("none", &[])], "second").map(|drawing| drawing.width()), None);
    }
}
