//! A table of answers: on a wide page with columns, on a narrow one with a paragraph for each row.

use maud::{Markup, html};

use crate::html::document::{class, heading};
use crate::study::sentences::Tone;

/// The style of these tables, and of pages with them.
pub const CSS: &str = include_str!("grid.css");
/// Rows that a page shows; more are counted.
const ROWS_MAX: usize = 500;

/// A table whose rows are answers.
#[derive(Debug, Clone, Default)]
pub struct Grid {
    /// Title above it.
    pub title: String,
    /// What it shows, in small letters behind the title.
    pub small: String,
    /// Names of the columns.
    pub head: Vec<String>,
    /// How many columns at the left name the row.
    pub names: usize,
    /// The rows, from top to bottom.
    pub rows: Vec<GridRow>,
    /// What all of it is based on.
    pub basis: String,
}

/// A row of a table of answers.
#[derive(Debug, Clone)]
pub struct GridRow {
    /// A cell for each column.
    pub cells: Vec<GridCell>,
}

/// A cell of a table of answers.
#[derive(Debug, Clone)]
pub struct GridCell {
    /// What stands in it.
    pub text: String,
    /// The answer that it gives; `None` of a number or a name.
    pub tone: Option<Tone>,
}

impl GridCell {
    /// A cell that gives no answer.
    pub fn plain(text: impl Into<String>) -> GridCell {
        GridCell { text: text.into(), tone: None }
    }

    /// A cell with an answer.
    pub fn answer(text: impl Into<String>, tone: Tone) -> GridCell {
        GridCell { text: text.into(), tone: Some(tone) }
    }
}

/// The table in its section.
pub fn grid(grid: &Grid) -> Markup {
    let cell = |column: usize, cell: &GridCell| {
        let name = grid.head.get(column).map_or("", String::as_str);
        let tone = cell.tone.map_or_else(String::new, |tone| format!("tone {}", class(tone)));
        html! {
            @if column < grid.names { th scope="row" { (cell.text) } }
            @else { td class=[(!tone.is_empty()).then_some(tone)] data-name=(name) { (cell.text) } }
        }
    };
    html! {
        section {
            (heading(&grid.title, &grid.small))
            div class="card grid" {
                table {
                    thead { tr { @for name in &grid.head { th scope="col" { (name) } } } }
                    tbody {
                        @for row in grid.rows.iter().take(ROWS_MAX) {
                            tr { @for (column, one) in row.cells.iter().enumerate() { (cell(column, one)) } }
                        }
                    }
                }
                @if grid.rows.len() > ROWS_MAX { p { "and " (grid.rows.len() - ROWS_MAX) " more rows" } }
                @if !grid.basis.is_empty() { p class="help" { (grid.basis) } }
            }
        }
    }
}
