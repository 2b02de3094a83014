//! The answer of `prony load` as a person reads it.

use std::fmt::Write;
use std::time::Duration;

use prony_load::{Failures, Histogram, Progress, Reason, Report, Warning};
use prony_text::{bytes, count, significant, thousands};

/// Progress of a load on one line.
pub fn progress(clients: usize, duration: Duration, progress: Progress) -> String {
    let Progress { connected, failed, measured_s } = progress;
    let failed = if failed > 0 { format!(", {} failed", thousands(failed)) } else { String::new() };
    let connected = format!("{} of {} clients{failed}", thousands(connected), thousands(clients as u64));
    match measured_s {
        Some(seconds) => format!("{connected}, {seconds:.0} of {} s", significant(duration.as_secs_f64())),
        None => format!("{connected}, connecting"),
    }
}

/// A time in the unit that suits it: `183 µs`, `2.40 ms`, `1.20 s`.
pub fn time(ns: f64) -> String {
    match ns {
        ..1e3 => format!("{} ns", significant(ns)),
        ..1e6 => format!("{} µs", significant(ns / 1e3)),
        ..1e9 => format!("{} ms", significant(ns / 1e6)),
        _ => format!("{} s", significant(ns / 1e9)),
    }
}

pub(crate) fn percent(share: f64) -> String {
    format!("{} %", significant(share * 100.0))
}

/// Reasons why clients have no connection, with the number of clients for each.
pub fn failures(failures: &Failures) -> String {
    let parts = Reason::ALL.into_iter().filter(|&reason| failures.of(reason) > 0).map(|reason| {
        let why = match reason {
            Reason::TimedOut => "no answer in time",
            Reason::PortClosed => "nothing listens on the port",
            Reason::ByServer => "disconnected by the server",
            Reason::Unfit => "unexpected answer from the server",
            Reason::Failed => "internal error in prony",
        };
        format!("{} × {why}", thousands(failures.of(reason)))
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn quantiles(histogram: &Histogram<u64>, of: &[(&str, f64)]) -> String {
    let parts = of.iter().map(|&(name, q)| format!("{name} {}", time(histogram.value_at_quantile(q) as f64)));
    parts.collect::<Vec<_>>().join(", ")
}

/// Text of the whole answer, for people.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    let mut line = |name: &str, text: String| {
        // A string takes everything.
        let _ = writeln!(out, "{name:<13}{text}");
    };
    connections(report, &mut line);
    if report.span.is_some() {
        packets(report, &mut line);
        ends(report, &mut line);
    }
    out
}

fn connections(report: &Report, line: &mut impl FnMut(&str, String)) {
    let clients = count(report.options.clients as u64, "client");
    let batch = thousands(report.options.connections.batch as u64);
    line("connected", format!("{} of {clients}, {batch} at a time", thousands(report.connected() as u64)));
    // The last batch finds the server with all others on it.
    let slowest = report.batches.iter().rev().max_by_key(|batch| batch.times_ns.last().copied());
    let last = report.batches.last();
    let same = last.map(std::ptr::from_ref) == slowest.map(std::ptr::from_ref);
    for (name, batch) in [("slowest", slowest.filter(|_| !same)), ("last", last)] {
        let Some(batch) = batch.filter(|batch| !batch.times_ns.is_empty()) else { continue };
        let times = &batch.times_ns;
        let (middle, most) = (times[times.len() / 2] as f64, times[times.len() - 1] as f64);
        let clients = count(times.len() as u64, "client");
        line("", format!("{name} batch: {clients} in {}, median {}", time(most), time(middle)));
    }
    let failed = report.failures();
    if failed.total() > 0 {
        line("failed", failures(&failed));
    }
    if report.lost.total() > 0 {
        line("lost", failures(&report.lost));
    }
}

fn packets(report: &Report, line: &mut impl FnMut(&str, String)) {
    let counts = report.meter.counts();
    let seconds = report.seconds();
    if report.options.period_ns().is_some() {
        let rate = counts.sent as f64 / seconds;
        let sent = count(counts.sent, "packet");
        line("sent", format!("{sent} in {} s, {} a second", significant(seconds), significant(rate)));
    }
    if let Some(ratio) = report.reply_ratio() {
        let mut parts = vec![format!("{} in time ({:.3} %)", thousands(counts.answered), ratio * 100.0)];
        let mut part = |number: u64, what: &str| {
            if number > 0 {
                parts.push(format!("{} {what}", thousands(number)));
            }
        };
        part(counts.late, "late");
        part(counts.lost(), "lost");
        part(counts.disconnected, "not sent without a connection");
        part(counts.unsent, "not sent, generator too slow");
        part(counts.duplicates, "duplicate answers");
        part(counts.strange, "unknown answers");
        line("answered", parts.join(", "));
        let latency = report.latency();
        if !latency.is_empty() {
            let of = [("median", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("longest", 1.0)];
            line("latency", format!("{} (n = {})", quantiles(&latency, &of), thousands(latency.len())));
            let medians: Vec<f64> = report.medians_ns();
            if let (Some(low), Some(high)) =
                (medians.iter().copied().reduce(f64::min), medians.iter().copied().reduce(f64::max))
            {
                let windows = count(medians.len() as u64, "window");
                line("", format!("medians of {windows} from {} to {}", time(low), time(high)));
            }
        }
    }
    let lateness = report.meter.lateness();
    if !lateness.is_empty() {
        let of = [("median", 0.5), ("p99", 0.99), ("most", 1.0)];
        line("sent late", format!("{} (n = {})", quantiles(lateness, &of), thousands(lateness.len())));
    }
}

fn ends(report: &Report, line: &mut impl FnMut(&str, String)) {
    let wire = &report.wire;
    line(
        "datagrams",
        format!(
            "{} of {} out, {} of {} in",
            thousands(wire.datagrams_sent),
            bytes(wire.bytes_sent),
            thousands(wire.datagrams_received),
            bytes(wire.bytes_received)
        ),
    );
    let odd = [
        (wire.resent, "retransmitted"),
        (wire.throttled, "throttled by ENet"),
        (wire.dropped, "malformed"),
        (wire.port_closed, "port closed"),
        (wire.would_block, "refused by our kernel"),
        (wire.overflowed, "dropped by our sockets"),
        (wire.panics, "internal errors (please report)"),
    ];
    let odd: Vec<String> = odd
        .into_iter()
        .filter(|&(number, _)| number > 0)
        .map(|(number, what)| format!("{} {what}", thousands(number)))
        .collect();
    if !odd.is_empty() {
        line("", odd.join(", "));
    }
    if let Some(server) = &report.server {
        let (length_ns, usage) = server.total();
        let mut shares = server.shares();
        shares.sort_by(f64::total_cmp);
        let text = match (shares.first(), shares.last()) {
            (Some(&low), Some(&high)) => {
                let share = usage.cpu_ns as f64 / length_ns.max(1) as f64;
                let windows = count(shares.len() as u64, "window");
                let waited = usage.waited_ns as f64 / length_ns.max(1) as f64;
                format!(
                    "{} of a core, {} to {} in {windows}; {} waiting for one",
                    percent(share),
                    percent(low),
                    percent(high),
                    percent(waited)
                )
            }
            _ => "not known".to_owned(),
        };
        let gone = if server.is_gone { "; the process has exited" } else { "" };
        line("server CPU", text + gone);
    }
    if let Some(drops) = report.server_drops {
        line("server drops", count(drops, "datagram"));
    }
    if let Some(share) = report.busiest_share() {
        let threads = count(report.generator.threads.len() as u64, "thread");
        line("our CPU", format!("at most {} of a core, of {threads}", percent(share)));
    }
}

/// Text of a warning that qualifies the numbers.
pub fn warning(warning: &Warning) -> String {
    match *warning {
        Warning::GeneratorBusy { share } => {
            format!("the generator used {} of a core: it may be the bottleneck", percent(share))
        }
        Warning::SendsLate { p99_ns } => {
            format!("the generator sent one packet in a hundred more than {} late", time(p99_ns as f64))
        }
        Warning::Unsent { packets } => {
            format!("{} were not sent: the generator was too slow", count(packets, "packet"))
        }
        Warning::OwnDrops { datagrams } => {
            format!("{} were lost between the generator and its kernel", count(datagrams, "datagram"))
        }
        Warning::ServerWaited { share } => {
            format!("the server waited for a CPU during {} of its busy time", percent(share))
        }
        Warning::ServerThreadsEnded { threads } => {
            let threads = count(threads, "thread");
            format!("{threads} of the server ended during the measurement: its CPU time is higher than reported")
        }
        Warning::Interrupted => "interrupted".to_owned(),
    }
}
