//! Estimate of the time that a plan will take.

use std::collections::BTreeMap;

use prony_stats::quantile::median;

use super::Plan;
use crate::file::Study;
use crate::results::{Results, State};

/// Estimated duration of a plan, in seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Seconds of each machine, one after another; machines run side by side.
    pub machine_seconds: Vec<f64>,
    /// Basis on which the time was estimated.
    pub basis: Basis,
}

/// Basis on which the time of cells is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The study file says how long a cell takes.
    Stated,
    /// This number of cells that ran earlier; those of the same workload, where there are some.
    Earlier(usize),
}

impl Estimate {
    /// Seconds until the last machine is done.
    pub fn seconds(&self) -> f64 {
        self.machine_seconds.iter().copied().fold(0.0, f64::max)
    }
}

impl Plan {
    /// Estimate from the durations of `earlier` cells, otherwise from what the study states.
    ///
    /// A cell takes what the median of its configuration on its workload took, by names; of one that never ran, what
    /// the median of its workload took, or of all. Configurations may differ by far, and a sweep does.
    ///
    /// `None` when neither says anything.
    pub fn estimate(&self, study: &Study, earlier: Option<&Results>) -> Option<Estimate> {
        let took = earlier.map(Took::of).unwrap_or_default();
        let (otherwise, basis) = match (median(&took.all), study.seconds_per_cell) {
            (Some(median), _) => (median, Basis::Earlier(took.all.len())),
            (None, stated) => (stated?, Basis::Stated),
        };
        let mut known: BTreeMap<(usize, &[usize]), f64> = BTreeMap::new();
        let mut machine_seconds = vec![0.0; study.machines.len()];
        for block in &self.blocks {
            let workload = study.workloads[block.workload].name.as_str();
            for cell in &block.cells {
                let typical = known.entry((block.workload, &cell.levels)).or_insert_with(|| {
                    let levels: Vec<&str> = study.names(&cell.levels).collect();
                    let own = took.of_configuration.get(&(workload, levels)).or_else(|| took.of_workload.get(workload));
                    own.and_then(|seconds| median(seconds)).unwrap_or(otherwise)
                });
                machine_seconds[block.machine] += *typical;
            }
        }
        Some(Estimate { machine_seconds, basis })
    }
}

/// Seconds of cells that are done, by names.
#[derive(Debug, Default)]
struct Took<'a> {
    of_configuration: BTreeMap<(&'a str, Vec<&'a str>), Vec<f64>>,
    of_workload: BTreeMap<&'a str, Vec<f64>>,
    all: Vec<f64>,
}

impl<'a> Took<'a> {
    fn of(earlier: &'a Results) -> Took<'a> {
        let mut took = Took::default();
        for cell in earlier.cells.iter().filter(|cell| cell.state == State::Done) {
            let (Some(workload), Some(seconds)) = (earlier.workloads.get(cell.workload), cell.seconds) else {
                continue;
            };
            let levels = earlier.factors.iter().zip(&cell.levels);
            let levels: Option<Vec<&str>> =
                levels.map(|(factor, &level)| factor.levels.get(level).map(String::as_str)).collect();
            took.of_configuration.entry((&workload.name, levels.unwrap_or_default())).or_default().push(seconds);
            took.of_workload.entry(&workload.name).or_default().push(seconds);
            took.all.push(seconds);
        }
        took
    }
}
