//! What the protocol itself costs, without a network: `cargo bench -p prony-enet --bench host`.
//!
//! Times are the best of several passes, on one core.

use std::hint::black_box;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use prony_enet::{Event, Host, Packet, PeerId, RangeCoder, Settings, crc32, crc32_checksum};

const PASSES: usize = 5;

fn main() {
    println!("server of N slots, each client sends one packet and is sent one (best of {PASSES})");
    println!("   slots  clients  bytes  kind          ns a packet in  ns a packet out");
    for (slots, clients, bytes, reliable) in [
        (128, 100, 16, false),
        (4095, 100, 16, false),
        (65_535, 100, 16, false),
        (4095, 3590, 16, false),
        (4095, 3590, 16, true),
        (8192, 8000, 16, true),
        (4095, 100, 1200, true),
    ] {
        exchange(slots, clients, bytes, reliable, false);
    }
    exchange(4095, 100, 1200, true, true);
    idle();
    forgeries();
    streams();
}

struct Pair {
    server: Host,
    clients: Vec<Host>,
    now: Duration,
    peers: Vec<(PeerId, usize, PeerId)>,
}

fn settings(checksum: bool) -> Settings {
    Settings { checksum: checksum.then(crc32_checksum), ..Settings::default() }
}

fn address(number: usize) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, number as u8), 7000))
}

impl Pair {
    /// Clients, a thousand an address.
    fn new(slots: usize, clients: usize, checksum: bool) -> Pair {
        let hosts = clients.div_ceil(1000);
        let mut pair = Pair {
            server: Host::new(slots, settings(checksum), &[1; 16]),
            clients: (0..hosts).map(|number| Host::new(1000, settings(checksum), &[2 + number as u8; 16])).collect(),
            now: Duration::from_millis(1000),
            peers: Vec::new(),
        };
        for number in 0..clients {
            let host = number / 1000;
            let client = pair.clients[host].connect(address(0), 4, 0).expect("there is a slot");
            while pair.pass().0 > 0 {}
            let mut connected = None;
            while let Some(event) = pair.server.poll_event() {
                if let Event::Connect { peer, .. } = event {
                    connected = Some(peer);
                }
            }
            while pair.clients[host].poll_event().is_some() {}
            pair.peers.push((connected.expect("connected"), host, client));
        }
        pair
    }

    /// Moves every datagram; returns how many went in and out of the server, and what it took there.
    fn pass(&mut self) -> (usize, Duration, usize, Duration) {
        let (mut inward, mut outward) = (Vec::new(), Vec::new());
        let mut datagram = Vec::new();
        for (number, client) in self.clients.iter_mut().enumerate() {
            client.handle_timeout(self.now);
            while client.poll_transmit(self.now, &mut datagram).is_some() {
                inward.push((address(number + 1), datagram.clone()));
            }
        }
        let start = Instant::now();
        for (from, datagram) in &inward {
            self.server.handle_datagram(self.now, *from, datagram);
        }
        let took_in = start.elapsed();
        let start = Instant::now();
        self.server.handle_timeout(self.now);
        let mut sent = 0;
        let mut buffer = Vec::new();
        while let Some(transmit) = self.server.poll_transmit(self.now, &mut buffer) {
            outward.push((transmit.to, std::mem::take(&mut buffer)));
            sent += 1;
        }
        let took_out = start.elapsed();
        for (to, datagram) in outward {
            let SocketAddr::V4(to) = to else { continue };
            let client = usize::from(to.ip().octets()[3]) - 1;
            self.clients[client].handle_datagram(self.now, address(0), &datagram);
        }
        (inward.len() + sent, took_in, sent, took_out)
    }
}

fn exchange(slots: usize, clients: usize, bytes: usize, reliable: bool, checksum: bool) {
    let mut pair = Pair::new(slots, clients, checksum);
    let packet = || if reliable { Packet::reliable(vec![7; bytes]) } else { Packet::unreliable(vec![7; bytes]) };
    let (mut best_in, mut best_out) = (Duration::MAX, Duration::MAX);
    for _ in 0..PASSES {
        let (mut took_in, mut took_out) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..5 {
            pair.now += Duration::from_millis(20);
            for (_, host, client) in &pair.peers {
                pair.clients[*host].send(*client, 0, packet()).expect("connected");
            }
            let start = Instant::now();
            for (server, ..) in &pair.peers {
                pair.server.send(*server, 0, packet()).expect("connected");
            }
            took_out += start.elapsed();
            loop {
                let (moved, passed_in, _, passed_out) = pair.pass();
                took_in += passed_in;
                took_out += passed_out;
                let start = Instant::now();
                while let Some(event) = pair.server.poll_event() {
                    black_box(event);
                }
                took_in += start.elapsed();
                pair.clients.iter_mut().for_each(|client| while client.poll_event().is_some() {});
                if moved == 0 {
                    break;
                }
            }
        }
        best_in = best_in.min(took_in);
        best_out = best_out.min(took_out);
    }
    let each = |took: Duration| took.as_nanos() as f64 / (5 * clients) as f64;
    let kind = match (reliable, checksum) {
        (false, _) => "unreliable",
        (true, false) => "reliable",
        (true, true) => "reliable, CRC",
    };
    println!("{slots:8} {clients:8} {bytes:6}  {kind:14} {:13.0} {:16.0}", each(best_in), each(best_out));
}

/// A second of an idle host, looked at 1,000 times.
fn idle() {
    for slots in [64, 4095, 65_535] {
        let mut pair = Pair::new(slots, 50, false);
        pair.now += Duration::from_millis(20);
        pair.pass();
        let mut best = Duration::MAX;
        let mut datagram = Vec::new();
        for _ in 0..PASSES {
            let start = Instant::now();
            for _ in 0..1000 {
                pair.server.handle_timeout(pair.now);
                black_box(pair.server.poll_transmit(pair.now, &mut datagram));
                black_box(pair.server.poll_event());
            }
            best = best.min(start.elapsed());
        }
        println!("idle call at {slots} slots: {:.1} ns", best.as_nanos() as f64 / 1000.0);
    }
}

/// CONNECTs from ever new addresses.
fn forgeries() {
    let mut client = Host::new(1, Settings::default(), &[9; 16]);
    client.connect(address(0), 1, 0).expect("there is a slot");
    let mut connect = Vec::new();
    client.poll_transmit(Duration::ZERO, &mut connect).expect("a CONNECT");
    for slots in [0, 4095] {
        let mut host = Host::new(slots, Settings::default(), &[1; 16]);
        let mut answer = Vec::new();
        let count = 200_000u32;
        let start = Instant::now();
        for number in 0..count {
            let from = SocketAddr::from((Ipv4Addr::from_bits(number), 7));
            host.handle_datagram(Duration::from_secs(1), from, &connect);
            black_box(host.poll_transmit(Duration::from_secs(1), &mut answer));
        }
        let what = if slots == 0 { "against a full table" } else { "answered" };
        println!("forged CONNECT {what}: {:.0} ns", start.elapsed().as_nanos() as f64 / f64::from(count));
    }
}

/// Bytes through the checksum and the range coder.
fn streams() {
    let text: Vec<u8> = b"position 12.5 88.25 angle 270 state running ".iter().copied().cycle().take(1200).collect();
    let best = |mut run: Box<dyn FnMut()>| {
        (0..PASSES)
            .map(|_| {
                let start = Instant::now();
                (0..1000).for_each(|_| run());
                start.elapsed()
            })
            .min()
            .unwrap_or_default()
    };
    let rate = |took: Duration| 1000.0 * 1200.0 / took.as_secs_f64() / 1e6;
    let bytes = text.clone();
    println!(
        "CRC-32: {:.0} MB/s",
        rate(best(Box::new(move || {
            black_box(crc32(black_box(&bytes)));
        })))
    );
    let mut coder = RangeCoder::new();
    let mut packed = Vec::new();
    coder.compress(&text, 4096, &mut packed).expect("text compresses");
    let (bytes, mut out) = (text.clone(), Vec::new());
    let mut compressor = RangeCoder::new();
    let compress = best(Box::new(move || {
        out.clear();
        black_box(compressor.compress(&bytes, 4096, &mut out));
    }));
    let mut out = Vec::new();
    let expand = best(Box::new(move || {
        out.clear();
        black_box(coder.expand(&packed, 4096, &mut out));
    }));
    println!("range coder: {:.1} MB/s compressing, {:.1} MB/s expanding", rate(compress), rate(expand));
}
