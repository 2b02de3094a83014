//! From the program to the wire.

use prony_ixgbe_regs as regs;

use crate::checks::{at, at_mut, hold};
use crate::dma::{Addressing, DmaError, Ring};
use crate::mmio::Bar;
use crate::pool::{Packet, Pool};

/// One buffer, the last of its frame; the device reports when it was sent, and appends the frame check sequence (7.2.3.2.4).
const COMMAND: u32 = regs::TXD_EOP | regs::TXD_RS | regs::TXD_IFCS | regs::TXD_DEXT | regs::TXD_DTYP_DATA;

/// The transmit queue of a device.
#[derive(Debug)]
pub(crate) struct TransmitQueue {
    ring: Ring,
    /// Index of the buffer of each descriptor.
    buffers: Box<[u32]>,
    index: usize,
    /// The first descriptor whose buffer was not given back yet.
    clean: usize,
    clean_batch: usize,
}

impl TransmitQueue {
    pub(crate) fn new(entries: usize, clean_batch: usize, addressing: Addressing) -> Result<TransmitQueue, DmaError> {
        let ring = Ring::allocate(entries, addressing)?;
        let clean_batch = clean_batch.clamp(1, entries / 2);
        Ok(TransmitQueue { ring, buffers: vec![0; entries].into(), index: 0, clean: 0, clean_batch })
    }

    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Gives the buffers of sent frames back, a batch at a time: only the last descriptor of one is read.
    #[inline]
    pub(crate) fn clean_up(&mut self, pool: &mut Pool) {
        let ring = self.ring.descriptors();
        let mask = ring.mask();
        while self.index.wrapping_sub(self.clean) & mask >= self.clean_batch {
            let last = (self.clean + self.clean_batch - 1) & mask;
            if (ring.status(last) >> 32) as u32 & regs::TXD_WB_DD == 0 {
                break;
            }
            let end = self.clean + self.clean_batch;
            match end <= self.buffers.len() {
                true => {
                    hold(self.clean <= end, "a batch is a range");
                    #[expect(
                        clippy::indexing_slicing,
                        reason = "start and end were just compared, by a match and by `hold`"
                    )]
                    pool.give_indices(self.buffers[self.clean..end].iter().copied());
                }
                false => pool.give_indices((self.clean..end).map(|index| *at(&self.buffers, index & mask))),
            }
            self.clean = end & mask;
        }
    }

    /// Sends packets from the front as far as there is room; the others stay.
    #[inline]
    pub(crate) fn batch(&mut self, bar: &Bar, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        self.clean_up(pool);
        let ring = self.ring.descriptors();
        let mask = ring.mask();
        let buffers = &mut self.buffers[..];
        hold(mask < buffers.len(), "each descriptor has a buffer");
        let (_, all) = pool.parts();
        let mut index = self.index;
        let room = mask - (self.index.wrapping_sub(self.clean) & mask);
        let sent = packets.len().min(room);
        for packet in packets.drain(..sent) {
            let length = packet.len() as u32;
            let command = u64::from(COMMAND | length) | u64::from(length << regs::TXD_OLINFO_PAYLEN_SHIFT) << 32;
            ring.write(index, all.address_of(&packet), command);
            *at_mut(buffers, index & mask) = packet.index();
            index += 1;
        }
        if sent > 0 {
            self.index = index & mask;
            bar.write32(regs::tdt(0), self.index as u32);
        }
        sent
    }
}
