//! Selection of the segments of each pair of replays that ran while the machine was fast.
//!
//! A replay takes tenths of a second, disturbances of a shared machine come and go in milliseconds: a core that is
//! shared with a busy sibling computes at half its speed for some frames and at full speed for the next. Most replays are
//! hit somewhere, hardly any all the way. As frame i did the same work in all, frames can be judged where both
//! replays of a pair were undisturbed, and left out where one was not.
//!
//! Of each segment of frames, this many pairs are kept, those with the least disturbance; every segment with as many, so each
//! counts for what it takes. How disturbed a segment is follows from its neighbours, above the level of the pair as a
//! whole, and by its own times only where they are far above the best. So what a build scatters by itself, from frame
//! to frame or from process to process (where its memory came to lie), is kept as it comes up to some per cent;
//! a choice by the own time alone would keep the fast runs of the build that scatters more. What is farther out
//! is taken for the machine: a replay computes the same from the same bytes, clock and random numbers among them.
//!
//! **Signs stay free.** The choice is made from a·b of each segment and pair, which is the same whichever is
//! A, and a B slower by a factor moves all of them alike. Given the choice, under "no difference" the totals of a pair
//! change places by a toss of a coin.

use crate::describe::quantile::{median, quantile_of_sorted, sorted};
use crate::infer::sign_flips::Pair;

/// Shorter segments are a few ticks of the clock: frames are put together up to so much.
const SEGMENT_S: f64 = 50e-6;
/// Segments on each side that tell of the one between. On replays of 400 frames of 0.1 ms beside compilers, two or
/// three made the error up to twice as large: they see disturbances that are over.
const NEIGHBOURS: usize = 1;
/// Of its own, a segment may be so much above its pair, as log of a·b: what builds scatter by themselves is less.
/// Without this limit the error was three to ten times as large there, with a half of it or twice it about the same.
const OWN_SCATTER: f64 = 0.1;
/// With fewer segments there are too few neighbours.
const SEGMENTS_MIN: usize = 8;
/// Tolerance for undisturbed segments above the minimum of the pairs, because the minimum itself is partly luck.
const UNDISTURBED: f64 = 0.05;
/// Quantile of a pair at which its level is read; this share of most replays ran undisturbed.
const OF_PAIR: f64 = 0.1;
/// A level farther above than this, as log of a·b, is disturbance and not where memory came to lie.
const OF_PAIR_MAX: f64 = 0.1;

/// Times of segments of frames, pairs in rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Segments {
    /// Frames of each segment; set by the first pair.
    sizes: Vec<usize>,
    a: Vec<Vec<f64>>,
    b: Vec<Vec<f64>>,
}

impl Segments {
    /// Adds a pair of replays, in seconds a frame; `false`, and nothing added, when the frames are not those of the first.
    pub fn push(&mut self, a: &[f64], b: &[f64]) -> bool {
        if self.sizes.is_empty() {
            self.sizes = segments(a);
        }
        let frames: usize = self.sizes.iter().sum();
        if frames == 0 || a.len() != frames || b.len() != frames {
            return false;
        }
        self.a.push(self.sums(a));
        self.b.push(self.sums(b));
        true
    }

    fn sums(&self, frames_s: &[f64]) -> Vec<f64> {
        let mut rest = frames_s;
        let sum = |&size: &usize| {
            let (segment, after) = rest.split_at(size);
            rest = after;
            segment.iter().sum()
        };
        self.sizes.iter().map(sum).collect()
    }

    pub fn pairs(&self) -> usize {
        self.a.len()
    }

    /// Pairs of whole replays, without a selection of segments.
    pub fn all(&self) -> Vec<Pair> {
        let total = |(a, b): (&Vec<f64>, &Vec<f64>)| Pair { a: a.iter().sum(), b: b.iter().sum() };
        self.a.iter().zip(&self.b).map(total).collect()
    }

    /// Times of each pair in the selected segments, for each of `shares` of the pairs; empty if it cannot be
    /// determined.
    pub fn least_disturbed(&self, shares: &[f64]) -> Vec<Vec<Pair>> {
        if self.sizes.len() < SEGMENTS_MIN {
            return Vec::new();
        }
        let n = self.pairs();
        let mut kept = vec![vec![Pair { a: 0.0, b: 0.0 }; n]; shares.len()];
        let mut places: Vec<usize> = (0..n).collect();
        for (segment, disturbance) in self.disturbance().iter().enumerate() {
            places.sort_unstable_by(|&x, &y| disturbance[x].total_cmp(&disturbance[y]));
            for (totals, share) in kept.iter_mut().zip(shares) {
                let least = ((share * n as f64).ceil() as usize).clamp(1, n);
                for &pair in &places[..least] {
                    totals[pair].a += self.a[pair][segment];
                    totals[pair].b += self.b[pair][segment];
                }
            }
        }
        kept
    }

    /// Slowdown of the machine around each segment relative to the best, for each pair, as log of a·b.
    fn disturbance(&self) -> Vec<Vec<f64>> {
        let segments = self.sizes.len();
        let level = |pair: usize, segment: usize| {
            let product = self.a[pair][segment] * self.b[pair][segment];
            // A segment without any time says nothing, and must not be the best there is.
            if product > 0.0 { product.ln() } else { 0.0 }
        };
        let mut levels: Vec<Vec<f64>> =
            (0..self.pairs()).map(|pair| (0..segments).map(|segment| level(pair, segment)).collect()).collect();
        for segment in 0..segments {
            let of_pairs: Vec<f64> = levels.iter().map(|levels| levels[segment]).collect();
            let best = quantile_of_sorted(&sorted(&of_pairs), UNDISTURBED).unwrap_or(0.0);
            levels.iter_mut().for_each(|levels| levels[segment] -= best);
        }
        let pairs: Vec<Vec<f64>> = levels.iter().map(|levels| around(levels)).collect();
        (0..segments).map(|segment| pairs.iter().map(|pair| pair[segment]).collect()).collect()
    }
}

/// The largest level of the neighbours of each segment, or its own beyond what may be scatter, above the pair's.
fn around(levels: &[f64]) -> Vec<f64> {
    let of_pair = quantile_of_sorted(&sorted(levels), OF_PAIR).unwrap_or(0.0).min(OF_PAIR_MAX);
    let last = levels.len() - 1;
    let disturbed = |segment: usize| {
        let range = segment.saturating_sub(NEIGHBOURS)..=(segment + NEIGHBOURS).min(last);
        let others = range.filter(|&other| other != segment).map(|other| levels[other]);
        others.fold(levels[segment] - OWN_SCATTER, f64::max) - of_pair
    };
    (0..levels.len()).map(disturbed).collect()
}

/// Number of frames per segment, from the first to the last, so that the typical segment lasts [`SEGMENT_S`].
fn segments(frames_s: &[f64]) -> Vec<usize> {
    let typical = median(frames_s).unwrap_or(0.0).max(1e-9);
    let size = ((SEGMENT_S / typical).ceil() as usize).clamp(1, frames_s.len().max(1));
    frames_s.chunks(size).map(<[f64]>::len).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten segments of 100 µs in every pair; in odd pairs the first half, in even ones the second, at half speed.
    fn half_disturbed(pairs: usize) -> Segments {
        let mut segments = Segments::default();
        for pair in 0..pairs {
            let time = |segment: usize| if (segment < 10) == (pair % 2 == 1) { 2e-4 } else { 1e-4 };
            let frames: Vec<f64> = (0..20).map(time).collect();
            assert!(segments.push(&frames, &frames));
        }
        segments
    }

    #[test]
    fn what_ran_beside_a_disturbance_is_left_out() {
        let kept = half_disturbed(8).least_disturbed(&[1.0, 0.5, 0.25]);
        let totals: Vec<f64> = kept.iter().map(|pairs| pairs.iter().map(|pair| pair.a).sum()).collect();
        // Whole: 8 pairs with 3 ms each; half of the pairs of each segment, at full speed: 8 of 1 ms; a quarter: 4.
        assert!((totals[0] - 24e-3).abs() < 1e-9, "{totals:?}");
        // Beside the border, the two segments on the far side are taken to be disturbed and are not.
        assert!((totals[1] - 8e-3).abs() < 1.7e-3 && (totals[2] - 4e-3).abs() < 0.9e-3, "{totals:?}");
    }

    #[test]
    fn the_choice_is_the_same_whichever_is_a_and_however_much_slower_b_is() {
        let (mut one, mut other) = (Segments::default(), Segments::default());
        let mut seed = crate::Seed::new(5);
        for pair in 0..20 {
            let mut replay =
                || -> Vec<f64> { (0..40).map(|_| 1e-4 * (1.0 + crate::noise::uniform(&mut seed))).collect() };
            let (a, b) = (replay(), replay());
            let slower: Vec<f64> = b.iter().map(|time| 1.25 * time).collect();
            let slower_a: Vec<f64> = a.iter().map(|time| 1.25 * time).collect();
            assert!(one.push(&a, &b));
            assert!(if pair % 3 == 0 { other.push(&b, &slower_a) } else { other.push(&a, &slower) });
        }
        let [one, other] = [one, other].map(|segments| segments.least_disturbed(&[0.2]).remove(0));
        for (pair, (one, other)) in one.iter().zip(&other).enumerate() {
            let (a, b) = if pair % 3 == 0 { (other.b / 1.25, other.a) } else { (other.a, other.b / 1.25) };
            assert!((one.a - a).abs() < 1e-12 && (one.b - b).abs() < 1e-12, "pair {pair}: {one:?} {other:?}");
        }
    }

    #[test]
    fn short_frames_are_put_together_and_other_frames_refused() {
        assert_eq!(segments(&[10e-6; 12]), [5, 5, 2]);
        assert_eq!(segments(&[1e-3; 3]), [1, 1, 1]);
        let mut segments = Segments::default();
        assert!(!segments.push(&[], &[]));
        assert!(segments.push(&[1e-3; 3], &[1e-3; 3]));
        assert!(!segments.push(&[1e-3; 4], &[1e-3; 4]));
        assert!(segments.least_disturbed(&[1.0]).is_empty(), "three stretches are too few to tell");
    }
}
