//! Datagrams that ended, hung or overran other implementations of the protocol, by public reports: each is dropped, or
//! taken for what it says, and a peer beside is served as before.

use std::net::SocketAddr;
use std::time::Duration;

use prony_enet::wire::{
    Body, CONTROL, Command, ConnectParameters, Fragment, Header, MUST_ACKNOWLEDGE, NO_PEER, ThrottleParameters,
    UNSEQUENCED,
};
use prony_enet::{Compressor, Event, Host, Kind, Packet, RangeCoder, Settings, crc32_checksum};
use prony_testing::enet::raw::{RawPeer, connect_datagram};

const NOW: Duration = Duration::from_millis(1000);

fn hostile() -> SocketAddr {
    "10.9.200.1:7000".parse().expect("an address")
}

fn honest() -> SocketAddr {
    "10.0.0.1:7000".parse().expect("an address")
}

fn connect(server: &mut Host, from: SocketAddr) -> RawPeer {
    server.handle_datagram(NOW, from, &connect_datagram(7, 2));
    let mut answer = Vec::new();
    server.poll_transmit(NOW, &mut answer).expect("a VERIFY_CONNECT");
    let (peer, proof) = RawPeer::granted(&answer).expect("a VERIFY_CONNECT");
    server.handle_datagram(NOW, from, &proof);
    assert!(matches!(server.poll_event(), Some(Event::Connect { .. })));
    peer
}

fn must(channel: u8, sequence: u16, body: Body) -> Command {
    Command { flags: MUST_ACKNOWLEDGE, channel, sequence, body }
}

fn loose(channel: u8, body: Body) -> Command {
    Command { flags: 0, channel, sequence: 0, body }
}

fn fragment(start: u16, count: u32, number: u32, total: u32, offset: u32) -> Fragment {
    Fragment { start, count, number, total, offset }
}

type Case = (&'static str, fn(&RawPeer) -> Vec<Vec<u8>>);

fn one(peer: &RawPeer, commands: &[Command]) -> Vec<Vec<u8>> {
    vec![peer.datagram(Some(1000), commands)]
}

/// What an attacker sends that is connected.
const CASES: [Case; 22] = [
    ("nothing, and less than a header", |_| vec![vec![], vec![0], vec![0x80, 0], vec![0x80, 0, 0]]),
    // CVE-2006-1194: a length was compared as a signed number.
    ("a payload longer than the datagram", |peer| {
        let mut datagram = peer.datagram(Some(1), &[must(0, 1, Body::Reliable(b"abcd"))]);
        let at = datagram.len() - 6;
        datagram[at..at + 2].copy_from_slice(&[0xff, 0xff]);
        vec![datagram]
    }),
    // CVE-2006-1195: the packet was allocated as it was announced, and the process aborted.
    ("a packet of 4 GiB", |peer| {
        one(peer, &[must(0, 1, Body::ReliableFragment(fragment(1, 1 << 20, 0, u32::MAX, 0), &[1; 8]))])
    }),
    ("no pieces", |peer| one(peer, &[must(0, 1, Body::ReliableFragment(fragment(1, 0, 0, 0, 0), &[]))])),
    ("more pieces than there may be", |peer| {
        one(peer, &[must(0, 1, Body::ReliableFragment(fragment(1, u32::MAX, 0, u32::MAX, 0), &[1]))])
    }),
    ("an offset that wraps with its length", |peer| {
        one(peer, &[must(0, 2, Body::ReliableFragment(fragment(1, 2, 1, 10, u32::MAX - 2), &[1; 8]))])
    }),
    ("a piece behind the end", |peer| {
        one(peer, &[must(0, 2, Body::ReliableFragment(fragment(1, 2, 1, 4, 400), &[1; 400]))])
    }),
    ("pieces that overlap", |peer| {
        let piece = |number, offset| must(0, 1, Body::ReliableFragment(fragment(1, 3, number, 12, offset), &[1; 6]));
        one(peer, &[piece(0, 0), piece(1, 3), piece(2, 6)])
    }),
    // lsalzman/enet issue 134: numbers of unsequenced packets and of unreliable pieces met.
    ("an unsequenced packet and unreliable pieces of one number", |peer| {
        let piece = |number| loose(0, Body::UnreliableFragment(fragment(1, 2, number, 2, number), &[1]));
        let unsequenced = Command { flags: UNSEQUENCED, channel: 0, sequence: 0, body: Body::Unsequenced(1, b"u") };
        one(peer, &[unsequenced, piece(0), loose(0, Body::Unreliable(1, b"v")), piece(1), unsequenced])
    }),
    ("one number for a whole packet and one in pieces", |peer| {
        let piece = |number| must(0, 2, Body::ReliableFragment(fragment(2, 2, number, 2, number), &[1]));
        one(peer, &[must(0, 2, Body::Reliable(b"r")), piece(0), piece(1), must(0, 1, Body::Reliable(b"r"))])
    }),
    ("channels that were not granted", |peer| {
        (2..=254).map(|channel| peer.datagram(Some(1), &[must(channel, 1, Body::Reliable(b"x"))])).collect()
    }),
    ("acknowledgements of every number", |peer| {
        let of = |channel: u8| move |sequence: u16| loose(channel, Body::Acknowledge { sequence, sent_time: 1000 });
        let numbers = || (0..=u16::MAX).step_by(97);
        let all: Vec<Command> =
            numbers().map(of(0)).chain(numbers().map(of(9))).chain(numbers().map(of(CONTROL))).collect();
        all.chunks(100).map(|commands| peer.datagram(None, commands)).collect()
    }),
    ("acknowledgements from the future", |peer| {
        let times = [0, 1, 999, 1001, 0x7fff, 0x8000, 0xffff];
        let commands = times.map(|sent_time| loose(CONTROL, Body::Acknowledge { sequence: 1, sent_time }));
        one(peer, &commands)
    }),
    // A bandwidth of 1 made stock hosts divide by what was sent, which was nothing.
    ("bandwidths at both ends", |peer| {
        let limits = [(1, 1), (0, 0), (u32::MAX, 0), (0, u32::MAX), (u32::MAX, u32::MAX), (1, 0)];
        limits
            .map(|(incoming, outgoing)| {
                peer.datagram(Some(1), &[must(CONTROL, 1, Body::BandwidthLimit { incoming, outgoing })])
            })
            .into()
    }),
    ("a throttle whose steps wrap", |peer| {
        let throttle = ThrottleParameters { interval_ms: 0, acceleration: u32::MAX, deceleration: u32::MAX };
        one(peer, &[must(CONTROL, 1, Body::ThrottleConfigure(throttle)), must(CONTROL, 2, Body::Ping)])
    }),
    // What followed a DISCONNECT in its datagram was handled for a peer that was gone.
    ("commands behind a DISCONNECT", |peer| {
        let mut commands = vec![loose(CONTROL, Body::Disconnect(1)); 3];
        commands.extend([must(0, 1, Body::Reliable(b"late")), must(CONTROL, 1, Body::Ping)]);
        one(peer, &commands)
    }),
    ("a DISCONNECT to be acknowledged, twice", |peer| {
        one(peer, &[must(CONTROL, 1, Body::Disconnect(1)), must(CONTROL, 1, Body::Disconnect(1))])
    }),
    ("a CONNECT within the connection", |peer| {
        let connect = connect_datagram(7, 2);
        let (_, body) = Header::decode(&connect).expect("a header");
        let mut datagram = peer.datagram(Some(1), &[]);
        datagram.extend_from_slice(body);
        vec![datagram, connect]
    }),
    ("a VERIFY_CONNECT to a server", |peer| {
        let zeros = ThrottleParameters { interval_ms: 0, acceleration: 0, deceleration: 0 };
        let granted = ConnectParameters {
            peer: NO_PEER,
            incoming_session: 0xff,
            outgoing_session: 0xff,
            mtu: 0,
            window: 0,
            channels: u32::MAX,
            incoming_bandwidth: 0,
            outgoing_bandwidth: 0,
            throttle: zeros,
            connect_id: [0; 4],
        };
        one(peer, &[must(CONTROL, 1, Body::VerifyConnect(granted))])
    }),
    ("codes that there are none of", |peer| {
        [0, 13, 14, 15, 0xff]
            .map(|code| {
                let mut datagram = peer.datagram(Some(1), &[]);
                datagram.extend_from_slice(&[code; 200]);
                datagram
            })
            .into()
    }),
    ("other sessions and tokens", |peer| {
        let others = (0..4).flat_map(|session| [0, peer.token, NO_PEER - 1].map(|token| RawPeer { token, session }));
        others.map(|other| other.datagram(None, &[loose(CONTROL, Body::Disconnect(0))])).collect()
    }),
    ("unsequenced groups across the wrap", |peer| {
        let group =
            |number| Command { flags: UNSEQUENCED, channel: 0, sequence: 0, body: Body::Unsequenced(number, b"") };
        one(peer, &[0, 1023, 1024, u16::MAX, 0, 0x7fff, 0x8000, 1].map(group))
    }),
];

/// A host with a client that knows the protocol, which sends a packet and gets its answer.
fn serves(server: &mut Host, client: &mut Host, what: &str) {
    let id = client.connected().next().unwrap_or_else(|| panic!("{what}: the honest client lost its connection"));
    client.send(id, 0, Packet::reliable(b"a request")).expect("it is connected");
    let (mut bytes, mut answers) = (Vec::new(), 0);
    for pass in 0..3 {
        let now = NOW + Duration::from_millis(10 * pass);
        while client.poll_transmit(now, &mut bytes).is_some() {
            server.handle_datagram(now, honest(), &bytes);
        }
        while let Some(event) = server.poll_event() {
            if let Event::Receive { peer, packet } = event
                && packet.kind == Kind::Reliable
            {
                let _ = server.send(peer, packet.channel, Packet::reliable(packet.payload));
            }
        }
        server.handle_timeout(now);
        while let Some(transmit) = server.poll_transmit(now, &mut bytes) {
            if transmit.to == honest() {
                client.handle_datagram(now, hostile(), &bytes);
            }
        }
        answers +=
            std::iter::from_fn(|| client.poll_event()).filter(|event| matches!(event, Event::Receive { .. })).count();
    }
    assert_eq!(answers, 1, "{what}");
    server.check_invariants().unwrap_or_else(|broken| panic!("{what}: {broken}"));
}

#[test]
fn what_ended_other_implementations_is_dropped_and_others_are_served() {
    for (what, datagrams) in CASES {
        let mut server = Host::new(8, Settings::default(), &[1; 16]);
        let mut client = Host::new(1, Settings::default(), &[2; 16]);
        client.connect(hostile(), 2, 0).expect("there is a slot");
        let mut bytes = Vec::new();
        for _ in 0..2 {
            while client.poll_transmit(NOW, &mut bytes).is_some() {
                server.handle_datagram(NOW, honest(), &bytes);
            }
            while server.poll_transmit(NOW, &mut bytes).is_some() {
                client.handle_datagram(NOW, hostile(), &bytes);
            }
        }
        assert!(matches!(client.poll_event(), Some(Event::Connect { .. })));
        assert!(matches!(server.poll_event(), Some(Event::Connect { .. })));
        let peer = connect(&mut server, hostile());
        // Twice: what is known already is another case.
        for datagram in datagrams(&peer).iter().chain(&datagrams(&peer)) {
            server.handle_datagram(NOW, hostile(), datagram);
            server.check_invariants().unwrap_or_else(|broken| panic!("{what}: {broken}"));
        }
        assert!(server.held_bytes() + server.exempt_bytes() < 4000, "{what}: {} bytes", server.held_bytes());
        serves(&mut server, &mut client, what);
    }
}

/// A grant of a hostile server in which one field is none that an honest one sends.
#[test]
fn a_client_takes_no_parameters_that_no_server_grants() {
    type Change = fn(&mut ConnectParameters);
    let changes: [(&str, bool, Change); 9] = [
        ("no datagram", true, |granted| granted.mtu = 0),
        ("datagrams of 4 GiB", true, |granted| granted.mtu = u32::MAX),
        ("no window", true, |granted| granted.window = 0),
        ("no channels", false, |granted| granted.channels = 0),
        ("channels without end", false, |granted| granted.channels = u32::MAX),
        ("no token", false, |granted| granted.peer = 0xffff),
        ("another connection", false, |granted| granted.connect_id[0] ^= 1),
        ("another throttle", false, |granted| granted.throttle.interval_ms ^= 1),
        ("sessions without end", true, |granted| (granted.incoming_session, granted.outgoing_session) = (0xff, 0xfe)),
    ];
    for (what, is_taken, change) in changes {
        let mut client = Host::new(1, Settings::default(), &[2; 16]);
        let id = client.connect(hostile(), 2, 0).expect("there is a slot");
        let mut bytes = Vec::new();
        client.poll_transmit(NOW, &mut bytes).expect("a CONNECT");
        let (peer, grant) = RawPeer::granting(&bytes).expect("it is a CONNECT");
        let (_, body) = Header::decode(&grant).expect("a header");
        let (command, _) = Command::decode(body).expect("a VERIFY_CONNECT");
        let Body::VerifyConnect(mut granted) = command.body else { panic!("{command:?}") };
        change(&mut granted);
        let grant = Command { body: Body::VerifyConnect(granted), ..command };
        client.handle_datagram(NOW, hostile(), &peer.datagram(Some(1), &[grant]));
        let is_connected = matches!(client.poll_event(), Some(Event::Connect { .. }));
        assert_eq!(is_connected, is_taken, "{what}");
        client.check_invariants().unwrap_or_else(|broken| panic!("{what}: {broken}"));
        if is_connected {
            // A long packet is cut by what was granted.
            client.send(id, 0, Packet::reliable(vec![1; 100_000])).expect("it is connected");
            while client.poll_transmit(NOW, &mut bytes).is_some() {
                assert!(bytes.len() <= 1392, "{what}: {} bytes", bytes.len());
            }
            client.check_invariants().unwrap_or_else(|broken| panic!("{what}: {broken}"));
        }
    }
}

/// The range coder of stock hosts read and wrote beyond its tables on bytes that none of them makes, and datagrams of a few
/// bytes with a checksum were read beyond their end.
#[test]
fn compressed_and_checked_datagrams_of_any_length_are_dropped() {
    for (checksum, range_coder) in [(true, false), (false, true), (true, true), (false, false)] {
        let settings = Settings {
            checksum: checksum.then(crc32_checksum),
            compressor: range_coder.then(|| Box::new(RangeCoder::new()) as Box<dyn Compressor>),
            ..Settings::default()
        };
        let mut server = Host::new(8, settings, &[1; 16]);
        for fill in [0, 1, 0x7f, 0x80, 0xff] {
            for length in 0..300 {
                for compressed in [false, true] {
                    let mut datagram = Vec::new();
                    Header { peer: NO_PEER, session: 0, compressed, sent_time: Some(1) }.encode(&mut datagram);
                    datagram.extend(std::iter::repeat_n(fill, length));
                    server.handle_datagram(NOW, hostile(), &datagram);
                }
            }
        }
        // A bomb: one symbol for thousands of bytes, to beyond the longest datagram.
        let mut coder = RangeCoder::new();
        for length in [4000, 4096, 10_000, 100_000] {
            let mut datagram = Vec::new();
            Header { peer: NO_PEER, session: 0, compressed: true, sent_time: Some(1) }.encode(&mut datagram);
            coder.compress(&vec![7; length], 4000, &mut datagram).expect("it is short");
            server.handle_datagram(NOW, hostile(), &datagram);
        }
        server.check_invariants().expect("its tables agree");
        assert_eq!((server.half_open(), server.free_slots()), (0, 8));
    }
}
