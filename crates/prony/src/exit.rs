//! Exit codes and their meaning; `prony --help` lists the same.

use std::process::ExitCode;

use prony_stats::Verdict;

/// Result of a command, as its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// All is as it should be: 0.
    Good,
    /// The command ran and found something: 1.
    Finding,
    /// The command could not run (usage, file, permission): 2, which is also clap's code for wrong usage.
    CouldNotRun,
    /// The command ran, but its result cannot be trusted: 3.
    NotTrusted,
    /// A recorded server ended with this code; `prony record` keeps it.
    Server(u8),
}

impl Exit {
    /// Exit code for all verdicts of one answer: slower is a finding whatever else is found; unclear means that the
    /// rest cannot be trusted.
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
