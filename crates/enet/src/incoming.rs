//! One channel's arriving packets, brought into order.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use crate::packet::{Kind, Received};
use crate::reassembly::{Piece, Reassembly};
use crate::wire::Fragment;

/// Reliable numbers of one window.
pub(crate) const WINDOW: u32 = 4096;
/// Windows of the number space.
pub(crate) const WINDOWS: u32 = 16;
/// Windows, from that of the last number delivered on, whose numbers are taken.
const OPEN_WINDOWS: u32 = 7;
/// What a packet or piece that waits is charged beside its bytes: the piece, its place in a tree, its allocation.
pub(crate) const OVERHEAD_BYTES: usize = 96;

/// What waits, in bytes, of one peer and of all, against its limits.
pub(crate) struct Purse<'a> {
    /// Of this peer, until the application takes it.
    pub delivered: &'a mut VecDeque<Received>,
    pub waiting: &'a mut usize,
    /// Of this peer, until what is missing before it came.
    pub held: &'a mut usize,
    /// Of all peers together.
    pub held_by_all: &'a mut usize,
    pub waiting_limit: usize,
    pub held_limit: usize,
    pub packet_limit: usize,
}

impl Purse<'_> {
    fn is_full(&self) -> bool {
        *self.waiting + *self.held + OVERHEAD_BYTES * self.delivered.len() >= self.waiting_limit
    }

    fn hold(&mut self, bytes: usize) -> bool {
        let charged = bytes + OVERHEAD_BYTES;
        if *self.held_by_all + charged > self.held_limit || *self.held + charged > self.waiting_limit {
            return false;
        }
        *self.held += charged;
        *self.held_by_all += charged;
        true
    }

    fn release(&mut self, charged: usize) {
        *self.held -= charged;
        *self.held_by_all -= charged;
    }

    pub fn deliver(&mut self, channel: u8, kind: Kind, payload: Vec<u8>) {
        *self.waiting += payload.len();
        self.delivered.push_back(Received { channel, kind, payload });
    }

    /// Whether one more packet of `bytes` may wait for the application.
    pub fn admits(&self, bytes: usize) -> bool {
        bytes <= self.packet_limit && !self.is_full()
    }
}

/// Why a command ends the walk over its datagram, unacknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Fields that no sender makes, or at the wrong time.
    Malformed,
    /// No memory is left for it; it is sent again.
    NoRoom,
}

#[derive(Debug)]
enum Content {
    Whole(Kind, Vec<u8>),
    Pieces(Reassembly),
}

/// A packet that cannot be delivered yet.
#[derive(Debug)]
struct Held {
    content: Content,
    charged: usize,
}

impl Held {
    fn whole(kind: Kind, payload: &[u8]) -> Held {
        Held { content: Content::Whole(kind, payload.into()), charged: payload.len() + OVERHEAD_BYTES }
    }

    fn is_complete(&self) -> bool {
        match &self.content {
            Content::Whole(..) => true,
            Content::Pieces(pieces) => pieces.is_complete(),
        }
    }

    /// Reliable numbers that the packet takes.
    fn numbers(&self) -> u64 {
        match &self.content {
            Content::Whole(..) => 1,
            Content::Pieces(pieces) => pieces.count().into(),
        }
    }
}

/// Where a number stands to the last one delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In a window that is open: at `number` of an order that never wraps.
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
    reliable_held: BTreeMap<u64, Held>,
    /// Unreliable packets of reliable numbers that are not delivered yet, or with a piece missing.
    unreliable_held: BTreeMap<(u64, u16), Held>,
}

impl Incoming {
    fn place(&self, sequence: u16) -> Place {
        let last = self.delivered as u16;
        let here = u32::from(last) / WINDOW;
        let there = u32::from(sequence) / WINDOW + if sequence < last { WINDOWS } else { 0 };
        if (here..here + OPEN_WINDOWS).contains(&there) {
            return Place::Open { number: self.delivered + u64::from(sequence.wrapping_sub(last)) };
        }
        let too_early = here + OPEN_WINDOWS..=here + OPEN_WINDOWS + 1;
        Place::Closed { is_acknowledged: !too_early.contains(&there) }
    }

    /// Whether a command with this number is acknowledged, once it was handled.
    pub fn acknowledges(&self, sequence: u16) -> bool {
        self.place(sequence) != Place::Closed { is_acknowledged: false }
    }

    /// Takes a reliable packet.
    pub fn reliable(&mut self, channel: u8, sequence: u16, payload: &[u8], purse: &mut Purse) -> Result<(), Refused> {
        let Place::Open { number } = self.place(sequence) else { return Ok(()) };
        if number == self.delivered || self.reliable_held.contains_key(&number) {
            return Ok(());
        }
        if !purse.admits(payload.len()) {
            return Err(if payload.len() > purse.packet_limit { Refused::Malformed } else { Refused::NoRoom });
        }
        if number == self.delivered + 1 {
            purse.deliver(channel, Kind::Reliable, payload.into());
            self.advance(1);
            self.deliver_held(channel, purse);
            return Ok(());
        }
        if !purse.hold(payload.len()) {
            return Err(Refused::NoRoom);
        }
        self.reliable_held.insert(number, Held::whole(Kind::Reliable, payload));
        Ok(())
    }

    /// Takes a piece of a reliable packet.
    pub fn reliable_fragment(
        &mut self,
        channel: u8,
        fragment: &Fragment,
        payload: &[u8],
        purse: &mut Purse,
    ) -> Result<(), Refused> {
        let place = self.place(fragment.start);
        let maximum = u32::try_from(purse.packet_limit).unwrap_or(u32::MAX);
        let fresh = Reassembly::new(fragment, payload.len() as u32, maximum).ok_or(Refused::Malformed)?;
        let Place::Open { number } = place else { return Ok(()) };
        if number == self.delivered {
            // A late piece of a packet begins before the last number delivered, so this is none. Stock hosts refuse it too.
            return Err(Refused::Malformed);
        }
        let is_new = !self.reliable_held.contains_key(&number);
        if is_new && purse.is_full() {
            return Err(Refused::NoRoom);
        }
        insert_piece(&mut self.reliable_held, number, fresh, fragment, payload, purse)?;
        self.deliver_held(channel, purse);
        Ok(())
    }

    /// Takes an unreliable packet.
    pub fn unreliable(
        &mut self,
        channel: u8,
        sequence: u16,
        unreliable: u16,
        payload: &[u8],
        purse: &mut Purse,
    ) -> Result<(), Refused> {
        if payload.len() > purse.packet_limit {
            return Err(Refused::Malformed);
        }
        let Place::Open { number } = self.place(sequence) else { return Ok(()) };
        let is_next = number == self.delivered;
        let key = (number, unreliable);
        if is_next && unreliable <= self.unreliable || self.unreliable_held.contains_key(&key) {
            return Ok(());
        }
        if purse.is_full() {
            return Err(Refused::NoRoom);
        }
        if is_next {
            self.drop_before(key, purse);
            self.unreliable = unreliable;
            purse.deliver(channel, Kind::Unreliable, payload.into());
            return Ok(());
        }
        if !purse.hold(payload.len()) {
            return Err(Refused::NoRoom);
        }
        self.unreliable_held.insert(key, Held::whole(Kind::Unreliable, payload));
        Ok(())
    }

    /// Takes a piece of an unreliable packet; `sequence` is the reliable number before it.
    pub fn unreliable_fragment(
        &mut self,
        channel: u8,
        sequence: u16,
        fragment: &Fragment,
        payload: &[u8],
        purse: &mut Purse,
    ) -> Result<(), Refused> {
        let maximum = u32::try_from(purse.packet_limit).unwrap_or(u32::MAX);
        let fresh = Reassembly::new(fragment, payload.len() as u32, maximum).ok_or(Refused::Malformed)?;
        let Place::Open { number } = self.place(sequence) else { return Ok(()) };
        let key = (number, fragment.start);
        if number == self.delivered && fragment.start <= self.unreliable {
            return Ok(());
        }
        if !self.unreliable_held.contains_key(&key) && purse.is_full() {
            return Err(Refused::NoRoom);
        }
        insert_piece(&mut self.unreliable_held, key, fresh, fragment, payload, purse)?;
        self.deliver_unreliable(channel, purse);
        Ok(())
    }

    /// Goes on by `numbers` reliable numbers; unreliable ones begin anew.
    fn advance(&mut self, numbers: u64) {
        self.delivered += numbers;
        self.unreliable = 0;
    }

    /// Delivers what became next: reliable packets first, then the unreliable ones behind the last of them.
    fn deliver_held(&mut self, channel: u8, purse: &mut Purse) {
        while let Some(entry) = self.reliable_held.first_entry() {
            if *entry.key() <= self.delivered {
                // A packet in pieces took its number: one of the two is forged.
                purse.release(entry.remove().charged);
                continue;
            }
            if *entry.key() > self.delivered + 1 || !entry.get().is_complete() {
                break;
            }
            let held = entry.remove();
            let numbers = held.numbers();
            deliver(channel, Kind::Reliable, held, purse);
            self.advance(numbers);
        }
        self.deliver_unreliable(channel, purse);
    }

    fn deliver_unreliable(&mut self, channel: u8, purse: &mut Purse) {
        if self.unreliable_held.is_empty() {
            return;
        }
        self.drop_before((self.delivered, 0), purse);
        let here = (self.delivered, 0)..=(self.delivered, u16::MAX);
        let Some((&last, _)) = self.unreliable_held.range(here).rev().find(|(_, held)| held.is_complete()) else {
            return;
        };
        while let Some(entry) = self.unreliable_held.first_entry() {
            if *entry.key() > last {
                break;
            }
            let held = entry.remove();
            if held.is_complete() {
                deliver(channel, Kind::UnreliableFragments, held, purse);
            } else {
                purse.release(held.charged);
            }
        }
        self.unreliable = last.1;
    }

    /// Forgets what a newer packet overtook.
    fn drop_before(&mut self, key: (u64, u16), purse: &mut Purse) {
        while let Some(entry) = self.unreliable_held.first_entry() {
            if *entry.key() >= key {
                break;
            }
            purse.release(entry.remove().charged);
        }
    }
}

/// Hands a complete packet over; `kind` is that of one that came in pieces.
fn deliver(channel: u8, kind: Kind, held: Held, purse: &mut Purse) {
    purse.release(held.charged);
    match held.content {
        Content::Whole(kind, payload) => purse.deliver(channel, kind, payload),
        Content::Pieces(pieces) => purse.deliver(channel, kind, pieces.into_packet()),
    }
}

fn insert_piece<K: Ord + Copy>(
    held: &mut BTreeMap<K, Held>,
    key: K,
    fresh: Reassembly,
    fragment: &Fragment,
    payload: &[u8],
    purse: &mut Purse,
) -> Result<(), Refused> {
    if let Some(known) = held.get_mut(&key) {
        let Content::Pieces(pieces) = &mut known.content else { return Err(Refused::Malformed) };
        match pieces.look(fragment, payload.len() as u32) {
            Piece::Foreign => return Err(Refused::Malformed),
            Piece::Known => return Ok(()),
            Piece::New => {}
        }
        if !purse.hold(payload.len()) {
            return Err(Refused::NoRoom);
        }
        known.charged += payload.len() + OVERHEAD_BYTES;
        pieces.insert(fragment.number, payload);
        return Ok(());
    }
    if !purse.hold(payload.len()) {
        return Err(Refused::NoRoom);
    }
    let mut pieces = fresh;
    pieces.insert(fragment.number, payload);
    held.insert(key, Held { content: Content::Pieces(pieces), charged: payload.len() + OVERHEAD_BYTES });
    Ok(())
}

/// Channels are many and most are never used: what one takes comes with its first packet.
pub(crate) type LazyIncoming = Option<Box<Incoming>>;

#[cfg(test)]
mod tests;
