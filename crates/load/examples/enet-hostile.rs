//! An honest ENet client beside a hostile one, for a server that answers packets (`subjects/enet-echo`, the example
//! `enet-echo`): what the server's CPU and the honest client's round trips come to.
//!
//! `enet-hostile --connect HOST:PORT --server-pid PID [--strategy NAME|none] [--mbit 10] [--seconds 5]`
//!
//! It prints one object of JSON. The strategies are those of the simulation in `crates/enet`; `--strategy list` prints
//! their names. The honest client sends a reliable and an unreliable packet each 20 ms.
#![forbid(unsafe_code)]

use std::error::Error;
use std::fs;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use prony_enet::{Event, Packet, Settings};
use prony_enet_host::{Driver, SocketOptions};
use prony_load::{STAMP_BYTES, Stamp};

use prony_testing::enet::raw::UDP_BYTES;
use prony_testing::enet::strategies::{HostilePeer, Strategy};

const PACKETS_EVERY: Duration = Duration::from_millis(20);
/// Time for the connections, before anything is measured.
const WARM_UP: Duration = Duration::from_millis(500);

struct Flags {
    connect: SocketAddr,
    server_pid: u32,
    strategy: Option<Strategy>,
    mbit: f64,
    seconds: f64,
}

fn flags() -> Result<Flags, Box<dyn Error>> {
    let (mut connect, mut server_pid, mut strategy, mut mbit, mut seconds) = (None, None, None, 10.0, 5.0);
    let mut words = std::env::args().skip(1);
    while let Some(flag) = words.next() {
        let value = words.next().ok_or_else(|| format!("{flag} lacks its value"))?;
        match flag.as_str() {
            "--connect" => connect = Some(value.parse()?),
            "--server-pid" => server_pid = Some(value.parse()?),
            "--strategy" if value == "none" => {}
            "--strategy" if value == "list" => {
                Strategy::ALL.iter().for_each(|strategy| println!("{strategy:?}"));
                std::process::exit(0);
            }
            "--strategy" => {
                let named = Strategy::ALL.into_iter().find(|strategy| format!("{strategy:?}") == value);
                strategy = Some(named.ok_or_else(|| format!("there is no strategy {value}"))?);
            }
            "--mbit" => mbit = value.parse()?,
            "--seconds" => seconds = value.parse()?,
            _ => return Err(format!("{flag} is unknown").into()),
        }
    }
    let connect = connect.ok_or("--connect HOST:PORT is needed")?;
    let server_pid = server_pid.ok_or("--server-pid PID is needed")?;
    Ok(Flags { connect, server_pid, strategy, mbit, seconds })
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

fn resident_kib(pid: u32) -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// Sends what `peer` makes, at `mbit` with the headers of IPv4 and UDP, until `is_over`.
fn attack(
    to: SocketAddr,
    mut peer: HostilePeer,
    mbit: f64,
    is_over: &AtomicBool,
    sent: &AtomicU64,
) -> std::io::Result<()> {
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
        let allowed = elapsed.as_secs_f64() * mbit * 1e6 / 8.0;
        while bytes < allowed {
            let Some(datagram) = peer.next(elapsed.as_millis() as u64) else { break };
            // What the kernel has no room for is lost, as on any network.
            let _ = socket.send(&datagram);
            bytes += (datagram.len() + UDP_BYTES) as f64;
            sent.fetch_add(1, Ordering::Relaxed);
        }
        if peer.is_waiting() {
            // What it could not send meanwhile is not made up for.
            bytes = allowed;
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    Ok(())
}

fn quantile(sorted: &[u64], share: f64) -> f64 {
    let at = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(at).map_or(f64::NAN, |&ns| ns as f64 / 1e6)
}

fn main() -> Result<(), Box<dyn Error>> {
    let flags = flags()?;
    let mut driver = Driver::bind(([127, 0, 0, 1], 0).into(), 1, Settings::default(), &SocketOptions::default())?;
    driver.host_mut().connect(flags.connect, 2, 0)?;
    let peer = match driver.service(Duration::from_secs(5))? {
        Some(Event::Connect { peer, .. }) => peer,
        other => return Err(format!("no connection to {} within 5 s: {other:?}", flags.connect).into()),
    };
    let (is_over, hostile_datagrams) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let hostile = flags.strategy.map(|strategy| {
        let (is_over, sent) = (Arc::clone(&is_over), Arc::clone(&hostile_datagrams));
        std::thread::spawn(move || attack(flags.connect, HostilePeer::new(strategy, 1), flags.mbit, &is_over, &sent))
    });
    let started = Instant::now();
    let seconds = Duration::from_secs_f64(flags.seconds);
    let (mut next, mut sent, mut number, mut round_trips, mut before) = (started, 0u64, 0, Vec::new(), None);
    let mut is_dropped = false;
    while started.elapsed() < WARM_UP + seconds && !is_dropped {
        let is_measured = started.elapsed() >= WARM_UP;
        if is_measured && before.is_none() {
            before = Some((Instant::now(), cpu_s(flags.server_pid)?, resident_kib(flags.server_pid)?));
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
    let share = (cpu_s(flags.server_pid)? - cpu) / from.elapsed().as_secs_f64();
    let grown = resident_kib(flags.server_pid)? as i64 - resident as i64;
    is_over.store(true, Ordering::Relaxed);
    if let Some(hostile) = hostile {
        hostile.join().map_err(|_| "the hostile peer ended early")??;
    }
    round_trips.sort_unstable();
    let found = serde_json::json!({
        "strategy": flags.strategy.map_or("none".into(), |strategy| format!("{strategy:?}")),
        "server": { "share": share, "resident_kib": resident, "grown_kib": grown },
        "round_trip_ms": { "median": quantile(&round_trips, 0.5), "p99": quantile(&round_trips, 0.99) },
        "sent": sent,
        "answered": round_trips.len(),
        "dropped": is_dropped,
        "hostile_datagrams": hostile_datagrams.load(Ordering::Relaxed),
    });
    println!("{found}");
    Ok(())
}
