//! A host as the tests drive it: ours in this process, a stock one in a process of its own.

use std::io::{BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use prony_enet::{Event, Host, Kind, Packet, PeerId};

use prony_testing::compile::compile;

/// What happened, in the words of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happened {
    Connected { peer: u32, data: u32 },
    Disconnected { peer: u32, data: u32 },
    Packet { peer: u32, channel: u8, flags: u32, payload: Vec<u8> },
}

impl Happened {
    pub fn peer(&self) -> u32 {
        match self {
            Happened::Connected { peer, .. } | Happened::Disconnected { peer, .. } | Happened::Packet { peer, .. } => {
                *peer
            }
        }
    }
}

/// A datagram, and to whom.
pub type Sent = (SocketAddr, Vec<u8>);

pub trait Node {
    fn connect(&mut self, to: SocketAddr, channels: u32, data: u32);
    fn send(&mut self, peer: u32, channel: u8, flags: u32, payload: &[u8]);
    /// `kind`: 0 in good order, 1 now, 2 later, 3 without a word.
    fn disconnect(&mut self, peer: u32, kind: u8, data: u32);
    /// In bytes a second, 0 for any number.
    fn set_bandwidth(&mut self, incoming: u32, outgoing: u32);
    fn give(&mut self, from: SocketAddr, datagram: &[u8]);
    /// Has the host do what it has to, and returns what happened and what it sent.
    fn service(&mut self, now_ms: u64) -> (Vec<Happened>, Vec<Sent>);
}

/// Our host, served as the stock library's `service` does: what is to send, what arrived, what is to send.
pub struct Ours {
    host: Host,
    inbox: Vec<(SocketAddr, Vec<u8>)>,
}

impl Ours {
    pub fn new(host: Host) -> Ours {
        Ours { host, inbox: Vec::new() }
    }

    fn peer(&self, slot: u32) -> Option<PeerId> {
        self.host.peer_at(slot as usize)
    }

    fn transmit(&mut self, now: Duration, sent: &mut Vec<Sent>) {
        let mut datagram = Vec::new();
        while let Some(transmit) = self.host.poll_transmit(now, &mut datagram) {
            sent.push((transmit.to, datagram.clone()));
        }
    }

    fn events(&mut self, happened: &mut Vec<Happened>) {
        while let Some(event) = self.host.poll_event() {
            happened.push(match event {
                Event::Connect { peer, data } => Happened::Connected { peer: peer.slot() as u32, data },
                Event::Disconnect { peer, data, .. } => Happened::Disconnected { peer: peer.slot() as u32, data },
                Event::Receive { peer, packet } => {
                    let flags = match packet.kind {
                        Kind::Reliable => 1,
                        Kind::Unreliable => 0,
                        Kind::Unsequenced => 2,
                        Kind::UnreliableFragments => 8,
                    };
                    let (channel, payload) = (packet.channel, packet.payload);
                    Happened::Packet { peer: peer.slot() as u32, channel, flags, payload }
                }
            });
        }
    }
}

impl Node for Ours {
    fn connect(&mut self, to: SocketAddr, channels: u32, data: u32) {
        self.host.connect(to, channels as usize, data).expect("there is a slot");
    }

    fn send(&mut self, peer: u32, channel: u8, flags: u32, payload: &[u8]) {
        let Some(peer) = self.peer(peer) else { return };
        let packet = Packet {
            payload: payload.into(),
            reliable: flags & 1 != 0,
            unsequenced: flags & 2 != 0,
            fragments_unreliable: flags & 8 != 0,
        };
        // As with the stock host, a peer that is gone takes nothing.
        let _ = self.host.send(peer, channel, packet);
    }

    fn disconnect(&mut self, peer: u32, kind: u8, data: u32) {
        let Some(peer) = self.peer(peer) else { return };
        match kind {
            0 => self.host.disconnect(peer, data),
            1 => self.host.disconnect_now(peer, data),
            2 => self.host.disconnect_later(peer, data),
            _ => self.host.reset(peer),
        }
    }

    fn set_bandwidth(&mut self, incoming: u32, outgoing: u32) {
        self.host.set_bandwidth(incoming, outgoing);
    }

    fn give(&mut self, from: SocketAddr, datagram: &[u8]) {
        self.inbox.push((from, datagram.to_vec()));
    }

    fn service(&mut self, now_ms: u64) -> (Vec<Happened>, Vec<Sent>) {
        let now = Duration::from_millis(now_ms);
        let (mut happened, mut sent) = (Vec::new(), Vec::new());
        self.host.handle_timeout(now);
        self.transmit(now, &mut sent);
        for (from, datagram) in std::mem::take(&mut self.inbox) {
            self.host.handle_datagram(now, from, &datagram);
            let before = happened.len();
            self.events(&mut happened);
            if happened.len() > before {
                // The stock library returns with the event, and sends what is due when it is called again.
                self.host.handle_timeout(now);
                self.transmit(now, &mut sent);
            }
        }
        self.transmit(now, &mut sent);
        self.events(&mut happened);
        (happened, sent)
    }
}

/// A stock host in a process of its own, which ends with this.
pub struct Stock {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    happened: Vec<Happened>,
    sent: Vec<Sent>,
}

/// Compiles the program around the stock library, once.
fn program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compile("stock-enet", include_str!("stock.c")))
}

impl Stock {
    pub fn start(peers: u32, checksum: bool, coder: bool) -> Stock {
        let mut child = Command::new(program())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program was just compiled");
        let requests = child.stdin.take().expect("piped");
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        let mut stock = Stock { child, requests, answers, happened: Vec::new(), sent: Vec::new() };
        // The clock runs before the host is made, as it does for every host but one.
        stock.set_time(59_000);
        let mut request = vec![b'N'];
        request.extend_from_slice(&peers.to_ne_bytes());
        request.extend_from_slice(&1400u32.to_ne_bytes());
        request.extend_from_slice(&[checksum.into(), coder.into()]);
        stock.ask(&request);
        stock
    }

    fn set_time(&mut self, now_ms: u64) {
        let mut request = vec![b'T'];
        request.extend_from_slice(&(now_ms as u32).to_ne_bytes());
        self.ask(&request);
    }

    /// Sends a request and takes in what comes of it.
    fn ask(&mut self, request: &[u8]) {
        self.requests.write_all(request).expect("the stock host listens");
        loop {
            match self.array::<1>() {
                [b'.'] => break,
                [b'O'] => {
                    let address: [u8; 4] = self.array();
                    let port = u16::from_ne_bytes(self.array());
                    let datagram = self.bytes();
                    self.sent.push((SocketAddr::from((address, port)), datagram));
                }
                [b'E'] => {
                    let [kind] = self.array();
                    let peer = u32::from_ne_bytes(self.array());
                    let [channel] = self.array();
                    let data = u32::from_ne_bytes(self.array());
                    let flags = u32::from_ne_bytes(self.array());
                    let payload = self.bytes();
                    self.happened.push(match kind {
                        1 => Happened::Connected { peer, data },
                        2 => Happened::Disconnected { peer, data },
                        _ => Happened::Packet { peer, channel, flags, payload },
                    });
                }
                [other] => panic!("an answer begins with {other}"),
            }
        }
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        self.answers.read_exact(&mut array).expect("the stock host answers");
        array
    }

    fn bytes(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; u32::from_ne_bytes(self.array()) as usize];
        self.answers.read_exact(&mut bytes).expect("the stock host answers");
        bytes
    }
}

impl Drop for Stock {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn put_address(request: &mut Vec<u8>, address: SocketAddr) {
    let SocketAddr::V4(address) = address else { panic!("the stock library knows IPv4 only") };
    request.extend_from_slice(&address.ip().octets());
    request.extend_from_slice(&address.port().to_ne_bytes());
}

impl Node for Stock {
    fn connect(&mut self, to: SocketAddr, channels: u32, data: u32) {
        let mut request = vec![b'C'];
        put_address(&mut request, to);
        request.extend_from_slice(&channels.to_ne_bytes());
        request.extend_from_slice(&data.to_ne_bytes());
        self.ask(&request);
    }

    fn send(&mut self, peer: u32, channel: u8, flags: u32, payload: &[u8]) {
        let mut request = vec![b'P'];
        request.extend_from_slice(&peer.to_ne_bytes());
        request.push(channel);
        request.extend_from_slice(&flags.to_ne_bytes());
        request.extend_from_slice(&(payload.len() as u32).to_ne_bytes());
        request.extend_from_slice(payload);
        self.ask(&request);
    }

    fn disconnect(&mut self, peer: u32, kind: u8, data: u32) {
        let mut request = vec![b'X'];
        request.extend_from_slice(&peer.to_ne_bytes());
        request.push(kind);
        request.extend_from_slice(&data.to_ne_bytes());
        self.ask(&request);
    }

    fn set_bandwidth(&mut self, incoming: u32, outgoing: u32) {
        let mut request = vec![b'B'];
        request.extend_from_slice(&incoming.to_ne_bytes());
        request.extend_from_slice(&outgoing.to_ne_bytes());
        self.ask(&request);
    }

    fn give(&mut self, from: SocketAddr, datagram: &[u8]) {
        let mut request = vec![b'D'];
        put_address(&mut request, from);
        request.extend_from_slice(&(datagram.len() as u32).to_ne_bytes());
        request.extend_from_slice(datagram);
        self.ask(&request);
    }

    fn service(&mut self, now_ms: u64) -> (Vec<Happened>, Vec<Sent>) {
        self.set_time(now_ms);
        self.ask(b"S");
        (std::mem::take(&mut self.happened), std::mem::take(&mut self.sent))
    }
}
