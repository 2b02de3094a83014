//! An axis of ratios: equal ratios have equal length, and all of its labels have one notation.

use crate::change::{self, Form};
use crate::svg::axis::Axis;

/// Steps of labels in per cent.
const STEPS: [f64; 12] = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 25.0, 50.0, 100.0];

/// Log ratios along one direction of a chart.
#[derive(Debug, Clone)]
pub struct Ratios {
    axis: Axis,
    form: Form,
}

impl Ratios {
    /// An axis from place `from` to place `to` over these log ratios and 0; `most`: about how many labels fit.
    pub fn over(logs: impl IntoIterator<Item = f64>, from: f64, to: f64, most: usize) -> Ratios {
        let finite = logs.into_iter().filter(|log| log.is_finite());
        let (low, high) = finite.fold((0.0f64, 0.0f64), |(low, high), log| (low.min(log), high.max(log)));
        // Without any difference one per cent either way.
        let room = ((high - low) * 0.06).max(if high > low { 0.0 } else { 0.0125 });
        let (low, high) = (low - room, high + room);
        let form = Form::ranges([(low, high)]);
        let ticks = match form {
            Form::Percent(_) => per_cent(low, high, most.max(2)),
            Form::Times(_) => times(low, high, most.max(2)),
        };
        Ratios { axis: Axis::exact(low, high, from, to, &ticks), form }
    }

    /// Places of log ratios, and the ticks.
    pub fn axis(&self) -> &Axis {
        &self.axis
    }

    /// The label of a tick.
    pub fn label(&self, tick: f64) -> String {
        change::tick(tick, self.form)
    }
}

/// Round per cent, placed where they lie on an axis of ratios.
fn per_cent(low: f64, high: f64, most: usize) -> Vec<f64> {
    let (low, high) = (low.exp_m1() * 100.0, high.exp_m1() * 100.0);
    let step = STEPS.into_iter().find(|step| (high - low) / step <= most as f64).unwrap_or(100.0);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|at| (at as f64 * step / 100.0).ln_1p()).collect()
}

/// 1, 2, 5 and their tenfolds; with fewer, 1.5, 3 and 7 too; with more, powers of ten only.
fn times(low: f64, high: f64, most: usize) -> Vec<f64> {
    let decades = (low / std::f64::consts::LN_10).floor() as i32..=(high / std::f64::consts::LN_10).ceil() as i32;
    let of = |parts: &[f64]| -> Vec<f64> {
        let all = decades.clone().flat_map(|exponent| parts.iter().map(move |part| (part * 10f64.powi(exponent)).ln()));
        // 1 is 0, whatever rounding makes of it.
        all.map(|log| if log.abs() < 1e-9 { 0.0 } else { log }).filter(|log| (low..=high).contains(log)).collect()
    };
    let sets: [&[f64]; 4] = [&[1.0, 1.5, 2.0, 3.0, 5.0, 7.0], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
    let fitting = sets.into_iter().map(of).find(|ticks| ticks.len() <= most);
    fitting.unwrap_or_else(|| {
        let all = of(&[1.0]);
        let every = all.len().div_ceil(most);
        all.into_iter().step_by(every.max(1)).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(logs: &[f64]) -> Vec<String> {
        let ratios = Ratios::over(logs.iter().copied(), 0.0, 100.0, 6);
        ratios.axis().ticks().iter().map(|&tick| ratios.label(tick)).collect()
    }

    #[test]
    fn an_axis_has_one_notation() {
        assert_eq!(labels(&[0.01, -0.005]), ["−0.5 %", "0", "+0.5 %", "+1 %"]);
        assert_eq!(labels(&[0.2]), ["0", "+5 %", "+10 %", "+15 %", "+20 %"]);
        assert_eq!(labels(&[-0.1, 1.3]), ["×1", "×1.5", "×2", "×3"]);
        assert_eq!(labels(&[-3.0, 8.0]), ["×0.1", "×1", "×10", "×100", "×1,000"]);
        assert_eq!(labels(&[]), ["−1 %", "−0.5 %", "0", "+0.5 %", "+1 %"]);
        assert_eq!(labels(&[f64::NAN, f64::INFINITY]), labels(&[]));
    }

    #[test]
    fn twice_and_half_are_equally_far() {
        let axis = Ratios::over([-0.7, 0.7], 0.0, 200.0, 6);
        let (half, one, twice) = (axis.axis().at(0.5f64.ln()), axis.axis().at(0.0), axis.axis().at(2f64.ln()));
        assert!((one - half - (twice - one)).abs() < 1e-9, "{half} {one} {twice}");
    }
}
