//! Results of a bench, and its progress events.

use std::fmt;

use prony_machine::process::{Counter, NoWait};
use prony_machine::{CpuSet, Quota};
use prony_stats::judge::Outcome;
use prony_stats::ranking::Rank;
use prony_stats::samples::{Benchmark, Samples};
use prony_stats::{Interval, Metric};

use crate::error::Failed;
use crate::summary::Summary;
use crate::trial::Tried;
use crate::until_divergence::UntilDivergence;

/// Result of a benchmark: samples, summaries, comparisons, warnings.
#[derive(Debug)]
pub struct Report {
    /// Every run, whatever came of it.
    pub samples: Samples,
    /// Summary of each command, in the order given; `None` without a complete run.
    pub summaries: Vec<Option<Summary>>,
    /// Comparison of each other command with the reference, or with the first one if each is compared with the fastest;
    /// empty without a complete round.
    pub comparisons: Vec<Comparison>,
    /// Commands from the fastest on, if each is compared with the fastest; `None` without a complete round too.
    pub ranking: Option<Ranking>,
    /// Metric that is judged first: `cpu`, or a worker's name for it.
    pub metric: String,
    /// Trial of both ways of pairing, if it took place.
    pub tried: Option<Tried>,
    /// Whole rounds: a run of every command that was still undecided.
    pub rounds: usize,
    /// Seconds from the first round to the last.
    pub elapsed_s: f64,
    /// Share of their wall time that runs were ready and had no CPU; `None` where that is not known.
    pub contention: Option<f64>,
    /// Reason why the bench ended.
    pub ended: Ended,
    /// Warnings that limit the reliability of the result.
    pub warnings: Vec<Warning>,
    /// Hardware counters of this machine.
    pub counters: Vec<Counter>,
}

/// Commands in relation to the fastest of them.
#[derive(Debug, Clone)]
pub struct Ranking {
    /// Metric of the ratios.
    pub metric: Metric,
    /// Commands, the fastest first; candidates are indices of subjects. All intervals hold together.
    pub places: Vec<Rank>,
}

/// Comparison of a command with another one.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Index of the command that it is compared with.
    pub reference: usize,
    /// Index of the command among the subjects, from 0.
    pub subject: usize,
    /// Outcome of the command relative to the reference.
    pub outcome: Outcome,
}

/// Reasons for the end of a bench.
#[derive(Debug)]
pub enum Ended {
    /// All is known, or time was up, or the requested runs are done.
    Complete,
    /// A signal requested a stop.
    Interrupted,
    /// A command failed, and failures were not to be ignored.
    Failed(Failed),
}

/// Something to look at before a result is relied on.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// Runs ended with another code than 0 or by a signal, and that was to be ignored.
    Failures {
        /// Name of the command in reports.
        name: String,
        /// Number of runs that failed.
        failed: usize,
        /// Number of runs, failed ones included.
        runs: usize,
    },
    /// Threads or children, and no wait for a CPU that could be taken off wall time.
    WaitUnknown {
        /// Name of the command in reports.
        name: String,
        /// It had more than one thread.
        threads: bool,
        /// True if the command had children.
        children: bool,
        /// Reason why it is unknown.
        reason: NoWait,
    },
    /// A CPU quota stopped everything for a time.
    Throttled(Quota),
    /// Several threads on CPUs between which the scheduler moves nothing.
    Unbalanced {
        /// Name of the command in reports.
        name: String,
        /// The isolated CPUs, on which alone the command may run.
        cpus: CpuSet,
    },
    /// Runs that take hardly longer than starting a process.
    Short {
        /// Name of the command in reports.
        name: String,
        /// Median wall time of a run, in seconds.
        wall_s: f64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::Failures { name, failed, runs } => {
                write!(f, "{failed} of {runs} runs of `{name}` failed")
            }
            Warning::WaitUnknown { name, threads, children, reason } => {
                let what = match (threads, children) {
                    (true, true) => "threads and children",
                    (true, false) => "threads",
                    _ => "children",
                };
                let why = match reason {
                    NoWait::NotReported => {
                        ", whose wait for a CPU is visible only with CAP_NET_ADMIN, outside containers"
                    }
                    NoWait::Lost => ", whose wait for a CPU is unknown, because kernel records were lost",
                    NoWait::Outlived => ", some of which outlive it, so their wait for a CPU is unknown",
                    NoWait::Overlap => {
                        " that may run in parallel, so their waits for a CPU do not add up to lost \
                                        wall time"
                    }
                };
                write!(f, "`{name}` has {what}{why}: judged by wall time")
            }
            Warning::Throttled(Quota { cpus, periods, throttled, stopped_s, .. }) => write!(
                f,
                "the CPU quota of this container or service, {cpus:.2} CPUs, stopped everything in {throttled} of {periods} periods, \
                 for {stopped_s:.2} s: raise it (docker --cpus, limits.cpu of Kubernetes, CPUQuota= of systemd), or judge by \
                 --metric cpu"
            ),
            Warning::Unbalanced { name, cpus } => write!(
                f,
                "`{name}` has several threads, and CPU {cpus} are isolated at boot (isolcpus): the scheduler moves nothing \
                 between them, so all run on the CPU on which they start unless the command pins them itself"
            ),
            Warning::Short { name, wall_s } => {
                write!(f, "a run of `{name}` takes {:.2} ms, much of which is process start-up", wall_s * 1e3)
            }
        }
    }
}

/// Events while a bench runs.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// The warm-up runs have begun; sent once.
    WarmingUp,
    /// A run of this command took longer, in seconds, than the time limit of all; sent once, after the first such run.
    Long(usize, f64, f64),
    /// The time that was planned by default holds too few pairs: another one is planned, before the first
    /// pair. Seconds that a pair takes, and seconds planned now.
    Stretched(f64, f64),
    /// A build diverged: from now on, only the frames before are compared. Sent once.
    Diverged(UntilDivergence),
    /// Replays of each build that have been profiled.
    Profiling(usize),
    /// A round is done: how far the bench is, and every run so far.
    Round(Round, &'a [Benchmark]),
}

/// Progress of a benchmark, after each round.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// Both ways of pairing were tried, and runs are in a duet.
    pub duet_taken: bool,
    /// Number of rounds that are complete.
    pub rounds: usize,
    /// Number of rounds requested; `None` if the judge decides.
    pub rounds_wanted: Option<usize>,
    /// Seconds since the first round began.
    pub elapsed_s: f64,
    /// Time limit of all rounds, in seconds.
    pub budget_s: f64,
    /// The second command relative to the first as a log ratio; of one command alone, its time.
    pub live: Option<Interval>,
    /// Share of their wall time that runs were ready and had no CPU.
    pub contention: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_on_isolated_cpus_are_warned_of_with_the_cpus() {
        let cpus = "1-2,4".parse().expect("a list");
        assert_eq!(
            Warning::Unbalanced { name: "./server".to_owned(), cpus }.to_string(),
            "`./server` has several threads, and CPU 1-2,4 are isolated at boot (isolcpus): the scheduler moves nothing between \
             them, so all run on the CPU on which they start unless the command pins them itself"
        );
    }
}
