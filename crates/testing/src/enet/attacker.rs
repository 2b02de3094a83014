//! A hostile peer that converses field by field: handshake first, then commands whose numbers are near those of earlier
//! ones. Pieces that agree with their packet in all but one field, acknowledgements of what is in flight, numbers one off
//! the end of a window: what bytes that are drawn one by one never make.
//!
//! Numbers come from a [`Draw`]: a seed, or the input of a fuzzer.

use std::collections::VecDeque;

use prony_enet::wire::{
    Body, CONTROL, Command, ConnectParameters, Fragment, Header, MUST_ACKNOWLEDGE, NO_PEER, ThrottleParameters,
    UNSEQUENCED,
};
use prony_enet::{RangeCoder, crc32};

use super::dice::Dice;
use super::raw::command_bytes;

/// Where an attacker gets its numbers from.
pub trait Draw {
    /// A number below `end`, or 0.
    fn below(&mut self, end: u64) -> u64;
}

impl Draw for Dice {
    fn below(&mut self, end: u64) -> u64 {
        Dice::below(self, end)
    }
}

/// The input of a fuzzer: as many bytes for a number as it needs.
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    /// True while there is more to draw from.
    pub fn is_left(&self) -> bool {
        !self.0.is_empty()
    }
}

impl Draw for Bytes<'_> {
    fn below(&mut self, end: u64) -> u64 {
        let count = usize::try_from((u64::BITS - end.saturating_sub(1).leading_zeros()).div_ceil(8)).unwrap_or(8);
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)) % end.max(1)
    }
}

/// Side of the conversation that the attacker takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Requests connections.
    Client,
    /// Grants those that are requested.
    Server,
}

/// Coding of the datagrams, which must be that of the host attacked.
#[derive(Debug, Clone, Copy, Default)]
pub struct Coding {
    /// Each datagram has the stock library's CRC-32.
    pub checksum: bool,
    /// Some datagrams are compressed by its range coder.
    pub range_coder: bool,
}

/// Longest datagram that is made, in bytes of UDP payload.
const DATAGRAM_BYTES: usize = 1392;
/// Earlier packets that later commands may refer to.
const PACKETS: usize = 12;
/// Commands of a host that can be acknowledged.
const ACKNOWLEDGEABLE: usize = 32;

static PAYLOAD: [u8; DATAGRAM_BYTES] = [0x61; DATAGRAM_BYTES];

/// A packet in pieces, as the pieces so far announced it.
#[derive(Debug, Clone, Copy)]
struct Shape {
    is_reliable: bool,
    channel: u8,
    /// Reliable number of the command, for unreliable pieces.
    sequence: u16,
    start: u16,
    count: u32,
    total: u32,
    /// Bytes of each piece but the last.
    piece: u32,
}

#[derive(Debug, Clone, Copy)]
struct Connection {
    /// Token and session of the attacker at the host, and what its checksums begin with.
    token: u16,
    session: u8,
    connect_id: [u8; 4],
    channels: u8,
}

/// A hostile peer, and how far its conversation is.
pub struct Attacker<D> {
    draw: D,
    role: Role,
    coding: Coding,
    coder: RangeCoder,
    connection: Option<Connection>,
    /// Datagrams that come next: those of a handshake.
    ready: VecDeque<Vec<u8>>,
    /// Commands of the host: channel, number and time.
    unacknowledged: VecDeque<(u8, u16, u16)>,
    shapes: Vec<Shape>,
    /// Numbers last used, by channel in the first places.
    reliable: [u16; 4],
    unreliable: [u16; 4],
    group: u16,
    requested_at_ms: Option<u64>,
    connects: u32,
}

impl<D: Draw> Attacker<D> {
    pub fn new(draw: D, role: Role, coding: Coding) -> Attacker<D> {
        Attacker {
            draw,
            role,
            coding,
            coder: RangeCoder::new(),
            connection: None,
            ready: VecDeque::new(),
            unacknowledged: VecDeque::new(),
            shapes: Vec::new(),
            reliable: [0; 4],
            unreliable: [0; 4],
            group: 0,
            requested_at_ms: None,
            connects: 0,
        }
    }

    /// What numbers come from.
    pub fn draw(&mut self) -> &mut D {
        &mut self.draw
    }

    /// True if it has a connection.
    pub fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    fn one_in(&mut self, end: u64) -> bool {
        self.draw.below(end) == 0
    }

    /// Takes in what the host sent.
    pub fn hear(&mut self, datagram: &[u8]) {
        let Some((header, rest)) = Header::decode(datagram) else { return };
        let Some(body) = rest.get(if self.coding.checksum { 4 } else { 0 }..) else { return };
        let mut plain = Vec::new();
        if header.compressed {
            if self.coder.expand(body, 4096, &mut plain).is_none() {
                return;
            }
        } else {
            plain.extend_from_slice(body);
        }
        let mut rest = plain.as_slice();
        while let Some((command, behind)) = Command::decode(rest) {
            rest = behind;
            match command.body {
                Body::VerifyConnect(granted) if self.role == Role::Client => {
                    self.begin(granted.peer, granted.outgoing_session, granted.connect_id, granted.channels);
                    let acknowledgement = acknowledgement(CONTROL, command.sequence, header.sent_time.unwrap_or(0));
                    let proof = self.seal(None, &[acknowledgement], false);
                    self.ready.push_back(proof);
                }
                Body::Connect(request, _) if self.role == Role::Server => {
                    self.grant(&request, command.sequence, header.sent_time.unwrap_or(0));
                }
                Body::Disconnect(_) => self.connection = None,
                _ => {}
            }
            if let (true, Some(sent)) = (command.flags & MUST_ACKNOWLEDGE != 0, header.sent_time) {
                self.unacknowledged.push_back((command.channel, command.sequence, sent));
                if self.unacknowledged.len() > ACKNOWLEDGEABLE {
                    self.unacknowledged.pop_front();
                }
            }
        }
    }

    fn begin(&mut self, token: u16, session: u8, connect_id: [u8; 4], channels: u32) {
        let channels = channels.clamp(1, 255) as u8;
        self.connection = Some(Connection { token, session: session & 3, connect_id, channels });
        self.shapes.clear();
        self.unacknowledged.clear();
        (self.reliable, self.unreliable, self.group) = ([0; 4], [0; 4], 0);
    }

    /// Grants a connection, as requested but for a field at times.
    fn grant(&mut self, request: &ConnectParameters, sequence: u16, sent_time: u16) {
        let mut granted = ConnectParameters { peer: 0, incoming_session: 0, outgoing_session: 0, ..*request };
        if self.one_in(4) {
            self.vary_parameters(&mut granted);
        }
        self.begin(request.peer, granted.incoming_session, request.connect_id, granted.channels);
        let body = Body::VerifyConnect(granted);
        let grant = Command { flags: MUST_ACKNOWLEDGE, channel: CONTROL, sequence: 1, body };
        let datagram = self.seal(Some(sent_time), &[acknowledgement(CONTROL, sequence, sent_time), grant], false);
        self.ready.push_back(datagram);
    }

    fn vary_parameters(&mut self, parameters: &mut ConnectParameters) {
        match self.draw.below(10) {
            0 => parameters.peer = self.near_16(parameters.peer),
            1 => parameters.incoming_session = self.draw.below(256) as u8,
            2 => parameters.outgoing_session = self.draw.below(256) as u8,
            3 => parameters.mtu = self.near_32(parameters.mtu),
            4 => parameters.window = self.near_32(parameters.window),
            5 => parameters.channels = self.near_32(parameters.channels),
            6 => parameters.incoming_bandwidth = self.near_32(0),
            7 => parameters.outgoing_bandwidth = self.near_32(0),
            8 => parameters.throttle = self.throttle(),
            _ => parameters.connect_id[0] ^= 1,
        }
    }

    /// The next datagram; `None` while the host has yet to answer.
    pub fn next(&mut self, now_ms: u64) -> Option<Vec<u8>> {
        if let Some(ready) = self.ready.pop_front() {
            return Some(ready);
        }
        if self.connection.is_none() {
            return self.ask(now_ms);
        }
        // Now and then the connection is requested once more, with another one there or not.
        if self.role == Role::Client && self.one_in(256) {
            self.requested_at_ms = None;
            return self.ask(now_ms);
        }
        let mut commands = Vec::new();
        let mut bytes = 8;
        loop {
            let command = self.command(now_ms);
            bytes += command_bytes(&command.body);
            if bytes > DATAGRAM_BYTES && !commands.is_empty() {
                break;
            }
            commands.push(command);
            if self.one_in(2) {
                break;
            }
        }
        let is_forged = self.one_in(64);
        let sent_time = (!self.one_in(32)).then(|| self.near_16(now_ms as u16));
        let mut datagram = self.seal(sent_time, &commands, is_forged);
        match self.draw.below(128) {
            0 => datagram.truncate(self.draw.below(datagram.len() as u64) as usize),
            1 => {
                let at = self.draw.below(datagram.len() as u64) as usize;
                datagram[at] ^= 1 << self.draw.below(8);
            }
            _ => {}
        }
        Some(datagram)
    }

    fn ask(&mut self, now_ms: u64) -> Option<Vec<u8>> {
        if self.role == Role::Server || self.requested_at_ms.is_some_and(|at_ms| now_ms < at_ms + 100) {
            return None;
        }
        self.requested_at_ms = Some(now_ms);
        self.connects += u32::from(!self.one_in(16));
        let mut parameters = ConnectParameters {
            peer: 0,
            incoming_session: 0xff,
            outgoing_session: 0xff,
            mtu: 1392,
            window: 65_536,
            channels: 1 + self.draw.below(4) as u32,
            incoming_bandwidth: 0,
            outgoing_bandwidth: 0,
            throttle: ThrottleParameters::default(),
            connect_id: self.connects.to_be_bytes(),
        };
        if self.one_in(8) {
            self.vary_parameters(&mut parameters);
        }
        let connect =
            Command { flags: MUST_ACKNOWLEDGE, channel: CONTROL, sequence: 1, body: Body::Connect(parameters, 0) };
        let connection = self.connection.take();
        let datagram = self.seal(Some(now_ms as u16), &[connect], false);
        self.connection = connection;
        Some(datagram)
    }

    /// A datagram of `commands`; one that `is_forged` has another token or session.
    fn seal(&mut self, sent_time: Option<u16>, commands: &[Command], is_forged: bool) -> Vec<u8> {
        let unconnected = Connection { token: NO_PEER, session: 0, connect_id: [0; 4], channels: 0 };
        let Connection { mut token, mut session, connect_id, .. } = self.connection.unwrap_or(unconnected);
        if is_forged {
            match self.one_in(2) {
                true => token = self.near_16(token),
                false => session = self.draw.below(4) as u8,
            }
        }
        let mut body = Vec::new();
        commands.iter().for_each(|command| command.encode(&mut body));
        let mut packed = Vec::new();
        let is_packed = self.coding.range_coder
            && token != NO_PEER
            && self.one_in(2)
            && self.coder.compress(&body, body.len().saturating_sub(1), &mut packed).is_some();
        let mut datagram = Vec::new();
        Header { peer: token, session, compressed: is_packed, sent_time }.encode(&mut datagram);
        if self.coding.checksum {
            // The checksum is that of what the host sees once it has expanded the datagram.
            let sum = crc32(&[&datagram[..], &connect_id, &body].concat());
            datagram.extend_from_slice(&sum.to_be_bytes());
        }
        datagram.extend_from_slice(if is_packed { &packed } else { &body });
        datagram
    }

    /// A number that is `number`, beside it, or at an end of what such numbers are counted in.
    fn near(&mut self, number: u64, maximum: u64) -> u64 {
        let near = match self.draw.below(12) {
            0..=3 => number,
            4 => number.wrapping_add(1),
            5 => number.wrapping_sub(1),
            6 => number.wrapping_add(self.draw.below(128)),
            7 => number.wrapping_sub(self.draw.below(128)),
            8 => 0,
            9 => maximum,
            10 => (1u64 << self.draw.below(32)).wrapping_add(self.draw.below(3)).wrapping_sub(1),
            _ => self.draw.below(maximum.saturating_add(1)),
        };
        near & maximum
    }

    fn near_16(&mut self, number: u16) -> u16 {
        self.near(number.into(), u16::MAX.into()) as u16
    }

    fn near_32(&mut self, number: u32) -> u32 {
        self.near(number.into(), u32::MAX.into()) as u32
    }

    fn throttle(&mut self) -> ThrottleParameters {
        ThrottleParameters {
            interval_ms: self.near_32(5000),
            acceleration: self.near_32(2),
            deceleration: self.near_32(2),
        }
    }

    /// A channel: mostly one of the first, at times the last or none.
    fn channel(&mut self) -> u8 {
        let channels = self.connection.map_or(1, |connection| connection.channels);
        match self.draw.below(16) {
            0 => channels.wrapping_sub(1),
            1 => channels,
            2 => self.draw.below(256) as u8,
            _ => self.draw.below(channels.min(4).into()) as u8,
        }
    }

    fn command(&mut self, now_ms: u64) -> Command<'static> {
        let channel = self.channel();
        let place = usize::from(channel) % self.reliable.len();
        let mut command = match self.draw.below(32) {
            0..=14 => self.piece(channel),
            15..=17 => {
                let sequence = self.next_reliable(place);
                with(MUST_ACKNOWLEDGE, channel, sequence, Body::Reliable(self.payload(64)))
            }
            18 | 19 => {
                self.unreliable[place] = self.near_16(self.unreliable[place].wrapping_add(1));
                let sequence = self.near_16(self.reliable[place]);
                with(0, channel, sequence, Body::Unreliable(self.unreliable[place], self.payload(64)))
            }
            20 => {
                self.group = self.near_16(self.group.wrapping_add(1));
                with(UNSEQUENCED, channel, 0, Body::Unsequenced(self.group, self.payload(64)))
            }
            21..=25 => self.acknowledge(now_ms),
            26 => with(MUST_ACKNOWLEDGE, CONTROL, self.draw.below(65_536) as u16, Body::Ping),
            27 => {
                let (incoming, outgoing) = (self.near_32(0), self.near_32(0));
                with(MUST_ACKNOWLEDGE, CONTROL, 1, Body::BandwidthLimit { incoming, outgoing })
            }
            28 => with(MUST_ACKNOWLEDGE, CONTROL, 1, Body::ThrottleConfigure(self.throttle())),
            29 if self.one_in(16) => with(MUST_ACKNOWLEDGE, CONTROL, 1, Body::Disconnect(7)),
            // A request of `prony load enet`: the host's program answers with that many bytes, and has them in flight.
            _ => {
                let sequence = self.next_reliable(place);
                with(MUST_ACKNOWLEDGE, channel, sequence, Body::Reliable(&REQUEST))
            }
        };
        if self.one_in(32) {
            command.flags = (self.draw.below(4) as u8) << 6;
        }
        command
    }

    /// The number that comes next, mostly: gaps are filled as often as they are made.
    fn next_reliable(&mut self, place: usize) -> u16 {
        let next = self.reliable[place].wrapping_add(1);
        let number = if self.one_in(4) { self.near_16(next) } else { next };
        if number == next || self.one_in(32) {
            self.reliable[place] = number;
        }
        number
    }

    fn payload(&mut self, most: u64) -> &'static [u8] {
        let drawn = self.draw.below(most);
        let length = self.near(drawn, most) as usize;
        PAYLOAD.get(..length).unwrap_or(&PAYLOAD)
    }

    /// An acknowledgement of what the host sent, or of what is near it.
    fn acknowledge(&mut self, now_ms: u64) -> Command<'static> {
        let at = self.draw.below(self.unacknowledged.len() as u64) as usize;
        let (mut channel, mut sequence, mut sent) =
            self.unacknowledged.get(at).copied().unwrap_or((CONTROL, 1, now_ms as u16));
        match self.draw.below(8) {
            0 => channel = self.channel(),
            1 => sequence = self.near_16(sequence),
            2 => sent = self.near_16(now_ms as u16),
            _ => {
                self.unacknowledged.remove(at);
            }
        }
        acknowledgement(channel, sequence, sent)
    }

    /// A piece of a packet: of a new one, or of one before, at times with a field that is another's.
    fn piece(&mut self, channel: u8) -> Command<'static> {
        let is_new = self.shapes.is_empty() || self.one_in(4);
        let at = self.draw.below(self.shapes.len() as u64) as usize;
        let mut shape = match self.shapes.get(at) {
            Some(&shape) if !is_new => shape,
            _ => self.shape(channel),
        };
        if !is_new && self.one_in(3) {
            // The same packet by its number, and another one by its pieces, which agree among themselves.
            match self.draw.below(3) {
                0 => shape.count = self.near_32(shape.count),
                1 => shape.piece = self.near_32(shape.piece),
                _ => (shape.count, shape.piece) = (self.draw.below(200) as u32, 1 + self.draw.below(8) as u32),
            }
            shape.piece = shape.piece.min(1300);
            shape.total = shape.count.saturating_mul(shape.piece);
        }
        if is_new {
            if self.shapes.len() >= PACKETS {
                self.shapes.swap_remove(at);
            }
            self.shapes.push(shape);
        }
        let last = shape.count.saturating_sub(1);
        let number = match self.draw.below(6) {
            0 => last,
            1 => 0,
            _ => self.draw.below(shape.count.into()) as u32,
        };
        let offset = number.saturating_mul(shape.piece);
        let mut fragment = Fragment { start: shape.start, count: shape.count, number, total: shape.total, offset };
        let mut length = if number == last { shape.total.saturating_sub(offset) } else { shape.piece };
        let mut sequence = if shape.is_reliable { shape.start.wrapping_add(number as u16) } else { shape.sequence };
        let mut channel = shape.channel;
        if self.one_in(6) {
            match self.draw.below(8) {
                0 => fragment.start = self.near_16(fragment.start),
                1 => fragment.count = self.near_32(fragment.count),
                2 => fragment.number = self.near_32(fragment.number),
                3 => fragment.total = self.near_32(fragment.total),
                4 => fragment.offset = self.near_32(fragment.offset),
                5 => length = self.near_32(length),
                6 => sequence = self.near_16(sequence),
                _ => channel = self.channel(),
            }
        }
        let payload = PAYLOAD.get(..length as usize).unwrap_or(&PAYLOAD);
        match shape.is_reliable {
            true => with(MUST_ACKNOWLEDGE, channel, sequence, Body::ReliableFragment(fragment, payload)),
            false => with(0, channel, sequence, Body::UnreliableFragment(fragment, payload)),
        }
    }

    /// A packet in pieces that begins at the next number of `channel`, or near it.
    fn shape(&mut self, channel: u8) -> Shape {
        let place = usize::from(channel) % self.reliable.len();
        let is_reliable = self.one_in(2);
        let piece = match self.draw.below(4) {
            0 => 1,
            1 => 1 + self.draw.below(8) as u32,
            _ => 1 + self.draw.below(600) as u32,
        };
        let count = match self.draw.below(8) {
            0 => 1 + self.draw.below(1 << 20) as u32,
            1 => 1 + self.draw.below(3000) as u32,
            2 => 60 + self.draw.below(10) as u32,
            _ => 2 + self.draw.below(6) as u32,
        };
        // The last piece may be shorter.
        let total = count.saturating_mul(piece).saturating_sub(self.draw.below(piece.into()) as u32);
        let sequence = self.near_16(self.reliable[place]);
        let start = match is_reliable {
            true => {
                let start = self.near_16(self.reliable[place].wrapping_add(1));
                if self.one_in(4) {
                    self.reliable[place] = start.wrapping_add(count as u16).wrapping_sub(1);
                }
                start
            }
            false => {
                self.unreliable[place] = self.near_16(self.unreliable[place].wrapping_add(1));
                self.unreliable[place]
            }
        };
        Shape { is_reliable, channel, sequence, start, count, total, piece }
    }
}

/// A request of `prony load enet` for an answer of 3,000 bytes, which is more than a datagram.
static REQUEST: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xb8, 0x0b, 0, 0];

fn with(flags: u8, channel: u8, sequence: u16, body: Body<'static>) -> Command<'static> {
    Command { flags, channel, sequence, body }
}

fn acknowledgement(channel: u8, sequence: u16, sent_time: u16) -> Command<'static> {
    with(0, channel, sequence, Body::Acknowledge { sequence, sent_time })
}
