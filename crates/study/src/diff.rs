//! The same study twice: what changed, for each configuration and for each effect.

use prony_stats::effects::{self, COMPARISONS_MAX, Design, Factor, Interaction, Observation, Size};
use prony_stats::judge::Verdict;
use prony_stats::multiplicity::holm_adjusted;

use crate::join::{JoinError, Joined};
use crate::results::Results;

/// What changed between two studies. Sizes are log speed-ups of the new one: above 0 where it is better.
#[derive(Debug, Clone, PartialEq)]
pub struct Diff {
    /// Of all configurations together.
    pub whole: Size,
    /// The verdict on it.
    pub verdict: Verdict,
    /// Of each configuration that both have.
    pub configurations: Vec<Change>,
    /// Of each effect: how much more it is in the new study, as the logarithm of a ratio of speed-ups.
    pub effects: Vec<EffectChange>,
    /// What only one of them has, a phrase each.
    pub left_out: Vec<String>,
}

/// A configuration, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Factor and level.
    pub levels: Vec<(String, String)>,
    /// Log speed-up.
    pub size: Size,
    /// Of the new study.
    pub verdict: Verdict,
}

/// An effect, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectChange {
    /// The factor.
    pub factor: String,
    /// From this level.
    pub from: String,
    /// To this one.
    pub to: String,
    /// Logarithm of the ratio of its speed-ups.
    pub size: Size,
    /// `Faster`: it gains more than it did.
    pub verdict: Verdict,
}

/// Compares the studies.
///
/// `alpha`: chance to claim any change of a configuration, or any of an effect, where there is none: beyond ten of a kind
/// by Holm's steps, else each by itself. `margin`: smaller changes count as none, a log ratio.
///
/// Cells of the two were not run in one block: what the machine did between them is in each change.
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
            Some(size) => configurations.push(Change { levels: described, size, verdict: Verdict::Unclear }),
            None => left_out.push(phrase(&described, &observations)),
        }
    }
    let all: Vec<&Observation> = joined.design.observations.iter().collect();
    let Some(mut whole) = whole(&joined, &all, alpha) else { return Err(JoinError::NothingInCommon { study: 1 }) };
    let found = effects::effects(&joined.design, alpha);
    let of_study = found.interactions.into_iter().filter(|interaction| interaction.with == 0);
    let mut effects: Vec<EffectChange> = of_study.map(|interaction| effect_change(&joined, interaction)).collect();
    judge(configurations.iter_mut().map(|change| (&mut change.size, &mut change.verdict)).collect(), alpha, margin);
    judge(effects.iter_mut().map(|change| (&mut change.size, &mut change.verdict)).collect(), alpha, margin);
    let mut verdict = Verdict::Unclear;
    judge(vec![(&mut whole, &mut verdict)], alpha, margin);
    Ok(Diff { whole, verdict, configurations, effects, left_out })
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

fn effect_change(joined: &Joined, interaction: Interaction) -> EffectChange {
    let factor = &joined.design.factors[interaction.factor];
    EffectChange {
        factor: factor.name.clone(),
        from: factor.levels[interaction.from].clone(),
        to: factor.levels[interaction.to].clone(),
        size: interaction.size,
        verdict: Verdict::Unclear,
    }
}

/// Chances of all of a kind together, and from them the verdicts.
fn judge(mut changes: Vec<(&mut Size, &mut Verdict)>, alpha: f64, margin: f64) {
    let chances: Vec<f64> = changes.iter().map(|(size, _)| size.p.unwrap_or(1.0)).collect();
    let adjusted = holm_adjusted(&chances);
    let several = changes.len() > COMPARISONS_MAX;
    for ((size, verdict), adjusted) in changes.iter_mut().zip(adjusted) {
        size.p_holm = size.p.filter(|_| several).map(|_| adjusted);
        **verdict = match size.interval.estimate > 0.0 {
            // First, as cells of two studies always differ by a little: nothing held the machine still in between.
            _ if size.interval.lies_within(margin) => Verdict::Same,
            _ if !size.is_found(alpha) => Verdict::Unclear,
            true => Verdict::Faster,
            false => Verdict::Slower,
        };
    }
}

/// Why a configuration is not compared.
fn phrase(levels: &[(String, String)], observations: &[&Observation]) -> String {
    let name = levels.iter().map(|(factor, level)| format!("{factor}={level}")).collect::<Vec<_>>().join(" ");
    let has = |study: usize| observations.iter().any(|one| one.levels[0] == study);
    match (has(0), has(1)) {
        (true, false) => format!("`{name}`: the new study has no values of it"),
        (false, _) => format!("`{name}`: the old study has no values of it"),
        (true, true) => format!("`{name}`: no machine and workload in common"),
    }
}

#[cfg(test)]
pub(crate) mod tests;
