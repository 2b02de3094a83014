//! Handling of datagrams that arrive.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use core::net::SocketAddr;
use core::time::Duration;

use super::*;
use crate::connection::{ACKS_MAX, Ack};
use crate::incoming::Refused;
use crate::packet::Kind as PacketKind;
use crate::round_trip::{sample_ms, widen};
use crate::statistics::Dropped;
use crate::unsequenced::Unsequenced;
use crate::wire::{ConnectParameters, MTU_MAX, MTU_MIN, WINDOW_MAX, WINDOW_MIN};

/// Facts common to all commands of a datagram.
pub(super) struct Envelope {
    pub from: SocketAddr,
    pub header: Header,
    /// Length of the datagram as received, in bytes.
    pub bytes: usize,
}

impl Host {
    /// Takes in what came from the network, and returns whose it is, if of a peer. Bytes that make no sense are counted
    /// and dropped.
    pub fn handle_datagram(&mut self, now: Duration, from: SocketAddr, datagram: &[u8]) -> Option<PeerId> {
        self.advance(now);
        self.statistics.received(datagram.len());
        self.works_for = None;
        let mut peer = None;
        if let Err(reason) = self.take_in(from, datagram, &mut peer) {
            self.statistics.drop_for(reason);
        }
        peer
    }

    /// Takes a datagram in, and says in `peer` whose it is as soon as that is known.
    fn take_in(&mut self, from: SocketAddr, datagram: &[u8], peer: &mut Option<PeerId>) -> Result<(), Dropped> {
        if datagram.len() > MTU_MAX as usize {
            return Err(Dropped::Long);
        }
        let (header, rest) = Header::decode(datagram).ok_or(Dropped::Short)?;
        let (target, seed) = self.address(from, &header)?;
        if let Some(Target::Slot(slot)) = target {
            self.works_for = Some(slot);
        }
        let head = datagram.get(..header.length()).ok_or(Dropped::Short)?;
        let mut plain = core::mem::take(&mut self.plain);
        let opened = open(&mut self.settings, &header, head, rest, seed, &mut plain);
        let envelope = Envelope { from, header, bytes: datagram.len() };
        let walked = opened.and_then(|body| self.walk(target, &envelope, body, peer));
        self.plain = plain;
        walked
    }

    /// Whom a header means, and what the checksum begins with.
    fn address(&self, from: SocketAddr, header: &Header) -> Result<(Option<Target>, [u8; 4]), Dropped> {
        if header.peer == NO_PEER {
            return Ok((None, [0; 4]));
        }
        let target = match self.target(from.into(), header.peer) {
            Some(target) => target,
            None => self
                .broadcasts
                .iter()
                .find(|&&(token, _)| token == header.peer)
                .map(|&(_, slot)| Target::Slot(slot))
                .ok_or(Dropped::UnknownPeer)?,
        };
        let (connect_id, session) = match target {
            Target::Slot(slot) => {
                let connection = self.peer_of(slot).ok_or(Dropped::UnknownPeer)?;
                if connection.state == State::Zombie {
                    return Err(Dropped::EndedPeer);
                }
                let is_known = connection.ids.remote != NO_PEER;
                (connection.ids.connect_id, is_known.then_some(connection.ids.incoming_session))
            }
            Target::HalfOpen(at) => {
                let entry = self.half_open.get(at).ok_or(Dropped::UnknownPeer)?;
                (entry.connect.connect_id, Some(entry.verify_connect.outgoing_session))
            }
        };
        if session.is_some_and(|session| session != header.session) {
            return Err(Dropped::OldSession);
        }
        Ok((Some(target), connect_id))
    }

    fn walk(
        &mut self,
        target: Option<Target>,
        envelope: &Envelope,
        body: &[u8],
        peer: &mut Option<PeerId>,
    ) -> Result<(), Dropped> {
        let mut rest = body;
        let mut target = target;
        if let Some(Target::Slot(slot)) = target
            && let Some(connection) = self.peer_of_mut(slot)
        {
            connection.data_received = connection.data_received.wrapping_add(envelope.bytes as u32);
            *peer = Some(self.id(slot));
        }
        let mut is_unproven = false;
        while !rest.is_empty() {
            let (command, behind) = Command::decode(rest).ok_or(Dropped::Malformed)?;
            rest = behind;
            self.statistics.worked(1);
            match target {
                None => {
                    let Body::Connect(connect, data) = command.body else { return Err(Dropped::Malformed) };
                    // Nothing else is believed of an address that is not proven.
                    return self.handle_connect(envelope, connect, data);
                }
                Some(Target::HalfOpen(at)) => match self.prove(at, &command) {
                    Some(proven) => {
                        let slot = proven?;
                        target = Some(Target::Slot(slot));
                        self.works_for = Some(slot);
                        *peer = Some(self.id(slot));
                    }
                    None => is_unproven = true,
                },
                Some(Target::Slot(slot)) => {
                    self.handle_command(slot, envelope, &command)?;
                    if self.peer_of(slot).is_none() {
                        return Ok(());
                    }
                    if command.flags & MUST_ACKNOWLEDGE == 0 {
                        continue;
                    }
                    let Some(sent_time) = envelope.header.sent_time else { return Err(Dropped::Malformed) };
                    self.acknowledge(slot, &command, sent_time);
                }
            }
        }
        if let (true, Some(Target::HalfOpen(at))) = (is_unproven, target) {
            // Its acknowledgement was lost: it is requested once more, and given again.
            self.answer(at, envelope.bytes, connect::HandshakeReply::Ping)?;
            return Err(Dropped::Unproven);
        }
        Ok(())
    }

    /// Queues the acknowledgement of a command that was handled.
    fn acknowledge(&mut self, slot: u32, command: &Command, sent_time: u16) {
        let Some(connection) = self.peer_of_mut(slot) else { return };
        let ends = matches!(command.body, Body::Disconnect(_));
        match connection.state {
            State::Disconnected | State::Zombie | State::Disconnecting | State::AcknowledgingConnect => return,
            State::AcknowledgingDisconnect if !ends => return,
            _ => {}
        }
        let channel = connection.inbox.incoming.get(usize::from(command.channel)).and_then(Option::as_ref);
        if channel.is_some_and(|channel| !channel.acknowledges(command.sequence)) || connection.acks.len() >= ACKS_MAX {
            return;
        }
        let ends = ends && connection.state == State::AcknowledgingDisconnect;
        let bytes = Body::Acknowledge { sequence: 0, sent_time }.fixed_bytes() as u32;
        connection.sender.data_total = connection.sender.data_total.wrapping_add(bytes);
        connection.acks.push_back(Ack { channel: command.channel, sequence: command.sequence, sent_time, ends });
        self.wake(slot);
    }

    fn handle_command(&mut self, slot: u32, envelope: &Envelope, command: &Command) -> Result<(), Dropped> {
        let &Command { channel, sequence, ref body, .. } = command;
        match *body {
            Body::Acknowledge { sequence, sent_time } => {
                self.acknowledged(slot, channel, sequence, sent_time);
                Ok(())
            }
            Body::Connect(..) => Err(Dropped::Malformed),
            Body::VerifyConnect(verify_connect) => self.handle_verify_connect(slot, envelope, &verify_connect),
            Body::Disconnect(data) => {
                // One that cannot be acknowledged, as its time is missing, ends the connection all the same.
                let must_acknowledge = command.flags & MUST_ACKNOWLEDGE != 0 && envelope.header.sent_time.is_some();
                self.handle_disconnect(slot, data, must_acknowledge);
                Ok(())
            }
            _ => {
                let connection = self.peer_of_mut(slot).ok_or(Dropped::UnknownPeer)?;
                if !connection.is_connected() {
                    return Err(Dropped::Malformed);
                }
                match *body {
                    Body::Ping => Ok(()),
                    Body::BandwidthLimit { incoming, outgoing } => {
                        self.handle_bandwidth_limit(slot, incoming, outgoing);
                        Ok(())
                    }
                    Body::ThrottleConfigure(parameters) => {
                        connection.path.throttle.parameters = parameters;
                        Ok(())
                    }
                    _ => self.receive_packet(slot, channel, sequence, body),
                }
            }
        }
    }

    fn receive_packet(&mut self, slot: u32, channel: u8, sequence: u16, body: &Body) -> Result<(), Dropped> {
        let Host { slots, settings, budget, statistics, .. } = self;
        let connection = connection_at(slots, slot).ok_or(Dropped::UnknownPeer)?;
        if usize::from(channel) >= connection.inbox.incoming.len() {
            return Err(Dropped::Malformed);
        }
        if connection.state == State::DisconnectLater {
            // Acknowledged, so that the peer does not wait for it, and not delivered.
            return Ok(());
        }
        if let Body::Unsequenced(group, payload) = *body {
            if payload.len() > settings.packet_bytes_max {
                return Err(Dropped::Malformed);
            }
            let groups = connection.inbox.unsequenced.get_or_insert_with(|| Box::new(Unsequenced::new()));
            if !groups.admits(group) {
                return Ok(());
            }
        }
        let (incoming, mut quota) =
            connection.receiver(channel, settings, budget, &mut statistics.work).ok_or(Dropped::Malformed)?;
        let taken = match *body {
            Body::Unsequenced(_, payload) if quota.admits(payload.len()) => {
                quota.deliver(channel, PacketKind::Unsequenced, payload.into());
                Ok(())
            }
            Body::Unsequenced(..) => Err(Refused::NoRoom),
            ref body => {
                let incoming = incoming.get_or_insert_default();
                match *body {
                    Body::Reliable(payload) => incoming.reliable(channel, sequence, payload, &mut quota),
                    Body::Unreliable(number, payload) => {
                        incoming.unreliable(channel, sequence, number, payload, &mut quota)
                    }
                    Body::ReliableFragment(fragment, payload) => {
                        incoming.reliable_fragment(channel, &fragment, payload, &mut quota)
                    }
                    Body::UnreliableFragment(fragment, payload) => {
                        incoming.unreliable_fragment(channel, sequence, &fragment, payload, &mut quota)
                    }
                    _ => Err(Refused::Malformed),
                }
            }
        };
        if !connection.inbox.delivered.is_empty() {
            self.dispatch.push_back(slot);
        }
        taken.map_err(|refused| match refused {
            Refused::Malformed => Dropped::Malformed,
            Refused::NoRoom => Dropped::NoRoom,
        })
    }

    fn acknowledged(&mut self, slot: u32, channel: u8, sequence: u16, sent_time: u16) {
        let now = self.now;
        let Host { slots, commands, wheel, .. } = self;
        let Some(connection) = connection_at(slots, slot) else { return };
        let Some(sent) = widen(sent_time, now) else { return };
        connection.sampled(sample_ms(sent, now), now);
        let acknowledged = connection.sender.acknowledge(commands, channel, sequence);
        let is_done = connection.sender.is_done();
        let data = connection.reason.0;
        if acknowledged.is_some() && !connection.sender.has_nothing_in_flight() {
            // What is now the oldest command may have a shorter timeout than the one before it had, after its retransmissions.
            wheel.set_if_earlier(slot, connection.sender.next_timeout);
        }
        match connection.state {
            State::Disconnecting if matches!(acknowledged, Some(Kind::Disconnect(_))) => {
                self.end(slot, (0, DisconnectReason::ByUs));
            }
            State::DisconnectLater if is_done => self.disconnect_slot(slot, data),
            _ if self.blocked.contains(slot) => self.wake(slot),
            _ => {}
        }
    }

    /// The answer to our CONNECT.
    fn handle_verify_connect(
        &mut self,
        slot: u32,
        envelope: &Envelope,
        verify_connect: &ConnectParameters,
    ) -> Result<(), Dropped> {
        let Host { slots, commands, tokens, .. } = self;
        let connection = connection_at(slots, slot).ok_or(Dropped::UnknownPeer)?;
        if connection.state != State::Connecting {
            return Ok(());
        }
        let fits = (1..=255).contains(&verify_connect.channels)
            && verify_connect.throttle == connection.path.throttle.parameters
            && verify_connect.connect_id == connection.ids.connect_id
            && verify_connect.peer < NO_PEER;
        if !fits {
            self.end(slot, (0, DisconnectReason::Refused));
            return Err(Dropped::Malformed);
        }
        connection.sender.acknowledge(commands, CONTROL, connect::FIRST_SEQUENCE);
        let channels = connection.sender.channels().min(verify_connect.channels as usize);
        connection.sender.set_channels(channels);
        connection.inbox.incoming.resize_with(channels, || None);
        connection.ids.remote = verify_connect.peer;
        connection.ids.incoming_session = verify_connect.incoming_session & 3;
        connection.ids.outgoing_session = verify_connect.outgoing_session & 3;
        connection.path.mtu = connection.path.mtu.min(verify_connect.mtu.clamp(MTU_MIN, MTU_MAX));
        connection.path.window = connection.path.window.min(verify_connect.window.clamp(WINDOW_MIN, WINDOW_MAX));
        connection.bandwidth.incoming = verify_connect.incoming_bandwidth;
        connection.bandwidth.outgoing = verify_connect.outgoing_bandwidth;
        connection.arrival = Some(0);
        if connection.address != envelope.from {
            let (target, token) = (Target::Slot(slot), connection.ids.local);
            tokens.remove(tokens.tag(&connection.endpoint, token), target);
            connection.address = envelope.from;
            connection.endpoint = envelope.from.into();
            tokens.insert(tokens.tag(&connection.endpoint, token), target);
        }
        self.broadcasts.retain(|&(_, other)| other != slot);
        self.enter(slot, State::Connected);
        self.dispatch.push_back(slot);
        Ok(())
    }
}

impl Connection {
    /// Takes in how long an acknowledgement took, and that there was one.
    pub(super) fn sampled(&mut self, sample_ms: u32, now: u64) {
        let times = &mut self.path.round_trip;
        if self.path.has_sample {
            self.path.throttle.adapt(sample_ms, times.last_ms, times.last_variance_ms);
        }
        times.sample(sample_ms, !self.path.has_sample, now, self.path.throttle.parameters.interval_ms);
        self.path.has_sample = true;
        self.liveness.last_receive = Some(now);
        self.sender.heard();
    }
}

/// The commands of a datagram, expanded and checked.
fn open<'a>(
    settings: &mut Settings,
    header: &Header,
    head: &[u8],
    rest: &'a [u8],
    seed: [u8; 4],
    plain: &'a mut Vec<u8>,
) -> Result<&'a [u8], Dropped> {
    let (sum, body) = if settings.checksum.is_some() {
        let (sum, body) = rest.split_first_chunk::<4>().ok_or(Dropped::Short)?;
        (Some(*sum), body)
    } else {
        (None, rest)
    };
    if sum.is_none() && !header.compressed {
        return Ok(body);
    }
    plain.clear();
    plain.extend_from_slice(head);
    if sum.is_some() {
        plain.extend_from_slice(&seed);
    }
    let start = plain.len();
    if header.compressed {
        let compressor = settings.compressor.as_mut().ok_or(Dropped::Compression)?;
        let limit = (MTU_MAX as usize).saturating_sub(start);
        let bytes = compressor.expand(body, limit, plain).ok_or(Dropped::Compression)?;
        if start.checked_add(bytes) != Some(plain.len()) || bytes > limit {
            return Err(Dropped::Compression);
        }
    } else {
        plain.extend_from_slice(body);
    }
    if let (Some(sum), Some(checksum)) = (sum, &settings.checksum)
        && checksum(plain) != sum
    {
        return Err(Dropped::Checksum);
    }
    plain.get(start..).ok_or(Dropped::Compression)
}
