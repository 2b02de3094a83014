//! What a bench answers: the table of its commands, their throughput, and builds on demos.

pub mod demos;
pub mod table;
pub mod throughput;
