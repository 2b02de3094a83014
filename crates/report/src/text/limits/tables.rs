//! Columns of figures in the tables of limits.

use prony_limits::{Figure, Measured};
use prony_text::{Quantity, Table};

/// A table of figures: the first column is text, all others are numbers.
pub fn figures<'a>(head: impl IntoIterator<Item = &'a str>) -> Table {
    Table::with_head(head).numbers(1..).indented(2)
}

/// A value in the unit in which people read it: `104 GB/s`, `3.71 ns`, `1.00 cycles`.
pub fn quantity(value: f64, unit: &str) -> String {
    Quantity::of(value, unit).value(value)
}

/// `!` where fewer samples than a figure rests on were undisturbed.
pub fn mark(measured: &Measured) -> &'static str {
    if measured.series.is_clean() { "" } else { " !" }
}

/// A row of a case: its value, the middle, the worst, n, and what was disturbed.
pub fn row(name: &str, measured: &Measured) -> Vec<String> {
    let Some(figure) = measured.figure() else { return vec![name.to_owned()] };
    let Figure { best, median, worst, n, contaminated, .. } = figure;
    let of = |value| quantity(value, &measured.unit);
    vec![
        name.to_owned(),
        of(best),
        of(median),
        of(worst),
        n.to_string(),
        format!("{:.0} %{}", contaminated * 100.0, mark(measured)),
    ]
}

/// Column titles of [`row`].
pub const ROW: [&str; 6] = ["", "best", "median", "worst", "n", "disturbed"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_in_units_that_fit() {
        let shown = [(2.07e11, "B/s"), (3.71e-9, "second"), (1.004, "cycles"), (3.25e9, "Hz"), (6.9e7, "datagrams/s")];
        let texts = shown.map(|(value, unit)| quantity(value, unit));
        assert_eq!(texts, ["207 GB/s", "3.71 ns", "1.00 cycles", "3.25 GHz", "69.0 M datagrams/s"]);
    }
}
