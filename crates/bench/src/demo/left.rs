//! Where a build diverges: how far its frames are those of the recording.

use prony_replay::{DivergenceClass, ReplayReport};

use crate::until_divergence::UntilDivergence;

/// Where a build left the recording.
pub(super) struct Left {
    pub(super) build: usize,
    pub(super) report: Box<ReplayReport>,
    /// Entries of the list of frame times before it.
    pub(super) entries: usize,
    pub(super) of_frames: u64,
    pub(super) is_announced: bool,
}

impl Left {
    /// `None` where no frames are known to be those of the recording, or where each replay would wait for a starved thread.
    pub(super) fn of(build: usize, report: &ReplayReport, of_frames: u64) -> Option<Left> {
        let found = report.divergence.as_ref()?;
        if matches!(found.class, DivergenceClass::Starvation | DivergenceClass::MissingFile) {
            return None;
        }
        // With a tolerance, replays go on, and are judged at their end.
        let before = usize::try_from(found.frame.saturating_sub(1) / report.timing.frames_in_each).unwrap_or(0);
        let entries = before.min(report.timing.frame_cpu_ns.len());
        (entries > 0).then(|| Left { build, report: Box::new(report.clone()), entries, of_frames, is_announced: false })
    }

    /// The part of the demo before it.
    pub(super) fn until(&self) -> UntilDivergence {
        UntilDivergence {
            build: self.build,
            frame: self.entries as u64 * self.report.timing.frames_in_each + 1,
            of_frames: self.of_frames,
        }
    }
}
