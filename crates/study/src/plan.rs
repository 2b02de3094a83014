//! Plan of a study: its cells in the order in which they run.
//!
//! A block is machine × repeat × workload. Each of its configurations runs once, in an order drawn from the seed;
//! before them runs one whose value is discarded, and somewhere among them one configuration a second time: with its
//! own cell it is the block's A/A pair. Equal study, equal plan; a machine or a workload more changes no other block.

mod estimate;
mod select;

use std::collections::BTreeMap;

use prony_stats::Seed;
use prony_stats::effects::{OTHERS_MIN, Over};
use serde_json::Value;
use sha2::{Digest, Sha256};

pub use estimate::{Basis, Estimate};
pub use select::{LeftOut, Reason};

use crate::cells::{Contents, key};
use crate::design::{Design, Grid};
use crate::file::{MOST_CELLS, Order, Study};
use crate::results::{Cell, Factor, Machine, Results, Role, State, Workload};
use select::Selection;

/// Blocks of cells in the order in which they run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Block after block, those of a machine together.
    pub blocks: Vec<Block>,
    /// Configurations that some block holds.
    pub configurations: usize,
    /// Cells that are left out, and the reasons.
    pub left_out: Vec<LeftOut>,
    /// Effects that the plan can estimate.
    pub design: Design,
}

/// All configurations on one workload, on one machine, in one repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Index of the cell's machine, from 0.
    pub machine: usize,
    /// Index of the cell's workload, from 0.
    pub workload: usize,
    /// Number of the repeat, from 0.
    pub repeat: u32,
    /// Cells in the order in which they run; the warm-up comes first.
    pub cells: Vec<Planned>,
}

/// A cell that is to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Key of the cell, the same in every plan.
    pub key: String,
    /// A level index for each factor.
    pub levels: Vec<usize>,
    /// Purpose of the cell: measured, warm-up or control.
    pub role: Role,
}

/// Error of planning a study.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Filters leave nothing; a study that was read is not empty, but one that was put together may be.
    #[error("the design is empty: no configuration is left on any workload")]
    Empty,
    /// More cells than a ledger should hold.
    #[error("expected at most {MOST_CELLS} cells, found {found}")]
    TooManyCells {
        /// Number of cells that the plan would have.
        found: usize,
    },
}

impl Study {
    /// True when filters leave nothing to run.
    pub fn is_empty(&self) -> bool {
        !Selection::leaves_something(self)
    }

    /// Plans the cells of the study and their order. `contents`: hashes of what is shipped; a path that is not in it
    /// stands for itself.
    ///
    /// # Errors
    /// [`PlanError`] when there is nothing to run, or too much.
    pub fn plan(&self, contents: &Contents) -> Result<Plan, PlanError> {
        let grid = Grid::of(self);
        let selection = Selection::of(self, &grid)?;
        if selection.kinds.is_empty() {
            return Err(PlanError::Empty);
        }
        let repeats = self.repeats as usize;
        let per_repeat = selection.of_pair.iter().flatten().map(|&kind| selection.kinds[kind].len() + 2);
        let cells = per_repeat.sum::<usize>().saturating_mul(repeats);
        if cells > MOST_CELLS {
            return Err(PlanError::TooManyCells { found: cells });
        }
        let mut digests = Digests { study: self, grid: &grid, contents, known: BTreeMap::new() };
        let mut blocks = Vec::new();
        for machine in 0..self.machines.len() {
            for repeat in 0..self.repeats {
                for workload in self.workloads_in_order(machine, repeat) {
                    let Some(kind) = selection.of_pair[machine * self.workloads.len() + workload] else { continue };
                    blocks.push(self.block((machine, workload, repeat), &selection.kinds[kind], &grid, &mut digests));
                }
            }
        }
        Ok(Plan {
            blocks,
            configurations: selection.configurations,
            left_out: selection.left_out,
            design: Design::of(&grid, &selection.kinds),
        })
    }

    fn workloads_in_order(&self, machine: usize, repeat: u32) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.workloads.len()).collect();
        if self.order == Order::Shuffled {
            shuffle(&mut order, &mut self.seed_of(&["blocks", &self.machines[machine].name], repeat));
        }
        order
    }

    /// Names and not indices: what is added to a study must not draw the orders of the rest again.
    fn seed_of(&self, names: &[&str], repeat: u32) -> Seed {
        let mut hash = Sha256::new();
        hash.update(self.seed.to_le_bytes());
        hash.update(repeat.to_le_bytes());
        for name in names {
            hash.update((name.len() as u64).to_le_bytes());
            hash.update(name.as_bytes());
        }
        let digest: [u8; 32] = hash.finalize().into();
        Seed::new(digest[..8].iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte)))
    }

    fn block(
        &self,
        (machine, workload, repeat): (usize, usize, u32),
        configurations: &[usize],
        grid: &Grid,
        digests: &mut Digests<'_>,
    ) -> Block {
        let mut seed = self.seed_of(&[&self.machines[machine].name, &self.workloads[workload].name], repeat);
        // A sweep that is stopped early must not be short of its control.
        let swept = self.factors.iter().position(|factor| factor.stop.is_some());
        let least = |factor| configurations.iter().map(move |&each| grid.level(each, factor)).min();
        let eligible: Vec<usize> = match swept.map(|factor| (factor, least(factor))) {
            Some((factor, Some(least))) => {
                configurations.iter().copied().filter(|&each| grid.level(each, factor) == least).collect()
            }
            _ => configurations.to_vec(),
        };
        let control = eligible[seed.below(eligible.len())];
        let mut order: Vec<(usize, Role)> = configurations.iter().map(|&each| (each, Role::Measured)).collect();
        order.push((control, Role::Control));
        shuffle(&mut order, &mut seed);
        if let Some(factor) = swept {
            ascend(&mut order, |each| grid.context(each, factor), |each| grid.level(each, factor));
        }
        let name = &self.machines[machine].name;
        let warm_up = (order[0].0, Role::WarmUp);
        let cell = |(configuration, role): (usize, Role)| Planned {
            key: key(&digests.of(workload, configuration), name, repeat, role),
            levels: grid.configuration(configuration),
            role,
        };
        Block { machine, workload, repeat, cells: std::iter::once(warm_up).chain(order).map(cell).collect() }
    }
}

/// Fisher and Yates, from the end.
fn shuffle<T>(items: &mut [T], seed: &mut Seed) {
    for last in (1..items.len()).rev() {
        items.swap(last, seed.below(last + 1));
    }
}

/// Brings the cells of each sweep into ascending order, on the places that were drawn for them together.
fn ascend(order: &mut [(usize, Role)], context: impl Fn(usize) -> usize, level: impl Fn(usize) -> usize) {
    let mut places: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, (configuration, _)) in order.iter().enumerate() {
        places.entry(context(*configuration)).or_default().push(place);
    }
    for places in places.values() {
        let mut sweep: Vec<(usize, Role)> = places.iter().map(|&place| order[place]).collect();
        // Stable: which of an A/A pair comes first stays as it was drawn.
        sweep.sort_by_key(|(configuration, _)| level(*configuration));
        for (&place, cell) in places.iter().zip(sweep) {
            order[place] = cell;
        }
    }
}

/// The part of the keys that repeats and machines share.
struct Digests<'a> {
    study: &'a Study,
    grid: &'a Grid,
    contents: &'a Contents,
    known: BTreeMap<(usize, usize), [u8; 32]>,
}

impl Digests<'_> {
    fn of(&mut self, workload: usize, configuration: usize) -> [u8; 32] {
        *self.known.entry((workload, configuration)).or_insert_with(|| {
            let levels = self.grid.configuration(configuration);
            self.study.task_digest(workload, &levels, self.contents).expect("a plan's indices lead somewhere")
        })
    }
}

/// Population that the confidence intervals of a plan's effects will refer to, if all of its cells have a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intervals {
    /// Population, as in [`prony_stats::effects::Size::of`]; `None`: there will be no intervals.
    pub of: Option<Over>,
    /// True if there will be an interval for other workloads like these, on one machine.
    pub others: bool,
}

impl Study {
    /// Intervals that the cells of this study will give.
    pub fn intervals(&self) -> Intervals {
        let of = match (self.machines.len(), self.workloads.len(), self.repeats) {
            (2.., ..) => Some(Over::Machines),
            _ if self.factors.iter().any(|factor| factor.random) => Some(Over::RandomLevels),
            (_, _, 2..) => Some(Over::Repeats),
            (_, 2.., _) => Some(Over::Workloads),
            _ => None,
        };
        let one_machine = matches!(of, Some(Over::Repeats | Over::Workloads));
        Intervals { of, others: one_machine && self.workloads.len() >= OTHERS_MIN }
    }
}

impl Plan {
    /// Number of cells that run.
    pub fn cells(&self) -> usize {
        self.blocks.iter().map(|block| block.cells.len()).sum()
    }

    /// The results of a study of which nothing has run yet: every cell is pending, in the order of the plan.
    pub fn results(&self, study: &Study) -> Results {
        let cell = |block: &Block, planned: &Planned| Cell {
            key: planned.key.clone(),
            machine: block.machine,
            workload: block.workload,
            repeat: block.repeat,
            levels: planned.levels.clone(),
            role: planned.role,
            state: State::Pending,
            attempt: 0,
            value: None,
            spread: None,
            samples: None,
            seconds: None,
            provenance: BTreeMap::new(),
        };
        let factor = |factor: &crate::file::Factor| Factor {
            name: factor.name.clone(),
            levels: factor.levels.iter().map(|level| level.name.clone()).collect(),
            numbers: factor.numbers.clone(),
            random: factor.random,
        };
        let workload =
            |workload: &crate::file::Workload| Workload { name: workload.name.clone(), axes: workload.axes.clone() };
        let machine = |machine: &crate::file::Machine| Machine {
            name: machine.name.clone(),
            facts: Value::Null,
            disturbances: Vec::new(),
        };
        Results {
            title: study.title.clone(),
            metric: study.metric.clone(),
            factors: study.factors.iter().map(factor).collect(),
            workloads: study.workloads.iter().map(workload).collect(),
            machines: study.machines.iter().map(machine).collect(),
            cells: self.blocks.iter().flat_map(|block| block.cells.iter().map(move |each| cell(block, each))).collect(),
            seed: study.seed,
            random: Vec::new(),
        }
    }
}

/// A study, its plan, and how long it will take, where that is known.
#[derive(Debug)]
pub struct StudyPlan {
    /// The study.
    pub study: Study,
    /// What will run.
    pub plan: Plan,
    /// Duration, from what the study states or from earlier cells.
    pub estimate: Option<Estimate>,
}

#[cfg(test)]
mod tests;
