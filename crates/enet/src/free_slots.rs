//! Set of free slots, lowest first, as a tree of bit masks.

use alloc::vec::Vec;

use crate::invariant::{InvariantError, agree, holds};

const BITS: usize = 64;

/// A set of numbers below a fixed end; the lowest is found in a look a level.
pub(crate) struct FreeSlots {
    /// The slots themselves first; each further level has a bit for every word below that is not 0.
    levels: Vec<Vec<u64>>,
    length: usize,
}

impl FreeSlots {
    /// Set of all numbers below `slots`.
    pub fn all(slots: usize) -> FreeSlots {
        let mut levels = Vec::new();
        let mut bits = slots.max(1);
        loop {
            levels.push(alloc::vec![0; bits.div_ceil(BITS)]);
            if bits <= BITS {
                break;
            }
            bits = bits.div_ceil(BITS);
        }
        let mut free = FreeSlots { levels, length: 0 };
        for slot in 0..slots {
            free.insert(slot as u32);
        }
        free
    }

    pub fn len(&self) -> usize {
        self.length
    }

    pub fn lowest(&self) -> Option<u32> {
        let mut at = 0;
        for level in self.levels.iter().rev() {
            let word = level.get(at).copied().filter(|&word| word != 0)?;
            at = at * BITS + word.trailing_zeros() as usize;
        }
        Some(at as u32)
    }

    pub fn contains(&self, slot: u32) -> bool {
        let word = self.levels.first().and_then(|level| level.get(slot as usize / BITS));
        word.is_some_and(|word| word >> (slot as usize % BITS) & 1 != 0)
    }

    /// Checks that each level says which words below it are not 0.
    pub fn check(&self) -> Result<(), InvariantError> {
        for (below, above) in self.levels.iter().zip(self.levels.iter().skip(1)) {
            for (at, &word) in below.iter().enumerate() {
                let bit = above.get(at / BITS).is_some_and(|mask| mask >> (at % BITS) & 1 != 0);
                holds("free slots, mask of word", at, bit == (word != 0))?;
            }
        }
        let slots = self.levels.iter().take(1).flatten().map(|word| word.count_ones() as usize).sum();
        agree("free slots", slots, self.length)
    }

    pub fn insert(&mut self, slot: u32) {
        let mut at = slot as usize;
        self.length += 1;
        for level in &mut self.levels {
            if let Some(word) = level.get_mut(at / BITS) {
                *word |= 1 << (at % BITS);
            }
            at /= BITS;
        }
    }

    pub fn remove(&mut self, slot: u32) {
        let mut at = slot as usize;
        self.length -= 1;
        for level in &mut self.levels {
            let Some(word) = level.get_mut(at / BITS) else { break };
            *word &= !(1 << (at % BITS));
            if *word != 0 {
                break;
            }
            at /= BITS;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_slot_comes_first_at_every_size() {
        for slots in [1, 2, 63, 64, 65, 4095, 4096, 4097, 65535] {
            let mut free = FreeSlots::all(slots);
            for expected in 0..slots as u32 {
                assert_eq!(free.lowest(), Some(expected));
                free.remove(expected);
                assert!(!free.contains(expected));
            }
            assert_eq!(free.check(), Ok(()));
            assert_eq!((free.lowest(), free.len()), (None, 0));
            let last = slots as u32 - 1;
            free.insert(last);
            assert_eq!(free.lowest(), Some(last));
            free.insert(last / 2);
            assert_eq!(free.check(), if last > 0 { Ok(()) } else { free.check() });
            assert_eq!(free.lowest(), Some(last / 2));
        }
    }
}
