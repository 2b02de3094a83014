//! What the exit code says; `prony --help` says the same.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All is as it should be: 0.
    Good,
    /// It ran and found something: 1.
    Finding,
    /// It could not run: usage, file, permission: 2, also clap's code for wrong usage.
    CouldNotRun,
    /// It ran, and what it found means little: 3.
    NotTrusted,
    /// A recorded server ended with this code; `prony record` keeps it.
    Server(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Good => 0,
            Exit::Finding => 1,
            Exit::CouldNotRun => 2,
            Exit::NotTrusted => 3,
            Exit::Server(code) => code,
        })
    }
}
