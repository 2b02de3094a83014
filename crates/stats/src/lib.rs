//! Samples in, verdicts out: estimators, intervals, and a judge that may look more than once.
//!
//! Pure: same input, same output. No clock, no I/O, no unsafe. Times are seconds, ratios are natural logs.
#![forbid(unsafe_code)]

// What all of it speaks of.
mod interval;
mod metric;
mod seed;
mod verdict;

// What values look like.
mod describe;

// What follows from them.
mod infer;

// Where they come from.
mod files;

// What is concluded.
mod decide;

pub use decide::{
    bisection, calibration, change_points, check, compare, effects, frames, judge, multiplicity, pairing, ranking,
    rejudge, summary, warmup,
};
pub use describe::{distribution, geometric_mean, histogram, outliers, quantile, spread, variance_components};
pub use files::{export, import, memory, samples};
pub use infer::{
    power, proportion, serial, sign_flips, sign_test, signed_rank, single_sample, spending, unpaired, walsh,
};
pub use interval::Interval;
pub use metric::Metric;
pub use seed::Seed;
pub use verdict::Verdict;

#[cfg(test)]
mod noise;
