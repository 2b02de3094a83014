//! An honest ENet client beside a hostile one, for a server that answers packets (`subjects/enet-echo`, the example
//! `enet-echo`): what the server's CPU and the honest client's round trips come to.
//!
//! `enet-hostile --connect HOST:PORT --server-pid PID [--strategy NAME|none] [--mbit 10] [--seconds 5] [--datagrams N]
//! [--seed 1] [--checksum] [--compress]`
//!
//! It prints one object of JSON. The strategies are those of the simulation in `crates/enet`; `--strategy list` prints
//! their names. The honest client sends a reliable and an unreliable packet each 20 ms. `Conversation` is the attacker that
//! converses field by field; with `--mbit 0` it sends as fast as the server reads. `--datagrams N` ends it after N.
//!
//! `enet-hostile --listen [--seed 1] [--checksum] [--compress]`
//!
//! is that attacker as a server, until standard input ends. It prints its port, and at the end how many datagrams it sent.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use prony_enet::{Compressor, Event, Packet, RangeCoder, Settings, crc32_checksum};
use prony_enet_host::{Driver, SocketOptions};
use prony_load::{STAMP_BYTES, Stamp};

use prony_testing::enet::attacker::{Attacker, Coding, Role};
use prony_testing::enet::dice::Dice;
use prony_testing::enet::raw::UDP_BYTES;
use prony_testing::enet::strategies::{HostilePeer, Strategy};

const PACKETS_EVERY: Duration = Duration::from_millis(20);
/// Time for the connections, before anything is measured.
const WARM_UP: Duration = Duration::from_millis(500);

/// The name of the attacker among the strategies.
const CONVERSATION: &str = "Conversation";

/// Who is hostile.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Strategy(Strategy),
    Conversation,
}

#[derive(Debug, Clone, Copy)]
struct Flags {
    connect: Option<SocketAddr>,
    server_pid: Option<u32>,
    kind: Option<Kind>,
    mbit: f64,
    seconds: f64,
    datagrams: u64,
    seed: u64,
    coding: Coding,
    listens: bool,
}

fn flags() -> Result<Flags, Box<dyn Error>> {
    let coding = Coding::default();
    let (connect, server_pid, kind, listens) = (None, None, None, false);
    let mut flags =
        Flags { connect, server_pid, kind, mbit: 10.0, seconds: 5.0, datagrams: u64::MAX, seed: 1, coding, listens };
    let mut words = std::env::args().skip(1);
    while let Some(flag) = words.next() {
        match flag.as_str() {
            "--listen" => flags.listens = true,
            "--checksum" => flags.coding.checksum = true,
            "--compress" => flags.coding.range_coder = true,
            _ => {}
        }
        if matches!(flag.as_str(), "--listen" | "--checksum" | "--compress") {
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{flag} lacks its value"))?;
        match flag.as_str() {
            "--connect" => flags.connect = Some(value.parse()?),
            "--server-pid" => flags.server_pid = Some(value.parse()?),
            "--strategy" if value == "none" => {}
            "--strategy" if value == "list" => {
                Strategy::ALL.iter().for_each(|strategy| println!("{strategy:?}"));
                println!("{CONVERSATION}");
                std::process::exit(0);
            }
            "--strategy" if value == CONVERSATION => flags.kind = Some(Kind::Conversation),
            "--strategy" => {
                let named = Strategy::ALL.into_iter().find(|strategy| format!("{strategy:?}") == value);
                flags.kind = Some(Kind::Strategy(named.ok_or_else(|| format!("there is no strategy {value}"))?));
            }
            "--mbit" => flags.mbit = value.parse()?,
            "--seconds" => flags.seconds = value.parse()?,
            "--datagrams" => flags.datagrams = value.parse()?,
            "--seed" => flags.seed = value.parse()?,
            _ => return Err(format!("{flag} is unknown").into()),
        }
    }
    Ok(flags)
}

/// CPU time of all threads of a process: the scheduler's account, in seconds.
fn cpu_s(pid: u32) -> Result<f64, Box<dyn Error>> {
    let mut total = 0.0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let account = fs::read_to_string(thread?.path().join("schedstat"))?;
        total += account.split(' ').next().ok_or("an empty schedstat")?.parse::<f64>()? / 1e9;
    }
    Ok(total)
}

/// `VmRSS` or `VmHWM` of a process, proc(5): what is resident now, and the most that was.
fn memory_kib(pid: u32, name: &str) -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    Ok(line.ok_or("the process has ended")?.trim().trim_end_matches(" kB").parse()?)
}

/// Bytes that wait in the sockets at `port` to be read, and datagrams that they dropped: columns of /proc/net/udp.
fn queue(port: u16) -> std::io::Result<(u64, u64)> {
    let suffix = format!(":{port:04X}");
    let sockets = fs::read_to_string("/proc/net/udp")?;
    let of = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let of = of.filter(|fields| fields.get(1).is_some_and(|address| address.ends_with(&suffix)));
    Ok(of.fold((0, 0), |(waiting, dropped), fields| {
        let queued = fields.get(4).and_then(|queues| u64::from_str_radix(queues.split_once(':')?.1, 16).ok());
        let lost: Option<u64> = fields.last().and_then(|count| count.parse().ok());
        (waiting + queued.unwrap_or(0), dropped + lost.unwrap_or(0))
    }))
}

enum Peer {
    Strategy(HostilePeer),
    Conversation(Box<Attacker<Dice>>),
}

impl Peer {
    fn hear(&mut self, datagram: &[u8]) {
        match self {
            Peer::Strategy(peer) => peer.hear(datagram),
            Peer::Conversation(peer) => peer.hear(datagram),
        }
    }

    fn next(&mut self, now_ms: u64) -> Option<Vec<u8>> {
        match self {
            Peer::Strategy(peer) => peer.next(now_ms),
            Peer::Conversation(peer) => peer.next(now_ms),
        }
    }

    fn is_waiting(&self) -> bool {
        match self {
            Peer::Strategy(peer) => peer.is_waiting(),
            Peer::Conversation(peer) => !peer.is_connected(),
        }
    }
}

/// Bytes that may wait at the server when the attacker is as fast as it reads: a quarter of its buffer.
const QUEUED_BYTES_MAX: u64 = 2 << 20;
/// Datagrams after which the queue is looked at: the kernel walks over a table of all ports for it, which takes longer than
/// sending a hundred of them. This many, at 2 KiB each in its account, fit into the rest of the buffer.
const QUEUE_EVERY: u64 = 1024;

/// Sends what `peer` makes, at `mbit` with the headers of IPv4 and UDP, until `is_over`.
fn attack(to: SocketAddr, mut peer: Peer, flags: Flags, is_over: &AtomicBool, sent: &AtomicU64) -> std::io::Result<()> {
    let socket = UdpSocket::bind(("127.0.0.1", 0))?;
    socket.connect(to)?;
    socket.set_nonblocking(true)?;
    let (started, mut bytes, mut answer) = (Instant::now(), 0.0, [0; 4096]);
    while !is_over.load(Ordering::Relaxed) {
        loop {
            match socket.recv(&mut answer) {
                Ok(length) => peer.hear(&answer[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        let elapsed = started.elapsed();
        let is_as_fast_as_the_server = flags.mbit == 0.0;
        let is_full = is_as_fast_as_the_server && queue(to.port())?.0 > QUEUED_BYTES_MAX;
        let allowed =
            if is_as_fast_as_the_server { f64::INFINITY } else { elapsed.as_secs_f64() * flags.mbit * 1e6 / 8.0 };
        let mut burst = 0;
        while bytes < allowed && !is_full && burst < QUEUE_EVERY {
            if sent.load(Ordering::Relaxed) >= flags.datagrams {
                is_over.store(true, Ordering::Relaxed);
                return Ok(());
            }
            burst += u64::from(is_as_fast_as_the_server);
            let Some(datagram) = peer.next(elapsed.as_millis() as u64) else { break };
            // What the kernel has no room for is lost, as on any network.
            let _ = socket.send(&datagram);
            bytes += (datagram.len() + UDP_BYTES) as f64;
            sent.fetch_add(1, Ordering::Relaxed);
        }
        if peer.is_waiting() {
            // What it could not send meanwhile is not made up for.
            bytes = if is_as_fast_as_the_server { bytes } else { allowed };
        }
        if !is_as_fast_as_the_server || is_full || peer.is_waiting() {
            std::thread::sleep(Duration::from_micros(500));
        }
    }
    Ok(())
}

/// Is a hostile server, each of whose clients has an attacker of its own, until standard input ends.
fn listen(flags: Flags) -> Result<(), Box<dyn Error>> {
    let socket = UdpSocket::bind(("127.0.0.1", 0))?;
    println!("port {} pid {}", socket.local_addr()?.port(), std::process::id());
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_over);
    std::thread::spawn(move || {
        // Whatever it is, it is the end.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        ends.store(true, Ordering::Relaxed);
    });
    socket.set_read_timeout(Some(Duration::from_millis(1)))?;
    let (started, mut sent, mut bytes) = (Instant::now(), 0u64, [0; 4096]);
    let mut attackers: BTreeMap<SocketAddr, Attacker<Dice>> = BTreeMap::new();
    while !is_over.load(Ordering::Relaxed) {
        match socket.recv_from(&mut bytes) {
            Ok((length, from)) => {
                let seed = flags.seed + attackers.len() as u64;
                let new = || Attacker::new(Dice::new(seed), Role::Server, flags.coding);
                attackers.entry(from).or_insert_with(new).hear(&bytes[..length]);
            }
            // A client that has gone is no error of a server.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused) => {}
            Err(error) => return Err(error.into()),
        }
        for (&to, attacker) in &mut attackers {
            for _ in 0..4 {
                let Some(datagram) = attacker.next(started.elapsed().as_millis() as u64) else { break };
                // What the kernel has no room for is lost, as on any network.
                let _ = socket.send_to(&datagram, to);
                sent += 1;
            }
        }
    }
    println!("{sent} datagrams");
    Ok(())
}

fn quantile(sorted: &[u64], share: f64) -> f64 {
    let at = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(f64::NAN, |&ns| ns as f64 / 1e6)
}

fn main() -> Result<(), Box<dyn Error>> {
    let flags = flags()?;
    if flags.listens {
        return listen(flags);
    }
    let connect = flags.connect.ok_or("--connect HOST:PORT is needed")?;
    let server_pid = flags.server_pid.ok_or("--server-pid PID is needed")?;
    let settings = Settings {
        checksum: flags.coding.checksum.then(crc32_checksum),
        compressor: flags.coding.range_coder.then(|| Box::new(RangeCoder::new()) as Box<dyn Compressor>),
        ..Settings::default()
    };
    let mut driver = Driver::bind(([127, 0, 0, 1], 0).into(), 1, settings, &SocketOptions::default())?;
    driver.host_mut().connect(connect, 2, 0)?;
    let peer = match driver.service(Duration::from_secs(5))? {
        Some(Event::Connect { peer, .. }) => peer,
        other => return Err(format!("no connection to {connect} within 5 s: {other:?}").into()),
    };
    let (is_over, hostile_datagrams) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let dropped_before = queue(connect.port())?.1;
    let hostile = flags.kind.map(|kind| {
        let (is_over, sent) = (Arc::clone(&is_over), Arc::clone(&hostile_datagrams));
        let peer = match kind {
            Kind::Strategy(strategy) => Peer::Strategy(HostilePeer::new(strategy, flags.seed)),
            Kind::Conversation => {
                Peer::Conversation(Box::new(Attacker::new(Dice::new(flags.seed), Role::Client, flags.coding)))
            }
        };
        std::thread::spawn(move || attack(connect, peer, flags, &is_over, &sent))
    });
    let started = Instant::now();
    let seconds = Duration::from_secs_f64(flags.seconds);
    let (mut next, mut sent, mut number, mut round_trips, mut before) = (started, 0u64, 0, Vec::new(), None);
    let mut is_dropped = false;
    // One that is to send a number of datagrams is given the time that it takes.
    let is_counted = flags.datagrams != u64::MAX;
    let is_left = || is_counted && !is_over.load(Ordering::Relaxed);
    while (is_left() || started.elapsed() < WARM_UP + seconds) && !is_dropped {
        let is_measured = started.elapsed() >= WARM_UP;
        if is_measured && before.is_none() {
            before = Some((Instant::now(), cpu_s(server_pid)?, memory_kib(server_pid, "VmRSS")?));
        }
        if Instant::now() >= next {
            next += PACKETS_EVERY;
            for packet in [Packet::reliable, Packet::unreliable] {
                let intended_ns = started.elapsed().as_nanos() as u64;
                let stamp = Stamp { intended_ns, number, reply_bytes: STAMP_BYTES as u32 };
                number += 1;
                driver.host_mut().send(peer, 0, packet(stamp.packet(STAMP_BYTES)))?;
                sent += u64::from(is_measured);
            }
            driver.flush();
        }
        match driver.service(next.saturating_duration_since(Instant::now()))? {
            Some(Event::Receive { packet, .. }) => {
                let stamp = Stamp::read(&packet.payload).ok_or("an answer without a stamp")?;
                if u128::from(stamp.intended_ns) >= WARM_UP.as_nanos() {
                    round_trips.push(started.elapsed().as_nanos() as u64 - stamp.intended_ns);
                }
            }
            Some(Event::Disconnect { .. }) => is_dropped = true,
            Some(Event::Connect { .. }) | None => {}
        }
    }
    let (from, cpu, resident) = before.ok_or("the connection was lost before anything was measured")?;
    let share = (cpu_s(server_pid)? - cpu) / from.elapsed().as_secs_f64();
    let grown = memory_kib(server_pid, "VmRSS")? as i64 - resident as i64;
    is_over.store(true, Ordering::Relaxed);
    if let Some(hostile) = hostile {
        hostile.join().map_err(|_| "the hostile peer ended early")??;
    }
    round_trips.sort_unstable();
    let found = serde_json::json!({
        "strategy": match flags.kind {
            None => "none".to_owned(),
            Some(Kind::Strategy(strategy)) => format!("{strategy:?}"),
            Some(Kind::Conversation) => CONVERSATION.to_owned(),
        },
        "server": {
            "share": share,
            "resident_kib": resident,
            "grown_kib": grown,
            "peak_kib": memory_kib(server_pid, "VmHWM")?,
            "dropped_datagrams": queue(connect.port())?.1 - dropped_before,
        },
        "round_trip_ms": { "median": quantile(&round_trips, 0.5), "p99": quantile(&round_trips, 0.99) },
        "sent": sent,
        "answered": round_trips.len(),
        "dropped": is_dropped,
        "hostile_datagrams": hostile_datagrams.load(Ordering::Relaxed),
    });
    println!("{found}");
    Ok(())
}
