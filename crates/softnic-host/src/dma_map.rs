//! The DMA memory of a driver: its huge pages, mapped here too, by bus address.
//!
//! A driver without an IOMMU uses physical addresses as bus addresses. It finds those of its huge pages in
//! `/proc/self/pagemap`; so does the device, for each mapping of huge pages in `/proc/PID/maps`, and maps the same file
//! through `/proc/PID/map_files`, which works for files without a name, too.
#![deny(clippy::indexing_slicing)]
#![allow(unsafe_code, reason = "memory that another process writes to is reached through raw pointers")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use prony_softnic::{DmaFault, DmaMemory};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::guard;
use crate::iommu::{Iommu, Refusal};
use crate::mapped_file::{MappedFile, Mapping, mappings};

/// Granularity of the map: the smallest huge page of x86-64 and aarch64.
const PIECE_BITS: u32 = 21;
const PIECE_BYTES: u64 = 1 << PIECE_BITS;
/// Pages of the direct-mapped table: those of 2 GiB, as long as no two have the same place.
const SLOTS: usize = 1024;
/// Shortest time between two searches for memory that a driver may have added.
const SEARCH_NS: u64 = 1_000_000;
/// Entry of `/proc/PID/pagemap`: page is present; number of its frame (Documentation/admin-guide/mm/pagemap.rst).
const PAGE_PRESENT: u64 = 1 << 63;
const PAGE_FRAME: u64 = (1 << 55) - 1;

/// Reasons why the memory of a driver cannot be found.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The kernel does not tell physical addresses.
    #[error("/proc/{pid}/pagemap has no frame numbers, which needs CAP_SYS_ADMIN")]
    NoFrames {
        /// PID of the driver.
        pid: u32,
    },
    /// The kernel refused to map the huge pages.
    #[error("cannot map the huge pages of process {pid}: {error}")]
    Io {
        /// PID of the driver.
        pid: u32,
        /// Error that the kernel returned.
        error: io::Error,
    },
}

/// DMA memory of one or more drivers.
#[derive(Debug)]
pub(crate) struct DmaMap {
    slots: Box<[Slot; SLOTS]>,
    pieces: BTreeMap<u64, *mut u8>,
    regions: Vec<Region>,
    /// What drivers have given by VFIO, in place of what is found at physical addresses.
    iommu: Option<Iommu>,
    drivers: Vec<u32>,
    /// Files of the registers, one of which each driver has mapped.
    registers: Vec<(u64, u64)>,
    searched_ns: u64,
    now_ns: u64,
    error: Option<MapError>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    piece: u64,
    start: *mut u8,
}

fn set_slot(slots: &mut [Slot; SLOTS], piece: u64, start: *mut u8) {
    if let Some(slot) = slots.get_mut(piece as usize % SLOTS) {
        *slot = Slot { piece, start };
    }
}

const NO_SLOT: Slot = Slot { piece: u64::MAX, start: ptr::null_mut() };

/// A mapping of a driver's huge pages in this process.
#[derive(Debug)]
struct Region {
    /// Device and inode of the file.
    file: (u64, u64),
    /// First byte in the file.
    offset: u64,
    start: *mut u8,
    bytes: usize,
}

impl Region {
    fn is_of(&self, mapping: &Mapping) -> bool {
        let bytes = mapping.end - mapping.start;
        (self.file, self.offset, self.bytes as u64) == (mapping.file, mapping.offset, bytes)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        guard::forget(self.start);
        // SAFETY: the mapping is that of `search`, and the table that pointed into it is rebuilt by the code that drops this.
        let _ = unsafe { munmap(self.start.cast(), self.bytes) };
    }
}

// SAFETY: the mappings belong to the value alone; what others may change in them is copied as other agents' memory.
unsafe impl Send for DmaMap {}

impl DmaMap {
    /// Map in which no memory is known.
    pub(crate) fn new() -> DmaMap {
        DmaMap {
            slots: Box::new([NO_SLOT; SLOTS]),
            pieces: BTreeMap::new(),
            regions: Vec::new(),
            iommu: None,
            drivers: Vec::new(),
            registers: Vec::new(),
            searched_ns: 0,
            now_ns: 0,
            error: None,
        }
    }

    /// Map of the memory that drivers give by VFIO, at addresses of their choice.
    pub(crate) fn with_iommu() -> DmaMap {
        DmaMap { iommu: Some(Iommu::new()), ..DmaMap::new() }
    }

    /// Gives the device memory of a process at a bus address; both are of whole pages.
    pub(crate) fn map(&mut self, process: u32, iova: u64, address: u64, bytes: u64) -> Result<(), Refusal> {
        let iommu = self.iommu.as_mut().ok_or(Refusal::Errno(Errno::NODEV))?;
        iommu.map(process, iova, address, bytes)?;
        self.fill_slots();
        Ok(())
    }

    /// Takes memory of a process away, whole mappings in a range of bus addresses; `None` for all. Returns its bytes.
    pub(crate) fn unmap(&mut self, process: u32, range: Option<(u64, u64)>) -> Result<u64, Errno> {
        let unmapped = self.iommu.as_mut().ok_or(Errno::NODEV)?.unmap(process, range);
        self.fill_slots();
        unmapped
    }

    fn fill_slots(&mut self) {
        self.slots.fill(NO_SLOT);
        // More of one mapping would take the places of its first pieces. A driver may give terabytes that it has never touched.
        for (piece, start) in self.iommu.iter().flat_map(|iommu| iommu.whole_pieces(PIECE_BITS, SLOTS)) {
            set_slot(&mut self.slots, piece, start);
        }
    }

    /// The processes whose memory this is, each of which has mapped one of the files of `registers`. Memory of others is let go, if it was
    /// not given by VFIO.
    pub(crate) fn set_drivers(&mut self, drivers: Vec<u32>, registers: &[(u64, u64)]) {
        if drivers.is_empty() && self.iommu.is_none() {
            self.clear();
        }
        self.drivers = drivers;
        self.registers = registers.to_vec();
        self.search();
    }

    pub(crate) fn drivers(&self) -> &[u32] {
        &self.drivers
    }

    /// Size of the mapped memory, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        match &self.iommu {
            Some(iommu) => iommu.bytes(),
            None => self.pieces.len() as u64 * PIECE_BYTES,
        }
    }

    /// Why the last search failed, once.
    pub(crate) fn take_error(&mut self) -> Option<MapError> {
        self.error.take()
    }

    /// Tells the time; searches are not repeated within a millisecond.
    #[inline]
    pub(crate) fn set_time(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    fn clear(&mut self) {
        self.slots.fill(NO_SLOT);
        self.pieces.clear();
        self.regions.clear();
    }

    /// Finds the huge pages that the drivers have mapped by now.
    pub(crate) fn search(&mut self) {
        self.searched_ns = self.now_ns;
        if self.iommu.is_some() {
            return;
        }
        let mut kept: Vec<Region> = Vec::new();
        let mut pieces = BTreeMap::new();
        for pid in self.drivers.clone() {
            match self.search_in(pid, &mut kept, &mut pieces) {
                Ok(()) => {}
                // Processes end whenever they want.
                Err(MapError::Io { error, .. }) if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENOENT)) => {
                }
                Err(error) => self.error = Some(error),
            }
        }
        self.slots.fill(NO_SLOT);
        for (&piece, &start) in &pieces {
            set_slot(&mut self.slots, piece, start);
        }
        // What is in neither is unmapped now.
        (self.pieces, self.regions) = (pieces, kept);
    }

    fn search_in(
        &mut self,
        pid: u32,
        kept: &mut Vec<Region>,
        pieces: &mut BTreeMap<u64, *mut u8>,
    ) -> Result<(), MapError> {
        let failed = |error: io::Error| MapError::Io { pid, error };
        let pagemap = File::open(format!("/proc/{pid}/pagemap")).map_err(failed)?;
        let mut maps = mappings(pid).map_err(failed)?;
        maps.retain(|mapping| {
            let is_whole = |address: u64| address.is_multiple_of(PIECE_BYTES);
            mapping.is_shared && is_whole(mapping.start) && is_whole(mapping.end)
        });
        let is_known = |mapping: &Mapping| kept.iter().chain(&self.regions).any(|region| region.is_of(mapping));
        let mut opened =
            open_new(pid, maps.iter().filter(|mapping| !is_known(mapping)), &self.registers).map_err(failed)?;
        for mapping in maps {
            let length = mapping.end - mapping.start;
            let start = if let Some(region) = kept.iter().find(|region| region.is_of(&mapping)) {
                region.start
            } else if let Some(place) = self.regions.iter().position(|region| region.is_of(&mapping)) {
                let region = self.regions.swap_remove(place);
                let start = region.start;
                kept.push(region);
                start
            } else {
                let Some(place) = opened.iter().position(|file| file.mapping == mapping) else { continue };
                let bytes = length as usize;
                let Some(start) = map_huge_pages(&opened.swap_remove(place), bytes).map_err(failed)? else { continue };
                kept.push(Region { file: mapping.file, offset: mapping.offset, start, bytes });
                start
            };
            for at in (0..length).step_by(PIECE_BYTES as usize) {
                let mut entry = [0; 8];
                pagemap.read_exact_at(&mut entry, (mapping.start + at) / 4096 * 8).map_err(failed)?;
                let entry = u64::from_ne_bytes(entry);
                // What the driver has not touched yet has no address that it could give to a device.
                if entry & PAGE_PRESENT == 0 {
                    continue;
                }
                let frame = entry & PAGE_FRAME;
                if frame == 0 {
                    return Err(MapError::NoFrames { pid });
                }
                let address = frame * 4096;
                if address.is_multiple_of(PIECE_BYTES) {
                    // SAFETY: `at` lies in the mapping, which has `length` bytes.
                    pieces.insert(address >> PIECE_BITS, unsafe { start.add(at as usize) });
                }
            }
        }
        Ok(())
    }

    /// The memory from an address to the end of its piece, and the bytes in it.
    #[inline]
    fn piece(&self, address: u64) -> Option<(*mut u8, u64)> {
        let piece = address >> PIECE_BITS;
        let slot = self.slots.get(piece as usize % SLOTS)?;
        let start = if slot.piece == piece { slot.start } else { return self.elsewhere(address) };
        let at = address % PIECE_BYTES;
        // SAFETY: the piece is mapped as a whole, and `at` lies in it.
        Some((unsafe { start.add(at as usize) }, PIECE_BYTES - at))
    }

    /// As [`DmaMap::piece`], of memory that has no slot.
    fn elsewhere(&self, address: u64) -> Option<(*mut u8, u64)> {
        if let Some(iommu) = &self.iommu {
            return iommu.place(address);
        }
        let start = *self.pieces.get(&(address >> PIECE_BITS))?;
        let at = address % PIECE_BYTES;
        // SAFETY: as in `piece`.
        Some((unsafe { start.add(at as usize) }, PIECE_BYTES - at))
    }

    /// The memory of an access that lies in one piece.
    #[inline]
    fn whole(&self, address: u64, bytes: usize) -> Option<*mut u8> {
        let (start, left) = self.piece(address)?;
        (bytes as u64 <= left).then_some(start)
    }

    /// The parts of an access, each in one piece; `None` if one of them is no DMA memory.
    fn parts(&self, address: u64, bytes: usize) -> Option<Vec<(*mut u8, usize)>> {
        let (mut parts, mut address, mut left) = (Vec::new(), address, bytes as u64);
        address.checked_add(left)?;
        while left > 0 {
            let (start, room) = self.piece(address)?;
            let bytes = left.min(room);
            parts.push((start, bytes as usize));
            (address, left) = (address + bytes, left - bytes);
        }
        Some(parts)
    }

    /// The parts of an access that is not in one known piece: maybe the driver has mapped more by now.
    #[cold]
    fn find(&mut self, address: u64, bytes: usize) -> Result<Vec<(*mut u8, usize)>, DmaFault> {
        if let Some(parts) = self.parts(address, bytes) {
            return Ok(parts);
        }
        if self.now_ns.saturating_sub(self.searched_ns) >= SEARCH_NS {
            self.search();
        }
        self.parts(address, bytes).ok_or(DmaFault { address, bytes: bytes as u64 })
    }

    #[cold]
    fn read_in_parts(&mut self, address: u64, into: &mut [u8]) -> Result<(), DmaFault> {
        let mut rest = into;
        for (start, bytes) in self.find(address, rest.len())? {
            let (part, after) = rest.split_at_mut(bytes);
            // SAFETY: `find` says that this many bytes from `start` on are mapped.
            unsafe { copy_from(start, part) };
            rest = after;
        }
        Ok(())
    }

    #[cold]
    fn write_in_parts(&mut self, address: u64, bytes: &[u8]) -> Result<(), DmaFault> {
        let mut rest = bytes;
        for (start, bytes) in self.find(address, rest.len())? {
            let (part, after) = rest.split_at(bytes);
            // SAFETY: `find` says that this many bytes from `start` on are mapped.
            unsafe { copy_to(start, part) };
            rest = after;
        }
        Ok(())
    }

    #[inline]
    fn words(&mut self, address: u64) -> Result<[&AtomicU64; 2], DmaFault> {
        let start = match self.whole(address, 16) {
            Some(start) => start,
            None => match self.find(address, 16)?[..] {
                [(start, _)] => start,
                // Descriptors are aligned to their size, so that a piece holds all of one.
                _ => return Err(DmaFault { address, bytes: 16 }),
            },
        };
        assert!((start as usize).is_multiple_of(16), "rings are aligned, and so are their descriptors");
        // SAFETY: 16 bytes from `start` on are mapped, aligned, and live until `self` is changed.
        unsafe { Ok([&*start.cast::<AtomicU64>(), &*start.add(8).cast::<AtomicU64>()]) }
    }
}

impl DmaMemory for DmaMap {
    #[inline]
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), DmaFault> {
        if let Some(start) = self.whole(address, into.len()) {
            // SAFETY: `whole` says that this many bytes from `start` on are mapped.
            unsafe { copy_from(start, into) };
            return Ok(());
        }
        self.read_in_parts(address, into)
    }

    #[inline]
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), DmaFault> {
        if let Some(start) = self.whole(address, bytes.len()) {
            // SAFETY: `whole` says that this many bytes from `start` on are mapped.
            unsafe { copy_to(start, bytes) };
            return Ok(());
        }
        self.write_in_parts(address, bytes)
    }

    #[inline]
    fn read_descriptor(&mut self, address: u64) -> Result<[u64; 2], DmaFault> {
        let [low, high] = self.words(address)?;
        Ok([low.load(Ordering::Relaxed), high.load(Ordering::Relaxed)])
    }

    #[inline]
    fn write_descriptor(&mut self, address: u64, words: [u64; 2]) -> Result<(), DmaFault> {
        let [low, high] = self.words(address)?;
        low.store(words[0], Ordering::Relaxed);
        high.store(words[1], Ordering::Release);
        Ok(())
    }

    #[inline]
    fn read_descriptors(&mut self, address: u64, into: &mut [[u64; 2]]) -> Result<(), DmaFault> {
        let Some(start) = self.whole(address, size_of_val(into)) else {
            for (address, words) in (address..).step_by(16).zip(into) {
                *words = self.read_descriptor(address)?;
            }
            return Ok(());
        };
        assert!((start as usize).is_multiple_of(16), "rings are aligned, and so are their descriptors");
        for (at, words) in into.iter_mut().enumerate() {
            // SAFETY: `whole` says that this many bytes from `start` on are mapped; they are aligned, and live until `self` is changed.
            let [low, high] = unsafe { &*start.cast::<[AtomicU64; 2]>().add(at) };
            *words = [low.load(Ordering::Relaxed), high.load(Ordering::Relaxed)];
        }
        Ok(())
    }

    #[inline]
    fn write_descriptors(&mut self, address: u64, words: &[[u64; 2]]) -> Result<(), DmaFault> {
        let Some(start) = self.whole(address, size_of_val(words)) else {
            return (address..)
                .step_by(16)
                .zip(words)
                .try_for_each(|(address, &words)| self.write_descriptor(address, words));
        };
        assert!((start as usize).is_multiple_of(16), "rings are aligned, and so are their descriptors");
        for (at, words) in words.iter().enumerate() {
            // SAFETY: as in `read_descriptors`.
            let [low, high] = unsafe { &*start.cast::<[AtomicU64; 2]>().add(at) };
            low.store(words[0], Ordering::Relaxed);
            high.store(words[1], Ordering::Release);
        }
        Ok(())
    }

    #[inline]
    fn prefetch_write(&self, address: u64) {
        #[cfg(target_arch = "x86_64")]
        if let Some((start, _)) = self.piece(address) {
            // SAFETY: a prefetch changes nothing, and this address is mapped. A processor without it does nothing.
            unsafe { std::arch::asm!("prefetchw [{}]", in(reg) start, options(nostack, preserves_flags)) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = address;
    }

    #[inline]
    fn prefetch(&self, address: u64) {
        #[cfg(target_arch = "x86_64")]
        if let Some((start, _)) = self.piece(address) {
            // SAFETY: a prefetch reads nothing, and this address is mapped.
            unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(start.cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = address;
    }
}

/// Copies bytes that another process may be writing.
///
/// # Safety
/// As many bytes as `into` has are mapped from `from` on.
#[inline]
unsafe fn copy_from(from: *const u8, into: &mut [u8]) {
    // SAFETY: the caller's; `into` is a slice of its own.
    unsafe { copy(from, into.as_mut_ptr(), into.len()) };
}

/// Copies bytes to where another process may be reading.
///
/// # Safety
/// As many bytes as `bytes` has are mapped from `to` on.
#[inline]
unsafe fn copy_to(to: *mut u8, bytes: &[u8]) {
    // SAFETY: the caller's; `bytes` is a slice of its own.
    unsafe { copy(bytes.as_ptr(), to, bytes.len()) };
}

/// Copies by instructions that the compiler does not know: what another process does at the same time is no data race
/// of this one, and gives some mixture of old and new bytes.
///
/// # Safety
/// Both ranges are mapped, and do not overlap.
#[inline]
#[cfg(target_arch = "x86_64")]
unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    use std::arch::asm;
    if bytes < 16 {
        // SAFETY: the caller's. `rep movsb` leaves the direction flag as the ABI has it, which is forwards.
        unsafe {
            asm!("rep movsb", inout("rcx") bytes => _, inout("rsi") from => _, inout("rdi") to => _,
                 options(nostack, preserves_flags));
        }
        return;
    }
    let last = bytes - 16;
    // The shortest frames, which are most of them where speed is measured: without a loop.
    if (32..=64).contains(&bytes) {
        // SAFETY: the caller's: each 16 bytes lie in both ranges, those in the middle maybe for the second time.
        unsafe {
            asm!(
                "movdqu {a}, [{from}]",
                "movdqu {b}, [{from} + 16]",
                "movdqu {c}, [{from} + {last} - 16]",
                "movdqu {d}, [{from} + {last}]",
                "movdqu [{to}], {a}",
                "movdqu [{to} + 16], {b}",
                "movdqu [{to} + {last} - 16], {c}",
                "movdqu [{to} + {last}], {d}",
                a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
                from = in(reg) from, to = in(reg) to, last = in(reg) last,
                options(nostack, preserves_flags),
            );
        }
        return;
    }
    // SAFETY: the caller's: each 16 bytes lie in both ranges, the last ones, at `last`, maybe for the second time.
    unsafe {
        asm!(
            "xor {at}, {at}",
            "2:",
            "movdqu {x}, [{from} + {at}]",
            "movdqu [{to} + {at}], {x}",
            "add {at}, 16",
            "cmp {at}, {last}",
            "jb 2b",
            "movdqu {x}, [{from} + {last}]",
            "movdqu [{to} + {last}], {x}",
            at = out(reg) _, x = out(xmm_reg) _, from = in(reg) from, to = in(reg) to, last = in(reg) last,
            options(nostack),
        );
    }
}

/// As on x86-64, byte by byte.
///
/// # Safety
/// Both ranges are mapped, and do not overlap.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    use std::sync::atomic::AtomicU8;
    for at in 0..bytes {
        // SAFETY: the caller's; bytes need no alignment.
        unsafe {
            let byte = (*from.add(at).cast::<AtomicU8>()).load(Ordering::Relaxed);
            (*to.add(at).cast::<AtomicU8>()).store(byte, Ordering::Relaxed);
        }
    }
}

/// Opens the files of mappings, as far as they are of huge pages and the process still has them mapped when they are open. It has one of
/// the files of `registers` mapped then, too: a process that has another program now, or the PID of another one, has not.
fn open_new<'a>(
    pid: u32,
    maps: impl Iterator<Item = &'a Mapping>,
    registers: &[(u64, u64)],
) -> io::Result<Vec<MappedFile>> {
    let mut opened = Vec::new();
    for mapping in maps {
        match MappedFile::open(pid, mapping) {
            Ok(file) => opened.extend(file.filter(MappedFile::is_huge)),
            // It was unmapped meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    if !opened.is_empty() {
        let now = mappings(pid)?;
        let is_driver = maps_one_of(&now, registers);
        opened.retain(|file| is_driver && file.is_confirmed(&now, 0, u64::MAX));
    }
    Ok(opened)
}

/// Maps the huge pages of a file; `None` if they cannot be guarded.
fn map_huge_pages(opened: &MappedFile, bytes: usize) -> io::Result<Option<*mut u8>> {
    let (protection, offset) = (ProtFlags::READ | ProtFlags::WRITE, opened.mapping.offset);
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let start = unsafe { mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, opened.file.as_fd(), offset)? };
    if guard::remember(start.cast(), bytes, PIECE_BYTES as usize) {
        return Ok(Some(start.cast()));
    }
    // SAFETY: it was just mapped, and nothing refers to it. That it cannot be unmapped would only leave it mapped.
    let _ = unsafe { munmap(start, bytes) };
    Ok(None)
}

/// Processes that have mapped one of these files, given by device and inode, among `candidates`.
pub(crate) fn who_maps(files: &[(u64, u64)], candidates: impl IntoIterator<Item = u32>) -> Vec<u32> {
    candidates.into_iter().filter(|&pid| mappings(pid).is_ok_and(|maps| maps_one_of(&maps, files))).collect()
}

fn maps_one_of(maps: &[Mapping], files: &[(u64, u64)]) -> bool {
    maps.iter().any(|mapping| files.contains(&mapping.file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_copied_whole_whatever_their_number() {
        let from: Vec<u8> = (0..200).map(|n| n as u8).collect();
        for bytes in 0..200 {
            let mut to = vec![0xee; 202];
            // SAFETY: both vectors have as many bytes.
            unsafe { copy_to(to[1..].as_mut_ptr(), &from[..bytes]) };
            assert!(to[0] == 0xee && to[1..=bytes] == from[..bytes] && to[bytes + 1] == 0xee, "{bytes}");
            let mut back = vec![0; bytes];
            // SAFETY: as above.
            unsafe { copy_from(to[1..].as_ptr(), &mut back) };
            assert_eq!(back, from[..bytes]);
        }
    }

    #[test]
    fn memory_of_no_process_is_no_dma_memory() {
        let mut map = DmaMap::new();
        assert_eq!(map.read(0x1000, &mut [0; 4]), Err(DmaFault { address: 0x1000, bytes: 4 }));
        assert_eq!(map.write(u64::MAX - 1, &[0; 4]), Err(DmaFault { address: u64::MAX - 1, bytes: 4 }));
        assert!(map.read_descriptor(0).is_err() && map.write_descriptor(0, [0; 2]).is_err());
        map.prefetch(u64::MAX);
    }
}
