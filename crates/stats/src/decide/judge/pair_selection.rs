//! Selection of the most informative pairs: those during which the machine was fast, judged by the pairs around them.
//!
//! Other work on the machine comes in bursts of many runs; it makes runs slower and their ratio noisier. Each pair is
//! ranked by the middle level of its neighbours in time, two on each side, never by its own; how many of the ranks are
//! judged follows from how far levels scatter around those of their neighbours. Ratios play no part in either.
//!
//! **The tests stay exact.** Under "no difference" a pair is two times and a toss of a coin for which of them is A's.
//! Hold the two times of every pair fixed: the levels, mean of both logs, are the same however the coins fall, and so is
//! the choice, which is made of levels alone; so are the sizes of the log ratios. What is left are their signs, one fair
//! coin for each pair chosen, which is all that signed ranks and signs rest on. As it holds for any times, it holds
//! however noise hangs together from run to run. Making B slower by a factor moves all levels alike and
//! changes no choice, so the same holds at the true ratio, and the intervals are those of the tests.
//!
//! **Noise of B's own moves no estimate.** Where A is steady and B is not, a slow B raises the level of its own pair.
//! A choice by that level takes B's fast runs: with B evenly within ±1 % around +1 % it found +0.3 % in 400 pairs. The
//! neighbours' levels know nothing of the pair's own luck, so its ratio, given that it is judged, is spread as ever.
//! (Its own level does say whether its neighbours are judged, and is one of all that say how many; neither leans to a side.)
//!
//! Tried in simulation beside bursts, 400 comparisons each of +0.5 % in 8 s: all pairs judged, 87 % found; by the own
//! level, 93 %; so, 92 %. Scatter of the levels *of* the neighbours in place of that around them takes a few runs
//! far out for a reason to choose; that of the ratios around 0 takes B's runs near A's for quiet ones.

use super::Ratio;

/// Fewer pairs say too little of where the noise is.
const PAIRS_MIN: usize = 24;
/// Pairs on each side that tell of the one between: enough for a middle that one far out cannot move.
const NEIGHBOURS: usize = 2;
/// Leaving pairs out must promise more information than luck does: by this many standard errors of ln σ², √(2.5/n).
const ERRORS_MIN: f64 = 1.5;
/// The largest tenth of the scatter says nothing about the rest.
const SCATTER_KEPT: f64 = 0.9;
/// Shares of the pairs that may be kept.
const SHARES: [f64; 7] = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3];

/// Places of the pairs to judge, ascending: the share with the fastest neighbours that has most information, n / σ².
pub(super) fn select_pairs(ratios: &[Ratio]) -> Vec<usize> {
    let n = ratios.len();
    if n <= PAIRS_MIN {
        return (0..n).collect();
    }
    let around: Vec<f64> = (0..n).map(|place| level_around(ratios, place)).collect();
    let scatter = |place: usize| (ratios[place].level - around[place]).powi(2);
    let mut places: Vec<usize> = (0..n).collect();
    places.sort_by(|&a, &b| around[a].total_cmp(&around[b]));
    let information = |kept: usize| {
        let mut scatters: Vec<f64> = places[..kept].iter().map(|&place| scatter(place)).collect();
        let middle = ((SCATTER_KEPT * kept as f64) as usize).clamp(1, kept);
        scatters.select_nth_unstable_by(middle - 1, f64::total_cmp);
        kept as f64 * middle as f64 / scatters[..middle].iter().sum::<f64>()
    };
    let all = information(n);
    let (mut kept, mut most) = (n, all);
    for share in SHARES {
        let fewer = ((share * n as f64).ceil() as usize).max(PAIRS_MIN);
        let found = information(fewer);
        // Levels that are all the same have no end of information, and nothing is gained.
        let luck = (ERRORS_MIN * (2.5 / fewer as f64).sqrt()).exp();
        if found.is_finite() && found > most && found > all * luck {
            (kept, most) = (fewer, found);
        }
    }
    places.truncate(kept);
    places.sort_unstable();
    places
}

/// Median level of the neighbours of a pair, itself left out.
fn level_around(ratios: &[Ratio], place: usize) -> f64 {
    let mut levels = [0.0; 2 * NEIGHBOURS];
    let mut count = 0;
    let (from, to) = (place.saturating_sub(NEIGHBOURS), (place + NEIGHBOURS + 1).min(ratios.len()));
    for neighbour in (from..to).filter(|&neighbour| neighbour != place) {
        levels[count] = ratios[neighbour].level;
        count += 1;
    }
    let levels = &mut levels[..count];
    levels.sort_unstable_by(f64::total_cmp);
    0.5 * (levels[(count - 1) / 2] + levels[count / 2])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use crate::noise::{normal, uniform};

    /// 120 pairs of which those from 40 to 79 are slow and scattered.
    fn beside_a_burst(seed: u64) -> Vec<Ratio> {
        let mut seed = Seed::new(seed);
        let mut time = |place: usize| {
            let (slower, spread) = if (40..80).contains(&place) { (0.06, 0.04) } else { (0.0, 0.008) };
            0.02 * (slower + spread * normal(&mut seed)).exp()
        };
        (0..120).map(|place| Ratio::of(time(place), time(place))).collect()
    }

    #[test]
    fn pairs_inside_a_burst_are_left_out() {
        let mut judged = 0;
        for seed in 0..50 {
            let places = select_pairs(&beside_a_burst(seed));
            let inside = places.iter().filter(|place| (42..78).contains(*place)).count();
            assert!(inside <= 5, "{inside} of {places:?}");
            judged += places.len();
        }
        // 80 are quiet, of which luck takes some.
        assert!(judged >= 50 * 65, "{judged} in 50 comparisons");
    }

    #[test]
    fn the_choice_is_the_same_whichever_run_is_called_a_and_whatever_b_is_slower() {
        let mut seed = Seed::new(7);
        let ratios = beside_a_burst(1);
        let chosen = select_pairs(&ratios);
        let relabelled = |ratio: &Ratio| Ratio { log: if seed.coin() { -ratio.log } else { ratio.log }, ..*ratio };
        assert_eq!(select_pairs(&ratios.iter().map(relabelled).collect::<Vec<_>>()), chosen);
        let slower = |ratio: &Ratio| Ratio { log: ratio.log + 0.0625, level: ratio.level + 0.03125 };
        assert_eq!(select_pairs(&ratios.iter().map(slower).collect::<Vec<_>>()), chosen);
    }

    #[test]
    fn a_pair_is_not_ranked_by_its_own_level() {
        let mut ratios = beside_a_burst(2);
        let before: Vec<f64> = (0..ratios.len()).map(|place| level_around(&ratios, place)).collect();
        for place in 0..ratios.len() {
            ratios[place].level += uniform(&mut Seed::new(place as u64));
            assert_eq!(level_around(&ratios, place), before[place]);
            ratios = beside_a_burst(2);
        }
    }

    #[test]
    fn where_all_pairs_are_alike_all_are_judged() {
        assert_eq!(select_pairs(&[Ratio::of(0.02, 0.02); 100]).len(), 100);
        assert_eq!(select_pairs(&beside_a_burst(3)[..24]).len(), 24);
        assert!(select_pairs(&[]).is_empty());
    }
}
