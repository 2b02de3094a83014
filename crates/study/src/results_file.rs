//! Results on disk: the directory of a study, `results.json`, and the samples file of a cell.
#![deny(clippy::indexing_slicing)]

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use prony_stats::samples::{Samples, SamplesError};
use serde::{Deserialize, Serialize};

use crate::directory::{Directory, DirectoryError, STUDY_FILE};
use crate::results::{Cell, Results};

/// The file of an imported study, in its directory.
pub const RESULTS_FILE: &str = "results.json";
/// The format number that `results.json` carries.
const FORMAT: u64 = 1;
/// The largest `results.json` that is read, in bytes: a million cells are some 500 MB.
const MOST_BYTES: u64 = 1 << 30;

/// Error of reading the results of a study.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file could not be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error that the system returned.
        error: io::Error,
    },
    /// The directory holds no study.
    #[error("{}: expected {RESULTS_FILE} or study.toml in it, found neither", path.display())]
    NoStudy {
        /// Path of the directory.
        path: PathBuf,
    },
    /// A file is too large to be one of ours.
    #[error("{}: expected at most {MOST_BYTES} bytes, found {found}", path.display())]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// Length of the file, in bytes.
        found: u64,
    },
    /// The file has another version of the format.
    #[error("{}: expected format {FORMAT}, found {found}", path.display())]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// Version that the file states.
        found: u64,
    },
    /// No JSON, or JSON that is no results.
    #[error("{}: {error}", path.display())]
    Json {
        /// Path of the file.
        path: PathBuf,
        /// Message of the JSON parser, with line and column.
        error: serde_json::Error,
    },
    /// Parts of the results do not fit to each other.
    #[error("{}: {problem}", path.display())]
    Unfit {
        /// Path of the file.
        path: PathBuf,
        /// Contradiction in the content, for the message.
        problem: String,
    },
    /// A study file, a ledger, or what was shipped.
    #[error(transparent)]
    Directory(Box<DirectoryError>),
    /// A samples file could not be read.
    #[error("{}: {error}", path.display())]
    Samples {
        /// Path of the file.
        path: PathBuf,
        /// Reason why the samples cannot be used.
        error: SamplesError,
    },
}

/// `results.json`: the results behind their format number.
#[derive(Serialize)]
struct Written<'a> {
    format: u64,
    results: &'a Results,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    format: u64,
    results: Box<serde_json::value::RawValue>,
}

/// Reads a study directory: `results.json` of an imported study, or the study file and the ledgers of its machines.
///
/// # Errors
/// [`LoadError`] when there is no study in `dir`, or a file of it cannot be read or does not fit.
pub fn load(dir: &Path) -> Result<Results, LoadError> {
    let path = dir.join(RESULTS_FILE);
    match fs::metadata(&path) {
        Ok(facts) if facts.len() > MOST_BYTES => Err(LoadError::TooLarge { path, found: facts.len() }),
        Ok(_) => {
            let text = fs::read_to_string(&path).map_err(|error| LoadError::Io { path: path.clone(), error })?;
            parse(&text, &path)
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(LoadError::Io { path, error }),
        Err(_) if !dir.join(STUDY_FILE).exists() => Err(LoadError::NoStudy { path: dir.to_owned() }),
        Err(_) => {
            let results = Directory::open(dir).and_then(|directory| directory.results());
            results.map_err(|error| LoadError::Directory(Box::new(error)))
        }
    }
}

/// Reads the text of a `results.json`; `path`: how errors call it.
///
/// # Errors
/// [`LoadError`] when it is none, or its parts do not fit to each other.
pub fn parse(text: &str, path: &Path) -> Result<Results, LoadError> {
    let json = |error| LoadError::Json { path: path.to_owned(), error };
    let read: Read = serde_json::from_str(text).map_err(json)?;
    if read.format != FORMAT {
        return Err(LoadError::Format { path: path.to_owned(), found: read.format });
    }
    let results: Results = serde_json::from_str(read.results.get()).map_err(json)?;
    match results.misfit() {
        Some(problem) => Err(LoadError::Unfit { path: path.to_owned(), problem }),
        None => Ok(results),
    }
}

/// The text of a `results.json`.
///
/// # Errors
/// When a number in it is not finite in a place where JSON has none.
pub fn to_json(results: &Results) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(&Written { format: FORMAT, results })? + "\n")
}

/// Frame times in nanoseconds, one list a run of the cell's samples file; empty for a cell without frames.
///
/// `dir`: the study's directory.
///
/// # Errors
/// [`LoadError`] when the samples file lies outside of `dir` or cannot be read.
pub fn frames(cell: &Cell, dir: &Path) -> Result<Vec<Vec<u64>>, LoadError> {
    let Some(name) = &cell.samples else { return Ok(Vec::new()) };
    let path = dir.join(name);
    // A file of results must not make a report read other files of its reader.
    if !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(LoadError::Unfit { path, problem: "expected a samples file inside of the study".to_owned() });
    }
    let bytes = fs::read(&path).map_err(|error| LoadError::Io { path: path.clone(), error })?;
    let samples = Samples::decode(&bytes).map_err(|error| LoadError::Samples { path, error })?;
    let runs = samples.benchmarks.into_iter().flat_map(|benchmark| benchmark.runs);
    Ok(runs.filter_map(|run| run.measured).map(|run| run.frame_ns).filter(|frames| !frames.is_empty()).collect())
}

#[cfg(test)]
mod tests;
