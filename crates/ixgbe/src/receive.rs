//! From the wire to the program.

use std::mem;

use prony_ixgbe_regs as regs;

use crate::checks::{at_mut, hold};
use crate::dma::{DmaError, Ring};
use crate::mmio::Bar;
use crate::pool::free::{Free, FreeList};
use crate::pool::{BUFFER_BYTES, Buffers, Packet, Pool};

/// The shortest frame on a wire without its frame check sequence (IEEE 802.3, 4.4.2).
const FRAME_BYTES_MIN: usize = 60;

/// The receive queue of a device.
#[derive(Debug)]
pub(crate) struct ReceiveQueue {
    ring: Ring,
    /// Index of the buffer of each descriptor.
    buffers: Box<[u32]>,
    index: usize,
    prefetch: bool,
    /// Within a frame whose last buffer has not come yet.
    is_inside: bool,
}

impl ReceiveQueue {
    /// A ring that is full of buffers; `None` if the pool has too few.
    pub(crate) fn new(pool: &mut Pool, entries: usize, prefetch: bool) -> Result<Option<ReceiveQueue>, DmaError> {
        let ring = Ring::allocate(entries, pool.memory().addressing())?;
        let buffers: Option<Box<[u32]>> = (0..entries).map(|_| pool.take_index()).collect();
        let Some(buffers) = buffers else { return Ok(None) };
        let (_, all) = pool.parts();
        for (index, &buffer) in buffers.iter().enumerate() {
            ring.descriptors().write(index, all.address(buffer), 0);
        }
        Ok(Some(ReceiveQueue { ring, buffers, index: 0, prefetch, is_inside: false }))
    }

    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Whether a frame waits to be taken.
    pub(crate) fn has_frames(&self) -> bool {
        self.ring.descriptors().status(self.index) as u32 & regs::RXD_DD != 0
    }

    /// Takes up to `max` frames.
    #[inline]
    pub(crate) fn batch(&mut self, bar: &Bar, pool: &mut Pool, packets: &mut Vec<Packet>, max: usize) -> usize {
        let before = self.index;
        let ring = self.ring.descriptors();
        if ring.status(before) as u32 & regs::RXD_DD == 0 {
            return 0;
        }
        let mask = ring.mask();
        let (free, all) = pool.parts();
        // Room for all of them at once: what is pushed one by one is compared with the capacity one by one.
        let first = packets.len();
        packets.resize_with(first + max.min(mask + 1), || all.packet(0, 0));
        let places = packets.get_mut(first..).unwrap_or_default();
        let received = match free {
            FreeList::Stack(indices) => self.fill(places, indices, all),
            other => self.fill(places, other, all),
        };
        packets.truncate(first + received);
        if self.index != before {
            // One behind: a tail that equals the head would say that the ring is empty.
            bar.write32(regs::rdt(0), (self.index.wrapping_sub(1) & mask) as u32);
        }
        received
    }

    /// Puts received frames into places, as many as there are of both. Returns their number.
    ///
    /// Not inlined: among the variables of its callers, those of the loop would lie on the stack. Inlined it took 5 to 10 % more cycles.
    #[inline(never)]
    fn fill(&mut self, places: &mut [Packet], free: &mut impl Free, all: Buffers) -> usize {
        let ring = self.ring.descriptors();
        let mask = ring.mask();
        let buffers = &mut self.buffers[..];
        hold(mask < buffers.len(), "each descriptor has a buffer");
        let (mut index, mut is_inside) = (self.index, self.is_inside);
        let mut received = 0;
        while received < places.len() {
            let status = ring.status(index);
            if status as u32 & regs::RXD_DD == 0 {
                break;
            }
            let Some(next) = free.take() else { break };
            let length = (status >> 32) as u16;
            let buffer = at_mut(buffers, index & mask);
            let is_end = status as u32 & regs::RXD_EOP != 0;
            let was_inside = mem::replace(&mut is_inside, !is_end);
            if !is_end || was_inside || !(FRAME_BYTES_MIN..=BUFFER_BYTES).contains(&length.into()) {
                // Not a frame in one buffer, or of a length that no wire and no buffer can have: dropped, buffer by buffer.
                // 7.1.6 has long frames in several.
                free.give(next);
                ring.write(index, all.address(*buffer), 0);
                index += 1;
                continue;
            }
            let buffer = mem::replace(buffer, next);
            if self.prefetch {
                all.prefetch(buffer);
            }
            ring.write(index, all.address(next), 0);
            index += 1;
            *at_mut(places, received) = all.packet(buffer, length);
            received += 1;
        }
        (self.index, self.is_inside) = (index & mask, is_inside);
        received
    }
}
