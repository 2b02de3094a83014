//! DMA memory: huge pages, which the kernel does not move, and their bus addresses.
#![allow(unsafe_code, reason = "a device reads and writes this memory")]

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::checks::hold;
use crate::vfio::Container;

/// A huge page of x86-64.
pub(crate) const HUGE_PAGE_BYTES: usize = 2 << 20;
/// Where a hugetlbfs is expected.
const HUGE_PAGES: &str = "/mnt/huge";
const PAGE_BYTES: u64 = 4096;
/// Documentation/admin-guide/mm/pagemap.rst: bits 0 to 54 are the number of the frame.
const FRAME_MASK: u64 = (1 << 55) - 1;

/// Reasons why there is no DMA memory.
#[derive(Debug, thiserror::Error)]
pub enum DmaError {
    /// No huge pages can be mapped.
    #[error("cannot map {pages} huge pages of {HUGE_PAGES}: {error}")]
    NoPages {
        /// Number of huge pages requested.
        pages: usize,
        /// Error that the kernel returned.
        error: io::Error,
    },
    /// There is not so much memory.
    #[error("cannot map {bytes} bytes: {error}")]
    NoMemory {
        /// Number of bytes requested.
        bytes: usize,
        /// Error that the kernel returned.
        error: io::Error,
    },
    /// The kernel does not tell physical addresses.
    #[error("/proc/self/pagemap has no frame numbers: run as root")]
    NoAddress,
}

/// Memory on huge pages, zeroed, with its bus addresses. It stays mapped until its last clone is dropped.
#[derive(Debug, Clone)]
pub(crate) struct Dma {
    // Copies, so that a hot loop need not follow a pointer to the mapping.
    start: NonNull<u8>,
    bytes: usize,
    /// Bus address of each huge page.
    pub(crate) pages: Rc<[u64]>,
    mapping: Rc<Mapping>,
}

/// Bus addresses at which cards reach memory by VFIO: first one and length of each run.
#[derive(Debug)]
struct Shared {
    container: Weak<Container>,
    runs: Vec<(u64, u64)>,
}

/// What is unmapped in the end.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
    /// Bytes of it before the first one that is used.
    before: usize,
    /// Of memory for sockets, what it is mapped from.
    file: Option<OwnedFd>,
    /// Cards that reach it by VFIO, and at which addresses.
    container: RefCell<Option<Shared>>,
}

/// Kinds of bus addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Addressing {
    /// Those of the machine's memory: for a card without an IOMMU.
    Physical,
    /// Those of this process: for a card behind an IOMMU, in which the memory is mapped.
    Virtual,
}

/// Maps as many huge pages as `bytes` need.
fn map_huge_pages(bytes: usize) -> Result<Mapping, DmaError> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let pages = bytes.div_ceil(HUGE_PAGE_BYTES);
    let failed = |error: io::Error| DmaError::NoPages { pages, error };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = format!("{HUGE_PAGES}/prony-ixgbe-{}-{number}", std::process::id());
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
    fs::remove_file(&path).map_err(failed)?;
    file.set_len((pages * HUGE_PAGE_BYTES) as u64).map_err(failed)?;
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // A page has an address only when it is there.
    let flags = MapFlags::SHARED | MapFlags::POPULATE;
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let start = unsafe { mmap(ptr::null_mut(), pages * HUGE_PAGE_BYTES, protection, flags, file.as_fd(), 0) };
    let start = start.map_err(|error| failed(error.into()))?;
    let start = NonNull::new(start.cast::<u8>()).ok_or(DmaError::NoAddress)?;
    Ok(Mapping { start, bytes: pages * HUGE_PAGE_BYTES, before: 0, file: None, container: RefCell::default() })
}

impl Dma {
    /// Maps as many huge pages as `bytes` need, with bus addresses of a kind.
    pub(crate) fn allocate(bytes: usize, addressing: Addressing) -> Result<Dma, DmaError> {
        match addressing {
            Addressing::Physical => Dma::physical(bytes),
            Addressing::Virtual => Dma::for_iommu(bytes),
        }
    }

    fn physical(bytes: usize) -> Result<Dma, DmaError> {
        let mapping = map_huge_pages(bytes)?;
        let (start, bytes) = (mapping.start, mapping.bytes);
        let mut addresses = Vec::with_capacity(bytes / HUGE_PAGE_BYTES);
        let pagemap = File::open("/proc/self/pagemap").map_err(|_| DmaError::NoAddress)?;
        for page in 0..bytes / HUGE_PAGE_BYTES {
            let address = start.as_ptr() as u64 + (page * HUGE_PAGE_BYTES) as u64;
            let mut entry = [0; 8];
            pagemap.read_exact_at(&mut entry, address / PAGE_BYTES * 8).map_err(|_| DmaError::NoAddress)?;
            match u64::from_ne_bytes(entry) & FRAME_MASK {
                0 => return Err(DmaError::NoAddress),
                frame => addresses.push(frame * PAGE_BYTES),
            }
        }
        Ok(Dma { start, bytes, pages: addresses.into(), mapping: Rc::new(mapping) })
    }

    /// Memory whose bus addresses are those of this process, on huge pages if there are any.
    fn for_iommu(bytes: usize) -> Result<Dma, DmaError> {
        let memory = match map_huge_pages(bytes) {
            Ok(mapping) => {
                Dma { start: mapping.start, bytes: mapping.bytes, pages: Rc::new([]), mapping: Rc::new(mapping) }
            }
            Err(_) => Dma::for_sockets(bytes, 0)?,
        };
        let start = memory.start.as_ptr() as u64;
        let pages = (start..start + memory.bytes as u64).step_by(HUGE_PAGE_BYTES).collect();
        Ok(Dma { pages, ..memory })
    }

    /// Which kind of bus addresses it has.
    pub(crate) fn addressing(&self) -> Addressing {
        match self.pages.first() {
            Some(&first) if first == self.start.as_ptr() as u64 => Addressing::Virtual,
            _ => Addressing::Physical,
        }
    }

    /// Lets the cards of a container reach it, at its bus addresses, until it is unmapped.
    pub(crate) fn share_with(&self, container: &Arc<Container>) -> io::Result<()> {
        let mut shared = self.mapping.container.borrow_mut();
        if shared.as_ref().is_some_and(|shared| shared.container.as_ptr() == Arc::as_ptr(container)) {
            return Ok(());
        }
        let (start, bytes) = (self.start.as_ptr() as u64, self.mapping.bytes as u64);
        let runs = match self.addressing() {
            Addressing::Virtual => vec![(start, start, bytes)],
            Addressing::Physical => {
                let places = (start..).step_by(HUGE_PAGE_BYTES);
                self.pages.iter().zip(places).map(|(&iova, place)| (place, iova, HUGE_PAGE_BYTES as u64)).collect()
            }
        };
        for &(place, iova, bytes) in &runs {
            container.map(place, iova, bytes)?;
        }
        let runs = runs.iter().map(|&(_, iova, bytes)| (iova, bytes)).collect();
        *shared = Some(Shared { container: Arc::downgrade(container), runs });
        Ok(())
    }

    /// Memory without bus addresses, for the kernel or for another process: it begins `before` bytes behind the start of a
    /// page. The length of its file cannot be changed: a page that is missing would end this process with SIGBUS.
    pub(crate) fn for_sockets(bytes: usize, before: usize) -> Result<Dma, DmaError> {
        let all = (before + bytes).next_multiple_of(PAGE_BYTES as usize);
        let failed = |error: Errno| DmaError::NoMemory { bytes: all, error: error.into() };
        let file = memfd_create("prony-ixgbe", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).map_err(failed)?;
        ftruncate(&file, all as u64).map_err(failed)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).map_err(failed)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe { mmap(ptr::null_mut(), all, protection, flags, &file, 0) }.map_err(failed)?;
        let whole = NonNull::new(start.cast::<u8>()).ok_or(DmaError::NoAddress)?;
        let mapping =
            Rc::new(Mapping { start: whole, bytes: all, before, file: Some(file), container: RefCell::default() });
        // SAFETY: `before` is less than the length of the mapping.
        let start = unsafe { whole.add(before) };
        Ok(Dma { start, bytes, pages: Rc::new([]), mapping })
    }

    /// The file that memory for sockets is, and its length.
    pub(crate) fn file(&self) -> Option<(BorrowedFd<'_>, u64)> {
        let file = self.mapping.file.as_ref()?;
        Some((file.as_fd(), self.mapping.bytes as u64))
    }

    /// Address and length of the memory with what is before its first byte: pages as a whole. `None` if there are not as many
    /// bytes before it.
    pub(crate) fn behind_headroom(&self, before: usize) -> Option<(u64, u64)> {
        (self.mapping.before == before).then(|| (self.start.as_ptr() as u64 - before as u64, self.bytes as u64))
    }

    /// No memory, for tests of what does not reach it.
    #[cfg(test)]
    pub(crate) fn none() -> Dma {
        let start = NonNull::dangling();
        Dma {
            start,
            bytes: 0,
            pages: Rc::new([]),
            mapping: Rc::new(Mapping { start, bytes: 0, before: 0, file: None, container: RefCell::default() }),
        }
    }

    #[inline]
    fn has(&self, from: usize, length: usize) -> bool {
        from.checked_add(length).is_some_and(|end| end <= self.bytes)
    }

    /// Some bytes of it. The caller knows that no device uses them.
    #[inline]
    pub(crate) fn bytes(&self, from: usize, length: usize) -> &[u8] {
        hold(self.has(from, length), "buffers lie in the memory");
        // SAFETY: the range was just checked; the memory is mapped and initialised as long as `self` lives; the buffers of
        // packets that the program owns are in no ring, so that no device writes them.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(from), length) }
    }

    /// As [`Dma::bytes`], to change them. The caller, a pool, gives no other reference out at the same time.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "devices share the memory, and the pool alone gives references out")]
    pub(crate) fn bytes_mut(&self, from: usize, length: usize) -> &mut [u8] {
        hold(self.has(from, length), "buffers lie in the memory");
        // SAFETY: as in `bytes`; the pool, whose `&mut self` the caller has, makes this the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(from), length) }
    }

    /// Bytes that end before a place, of memory that begins behind a headroom. As [`Dma::bytes_mut`].
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "as in `bytes_mut`")]
    pub(crate) fn before_mut(&self, place: usize, length: usize) -> &mut [u8] {
        hold(place <= self.bytes && length <= self.mapping.before, "there is a headroom");
        // SAFETY: the range was just checked: `before` bytes before `start` are of the mapping, too. No frame reaches there, as a
        // pool of such memory has none that is so long; otherwise as in `bytes_mut`.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().add(place).sub(length), length) }
    }

    /// Two bytes that another process may change.
    #[inline]
    pub(crate) fn atomic_u16(&self, place: usize) -> &AtomicU16 {
        hold(place.is_multiple_of(2) && place + 2 <= self.bytes, "rings lie in the memory");
        // SAFETY: the place was just checked; the memory starts at a multiple of 8 and is mapped as long as `self` lives. All of
        // the process reach such memory by atomics only; others change it as another thread would.
        unsafe { &*self.start.as_ptr().add(place).cast::<AtomicU16>() }
    }

    /// As [`Dma::atomic_u16`], of four bytes.
    #[inline]
    pub(crate) fn atomic_u32(&self, place: usize) -> &AtomicU32 {
        hold(place.is_multiple_of(4) && place + 4 <= self.bytes, "rings lie in the memory");
        // SAFETY: as in `atomic_u16`.
        unsafe { &*self.start.as_ptr().add(place).cast::<AtomicU32>() }
    }

    /// As [`Dma::atomic_u16`], of eight bytes.
    #[inline]
    pub(crate) fn atomic_u64(&self, place: usize) -> &AtomicU64 {
        hold(place.is_multiple_of(8) && place + 8 <= self.bytes, "rings lie in the memory");
        // SAFETY: as in `atomic_u16`.
        unsafe { &*self.start.as_ptr().add(place).cast::<AtomicU64>() }
    }

    /// Has the line at a place loaded.
    #[inline]
    pub(crate) fn prefetch(&self, place: usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch of any address reads nothing and faults nowhere.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.start.as_ptr().wrapping_add(place).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = place;
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        if let Some(shared) = self.container.take()
            && let Some(container) = shared.container.upgrade()
        {
            shared.runs.iter().for_each(|&(iova, bytes)| container.unmap(iova, bytes));
        }
        // SAFETY: the mapping is that of `allocate` or `for_sockets`, and no reference into it outlives the last `Dma` that has it. The
        // device that used it is stopped before: see `Device`'s drop. If it cannot be unmapped it stays.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// A ring of descriptors of 16 bytes each; the number of them is a power of two, at least 8.
#[derive(Debug)]
pub(crate) struct Ring {
    memory: Dma,
    mask: usize,
}

impl Ring {
    pub(crate) fn allocate(entries: usize, addressing: Addressing) -> Result<Ring, DmaError> {
        assert!(entries.is_power_of_two() && (8..=4096).contains(&entries), "a ring has a power of two of descriptors");
        let memory = Dma::allocate(entries * 16, addressing)?;
        let ring = Ring { memory, mask: entries - 1 };
        // Addresses that no memory has: a device that starts too early finds nothing to overwrite.
        (0..entries).for_each(|index| ring.descriptors().write(index, u64::MAX, u64::MAX));
        Ok(ring)
    }

    pub(crate) fn memory(&self) -> &Dma {
        &self.memory
    }

    pub(crate) fn address(&self) -> u64 {
        *crate::checks::at(&self.memory.pages, 0)
    }

    pub(crate) fn entries(&self) -> usize {
        self.mask + 1
    }

    /// Its descriptors, for a batch of them.
    #[inline]
    pub(crate) fn descriptors(&self) -> Descriptors<'_> {
        Descriptors { start: self.memory.start.cast(), mask: self.mask, ring: PhantomData }
    }
}

/// The descriptors of a ring, by value: a loop keeps their place and number in registers, whatever it writes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Descriptors<'a> {
    start: NonNull<[AtomicU64; 2]>,
    mask: usize,
    ring: PhantomData<&'a Ring>,
}

impl<'a> Descriptors<'a> {
    /// The number of descriptors less one: any index is taken modulo their number.
    #[inline]
    pub(crate) fn mask(self) -> usize {
        self.mask
    }

    #[inline]
    fn at(self, index: usize) -> &'a [AtomicU64; 2] {
        // SAFETY: the mask keeps the index inside of the ring, whose memory is mapped for `'a` and aligned to a page. The device
        // changes it, as another thread would.
        unsafe { self.start.add(index & self.mask).as_ref() }
    }

    /// The second half of a descriptor, as the device writes it back; what it wrote before is seen after it.
    #[inline]
    pub(crate) fn status(self, index: usize) -> u64 {
        self.at(index)[1].load(Ordering::Acquire)
    }

    /// Writes a descriptor. The device looks at it only when the tail says so.
    #[inline]
    pub(crate) fn write(self, index: usize, address: u64, command: u64) {
        let [first, second] = self.at(index);
        first.store(address, Ordering::Relaxed);
        second.store(command, Ordering::Relaxed);
    }
}
