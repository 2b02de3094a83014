//! What those can do who do not see the answers, or do not play by the rules.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use prony_enet::wire::{Body, CONTROL, Command, MUST_ACKNOWLEDGE, NO_PEER};
use prony_enet::{
    DisconnectReason, Dropped, Event, Host, Packet, RangeCoder, SendError, Settings, State, WireProfile, crc32,
    crc32_checksum,
};

use crate::link::{Faults, Link, address};
use prony_testing::enet::dice::Dice;
use prony_testing::enet::raw::{RawPeer, acknowledgement, connect_datagram};

fn forged(number: u64) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::from_bits(0x5000_0000 + (number / 60_000) as u32), 1 + (number % 60_000) as u16))
}

/// Bytes from and to each address.
#[derive(Default)]
struct Traffic(BTreeMap<SocketAddr, (usize, usize)>);

impl Traffic {
    fn give(&mut self, host: &mut Host, now: Duration, from: SocketAddr, datagram: &[u8]) {
        self.0.entry(from).or_default().0 += datagram.len();
        host.handle_datagram(now, from, datagram);
        let mut bytes = Vec::new();
        while let Some(transmit) = host.poll_transmit(now, &mut bytes) {
            let (received, sent) = self.0.entry(transmit.to).or_default();
            *sent += bytes.len();
            assert!(sent <= received, "{} bytes to {} for {}", sent, transmit.to, received);
        }
    }
}

#[test]
fn a_flood_of_forged_connects_locks_no_client_out() {
    let server = Host::new(64, Settings::default(), &[1; 16]);
    let client = Host::new(30, Settings::default(), &[2; 16]);
    let mut link = Link::new(vec![server, client], Faults { delay_ms: (25, 25), ..Faults::default() }, 1);
    // Thirty clients, each by its data: time of its request, and how long it waited.
    let (mut forgeries, mut requested_at, mut waits) = (0u64, Vec::new(), Vec::new());
    let mut traffic = Traffic::default();
    for _ in 0..4000 {
        // 20,000 a second.
        for _ in 0..20 {
            let now = link.now();
            let datagram = connect_datagram(forgeries as u32, 4);
            traffic.0.entry(forged(forgeries)).or_default().0 += datagram.len();
            link.hosts[0].handle_datagram(now, forged(forgeries), &datagram);
            forgeries += 1;
            // The answers to the forged addresses go nowhere; the client's go over the link.
            let mut bytes = Vec::new();
            while let Some(transmit) = link.hosts[0].poll_transmit(now, &mut bytes) {
                if transmit.to == address(1) {
                    link.post(0, 1, bytes.clone());
                } else {
                    let (received, sent) = traffic.0.entry(transmit.to).or_default();
                    *sent += bytes.len();
                    assert!(sent <= received);
                }
            }
        }
        if link.now_ms >= 1000 && link.now_ms.is_multiple_of(50) && requested_at.len() < 30 {
            link.hosts[1].connect(address(0), 4, requested_at.len() as u32).unwrap();
            requested_at.push(link.now_ms);
        }
        let until = link.now_ms + 1;
        for (host, event) in link.step(until) {
            match event {
                Event::Connect { data, .. } => {
                    if host == 0 {
                        waits.push(link.now_ms - requested_at[data as usize]);
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!(waits.len(), 30);
    assert!(waits.iter().all(|wait| *wait <= 1000), "{waits:?} ms");
    assert_eq!(link.hosts[0].connected_peers(), 30);
    assert_eq!(link.hosts[0].free_slots(), 34);
    assert!(link.hosts[0].statistics().evicted > 10_000);
}

#[test]
fn a_flood_of_connects_from_one_endpoint_is_no_dearer() {
    let mut host = Host::new(64, Settings::default(), &[1; 16]);
    let mut answer = Vec::new();
    for attempt in 0..30_000 {
        let before = host.statistics().work;
        host.handle_datagram(Duration::from_millis(attempt), forged(1), &connect_datagram(attempt as u32, 1));
        while host.poll_transmit(Duration::from_millis(attempt), &mut answer).is_some() {}
        let work = host.statistics().work - before;
        assert!(work <= 20, "{work} steps for CONNECT {attempt}");
    }
    assert!(host.half_open() <= 4095);
    assert!(host.statistics().dropped(Dropped::TooManyOfAddress) > 0);
}

/// Ten million guesses would be as vain: 46 bits are unknown to who does not see the answer.
#[test]
fn no_peer_completes_a_handshake_blind() {
    let attack = |wire_profile| {
        let mut host = Host::new(64, Settings { wire_profile, ..Settings::default() }, &[3; 16]);
        let mut traffic = Traffic::default();
        let mut dice = Dice::new(5);
        let victim = forged(7);
        let now = Duration::from_millis(1000);
        traffic.give(&mut host, now, victim, &connect_datagram(1, 1));
        for _ in 0..100_000 {
            let guess = dice.roll();
            // What a stock host would have said, then anything.
            let (sequence, token, session) = match guess % 3 {
                0 => (1, 0, 0),
                1 => ((guess >> 40) as u16, 0, 0),
                _ => ((guess >> 40) as u16, (guess >> 20) as u16 % NO_PEER, (guess >> 8) as u8 & 3),
            };
            traffic.give(&mut host, now, victim, &acknowledgement(token, session, sequence, 1000));
        }
        (host.connected_peers(), host.poll_event())
    };
    assert_eq!(attack(WireProfile::Hardened), (0, None));
    assert_eq!(attack(WireProfile::Stock).0, 1, "the attack is one that works on stock hosts");
}

/// A peer that knows the token is sent no more than it sends, and one that sends the most learns nothing.
#[test]
fn addresses_that_are_not_proven_are_never_sent_more_than_they_send() {
    type Wrap = fn(Vec<u8>) -> Vec<u8>;
    let plain: Wrap = |datagram| datagram;
    let with_checksum: Wrap = |datagram| {
        let mut whole = datagram[..4].to_vec();
        whole.extend_from_slice(&[0; 4]);
        whole.extend_from_slice(&datagram[4..]);
        let sum = crc32(&whole).to_be_bytes();
        whole[4..8].copy_from_slice(&sum);
        whole
    };
    let compressed: Wrap = |datagram| {
        let mut whole = datagram[..4].to_vec();
        RangeCoder::new().compress(&datagram[4..], 100, &mut whole).expect("zeros compress");
        whole[0] |= 0x40;
        whole
    };
    for (wrap, checksum, coder) in [(plain, false, false), (with_checksum, true, false), (compressed, false, true)] {
        let settings = Settings {
            checksum: checksum.then(crc32_checksum),
            compressor: coder.then(|| Box::new(RangeCoder::new()) as _),
            ..Settings::default()
        };
        let mut host = Host::new(64, settings, &[3; 16]);
        let mut traffic = Traffic::default();
        for attempt in 0..200 {
            let now = Duration::from_millis(attempt * 50);
            traffic.give(&mut host, now, forged(attempt % 20), &wrap(connect_datagram((attempt % 20) as u32, 1)));
        }
        // To whatever token: noise from addresses that are half way.
        for token in 0..NO_PEER {
            for session in 0..4 {
                let noise = acknowledgement(token, session, 1, 1);
                traffic.give(&mut host, Duration::from_secs(11), forged(3), &noise);
            }
        }
        let answered = traffic.0.values().filter(|(_, sent)| *sent > 0).count();
        assert_eq!(answered, 20, "everybody was answered");
    }
}

/// The answer has two random bytes that the question has not, and still is the shorter of the two.
#[test]
fn clients_that_compress_connect_at_their_first_attempt() {
    let settings = || Settings { compressor: Some(Box::new(RangeCoder::new())), ..Settings::default() };
    for seed in 0..100 {
        let hosts = vec![Host::new(8, settings(), &[seed; 16]), Host::new(8, settings(), &[seed + 100; 16])];
        let mut link = Link::new(hosts, Faults::default(), 1);
        link.connect(4);
        assert!(link.now_ms < 100, "{} ms", link.now_ms);
        assert_eq!(link.hosts[0].statistics().dropped(Dropped::WouldAmplify), 0);
    }
}

#[test]
fn a_lost_acknowledgement_of_the_answer_is_requested_again() {
    let hosts = vec![Host::new(8, Settings::default(), &[1; 16]), Host::new(8, Settings::default(), &[2; 16])];
    let mut link = Link::new(hosts, Faults::default(), 1);
    let client = link.hosts[1].connect(address(0), 1, 0).unwrap();
    let (mut bytes, now) = (Vec::new(), Duration::from_millis(5));
    while link.hosts[1].poll_transmit(now, &mut bytes).is_some() {
        link.hosts[0].handle_datagram(now, address(1), &bytes);
    }
    while link.hosts[0].poll_transmit(now, &mut bytes).is_some() {
        link.hosts[1].handle_datagram(now, address(0), &bytes);
    }
    assert!(matches!(link.hosts[1].poll_event(), Some(Event::Connect { .. })));
    // The acknowledgement is lost, with the first ping; what follows is not.
    while link.hosts[1].poll_transmit(now, &mut bytes).is_some() {}
    link.now_ms = 6;
    link.hosts[1].send(client, 0, Packet::reliable(b"hello")).unwrap();
    let mut came = Vec::new();
    while came.len() < 2 && link.now_ms < 1200 {
        let end = link.now_ms + 100;
        came.extend(link.step(end).into_iter().filter(|(host, _)| *host == 0).map(|(_, event)| event));
    }
    assert!(matches!(came[0], Event::Connect { .. }));
    assert!(matches!(&came[1], Event::Receive { packet, .. } if packet.payload == b"hello"));
    assert!(link.hosts[0].statistics().dropped(Dropped::Unproven) >= 1);
}

/// Clients that send only pings must prove their address, too.
#[test]
fn handshakes_are_completed_on_links_that_lose_a_tenth() {
    for seed in 0..100 {
        let hosts =
            vec![Host::new(1, Settings::default(), &[seed; 16]), Host::new(1, Settings::default(), &[seed + 1; 16])];
        let faults = Faults { loss: crate::link::percent(10), ..Faults::default() };
        let mut link = Link::new(hosts, faults, seed.into());
        link.connect(1);
        assert!(link.now_ms < 10_000, "{} ms", link.now_ms);
    }
}

#[test]
fn a_full_table_turns_connects_away_at_the_same_cost_whatever_its_size() {
    let work = |slots: usize| {
        let mut hosts = vec![Host::new(slots, Settings::default(), &[1; 16])];
        hosts.push(Host::new(slots, Settings::default(), &[2; 16]));
        let mut link = Link::new(hosts, Faults::default(), 1);
        for _ in 0..slots {
            link.hosts[1].connect(address(0), 1, 0).unwrap();
        }
        let end = link.now_ms + 1500;
        while link.now_ms < end {
            link.step(end);
        }
        assert_eq!(link.hosts[0].free_slots(), 0);
        let host = &mut link.hosts[0];
        let before = host.statistics();
        for number in 0..1000 {
            host.handle_datagram(Duration::from_millis(end), forged(number), &connect_datagram(number as u32, 1));
        }
        let after = host.statistics();
        assert_eq!(after.dropped(Dropped::NoSlot), 1000 + before.dropped(Dropped::NoSlot));
        after.work - before.work
    };
    assert_eq!(work(64), work(2048));
}

#[test]
fn a_client_that_finds_no_slot_after_its_proof_is_notified() {
    let mut hosts = vec![Host::new(1, Settings::default(), &[1; 16])];
    hosts.push(Host::new(2, Settings::default(), &[2; 16]));
    let mut link = Link::new(hosts, Faults::default(), 1);
    link.hosts[1].connect(address(0), 1, 0).unwrap();
    link.hosts[1].connect(address(0), 1, 0).unwrap();
    let mut events = Vec::new();
    while link.now_ms < 300 {
        events.extend(link.step(300).into_iter().filter(|(host, _)| *host == 1).map(|(_, event)| event));
    }
    let ended =
        events.iter().filter(|event| matches!(event, Event::Disconnect { reason: DisconnectReason::ByPeer, .. }));
    assert_eq!(ended.count(), 1, "{events:?}");
    assert_eq!(link.hosts[0].connected_peers(), 1);
}

#[test]
fn peers_of_one_address_are_limited_and_others_are_not() {
    let settings = Settings { duplicate_peers: 2, ..Settings::default() };
    let mut hosts = vec![Host::new(8, settings, &[1; 16])];
    hosts.extend((2..4).map(|seed| Host::new(8, Settings::default(), &[seed; 16])));
    let mut link = Link::new(hosts, Faults::default(), 1);
    for _ in 0..4 {
        link.hosts[1].connect(address(0), 1, 0).unwrap();
    }
    link.hosts[2].connect(address(0), 1, 0).unwrap();
    while link.now_ms < 300 {
        link.step(300);
    }
    assert_eq!(link.hosts[0].connected_peers(), 3);
    // One leaves; there is room for another.
    let peer = link.hosts[1].connected().next().unwrap();
    link.hosts[1].disconnect(peer, 0);
    while link.now_ms < 500 {
        link.step(500);
    }
    link.hosts[1].connect(address(0), 1, 0).unwrap();
    link.hosts[1].connect(address(0), 1, 0).unwrap();
    while link.now_ms < 800 {
        link.step(800);
    }
    assert_eq!(link.hosts[0].connected_peers(), 3);
    assert_eq!(link.hosts[0].statistics().dropped(Dropped::TooManyOfAddress), 3);
}

#[test]
fn memory_that_waits_for_missing_pieces_stays_within_its_budget() {
    let settings = Settings { held_bytes_max: 100_000, waiting_bytes_max: 50_000, ..Settings::default() };
    let hosts = vec![Host::new(8, settings, &[1; 16]), Host::new(8, Settings::default(), &[2; 16])];
    let mut link = Link::new(hosts, Faults::default(), 1);
    let peers: Vec<_> = (0..4).map(|_| link.connect(1).1).collect();
    // The packet before is lost: all pieces wait.
    for peer in &peers {
        link.hosts[1].send(*peer, 0, Packet::reliable(vec![0; 1300])).unwrap();
        link.hosts[1].send(*peer, 0, Packet::reliable(vec![0; 60_000])).unwrap();
    }
    let (mut bytes, now) = (Vec::new(), link.now());
    let mut seen = std::collections::BTreeSet::new();
    while let Some(transmit) = link.hosts[1].poll_transmit(now, &mut bytes) {
        if seen.insert(transmit.peer) {
            continue;
        }
        link.hosts[0].handle_datagram(now, address(1), &bytes);
        assert!(link.hosts[0].held_bytes() <= 100_000);
        for peer in link.hosts[0].connected() {
            assert!(link.hosts[0].peer(peer).unwrap().held_bytes() <= 50_000);
        }
    }
    // All of one address: no more than they leave for others.
    assert!((45_000..=50_000).contains(&link.hosts[0].held_bytes()), "{}", link.hosts[0].held_bytes());
    assert!(link.hosts[0].statistics().dropped(Dropped::NoRoom) > 0);
    // A peer that leaves releases the memory it held.
    for peer in link.hosts[0].connected().collect::<Vec<_>>() {
        link.hosts[0].reset(peer);
    }
    assert_eq!(link.hosts[0].held_bytes(), 0);
}

#[test]
fn a_peer_that_falls_silent_is_given_up_and_its_slot_is_free() {
    let hosts = vec![Host::new(8, Settings::default(), &[1; 16]), Host::new(8, Settings::default(), &[2; 16])];
    let mut link = Link::new(hosts, Faults::default(), 1);
    let (server, _) = link.connect(1);
    let start = link.now_ms;
    link.faults.loss = 65_536;
    let mut ended = None;
    while ended.is_none() {
        let end = link.now_ms + 1000;
        for (host, event) in link.step(end) {
            if host == 0 {
                assert_eq!(event, Event::Disconnect { peer: server, data: 0, reason: DisconnectReason::TimedOut });
                ended = Some(link.now_ms - start);
            }
        }
    }
    let ended = ended.unwrap();
    assert!((5000..=31_000).contains(&ended), "{ended} ms");
    assert_eq!((link.hosts[0].free_slots(), link.hosts[0].commands()), (8, 0));
    assert_eq!(link.hosts[0].send(server, 0, Packet::reliable(b"")), Err(SendError::NotConnected));
    assert!(link.hosts[0].peer(server).is_none());
}

#[test]
fn an_unanswered_connection_is_given_up_after_half_a_minute() {
    let mut link = Link::new(vec![Host::new(1, Settings::default(), &[1; 16])], Faults::default(), 1);
    link.faults.loss = 65_536;
    let peer = link.hosts[0].connect(address(0), 1, 0).unwrap();
    assert_eq!(link.hosts[0].peer(peer).unwrap().state(), State::Connecting);
    let mut ended = Vec::new();
    while ended.is_empty() {
        let end = link.now_ms + 1000;
        ended = link.step(end);
    }
    assert_eq!(ended[0].1, Event::Disconnect { peer, data: 0, reason: DisconnectReason::TimedOut });
    // 0.5, 1, 2, 4, 8 and 16 s after one another.
    assert_eq!(link.now_ms / 500, 63);
    assert_eq!(link.hosts[0].statistics().datagrams_sent, 6);
}

#[test]
fn a_bandwidth_of_a_peer_is_no_matter_to_a_host_that_counts_its_time_from_1970() {
    let now = Duration::from_secs(1_700_000_000);
    let from = forged(0);
    let mut server = Host::new(8, Settings::default(), &[1; 16]);
    server.set_bandwidth(u32::MAX, u32::MAX);
    server.handle_datagram(now, from, &connect_datagram(7, 1));
    let mut answer = Vec::new();
    server.poll_transmit(now, &mut answer).expect("a VERIFY_CONNECT");
    let (peer, proof) = RawPeer::granted(&answer).expect("a VERIFY_CONNECT");
    server.handle_datagram(now, from, &proof);
    let limits = Body::BandwidthLimit { incoming: u32::MAX, outgoing: u32::MAX };
    let command = Command { flags: MUST_ACKNOWLEDGE, channel: CONTROL, sequence: 1, body: limits };
    server.handle_datagram(now, from, &peer.datagram(Some(1), &[command]));
    server.handle_timeout(now + Duration::from_secs(2));
    let peer = server.connected().next().expect("it is connected");
    assert_eq!(server.peer(peer).expect("it has a slot").throttle().limit, 32, "nothing was sent: nothing is dropped");
}
