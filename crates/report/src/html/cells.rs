//! All cells as data for the page's table: once, in columns, as small as JSON gets.

use std::borrow::Cow;
use std::collections::BTreeMap;

use prony_study::{Cell, FailureKind, Role, State};
use prony_text::printable_line;
use serde::Serialize;

use crate::html::escape::json_in_script;
use crate::study::matrix::Matrix;

/// Cells that are in the page; more make it too large to be sent around.
pub const MOST_CELLS: usize = 8_000;
/// Digits of a key that tell cells apart to a reader.
const KEY_DIGITS: usize = 8;
/// Letters of a message in the page.
const MESSAGE_LETTERS: usize = 300;

/// Data for the script of the page: one column per field, one entry per cell.
#[derive(Debug, Serialize)]
struct Columns<'a> {
    #[serde(flatten)]
    names: Names<'a>,
    unit: Cow<'a, str>,
    configuration: Column<usize>,
    machine: Column<usize>,
    workload: Column<usize>,
    repeat: Column<u32>,
    role: Column<u8>,
    state: Column<usize>,
    value: Column<Option<f64>>,
    seconds: Column<Option<f64>>,
    attempt: Column<u32>,
    /// [`KEY_DIGITS`] of each, one behind the other.
    keys: String,
    digits: usize,
}

/// What the numbers in the columns stand for, by place. Names are as they are shown: the script takes them for text, but a
/// browser obeys what turns its direction around.
#[derive(Debug, Serialize)]
struct Names<'a> {
    configurations: Vec<Cow<'a, str>>,
    machines: Vec<Cow<'a, str>>,
    workloads: Vec<Cow<'a, str>>,
    /// Words for states: those of cells that failed or were left out say why.
    states: Vec<String>,
}

/// A number a cell, or one where all cells have the same.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Column<T> {
    Each(Vec<T>),
    All(T),
}

impl<T: PartialEq> Column<T> {
    fn of(values: impl Iterator<Item = T>) -> Column<T> {
        let mut values: Vec<T> = values.collect();
        match values.split_first() {
            Some((first, rest)) if rest.iter().all(|value| value == first) => Column::All(values.swap_remove(0)),
            _ => Column::Each(values),
        }
    }
}

/// The cells as JSON that is safe in a `script` element, and how many of them it holds. When there are too many, those that
/// failed come first.
pub fn json(matrix: &Matrix<'_>) -> (String, usize) {
    let results = matrix.results;
    let mut chosen: Vec<&Cell> = results.cells.iter().collect();
    if chosen.len() > MOST_CELLS {
        chosen.sort_by_key(|cell| !matches!(cell.state, State::Failed { .. }));
        chosen.truncate(MOST_CELLS);
    }
    let mut states: BTreeMap<String, usize> = BTreeMap::new();
    let state: Vec<usize> = chosen
        .iter()
        .map(|cell| {
            let next = states.len();
            *states.entry(state_words(&cell.state)).or_insert(next)
        })
        .collect();
    let mut words = vec![String::new(); states.len()];
    states.into_iter().for_each(|(text, place)| words[place] = printable_line(&text).into_owned());
    let columns = Columns {
        names: Names {
            configurations: matrix.configurations.iter().map(|one| printable_line(&one.name)).collect(),
            machines: results.machines.iter().map(|one| printable_line(&one.name)).collect(),
            workloads: results.workloads.iter().map(|one| printable_line(&one.name)).collect(),
            states: words,
        },
        unit: printable_line(&results.metric.unit),
        configuration: Column::of(chosen.iter().map(|cell| matrix.configuration(&cell.levels).unwrap_or(0))),
        machine: Column::of(chosen.iter().map(|cell| cell.machine)),
        workload: Column::of(chosen.iter().map(|cell| cell.workload)),
        repeat: Column::of(chosen.iter().map(|cell| cell.repeat)),
        role: Column::of(chosen.iter().map(|cell| role_number(cell.role))),
        state: Column::of(state.into_iter()),
        value: Column::of(chosen.iter().map(|cell| cell.value.and_then(|value| rounded(value, 5)))),
        seconds: Column::of(chosen.iter().map(|cell| cell.seconds.and_then(|value| rounded(value, 3)))),
        attempt: Column::of(chosen.iter().map(|cell| cell.attempt)),
        keys: chosen.iter().map(|cell| format!("{:KEY_DIGITS$.KEY_DIGITS$}", cell.key)).collect(),
        digits: KEY_DIGITS,
    };
    let text = serde_json::to_string(&columns).expect("texts and finite numbers are JSON");
    (json_in_script(&text), chosen.len())
}

/// `done`, or what went wrong.
pub fn state_words(state: &State) -> String {
    match state {
        State::Pending => "to run".to_owned(),
        State::Running => "running".to_owned(),
        State::Done => "done".to_owned(),
        State::Failed { kind, message } => format!("{}: {}", kind_words(*kind), cut(message)),
        State::Skipped { why } => format!("skipped: {}", cut(why)),
    }
}

fn kind_words(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Permanent => "failed",
        FailureKind::Transient => "failed, may succeed when retried",
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MESSAGE_LETTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn role_number(role: Role) -> u8 {
    match role {
        Role::Measured => 0,
        Role::WarmUp => 1,
        Role::Control => 2,
    }
}

/// Value with this number of significant digits; the samples files have all of them.
fn rounded(value: f64, digits: usize) -> Option<f64> {
    value.is_finite().then(|| format!("{value:.*e}", digits - 1).parse().unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_the_digits_that_are_shown() {
        assert_eq!(rounded(21.123456789, 5), Some(21.123));
        assert_eq!(rounded(1.0 / 3e9, 3), Some(3.33e-10));
        assert_eq!(rounded(f64::NAN, 3), None);
    }
}
