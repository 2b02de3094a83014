//! What a bench answers: the table of its commands, their throughput, builds on demos, and their profiles.

pub(crate) mod counted;
pub mod demos;
pub mod profiled;
pub mod table;
pub mod throughput;
