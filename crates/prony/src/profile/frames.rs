//! Samples of some frames of a replay.

use prony_profile::Recording;
use prony_replay::ReplayReport;
use prony_report::profile::Chosen;
use prony_stats::quantile::{quantile_of_sorted, sorted};
use prony_text::thousands;

use crate::cli::profile::Frames;
use crate::failure::Failure;

/// Drops all samples but those within the frames.
///
/// # Errors
/// When there is no such frame.
pub fn choose(frames: &Frames, report: &ReplayReport, recording: &mut Recording) -> Result<Chosen, Failure> {
    let wall = &report.timing.frame_wall_ns;
    let per_replay = (wall.len() / report.timing.wall_s.len().max(1)).max(1);
    let times = sorted(&wall.iter().map(|&ns| ns as f64).collect::<Vec<_>>());
    let limit = match frames {
        Frames::Slowest(share) => quantile_of_sorted(&times, *share),
        Frames::Range(_) => None,
    };
    let is_chosen = |place: usize, ns: u64| match frames {
        Frames::Slowest(_) => limit.is_some_and(|limit| ns as f64 >= limit),
        Frames::Range(range) => {
            let frame = (place % per_replay) as u64 * report.timing.frames_in_each;
            frame >= range.first && range.end.is_none_or(|end| frame < end)
        }
    };
    // When each began and ended. Frames of one replay follow each other, and so do replays.
    let spans: Vec<(u64, u64)> = wall
        .iter()
        .zip(&report.timing.frame_start_ns)
        .enumerate()
        .filter(|&(place, (&ns, _))| is_chosen(place, ns))
        .map(|(_, (&ns, &start))| (start, start.saturating_add(ns)))
        .collect();
    if spans.is_empty() {
        return Err(Failure::new(format!(
            "expected at least one of the selected frames, found none: the replay had {}",
            thousands(report.frames)
        )));
    }
    let of_samples = recording.samples.len() as u64;
    recording.retain(|sample| {
        let after = spans.partition_point(|&(start, _)| start <= sample.time_ns);
        after > 0 && sample.time_ns < spans[after - 1].1
    });
    Ok(Chosen {
        frames: spans.len() as u64,
        of_frames: wall.len() as u64,
        shortest_ns: spans.iter().map(|&(start, end)| end - start).min().unwrap_or(0),
        samples: recording.samples.len() as u64,
        of_samples,
    })
}
