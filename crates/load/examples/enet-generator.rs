//! A load of ENet clients without the command around it: what `prony load enet` does, built in a minute. Comparisons of
//! generators start one of these for each commit.
//!
//! `enet-generator --connect IP:PORT [--clients N] [--rate N] [--seconds N] [--payload BYTES] [--reply BYTES]
//! [--shared-socket] [--reliable] [--seed N]`
//!
//! It prints one line of JSON: packets, how late they were sent, latency of answers, CPU time of the generator, memory.
#![forbid(unsafe_code)]

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use prony_load::{Connections, Histogram, Options, Reply, Report, STAMP_BYTES, Sharing, Traffic, load};
use serde_json::{Value, json};

fn options() -> Result<Options, Box<dyn Error>> {
    let mut options = Options {
        target: (Ipv4Addr::LOCALHOST, 0).into(),
        clients: 8000,
        traffic: Traffic {
            rate_hz: 12.5,
            payload_bytes: STAMP_BYTES,
            reply: Reply::Echo,
            channels: 4,
            reliable: 0.0,
            throttle: false,
            checksum: false,
            range_coder: false,
        },
        connections: Connections { batch: 500, burst: 0, timeout: Duration::from_secs(10), sharing: Sharing::Own },
        duration: Duration::from_secs(3),
        threads: 1,
        deadline: Duration::from_secs(2),
        server_pid: None,
        seed: 1,
    };
    let mut words = std::env::args().skip(1);
    while let Some(flag) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{flag} lacks its value"));
        match flag.as_str() {
            "--connect" => options.target = value()?.parse::<SocketAddr>()?,
            "--clients" => options.clients = value()?.parse::<usize>()?.max(1),
            "--rate" => options.traffic.rate_hz = value()?.parse()?,
            "--seconds" => options.duration = Duration::from_secs_f64(value()?.parse()?),
            "--payload" => options.traffic.payload_bytes = value()?.parse()?,
            "--reply" => {
                options.traffic.reply = match value()?.parse()? {
                    0 => Reply::None,
                    bytes => Reply::Bytes(bytes),
                }
            }
            "--shared-socket" => options.connections.sharing = Sharing::Shared,
            "--reliable" => options.traffic.reliable = 1.0,
            "--seed" => options.seed = value()?.parse()?,
            _ => return Err(format!("{flag} is unknown").into()),
        }
    }
    Ok(options)
}

fn quantiles(times: &Histogram<u64>) -> Value {
    let at = |share| times.value_at_quantile(share);
    json!({ "n": times.len(), "p50": at(0.5), "p99": at(0.99), "max": at(1.0) })
}

/// Largest resident memory of this process so far, in bytes: `VmHWM`, proc(5).
fn memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
}

fn answer(report: &Report) -> Value {
    let (counts, wire) = (report.meter.counts(), report.wire);
    json!({
        "connected": report.connected(),
        "lost_clients": report.lost.total(),
        "seconds": report.seconds(),
        "sent": counts.sent,
        "answered": counts.answered,
        "late": counts.late,
        "lost": counts.lost(),
        "unsent": counts.unsent,
        "lateness_ns": quantiles(report.meter.lateness()),
        "latency_ns": quantiles(&report.latency()),
        "cpu_share": report.busiest_share(),
        "waited_share": report.generator.threads.first().map(|usage| usage.waited_ns as f64 / 1e9 / report.seconds()),
        "datagrams_sent": wire.datagrams_sent,
        "datagrams_received": wire.datagrams_received,
        "resent": wire.resent,
        "own_drops": wire.would_block + wire.overflowed,
        "server_drops": report.server_drops,
        "memory_bytes": memory_bytes(),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let report = load(&options()?, || false, &mut |_| ())?;
    println!("{}", answer(&report));
    Ok(())
}
