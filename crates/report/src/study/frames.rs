//! Frame times of replays, made small while they are read: a million of them must fit on a page.

use std::collections::BTreeMap;
use std::path::Path;

use prony_stats::quantile::{median, quantile_of_sorted, sorted};
use prony_study::results_file;

use crate::study::matrix::{Matrix, counts};

/// Parts of a trace at most; the page draws as many or fewer.
const PARTS_MAX: usize = 900;

/// Shares of the frames whose time is stated; the last is the slowest frame.
pub const QUANTILES: [f64; 10] = [0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1.0];

/// Frame times of all replays of a study.
#[derive(Debug, Default)]
pub struct Frames {
    /// Traces by configuration, machine and workload.
    pub traces: BTreeMap<(usize, usize, usize), Trace>,
    /// Frame times that were read.
    pub read: usize,
    /// Files that could not be read, and why.
    pub problems: Vec<String>,
}

/// Frame times of one configuration on one machine and workload. Times are seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Number of replays behind the trace.
    pub runs: usize,
    /// Frames of the longest replay.
    pub frames: usize,
    /// Equal stretches of frames, in order.
    pub parts: Vec<Part>,
    /// Value of each of [`QUANTILES`]: the median over the replays.
    pub quantiles: Vec<f64>,
}

/// A stretch of frames, over all replays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Time of the fastest frame.
    pub min: f64,
    /// Time of the slowest frame.
    pub max: f64,
    /// The mean frame of a replay: the median over the replays.
    pub typical: f64,
}

impl Frames {
    /// Reads the samples files of all cells of a study. A workload of which the first file has no frames is no replay.
    pub fn read(matrix: &Matrix<'_>, dir: &Path) -> Frames {
        let mut frames = Frames::default();
        let mut runs: BTreeMap<(usize, usize, usize), Vec<Run>> = BTreeMap::new();
        let mut is_replay: Vec<Option<bool>> = vec![None; matrix.results.workloads.len()];
        for cell in matrix.results.cells.iter().filter(|cell| counts(cell) && cell.samples.is_some()) {
            let Some(configuration) = matrix.configuration(&cell.levels) else { continue };
            if is_replay[cell.workload] == Some(false) {
                continue;
            }
            match results_file::frames(cell, dir) {
                Ok(read) => {
                    is_replay[cell.workload] = Some(is_replay[cell.workload] == Some(true) || !read.is_empty());
                    frames.read += read.iter().map(Vec::len).sum::<usize>();
                    let group = runs.entry((configuration, cell.machine, cell.workload)).or_default();
                    group.extend(read.iter().filter_map(|run| Run::of(run)));
                }
                Err(error) => frames.problems.push(error.to_string()),
            }
        }
        frames.traces = runs.into_iter().filter_map(|(key, runs)| Some((key, Trace::of(&runs)?))).collect();
        frames
    }
}

/// Frame times of one replay, reduced to parts.
#[derive(Debug)]
struct Run {
    frames: usize,
    /// Least, greatest and mean of each part.
    parts: Vec<(f64, f64, f64)>,
    quantiles: Vec<f64>,
}

impl Run {
    fn of(frame_ns: &[u64]) -> Option<Run> {
        let seconds: Vec<f64> = frame_ns.iter().map(|&ns| ns as f64 / 1e9).collect();
        let ascending = sorted(&seconds);
        let quantiles: Option<Vec<f64>> = QUANTILES.iter().map(|&p| quantile_of_sorted(&ascending, p)).collect();
        let count = seconds.len().min(PARTS_MAX);
        let parts = (0..count).map(|part| {
            let stretch = &seconds[part * seconds.len() / count..(part + 1) * seconds.len() / count];
            let least = stretch.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = stretch.iter().copied().fold(0.0, f64::max);
            (least, greatest, stretch.iter().sum::<f64>() / stretch.len() as f64)
        });
        Some(Run { frames: seconds.len(), parts: parts.collect(), quantiles: quantiles? })
    }
}

impl Trace {
    fn of(runs: &[Run]) -> Option<Trace> {
        let frames = runs.iter().map(|run| run.frames).max()?;
        let count = runs.iter().map(|run| run.parts.len()).min()?;
        let part = |part: usize| {
            let of_runs: Vec<&(f64, f64, f64)> =
                runs.iter().flat_map(|run| &run.parts[share(part, run.parts.len(), count)]).collect();
            Part {
                min: of_runs.iter().map(|part| part.0).fold(f64::INFINITY, f64::min),
                max: of_runs.iter().map(|part| part.1).fold(0.0, f64::max),
                typical: median(&of_runs.iter().map(|part| part.2).collect::<Vec<_>>()).unwrap_or(0.0),
            }
        };
        let quantile = |at: usize| median(&runs.iter().map(|run| run.quantiles[at]).collect::<Vec<_>>());
        Some(Trace {
            runs: runs.len(),
            frames,
            parts: (0..count).map(part).collect(),
            quantiles: (0..QUANTILES.len()).map(quantile).collect::<Option<_>>()?,
        })
    }

    /// Copy of the trace with at most `most` parts; the extremes of each part are kept.
    pub fn reduced(&self, most: usize) -> Vec<Part> {
        let count = self.parts.len().min(most.max(1));
        let join = |part: usize| {
            let parts = &self.parts[share(part, self.parts.len(), count)];
            Part {
                min: parts.iter().map(|part| part.min).fold(f64::INFINITY, f64::min),
                max: parts.iter().map(|part| part.max).fold(0.0, f64::max),
                typical: parts.iter().map(|part| part.typical).sum::<f64>() / parts.len() as f64,
            }
        };
        (0..count).map(join).collect()
    }
}

/// Which of `all` belong to part `part` of `count`; `count` is at most `all`, so that none is empty.
fn share(part: usize, all: usize, count: usize) -> std::ops::Range<usize> {
    part * all / count..(part + 1) * all / count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_slow_frame_of_a_million_is_kept() {
        let mut frame_ns = vec![100_000u64; 1_000_000];
        frame_ns[777_777] = 90_000_000;
        let trace = Trace::of(&[Run::of(&frame_ns).expect("there are frames")]).expect("there is a run");
        let parts = trace.reduced(100);
        let slow: Vec<usize> = (0..parts.len()).filter(|&part| parts[part].max > 0.01).collect();
        assert_eq!(slow, [77]);
        assert_eq!(trace.quantiles.last(), Some(&0.09));
        assert!((trace.quantiles[2] - 1e-4).abs() < 1e-12);
    }

    #[test]
    fn replays_of_different_length_make_one_trace() {
        let runs = [Run::of(&[5; 7]), Run::of(&[9; 3]), Run::of(&[])];
        let runs: Vec<Run> = runs.into_iter().flatten().collect();
        let trace = Trace::of(&runs).expect("there are runs");
        assert_eq!((trace.runs, trace.frames, trace.parts.len()), (2, 7, 3));
        assert_eq!((trace.parts[1].min, trace.parts[1].max), (5e-9, 9e-9));
    }
}
