//! The study file: TOML, checked as a whole before the first cell runs. `docs/formats/study.md` is its reference.
//!
//! ```toml
//! title = "Engine, game DLL, plugin layer"
//! repeats = 3
//! metric = { name = "cpu", unit = "second", direction = "lower" }
//!
//! [[factor]]
//! name = "engine"
//! levels = [{ name = "stock", build = "builds/stock" }, { name = "optimised", build = "builds/optimised" }]
//!
//! [[workload]]
//! name = "{map}"
//! axes = { map = ["dm1", "dm6"] }
//! demo = "demos/{map}.demo"
//! command = "{engine} +map {map}"
//! ```
#![deny(clippy::indexing_slicing)]

mod check;
mod error;
mod filter;
mod levels;
mod read;
mod requirement;
mod stop;
mod template;

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

pub use error::{ProblemKind, StudyError};
pub use filter::{Bound, Comparison, Filter, Name, Value};
pub use levels::number_text;
pub use requirement::{MachineProperty, Requirement, Unmet};
pub use stop::{Next, Resolution, Stop, Then};
pub(crate) use template::fill;

use crate::results::Metric;
use error::{Misplaced, misplaced};

/// The largest study file that is read, in bytes.
pub const MOST_BYTES: usize = 4 << 20;
/// Most configurations of a full cross, and most cells of a plan.
pub const MOST_CELLS: usize = 1_000_000;

/// Content of a study file.
#[derive(Debug, Clone, PartialEq)]
pub struct Study {
    /// Title of the study, in one line.
    pub title: String,
    /// Metric of the cells, with its unit and direction.
    pub metric: Metric,
    /// Number of repeats of each block.
    pub repeats: u32,
    /// Orders are drawn from it.
    pub seed: u64,
    /// Expected duration of a cell in seconds, for estimates before one has run.
    pub seconds_per_cell: Option<f64>,
    /// Time in seconds after which a cell is ended, and has failed.
    pub cell_seconds_max: Option<f64>,
    /// Order in which blocks run.
    pub order: Order,
    /// Factors: properties that are varied on purpose.
    pub factors: Vec<Factor>,
    /// Factors that go through their levels together: indices.
    pub zips: Vec<Vec<usize>>,
    /// Patterns of configurations that run; empty: all.
    pub only: Vec<Pattern>,
    /// Filter of the cells that run.
    pub keep: Option<Filter>,
    /// Cells that are left out, and why.
    pub skips: Vec<Skip>,
    /// Workloads, in the order of the study file.
    pub workloads: Vec<Workload>,
    /// Machines, in the order of the study file.
    pub machines: Vec<Machine>,
}

/// Order in which the blocks of a machine run; within a block the order is always random.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Repeat after repeat, within each the workloads in an order drawn again.
    #[default]
    Shuffled,
    /// Repeat after repeat, within each the workloads as listed.
    Listed,
}

/// Factor: a property that is varied on purpose.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// Name of the factor, unique in the study.
    pub name: String,
    /// Levels in the order of the study file; the first is the reference.
    pub levels: Vec<Level>,
    /// Numeric values of the levels in ascending order, one for each level; of a factor that is swept.
    pub numbers: Option<Vec<f64>>,
    /// Condition under which larger points are not run.
    pub stop: Option<Stop>,
    /// True if its levels were drawn from many, and stand for the others.
    pub random: bool,
}

/// A level: what it changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Name of the level, unique in its factor.
    pub name: String,
    /// Placeholders of commands and environments, beside the factor's own.
    pub set: BTreeMap<String, String>,
    /// A file or directory that is shipped; the factor's placeholder is then its path.
    pub build: Option<String>,
    /// A command in place of the workload's.
    pub command: Option<String>,
    /// Environment variables that the level sets, by name.
    pub environment: BTreeMap<String, String>,
    /// CPU and real-time priority of its processes.
    pub tuning: Tuning,
}

/// Scheduling of processes: CPU and real-time priority.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuning {
    /// CPU to which the processes are pinned.
    pub pin: Option<u32>,
    /// Under `SCHED_FIFO` with this priority.
    pub fifo: Option<u8>,
}

/// Configurations: for each factor the levels that fit, or `None` for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(pub Vec<Option<Vec<usize>>>);

/// Cells that are left out, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Skip {
    /// Filter of the configurations that are skipped.
    pub filter: Filter,
    /// The filter as the study says it.
    pub text: String,
    /// Reason, as the study states it.
    pub why: String,
}

/// Workload: the input that builds are measured on.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    /// Name of the workload, unique in the study; names of axes stand in braces.
    pub name: String,
    /// Properties in which workloads differ, value by name.
    pub axes: BTreeMap<String, String>,
    /// A demo that the command replays.
    pub demo: Option<String>,
    /// Run the command of that demo, and use its state, wherever it was recorded.
    pub trust_demo: bool,
    /// Command with placeholders; `None` if the levels of a factor define it.
    pub command: Option<String>,
    /// Environment variables of all its cells, with placeholders.
    pub environment: BTreeMap<String, String>,
    /// Files and directories that are shipped, by placeholder.
    pub files: BTreeMap<String, String>,
}

/// Machine on which cells run.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Name of the machine, unique in the study.
    pub name: String,
    /// Required properties; cells are refused without them.
    pub require: Vec<Requirement>,
    /// Way in which cells run on it.
    pub executor: Executor,
}

/// Way in which cells run on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Executor {
    /// Cells run as children of this process.
    Local,
    /// A Slurm job a block.
    Slurm(Slurm),
    /// A command with the placeholder `{command}`: `ssh xeon {command}`.
    Exec(String),
}

/// Options of Slurm jobs, passed to `sbatch`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slurm {
    /// Name of the node, for `--nodelist`.
    pub node: Option<String>,
    /// Name of the partition, for `--partition`.
    pub partition: Option<String>,
    /// Features that the node must have, for `--constraint`.
    pub constraint: Option<String>,
    /// Value of `--cpu-freq`: `2400000`, `performance`.
    pub cpu_freq: Option<String>,
    /// Account that is charged, for `--account`.
    pub account: Option<String>,
}

impl Study {
    /// Parses and checks the text of a study file.
    ///
    /// # Errors
    /// [`StudyError`] at the first violation of the format, unknown keys included.
    pub fn parse(text: &str) -> Result<Study, StudyError> {
        read::study(text).map_err(|misplaced| misplaced.in_text(text))
    }

    /// The names of a configuration's levels, in the order of the factors.
    ///
    /// `levels`: an index a factor; one that leads nowhere is left out.
    pub fn names<'a>(&'a self, levels: &'a [usize]) -> impl Iterator<Item = &'a str> {
        let named = self.factors.iter().zip(levels).filter_map(|(factor, &level)| factor.levels.get(level));
        named.map(|level| level.name.as_str())
    }

    /// Copy of the study with one more point of the sweep `factor`; the keys of its cells stay the same.
    ///
    /// `None` when the factor is no sweep, or has the point already.
    pub fn with_point(&self, factor: usize, point: f64) -> Option<Study> {
        let mut study = self.clone();
        let swept = study.factors.get_mut(factor)?;
        let numbers = swept.numbers.as_mut()?;
        let at = numbers.partition_point(|&number| number < point);
        if !point.is_finite() || numbers.get(at) == Some(&point) {
            return None;
        }
        numbers.insert(at, point);
        swept.levels.insert(at, Level::named(number_text(point)));
        for pattern in &mut study.only {
            if let Some(levels) = pattern.0.get_mut(factor).and_then(Option::as_mut) {
                // A list of requested points does not forbid what lies between its ends.
                let inside = levels.iter().any(|&level| level < at) && levels.iter().any(|&level| level >= at);
                levels.iter_mut().filter(|level| **level >= at).for_each(|level| *level += 1);
                if inside {
                    levels.push(at);
                }
            }
        }
        Some(study)
    }
}

impl Level {
    /// Level that changes nothing but its factor's placeholder.
    pub fn named(name: String) -> Level {
        Level {
            name,
            set: BTreeMap::new(),
            build: None,
            command: None,
            environment: BTreeMap::new(),
            tuning: Tuning::default(),
        }
    }
}

impl Pattern {
    /// True when the configuration is one of these.
    pub fn fits(&self, levels: &[usize]) -> bool {
        self.0.iter().zip(levels).all(|(these, level)| these.as_ref().is_none_or(|these| these.contains(level)))
    }
}

/// Names are one line, and can stand in braces, in file names and on a page.
fn is_name(name: &Spanned<String>) -> Result<(), Misplaced> {
    let text = name.get_ref();
    if text.trim() != text || text.is_empty() || text.len() > 200 {
        return misplaced(name.span(), "expected a name of 1 to 200 bytes without spaces around it");
    }
    match text.chars().find(|&c| c.is_control() || "{}`".contains(c)) {
        Some(found) => {
            misplaced(name.span(), format!("expected a name without braces and control characters, found {found:?}"))
        }
        None => Ok(()),
    }
}

/// Names of environment variables: what `execve` takes.
fn is_variable(name: &Spanned<String>) -> Result<(), Misplaced> {
    match name.get_ref().is_empty() || name.get_ref().contains(['=', '\0']) {
        true => misplaced(name.span(), "expected the name of an environment variable"),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests;
