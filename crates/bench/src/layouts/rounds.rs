//! Rounds of both sides in all layouts: their order, the times of whole ones, and when there are enough.

use prony_stats::Seed;
use prony_stats::judge::Plan;

use super::Event;
use super::estimate::{RUNS_SHARE_MAX, Times, spreads};
use crate::options::RoundLimits;

/// Rounds after which the spread between layouts is known well enough for a plan.
const ROUNDS_OF_PLAN: usize = 3;
/// Share of the margin that is precise enough: then the interval around a difference of 0 lies within the margin.
const DETECTABLE_SHARE: f64 = 0.5;
/// Rounds before an end: the median of fewer runs has no interval at 5 %.
const ROUNDS_MIN: usize = 6;

/// Runs a round of each side as built: it is compared with all layouts, and √N times as many runs of it make that comparison as
/// precise as the time allows (Dunnett 1955, section 4).
pub fn runs_as_built(layouts: usize) -> usize {
    ((layouts as f64).sqrt().round() as usize).max(1)
}

/// Layouts of a round, 0 as built, in random order.
pub fn order(layouts: usize, seed: &mut Seed) -> Vec<usize> {
    let mut order: Vec<usize> = (0..=layouts).collect();
    order.resize(layouts + runs_as_built(layouts), 0);
    for last in (1..order.len()).rev() {
        order.swap(last, seed.below(last + 1));
    }
    order
}

/// Place of a side in a layout among all of them: those of A come first.
pub fn subject(side: usize, layout: usize, layouts: usize) -> usize {
    side * (layouts + 1) + layout
}

/// Times of whole rounds. `runs`: of each [`subject`], in the order of runs.
pub fn times_of<T>(runs: &[Vec<T>], layouts: usize, rounds: usize, time: impl Fn(&T) -> f64) -> Times {
    [0, 1].map(|side| {
        let of_side = runs.iter().skip(subject(side, 0, layouts)).take(layouts + 1);
        let of_layout = |(layout, runs): (usize, &Vec<T>)| {
            let a_round = if layout == 0 { runs_as_built(layouts) } else { 1 };
            runs.iter().take(rounds * a_round).map(&time).collect()
        };
        of_side.enumerate().map(of_layout).collect()
    })
}

/// After a round: announces it, and the plan when it is known. True if it was the last one. `times`: of all rounds.
pub fn is_last(
    rounds: usize,
    elapsed_s: f64,
    times: &Times,
    (plan, limits): (&Plan, &RoundLimits),
    events: &mut dyn FnMut(Event),
) -> bool {
    events(Event::Round { done: rounds, elapsed_s });
    let found = spreads(times, plan.alpha);
    if let (ROUNDS_OF_PLAN, Some(found)) = (rounds, found) {
        events(Event::Planned(found));
    }
    // What the runs add to the spread decides, never the difference itself: such an end favours no verdict.
    let is_quiet = found
        .is_some_and(|found| found.of_runs <= RUNS_SHARE_MAX || found.detectable <= DETECTABLE_SHARE * plan.margin);
    let is_over = match limits.exactly {
        Some(exactly) => rounds >= exactly,
        None if rounds < ROUNDS_MIN.max(limits.min) => false,
        None => is_quiet || elapsed_s >= plan.budget_s,
    };
    is_over || limits.most().is_some_and(|most| rounds >= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_each_layout_once_and_more_runs_as_built() {
        let mut drawn = order(9, &mut Seed::new(3));
        assert_eq!(drawn, order(9, &mut Seed::new(3)), "equal seed, equal order");
        assert_ne!(drawn, order(9, &mut Seed::new(4)));
        drawn.sort_unstable();
        assert_eq!(drawn, [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn times_are_those_of_whole_rounds() {
        // Four layouts: as built, twice a round. The second round was interrupted.
        let runs: Vec<Vec<f64>> =
            (0..10).map(|subject| vec![f64::from(subject); if subject % 5 == 0 { 3 } else { 1 }]).collect();
        let [a, b] = times_of(&runs, 4, 1, |time| *time);
        assert_eq!(a, [vec![0.0; 2], vec![1.0], vec![2.0], vec![3.0], vec![4.0]]);
        assert_eq!(b, [vec![5.0; 2], vec![6.0], vec![7.0], vec![8.0], vec![9.0]]);
    }

    #[test]
    fn rounds_end_with_the_time_but_not_before_an_interval_is_possible() {
        let plan = Plan { alpha: 0.05, margin: 0.01, budget_s: 5.0, metric: None, tolerates: false };
        let nothing: Times = [Vec::new(), Vec::new()];
        let mut announced = Vec::new();
        let mut last = |rounds, elapsed_s, limits: &RoundLimits| {
            is_last(rounds, elapsed_s, &nothing, (&plan, limits), &mut |event| {
                if let Event::Round { done, .. } = event {
                    announced.push(done);
                }
            })
        };
        let free = RoundLimits::default();
        assert!(!last(5, 60.0, &free) && !last(6, 4.0, &free) && last(6, 5.0, &free));
        assert!(last(2, 0.0, &RoundLimits::exactly(2)) && !last(9, 60.0, &RoundLimits::exactly(10)));
        assert_eq!(announced, [5, 6, 6, 2, 9]);
    }
}
