//! What speaks against a profile, and what it lacks.

use crate::profile::Profile;
use crate::recording::{Recording, Walk, WeightUnit};
use crate::symbols::MissingSymbols;

/// With fewer samples even the largest shares are hardly known: 100 give ± 10 points.
pub const FEWEST_SAMPLES: u64 = 100;
/// More lost samples may be those of one kind.
const MOST_LOST: f64 = 0.01;
/// Objects in fewer samples are not worth a warning.
const RARE: f64 = 0.01;
/// Programs with frame pointers have fewer stacks than this that end at once.
const MOST_SHALLOW: f64 = 0.5;
/// An interpreter with frame pointers has fewer: 2.7 % of CPython 3.14.6.
const MOST_FROM_GENERATED: f64 = 0.05;

/// A reason why a profile would mean little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// It used no CPU.
    NoSamples,
    /// Too few to know any share.
    FewSamples {
        /// Number of samples, or of waits.
        samples: u64,
        /// Which of them.
        unit: WeightUnit,
    },
    /// The machine was too busy to write them.
    Lost {
        /// Number of samples that were lost.
        lost: u64,
        /// Number of all.
        all: u64,
    },
}

/// What a profile lacks without being wrong.
#[derive(Debug, Clone, PartialEq)]
pub enum Lack<'a> {
    /// An object has no names, in this share of the samples.
    Names(&'a MissingSymbols, f64),
    /// Time in the kernel: its stacks are for root.
    Kernel,
    /// This share of the stacks ends after one call: the program has no frame pointers.
    FramePointers(f64),
    /// This share of the stacks ends in generated code, whose callers are missing.
    Callers(f64),
    /// Stacks are deeper than what was copied of them.
    Depth {
        /// Number of stacks.
        stacks: u64,
        /// Their share.
        share: f64,
        /// Bytes of each stack that were copied.
        copied_bytes: u32,
    },
    /// Waits that had not ended.
    Unfinished(u64),
}

/// Reasons why the profile would mean little.
pub fn doubts(recording: &Recording, profile: &Profile) -> Vec<Doubt> {
    let samples = profile.stacks.observations();
    let unit = recording.weight_unit;
    let few = match samples {
        0 if unit == WeightUnit::Samples => Some(Doubt::NoSamples),
        0..FEWEST_SAMPLES => Some(Doubt::FewSamples { samples, unit }),
        _ => None,
    };
    let all = samples + recording.lost;
    let lost = (recording.lost as f64 > MOST_LOST * all as f64).then_some(Doubt::Lost { lost: recording.lost, all });
    few.into_iter().chain(lost).collect()
}

/// What the profile lacks, as far as it matters.
pub fn lacks<'a>(recording: &Recording, profile: &'a Profile) -> Vec<Lack<'a>> {
    let samples = profile.stacks.observations();
    let share = |part: u64| part as f64 / samples.max(1) as f64;
    let names = profile.missing_symbols.iter().map(|(missing, seen)| Lack::Names(missing, share(*seen)));
    let mut lacks: Vec<Lack<'_>> =
        names.filter(|lack| !matches!(lack, Lack::Names(_, share) if *share < RARE)).collect();
    lacks.extend((!recording.kernel && samples > 0).then_some(Lack::Kernel));
    let is_shallow = recording.walk == Walk::FramePointers && samples > 0 && share(profile.shallow) > MOST_SHALLOW;
    lacks.extend(is_shallow.then(|| Lack::FramePointers(share(profile.shallow))));
    let generated = share(profile.from_generated_code);
    lacks.extend((generated >= MOST_FROM_GENERATED).then_some(Lack::Callers(generated)));
    if let Walk::Tables { stack_bytes } = recording.walk
        && share(recording.cut) >= RARE
    {
        lacks.push(Lack::Depth { stacks: recording.cut, share: share(recording.cut), copied_bytes: stack_bytes });
    }
    lacks.extend((recording.unfinished > 0).then_some(Lack::Unfinished(recording.unfinished)));
    lacks
}

/// True where a part of a file was skipped that shares of the rest may be others.
pub fn skips_much(skipped: u64, all: u64) -> bool {
    skipped as f64 > SKIPPED_MOST * all as f64
}

/// Share of a file that may be skipped.
const SKIPPED_MOST: f64 = 0.01;
