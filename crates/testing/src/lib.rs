//! What the tests, benchmarks and examples of several crates share. A development dependency only, and never published.
#![forbid(unsafe_code)]

pub mod clients;
mod command;
pub mod compile;
pub mod enet;
pub mod namespace;
pub mod random;
pub mod recording;
pub mod scratch;
pub mod sources;
#[cfg(feature = "studies")]
pub mod studies;
#[cfg(feature = "demo")]
pub mod synthetic;
pub mod trees;

pub use command::{CommandOutput, cache_home, program, prony, state_home, target_tmp};
