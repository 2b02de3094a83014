//! Bandwidths: what is announced to peers that they may send, and how much of what is sent to them is dropped before.
//!
//! Both are looked at once a second at most, and only where a bandwidth is set on either side: this is the one place
//! that walks over the connected peers.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use super::*;
use crate::packet_throttle::SCALE;

/// What `SCALE` is a power of two by.
const SCALE_BITS: u32 = SCALE.trailing_zeros();
const _: () = assert!(SCALE.is_power_of_two());
/// Time between two looks, in milliseconds.
const INTERVAL_MS: u64 = 1000;

/// Bandwidth of the host, and whether it must be announced to its peers.
#[derive(Debug, Default)]
pub(super) struct Bandwidth {
    /// Bytes a second, 0 for any number.
    pub incoming: u32,
    /// Bytes a second, 0 for any number.
    pub outgoing: u32,
    /// Connected peers that limit what they are sent.
    pub limited_peers: usize,
    /// The limits of peers must be announced to them.
    is_changed: bool,
    looked_at: u64,
    round: u64,
}

impl Bandwidth {
    /// True if bandwidths must be recomputed.
    #[inline]
    pub fn is_to_be_looked_at(&self, now: u64) -> bool {
        now.saturating_sub(self.looked_at) >= INTERVAL_MS
    }
}

impl Host {
    /// Sets what the host can take and send, in bytes a second, 0 for any number. It is announced to peers.
    pub fn set_bandwidth(&mut self, incoming: u32, outgoing: u32) {
        self.bandwidth.incoming = incoming;
        self.bandwidth.outgoing = outgoing;
        self.bandwidth.is_changed = true;
    }

    /// Incoming and outgoing bandwidth of the host, in bytes a second, 0 for unlimited.
    pub fn bandwidth(&self) -> (u32, u32) {
        (self.bandwidth.incoming, self.bandwidth.outgoing)
    }

    /// The number of peers that share the bandwidth is another.
    pub(super) fn bandwidth_changed(&mut self) {
        self.bandwidth.is_changed |= self.bandwidth.incoming != 0 || self.settings.wire_profile == WireProfile::Stock;
    }

    /// Time at which bandwidths are recomputed next, if they must be.
    pub(super) fn bandwidth_due(&self) -> Option<u64> {
        let Bandwidth { outgoing, limited_peers, is_changed, looked_at, .. } = self.bandwidth;
        let is_needed = is_changed || outgoing != 0 || limited_peers > 0;
        (is_needed && self.connected.len() > 0).then_some(looked_at.saturating_add(INTERVAL_MS))
    }

    pub(super) fn throttle_bandwidth(&mut self) {
        if !self.bandwidth.is_to_be_looked_at(self.now) {
            return;
        }
        let elapsed_ms = self.now.saturating_sub(self.bandwidth.looked_at);
        let is_needed = self.bandwidth_due().is_some();
        self.bandwidth.looked_at = self.now;
        if !is_needed {
            return;
        }
        self.bandwidth.round = self.bandwidth.round.wrapping_add(1);
        self.share_outgoing(elapsed_ms);
        if core::mem::take(&mut self.bandwidth.is_changed) {
            self.share_incoming();
        }
    }

    /// Calls `look` for each connected peer.
    fn each_connected(&mut self, mut look: impl FnMut(&mut Connection)) {
        let Host { slots, connected, statistics, .. } = self;
        for slot in connected.iter() {
            statistics.work = statistics.work.wrapping_add(1);
            if let Some(connection) = connection_at(slots, slot) {
                look(connection);
            }
        }
    }

    /// Sets the limits of packet throttles so that peers are sent no more than they can take, nor all of them
    /// together more than the host can send.
    fn share_outgoing(&mut self, elapsed_ms: u64) {
        let round = self.bandwidth.round;
        // A host may count its time from 1970: what a peer says that it takes, times that, is beyond 64 bits.
        let bytes = |bandwidth: u32| u64::from(bandwidth).saturating_mul(elapsed_ms) / 1000;
        // Both unlimited: any share of nothing is all of it.
        let (mut total, mut budget) = (0, u64::MAX);
        if self.bandwidth.outgoing != 0 {
            budget = bytes(self.bandwidth.outgoing);
            self.each_connected(|peer| total = u64::saturating_add(total, peer.sender.data_total.into()));
        }
        let scaled = |bytes: u64| bytes.saturating_mul(SCALE.into());
        let share = |total: u64, budget: u64| {
            if total <= budget { u64::from(SCALE) } else { scaled(budget).checked_div(total).unwrap_or(0) }
        };
        let mut rest = self.connected.len();
        let mut is_settling = self.bandwidth.limited_peers > 0;
        while rest > 0 && core::mem::take(&mut is_settling) {
            let all = share(total, budget);
            self.each_connected(|peer| {
                let limit = bytes(peer.bandwidth.incoming);
                let sent = u64::from(peer.sender.data_total);
                let is_settled = peer.bandwidth.incoming == 0 || peer.bandwidth.settled.0 == round;
                if is_settled || all.saturating_mul(sent) >> SCALE_BITS <= limit {
                    return;
                }
                let value = scaled(limit).checked_div(sent).unwrap_or(u64::MAX);
                peer.path.throttle.set_limit(value.clamp(1, SCALE.into()) as u32);
                peer.settle_outgoing(round);
                budget = budget.saturating_sub(limit);
                total = total.saturating_sub(limit);
                rest = rest.saturating_sub(1);
                is_settling = true;
            });
        }
        let all = share(total, budget) as u32;
        self.each_connected(|peer| {
            if peer.bandwidth.settled.0 != round {
                peer.path.throttle.set_limit(all);
                peer.settle_outgoing(round);
            }
        });
    }

    /// Tells each peer what it may send: an even share, less for those that send less.
    fn share_incoming(&mut self) {
        let round = self.bandwidth.round;
        let mut rest = self.connected.len() as u32;
        let mut budget = self.bandwidth.incoming;
        let mut share = 0;
        let mut is_settling = budget != 0;
        while rest > 0 && core::mem::take(&mut is_settling) {
            share = budget.checked_div(rest).unwrap_or(0);
            self.each_connected(|peer| {
                let wants = peer.bandwidth.outgoing;
                if peer.bandwidth.settled.1 == round || wants > 0 && wants >= share {
                    return;
                }
                peer.bandwidth.settled.1 = round;
                rest = rest.saturating_sub(1);
                budget = budget.saturating_sub(wants);
                is_settling = true;
            });
        }
        let outgoing = self.bandwidth.outgoing;
        let repeats = self.settings.wire_profile == WireProfile::Stock;
        let mut next = self.connected.front();
        while let Some(slot) = next {
            next = self.connected.after(slot);
            let Host { slots, commands, .. } = self;
            let Some(peer) = connection_at(slots, slot) else { continue };
            let incoming = if peer.bandwidth.settled.1 == round { peer.bandwidth.outgoing } else { share };
            if peer.bandwidth.announced != (incoming, outgoing) || repeats {
                peer.bandwidth.announced = (incoming, outgoing);
                peer.sender.control(commands, Kind::BandwidthLimit { incoming, outgoing }, MUST_ACKNOWLEDGE);
                self.wake(slot);
            }
        }
    }

    /// A peer announced what it can take and send.
    pub(super) fn handle_bandwidth_limit(&mut self, slot: u32, incoming: u32, outgoing: u32) {
        let ours = self.bandwidth.outgoing;
        let Some(peer) = self.peer_of_mut(slot) else { return };
        let was_limited = peer.bandwidth.incoming != 0;
        peer.bandwidth.incoming = incoming;
        peer.bandwidth.outgoing = outgoing;
        peer.fit_window(ours);
        let others = self.bandwidth.limited_peers.saturating_sub(usize::from(was_limited));
        self.bandwidth.limited_peers = others.saturating_add(usize::from(incoming != 0));
        if self.blocked.contains(slot) {
            self.wake(slot);
        }
    }
}

impl Connection {
    fn settle_outgoing(&mut self, round: u64) {
        self.bandwidth.settled.0 = round;
        self.sender.data_total = 0;
        self.data_received = 0;
    }
}
