//! Results of a recording and of a replay.

pub use prony_replay::{Divergence, DivergenceClass, Progress, RecordReport, ReplayReport, Verdict, WeakReason};
