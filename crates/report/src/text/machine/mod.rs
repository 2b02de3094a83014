//! Answers on the machine in the terminal.

pub mod check;
pub mod restore;
pub mod show;
pub mod tune;
