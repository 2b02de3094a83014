//! What the exit code says; `prony --help` says the same.

use std::process::ExitCode;

use prony_stats::judge::Verdict;

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

impl Exit {
    /// Of all verdicts of one answer: slower is a finding whatever else is found; unclear is no reason to trust the rest.
    pub fn of(verdicts: impl IntoIterator<Item = Verdict>) -> Exit {
        verdicts.into_iter().fold(Exit::Good, |exit, verdict| match (exit, verdict) {
            (_, Verdict::Slower) | (Exit::Finding, _) => Exit::Finding,
            (_, Verdict::Unclear) | (Exit::NotTrusted, _) => Exit::NotTrusted,
            (_, Verdict::Faster | Verdict::Same) => Exit::Good,
        })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slower_is_a_finding_whatever_else_is_found() {
        use Verdict::{Faster, Same, Slower, Unclear};
        for (verdicts, exit) in [
            (&[][..], Exit::Good),
            (&[Faster, Same], Exit::Good),
            (&[Same, Unclear, Faster], Exit::NotTrusted),
            (&[Unclear, Slower, Faster], Exit::Finding),
            (&[Slower, Unclear], Exit::Finding),
        ] {
            assert_eq!(Exit::of(verdicts.iter().copied()), exit, "{verdicts:?}");
        }
    }
}
