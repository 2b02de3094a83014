//! Buffers for frames.

pub(crate) mod free;

use std::sync::atomic::{AtomicU16, Ordering};

use crate::checks::{at, hold};
use crate::dma::{Addressing, Dma, DmaError, HUGE_PAGE_BYTES};
use crate::pool::free::{Free, FreeList, PoolKind};

/// Bytes of a buffer: more than any frame that is not a jumbo one.
pub const BUFFER_BYTES: usize = 2048;
/// Bytes that sockets leave free before a frame: what the kernel needs before a received one (XDP_PACKET_HEADROOM).
pub(crate) const HEADROOM_BYTES: usize = 256;
/// Longest frame that fits behind them.
pub(crate) const FRAME_BYTES_MAX: usize = BUFFER_BYTES - HEADROOM_BYTES;
/// Buffers of a huge page.
const PER_PAGE: usize = HUGE_PAGE_BYTES / BUFFER_BYTES;

/// A buffer that the program owns, and the length of the frame in it.
///
/// Its bytes are reached through the pool. Give it back with [`Pool::give`], or to a device; one that is dropped is lost to its
/// pool.
#[derive(Debug)]
#[must_use = "a packet that is dropped is lost to its pool"]
pub struct Packet {
    index: u32,
    length: u16,
    pool: u16,
}

impl Packet {
    /// Length of the frame, in bytes.
    #[inline]
    #[allow(clippy::len_without_is_empty, reason = "no frame is empty")]
    pub fn len(&self) -> usize {
        self.length.into()
    }

    #[inline]
    pub(crate) fn index(&self) -> u32 {
        self.index
    }
}

/// Buffers of DMA memory, for all devices of a thread.
#[derive(Debug)]
pub struct Pool {
    memory: Dma,
    free: FreeList,
    frame_bytes_max: usize,
    id: u16,
}

impl Pool {
    /// Allocates `buffers` buffers in a pool of the default kind.
    ///
    /// # Errors
    /// [`DmaError`]: there are no huge pages, or no addresses of them.
    pub fn allocate(buffers: usize) -> Result<Pool, DmaError> {
        Pool::of_kind(PoolKind::default(), buffers)
    }

    /// Allocates `buffers` buffers.
    ///
    /// # Errors
    /// As [`Pool::allocate`].
    pub fn of_kind(kind: PoolKind, buffers: usize) -> Result<Pool, DmaError> {
        Ok(Pool::of_memory(kind, buffers, Dma::allocate(buffers * BUFFER_BYTES, Addressing::Physical)?, BUFFER_BYTES))
    }

    /// Allocates `buffers` buffers for cards behind an IOMMU, which are reached by VFIO: in huge pages, or in ordinary memory if
    /// there are none. No physical addresses are needed.
    ///
    /// # Errors
    /// [`DmaError`]: there is not so much memory.
    pub fn for_iommu(kind: PoolKind, buffers: usize) -> Result<Pool, DmaError> {
        Ok(Pool::of_memory(kind, buffers, Dma::allocate(buffers * BUFFER_BYTES, Addressing::Virtual)?, BUFFER_BYTES))
    }

    /// Allocates `buffers` buffers for an [`XdpSocket`](crate::XdpSocket) or a [`VhostUser`](crate::VhostUser): in ordinary
    /// memory, which needs neither huge pages nor their addresses. Frames have up to 1,792 bytes.
    ///
    /// # Errors
    /// [`DmaError`]: there is not so much memory.
    pub fn for_sockets(kind: PoolKind, buffers: usize) -> Result<Pool, DmaError> {
        // The last buffer ends with its page, as those of the kernel do.
        let buffers = buffers.next_multiple_of(2);
        let memory = Dma::for_sockets(buffers * BUFFER_BYTES, HEADROOM_BYTES)?;
        Ok(Pool::of_memory(kind, buffers, memory, FRAME_BYTES_MAX))
    }

    fn of_memory(kind: PoolKind, buffers: usize, memory: Dma, frame_bytes_max: usize) -> Pool {
        static ID: AtomicU16 = AtomicU16::new(0);
        let free = FreeList::new(kind, u32::try_from(buffers).unwrap_or(u32::MAX), &memory);
        Pool { memory, free, frame_bytes_max, id: ID.fetch_add(1, Ordering::Relaxed) }
    }

    /// Number of buffers that are free.
    pub fn free(&self) -> usize {
        self.free.number()
    }

    /// Takes a buffer for a frame of `length` bytes; `None` if all are in use, or none is so long.
    #[inline]
    pub fn take(&mut self, length: usize) -> Option<Packet> {
        let length = u16::try_from(length).ok().filter(|&length| usize::from(length) <= self.frame_bytes_max)?;
        Some(Packet { index: self.free.take()?, length, pool: self.id })
    }

    /// Returns a packet's buffer to the pool.
    #[inline]
    pub fn give(&mut self, packet: Packet) {
        self.check(&packet);
        self.free.give(packet.index);
    }

    /// The frame in a buffer.
    #[inline]
    pub fn bytes(&self, packet: &Packet) -> &[u8] {
        self.check(packet);
        self.memory.bytes(packet.index as usize * BUFFER_BYTES, packet.len())
    }

    /// The frame in a buffer, to change it.
    #[inline]
    pub fn bytes_mut(&mut self, packet: &mut Packet) -> &mut [u8] {
        self.check(packet);
        self.memory.bytes_mut(packet.index as usize * BUFFER_BYTES, packet.len())
    }

    /// A buffer of one pool is none of another.
    #[inline]
    fn check(&self, packet: &Packet) {
        hold(packet.pool == self.id, "a packet belongs to one pool");
    }

    /// The memory, which stays as long as a device may use it.
    pub(crate) fn memory(&self) -> Dma {
        self.memory.clone()
    }

    /// Bytes before a frame, where a header of a peer belongs. The caller has such a pool, and the packet.
    #[inline]
    pub(crate) fn header_mut(&mut self, packet: &Packet, bytes: usize) -> &mut [u8] {
        self.check(packet);
        self.memory.before_mut(packet.index as usize * BUFFER_BYTES, bytes)
    }

    /// Which buffers are free is written in the buffers themselves.
    pub(crate) fn is_intrusive(&self) -> bool {
        matches!(self.free, FreeList::List { .. })
    }

    #[inline]
    pub(crate) fn take_index(&mut self) -> Option<u32> {
        self.free.take()
    }

    #[inline]
    pub(crate) fn give_index(&mut self, index: u32) {
        self.free.give(index);
    }

    #[inline]
    pub(crate) fn give_indices(&mut self, indices: impl IntoIterator<Item = u32>) {
        self.free.give_all(indices);
    }

    /// Its free buffers, and all of them, for a batch.
    #[inline]
    pub(crate) fn parts(&mut self) -> (&mut FreeList, Buffers<'_>) {
        (&mut self.free, Buffers { memory: &self.memory, pages: &self.memory.pages, pool: self.id })
    }
}

/// The buffers of a pool, free or not.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buffers<'a> {
    memory: &'a Dma,
    pages: &'a [u64],
    pool: u16,
}

impl Buffers<'_> {
    /// A packet in a buffer that nothing else has.
    #[inline]
    pub(crate) fn packet(self, index: u32, length: u16) -> Packet {
        Packet { index, length, pool: self.pool }
    }

    /// Bus address of a buffer.
    #[inline]
    pub(crate) fn address(self, index: u32) -> u64 {
        let index = index as usize;
        // A page has an address of its own; a table of all buffers would take half of the first-level cache.
        at(self.pages, index / PER_PAGE) + (index % PER_PAGE * BUFFER_BYTES) as u64
    }

    #[inline]
    pub(crate) fn address_of(self, packet: &Packet) -> u64 {
        hold(packet.pool == self.pool, "a packet belongs to one pool");
        self.address(packet.index)
    }

    #[inline]
    pub(crate) fn prefetch(self, index: u32) {
        self.memory.prefetch(index as usize * BUFFER_BYTES);
    }
}
