//! Split virtqueues, as a driver has them: Virtual I/O Device (VIRTIO) 1.2, section 2.7.
//!
//! The peer writes to all of this memory at any time. What is read from it is an index of a used element, which is counted
//! against the descriptors that the peer has, and that element, whose identifier and length are checked against what was
//! posted. Descriptors and buffers are never read back.

use std::sync::atomic::{Ordering, fence};

use crate::dma::Dma;
use crate::pool::{BUFFER_BYTES, FRAME_BYTES_MAX, HEADROOM_BYTES, Packet, Pool};

/// Size of `struct virtio_net_hdr` (5.1.6), zeros without offloads.
const HEADER_BYTES: usize = 12;
/// The shortest frame that is one: its Ethernet header.
const FRAME_BYTES_MIN: usize = 14;
/// VIRTQ_DESC_F_WRITE: the device may write to the buffer.
const DESCRIPTOR_WRITE: u64 = 2;
/// VIRTQ_AVAIL_F_NO_INTERRUPT: the driver polls.
const NO_INTERRUPT: u16 = 1;
/// VIRTQ_USED_F_NO_NOTIFY: the device polls.
const NO_NOTIFY: u16 = 1;
/// Bytes of a cache line: none of them has parts that different sides write.
const LINE: usize = 64;
/// No buffer: the driver has the descriptor.
const NONE: u32 = u32::MAX;

/// What a peer did that no device does. Its queue is not used any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RingMistake {
    /// More descriptors come back than there are on its side.
    #[error("{found} used descriptors, of {posted} that it has")]
    TooMany {
        /// Number of descriptors by the used index.
        found: u16,
        /// Number of descriptors on its side.
        posted: u16,
    },
    /// A descriptor comes back that it does not have.
    #[error("used descriptor {found}, which it does not have")]
    Descriptor {
        /// Identifier in the used element.
        found: u32,
    },
    /// A frame is longer than its buffer, or shorter than its header.
    #[error("{found} bytes written to a buffer of {} bytes, with a header of {HEADER_BYTES}", HEADER_BYTES + FRAME_BYTES_MAX)]
    Length {
        /// Length in the used element, in bytes.
        found: u32,
    },
}

/// Offsets of the parts of a queue in its memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) descriptors: usize,
    pub(crate) available: usize,
    pub(crate) used: usize,
    /// Where the next queue can begin.
    pub(crate) end: usize,
}

impl Layout {
    /// `from`: a multiple of 64.
    pub(crate) fn new(from: usize, entries: usize) -> Layout {
        let available = from + entries * 16;
        let used = (available + 6 + entries * 2).next_multiple_of(LINE);
        let end = (used + 6 + entries * 8).next_multiple_of(LINE);
        Layout { descriptors: from, available, used, end }
    }
}

/// One queue: what both of its users do with it.
#[derive(Debug)]
struct Virtqueue {
    memory: Dma,
    layout: Layout,
    mask: u16,
    /// Index in the available ring of what is posted next.
    next_available: u16,
    /// Index in the used ring of what is taken next.
    next_used: u16,
    /// Descriptors that were made known and have not come back.
    posted: u16,
    /// Descriptors that were posted and are not made known yet.
    pending: u16,
}

impl Virtqueue {
    fn new(memory: Dma, layout: Layout, entries: usize) -> Virtqueue {
        memory.atomic_u16(layout.available).store(NO_INTERRUPT, Ordering::Relaxed);
        let mask = entries as u16 - 1;
        Virtqueue { memory, layout, mask, next_available: 0, next_used: 0, posted: 0, pending: 0 }
    }

    /// Descriptors that have come back.
    #[inline]
    fn used(&self) -> Result<u16, RingMistake> {
        let index = self.memory.atomic_u16(self.layout.used + 2).load(Ordering::Acquire);
        let found = index.wrapping_sub(self.next_used);
        if found > self.posted {
            return Err(RingMistake::TooMany { found, posted: self.posted });
        }
        Ok(found)
    }

    /// Identifier and length of the first of them; there is one.
    #[inline]
    fn take(&mut self) -> (u32, u32) {
        let place = self.layout.used + 4 + usize::from(self.next_used & self.mask) * 8;
        self.next_used = self.next_used.wrapping_add(1);
        self.posted -= 1;
        let read = |place| self.memory.atomic_u32(place).load(Ordering::Relaxed);
        (read(place), read(place + 4))
    }

    /// Posts a descriptor of its own; there are as many places as descriptors.
    #[inline]
    fn post(&mut self, descriptor: u16, address: u64, length: usize, flags: u64) {
        let place = self.layout.descriptors + usize::from(descriptor & self.mask) * 16;
        self.memory.atomic_u64(place).store(address, Ordering::Relaxed);
        self.memory.atomic_u64(place + 8).store(length as u64 | flags << 32, Ordering::Relaxed);
        let place = self.layout.available + 4 + usize::from(self.next_available & self.mask) * 2;
        self.memory.atomic_u16(place).store(descriptor, Ordering::Relaxed);
        self.next_available = self.next_available.wrapping_add(1);
        self.pending += 1;
    }

    /// Makes known what was posted. True if the peer wants to be notified of it.
    #[inline]
    fn publish(&mut self) -> bool {
        if self.pending == 0 {
            return false;
        }
        self.posted += std::mem::take(&mut self.pending);
        self.memory.atomic_u16(self.layout.available + 2).store(self.next_available, Ordering::Release);
        // The peer allows notifications, and then looks at the index again (2.7.13.4.1): one of both sees the other.
        fence(Ordering::SeqCst);
        self.memory.atomic_u16(self.layout.used).load(Ordering::Relaxed) & NO_NOTIFY == 0
    }
}

/// Takes the buffer of a descriptor that came back.
#[inline]
fn claim(buffers: &mut [u32], descriptor: u32) -> Result<u32, RingMistake> {
    match buffers.get_mut(descriptor as usize) {
        Some(buffer) if *buffer != NONE => Ok(std::mem::replace(buffer, NONE)),
        _ => Err(RingMistake::Descriptor { found: descriptor }),
    }
}

/// Place of a buffer's header in the region that the peer knows the pool by.
#[inline]
fn address(pool_at: u64, buffer: u32) -> u64 {
    pool_at + (HEADROOM_BYTES - HEADER_BYTES) as u64 + u64::from(buffer) * BUFFER_BYTES as u64
}

/// From the peer to the program.
#[derive(Debug)]
pub(crate) struct ReceiveVirtqueue {
    queue: Virtqueue,
    pool_at: u64,
    /// Buffer of each descriptor that the peer has.
    buffers: Box<[u32]>,
    /// Descriptors that came back, with their next buffers.
    returned: Vec<(u16, u32)>,
    prefetch: bool,
}

impl ReceiveVirtqueue {
    /// A queue that is full of buffers; `None` if the pool has too few.
    ///
    /// `pool_at`: where the region with the pool begins for the peer.
    pub(crate) fn new(
        memory: Dma,
        layout: Layout,
        pool: &mut Pool,
        pool_at: u64,
        entries: usize,
        prefetch: bool,
    ) -> Option<ReceiveVirtqueue> {
        if pool.free() < entries {
            return None;
        }
        let queue = Virtqueue::new(memory, layout, entries);
        let returned = (0..entries as u16).map_while(|descriptor| Some((descriptor, pool.take_index()?))).collect();
        let buffers = vec![NONE; entries].into();
        let mut queue = ReceiveVirtqueue { queue, pool_at, buffers, returned, prefetch };
        // The peer does not look before the set-up is done.
        queue.refill();
        Some(queue)
    }

    /// Posts the descriptors that came back. True if the peer wants to be notified.
    #[inline]
    fn refill(&mut self) -> bool {
        for (descriptor, buffer) in self.returned.drain(..) {
            if let Some(place) = self.buffers.get_mut(usize::from(descriptor)) {
                *place = buffer;
            }
            let length = HEADER_BYTES + FRAME_BYTES_MAX;
            self.queue.post(descriptor, address(self.pool_at, buffer), length, DESCRIPTOR_WRITE);
        }
        self.queue.publish()
    }

    /// Takes up to `max` frames. True if the peer wants to be notified.
    #[inline]
    pub(crate) fn batch(
        &mut self,
        pool: &mut Pool,
        packets: &mut Vec<Packet>,
        max: usize,
    ) -> Result<bool, RingMistake> {
        let used = usize::from(self.queue.used()?);
        for _ in 0..used.min(max) {
            let Some(next) = pool.take_index() else { break };
            let (descriptor, length) = self.queue.take();
            let buffer = match claim(&mut self.buffers, descriptor) {
                Ok(buffer) => buffer,
                Err(mistake) => {
                    pool.give_index(next);
                    return Err(mistake);
                }
            };
            // Only a descriptor of the ring was claimed.
            self.returned.push((descriptor as u16, next));
            let frame = (length as usize).checked_sub(HEADER_BYTES).filter(|&frame| frame <= FRAME_BYTES_MAX);
            let Some(frame) = frame else {
                pool.give_index(buffer);
                return Err(RingMistake::Length { found: length });
            };
            if frame < FRAME_BYTES_MIN {
                pool.give_index(buffer);
                continue;
            }
            if self.prefetch {
                pool.parts().1.prefetch(buffer);
            }
            packets.push(pool.parts().1.packet(buffer, frame as u16));
        }
        Ok(self.refill())
    }
}

/// From the program to the peer.
#[derive(Debug)]
pub(crate) struct TransmitVirtqueue {
    queue: Virtqueue,
    pool_at: u64,
    /// Buffer of each descriptor that the peer has.
    buffers: Box<[u32]>,
    /// The other descriptors.
    free: Vec<u16>,
    clean_batch: u16,
}

impl TransmitVirtqueue {
    pub(crate) fn new(
        memory: Dma,
        layout: Layout,
        pool_at: u64,
        entries: usize,
        clean_batch: usize,
    ) -> TransmitVirtqueue {
        let queue = Virtqueue::new(memory, layout, entries);
        let free = (0..entries as u16).rev().collect();
        let clean_batch = clean_batch.clamp(1, entries / 2) as u16;
        TransmitVirtqueue { queue, pool_at, buffers: vec![NONE; entries].into(), free, clean_batch }
    }

    /// Gives the buffers of sent frames back, as soon as there are as many as are cleaned up at once.
    #[inline]
    pub(crate) fn clean_up(&mut self, pool: &mut Pool) -> Result<(), RingMistake> {
        let used = self.queue.used()?;
        if used < self.clean_batch {
            return Ok(());
        }
        for _ in 0..used {
            let (descriptor, _) = self.queue.take();
            pool.give_index(claim(&mut self.buffers, descriptor)?);
            self.free.push(descriptor as u16);
        }
        Ok(())
    }

    /// Sends packets from the front as far as there is room; the others stay. True if the peer wants to be notified.
    #[inline]
    pub(crate) fn batch(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> Result<bool, RingMistake> {
        self.clean_up(pool)?;
        let sent = packets.len().min(self.free.len());
        for packet in packets.drain(..sent) {
            let Some(descriptor) = self.free.pop() else { break };
            // What a peer wrote there for a received frame is none of the next one's.
            pool.header_mut(&packet, HEADER_BYTES).fill(0);
            self.queue.post(descriptor, address(self.pool_at, packet.index()), HEADER_BYTES + packet.len(), 0);
            if let Some(place) = self.buffers.get_mut(usize::from(descriptor)) {
                *place = packet.index();
            }
        }
        Ok(self.queue.publish())
    }
}
