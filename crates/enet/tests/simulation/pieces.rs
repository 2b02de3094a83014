//! Packets in pieces from peers that never send them whole: what they cost, and whom they keep out.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use prony_enet::wire::{Body, Command, Fragment, MUST_ACKNOWLEDGE};
use prony_enet::{Dropped, Event, Host, Packet, Settings};

use crate::link::{Faults, Link};
use prony_testing::enet::raw::{RawPeer, connect_datagram};

const NOW: Duration = Duration::from_millis(1);

/// Connects a peer that is written by hand.
fn connect(server: &mut Host, from: SocketAddr, channels: u32) -> RawPeer {
    server.handle_datagram(NOW, from, &connect_datagram(7, channels));
    let mut answer = Vec::new();
    assert_eq!(server.poll_transmit(NOW, &mut answer).map(|transmit| transmit.to), Some(from));
    let (peer, proof) = RawPeer::granted(&answer).expect("a VERIFY_CONNECT");
    server.handle_datagram(NOW, from, &proof);
    assert!(matches!(server.poll_event(), Some(Event::Connect { .. })));
    while server.poll_transmit(NOW, &mut answer).is_some() {}
    peer
}

fn hostile(number: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::new(10, 9, 200, 1), 5000 + number))
}

/// Piece `number` of a packet of `count` pieces of `payload`'s length.
fn piece(start: u16, count: u32, number: u32, payload: &[u8]) -> Body<'_> {
    let bytes = payload.len() as u32;
    Body::UnreliableFragment(Fragment { start, count, number, total: count * bytes, offset: number * bytes }, payload)
}

#[test]
fn a_piece_costs_the_same_however_many_packets_lack_theirs() {
    type Order = fn(u16) -> u16;
    let orders: [(&str, Order); 3] = [
        ("ascending", |number| number + 1),
        ("descending", |number| u16::MAX - number),
        ("shuffled", |number| number.wrapping_mul(40_503) | 1),
    ];
    for (order, start) in orders {
        let mut server = Host::new(8, Settings::default(), &[1; 16]);
        let from = hostile(0);
        let peer = connect(&mut server, from, 1);
        for number in 0..20_000 {
            let body = piece(start(number), 2, 0, &[0; 8]);
            let datagram = peer.datagram(None, &[Command { flags: 0, channel: 0, sequence: 0, body }]);
            let before = server.statistics().work;
            server.handle_datagram(NOW, from, &datagram);
            let work = server.statistics().work - before;
            assert!(work <= 20, "{work} steps for piece {number}, {order}");
        }
        // And it bounds what one datagram drops: a packet that is whole overtakes all of them.
        let before = server.statistics().work;
        let body = Body::Unreliable(u16::MAX, b"whole");
        server.handle_datagram(NOW, from, &peer.datagram(None, &[Command { flags: 0, channel: 0, sequence: 0, body }]));
        let work = server.statistics().work - before;
        assert!(work <= 2100, "{work} steps for the packet that overtook, {order}");
    }
}

/// The server's budget is small, so that the test is quick; nine peers of one address send what fills it.
fn besieged(settings: Settings) -> Link {
    let budget = settings.held_bytes_max;
    let hosts = vec![Host::new(16, settings, &[1; 16]), Host::new(2, Settings::default(), &[2; 16])];
    let mut link = Link::new(hosts, Faults { delay_ms: (3, 3), ..Faults::default() }, 1);
    for number in 0..9 {
        let from = hostile(number);
        let peer = connect(&mut link.hosts[0], from, 1);
        // Each packet of two pieces lacks its first one.
        for start in 1..=(budget / 1000 / 4) as u16 {
            let body = Fragment { start: 2 * start, count: 2, number: 1, total: 2000, offset: 1000 };
            let body = Body::ReliableFragment(body, &[0; 1000]);
            let command = Command { flags: MUST_ACKNOWLEDGE, channel: 0, sequence: 2 * start + 1, body };
            link.hosts[0].handle_datagram(NOW, from, &peer.datagram(Some(1), &[command]));
        }
    }
    assert!(link.hosts[0].statistics().dropped(Dropped::NoRoom) > 0, "the address filled its share");
    // No host answers at that address.
    let mut bytes = Vec::new();
    while link.hosts[0].poll_transmit(NOW, &mut bytes).is_some() {}
    link
}

/// Packets that come to the server within two seconds.
fn deliveries(link: &mut Link) -> Vec<Vec<u8>> {
    let (mut packets, end) = (Vec::new(), link.now_ms + 2000);
    while link.now_ms < end {
        for (_, event) in link.step(end) {
            if let Event::Receive { packet, .. } = event {
                packets.push(packet.payload);
            }
        }
    }
    packets
}

fn long_packet(seed: u8) -> Vec<u8> {
    (0..50_000u32).map(|at| (at % 251) as u8 ^ seed).collect()
}

#[test]
fn peers_of_one_address_leave_room_for_the_pieces_of_others() {
    let mut link = besieged(Settings { held_bytes_max: 400_000, ..Settings::default() });
    assert!(link.hosts[0].held_bytes() <= 200_000, "{} bytes of one address", link.hosts[0].held_bytes());
    let (_, honest) = link.connect(2);
    let unreliable = Packet { fragments_unreliable: true, ..Packet::unreliable(long_packet(1)) };
    link.hosts[1].send(honest, 0, unreliable).unwrap();
    link.hosts[1].send(honest, 1, Packet::reliable(long_packet(2))).unwrap();
    let mut came = deliveries(&mut link);
    came.sort();
    let mut sent = vec![long_packet(1), long_packet(2)];
    sent.sort();
    assert!(came == sent, "{} packets", came.len());
}

/// Not even one byte of the budget is left: what is next in order comes all the same.
#[test]
fn the_next_packet_in_order_needs_no_budget() {
    for form in ["reliable", "unreliable"] {
        let mut link = besieged(Settings { held_bytes_max: 20_000, ..Settings::default() });
        let (_, honest) = link.connect(2);
        link.hosts[0].settings_mut().held_bytes_max = 0;
        let packet = match form {
            "reliable" => Packet::reliable(long_packet(3)),
            _ => Packet { fragments_unreliable: true, ..Packet::unreliable(long_packet(3)) },
        };
        for _ in 0..3 {
            link.hosts[1].send(honest, 0, packet.clone()).unwrap();
        }
        let came = deliveries(&mut link);
        assert!(came == vec![long_packet(3); 3], "{} {form} packets", came.len());
    }
}

/// Two pieces with one start that disagree about their packet: the second of two, then one far behind them.
fn foreign_pieces(is_reliable: bool) -> [Command<'static>; 2] {
    [(2, 1), (65, 64)].map(|(count, number)| {
        let fragment = Fragment { start: 1, count, number, total: count, offset: number };
        let (flags, sequence, body) = match is_reliable {
            true => (MUST_ACKNOWLEDGE, 1 + number as u16, Body::ReliableFragment(fragment, &[7])),
            false => (0, 0, Body::UnreliableFragment(fragment, &[7])),
        };
        Command { flags, channel: 0, sequence, body }
    })
}

#[test]
fn a_piece_of_another_count_is_refused_whatever_its_number() {
    for is_reliable in [true, false] {
        let mut server = Host::new(8, Settings::default(), &[1; 16]);
        let from = hostile(0);
        let peer = connect(&mut server, from, 1);
        for command in foreign_pieces(is_reliable) {
            server.handle_datagram(NOW, from, &peer.datagram(Some(1), &[command]));
        }
        assert_eq!(server.statistics().dropped(Dropped::Malformed), 1, "reliable: {is_reliable}");
    }
}

#[test]
fn a_client_refuses_a_piece_of_another_count_of_a_hostile_server() {
    for is_reliable in [true, false] {
        let mut client = Host::new(1, Settings::default(), &[1; 16]);
        let server = hostile(0);
        client.connect(server, 1, 0).expect("there is a slot");
        let mut request = Vec::new();
        client.poll_transmit(NOW, &mut request).expect("a CONNECT");
        let (peer, grant) = RawPeer::granting(&request).expect("it is a CONNECT");
        client.handle_datagram(NOW, server, &grant);
        assert!(matches!(client.poll_event(), Some(Event::Connect { .. })));
        for command in foreign_pieces(is_reliable) {
            client.handle_datagram(NOW, server, &peer.datagram(Some(1), &[command]));
        }
        assert_eq!(client.statistics().dropped(Dropped::Malformed), 1, "reliable: {is_reliable}");
    }
}
