//! Structs of peers that programs see: written when the host changes them, and read again where programs may write.

use std::mem::offset_of;
use std::ptr::{addr_of_mut, null_mut};

use prony_enet::{Host, PeerSettings, PeerTimeout};
use prony_enet_host::prefetch;

use crate::layout::{self, Address};
use crate::list;

/// The stock library's values of a slot without a connection.
pub const PING_INTERVAL_MS: u32 = 500;
pub const TIMEOUT_LIMIT: u32 = 32;
pub const TIMEOUT_MINIMUM_MS: u32 = 5000;
pub const TIMEOUT_MAXIMUM_MS: u32 = 30_000;
const NO_PEER: u16 = 0xfff;
const WINDOW: u32 = 65_536;
const THROTTLE: u32 = 32;
const THROTTLE_STEP: u32 = 2;
const THROTTLE_INTERVAL_MS: u32 = 5000;
const ROUND_TRIP_MS: u32 = 500;

/// Values written last into fields that a program may write.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    settings: PeerSettings,
    throttle: (u32, u32),
    /// It was counted among the peers that limit what they are sent.
    is_limited: bool,
}

impl Shown {
    /// Values of a slot without a connection.
    pub const NOTHING: Shown = Shown {
        settings: PeerSettings {
            ping_interval_ms: PING_INTERVAL_MS,
            timeout: PeerTimeout {
                limit: TIMEOUT_LIMIT,
                minimum_ms: TIMEOUT_MINIMUM_MS,
                maximum_ms: TIMEOUT_MAXIMUM_MS,
            },
        },
        throttle: (THROTTLE, THROTTLE),
        is_limited: false,
    };
}

/// Peers as programs see them, one a slot.
pub struct Mirror {
    pub peers: *mut layout::Peer,
    pub shown: Box<[Shown]>,
    pub limited_peers: usize,
    /// Milliseconds to add to the host's time to obtain the program's.
    pub offset_ms: u32,
    pub mtu: u32,
}

impl Mirror {
    /// Lays out the peers of a new host.
    pub unsafe fn lay_out(&mut self, host: *mut layout::Host) {
        for slot in 0..self.shown.len() {
            // SAFETY: there are as many peers, all zeros, and nothing else sees them yet.
            unsafe {
                let peer = self.peers.add(slot);
                (*peer).host = host;
                (*peer).incoming_peer_id = slot as u16;
                ((*peer).outgoing_session_id, (*peer).incoming_session_id) = (0xff, 0xff);
                for of in [
                    addr_of_mut!((*peer).dispatch_list),
                    addr_of_mut!((*peer).acknowledgements),
                    addr_of_mut!((*peer).sent_reliable_commands),
                    addr_of_mut!((*peer).sent_unreliable_commands),
                    addr_of_mut!((*peer).outgoing_commands),
                    addr_of_mut!((*peer).dispatched_commands),
                ] {
                    list::clear(of);
                }
                self.clear(slot);
            }
        }
    }

    /// Has what is shown of the peer at `slot` brought near.
    pub fn prefetch(&self, slot: usize) {
        let peer = self.peers.wrapping_add(slot).cast_const().cast::<u8>();
        // What changes with a datagram lies in front, but for one field.
        prefetch(peer, offset_of!(layout::Peer, reliable_data_in_transit) + 4);
        prefetch(peer.wrapping_add(offset_of!(layout::Peer, total_waiting_data)), 8);
        prefetch(self.shown.as_ptr().wrapping_add(slot).cast(), size_of::<Shown>());
    }

    /// Brings the peer at `slot` up to date, both ways.
    pub unsafe fn bring_up_to_date(&mut self, host: &mut Host, slot: usize) {
        let Some(id) = host.peer_at(slot) else {
            // SAFETY: the slot is one of the host's.
            return unsafe { self.clear(slot) };
        };
        // SAFETY: the slot is one of the host's, and the program does not touch peers during a call.
        let seen = unsafe { &mut *self.peers.add(slot) };
        let Some(shown) = self.shown.get_mut(slot) else { return };
        let settings = PeerSettings {
            ping_interval_ms: seen.ping_interval,
            timeout: PeerTimeout {
                limit: seen.timeout_limit,
                minimum_ms: seen.timeout_minimum,
                maximum_ms: seen.timeout_maximum,
            },
        };
        if settings != shown.settings {
            host.set_peer(id, settings);
        }
        let throttle = (seen.packet_throttle, seen.packet_throttle_limit);
        if throttle != shown.throttle {
            host.set_throttle(id, throttle.0.min(THROTTLE), throttle.1.min(THROTTLE));
        }
        let Some(peer) = host.peer(id) else { return };
        let time = |at: Option<u64>| at.map_or(0, |at| (at as u32).wrapping_add(self.offset_ms));
        let (last_receive, last_send) = peer.last_times_ms();
        let (loss, round_trip, throttle) = (peer.loss(), peer.round_trip(), peer.throttle());
        let settings = peer.settings();
        seen.outgoing_peer_id = peer.tokens().1;
        seen.connect_id = u32::from_ne_bytes(peer.connect_id());
        (seen.incoming_session_id, seen.outgoing_session_id) = peer.sessions();
        seen.address = Address::from_socket_address(peer.address());
        seen.state = peer.state() as u32;
        seen.channel_count = peer.channels();
        (seen.incoming_bandwidth, seen.outgoing_bandwidth) = peer.bandwidth();
        (seen.incoming_data_total, seen.outgoing_data_total) = peer.data_totals();
        (seen.last_receive_time, seen.last_send_time) = (time(last_receive), time(last_send));
        seen.next_timeout = time(peer.next_timeout_ms());
        (seen.packets_sent, seen.packets_lost) = (loss.sent, loss.lost);
        (seen.packet_loss, seen.packet_loss_variance) = (loss.mean, loss.variance);
        (seen.packet_throttle, seen.packet_throttle_limit) = (throttle.value, throttle.limit);
        seen.packet_throttle_interval = throttle.parameters.interval_ms;
        seen.packet_throttle_acceleration = throttle.parameters.acceleration;
        seen.packet_throttle_deceleration = throttle.parameters.deceleration;
        seen.ping_interval = settings.ping_interval_ms;
        seen.timeout_limit = settings.timeout.limit;
        seen.timeout_minimum = settings.timeout.minimum_ms;
        seen.timeout_maximum = settings.timeout.maximum_ms;
        (seen.last_round_trip_time, seen.lowest_round_trip_time) = (round_trip.last_ms, round_trip.lowest_ms);
        seen.last_round_trip_time_variance = round_trip.last_variance_ms;
        seen.highest_round_trip_time_variance = round_trip.highest_variance_ms;
        (seen.round_trip_time, seen.round_trip_time_variance) = (round_trip.mean_ms, round_trip.variance_ms);
        (seen.mtu, seen.window_size) = (peer.mtu(), peer.window_bytes());
        seen.reliable_data_in_transit = peer.in_transit_bytes();
        seen.total_waiting_data = peer.waiting_bytes();
        let is_limited = seen.incoming_bandwidth != 0;
        let others = self.limited_peers.saturating_sub(usize::from(shown.is_limited));
        self.limited_peers = others.saturating_add(usize::from(is_limited));
        *shown = Shown { settings, throttle: (throttle.value, throttle.limit), is_limited };
    }

    /// Shows that the slot has no connection. What the program attached to it stays, as do address and sessions.
    unsafe fn clear(&mut self, slot: usize) {
        // SAFETY: the caller's slot is one of the host's.
        let seen = unsafe { &mut *self.peers.add(slot) };
        seen.outgoing_peer_id = NO_PEER;
        (seen.connect_id, seen.state) = (0, 0);
        (seen.channels, seen.channel_count) = (null_mut(), 0);
        (seen.incoming_bandwidth, seen.outgoing_bandwidth) = (0, 0);
        (seen.incoming_data_total, seen.outgoing_data_total) = (0, 0);
        (seen.last_receive_time, seen.last_send_time, seen.next_timeout) = (0, 0, 0);
        (seen.packets_sent, seen.packets_lost, seen.packet_loss, seen.packet_loss_variance) = (0, 0, 0, 0);
        (seen.packet_throttle, seen.packet_throttle_limit) = (THROTTLE, THROTTLE);
        (seen.packet_throttle_acceleration, seen.packet_throttle_deceleration) = (THROTTLE_STEP, THROTTLE_STEP);
        seen.packet_throttle_interval = THROTTLE_INTERVAL_MS;
        seen.ping_interval = PING_INTERVAL_MS;
        seen.timeout_limit = TIMEOUT_LIMIT;
        (seen.timeout_minimum, seen.timeout_maximum) = (TIMEOUT_MINIMUM_MS, TIMEOUT_MAXIMUM_MS);
        (seen.last_round_trip_time, seen.lowest_round_trip_time) = (ROUND_TRIP_MS, ROUND_TRIP_MS);
        (seen.last_round_trip_time_variance, seen.highest_round_trip_time_variance) = (0, 0);
        (seen.round_trip_time, seen.round_trip_time_variance) = (ROUND_TRIP_MS, 0);
        (seen.mtu, seen.window_size) = (self.mtu, WINDOW);
        (seen.reliable_data_in_transit, seen.total_waiting_data) = (0, 0);
        let Some(shown) = self.shown.get_mut(slot) else { return };
        let was_limited = std::mem::replace(shown, Shown::NOTHING).is_limited;
        self.limited_peers = self.limited_peers.saturating_sub(usize::from(was_limited));
    }
}
