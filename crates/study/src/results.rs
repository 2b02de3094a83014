//! Everything known of a study: what was planned, and every cell that was run, failed or is still to run.

use std::collections::BTreeMap;

use prony_stats::Interval;
use serde::{Deserialize, Serialize};

/// Everything known of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// Title of the study, in one line.
    pub title: String,
    /// Metric of the cells, with its unit and direction.
    pub metric: Metric,
    /// Factors in the order of the study file.
    pub factors: Vec<Factor>,
    /// Workloads in the order of the study file.
    pub workloads: Vec<Workload>,
    /// Machines in the order of the study file.
    pub machines: Vec<Machine>,
    /// Cells, one for each run: machine × repeat × workload × configuration, and the warm-ups and controls of each
    /// block.
    pub cells: Vec<Cell>,
    /// Orders are drawn from it.
    pub seed: u64,
    /// Random factors whose levels are counted as repeats, as [`Results::with_random_levels_as_repeats`] has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub random: Vec<RandomFactor>,
}

/// Random factor that is no factor of the results any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomFactor {
    /// Name of the factor: `layout`.
    pub name: String,
    /// Names of its levels, in the order of the repeats that stand for them.
    pub levels: Vec<String>,
}

/// Metric of the cells: name, unit, direction and normalisation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Name of the metric: `cpu`.
    pub name: String,
    /// Unit of the values: `second`.
    pub unit: String,
    /// Direction in which values are better.
    pub direction: Direction,
    /// Scale of the values; `None` if they are taken as they are.
    #[serde(default)]
    pub normalise: Option<Normalise>,
}

/// Direction in which values are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Less of it: times, bytes.
    Lower,
    /// Higher values are better, as of rates.
    Higher,
}

/// Values are divided by what the cell did, and multiplied by the requested amount.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Normalise {
    /// Quantity that is counted in each cell: `frames`.
    pub by: String,
    /// Amount of it that values are stated for: 120000.
    pub to: f64,
}

/// Factor: a property that is varied on purpose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// Name of the factor: `engine`.
    pub name: String,
    /// Names of its levels in the order of the study file; the first is the reference.
    pub levels: Vec<String>,
    /// Numeric values of its levels, ascending, one for each level; of a factor that is swept.
    #[serde(default)]
    pub numbers: Option<Vec<f64>>,
    /// True if its levels were drawn from many, and stand for the others: a random factor, of which no effects are stated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub random: bool,
}

/// Workload: the input that builds are measured on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Name of the workload, unique in the study.
    pub name: String,
    /// Properties in which workloads differ, such as `map = "dm1"`, `clients = "16"`.
    #[serde(default)]
    pub axes: BTreeMap<String, String>,
}

/// Machine on which cells ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name of the machine, unique in the study.
    pub name: String,
    /// Facts about the machine, as `prony machine show --json` has them; null if nothing is known.
    #[serde(default)]
    pub facts: serde_json::Value,
    /// Disturbances seen when the cells ran, in words.
    #[serde(default)]
    pub disturbances: Vec<String>,
}

/// Cell: one run of a configuration on a workload, on a machine, in a repeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Hash of build, workload, settings, machine, repeat and role; the same wherever the study is planned.
    pub key: String,
    /// Index of the cell's machine, from 0.
    pub machine: usize,
    /// Index of the cell's workload, from 0.
    pub workload: usize,
    /// Number of the repeat, from 0.
    pub repeat: u32,
    /// A level index for each factor.
    pub levels: Vec<usize>,
    /// Purpose of the cell: measured, warm-up or control.
    pub role: Role,
    /// State of the cell: pending, done, failed and others.
    pub state: State,
    /// Number of times that it was claimed; 0 if never.
    pub attempt: u32,
    /// Value of the metric, normalised; `None` without a result.
    pub value: Option<f64>,
    /// Interval of the value, when the cell holds several values.
    #[serde(default)]
    pub spread: Option<Interval>,
    /// Path of its samples file, relative to the study's directory.
    #[serde(default)]
    pub samples: Option<String>,
    /// Duration of the cell in seconds.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// Facts that are needed to reproduce the value: command, environment, hashes.
    #[serde(default, rename = "origin")]
    pub provenance: BTreeMap<String, String>,
}

/// Purpose of a cell: measurement, warm-up or control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The value of the cell counts.
    Measured,
    /// The first cell of its block; its value is discarded.
    WarmUp,
    /// Control: one configuration of the block a second time, which with its measured cell is the block's A/A pair.
    Control,
}

/// State of a cell in the ledgers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The cell has not run yet.
    Pending,
    /// Running now, in some process.
    Running,
    /// The cell ran and has a value.
    Done,
    /// Run without a value, for the reason given.
    Failed {
        /// Kind of the failure: whether a retry may help.
        kind: FailureKind,
        /// Message of the failure, in one line.
        message: String,
    },
    /// Not to be run: a sweep ended before it, or its configuration failed repeatedly.
    Skipped {
        /// Reason why the cell is not run.
        why: String,
    },
}

/// Prospect of another attempt at a cell that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// Another attempt would fail too: no such program, a replay that diverged.
    Permanent,
    /// Another attempt may succeed: a full disk, a killed process.
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
