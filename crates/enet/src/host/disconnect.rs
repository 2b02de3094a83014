//! End of connections: by this end, by the other, or by timeout.

use super::*;

impl Host {
    /// Ends a connection: what is queued is dropped, the end is announced until the peer acknowledges, and an event follows.
    ///
    /// A connection that is not made yet, or not reported yet, ends without an event.
    pub fn disconnect(&mut self, peer: PeerId, data: u32) {
        let Some(slot) = self.slot_of(peer) else { return };
        self.disconnect_slot(slot, data);
    }

    pub(super) fn disconnect_slot(&mut self, slot: u32, data: u32) {
        let Some(connection) = self.peer_of(slot) else { return };
        match connection.shown_state() {
            State::Disconnected | State::Disconnecting | State::AcknowledgingDisconnect | State::Zombie => {}
            State::Connected | State::DisconnectLater => {
                self.empty(slot);
                self.enter(slot, State::Disconnecting);
                let Host { slots, commands, .. } = self;
                if let Some(connection) = connection_at(slots, slot) {
                    connection.sender.control(commands, Kind::Disconnect(data), MUST_ACKNOWLEDGE);
                }
                self.wake(slot);
            }
            _ => self.disconnect_at_once(slot, data),
        }
    }

    /// Ends a connection at once: it is announced once, and no event follows.
    pub fn disconnect_now(&mut self, peer: PeerId, data: u32) {
        let Some(slot) = self.slot_of(peer) else { return };
        match self.peer_of(slot).map(|connection| connection.state) {
            Some(State::Zombie | State::Disconnecting) => self.release(slot),
            _ => self.disconnect_at_once(slot, data),
        }
    }

    fn disconnect_at_once(&mut self, slot: u32, data: u32) {
        let Some(connection) = self.peer_of(slot) else { return };
        let sequence = connection.sender.control_sequence.wrapping_add(1);
        let (to, connect_id) = (connection.address, connection.ids.connect_id);
        let peer = (connection.ids.remote, connection.ids.outgoing_session);
        let end = Command { flags: UNSEQUENCED, channel: CONTROL, sequence, body: Body::Disconnect(data) };
        self.send_short(to, peer, connect_id, &end);
        self.release(slot);
    }

    /// Ends a connection once everything queued arrived. Nothing can be sent from then on, and nothing is delivered.
    pub fn disconnect_later(&mut self, peer: PeerId, data: u32) {
        let Some(slot) = self.slot_of(peer) else { return };
        let Some(connection) = self.peer_of_mut(slot) else { return };
        match connection.shown_state() {
            State::Connected | State::DisconnectLater if !connection.sender.is_done() => {
                connection.reason.0 = data;
                self.enter(slot, State::DisconnectLater);
            }
            _ => self.disconnect_slot(slot, data),
        }
    }

    /// Forgets a peer without a word; no event follows, and the peer times out.
    pub fn reset(&mut self, peer: PeerId) {
        if let Some(slot) = self.slot_of(peer) {
            self.release(slot);
        }
    }

    /// The peer ended the connection.
    pub(super) fn handle_disconnect(&mut self, slot: u32, data: u32, must_acknowledge: bool) {
        let Some(connection) = self.peer_of_mut(slot) else { return };
        match connection.shown_state() {
            State::Disconnected | State::Zombie | State::AcknowledgingDisconnect => {}
            State::ConnectionSucceeded | State::Disconnecting | State::Connecting => {
                self.end(slot, (data, DisconnectReason::ByPeer));
            }
            State::Connected | State::DisconnectLater if must_acknowledge => {
                connection.reason = (data, DisconnectReason::ByPeer);
                self.empty(slot);
                self.dispatch.remove(slot);
                self.enter(slot, State::AcknowledgingDisconnect);
            }
            State::Connected | State::DisconnectLater => self.end(slot, (data, DisconnectReason::ByPeer)),
            State::ConnectionPending | State::AcknowledgingConnect => self.release(slot),
        }
    }
}
