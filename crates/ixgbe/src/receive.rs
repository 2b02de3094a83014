//! From the wire to the program.

use prony_ixgbe_regs as regs;

use crate::dma::{DmaError, Ring};
use crate::mmio::Bar;
use crate::pool::{BUFFER_BYTES, Packet, Pool};

/// The receive queue of a device.
#[derive(Debug)]
pub(crate) struct ReceiveQueue {
    ring: Ring,
    /// Buffer of each descriptor.
    buffers: Box<[u32]>,
    index: usize,
    prefetch: bool,
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
        Ok(Some(ReceiveQueue { ring, buffers, index: 0, prefetch }))
    }

    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
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
            let buffer = std::mem::replace(&mut self.buffers[index], next);
            if self.prefetch {
                pool.prefetch(buffer);
            }
            self.ring.write(index, pool.address(next), 0);
            index = (index + 1) & mask;
            // Buffers are longer than the frames that the device takes, so that each frame is one descriptor.
            let length = ((status >> 32) as u16).min(BUFFER_BYTES as u16);
            packets.push(Packet::of_parts(buffer, length, pool));
            received += 1;
        }
        if received > 0 {
            self.index = index;
            // One behind: a tail that equals the head would say that the ring is empty.
            bar.write32(regs::rdt(0), (index.wrapping_sub(1) & mask) as u32);
        }
        received
    }
}
