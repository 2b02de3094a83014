//! Commands of one peer that wait, are in flight, or are due for retransmission.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::in_flight::InFlight;
use crate::invariant::{InvariantError, agree, holds};
use crate::loss::Loss;
use crate::packet::{Packet, Payload};
use crate::packet_throttle::{self, PacketThrottle};
use crate::slab::{List, NONE, Slab};
use crate::wire::{
    Body, COMMANDS_MAX, CONTROL, Command, ConnectParameters, FRAGMENT_BYTES, FRAGMENTS_MAX, Fragment, MUST_ACKNOWLEDGE,
    ThrottleParameters, UNSEQUENCED,
};

/// Bytes of a header, as the space in a datagram is counted: those of the longer one always.
pub(crate) const HEADER_BYTES: usize = 4;
/// Commands in flight on the control channel, whose numbers no window bounds.
const CONTROL_MAX: usize = 1 << 14;

/// Kinds of outgoing commands, without their payload.
#[derive(Debug)]
pub(crate) enum Kind {
    Connect(Box<ConnectParameters>, u32),
    Disconnect(u32),
    Ping,
    BandwidthLimit { incoming: u32, outgoing: u32 },
    ThrottleConfigure(ThrottleParameters),
    Reliable,
    Unreliable(u16),
    Unsequenced(u16),
    ReliableFragment(Box<Fragment>),
    UnreliableFragment(Box<Fragment>),
}

/// A command that waits to be sent or acknowledged.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub kind: Kind,
    flags: u8,
    channel: u8,
    sequence: u16,
    /// Bytes of the payload, and where in its packet they begin.
    length: u16,
    start: u32,
    payload: Option<Payload>,
    /// Place among all commands of its peer.
    order: u64,
    sent_at: u64,
    timeout_ms: u64,
    attempts: u32,
    /// True if it is in the list of sent commands, rather than waiting to be sent (again).
    is_sent: bool,
}

impl Outgoing {
    fn command(&self) -> Command<'_> {
        let payload: &[u8] = match &self.payload {
            None => &[],
            Some(payload) => {
                let start = self.start as usize;
                payload.as_bytes().get(start..start + usize::from(self.length)).unwrap_or_default()
            }
        };
        let body = match &self.kind {
            Kind::Connect(parameters, data) => Body::Connect(**parameters, *data),
            &Kind::Disconnect(data) => Body::Disconnect(data),
            Kind::Ping => Body::Ping,
            &Kind::BandwidthLimit { incoming, outgoing } => Body::BandwidthLimit { incoming, outgoing },
            &Kind::ThrottleConfigure(parameters) => Body::ThrottleConfigure(parameters),
            Kind::Reliable => Body::Reliable(payload),
            &Kind::Unreliable(number) => Body::Unreliable(number, payload),
            &Kind::Unsequenced(group) => Body::Unsequenced(group, payload),
            Kind::ReliableFragment(fragment) => Body::ReliableFragment(**fragment, payload),
            Kind::UnreliableFragment(fragment) => Body::UnreliableFragment(**fragment, payload),
        };
        Command { flags: self.flags, channel: self.channel, sequence: self.sequence, body }
    }

    fn bytes(&self) -> usize {
        self.command().body.fixed_bytes() + usize::from(self.length)
    }

    /// The packet it is a piece of, for unreliable pieces.
    fn packet(&self) -> Option<(u8, u16, u16)> {
        match &self.kind {
            Kind::UnreliableFragment(fragment) => Some((self.channel, self.sequence, fragment.start)),
            _ => None,
        }
    }
}

/// The sending half of a channel.
#[derive(Debug, Default)]
struct Channel {
    reliable: u16,
    unreliable: u16,
    in_flight: InFlight,
}

/// Reasons why a packet is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The peer is none, or not connected (yet, or any more).
    #[error("the peer is not connected")]
    NotConnected,
    /// The channel was not granted.
    #[error("channel: expected below {channels}, found {channel}")]
    NoSuchChannel {
        /// Number of the channel requested, from 0.
        channel: u8,
        /// Number of channels of the connection.
        channels: usize,
    },
    /// The packet is longer than the host's limit, or than 2^20 pieces.
    #[error("packet: expected at most {limit} bytes, found {bytes}")]
    TooLong {
        /// Length of the packet, in bytes.
        bytes: usize,
        /// Longest permitted packet, in bytes.
        limit: usize,
    },
}

/// Size limits of a packet and a datagram.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Largest datagram, in bytes of UDP payload.
    pub mtu: u32,
    /// Largest amount of unacknowledged reliable data, in bytes.
    pub window: u32,
    pub has_checksum: bool,
    /// Longest permitted packet, in bytes.
    pub packet: usize,
}

/// Limits after which an unresponsive peer is disconnected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerTimeout {
    /// 2 to the number of times a command was sent again, from which the minimum counts.
    pub limit: u32,
    /// Shortest time without an acknowledgement, in milliseconds.
    pub minimum_ms: u32,
    /// Longest time without an acknowledgement, in milliseconds.
    pub maximum_ms: u32,
}

impl Default for PeerTimeout {
    fn default() -> Self {
        PeerTimeout { limit: 32, minimum_ms: 5000, maximum_ms: 30_000 }
    }
}

/// Contents of a filled datagram.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Filled {
    /// Number of commands in the datagram.
    pub commands: usize,
    /// Something must be acknowledged: the header carries the time.
    pub must_acknowledge: bool,
    /// True if something did not fit into the datagram.
    pub is_full: bool,
    /// A window keeps reliable packets back.
    pub is_blocked: bool,
    /// Unreliable packets that the throttle dropped.
    pub throttled: u64,
}

/// The sending half of a peer. The commands are in a slab that all peers share.
#[derive(Debug)]
pub(crate) struct Sender {
    /// Reliable packets, and everything else, each in order. Windows keep only the former back.
    reliable: List,
    other: List,
    sent: List,
    order: u64,
    /// Bytes of payload in flight.
    pub in_transit: u32,
    /// Time at which the oldest sent command is due again.
    pub next_timeout: u64,
    /// Time of the first command since which nothing was heard.
    earliest: Option<u64>,
    pub control_sequence: u16,
    control: InFlight,
    group: u16,
    /// Channels by number, each allocated on first use.
    channels: Vec<Option<Box<Channel>>>,
    /// Bytes given to send since the bandwidth throttle looked.
    pub data_total: u32,
}

impl Sender {
    pub fn new(channels: usize, control_sequence: u16) -> Sender {
        let mut sender = Sender {
            reliable: List::EMPTY,
            other: List::EMPTY,
            sent: List::EMPTY,
            order: 0,
            in_transit: 0,
            next_timeout: 0,
            earliest: None,
            control_sequence,
            control: InFlight::default(),
            group: 0,
            channels: Vec::new(),
            data_total: 0,
        };
        sender.set_channels(channels);
        sender
    }

    pub fn set_channels(&mut self, channels: usize) {
        self.channels.resize_with(channels, || None);
    }

    pub fn channels(&self) -> usize {
        self.channels.len()
    }

    /// Address of the entry of `channel` among the channels, for prefetching.
    pub fn channels_place(&self, channel: usize) -> *const u8 {
        self.channels.as_ptr().wrapping_add(channel).cast()
    }

    /// Address and size in bytes of `channel`, if it is in use.
    pub fn channel_place(&self, channel: usize) -> Option<(*const u8, usize)> {
        let channel = self.channels.get(channel)?.as_deref()?;
        Some((core::ptr::from_ref(channel).cast(), size_of::<Channel>()))
    }

    pub fn has_nothing_in_flight(&self) -> bool {
        self.sent.is_empty()
    }

    /// True if nothing waits to be sent or acknowledged.
    pub fn is_done(&self) -> bool {
        self.reliable.is_empty() && self.other.is_empty() && self.sent.is_empty()
    }

    /// Forgets everything queued and sent.
    pub fn clear(&mut self, slab: &mut Slab<Outgoing>) {
        self.reliable.clear(slab);
        self.other.clear(slab);
        self.sent.clear(slab);
        self.in_transit = 0;
        self.control = InFlight::default();
        for channel in &mut self.channels {
            *channel = None;
        }
    }

    /// Checks the lists, whose commands get their marks in `seen`, and what is in flight.
    pub fn check(&self, slab: &Slab<Outgoing>, seen: &mut [bool]) -> Result<(), InvariantError> {
        let (mut in_transit, mut in_flight) = (0, 0);
        for (list, is_sent) in [(&self.reliable, false), (&self.other, false), (&self.sent, true)] {
            list.check(slab, seen, |at, command| {
                in_transit += if is_sent { u64::from(command.length) } else { 0 };
                in_flight += usize::from(command.attempts > 0);
                holds("list, command that is sent", at as usize, command.is_sent == is_sent)
            })?;
        }
        agree("peer, bytes in transit", in_transit, self.in_transit.into())?;
        let channels = self.channels.iter().flatten().map(|channel| &channel.in_flight);
        let mut found = 0;
        for commands in channels.chain([&self.control]) {
            commands.check()?;
            for at in commands.commands() {
                let is_in_use = seen.get(at as usize).is_some_and(|&seen| seen) && slab[at].attempts > 0;
                holds("window, command in flight", at as usize, is_in_use)?;
                found += 1;
            }
        }
        agree("peer, commands in flight", in_flight, found)
    }

    /// Queues a command that controls the connection.
    pub fn control(&mut self, slab: &mut Slab<Outgoing>, kind: Kind, flags: u8) {
        self.control_sequence = self.control_sequence.wrapping_add(1);
        let sequence = self.control_sequence;
        self.push(slab, Numbered { kind, flags, channel: CONTROL, sequence }, None, 0, 0);
    }

    /// Queues a packet, in pieces if it is long.
    pub fn packet(
        &mut self,
        slab: &mut Slab<Outgoing>,
        channel: u8,
        packet: Packet,
        limits: &Limits,
    ) -> Result<(), SendError> {
        let channels = self.channels.len();
        if usize::from(channel) >= channels {
            return Err(SendError::NoSuchChannel { channel, channels });
        }
        let Packet { payload, reliable, unsequenced, fragments_unreliable } = packet;
        let bytes = payload.as_bytes().len();
        let checksum = if limits.has_checksum { 4 } else { 0 };
        let piece = limits.mtu as usize - HEADER_BYTES - FRAGMENT_BYTES - checksum;
        let limit = limits.packet.min(piece.saturating_mul(FRAGMENTS_MAX as usize)).min(u32::MAX as usize);
        if bytes > limit {
            return Err(SendError::TooLong { bytes, limit });
        }
        let numbers = self.channel(channel)?;
        if bytes > piece {
            let are_reliable = reliable || !fragments_unreliable || numbers.unreliable == u16::MAX;
            let start = if are_reliable { numbers.reliable } else { numbers.unreliable }.wrapping_add(1);
            let count = bytes.div_ceil(piece) as u32;
            for number in 0..count {
                let offset = number as usize * piece;
                let fragment = Fragment { start, count, number, total: bytes as u32, offset: offset as u32 };
                let numbered = self.number_fragment(channel, fragment, are_reliable)?;
                let length = piece.min(bytes - offset) as u16;
                self.push(slab, numbered, Some(payload.clone()), offset as u32, length);
            }
            return Ok(());
        }
        let numbered = if unsequenced && !reliable {
            // No number of the channel is used up.
            self.group = self.group.wrapping_add(1);
            Numbered { kind: Kind::Unsequenced(self.group), flags: UNSEQUENCED, channel, sequence: 0 }
        } else if reliable || numbers.unreliable == u16::MAX {
            numbers.reliable = numbers.reliable.wrapping_add(1);
            numbers.unreliable = 0;
            Numbered { kind: Kind::Reliable, flags: MUST_ACKNOWLEDGE, channel, sequence: numbers.reliable }
        } else {
            numbers.unreliable += 1;
            Numbered { kind: Kind::Unreliable(numbers.unreliable), flags: 0, channel, sequence: numbers.reliable }
        };
        self.push(slab, numbered, Some(payload), 0, bytes as u16);
        Ok(())
    }

    /// The sending half of `channel`.
    fn channel(&mut self, channel: u8) -> Result<&mut Channel, SendError> {
        let channels = self.channels.len();
        let place =
            self.channels.get_mut(usize::from(channel)).ok_or(SendError::NoSuchChannel { channel, channels })?;
        Ok(place.get_or_insert_default())
    }

    fn number_fragment(&mut self, channel: u8, fragment: Fragment, is_reliable: bool) -> Result<Numbered, SendError> {
        let numbers = self.channel(channel)?;
        let fragment = Box::new(fragment);
        if is_reliable {
            numbers.reliable = numbers.reliable.wrapping_add(1);
            numbers.unreliable = 0;
            let kind = Kind::ReliableFragment(fragment);
            return Ok(Numbered { kind, flags: MUST_ACKNOWLEDGE, channel, sequence: numbers.reliable });
        }
        numbers.unreliable = fragment.start;
        Ok(Numbered { kind: Kind::UnreliableFragment(fragment), flags: 0, channel, sequence: numbers.reliable })
    }

    fn push(
        &mut self,
        slab: &mut Slab<Outgoing>,
        numbered: Numbered,
        payload: Option<Payload>,
        start: u32,
        length: u16,
    ) {
        let Numbered { kind, flags, channel, sequence } = numbered;
        self.order += 1;
        let is_reliable_packet = payload.is_some() && flags & MUST_ACKNOWLEDGE != 0;
        let command = Outgoing {
            kind,
            flags,
            channel,
            sequence,
            length,
            start,
            payload,
            order: self.order,
            sent_at: 0,
            timeout_ms: 0,
            attempts: 0,
            is_sent: false,
        };
        self.data_total = self.data_total.wrapping_add(command.bytes() as u32);
        let at = slab.insert(command);
        let list = if is_reliable_packet { &mut self.reliable } else { &mut self.other };
        list.push_back(slab, at);
    }

    /// Appends queued commands to `body`, in order, as long as they fit.
    pub fn fill(
        &mut self,
        slab: &mut Slab<Outgoing>,
        body: &mut Vec<u8>,
        filled: &mut Filled,
        now: u64,
        limits: &Limits,
        state: Sending,
    ) {
        let Sending { throttle, loss, timeout_ms } = state;
        let window = (u64::from(limits.window) * u64::from(throttle.value) / u64::from(packet_throttle::SCALE))
            .max(limits.mtu.into());
        let mut is_control_blocked = false;
        loop {
            let reliable = self.reliable.front().filter(|_| !filled.is_blocked);
            let other = self.other.front().filter(|_| !is_control_blocked);
            let at = match (reliable, other) {
                (None, None) => break,
                (Some(at), None) | (None, Some(at)) => at,
                (Some(reliable), Some(other)) => {
                    if slab[reliable].order < slab[other].order {
                        reliable
                    } else {
                        other
                    }
                }
            };
            let command = &slab[at];
            let is_packet = command.payload.is_some();
            let is_acknowledged = command.flags & MUST_ACKNOWLEDGE != 0;
            if is_acknowledged && command.attempts == 0 && !self.may_begin(command) {
                *(if is_packet { &mut filled.is_blocked } else { &mut is_control_blocked }) = true;
                continue;
            }
            if is_acknowledged && is_packet && u64::from(self.in_transit) + u64::from(command.length) > window {
                filled.is_blocked = true;
                continue;
            }
            if filled.commands >= COMMANDS_MAX || HEADER_BYTES + body.len() + command.bytes() > limits.mtu as usize {
                filled.is_full = true;
                break;
            }
            if !is_acknowledged && is_packet && command.start == 0 && !throttle.admits() {
                filled.throttled += 1;
                self.drop_packet(slab, at);
                continue;
            }
            command.command().encode(body);
            filled.commands += 1;
            loss.sent = loss.sent.wrapping_add(1);
            if is_acknowledged {
                filled.must_acknowledge = true;
                self.send(slab, at, now, timeout_ms);
            } else {
                self.other.unlink(slab, at);
                slab.take(at);
            }
        }
        filled.is_blocked = filled.is_blocked && !self.reliable.is_empty() || is_control_blocked;
    }

    /// True if a command that was never sent is within the windows of its channel.
    fn may_begin(&self, command: &Outgoing) -> bool {
        match self.channels.get(usize::from(command.channel)) {
            Some(channel) => !channel.as_ref().is_some_and(|channel| channel.in_flight.is_blocked(command.sequence)),
            None => self.control.len() < CONTROL_MAX,
        }
    }

    fn send(&mut self, slab: &mut Slab<Outgoing>, at: u32, now: u64, timeout_ms: u64) {
        let command = &slab[at];
        let (channel, sequence, is_packet) = (command.channel, command.sequence, command.payload.is_some());
        if command.attempts == 0 {
            self.in_flight(channel).insert(sequence, at);
        }
        let list = if is_packet { &mut self.reliable } else { &mut self.other };
        list.unlink(slab, at);
        let command = &mut slab[at];
        if command.attempts == 0 {
            command.timeout_ms = timeout_ms;
        }
        command.attempts += 1;
        command.sent_at = now;
        command.is_sent = true;
        self.in_transit += u32::from(command.length);
        if self.sent.is_empty() {
            self.next_timeout = now + command.timeout_ms;
        }
        self.sent.push_back(slab, at);
    }

    fn in_flight(&mut self, channel: u8) -> &mut InFlight {
        match self.channels.get_mut(usize::from(channel)) {
            Some(channel) => &mut channel.get_or_insert_default().in_flight,
            None => &mut self.control,
        }
    }

    /// Drops an unreliable packet, with those of its pieces that are not sent.
    fn drop_packet(&mut self, slab: &mut Slab<Outgoing>, at: u32) {
        let packet = slab[at].packet();
        let mut next = Some(at);
        while let Some(at) = next {
            self.other.unlink(slab, at);
            slab.take(at);
            next = self.other.front().filter(|&at| packet.is_some() && slab[at].packet() == packet);
        }
    }

    /// Something was heard: the time without an acknowledgement begins again.
    pub fn heard(&mut self) {
        self.earliest = None;
    }

    /// Takes out the command that is acknowledged, sent or waiting to be sent again; `None` if there is none such.
    pub fn acknowledge(&mut self, slab: &mut Slab<Outgoing>, channel: u8, sequence: u16) -> Option<Kind> {
        if channel != CONTROL && self.channels.get(usize::from(channel))?.is_none() {
            return None;
        }
        let at = self.in_flight(channel).remove(sequence)?;
        let command = &slab[at];
        if command.is_sent {
            self.in_transit -= u32::from(command.length);
            self.sent.unlink(slab, at);
            if let Some(head) = self.sent.front() {
                self.next_timeout = slab[head].sent_at + slab[head].timeout_ms;
            }
        } else if command.payload.is_some() {
            self.reliable.unlink(slab, at);
        } else {
            self.other.unlink(slab, at);
        }
        Some(slab.take(at).kind)
    }

    /// Queues what was not acknowledged in time in front of everything else, in order.
    ///
    /// Returns the number of commands looked at; `None` when the peer is lost.
    pub fn expire(
        &mut self,
        slab: &mut Slab<Outgoing>,
        now: u64,
        timeout: &PeerTimeout,
        loss: &mut Loss,
    ) -> Option<u64> {
        let (mut behind_reliable, mut behind_other) = (NONE, NONE);
        let mut looked = 0;
        let mut next = self.sent.front();
        while let Some(at) = next {
            next = self.sent.after(slab, at);
            looked += 1;
            let command = &mut slab[at];
            if now - command.sent_at < command.timeout_ms {
                continue;
            }
            let earliest = self.earliest.map_or(command.sent_at, |earliest| earliest.min(command.sent_at));
            self.earliest = Some(earliest);
            let silent_ms = now - earliest;
            let is_late = 1u64.checked_shl(command.attempts - 1).is_none_or(|tries| tries >= timeout.limit.into());
            if silent_ms >= timeout.maximum_ms.into() || is_late && silent_ms >= timeout.minimum_ms.into() {
                return None;
            }
            loss.lost = loss.lost.wrapping_add(1);
            command.timeout_ms *= 2;
            command.is_sent = false;
            self.in_transit -= u32::from(command.length);
            let (list, behind) = if command.payload.is_some() {
                (&mut self.reliable, &mut behind_reliable)
            } else {
                (&mut self.other, &mut behind_other)
            };
            self.sent.unlink(slab, at);
            list.insert_after(slab, *behind, at);
            *behind = at;
        }
        if let Some(head) = self.sent.front() {
            self.next_timeout = slab[head].sent_at + slab[head].timeout_ms;
        }
        Some(looked)
    }
}

/// State of the peer that controls sending.
pub(crate) struct Sending<'a> {
    pub throttle: &'a mut PacketThrottle,
    pub loss: &'a mut Loss,
    /// Timeout of commands that are sent for the first time, in milliseconds.
    pub timeout_ms: u64,
}

struct Numbered {
    kind: Kind,
    flags: u8,
    channel: u8,
    sequence: u16,
}
