//! `prony study status` as JSON.

use prony_study::directory::{Directory, Progress};
use prony_study::file::Executor;
use prony_study::ledger::Counts;
use serde::Serialize;

/// The whole answer.
#[derive(Debug, Serialize)]
pub struct StatusDocument<'a> {
    title: &'a str,
    cells: Counts,
    complete: bool,
    machines: Vec<OfMachine<'a>>,
}

#[derive(Debug, Serialize)]
struct OfMachine<'a> {
    name: &'a str,
    executor: &'static str,
    cells: Counts,
    cell_s: Option<f64>,
    left_s: Option<f64>,
    reasons: &'a std::collections::BTreeMap<String, u64>,
}

impl<'a> StatusDocument<'a> {
    /// Answer on a study. `progress`: of each of its machines.
    pub fn of(directory: &'a Directory, progress: &'a [Progress]) -> StatusDocument<'a> {
        let machines = progress.iter().zip(&directory.study.machines).map(|(one, machine)| OfMachine {
            name: &one.machine,
            executor: match machine.executor {
                Executor::Local => "local",
                Executor::Exec(_) => "exec",
                Executor::Slurm(_) => "slurm",
            },
            cells: one.counts,
            cell_s: one.cell_s,
            left_s: one.cell_s.map(|cell_s| cell_s * one.counts.left() as f64),
            reasons: &one.reasons,
        });
        let cells = Progress::total(progress);
        StatusDocument {
            title: &directory.study.title,
            cells,
            complete: cells.left() == 0,
            machines: machines.collect(),
        }
    }
}
