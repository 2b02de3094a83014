//! Answers on demos as JSON.

pub mod info;
pub mod pack;
