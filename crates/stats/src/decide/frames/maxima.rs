//! Test for thousands of frames at once, with one error rate for all of them.
//!
//! Westfall & Young 1993, step-down maxT: the signs of whole pairs are flipped at random, and a frame counts when it
//! stands out farther than the farthest of all frames does in all but a share α of the flips. Frames that count are taken out, and
//! the others tested again, as a large difference stands out under many flips and would hide a smaller one. It holds
//! whatever frames have in common. Holm or Benjamini–Hochberg would need each frame's own p value below α/frames, which a
//! handful of pairs cannot reach: with 12 of them the least is 2⁻¹¹.

use crate::describe::quantile::median;
use crate::seed::Seed;

/// Resolution of the p values: 1/2000.
const FLIPS: usize = 1999;
/// A size beyond this many medians of its frame says no more than that: an interrupt hit the frame once. Twice the median
/// of normal sizes is 1.35 deviations, which costs a normal frame 5 % (Huber 1964).
const SIZES_MAX: f64 = 2.0;

/// For each frame the chance that any frame would stand out so far without a difference, with those out of the way that
/// stand out farther and count at `level`.
///
/// `pairs[p][frame]`: log ratios. Under 10 pairs nothing can fall below 0.005.
pub fn adjusted_p_values(pairs: &[Vec<f64>], level: f64, seed: u64) -> Vec<f64> {
    let frames = pairs.first().map_or(0, Vec::len);
    let clipped = clip(pairs, frames);
    let mut scales = scales(&clipped, frames);
    let found = statistics(&clipped, &scales, &vec![1.0; pairs.len()]);
    let mut chances = vec![1.0; frames];
    let mut least: f64 = 0.0;
    loop {
        let farthest = farthest(&clipped, &scales, seed);
        // Sums in another order differ in the last bits, and a flip of no sign at all must count as one that reaches.
        let reached = |statistic: f64| FLIPS - farthest.partition_point(|&far| far < statistic * (1.0 - 1e-9));
        let mut largest = least;
        let mut more = false;
        for frame in (0..frames).filter(|&frame| scales[frame].is_finite()).collect::<Vec<_>>() {
            chances[frame] = least.max((1 + reached(found[frame])) as f64 / (FLIPS + 1) as f64);
            if chances[frame] <= level {
                // A difference over an infinite scale is none: it is out of the way.
                scales[frame] = f64::INFINITY;
                largest = largest.max(chances[frame]);
                more = true;
            }
        }
        if !more {
            return chances;
        }
        least = largest;
    }
}

/// Largest statistic of all frames under each flip, ascending.
fn farthest(pairs: &[Vec<f64>], scales: &[f64], seed: u64) -> Vec<f64> {
    let mut seed = Seed::new(seed);
    let mut farthest: Vec<f64> = (0..FLIPS)
        .map(|_| {
            let signs: Vec<f64> = pairs.iter().map(|_| if seed.coin() { 1.0 } else { -1.0 }).collect();
            statistics(pairs, scales, &signs).into_iter().fold(0.0, f64::max)
        })
        .collect();
    farthest.sort_unstable_by(f64::total_cmp);
    farthest
}

/// Sizes limited per frame; that depends on sizes alone, so the signs stay free.
fn clip(pairs: &[Vec<f64>], frames: usize) -> Vec<Vec<f64>> {
    let limit = |frame: usize| {
        let sizes: Vec<f64> = pairs.iter().map(|logs| logs[frame].abs()).collect();
        SIZES_MAX * median(&sizes).unwrap_or(0.0)
    };
    let limits: Vec<f64> = (0..frames).map(limit).collect();
    pairs.iter().map(|logs| logs.iter().zip(&limits).map(|(log, limit)| log.clamp(-limit, *limit)).collect()).collect()
}

/// Divisor of each frame's mean: its own root mean square plus that of a typical frame.
///
/// Alone, the own one makes a quiet frame with equal signs look like a great difference (Tusher, Tibshirani & Chu 2001).
fn scales(pairs: &[Vec<f64>], frames: usize) -> Vec<f64> {
    let own = |frame: usize| (pairs.iter().map(|logs| logs[frame].powi(2)).sum::<f64>() / pairs.len() as f64).sqrt();
    let own: Vec<f64> = (0..frames).map(own).collect();
    let typical = median(&own).unwrap_or(0.0).max(f64::MIN_POSITIVE);
    own.iter().map(|own| own + typical).collect()
}

/// Statistic of each frame: |mean| / scale.
fn statistics(pairs: &[Vec<f64>], scales: &[f64], signs: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; scales.len()];
    for (logs, sign) in pairs.iter().zip(signs) {
        for (sum, log) in sums.iter_mut().zip(logs) {
            *sum += sign * log;
        }
    }
    sums.iter().zip(scales).map(|(sum, scale)| (sum / pairs.len() as f64).abs() / scale).collect()
}
