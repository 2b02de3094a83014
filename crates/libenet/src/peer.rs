//! Peers: sending, receiving, settings, and ends.

use std::ffi::c_int;
use std::ptr::null_mut;

use prony_enet::wire::ThrottleParameters;
use prony_enet::{PeerId, State};

use crate::exported;
use crate::host::{Host, flush, meant};
use crate::layout::{Packet, Peer};
use crate::mirror::{PING_INTERVAL_MS, TIMEOUT_LIMIT, TIMEOUT_MAXIMUM_MS, TIMEOUT_MINIMUM_MS};
use crate::packet;

/// 0 stands for the default.
fn or_default(value: u32, default: u32) -> u32 {
    if value == 0 { default } else { value }
}

/// Ends a connection by `end`, and shows it. What is sent but once leaves at once.
unsafe fn end(peer: *mut Peer, end: impl FnOnce(&mut prony_enet::Host, PeerId)) {
    // SAFETY: the caller's peer is one of its host's.
    unsafe {
        let (host, slot, id) = meant(peer);
        let Some(id) = id else { return };
        let hub = (*host).driver.host_mut();
        end(hub, id);
        let is_gone = hub.peer(id).is_none();
        Host::show(host, slot);
        if is_gone {
            flush((*peer).host);
        }
        Host::settle(host);
    }
}

exported! {
    /// 0, or -1 and the packet stays the caller's.
    fn enet_peer_send(peer: *mut Peer, channel: u8, packet: *mut Packet) -> c_int, else -1, {
        let (host, _, id) = meant(peer);
        let Some(id) = id else { return -1 };
        (*host).driver.host_mut().settings_mut().packet_bytes_max = (*(*peer).host).maximum_packet_size;
        let done = &(*host).done;
        let sent = packet::lend(packet, done, |packet| (*host).driver.host_mut().send(id, channel, packet));
        if sent.is_ok() { 0 } else { -1 }
    }

    fn enet_peer_receive(peer: *mut Peer, channel: *mut u8) -> *mut Packet, else null_mut(), {
        let (host, slot, id) = meant(peer);
        let Some(packet) = id.and_then(|id| (*host).driver.host_mut().receive(id)) else { return null_mut() };
        if !channel.is_null() {
            *channel = packet.channel;
        }
        Host::show(host, slot);
        packet::hand_over(&packet)
    }

    fn enet_peer_ping(peer: *mut Peer) -> (), else (), {
        let (host, _, id) = meant(peer);
        if let Some(id) = id {
            (*host).driver.host_mut().ping(id);
        }
    }

    fn enet_peer_ping_interval(peer: *mut Peer, interval_ms: u32) -> (), else (), {
        (*peer).ping_interval = or_default(interval_ms, PING_INTERVAL_MS);
        let (host, slot, id) = meant(peer);
        // A free slot keeps it for the next connection, which reads it.
        if id.is_some() {
            Host::show(host, slot);
        }
    }

    fn enet_peer_timeout(peer: *mut Peer, limit: u32, minimum_ms: u32, maximum_ms: u32) -> (), else (), {
        (*peer).timeout_limit = or_default(limit, TIMEOUT_LIMIT);
        (*peer).timeout_minimum = or_default(minimum_ms, TIMEOUT_MINIMUM_MS);
        (*peer).timeout_maximum = or_default(maximum_ms, TIMEOUT_MAXIMUM_MS);
        let (host, slot, id) = meant(peer);
        if id.is_some() {
            Host::show(host, slot);
        }
    }

    fn enet_peer_throttle_configure(
        peer: *mut Peer,
        interval_ms: u32,
        acceleration: u32,
        deceleration: u32,
    ) -> (), else (), {
        let (host, slot, id) = meant(peer);
        if let Some(id) = id {
            let parameters = ThrottleParameters { interval_ms, acceleration, deceleration };
            (*host).driver.host_mut().configure_throttle(id, parameters);
            Host::show(host, slot);
        }
    }

    /// Adapts the throttle to a round trip: 1 it rose, -1 it fell, 0 neither.
    fn enet_peer_throttle(peer: *mut Peer, round_trip_ms: u32) -> c_int, else 0, {
        let seen = &mut *peer;
        let result = if seen.last_round_trip_time <= seen.last_round_trip_time_variance {
            seen.packet_throttle = seen.packet_throttle_limit;
            0
        } else if round_trip_ms <= seen.last_round_trip_time {
            let risen = seen.packet_throttle.saturating_add(seen.packet_throttle_acceleration);
            seen.packet_throttle = risen.min(seen.packet_throttle_limit);
            1
        } else if u64::from(round_trip_ms)
            > u64::from(seen.last_round_trip_time) + 2 * u64::from(seen.last_round_trip_time_variance)
        {
            seen.packet_throttle = seen.packet_throttle.saturating_sub(seen.packet_throttle_deceleration);
            -1
        } else {
            0
        };
        let (host, slot, id) = meant(peer);
        if id.is_some() {
            Host::show(host, slot);
        }
        result
    }

    fn enet_peer_disconnect(peer: *mut Peer, data: u32) -> (), else (), {
        end(peer, |host, id| host.disconnect(id, data));
    }

    fn enet_peer_disconnect_now(peer: *mut Peer, data: u32) -> (), else (), {
        end(peer, |host, id| host.disconnect_now(id, data));
    }

    fn enet_peer_disconnect_later(peer: *mut Peer, data: u32) -> (), else (), {
        end(peer, |host, id| host.disconnect_later(id, data));
    }

    /// The peer is not notified.
    fn enet_peer_reset(peer: *mut Peer) -> (), else (), {
        end(peer, |host, id| host.reset(id));
    }
}

/// What programs compare with are the stock library's numbers.
const _: () = assert!(State::Connected as u32 == 5 && State::Zombie as u32 == 9);
