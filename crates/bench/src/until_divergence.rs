//! The part of a demo before a divergence, of which the frames are compared although the builds cannot be.

use std::fmt;

use serde::Serialize;

/// The frames of both builds before one of them diverged, which are compared although the builds as a whole cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct UntilDivergence {
    /// Build that diverged: 0 for A, 1 for B.
    #[serde(skip)]
    pub build: usize,
    /// Frame of the demo in which it diverged. Frames 1 to the one before are compared.
    pub frame: u64,
    /// Number of frames of the demo.
    pub of_frames: u64,
}

impl fmt::Display for UntilDivergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UntilDivergence { frame, of_frames, build } = self;
        let name = if *build == 0 { 'A' } else { 'B' };
        write!(f, "{name} diverged in frame {frame} of {of_frames}: the frames before it are compared")
    }
}
