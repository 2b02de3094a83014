//! From the wire to the driver.

use prony_ixgbe_regs as regs;

use crate::device::Device;
use crate::dma::{DmaFault, DmaMemory};
use crate::event::{Direction, Event, Target};
use crate::ring::Ring;

/// Length of an Ethernet header, in bytes.
pub(crate) const HEADER_BYTES: usize = 14;

const BROADCAST: u64 = 0xffff_ffff_ffff;
const DD: u64 = regs::RXD_DD as u64;
const EOP: u64 = regs::RXD_EOP as u64;

/// Fate of a frame from the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receipt {
    /// The frame is in a buffer of the driver.
    Delivered {
        /// Number of the queue, from 0.
        queue: u32,
    },
    /// No descriptor was free: RXMPC counts it.
    Missed,
    /// The receiver is off, or the link is down.
    Down,
    /// It is not for this port, or its length is not one that this port takes.
    Filtered,
    /// The driver gave the device an address that is no DMA memory of its own; the queue stands still.
    Faulted,
}

/// State of a receive queue and its ring.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ReceiveQueue {
    pub(crate) ring: Ring,
    pub(crate) is_enabled: bool,
    is_halted: bool,
    is_legacy: bool,
    buffer_bytes: usize,
}

impl ReceiveQueue {
    pub(crate) fn set_ring(&mut self, ring: Ring, is_enabled: bool) {
        (self.ring, self.is_enabled, self.is_halted) = (ring, is_enabled, false);
    }

    /// Takes over the value written to SRRCTL.
    pub(crate) fn configure(&mut self, srrctl: u32) {
        // In KiB; 0 is not one of the values of the datasheet, and taken as the default.
        let kib = match srrctl & regs::SRRCTL_BSIZEPACKET_MASK {
            0 => 2,
            kib => kib as usize,
        };
        self.buffer_bytes = kib << 10;
        self.is_legacy = srrctl & regs::SRRCTL_DESCTYPE_MASK == 0;
    }
}

/// What the receiver takes from the wire.
#[derive(Debug, Clone, Default)]
pub(crate) struct Filter {
    pub(crate) all_unicast: bool,
    pub(crate) all_multicast: bool,
    pub(crate) broadcast: bool,
    pub(crate) addresses: Vec<u64>,
    /// Without the frame check sequence.
    pub(crate) bytes_max: usize,
}

impl Filter {
    #[inline]
    fn takes(&self, frame: &[u8]) -> bool {
        let Some(start) = frame.first_chunk::<8>() else { return false };
        if !(HEADER_BYTES..=self.bytes_max).contains(&frame.len()) {
            return false;
        }
        let to = u64::from_le_bytes(*start) & BROADCAST;
        match (to & 1 == 0, to == BROADCAST) {
            (true, _) => self.all_unicast || self.addresses.contains(&to),
            (false, true) => self.broadcast || self.all_multicast,
            (false, false) => self.all_multicast,
        }
    }
}

impl Device {
    /// A frame arrives, without its frame check sequence.
    #[inline]
    pub fn receive<M: DmaMemory>(&mut self, memory: &mut M, frame: &[u8]) -> Receipt {
        if !self.is_receiving {
            return Receipt::Down;
        }
        if !self.filter.takes(frame) {
            return Receipt::Filtered;
        }
        // Without RSS all frames go to the first queue.
        let index = 0;
        let queue = &mut self.receive[index];
        let buffers = frame.len().div_ceil(queue.buffer_bytes);
        if !queue.is_enabled || queue.is_halted || (queue.ring.owned() as usize) < buffers {
            self.statistics.count_missed();
            return Receipt::Missed;
        }
        let mut rest = frame;
        for _ in 0..buffers {
            let (part, after) = rest.split_at(rest.len().min(queue.buffer_bytes));
            rest = after;
            let place = queue.ring.head();
            let end = rest.is_empty();
            match fill(memory, queue, part, part.len() as u16, end) {
                Ok(address) if self.is_tracing => self.events.push(Event::Descriptor {
                    direction: Direction::Receive,
                    queue: index as u32,
                    index: place,
                    address,
                    bytes: part.len() as u32,
                    end,
                }),
                Ok(_) => {}
                Err((target, fault)) => {
                    queue.is_halted = true;
                    let direction = Direction::Receive;
                    self.events.push(Event::Fault { direction, queue: index as u32, index: place, target, fault });
                    return Receipt::Faulted;
                }
            }
        }
        self.statistics.count_received(index, frame.len());
        Receipt::Delivered { queue: index as u32 }
    }

    /// Fills a buffer of the first receive queue as a card with a fault does: the descriptor has whatever length and end it is
    /// given here. For tests of drivers; nothing is counted.
    ///
    /// `bytes`: at most as many as a buffer has.
    pub fn receive_raw<M: DmaMemory>(&mut self, memory: &mut M, bytes: &[u8], length: u16, is_end: bool) -> Receipt {
        let queue = &mut self.receive[0];
        if !self.is_receiving {
            return Receipt::Down;
        }
        if !queue.is_enabled || queue.is_halted || queue.ring.owned() == 0 {
            return Receipt::Missed;
        }
        let index = queue.ring.head();
        let bytes = &bytes[..bytes.len().min(queue.buffer_bytes)];
        match fill(memory, queue, bytes, length, is_end) {
            Ok(_) => Receipt::Delivered { queue: 0 },
            Err((target, fault)) => {
                queue.is_halted = true;
                self.events.push(Event::Fault { direction: Direction::Receive, queue: 0, index, target, fault });
                Receipt::Faulted
            }
        }
    }

    /// Descriptors of a receive queue that the driver has given to the device.
    #[inline]
    pub fn receive_room(&self, queue: usize) -> u32 {
        let queue = &self.receive[queue];
        if queue.is_enabled && !queue.is_halted { queue.ring.owned() } else { 0 }
    }

    /// Descriptors of the ring of a receive queue; 0 while it is disabled.
    pub fn receive_descriptors(&self, queue: usize) -> u32 {
        self.receive[queue].ring.descriptors()
    }

    /// Announces that up to `frames` frames will arrive.
    #[inline]
    pub fn prepare_receive<M: DmaMemory>(&self, memory: &mut M, frames: u32) {
        let ring = &self.receive[0].ring;
        let frames = frames.min(self.receive_room(0));
        for ahead in (0..frames).step_by(4) {
            memory.prefetch(ring.address(ring.index(ahead)));
        }
        for ahead in 0..frames {
            let Ok([address, _]) = memory.read_descriptor(ring.address(ring.index(ahead))) else { return };
            memory.prefetch(address);
        }
    }
}

/// Fills the buffer of the first owned descriptor, and gives it back to the driver.
#[inline]
fn fill<M: DmaMemory>(
    memory: &mut M,
    queue: &mut ReceiveQueue,
    part: &[u8],
    length: u16,
    is_end: bool,
) -> Result<u64, (Target, DmaFault)> {
    let place = queue.ring.address(queue.ring.head());
    let [address, _] = memory.read_descriptor(place).map_err(|fault| (Target::Descriptor, fault))?;
    memory.write(address, part).map_err(|fault| (Target::Buffer, fault))?;
    let status = if is_end { DD | EOP } else { DD };
    let length = u64::from(length);
    let words = match queue.is_legacy {
        // 7.1.5: the address stays; length, checksum, status, errors, VLAN.
        true => [address, length | status << 32],
        // 7.1.6.2: packet type, header length and RSS hash, which this model leaves 0; status and errors, length, VLAN.
        false => [0, status | length << 32],
    };
    memory.write_descriptor(place, words).map_err(|fault| (Target::Descriptor, fault))?;
    queue.ring.advance();
    Ok(address)
}
