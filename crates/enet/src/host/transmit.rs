//! Assembly of datagrams that are sent.

use core::net::SocketAddr;
use core::time::Duration;

use super::*;
use crate::outgoing::{Filled, HEADER_BYTES, Sending};
use crate::wire::COMMANDS_MAX;

/// A datagram to send, with its destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// Address that the datagram goes to.
    pub to: SocketAddr,
    /// Peer that the datagram belongs to, if it is part of a connection.
    pub peer: Option<PeerId>,
}

impl Host {
    /// Writes the next datagram to `datagram`, in place of what was there.
    ///
    /// A datagram that cannot be sent is lost like any other; what must arrive is sent again.
    pub fn poll_transmit(&mut self, now: Duration, datagram: &mut Vec<u8>) -> Option<Transmit> {
        self.advance(now);
        self.works_for = None;
        let transmit = match self.short.pop_front() {
            Some(Short { to, bytes }) => {
                *datagram = bytes;
                Some(Transmit { to, peer: None })
            }
            None => self.next_of_ready(datagram),
        };
        if transmit.is_some() {
            self.statistics.datagrams_sent += 1;
            self.statistics.bytes_sent += datagram.len() as u64;
        }
        transmit
    }

    fn next_of_ready(&mut self, datagram: &mut Vec<u8>) -> Option<Transmit> {
        while let Some(slot) = self.ready.pop_front() {
            self.works_for = Some(slot);
            self.statistics.work += 1;
            let peer = self.id(slot);
            if let Some(to) = self.write(slot, datagram) {
                return Some(Transmit { to, peer: Some(peer) });
            }
        }
        None
    }

    /// Writes what one peer has to send, up to one datagram, and settles when it is looked at again.
    fn write(&mut self, slot: u32, datagram: &mut Vec<u8>) -> Option<SocketAddr> {
        let now = self.now;
        let Host { slots, commands, settings, body, statistics, .. } = self;
        let connection = connection_at(slots, slot)?;
        body.clear();
        let mut filled = Filled::default();
        let mut has_ended = false;
        while let Some(&ack) = connection.acks.front() {
            let answer = Body::Acknowledge { sequence: ack.sequence, sent_time: ack.sent_time };
            let fits = HEADER_BYTES + body.len() + answer.fixed_bytes() <= connection.path.mtu as usize;
            if filled.commands >= COMMANDS_MAX || !fits {
                filled.is_full = true;
                break;
            }
            let command = Command { flags: 0, channel: ack.channel, sequence: ack.sequence, body: answer };
            command.encode(body);
            filled.commands += 1;
            has_ended |= ack.ends;
            connection.acks.pop_front();
        }
        let acknowledgements = filled.commands;
        let limits = connection.limits(settings);
        if !filled.is_full {
            let (sender, sending) = connection.sending();
            sender.fill(commands, body, &mut filled, now, &limits, sending);
        }
        // A packet takes a ping along that would soon leave by itself. An acknowledgement does not: those who ping together
        // would be pinged together.
        let rides_along = filled.commands > acknowledgements && settings.wire_profile == WireProfile::Hardened;
        if rides_along {
            connection.liveness.last_packet = Some(now);
        }
        if !filled.is_full && connection.is_due_a_ping(now, rides_along) {
            connection.sender.control(commands, Kind::Ping, MUST_ACKNOWLEDGE);
            let (sender, sending) = connection.sending();
            sender.fill(commands, body, &mut filled, now, &limits, sending);
        }
        statistics.work += filled.commands as u64 + filled.throttled;
        statistics.throttled += filled.throttled;
        let is_done = connection.state == State::DisconnectLater && connection.sender.is_done();
        let data = connection.reason.0;
        let to = connection.address;
        let wrote = !body.is_empty();
        if wrote {
            let header = Header {
                peer: connection.ids.remote,
                session: if connection.ids.remote == NO_PEER { 0 } else { connection.ids.outgoing_session },
                compressed: false,
                sent_time: filled.must_acknowledge.then_some(now as u16),
            };
            connection.path.loss.look(now);
            connection.liveness.last_send = Some(now);
            let seed = if connection.ids.remote == NO_PEER { [0; 4] } else { connection.ids.connect_id };
            Host::seal(settings, header, seed, body, datagram);
        }
        if has_ended {
            let reason = connection.reason;
            self.end(slot, reason);
        } else if is_done {
            self.disconnect_slot(slot, data);
        } else {
            if filled.is_full {
                self.ready.push_back(slot);
            } else if filled.is_blocked {
                self.blocked.push_back(slot);
            }
            self.arm_after(slot);
        }
        wrote.then_some(to)
    }

    /// Sets the timer after a transmission, which sent what was due.
    fn arm_after(&mut self, slot: u32) {
        let Some(deadline) = self.peer_of(slot).and_then(Connection::deadline) else { return };
        self.wheel.set_if_earlier(slot, deadline.max(self.now + 1));
    }
}

impl Connection {
    fn is_due_a_ping(&self, now: u64, rides_along: bool) -> bool {
        let grace_ms = if rides_along { 0 } else { self.ping_grace_ms() };
        self.state == State::Connected && self.sender.is_done() && now >= self.ping_due() + grace_ms
    }

    fn sending(&mut self) -> (&mut crate::outgoing::Sender, Sending<'_>) {
        let timeout_ms = self.path.round_trip.timeout_ms();
        (&mut self.sender, Sending { throttle: &mut self.path.throttle, loss: &mut self.path.loss, timeout_ms })
    }
}
