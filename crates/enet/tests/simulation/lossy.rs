//! What is promised of packets, on links that keep no promise.

use std::collections::BTreeSet;

use prony_enet::{
    Event, Host, Kind, Packet, PeerId, PeerSettings, PeerTimeout, RangeCoder, Received, Settings, crc32_checksum,
};

use crate::link::{Faults, Link, percent};
use prony_testing::enet::dice::Dice;

const CHANNELS: usize = 3;

/// What one direction was given to send, and what came of it.
#[derive(Default)]
struct Direction {
    reliable_sent: Vec<u32>,
    reliable_came: Vec<u32>,
    unreliable_sent: u32,
    unreliable_last: [Option<u32>; CHANNELS],
    unreliable_came: u32,
    unsequenced_sent: u32,
    unsequenced_came: BTreeSet<u32>,
}

/// Kind, number, and bytes that follow from both.
fn payload(kind: u8, number: u32, length: usize) -> Vec<u8> {
    let mut payload = vec![kind];
    payload.extend_from_slice(&number.to_be_bytes());
    payload.extend((0..length).map(|at| (at as u32).wrapping_mul(31).wrapping_add(number) as u8));
    payload
}

impl Direction {
    fn new() -> Direction {
        Direction { reliable_sent: vec![0; CHANNELS], reliable_came: vec![0; CHANNELS], ..Direction::default() }
    }

    fn send(&mut self, host: &mut Host, peer: PeerId, dice: &mut Dice, longest: u64) {
        let channel = dice.below(CHANNELS as u64) as usize;
        let length = if dice.below(40) == 0 { dice.below(longest) } else { dice.below(60) } as usize;
        let packet = match dice.below(4) {
            0 | 1 => {
                self.reliable_sent[channel] += 1;
                Packet::reliable(payload(0, self.reliable_sent[channel], length))
            }
            2 => {
                self.unreliable_sent += 1;
                let packet = Packet::unreliable(payload(1, self.unreliable_sent, length));
                Packet { fragments_unreliable: true, ..packet }
            }
            _ => {
                self.unsequenced_sent += 1;
                Packet::unsequenced(payload(2, self.unsequenced_sent, length.min(1000)))
            }
        };
        host.send(peer, channel as u8, packet).expect("connected");
    }

    fn receive(&mut self, packet: &Received) {
        let channel = usize::from(packet.channel);
        let number = u32::from_be_bytes(packet.payload[1..5].try_into().expect("five bytes at least"));
        let whole = payload(packet.payload[0], number, packet.payload.len() - 5);
        assert!(packet.payload == whole, "the payload is what was sent");
        match (packet.payload[0], packet.kind) {
            (0, Kind::Reliable) => {
                self.reliable_came[channel] += 1;
                assert_eq!(number, self.reliable_came[channel], "each once and in order");
            }
            (1, Kind::Unreliable | Kind::UnreliableFragments | Kind::Reliable) => {
                let last = self.unreliable_last[channel].replace(number);
                assert!(last < Some(number), "{number} after {last:?}");
                self.unreliable_came += 1;
            }
            (2, Kind::Unsequenced) => assert!(self.unsequenced_came.insert(number), "each at most once"),
            other => panic!("{other:?}"),
        }
    }

    fn is_done(&self) -> bool {
        self.reliable_sent == self.reliable_came
    }
}

struct Outcome {
    directions: [Direction; 2],
    /// Unreliable packets that the sender of each direction dropped itself.
    throttled: [u64; 2],
    ms: u64,
}

fn host(seed: u8, checksum: bool, coder: bool) -> Host {
    let settings = Settings {
        checksum: checksum.then(crc32_checksum),
        compressor: coder.then(|| Box::new(RangeCoder::new()) as _),
        ..Settings::default()
    };
    Host::new(4, settings, &[seed; 16])
}

/// Sends `packets` each way, a few a step, and goes on until all reliable ones came.
fn converse(mut link: Link, packets: u32, longest: u64) -> Outcome {
    let (server, client) = link.connect(CHANNELS);
    // By default a peer is given up when one command is lost six times, which at a third of loss each way soon happens.
    let timeout = PeerTimeout { limit: u32::MAX, minimum_ms: 60_000, maximum_ms: 120_000 };
    for (host, peer) in [(0, server), (1, client)] {
        let settings = link.hosts[host].peer(peer).expect("connected").settings();
        link.hosts[host].set_peer(peer, PeerSettings { timeout, ..settings });
    }
    let mut dice = Dice::new(99);
    let mut directions = [Direction::new(), Direction::new()];
    let (mut given, start) = (0, link.now_ms);
    while given < packets || !directions.iter().all(Direction::is_done) {
        // As fast as the link takes it, so that windows fill, but no faster.
        for _ in 0..40 {
            if given < packets && link.hosts.iter().all(|host| host.commands() < 600) {
                given += 1;
                directions[0].send(&mut link.hosts[1], client, &mut dice, longest);
                directions[1].send(&mut link.hosts[0], server, &mut dice, longest);
            }
        }
        let until = link.now_ms + 10;
        for (host, event) in link.step(until) {
            match event {
                Event::Receive { packet, .. } => directions[host].receive(&packet),
                other => panic!("host {host}: {other:?} after {} ms", link.now_ms),
            }
        }
        for host in &link.hosts {
            assert!(host.commands() < 3000 && host.held_bytes() < 8 << 20, "nothing grows without end");
        }
    }
    let ms = link.now_ms - start;
    // What is left is acknowledgements.
    let end = link.now_ms + 120_000;
    while link.hosts.iter().any(|host| host.commands() > 1) && link.now_ms < end {
        link.step(end);
    }
    for host in &link.hosts {
        assert_eq!(host.held_bytes(), 0, "nothing is held when nothing is missing");
        assert!(host.commands() <= 1, "at most a ping is in flight");
    }
    let throttled = [1, 0].map(|sender| link.hosts[sender].statistics().throttled);
    Outcome { directions, throttled, ms }
}

#[test]
fn packets_keep_their_promises_at_every_loss() {
    for (loss, seed) in [(0, 1), (1, 2), (5, 3), (10, 4), (20, 5), (30, 6)] {
        let faults = Faults { loss: percent(loss), duplication: percent(5), delay_ms: (5, 40), ..Faults::default() };
        let link = Link::new(vec![host(1, false, false), host(2, false, false)], faults, seed);
        let outcome = converse(link, 1500, 5000);
        for (direction, throttled) in outcome.directions.iter().zip(outcome.throttled) {
            let came = direction.unsequenced_came.len() as u32 * 100;
            let expected = direction.unsequenced_sent.saturating_sub(throttled as u32) * (100 - loss);
            assert!(came * 10 > expected * 9, "{loss} % lost: {came} of {expected} unsequenced packets came");
            assert!(direction.unreliable_came > 0);
        }
    }
}

#[test]
fn a_perfect_link_delivers_everything() {
    let link = Link::new(vec![host(1, false, false), host(2, false, false)], Faults::default(), 1);
    let outcome = converse(link, 20_000, 8000);
    for direction in outcome.directions {
        assert_eq!(direction.unreliable_came, direction.unreliable_sent);
        assert_eq!(direction.unsequenced_came.len() as u32, direction.unsequenced_sent);
    }
}

#[test]
fn corrupted_datagrams_are_dropped_with_a_checksum_compressed_or_not() {
    for coder in [false, true] {
        let faults = Faults { loss: percent(5), duplication: percent(5), corruption: percent(10), delay_ms: (0, 30) };
        let link = Link::new(vec![host(1, true, coder), host(2, true, coder)], faults, 7);
        converse(link, 1500, 5000);
    }
}

#[test]
fn clocks_wrap_at_16_and_at_32_bits() {
    for start in [65_000, u64::from(u32::MAX) - 3000] {
        let faults = Faults { loss: percent(10), delay_ms: (20, 60), ..Faults::default() };
        let mut link = Link::new(vec![host(1, false, false), host(2, false, false)], faults, 8);
        link.now_ms = start;
        let outcome = converse(link, 3000, 5000);
        assert!(outcome.ms > 3000, "{} ms", outcome.ms);
    }
}

/// Two hundred thousand reliable packets on a channel: the numbers wrap three times.
#[test]
fn reliable_numbers_wrap() {
    for loss in [0, 3] {
        let faults = Faults { loss: percent(loss), delay_ms: (1, 10), ..Faults::default() };
        let mut link = Link::new(vec![host(1, false, false), host(2, false, false)], faults, 9);
        let (_, client) = link.connect(1);
        let (mut sent, mut came) = (0u32, 0u32);
        while came < 200_000 {
            while sent < 200_000 && link.hosts[1].commands() < 4000 {
                link.hosts[1].send(client, 0, Packet::reliable(&sent.to_be_bytes())).unwrap();
                sent += 1;
            }
            let until = link.now_ms + 100;
            for (_, event) in link.step(until) {
                let Event::Receive { packet, .. } = event else { panic!("{event:?}") };
                assert_eq!(packet.payload, came.to_be_bytes());
                came += 1;
            }
        }
    }
}

#[test]
fn unreliable_and_unsequenced_numbers_wrap() {
    let mut link = Link::new(vec![host(1, false, false), host(2, false, false)], Faults::default(), 10);
    let (_, client) = link.connect(2);
    let (mut sent, mut unreliable, mut unsequenced) = (0u32, 0u32, 0u32);
    while unreliable < 150_000 || unsequenced < 150_000 {
        for _ in 0..500 {
            link.hosts[1].send(client, 0, Packet::unreliable(&sent.to_be_bytes())).unwrap();
            link.hosts[1].send(client, 1, Packet::unsequenced(&sent.to_be_bytes())).unwrap();
            sent += 1;
        }
        let until = link.now_ms + 1;
        for (_, event) in link.step(until) {
            let Event::Receive { packet, .. } = event else { panic!("{event:?}") };
            let counter = if packet.channel == 0 { &mut unreliable } else { &mut unsequenced };
            assert_eq!(packet.payload, counter.to_be_bytes());
            *counter += 1;
        }
    }
}

/// A packet of the longest kind there is by default, over a link that loses.
#[test]
fn a_packet_of_many_fragments_arrives_whole() {
    let faults = Faults { loss: percent(2), delay_ms: (1, 5), ..Faults::default() };
    let mut link = Link::new(vec![host(1, false, false), host(2, false, false)], faults, 11);
    let (_, client) = link.connect(1);
    let long = payload(0, 1, (8 << 20) - 5);
    link.hosts[1].send(client, 0, Packet::reliable(long.clone())).unwrap();
    link.hosts[1].send(client, 0, Packet::reliable(b"behind it")).unwrap();
    let mut came = Vec::new();
    while came.len() < 2 {
        let until = link.now_ms + 100;
        for (_, event) in link.step(until) {
            let Event::Receive { packet, .. } = event else { panic!("{event:?}") };
            came.push(packet.payload);
        }
    }
    assert!(came[0] == long && came[1] == b"behind it");
    assert_eq!(link.hosts[0].held_bytes(), 0);
}
