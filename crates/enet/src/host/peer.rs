//! Peer as the application sees and configures it.

use core::net::SocketAddr;

use super::*;
use crate::loss::Loss;
use crate::outgoing::PeerTimeout;
use crate::packet_throttle::PacketThrottle;
use crate::round_trip::RoundTrip;
use crate::wire::ThrottleParameters;

/// A peer, to look at.
#[derive(Debug, Clone, Copy)]
pub struct Peer<'a> {
    connection: &'a Connection,
}

/// Settings of a peer made by the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerSettings {
    /// Time after which an idle connection is tried, in milliseconds.
    pub ping_interval_ms: u32,
    /// Timeout of the peer: limit, minimum and maximum.
    pub timeout: PeerTimeout,
}

impl Peer<'_> {
    /// State of the connection to the peer.
    pub fn state(&self) -> State {
        self.connection.shown_state()
    }

    /// Network address of the peer.
    pub fn address(&self) -> SocketAddr {
        self.connection.address
    }

    /// Four bytes that tell this connection from others.
    pub fn connect_id(&self) -> [u8; 4] {
        self.connection.ids.connect_id
    }

    /// Token of the peer here, and ours there (0xfff while that is unknown).
    pub fn tokens(&self) -> (u16, u16) {
        (self.connection.ids.local, self.connection.ids.remote)
    }

    /// Session bits of datagrams from and to the peer; 0xff before there are any.
    pub fn sessions(&self) -> (u8, u8) {
        (self.connection.ids.incoming_session, self.connection.ids.outgoing_session)
    }

    /// Number of channels, which are numbered from 0.
    pub fn channels(&self) -> usize {
        self.connection.sender.channels()
    }

    /// Most bytes of a datagram, in UDP payload.
    pub fn mtu(&self) -> u32 {
        self.connection.path.mtu
    }

    /// Most bytes of reliable payload in flight.
    pub fn window_bytes(&self) -> u32 {
        self.connection.path.window
    }

    /// Bytes of reliable payload in flight.
    pub fn in_transit_bytes(&self) -> u32 {
        self.connection.sender.in_transit
    }

    /// Bytes of packets that wait for the application.
    pub fn waiting_bytes(&self) -> usize {
        self.connection.inbox.waiting
    }

    /// Bytes that wait for what is missing before them, with what they cost beside their payload.
    pub fn held_bytes(&self) -> usize {
        self.connection.inbox.account.held
    }

    /// Bytes of packets that are next in order and were reassembled beyond all budgets.
    pub fn exempt_bytes(&self) -> usize {
        self.connection.inbox.account.exempt
    }

    /// Incoming and outgoing bandwidth of the peer, in bytes a second, 0 for unlimited.
    pub fn bandwidth(&self) -> (u32, u32) {
        (self.connection.bandwidth.incoming, self.connection.bandwidth.outgoing)
    }

    /// Bytes received from and queued for the peer since bandwidths were looked at.
    pub fn data_totals(&self) -> (u32, u32) {
        (self.connection.data_received, self.connection.sender.data_total)
    }

    /// Round-trip time of commands and acknowledgements.
    pub fn round_trip(&self) -> RoundTrip {
        self.connection.path.round_trip
    }

    /// Packet loss of the connection.
    pub fn loss(&self) -> Loss {
        self.connection.path.loss
    }

    /// State of the packet throttle.
    pub fn throttle(&self) -> PacketThrottle {
        self.connection.path.throttle
    }

    /// Times of the last acknowledgement and of the last datagram sent, in milliseconds.
    pub fn last_times_ms(&self) -> (Option<u64>, Option<u64>) {
        (self.connection.liveness.last_receive, self.connection.liveness.last_send)
    }

    /// Time at which the oldest command in flight is retransmitted, in milliseconds.
    pub fn next_timeout_ms(&self) -> Option<u64> {
        (!self.connection.sender.has_nothing_in_flight()).then_some(self.connection.sender.next_timeout)
    }

    /// Settings made by the application.
    pub fn settings(&self) -> PeerSettings {
        PeerSettings {
            ping_interval_ms: self.connection.liveness.ping_interval_ms,
            timeout: self.connection.liveness.timeout,
        }
    }
}

impl Host {
    /// The peer, while it has its slot.
    pub fn peer(&self, peer: PeerId) -> Option<Peer<'_>> {
        let slot = self.slot_of(peer)?;
        self.peer_of(slot).map(|connection| Peer { connection })
    }

    /// Sets when a peer is tried, and when it is given up. It holds from now on.
    pub fn set_peer(&mut self, peer: PeerId, settings: PeerSettings) {
        let Some(slot) = self.slot_of(peer) else { return };
        if let Some(connection) = self.peer_of_mut(slot) {
            connection.liveness.ping_interval_ms = settings.ping_interval_ms;
            connection.liveness.timeout = settings.timeout;
        }
        self.arm(slot);
    }

    /// Sets the packet throttle of a peer by hand, and what it may rise to; both 0 to 32.
    pub fn set_throttle(&mut self, peer: PeerId, value: u32, limit: u32) {
        let Some(slot) = self.slot_of(peer) else { return };
        if let Some(connection) = self.peer_of_mut(slot) {
            connection.path.throttle.value = value;
            connection.path.throttle.set_limit(limit);
        }
        self.wake(slot);
    }

    /// Sets how the packet throttles at both ends of a connection adapt.
    pub fn configure_throttle(&mut self, peer: PeerId, parameters: ThrottleParameters) {
        let Some(slot) = self.slot_of(peer) else { return };
        if let Some(connection) = self.peer_of_mut(slot) {
            connection.path.throttle.parameters = parameters;
        }
        self.queue_control(slot, Kind::ThrottleConfigure(parameters));
    }

    /// Sends a ping to a peer now.
    pub fn ping(&mut self, peer: PeerId) {
        if let Some(slot) = self.slot_of(peer) {
            self.queue_control(slot, Kind::Ping);
        }
    }

    /// Queues a command for a connected peer.
    fn queue_control(&mut self, slot: u32, kind: Kind) {
        let Host { slots, commands, .. } = self;
        let Some(connection) = connection_at(slots, slot) else { return };
        if connection.state == State::Connected {
            connection.sender.control(commands, kind, MUST_ACKNOWLEDGE);
            self.wake(slot);
        }
    }
}
