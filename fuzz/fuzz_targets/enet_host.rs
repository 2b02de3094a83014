//! Drives a server and a client through arbitrary sequences of calls, losses and forgeries, or has an attacker converse with
//! one of them field by field, its numbers drawn from the input:
//! `cargo +nightly fuzz run enet_host -- -rss_limit_mb=1000`.
//!
//! Nothing panics, memory stays within its budget, and an address that is not proven is never sent more than it sent.
#![no_main]

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use prony_enet::wire::ThrottleParameters;
use prony_enet::{
    Event, Host, Packet, PeerId, PeerSettings, PeerTimeout, RangeCoder, Settings, WireProfile, crc32_checksum,
};
use prony_testing::enet::attacker::{Attacker, Bytes, Coding, Draw, Role};

const SLOTS: usize = 4;
const PACKET_BYTES: usize = 8000;
const HELD_BYTES: usize = 20_000;
const WAITING_BYTES: usize = 10_000;
/// Commands that the application leaves queued before it waits.
const COMMANDS: usize = 500;

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn number(&mut self) -> usize {
        usize::from(self.byte().unwrap_or(0)) << 8 | usize::from(self.byte().unwrap_or(0))
    }

    fn bytes(&mut self) -> &'a [u8] {
        let length = self.byte().unwrap_or(0).into();
        let (bytes, rest) = self.0.split_at(self.0.len().min(length));
        self.0 = rest;
        bytes
    }
}

fn address(number: u8) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 0, 0, number), 7000))
}

fn host(form: u8, seed: u8) -> Host {
    let settings = Settings {
        channels: 4,
        mtu: if form & 8 == 0 { 1392 } else { 576 },
        duplicate_peers: 3,
        packet_bytes_max: PACKET_BYTES,
        waiting_bytes_max: WAITING_BYTES,
        held_bytes_max: HELD_BYTES,
        checksum: (form & 1 != 0).then(crc32_checksum),
        compressor: (form & 2 != 0).then(|| Box::new(RangeCoder::new()) as _),
        wire_profile: if form & 4 == 0 { WireProfile::Hardened } else { WireProfile::Stock },
    };
    Host::new(SLOTS, settings, &[seed; 16])
}

struct World {
    hosts: [Host; 2],
    now_ms: u64,
    under_way: Vec<(usize, SocketAddr, Vec<u8>)>,
    /// Bytes that the server was sent by, and sent to, each address.
    traffic: BTreeMap<SocketAddr, (usize, usize)>,
}

impl World {
    fn give(&mut self, to: usize, from: SocketAddr, datagram: &[u8]) {
        if to == 0 {
            self.traffic.entry(from).or_default().0 += datagram.len();
        }
        self.hosts[to].handle_datagram(Duration::from_millis(self.now_ms), from, datagram);
    }

    fn transmit(&mut self) {
        let now = Duration::from_millis(self.now_ms);
        let mut datagram = Vec::new();
        for from in 0..2 {
            while let Some(transmit) = self.hosts[from].poll_transmit(now, &mut datagram) {
                let longest = 1400 + 4;
                assert!(datagram.len() <= longest, "{} bytes", datagram.len());
                if from == 0 {
                    let (received, sent) = self.traffic.entry(transmit.to).or_default();
                    *sent += datagram.len();
                    // Addresses with a peer have proven to be theirs; one may have left just now.
                    if transmit.peer.is_none() && transmit.to != address(1) {
                        assert!(sent <= received, "{sent} bytes to {} for {received}", transmit.to);
                    }
                }
                let to = usize::from(transmit.to == address(1));
                if transmit.to == address(to as u8) && self.under_way.len() < 200 {
                    self.under_way.push((to, address(from as u8), datagram.clone()));
                }
            }
        }
    }

    fn peer(&self, host: usize, slot: usize) -> Option<PeerId> {
        self.hosts[host].peer_at(slot % SLOTS)
    }

    fn check(&self) {
        for host in &self.hosts {
            host.check_invariants().expect("the tables of a host agree");
            assert!(host.held_bytes() <= HELD_BYTES);
            // A reliable and an unreliable packet of each peer, with a bit a piece and what they are kept in.
            assert!(host.exempt_bytes() <= 2 * SLOTS * (PACKET_BYTES + 2000), "{} bytes", host.exempt_bytes());
            let peers: Vec<_> = (0..SLOTS).filter_map(|slot| host.peer_at(slot)).collect();
            assert_eq!(peers.len() + host.free_slots(), SLOTS);
            let held: usize = peers.iter().filter_map(|peer| host.peer(*peer)).map(|peer| peer.held_bytes()).sum();
            assert_eq!(held, host.held_bytes());
            let exempt: usize = peers.iter().filter_map(|peer| host.peer(*peer)).map(|peer| peer.exempt_bytes()).sum();
            assert_eq!(exempt, host.exempt_bytes());
            for peer in peers.iter().filter_map(|peer| host.peer(*peer)) {
                assert!(peer.waiting_bytes() <= 2 * WAITING_BYTES + HELD_BYTES + 2 * PACKET_BYTES);
                assert!(peer.in_transit_bytes() <= 65_536 + 1400);
            }
        }
    }
}

/// Has an attacker converse with a host, which a program uses that answers.
fn converse(form: u8, input: &[u8]) {
    let coding = Coding { checksum: form & 1 != 0, range_coder: form & 2 != 0 };
    let role = if form & 32 == 0 { Role::Client } else { Role::Server };
    let mut attacker = Attacker::new(Bytes(input), role, coding);
    let mut world =
        World { hosts: [host(form, 1), host(form, 2)], now_ms: 1000, under_way: Vec::new(), traffic: BTreeMap::new() };
    let mut bytes = Vec::new();
    while attacker.draw().is_left() {
        let target = &mut world.hosts[0];
        if role == Role::Server && target.free_slots() == SLOTS {
            let _ = target.connect(address(9), 4, 0);
        }
        let datagram = attacker.next(world.now_ms);
        let now = Duration::from_millis(world.now_ms);
        if let Some(datagram) = datagram {
            target.handle_datagram(now, address(9), &datagram);
        }
        target.handle_timeout(now);
        while let Some(event) = target.poll_event() {
            if let (Event::Receive { peer, packet }, true) = (event, target.commands() < COMMANDS) {
                let _ = target.send(peer, packet.channel, Packet::reliable(vec![7; 3000]));
            }
        }
        while target.poll_transmit(now, &mut bytes).is_some() {
            attacker.hear(&bytes);
        }
        world.now_ms += 1 + attacker.draw().below(200);
        world.check();
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input(bytes);
    let form = input.byte().unwrap_or(0);
    if form & 16 != 0 {
        return converse(form, input.0);
    }
    let mut world = World {
        hosts: [host(form, 1), host(form, 2)],
        now_ms: input.number() as u64,
        under_way: Vec::new(),
        traffic: BTreeMap::new(),
    };
    while let Some(step) = input.byte() {
        let (host, what) = (usize::from(step >> 7), step & 0x7f);
        match what {
            0..=9 => {
                let _ = world.hosts[1].connect(address(0), input.byte().unwrap_or(1).into(), 7);
            }
            10..=39 => world.now_ms += u64::from(what - 9) * u64::from(input.byte().unwrap_or(1)),
            40..=59 if !world.under_way.is_empty() => {
                // The next one arrives, or one out of turn, or twice.
                let at = if what < 52 { 0 } else { input.number() % world.under_way.len() };
                let (to, from, datagram) = world.under_way[at].clone();
                if what != 59 {
                    world.under_way.remove(at);
                }
                world.give(to, from, &datagram);
            }
            60..=64 if !world.under_way.is_empty() => {
                world.under_way.remove(0);
            }
            65..=74 if !world.under_way.is_empty() => {
                // It arrives with a byte changed, or cut.
                let (to, from, mut datagram) = world.under_way.remove(0);
                let at = input.number() % datagram.len();
                if what < 72 {
                    datagram[at] ^= input.byte().unwrap_or(1);
                } else {
                    datagram.truncate(at);
                }
                world.give(to, from, &datagram);
            }
            75 => {
                // All that is under way arrives, in reverse order or not, but for each so many of them: pieces lack others.
                let form = input.byte().unwrap_or(3);
                let mut flight = std::mem::take(&mut world.under_way);
                if form & 0x80 != 0 {
                    flight.reverse();
                }
                let lost_each = usize::from(form & 0x7f).max(2);
                for (number, (to, from, datagram)) in flight.into_iter().enumerate() {
                    if number % lost_each != 0 {
                        world.give(to, from, &datagram);
                    }
                }
            }
            76..=79 => {
                let from = address(input.byte().unwrap_or(0) % 4);
                let datagram = input.bytes();
                world.give(host, from, datagram);
            }
            80..=109 => {
                let (slot, flags) = (input.number(), input.byte().unwrap_or(0));
                let channel = input.byte().unwrap_or(0) % 5;
                let length = if flags & 0x80 == 0 { flags.into() } else { input.number() % 9000 };
                if let (Some(peer), true) = (world.peer(host, slot), world.hosts[host].commands() < COMMANDS) {
                    let packet = Packet {
                        reliable: flags & 1 != 0,
                        unsequenced: flags & 2 != 0,
                        fragments_unreliable: flags & 4 != 0,
                        ..Packet::unreliable(vec![flags; length])
                    };
                    let _ = world.hosts[host].send(peer, channel, packet);
                }
            }
            110..=119 => {
                let slot = input.number();
                if let Some(peer) = world.peer(host, slot) {
                    let host = &mut world.hosts[host];
                    match what {
                        110 => host.disconnect(peer, 1),
                        111 => host.disconnect_now(peer, 2),
                        112 | 113 => host.disconnect_later(peer, 3),
                        114 => host.reset(peer),
                        115 => host.ping(peer),
                        116 => host.set_throttle(peer, slot as u32 % 33, 32),
                        117 => {
                            let parameters = ThrottleParameters {
                                interval_ms: slot as u32,
                                acceleration: 5,
                                deceleration: u32::MAX,
                            };
                            host.configure_throttle(peer, parameters);
                        }
                        118 => {
                            let timeout = PeerTimeout { limit: 4, minimum_ms: 100, maximum_ms: slot as u32 };
                            host.set_peer(peer, PeerSettings { ping_interval_ms: slot as u32, timeout });
                        }
                        _ => {
                            host.broadcast(0, &Packet::reliable(b"to all"));
                        }
                    }
                }
            }
            120..=122 => {
                let (incoming, outgoing) = (input.number() as u32, input.number() as u32);
                world.hosts[host].set_bandwidth(incoming * 100, outgoing * 100);
            }
            _ => {
                // The application takes what there is.
                let mut ids = Vec::new();
                while let Some(event) = world.hosts[host].poll_event() {
                    if let Event::Disconnect { peer, .. } = event {
                        assert!(world.hosts[host].peer(peer).is_none());
                        ids.push(peer);
                    }
                }
                ids.sort();
                assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "a connection ends once");
            }
        }
        let now = Duration::from_millis(world.now_ms);
        world.hosts.iter_mut().for_each(|host| host.handle_timeout(now));
        world.transmit();
        world.check();
    }
});
