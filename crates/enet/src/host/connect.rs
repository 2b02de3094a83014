//! Start of connections: requested here, or by the other end.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::receive::Envelope;
use super::*;
use crate::connection::window;
use crate::half_open::HalfOpen;
use crate::round_trip::{sample_ms, widen};
use crate::statistics::Dropped;
use crate::wire::{ConnectParameters, MTU_MAX, MTU_MIN, WINDOW_MAX, WINDOW_MIN};

/// Number of the command that a connection begins with.
pub(super) const FIRST_SEQUENCE: u16 = 1;

/// Tokens tried for an endpoint that requests a connection. If none of them is free, the endpoint is part of a flood, and
/// a longer search would be expensive.
const TOKEN_TRIES: u16 = 16;

/// Message to an address that is not proven. An acknowledgement of either kind proves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HandshakeReply {
    /// A VERIFY_CONNECT, to a peer that requests a connection.
    VerifyConnect,
    /// A PING with the same number and time, to one that believes to be connected: its acknowledgement was lost. It is
    /// as short as the shortest datagram that requests an acknowledgement, so the address has paid for it.
    Ping,
}

/// Reasons why a connection is not requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// Every slot for a peer is taken.
    #[error("all {slots} slots are in use")]
    NoSlot {
        /// Number of slots that the host has.
        slots: usize,
    },
    /// 4,095 connections lead to the address already.
    #[error("no token is left to distinguish a further connection with {address}")]
    NoToken {
        /// Address that was to be connected to.
        address: SocketAddr,
    },
    /// The number of channels must be 1 to 255.
    #[error("channels: expected 1 to 255, found {channels}")]
    Channels {
        /// Number of channels requested.
        channels: usize,
    },
}

impl Host {
    /// Starts a connection to `address` with `channels`, passing `data` to the peer.
    ///
    /// An event reports whether it is made. The broadcast address takes the first who answers.
    ///
    /// # Errors
    /// [`ConnectError`]: no slot, no token, or a number of channels that there is not.
    pub fn connect(&mut self, address: SocketAddr, channels: usize, data: u32) -> Result<PeerId, ConnectError> {
        if !(1..=255).contains(&channels) {
            return Err(ConnectError::Channels { channels });
        }
        let slot = self.free.lowest().ok_or(ConnectError::NoSlot { slots: self.slots.len() })?;
        let token = self.token(address, slot, NO_PEER).ok_or(ConnectError::NoToken { address })?;
        let connect_id = (self.random.next() as u32).to_be_bytes();
        let settings = &self.settings;
        let mtu = settings.mtu.clamp(MTU_MIN, MTU_MAX);
        let mut connection = Connection::new(Side::Initiator, address, channels, FIRST_SEQUENCE - 1, mtu);
        connection.ids.local = token;
        connection.ids.connect_id = connect_id;
        connection.path.window = window(self.bandwidth.outgoing);
        (connection.ids.outgoing_session, connection.ids.incoming_session) = self.last_sessions(slot);
        connection.bandwidth.announced = (self.bandwidth.incoming, self.bandwidth.outgoing);
        let parameters = ConnectParameters {
            peer: token,
            incoming_session: connection.ids.incoming_session,
            outgoing_session: connection.ids.outgoing_session,
            mtu,
            window: connection.path.window,
            channels: channels as u32,
            incoming_bandwidth: self.bandwidth.incoming,
            outgoing_bandwidth: self.bandwidth.outgoing,
            throttle: connection.path.throttle.parameters,
            connect_id,
        };
        connection.sender.control(&mut self.commands, Kind::Connect(Box::new(parameters), data), MUST_ACKNOWLEDGE);
        connection.state = State::Connecting;
        self.tokens.insert(self.tokens.tag(&connection.endpoint, token), Target::Slot(slot));
        if address.ip() == IpAddr::V4(Ipv4Addr::BROADCAST) {
            self.broadcasts.push((token, slot));
        }
        self.occupy(slot, connection);
        Ok(self.id(slot))
    }

    fn occupy(&mut self, slot: u32, connection: Connection) {
        self.free.remove(slot);
        if let Some(place) = self.slots.get_mut(slot as usize) {
            place.connection = Some(Box::new(connection));
        }
        self.ready.push_back(slot);
    }

    /// Sessions of the last use of `slot`, outgoing and incoming.
    fn last_sessions(&self, slot: u32) -> (u8, u8) {
        self.slots.get(slot as usize).map_or((0xff, 0xff), |place| (place.outgoing_session, place.incoming_session))
    }

    /// A token for `slot` that no other peer at `address` has: its number if that is free, else one of at most `tries`.
    fn token(&mut self, address: SocketAddr, slot: u32, tries: u16) -> Option<u16> {
        let endpoint = address.into();
        let is_free = |host: &Host, token: u16| host.target(endpoint, token).is_none();
        if let Ok(token) = u16::try_from(slot)
            && token < NO_PEER
            && is_free(self, token)
        {
            return Some(token);
        }
        let start = self.random.below(NO_PEER.into()) as u16;
        // Twice the number of tokens is below 2^16: nothing wraps.
        let token = |step: u16| start.wrapping_add(step) % NO_PEER;
        let found = (0..tries).find(|&step| is_free(self, token(step)));
        self.statistics.worked(found.unwrap_or(tries).into());
        found.map(token)
    }

    /// A connection is requested.
    pub(super) fn handle_connect(
        &mut self,
        envelope: &Envelope,
        connect: ConnectParameters,
        data: u32,
    ) -> Result<(), Dropped> {
        if !(1..=255).contains(&connect.channels) || connect.peer >= NO_PEER {
            return Err(Dropped::Malformed);
        }
        let attempt = (envelope.from.into(), u32::from_be_bytes(connect.connect_id).into());
        match self.attempts.get(&attempt) {
            Some(Target::Slot(_)) => return Err(Dropped::KnownConnection),
            Some(&Target::HalfOpen(at)) => return self.answer(at, envelope.bytes, HandshakeReply::VerifyConnect),
            None => {}
        }
        let slot = self.free.lowest().ok_or(Dropped::NoSlot)?;
        if self.is_crowded(envelope.from) {
            return Err(Dropped::TooManyOfAddress);
        }
        let entry = self.accept(slot, envelope, connect, data).ok_or(Dropped::TooManyOfAddress)?;
        let token = self.tokens.tag(&envelope.from.into(), entry.verify_connect.peer);
        let (at, evicted) = self.half_open.insert(entry, &mut self.random);
        if let Some(evicted) = evicted {
            self.statistics.evicted = self.statistics.evicted.wrapping_add(1);
            self.forget(at, &evicted);
        }
        self.tokens.insert(token, Target::HalfOpen(at));
        self.attempts.insert(attempt, Target::HalfOpen(at));
        self.answer(at, envelope.bytes, HandshakeReply::VerifyConnect)
    }

    fn is_crowded(&self, address: SocketAddr) -> bool {
        self.addresses.get(&words(address.ip())).is_some_and(|&peers| peers >= self.settings.duplicate_peers)
    }

    /// Forgets whom `entry` is known as, which was the half-open one `at`.
    fn forget(&mut self, at: u32, entry: &HalfOpen) {
        let endpoint = entry.address.into();
        self.tokens.remove(self.tokens.tag(&endpoint, entry.verify_connect.peer), Target::HalfOpen(at));
        self.attempts.remove(&(endpoint, u32::from_be_bytes(entry.connect.connect_id).into()));
    }

    /// Parameters granted to a requesting client; `None` when the address has all tokens.
    fn accept(&mut self, slot: u32, envelope: &Envelope, connect: ConnectParameters, data: u32) -> Option<HalfOpen> {
        let is_hardened = self.settings.wire_profile == WireProfile::Hardened;
        // An unforeseeable token makes the proof 12 bits longer.
        let token = match is_hardened {
            true => self.token(envelope.from, u32::MAX, TOKEN_TRIES)?,
            false => self.token(envelope.from, slot, TOKEN_TRIES)?,
        };
        let proof = self.random.next();
        let (sequence, sent_time) =
            if is_hardened { (proof as u16, (proof >> 16) as u16) } else { (FIRST_SEQUENCE, self.now as u16) };
        let (ours, theirs) = self.last_sessions(slot);
        let settings = &self.settings;
        let limit = window(self.bandwidth.incoming).min(connect.window);
        let slower = match (self.bandwidth.outgoing, connect.incoming_bandwidth) {
            (0, bandwidth) | (bandwidth, 0) => bandwidth,
            (ours, theirs) => ours.min(theirs),
        };
        let verify_connect = ConnectParameters {
            peer: token,
            incoming_session: next_session(connect.incoming_session, ours),
            outgoing_session: next_session(connect.outgoing_session, theirs),
            mtu: settings.mtu.clamp(MTU_MIN, MTU_MAX).min(connect.mtu.clamp(MTU_MIN, MTU_MAX)),
            window: limit.clamp(WINDOW_MIN, WINDOW_MAX),
            channels: connect.channels.min(settings.channels.max(1).into()),
            incoming_bandwidth: self.bandwidth.incoming,
            outgoing_bandwidth: self.bandwidth.outgoing,
            throttle: connect.throttle,
            connect_id: connect.connect_id,
        };
        Some(HalfOpen {
            address: envelope.from,
            connect,
            data,
            verify_connect,
            window: window(slower),
            sequence,
            sent_time,
            answered_at: self.now,
            answers: 0,
            bytes_received: 0,
            bytes_sent: 0,
        })
    }

    /// Answers an address that is not proven, if it sent as many bytes as it is sent.
    pub(super) fn answer(&mut self, at: u32, bytes_received: usize, answer: HandshakeReply) -> Result<(), Dropped> {
        let Host { half_open, settings, short, statistics, now, body, .. } = self;
        let entry = half_open.entry(at).ok_or(Dropped::UnknownPeer)?;
        entry.bytes_received = entry.bytes_received.saturating_add(bytes_received as u64);
        if short.len() >= SHORT_MAX {
            return Err(Dropped::NoRoom);
        }
        if settings.wire_profile == WireProfile::Stock {
            entry.sent_time = *now as u16;
        }
        body.clear();
        let said = match answer {
            HandshakeReply::Ping if settings.wire_profile == WireProfile::Hardened => Body::Ping,
            // A stock host knows nothing else to say.
            _ => Body::VerifyConnect(entry.verify_connect),
        };
        Command { flags: MUST_ACKNOWLEDGE, channel: CONTROL, sequence: entry.sequence, body: said }.encode(body);
        let header = Header {
            peer: entry.connect.peer,
            session: entry.verify_connect.incoming_session,
            compressed: false,
            sent_time: Some(entry.sent_time),
        };
        let mut bytes = Vec::new();
        Host::seal(settings, header, entry.connect.connect_id, body, &mut bytes);
        let bytes_sent = entry.bytes_sent.saturating_add(bytes.len() as u64);
        if bytes_sent > entry.bytes_received {
            statistics.drop_for(Dropped::WouldAmplify);
            return Ok(());
        }
        entry.bytes_sent = bytes_sent;
        entry.answers = entry.answers.saturating_add(1);
        entry.answered_at = *now;
        short.push_back(Short { to: entry.address, bytes });
        Ok(())
    }

    /// Slot of a requested connection if `command` proves its address.
    pub(super) fn prove(&mut self, at: u32, command: &Command) -> Option<Result<u32, Dropped>> {
        let Body::Acknowledge { sequence, sent_time } = command.body else { return None };
        let is_hardened = self.settings.wire_profile == WireProfile::Hardened;
        let entry = self.half_open.entry(at)?;
        let is_proof = command.channel == CONTROL
            && entry.answers > 0
            && sequence == entry.sequence
            && (!is_hardened || sent_time == entry.sent_time);
        if !is_proof {
            return None;
        }
        let entry = self.half_open.remove(at)?;
        self.forget(at, &entry);
        let answered_at = match is_hardened {
            // Of several answers, it is unknown which one is acknowledged (Karn & Partridge 1987).
            true => (entry.answers == 1).then_some(entry.answered_at),
            false => widen(sent_time, self.now),
        };
        Some(self.admit(entry, answered_at))
    }

    /// Gives a slot to who proved its address, `answered_at` being when the answer was sent that proved it.
    fn admit(&mut self, entry: HalfOpen, answered_at: Option<u64>) -> Result<u32, Dropped> {
        let crowded = self.is_crowded(entry.address);
        let slot = match self.free.lowest() {
            Some(slot) if !crowded => slot,
            slot => {
                // Others were faster. The client believes to be connected, and must not wait until it gives up.
                self.turn_away(&entry);
                return Err(if slot.is_some() { Dropped::TooManyOfAddress } else { Dropped::NoSlot });
            }
        };
        let HalfOpen { address, connect, verify_connect, .. } = entry;
        let channels = verify_connect.channels as usize;
        let mut connection = Connection::new(Side::Acceptor, address, channels, entry.sequence, verify_connect.mtu);
        connection.ids.local = verify_connect.peer;
        connection.ids.remote = connect.peer;
        connection.ids.outgoing_session = verify_connect.incoming_session;
        connection.ids.incoming_session = verify_connect.outgoing_session;
        connection.ids.connect_id = connect.connect_id;
        connection.path.window = entry.window;
        connection.path.throttle.parameters = verify_connect.throttle;
        connection.bandwidth.incoming = connect.incoming_bandwidth;
        connection.bandwidth.outgoing = connect.outgoing_bandwidth;
        connection.bandwidth.announced = (verify_connect.incoming_bandwidth, verify_connect.outgoing_bandwidth);
        connection.inbox.incoming.resize_with(channels, || None);
        connection.arrival = Some(entry.data);
        connection.liveness.last_receive = Some(self.now);
        if let Some(answered_at) = answered_at {
            connection.sampled(sample_ms(answered_at, self.now), self.now);
        }
        if self.settings.wire_profile == WireProfile::Hardened {
            // Clients that came together are not pinged together.
            let phase = u64::from(self.random.below(connection.liveness.ping_interval_ms.max(1)));
            connection.liveness.last_receive = Some(self.now.saturating_sub(phase));
        }
        let endpoint = connection.endpoint;
        self.tokens.insert(self.tokens.tag(&endpoint, verify_connect.peer), Target::Slot(slot));
        self.attempts.insert((endpoint, u32::from_be_bytes(connect.connect_id).into()), Target::Slot(slot));
        self.occupy(slot, connection);
        self.enter(slot, State::Connected);
        self.dispatch.push_back(slot);
        Ok(slot)
    }

    /// Tells a client that there is no place for it after all.
    fn turn_away(&mut self, entry: &HalfOpen) {
        let sequence = entry.sequence.wrapping_add(1);
        let end = Command { flags: UNSEQUENCED, channel: CONTROL, sequence, body: Body::Disconnect(0) };
        self.send_short(
            entry.address,
            (entry.connect.peer, entry.verify_connect.incoming_session),
            entry.connect.connect_id,
            &end,
        );
    }

    /// Sends one command outside of any connection.
    pub(super) fn send_short(&mut self, to: SocketAddr, peer: (u16, u8), connect_id: [u8; 4], command: &Command) {
        if self.short.len() >= SHORT_MAX {
            return;
        }
        self.body.clear();
        command.encode(&mut self.body);
        let (peer, session) = peer;
        let seed = if peer == NO_PEER { [0; 4] } else { connect_id };
        let session = if peer == NO_PEER { 0 } else { session };
        let header = Header { peer, session, compressed: false, sent_time: None };
        let mut bytes = Vec::new();
        Host::seal(&mut self.settings, header, seed, &self.body, &mut bytes);
        self.short.push_back(Short { to, bytes });
    }
}

/// The session after the one that the other end remembers, and other than `last`, which this end does.
fn next_session(requested: u8, last: u8) -> u8 {
    let next = (if requested == 0xff { last } else { requested }).wrapping_add(1) & 3;
    if next == last { next.wrapping_add(1) & 3 } else { next }
}
