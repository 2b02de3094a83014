//! What a host does with bytes that no well-meaning host sends, rule by rule.

use std::time::Duration;

use prony_enet::wire::{
    Body, CONTROL, Command, ConnectParameters, Fragment, Header, MUST_ACKNOWLEDGE, NO_PEER, ThrottleParameters,
    UNSEQUENCED,
};
use prony_enet::{
    DisconnectReason, Dropped, Event, Host, PeerId, Received, Settings, State, WireProfile, crc32_checksum,
};

use crate::link::{Faults, Link, address};

/// A server with a client, whose datagrams are written by hand from then on.
struct Bench {
    server: Host,
    peer: PeerId,
    token: u16,
    session: u8,
    now_ms: u64,
}

impl Bench {
    fn new() -> Bench {
        Bench::with(Settings::default())
    }

    /// With numbers as small as the stock library's.
    fn with(settings: Settings) -> Bench {
        let client = Settings { checksum: settings.checksum.is_some().then(crc32_checksum), ..Settings::default() };
        let server = Settings { wire_profile: WireProfile::Stock, ..settings };
        let mut link =
            Link::new(vec![Host::new(4, server, &[1; 16]), Host::new(4, client, &[2; 16])], Faults::default(), 1);
        let (peer, _) = link.connect(2);
        // Whatever the connection left to say.
        let end = link.now_ms + 1500;
        while link.now_ms < end {
            link.step(end);
        }
        let server = link.hosts.swap_remove(0);
        let token = server.peer(peer).unwrap().tokens().0;
        let session = server.peer(peer).unwrap().sessions().0;
        let mut bench = Bench { server, peer, token, session, now_ms: link.now_ms };
        bench.answers();
        bench
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.now_ms)
    }

    fn header(&self) -> Header {
        Header { peer: self.token, session: self.session, compressed: false, sent_time: Some(self.now_ms as u16) }
    }

    fn give(&mut self, header: Header, commands: &[Command]) {
        let mut datagram = Vec::new();
        header.encode(&mut datagram);
        for command in commands {
            command.encode(&mut datagram);
        }
        self.server.handle_datagram(self.now(), address(1), &datagram);
    }

    fn send(&mut self, commands: &[Command]) {
        self.give(self.header(), commands);
    }

    /// Numbers acknowledged by what the server has to say.
    fn answers(&mut self) -> Vec<(u8, u16)> {
        let mut acknowledged = Vec::new();
        let mut datagram = Vec::new();
        while self.server.poll_transmit(Duration::from_millis(self.now_ms), &mut datagram).is_some() {
            let (_, mut rest) = Header::decode(&datagram).unwrap();
            while let Some((command, behind)) = Command::decode(rest) {
                if let Body::Acknowledge { sequence, .. } = command.body {
                    acknowledged.push((command.channel, sequence));
                }
                rest = behind;
            }
        }
        acknowledged
    }

    fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.server.poll_event()).collect()
    }

    fn packets(&mut self) -> Vec<Vec<u8>> {
        self.events()
            .into_iter()
            .map(|event| match event {
                Event::Receive { packet: Received { payload, .. }, .. } => payload,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    fn dropped(&self, reason: Dropped) -> u64 {
        self.server.statistics().dropped(reason)
    }

    /// The one reason for which something was dropped since `before`.
    fn reason(&self, before: prony_enet::Statistics) -> Option<Dropped> {
        let after = self.server.statistics();
        let mut reasons = Dropped::ALL.into_iter().filter(|reason| after.dropped(*reason) > before.dropped(*reason));
        let reason = reasons.next();
        assert_eq!(reasons.next(), None);
        reason
    }
}

fn command(channel: u8, sequence: u16, body: Body<'_>) -> Command<'_> {
    let flags = match body {
        Body::Unsequenced(..) => UNSEQUENCED,
        Body::Acknowledge { .. } | Body::Unreliable(..) | Body::UnreliableFragment(..) => 0,
        _ => MUST_ACKNOWLEDGE,
    };
    Command { flags, channel, sequence, body }
}

fn reliable(sequence: u16, payload: &[u8]) -> Command<'_> {
    command(0, sequence, Body::Reliable(payload))
}

#[test]
fn datagrams_of_all_sizes_that_are_none_are_noise() {
    let mut bench = Bench::new();
    for length in [0, 1] {
        bench.server.handle_datagram(bench.now(), address(1), &vec![0; length]);
    }
    assert_eq!(bench.dropped(Dropped::Short), 2);
    let mut long = Vec::new();
    bench.header().encode(&mut long);
    reliable(1, &[0; 4090]).encode(&mut long);
    assert_eq!(long.len(), 4100);
    bench.server.handle_datagram(bench.now(), address(1), &long);
    assert_eq!(bench.dropped(Dropped::Long), 1);
    assert!(bench.events().is_empty());
    // The next one is taken as ever.
    bench.send(&[reliable(1, b"next")]);
    assert_eq!(bench.packets(), [b"next"]);
}

#[test]
fn a_header_that_leads_to_no_peer_is_dropped_for_its_reason() {
    let mut bench = Bench::new();
    let good = bench.header();
    for (header, from, reason) in [
        (Header { peer: good.peer + 1, ..good }, address(1), Dropped::UnknownPeer),
        (good, address(2), Dropped::UnknownPeer),
        (good, "10.0.0.1:7001".parse().unwrap(), Dropped::UnknownPeer),
        (Header { session: good.session ^ 1, ..good }, address(1), Dropped::OldSession),
        (Header { peer: NO_PEER, ..good }, address(1), Dropped::Malformed),
        (Header { compressed: true, ..good }, address(1), Dropped::Compression),
    ] {
        let before = bench.server.statistics();
        let mut datagram = Vec::new();
        header.encode(&mut datagram);
        reliable(1, b"x").encode(&mut datagram);
        bench.server.handle_datagram(bench.now(), from, &datagram);
        assert_eq!(bench.reason(before), Some(reason), "{header:?} from {from}");
        assert!(bench.events().is_empty() && bench.answers().is_empty());
    }
}

#[test]
fn a_wrong_checksum_drops_the_datagram() {
    let mut bench = Bench::with(Settings { checksum: Some(crc32_checksum()), ..Settings::default() });
    let mut datagram = Vec::new();
    bench.header().encode(&mut datagram);
    datagram.extend_from_slice(&bench.server.peer(bench.peer).unwrap().connect_id());
    reliable(1, b"x").encode(&mut datagram);
    let sum = crc32_checksum()(&datagram);
    datagram[4..8].copy_from_slice(&[sum[0], sum[1], sum[2], sum[3] ^ 1]);
    bench.server.handle_datagram(bench.now(), address(1), &datagram);
    assert_eq!(bench.dropped(Dropped::Checksum), 1);
    datagram[4..8].copy_from_slice(&sum);
    bench.server.handle_datagram(bench.now(), address(1), &datagram);
    assert_eq!(bench.packets(), [b"x"]);
    bench.server.handle_datagram(bench.now(), address(1), &datagram[..7]);
    assert_eq!(bench.dropped(Dropped::Short), 1);
}

#[test]
fn the_walk_ends_at_what_makes_no_sense_and_what_came_before_stays_in_force() {
    let fragment = Fragment { start: 2, count: 2, number: 2, total: 20, offset: 0 };
    let requested = ConnectParameters {
        peer: 0,
        incoming_session: 0xff,
        outgoing_session: 0xff,
        mtu: 1392,
        window: 65_536,
        channels: 1,
        incoming_bandwidth: 0,
        outgoing_bandwidth: 0,
        throttle: ThrottleParameters::default(),
        connect_id: [9; 4],
    };
    for senseless in [
        command(9, 1, Body::Reliable(b"no such channel")),
        command(CONTROL, 1, Body::Reliable(b"no data channel")),
        command(0, 2, Body::ReliableFragment(fragment, b"piece 2 of 2")),
        command(CONTROL, 1, Body::Connect(requested, 0)),
    ] {
        let mut bench = Bench::new();
        let before = bench.server.statistics();
        bench.send(&[reliable(1, b"before"), senseless, reliable(2, b"behind")]);
        assert_eq!(bench.reason(before), Some(Dropped::Malformed), "{senseless:?}");
        assert_eq!(bench.packets(), [b"before"]);
        assert_eq!(bench.answers(), [(0, 1)], "what was not handled is not acknowledged");
    }
}

#[test]
fn codes_there_are_none_of_and_commands_that_are_cut_end_the_walk() {
    for rest in [&[0u8; 8][..], &[13, 0, 0, 1], &[0x8f, 0, 0, 1], &[0x86, 0, 0], &[0x86, 0, 0, 2, 0, 9, 1]] {
        let mut bench = Bench::new();
        let mut datagram = Vec::new();
        bench.header().encode(&mut datagram);
        reliable(1, b"before").encode(&mut datagram);
        datagram.extend_from_slice(rest);
        bench.server.handle_datagram(bench.now(), address(1), &datagram);
        assert_eq!(bench.packets(), [b"before"]);
        assert_eq!(bench.answers(), [(0, 1)]);
        assert_eq!(bench.dropped(Dropped::Malformed), 1, "{rest:?}");
    }
}

#[test]
fn a_command_to_acknowledge_without_a_time_is_taken_and_ends_the_walk() {
    let mut bench = Bench::new();
    let header = Header { sent_time: None, ..bench.header() };
    bench.give(header, &[reliable(1, b"taken"), reliable(2, b"not")]);
    assert_eq!(bench.packets(), [b"taken"]);
    assert!(bench.answers().is_empty());
}

#[test]
fn duplicates_are_acknowledged_again_and_numbers_too_far_ahead_are_not() {
    let mut bench = Bench::new();
    bench.send(&[reliable(1, b"a")]);
    bench.send(&[reliable(1, b"a")]);
    assert_eq!(bench.packets(), [b"a"]);
    assert_eq!(bench.answers(), [(0, 1), (0, 1)]);
    let windows = |window: u16| window * 4096 + 5;
    bench.send(&[reliable(windows(6), b""), reliable(windows(7), b""), reliable(windows(8), b"")]);
    assert_eq!(bench.answers(), [(0, windows(6))]);
    bench.send(&[reliable(windows(9), b"")]);
    assert_eq!(bench.answers(), [(0, windows(9))], "it is old, or a window ahead of every sender's");
}

#[test]
fn what_finds_no_room_is_not_acknowledged_until_there_is_some() {
    let mut bench = Bench::with(Settings { waiting_bytes_max: 1000, ..Settings::default() });
    bench.send(&[reliable(1, &[1; 950])]);
    bench.send(&[reliable(2, &[2; 10])]);
    assert_eq!(bench.answers(), [(0, 1)]);
    assert_eq!(bench.dropped(Dropped::NoRoom), 1);
    assert_eq!(bench.packets().len(), 1);
    bench.send(&[reliable(2, &[2; 10])]);
    assert_eq!(bench.answers(), [(0, 2)]);
    assert_eq!(bench.packets().len(), 1);
}

#[test]
fn packets_longer_than_the_host_takes_are_refused() {
    let mut bench = Bench::with(Settings { packet_bytes_max: 100, ..Settings::default() });
    let piece = Fragment { start: 1, count: 2, number: 0, total: 101, offset: 0 };
    for long in [
        reliable(1, &[0; 101]),
        command(0, 0, Body::Unreliable(1, &[0; 101])),
        command(0, 0, Body::Unsequenced(1, &[0; 101])),
        command(0, 1, Body::ReliableFragment(piece, &[0; 60])),
        command(0, 0, Body::UnreliableFragment(piece, &[0; 60])),
    ] {
        let before = bench.server.statistics();
        bench.send(&[long]);
        assert_eq!(bench.reason(before), Some(Dropped::Malformed), "{long:?}");
    }
    assert!(bench.answers().is_empty() && bench.events().is_empty());
    bench.send(&[reliable(1, &[0; 100])]);
    assert_eq!(bench.packets().len(), 1);
}

#[test]
fn a_second_group_is_ignored() {
    let mut bench = Bench::new();
    bench.send(&[command(0, 0, Body::Unsequenced(3, b"a")), command(1, 0, Body::Unsequenced(3, b"b"))]);
    bench.send(&[command(0, 0, Body::Unsequenced(2, b"c"))]);
    assert_eq!(bench.packets(), [b"a", b"c"]);
}

#[test]
fn acknowledgements_from_the_future_are_not_believed() {
    let mut bench = Bench::new();
    bench.server.ping(bench.peer);
    assert!(bench.answers().is_empty());
    let in_flight = bench.server.commands();
    assert_eq!(in_flight, 1);
    let times = bench.server.peer(bench.peer).unwrap().round_trip();
    // Its number is one the server used; its time is none the server knows.
    for sequence in 0..20 {
        let future = Body::Acknowledge { sequence, sent_time: (bench.now_ms + 10) as u16 };
        bench.send(&[command(CONTROL, sequence, future)]);
    }
    assert_eq!(bench.server.commands(), in_flight);
    assert_eq!(bench.server.peer(bench.peer).unwrap().round_trip(), times);
    for sequence in 0..20 {
        let present = Body::Acknowledge { sequence, sent_time: bench.now_ms as u16 };
        bench.send(&[command(CONTROL, sequence, present)]);
    }
    assert_eq!(bench.server.commands(), 0);
}

#[test]
fn a_peer_that_ends_is_acknowledged_and_then_its_event_comes() {
    let mut bench = Bench::new();
    bench.send(&[reliable(1, b"undelivered"), command(CONTROL, 9, Body::Disconnect(5))]);
    assert_eq!(bench.server.peer(bench.peer).unwrap().state(), State::AcknowledgingDisconnect);
    assert!(bench.events().is_empty(), "what was not delivered is dropped");
    // Only the end itself is acknowledged.
    bench.send(&[reliable(2, b"late")]);
    assert_eq!(bench.answers(), [(CONTROL, 9)]);
    bench.send(&[reliable(3, b"later")]);
    assert_eq!(bench.dropped(Dropped::EndedPeer), 1);
    let peer = bench.peer;
    assert_eq!(bench.events(), [Event::Disconnect { peer, data: 5, reason: DisconnectReason::ByPeer }]);
    assert_eq!(bench.server.free_slots(), 4);
    bench.send(&[reliable(3, b"later")]);
    assert_eq!(bench.dropped(Dropped::UnknownPeer), 1);
}

#[test]
fn an_end_that_requests_no_acknowledgement_or_cannot_get_one_is_an_end() {
    for (flags, sent_time) in [(UNSEQUENCED, Some(1)), (0, None), (MUST_ACKNOWLEDGE, None)] {
        let mut bench = Bench::new();
        let end = Command { flags, channel: CONTROL, sequence: 7, body: Body::Disconnect(3) };
        bench.give(Header { sent_time, ..bench.header() }, &[end]);
        assert!(bench.answers().is_empty());
        let peer = bench.peer;
        assert_eq!(
            bench.events(),
            [Event::Disconnect { peer, data: 3, reason: DisconnectReason::ByPeer }],
            "{flags} {sent_time:?}"
        );
        assert_eq!(bench.server.free_slots(), 4);
    }
}

#[test]
fn packets_for_a_peer_that_leaves_later_are_acknowledged_and_not_delivered() {
    let mut bench = Bench::new();
    bench.server.send(bench.peer, 0, prony_enet::Packet::reliable(b"last words")).unwrap();
    bench.server.disconnect_later(bench.peer, 4);
    assert_eq!(bench.server.peer(bench.peer).unwrap().state(), State::DisconnectLater);
    assert!(bench.server.send(bench.peer, 0, prony_enet::Packet::reliable(b"more")).is_err());
    bench.send(&[reliable(1, b"too late")]);
    assert_eq!(bench.answers(), [(0, 1)]);
    assert!(bench.events().is_empty());
    let acknowledgement = Body::Acknowledge { sequence: 1, sent_time: bench.now_ms as u16 };
    bench.send(&[command(0, 1, acknowledgement)]);
    assert_eq!(bench.server.peer(bench.peer).unwrap().state(), State::Disconnecting);
}

#[test]
fn a_grant_that_does_not_fit_the_question_ends_the_attempt() {
    let good = |connect_id| ConnectParameters {
        peer: 3,
        incoming_session: 0,
        outgoing_session: 0,
        mtu: 100_000,
        window: 1,
        channels: 9,
        incoming_bandwidth: 0,
        outgoing_bandwidth: 0,
        throttle: ThrottleParameters::default(),
        connect_id,
    };
    let throttle = ThrottleParameters { interval_ms: 1, ..ThrottleParameters::default() };
    type Spoil = fn(ConnectParameters, ThrottleParameters) -> ConnectParameters;
    let spoils: [(Spoil, bool); 6] = [
        (|good, _| good, true),
        (|good, _| ConnectParameters { channels: 0, ..good }, false),
        (|good, _| ConnectParameters { channels: 256, ..good }, false),
        (|good, throttle| ConnectParameters { throttle, ..good }, false),
        (|good, _| ConnectParameters { connect_id: [1, 2, 3, 4], ..good }, false),
        (|good, _| ConnectParameters { peer: NO_PEER, ..good }, false),
    ];
    for (spoil, fits) in spoils {
        let mut client = Host::new(1, Settings::default(), &[1; 16]);
        let peer = client.connect(address(0), 2, 0).unwrap();
        let (now, mut datagram) = (Duration::from_millis(10), Vec::new());
        client.poll_transmit(now, &mut datagram).unwrap();
        let granted = spoil(good(client.peer(peer).unwrap().connect_id()), throttle);
        datagram.clear();
        Header { peer: 0, session: 0, compressed: false, sent_time: Some(5) }.encode(&mut datagram);
        command(CONTROL, 1, Body::VerifyConnect(granted)).encode(&mut datagram);
        client.handle_datagram(now, address(0), &datagram);
        if fits {
            assert_eq!(client.poll_event(), Some(Event::Connect { peer, data: 0 }));
            let view = client.peer(peer).unwrap();
            assert_eq!((view.channels(), view.mtu(), view.window_bytes()), (2, 1392, 4096));
        } else {
            assert_eq!(
                client.poll_event(),
                Some(Event::Disconnect { peer, data: 0, reason: DisconnectReason::Refused })
            );
            assert_eq!(client.free_slots(), 1);
        }
    }
}

#[test]
fn connects_with_fields_that_make_no_sense_get_no_answer() {
    let requested = ConnectParameters {
        peer: 0,
        incoming_session: 0xff,
        outgoing_session: 0xff,
        mtu: 1,
        window: 0,
        channels: 1,
        incoming_bandwidth: 0,
        outgoing_bandwidth: 0,
        throttle: ThrottleParameters::default(),
        connect_id: [1; 4],
    };
    for (requested, answers) in [
        (requested, true),
        (ConnectParameters { channels: 0, ..requested }, false),
        (ConnectParameters { channels: 256, ..requested }, false),
        (ConnectParameters { peer: NO_PEER, ..requested }, false),
    ] {
        let mut server = Host::new(1, Settings::default(), &[1; 16]);
        let (now, mut datagram) = (Duration::from_millis(10), Vec::new());
        Header { peer: NO_PEER, session: 0, compressed: false, sent_time: Some(5) }.encode(&mut datagram);
        command(CONTROL, 1, Body::Connect(requested, 0)).encode(&mut datagram);
        server.handle_datagram(now, address(1), &datagram);
        assert_eq!(server.poll_transmit(now, &mut datagram).is_some(), answers);
        if answers {
            let (_, rest) = Header::decode(&datagram).unwrap();
            let Some((Command { body: Body::VerifyConnect(granted), .. }, _)) = Command::decode(rest) else {
                panic!("{datagram:?}")
            };
            assert_eq!((granted.mtu, granted.window), (576, 4096), "clamped");
        }
    }
}

/// Acknowledgements cannot pile up, though each ping of four bytes requests one of eight.
#[test]
fn acknowledgements_that_are_not_polled_for_are_bounded() {
    let mut bench = Bench::new();
    let pings = vec![command(CONTROL, 1, Body::Ping); 1000];
    for _ in 0..100 {
        bench.send(&pings);
    }
    assert_eq!(bench.answers().len(), 1 << 14);
}
