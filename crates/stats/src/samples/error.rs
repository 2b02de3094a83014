//! What can be wrong with samples, as facts; the remedy is the command's to say.

/// Why samples could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SamplesError {
    /// The file is longer than the budget.
    #[error("length expected at most {most} bytes, found {found}")]
    TooLong {
        /// The budget.
        most: usize,
        /// The length.
        found: usize,
    },
    /// Another version of pyperf's format.
    #[error("`version`: expected \"1.0\", found {found}")]
    Version {
        /// What the file states, as JSON.
        found: String,
    },
    /// A newer version of what prony adds.
    #[error("`prony.version`: expected at most {supported}, found {found}")]
    PronyVersion {
        /// What the file states.
        found: u64,
        /// The newest that this reader knows.
        supported: u64,
    },
    /// The text is no JSON, or not of this shape.
    #[error("{}{problem}", place(.path))]
    Json {
        /// Where, as `benchmarks[0].runs[3].values[2]`; empty at the root.
        path: String,
        /// What was expected and what found.
        problem: String,
    },
    /// A rule of the format is broken.
    #[error("{}expected {expected}, found {found}", place(.path))]
    Rule {
        /// Where, as `benchmarks[0].runs[3].values[2]`; empty at the root.
        path: String,
        /// What the rule asks for.
        expected: &'static str,
        /// What is there.
        found: String,
    },
}

fn place(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("`{path}`: ") }
}

/// What a file says may be as long as the file; a message shows the beginning.
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

/// What serde says in the words of Rust, in those of JSON.
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
