//! Judges the outputs that differ in a tolerant run by the rules of the person who allowed it.

use crate::report::BeyondLimit;
use crate::run::Observed;
use prony_demo::address::Address;
use prony_demo::tolerance::{Drift, Exceeded, OutputComparison, Ports, Rules, ToleranceSummary};
use prony_demo::{Class, Demo, DemoError, Framer, Head, Op, PartKind, Parts};
use std::collections::BTreeMap;
use std::io::{Read, Seek};
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

/// Compares every differing output with the recorded one.
pub(crate) fn judge<R: Read + Seek>(
    demo: &mut Demo<R>,
    rules: &Rules,
    observed: &[Observed],
) -> Result<(ToleranceSummary, Option<Unexcused>), DemoError> {
    let wanted: BTreeMap<(u16, u64, u32), &Observed> =
        observed.iter().map(|output| ((output.process, output.record, output.message), output)).collect();
    let mut sockets = Sockets::default();
    let mut drift = Drift::new();
    let mut framers: BTreeMap<u16, (Framer, u64)> = BTreeMap::new();
    let rule = demo.header().frame_rule;
    let mut records = demo.records();
    while let Some((process, record)) = records.next()? {
        let Some(head) = Head::from_bytes(record) else { continue };
        let Some(op) = Op::from_number(head.op) else { continue };
        let (framer, frame) = framers.entry(process).or_insert_with(|| (Framer::new(rule), 0));
        *frame += u64::from(framer.ends_frame(&head));
        sockets.handle(process, &head, op, record);
        if op.class() != Class::Output || head.ret <= 0 {
            continue;
        }
        for (message, (destination, expected)) in (0..).zip(messages(record, PartKind::Out)) {
            let Some(output) = wanted.get(&(process, head.order, message)) else {
                drift.add_identical();
                continue;
            };
            match rules.judge(sockets.with_peer(process, head.fd, destination).ports(), expected, &output.bytes) {
                OutputComparison::Identical => drift.add_identical(),
                OutputComparison::Tolerant(tolerated) => drift.add(*frame, head.order, &tolerated),
                OutputComparison::Different { offset, exceeded } => {
                    let unexcused = Unexcused {
                        process,
                        thread: head.thread,
                        record: head.order,
                        op: head.op,
                        fd: head.fd,
                        byte: offset,
                        expected: expected.to_vec(),
                        found: output.bytes.clone(),
                        beyond: exceeded.map(|exceeded| beyond(rules, exceeded)),
                    };
                    return Ok((drift.summary(rules), Some(unexcused)));
                }
            }
        }
    }
    Ok((drift.summary(rules), None))
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
