//! What this machine is, what disturbs a measurement on it, quiet it, and put it back.
//!
//! Everything is read and written below a [`Tree`]: the machine itself, or a directory that
//! imitates `/proc` and `/sys`, so that tests tune a tree of their own.

mod cpus;
pub mod process;
mod tree;

pub use cpus::{CpuSet, CpuSetError};
pub use tree::Tree;
