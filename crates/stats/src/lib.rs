//! Samples in, verdicts out: estimators, intervals, and a judge that may look more than once.
//!
//! Pure: same input, same output. No clock, no I/O, no unsafe. Times are seconds, ratios are natural logs.
#![forbid(unsafe_code)]

mod interval;
mod seed;

pub mod distribution;
pub mod export;
pub mod import;
pub mod judge;
pub mod multiplicity;
pub mod quantile;
pub mod samples;
pub mod sign_test;
pub mod signed_rank;
pub mod spending;
pub mod walsh;

pub use interval::Interval;
pub use seed::Seed;
