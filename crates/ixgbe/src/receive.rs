//! From the wire to the program.

use prony_ixgbe_regs as regs;

use crate::checks::at_mut;
use crate::dma::{DmaError, Ring};
use crate::mmio::Bar;
use crate::pool::{BUFFER_BYTES, Packet, Pool};

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
        let ring = Ring::allocate(entries)?;
        let buffers: Option<Box<[u32]>> = (0..entries).map(|_| pool.take_index()).collect();
        let Some(buffers) = buffers else { return Ok(None) };
        for (index, &buffer) in buffers.iter().enumerate() {
            ring.write(index, pool.address(buffer), 0);
        }
        Ok(Some(ReceiveQueue { ring, buffers, index: 0, prefetch, is_inside: false }))
    }

    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// A frame in one buffer, of a length that a wire and a buffer can have. Others are dropped, buffer by buffer: 7.1.6 has
    /// long frames in several.
    #[inline]
    fn is_whole(&mut self, status: u64, length: u16) -> bool {
        let is_end = status as u32 & regs::RXD_EOP != 0;
        let was_inside = std::mem::replace(&mut self.is_inside, !is_end);
        is_end && !was_inside && (FRAME_BYTES_MIN..=BUFFER_BYTES).contains(&length.into())
    }

    /// Takes up to `max` frames.
    #[inline]
    pub(crate) fn batch(&mut self, bar: &Bar, pool: &mut Pool, packets: &mut Vec<Packet>, max: usize) -> usize {
        let mask = self.ring.mask();
        let mut index = self.index;
        let mut received = 0;
        while received < max {
            let status = self.ring.status(index);
            if status as u32 & regs::RXD_DD == 0 {
                break;
            }
            let Some(next) = pool.take_index() else { break };
            let length = (status >> 32) as u16;
            if !self.is_whole(status, length) {
                pool.give_index(next);
                let buffer = *at_mut(&mut self.buffers, index);
                self.ring.write(index, pool.address(buffer), 0);
                index = (index + 1) & mask;
                continue;
            }
            let buffer = std::mem::replace(at_mut(&mut self.buffers, index), next);
            if self.prefetch {
                pool.prefetch(buffer);
            }
            self.ring.write(index, pool.address(next), 0);
            index = (index + 1) & mask;
            packets.push(Packet::of_parts(buffer, length, pool));
            received += 1;
        }
        if index != self.index {
            self.index = index;
            // One behind: a tail that equals the head would say that the ring is empty.
            bar.write32(regs::rdt(0), (index.wrapping_sub(1) & mask) as u32);
        }
        received
    }
}
