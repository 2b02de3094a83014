//! Options of a bench: commands and how to measure them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use prony_machine::process::{Ended, Placement};
use prony_stats::judge::Plan;
use prony_stats::samples::Circumstances;
use serde_json::Value;

use crate::command::CommandLine;

/// One command that is measured.
#[derive(Debug, Clone)]
pub struct Subject {
    /// Name of the command in reports and samples.
    pub name: String,
    /// Program and arguments, as they are run.
    pub command: CommandLine,
    /// Command before each run, not measured; text for `sh`.
    pub prepare: Option<String>,
    /// Command after each run, not measured; text for `sh`.
    pub conclude: Option<String>,
    /// Command once before the first run; text for `sh`.
    pub setup: Option<String>,
    /// Command once after the last run; text for `sh`.
    pub cleanup: Option<String>,
    /// Name before parameter values were substituted into it; `None` where the name has none.
    pub template: Option<String>,
    /// Parameter values substituted into the command.
    pub parameters: BTreeMap<String, String>,
}

/// Command or commands with which each of several is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// All others are compared with this one, an index from 0.
    Subject(usize),
    /// Each is compared with the fastest, whichever that is.
    Fastest,
}

/// Standard input of the commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Input {
    /// Standard input is empty: `/dev/null`.
    #[default]
    Null,
    /// Standard input is this file, from its beginning in each run.
    File(PathBuf),
}

/// Standard output of the commands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Output {
    /// Standard output is discarded: `/dev/null`.
    #[default]
    Null,
    /// Into a pipe that is emptied: programs that notice `/dev/null` do their work.
    Pipe,
    /// Standard output is that of this process.
    Inherit,
    /// Into this file, made again in each run.
    File(PathBuf),
}

/// Limits on the number of rounds; by default there are as many as a verdict takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RoundLimits {
    /// Exactly this many rounds instead of as many as it takes.
    pub exactly: Option<usize>,
    /// Rounds before which no verdict is made, however clear it is and however long they take.
    pub min: usize,
    /// Rounds at most; a verdict is made then if not before.
    pub max: Option<usize>,
}

impl RoundLimits {
    /// Exactly `rounds` rounds.
    pub fn exactly(rounds: usize) -> RoundLimits {
        RoundLimits { exactly: Some(rounds), ..RoundLimits::default() }
    }

    /// Largest number of rounds; `None` without a limit.
    pub(crate) fn most(&self) -> Option<usize> {
        self.exactly.or(self.max)
    }
}

/// Exit codes besides 0 with which a run counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Accepted {
    /// None: such a run ends the bench.
    #[default]
    None,
    /// These.
    Codes(Vec<i32>),
    /// All of them, and deaths by a signal.
    All,
}

impl Accepted {
    /// True if a run that ended so counts.
    pub(crate) fn takes(&self, ended: Ended) -> bool {
        match (self, ended) {
            (_, Ended::Exited(0)) | (Accepted::All, _) => true,
            (Accepted::Codes(codes), Ended::Exited(code)) => codes.contains(&code),
            _ => false,
        }
    }
}

/// How each command runs: streams, environment, directory, CPU.
#[derive(Debug, Clone)]
pub struct Execution {
    /// Exit codes that are accepted besides 0.
    pub accepted: Accepted,
    /// Standard input of every run.
    pub input: Input,
    /// Standard output of every run.
    pub output: Output,
    /// CPU and scheduler of the commands.
    pub placement: Placement,
    /// Commands need no files from here, so each round may run in an empty directory of another depth.
    pub randomize_directory: bool,
    /// The environment of the commands, before anything is added to it.
    pub environment: Vec<(OsString, OsString)>,
}

/// Options of a benchmark: commands, plan, surroundings of each run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The commands, at least one.
    pub subjects: Vec<Subject>,
    /// Command or commands with which each is compared.
    pub reference: Reference,
    /// Error rate, margin and time limit.
    pub plan: Plan,
    /// Limits on the number of rounds.
    pub rounds: RoundLimits,
    /// True if the planned time may be extended where runs take long, since the user did not set it.
    pub stretches: bool,
    /// Runs of each command that come first and do not count.
    pub warmup_runs: usize,
    /// Seconds that a value of a worker should last at least.
    pub value_s_min: f64,
    /// Surroundings of every run.
    pub execution: Execution,
    /// Two commands run at once on the CPU of their placement, in slices of half a millisecond: what
    /// disturbs the machine for longer disturbs both. Judged on CPU time and uncontended time; wall time is that of both.
    pub duet: bool,
    /// Try first, on one command with itself, whether a duet on this CPU scatters less, and take the way that does.
    pub duet_tried_on: Option<usize>,
    /// Seed for the order of runs and the surroundings of rounds: equal seed, equal draws.
    pub seed: u64,
    /// Facts of the machine, for the samples.
    pub machine: Value,
    /// Tuning of the machine, for the samples.
    pub tuning: Value,
}

impl Options {
    /// Seconds that hold as many runs of each command as a verdict should have, where a run takes so long.
    pub fn time_for_verdict_s(&self, run_s: f64) -> f64 {
        const PAIRS: f64 = 12.0;
        PAIRS * run_s * self.subjects.len() as f64
    }

    /// Copy of the options for a duet on `cpu`.
    #[must_use]
    pub fn in_duet(&self, cpu: usize) -> Options {
        let mut options = Options { duet: true, duet_tried_on: None, ..self.clone() };
        options.execution.placement.cpu = Some(cpu);
        if let Some(tuning) = options.tuning.as_object_mut() {
            tuning.insert("duet".to_owned(), true.into());
        }
        options
    }

    /// Circumstances of a bench with these options for its samples, before it has begun.
    pub fn circumstances(&self) -> Circumstances {
        self.within(self.plan.budget_s)
    }

    /// Circumstances with this time in place of the planned one.
    pub fn within(&self, budget_s: f64) -> Circumstances {
        let budget_s = self.rounds.exactly.is_none().then_some(budget_s);
        Circumstances {
            metric: self.plan.metric,
            pairs_min: self.rounds.min as u64,
            pairs_max: self.rounds.max.map(|rounds| rounds as u64),
            ..circumstances(&self.machine, &self.tuning, self.seed, budget_s)
        }
    }
}

pub(crate) fn circumstances(machine: &Value, tuning: &Value, seed: u64, budget_s: Option<f64>) -> Circumstances {
    Circumstances {
        prony_version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: machine.clone(),
        tuning: tuning.clone(),
        pairing: Some(format!("{seed:016x}")),
        budget_s,
        ..Circumstances::default()
    }
}
