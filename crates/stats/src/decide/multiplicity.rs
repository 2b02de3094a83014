//! Several questions at once, without more errors in all.

use crate::decide::judge::{Judge, Outcome};
use crate::verdict::Verdict;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::noise::uniform;

    #[test]
    fn adjusted_p_values_are_those_of_r() {
        // R 4.3: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") is 0.03 0.06 0.06 0.02.
        let adjusted = holm_adjusted(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm_adjusted(&[0.5, 0.9, 0.4]), [1.0, 1.0, 1.0]);
        assert_eq!(holm_adjusted(&[0.25]), [0.25]);
        assert_eq!(holm_adjusted(&[0.125, 0.125]), [0.25, 0.25]);
        assert!(holm_adjusted(&[]).is_empty());
    }

    #[test]
    fn a_family_errs_as_seldom_as_one_question_and_misses_less_than_bonferroni() {
        // Four questions without a difference beside two with one.
        const FAMILIES: usize = 20_000;
        let mut seed = Seed::new(11);
        let (mut wrong, mut holm, mut bonferroni) = (0, 0, 0);
        for _ in 0..FAMILIES {
            let p_values: Vec<f64> =
                (0..6).map(|at| if at < 2 { 0.04 * uniform(&mut seed).powi(2) } else { uniform(&mut seed) }).collect();
            let adjusted = holm_adjusted(&p_values);
            wrong += usize::from(adjusted[2..].iter().any(|&p| p <= 0.05));
            holm += adjusted[..2].iter().filter(|&&p| p <= 0.05).count();
            bonferroni += p_values[..2].iter().filter(|&&p| 6.0 * p <= 0.05).count();
        }
        // 3.1 standard errors: once in a thousand.
        let bound = 0.05 + 3.1 * (0.05 * 0.95 / FAMILIES as f64).sqrt();
        assert!(wrong as f64 <= bound * FAMILIES as f64, "{wrong} of {FAMILIES}");
        assert!(holm > bonferroni, "{holm} {bonferroni}");
    }
}
