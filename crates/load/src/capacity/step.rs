//! One step of a search: a load, and whether it held.

use prony_stats::samples::Benchmark;

use super::condition::{Condition, Quantity};
use super::search::Outcome;
use crate::failures::Failures;
use crate::report::{Report, Warning};

/// A generator that is late by less than this share of the tightest bound of a latency does not decide a condition.
const LATE_SHARE: f64 = 0.1;

/// One load of the search.
#[derive(Debug, Clone)]
pub struct Step {
    /// Number of clients.
    pub clients: usize,
    /// Result of the step.
    pub outcome: Outcome,
    /// Values of the conditions' quantities, in the order of the conditions; `None` where nothing was measured.
    pub values: Vec<Option<f64>>,
    /// Measurements; `None` if no client connected.
    pub measured: Option<Measured>,
}

/// Measurements of a step.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Median, 99th percentile and maximum of the packets' latency in nanoseconds, infinite where that packet had no answer; `None` without
    /// answers.
    pub latency_ns: Option<[f64; 3]>,
    /// Number of answers.
    pub answers: u64,
    /// Share of the packets without an answer in time; `None` where no answers were requested.
    pub loss: Option<f64>,
    /// Clients without a connection.
    pub failures: Failures,
    /// Clients that lost their connection.
    pub lost: Failures,
    /// Longest time to a connection in nanoseconds, of the burst alone if there is one.
    pub connect_ns: Option<u64>,
    /// The server's share of a core; `None` if its process is not known.
    pub server_share: Option<f64>,
    /// Datagrams that the server's socket dropped.
    pub server_drops: Option<u64>,
    /// 99th percentile of the generator's lateness in nanoseconds.
    pub lateness_ns: u64,
    /// Clients whose disconnection the server did not acknowledge.
    pub remaining: usize,
    /// Warnings of the load.
    pub warnings: Vec<Warning>,
    /// Samples of the step.
    pub benchmarks: Vec<Benchmark>,
}

impl Step {
    pub(super) fn of(conditions: &[Condition], clients: usize, report: &Report) -> Step {
        let values: Vec<Option<f64>> = conditions.iter().map(|condition| condition.value(report)).collect();
        let measured = Measured::of(report);
        let outcome = outcome(conditions, &values, report);
        Step { clients, outcome, values, measured: Some(measured) }
    }

    pub(super) fn without(conditions: &[Condition], clients: usize, outcome: Outcome) -> Step {
        Step { clients, outcome, values: vec![None; conditions.len()], measured: None }
    }

    /// True if the server may keep slots for clients of this step.
    pub(super) fn leaves_clients(&self) -> bool {
        let clean = |measured: &Measured| measured.failures.total() == 0 && measured.remaining == 0;
        !self.measured.as_ref().is_some_and(clean)
    }
}

/// A step that holds despite a late generator holds: lateness only adds to the latency. One that fails says something
/// about the server only if the generator was not the reason.
fn outcome(conditions: &[Condition], values: &[Option<f64>], report: &Report) -> Outcome {
    let all_served = report.failures().total() == 0 && report.lost.total() == 0;
    let holds = all_served && conditions.iter().zip(values).all(|(condition, &value)| condition.holds(value));
    // What was not sent is load that the server did not have.
    if report.meter.counts().unsent > 0 {
        return Outcome::GeneratorLimited;
    }
    if holds {
        return Outcome::Holds;
    }
    let latencies = conditions.iter().filter(|condition| matches!(condition.quantity, Quantity::Latency(_)));
    let tightest_ns = latencies.map(|condition| condition.below).reduce(f64::min);
    let is_generator = report.warnings().iter().any(|warning| match *warning {
        Warning::SendsLate { p99_ns } => tightest_ns.is_none_or(|bound_ns| p99_ns as f64 > bound_ns * LATE_SHARE),
        Warning::GeneratorBusy { .. } | Warning::OwnDrops { .. } | Warning::Unsent { .. } => true,
        Warning::ServerWaited { .. } | Warning::ServerThreadsEnded { .. } | Warning::Interrupted => false,
    });
    if is_generator { Outcome::GeneratorLimited } else { Outcome::Fails }
}

impl Measured {
    /// True if all clients connected and kept their connection.
    pub fn all_served(&self) -> bool {
        self.failures.total() == 0 && self.lost.total() == 0
    }

    fn of(report: &Report) -> Measured {
        Measured {
            latency_ns: report.latency_of_packets(&[0.5, 0.99, 1.0]),
            answers: report.latency().len(),
            loss: report.reply_ratio().map(|ratio| 1.0 - ratio),
            failures: report.failures(),
            lost: report.lost,
            connect_ns: report.longest_connection_ns(),
            server_share: report.server.as_ref().filter(|server| !server.windows.is_empty()).map(|server| {
                let (length_ns, usage) = server.total();
                usage.cpu_ns as f64 / length_ns.max(1) as f64
            }),
            server_drops: report.server_drops,
            lateness_ns: report.meter.lateness().value_at_quantile(0.99),
            remaining: report.remaining,
            warnings: report.warnings(),
            benchmarks: report.benchmarks(),
        }
    }
}
