//! Two hosts repeat the recorded sessions of stock hosts: at the recorded times they send what those sent.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use prony_enet::wire::{Body, Command, Header};
use prony_enet::{Event, Host, Packet, PeerId, RangeCoder, Settings, WireProfile, crc32_checksum};
use serde_json::Value;

const CLIENT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 40_000);
const SERVER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7777);

/// How long the recorded hosts may have slept between two turns, which the transcripts do not tell.
const SLEEPS_MS: std::ops::RangeInclusive<u64> = 8..=24;

fn settings(scenario: &str) -> Settings {
    Settings {
        mtu: 1400,
        checksum: scenario.contains("crc32").then(crc32_checksum),
        compressor: scenario.contains("range-coder").then(|| Box::new(RangeCoder::new()) as _),
        wire_profile: WireProfile::Stock,
        ..Settings::default()
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Header and commands of a datagram; the connection ID, which is random, left out.
fn plain(datagram: &[u8], scenario: &str) -> (Header, Vec<u8>) {
    let (header, mut rest) = Header::decode(datagram).expect("a header");
    if scenario.contains("crc32") {
        rest = &rest[4..];
    }
    let mut body = rest.to_vec();
    if header.compressed {
        body.clear();
        RangeCoder::new().expand(rest, 4096, &mut body).expect("the body expands");
    }
    let mut out = Vec::new();
    let mut rest = body.as_slice();
    while let Some((mut command, behind)) = Command::decode(rest) {
        match &mut command.body {
            Body::Connect(parameters, _) | Body::VerifyConnect(parameters) => parameters.connect_id = [0; 4],
            _ => {}
        }
        command.encode(&mut out);
        rest = behind;
    }
    // Whether the random bytes compress is luck.
    (Header { compressed: false, ..header }, out)
}

/// Datagrams, and when they were sent.
type UnderWay = VecDeque<(u64, Vec<u8>)>;

struct Session {
    client: Host,
    server: Host,
    server_peer: Option<PeerId>,
    events: Vec<(&'static str, u32, u8, Vec<u8>)>,
    sleep_ms: u64,
    /// To the client and to the server, until the receiver is seen to act: the recorded hosts slept in between.
    under_way: (UnderWay, UnderWay),
}

impl Session {
    /// Delivers what was sent to one of the hosts until `until`, at that time or when a host that sleeps wakes up.
    fn deliver(&mut self, to_client: bool, until: u64, now: u64) {
        let (host, from, under_way) = match to_client {
            true => (&mut self.client, SERVER, &mut self.under_way.0),
            false => (&mut self.server, CLIENT, &mut self.under_way.1),
        };
        let sleep_ms = self.sleep_ms;
        while under_way.front().is_some_and(|(sent, _)| *sent <= until) {
            let Some((sent, datagram)) = under_way.pop_front() else { break };
            let at = Duration::from_millis(now.min(sent + sleep_ms));
            host.handle_datagram(at, from, &datagram);
        }
        self.poll();
    }

    fn poll(&mut self) {
        for (name, host) in [("cli", &mut self.client), ("srv", &mut self.server)] {
            while let Some(event) = host.poll_event() {
                self.events.push(match event {
                    Event::Connect { peer, data } => {
                        if name == "srv" {
                            self.server_peer = Some(peer);
                        }
                        (name, 1, 0, data.to_be_bytes().to_vec())
                    }
                    Event::Disconnect { data, .. } => (name, 2, 0, data.to_be_bytes().to_vec()),
                    Event::Receive { packet, .. } => (name, 3, packet.channel, packet.payload),
                });
            }
        }
    }
}

/// What the application does before the datagrams of each stretch.
fn act(session: &mut Session, peer: PeerId, stretch: &str) {
    let ramp: Vec<u8> = (0..3072u32).map(|at| at as u8).collect();
    let client = &mut session.client;
    match stretch {
        "connected" => {}
        "reliable ch0" => client.send(peer, 0, Packet::reliable(b"reliable-0")).unwrap(),
        "2 unreliable ch1" => {
            client.send(peer, 1, Packet::unreliable(b"unreliable-1")).unwrap();
            client.send(peer, 1, Packet::unreliable(b"unreliable-2")).unwrap();
        }
        "unsequenced ch2" => client.send(peer, 2, Packet::unsequenced(b"unsequenced")).unwrap(),
        "3072 B reliable ch0: fragments" => client.send(peer, 0, Packet::reliable(ramp)).unwrap(),
        "3000 B unreliable fragments ch0" => {
            let packet = Packet { fragments_unreliable: true, ..Packet::unreliable(vec![b'x'; 3000]) };
            client.send(peer, 0, packet).unwrap();
        }
        "idle 0.7 s: pings, bandwidth limit" => {
            let peer = session.server_peer.expect("connected before");
            session.server.send(peer, 0, Packet::reliable(b"from server")).unwrap();
        }
        "disconnect" => client.disconnect(peer, 0xbeef),
        other => panic!("a stretch called {other}"),
    }
}

fn repeat(line: &Value, sleep_ms: u64) -> Result<(), String> {
    let scenario = line["scenario"].as_str().unwrap();
    let mut session = Session {
        client: Host::new(1, settings(scenario), &[1; 16]),
        server: Host::new(4, settings(scenario), &[2; 16]),
        server_peer: None,
        events: Vec::new(),
        sleep_ms,
        under_way: Default::default(),
    };
    let peer = session.client.connect(SERVER, 3, 0xcafe).unwrap();
    let entries = line["datagrams"].as_array().unwrap();
    let mut latest = 0u64;
    for stretch in entries.split_inclusive(|entry| entry[0] == "--") {
        let label = match stretch.last() {
            Some(last) if last[0] == "--" => last[1].as_str().unwrap(),
            _ => "disconnect",
        };
        // The label of the stretch of server and pings covers two actions of the recording.
        act(&mut session, peer, label);
        for entry in stretch.iter().filter(|entry| entry[0] != "--") {
            let recorded = bytes(entry[1].as_str().unwrap());
            let expected = plain(&recorded, scenario);
            // Sent before what is on its way, though it was recorded later: the hosts sent at the same time.
            let now = expected.0.sent_time.map_or(latest, |sent| sent.into());
            let is_earlier = now < latest;
            latest = latest.max(now);
            let is_from_client = entry[0] == "c>s";
            if !is_earlier {
                session.deliver(true, now.saturating_sub(sleep_ms), now);
                session.deliver(false, now.saturating_sub(sleep_ms), now);
                // An acknowledgement (1) or a granted connection (3) shows that what was on its way has come.
                if matches!(expected.1[0] & 0xf, 1 | 3) {
                    session.deliver(is_from_client, now, now);
                }
            }
            let at = Duration::from_millis(now);
            let mut datagram = Vec::new();
            if session.events.is_empty() {
                // The server was served before the request.
                session.server.handle_timeout(at);
            }
            let from = if is_from_client { &mut session.client } else { &mut session.server };
            from.handle_timeout(at);
            let sent = from.poll_transmit(at, &mut datagram);
            if sent.is_none() || plain(&datagram, scenario) != expected {
                return Err(format!("{scenario}, {label}: {datagram:02x?} in place of {entry}"));
            }
            let under_way = &mut session.under_way;
            (if is_from_client { &mut under_way.1 } else { &mut under_way.0 }).push_back((now, datagram));
        }
    }
    session.deliver(true, latest, latest);
    session.deliver(false, latest, latest);
    let events: Vec<_> = line["events"].as_array().unwrap().iter().map(event).collect();
    assert_eq!(session.events.len(), events.len(), "{scenario}");
    for event in events {
        let found = session.events.iter().any(|(name, kind, channel, bytes)| {
            (*name, *kind, *channel) == (event.0.as_str(), event.1, event.2) && bytes.starts_with(&event.3)
        });
        assert!(found, "{scenario}: {event:?}");
    }
    let none = |host: &Host| {
        WireProfile::Stock == host.settings().wire_profile && host.commands() == 0 && host.held_bytes() == 0
    };
    assert!(none(&session.client) && none(&session.server), "{scenario}: everything was acknowledged");
    Ok(())
}

/// Host, kind, channel, data or first bytes of a recorded event.
fn event(event: &Value) -> (String, u32, u8, Vec<u8>) {
    let data = match event[3].as_u64() {
        Some(data) => (data as u32).to_be_bytes().to_vec(),
        None => bytes(event[3].as_str().unwrap()),
    };
    (event[0].as_str().unwrap().into(), event[1].as_u64().unwrap() as u32, event[2].as_u64().unwrap() as u8, data)
}

#[test]
fn hosts_send_what_stock_hosts_were_seen_to_send() {
    let lines = include_str!("vectors.jsonl").lines();
    let sessions: Vec<Value> = lines
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line.get("scenario").is_some())
        .collect();
    assert_eq!(sessions.len(), 4);
    for session in &sessions {
        let tried: Vec<_> = SLEEPS_MS.map(|sleep_ms| repeat(session, sleep_ms)).collect();
        assert!(tried.iter().any(Result::is_ok), "{tried:#?}");
    }
}
