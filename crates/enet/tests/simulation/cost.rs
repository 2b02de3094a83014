//! What is done for whom, counted, so that no machine and no noise can change it.

use std::time::Duration;

use prony_enet::{Event, Host, Packet, Settings, WireProfile};

use crate::link::{Faults, Link, address};

/// Work of the server for `clients` that send and are sent ten packets a second for ten seconds, polled at 1 kHz.
fn work_with(slots: usize, clients: usize) -> u64 {
    let server = Host::new(slots, Settings::default(), &[1; 16]);
    let client = Host::new(clients, Settings::default(), &[2; 16]);
    let mut link = Link::new(vec![server, client], Faults { delay_ms: (3, 8), ..Faults::default() }, 1);
    let peers: Vec<_> = (0..clients).map(|_| link.connect(4)).collect();
    let before = link.hosts[0].statistics().work;
    let start = link.now_ms;
    while link.now_ms < start + 10_000 {
        for (number, (server, client)) in peers.iter().enumerate() {
            if (link.now_ms + number as u64).is_multiple_of(100) {
                link.hosts[0].send(*server, 0, Packet::reliable(b"from the server")).unwrap();
                link.hosts[1].send(*client, 1, Packet::unreliable(b"from the client")).unwrap();
            }
        }
        let until = link.now_ms + 1;
        for (_, event) in link.step(until) {
            assert!(matches!(event, Event::Receive { .. }));
        }
    }
    link.hosts[0].statistics().work - before
}

#[test]
fn work_follows_the_active_peers_and_not_the_slots() {
    let (few, many) = (work_with(256, 100), work_with(16 * 256, 100));
    assert!(few > 50_000, "{few} steps");
    assert!(many <= few + few / 100, "{many} steps at 16 times the slots, {few} before");
    let half = work_with(256, 50);
    assert!((45..=55).contains(&(100 * half / few)), "half the peers, {half} of {few} steps");
}

#[test]
fn slots_without_peers_cost_nothing() {
    let mut host = Host::new(65_535, Settings::default(), &[1; 16]);
    let mut datagram = Vec::new();
    for now in 0..10_000 {
        let now = Duration::from_millis(now);
        host.handle_timeout(now);
        assert!(host.poll_transmit(now, &mut datagram).is_none());
        assert!(host.poll_event().is_none());
        assert_eq!(host.poll_timeout(), None);
    }
    assert_eq!(host.statistics().work, 0);
}

#[test]
fn idle_peers_cost_their_pings() {
    let server = Host::new(4096, Settings::default(), &[1; 16]);
    let client = Host::new(1000, Settings::default(), &[2; 16]);
    let mut link = Link::new(vec![server, client], Faults::default(), 1);
    for _ in 0..1000 {
        link.connect(4);
    }
    let (start, before) = (link.now_ms, link.hosts[0].statistics());
    while link.now_ms < start + 10_000 {
        assert!(link.step(start + 10_000).is_empty());
    }
    let after = link.hosts[0].statistics();
    // Each end pings every 500 ms and is answered: two datagrams each way.
    let datagrams = after.datagrams_sent - before.datagrams_sent;
    assert!((35_000..=42_000).contains(&datagrams), "{datagrams} datagrams for 1,000 peers in 10 s");
    let work = (after.work - before.work) / datagrams;
    assert!(work <= 12, "{work} steps a datagram");
}

#[test]
fn pings_of_peers_that_came_together_are_spread() {
    let clients = 400;
    let server = Host::new(clients, Settings::default(), &[1; 16]);
    let client = Host::new(clients, Settings::default(), &[2; 16]);
    let mut link = Link::new(vec![server, client], Faults::default(), 1);
    for _ in 0..clients {
        link.hosts[1].connect(address(0), 1, 0).unwrap();
    }
    link.now_ms = 10_000;
    let mut most = 0;
    let mut pings = 0;
    while link.now_ms < 13_000 {
        let before = link.hosts[0].statistics().resent;
        let until = link.now_ms + 1;
        let in_flight = link.hosts[0].commands();
        link.step(until);
        let new = link.hosts[0].commands().saturating_sub(in_flight);
        assert_eq!(link.hosts[0].statistics().resent, before);
        if link.now_ms > 10_100 {
            most = most.max(new);
            pings += new;
        }
    }
    assert!(pings > clients * 3, "{pings} pings");
    assert!(most < clients / 10, "{most} of {clients} peers in one millisecond");
}

/// Datagrams that a server of 100 clients sends and gets in ten seconds; it sends each a packet every 100 ms, until
/// `packets_until_ms`. Clients have the habits of the stock library: each ping is answered by a datagram of its own, and each
/// of their own pings comes after 500 ms.
fn datagrams_of_ten_seconds(packets_until_ms: u64) -> (u64, u64) {
    let server = Host::new(100, Settings::default(), &[1; 16]);
    let client = Host::new(100, Settings { wire_profile: WireProfile::Stock, ..Settings::default() }, &[2; 16]);
    let mut link = Link::new(vec![server, client], Faults::default(), 1);
    let peers: Vec<_> = (0..100).map(|_| link.connect(1).0).collect();
    let mut start = link.now_ms;
    let mut before = link.hosts[0].statistics();
    // What is left from the time with packets is one ping at most.
    while link.now_ms < start + 10_000 {
        for (number, &peer) in peers.iter().enumerate() {
            if link.now_ms < packets_until_ms && (link.now_ms + number as u64).is_multiple_of(100) {
                link.hosts[0].send(peer, 0, Packet::unreliable(b"from the server")).unwrap();
            }
        }
        let until = link.now_ms + 1;
        link.step(until);
        if packets_until_ms < u64::MAX && link.now_ms == packets_until_ms + 1000 {
            (start, before) = (link.now_ms, link.hosts[0].statistics());
        }
    }
    let after = link.hosts[0].statistics();
    (after.datagrams_sent - before.datagrams_sent, after.datagrams_received - before.datagrams_received)
}

/// Peers that are sent ten packets a second are due a ping after 500 ms: it leaves with the next packet, not beside it and
/// not before.
#[test]
fn a_ping_that_is_due_leaves_with_the_next_packet() {
    let (sent, came) = datagrams_of_ten_seconds(u64::MAX);
    let (packets, answers) = (100 * 100, 20 * 100);
    assert!(sent <= packets + answers + answers / 10, "{sent} datagrams for {packets} packets");
    // Every sixth packet takes one along, and each is acknowledged; beside that these clients send pings only.
    let pings = 10_000 / 600 * 100;
    assert!((answers + pings..=answers + pings + pings / 10).contains(&came), "{came} datagrams came");
}

#[test]
fn peers_that_are_sent_no_packets_are_pinged_on_time() {
    for packets_until_ms in [0, 5000] {
        let (sent, came) = datagrams_of_ten_seconds(packets_until_ms);
        let pings = 20 * 100;
        assert!((2 * pings - pings / 10..=2 * pings).contains(&sent), "{sent} datagrams sent");
        assert!((2 * pings - pings / 10..=2 * pings).contains(&came), "{came} datagrams came");
    }
}

#[test]
fn a_peer_that_never_acknowledges_costs_its_retransmissions_whatever_it_has_queued() {
    let server = Host::new(64, Settings::default(), &[1; 16]);
    let client = Host::new(1, Settings::default(), &[2; 16]);
    let mut link = Link::new(vec![server, client], Faults::default(), 1);
    let (peer, _) = link.connect(1);
    let host = &mut link.hosts[0];
    for _ in 0..32_768 {
        host.send(peer, 0, Packet::reliable(vec![0; 1024])).unwrap();
    }
    let mut bytes = Vec::new();
    while host.poll_transmit(Duration::from_millis(link.now_ms), &mut bytes).is_some() {}
    assert_eq!(host.blocked_peers(), 1);
    // Until the first retransmission is due, calls do nothing at all, and what is added waits behind the rest.
    let due = host.poll_timeout().expect("something is in flight");
    let before = host.statistics().work;
    let mut now = Duration::from_millis(link.now_ms);
    let mut calls = 0;
    while now + Duration::from_millis(1) < due {
        now += Duration::from_millis(1);
        host.handle_timeout(now);
        host.send(peer, 0, Packet::reliable(b"more")).unwrap();
        assert!(host.poll_transmit(now, &mut bytes).is_none());
        assert!(host.poll_event().is_none());
        calls += 1;
    }
    assert!(calls > 0);
    assert_eq!(host.statistics().work, before);
    // And over five seconds, what is in flight counts, not what is queued.
    let start = now;
    while now < start + Duration::from_secs(4) {
        now += Duration::from_millis(1);
        host.handle_timeout(now);
        while host.poll_transmit(now, &mut bytes).is_some() {}
    }
    let work = host.statistics().work - before;
    let in_flight = 65_536 / 1024;
    assert!(work < 20 * 4 * in_flight, "{work} steps in 4,000 calls");
}

#[test]
fn eight_thousand_clients_hold_one_socket() {
    let (hosts, each) = (8, 1000);
    let mut all = vec![Host::new(8192, Settings::default(), &[1; 16])];
    all.extend((0..hosts).map(|number| Host::new(each, Settings::default(), &[10 + number as u8; 16])));
    let mut link = Link::new(all, Faults { delay_ms: (1, 3), ..Faults::default() }, 1);
    let (mut connected, mut answers) = (0, 0);
    for batch in 0..each / 100 {
        for host in 1..=hosts {
            for _ in 0..100 {
                link.hosts[host].connect(address(0), 2, 0).unwrap();
            }
        }
        let end = link.now_ms + 150;
        while link.now_ms < end {
            for (host, event) in link.step(end) {
                match event {
                    Event::Connect { peer, .. } if host == 0 => {
                        connected += 1;
                        link.hosts[0].send(peer, 1, Packet::reliable(b"welcome")).unwrap();
                    }
                    Event::Connect { .. } => {}
                    Event::Receive { packet, .. } => {
                        assert_eq!(packet.payload, b"welcome");
                        answers += 1;
                    }
                    Event::Disconnect { .. } => panic!("{event:?}"),
                }
            }
        }
        assert_eq!(connected, (batch + 1) * 100 * hosts, "a batch of 800 connects within 150 ms");
    }
    assert_eq!((connected, answers), (8000, 8000));
    assert_eq!(link.hosts[0].connected_peers(), 8000);
    assert_eq!(link.hosts[0].free_slots(), 192);
}
