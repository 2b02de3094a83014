//! A packet that comes in pieces.
//!
//! Memory follows the bytes that came, not those that a piece announces: pieces in order are appended to one buffer, and
//! those that come early wait beside it.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::wire::{FRAGMENTS_MAX, Fragment};

/// A packet of which some pieces came.
#[derive(Debug)]
pub(crate) struct Reassembly {
    count: u32,
    total: u32,
    piece_bytes: u32,
    /// Pieces up to `next`, one behind the other.
    buffer: Vec<u8>,
    next: u32,
    early: BTreeMap<u32, Box<[u8]>>,
}

/// What a piece was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    New,
    Known,
    /// Of another packet than the pieces before.
    Foreign,
}

/// Bytes of each piece but the last, if the fields make sense.
///
/// Senders cut a packet into equal pieces, the last no longer than the others: pieces that do not tile
/// their packet are forged, and would leave bytes in it that nobody sent.
fn piece_bytes(fragment: &Fragment, bytes: u32, maximum: u32) -> Option<u32> {
    let Fragment { count, number, total, offset, .. } = *fragment;
    if bytes == 0 || count > FRAGMENTS_MAX || number >= count || total > maximum || total < count {
        return None;
    }
    let is_last = number == count - 1;
    let piece = if !is_last {
        bytes
    } else if count == 1 {
        total
    } else {
        offset / (count - 1)
    };
    let start = u64::from(piece) * u64::from(number);
    let end_of_others = u64::from(piece) * u64::from(count - 1);
    let tiles = u64::from(offset) == start
        && end_of_others < u64::from(total)
        && u64::from(total) <= end_of_others + u64::from(piece)
        && (!is_last || u64::from(offset) + u64::from(bytes) == u64::from(total));
    tiles.then_some(piece)
}

impl Reassembly {
    /// A packet as `fragment` announces it, with none of its pieces; `None` when the fields make no sense.
    ///
    /// `bytes`: of the piece; `maximum`: of a packet.
    pub fn new(fragment: &Fragment, bytes: u32, maximum: u32) -> Option<Reassembly> {
        let piece_bytes = piece_bytes(fragment, bytes, maximum)?;
        Some(Reassembly {
            count: fragment.count,
            total: fragment.total,
            piece_bytes,
            buffer: Vec::new(),
            next: 0,
            early: BTreeMap::new(),
        })
    }

    /// Pieces that the packet has.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// What `fragment` would be.
    pub fn look(&self, fragment: &Fragment, bytes: u32) -> Piece {
        let agrees = fragment.count == self.count
            && fragment.total == self.total
            && piece_bytes(fragment, bytes, u32::MAX) == Some(self.piece_bytes);
        if !agrees {
            Piece::Foreign
        } else if fragment.number < self.next || self.early.contains_key(&fragment.number) {
            Piece::Known
        } else {
            Piece::New
        }
    }

    /// Takes a piece that [`Reassembly::look`] called new.
    pub fn insert(&mut self, number: u32, payload: &[u8]) {
        if number != self.next {
            self.early.insert(number, payload.into());
            return;
        }
        self.append(payload);
        while let Some(piece) = self.early.remove(&self.next) {
            self.append(&piece);
        }
    }

    fn append(&mut self, payload: &[u8]) {
        // Doubling as usual, but never past the end of the packet.
        let room = self.buffer.capacity() - self.buffer.len();
        if payload.len() > room {
            let wanted = (2 * self.buffer.len()).clamp(self.buffer.len() + payload.len(), self.total as usize);
            self.buffer.reserve_exact(wanted - self.buffer.len());
        }
        self.buffer.extend_from_slice(payload);
        self.next += 1;
    }

    pub fn is_complete(&self) -> bool {
        self.next == self.count
    }

    /// The packet, once it is complete.
    pub fn into_packet(self) -> Vec<u8> {
        self.buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fragment(count: u32, number: u32, total: u32, offset: u32) -> Fragment {
        Fragment { start: 1, count, number, total, offset }
    }

    #[test]
    fn pieces_that_do_not_tile_their_packet_make_none() {
        let forged = [
            (fragment(2, 0, 20, 0), 0, "empty"),
            (fragment(FRAGMENTS_MAX + 1, 0, 1 << 21, 0), 1, "too many"),
            (fragment(2, 2, 20, 0), 10, "behind the last"),
            (fragment(2, 0, 1001, 0), 501, "longer than allowed"),
            (fragment(20, 0, 19, 0), 1, "fewer bytes than pieces"),
            (fragment(2, 0, 20, 1), 10, "not at its place"),
            (fragment(2, 1, 20, 20), 10, "behind the end"),
            (fragment(2, 1, 20, 10), 11, "across the end"),
            (fragment(2, 1, 20, 10), 9, "short of the end"),
            (fragment(1, 0, 1000, 0), 1, "one byte for all"),
            (fragment(3, 0, 1000, 0), 1, "three bytes for all"),
            (fragment(2, 0, 10, 0), 10, "nothing left for the last"),
            (fragment(0, 0, 0, 0), 1, "of no pieces"),
        ];
        for (fragment, bytes, what) in forged {
            assert!(Reassembly::new(&fragment, bytes, 1000).is_none(), "{what}");
        }
        assert!(Reassembly::new(&fragment(3, 2, 21, 20), 1, 1000).is_some());
        assert!(Reassembly::new(&fragment(1, 0, 5, 0), 5, 1000).is_some());
    }

    #[test]
    fn an_announced_size_takes_no_memory() {
        let mut packet = Reassembly::new(&fragment(1 << 20, 5, 1 << 25, 160), 32, 1 << 25).unwrap();
        packet.insert(5, &[0; 32]);
        packet.insert(0, &[0; 32]);
        assert!(packet.buffer.capacity() <= 64, "{}", packet.buffer.capacity());
    }

    proptest! {
        #[test]
        fn pieces_in_any_order_make_the_packet(
            packet in prop::collection::vec(any::<u8>(), 1..500),
            piece in 1usize..60,
            order in prop::collection::vec(any::<prop::sample::Index>(), 0..200),
        ) {
            let pieces: Vec<_> = packet.chunks(piece).collect();
            let of = |number: usize| fragment(pieces.len() as u32, number as u32, packet.len() as u32, (number * piece) as u32);
            let mut whole = Reassembly::new(&of(0), pieces[0].len() as u32, 500).unwrap();
            let mut seen = std::collections::BTreeSet::new();
            for number in order.iter().map(|index| index.index(pieces.len())).chain(0..pieces.len()) {
                let found = whole.look(&of(number), pieces[number].len() as u32);
                prop_assert_eq!(found, if seen.insert(number) { Piece::New } else { Piece::Known });
                if found == Piece::New {
                    whole.insert(number as u32, pieces[number]);
                }
            }
            prop_assert!(whole.is_complete());
            prop_assert_eq!(whole.into_packet(), packet);
        }
    }
}
