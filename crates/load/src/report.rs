//! Results of a load on a server.

use hdrhistogram::Histogram;
use prony_enet::{Dropped, Statistics};

use crate::failures::Failures;
use crate::meter::{Meter, Span};
use crate::options::{Options, Reply};
use crate::sockets::Errors;
use crate::usage::Usage;

/// From this share of a core on, a thread of the generator is what limits the load.
const BUSY: f64 = 0.85;
/// From this lateness on, a packet in a hundred is sent when the server should have had it long ago.
const LATE_NS: u64 = 1_000_000;

/// Results of a load on a server.
#[derive(Debug, Clone)]
pub struct Report {
    /// Options that the load was run with.
    pub options: Options,
    /// Connection results, batch by batch.
    pub batches: Vec<Batch>,
    /// Clients that lost their connection after they had one.
    pub lost: Failures,
    /// Measured time span; `None` if the measurement did not begin.
    pub span: Option<Span>,
    /// The packets, and the times of their answers.
    pub meter: Meter,
    /// Traffic of the clients' hosts during the measurement.
    pub wire: Wire,
    /// The server's CPU time; `None` if its process is not known.
    pub server: Option<ServerUse>,
    /// Datagrams that the server's socket dropped in the whole run, while clients connected too; `None` if it is not on
    /// this machine.
    pub server_drops: Option<u64>,
    /// Clients whose disconnection the server did not acknowledge: it may keep their slots until they time out.
    pub remaining: usize,
    /// The generator's own CPU time.
    pub generator: GeneratorUse,
    /// True if the load was ended before its time.
    pub is_interrupted: bool,
}

/// Batch of clients that connected together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Batch {
    /// Number of clients in the batch.
    pub clients: usize,
    /// Time to each connection, from when the batch began, in ascending order.
    pub times_ns: Vec<u64>,
    /// Failures of those without a connection.
    pub failures: Failures,
}

/// Traffic of hosts, in datagrams and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wire {
    /// Number of datagrams that the clients sent.
    pub datagrams_sent: u64,
    /// Bytes of the sent datagrams, without headers of UDP and below.
    pub bytes_sent: u64,
    /// Number of datagrams that the clients received.
    pub datagrams_received: u64,
    /// Bytes of the received datagrams, without headers of UDP and below.
    pub bytes_received: u64,
    /// Commands sent again as no acknowledgement came in time.
    pub resent: u64,
    /// Unreliable packets that ENet's throttle dropped before they were sent.
    pub throttled: u64,
    /// Datagrams received, or rests of them, that made no sense.
    pub dropped: u64,
    /// Datagrams that the kernel did not take.
    pub would_block: u64,
    /// Datagrams that our own sockets dropped, as far as the kernel reports.
    pub overflowed: u64,
    /// Times that the server's machine reported a closed port.
    pub port_closed: u64,
    /// Panics that were caught while datagrams of the server were handled: faults of this program.
    pub panics: u64,
}

impl Wire {
    pub(crate) fn of(statistics: &Statistics, errors: Errors) -> Wire {
        Wire {
            datagrams_sent: statistics.datagrams_sent,
            bytes_sent: statistics.bytes_sent,
            datagrams_received: statistics.datagrams_received,
            bytes_received: statistics.bytes_received,
            resent: statistics.resent,
            throttled: statistics.throttled,
            dropped: Dropped::ALL.into_iter().map(|reason| statistics.dropped(reason)).sum(),
            would_block: errors.would_block,
            overflowed: errors.overflowed,
            port_closed: errors.port_closed,
            panics: statistics.panics,
        }
    }

    pub(crate) fn plus(self, other: Wire) -> Wire {
        self.with(other, u64::saturating_add)
    }

    pub(crate) fn since(self, earlier: Wire) -> Wire {
        self.with(earlier, u64::saturating_sub)
    }

    fn with(self, other: Wire, f: impl Fn(u64, u64) -> u64) -> Wire {
        Wire {
            datagrams_sent: f(self.datagrams_sent, other.datagrams_sent),
            bytes_sent: f(self.bytes_sent, other.bytes_sent),
            datagrams_received: f(self.datagrams_received, other.datagrams_received),
            bytes_received: f(self.bytes_received, other.bytes_received),
            resent: f(self.resent, other.resent),
            throttled: f(self.throttled, other.throttled),
            dropped: f(self.dropped, other.dropped),
            would_block: f(self.would_block, other.would_block),
            overflowed: f(self.overflowed, other.overflowed),
            port_closed: f(self.port_closed, other.port_closed),
            panics: f(self.panics, other.panics),
        }
    }
}

/// A server's CPU time while it was measured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerUse {
    /// Length of each window, and what all threads did in it.
    pub windows: Vec<(u64, Usage)>,
    /// Threads that ended meanwhile: what they did in their last window is not known.
    pub threads_ended: u64,
    /// The process was gone before the end.
    pub is_gone: bool,
}

impl ServerUse {
    /// Shares of a core, window by window.
    pub fn shares(&self) -> Vec<f64> {
        self.windows.iter().map(|&(length_ns, usage)| usage.cpu_ns as f64 / length_ns.max(1) as f64).collect()
    }

    /// All windows together: their length, and what the threads did.
    pub fn total(&self) -> (u64, Usage) {
        let add = |sum: (u64, Usage), &(length_ns, usage): &(u64, Usage)| (sum.0 + length_ns, sum.1.plus(usage));
        self.windows.iter().fold((0, Usage::default()), add)
    }
}

/// The generator's own CPU time while it was measured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GeneratorUse {
    /// Usage of each thread; empty where the kernel does not account for it.
    pub threads: Vec<Usage>,
}

/// Warnings that limit the reliability of the numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Warning {
    /// A thread of the generator had hardly time to spare.
    GeneratorBusy {
        /// Share of a core that the thread used, 0 to 1.
        share: f64,
    },
    /// Packets were sent later than they should have been.
    SendsLate {
        /// Lateness in nanoseconds that one packet in a hundred exceeded.
        p99_ns: u64,
    },
    /// Packets were not sent at all, as the generator was too far behind.
    Unsent {
        /// Number of packets that were not sent.
        packets: u64,
    },
    /// The generator's own sockets dropped answers, or took no packets.
    OwnDrops {
        /// Number of datagrams that were dropped.
        datagrams: u64,
    },
    /// The server waited for a CPU: what it could do with one is not what was measured.
    ServerWaited {
        /// Share of the time in which it was ready to run or running.
        share: f64,
    },
    /// The server's threads came and went: its CPU time is more than what is reported.
    ServerThreadsEnded {
        /// Number of threads that ended.
        threads: u64,
    },
    /// The load was ended before its time.
    Interrupted,
}

/// From this share of its time on that a server waits for a CPU, its answers are late for lack of one.
const SERVER_WAITED: f64 = 0.2;

impl Report {
    /// Clients that got a connection.
    pub fn connected(&self) -> usize {
        self.batches.iter().map(|batch| batch.times_ns.len()).sum()
    }

    /// Clients that got no connection.
    pub fn failures(&self) -> Failures {
        let mut all = Failures::default();
        for batch in &self.batches {
            all.merge(&batch.failures);
        }
        all
    }

    /// Longest time from the start of a batch to a connection, in nanoseconds: of the burst, if there is one and a client
    /// of it connected, else of all batches.
    pub fn longest_connection_ns(&self) -> Option<u64> {
        let last = |batch: &Batch| batch.times_ns.last().copied();
        let burst = self.batches.last().filter(|_| self.options.burst() > 0).and_then(last);
        burst.or_else(|| self.batches.iter().filter_map(last).max())
    }

    /// Times to all answers, in nanoseconds.
    pub fn latency(&self) -> Histogram<u64> {
        self.meter.latency()
    }

    /// Medians of the times to answers, window by window, in nanoseconds.
    pub fn medians_ns(&self) -> Vec<f64> {
        let windows = self.meter.windows().iter().filter(|window| !window.latency.is_empty());
        windows.map(|window| window.latency.value_at_quantile(0.5) as f64).collect()
    }

    /// True if less came about than was requested: a client without a connection, or a larger share of packets lost than this.
    pub fn falls_short(&self, loss_max: f64) -> bool {
        let ratio = self.reply_ratio();
        self.failures().total() > 0 || self.lost.total() > 0 || ratio.is_some_and(|ratio| 1.0 - ratio > loss_max)
    }

    /// Share of the packets that should have been sent which were answered in time; `None` where no answers were
    /// requested, or nothing should have been sent.
    pub fn reply_ratio(&self) -> Option<f64> {
        self.meter.counts().reply_ratio().filter(|_| self.options.traffic.reply != Reply::None)
    }

    /// Latencies in nanoseconds that these shares of the packets did not exceed, from 0 to 1: infinite where that packet was not
    /// sent or had no answer. `None` without answers.
    pub fn latency_of_packets<const N: usize>(&self, shares: &[f64; N]) -> Option<[f64; N]> {
        let (latency, packets) = (self.latency(), self.meter.counts().packets());
        let at = |share: f64| match (share * packets as f64).ceil() as u64 {
            rank if rank > latency.len() => f64::INFINITY,
            rank => latency.value_at_quantile(rank as f64 / latency.len() as f64) as f64,
        };
        (!latency.is_empty()).then(|| shares.map(at))
    }

    /// Duration of the measurement in seconds.
    pub fn seconds(&self) -> f64 {
        self.span.map_or(0.0, |span| span.length_ns() as f64 / 1e9)
    }

    /// The share of a core that the busiest thread of the generator had; `None` where it is not known.
    pub fn busiest_share(&self) -> Option<f64> {
        let length_ns = self.span?.length_ns().max(1);
        let shares = self.generator.threads.iter().map(|usage| usage.cpu_ns as f64 / length_ns as f64);
        shares.reduce(f64::max)
    }

    /// Warnings that limit the reliability of the numbers.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if self.is_interrupted {
            warnings.push(Warning::Interrupted);
        }
        if let Some(share) = self.busiest_share().filter(|&share| share >= BUSY) {
            warnings.push(Warning::GeneratorBusy { share });
        }
        let p99_ns = self.meter.lateness().value_at_quantile(0.99);
        if p99_ns > LATE_NS {
            warnings.push(Warning::SendsLate { p99_ns });
        }
        let unsent = self.meter.counts().unsent;
        if unsent > 0 {
            warnings.push(Warning::Unsent { packets: unsent });
        }
        let own_drops = self.wire.overflowed + self.wire.would_block;
        if own_drops > 0 {
            warnings.push(Warning::OwnDrops { datagrams: own_drops });
        }
        if let Some(server) = &self.server {
            let (_, Usage { cpu_ns, waited_ns }) = server.total();
            let share = waited_ns as f64 / (cpu_ns + waited_ns).max(1) as f64;
            if share > SERVER_WAITED {
                warnings.push(Warning::ServerWaited { share });
            }
            if server.threads_ended > 0 {
                warnings.push(Warning::ServerThreadsEnded { threads: server.threads_ended });
            }
        }
        warnings
    }
}
