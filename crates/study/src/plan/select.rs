//! Selection of the configurations that run on each workload and machine, and the reasons for leaving others out.

use std::collections::{BTreeSet, HashMap};

use super::PlanError;
use crate::design::Grid;
use crate::file::{Bound, MOST_CELLS, Study};

/// Cells that are left out for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Reason for leaving them out.
    pub reason: Reason,
    /// Number of values that are not measured: configuration × workload × machine × repeat.
    pub cells: usize,
}

/// Reason why cells are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The list `only` does not contain them.
    Only,
    /// `where` does not hold for them.
    Where,
    /// A `skip` of the study matches them.
    Skip {
        /// The filter as the study says it.
        filter: String,
        /// Reason for it, as the study states it.
        why: String,
    },
}

/// Configurations that run on each workload and machine.
pub(super) struct Selection {
    /// Kinds of blocks: the configurations they hold, ascending. None is empty.
    pub kinds: Vec<Vec<usize>>,
    /// The kind of each machine × workload, the workload fastest; `None` where nothing is left.
    pub of_pair: Vec<Option<usize>>,
    /// Configurations that some block holds.
    pub configurations: usize,
    /// Configurations that are left out, with their reasons.
    pub left_out: Vec<LeftOut>,
}

/// The place of a reason among those of a study.
const ONLY: usize = 0;
const WHERE: usize = 1;
const FIRST_SKIP: usize = 2;

impl Selection {
    /// # Errors
    /// [`PlanError::TooManyCells`] before every one of them is looked at.
    pub fn of(study: &Study, grid: &Grid) -> Result<Selection, PlanError> {
        let crossed: Vec<usize> = (0..grid.len()).filter(|&each| is_zipped(study, grid, each)).collect();
        let listed: Vec<usize> = crossed.iter().copied().filter(|&each| is_listed(study, grid, each)).collect();
        let pairs = study.machines.len() * study.workloads.len();
        let repeats = study.repeats as usize;
        let found = listed.len().saturating_mul(pairs);
        if found > MOST_CELLS {
            return Err(PlanError::TooManyCells { found });
        }
        let mut left_out = vec![0usize; FIRST_SKIP + study.skips.len()];
        left_out[ONLY] = (crossed.len() - listed.len()).saturating_mul(pairs);
        let mut kinds: Vec<Vec<usize>> = Vec::new();
        let mut known: HashMap<Vec<usize>, usize> = HashMap::new();
        let unfiltered = study.keep.is_none() && study.skips.is_empty();
        let of_pair = (0..pairs).map(|pair| {
            if unfiltered && pair > 0 {
                return (!listed.is_empty()).then_some(0);
            }
            let kept = listed.iter().copied().filter(|&each| match reason(study, grid, pair, each) {
                Some(reason) => {
                    left_out[reason] += 1;
                    false
                }
                None => true,
            });
            let kept: Vec<usize> = kept.collect();
            (!kept.is_empty()).then(|| {
                *known.entry(kept).or_insert_with_key(|kept| {
                    kinds.push(kept.clone());
                    kinds.len() - 1
                })
            })
        });
        let of_pair = of_pair.collect();
        let configurations = match kinds.as_slice() {
            [only] => only.len(),
            several => several.iter().flatten().collect::<BTreeSet<_>>().len(),
        };
        let reasons = [Reason::Only, Reason::Where].into_iter();
        let skips = study.skips.iter().map(|skip| Reason::Skip { filter: skip.text.clone(), why: skip.why.clone() });
        let counted = reasons.chain(skips).zip(left_out).enumerate();
        // A skip that meets nothing is reported too: it may be a mistake.
        let left_out = counted.filter(|(at, (_, cells))| *cells > 0 || *at >= FIRST_SKIP);
        let left_out = left_out.map(|(_, (reason, cells))| LeftOut { reason, cells: cells.saturating_mul(repeats) });
        Ok(Selection { kinds, of_pair, configurations, left_out: left_out.collect() })
    }

    /// True when at least one cell is to run, or there are too many to look; looks no further than the first.
    pub fn leaves_something(study: &Study) -> bool {
        let grid = Grid::of(study);
        let pairs = study.machines.len() * study.workloads.len();
        let listed = (0..grid.len()).filter(|&each| is_zipped(study, &grid, each) && is_listed(study, &grid, each));
        let pairs = listed.flat_map(|each| (0..pairs).map(move |pair| (each, pair)));
        pairs
            .enumerate()
            .any(|(looked, (each, pair))| looked == MOST_CELLS || reason(study, &grid, pair, each).is_none())
    }
}

fn is_zipped(study: &Study, grid: &Grid, configuration: usize) -> bool {
    let together = |zip: &[usize]| {
        zip.windows(2).all(|pair| grid.level(configuration, pair[0]) == grid.level(configuration, pair[1]))
    };
    study.zips.iter().all(|zip| together(zip))
}

fn is_listed(study: &Study, grid: &Grid, configuration: usize) -> bool {
    if study.only.is_empty() {
        return true;
    }
    let levels = grid.configuration(configuration);
    study.only.iter().any(|pattern| pattern.fits(&levels))
}

/// Index of the reason why a configuration is left out on a machine × workload, if it is.
fn reason(study: &Study, grid: &Grid, pair: usize, configuration: usize) -> Option<usize> {
    let (machine, workload) = (pair / study.workloads.len(), pair % study.workloads.len());
    let workload = &study.workloads[workload];
    let text = |text| Bound { text, number: number(text) };
    let bound = |name: &str| {
        if let Some(at) = study.factors.iter().position(|factor| factor.name == name) {
            return Some(text(study.factors[at].levels[grid.level(configuration, at)].name.as_str()));
        }
        match name {
            "workload" => Some(text(workload.name.as_str())),
            "machine" => Some(text(study.machines[machine].name.as_str())),
            axis => workload.axes.get(axis).map(|value| text(value.as_str())),
        }
    };
    if study.keep.as_ref().is_some_and(|keep| !keep.holds(&bound)) {
        return Some(WHERE);
    }
    study.skips.iter().position(|skip| skip.filter.holds(&bound)).map(|at| FIRST_SKIP + at)
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}
