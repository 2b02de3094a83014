//! Samples in files: our own, and those of other tools.

pub mod export;
pub mod import;
pub mod memory;
pub mod samples;
