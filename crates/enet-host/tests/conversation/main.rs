//! Drivers over real sockets: with each other, and with programs on the stock library.

#[cfg(feature = "ethernet")]
mod ethernet;
mod transpiled;

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use prony_enet::{
    Dropped, Event, Kind, Packet, PeerId, PeerSettings, RangeCoder, Received, Settings, State, crc32_checksum,
};
use prony_enet_host::{Driver, Socket, SocketOptions, Transport};
use prony_testing::enet::conversation::{FORMS, Form, Program};

const CHANNELS: usize = 3;
const PACKETS: u32 = 120;
/// A conversation that takes longer has stopped.
const PATIENCE: Duration = Duration::from_secs(30);

fn settings(form: Form) -> Settings {
    Settings {
        checksum: form.checksum.then(crc32_checksum),
        compressor: form.coder.then(|| Box::new(RangeCoder::new()) as _),
        ..Settings::default()
    }
}

fn driver(slots: usize, form: Form, at: SocketAddr) -> Driver {
    Driver::bind(at, slots, settings(form), &SocketOptions::default()).expect("a free port")
}

fn loopback() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

/// Sends every packet back as it came; `true` once the client left.
fn echo<T: Transport>(server: &mut Driver<T>, timeout: Duration) -> bool {
    match server.service(timeout).expect("the socket works") {
        Some(Event::Connect { data, .. }) => assert_eq!(data, 0xcafe),
        Some(Event::Receive { peer, packet }) => {
            let back = Packet {
                reliable: packet.kind == Kind::Reliable,
                unsequenced: packet.kind == Kind::Unsequenced,
                fragments_unreliable: packet.kind == Kind::UnreliableFragments,
                ..Packet::unreliable(packet.payload)
            };
            server.host_mut().send(peer, packet.channel, back).expect("it is connected");
        }
        Some(Event::Disconnect { data, .. }) => {
            assert_eq!(data, 0xbeef);
            return true;
        }
        None => {}
    }
    false
}

/// The client of a conversation: packets of every kind, and what came back of them.
struct Client<T = Socket> {
    driver: Driver<T>,
    peer: PeerId,
    sent: u32,
    reliable: Vec<u32>,
    others: usize,
    is_done: bool,
}

fn made_packet(number: u32) -> Packet {
    let length = [40, 30, 20, 5000, 20000][number as usize % 5];
    let mut payload = number.to_ne_bytes().to_vec();
    payload.extend((payload.len()..length).map(|at| (number as usize * 31 + at / 7) as u8));
    match number % 5 {
        0 | 4 => Packet::reliable(payload),
        1 => Packet::unreliable(payload),
        2 => Packet::unsequenced(payload),
        _ => Packet { fragments_unreliable: true, ..Packet::unreliable(payload) },
    }
}

impl<T: Transport> Client<T> {
    fn connect(mut driver: Driver<T>, to: SocketAddr) -> Client<T> {
        let peer = driver.host_mut().connect(to, CHANNELS, 0xcafe).expect("a slot is free");
        Client { driver, peer, sent: 0, reliable: Vec::new(), others: 0, is_done: false }
    }

    fn came(&mut self, packet: &Received) {
        let number = u32::from_ne_bytes(packet.payload[..4].try_into().expect("four bytes at least"));
        assert_eq!(packet.payload, made_packet(number).payload.as_bytes());
        if packet.kind == Kind::Reliable {
            self.reliable.push(number);
        } else {
            self.others += 1;
        }
    }

    fn step(&mut self, timeout: Duration) {
        match self.driver.service(timeout).expect("the socket works") {
            Some(Event::Receive { packet, .. }) => self.came(&packet),
            Some(Event::Disconnect { .. }) => self.is_done = true,
            _ => {}
        }
        let state = self.driver.host().peer(self.peer).map(|peer| peer.state());
        if state != Some(State::Connected) {
            return;
        }
        for _ in 0..5 {
            if self.sent < PACKETS {
                let packet = made_packet(self.sent);
                let channel = (self.sent % CHANNELS as u32) as u8;
                self.driver.host_mut().send(self.peer, channel, packet).expect("it is connected");
                self.sent += 1;
            }
        }
        if self.reliable.len() as u32 == PACKETS * 2 / 5 {
            self.driver.host_mut().disconnect(self.peer, 0xbeef);
        }
    }

    /// Serves both sides until all is said and the client has left, and checks what came back.
    fn converse(&mut self, server: &mut Driver<T>) {
        let (started, mut has_left) = (Instant::now(), false);
        while !(has_left && self.is_done) {
            assert!(started.elapsed() < PATIENCE, "{} of {PACKETS} sent", self.sent);
            self.step(Duration::ZERO);
            has_left |= echo(server, Duration::from_millis(1));
        }
        self.check();
    }

    /// All reliable packets came back once and in the order of their channel, and some of the others.
    fn check(&self) {
        for channel in 0..CHANNELS as u32 {
            let came: Vec<u32> = self.reliable.iter().copied().filter(|number| number % 3 == channel).collect();
            let sent: Vec<u32> =
                (0..PACKETS).filter(|number| number % 3 == channel && matches!(number % 5, 0 | 4)).collect();
            assert_eq!(came, sent);
        }
        assert!(self.others > 0);
    }
}

#[test]
fn drivers_converse_over_ipv4_and_ipv6_in_every_form() {
    for at in [loopback(), "[::1]:0".parse().unwrap()] {
        for form in FORMS {
            let mut server = driver(8, form, at);
            let to = server.socket().local_address().unwrap();
            let mut client = Client::connect(driver(1, form, at), to);
            client.converse(&mut server);
            let (sent, came) = (client.driver.socket().traffic(), server.socket().traffic());
            assert_eq!((sent.would_block, sent.refused, came.overflowed), (0, 0, 0));
            assert_eq!(sent.sent, came.received, "the kernel lost none");
            assert!(sent.send_calls < sent.sent, "datagrams share calls");
        }
    }
}

#[test]
fn a_driver_serves_a_stock_client_in_every_form() {
    for form in FORMS {
        let mut server = driver(8, form, loopback());
        let port = server.socket().local_address().unwrap().port();
        let client = Program::client(form, port, None);
        let started = Instant::now();
        while !echo(&mut server, Duration::from_millis(100)) {
            assert!(started.elapsed() < PATIENCE, "{form:?}");
        }
        // Its DISCONNECT is acknowledged already: the event came after.
        client.ends_well();
    }
}

#[test]
fn a_driver_is_served_by_a_stock_server_in_every_form() {
    for form in FORMS {
        let (server, to) = Program::server(form, None);
        let mut client = Client::connect(driver(1, form, loopback()), to);
        let started = Instant::now();
        while !client.is_done {
            assert!(started.elapsed() < PATIENCE, "{form:?}: {} of {PACKETS} sent", client.sent);
            client.step(Duration::from_millis(100));
        }
        client.check();
        server.ends_well();
    }
}

/// A server and its client, connected, with nothing left to say.
fn pair() -> (Driver, Driver, [PeerId; 2]) {
    let (mut server, mut client) = (driver(1, FORMS[0], loopback()), driver(1, FORMS[0], loopback()));
    let of_client = client.host_mut().connect(server.socket().local_address().unwrap(), 1, 0).unwrap();
    let mut of_server = None;
    let mut are_connected = false;
    while !(are_connected && of_server.is_some() && client.host().commands() + server.host().commands() == 0) {
        if let Some(Event::Connect { .. }) = client.service(Duration::ZERO).unwrap() {
            are_connected = true;
        }
        if let Some(Event::Connect { peer, .. }) = server.service(Duration::ZERO).unwrap() {
            of_server = Some(peer);
        }
    }
    let of_server = of_server.unwrap();
    for (driver, peer) in [(&mut server, of_server), (&mut client, of_client)] {
        // No ping comes between.
        let settings = driver.host().peer(peer).unwrap().settings();
        driver.host_mut().set_peer(peer, PeerSettings { ping_interval_ms: u32::MAX, ..settings });
        driver.flush();
    }
    (server, client, [of_server, of_client])
}

#[test]
fn an_acknowledgement_leaves_in_the_datagram_of_the_answer() {
    let (mut server, mut client, [of_server, of_client]) = pair();
    client.host_mut().send(of_client, 0, Packet::reliable(b"how much?")).unwrap();
    client.flush();
    let before = server.socket().traffic().sent;
    assert!(matches!(server.service(PATIENCE).unwrap(), Some(Event::Receive { .. })));
    server.host_mut().send(of_server, 0, Packet::reliable(b"that much")).unwrap();
    server.flush();
    assert_eq!(server.socket().traffic().sent - before, 1);
    assert!(matches!(client.service(PATIENCE).unwrap(), Some(Event::Receive { .. })));
    assert_eq!(client.host().commands(), 0, "its packet is acknowledged");
}

#[test]
fn who_was_left_knows_it_as_soon_as_the_last_acknowledgement_is_sent() {
    let (mut server, mut client, [_, of_client]) = pair();
    client.host_mut().disconnect(of_client, 7);
    client.flush();
    assert!(matches!(server.service(Duration::ZERO).unwrap(), Some(Event::Disconnect { data: 7, .. })));
    assert!(matches!(client.service(PATIENCE).unwrap(), Some(Event::Disconnect { .. })));
}

#[test]
fn a_wait_ends_when_the_host_has_something_to_do() {
    let mut client = driver(1, FORMS[0], loopback());
    let silent = UdpSocket::bind(loopback()).unwrap();
    client.host_mut().connect(silent.local_addr().unwrap(), 1, 0).unwrap();
    let mut datagram = [0; 4096];
    let mut times = Vec::new();
    for _ in 0..2 {
        // Half a second after the first CONNECT, the second must leave though the call waits for longer.
        silent.set_nonblocking(true).unwrap();
        while silent.recv_from(&mut datagram).is_err() {
            let (now, until) = (client.now(), client.now() + PATIENCE);
            client.transmit(now, |_, _, _| {});
            if silent.peek_from(&mut datagram).is_err() {
                assert!(!client.wait(now, until).unwrap(), "nothing can be read");
                assert!(client.now() < until, "the wait ended early");
                let now = client.now();
                client.host_mut().handle_timeout(now);
            }
        }
        times.push(client.now());
    }
    assert!(times[1] > times[0]);
}

#[test]
fn datagrams_without_an_event_keep_back_none_that_makes_one() {
    let (mut server, mut client, [_, of_client]) = pair();
    let noise = UdpSocket::bind(loopback()).unwrap();
    // More than a batch, and fewer than a small buffer holds.
    for _ in 0..300 {
        noise.send_to(&[0; 3], server.socket().local_address().unwrap()).unwrap();
    }
    client.host_mut().send(of_client, 0, Packet::reliable(b"behind all that")).unwrap();
    client.flush();
    assert!(matches!(server.service(Duration::ZERO).unwrap(), Some(Event::Receive { .. })));
}

#[test]
fn empty_and_long_datagrams_are_counted_and_disturb_no_peer() {
    let mut server = driver(1, FORMS[0], loopback());
    let to = server.socket().local_address().unwrap();
    let noise = UdpSocket::bind(loopback()).unwrap();
    noise.send_to(&[], to).unwrap();
    noise.send_to(&[0x8f; 5000], to).unwrap();
    noise.send_to(&[0x8f; 3], to).unwrap();
    assert_eq!(server.service(Duration::from_millis(100)).unwrap(), None);
    let statistics = server.host().statistics();
    assert_eq!(statistics.dropped(Dropped::Long), 1);
    assert_eq!(statistics.dropped(Dropped::Short), 2);
    assert_eq!(server.socket().traffic().received, 3);
}

#[test]
fn what_the_kernel_drops_is_counted() {
    let options = SocketOptions { receive_buffer_bytes: 4096, ..SocketOptions::default() };
    let mut server = Driver::bind(loopback(), 1, Settings::default(), &options).unwrap();
    let to = server.socket().local_address().unwrap();
    let flood = UdpSocket::bind(loopback()).unwrap();
    let mut sent = 0;
    for _ in 0..2 {
        for _ in 0..500 {
            sent += u64::from(flood.send_to(&[0x8f; 500], to).is_ok());
        }
        while server.receive(|_| {}).unwrap() > 0 {}
    }
    // Of the last ones dropped, too, though no datagram came behind them.
    let traffic = server.socket().traffic();
    assert!(traffic.overflowed > 0);
    assert_eq!(traffic.received + traffic.overflowed, sent);
}

#[test]
fn a_read_takes_all_that_is_there_also_after_many_that_found_nothing() {
    let mut server = driver(1, FORMS[0], loopback());
    let to = server.socket().local_address().unwrap();
    let client = UdpSocket::bind(loopback()).unwrap();
    for sent in [1, 2, 64, 65] {
        for _ in 0..5 {
            assert_eq!(server.receive(|_| {}).unwrap(), 0);
        }
        for number in 0..sent {
            client.send_to(&[number; 40], to).unwrap();
        }
        let mut expected = 0;
        for batch in [sent.min(64), sent.saturating_sub(64)] {
            assert_eq!(server.receive(|_| {}).unwrap(), usize::from(batch), "of {sent}");
            for entry in 0..usize::from(batch) {
                let (from, bytes) = server.socket().datagram(entry).expect("of this family");
                assert_eq!((from, bytes), (client.local_addr().unwrap(), &[expected; 40][..]));
                expected += 1;
            }
        }
    }
    let traffic = server.socket().traffic();
    assert_eq!((traffic.received, traffic.receive_errors, traffic.overflowed), (132, 0, 0));
}

#[test]
fn a_datagram_that_cannot_be_sent_does_not_keep_back_the_others() {
    let mut client = driver(2, FORMS[0], loopback());
    let listener = UdpSocket::bind(loopback()).unwrap();
    // From an address of this machine alone there is no way to others.
    client.host_mut().connect("198.51.100.1:9".parse().unwrap(), 1, 0).unwrap();
    client.host_mut().connect(listener.local_addr().unwrap(), 1, 0).unwrap();
    client.flush();
    let traffic = client.socket().traffic();
    assert_eq!((traffic.sent, traffic.refused), (1, 1));
    listener.set_nonblocking(true).unwrap();
    assert!(listener.recv_from(&mut [0; 64]).is_ok());
}

#[test]
fn a_buffer_reports_what_was_granted_of_it() {
    let small = SocketOptions { receive_buffer_bytes: 64 << 10, ..SocketOptions::default() };
    let small = Driver::bind(loopback(), 1, Settings::default(), &small).unwrap().socket().receive_buffer();
    assert_eq!((small.requested, small.actual, small.is_cut()), (64 << 10, 64 << 10, false));
    let huge = SocketOptions { receive_buffer_bytes: 1 << 40, ..SocketOptions::default() };
    let huge = Driver::bind(loopback(), 1, Settings::default(), &huge).unwrap().socket().receive_buffer();
    assert!(huge.is_cut() && huge.actual > 0, "{huge:?}");
}
