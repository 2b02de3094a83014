//! A panic in the handling of a datagram costs its peer the connection, and nothing else. Planted where a program can have
//! one: in its own compressor.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use prony_enet::{Compressor, DisconnectReason, Dropped, Event, Host, Packet, PeerId, RangeCoder, Recovered, Settings};
use prony_enet_host::{Driver, SocketOptions, guarded, limit_panic_messages};

/// A range coder that panics when a datagram expands to one with the word in it.
struct Fragile(RangeCoder);

const WORD: &[u8] = b"the word at which it panics";

impl Compressor for Fragile {
    fn compress(&mut self, input: &[u8], limit: usize, output: &mut Vec<u8>) -> Option<usize> {
        self.0.compress(input, limit, output)
    }

    fn expand(&mut self, input: &[u8], limit: usize, output: &mut Vec<u8>) -> Option<usize> {
        let start = output.len();
        let bytes = self.0.expand(input, limit, output);
        assert!(!output[start..].windows(WORD.len()).any(|word| word == WORD), "as the test wants it");
        bytes
    }
}

fn driver(slots: usize, compressor: impl Compressor + 'static) -> Driver {
    let settings = Settings { compressor: Some(Box::new(compressor)), ..Settings::default() };
    Driver::bind("127.0.0.1:0".parse().unwrap(), slots, settings, &SocketOptions::default()).unwrap()
}

/// A server and clients that are connected to it.
fn connected(clients: usize) -> (Driver, Vec<(Driver, PeerId)>) {
    let mut server = driver(16, Fragile(RangeCoder::new()));
    let at = server.socket().local_address().unwrap();
    let mut of = Vec::new();
    for _ in 0..clients {
        // A CONNECT that is compressed is too short for an address that is not proven to be answered.
        let mut client = driver(1, RangeCoder::new());
        let compressor = client.host_mut().settings_mut().compressor.take();
        let peer = client.host_mut().connect(at, 1, 0).unwrap();
        client.flush();
        client.host_mut().settings_mut().compressor = compressor;
        of.push((client, peer));
    }
    let (mut here, mut there) = (0, 0);
    let started = Instant::now();
    while (here, there) != (clients, clients) {
        assert!(started.elapsed() < Duration::from_secs(30), "{here} and {there} of {clients} are connected");
        here += usize::from(matches!(server.service(Duration::from_millis(1)).unwrap(), Some(Event::Connect { .. })));
        for (client, _) in &mut of {
            there += usize::from(matches!(client.service(Duration::ZERO).unwrap(), Some(Event::Connect { .. })));
        }
    }
    (server, of)
}

#[test]
fn the_rest_of_a_batch_is_kept_and_the_panic_is_counted() {
    const CLIENTS: usize = 8;
    let (mut server, mut clients) = connected(CLIENTS);
    for (number, (client, peer)) in clients.iter_mut().enumerate() {
        let text: &[u8] = if number == 3 { WORD } else { b"an ordinary packet, that is an ordinary packet" };
        client.host_mut().send(*peer, 0, Packet::reliable(&text.repeat(2)[..])).unwrap();
        // All of them are there before the server looks.
        client.flush();
    }
    let (mut received, mut failed) = (0, 0);
    let started = Instant::now();
    while received + failed < CLIENTS {
        assert!(started.elapsed() < Duration::from_secs(30), "{received} packets, {failed} connections lost");
        match server.service(Duration::from_millis(10)).unwrap() {
            Some(Event::Receive { .. }) => received += 1,
            Some(Event::Disconnect { reason: DisconnectReason::Failed, .. }) => failed += 1,
            Some(other) => panic!("{other:?}"),
            None => {}
        }
    }
    assert_eq!((received, failed, server.host().statistics().panics), (CLIENTS - 1, 1, 1));
    assert_eq!(server.host().connected_peers(), CLIENTS - 1);
    server.host().check_invariants().unwrap();
}

/// Reading one that was cut failed in stock hosts, which then read nothing more (godotengine/godot pull request 79699).
#[test]
fn the_longest_datagrams_that_udp_takes_keep_back_none_behind_them() {
    let (mut server, mut clients) = connected(1);
    let at = server.socket().local_address().unwrap();
    let stranger = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    for length in [4096, 4097, 65_507] {
        stranger.send_to(&vec![0xff; length], at).unwrap();
    }
    let (client, peer) = &mut clients[0];
    client.host_mut().send(*peer, 0, Packet::reliable(b"behind all that")).unwrap();
    client.flush();
    let started = Instant::now();
    let packet = loop {
        assert!(started.elapsed() < Duration::from_secs(30));
        if let Some(Event::Receive { packet, .. }) = server.service(Duration::from_millis(10)).unwrap() {
            break packet;
        }
    };
    assert_eq!(packet.payload, b"behind all that");
    assert_eq!(server.host().statistics().dropped(Dropped::Long), 2);
}

#[test]
fn panics_that_are_caught_print_a_message_a_second_at_most_and_others_print_all() {
    static MESSAGES: AtomicU64 = AtomicU64::new(0);
    std::panic::set_hook(Box::new(|_| {
        MESSAGES.fetch_add(1, Relaxed);
    }));
    limit_panic_messages();
    let started = Instant::now();
    let mut host = Host::new(1, Settings::default(), &[1; 16]);
    for _ in 0..1000 {
        assert_eq!(guarded(&mut host, |_| panic!("as the test wants it")), Some(Recovered::Nothing));
    }
    let caught = MESSAGES.load(Relaxed);
    let seconds = started.elapsed().as_secs();
    // The other test of this file may have taken the first second's message.
    assert!(caught <= seconds + 1, "{caught} messages in {seconds} s");
    for _ in 0..10 {
        std::thread::spawn(|| panic!("as the test wants it")).join().unwrap_err();
    }
    let others = MESSAGES.load(Relaxed) - caught;
    assert!((10..=12).contains(&others), "{others} messages of 10 panics that nobody catches");
    assert_eq!(host.statistics().panics, 1000);
}
