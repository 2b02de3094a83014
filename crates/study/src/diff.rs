//! Differences between two runs of the same study, for each configuration and for each effect.

use std::collections::BTreeSet;

use prony_stats::Verdict;
use prony_stats::effects::{self, Design, Effect, Factor, Observation, Over, Size};
use prony_stats::multiplicity::holm_adjusted;

use crate::join::{JoinError, Joined};
use crate::results::Results;

/// Differences between two studies. Sizes are log speed-ups of the new one: above 0 where it is better.
#[derive(Debug, Clone, PartialEq)]
pub struct Diff {
    /// Change over all configurations together.
    pub whole: Size,
    /// Verdict on the change: faster, slower, same or unclear.
    pub verdict: Verdict,
    /// Change of each configuration that both studies have.
    pub configurations: Vec<Change>,
    /// Change of each effect: the logarithm of the ratio of its speed-ups, new over old.
    pub effects: Vec<EffectChange>,
    /// Configurations and effects that only one of them has, a phrase each.
    pub left_out: Vec<String>,
    /// Treatment of drift of the machine between the two studies.
    pub drift: Drift,
}

impl Diff {
    /// Verdicts that count. Effects have a say only where one gains less: one that is not known makes no known configuration
    /// doubtful.
    pub fn verdicts(&self) -> impl Iterator<Item = Verdict> {
        let worse = self.effects.iter().map(|change| change.verdict).filter(|&verdict| verdict == Verdict::Slower);
        self.configurations.iter().map(|change| change.verdict).chain([self.verdict]).chain(worse)
    }

    /// The worst of them; faster only where a configuration is.
    pub fn worst(&self) -> Verdict {
        let any = |verdict| self.verdicts().any(|one| one == verdict);
        match () {
            () if any(Verdict::Slower) => Verdict::Slower,
            () if any(Verdict::Unclear) => Verdict::Unclear,
            () if self.configurations.iter().any(|change| change.verdict == Verdict::Faster) => Verdict::Faster,
            () => Verdict::Same,
        }
    }
}

/// Treatment of drift of the machine between two studies that were not run at the same time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Drift {
    /// Drift of each machine is part of the spread between machines.
    Machines,
    /// Drift of the only machine: its runs differ as its blocks do, as [`Size::between_runs`] has it.
    Blocks {
        /// Standard deviation of the change of all configurations from block to block, a log ratio.
        deviation: f64,
    },
    /// Drift of the only machine is unknown without repeats: no change of a configuration is claimed.
    Unknown,
}

impl Drift {
    fn of(whole: &Size) -> Drift {
        match (whole.over, whole.one_repeat) {
            (Over::Machines, _) => Drift::Machines,
            (_, Some((deviation, _))) => Drift::Blocks { deviation },
            (_, None) => Drift::Unknown,
        }
    }
}

/// A configuration, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Name of each factor, with its level.
    pub levels: Vec<(String, String)>,
    /// Log speed-up of the new study over the old one.
    pub size: Size,
    /// Verdict on the new study, compared with the old one.
    pub verdict: Verdict,
}

/// An effect, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectChange {
    /// Factor of the effect, by its name.
    pub factor: String,
    /// Name of the level before the change.
    pub from: String,
    /// Name of the level after the change.
    pub to: String,
    /// Logarithm of the ratio of its speed-ups.
    pub size: Size,
    /// `Faster`: it gains more than it did.
    pub verdict: Verdict,
}

/// Compares two studies at significance level `alpha` with the equivalence margin `margin`, a log ratio.
///
/// `alpha`: chance to claim any change at all where there is none, of the whole, a configuration or an effect: Holm's steps
/// over all of them. `margin`: smaller changes count as none, a log ratio. A claim is of a change beyond the margin: what a run
/// keeps from its first block to its last, as the pages of memory that a build was given, is in no scatter that two runs
/// show, and where each cell is a process of its own it is small.
///
/// Cells of the two were not run in one block: what the machine did between them is part of each change of the whole
/// and of a configuration, see [`Size::between_runs`]. An effect is compared inside each study, in its blocks, which met
/// one mood of the machine; its change is free of that, and blocks tell its error.
///
/// # Errors
/// [`JoinError`] when they are not of one kind, or have no cells in common.
pub fn diff(old: &Results, new: &Results, alpha: f64, margin: f64) -> Result<Diff, JoinError> {
    let joined = Joined::of(&[old, new])?;
    let mut configurations = Vec::new();
    let mut left_out = Vec::new();
    for (levels, observations) in joined.configurations() {
        let described = joined.describe(levels);
        match change(&joined.design, &observations, alpha) {
            Some(size) => {
                let size = size.between_runs(alpha);
                configurations.push(Change { levels: described, size, verdict: Verdict::Unclear });
            }
            None => left_out.push(phrase(&described, &observations)),
        }
    }
    let all: Vec<&Observation> = joined.design.observations.iter().collect();
    let Some(whole) = whole(&joined, &all, alpha) else { return Err(JoinError::NothingInCommon { study: 1 }) };
    let (drift, mut whole) = (Drift::of(&whole), whole.between_runs(alpha));
    let mut effects = effect_changes(&joined, alpha);
    let mut verdict = Verdict::Unclear;
    let of_configurations = configurations.iter_mut().map(|change| (&mut change.size, &mut change.verdict));
    let of_effects = effects.iter_mut().map(|change| (&mut change.size, &mut change.verdict));
    let all = std::iter::once((&mut whole, &mut verdict)).chain(of_configurations).chain(of_effects);
    judge(all.collect(), alpha, margin);
    Ok(Diff { whole, verdict, configurations, effects, left_out, drift })
}

/// Old to new on the machines and workloads that both have.
fn change(design: &Design, observations: &[&Observation], alpha: f64) -> Option<Size> {
    let of_study = |one: &&Observation| Observation { levels: vec![one.levels[0]], ..(*one).clone() };
    only_effect(design, observations.iter().map(of_study).collect(), design.factors[..1].to_vec(), alpha)
}

/// The effect of the study over every configuration.
fn whole(joined: &Joined, observations: &[&Observation], alpha: f64) -> Option<Size> {
    let all = observations.iter().map(|&one| one.clone()).collect();
    only_effect(&joined.design, all, joined.design.factors.clone(), alpha)
}

fn only_effect(design: &Design, observations: Vec<Observation>, factors: Vec<Factor>, alpha: f64) -> Option<Size> {
    let design = Design { factors, observations, ..design.clone() };
    let of_study = effects::effects(&design, alpha).effects.into_iter().find(|effect| effect.factor == 0)?;
    let mut size = of_study.size;
    // That of one question by itself, whatever else was computed beside it.
    size.p_holm = None;
    Some(size)
}

/// Each effect of the new study against that of the old, by the cells that both have.
fn effect_changes(joined: &Joined, alpha: f64) -> Vec<EffectChange> {
    let cell = |one: &Observation| (one.machine, one.workload, one.levels[1..].to_vec());
    let cells = |study: usize| -> BTreeSet<_> {
        joined.design.observations.iter().filter(|one| one.levels[0] == study).map(cell).collect()
    };
    let of_both: BTreeSet<_> = cells(0).intersection(&cells(1)).cloned().collect();
    let factors = &joined.design.factors[1..];
    let of_study = |study: usize| {
        let own =
            joined.design.observations.iter().filter(|one| one.levels[0] == study && of_both.contains(&cell(one)));
        let observations = own.map(|one| Observation { levels: one.levels[1..].to_vec(), ..one.clone() }).collect();
        effects::effects(&Design { factors: factors.to_vec(), observations, ..joined.design.clone() }, alpha).effects
    };
    let old = of_study(0);
    let change = |new: Effect| {
        let like =
            |old: &&Effect| (old.factor, old.from, old.to, old.method) == (new.factor, new.from, new.to, new.method);
        let factor = &factors[new.factor];
        Some(EffectChange {
            factor: factor.name.clone(),
            from: factor.levels[new.from].clone(),
            to: factor.levels[new.to].clone(),
            size: new.size.more_than(&old.iter().find(like)?.size, alpha)?,
            verdict: Verdict::Unclear,
        })
    };
    of_study(1).into_iter().filter_map(change).collect()
}

/// Chances of all claims together, and from them the verdicts.
fn judge(mut changes: Vec<(&mut Size, &mut Verdict)>, alpha: f64, margin: f64) {
    // A change without a p-value of its own still counts as a test.
    let chances: Vec<f64> = changes.iter().map(|(size, _)| size.chance_beyond(margin).unwrap_or(1.0)).collect();
    for ((size, verdict), adjusted) in changes.iter_mut().zip(holm_adjusted(&chances)) {
        size.p_holm = size.p.map(|_| adjusted);
        **verdict = match size.interval.estimate > 0.0 {
            _ if size.interval.lies_within(margin) => Verdict::Same,
            _ if !size.is_found(alpha) => Verdict::Unclear,
            true => Verdict::Faster,
            false => Verdict::Slower,
        };
    }
}

/// Phrase that says why a configuration is not compared.
fn phrase(levels: &[(String, String)], observations: &[&Observation]) -> String {
    let name = levels.iter().map(|(factor, level)| format!("{factor}={level}")).collect::<Vec<_>>().join(" ");
    let has = |study: usize| observations.iter().any(|one| one.levels[0] == study);
    match (has(0), has(1)) {
        (true, false) => format!("`{name}`: no values in the new study"),
        (false, _) => format!("`{name}`: no values in the old study"),
        (true, true) => format!("`{name}`: no machine and workload in common"),
    }
}

#[cfg(test)]
pub(crate) mod tests;
