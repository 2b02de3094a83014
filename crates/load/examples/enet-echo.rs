//! An ENet server that answers packets, on `prony-enet-host`: what `subjects/enet-echo` is on the stock library, and
//! with the same flags. It takes IPv6, and more than 4,095 clients.
//!
//! `enet-echo [--address IP] [--port N] [--slots N] [--poll-hz N] [--reply asked|echo|none|BYTES] [--work-us N]
//! [--checksum] [--compress] [--ethernet PORT] [--prefix-bits N] [--ring N] [--mac MAC]`
//!
//! With `--ethernet xdp:INTERFACE` and the feature `ethernet` it is on an interface of the kernel, without the kernel's
//! network, and needs an address and a port. `--prefix-bits` are those of the link, `--ring` is how many frames may wait, and
//! `--mac` is the hardware address on a port that has none, as `vhost-user:SOCKET`.
//!
//! It prints one line, `port PORT pid PID`, and serves until it is ended. Polled as games poll: all events that are
//! there, then nothing until the next tick.
#![forbid(unsafe_code)]

use std::error::Error;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use prony_enet::{Event, Host, Kind, Packet, PeerId, RangeCoder, Received, Settings, crc32_checksum};
use prony_enet_host::{Driver, SocketOptions, Transport, limit_panic_messages};
use prony_load::{STAMP_BYTES, Stamp};

/// A packet may request any length: no answer is longer.
const REPLY_BYTES_MAX: usize = 65_536;

#[derive(Debug, Clone, Copy)]
enum Reply {
    Requested,
    Echo,
    Bytes(usize),
}

struct Flags {
    address: IpAddr,
    port: u16,
    slots: usize,
    poll_hz: u32,
    reply: Reply,
    /// Time on the CPU that a packet costs, as a game's logic would.
    work: Duration,
    settings: Settings,
    ethernet: Option<Ethernet>,
}

/// A port of Ethernet, and its link.
#[cfg_attr(not(feature = "ethernet"), expect(dead_code, reason = "only an error follows"))]
struct Ethernet {
    port: String,
    prefix_bits: u8,
    ring_entries: usize,
    mac: Option<[u8; 6]>,
}

fn flags() -> Result<Flags, Box<dyn Error>> {
    let mut flags = Flags {
        address: Ipv4Addr::LOCALHOST.into(),
        port: 0,
        slots: 4095,
        poll_hz: 1000,
        reply: Reply::Requested,
        work: Duration::ZERO,
        settings: Settings::default(),
        ethernet: None,
    };
    let (mut prefix_bits, mut ring_entries, mut mac, mut ethernet) = (24, 4096, None, None);
    let mut words = std::env::args().skip(1);
    while let Some(flag) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{flag} lacks its value"));
        match flag.as_str() {
            "--checksum" => flags.settings.checksum = Some(crc32_checksum()),
            "--compress" => flags.settings.compressor = Some(Box::new(RangeCoder::new())),
            "--ethernet" => ethernet = Some(value()?),
            "--prefix-bits" => prefix_bits = value()?.parse()?,
            "--ring" => ring_entries = value()?.parse()?,
            "--mac" => mac = Some(mac_address(&value()?)?),
            "--address" => flags.address = value()?.parse()?,
            "--port" => flags.port = value()?.parse()?,
            "--slots" => flags.slots = value()?.parse()?,
            "--poll-hz" => flags.poll_hz = value()?.parse::<u32>()?.max(1),
            "--work-us" => flags.work = Duration::from_micros(value()?.parse()?),
            "--reply" => {
                flags.reply = match value()?.as_str() {
                    "asked" => Reply::Requested,
                    "echo" => Reply::Echo,
                    "none" => Reply::Bytes(0),
                    bytes => Reply::Bytes(bytes.parse()?),
                }
            }
            _ => return Err(format!("{flag} is unknown").into()),
        }
    }
    flags.ethernet = ethernet.map(|port| Ethernet { port, prefix_bits, ring_entries, mac });
    Ok(flags)
}

fn mac_address(text: &str) -> Result<[u8; 6], String> {
    let bytes: Result<Vec<u8>, _> = text.split(':').map(|byte| u8::from_str_radix(byte, 16)).collect();
    let six = bytes.ok().and_then(|bytes| bytes.try_into().ok());
    six.ok_or_else(|| format!("--mac: expected six bytes as 02:00:00:00:00:01, found {text}"))
}

/// Uses the CPU for a while: time in which another process has it does not count.
fn work(length: Duration) {
    // Reading that clock is a system call.
    if length.is_zero() {
        return;
    }
    let cpu = || {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
    };
    let start = cpu();
    while cpu().saturating_sub(start) < length {
        std::hint::spin_loop();
    }
}

/// Answers a packet that begins with a stamp.
fn answer(host: &mut Host, peer: PeerId, packet: &Received, reply: Reply) {
    let Some(stamp) = Stamp::read(&packet.payload) else { return };
    let bytes = match reply {
        Reply::Requested => stamp.reply_bytes as usize,
        Reply::Echo => packet.payload.len(),
        Reply::Bytes(bytes) => bytes,
    };
    if bytes == 0 {
        return;
    }
    let mut payload = packet.payload.clone();
    payload.resize(bytes.clamp(STAMP_BYTES, REPLY_BYTES_MAX), 0);
    let out = match packet.kind {
        Kind::Reliable => Packet::reliable(payload),
        Kind::Unreliable | Kind::UnreliableFragments | Kind::Unsequenced => Packet::unreliable(payload),
    };
    // A peer that left meanwhile needs no answer.
    let _ = host.send(peer, packet.channel, out);
}

fn main() -> Result<(), Box<dyn Error>> {
    limit_panic_messages();
    let mut flags = flags()?;
    let settings = std::mem::take(&mut flags.settings);
    if let Some(ethernet) = &flags.ethernet {
        return serve_on(ethernet, settings, &flags);
    }
    let at = (flags.address, flags.port).into();
    let driver = Driver::bind(at, flags.slots, settings, &SocketOptions::default())?;
    let port = driver.socket().local_address()?.port();
    serve(driver, port, &flags)
}

#[cfg(feature = "ethernet")]
fn serve_on(ethernet: &Ethernet, settings: Settings, flags: &Flags) -> Result<(), Box<dyn Error>> {
    use prony_enet_host::ethernet::{EthernetOptions, EthernetSocket, LinkOptions};
    let IpAddr::V4(address) = flags.address else { return Err("expected an IPv4 address with --ethernet".into()) };
    let link = LinkOptions { prefix_bits: ethernet.prefix_bits, ..LinkOptions::default() };
    let options =
        EthernetOptions { link, mac: ethernet.mac, ring_entries: ethernet.ring_entries, ..EthernetOptions::default() };
    let at = std::net::SocketAddrV4::new(address, flags.port);
    let socket = EthernetSocket::open(&ethernet.port.parse()?, at, &options)?;
    let host = Host::new(flags.slots, settings, &prony_enet_host::random_seed());
    serve(Driver::new(host, socket), flags.port, flags)
}

#[cfg(not(feature = "ethernet"))]
fn serve_on(_: &Ethernet, _: Settings, _: &Flags) -> Result<(), Box<dyn Error>> {
    Err("--ethernet needs the feature: cargo build -p prony-load --example enet-echo --features ethernet".into())
}

fn serve<T: Transport>(mut driver: Driver<T>, port: u16, flags: &Flags) -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout();
    writeln!(out, "port {port} pid {}", std::process::id())?;
    out.flush()?;
    let tick = Duration::from_secs(1) / flags.poll_hz;
    let mut next = Instant::now();
    loop {
        while let Some(event) = driver.service(Duration::ZERO)? {
            if let Event::Receive { peer, packet } = event {
                work(flags.work);
                answer(driver.host_mut(), peer, &packet, flags.reply);
            }
        }
        // Answers leave in this tick, not in the next.
        driver.flush();
        next += tick;
        let now = Instant::now();
        // A tick that took longer than its time leaves out those that it should have been.
        match next.checked_duration_since(now) {
            Some(left) => std::thread::sleep(left),
            None => next = now,
        }
    }
}
