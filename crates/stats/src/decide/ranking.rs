//! Which of several is the fastest, and how far the others are from it: multiple comparisons with the best.
//!
//! Who is fastest is not known before, so the ratios to the one that *looks* fastest would be too good for it and too bad
//! for all others. Here nothing rests on that choice. Let b be the one that truly is the fastest. If the intervals of all
//! ln(i/b) hold, which is m − 1 statements for m candidates and costs each of them α/(m − 1), then
//!
//! * b is among the candidates that no other is shown to be faster than, and
//! * ln(i/b) lies in the union, over these candidates j, of the intervals of ln(i/j).
//!
//! Both can be computed without knowing b, and hold together with probability 1 − α. These are the constrained intervals
//! of Hsu (1984, Annals of Statistics 12, 1136), with intervals of each pair in place of a common variance. Intervals of
//! pairs that hold at all looks together may be of different looks, so a candidate may be left out of further rounds
//! for whatever reason.

use serde::Serialize;

use crate::interval::Interval;

/// What is known of a candidate in relation to the fastest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// All others are shown to be slower than some other one, so this is the fastest.
    Fastest,
    /// It may be the fastest; if not, it is within the margin of it.
    Same,
    /// It is slower than the fastest.
    Slower,
    /// It may be the fastest, or slower by more than the margin.
    Unclear,
}

/// Rank of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rank {
    /// Index of the candidate, from 0.
    pub candidate: usize,
    /// Log ratio to the fastest, never below 0.
    pub ratio: Interval,
    /// Relation to the fastest.
    pub standing: Standing,
}

/// Ranks candidates, the fastest first.
///
/// `between(a, b)`: interval of ln(b/a), of which all with one of the two in common hold with probability 1 − α
/// together, as m − 1 intervals of level α/(m − 1) do. The intervals of all places then hold together with 1 − α.
/// `margin`: smaller log ratios count as none.
pub fn rank(candidates: usize, margin: f64, between: impl Fn(usize, usize) -> Interval) -> Vec<Rank> {
    let others = |one: usize| (0..candidates).filter(move |&other| other != one);
    let unbeaten = |&one: &usize| others(one).all(|other| between(one, other).high >= 0.0);
    let mut best: Vec<usize> = (0..candidates).filter(unbeaten).collect();
    if best.is_empty() {
        // Intervals that contradict each other: at least one of them does not hold.
        best = (0..candidates).collect();
    }
    let faster_than = |one: usize| others(one).filter(|&other| between(one, other).estimate < 0.0).count();
    let Some(&lead) = best.iter().min_by_key(|&&one| faster_than(one)) else { return Vec::new() };
    let mut places: Vec<Rank> = (0..candidates)
        .map(|candidate| {
            let ratio = to_best(&best, lead, candidate, &between);
            let standing = match ratio {
                _ if best == [candidate] => Standing::Fastest,
                ratio if ratio.low > 0.0 => Standing::Slower,
                ratio if ratio.high < margin => Standing::Same,
                _ => Standing::Unclear,
            };
            Rank { candidate, ratio, standing }
        })
        .collect();
    let known = |place: &Rank| if place.ratio.estimate.is_nan() { f64::INFINITY } else { place.ratio.estimate };
    // The one that leads comes first also beside others of an estimate of 0.
    places.sort_by(|a, b| known(a).total_cmp(&known(b)).then((a.candidate != lead).cmp(&(b.candidate != lead))));
    places
}

/// Union of the intervals of ln(candidate/j) over the possible fastest j.
fn to_best(best: &[usize], lead: usize, candidate: usize, between: &impl Fn(usize, usize) -> Interval) -> Interval {
    let own = Interval { estimate: 0.0, low: 0.0, high: 0.0, confidence: 0.0, n: 0 };
    let of = |one: usize| if one == candidate { own } else { between(one, candidate) };
    let (low, high) = best.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &one| {
        let interval = of(one);
        (low.min(interval.low), high.max(interval.high))
    });
    let lead = of(lead);
    // No candidate is faster than the fastest.
    Interval { estimate: lead.estimate.max(0.0), low: low.max(0.0), high: high.max(0.0), ..lead }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::describe::distribution::normal_quantile_above;
    use crate::noise::normal;

    fn interval(estimate: f64, half: f64) -> Interval {
        Interval { estimate, low: estimate - half, high: estimate + half, confidence: 0.95, n: 20 }
    }

    /// Places from measured logarithms, each pair known to `half`.
    fn ranked(logs: &[f64], half: f64, margin: f64) -> Vec<Rank> {
        rank(logs.len(), margin, |a, b| interval(logs[b] - logs[a], half))
    }

    #[test]
    fn the_fastest_is_known_where_all_others_are_slower() {
        let places = ranked(&[0.5, 0.0, 0.2], 0.05, 0.01);
        let order: Vec<(usize, Standing)> = places.iter().map(|place| (place.candidate, place.standing)).collect();
        assert_eq!(order, [(1, Standing::Fastest), (2, Standing::Slower), (0, Standing::Slower)]);
        assert_eq!((places[0].ratio.estimate, places[0].ratio.low, places[0].ratio.high), (0.0, 0.0, 0.0));
        assert!((places[2].ratio.low - 0.45).abs() < 1e-12 && (places[2].ratio.high - 0.55).abs() < 1e-12);
    }

    #[test]
    fn no_candidate_is_the_fastest_where_two_may_be() {
        let places = ranked(&[0.0, 0.01, 0.2], 0.05, 0.01);
        assert_eq!(places[0].standing, Standing::Unclear);
        assert_eq!(places[1].standing, Standing::Unclear);
        assert_eq!(places[2].standing, Standing::Slower);
        // Slower than either of the two, by what is left between the nearer and the farther.
        assert!((places[2].ratio.low - 0.14).abs() < 1e-12 && (places[2].ratio.high - 0.25).abs() < 1e-12);
        let within = ranked(&[0.0, 0.001, 0.2], 0.004, 0.01);
        assert_eq!([within[0].standing, within[1].standing], [Standing::Same; 2]);
    }

    #[test]
    fn without_values_nothing_is_known_and_contradictions_are_borne() {
        let unknown =
            Interval { estimate: f64::NAN, low: f64::NEG_INFINITY, high: f64::INFINITY, confidence: 0.0, n: 0 };
        let places = rank(3, 0.01, |_, _| unknown);
        assert!(places.iter().all(|place| place.standing == Standing::Unclear && place.ratio.low == 0.0), "{places:?}");
        assert!(rank(0, 0.01, |_, _| unknown).is_empty());
        // 0 is shown faster than 1, 1 than 2, and 2 than 0.
        let places = rank(3, 0.01, |a, b| interval(if (a + 1) % 3 == b { 0.1 } else { -0.1 }, 0.05));
        assert_eq!(places.len(), 3);
    }

    #[test]
    fn all_statements_of_a_ranking_hold_together_as_often_as_stated() {
        const RANKINGS: usize = 4000;
        let alpha = 0.05;
        let mut seed = Seed::new(19);
        // Several that are the best at once, one that is near to them, and some that are clearly worse.
        for truth in [&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0][..], &[0.0, 0.0, 0.8, 3.0, 9.0], &[0.0, 1.5], &[0.0, 0.0]] {
            let half = normal_quantile_above(alpha / (truth.len() - 1) as f64 / 2.0) * 2f64.sqrt();
            let wrong = (0..RANKINGS).filter(|_| {
                let logs: Vec<f64> = truth.iter().map(|log| log + normal(&mut seed)).collect();
                ranked(&logs, half, 0.5).iter().any(|place| {
                    let truth = truth[place.candidate];
                    let by_standing = match place.standing {
                        Standing::Fastest => truth > 0.0,
                        Standing::Slower => truth == 0.0,
                        Standing::Same => truth >= 0.5,
                        Standing::Unclear => false,
                    };
                    by_standing || !(place.ratio.low..=place.ratio.high).contains(&truth)
                })
            });
            let wrong = wrong.count() as f64 / RANKINGS as f64;
            // Three standard errors of 5 % in this many rankings.
            assert!(wrong <= alpha + 3.0 * (alpha * (1.0 - alpha) / RANKINGS as f64).sqrt(), "{truth:?}: {wrong}");
        }
    }
}
