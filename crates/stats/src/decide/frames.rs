//! Two builds that replayed the same demo: frame i did the same work in both.
//!
//! Replays run in pairs, one of either build, in random order. Everything here follows from that: a log ratio of two replays,
//! or of frame i in both, is as likely to have either sign where there is no difference.
//!
//! A comparison says many things, and α is for all of them together: eight tenths for the verdict on the whole, one for frames that
//! stand out, one for the intervals of the mean frame and of the quantiles. So a build compared with itself is called
//! different, as a whole or in any part, with probability α at most (Bonferroni). The verdict gets most, as
//! it is the main question; a frame or a maximum that differs does so by far more than its noise.

mod maxima;
pub(crate) mod segment_selection;

use serde::Serialize;
use thiserror::Error;

use crate::describe::quantile::{median, median_of_sorted, quantile_of_sorted, sorted};
use crate::infer::signed_rank;
use crate::interval::Interval;

/// Frames to which durations are scaled, as in the ReHLDS measurements of May 2015.
pub const NORMAL_FRAMES: f64 = 120_000.0;

/// The share of α that the verdict on whole replays has.
pub const VERDICT_SHARE: f64 = 0.8;
/// Share of α for frames that stand out.
const CHANGED_SHARE: f64 = 0.1;
/// Share of α for each interval: of the mean frame and of three quantiles.
const INTERVAL_SHARE: f64 = 0.1 / 4.0;

/// Comparison of the frames of two builds. Times are in seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FrameComparison {
    /// Number of frames in a replay.
    pub frames: usize,
    /// Number of pairs of replays.
    pub pairs: usize,
    /// Frame times of the first build.
    pub a: Build,
    /// Frame times of the second build.
    pub b: Build,
    /// Log ratio ln(B/A) of the time a frame, over whole replays.
    pub ratio: Interval,
    /// The frame of the middle, the slowest of a hundred, the slowest of all.
    pub quantiles: Vec<QuantileChange>,
    /// Frames that differ by something else than the typical frame does: where to look for the cause. The largest
    /// difference in seconds first. What all frames have in common, noise of the pair among it, is in `ratio`.
    pub changed: Vec<FrameChange>,
}

/// Runs of a build over its replays.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Build {
    /// Mean time a frame of a replay; replays are the observations.
    pub frame_s: Interval,
    /// Duration / frames × 120,000.
    pub normalised_s: f64,
}

/// A quantile of the frame times of one replay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct QuantileChange {
    /// 0.5, 0.99, or 1 for the maximum.
    pub p: f64,
    /// Median over the replays of A.
    pub a_s: f64,
    /// Median over the replays of B.
    pub b_s: f64,
    /// Ratio of B to A with its interval, as natural logarithms.
    pub ratio: Interval,
}

/// Frame whose times differ between the builds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FrameChange {
    /// Number of the frame, from 0.
    pub frame: usize,
    /// Median over the replays of A.
    pub a_s: f64,
    /// Median over the replays of B.
    pub b_s: f64,
    /// Chance that any frame at all would stand out so far without a difference.
    pub p: f64,
}

/// Reasons why replays cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Both builds need as many replays.
    #[error("replays are not in pairs: {a} of A, {b} of B")]
    Unpaired {
        /// Number of replays of A.
        a: usize,
        /// Number of replays of B.
        b: usize,
    },
    /// No replay, or one without frames.
    #[error("no frames to compare")]
    Empty,
    /// A replay has another number of frames.
    #[error("replay {replay} of {build} has {found} frames, expected {expected}")]
    Frames {
        /// Name of the build: `A` or `B`.
        build: char,
        /// Index of the replay, from 0.
        replay: usize,
        /// Frames of the first replay of A.
        expected: usize,
        /// Number of frames that the replay has.
        found: usize,
    },
}

/// Compares aligned frame times, in seconds: `a[p]` and `b[p]` are the replays of pair p.
///
/// `alpha`: chance that anything is called different that is not, together with a verdict that
/// spends [`VERDICT_SHARE`] of it; also the error of the times of each build. Equal `seed`, equal answer.
///
/// # Errors
/// [`FrameError`] when the replays do not match.
pub fn compare(a: &[Vec<f64>], b: &[Vec<f64>], alpha: f64, seed: u64) -> Result<FrameComparison, FrameError> {
    let frames = check(a, b)?;
    let apart: Vec<Vec<f64>> = a.iter().zip(b).map(|(a, b)| without_common(&log_ratios(a, b))).collect();
    let at_frame = |replays: &[Vec<f64>], frame: usize| {
        median(&replays.iter().map(|replay| replay[frame]).collect::<Vec<_>>()).unwrap_or(f64::NAN)
    };
    let of_changed = CHANGED_SHARE * alpha;
    let chances = maxima::adjusted_p_values(&apart, of_changed, seed).into_iter().enumerate();
    let mut changed: Vec<FrameChange> = chances
        .filter(|&(_, p)| p <= of_changed)
        .map(|(frame, p)| FrameChange { frame, a_s: at_frame(a, frame), b_s: at_frame(b, frame), p })
        .collect();
    changed.sort_by(|x, y| (y.b_s - y.a_s).abs().total_cmp(&(x.b_s - x.a_s).abs()));
    let of_interval = INTERVAL_SHARE * alpha;
    Ok(FrameComparison {
        frames,
        pairs: a.len(),
        a: build(a, alpha),
        b: build(b, alpha),
        ratio: paired(a, b, of_interval, |replay| replay.iter().sum()),
        quantiles: [0.5, 0.99, 1.0].map(|p| quantile(a, b, of_interval, p)).to_vec(),
        changed,
    })
}

/// Log ratio ln(B/A) of the totals of replays in pairs, in seconds. `None` without a pair, or where a total is 0.
pub fn change_of_totals(a_s: &[f64], b_s: &[f64], alpha: f64) -> Option<Interval> {
    let logs: Vec<f64> = a_s.iter().zip(b_s).map(|(a, b)| (b / a).ln()).collect();
    if logs.iter().all(|log| log.is_finite()) { signed_rank::interval(&sorted(&logs), alpha) } else { None }
}

fn check(a: &[Vec<f64>], b: &[Vec<f64>]) -> Result<usize, FrameError> {
    if a.len() != b.len() {
        return Err(FrameError::Unpaired { a: a.len(), b: b.len() });
    }
    let expected = a.first().map_or(0, Vec::len);
    if expected == 0 {
        return Err(FrameError::Empty);
    }
    for (build, replays) in [('A', a), ('B', b)] {
        if let Some((replay, times)) = replays.iter().enumerate().find(|(_, times)| times.len() != expected) {
            return Err(FrameError::Frames { build, replay, expected, found: times.len() });
        }
    }
    Ok(expected)
}

/// ln(B/A) of each frame; 0, as likely to be either, where a time is not above 0.
fn log_ratios(a: &[f64], b: &[f64]) -> Vec<f64> {
    let ratio = |(a, b): (&f64, &f64)| if *a > 0.0 && *b > 0.0 { (b / a).ln() } else { 0.0 };
    a.iter().zip(b).map(ratio).collect()
}

/// Residuals after the typical difference of the pair, including its noise, is subtracted.
fn without_common(logs: &[f64]) -> Vec<f64> {
    let common = median(logs).unwrap_or(0.0);
    logs.iter().map(|log| log - common).collect()
}

fn build(replays: &[Vec<f64>], alpha: f64) -> Build {
    let means: Vec<f64> = replays.iter().map(|replay| replay.iter().sum::<f64>() / replay.len() as f64).collect();
    let frame_s = signed_rank::interval(&sorted(&means), alpha).expect("there is a replay");
    Build { frame_s, normalised_s: frame_s.estimate * NORMAL_FRAMES }
}

fn paired(a: &[Vec<f64>], b: &[Vec<f64>], alpha: f64, of: impl Fn(&[f64]) -> f64) -> Interval {
    let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| (of(b) / of(a)).ln()).collect();
    signed_rank::interval(&sorted(&logs), alpha).expect("there is a pair")
}

fn quantile(a: &[Vec<f64>], b: &[Vec<f64>], alpha: f64, p: f64) -> QuantileChange {
    let of = |replay: &[f64]| quantile_of_sorted(&sorted(replay), p).unwrap_or(f64::NAN);
    let typical = |replays: &[Vec<f64>]| {
        median_of_sorted(&sorted(&replays.iter().map(|replay| of(replay)).collect::<Vec<_>>())).unwrap_or(f64::NAN)
    };
    QuantileChange { p, a_s: typical(a), b_s: typical(b), ratio: paired(a, b, alpha, of) }
}

#[cfg(test)]
mod tests;
