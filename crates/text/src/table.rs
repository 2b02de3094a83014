//! Tables of text with aligned columns.

use std::ops::{Bound, RangeBounds};

use crate::printable_line;

/// Rows of cells whose columns are as wide as their widest cell, two spaces apart.
///
/// Cells may hold text of others: each stays one harmless line in its place.
#[derive(Debug, Clone, Default)]
pub struct Table {
    rows: Vec<Vec<String>>,
    has_head: bool,
    numbers: Vec<(Bound<usize>, Bound<usize>)>,
    indent: usize,
}

impl Table {
    /// Table without a head.
    pub fn new() -> Table {
        Table::default()
    }

    /// Table with a head: the titles of the columns.
    pub fn with_head<S: Into<String>>(head: impl IntoIterator<Item = S>) -> Table {
        let mut table = Table::new();
        table.row(head);
        table.has_head = true;
        table
    }

    /// Aligns these columns, counted from 0, at their right, as numbers are.
    pub fn numbers(mut self, columns: impl RangeBounds<usize>) -> Table {
        self.numbers.push((columns.start_bound().cloned(), columns.end_bound().cloned()));
        self
    }

    /// Begins each line with this many spaces.
    pub fn indented(mut self, spaces: usize) -> Table {
        self.indent = spaces;
        self
    }

    /// Adds a row, which may have fewer cells than others.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        let cells = cells.into_iter().map(|cell| printable_line(&cell.into()).into_owned());
        self.rows.push(cells.collect());
    }

    /// True if the table has no row but the head.
    pub fn is_empty(&self) -> bool {
        self.rows.len() <= usize::from(self.has_head)
    }

    fn is_number(&self, column: usize) -> bool {
        self.numbers.iter().any(|columns| columns.contains(&column))
    }

    /// The lines; none where there is no row but the head.
    pub fn text(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if self.is_number(column) { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            let cells: Vec<String> = cells.collect();
            format!("{:indent$}{}\n", "", cells.join("  ").trim_end(), indent = self.indent)
        };
        self.rows.iter().map(line).collect()
    }

    /// Table in Markdown; needs a head. Cells are Markdown, of which bars need no backslash: those that have one are not
    /// given another.
    pub fn markdown(&self) -> String {
        let Some((head, rows)) = self.rows.split_first() else { return String::new() };
        let line = |row: &Vec<String>| {
            let cells: Vec<String> = row.iter().map(|cell| cell.replace("\\|", "|").replace('|', "\\|")).collect();
            format!("| {} |\n", cells.join(" | "))
        };
        let mark = |column| if self.is_number(column) { "---:|" } else { ":---|" };
        let marks: String = (0..head.len()).map(mark).collect();
        let rows: String = rows.iter().map(line).collect();
        format!("{}|{marks}\n{rows}", line(head))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_numbers_end_below_each_other() {
        let mut table = Table::with_head(["", "load"]).numbers(1..).indented(2);
        assert_eq!(table.text(), "");
        table.row(["L1", "207 GB/s"]);
        table.row(["DRAM", "23 GB/s"]);
        assert_eq!(table.text(), "            load\n  L1    207 GB/s\n  DRAM   23 GB/s\n");
        assert_eq!(table.markdown(), "|  | load |\n|:---|---:|\n| L1 | 207 GB/s |\n| DRAM | 23 GB/s |\n");
    }

    #[test]
    fn cells_of_others_stay_in_their_place() {
        let mut table = Table::new();
        table.row(["a\nb", "|"]);
        table.row(["short"]);
        assert_eq!(table.text().lines().count(), 2);
        let mut table = Table::with_head(["name"]);
        table.row(["a|b"]);
        table.row([crate::markdown_code("a|b")]);
        assert_eq!(table.markdown(), "| name |\n|:---|\n| a\\|b |\n| `a\\|b` |\n");
    }
}
