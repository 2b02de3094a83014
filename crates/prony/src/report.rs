//! What a recording and a replay found, in the words of the crate that found it.

pub use prony_replay::{Divergence, DivergenceClass, Progress, RecordReport, ReplayReport, Verdict};
