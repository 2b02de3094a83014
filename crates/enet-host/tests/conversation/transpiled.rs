//! Drivers with hosts of the crate `rusty_enet`, the stock library transpiled to Rust.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use rusty_enet as transpiled;

use crate::{CHANNELS, Client, PACKETS, PATIENCE, driver, echo, loopback, made_packet};
use prony_testing::enet::conversation::{FORMS, Form};

type Host = transpiled::Host<UdpSocket>;

fn host(form: Form) -> (Host, SocketAddr) {
    let socket = UdpSocket::bind(loopback()).expect("a free port");
    let address = socket.local_addr().expect("it is bound");
    let settings = transpiled::HostSettings {
        peer_limit: 4,
        checksum: form.checksum.then(|| Box::new(transpiled::crc32) as _),
        compressor: form.coder.then(|| Box::new(transpiled::RangeCoder::new()) as _),
        ..transpiled::HostSettings::default()
    };
    (Host::new(socket, settings).expect("the socket works"), address)
}

fn number(payload: &[u8]) -> u32 {
    u32::from_ne_bytes(payload[..4].try_into().expect("four bytes at least"))
}

/// How the client sends a packet. What came cannot be queried: in 0.4.1 `Packet::kind` says of all that they are reliable.
fn kind(number: u32) -> transpiled::PacketKind {
    match number % 5 {
        0 | 4 => transpiled::PacketKind::Reliable,
        1 => transpiled::PacketKind::Unreliable { sequenced: true },
        2 => transpiled::PacketKind::Unreliable { sequenced: false },
        _ => transpiled::PacketKind::AlwaysUnreliable { sequenced: true },
    }
}

#[test]
fn a_driver_is_served_by_a_transpiled_host_in_every_form() {
    for form in FORMS {
        let (mut server, to) = host(form);
        let mut client = Client::connect(driver(1, form, loopback()), to);
        let (started, mut has_left) = (Instant::now(), false);
        while !(has_left && client.is_done) {
            assert!(started.elapsed() < PATIENCE, "{form:?}: {} of {PACKETS} sent", client.sent);
            client.step(Duration::from_millis(1));
            while let Some(event) = server.service().expect("the socket works") {
                match event {
                    transpiled::Event::Connect { data, .. } => assert_eq!(data, 0xcafe),
                    transpiled::Event::Receive { peer, channel_id, packet } => {
                        let back = transpiled::Packet::new(packet.data(), kind(number(packet.data())));
                        peer.send(channel_id, &back).expect("it is connected");
                    }
                    transpiled::Event::Disconnect { data, .. } => {
                        assert_eq!(data, 0xbeef);
                        has_left = true;
                    }
                }
            }
        }
        client.check();
    }
}

#[test]
fn a_driver_serves_a_transpiled_host_in_every_form() {
    for form in FORMS {
        let mut server = driver(8, form, loopback());
        let (mut client, _) = host(form);
        let to = server.socket().local_address().expect("it is bound");
        let peer = client.connect(to, CHANNELS, 0xcafe).expect("a slot is free").id();
        let (mut sent, mut reliable, mut others) = (0, Vec::new(), 0);
        let (started, mut has_left) = (Instant::now(), false);
        while !has_left {
            assert!(started.elapsed() < PATIENCE, "{form:?}: {sent} of {PACKETS} sent");
            has_left = echo(&mut server, Duration::from_millis(1));
            while let Some(event) = client.service().expect("the socket works") {
                let transpiled::Event::Receive { packet, .. } = event else { continue };
                let number = number(packet.data());
                assert_eq!(packet.data(), made_packet(number).payload.as_bytes());
                match kind(number) {
                    transpiled::PacketKind::Reliable => reliable.push(number),
                    _ => others += 1,
                }
            }
            let peer = client.peer_mut(peer);
            for _ in 0..if peer.connected() { 5.min(PACKETS - sent) } else { 0 } {
                let packet = transpiled::Packet::new(made_packet(sent).payload.as_bytes(), kind(sent));
                peer.send((sent % CHANNELS as u32) as u8, &packet).expect("it is connected");
                sent += 1;
            }
            if reliable.len() as u32 == PACKETS * 2 / 5 && peer.connected() {
                peer.disconnect(0xbeef);
            }
        }
        for channel in 0..CHANNELS as u32 {
            let came: Vec<u32> = reliable.iter().copied().filter(|number| number % 3 == channel).collect();
            assert!(came.is_sorted() && came.len() as u32 == PACKETS * 2 / 15, "{form:?}: {came:?}");
        }
        assert!(others > 0);
    }
}
