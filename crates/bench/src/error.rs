//! Reasons why nothing was measured, or why a run has no result.

use std::fmt;
use std::io;
use std::time::Duration;

use prony_machine::process::RunError;
use prony_machine::signal_name;

use crate::worker::LineError;

/// Reasons why nothing could be measured at all.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The list of commands is empty.
    #[error("no command to measure")]
    NoCommand,
    /// A duet is of two commands, on a CPU that is named.
    #[error("expected two commands and a CPU for a duet")]
    NoDuet,
    /// The kernel refuses what every run needs.
    #[error("cannot {what}: {error}")]
    System {
        /// Attempted action as a verb phrase, such as `open /dev/null`.
        what: &'static str,
        /// Error that the kernel returned.
        error: io::Error,
    },
}

/// Reasons why a run has no result.
#[derive(Debug)]
pub enum MeasureError {
    /// A signal requested a stop.
    Interrupted,
    /// The command failed, with the phase and its last output.
    Failed(Failed),
}

/// Phases of a bench in which something can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Command once before the first run.
    Setup,
    /// The command that precedes each run; not measured.
    Prepare,
    /// A run that does not count; from 1.
    WarmUp(usize),
    /// A run that shows how much pairs scatter, and does not count.
    Trial,
    /// A measured run, counted from 1.
    Run(usize),
    /// The command that follows each run; not measured.
    Conclude,
    /// Command once after the last run.
    Cleanup,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Phase::Setup => f.write_str("setup"),
            Phase::Prepare => f.write_str("prepare"),
            Phase::WarmUp(run) => write!(f, "warm-up {run}"),
            Phase::Trial => f.write_str("trial run"),
            Phase::Run(run) => write!(f, "run {run}"),
            Phase::Conclude => f.write_str("conclude"),
            Phase::Cleanup => f.write_str("cleanup"),
        }
    }
}

/// Failure of a command, with its output.
#[derive(Debug)]
pub struct Failed {
    /// Name of the command in reports.
    pub name: String,
    /// Phase of the bench in which the command failed.
    pub phase: Phase,
    /// Reason of the failure: an exit code, a signal, the time limit, a wrong value.
    pub problem: Problem,
    /// The last lines it printed on standard error.
    pub stderr_tail: String,
}

/// Problem of a command that failed.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The command exited with this code.
    #[error("expected exit code 0, found {0}")]
    Exited(i32),
    /// A signal of this number ended the command.
    #[error("ended by {}", signal_name(*.0))]
    Signalled(i32),
    /// The command was ended, since it took longer than this.
    #[error("ended after {:?}, the time limit", .0)]
    TimedOut(Duration),
    /// The command could not be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The input or output file could not be opened, or the shell not be started.
    #[error("cannot {verb} `{file}`: {error}")]
    File {
        /// Attempted action as a verb, such as `open` or `execute`.
        verb: &'static str,
        /// Path of the file or of the shell.
        file: String,
        /// Error that the kernel returned.
        error: std::io::Error,
    },
    /// The command wrote a line that is not a value.
    #[error(transparent)]
    Line(#[from] LineError),
    /// It wrote values, which a worker takes by its own clock, while another command had its CPU alternately.
    #[error(
        "expected a command that is timed as a process, found values on $PRONY_FD, whose clock also ran during \
         the other command's slices"
    )]
    WorkerInDuet,
    /// The command wrote values of warm-ups only.
    #[error("expected a value on $PRONY_FD, found only warm-ups")]
    NoValue,
    /// The command wrote other metrics or units than another one.
    #[error("expected values of {expected}, as from the first command, found {found}")]
    OtherMetric {
        /// Metrics and units of the first command.
        expected: String,
        /// Metrics and units of this command.
        found: String,
    },
}
