//! Conversations that an attacker makes field by field, as a client and as a server: no panic, no table that does not agree,
//! no memory beyond the bounds.

use std::net::SocketAddr;
use std::time::Duration;

use prony_enet::{Compressor, Event, Host, Packet, RangeCoder, Settings, crc32_checksum};
use prony_testing::enet::attacker::{Attacker, Coding, Role};
use prony_testing::enet::dice::Dice;

const SEEDS: u64 = 20;
const DATAGRAMS: u64 = 20_000;
/// Datagrams after which the host is checked.
const CHECKED_EVERY: u64 = 32;
const PACKET_BYTES: usize = 40_000;
const HELD_BYTES: usize = 100_000;
const WAITING_BYTES: usize = 60_000;
const SLOTS: usize = 8;

fn hostile() -> SocketAddr {
    "10.9.200.1:7000".parse().expect("an address")
}

fn settings(coding: Coding) -> Settings {
    Settings {
        channels: 8,
        packet_bytes_max: PACKET_BYTES,
        waiting_bytes_max: WAITING_BYTES,
        held_bytes_max: HELD_BYTES,
        checksum: coding.checksum.then(crc32_checksum),
        compressor: coding.range_coder.then(|| Box::new(RangeCoder::new()) as Box<dyn Compressor>),
        ..Settings::default()
    }
}

fn check(host: &Host, at: &str) {
    host.check_invariants().unwrap_or_else(|broken| panic!("{at}: {broken}"));
    assert!(host.held_bytes() <= HELD_BYTES, "{at}: {} bytes held", host.held_bytes());
    // A reliable and an unreliable packet of each peer, with a bit a piece and what they are kept in.
    let exempt = host.exempt_bytes();
    assert!(exempt <= 2 * SLOTS * (PACKET_BYTES + PACKET_BYTES / 8 + 2000), "{at}: {exempt} bytes exempt");
    for peer in host.connected().filter_map(|peer| host.peer(peer)) {
        assert!(peer.waiting_bytes() <= 2 * WAITING_BYTES + HELD_BYTES + 2 * PACKET_BYTES, "{at}");
        assert!(peer.in_transit_bytes() <= 65_536 + 1400, "{at}");
    }
}

/// What came of a conversation: how many datagrams the host took in, connections and packets.
#[derive(Debug, Default)]
struct Outcome {
    connects: u64,
    packets: u64,
}

fn attack(role: Role, seed: u64) -> Outcome {
    let coding = Coding { checksum: seed & 1 != 0, range_coder: seed & 2 != 0 };
    let mut attacker = Attacker::new(Dice::new(seed), role, coding);
    let mut host = Host::new(SLOTS, settings(coding), &[1; 16]);
    let (mut taken, mut now_ms) = (0, 1000);
    let mut outcome = Outcome::default();
    let mut bytes = Vec::new();
    while taken < DATAGRAMS {
        let now = Duration::from_millis(now_ms);
        if role == Role::Server && host.free_slots() == SLOTS {
            // The one client of a hostile server connects again and again.
            let _ = host.connect(hostile(), 4, 0);
        }
        for _ in 0..8 {
            let Some(datagram) = attacker.next(now_ms) else { break };
            host.handle_datagram(now, hostile(), &datagram);
            taken += 1;
            if taken % CHECKED_EVERY == 0 {
                check(&host, &format!("{role:?}, seed {seed}, datagram {taken}"));
            }
        }
        host.handle_timeout(now);
        while let Some(event) = host.poll_event() {
            match event {
                Event::Connect { .. } => outcome.connects += 1,
                Event::Receive { peer, packet } => {
                    outcome.packets += 1;
                    // An answer in pieces, which the attacker acknowledges or not.
                    if host.commands() < 500 {
                        let _ = host.send(peer, packet.channel, Packet::reliable(vec![7; 3000]));
                    }
                }
                Event::Disconnect { .. } => {}
            }
        }
        while host.poll_transmit(now, &mut bytes).is_some() {
            attacker.hear(&bytes);
        }
        // A host is left alone for minutes at times, and what is in flight runs out.
        now_ms += if taken % 2048 == 0 { 100_000 } else { 7 };
    }
    outcome
}

#[test]
fn a_client_that_converses_field_by_field_finds_nothing() {
    for seed in 1..=SEEDS {
        let outcome = attack(Role::Client, seed);
        // It is a conversation: the host has connected it, and its program got packets.
        assert!(outcome.connects >= 5 && outcome.packets >= 200, "seed {seed}: {outcome:?}");
    }
}

#[test]
fn a_server_that_converses_field_by_field_finds_nothing() {
    for seed in 1..=SEEDS {
        let outcome = attack(Role::Server, seed);
        assert!(outcome.connects >= 5 && outcome.packets >= 200, "seed {seed}: {outcome:?}");
    }
}
