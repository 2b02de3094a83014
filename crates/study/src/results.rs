//! Everything known of a study: what was asked, and every cell that was run, failed or is still to run.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use prony_stats::Interval;
use prony_stats::samples::{Samples, SamplesError};
use serde::{Deserialize, Serialize};

use crate::directory::{Directory, DirectoryError, STUDY_FILE};

/// The file of an imported study, in its directory.
pub const RESULTS_FILE: &str = "results.json";
/// The format number that `results.json` carries.
const FORMAT: u64 = 1;
/// The largest `results.json` that is read, in bytes: a million cells are some 500 MB.
const MOST_BYTES: u64 = 1 << 30;

/// Everything known of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// What it is called.
    pub title: String,
    /// What is measured.
    pub metric: Metric,
    /// What is varied on purpose.
    pub factors: Vec<Factor>,
    /// What the builds work on.
    pub workloads: Vec<Workload>,
    /// Where they do it.
    pub machines: Vec<Machine>,
    /// One a run: machine × repeat × workload × configuration, and the warm-ups and controls of each block.
    pub cells: Vec<Cell>,
    /// Orders are drawn from it.
    pub seed: u64,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Its name: `cpu`.
    pub name: String,
    /// Its unit: `second`.
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
    /// What values are scaled to; `None` when they are taken as they are.
    #[serde(default)]
    pub normalise: Option<Normalise>,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Less of it: times, bytes.
    Lower,
    /// More of it: rates.
    Higher,
}

/// Values are divided by what the cell did, and multiplied by what is asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normalise {
    /// What is counted in each cell: `frames`.
    pub by: String,
    /// How many of it values are stated for: 120000.
    pub to: f64,
}

/// Something varied on purpose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// Its name: `engine`.
    pub name: String,
    /// Its levels by name, in the order of the study file; the first is what others are compared with.
    pub levels: Vec<String>,
    /// Of a sweep: one number a level, ascending.
    #[serde(default)]
    pub numbers: Option<Vec<f64>>,
}

/// What the builds work on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// What the workload varies, as `map = "dm1"`, `clients = "16"`.
    #[serde(default)]
    pub axes: BTreeMap<String, String>,
}

/// Where cells ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its name.
    pub name: String,
    /// As `prony machine show --json`; null where nothing is known.
    #[serde(default)]
    pub facts: serde_json::Value,
    /// Disturbances seen when the cells ran, in words.
    #[serde(default)]
    pub disturbances: Vec<String>,
}

/// One run: a configuration on a workload, on a machine, in a repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Hash of build, workload, settings, machine, repeat and role; the same wherever the study is planned.
    pub key: String,
    /// Index of its machine.
    pub machine: usize,
    /// Index of its workload.
    pub workload: usize,
    /// Its repeat, from 0.
    pub repeat: u32,
    /// A level index for each factor.
    pub levels: Vec<usize>,
    /// What it is run for.
    pub role: Role,
    /// What came of it.
    pub state: State,
    /// How often it was claimed, from 1; 0 when never.
    pub attempt: u32,
    /// The metric, normalised.
    pub value: Option<f64>,
    /// Interval of the value, when the cell holds several values.
    #[serde(default)]
    pub spread: Option<Interval>,
    /// Path of its samples file, relative to the study's directory.
    #[serde(default)]
    pub samples: Option<String>,
    /// How long it took to run.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// What is needed to reproduce it: command, environment, hashes.
    #[serde(default, rename = "origin")]
    pub provenance: BTreeMap<String, String>,
}

/// What a cell is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Its value counts.
    Measured,
    /// It comes first in its block, and its value is discarded.
    WarmUp,
    /// One configuration of the block a second time: with its measured cell it is the block's A/A pair.
    Control,
}

/// What came of a cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is still to run.
    Pending,
    /// Somebody runs it.
    Running,
    /// It has a value.
    Done,
    /// It has none, and why.
    Failed {
        /// Whether trying again may help.
        kind: FailureKind,
        /// What went wrong.
        message: String,
    },
    /// It is not run: a sweep went far enough, or its configuration failed again and again.
    Skipped {
        /// Why.
        why: String,
    },
}

/// Whether trying again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// It will fail again: no such program, a replay that diverged.
    Permanent,
    /// It may go well another time: a full disk, a killed process.
    Transient,
}

/// Why the results of a study could not be read.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A file could not be read.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The directory holds no study.
    #[error("{}: expected {RESULTS_FILE} or study.toml in it, found neither", path.display())]
    NoStudy {
        /// The directory.
        path: PathBuf,
    },
    /// A file is too large to be one of ours.
    #[error("{}: expected at most {MOST_BYTES} bytes, found {found}", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its bytes.
        found: u64,
    },
    /// Another format number.
    #[error("{}: expected format {FORMAT}, found {found}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The number in it.
        found: u64,
    },
    /// No JSON, or JSON that is no results.
    #[error("{}: {error}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What was expected, and where.
        error: serde_json::Error,
    },
    /// Parts of the results do not fit to each other.
    #[error("{}: {problem}", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        problem: String,
    },
    /// A study file, a ledger, or what was shipped.
    #[error(transparent)]
    Directory(Box<DirectoryError>),
    /// A samples file could not be read.
    #[error("{}: {error}", path.display())]
    Samples {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
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

impl Results {
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
                Results::from_json(&text, &path)
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
    pub fn from_json(text: &str, path: &Path) -> Result<Results, LoadError> {
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
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        Ok(serde_json::to_string_pretty(&Written { format: FORMAT, results: self })? + "\n")
    }

    /// Frame times in nanoseconds, one list a run of the cell's samples file; empty for a cell without frames.
    ///
    /// `dir`: the study's directory.
    ///
    /// # Errors
    /// [`LoadError`] when the samples file lies outside of `dir` or cannot be read.
    pub fn frames(&self, cell: &Cell, dir: &Path) -> Result<Vec<Vec<u64>>, LoadError> {
        let Some(name) = &cell.samples else { return Ok(Vec::new()) };
        let path = dir.join(name);
        // Whoever wrote the results must not make a report read other files of its reader.
        if !Path::new(name).components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(LoadError::Unfit { path, problem: "expected a samples file inside of the study".to_owned() });
        }
        let bytes = fs::read(&path).map_err(|error| LoadError::Io { path: path.clone(), error })?;
        let samples = Samples::decode(&bytes).map_err(|error| LoadError::Samples { path, error })?;
        let runs = samples.benchmarks.into_iter().flat_map(|benchmark| benchmark.runs);
        Ok(runs.filter_map(|run| run.measured).map(|run| run.frame_ns).filter(|frames| !frames.is_empty()).collect())
    }

    /// The first index that leads nowhere, or number that is none.
    fn misfit(&self) -> Option<String> {
        for factor in &self.factors {
            if factor.levels.is_empty() {
                return Some(format!("factor `{}`: expected at least one level, found none", factor.name));
            }
            let numbers = factor.numbers.as_ref().map_or(factor.levels.len(), Vec::len);
            if numbers != factor.levels.len() {
                let levels = factor.levels.len();
                return Some(format!("factor `{}`: expected {levels} numbers, found {numbers}", factor.name));
            }
        }
        self.cells.iter().find_map(|cell| {
            let problem = if cell.machine >= self.machines.len() {
                format!("expected a machine below {}, found {}", self.machines.len(), cell.machine)
            } else if cell.workload >= self.workloads.len() {
                format!("expected a workload below {}, found {}", self.workloads.len(), cell.workload)
            } else if cell.levels.len() != self.factors.len() {
                format!("expected {} levels, found {}", self.factors.len(), cell.levels.len())
            } else {
                let beyond = |(level, factor): (&usize, &Factor)| *level >= factor.levels.len();
                let factor = cell.levels.iter().zip(&self.factors).position(beyond)?;
                let Factor { name, levels, .. } = &self.factors[factor];
                format!("expected a level of `{name}` below {}, found {}", levels.len(), cell.levels[factor])
            };
            Some(format!("cell {}: {problem}", cell.key))
        })
    }
}

#[cfg(test)]
mod tests;
