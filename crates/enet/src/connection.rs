//! State of a peer, as long as it has a slot.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::SocketAddr;

use crate::budget::{Account, Budget, ReceiveQuota};
use crate::endpoint::Endpoint;
use crate::incoming::LazyIncoming;
use crate::loss::Loss;
use crate::outgoing::{Limits, PeerTimeout, Sender};
use crate::packet::Received;
use crate::packet_throttle::PacketThrottle;
use crate::round_trip::RoundTrip;
use crate::settings::Settings;
use crate::unsequenced::Unsequenced;
use crate::wire::{NO_PEER, ThrottleParameters, WINDOW_MAX, WINDOW_MIN};

/// State of a connection. The numbers are those of the stock library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum State {
    /// No connection exists, and none is being made.
    Disconnected = 0,
    /// Requested here, not answered yet.
    Connecting = 1,
    /// Requested by the peer. Peers that have not proven their address have no slot, so none is ever seen here.
    AcknowledgingConnect = 2,
    /// Granted here and proven; the event is not delivered yet.
    ConnectionPending = 3,
    /// Granted there; the event is not delivered yet.
    ConnectionSucceeded = 4,
    /// The connection is open: packets go both ways.
    Connected = 5,
    /// Ends when all that is queued arrived.
    DisconnectLater = 6,
    /// The end is announced to the peer.
    Disconnecting = 7,
    /// The peer announced the end, which has to be acknowledged.
    AcknowledgingDisconnect = 8,
    /// Ended; the event is not delivered yet.
    Zombie = 9,
}

/// Default time after which an idle connection is tried, in milliseconds.
const PING_INTERVAL_MS: u32 = 500;

/// Part of its interval by which a ping may be late to leave with a packet: peers that are sent eight packets a second
/// or more never get a separate ping, and answer with one datagram less.
const LATE_PING_PART: u32 = 4;

/// Acknowledgements that wait to be sent, above which commands are taken for lost.
pub(crate) const ACKS_MAX: usize = 1 << 14;

/// Acknowledgement that is to be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ack {
    pub channel: u8,
    pub sequence: u16,
    pub sent_time: u16,
    /// The command ended the connection: its event follows the acknowledgement.
    pub ends: bool,
}

/// The ends of a connection by who requested it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Initiator,
    Acceptor,
}

#[derive(Debug)]
pub(crate) struct Connection {
    pub state: State,
    pub side: Side,
    /// The connect event, with its data, while it is not delivered.
    pub arrival: Option<u32>,
    /// Data of the event that ends it, and why it ends.
    pub reason: (u32, DisconnectReason),
    pub ids: Ids,
    pub address: SocketAddr,
    pub endpoint: Endpoint,

    pub acks: VecDeque<Ack>,
    pub sender: Sender,
    pub path: Path,
    pub inbox: Inbox,
    /// Bytes received since the bandwidth throttle looked.
    pub data_received: u32,
    pub liveness: Liveness,
    pub bandwidth: PeerBandwidth,
}

/// Numbers by which the headers of datagrams name the connection.
#[derive(Debug)]
pub(crate) struct Ids {
    /// Number of this connection at the peer.
    pub remote: u16,
    /// Number of this connection here.
    pub local: u16,
    pub outgoing_session: u8,
    pub incoming_session: u8,
    pub connect_id: [u8; 4],
}

/// State of the path to the peer: round trip, loss, and how much may be sent.
#[derive(Debug)]
pub(crate) struct Path {
    pub round_trip: RoundTrip,
    /// A round trip was measured.
    pub has_sample: bool,
    pub throttle: PacketThrottle,
    pub loss: Loss,
    /// Most bytes of a datagram.
    pub mtu: u32,
    /// Most bytes of reliable packets that wait for an acknowledgement.
    pub window: u32,
}

/// Packets from the peer, until the application takes them.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    /// Channels, each once something arrived in it.
    pub incoming: Vec<LazyIncoming>,
    pub unsequenced: Option<Box<Unsequenced>>,
    /// Whole packets in order, and their bytes.
    pub delivered: VecDeque<Received>,
    pub waiting: usize,
    pub account: Account,
}

/// Times of the last exchanges, and how long the peer may be silent. All are in milliseconds.
#[derive(Debug)]
pub(crate) struct Liveness {
    /// Time of the last acknowledgement.
    pub last_receive: Option<u64>,
    pub last_send: Option<u64>,
    /// Time of the last datagram with more than acknowledgements and a ping. Not kept with the wire profile of stock
    /// hosts.
    pub last_packet: Option<u64>,
    pub ping_interval_ms: u32,
    pub timeout: PeerTimeout,
}

/// Bandwidths of the peer, in bytes a second; 0 for no limit. Looked at once a second at most.
#[derive(Debug, Default)]
pub(crate) struct PeerBandwidth {
    /// Bandwidth of the peer for receiving.
    pub incoming: u32,
    pub outgoing: u32,
    /// Bandwidths announced to the peer last: what it may send, and what is sent to it.
    pub announced: (u32, u32),
    /// Rounds of the bandwidth throttle in which its share was settled.
    pub settled: (u64, u64),
}

/// Reasons for the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DisconnectReason {
    /// The peer ended the connection.
    ByPeer,
    /// This host ended the connection and announced it to the peer.
    ByUs,
    /// Nothing was heard for too long.
    TimedOut,
    /// The answer to our CONNECT did not fit it.
    Refused,
    /// A panic interrupted this host while it worked for the peer, or for another one and the state that all share did not
    /// survive it: see [`Host::recover`](crate::Host::recover). The peer is not notified, and times out.
    Failed,
}

impl Connection {
    pub fn new(side: Side, address: SocketAddr, channels: usize, control_sequence: u16, mtu: u32) -> Connection {
        Connection {
            state: State::Disconnected,
            side,
            arrival: None,
            reason: (0, DisconnectReason::TimedOut),
            ids: Ids {
                remote: NO_PEER,
                local: NO_PEER,
                outgoing_session: 0xff,
                incoming_session: 0xff,
                connect_id: [0; 4],
            },
            address,
            endpoint: address.into(),
            acks: VecDeque::new(),
            sender: Sender::new(channels, control_sequence),
            path: Path {
                round_trip: RoundTrip::new(),
                has_sample: false,
                throttle: PacketThrottle::new(ThrottleParameters::default()),
                loss: Loss::default(),
                mtu,
                window: WINDOW_MAX,
            },
            inbox: Inbox::default(),
            data_received: 0,
            liveness: Liveness {
                last_receive: None,
                last_send: None,
                last_packet: None,
                ping_interval_ms: PING_INTERVAL_MS,
                timeout: PeerTimeout::default(),
            },
            bandwidth: PeerBandwidth::default(),
        }
    }

    /// State as the application sees it: disconnected until the connection was reported to it.
    pub fn shown_state(&self) -> State {
        match (self.state, self.arrival, self.side) {
            (State::Connected, Some(_), Side::Initiator) => State::ConnectionSucceeded,
            (State::Connected, Some(_), Side::Acceptor) => State::ConnectionPending,
            (state, ..) => state,
        }
    }

    pub fn is_connected(&self) -> bool {
        matches!(self.state, State::Connected | State::DisconnectLater)
    }

    pub fn limits(&self, settings: &Settings) -> Limits {
        Limits {
            mtu: self.path.mtu,
            window: self.path.window,
            has_checksum: settings.checksum.is_some(),
            packet: settings.packet_bytes_max,
        }
    }

    /// The window that follows from what the peer can take and we can send.
    pub fn fit_window(&mut self, host_outgoing: u32) {
        let slower = match (host_outgoing, self.bandwidth.incoming) {
            (0, bandwidth) | (bandwidth, 0) => bandwidth,
            (ours, theirs) => ours.min(theirs),
        };
        self.path.window = window(slower);
    }

    /// Receiving half of `channel`, and what bounds it.
    pub fn receiver<'a>(
        &'a mut self,
        channel: u8,
        settings: &Settings,
        budget: &'a mut Budget,
        work: &'a mut u64,
    ) -> Option<(&'a mut LazyIncoming, ReceiveQuota<'a>)> {
        let quota = ReceiveQuota {
            delivered: &mut self.inbox.delivered,
            waiting: &mut self.inbox.waiting,
            account: &mut self.inbox.account,
            budget,
            waiting_limit: settings.waiting_bytes_max,
            held_limit: settings.held_bytes_max,
            packet_limit: settings.packet_bytes_max,
            work,
        };
        Some((self.inbox.incoming.get_mut(usize::from(channel))?, quota))
    }

    /// Time of the next action if nothing arrives and nothing is queued.
    pub fn deadline(&self) -> Option<u64> {
        if !self.sender.has_nothing_in_flight() {
            return Some(self.sender.next_timeout);
        }
        (self.state == State::Connected).then(|| self.ping_due().saturating_add(self.ping_grace_ms()))
    }

    /// Time from which a ping may leave with a packet.
    pub fn ping_due(&self) -> u64 {
        self.liveness.last_receive.map_or(0, |last| last.saturating_add(self.liveness.ping_interval_ms.into()))
    }

    /// Delay after that before it leaves separately, in milliseconds: none, unless packets left around the time of the
    /// last acknowledgement, or since, so that one may be expected.
    pub fn ping_grace_ms(&self) -> u64 {
        let grace_ms = u64::from(self.liveness.ping_interval_ms / LATE_PING_PART);
        let are_packets_sent = self
            .liveness
            .last_packet
            .zip(self.liveness.last_receive)
            .is_some_and(|(at, last)| at.saturating_add(grace_ms) >= last);
        if are_packets_sent { grace_ms } else { 0 }
    }
}

/// The window for a bandwidth, 0 for one without limit.
pub(crate) fn window(bandwidth: u32) -> u32 {
    match bandwidth {
        0 => WINDOW_MAX,
        bandwidth => (bandwidth / WINDOW_MAX).saturating_mul(WINDOW_MIN).clamp(WINDOW_MIN, WINDOW_MAX),
    }
}
