//! Answers for a README or a pull request.

pub mod counted;
pub mod demos;
pub mod study;
