//! A demo's network traffic as a classic pcap file with nanosecond times.
//!
//! Records know payloads and addresses, not packets: IP, UDP and TCP headers are made up around
//! them, with right addresses, times, checksums and sequence numbers. A connection begins with a
//! handshake when it is accepted or connected (a connect that was still under way: with its first
//! bytes) and ends with FIN. What the records do not contain is missing here too: datagrams
//! that the kernel dropped, retransmissions, and the local port of a socket that was never bound
//! nor queried for its name, which is 0. Bytes read with `MSG_PEEK` appear as often as they were read.

mod packet;
mod sockets;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::Serialize;

use crate::address::{Address, FAMILY_INET, FAMILY_INET6, FAMILY_UNIX};
use crate::{Head, Op, PartKind, Parts};
use packet::{ACK, FIN, PUSH, SEGMENT_MAX, SYN, Segment, UDP_PAYLOAD_MAX};
use sockets::{Kind, Socket, Sockets, Stream, ends};

/// `tcpdump` writes this for nanosecond files.
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
/// No packet is cut: the largest IP packet has 65,535 bytes, IPv6 adds its header of 40.
const SNAP_LENGTH: u32 = 262_144;
/// `LINKTYPE_RAW`: the packet begins with the header of IPv4 or IPv6.
const LINK_TYPE_RAW: u32 = 101;

const EINPROGRESS: i64 = 115;
const SHUT_RD: u32 = 0;
const F_DUPFD: u32 = 0;
const F_DUPFD_CLOEXEC: u32 = 1030;

/// Makes the pcap: records go in with [`Pcap::handle_record`], bytes of the file come out of
/// [`Pcap::take_bytes`].
#[derive(Debug)]
pub struct Pcap {
    recorded_at_ns: u64,
    sockets: Sockets,
    out: Vec<u8>,
    summary: PcapSummary,
    payloads: Option<Vec<Payload>>,
}

/// What a call moved between the server and one peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// The other end; `None` of a Unix socket.
    pub peer: Option<SocketAddr>,
    /// True if the server sent it.
    pub outward: bool,
    /// Datagrams, or pieces of a stream: one for each call.
    pub datagrams: u64,
    /// Number of bytes of the payload.
    pub bytes: u64,
}

/// Says of each record what it moved, and between whom: who a descriptor talks to is known from the records before.
#[derive(Debug)]
pub struct Traffic {
    pcap: Pcap,
}

impl Traffic {
    /// Traffic of a demo of which no record was seen yet.
    pub fn new() -> Traffic {
        let mut pcap = Pcap::new(0);
        pcap.payloads = Some(Vec::new());
        Traffic { pcap }
    }

    /// Takes the next record of a process and returns what it moved, which is mostly nothing.
    pub fn of(&mut self, process: u16, record: &[u8]) -> &[Payload] {
        self.pcap.out.clear();
        if let Some(payloads) = &mut self.pcap.payloads {
            payloads.clear();
        }
        self.pcap.handle_record(process, record);
        self.pcap.payloads.as_deref().unwrap_or_default()
    }
}

impl Default for Traffic {
    fn default() -> Traffic {
        Traffic::new()
    }
}

/// Counts of exported and skipped traffic.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct PcapSummary {
    /// Packets in the file, those of TCP connections included.
    pub packets: u64,
    /// UDP datagrams among the packets.
    pub datagrams: u64,
    /// TCP connections that the packets belong to.
    pub connections: u64,
    /// Bytes of payload over all packets.
    pub payload_bytes: u64,
    /// Transfers that are not in the file, by reason.
    pub left_out: BTreeMap<&'static str, u64>,
}

/// A payload on its way, with what its record says about it.
struct Transfer<'a> {
    outward: bool,
    payload: &'a [u8],
    peer: Option<Address>,
    control: &'a [u8],
}

impl Pcap {
    /// `recorded_at_ns`: when the recording began, in nanoseconds of the Unix epoch.
    pub fn new(recorded_at_ns: u64) -> Pcap {
        let mut out = Vec::with_capacity(24);
        out.extend(MAGIC_NANOSECONDS.to_le_bytes());
        out.extend(2u16.to_le_bytes()); // version 2.4
        out.extend(4u16.to_le_bytes());
        out.extend([0; 8]); // time zone and accuracy, always 0
        out.extend(SNAP_LENGTH.to_le_bytes());
        out.extend(LINK_TYPE_RAW.to_le_bytes());
        Pcap { recorded_at_ns, sockets: Sockets::default(), out, summary: PcapSummary::default(), payloads: None }
    }

    /// The bytes of the file that were made since the last call.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Counts of the traffic exported and skipped so far.
    pub fn summary(&self) -> &PcapSummary {
        &self.summary
    }

    /// Takes the next record of a process; a record that is cut or unknown is passed over.
    pub fn handle_record(&mut self, process: u16, record: &[u8]) {
        let Some(head) = Head::from_bytes(record) else { return };
        let Some(op) = Op::from_number(head.op) else { return };
        let at = (process, head.fd);
        match op {
            Op::Recv | Op::Recvfrom | Op::Recvmsg | Op::Recvmmsg | Op::Read | Op::Readv => {
                self.transfers(at, &head, record, false);
            }
            Op::Send | Op::Sendto | Op::Sendmsg | Op::Sendmmsg | Op::Write | Op::Writev | Op::Sendfile => {
                self.transfers(at, &head, record, true);
            }
            Op::Fork if head.ret >= 0 => {
                if let Ok(child) = u16::try_from(head.aux) {
                    self.sockets.inherit(process, child);
                }
            }
            Op::Exit => {
                for fd in self.sockets.descriptors(process) {
                    self.close(head.time, (process, fd));
                }
            }
            Op::Connect if head.ret == 0 || head.ret == -EINPROGRESS => {
                let mut addresses = addresses(record);
                let (peer, local) = (addresses.next().flatten(), addresses.next().flatten());
                if let Some(socket) = self.sockets.find(at) {
                    socket.peer = peer.or(socket.peer);
                    socket.local = local.or(socket.local);
                    if head.ret == 0 && socket.kind == Kind::Tcp {
                        self.handshake(head.time, at, true);
                    }
                }
            }
            _ if head.ret < 0 => {}
            Op::Socket => self.socket(process, &head, record),
            Op::Accept => self.accept(process, &head, record),
            Op::Bind => {
                let mut addresses = addresses(record);
                let requested = addresses.next().flatten();
                let chosen = addresses.next().flatten();
                if let Some(socket) = self.sockets.find(at) {
                    socket.local = chosen.or(requested).or(socket.local);
                }
            }
            Op::Getsockname => {
                let name = addresses(record).next().flatten();
                if let Some(socket) = self.sockets.find(at) {
                    socket.local = name.or(socket.local);
                }
            }
            Op::Close => self.close(head.time, at),
            Op::Shutdown if head.aux > SHUT_RD => {
                if let Some(packet) = self.sockets.find(at).and_then(finish_local) {
                    self.packet(head.time, &packet);
                }
            }
            Op::Dup => self.duplicate(head.time, at, (process, head.ret as i32)),
            Op::Fcntl if matches!(head.aux, F_DUPFD | F_DUPFD_CLOEXEC) => {
                self.duplicate(head.time, at, (process, head.ret as i32));
            }
            _ => {}
        }
    }

    fn socket(&mut self, process: u16, head: &Head, record: &[u8]) {
        let value = Parts::first(record, PartKind::Value).unwrap_or_default();
        let number = |at: usize| crate::record::word(value, at).map(u32::cast_signed);
        let domain = number(0).and_then(|domain| u16::try_from(domain).ok());
        // The low four bits are the type; SOCK_NONBLOCK and SOCK_CLOEXEC lie above them.
        let kind = match (domain, number(4).map(|kind| kind & 0xf)) {
            (Some(FAMILY_INET | FAMILY_INET6), Some(1)) => Kind::Tcp,
            (Some(FAMILY_INET | FAMILY_INET6), Some(2)) => Kind::Udp,
            (Some(FAMILY_UNIX), _) => Kind::Unix,
            _ => Kind::Other,
        };
        let any: IpAddr = match domain {
            Some(FAMILY_INET6) => Ipv6Addr::UNSPECIFIED.into(),
            _ => Ipv4Addr::UNSPECIFIED.into(),
        };
        let local = Some(SocketAddr::new(any, 0));
        let replaced = self.sockets.insert((process, head.ret as i32), Socket::new(kind, local, None));
        self.finish(head.time, replaced);
    }

    fn accept(&mut self, process: u16, head: &Head, record: &[u8]) {
        let (at, listening) = ((process, head.ret as i32), (process, head.fd));
        let mut addresses = addresses(record);
        let (peer, local) = (addresses.next().flatten(), addresses.next().flatten());
        let listening = self.sockets.find(listening).map(|socket| (socket.kind, socket.local));
        let kind = match (peer, listening) {
            (Some(_), _) => Kind::Tcp,
            (None, Some((kind, _))) => kind,
            (None, None) => Kind::Other,
        };
        let local = local.or(listening.and_then(|(_, local)| local));
        let replaced = self.sockets.insert(at, Socket::new(kind, local, peer));
        self.finish(head.time, replaced);
        if kind == Kind::Tcp {
            self.handshake(head.time, at, false);
        }
    }

    fn duplicate(&mut self, time: u64, old: (u16, i32), new: (u16, i32)) {
        let replaced = self.sockets.duplicate(old, new);
        self.finish(time, replaced);
    }

    fn close(&mut self, time: u64, at: (u16, i32)) {
        let closed = self.sockets.remove(at);
        self.finish(time, closed);
    }

    /// Splits a record into its messages: one, or as many as `recvmmsg` and `sendmmsg` say.
    fn transfers(&mut self, at: (u16, i32), head: &Head, record: &[u8], outward: bool) {
        if head.ret < 0 {
            return;
        }
        let payload_kind = if outward { PartKind::Out } else { PartKind::In } as u8;
        let mut transfer = Transfer { outward, payload: &[], peer: None, control: &[] };
        let mut messages = 0;
        for part in Parts::new(record) {
            if part.kind == PartKind::Message as u8 {
                if messages > 0 {
                    self.transfer(at, head, &transfer);
                }
                messages += 1;
                transfer = Transfer { outward, payload: &[], peer: None, control: &[] };
            } else if part.kind == payload_kind {
                transfer.payload = part.bytes;
            } else if part.kind == PartKind::Addr as u8 {
                transfer.peer = Address::from_bytes(part.bytes);
            } else if part.kind == PartKind::Control as u8 {
                transfer.control = part.bytes;
            }
        }
        let many = matches!(Op::from_number(head.op), Some(Op::Recvmmsg | Op::Sendmmsg));
        if !many || messages > 0 {
            self.transfer(at, head, &transfer);
        }
    }

    fn transfer(&mut self, at: (u16, i32), head: &Head, transfer: &Transfer<'_>) {
        let peer = transfer.peer.as_ref().and_then(Address::ip);
        let kind = match (self.sockets.find(at).map(|socket| socket.kind), peer) {
            (Some(kind), _) => kind,
            // Handed to the server by the process that started it: an address with the payload means datagrams.
            (None, Some(_)) => Kind::Udp,
            (None, None) => Kind::Other,
        };
        match kind {
            Kind::Udp => self.datagrams(at, head, transfer, peer),
            Kind::Tcp => self.segments(at, head, transfer),
            Kind::Unix => self.unix(transfer),
            Kind::Other if matches!(transfer.peer, Some(Address::Unix(_))) => self.unix(transfer),
            Kind::Other => self.leave_out("not a UDP or TCP socket whose creation was recorded"),
        }
    }

    fn unix(&mut self, transfer: &Transfer<'_>) {
        self.moved(None, transfer, 1);
        self.leave_out("Unix socket");
    }

    /// Notes a payload for [`Traffic`].
    fn moved(&mut self, peer: Option<SocketAddr>, transfer: &Transfer<'_>, datagrams: usize) {
        if let Some(payloads) = &mut self.payloads {
            let Transfer { outward, payload, .. } = *transfer;
            payloads.push(Payload { peer, outward, datagrams: datagrams as u64, bytes: payload.len() as u64 });
        }
    }

    fn leave_out(&mut self, reason: &'static str) {
        *self.summary.left_out.entry(reason).or_default() += 1;
    }

    fn datagrams(&mut self, at: (u16, i32), head: &Head, transfer: &Transfer<'_>, peer: Option<SocketAddr>) {
        let (bound, connected) = self.sockets.find(at).map_or((None, None), |socket| (socket.local, socket.peer));
        let Some(peer) = peer.or(connected) else { return self.leave_out("datagram without an address") };
        let mut local = bound.unwrap_or(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), 0));
        if let Some(ip) = control::packet_info(transfer.control)
            && local.ip().is_unspecified()
        {
            local.set_ip(ip);
        }
        let (local, peer) = ends(local, peer);
        let (from, to) = if transfer.outward { (local, peer) } else { (peer, local) };
        let size = control::segment_size(transfer.control).unwrap_or(transfer.payload.len()).max(1);
        let mut datagrams: Vec<&[u8]> = transfer.payload.chunks(size).collect();
        if datagrams.is_empty() {
            datagrams.push(&[]);
        }
        self.moved(Some(peer), transfer, datagrams.len());
        for payload in datagrams {
            if payload.len() > UDP_PAYLOAD_MAX {
                self.leave_out("datagram longer than UDP can carry");
                continue;
            }
            self.packet(head.time, &packet::udp(from, to, payload));
            self.summary.datagrams += 1;
            self.summary.payload_bytes += payload.len() as u64;
        }
    }

    fn segments(&mut self, at: (u16, i32), head: &Head, transfer: &Transfer<'_>) {
        if !self.sockets.find(at).is_some_and(|socket| socket.stream.open) {
            self.handshake(head.time, at, true);
        }
        let Some(socket) = self.sockets.find(at).filter(|socket| socket.stream.open) else {
            return self.leave_out("TCP socket without a peer");
        };
        let Some((local, peer)) = stream_ends(socket) else { return };
        let mut packets = Vec::new();
        let stream = &mut socket.stream;
        if let Some(payloads) = self.payloads.as_mut().filter(|_| !transfer.payload.is_empty()) {
            let bytes = transfer.payload.len() as u64;
            payloads.push(Payload { peer: Some(peer), outward: transfer.outward, datagrams: 1, bytes });
        }
        if transfer.outward {
            for payload in transfer.payload.chunks(SEGMENT_MAX) {
                let numbers =
                    Segment { sequence: stream.local_next, acknowledged: stream.peer_next, flags: PUSH | ACK };
                packets.push(packet::tcp(local, peer, numbers, payload));
                stream.local_next = stream.local_next.wrapping_add(payload.len() as u32);
            }
        } else if transfer.payload.is_empty() {
            // Nothing read although room was given: the peer has finished.
            if head.aux > 0 && head.ret == 0 && !stream.peer_finished {
                stream.peer_finished = true;
                let numbers = Segment { sequence: stream.peer_next, acknowledged: stream.local_next, flags: FIN | ACK };
                packets.push(packet::tcp(peer, local, numbers, &[]));
                stream.peer_next = stream.peer_next.wrapping_add(1);
                let numbers = Segment { sequence: stream.local_next, acknowledged: stream.peer_next, flags: ACK };
                packets.push(packet::tcp(local, peer, numbers, &[]));
            }
        } else {
            for payload in transfer.payload.chunks(SEGMENT_MAX) {
                let numbers =
                    Segment { sequence: stream.peer_next, acknowledged: stream.local_next, flags: PUSH | ACK };
                packets.push(packet::tcp(peer, local, numbers, payload));
                stream.peer_next = stream.peer_next.wrapping_add(payload.len() as u32);
            }
        }
        for packet in packets {
            self.packet(head.time, &packet);
        }
        self.summary.payload_bytes += transfer.payload.len() as u64;
    }

    /// `from_here`: the server connected; otherwise it accepted.
    fn handshake(&mut self, time: u64, at: (u16, i32), from_here: bool) {
        let Some(socket) = self.sockets.find(at) else { return };
        let Some((local, peer)) = stream_ends(socket) else { return };
        // A listening socket that answers several connections begins each of them at zero.
        socket.stream = Stream { open: true, local_next: 1, peer_next: 1, ..Stream::default() };
        let (client, server) = if from_here { (local, peer) } else { (peer, local) };
        self.packet(time, &packet::tcp(client, server, Segment { sequence: 0, acknowledged: 0, flags: SYN }, &[]));
        self.packet(
            time,
            &packet::tcp(server, client, Segment { sequence: 0, acknowledged: 1, flags: SYN | ACK }, &[]),
        );
        self.packet(time, &packet::tcp(client, server, Segment { sequence: 1, acknowledged: 1, flags: ACK }, &[]));
        self.summary.connections += 1;
    }

    /// Says goodbye for a socket whose last descriptor was closed.
    fn finish(&mut self, time: u64, closed: Option<Socket>) {
        let Some(mut socket) = closed else { return };
        if let Some(packet) = finish_local(&mut socket) {
            self.packet(time, &packet);
        }
        let Some((local, peer)) = stream_ends(&socket).filter(|_| socket.stream.open) else { return };
        let Stream { peer_finished, local_next, peer_next, .. } = socket.stream;
        let flags = if peer_finished { ACK } else { FIN | ACK };
        let answer = Segment { sequence: peer_next, acknowledged: local_next, flags };
        self.packet(time, &packet::tcp(peer, local, answer, &[]));
        if !peer_finished {
            let last = Segment { sequence: local_next, acknowledged: peer_next.wrapping_add(1), flags: ACK };
            self.packet(time, &packet::tcp(local, peer, last, &[]));
        }
    }

    fn packet(&mut self, time: u64, packet: &[u8]) {
        if self.payloads.is_some() {
            return;
        }
        let at = self.recorded_at_ns.saturating_add(time);
        // The format has 32 bits for seconds: good until 2106.
        self.out.extend(((at / 1_000_000_000) as u32).to_le_bytes());
        self.out.extend(((at % 1_000_000_000) as u32).to_le_bytes());
        self.out.extend((packet.len() as u32).to_le_bytes());
        self.out.extend((packet.len() as u32).to_le_bytes());
        self.out.extend_from_slice(packet);
        self.summary.packets += 1;
    }
}

/// The server's FIN, once.
fn finish_local(socket: &mut Socket) -> Option<Vec<u8>> {
    let (local, peer) = stream_ends(socket)?;
    let stream = &mut socket.stream;
    if !stream.open || stream.local_finished {
        return None;
    }
    stream.local_finished = true;
    let fin = Segment { sequence: stream.local_next, acknowledged: stream.peer_next, flags: FIN | ACK };
    stream.local_next = stream.local_next.wrapping_add(1);
    Some(packet::tcp(local, peer, fin, &[]))
}

fn stream_ends(socket: &Socket) -> Option<(SocketAddr, SocketAddr)> {
    (socket.kind == Kind::Tcp).then_some(())?;
    Some(ends(socket.local?, socket.peer?))
}

/// The IP addresses of a record's `Addr` parts, `None` for one of another family.
fn addresses(record: &[u8]) -> impl Iterator<Item = Option<SocketAddr>> {
    Parts::new(record)
        .filter(|part| part.kind == PartKind::Addr as u8)
        .map(|part| Address::from_bytes(part.bytes).and_then(|address| address.ip()))
}

mod control {
    //! The ancillary data that changes what a packet looks like.

    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

    const IPPROTO_IP: i32 = 0;
    const IP_PKTINFO: i32 = 8;
    const SOL_UDP: i32 = 17;
    const UDP_SEGMENT: i32 = 103;
    const UDP_GRO: i32 = 104;
    const IPPROTO_IPV6: i32 = 41;
    const IPV6_PKTINFO: i32 = 50;

    /// Walks `cmsghdr`s: length (8 bytes, header included), level, type, content, padded to 8.
    pub(super) fn messages(mut control: &[u8]) -> impl Iterator<Item = (i32, i32, &[u8])> {
        std::iter::from_fn(move || {
            let length = u64::from_le_bytes(control.get(..8)?.try_into().ok()?);
            let length = usize::try_from(length).ok()?;
            let level = i32::from_le_bytes(control.get(8..12)?.try_into().ok()?);
            let kind = i32::from_le_bytes(control.get(12..16)?.try_into().ok()?);
            let content = control.get(16..length)?;
            control = control.get(length.next_multiple_of(8)..).unwrap_or(&[]);
            Some((level, kind, content))
        })
    }

    /// The local address of a datagram, as `IP_PKTINFO` reports it.
    pub(super) fn packet_info(control: &[u8]) -> Option<IpAddr> {
        messages(control).find_map(|(level, kind, content)| match (level, kind) {
            // struct in_pktinfo: interface, local address, header destination
            (IPPROTO_IP, IP_PKTINFO) => Some(IpAddr::V4(Ipv4Addr::from(<[u8; 4]>::try_from(content.get(4..8)?).ok()?))),
            (IPPROTO_IPV6, IPV6_PKTINFO) => {
                Some(IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(content.get(..16)?).ok()?)))
            }
            _ => None,
        })
    }

    /// Bytes per datagram of a transfer that carries several at once (udp(7), `UDP_SEGMENT`).
    pub(super) fn segment_size(control: &[u8]) -> Option<usize> {
        messages(control).find_map(|(level, kind, content)| match (level, kind) {
            (SOL_UDP, UDP_SEGMENT) => Some(u16::from_le_bytes(content.get(..2)?.try_into().ok()?).into()),
            (SOL_UDP, UDP_GRO) => usize::try_from(i32::from_le_bytes(content.get(..4)?.try_into().ok()?)).ok(),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests;
