//! Frames that are moved as they are, many at a time: what almost all frames are.
//!
//! Everything else, and every error, goes the way of single frames (`receive.rs`, `transmit.rs`), in order. Each step is made for
//! all frames of a burst before the next one is, so that the memory of one is under way while others are worked on, and nothing
//! is read right after it was written in other pieces, which a processor cannot do without a pause.

use std::iter::Peekable;

use prony_ixgbe_regs as regs;

use crate::device::Device;
use crate::device::offload::ASKS;
use crate::device::receive::{DD, EOP, Receipt, ReceiveUnit};
use crate::device::transmit::PADDED_BYTES;
use crate::dma::DmaMemory;
use crate::event::{Direction, Event, Target};
use crate::numbered::Queues;
use crate::ring::BURST;

/// The longest frame that is sent in a burst: the buffers of most drivers.
const BYTES_MAX: usize = 2048;
/// From one frame to the next: with a power of two, all would be in the same few sets of a cache.
const STRIDE: usize = BYTES_MAX + 64;

/// Memory for the frames of a burst that is sent.
pub(crate) fn memory() -> Box<[u8]> {
    vec![0; BURST * STRIDE].into_boxed_slice()
}

/// What became of frames that arrived one behind another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Receipts {
    /// Frames in buffers of the driver.
    pub delivered: u64,
    /// Frames that found no descriptor: [`Receipt::Missed`].
    pub missed: u64,
    /// Frames that the device did not take: [`Receipt::Down`], [`Receipt::Filtered`], [`Receipt::Faulted`].
    pub refused: u64,
}

impl Receipts {
    fn count(&mut self, receipt: Receipt) {
        match receipt {
            Receipt::Delivered { .. } => self.delivered += 1,
            Receipt::Missed => self.missed += 1,
            Receipt::Down | Receipt::Filtered | Receipt::Faulted => self.refused += 1,
        }
    }
}

impl Device {
    /// Frames arrive one behind another, without their frame check sequences: as [`Device::receive`] of each, but that
    /// descriptors are written back several at a time, as the card does (datasheet 7.1.4).
    #[inline]
    pub fn receive_burst<'a, M: DmaMemory>(
        &mut self,
        memory: &mut M,
        frames: impl ExactSizeIterator<Item = &'a [u8]>,
    ) -> Receipts {
        let mut receipts = Receipts::default();
        let mut frames = frames.peekable();
        while frames.len() > 0 {
            while self.receive_plain(memory, &mut frames, &mut receipts) > 0 {}
            if let Some(frame) = frames.next() {
                receipts.count(self.receive(memory, frame));
            }
        }
        receipts
    }

    /// Announces that descriptors of the first queues will be used soon.
    #[inline]
    pub fn prefetch<M: DmaMemory>(&self, memory: &mut M) {
        self.transmit.queues[0].ring.prefetch(memory);
        self.receive.queues[0].ring.prefetch(memory);
    }

    /// Puts frames into the first queue, up to one that needs more than that. Returns how many were.
    #[inline]
    fn receive_plain<'a, M: DmaMemory>(
        &mut self,
        memory: &mut M,
        frames: &mut Peekable<impl ExactSizeIterator<Item = &'a [u8]>>,
        receipts: &mut Receipts,
    ) -> usize {
        if !self.receive.is_active || self.is_tracing || !self.receive.queues[0].is_plain() {
            return 0;
        }
        // Parts of `self`, and no copy of the ring: it would wait until all that was written before the ring is written.
        let Device { receive, statistics, events, .. } = self;
        let ReceiveUnit { queues: Queues([queue, ..]), filter, vlan, .. } = receive;
        let number = frames.len().min(BURST).min(queue.ring.owned() as usize);
        let mut descriptors = [[0; 2]; BURST];
        let Some(descriptors) = descriptors.get_mut(..number) else { return 0 };
        if queue.ring.read(memory, descriptors).is_err() {
            return 0;
        }
        descriptors.iter().for_each(|&[address, _]| memory.prefetch_write(address));
        let (mut filled, mut left_over) = (0, None);
        for descriptor in descriptors.iter_mut() {
            let is_plain =
                |frame: &&[u8]| frame.len() <= queue.buffer_bytes() && filter.takes(frame) && !vlan.parses(frame);
            let Some(frame) = frames.next_if(is_plain) else { break };
            if memory.write(descriptor[0], frame).is_err() {
                left_over = Some(frame);
                break;
            }
            *descriptor = [0, DD | EOP | (frame.len() as u64) << 32];
            // 8.2.3.23: it has reached the packet buffer, whether it reaches the driver or not.
            statistics.count_received(0, frame.len(), frame);
            filled += 1;
        }
        let used = descriptors.get(..filled).unwrap_or_default();
        let written = match queue.ring.write(memory, queue.ring.head(), used) {
            Ok(()) => filled,
            Err((index, fault)) => {
                queue.halt();
                let (direction, target) = (Direction::Receive, Target::Descriptor);
                events.push(Event::Fault { direction, queue: 0, index, target, fault });
                queue.ring.ahead(index) as usize
            }
        };
        queue.ring.advance_by(written as u32);
        receipts.delivered += written as u64;
        receipts.refused += (filled - written) as u64;
        if let Some(frame) = left_over {
            receipts.count(self.receive(memory, frame));
        }
        filled
    }

    /// Sends frames of the first of these descriptors, which are those from the head on, up to one that needs more than that.
    /// Returns their number.
    #[inline]
    pub(crate) fn send_plain<M: DmaMemory>(
        &mut self,
        memory: &mut M,
        index: usize,
        descriptors: &[[u64; 2]],
        wire: &mut impl FnMut(&[u8]),
    ) -> usize {
        let queue = &mut self.transmit.queues[index];
        if self.is_tracing || queue.is_amid_frame() {
            return 0;
        }
        let mut number = 0;
        for (&[address, words], into) in descriptors.iter().zip(self.transmit.burst.chunks_exact_mut(STRIDE)) {
            let Some(bytes) = plain_bytes(words) else { break };
            let Some(into) = into.get_mut(..bytes) else { break };
            if memory.read(address, into).is_err() {
                break;
            }
            number += 1;
        }
        let sent = descriptors.get(..number).unwrap_or_default();
        if self.link.is_up {
            for (&[_, words], frame) in sent.iter().zip(self.transmit.burst.chunks_exact(STRIDE)) {
                let Some(frame) = frame.get(..(words as u32 & regs::TXD_DTALEN_MASK) as usize) else { continue };
                self.statistics.count_transmitted(index, frame);
                wire(frame);
            }
        }
        if let Err((place, fault)) = queue.complete(memory, sent) {
            self.halt(index, place, Target::Descriptor, fault);
        }
        number
    }
}

/// The length of a frame that is all in one descriptor, and sent as it is.
#[inline]
fn plain_bytes(words: u64) -> Option<usize> {
    let command = words as u32;
    let is_context = command & (regs::TXD_DEXT | regs::TXD_DTYP_MASK) == regs::TXD_DEXT | regs::TXD_DTYP_CONTEXT;
    let bytes = (command & regs::TXD_DTALEN_MASK) as usize;
    let is_plain = !is_context && words & ASKS == 0 && command & regs::TXD_EOP != 0;
    (is_plain && (PADDED_BYTES..=BYTES_MAX).contains(&bytes)).then_some(bytes)
}
