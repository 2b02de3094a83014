//! How long a plan will take.

use std::collections::BTreeMap;

use prony_stats::quantile::median;

use super::Plan;
use crate::file::Study;
use crate::results::{Results, State};

/// How long a plan will take.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Seconds of each machine, one after another; machines run side by side.
    pub machine_seconds: Vec<f64>,
    /// What it rests on.
    pub basis: Basis,
}

/// What an estimate rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The study file says how long a cell takes.
    Stated,
    /// So many cells that ran earlier; those of a workload, where there are some.
    Earlier(usize),
}

impl Estimate {
    /// Until the last machine is done.
    pub fn seconds(&self) -> f64 {
        self.machine_seconds.iter().copied().fold(0.0, f64::max)
    }
}

impl Plan {
    /// How long it will take: by what `earlier` cells took, otherwise by what the study states.
    ///
    /// Workloads are matched by name. `None` when neither says anything.
    pub fn estimate(&self, study: &Study, earlier: Option<&Results>) -> Option<Estimate> {
        let mut took: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for cell in earlier.into_iter().flat_map(|earlier| &earlier.cells) {
            let workload = earlier.and_then(|earlier| earlier.workloads.get(cell.workload));
            if let (State::Done, Some(workload), Some(seconds)) = (&cell.state, workload, cell.seconds) {
                took.entry(&workload.name).or_default().push(seconds);
            }
        }
        let all: Vec<f64> = took.values().flatten().copied().collect();
        let (otherwise, basis) = match (median(&all), study.seconds_per_cell) {
            (Some(median), _) => (median, Basis::Earlier(all.len())),
            (None, stated) => (stated?, Basis::Stated),
        };
        let typical: BTreeMap<&str, f64> =
            took.iter().filter_map(|(name, seconds)| Some((*name, median(seconds)?))).collect();
        let mut machine_seconds = vec![0.0; study.machines.len()];
        for block in &self.blocks {
            let name = study.workloads[block.workload].name.as_str();
            let seconds = typical.get(name).copied().unwrap_or(otherwise);
            machine_seconds[block.machine] += seconds * block.cells.len() as f64;
        }
        Some(Estimate { machine_seconds, basis })
    }
}
