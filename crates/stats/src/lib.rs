//! Samples in, verdicts out: estimators, intervals, and a judge that may look more than once.
//!
//! Pure: same input, same output. No clock, no I/O, no unsafe. Times are seconds, ratios are natural logs.
#![forbid(unsafe_code)]

mod interval;
mod seed;
mod selection;

pub mod bisection;
pub mod calibration;
pub mod change_points;
pub mod distribution;
pub mod effects;
pub mod export;
pub mod frames;
pub mod geometric_mean;
pub mod histogram;
pub mod import;
pub mod judge;
pub mod memory;
pub mod multiplicity;
pub mod outliers;
pub mod pairing;
pub mod proportion;
pub mod quantile;
pub mod ranking;
pub mod rejudge;
pub mod samples;
pub mod serial;
pub mod sign_flips;
pub mod sign_test;
pub mod signed_rank;
pub mod single_sample;
pub mod spending;
pub mod unpaired;
pub mod variance_components;
pub mod walsh;
pub mod warmup;

pub use interval::Interval;
pub use seed::Seed;

#[cfg(test)]
mod noise;
