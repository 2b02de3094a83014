//! Error in a study file, with its position.
#![deny(clippy::indexing_slicing)]

use std::ops::Range;

/// Error in a study file, with its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}")]
pub struct StudyError {
    /// Line of the file, from 1.
    pub line: usize,
    /// Character of the line, from 1.
    pub column: usize,
    /// Expectation and finding at that position, as one line of text.
    pub problem: String,
    /// Kind of the problem, where it has a remedy of its own.
    pub kind: ProblemKind,
}

/// Kind of a problem of a study file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// No configuration is left to run.
    EmptyDesign,
    /// Cells are skipped without a reason.
    NoReason,
    /// Any other kind of problem.
    Other,
}

/// A problem and the bytes of the file it lies in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Misplaced {
    pub place: Range<usize>,
    pub problem: String,
    pub kind: ProblemKind,
}

pub(super) fn misplaced<T>(place: Range<usize>, problem: impl Into<String>) -> Result<T, Misplaced> {
    misplaced_as(ProblemKind::Other, place, problem)
}

pub(super) fn misplaced_as<T>(
    kind: ProblemKind,
    place: Range<usize>,
    problem: impl Into<String>,
) -> Result<T, Misplaced> {
    Err(Misplaced { place, problem: problem.into(), kind })
}

impl Misplaced {
    /// Error of the TOML reader or of its types, in the words of our own messages.
    pub fn of_toml(error: &toml::de::Error) -> Misplaced {
        let problem = reworded(&error.message().replace('\n', ", "));
        Misplaced { place: error.span().unwrap_or(0..0), problem, kind: ProblemKind::Other }
    }

    /// Counts lines and characters of `text` up to the problem.
    pub fn in_text(self, text: &str) -> StudyError {
        let start = (0..=self.place.start.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let before = &text[..start];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        StudyError { line, column, problem: self.problem, kind: self.kind }
    }
}

/// serde says what it found first; our messages say what they expected first.
fn reworded(message: &str) -> String {
    for start in ["invalid type: ", "invalid value: ", "invalid length "] {
        if let Some((found, expected)) = message.strip_prefix(start).and_then(|rest| rest.split_once(", expected ")) {
            return format!("expected {}, found {found}", typed(expected));
        }
    }
    if let Some((key, expected)) =
        message.strip_prefix("unknown field ").and_then(|rest| rest.split_once(", expected "))
    {
        let expected = expected.strip_prefix("one of ").map_or(expected.to_owned(), |keys| format!("one of {keys}"));
        return format!("expected {expected}, found {key}");
    }
    if let Some((value, expected)) =
        message.strip_prefix("unknown variant ").and_then(|rest| rest.split_once(", expected "))
    {
        return format!("expected {expected}, found {value}");
    }
    if let Some(key) = message.strip_prefix("missing field ") {
        return format!("expected the key {key}, found none");
    }
    message.to_owned()
}

/// Rust's names of types in everybody's words.
fn typed(expected: &str) -> &str {
    match expected {
        "u8" | "u32" | "u64" | "usize" => "a whole number from 0",
        "f64" => "a number",
        "a string" => "a text in quotes",
        "a sequence" => "a list in brackets",
        "a map" => "a table",
        "a boolean" => "true or false",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

/// Range in the file of byte `at` of a quoted text.
///
/// `place`: the text with its quotes. With escapes in it the place is that of the whole text.
pub(super) fn inside(file: &str, place: &Range<usize>, content: &str, at: usize) -> Range<usize> {
    let raw = file.get(place.clone()).unwrap_or_default();
    match raw.find(content) {
        Some(start) if !content.is_empty() => {
            let from = place.start + start + at.min(content.len());
            from..from
        }
        _ => place.clone(),
    }
}
