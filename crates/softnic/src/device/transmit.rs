//! From the driver to the wire.
#![deny(clippy::arithmetic_side_effects)]

use prony_ixgbe_regs as regs;

use crate::device::offload::{ASKS, Context};
use crate::device::receive::HEADER_BYTES;
use crate::device::{Device, burst};
use crate::dma::{DmaFault, DmaMemory};
use crate::event::{Direction, Event, Malformed, Target};
use crate::frame::FRAME_BYTES_MAX;
use crate::numbered::Queues;
use crate::ring::BURST;
use crate::ring::Ring;

/// The shortest frame without its frame check sequence (IEEE 802.3, 4.4.2), to which the device pads.
pub(crate) const PADDED_BYTES: usize = 60;

/// The second word of a descriptor that is written back.
const DONE: u64 = (regs::TXD_WB_DD as u64) << 32;
/// Descriptors that are written back, of which nothing but DD is set.
const WRITTEN_BACK: [[u64; 2]; BURST] = [[0, DONE]; BURST];
/// In [`TransmitQueue::requested`]: the frame is malformed, and its remaining descriptors are skipped. The bit of the length of
/// a descriptor, which requests nothing.
const SKIPPING: u64 = 1;

/// The transmit unit: its queues, and the frames that it is about to send.
#[derive(Debug, Clone)]
pub(crate) struct TransmitUnit {
    pub(crate) queues: Queues<TransmitQueue>,
    /// By queue: the frame that is being read, maybe from several descriptors.
    pub(crate) frames: Queues<Box<[u8]>>,
    /// Frames of a burst that is being sent.
    pub(crate) burst: Box<[u8]>,
    /// Ethernet type of the tags that are inserted: DMATXCTL.VT.
    pub(crate) tag_ethertype: u16,
    /// True if short frames are padded: HLREG0.TXPADEN.
    pub(crate) pads: bool,
    /// True if the unit is enabled: DMATXCTL.TE.
    pub(crate) is_active: bool,
}

impl TransmitUnit {
    pub(crate) fn new() -> TransmitUnit {
        TransmitUnit {
            queues: Default::default(),
            frames: Queues(std::array::from_fn(|_| vec![0; FRAME_BYTES_MAX].into_boxed_slice())),
            burst: burst::memory(),
            tag_ethertype: 0,
            pads: false,
            is_active: false,
        }
    }
}

/// State of a transmit queue and its ring.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TransmitQueue {
    pub(crate) ring: Ring,
    pub(crate) is_enabled: bool,
    pub(crate) is_halted: bool,
    /// Bytes of the frame whose last descriptor has not come yet.
    filled: usize,
    /// What the descriptors of that frame request, or [`SKIPPING`]; 0 for a frame that is sent as it is.
    requested: u64,
    /// The contexts that descriptors refer to (7.2.3.2.3).
    pub(crate) contexts: [Context; 2],
    /// TXDCTL.WTHRESH.
    write_threshold: u32,
    /// Descriptors before the head that were used and not written back.
    unwritten: u32,
    /// They are written back now, however few they are.
    is_flush_due: bool,
    /// Time at which they are, if the driver has set a timer.
    flush_at: Option<u64>,
}

impl TransmitQueue {
    pub(crate) fn set_ring(&mut self, ring: Ring, is_enabled: bool) {
        let write_threshold = self.write_threshold;
        *self = TransmitQueue { ring, is_enabled, write_threshold, ..TransmitQueue::default() };
    }

    /// Takes over the value written to TXDCTL, as far as it is not about the ring.
    pub(crate) fn set_control(&mut self, txdctl: u32) {
        self.write_threshold = (txdctl & regs::TXDCTL_WTHRESH_MASK) >> regs::TXDCTL_WTHRESH_SHIFT;
        self.is_flush_due |= txdctl & regs::TXDCTL_SWFLSH != 0 || self.write_threshold == 0;
    }

    /// Has what was not written back for `interval_ns` written back (7.2.3.5). Without an interval there is no timer.
    pub(crate) fn handle_timeout(&mut self, now_ns: u64, interval_ns: Option<u64>) {
        self.flush_at = match (self.unwritten, interval_ns) {
            (0, _) | (_, None) => None,
            (_, Some(interval_ns)) => self.flush_at.or(Some(now_ns.saturating_add(interval_ns))),
        };
        if self.flush_at.is_some_and(|at| at <= now_ns) {
            (self.flush_at, self.is_flush_due) = (None, true);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        self.flush_at
    }

    /// True between two descriptors of one frame.
    #[inline]
    pub(crate) fn is_amid_frame(&self) -> bool {
        self.filled != 0 || self.requested != 0
    }

    /// The device is done with these descriptors, which are those from the head on: writes them back that are due
    /// (7.2.3.5). Without a threshold, those that request it; with one, all of them, this many at a time. On a fault, the index of the
    /// descriptor.
    #[inline]
    pub(crate) fn complete<M: DmaMemory>(&mut self, memory: &mut M, words: &[[u64; 2]]) -> Result<(), (u32, DmaFault)> {
        let wants_status = |words: &[u64; 2]| words[1] as u32 & regs::TXD_RS != 0;
        let number = words.len() as u32;
        let is_one_by_one = match self.write_threshold {
            0 => !words.iter().all(wants_status),
            // More than a ring is not written back at once.
            _ => number > 1 && self.unwritten.saturating_add(number) > self.ring.descriptors(),
        };
        if is_one_by_one && let [first, rest @ ..] = words {
            self.ring.advance();
            self.unwritten = self.unwritten.saturating_add(u32::from(self.write_threshold > 0 || wants_status(first)));
            self.write_back_due(memory)?;
            return self.complete(memory, rest);
        }
        self.ring.advance_by(number);
        self.unwritten = self.unwritten.saturating_add(number);
        self.write_back_due(memory)
    }

    /// Writes back what is due of that which was used.
    #[inline]
    fn write_back_due<M: DmaMemory>(&mut self, memory: &mut M) -> Result<(), (u32, DmaFault)> {
        // Without a threshold, none.
        let kept = self.unwritten.checked_rem(self.write_threshold).unwrap_or(0);
        self.write_back(memory, kept)
    }

    /// Writes back what was used since the last time, but for the last `kept` of them. On a fault, the index of the descriptor.
    #[inline]
    fn write_back<M: DmaMemory>(&mut self, memory: &mut M, kept: u32) -> Result<(), (u32, DmaFault)> {
        let descriptors = self.ring.descriptors();
        // A driver that gives more than a ring has written over those that are left out here.
        let unwritten = self.unwritten.min(descriptors);
        self.unwritten = kept;
        let mut behind = unwritten;
        while behind > kept {
            let number = behind.saturating_sub(kept).min(BURST as u32);
            let words = WRITTEN_BACK.get(..number as usize).unwrap_or(&WRITTEN_BACK);
            self.ring.write(memory, self.ring.index(descriptors.saturating_sub(behind)), words)?;
            behind = behind.saturating_sub(number);
        }
        Ok(())
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
        let queue = &mut self.transmit.queues[index];
        if !self.transmit.is_active || !queue.is_enabled || queue.is_halted {
            return 0;
        }
        if queue.is_flush_due {
            queue.is_flush_due = false;
            if let Err((place, fault)) = queue.write_back(memory, 0) {
                self.halt(index, place, Target::Descriptor, fault);
                return 0;
            }
        }
        let queue = &self.transmit.queues[index];
        let mut left = queue.ring.owned().min(descriptors_max);
        let mut used = 0;
        let mut descriptors = [[0; 2]; BURST];
        while left > 0 {
            let number = (left as usize).min(BURST);
            let Some(descriptors) = descriptors.get_mut(..number) else { return used };
            // No copy of it, which would wait until all that was written before it is written.
            let ring = &self.transmit.queues[index].ring;
            if ring.read(memory, descriptors).is_err() {
                for (at, descriptor) in descriptors.iter_mut().enumerate() {
                    let place = ring.index(at as u32);
                    match memory.read_descriptor(ring.address(place)) {
                        Ok(words) => *descriptor = words,
                        Err(fault) => {
                            self.halt(index, place, Target::Descriptor, fault);
                            return used;
                        }
                    }
                }
            }
            descriptors.iter().for_each(|&[address, _]| memory.prefetch(address));
            let mut rest = &*descriptors;
            while !rest.is_empty() {
                let number = self.send_plain(memory, index, rest, &mut wire);
                rest = rest.get(number..).unwrap_or_default();
                (used, left) = (used.saturating_add(number as u32), left.saturating_sub(number as u32));
                if self.transmit.queues[index].is_halted {
                    return used;
                }
                if let Some((first, others)) = rest.split_first() {
                    if !self.send(memory, index, *first, &mut wire) {
                        return used;
                    }
                    (used, left, rest) = (used.saturating_add(1), left.saturating_sub(1), others);
                }
            }
        }
        used
    }

    /// Descriptors of a transmit queue that wait to be sent.
    pub fn transmit_waiting(&self, queue: usize) -> u32 {
        let queue = &self.transmit.queues[queue];
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
        let queue = &mut self.transmit.queues[index];
        let place = queue.ring.head();
        let command = words as u32;
        let is_context = command & (regs::TXD_DEXT | regs::TXD_DTYP_MASK) == regs::TXD_DEXT | regs::TXD_DTYP_CONTEXT;
        if is_context {
            let context = Context::of([address, words]);
            let [first, second] = &mut queue.contexts;
            *if context.is_second() { second } else { first } = context;
        } else {
            let bytes = (command & regs::TXD_DTALEN_MASK) as usize;
            let end = command & regs::TXD_EOP != 0;
            let (filled, requested) = (queue.filled, queue.requested);
            // What is left of the longest frame, as far as this descriptor fills it.
            let into = self.transmit.frames[index].get_mut(filled..).and_then(|rest| rest.get_mut(..bytes));
            let into = match into {
                _ if requested & SKIPPING != 0 => None,
                Some([]) => {
                    self.malformed(index, place, Malformed::ZeroLength);
                    None
                }
                None => {
                    self.malformed(index, place, Malformed::TooLong);
                    None
                }
                into => into,
            };
            if let Some(into) = into {
                let queue = &mut self.transmit.queues[index];
                queue.requested |= words & ASKS;
                if let Err(fault) = memory.read(address, into) {
                    self.halt(index, place, Target::Buffer, fault);
                    return false;
                }
                queue.filled = queue.filled.saturating_add(bytes);
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
                self.end_frame(index, place, words, wire);
            }
        }
        if let Err((place, fault)) = self.transmit.queues[index].complete(memory, &[[address, words]]) {
            self.halt(index, place, Target::Descriptor, fault);
            return false;
        }
        true
    }

    /// An access outside of the driver's memory: the queue stands still.
    #[cold]
    pub(crate) fn halt(&mut self, index: usize, place: u32, target: Target, fault: DmaFault) {
        self.transmit.queues[index].is_halted = true;
        let direction = Direction::Transmit;
        self.events.push(Event::Fault { direction, queue: index as u32, index: place, target, fault });
    }

    /// The last descriptor of a frame was read.
    #[inline]
    fn end_frame(&mut self, index: usize, place: u32, words: u64, wire: &mut impl FnMut(&[u8])) {
        let mut bytes = std::mem::take(&mut self.transmit.queues[index].filled);
        let requested = self.transmit.queues[index].requested;
        if requested != 0 {
            self.transmit.queues[index].requested = 0;
            if requested & SKIPPING != 0 {
                return;
            }
            match self.offload(index, bytes, requested, words) {
                Ok(longer) => bytes = longer,
                Err(problem) => {
                    self.malformed(index, place, problem);
                    self.transmit.queues[index].requested = 0;
                    return;
                }
            }
        }
        if bytes < PADDED_BYTES && self.transmit.pads {
            self.transmit.frames[index].get_mut(bytes..PADDED_BYTES).unwrap_or_default().fill(0);
            bytes = PADDED_BYTES;
        }
        if bytes < HEADER_BYTES {
            self.malformed(index, place, Malformed::TooShort);
            self.transmit.queues[index].requested = 0;
            return;
        }
        if self.is_link_up() {
            let frame = self.transmit.frames[index].get(..bytes).unwrap_or_default();
            self.statistics.count_transmitted(index, frame);
            wire(frame);
        }
    }

    fn malformed(&mut self, index: usize, place: u32, problem: Malformed) {
        let queue = &mut self.transmit.queues[index];
        if queue.requested & SKIPPING == 0 {
            queue.requested = SKIPPING;
            self.events.push(Event::Malformed { queue: index as u32, index: place, problem });
        }
    }
}
