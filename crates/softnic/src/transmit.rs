//! From the driver to the wire.

use prony_ixgbe_regs as regs;

use crate::device::Device;
use crate::dma::DmaMemory;
use crate::event::{Direction, Event, Malformed, Target};
use crate::frame::FRAME_BYTES_MAX;
use crate::receive::HEADER_BYTES;
use crate::ring::Ring;

/// Descriptors that are read before the first of their buffers is.
const AHEAD: usize = 32;
/// The shortest frame without its frame check sequence (IEEE 802.3, 4.4.2), to which the device pads.
const PADDED_BYTES: usize = 60;

/// State of a transmit queue and its ring.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TransmitQueue {
    pub(crate) ring: Ring,
    pub(crate) is_enabled: bool,
    is_halted: bool,
    /// Bytes of the frame whose last descriptor has not come yet.
    filled: usize,
    /// That frame is malformed: its remaining descriptors are skipped.
    is_skipping: bool,
}

impl TransmitQueue {
    pub(crate) fn set_ring(&mut self, ring: Ring, is_enabled: bool) {
        *self = TransmitQueue { ring, is_enabled, ..TransmitQueue::default() };
    }
}

impl Device {
    /// Sends what the driver has put into a queue: up to `descriptors_max` descriptors, each frame to `wire`.
    ///
    /// Returns the number of descriptors that were used. A frame goes to `wire` without its frame check sequence; while the
    /// link is down it is lost.
    #[inline]
    pub fn transmit<M: DmaMemory>(
        &mut self,
        memory: &mut M,
        index: usize,
        descriptors_max: u32,
        mut wire: impl FnMut(&[u8]),
    ) -> u32 {
        let queue = &mut self.transmit[index];
        if !self.is_transmitting || !queue.is_enabled || queue.is_halted {
            return 0;
        }
        let mut left = queue.ring.owned().min(descriptors_max);
        let mut used = 0;
        let mut words = [[0; 2]; AHEAD];
        while left > 0 {
            let number = left.min(AHEAD as u32);
            for (ahead, words) in (0..number).zip(&mut words) {
                let queue = &mut self.transmit[index];
                let place = queue.ring.index(ahead);
                match memory.read_descriptor(queue.ring.address(place)) {
                    Ok(found) => {
                        memory.prefetch(found[0]);
                        *words = found;
                    }
                    Err(fault) => {
                        queue.is_halted = true;
                        let (direction, target) = (Direction::Transmit, Target::Descriptor);
                        self.events.push(Event::Fault { direction, queue: index as u32, index: place, target, fault });
                        return used;
                    }
                }
            }
            for words in &words[..number as usize] {
                if !self.send(memory, index, *words, &mut wire) {
                    return used;
                }
                used += 1;
            }
            left -= number;
        }
        used
    }

    /// Descriptors of a transmit queue that wait to be sent.
    pub fn transmit_waiting(&self, queue: usize) -> u32 {
        let queue = &self.transmit[queue];
        if queue.is_enabled && !queue.is_halted { queue.ring.owned() } else { 0 }
    }

    /// Uses one descriptor; false if the queue stands still now.
    #[inline]
    fn send<M: DmaMemory>(
        &mut self,
        memory: &mut M,
        index: usize,
        [address, words]: [u64; 2],
        wire: &mut impl FnMut(&[u8]),
    ) -> bool {
        let queue = &mut self.transmit[index];
        let place = queue.ring.head();
        let command = words as u32;
        let is_context = command & (regs::TXD_DEXT | regs::TXD_DTYP_MASK) == regs::TXD_DEXT | regs::TXD_DTYP_CONTEXT;
        if !is_context {
            let bytes = (command & regs::TXD_DTALEN_MASK) as usize;
            let end = command & regs::TXD_EOP != 0;
            if bytes == 0 {
                self.malformed(index, place, Malformed::ZeroLength);
            } else if self.transmit[index].filled + bytes > FRAME_BYTES_MAX {
                self.malformed(index, place, Malformed::TooLong);
            }
            let queue = &mut self.transmit[index];
            if !queue.is_skipping {
                let into = &mut self.frames[index][queue.filled..queue.filled + bytes];
                if let Err(fault) = memory.read(address, into) {
                    queue.is_halted = true;
                    let (direction, target) = (Direction::Transmit, Target::Buffer);
                    self.events.push(Event::Fault { direction, queue: index as u32, index: place, target, fault });
                    return false;
                }
                queue.filled += bytes;
                if self.is_tracing {
                    self.events.push(Event::Descriptor {
                        direction: Direction::Transmit,
                        queue: index as u32,
                        index: place,
                        address,
                        bytes: bytes as u32,
                        end,
                    });
                }
            }
            if end {
                self.end_frame(index, place, wire);
            }
        }
        if command & regs::TXD_RS != 0 {
            let done = u64::from(regs::TXD_WB_DD) << 32;
            let queue = &mut self.transmit[index];
            if let Err(fault) = memory.write_descriptor(queue.ring.address(place), [0, done]) {
                queue.is_halted = true;
                let (direction, target) = (Direction::Transmit, Target::Descriptor);
                self.events.push(Event::Fault { direction, queue: index as u32, index: place, target, fault });
                return false;
            }
        }
        self.transmit[index].ring.advance();
        true
    }

    /// The last descriptor of a frame was read.
    #[inline]
    fn end_frame(&mut self, index: usize, place: u32, wire: &mut impl FnMut(&[u8])) {
        let mut bytes = std::mem::take(&mut self.transmit[index].filled);
        if std::mem::take(&mut self.transmit[index].is_skipping) {
            return;
        }
        if bytes < PADDED_BYTES && self.pads {
            self.frames[index][bytes..PADDED_BYTES].fill(0);
            bytes = PADDED_BYTES;
        }
        if bytes < HEADER_BYTES {
            self.malformed(index, place, Malformed::TooShort);
            self.transmit[index].is_skipping = false;
            return;
        }
        if self.is_link_up() {
            self.statistics.count_transmitted(index, bytes);
            wire(&self.frames[index][..bytes]);
        }
    }

    fn malformed(&mut self, index: usize, place: u32, problem: Malformed) {
        let queue = &mut self.transmit[index];
        if !queue.is_skipping {
            queue.is_skipping = true;
            self.events.push(Event::Malformed { queue: index as u32, index: place, problem });
        }
    }
}
