//! Several questions at once, without more errors in all.

use crate::judge::{Judge, Outcome, Verdict};

/// Outcomes of several judges of which all differences together err with probability `alpha` at most.
///
/// Each judge must have run with α/m, m the number of judges, so that it stops on what stands by itself. Then Holm's
/// (1979) steps: with k differences found the rest may be judged at α/(m − k), until none is found. Intervals are those of
/// the level at which each was decided. `elapsed_s` is when the last look was.
pub fn holm(judges: &[Judge], alpha: f64, elapsed_s: f64) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    let mut found = 0;
    loop {
        let level = alpha / (judges.len() - found).max(1) as f64;
        let differs = |outcome: &Outcome| matches!(outcome.verdict, Verdict::Faster | Verdict::Slower);
        outcomes = judges
            .iter()
            .enumerate()
            .map(|(at, judge)| match outcomes.get(at) {
                Some(outcome) if differs(outcome) => outcome.clone(),
                _ => judge.reconsider(level, elapsed_s),
            })
            .collect();
        let now = outcomes.iter().filter(|outcome| differs(outcome)).count();
        if now == found || now == judges.len() {
            return outcomes;
        }
        found = now;
    }
}

/// The p values adjusted by Holm's steps, in the order given: those at most α are found at family error α (Holm 1979).
pub fn holm_adjusted(p_values: &[f64]) -> Vec<f64> {
    let order = ascending(p_values);
    let mut adjusted = vec![1.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (rank, &at) in order.iter().enumerate() {
        largest = largest.max(p_values[at] * (p_values.len() - rank) as f64).min(1.0);
        adjusted[at] = largest;
    }
    adjusted
}

fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    order
}
