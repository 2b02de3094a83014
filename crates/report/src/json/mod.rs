//! Answers as JSON.

pub mod bench;
pub mod check;
pub mod limits;
pub mod replay;
