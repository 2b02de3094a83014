//! A table as text: separators, lines, cells that are filled from above.
#![deny(clippy::indexing_slicing)]

use csv::{ReaderBuilder, StringRecord};

use super::TableError;

/// Most bytes of a table.
pub const BYTES_MAX: usize = 256 << 20;
/// Most rows of a table.
const ROWS_MAX: usize = 1_000_000;
/// Most columns of a table.
const COLUMNS_MAX: usize = 1000;

/// A table with a header.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Names of the columns, trimmed.
    pub header: Vec<String>,
    /// Rows with at least one cell that is not empty.
    pub rows: Vec<Row>,
    /// Separator of cells: `,`, `;`, tab or `|`.
    pub separator: char,
}

/// A row of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Number of its first line in the file, from 1.
    pub line: u64,
    /// Texts of the row, one for each column, trimmed.
    pub cells: Vec<String>,
}

impl Row {
    /// The text in a column; empty where the row has none.
    fn cell(&self, column: usize) -> &str {
        self.cells.get(column).map_or("", String::as_str)
    }
}

impl Table {
    /// Reads a table in UTF-8 whose first line names the columns. Cells may be quoted as in RFC 4180.
    ///
    /// # Errors
    /// [`TableError`] with the line.
    pub fn read(bytes: &[u8]) -> Result<Table, TableError> {
        if bytes.len() > BYTES_MAX {
            return Err(TableError::TooLarge { what: "bytes", most: BYTES_MAX });
        }
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let text = std::str::from_utf8(bytes).map_err(|error| TableError::NotText {
            line: 1 + bytes.iter().take(error.valid_up_to()).filter(|&&byte| byte == b'\n').count() as u64,
        })?;
        let separator = separator(text);
        let mut reader = ReaderBuilder::new()
            .delimiter(separator as u8)
            .has_headers(false)
            .flexible(true)
            .from_reader(text.as_bytes());
        let mut table = Table { header: Vec::new(), rows: Vec::new(), separator };
        for record in reader.records() {
            let record = record
                .map_err(|error| TableError::NotText { line: error.position().map_or(0, csv::Position::line) })?;
            table.push(&record)?;
        }
        if table.rows.is_empty() {
            return Err(TableError::Empty { columns: table.header.len() });
        }
        Ok(table)
    }

    fn push(&mut self, record: &StringRecord) -> Result<(), TableError> {
        let cells: Vec<String> = record.iter().map(|cell| cell.trim().to_owned()).collect();
        let line = record.position().map_or(0, csv::Position::line);
        if cells.iter().all(String::is_empty) {
            return Ok(());
        }
        if self.header.is_empty() {
            return self.name_columns(line, cells);
        }
        if cells.len() != self.header.len() {
            return Err(TableError::Columns { line, expected: self.header.len(), found: cells.len() });
        }
        if self.rows.len() == ROWS_MAX {
            return Err(TableError::TooLarge { what: "rows", most: ROWS_MAX });
        }
        self.rows.push(Row { line, cells });
        Ok(())
    }

    fn name_columns(&mut self, line: u64, names: Vec<String>) -> Result<(), TableError> {
        if names.len() > COLUMNS_MAX {
            return Err(TableError::TooLarge { what: "columns", most: COLUMNS_MAX });
        }
        for (at, name) in names.iter().enumerate() {
            if name.is_empty() {
                return Err(TableError::NoName { line, column: at + 1 });
            }
            if names.iter().take(at).any(|earlier| earlier == name) {
                return Err(TableError::SameName { line, name: name.clone() });
            }
        }
        self.header = names;
        Ok(())
    }

    /// The place of a column.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn column(&self, name: &str) -> Result<usize, TableError> {
        let at = self.header.iter().position(|known| known == name);
        at.ok_or_else(|| TableError::NoColumn { name: name.to_owned(), known: self.header.clone() })
    }

    /// The cells of a column, an empty one with the text above it.
    ///
    /// # Errors
    /// When the first cell is empty.
    pub fn filled(&self, column: usize) -> Result<Vec<&str>, TableError> {
        let mut above = "";
        let mut cells = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let cell = row.cell(column);
            if !cell.is_empty() {
                above = cell;
            }
            if above.is_empty() {
                return Err(TableError::NothingAbove { line: row.line, column: self.column_name(column) });
            }
            cells.push(above);
        }
        Ok(cells)
    }

    /// The number in a cell; `None` when it is empty.
    ///
    /// # Errors
    /// When it is no number, or one that may be read in two ways.
    pub fn number(&self, row: &Row, column: usize) -> Result<Option<f64>, TableError> {
        match row.cell(column) {
            "" => Ok(None),
            text => self.parsed(text).map(Some).ok_or_else(|| self.no_number(row.line, column, text)),
        }
    }

    /// The error for a text that is no number.
    pub fn no_number(&self, line: u64, column: usize, text: &str) -> TableError {
        TableError::Number { line, column: self.column_name(column), found: text.to_owned() }
    }

    fn column_name(&self, column: usize) -> String {
        self.header.get(column).cloned().unwrap_or_default()
    }

    /// A number with a decimal point or, where the comma separates no cells, a decimal comma.
    ///
    /// `1,234` could be either and is refused.
    pub fn parsed(&self, text: &str) -> Option<f64> {
        let pointed = match text.split_once(',') {
            Some((whole, decimals)) if self.separator != ',' && decimals.len() != 3 && !text.contains('.') => {
                format!("{whole}.{decimals}")
            }
            _ => text.to_owned(),
        };
        pointed.parse().ok().filter(|number: &f64| number.is_finite())
    }
}

/// What stands most often between the names of the columns, outside of quotes.
fn separator(text: &str) -> char {
    let header = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let mut quoted = false;
    let outside: Vec<char> = header
        .chars()
        .filter(|&letter| {
            quoted ^= letter == '"';
            !quoted
        })
        .collect();
    let often = |separator: &char| outside.iter().filter(|letter| *letter == separator).count();
    // Of two as often, the later one here: names of columns hold commas, as `Duration, msec`.
    [',', '|', '\t', ';'].into_iter().filter(|separator| often(separator) > 0).max_by_key(often).unwrap_or(',')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        Table::read(text.as_bytes()).expect("the table is sound")
    }

    fn error(text: &str) -> String {
        Table::read(text.as_bytes()).expect_err("the table is not sound").to_string()
    }

    #[test]
    fn separators_are_read_from_the_header() {
        for (text, separator) in [
            ("a;Duration, msec;c\n1;2;3\n", ';'),
            ("a,b\n1,2\n", ','),
            ("a\tb\n1\t2\n", '\t'),
            ("\u{feff}\"a;b;c\",b\n1,2\n", ','),
            ("alone\n1\n", ','),
        ] {
            let table = table(text);
            assert_eq!(table.separator, separator, "{text:?}");
            assert_eq!(table.rows.len(), 1, "{text:?}");
        }
        assert_eq!(table("\u{feff}\"a;b;c\",b\n1,2\n").header, ["a;b;c", "b"]);
    }

    #[test]
    fn empty_cells_repeat_what_stands_above_and_empty_rows_do_not_count() {
        let table = table("a;b\nx;1\n;2\n;\n\n ; \ny;3\n");
        assert_eq!(table.filled(0), Ok(vec!["x", "x", "y"]));
        assert_eq!(table.rows[2].line, 7);
        let nothing_above = TableError::NothingAbove { line: 2, column: "a".to_owned() };
        assert_eq!(self::table("a;b\n;1\n").filled(0), Err(nothing_above));
    }

    #[test]
    fn errors_have_their_line() {
        assert_eq!(error(""), "expected a header and at least one row, found nothing");
        assert_eq!(error("a,b\n"), "expected at least one row below the header, found none");
        assert_eq!(error("a,b\n1,2\n1,2,3\n"), "line 3: expected 2 cells, found 3");
        assert_eq!(error("a,,b\n1,2,3\n"), "line 1: expected a name for column 2, found nothing");
        assert_eq!(error("a,a\n1,2\n"), "line 1: expected names that differ, found `a` twice");
        let not_text = Table::read(b"a,b\n1,2\n1,\xff\n").expect_err("it is no text").to_string();
        assert_eq!(not_text, "line 3: expected text in UTF-8, found other bytes");
    }

    #[test]
    fn numbers_may_have_a_decimal_comma_where_it_is_clear() {
        let semicolons = table("a;b\n1;2\n");
        assert_eq!(semicolons.parsed("0,25"), Some(0.25));
        assert_eq!(semicolons.parsed("1,234"), None);
        assert_eq!(semicolons.parsed("1.234"), Some(1.234));
        assert_eq!(semicolons.parsed("1,234.5"), None);
        assert_eq!(semicolons.parsed("inf"), None);
        assert_eq!(table("a,b\n1,2\n").parsed("0,25"), None);
    }
}
