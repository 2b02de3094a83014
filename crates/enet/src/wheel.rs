//! Deadlines of slots in a hierarchical timing wheel.
//!
//! Setting, moving and removing a deadline costs the same for any number of slots, and time that passes costs what
//! fires in it: empty stretches are skipped by bit masks. Source: Varghese & Lauck 1987, scheme 7.

use alloc::vec::Vec;

use crate::invariant::{InvariantError, agree, holds};

/// Bits of a level's number: a level has 64 buckets, as its mask has bits.
const BITS: u32 = 6;
const BUCKETS: usize = 1 << BITS;
/// Six levels of 64 reach 2^36 ms, two years.
const LEVELS: usize = 6;
const REACH_MS: u64 = 1 << (BITS * LEVELS as u32);

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Entry {
    deadline: u64,
    next: u32,
    previous: u32,
    /// Level and bucket, [`NONE`] for a slot without a deadline.
    bucket: u32,
}

/// At most one deadline a slot, in milliseconds.
// What is looked at when nothing is due comes first.
#[repr(C)]
pub(crate) struct Wheel {
    /// Nothing is to do before, neither to fire nor to move to a lower level.
    soonest: u64,
    /// Time up to which every deadline has fired, in milliseconds.
    now: u64,
    /// Number of entries touched so far.
    pub work: u64,
    occupied: [u64; LEVELS],
    entries: Vec<Entry>,
    heads: [[u32; BUCKETS]; LEVELS],
}

impl Wheel {
    pub fn new(slots: usize) -> Wheel {
        Wheel {
            entries: alloc::vec![Entry { deadline: 0, next: NONE, previous: NONE, bucket: NONE }; slots],
            heads: [[NONE; BUCKETS]; LEVELS],
            occupied: [0; LEVELS],
            now: 0,
            soonest: u64::MAX,
            work: 0,
        }
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "slots come from the host, which has as many as the wheel; peers name none: they have tokens"
    )]
    fn entry(&self, slot: u32) -> &Entry {
        &self.entries[slot as usize]
    }

    #[expect(clippy::indexing_slicing, reason = "as in `entry`")]
    fn entry_mut(&mut self, slot: u32) -> &mut Entry {
        &mut self.entries[slot as usize]
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "levels are below `LEVELS` and buckets below `BUCKETS`, where `link` computes them from a deadline"
    )]
    fn head(&self, level: usize, at: usize) -> u32 {
        self.heads[level][at]
    }

    #[expect(clippy::indexing_slicing, reason = "as in `head`")]
    fn head_mut(&mut self, level: usize, at: usize) -> &mut u32 {
        &mut self.heads[level][at]
    }

    #[expect(clippy::indexing_slicing, reason = "as in `head`")]
    fn occupied_mut(&mut self, level: usize) -> &mut u64 {
        &mut self.occupied[level]
    }

    /// Address of the entry of `slot`, for prefetching.
    pub fn place(&self, slot: u32) -> *const u8 {
        core::ptr::from_ref(self.entry(slot)).cast()
    }

    /// Deadline of `slot`, if it has one.
    pub fn deadline(&self, slot: u32) -> Option<u64> {
        let entry = self.entry(slot);
        (entry.bucket != NONE).then_some(entry.deadline)
    }

    /// Sets the deadline of `slot`, in place of another. One that is past fires at once.
    pub fn set(&mut self, slot: u32, deadline: u64) {
        self.remove(slot);
        self.link(slot, deadline);
    }

    /// Sets the deadline of `slot` unless it has one that is no later.
    pub fn set_if_earlier(&mut self, slot: u32, deadline: u64) {
        if self.deadline(slot).is_none_or(|set| deadline < set) {
            self.set(slot, deadline);
        }
    }

    pub fn remove(&mut self, slot: u32) {
        let Entry { next, previous, bucket, .. } = *self.entry(slot);
        if bucket == NONE {
            return;
        }
        let (level, at) = (bucket as usize / BUCKETS, bucket as usize % BUCKETS);
        match previous {
            NONE => *self.head_mut(level, at) = next,
            previous => self.entry_mut(previous).next = next,
        }
        if next != NONE {
            self.entry_mut(next).previous = previous;
        }
        if self.head(level, at) == NONE {
            *self.occupied_mut(level) &= !(1 << at);
        }
        self.entry_mut(slot).bucket = NONE;
    }

    fn link(&mut self, slot: u32, deadline: u64) {
        self.work += 1;
        let tick = deadline.clamp(self.now, self.now + REACH_MS - 1);
        self.soonest = self.soonest.min(tick);
        // The highest group of bits in which deadline and now differ.
        let level = match tick ^ self.now {
            0 => 0,
            differs => (u64::BITS - 1 - differs.leading_zeros()) / BITS,
        };
        // Past the reach of the highest level the deadline waits in its last bucket and is linked again there.
        let level = (level as usize).min(LEVELS - 1);
        let at = (tick >> (BITS * level as u32)) as usize % BUCKETS;
        let head = self.head(level, at);
        if head != NONE {
            self.entry_mut(head).previous = slot;
        }
        *self.head_mut(level, at) = slot;
        *self.occupied_mut(level) |= 1 << at;
        *self.entry_mut(slot) = Entry { deadline, next: head, previous: NONE, bucket: (level * BUCKETS + at) as u32 };
    }

    /// Lets time pass until `now` if nothing is due until then: one look, where [`Wheel::pop`] takes one a level. False if
    /// something may be due, and [`Wheel::pop`] has to be called.
    #[inline]
    pub fn passes(&mut self, now: u64) -> bool {
        let passes = now < self.soonest;
        if passes {
            self.now = self.now.max(now);
        }
        passes
    }

    /// Time of the next action: no later than the next deadline.
    pub fn next(&self) -> Option<u64> {
        (0..LEVELS).filter_map(|level| self.next_of(level)).min().map(|start| start.max(self.soonest))
    }

    /// Start of the next occupied bucket of `level`.
    fn next_of(&self, level: usize) -> Option<u64> {
        let occupied = self.occupied.get(level).copied().filter(|&occupied| occupied != 0)?;
        let shift = BITS * level as u32;
        let here = (self.now >> shift) as usize % BUCKETS;
        let ahead = u64::from(occupied.rotate_right(here as u32).trailing_zeros());
        let start = ((self.now >> shift) + ahead) << shift;
        Some(start.max(self.now))
    }

    /// Takes a slot out whose deadline is `now` or earlier.
    pub fn pop(&mut self, now: u64) -> Option<u32> {
        loop {
            // Lower levels last, as higher ones empty into them.
            let (level, start) = (0..LEVELS)
                .rev()
                .filter_map(|level| self.next_of(level).map(|start| (level, start)))
                .min_by_key(|&(_, start)| start)
                .unwrap_or((0, u64::MAX));
            if start > now {
                self.now = self.now.max(now);
                self.soonest = start;
                return None;
            }
            self.now = start;
            let at = (start >> (BITS * level as u32)) as usize % BUCKETS;
            let slot = self.head(level, at);
            let deadline = self.entry(slot).deadline;
            self.remove(slot);
            self.work += 1;
            if deadline <= now {
                return Some(slot);
            }
            self.link(slot, deadline);
        }
    }
}

impl Wheel {
    /// Number of slots that may have a deadline.
    pub fn slots(&self) -> usize {
        self.entries.len()
    }

    /// Checks that each slot with a deadline is in its bucket, and that the masks say which buckets have any.
    pub fn check(&self) -> Result<(), InvariantError> {
        let mut linked = 0;
        for (level, (heads, &occupied)) in self.heads.iter().zip(&self.occupied).enumerate() {
            for (at, &head) in heads.iter().enumerate() {
                let bucket = level * BUCKETS + at;
                holds("wheel, mask of bucket", bucket, (head != NONE) == (occupied >> at & 1 != 0))?;
                let (mut slot, mut previous) = (head, NONE);
                while let Some(entry) = self.entries.get(slot as usize) {
                    linked += 1;
                    let is_linked = entry.previous == previous && entry.bucket as usize == bucket;
                    holds("wheel, link back of slot", slot as usize, is_linked && linked <= self.entries.len())?;
                    (previous, slot) = (slot, entry.next);
                }
                agree("wheel, end of a bucket", NONE, slot)?;
            }
        }
        agree("wheel, deadlines", linked, self.entries.iter().filter(|entry| entry.bucket != NONE).count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn an_empty_stretch_is_skipped_whatever_its_length() {
        let mut wheel = Wheel::new(1);
        wheel.set(0, 40_000_000_000);
        assert_eq!(wheel.pop(39_999_999_999), None);
        assert_eq!(wheel.pop(40_000_000_000), Some(0));
        assert!(wheel.work < 20, "{} entries touched", wheel.work);
    }

    proptest! {
        #[test]
        fn slots_fire_when_due_and_never_before(
            steps in prop::collection::vec((0u32..16, 0u64..5000, 0u64..300), 1..200),
            stretch in prop::sample::select(std::vec![1u64, 37, 4096, 1 << 20]),
        ) {
            let mut wheel = Wheel::new(16);
            let mut set = BTreeMap::new();
            let mut now = 0;
            for (slot, ahead, passes) in steps {
                wheel.set(slot, now + ahead * stretch);
                set.insert(slot, now + ahead * stretch);
                if ahead % 7 == 0 {
                    wheel.remove(slot);
                    set.remove(&slot);
                }
                prop_assert_eq!(wheel.check(), Ok(()));
                if let Some(next) = wheel.next() {
                    prop_assert!(set.values().all(|&deadline| deadline >= next));
                }
                prop_assert_eq!(wheel.next().is_none(), set.is_empty());
                now += passes * stretch;
                if wheel.passes(now) {
                    prop_assert!(set.values().all(|&deadline| deadline > now));
                    prop_assert!(wheel.next().is_none_or(|next| next > now), "nobody is woken for nothing again and again");
                    continue;
                }
                while let Some(fired) = wheel.pop(now) {
                    let deadline = set.remove(&fired);
                    prop_assert!(deadline.is_some_and(|deadline| deadline <= now));
                }
                prop_assert!(set.values().all(|&deadline| deadline > now));
                prop_assert!(wheel.passes(now), "nothing is left that is due");
            }
        }
    }
}
