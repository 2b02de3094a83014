//! A profile that was taken, as renderers need it.

use prony_profile::{Component, Pair, Profile, Recording, Stacks};
use prony_text::thousands;

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

/// Both profiles: their names, and their stacks in one vocabulary.
#[derive(Debug)]
pub struct Compared {
    /// Names of both.
    pub names: [String; 2],
    /// Stacks of both, in one vocabulary.
    pub pair: Pair,
}

/// Stack samples of several runs.
pub fn observations(runs: &[Stacks]) -> u64 {
    runs.iter().map(Stacks::observations).sum()
}

impl Compared {
    /// `5,000 and 5,100 stack samples`, with the runs where there are several.
    pub fn samples(&self) -> String {
        let [a, b] = [&self.pair.a, &self.pair.b];
        let samples = format!("{} and {} stack samples", thousands(observations(a)), thousands(observations(b)));
        match a.len().max(b.len()) {
            1 => samples,
            _ => format!("{samples}, of {} and {} runs", a.len(), b.len()),
        }
    }
}
