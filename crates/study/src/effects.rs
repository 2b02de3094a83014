//! The results of a study as `prony_stats::effects` takes them.

mod found;

pub use found::Found;

use std::collections::BTreeSet;

use prony_stats::effects::{self, Design, Effect, Observation, Size};
use prony_stats::samples::Better;

use crate::results::{Cell, Direction, Results, Role, State};

/// Factors and log values of the cells that were measured and are done. Warm-ups and controls do not count.
pub fn design(results: &Results) -> Design {
    let of_factor = |factor: &crate::Factor| effects::Factor {
        name: factor.name.clone(),
        levels: factor.levels.clone(),
        sweep: factor.numbers.is_some(),
    };
    Design {
        factors: results.factors.iter().map(of_factor).collect(),
        observations: done(results, Role::Measured).map(|(cell, value)| observation(cell, value)).collect(),
        better: better(results),
        comparable_workloads: results.metric.normalise.is_some(),
        shared_repeats: !results.random.is_empty(),
    }
}

/// The control of each block against the measured cell of the same configuration, as a log speed-up: what a comparison
/// here finds where there is nothing. `None` without controls.
pub fn controls(results: &Results, alpha: f64) -> Option<Size> {
    let controls: Vec<Observation> = done(results, Role::Control)
        .map(|(cell, value)| Observation { levels: vec![1], ..observation(cell, value) })
        .collect();
    let block = |cell: &Cell| (cell.machine, cell.workload, cell.repeat, cell.levels.clone());
    let blocks: BTreeSet<_> = done(results, Role::Control).map(|(control, _)| block(control)).collect();
    let measured = done(results, Role::Measured).filter(|(cell, _)| blocks.contains(&block(cell)));
    let measured = measured.map(|(cell, value)| Observation { levels: vec![0], ..observation(cell, value) });
    let design = Design {
        factors: vec![effects::Factor {
            name: "role".to_owned(),
            levels: vec!["measured".to_owned(), "control".to_owned()],
            sweep: false,
        }],
        observations: measured.chain(controls.iter().cloned()).collect(),
        better: better(results),
        comparable_workloads: false,
        // Both are of one layout, whichever it is.
        shared_repeats: false,
    };
    effects::effects(&design, alpha).effects.into_iter().next().map(|effect| effect.size)
}

/// Every factor at its last level against every factor at its first: all of it together. `None` where one of the two has
/// no values, or there is nothing between them.
pub fn whole(results: &Results, alpha: f64) -> Option<Effect> {
    let first: Vec<usize> = vec![0; results.factors.len()];
    let last: Vec<usize> = results.factors.iter().map(|factor| factor.levels.len() - 1).collect();
    let mut design = design(results);
    design.observations.retain(|one| one.levels == first || one.levels == last);
    for one in &mut design.observations {
        one.levels = vec![usize::from(one.levels == last)];
    }
    let level = |name: &str| name.to_owned();
    design.factors =
        vec![effects::Factor { name: level("all"), levels: vec![level("first"), level("last")], sweep: false }];
    if first == last { None } else { effects::effects(&design, alpha).effects.into_iter().next() }
}

/// Cells of a role that have a value with a logarithm.
pub(crate) fn done(results: &Results, role: Role) -> impl Iterator<Item = (&Cell, f64)> {
    let of_role = results.cells.iter().filter(move |cell| cell.role == role && cell.state == State::Done);
    of_role.filter_map(|cell| Some((cell, cell.value.filter(|value| value.is_finite() && *value > 0.0)?)))
}

pub(crate) fn observation(cell: &Cell, value: f64) -> Observation {
    let Cell { machine, workload, repeat, .. } = *cell;
    Observation { machine, workload, repeat, levels: cell.levels.clone(), ln_value: value.ln() }
}

pub(crate) fn better(results: &Results) -> Better {
    match results.metric.direction {
        Direction::Lower => Better::Lower,
        Direction::Higher => Better::Higher,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::tests::study;

    #[test]
    fn only_measured_cells_that_are_done_count() {
        let mut results = study("a", |_, _, _| 1.0);
        let whole = design(&results).observations.len();
        results.cells[0].role = Role::WarmUp;
        results.cells[1].state = State::Pending;
        results.cells[2].value = None;
        assert_eq!(design(&results).observations.len(), whole - 3);
        assert_eq!(controls(&results, 0.05), None);
    }

    #[test]
    fn all_of_it_is_the_last_levels_against_the_first() {
        let results = study("a", |machine, level, _| (1.0 + machine as f64) / (1.0 + level as f64));
        let effect = whole(&results, 0.05).expect("both ends have values");
        assert!((effect.size.median - 2f64.ln()).abs() < 1e-12, "{effect:?}");
        let mut one_level = results;
        one_level.factors[0].levels.truncate(1);
        one_level.cells.retain(|cell| cell.levels == [0]);
        assert_eq!(whole(&one_level, 0.05), None);
    }

    #[test]
    fn controls_are_compared_with_the_cells_that_they_repeat() {
        let mut results = study("a", |machine, _, _| 1.0 + machine as f64);
        let controlled = |cell: &&Cell| cell.levels == [0];
        let mut controls: Vec<Cell> = results.cells.iter().filter(controlled).cloned().collect();
        for cell in &mut controls {
            cell.role = Role::Control;
            cell.value = cell.value.map(|value| value * 1.01);
        }
        results.cells.extend(controls);
        let size = super::controls(&results, 0.05).expect("there are controls");
        assert!((size.median + 1.01f64.ln()).abs() < 1e-12, "{size:?}");
    }
}
