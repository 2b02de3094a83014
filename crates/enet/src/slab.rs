//! A pool of equal pieces that are linked into lists, so that no list takes memory of its own.

use alloc::vec::Vec;

use crate::invariant::{InvariantError, agree, holds};

/// Index that stands for no piece.
pub(crate) const NONE: u32 = u32::MAX;

/// Pieces by number; the numbers of those that were taken out are used again.
pub(crate) struct Slab<T> {
    pieces: Vec<Piece<T>>,
    free: u32,
    used: usize,
}

struct Piece<T> {
    value: Option<T>,
    next: u32,
    previous: u32,
}

impl<T> Slab<T> {
    pub fn new() -> Slab<T> {
        Slab { pieces: Vec::new(), free: NONE, used: 0 }
    }

    /// Number of pieces in use.
    pub fn len(&self) -> usize {
        self.used
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "numbers come from `insert` and the links between pieces; peers name commands by sequence numbers only"
    )]
    fn piece(&self, at: u32) -> &Piece<T> {
        &self.pieces[at as usize]
    }

    #[expect(clippy::indexing_slicing, reason = "as in `piece`")]
    fn piece_mut(&mut self, at: u32) -> &mut Piece<T> {
        &mut self.pieces[at as usize]
    }

    pub fn insert(&mut self, value: T) -> u32 {
        self.used += 1;
        let piece = Piece { value: Some(value), next: NONE, previous: NONE };
        if self.free == NONE {
            self.pieces.push(piece);
            return (self.pieces.len() - 1) as u32;
        }
        let at = self.free;
        self.free = self.piece(at).next;
        *self.piece_mut(at) = piece;
        at
    }

    /// Takes a piece out that is in no list.
    pub fn take(&mut self, at: u32) -> T {
        let free = self.free;
        let piece = self.piece_mut(at);
        let value = piece.value.take().expect("a number is used once");
        piece.next = free;
        self.free = at;
        self.used -= 1;
        value
    }
}

impl<T> Slab<T> {
    /// Checks that pieces are in use, or in the list of free ones. Returns a mark for each, none of which is set.
    pub fn check(&self) -> Result<Vec<bool>, InvariantError> {
        agree("slab, pieces in use", self.pieces.iter().filter(|piece| piece.value.is_some()).count(), self.used)?;
        let (mut at, mut free) = (self.free, 0);
        while let Some(piece) = self.pieces.get(at as usize) {
            free += 1;
            holds("slab, free piece", at as usize, piece.value.is_none() && free <= self.pieces.len())?;
            at = piece.next;
        }
        agree("slab, end of the free list", NONE, at)?;
        agree("slab, free pieces", self.pieces.len() - self.used, free)?;
        Ok(alloc::vec![false; self.pieces.len()])
    }
}

impl<T> core::ops::Index<u32> for Slab<T> {
    type Output = T;

    fn index(&self, at: u32) -> &T {
        self.piece(at).value.as_ref().expect("a number in a list is in use")
    }
}

impl<T> core::ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, at: u32) -> &mut T {
        self.piece_mut(at).value.as_mut().expect("a number in a list is in use")
    }
}

/// Pieces of a slab in a row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct List {
    head: u32,
    tail: u32,
}

impl List {
    pub const EMPTY: List = List { head: NONE, tail: NONE };

    pub fn is_empty(&self) -> bool {
        self.head == NONE
    }

    pub fn front(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// Index of the piece after `at`; `None` at the end.
    pub fn after<T>(&self, slab: &Slab<T>, at: u32) -> Option<u32> {
        let next = slab.piece(at).next;
        (next != NONE).then_some(next)
    }

    pub fn push_back<T>(&mut self, slab: &mut Slab<T>, at: u32) {
        self.insert_after(slab, self.tail, at);
    }

    /// Puts `at` behind `anchor`, or in front of all where that is [`NONE`].
    pub fn insert_after<T>(&mut self, slab: &mut Slab<T>, anchor: u32, at: u32) {
        let next = if anchor == NONE { self.head } else { slab.piece(anchor).next };
        let piece = slab.piece_mut(at);
        (piece.previous, piece.next) = (anchor, next);
        match anchor {
            NONE => self.head = at,
            anchor => slab.piece_mut(anchor).next = at,
        }
        match next {
            NONE => self.tail = at,
            next => slab.piece_mut(next).previous = at,
        }
    }

    /// Takes `at` out of the row; it stays in the slab.
    pub fn unlink<T>(&mut self, slab: &mut Slab<T>, at: u32) {
        let piece = slab.piece_mut(at);
        let (previous, next) = (piece.previous, piece.next);
        (piece.previous, piece.next) = (NONE, NONE);
        match previous {
            NONE => self.head = next,
            previous => slab.piece_mut(previous).next = next,
        }
        match next {
            NONE => self.tail = previous,
            next => slab.piece_mut(next).previous = previous,
        }
    }

    /// Checks that the row leads from head to tail and back over pieces that no other list has, calls `each` for them, and
    /// sets their marks.
    pub fn check<T>(
        &self,
        slab: &Slab<T>,
        seen: &mut [bool],
        mut each: impl FnMut(u32, &T) -> Result<(), InvariantError>,
    ) -> Result<(), InvariantError> {
        let (mut at, mut previous) = (self.head, NONE);
        while let (Some(piece), Some(seen)) = (slab.pieces.get(at as usize), seen.get_mut(at as usize)) {
            holds("list, piece in one list", at as usize, !core::mem::replace(seen, true))?;
            holds("list, link back of piece", at as usize, piece.previous == previous)?;
            let Some(value) = &piece.value else { return holds("list, piece in use", at as usize, false) };
            each(at, value)?;
            (previous, at) = (at, piece.next);
        }
        agree("list, last piece", previous, self.tail)?;
        agree("list, end", NONE, at)
    }

    /// Takes the whole row out of the slab.
    pub fn clear<T>(&mut self, slab: &mut Slab<T>) {
        while let Some(at) = self.front() {
            self.unlink(slab, at);
            slab.take(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(list: &List, slab: &Slab<u8>) -> Vec<u8> {
        let mut values = Vec::new();
        let mut at = list.front();
        while let Some(piece) = at {
            values.push(slab[piece]);
            at = list.after(slab, piece);
        }
        values
    }

    #[test]
    fn pieces_are_linked_unlinked_and_used_again() {
        let mut slab = Slab::new();
        let mut list = List::EMPTY;
        let pieces: Vec<u32> = (0..4).map(|value| slab.insert(value)).collect();
        for &piece in &pieces[1..] {
            list.push_back(&mut slab, piece);
        }
        list.insert_after(&mut slab, NONE, pieces[0]);
        assert_eq!(values(&list, &slab), [0, 1, 2, 3]);
        list.unlink(&mut slab, pieces[3]);
        list.insert_after(&mut slab, pieces[0], pieces[3]);
        assert_eq!(values(&list, &slab), [0, 3, 1, 2]);
        list.unlink(&mut slab, pieces[0]);
        assert_eq!(slab.take(pieces[0]), 0);
        assert_eq!(slab.insert(9), pieces[0]);
        list.push_back(&mut slab, pieces[0]);
        assert_eq!(values(&list, &slab), [3, 1, 2, 9]);
        list.clear(&mut slab);
        assert!(list.is_empty());
        assert_eq!(slab.len(), 0);
    }
}
