//! Everything known of a study: what was asked, and every cell that was run, failed or is still to run.

use std::collections::BTreeMap;

use prony_stats::Interval;
use serde::{Deserialize, Serialize};

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

impl Results {
    /// The first index that leads nowhere, or number that is none.
    pub(crate) fn misfit(&self) -> Option<String> {
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
