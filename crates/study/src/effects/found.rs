//! All that is found in the results of a study.

use prony_stats::effects::{self, Alias, Effect, Effects, Size, Term};

use super::{controls, design, whole};
use crate::results::{Cell, Results, Role, State};

/// A study and its effects.
#[derive(Debug)]
pub struct Found {
    /// The results that the effects are estimated from.
    pub results: Results,
    /// Error probability of each interval.
    pub alpha: f64,
    /// Effects of levels, interactions, and what cannot be distinguished.
    pub effects: Effects,
    /// Every factor at its last level against every factor at its first.
    pub whole: Option<Effect>,
    /// Difference that comparisons find where there is none.
    pub controls: Option<Size>,
}

impl Found {
    /// Effects of a study; `None` without cells that have a value.
    pub fn of(results: Results, alpha: f64) -> Option<Found> {
        let design = design(&results);
        (!design.observations.is_empty()).then(|| Found {
            alpha,
            effects: effects::effects(&design, alpha),
            whole: whole(&results, alpha),
            controls: controls(&results, alpha),
            results,
        })
    }

    /// Cells that count, and those of them that have a value.
    pub fn cells(&self) -> (usize, usize) {
        let measured = self.results.cells.iter().filter(|cell| cell.role == Role::Measured);
        let done = |cell: &&Cell| cell.state == State::Done;
        (measured.clone().count(), measured.filter(done).count())
    }

    /// Name of a level.
    pub fn level(&self, factor: usize, level: usize) -> &str {
        &self.results.factors[factor].levels[level]
    }

    /// Main effects that other terms hide.
    pub fn hidden(&self) -> impl Iterator<Item = &Alias> {
        self.effects.aliases.iter().filter(|alias| matches!(alias.term, Term::Main { .. }))
    }

    /// True if there is an effect without an interval.
    pub fn is_incomplete(&self) -> bool {
        self.effects.effects.iter().any(|effect| effect.size.p.is_none())
    }
}
