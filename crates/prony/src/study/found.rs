//! Reading results of a study, as the verbs on results do.

use std::path::Path;

use prony_study::Results;
use prony_study::results_file::{self, LoadError};

use crate::failure::Failure;

/// Reads the directory of a study, with the levels of its random factors as repeats; `verb`: what is to be done with it.
///
/// # Errors
/// With the next step.
pub fn load(verb: &str, directory: &Path) -> Result<Results, Failure> {
    let results = results_file::load(directory).map(Results::with_random_levels_as_repeats);
    results.map_err(|error| {
        let failure = Failure::new(format!("cannot {verb} {}: {error}", directory.display()));
        match error {
            LoadError::NoStudy { .. } => failure.hint(
                "`prony study run study.toml -o DIR` and `prony study import TABLE -o DIR` make such a directory",
            ),
            LoadError::Format { .. } => failure.hint("it was made by another version of prony: use that version"),
            LoadError::Json { .. } | LoadError::Unfit { .. } => {
                failure.hint("the file was truncated or altered: import or run the study again")
            }
            _ => failure,
        }
    })
}
