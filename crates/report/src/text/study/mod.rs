//! Answers on studies in the terminal.

pub mod diff;
pub mod effects;
pub mod history;
pub mod import;
pub mod merge;
pub mod plan;
pub mod status;
pub mod words;
