//! Arriving packets of a channel, brought into order.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::boxed::Box;
use core::ops::RangeInclusive;

use crate::budget::{Exemption, ReceiveQuota};
use crate::packet::Kind;
use crate::reassembly::Reassembly;
use crate::wire::Fragment;

mod held;

use held::{Held, Partial, Tree, Whole, insert_partial, insert_whole};

/// Reliable numbers of one window.
pub(crate) const WINDOW: u32 = 4096;
/// Windows of the number space.
pub(crate) const WINDOWS: u32 = 16;
/// Windows, from that of the last number delivered on, whose numbers are taken.
const OPEN_WINDOWS: u32 = 7;
/// Windows ahead of that, whose numbers came too early and are not acknowledged.
const TOO_EARLY: RangeInclusive<u32> = OPEN_WINDOWS..=OPEN_WINDOWS + 1;
/// Unreliable packets of a channel that may lack a piece at a time: when one more begins, the oldest is given up.
const PARTIALS_MAX: usize = 256;

/// Reasons to stop processing a datagram at a command, which is not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Fields that no sender makes, or at the wrong time.
    Malformed,
    /// No memory is left for it; it is sent again.
    NoRoom,
}

/// Position of a sequence number relative to the last one delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SequencePosition {
    /// Open window, at `number` of an order that never wraps.
    Open { number: u64 },
    /// Elsewhere; old ones are acknowledged again, those that came too early are not.
    Closed { is_acknowledged: bool },
}

/// The receiving half of a channel.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    /// Last reliable number delivered; the wire shows its low 16 bits.
    delivered: u64,
    /// Last unreliable number delivered since.
    unreliable: u16,
    /// Reliable packets behind a gap, or with one inside.
    reliable_held: Tree<u64, Held>,
    /// Unreliable packets of reliable numbers that are not delivered yet.
    unreliable_held: Tree<(u64, u16), Box<Whole>>,
    /// Unreliable packets with a piece missing.
    unreliable_partial: Tree<(u64, u16), Box<Partial>>,
}

impl Incoming {
    fn place(&self, sequence: u16) -> SequencePosition {
        let last = self.delivered as u16;
        let here = u32::from(last) / WINDOW;
        let there = (u32::from(sequence) / WINDOW).wrapping_add(if sequence < last { WINDOWS } else { 0 });
        // Numbers that are not behind the last one are in its window or a later one.
        match there.checked_sub(here) {
            Some(..OPEN_WINDOWS) => SequencePosition::Open { number: self.after(sequence.wrapping_sub(last).into()) },
            ahead => {
                SequencePosition::Closed { is_acknowledged: !ahead.is_some_and(|ahead| TOO_EARLY.contains(&ahead)) }
            }
        }
    }

    /// The number that is `ahead` of the last one delivered.
    fn after(&self, ahead: u64) -> u64 {
        self.delivered.saturating_add(ahead)
    }

    /// True if a command with this number is acknowledged after it was handled.
    pub fn acknowledges(&self, sequence: u16) -> bool {
        self.place(sequence) != SequencePosition::Closed { is_acknowledged: false }
    }

    /// Bytes that are charged for what waits: those that count for the budgets, and those that are exempt.
    pub fn charged(&self) -> (usize, usize) {
        let charges = self.reliable_held.charges().chain(self.unreliable_held.charges());
        charges.chain(self.unreliable_partial.charges()).fold((0, 0), |(held, exempt): (usize, usize), charge| {
            match charge.is_exempt() {
                true => (held, exempt.saturating_add(charge.bytes)),
                false => (held.saturating_add(charge.bytes), exempt),
            }
        })
    }

    /// Accepts a reliable packet and delivers those that are in order.
    pub fn reliable(
        &mut self,
        channel: u8,
        sequence: u16,
        payload: &[u8],
        quota: &mut ReceiveQuota,
    ) -> Result<(), Refused> {
        let SequencePosition::Open { number } = self.place(sequence) else { return Ok(()) };
        if number == self.delivered || self.reliable_held.contains(number) {
            return Ok(());
        }
        if payload.len() > quota.packet_limit {
            return Err(Refused::Malformed);
        }
        let is_next = number == self.after(1);
        if quota.is_behind() || !is_next && quota.is_full() {
            return Err(Refused::NoRoom);
        }
        if is_next {
            quota.deliver(channel, Kind::Reliable, payload.into());
            self.delivered = self.after(1);
            self.deliver_held(channel, quota);
            return Ok(());
        }
        insert_whole(&mut self.reliable_held, number, (Kind::Reliable, payload.into()), quota, Held::Whole)
    }

    /// Takes a piece of a reliable packet.
    pub fn reliable_fragment(
        &mut self,
        channel: u8,
        fragment: &Fragment,
        payload: &[u8],
        quota: &mut ReceiveQuota,
    ) -> Result<(), Refused> {
        let place = self.place(fragment.start);
        let maximum = u32::try_from(quota.packet_limit).unwrap_or(u32::MAX);
        let fresh = Reassembly::new(fragment, payload.len() as u32, maximum).ok_or(Refused::Malformed)?;
        let SequencePosition::Open { number } = place else { return Ok(()) };
        if number == self.delivered {
            // A late piece of a packet begins before the last number delivered, so this is none. Stock hosts refuse it too.
            return Err(Refused::Malformed);
        }
        let is_next = number == self.after(1);
        let exemption = is_next.then_some(Exemption::Reliable);
        match self.reliable_held.get_mut(number) {
            Some(Held::Whole(_)) => return Err(Refused::Malformed),
            Some(Held::Pieces(partial)) => {
                partial.take(fragment, payload, quota, exemption)?;
            }
            None => {
                if quota.is_behind() || !is_next && quota.is_full() {
                    return Err(Refused::NoRoom);
                }
                let piece = (fragment, payload);
                insert_partial(&mut self.reliable_held, number, fresh, piece, quota, exemption, Held::Pieces)?;
            }
        }
        if is_next && self.reliable_held.get(number).is_some_and(Held::is_complete) {
            self.deliver_held(channel, quota);
        }
        Ok(())
    }

    /// Accepts an unreliable packet, unless it is late.
    pub fn unreliable(
        &mut self,
        channel: u8,
        sequence: u16,
        unreliable: u16,
        payload: &[u8],
        quota: &mut ReceiveQuota,
    ) -> Result<(), Refused> {
        if payload.len() > quota.packet_limit {
            return Err(Refused::Malformed);
        }
        let SequencePosition::Open { number } = self.place(sequence) else { return Ok(()) };
        let is_next = number == self.delivered;
        let key = (number, unreliable);
        let is_known = self.unreliable_held.contains(key) || self.unreliable_partial.contains(key);
        if is_next && unreliable <= self.unreliable || is_known {
            return Ok(());
        }
        if quota.is_behind() || !is_next && quota.is_full() {
            return Err(Refused::NoRoom);
        }
        if is_next {
            self.drop_partials(key, quota);
            self.unreliable = unreliable;
            quota.deliver(channel, Kind::Unreliable, payload.into());
            return Ok(());
        }
        insert_whole(&mut self.unreliable_held, key, (Kind::Unreliable, payload.into()), quota, |whole| whole)
    }

    /// Takes a piece of an unreliable packet; `sequence` is the reliable number before it.
    pub fn unreliable_fragment(
        &mut self,
        channel: u8,
        sequence: u16,
        fragment: &Fragment,
        payload: &[u8],
        quota: &mut ReceiveQuota,
    ) -> Result<(), Refused> {
        let maximum = u32::try_from(quota.packet_limit).unwrap_or(u32::MAX);
        let fresh = Reassembly::new(fragment, payload.len() as u32, maximum).ok_or(Refused::Malformed)?;
        let SequencePosition::Open { number } = self.place(sequence) else { return Ok(()) };
        let key = (number, fragment.start);
        let is_next = number == self.delivered;
        if is_next && fragment.start <= self.unreliable {
            return Ok(());
        }
        match self.unreliable_held.get(key).map(|whole| whole.kind) {
            None => {}
            Some(Kind::UnreliableFragments) => return Ok(()),
            Some(_) => return Err(Refused::Malformed),
        }
        let exemption = is_next.then_some(Exemption::Unreliable);
        let piece = (fragment, payload);
        let taken = match self.unreliable_partial.get_mut(key) {
            Some(partial) => partial.take(fragment, payload, quota, exemption).map(|_| ()),
            None if quota.is_behind() || !is_next && quota.is_full() => return Err(Refused::NoRoom),
            None => {
                if self.unreliable_partial.len() >= PARTIALS_MAX {
                    if self.unreliable_partial.first().is_some_and(|(oldest, _)| key < oldest) {
                        return Ok(());
                    }
                    self.drop_partial((u64::MAX, 0), quota);
                }
                insert_partial(&mut self.unreliable_partial, key, fresh, piece, quota, exemption, |partial| partial)
            }
        };
        match taken {
            // What is older makes room: it is late, and would be dropped when this one is complete.
            Err(Refused::NoRoom) if is_next && self.drop_partials(key, quota) > 0 => {
                return self.unreliable_fragment(channel, sequence, fragment, payload, quota);
            }
            taken => taken?,
        }
        if self.unreliable_partial.get(key).is_some_and(|partial| partial.pieces.is_complete()) {
            self.complete(channel, key, quota);
        }
        Ok(())
    }

    /// Delivers an unreliable packet whose last piece came, or lets it wait for its reliable number.
    fn complete(&mut self, channel: u8, key: (u64, u16), quota: &mut ReceiveQuota) {
        let Some(mut partial) = self.unreliable_partial.remove(key, quota) else { return };
        quota.discharge(partial.charge());
        let packet = partial.pieces.into_packet();
        if key.0 == self.delivered {
            self.drop_partials(key, quota);
            self.unreliable = key.1;
            quota.deliver(channel, Kind::UnreliableFragments, packet);
        } else {
            let whole = (Kind::UnreliableFragments, packet.into());
            // Where its place takes more than its pieces did, and there is no room, it is lost, as it may be.
            let _ = insert_whole(&mut self.unreliable_held, key, whole, quota, |whole| whole);
        }
    }

    /// Delivers what became next: reliable packets first, then the unreliable ones behind the last of them.
    fn deliver_held(&mut self, channel: u8, quota: &mut ReceiveQuota) {
        while let Some((number, held)) = self.reliable_held.first() {
            // A number that was passed is that of a packet in pieces, too: one of the two is forged.
            let is_forged = number <= self.delivered;
            if !is_forged && (number > self.after(1) || !held.is_complete()) {
                break;
            }
            let Some(mut held) = self.reliable_held.pop_below(number.saturating_add(1), quota) else { break };
            quota.discharge(held.charge());
            if !is_forged {
                self.delivered = self.after(held.numbers());
                quota.deliver(channel, Kind::Reliable, held.into_packet());
            }
        }
        self.deliver_unreliable(channel, quota);
    }

    /// Goes over to the unreliable packets behind the last reliable one, whose numbers begin again.
    fn deliver_unreliable(&mut self, channel: u8, quota: &mut ReceiveQuota) {
        self.unreliable = 0;
        while let Some(mut whole) = self.unreliable_held.pop_below((self.delivered, 0), quota) {
            quota.discharge(whole.charge());
        }
        self.drop_partials((self.delivered, 0), quota);
        let last = self.unreliable_held.last_until((self.delivered, u16::MAX));
        if let Some(last) = last {
            self.drop_partials(last, quota);
            self.unreliable = last.1;
        }
        while let Some(mut whole) = self.unreliable_held.pop_below((self.after(1), 0), quota) {
            quota.discharge(whole.charge());
            quota.deliver(channel, whole.kind, whole.into_packet());
        }
    }

    /// Gives up what lacks a piece and is older than `key`; returns how many packets that were.
    fn drop_partials(&mut self, key: (u64, u16), quota: &mut ReceiveQuota) -> usize {
        core::iter::from_fn(|| self.drop_partial(key, quota).then_some(())).count()
    }

    /// Gives up the oldest packet that lacks a piece, if it is older than `key`.
    fn drop_partial(&mut self, key: (u64, u16), quota: &mut ReceiveQuota) -> bool {
        let Some(mut partial) = self.unreliable_partial.pop_below(key, quota) else { return false };
        quota.discharge(partial.charge());
        true
    }
}

/// Channels are many and most are never used: what one takes comes with its first packet.
pub(crate) type LazyIncoming = Option<Box<Incoming>>;

#[cfg(test)]
mod tests;
