//! What an application does with its peers.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use prony_enet::wire::{Body, Command, Header, ThrottleParameters};
use prony_enet::{
    ConnectError, DisconnectReason, Event, Host, Packet, Payload, PeerId, PeerSettings, PeerTimeout, SendError,
    Settings, State,
};

use crate::link::{Faults, Link, address};

fn hosts(clients: usize) -> Link {
    let server = Host::new(clients, Settings::default(), &[1; 16]);
    let client = Host::new(clients, Settings::default(), &[2; 16]);
    Link::new(vec![server, client], Faults { delay_ms: (9, 9), ..Faults::default() }, 1)
}

/// Goes on for `ms`; returns what happened at each host.
fn go_on(link: &mut Link, ms: u64) -> [Vec<Event>; 2] {
    let end = link.now_ms + ms;
    let mut events: [Vec<Event>; 2] = Default::default();
    while link.now_ms < end {
        for (host, event) in link.step(end) {
            events[host].push(event);
        }
    }
    events
}

/// BANDWIDTH_LIMITs that a host has to send now, as incoming and outgoing.
fn announced_bandwidths(host: &mut Host, now: Duration) -> Vec<(u32, u32)> {
    host.handle_timeout(now);
    let (mut announced, mut datagram) = (Vec::new(), Vec::new());
    while host.poll_transmit(now, &mut datagram).is_some() {
        let (_, mut rest) = Header::decode(&datagram).unwrap();
        while let Some((command, behind)) = Command::decode(rest) {
            if let Body::BandwidthLimit { incoming, outgoing } = command.body {
                announced.push((incoming, outgoing));
            }
            rest = behind;
        }
    }
    announced
}

#[test]
fn a_bandwidth_is_announced_when_it_changed_and_not_again() {
    let mut link = hosts(4);
    for _ in 0..3 {
        link.connect(1);
    }
    let second = Duration::from_secs(1);
    let mut now = link.now() + second;
    assert_eq!(
        announced_bandwidths(&mut link.hosts[0], now),
        [],
        "three connections, and none of them asked for a limit"
    );
    link.hosts[0].set_bandwidth(90_000, 0);
    assert_eq!(announced_bandwidths(&mut link.hosts[0], now), [], "once a second at most");
    now += second;
    // A peer that names no bandwidth of its own is left out of the sharing, as at a stock host.
    assert_eq!(announced_bandwidths(&mut link.hosts[0], now), [], "nobody said that it would send more than its share");
    link.hosts[0].set_bandwidth(90_000, 7000);
    now += second;
    assert_eq!(announced_bandwidths(&mut link.hosts[0], now), [(0, 7000); 3]);
    // Those were lost on their way to this test; what is sent again arrives.
    link.now_ms = now.as_millis() as u64;
    go_on(&mut link, 2500);
    for peer in link.hosts[1].connected() {
        assert_eq!(link.hosts[1].peer(peer).unwrap().bandwidth(), (0, 7000));
    }
    now = link.now() + second;
    assert_eq!(announced_bandwidths(&mut link.hosts[0], now), []);
}

#[test]
fn a_share_of_the_bandwidth_is_announced_to_peers_that_send_more() {
    let server = Host::new(4, Settings::default(), &[1; 16]);
    let mut client = Host::new(4, Settings::default(), &[2; 16]);
    client.set_bandwidth(0, 50_000);
    let mut link = Link::new(vec![server, client], Faults::default(), 1);
    for _ in 0..3 {
        link.connect(1);
    }
    link.hosts[0].set_bandwidth(90_000, 0);
    let now = link.now() + Duration::from_secs(1);
    assert_eq!(announced_bandwidths(&mut link.hosts[0], now), [(30_000, 0); 3]);
}

#[test]
fn the_broadcast_address_takes_the_first_who_answers() {
    let mut client = Host::new(2, Settings::default(), &[2; 16]);
    let mut server = Host::new(2, Settings::default(), &[1; 16]);
    let peer = client.connect(SocketAddr::from((Ipv4Addr::BROADCAST, 7000)), 1, 0).unwrap();
    let (now, mut datagram) = (Duration::from_millis(5), Vec::new());
    let request = client.poll_transmit(now, &mut datagram).unwrap();
    assert_eq!(request.to.ip(), Ipv4Addr::BROADCAST);
    server.handle_datagram(now, address(1), &datagram);
    server.poll_transmit(now, &mut datagram).unwrap();
    client.handle_datagram(now, address(0), &datagram);
    assert_eq!(client.poll_event(), Some(Event::Connect { peer, data: 0 }));
    assert_eq!(client.peer(peer).unwrap().address(), address(0));
    // Later answers are dropped.
    client.handle_datagram(now, address(3), &datagram);
    assert_eq!(client.peer(peer).unwrap().address(), address(0));
    let answered = client.poll_transmit(now, &mut datagram).unwrap();
    assert_eq!(answered.to, address(0));
    server.handle_datagram(now, address(1), &datagram);
    assert!(matches!(server.poll_event(), Some(Event::Connect { .. })));
}

#[test]
fn leaving_later_delivers_everything_first() {
    let mut link = hosts(1);
    link.faults.loss = crate::link::percent(20);
    let (server, client) = link.connect(1);
    for number in 0..200u32 {
        link.hosts[1].send(client, 0, Packet::reliable(&number.to_be_bytes())).unwrap();
    }
    link.hosts[1].disconnect_later(client, 6);
    let [at_server, at_client] = go_on(&mut link, 60_000);
    assert_eq!(at_server.len(), 201);
    assert_eq!(at_server[200], Event::Disconnect { peer: server, data: 6, reason: DisconnectReason::ByPeer });
    assert_eq!(at_client, [Event::Disconnect { peer: client, data: 0, reason: DisconnectReason::ByUs }]);
}

#[test]
fn leaving_at_once_is_announced_once_and_has_no_event_here() {
    let mut link = hosts(1);
    let (server, client) = link.connect(1);
    link.hosts[1].send(client, 0, Packet::reliable(b"never sent")).unwrap();
    link.hosts[1].disconnect_now(client, 8);
    assert!(link.hosts[1].peer(client).is_none());
    let [at_server, at_client] = go_on(&mut link, 100);
    assert_eq!(at_server, [Event::Disconnect { peer: server, data: 8, reason: DisconnectReason::ByPeer }]);
    assert_eq!(at_client, []);
}

#[test]
fn a_payload_is_given_back_when_no_peer_needs_it() {
    let mut link = hosts(3);
    for _ in 0..3 {
        link.connect(1);
    }
    let owner: Arc<Vec<u8>> = Arc::new(vec![5; 5000]);
    struct Owned(Arc<Vec<u8>>);
    impl AsRef<[u8]> for Owned {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    let packet = Packet::reliable(Payload::owned_by(Owned(owner.clone())));
    link.hosts[0].broadcast(0, &packet);
    drop(packet);
    assert_eq!(Arc::strong_count(&owner), 2);
    let [_, at_clients] = go_on(&mut link, 15);
    assert_eq!(at_clients.len(), 3);
    assert_eq!(Arc::strong_count(&owner), 2, "nothing is acknowledged yet");
    go_on(&mut link, 15);
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn a_peer_of_an_earlier_connection_is_unknown() {
    let mut link = hosts(1);
    let (old, client) = link.connect(1);
    link.hosts[1].disconnect(client, 0);
    go_on(&mut link, 100);
    let (new, _) = link.connect(1);
    assert_eq!((old.slot(), new.slot()), (0, 0));
    assert_ne!(old, new);
    let host = &mut link.hosts[0];
    assert!(host.peer(old).is_none());
    assert_eq!(host.send(old, 0, Packet::reliable(b"")), Err(SendError::NotConnected));
    host.reset(old);
    host.disconnect_now(old, 0);
    host.disconnect(old, 0);
    assert_eq!(host.peer(new).unwrap().state(), State::Connected);
}

#[test]
fn packets_are_taken_from_one_peer_out_of_turn() {
    let mut link = hosts(2);
    let peers = [link.connect(1), link.connect(1)];
    for (_, client) in peers {
        for text in [b"one", b"two"] {
            link.hosts[1].send(client, 0, Packet::reliable(text)).unwrap();
        }
    }
    let (mut datagram, now) = (Vec::new(), link.now());
    while link.hosts[1].poll_transmit(now, &mut datagram).is_some() {
        link.hosts[0].handle_datagram(now, address(1), &datagram);
    }
    let host = &mut link.hosts[0];
    let second = peers[1].0;
    assert_eq!(host.peer(second).unwrap().waiting_bytes(), 6);
    let taken: Vec<_> = std::iter::from_fn(|| host.receive(second)).map(|packet| packet.payload).collect();
    assert_eq!(taken, [b"one", b"two"]);
    assert_eq!(host.peer(second).unwrap().waiting_bytes(), 0);
    let rest: Vec<_> = std::iter::from_fn(|| host.poll_event()).collect();
    assert_eq!(rest.len(), 2, "{rest:?}");
}

/// Of more commands than may be in flight at once, none is lost or stuck.
#[test]
fn commands_beyond_those_that_may_be_in_flight_wait_for_acknowledgements() {
    let mut link = hosts(1);
    let (server, client) = link.connect(1);
    for _ in 0..20_000 {
        link.hosts[0].ping(server);
    }
    link.hosts[0].send(server, 0, Packet::unreliable(b"behind them")).unwrap();
    let [_, at_client] = go_on(&mut link, 200);
    assert!(matches!(&at_client[..], [Event::Receive { peer, .. }] if *peer == client), "{at_client:?}");
    assert!(link.hosts[0].commands() <= 1);
}

#[test]
fn hosts_can_be_given_to_threads() {
    fn is_send<T: Send>(_: &T) {}
    is_send(&hosts(1).hosts[0]);
}

#[test]
fn what_cannot_be_sent_is_said() {
    let mut link = hosts(1);
    let (server, _) = link.connect(2);
    let host = &mut link.hosts[0];
    host.settings_mut().packet_bytes_max = 100;
    let no_channel = SendError::NoSuchChannel { channel: 2, channels: 2 };
    assert_eq!(host.send(server, 2, Packet::reliable(b"x")), Err(no_channel));
    let too_long = SendError::TooLong { bytes: 101, limit: 100 };
    assert_eq!(host.send(server, 1, Packet::unsequenced(vec![0; 101])), Err(too_long));
    assert_eq!(no_channel.to_string(), "channel: expected below 2, found 2");
    assert_eq!(too_long.to_string(), "packet: expected at most 100 bytes, found 101");
}

#[test]
fn one_address_has_4095_peers_and_others_have_as_many() {
    let mut host = Host::new(8200, Settings::default(), &[1; 16]);
    let mut tokens = std::collections::BTreeSet::new();
    for _ in 0..4095 {
        let peer = host.connect(address(0), 1, 0).unwrap();
        assert!(tokens.insert(host.peer(peer).unwrap().tokens().0));
    }
    assert_eq!(host.connect(address(0), 1, 0), Err(ConnectError::NoToken { address: address(0) }));
    for _ in 0..4095 {
        host.connect(address(1), 1, 0).unwrap();
    }
    assert_eq!(host.free_slots(), 10);
    assert_eq!(host.connect(address(2), 256, 0), Err(ConnectError::Channels { channels: 256 }));
    let mut full = Host::new(0, Settings::default(), &[1; 16]);
    assert_eq!(full.connect(address(0), 1, 0), Err(ConnectError::NoSlot { slots: 0 }));
}

#[test]
fn round_trips_are_measured_and_throttles_are_agreed_on() {
    let mut link = hosts(1);
    let (server, client) = link.connect(1);
    go_on(&mut link, 3000);
    // Nine milliseconds and one to be noticed, each way.
    let times = link.hosts[1].peer(client).unwrap().round_trip();
    assert!((19..=22).contains(&times.mean_ms), "{times:?}");
    let parameters = ThrottleParameters { interval_ms: 100, acceleration: 3, deceleration: 4 };
    link.hosts[0].configure_throttle(server, parameters);
    go_on(&mut link, 50);
    assert_eq!(link.hosts[1].peer(client).unwrap().throttle().parameters, parameters);
}

#[test]
fn a_shorter_ping_interval_and_a_shorter_timeout_hold_at_once() {
    let mut link = hosts(1);
    let (server, _) = link.connect(1);
    let timeout = PeerTimeout { limit: 2, minimum_ms: 50, maximum_ms: 300 };
    link.hosts[0].set_peer(server, PeerSettings { ping_interval_ms: 20, timeout });
    link.faults.loss = 65_536;
    let start = link.now_ms;
    let mut ended: Option<(u64, PeerId)> = None;
    while ended.is_none() && link.now_ms < start + 5000 {
        let end = link.now_ms + 10;
        for (host, event) in link.step(end) {
            if let (0, Event::Disconnect { peer, .. }) = (host, event) {
                ended = Some((link.now_ms - start, peer));
            }
        }
    }
    let (after, peer) = ended.expect("given up");
    assert_eq!(peer, server);
    assert!(after < 500, "{after} ms");
}
