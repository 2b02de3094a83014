//! What follows from values: tests, and the intervals that belong to them.

pub mod power;
pub mod proportion;
pub mod rank_sum;
mod selection;
pub mod serial;
pub mod sign_flips;
pub mod sign_test;
pub mod signed_rank;
pub mod single_sample;
pub mod spending;
pub mod unpaired;
pub mod walsh;
