//! Which pairs tell most: those during which the machine was fast.
//!
//! Other work on the machine makes runs slower and their ratio noisier. How slow both runs of a pair were together says
//! nothing of which one was slower: under "no difference" the signs stay even however pairs are chosen by their level and
//! the sizes of their ratios, so the tests stay exact. (A choice by the signs, or by only one of the runs,
//! as in minimum-of-k, would not be.) On recorded runs beside bursts of other work this halves the pairs needed.

use super::Ratio;

/// Fewer pairs say too little of where the noise is.
const PAIRS_MIN: usize = 24;
/// Leaving pairs out must promise more information than luck does: by so many standard errors of ln σ², √(2.5/n).
const ERRORS_MIN: f64 = 1.5;
/// The largest tenth of the sizes tells nothing of the rest.
const SIZES_KEPT: f64 = 0.9;
/// Shares of the pairs that may be kept.
const SHARES: [f64; 7] = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3];

/// Places of the pairs to judge, ascending: the share with the lowest levels that has most information, n / σ².
pub(super) fn quietest(ratios: &[Ratio]) -> Vec<usize> {
    let n = ratios.len();
    let mut by_level: Vec<usize> = (0..n).collect();
    by_level.sort_by(|&a, &b| ratios[a].level.total_cmp(&ratios[b].level));
    let information = |kept: usize| {
        let mut sizes: Vec<f64> = by_level[..kept].iter().map(|&place| ratios[place].log.powi(2)).collect();
        let middle = ((SIZES_KEPT * kept as f64) as usize).clamp(1, kept);
        sizes.select_nth_unstable_by(middle - 1, f64::total_cmp);
        kept as f64 * middle as f64 / sizes[..middle].iter().sum::<f64>()
    };
    let mut kept = n;
    if n > PAIRS_MIN {
        let all = information(n);
        let mut most = all;
        for share in SHARES {
            let fewer = ((share * n as f64).ceil() as usize).max(PAIRS_MIN);
            let found = information(fewer);
            // Ratios that are all 0 have no end of information, and nothing is gained.
            let luck = (ERRORS_MIN * (2.5 / fewer as f64).sqrt()).exp();
            if found.is_finite() && found > most && found > all * luck {
                (kept, most) = (fewer, found);
            }
        }
    }
    let mut places = by_level;
    places.truncate(kept);
    places.sort_unstable();
    places
}
