//! The answer of `prony load` as JSON.

use std::collections::BTreeMap;

use prony_load::{Failures, Histogram, Options, Reason, Report, Sharing, Usage};
use serde::Serialize;

/// JSON document of the answer. Times are seconds, shares are of one core or of all packets.
#[derive(Debug, Serialize)]
pub struct LoadDocument {
    /// Everything requested came about, but for the loss that is allowed.
    good: bool,
    setup: Setup,
    connect: Connect,
    /// Clients that lost their connection, by reason.
    lost_clients: BTreeMap<&'static str, u64>,
    measured_s: f64,
    packets: Packets,
    latency_s: Option<Times>,
    windows: Vec<Window>,
    send_lateness_s: Option<Times>,
    wire: Wire,
    server: Option<Server>,
    server_drops: Option<u64>,
    /// Clients whose disconnection the server did not acknowledge.
    remaining: usize,
    generator: Vec<Cpu>,
    #[serde(flatten)]
    caveats: Caveats,
}

/// What qualifies the figures.
#[derive(Debug, Serialize)]
struct Caveats {
    interrupted: bool,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Setup {
    target: String,
    clients: usize,
    #[serde(flatten)]
    schedule: Schedule,
    shared_socket: bool,
    threads: usize,
    #[serde(flatten)]
    protocol: Protocol,
    deadline_s: f64,
    seed: u64,
}

/// What each client sends, and how clients connect.
#[derive(Debug, Serialize)]
pub(super) struct Schedule {
    rate_hz: f64,
    payload_bytes: usize,
    reply_bytes: u32,
    channels: u8,
    reliable: f64,
    batch: usize,
    burst: usize,
}

impl Schedule {
    /// `burst`: clients that connect at once, which may be limited by the number of clients.
    pub(super) fn of(options: &Options, burst: usize) -> Schedule {
        Schedule {
            rate_hz: options.traffic.rate_hz,
            payload_bytes: options.traffic.payload_bytes,
            reply_bytes: options.traffic.reply.bytes(options.traffic.payload_bytes),
            channels: options.traffic.channels,
            reliable: options.traffic.reliable,
            batch: options.connections.batch,
            burst,
        }
    }
}

/// Options of the protocol.
#[derive(Debug, Serialize)]
struct Protocol {
    throttle: bool,
    checksum: bool,
    range_coder: bool,
}

#[derive(Debug, Serialize)]
struct Connect {
    connected: usize,
    failed: BTreeMap<&'static str, u64>,
    batches: Vec<Batch>,
}

#[derive(Debug, Serialize)]
struct Batch {
    clients: usize,
    connected: usize,
    failed: BTreeMap<&'static str, u64>,
    median_s: Option<f64>,
    p99_s: Option<f64>,
    /// Until the last one was connected.
    max_s: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Packets {
    sent: u64,
    answered: u64,
    late: u64,
    lost: u64,
    duplicates: u64,
    strange: u64,
    not_sent_disconnected: u64,
    not_sent_for_time: u64,
    answer_bytes: u64,
    /// Answered in time, of all that should have been sent.
    reply_ratio: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Times {
    n: u64,
    mean: f64,
    deviation: f64,
    min: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    p999: f64,
    max: f64,
}

#[derive(Debug, Serialize)]
struct Window {
    sent: u64,
    answered: u64,
    p50_s: Option<f64>,
    p99_s: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Wire {
    datagrams_sent: u64,
    bytes_sent: u64,
    datagrams_received: u64,
    bytes_received: u64,
    resent: u64,
    throttled: u64,
    dropped: u64,
    would_block: u64,
    overflowed: u64,
    nobody_listens: u64,
    panics: u64,
}

#[derive(Debug, Serialize)]
struct Server {
    cpu_s: f64,
    waited_s: f64,
    over_s: f64,
    share: f64,
    shares: Vec<f64>,
    threads_ended: u64,
    gone: bool,
}

#[derive(Debug, Serialize)]
struct Cpu {
    cpu_s: f64,
    waited_s: f64,
    share: f64,
}

/// `loss_max`: share of packets that may stay without an answer.
pub fn answer(report: &Report, loss_max: f64, warnings: &[String]) -> LoadDocument {
    let options = &report.options;
    let counts = report.meter.counts();
    let measured_s = report.seconds();
    let batches = report.batches.iter().map(|batch| {
        let at = |q: f64| {
            let last = batch.times_ns.len().checked_sub(1)?;
            Some(seconds(batch.times_ns[(last as f64 * q).round() as usize]))
        };
        Batch {
            clients: batch.clients,
            connected: batch.times_ns.len(),
            failed: by_reason(&batch.failures),
            median_s: at(0.5),
            p99_s: at(0.99),
            max_s: at(1.0),
        }
    });
    let windows = report.meter.windows().iter().map(|window| {
        let at = |q| (!window.latency.is_empty()).then(|| seconds(window.latency.value_at_quantile(q)));
        Window { sent: window.sent, answered: window.latency.len(), p50_s: at(0.5), p99_s: at(0.99) }
    });
    let wire = &report.wire;
    LoadDocument {
        good: !report.falls_short(loss_max),
        setup: Setup {
            target: options.target.to_string(),
            clients: options.clients,
            schedule: Schedule::of(options, options.burst()),
            shared_socket: options.connections.sharing == Sharing::Shared,
            threads: options.threads,
            protocol: Protocol {
                throttle: options.traffic.throttle,
                checksum: options.traffic.checksum,
                range_coder: options.traffic.range_coder,
            },
            deadline_s: options.deadline.as_secs_f64(),
            seed: options.seed,
        },
        connect: Connect {
            connected: report.connected(),
            failed: by_reason(&report.failures()),
            batches: batches.collect(),
        },
        lost_clients: by_reason(&report.lost),
        measured_s,
        packets: Packets {
            sent: counts.sent,
            answered: counts.answered,
            late: counts.late,
            lost: if report.reply_ratio().is_some() { counts.lost() } else { 0 },
            duplicates: counts.duplicates,
            strange: counts.strange,
            not_sent_disconnected: counts.disconnected,
            not_sent_for_time: counts.unsent,
            answer_bytes: counts.answer_bytes,
            reply_ratio: report.reply_ratio(),
        },
        latency_s: times(&report.latency()),
        windows: windows.collect(),
        send_lateness_s: times(report.meter.lateness()),
        wire: Wire {
            datagrams_sent: wire.datagrams_sent,
            bytes_sent: wire.bytes_sent,
            datagrams_received: wire.datagrams_received,
            bytes_received: wire.bytes_received,
            resent: wire.resent,
            throttled: wire.throttled,
            dropped: wire.dropped,
            would_block: wire.would_block,
            overflowed: wire.overflowed,
            nobody_listens: wire.port_closed,
            panics: wire.panics,
        },
        server: report.server.as_ref().map(|server| {
            let (length_ns, usage) = server.total();
            Server {
                cpu_s: seconds(usage.cpu_ns),
                waited_s: seconds(usage.waited_ns),
                over_s: seconds(length_ns),
                share: usage.cpu_ns as f64 / length_ns.max(1) as f64,
                shares: server.shares(),
                threads_ended: server.threads_ended,
                gone: server.is_gone,
            }
        }),
        server_drops: report.server_drops,
        remaining: report.remaining,
        generator: report.generator.threads.iter().map(|&usage| cpu(usage, measured_s)).collect(),
        caveats: Caveats { interrupted: report.is_interrupted, warnings: warnings.to_vec() },
    }
}

fn cpu(usage: Usage, over_s: f64) -> Cpu {
    let cpu_s = seconds(usage.cpu_ns);
    Cpu { cpu_s, waited_s: seconds(usage.waited_ns), share: if over_s > 0.0 { cpu_s / over_s } else { 0.0 } }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn by_reason(failures: &Failures) -> BTreeMap<&'static str, u64> {
    let counts = Reason::ALL.into_iter().map(|reason| (reason.name(), failures.of(reason)));
    counts.filter(|&(_, number)| number > 0).collect()
}

fn times(histogram: &Histogram<u64>) -> Option<Times> {
    let at = |q: f64| seconds(histogram.value_at_quantile(q));
    (!histogram.is_empty()).then(|| Times {
        n: histogram.len(),
        mean: histogram.mean() / 1e9,
        deviation: histogram.stdev() / 1e9,
        min: seconds(histogram.min()),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        max: seconds(histogram.max()),
    })
}
