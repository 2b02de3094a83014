//! An axis of ratios: equal ratios have equal length, and all of its labels have one notation.

use prony_text::{plain, signed, significant};

use crate::svg::axis::Axis;

/// Log ratios from here on, either way, are shown as times instead of per cent: ln 2.
const TIMES: f64 = std::f64::consts::LN_2;
/// Steps of labels in per cent.
const STEPS: [f64; 12] = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 25.0, 50.0, 100.0];

/// How ratios are written: the same for a whole axis or column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notation {
    /// `+12.0 %`, with this many decimals.
    Percent(usize),
    /// `1.12×`.
    Times,
}

impl Notation {
    /// The notation in which all of these intervals of log ratios can be read: with the decimals that the narrowest of them
    /// makes sense of, so that numbers below each other have the same.
    pub fn of(intervals: impl IntoIterator<Item = (f64, f64)>) -> Notation {
        let known = intervals.into_iter().filter(|(low, high)| low.is_finite() && high.is_finite());
        let (mut furthest, mut narrowest) = (0.0f64, f64::INFINITY);
        for (low, high) in known {
            furthest = furthest.max(low.abs()).max(high.abs());
            narrowest = narrowest.min((high.exp_m1() - low.exp_m1()) * 100.0);
        }
        match narrowest {
            _ if furthest >= TIMES => Notation::Times,
            width if width < 0.5 => Notation::Percent(2),
            width if width >= 20.0 && width.is_finite() => Notation::Percent(0),
            _ => Notation::Percent(1),
        }
    }
}

impl Notation {
    /// A log ratio: `+12.0 %`, `1.12×`.
    pub fn value(self, log: f64) -> String {
        match self {
            _ if !log.is_finite() => "–".to_owned(),
            Notation::Percent(decimals) => format!("{} %", signed(log.exp_m1() * 100.0, decimals)),
            Notation::Times => format!("{}×", significant(log.exp())),
        }
    }

    /// Two log ratios: `+10.1 … +14.2 %`, `1.10 … 1.14×`; a dash where an end is not known.
    pub fn span(self, low: f64, high: f64) -> String {
        let unit = match self {
            _ if !low.is_finite() || !high.is_finite() => "",
            Notation::Percent(_) => " %",
            Notation::Times => "",
        };
        format!("{}{unit}", self.bounds(low, high))
    }

    /// The same without the sign of per cent, beside a value that has it.
    pub fn bounds(self, low: f64, high: f64) -> String {
        match (low.is_finite() && high.is_finite(), self) {
            (false, _) => "–".to_owned(),
            (true, Notation::Percent(decimals)) => {
                let [low, high] = [low, high].map(|log| signed(log.exp_m1() * 100.0, decimals));
                format!("{low} … {high}")
            }
            (true, Notation::Times) => format!("{} … {}×", significant(low.exp()), significant(high.exp())),
        }
    }
}

/// Log ratios along one direction of a chart.
#[derive(Debug, Clone)]
pub struct Ratios {
    axis: Axis,
    notation: Notation,
}

impl Ratios {
    /// An axis from place `from` to place `to` over these log ratios and 0; `most`: about how many labels fit.
    pub fn over(logs: impl IntoIterator<Item = f64>, from: f64, to: f64, most: usize) -> Ratios {
        let finite = logs.into_iter().filter(|log| log.is_finite());
        let (low, high) = finite.fold((0.0f64, 0.0f64), |(low, high), log| (low.min(log), high.max(log)));
        // Without any difference one per cent either way.
        let room = ((high - low) * 0.06).max(if high > low { 0.0 } else { 0.0125 });
        let (low, high) = (low - room, high + room);
        let notation = Notation::of([(low, high)]);
        let ticks = match notation {
            Notation::Percent(_) => per_cent(low, high, most.max(2)),
            Notation::Times => times(low, high, most.max(2)),
        };
        Ratios { axis: Axis::exact(low, high, from, to, &ticks), notation }
    }

    /// Places of log ratios, and the ticks.
    pub fn axis(&self) -> &Axis {
        &self.axis
    }

    /// The label of a tick.
    pub fn label(&self, tick: f64) -> String {
        match self.notation {
            Notation::Times => format!("{}×", plain(tick.exp())),
            Notation::Percent(_) if tick == 0.0 => "0".to_owned(),
            Notation::Percent(_) => {
                let percent = tick.exp_m1() * 100.0;
                let rounded = (percent * 100.0).round() / 100.0;
                match rounded.fract() == 0.0 {
                    true => format!("{} %", signed(rounded, 0)),
                    false => format!("{}{} %", if rounded > 0.0 { "+" } else { "−" }, plain(rounded.abs())),
                }
            }
        }
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
        assert_eq!(labels(&[-0.1, 1.3]), ["1×", "1.5×", "2×", "3×"]);
        assert_eq!(labels(&[-3.0, 8.0]), ["0.1×", "1×", "10×", "100×", "1,000×"]);
        assert_eq!(labels(&[]), ["−1 %", "−0.5 %", "0", "+0.5 %", "+1 %"]);
        assert_eq!(labels(&[f64::NAN, f64::INFINITY]), labels(&[]));
    }

    #[test]
    fn a_column_has_one_unit_and_as_many_decimals_as_its_narrowest_interval() {
        let column = |intervals: &[(f64, f64)]| {
            let notation = Notation::of(intervals.iter().copied());
            intervals.iter().map(|&(low, high)| notation.span(low, high)).collect::<Vec<_>>()
        };
        let texts = column(&[(0.5, 0.7), (0.01, 0.02), (f64::NEG_INFINITY, 0.1)]);
        assert_eq!(texts, ["1.65 … 2.01×", "1.01 … 1.02×", "–"]);
        assert_eq!(column(&[(0.1, 0.6), (0.01, 0.02)]), ["+10.5 … +82.2 %", "+1.0 … +2.0 %"]);
        assert_eq!(column(&[(0.1, 0.6)]), ["+11 … +82 %"]);
        let notation = Notation::of([(0.1, 0.102)]);
        assert_eq!((notation.value(0.1), notation.bounds(-0.1, 0.0)), ("+10.52 %".into(), "−9.52 … 0.00".into()));
        assert_eq!(notation.value(f64::NAN), "–");
    }

    #[test]
    fn twice_and_half_are_equally_far() {
        let axis = Ratios::over([-0.7, 0.7], 0.0, 200.0, 6);
        let (half, one, twice) = (axis.axis().at(0.5f64.ln()), axis.axis().at(0.0), axis.axis().at(2f64.ln()));
        assert!((one - half - (twice - one)).abs() < 1e-9, "{half} {one} {twice}");
    }
}
