//! Slots in a row, linked through themselves: joining, leaving and rotating cost the same for any number of slots.

use alloc::vec::Vec;

use crate::invariant::{InvariantError, agree, holds};

const NONE: u32 = u32::MAX;
/// Mark in `next` of a slot that is in no row.
const OUTSIDE: u32 = u32::MAX - 1;

#[derive(Clone, Copy)]
struct Links {
    next: u32,
    previous: u32,
}

/// A row of slots, each in it once at most.
pub(crate) struct Ring {
    links: Vec<Links>,
    head: u32,
    tail: u32,
    length: usize,
}

impl Ring {
    pub fn new(slots: usize) -> Ring {
        Ring { links: alloc::vec![Links { next: OUTSIDE, previous: NONE }; slots], head: NONE, tail: NONE, length: 0 }
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "slots come from the host, which has as many as the row; peers name none: they have tokens"
    )]
    fn links(&self, slot: u32) -> &Links {
        &self.links[slot as usize]
    }

    #[expect(clippy::indexing_slicing, reason = "as in `links`")]
    fn links_mut(&mut self, slot: u32) -> &mut Links {
        &mut self.links[slot as usize]
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Address of the links of `slot`, for prefetching.
    pub fn place(&self, slot: u32) -> *const u8 {
        core::ptr::from_ref(self.links(slot)).cast()
    }

    pub fn contains(&self, slot: u32) -> bool {
        // An empty ring is known without a look at the slot, whose links are rarely in the cache.
        self.length > 0 && self.links(slot).next != OUTSIDE
    }

    pub fn front(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// Slots from front to back.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let mut at = self.head;
        core::iter::from_fn(move || {
            let slot = (at != NONE).then_some(at)?;
            at = self.links(slot).next;
            Some(slot)
        })
    }

    /// The slot behind `slot`, which must be in the row.
    pub fn after(&self, slot: u32) -> Option<u32> {
        let next = self.links(slot).next;
        (next < OUTSIDE).then_some(next)
    }

    /// Puts `slot` at the tail, unless it is in the row already.
    pub fn push_back(&mut self, slot: u32) {
        if self.contains(slot) {
            return;
        }
        *self.links_mut(slot) = Links { next: NONE, previous: self.tail };
        match self.tail {
            NONE => self.head = slot,
            tail => self.links_mut(tail).next = slot,
        }
        self.tail = slot;
        self.length += 1;
    }

    pub fn pop_front(&mut self) -> Option<u32> {
        let slot = self.front()?;
        self.remove(slot);
        Some(slot)
    }

    /// Takes `slot` out, if it is in the row.
    pub fn remove(&mut self, slot: u32) {
        if !self.contains(slot) {
            return;
        }
        let Links { next, previous } = *self.links(slot);
        match previous {
            NONE => self.head = next,
            previous => self.links_mut(previous).next = next,
        }
        match next {
            NONE => self.tail = previous,
            next => self.links_mut(next).previous = previous,
        }
        self.links_mut(slot).next = OUTSIDE;
        self.length -= 1;
    }
}

impl Ring {
    /// Number of slots that may be part of the row.
    pub fn slots(&self) -> usize {
        self.links.len()
    }

    /// Checks that the row leads from head to tail and back, and that nothing else is marked as part of it.
    pub fn check(&self) -> Result<(), InvariantError> {
        let (mut at, mut previous, mut length) = (self.head, NONE, 0);
        while let Some(links) = self.links.get(at as usize) {
            holds("row, link back of slot", at as usize, links.previous == previous && length < self.length)?;
            (previous, at) = (at, links.next);
            length += 1;
        }
        agree("row, last slot", previous, self.tail)?;
        agree("row, end", NONE, at)?;
        agree("row, length", length, self.length)?;
        agree("row, slots marked", length, self.links.iter().filter(|links| links.next != OUTSIDE).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn a_ring_does_what_a_queue_with_search_does(steps in prop::collection::vec((0u8..3, 0u32..8), 0..200)) {
            let mut ring = Ring::new(8);
            let mut queue = VecDeque::new();
            for (what, slot) in steps {
                match what {
                    0 => {
                        ring.push_back(slot);
                        if !queue.contains(&slot) {
                            queue.push_back(slot);
                        }
                    }
                    1 => {
                        ring.remove(slot);
                        queue.retain(|&other| other != slot);
                    }
                    _ => prop_assert_eq!(ring.pop_front(), queue.pop_front()),
                }
                prop_assert!(ring.iter().eq(queue.iter().copied()));
                prop_assert_eq!(ring.check(), Ok(()));
                prop_assert_eq!(ring.len(), queue.len());
                prop_assert_eq!(ring.contains(slot), queue.contains(&slot));
            }
        }
    }
}
