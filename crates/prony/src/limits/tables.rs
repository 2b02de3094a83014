//! Columns of figures.

use prony_limits::{Figure, Measured};

use crate::numbers::significant;

/// Rows of as many cells as the head; the first column is text, all others are numbers.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// With its head.
    pub fn new(head: &[&str]) -> Table {
        Table { rows: vec![head.iter().map(|cell| (*cell).to_owned()).collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The lines, indented; nothing where there is no row.
    pub fn text(&self) -> String {
        if self.rows.len() < 2 {
            return String::new();
        }
        let columns = self.rows[0].len();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
        };
        self.rows.iter().map(line).collect()
    }
}

/// A value in the unit in which people read it: `104 GB/s`, `3.71 ns`, `1.00 cycles`.
pub fn quantity(value: f64, unit: &str) -> String {
    let scaled = |steps: &[(f64, &str)]| {
        let (factor, name) =
            steps.iter().find(|(factor, _)| value >= *factor).or(steps.last()).copied().unwrap_or((1.0, ""));
        format!("{} {name}", significant(value / factor))
    };
    match unit {
        "second" => scaled(&[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")]),
        "B/s" => scaled(&[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")]),
        "Hz" => scaled(&[(1e9, "GHz"), (1e6, "MHz"), (1.0, "Hz")]),
        unit if unit.ends_with("/s") && value >= 1e9 => format!("{} G {unit}", significant(value / 1e9)),
        unit if unit.ends_with("/s") && value >= 1e6 => format!("{} M {unit}", significant(value / 1e6)),
        unit => format!("{} {unit}", significant(value)),
    }
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

/// The head of [`row`].
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

    #[test]
    fn columns_of_numbers_end_below_each_other() {
        let mut table = Table::new(&["", "load"]);
        assert_eq!(table.text(), "");
        table.row(vec!["L1".to_owned(), "207 GB/s".to_owned()]);
        table.row(vec!["DRAM".to_owned(), "23 GB/s".to_owned()]);
        assert_eq!(table.text(), "            load\n  L1    207 GB/s\n  DRAM   23 GB/s\n");
    }
}
