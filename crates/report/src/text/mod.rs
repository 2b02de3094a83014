//! Answers in the terminal.

pub mod bench;
pub mod check;
pub mod limits;
pub mod replay;
