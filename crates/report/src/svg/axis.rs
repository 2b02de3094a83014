//! Axes that map values to positions: linear and logarithmic, with round ticks.

use prony_text::Quantity;

/// Values along one direction of a chart.
#[derive(Debug, Clone)]
pub struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
    ticks: Vec<f64>,
}

impl Axis {
    /// An axis from place `from` to place `to` over all `values`, wide enough to end at round ones; `ticks`: about how many.
    ///
    /// Values that are not finite are left out; without any the axis goes from 0 to 1.
    pub fn linear(values: impl IntoIterator<Item = f64>, from: f64, to: f64, ticks: usize) -> Axis {
        let (low, high) = bounds(values).unwrap_or((0.0, 1.0));
        let (low, high) = match high - low {
            width if width > high.abs().max(low.abs()) * 1e-12 => (low, high),
            _ if high == 0.0 => (0.0, 1.0),
            _ => (low - low.abs() / 2.0, high + high.abs() / 2.0),
        };
        let step = round_step((high - low) / ticks.max(1) as f64);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        // Whole multiples, so that 0 is 0.
        let ticks: Vec<f64> = (0..=(last - first) as usize).map(|at| (first + at as f64) * step).collect();
        Axis { low: first * step, high: last * step, from, to, log: false, ticks }
    }

    /// An axis that ends at `low` and `high`, with those of the `ticks` that lie on it.
    pub fn exact(low: f64, high: f64, from: f64, to: f64, ticks: &[f64]) -> Axis {
        let high = if high > low { high } else { low + 1.0 };
        let ticks = ticks.iter().copied().filter(|tick| (low..=high).contains(tick)).collect();
        Axis { low, high, from, to, log: false, ticks }
    }

    /// An axis on which equal ratios have equal length. Values that are not above 0 are left out.
    pub fn logarithmic(values: impl IntoIterator<Item = f64>, from: f64, to: f64) -> Axis {
        let (low, high) = bounds(values.into_iter().filter(|&value| value > 0.0)).unwrap_or((1.0, 10.0));
        let (low, high) = if high / low > 1.0 + 1e-9 { (low, high) } else { (low / 2.0, high * 2.0) };
        let decades = (high / low).log10();
        let parts: &[f64] = match decades {
            decades if decades > 3.0 => &[1.0],
            decades if decades > 1.2 => &[1.0, 2.0, 5.0],
            _ => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
        };
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let every = ((last - first) / 8 + 1).max(1);
        let ticks = (first..=last)
            .filter(|exponent| (exponent - first) % every == 0)
            .flat_map(|exponent| parts.iter().map(move |part| part * 10f64.powi(exponent)))
            .filter(|tick| (low * 0.999..=high * 1.001).contains(tick))
            .collect();
        Axis { low, high, from, to, log: true, ticks }
    }

    /// A logarithmic axis with its ticks at the points of a sweep, thinned to `most`.
    pub fn sweep(points: &[f64], log: bool, from: f64, to: f64, most: usize) -> Axis {
        let mut axis = match log {
            true => Axis::logarithmic(points.iter().copied(), from, to),
            false => Axis::linear(points.iter().copied(), from, to, most),
        };
        if log {
            let every = points.len().div_ceil(most.max(1)).max(1);
            axis.ticks = points.iter().copied().step_by(every).filter(|&point| point > 0.0).collect();
        }
        axis
    }

    /// Copy of the axis, widened so that it includes these values.
    pub fn reaching(mut self, values: impl IntoIterator<Item = f64>) -> Axis {
        for value in values.into_iter().filter(|value| value.is_finite() && (!self.log || *value > 0.0)) {
            (self.low, self.high) = (self.low.min(value), self.high.max(value));
        }
        self
    }

    /// Copy of the axis with more room below and above, as a share of its length.
    pub fn with_room(mut self, share: f64) -> Axis {
        if self.log {
            let room = (self.high / self.low).powf(share);
            (self.low, self.high) = (self.low / room, self.high * room);
        } else {
            let room = (self.high - self.low) * share;
            (self.low, self.high) = (self.low - room, self.high + room);
        }
        self
    }

    /// The place of a value; values beyond the ends are at the ends.
    pub fn at(&self, value: f64) -> f64 {
        let share = match self.log {
            true => (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
        self.from + share * (self.to - self.from)
    }

    /// The round values that are marked.
    pub fn ticks(&self) -> &[f64] {
        &self.ticks
    }

    /// Lowest and highest value of the axis.
    pub fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The unit for all labels of this axis, whose values are of `unit`: of a linear axis the one that fits its farther end, of a
    /// logarithmic one the one that fits its middle.
    pub fn quantity(&self, unit: &str) -> Quantity {
        let typical = match self.log {
            true => (self.low * self.high).sqrt(),
            false => self.low.abs().max(self.high.abs()),
        };
        // A hair below a round end is what rounding makes of it.
        Quantity::of(typical * (1.0 + 1e-9), unit)
    }

    /// True if the axis is logarithmic.
    pub fn is_log(&self) -> bool {
        self.log
    }
}

/// True if the points of a sweep suit a logarithmic axis: all above 0, and closer to a geometric than to an arithmetic
/// series.
pub fn is_log_sweep(points: &[f64]) -> bool {
    if points.len() < 3 || points.iter().any(|&point| point <= 0.0 || !point.is_finite()) {
        return false;
    }
    let unevenness = |steps: Vec<f64>| {
        let (low, high) = bounds(steps.into_iter().map(f64::abs)).unwrap_or((1.0, 1.0));
        high / low.max(f64::MIN_POSITIVE)
    };
    let steps = |f: fn(f64) -> f64| points.windows(2).map(|pair| f(pair[1]) - f(pair[0])).collect::<Vec<_>>();
    unevenness(steps(f64::ln)) < unevenness(steps(|value| value))
}

fn bounds(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|value| value.is_finite()).fold(None, |bounds, value| match bounds {
        None => Some((value, value)),
        Some((low, high)) => Some((value.min(low), value.max(high))),
    })
}

/// The next of 1, 2, 2.5, 5 and 10 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    [1.0, 2.0, 2.5, 5.0]
        .into_iter()
        .map(|part| part * power)
        .find(|&round| round >= step * (1.0 - 1e-9))
        .unwrap_or(10.0 * power)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_axis_ends_at_round_values() {
        let axis = Axis::linear([0.0, 63.4], 0.0, 100.0, 6);
        assert_eq!(axis.ticks(), [0.0, 20.0, 40.0, 60.0, 80.0]);
        assert_eq!((axis.at(0.0), axis.at(40.0), axis.at(80.0)), (0.0, 50.0, 100.0));
    }

    #[test]
    fn a_logarithmic_axis_gives_equal_ratios_equal_length() {
        let axis = Axis::logarithmic([1.0, 1000.0], 0.0, 90.0);
        assert!((axis.at(10.0) - 30.0).abs() < 1e-9);
        assert_eq!(axis.ticks(), [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]);
    }

    #[test]
    fn a_sweep_by_doubling_is_logarithmic_and_one_by_steps_is_not() {
        assert!(is_log_sweep(&[1.0, 2.0, 4.0, 8.0, 16.0]));
        assert!(!is_log_sweep(&[10.0, 20.0, 30.0, 40.0]));
        assert!(!is_log_sweep(&[0.0, 1.0, 10.0]));
    }

    #[test]
    fn one_unit_fits_all_labels_of_an_axis() {
        let labels = |axis: &Axis| {
            let quantity = axis.quantity("second");
            let ticks: Vec<String> = axis.ticks().iter().map(|&tick| quantity.tick(tick)).collect();
            (ticks, quantity.unit().to_owned())
        };
        // Most values take microseconds and one takes a second: in microseconds the last label was 1,000,000.
        let axis = Axis::linear([3e-6, 4e-6, 1.0, 0.0], 0.0, 100.0, 5);
        assert_eq!(labels(&axis), (["0", "0.2", "0.4", "0.6", "0.8", "1"].map(str::to_owned).to_vec(), "s".to_owned()));
        let axis = Axis::linear([0.0, 0.1e-3 * 3.0], 0.0, 100.0, 3);
        assert_eq!(labels(&axis), (["0", "100", "200", "300"].map(str::to_owned).to_vec(), "µs".to_owned()));
        let axis = Axis::logarithmic([1e-6, 1.0], 0.0, 100.0);
        let (ticks, unit) = labels(&axis);
        assert_eq!(
            (ticks.first().map(String::as_str), ticks.last().map(String::as_str)),
            (Some("0.001"), Some("1,000"))
        );
        assert_eq!(unit, "ms");
        assert_eq!(Axis::linear([0.0, 1.2e6], 0.0, 1.0, 4).quantity("byte").unit(), "MB");
        assert_eq!(Axis::linear([0.0, 1.05e6], 0.0, 1.0, 4).quantity("frames").unit(), "M frames");
    }

    #[test]
    fn nothing_that_is_no_number_leaves_the_chart() {
        for values in [vec![], vec![f64::NAN], vec![f64::INFINITY, 1.0], vec![0.0], vec![-3.0], vec![1e300, -1e300]] {
            for axis in [
                Axis::linear(values.clone(), 10.0, 20.0, 5),
                Axis::logarithmic(values.clone(), 10.0, 20.0).with_room(0.1),
            ] {
                for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 5.0] {
                    assert!((10.0..=20.0).contains(&axis.at(value)), "{values:?} {axis:?}");
                }
                assert!(axis.ticks().len() < 100);
            }
        }
    }
}
