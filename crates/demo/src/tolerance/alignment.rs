//! Outputs that stand in another frame than recorded, or on one side only.

use serde::Serialize;

/// How the outputs of a build stand beside the recorded ones.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Alignment {
    /// Outputs of the build that the recording does not have.
    pub added: u64,
    /// Recorded outputs that the build did not send.
    pub not_sent: u64,
    /// Recorded outputs that the build sent in an earlier frame.
    pub early: u64,
    /// Recorded outputs that the build sent in a later frame.
    pub late: u64,
    /// Frames that an output was early or late, at most.
    pub frames_apart: u64,
    /// The first output that was early or late.
    pub first_moved: Option<Moved>,
}

/// An output that a build sent in another frame than the recording has it in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Frame in which it was recorded.
    pub frame: u64,
    /// Frame in which the build sent it.
    pub replayed_frame: u64,
    /// Record of the output, in its process.
    pub record: u64,
    /// Process.
    pub process: u16,
    /// Address that it was sent to.
    pub peer: String,
}

impl Alignment {
    /// Counts an output that was early or late.
    pub fn add_moved(&mut self, moved: Moved) {
        *(if moved.replayed_frame < moved.frame { &mut self.early } else { &mut self.late }) += 1;
        self.frames_apart = self.frames_apart.max(moved.frame.abs_diff(moved.replayed_frame));
        if self.first_moved.as_ref().is_none_or(|first| (moved.frame, moved.record) < (first.frame, first.record)) {
            self.first_moved = Some(moved);
        }
    }

    /// True if each output is where it was recorded.
    pub fn is_level(&self) -> bool {
        self.added + self.not_sent + self.early + self.late == 0
    }
}
