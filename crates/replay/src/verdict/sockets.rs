//! The sockets of a demo, the messages in its records, and outputs that no rule excuses.

use crate::report::BeyondLimit;
use prony_demo::address::Address;
use prony_demo::tolerance::{Exceeded, Ports, Rules};
use prony_demo::{Head, Op, PartKind, Parts};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The first output that no rule excuses.
#[derive(Debug)]
pub(crate) struct Unexcused {
    pub(crate) process: u16,
    pub(crate) thread: u16,
    pub(crate) record: u64,
    pub(crate) op: u16,
    pub(crate) fd: i32,
    pub(crate) byte: usize,
    pub(crate) expected: Vec<u8>,
    pub(crate) found: Vec<u8>,
    /// Limit that it is beyond; `None` where no rule covers the byte.
    pub(crate) beyond: Option<BeyondLimit>,
}

/// Addresses of a socket, local and remote.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Socket {
    pub(crate) local: Option<SocketAddr>,
    pub(crate) peer: Option<SocketAddr>,
    pub(crate) is_stream: bool,
}

/// Follows the sockets through a demo.
#[derive(Debug, Default)]
pub(crate) struct Sockets {
    known: BTreeMap<(u16, i32), Socket>,
}

fn ip(bytes: Option<&[u8]>) -> Option<SocketAddr> {
    Address::from_bytes(bytes?)?.ip()
}

/// `SOCK_STREAM` of Linux, a type of socket.
const STREAM: i32 = 1;

impl Sockets {
    pub(crate) fn handle(&mut self, process: u16, head: &Head, op: Op, record: &[u8]) {
        let addresses = || {
            let mut parts = Parts::new(record).filter(|part| part.kind == PartKind::Addr as u8).map(|part| part.bytes);
            (parts.next(), parts.next())
        };
        let at = (process, head.fd);
        match op {
            Op::Socket if head.ret >= 0 => {
                // Family, type and protocol, four bytes each.
                let arguments = Parts::first(record, PartKind::Value);
                let kind =
                    arguments.and_then(|arguments| Some(i32::from_le_bytes(arguments.get(4..8)?.try_into().ok()?)));
                let is_stream = kind.is_some_and(|kind| kind & 0xf == STREAM);
                self.known.insert((process, head.ret as i32), Socket { is_stream, ..Socket::default() });
            }
            Op::Bind if head.ret == 0 => self.known.entry(at).or_default().local = ip(addresses().1),
            Op::Connect => {
                let (peer, local) = addresses();
                let socket = self.known.entry(at).or_default();
                (socket.local, socket.peer) = (ip(local), ip(peer));
            }
            Op::Accept if head.ret >= 0 => {
                let (peer, local) = addresses();
                let socket = Socket { local: ip(local), peer: ip(peer), is_stream: true };
                self.known.insert((process, head.ret as i32), socket);
            }
            Op::Close => {
                self.known.remove(&at);
            }
            _ => {}
        }
    }

    /// The socket with the address that a message came from or goes to.
    pub(crate) fn with_peer(&self, process: u16, fd: i32, address: Option<&[u8]>) -> Socket {
        let socket = self.known.get(&(process, fd)).copied().unwrap_or_default();
        Socket { peer: ip(address).or(socket.peer), ..socket }
    }
}

impl Socket {
    pub(crate) fn ports(&self) -> Ports {
        Ports { local: self.local.map(|address| address.port()), peer: self.peer.map(|address| address.port()) }
    }
}

pub(crate) fn beyond(rules: &Rules, exceeded: Exceeded) -> BeyondLimit {
    let Exceeded { rule, field, offset, recorded, replayed, .. } = exceeded;
    BeyondLimit { rule, field: rules.describe(rule, field), offset, recorded, replayed }
}

/// Address and bytes of every message of a record, sent or received; `sendmmsg` has several. `content`: the kind of part
/// that holds the bytes.
pub(crate) fn messages(record: &[u8], content: PartKind) -> impl Iterator<Item = (Option<&[u8]>, &[u8])> {
    let mut destination = None;
    Parts::new(record).filter_map(move |part| match PartKind::from_number(part.kind)? {
        PartKind::Message => {
            destination = None;
            None
        }
        PartKind::Addr => {
            destination = Some(part.bytes);
            None
        }
        kind if kind == content => Some((destination, part.bytes)),
        _ => None,
    })
}
