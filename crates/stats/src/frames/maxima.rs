//! Which of thousands of frames differ, with one chance in all to name a wrong one.
//!
//! Westfall & Young 1993, single-step maxT: the signs of whole pairs are flipped at random, and a frame counts when it
//! stands out farther than the farthest of all frames does in all but a share α of the flips. It holds whatever frames have in
//! common. Holm or Benjamini–Hochberg would need each frame's own p value below α/frames, which a handful of pairs
//! cannot reach: with 12 of them the least is 2⁻¹¹.

use crate::quantile::median;
use crate::seed::Seed;

/// Resolution of the p values: 1/1000.
const FLIPS: usize = 999;
/// A size beyond so many medians of its frame says no more than that: an interrupt hit the frame once.
const SIZES_MAX: f64 = 3.0;

/// For each frame the chance that any frame would stand out so far without a difference.
///
/// `pairs[p][frame]`: log ratios. Under 6 pairs nothing can fall below 0.05.
pub fn adjusted_p_values(pairs: &[Vec<f64>], seed: u64) -> Vec<f64> {
    let frames = pairs.first().map_or(0, Vec::len);
    let clipped = clip(pairs, frames);
    let scales = scales(&clipped, frames);
    let found = statistics(&clipped, &scales, &vec![1.0; pairs.len()]);
    let mut seed = Seed::new(seed);
    let mut farthest: Vec<f64> = (0..FLIPS)
        .map(|_| {
            let signs: Vec<f64> = pairs.iter().map(|_| if seed.coin() { 1.0 } else { -1.0 }).collect();
            statistics(&clipped, &scales, &signs).into_iter().fold(0.0, f64::max)
        })
        .collect();
    farthest.sort_unstable_by(f64::total_cmp);
    // Sums in another order differ in the last bits, and a flip of no sign at all must count as one that reaches.
    let reached = |statistic: f64| FLIPS - farthest.partition_point(|&far| far < statistic * (1.0 - 1e-9));
    found.into_iter().map(|statistic| (1 + reached(statistic)) as f64 / (FLIPS + 1) as f64).collect()
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

/// What a frame's mean is divided by: its own root mean square plus that of a typical frame.
///
/// Alone, the own one makes a quiet frame with equal signs look like a great difference (Tusher, Tibshirani & Chu 2001).
fn scales(pairs: &[Vec<f64>], frames: usize) -> Vec<f64> {
    let own = |frame: usize| (pairs.iter().map(|logs| logs[frame].powi(2)).sum::<f64>() / pairs.len() as f64).sqrt();
    let own: Vec<f64> = (0..frames).map(own).collect();
    let typical = median(&own).unwrap_or(0.0).max(f64::MIN_POSITIVE);
    own.iter().map(|own| own + typical).collect()
}

/// How far each frame stands out: |mean| / scale.
fn statistics(pairs: &[Vec<f64>], scales: &[f64], signs: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; scales.len()];
    for (logs, sign) in pairs.iter().zip(signs) {
        for (sum, log) in sums.iter_mut().zip(logs) {
            *sum += sign * log;
        }
    }
    sums.iter().zip(scales).map(|(sum, scale)| (sum / pairs.len() as f64).abs() / scale).collect()
}
