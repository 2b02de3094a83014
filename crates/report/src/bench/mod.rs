//! What a bench answers: the table of its commands, their throughput, builds on demos, their profiles, and builds in many layouts.

pub(crate) mod counted;
pub mod demos;
pub mod layouts;
pub mod profiled;
pub mod table;
pub mod throughput;
