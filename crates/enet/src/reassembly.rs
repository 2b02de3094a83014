//! A packet that comes in pieces.
//!
//! Memory follows the bytes that came, not those that a piece announces: pieces in order are appended to one buffer, and
//! those that come early wait beside it. Where that would take more than the whole packet, the whole packet is made, and
//! pieces go to their places.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::allocation::{allocated, tree_entry, tree_node};
use crate::wire::{FRAGMENTS_MAX, Fragment};

/// A packet of which some pieces came.
#[derive(Debug)]
pub(crate) struct Reassembly {
    count: u32,
    total: u32,
    piece_bytes: u32,
    pieces: Pieces,
}

#[derive(Debug)]
enum Pieces {
    Ordered(Ordered),
    Placed(Placed),
}

/// Pieces up to `next`, one behind the other, and others beside them.
#[derive(Debug, Default)]
struct Ordered {
    buffer: Vec<u8>,
    next: u32,
    early: BTreeMap<u32, Box<[u8]>>,
    /// Of early pieces: bytes, and what their allocations take.
    early_bytes: usize,
    early_allocated: usize,
}

/// The whole packet, with the pieces that came at their places.
#[derive(Debug)]
struct Placed {
    buffer: Vec<u8>,
    seen: Seen,
    missing: u32,
}

/// A bit for each piece of a packet: set for those that came.
#[derive(Debug)]
struct Seen(Box<[u64]>);

impl Seen {
    const BITS: u32 = u64::BITS;

    fn new(count: u32) -> Seen {
        Seen(alloc::vec![0; Seen::words(count)].into())
    }

    /// Words that `count` bits take.
    fn words(count: u32) -> usize {
        count.div_ceil(Seen::BITS) as usize
    }

    fn bytes(count: u32) -> usize {
        Seen::words(count).saturating_mul(size_of::<u64>())
    }

    /// Word and mask of a piece.
    fn place(number: u32) -> (usize, u64) {
        ((number / Seen::BITS) as usize, 1 << (number % Seen::BITS))
    }

    fn has(&self, number: u32) -> bool {
        let (word, bit) = Seen::place(number);
        self.0.get(word).is_some_and(|seen| seen & bit != 0)
    }

    fn insert(&mut self, number: u32) {
        let (word, bit) = Seen::place(number);
        if let Some(seen) = self.0.get_mut(word) {
            *seen |= bit;
        }
    }
}

/// Result of processing a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    New,
    Known,
    /// Piece of another packet than the pieces before.
    Foreign,
}

/// Bytes of each piece but the last, if the fields make sense.
///
/// Senders cut a packet into equal pieces, the last no longer than the others: pieces that do not tile
/// their packet are forged, and would leave bytes in it that were not sent.
fn piece_bytes(fragment: &Fragment, bytes: u32, maximum: u32) -> Option<u32> {
    let Fragment { count, number, total, offset, .. } = *fragment;
    if bytes == 0 || count > FRAGMENTS_MAX || number >= count || total > maximum || total < count {
        return None;
    }
    let last = count.checked_sub(1)?;
    let is_last = number == last;
    // All but the last begin at multiples of their length; where it is the only one, it is as long as the packet.
    let piece = if is_last { offset.checked_div(last).unwrap_or(total) } else { bytes };
    // A sum or a product beyond 32 bits is longer than any packet.
    let end_of_others = piece.checked_mul(last)?;
    let rest = total.checked_sub(end_of_others)?;
    let tiles = piece.checked_mul(number) == Some(offset)
        && (1..=piece).contains(&rest)
        && (!is_last || offset.checked_add(bytes) == Some(total));
    tiles.then_some(piece)
}

impl Reassembly {
    /// A packet as `fragment` announces it, with none of its pieces; `None` when the fields make no sense.
    ///
    /// `bytes`: of the piece; `maximum`: of a packet.
    pub fn new(fragment: &Fragment, bytes: u32, maximum: u32) -> Option<Reassembly> {
        let piece_bytes = piece_bytes(fragment, bytes, maximum)?;
        let pieces = Pieces::Ordered(Ordered::default());
        Some(Reassembly { count: fragment.count, total: fragment.total, piece_bytes, pieces })
    }

    /// Pieces that the packet has.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Result that processing `fragment` would have.
    pub fn look(&self, fragment: &Fragment, bytes: u32) -> Piece {
        let agrees = fragment.count == self.count
            && fragment.total == self.total
            && piece_bytes(fragment, bytes, u32::MAX) == Some(self.piece_bytes);
        if !agrees {
            // Its number is one of another packet, and means nothing here.
            return Piece::Foreign;
        }
        let number = fragment.number;
        let is_known = match &self.pieces {
            Pieces::Ordered(ordered) => number < ordered.next || ordered.early.contains_key(&number),
            Pieces::Placed(placed) => placed.seen.has(number),
        };
        if is_known { Piece::Known } else { Piece::New }
    }

    /// Bytes that its allocations take.
    pub fn bytes(&self) -> usize {
        match &self.pieces {
            Pieces::Ordered(ordered) => ordered.bytes(),
            Pieces::Placed(_) => self.bytes_placed(),
        }
    }

    /// Bytes that it takes at most with one more piece: never more than the packet and a bit a piece.
    pub fn bytes_with(&self, number: u32, bytes: usize) -> usize {
        match &self.pieces {
            Pieces::Ordered(ordered) => ordered.bytes_with(number, bytes, self.total).min(self.bytes_placed()),
            Pieces::Placed(_) => self.bytes_placed(),
        }
    }

    fn bytes_placed(&self) -> usize {
        allocated(self.total as usize).saturating_add(allocated(Seen::bytes(self.count)))
    }

    /// Takes a piece that [`Reassembly::look`] called new.
    pub fn insert(&mut self, number: u32, payload: &[u8]) {
        let bytes_placed = self.bytes_placed();
        if let Pieces::Ordered(ordered) = &mut self.pieces {
            if ordered.bytes_with(number, payload.len(), self.total) <= bytes_placed {
                return ordered.insert(number, payload, self.total);
            }
            let ordered = core::mem::take(ordered);
            self.pieces = Pieces::Placed(ordered.placed(self.count, self.total, self.piece_bytes));
        }
        if let Pieces::Placed(placed) = &mut self.pieces {
            placed.insert(number, self.piece_bytes, payload);
        }
    }

    pub fn is_complete(&self) -> bool {
        match &self.pieces {
            Pieces::Ordered(ordered) => ordered.next == self.count,
            Pieces::Placed(placed) => placed.missing == 0,
        }
    }

    /// The packet, once it is complete.
    pub fn into_packet(self) -> Vec<u8> {
        match self.pieces {
            Pieces::Ordered(ordered) => ordered.buffer,
            Pieces::Placed(placed) => placed.buffer,
        }
    }
}

impl Ordered {
    const NODE_BYTES: usize = tree_node(size_of::<(u32, Box<[u8]>)>());
    const ENTRY_BYTES: usize = tree_entry(size_of::<(u32, Box<[u8]>)>());

    fn bytes(&self) -> usize {
        allocated(self.buffer.capacity()).saturating_add(Ordered::early_bytes(self.early.len(), self.early_allocated))
    }

    fn early_bytes(pieces: usize, allocated: usize) -> usize {
        if pieces == 0 {
            return 0;
        }
        pieces.saturating_mul(Ordered::ENTRY_BYTES).saturating_add(Ordered::NODE_BYTES).saturating_add(allocated)
    }

    fn bytes_with(&self, number: u32, bytes: usize, total: u32) -> usize {
        let early = self.early.len();
        if number != self.next {
            let allocated_early = self.early_allocated.saturating_add(allocated(bytes));
            let early = Ordered::early_bytes(early.saturating_add(1), allocated_early);
            return allocated(self.buffer.capacity()).saturating_add(early);
        }
        let capacity = match early {
            0 => self.grown(bytes, total),
            // The early pieces behind it may follow, and the buffer doubles.
            _ => {
                let in_order = self.buffer.len().saturating_add(bytes).saturating_add(self.early_bytes);
                self.buffer.capacity().max(in_order.saturating_mul(2)).min(total as usize)
            }
        };
        allocated(capacity).saturating_add(Ordered::early_bytes(early, self.early_allocated))
    }

    /// Capacity once `bytes` more are in the buffer: doubling as usual, but never past the end of the packet.
    fn grown(&self, bytes: usize, total: u32) -> usize {
        let length = self.buffer.len().saturating_add(bytes);
        if length <= self.buffer.capacity() {
            return self.buffer.capacity();
        }
        self.buffer.len().saturating_mul(2).min(total as usize).max(length)
    }

    fn insert(&mut self, number: u32, payload: &[u8], total: u32) {
        if number != self.next {
            self.early.insert(number, payload.into());
            self.early_bytes = self.early_bytes.saturating_add(payload.len());
            self.early_allocated = self.early_allocated.saturating_add(allocated(payload.len()));
            return;
        }
        self.append(payload, total);
        while let Some(piece) = self.early.remove(&self.next) {
            self.early_bytes = self.early_bytes.saturating_sub(piece.len());
            self.early_allocated = self.early_allocated.saturating_sub(allocated(piece.len()));
            self.append(&piece, total);
        }
        if self.early.is_empty() {
            // An empty tree keeps a node, unless it is made again.
            self.early = BTreeMap::new();
        }
    }

    fn append(&mut self, payload: &[u8], total: u32) {
        let capacity = self.grown(payload.len(), total);
        self.buffer.reserve_exact(capacity.saturating_sub(self.buffer.len()));
        self.buffer.extend_from_slice(payload);
        self.next = self.next.saturating_add(1);
    }

    /// The same pieces at their places; those in order are the first bytes of the packet.
    fn placed(self, count: u32, total: u32, piece_bytes: u32) -> Placed {
        // Zeros that the system gives are not touched before they are written to.
        let buffer = alloc::vec![0; total as usize];
        let mut placed = Placed { buffer, seen: Seen::new(count), missing: count.saturating_sub(self.next) };
        placed.write(0, &self.buffer);
        (0..self.next).for_each(|number| placed.seen.insert(number));
        for (number, piece) in self.early {
            placed.insert(number, piece_bytes, &piece);
        }
        placed
    }
}

impl Placed {
    /// The one place where a number of a peer leads into memory: bytes that do not lie within the packet change nothing.
    fn write(&mut self, start: usize, bytes: &[u8]) {
        let place = start.checked_add(bytes.len()).and_then(|end| self.buffer.get_mut(start..end));
        if let Some(place) = place {
            place.copy_from_slice(bytes);
        }
    }

    fn insert(&mut self, number: u32, piece_bytes: u32, payload: &[u8]) {
        self.write((number as usize).saturating_mul(piece_bytes as usize), payload);
        self.seen.insert(number);
        self.missing = self.missing.saturating_sub(1);
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
        assert!(packet.bytes() <= 500, "{} bytes", packet.bytes());
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
                    let wanted = whole.bytes_with(number as u32, pieces[number].len());
                    prop_assert!(wanted <= whole.bytes_placed());
                    whole.insert(number as u32, pieces[number]);
                    prop_assert!(whole.bytes() <= wanted, "{} bytes, {wanted} charged", whole.bytes());
                }
            }
            prop_assert!(whole.is_complete());
            prop_assert_eq!(whole.into_packet(), packet);
        }
    }
}
