//! A profile that was taken, as renderers need it.

use prony_profile::{Component, Profile, Recording};

/// Samples and profile that the answer is made from.
pub struct Found<'a> {
    /// Name of the sampled program.
    pub name: &'a str,
    /// Samples as they were recorded.
    pub recording: &'a Recording,
    /// Stacks with the names of functions.
    pub profile: &'a Profile,
    /// Frames of a replay, where not all of it counts.
    pub chosen: Option<&'a Chosen>,
}

/// Frames that were chosen, and what that leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// Number of frames that were selected.
    pub frames: u64,
    /// Number of frames over all replays.
    pub of_frames: u64,
    /// Wall time of the shortest of them, in nanoseconds.
    pub shortest_ns: u64,
    /// Number of samples in those frames.
    pub samples: u64,
    /// Number of samples over all replays.
    pub of_samples: u64,
}

/// What is shown of a profile.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// Components, each of the functions that match.
    pub components: &'a [Component],
    /// Number of functions in the terminal.
    pub functions: usize,
}

/// Error rate of every interval of a share.
pub const LEVEL: f64 = 0.05;
