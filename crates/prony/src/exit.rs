//! What the exit code says; `prony --help` says the same.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All is as it should be.
    Good = 0,
    /// It ran and found something.
    Finding = 1,
    /// It could not run: usage, file, permission. Also clap's code for wrong usage.
    CouldNotRun = 2,
    /// It ran, and what it found means little.
    NotTrusted = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}
