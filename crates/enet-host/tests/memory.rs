//! What hostile peers make a host allocate, byte by byte, against what the host charges them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prony_enet::wire::{
    Body, CONTROL, Command, ConnectParameters, Fragment, Header, MUST_ACKNOWLEDGE, NO_PEER, ThrottleParameters,
};
use prony_enet::{Event, Host, Settings};

/// Counts what allocations take, as the system's allocator rounds them.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);

fn taken(bytes: usize) -> usize {
    (bytes + 8).next_multiple_of(16).max(32)
}

// SAFETY: every call is the system allocator's own; the counter beside it is no part of any allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(taken(layout.size()), Ordering::Relaxed);
        // SAFETY: the caller's layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub(taken(layout.size()), Ordering::Relaxed);
        // SAFETY: `memory` is the system allocator's, with this layout.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const NOW: Duration = Duration::from_millis(1);
const BUDGET: usize = 4 << 20;
const PEERS: u16 = 6;
const CHANNELS: u32 = 255;
/// What a peer takes that holds nothing: its connection with 255 channels, half of them used both ways, and commands
/// that wait to be acknowledged.
const PEER_BYTES: usize = 300_000;

struct Hostile {
    address: SocketAddr,
    token: u16,
    session: u8,
}

impl Hostile {
    fn connect(server: &mut Host, address: SocketAddr) -> Hostile {
        let parameters = ConnectParameters {
            peer: 0,
            incoming_session: 0xff,
            outgoing_session: 0xff,
            mtu: 1392,
            window: 65_536,
            channels: CHANNELS,
            incoming_bandwidth: 0,
            outgoing_bandwidth: 0,
            throttle: ThrottleParameters::default(),
            connect_id: [1; 4],
        };
        let connect =
            Command { flags: MUST_ACKNOWLEDGE, channel: CONTROL, sequence: 1, body: Body::Connect(parameters, 0) };
        Hostile { address, token: NO_PEER, session: 0 }.send(server, Some(1), &[connect]);
        let mut answer = Vec::new();
        server.poll_transmit(NOW, &mut answer).expect("an answer");
        let (header, body) = Header::decode(&answer).expect("a header");
        let Some((Command { sequence, body: Body::VerifyConnect(verify_connect), .. }, _)) = Command::decode(body)
        else {
            panic!("no VERIFY_CONNECT");
        };
        let peer = Hostile { address, token: verify_connect.peer, session: verify_connect.outgoing_session };
        let body = Body::Acknowledge { sequence, sent_time: header.sent_time.expect("it must be acknowledged") };
        peer.send(server, None, &[Command { flags: 0, channel: CONTROL, sequence, body }]);
        assert!(matches!(server.poll_event(), Some(Event::Connect { .. })));
        peer
    }

    fn send(&self, server: &mut Host, sent_time: Option<u16>, commands: &[Command]) {
        let mut datagram = Vec::with_capacity(4096);
        let header = Header { peer: self.token, session: self.session, compressed: false, sent_time };
        header.encode(&mut datagram);
        commands.iter().for_each(|command| command.encode(&mut datagram));
        server.handle_datagram(NOW, self.address, &datagram);
    }
}

/// Command number `at` of a way to make a host hold much for few bytes.
type Strategy = fn(at: u32) -> (u8, u16, Body<'static>);

fn fragment(start: u32, count: u32, number: u32, bytes: u32) -> Fragment {
    Fragment { start: start as u16, count, number, total: count * bytes, offset: number * bytes }
}

const STRATEGIES: [(&str, Strategy); 9] = [
    ("reliable packets of no bytes that came early", |at| (0, (2 + at % 28_000) as u16, Body::Reliable(b""))),
    ("one on each channel", |at| ((at % CHANNELS) as u8, (2 + at / CHANNELS) as u16, Body::Reliable(b"x"))),
    ("unreliable packets of no bytes behind reliable ones", |at| {
        ((at >> 16) as u8, 1 + (at >> 8) as u16 % 256, Body::Unreliable(at as u16, b""))
    }),
    ("second pieces of one byte, each of another packet", |at| {
        (0, (3 + 2 * at % 28_000) as u16, Body::ReliableFragment(fragment(2 + 2 * at % 28_000, 2, 1, 1), b"x"))
    }),
    ("late pieces of packets of a million", |at| {
        let (start, number) = (2 + at % 1000, 1_000_000 - at / 1000);
        (0, start as u16, Body::ReliableFragment(fragment(start, 1 << 20, number, 1), b"x"))
    }),
    ("each other piece of one packet", |at| {
        (0, 2, Body::ReliableFragment(fragment(2, 1 << 20, (2 * at + 1) % (1 << 20), 1), b"x"))
    }),
    ("pieces in order, as long as they may be", |at| {
        (0, 2, Body::ReliableFragment(fragment(2, 8000, at % 8000, 1300), &[0; 1300]))
    }),
    ("unreliable pieces, each of another packet", |at| {
        ((at >> 16) as u8, 0, Body::UnreliableFragment(fragment(1 + at % 65_535, 2, 1, 700), &[0; 700]))
    }),
    ("unreliable packets in pieces that wait for a reliable one", |at| {
        let (number, start) = (at % 2, 1 + at / 2 % 65_535);
        (0, 1, Body::UnreliableFragment(fragment(start, 2, number, 1), b"x"))
    }),
];

/// One test of one thread, as the counter is one.
#[test]
fn hostile_peers_hold_no_more_than_they_are_charged() {
    for (name, strategy) in STRATEGIES {
        let settings = Settings { held_bytes_max: BUDGET, ..Settings::default() };
        let before = LIVE.load(Ordering::Relaxed);
        let mut server = Host::new(16, settings, &[1; 16]);
        let peers: Vec<Hostile> = (0..PEERS)
            .map(|number| {
                let address = Ipv4Addr::new(10, 9, number as u8, 1);
                Hostile::connect(&mut server, SocketAddr::from((address, 5000)))
            })
            .collect();
        let mut answer = Vec::with_capacity(4096);
        let (mut worst, mut most) = (0, 0);
        for at in 0..100_000 {
            let (channel, sequence, body) = strategy(at);
            let command = Command { flags: 0, channel, sequence, body };
            peers.iter().for_each(|peer| peer.send(&mut server, None, &[command]));
            while server.poll_transmit(NOW, &mut answer).is_some() {}
            while server.poll_event().is_some() {}
            let charged = server.held_bytes() + server.exempt_bytes();
            let live = LIVE.load(Ordering::Relaxed) - before;
            worst = worst.max(live.saturating_sub(charged));
            most = most.max(live);
            assert!(server.held_bytes() <= BUDGET, "{name}: {} bytes held", server.held_bytes());
        }
        assert!(worst <= usize::from(PEERS) * PEER_BYTES, "{name}: {worst} bytes are charged to nobody, of {most}");
        drop(server);
    }
}
