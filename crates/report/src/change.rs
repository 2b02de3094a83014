//! The notation of a change, and the only place that writes one.
//!
//! A change is the ratio of two values of one named quantity: `+0.8 % [+0.4, +1.2] CPU time`. Most changes are small, and per cent with
//! a sign is what benchstat and `perf diff` print; the interval has its signs too, so that one across 0 is seen at once. From twice or
//! half on it is a factor, `×2.05 [1.99, 2.22]` or `×0.098 [0.094, 0.102]`, because −90 % and −99 % look alike and are ten times apart.
//! The sign is that of the named quantity, a time or a rate; the verdict beside it says which way is better. Two ends without an
//! estimate are a range, `−21 … +3 %`, never an interval. A dash stands for what is not known.
//!
//! All arguments are log ratios.

use prony_stats::Interval;
use prony_text::{fixed, plain, signed, significant};

/// Log ratios from here on, either way, are written as a factor: ln 2.
const TIMES_FROM: f64 = std::f64::consts::LN_2;

/// How ratios are written, with so many decimals: the same for one change with its interval, a column, or an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `+12.0 %`.
    Percent(usize),
    /// `×2.12`.
    Times(usize),
}

impl Form {
    /// Form of one change.
    pub fn of(change: &Interval) -> Form {
        Form::over(change.estimate, change.low, change.high)
    }

    /// Form in which all changes of a column can be compared: with the decimals that the narrowest of them makes sense of.
    pub fn column<'i>(changes: impl IntoIterator<Item = &'i Interval>) -> Form {
        Form::common(changes.into_iter().map(|change| (change.estimate, change.low, change.high)))
    }

    /// Form in which all of these ranges can be compared; their ends are single values, of which many digits say nothing.
    pub fn ranges(ranges: impl IntoIterator<Item = (f64, f64)>) -> Form {
        let furthest = |low: f64, high: f64| if low.abs() > high.abs() { low } else { high };
        match Form::common(ranges.into_iter().map(|(low, high)| (furthest(low, high), low, high))) {
            Form::Percent(decimals) => Form::Percent(decimals.min(1)),
            Form::Times(decimals) => Form::Times(decimals.min(2)),
        }
    }

    fn common(all: impl Iterator<Item = (f64, f64, f64)>) -> Form {
        let (mut furthest, mut narrowest) = (0.0f64, (f64::NEG_INFINITY, f64::INFINITY));
        for (value, low, high) in all.filter(|one| one.0.is_finite()) {
            furthest = if value.abs() > furthest.abs() { value } else { furthest };
            if high - low < narrowest.1 - narrowest.0 {
                narrowest = (low, high);
            }
        }
        Form::over(furthest, narrowest.0, narrowest.1)
    }

    /// Form of ratios that reach as far as `furthest`, of which an interval is as wide as that from `low` to `high`.
    fn over(furthest: f64, low: f64, high: f64) -> Form {
        if furthest.abs() >= TIMES_FROM {
            let width = high.exp() - low.exp();
            return Form::Times(match width {
                _ if !width.is_finite() || width == 0.0 => times_decimals(furthest.exp()),
                width if width >= 20.0 => 0,
                width if width >= 2.0 => 1,
                width if width >= 0.02 => 2,
                // A hundredth and less has as many digits as its interval makes sense of.
                width => (-(width / 2.0).log10()).ceil().min(9.0) as usize,
            });
        }
        let width = to_percent(high) - to_percent(low);
        Form::Percent(match width {
            _ if !width.is_finite() => percent_decimals(to_percent(furthest)),
            // Equal in all pairs, as counts are.
            0.0 => percent_decimals(to_percent(furthest)).max(2),
            width if width >= 20.0 => 0,
            width if width >= 0.5 => 1,
            width if width >= 0.05 => 2,
            width if width >= 0.005 => 3,
            _ => 4,
        })
    }

    /// A change with its interval: `+1.0 % [+0.6, +1.4]`, `×2.05 [1.99, 2.22]`, `+0.8 % (no interval)`.
    pub fn change(self, change: &Interval) -> String {
        match (change.estimate.is_finite(), change.is_bounded()) {
            (false, _) => "–".to_owned(),
            (true, false) => format!("{} (no interval)", self.value(change.estimate)),
            (true, true) => {
                let [low, high] = [change.low, change.high].map(|bound| self.number(bound));
                format!("{} [{low}, {high}]", self.value(change.estimate))
            }
        }
    }

    /// A ratio without an interval: `+12.0 %`, `×2.12`.
    pub fn value(self, log: f64) -> String {
        match self {
            _ if !log.is_finite() => "–".to_owned(),
            Form::Percent(_) => format!("{} %", self.number(log)),
            Form::Times(_) => format!("×{}", self.number(log)),
        }
    }

    /// The least and the greatest of several ratios: `+10.1 … +14.2 %`, `×1.10 … 2.14`.
    pub fn range(self, low: f64, high: f64) -> String {
        let [from, to] = [low, high].map(|log| self.number(log));
        match self {
            _ if !low.is_finite() || !high.is_finite() => "–".to_owned(),
            Form::Percent(_) => format!("{from} … {to} %"),
            Form::Times(_) => format!("×{from} … {to}"),
        }
    }

    fn number(self, log: f64) -> String {
        match self {
            Form::Percent(decimals) => signed(to_percent(log), decimals),
            Form::Times(decimals) => fixed(log.exp(), decimals),
        }
    }
}

/// A change with its interval, in the form that suits it.
pub fn change(change: &Interval) -> String {
    Form::of(change).change(change)
}

/// `+0.8 % [+0.4, +1.2] CPU time`: a change with the quantity that it is of.
pub fn found(change: &Interval, quantity: &str) -> String {
    match change.n {
        0 => "no values".to_owned(),
        _ => format!("{} {quantity}", self::change(change)),
    }
}

/// A ratio of which no interval is known or needed: one pair, the median of several, a bound.
pub fn value(log: f64) -> String {
    match log {
        // What rounding makes of no difference has four decimals of nothing.
        log if log.abs() < 5e-7 => "0 %".to_owned(),
        log => Form::over(log, f64::NEG_INFINITY, f64::INFINITY).value(log),
    }
}

/// The least and the greatest of several ratios.
pub fn range(low: f64, high: f64) -> String {
    Form::ranges([(low, high)]).range(low, high)
}

/// The least and the greatest of several ratios, or the one that all of them have.
pub fn extremes(low: f64, high: f64) -> String {
    if low == high { value(low) } else { range(low, high) }
}

/// A difference that has no direction: a margin, a standard deviation of ratios, the smallest that can be detected: `0.21 %`.
pub fn size(log: f64) -> String {
    value(log.abs()).trim_start_matches('+').to_owned()
}

/// A margin as it was given: `±1 %`.
pub fn margin(log: f64) -> String {
    format!("±{} %", plain(to_percent(log)))
}

/// The label of an axis of ratios, all of which have one form.
pub fn tick(log: f64, form: Form) -> String {
    let percent = (to_percent(log) * 100.0).round() / 100.0;
    match form {
        Form::Times(_) => format!("×{}", plain(log.exp())),
        Form::Percent(_) if log == 0.0 => "0".to_owned(),
        Form::Percent(_) if percent.fract() == 0.0 => format!("{} %", signed(percent, 0)),
        Form::Percent(_) => format!("{}{} %", if percent > 0.0 { "+" } else { "−" }, plain(percent.abs())),
    }
}

/// A log ratio in per cent, for fields of JSON.
pub fn to_percent(log: f64) -> f64 {
    log.exp_m1() * 100.0
}

/// Decimals with which a number of per cent has two digits or more.
fn percent_decimals(percent: f64) -> usize {
    match percent.abs() {
        size if size >= 9.95 => 0,
        size if size >= 0.995 => 1,
        size if size >= 0.0995 || size == 0.0 => 2,
        size if size >= 0.00995 => 3,
        _ => 4,
    }
}

/// Decimals with which a factor has three digits.
fn times_decimals(factor: f64) -> usize {
    significant(factor).split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Change of a quantity to so many times its value, with its bounds.
    fn times(estimate: f64, low: f64, high: f64) -> Interval {
        Interval { estimate: estimate.ln(), low: low.ln(), high: high.ln(), confidence: 0.95, n: 20 }
    }

    #[test]
    fn one_table_of_changes() {
        let cases = [
            ("tiny", times(1.000_12, 1.000_08, 1.000_16)),
            ("small", times(1.009, 1.005, 1.013)),
            ("small, less", times(0.991, 0.987, 0.995)),
            ("across 0", times(1.001, 0.997, 1.004)),
            ("wide, across 0", times(1.14, 0.66, 1.56)),
            ("wider still", times(1.82, 0.56, 3.99)),
            ("large", times(1.54, 1.50, 1.58)),
            ("large, less", times(0.65, 0.63, 0.67)),
            ("twice", times(2.05, 1.99, 2.22)),
            ("half", times(0.49, 0.47, 0.51)),
            ("ten times", times(10.2, 9.8, 10.6)),
            ("a tenth", times(0.098, 0.094, 0.102)),
            ("a thousandth", times(0.001, 0.0009, 0.0011)),
            ("thousands", times(4_210.0, 4_050.0, 4_390.0)),
            ("equal in all pairs", times(1.0, 1.0, 1.0)),
            ("the same change in all pairs", times(1.009, 1.009, 1.009)),
            ("no interval", times(1.008, 0.0, f64::INFINITY)),
            ("no interval, large", times(3.5, 0.0, f64::INFINITY)),
            ("unknown", Interval { estimate: f64::NAN, ..times(1.0, 0.0, f64::INFINITY) }),
        ];
        let mut table = prony_text::Table::with_head(["case", "change", "its inverse", "without an interval", "size"]);
        for (name, case) in cases {
            let of = [change(&case), change(&case.negated()), value(case.estimate), size(case.estimate)];
            table.row([name.to_owned()].into_iter().chain(of));
        }
        insta::assert_snapshot!(table.text());
    }

    #[test]
    fn a_range_has_no_brackets_and_no_more_decimals_than_it_needs() {
        let text = |low: f64, high: f64| range(low.ln(), high.ln());
        assert_eq!(text(0.79, 1.03), "−21 … +3 %");
        assert_eq!(text(1.011, 1.013), "+1.1 … +1.3 %");
        assert_eq!(text(1.69, 1.93), "+69 … +93 %");
        assert_eq!(text(1.69, 2.93), "×1.69 … 2.93");
        assert_eq!(text(0.0, 2.0), "–");
    }

    #[test]
    fn a_column_has_one_form_and_as_many_decimals_as_its_narrowest_interval() {
        let column = |changes: &[Interval]| {
            let form = Form::column(changes);
            changes.iter().map(|one| form.change(one)).collect::<Vec<_>>()
        };
        let unknown = times(1.1, 0.0, f64::INFINITY);
        assert_eq!(
            column(&[times(1.8, 1.65, 2.01), times(1.015, 1.01, 1.02), unknown]),
            ["+80.0 % [+65.0, +101.0]", "+1.5 % [+1.0, +2.0]", "+10.0 % (no interval)"]
        );
        assert_eq!(
            column(&[times(2.8, 2.65, 3.01), times(0.95, 0.90, 1.02)]),
            ["×2.80 [2.65, 3.01]", "×0.95 [0.90, 1.02]"]
        );
        assert_eq!(column(&[unknown]), ["+10 % (no interval)"]);
    }
}
