//! Errors of samples, as facts; the command adds the remedy.
#![deny(clippy::indexing_slicing)]

use crate::files::memory::Exceeded;

/// Reasons why samples could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SamplesError {
    /// The file is longer than the budget.
    #[error("length expected at most {most} bytes, found {found}")]
    TooLong {
        /// Largest permitted length, in bytes.
        most: usize,
        /// Length of the file, in bytes.
        found: usize,
    },
    /// Reading it would take more memory than a file of its length may; see [`crate::files::memory`].
    #[error("memory expected at most {most} bytes, would take about {needed}")]
    Memory {
        /// Limit on the memory, in bytes.
        most: u64,
        /// Estimate of what the whole file takes, in bytes.
        needed: u64,
    },
    /// Another version of pyperf's format.
    #[error("`version`: expected \"1.0\", found {found}")]
    Version {
        /// Value in the file, as JSON.
        found: String,
    },
    /// A newer version of what prony adds.
    #[error("`prony.version`: expected at most {supported}, found {found}")]
    PronyVersion {
        /// Value that the file has.
        found: u64,
        /// The newest that this reader knows.
        supported: u64,
    },
    /// The text is no JSON, or not of this shape.
    #[error("{}{problem}", place(.path))]
    Json {
        /// Place, such as `benchmarks[0].runs[3].values[2]`; empty at the root.
        path: String,
        /// Problem with expected and found items, for the message.
        problem: String,
    },
    /// A rule of the format is broken.
    #[error("{}expected {expected}, found {found}", place(.path))]
    Rule {
        /// Place, such as `benchmarks[0].runs[3].values[2]`; empty at the root.
        path: String,
        /// Value that the rule requires.
        expected: &'static str,
        /// Value that the file has, as text.
        found: String,
    },
}

impl From<Exceeded> for SamplesError {
    fn from(Exceeded { most, charged }: Exceeded) -> SamplesError {
        SamplesError::Memory { most, needed: charged }
    }
}

fn place(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("`{path}`: ") }
}

/// Beginning of a text from a file, for a message: the text may be as long as the file.
pub(crate) fn shown(text: &str) -> String {
    const MOST_CHARACTERS: usize = 160;
    let mut cut: String = text.chars().take(MOST_CHARACTERS).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if cut.len() < text.len() && text.chars().nth(MOST_CHARACTERS).is_some() {
        cut.push('…');
    }
    cut
}

/// A text as JSON has it.
pub(crate) fn quoted(text: &str) -> String {
    shown(&serde_json::Value::from(text).to_string())
}

/// Message of serde with Rust terms replaced by those of JSON.
pub(crate) fn in_json_words(problem: &str) -> String {
    let words = [
        ("expected f64", "expected a number"),
        ("expected u64", "expected a whole number, not negative"),
        ("expected i64", "expected a whole number"),
        ("expected i32", "expected a whole number"),
        ("expected a sequence", "expected a list"),
        ("a tuple of size", "a list of length"),
        ("invalid type: map", "invalid type: object"),
        ("invalid type: sequence", "invalid type: list"),
        ("expected a map", "expected an object"),
    ];
    words.into_iter().fold(problem.to_owned(), |problem, (rust, json)| problem.replace(rust, json))
}
