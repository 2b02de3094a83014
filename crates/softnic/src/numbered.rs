//! What drivers name by number: registers and queues. The only places at which such a number becomes an index.

use std::ops::{Index, IndexMut};

use prony_ixgbe_regs::BAR_BYTES;

/// Queues of each direction: those of RSS (datasheet 7.1.2).
pub const QUEUES: usize = 16;

const WORDS: usize = BAR_BYTES / 4;
const _: () =
    assert!(WORDS.is_power_of_two() && QUEUES.is_power_of_two(), "a remainder is a mask, and costs no branch");

/// The words of the BAR, by the offset of a register in bytes.
#[derive(Debug, Clone)]
pub(crate) struct Registers(Box<[u32; WORDS]>);

impl Registers {
    /// All are 0.
    pub(crate) fn new() -> Registers {
        Registers(vec![0; WORDS].into_boxed_slice().try_into().expect("it has just been made of so many words"))
    }
}

impl Index<u32> for Registers {
    type Output = u32;

    #[inline]
    #[expect(clippy::indexing_slicing, reason = "a remainder of the number of words is below it")]
    fn index(&self, offset: u32) -> &u32 {
        debug_assert!((offset as usize) < BAR_BYTES, "the table of registers has no other offsets");
        &self.0[offset as usize / 4 % WORDS]
    }
}

impl IndexMut<u32> for Registers {
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "a remainder of the number of words is below it")]
    fn index_mut(&mut self, offset: u32) -> &mut u32 {
        debug_assert!((offset as usize) < BAR_BYTES, "the table of registers has no other offsets");
        &mut self.0[offset as usize / 4 % WORDS]
    }
}

/// One of each for every queue of a direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Queues<T>(pub(crate) [T; QUEUES]);

impl<T> Index<usize> for Queues<T> {
    type Output = T;

    #[inline]
    #[expect(clippy::indexing_slicing, reason = "a remainder of the number of queues is below it")]
    fn index(&self, queue: usize) -> &T {
        debug_assert!(queue < QUEUES, "the table of registers and RSS have no other queues");
        &self.0[queue % QUEUES]
    }
}

impl<T> IndexMut<usize> for Queues<T> {
    #[inline]
    #[expect(clippy::indexing_slicing, reason = "a remainder of the number of queues is below it")]
    fn index_mut(&mut self, queue: usize) -> &mut T {
        debug_assert!(queue < QUEUES, "the table of registers and RSS have no other queues");
        &mut self.0[queue % QUEUES]
    }
}
