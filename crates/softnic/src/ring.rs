//! A ring of descriptors: which of them the device owns.
//!
//! Base, length, head and tail are a driver's. [`Ring::new`] takes only what does not wrap, [`Ring::set_tail`] and [`Ring::set_head`] only what lies
//! in the ring; so nothing here overflows, and where a number could it would wrap and not panic.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::dma::{DESCRIPTOR_BYTES, DmaFault, DmaMemory};

/// Frames of a burst.
pub(crate) const BURST: usize = 32;
/// Datasheet 8.2.3.8.3: the length is a multiple of 128 bytes, and at most 8 K descriptors.
const RING_BYTES_STEP: u32 = 128;
const RING_BYTES_MAX: u32 = 8192 * 16;

/// The ring of one queue. The device owns the descriptors from `head` up to, but without, `tail`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ring {
    base: u64,
    descriptors: u32,
    head: u32,
    tail: u32,
}

impl Ring {
    /// A ring as the registers describe it; `None` if its length is not one that a device takes.
    pub(crate) fn new(base: u64, bytes: u32, head: u32) -> Option<Ring> {
        let is_taken = bytes > 0 && bytes <= RING_BYTES_MAX && bytes.is_multiple_of(RING_BYTES_STEP);
        let descriptors = bytes >> DESCRIPTOR_BYTES.trailing_zeros();
        // 8.2.3.8.1: the base is aligned to 128 bytes, the bits below read 0.
        let base = base & !u64::from(RING_BYTES_STEP - 1);
        let fits = base.checked_add(u64::from(bytes)).is_some();
        let head = if head < descriptors { head } else { 0 };
        (is_taken && fits).then_some(Ring { base, descriptors, head, tail: head })
    }

    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    pub(crate) fn descriptors(&self) -> u32 {
        self.descriptors
    }

    pub(crate) fn head(&self) -> u32 {
        self.head
    }

    /// False if the ring has no such descriptor; then nothing changes.
    #[inline]
    pub(crate) fn set_tail(&mut self, tail: u32) -> bool {
        let is_inside = tail < self.descriptors;
        if is_inside {
            self.tail = tail;
        }
        is_inside
    }

    /// False if the ring has no such descriptor; then nothing changes.
    pub(crate) fn set_head(&mut self, head: u32) -> bool {
        let is_inside = head < self.descriptors;
        if is_inside {
            self.head = head;
        }
        is_inside
    }

    /// Descriptors that the device owns.
    #[inline]
    pub(crate) fn owned(&self) -> u32 {
        match self.tail >= self.head {
            true => self.tail.wrapping_sub(self.head),
            false => self.descriptors.wrapping_sub(self.head).wrapping_add(self.tail),
        }
    }

    /// Index of the descriptor `ahead` of the head. `ahead`: at most the number of descriptors.
    #[inline]
    pub(crate) fn index(&self, ahead: u32) -> u32 {
        let index = self.head.wrapping_add(ahead);
        if index >= self.descriptors { index.wrapping_sub(self.descriptors) } else { index }
    }

    /// Index of the descriptor behind another one.
    #[inline]
    pub(crate) fn after(&self, index: u32) -> u32 {
        let next = index.wrapping_add(1);
        if next >= self.descriptors { 0 } else { next }
    }

    /// Bus address of a descriptor.
    #[inline]
    pub(crate) fn address(&self, index: u32) -> u64 {
        self.base.wrapping_add(u64::from(index).wrapping_mul(DESCRIPTOR_BYTES))
    }

    /// Number of descriptors from the head to another one.
    pub(crate) fn ahead(&self, index: u32) -> u32 {
        match index >= self.head {
            true => index.wrapping_sub(self.head),
            false => self.descriptors.wrapping_sub(self.head).wrapping_add(index),
        }
    }

    /// Gives the first owned descriptor back.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.head = self.after(self.head);
    }

    /// Gives the first owned descriptors back. `number`: at most as many as there are.
    #[inline]
    pub(crate) fn advance_by(&mut self, number: u32) {
        self.head = self.index(number);
    }

    /// Announces that the device will use the descriptors of the next burst, as far as it owns them.
    #[inline]
    pub(crate) fn prefetch<M: DmaMemory>(&self, memory: &mut M) {
        let number = self.owned().min(BURST as u32);
        // Four are a line of 64 bytes.
        (0..number).step_by(4).for_each(|ahead| memory.prefetch_write(self.address(self.index(ahead))));
    }

    /// Reads descriptors from the head on. `into`: at most as many as there are.
    ///
    /// # Errors
    /// [`DmaFault`], without the index of the descriptor.
    #[inline]
    pub(crate) fn read<M: DmaMemory>(&self, memory: &mut M, into: &mut [[u64; 2]]) -> Result<(), DmaFault> {
        let (first, second) = into.split_at_mut(into.len().min(self.descriptors.saturating_sub(self.head) as usize));
        for (address, part) in [(self.address(self.head), first), (self.base, second)] {
            memory.read_descriptors(address, part)?;
        }
        Ok(())
    }

    /// Writes descriptors back, the first of them that of index `from`. `words`: at most as many as there are.
    ///
    /// # Errors
    /// Index of the first that could not be written. Those before it were.
    #[inline]
    pub(crate) fn write<M: DmaMemory>(
        &self,
        memory: &mut M,
        from: u32,
        words: &[[u64; 2]],
    ) -> Result<(), (u32, DmaFault)> {
        let (first, second) = words.split_at(words.len().min(self.descriptors.saturating_sub(from) as usize));
        for (index, part) in [(from, first), (0, second)] {
            if memory.write_descriptors(self.address(index), part).is_err() {
                for (index, words) in (index..).zip(part) {
                    memory.write_descriptor(self.address(index), *words).map_err(|fault| (index, fault))?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ownership_wraps_at_every_offset() {
        for head in 0..16 {
            for owned in 0..16 {
                let mut ring = Ring::new(0x1000, 256, head).expect("16 descriptors");
                assert!(ring.set_tail((head + owned) % 16));
                assert_eq!(ring.owned(), owned, "{head}");
                for left in (0..owned).rev() {
                    ring.advance();
                    assert_eq!(ring.owned(), left);
                }
                assert_eq!(ring.head(), ring.tail);
            }
        }
    }

    #[test]
    fn a_length_that_no_device_takes_makes_no_ring() {
        for bytes in [0, 16, 100, 127, 129, RING_BYTES_MAX + 128, u32::MAX] {
            assert_eq!(Ring::new(0, bytes, 0), None, "{bytes}");
        }
        assert_eq!(Ring::new(u64::MAX - 255, 256, 0), None);
        assert_eq!(Ring::new(0x1234_5678, 128, 9).map(|ring| (ring.base(), ring.head())), Some((0x1234_5600, 0)));
    }

    #[test]
    fn a_tail_outside_of_the_ring_changes_nothing() {
        let mut ring = Ring::new(0, 256, 3).expect("16 descriptors");
        assert!(!ring.set_tail(16) && !ring.set_tail(u32::MAX) && ring.owned() == 0);
    }
}
