//! Memory that drivers gave the device by `VFIO_IOMMU_MAP_DMA`, at bus addresses of their own choice.
//!
//! The device maps the same files, so that only memory that is shared can be given: huge pages, memory files, shared anonymous
//! memory. The pages of a private mapping are reached by no other process.
#![deny(clippy::indexing_slicing)]
#![allow(unsafe_code, reason = "memory of another process is mapped")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::ptr;

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use crate::guard;
use crate::mapped_file::{MappedFile, Mapping as Area, mappings};

const PAGE_BITS: u32 = 12;
const PAGE_BYTES: u64 = 1 << PAGE_BITS;
/// The largest huge page that can be mapped here: 1 GiB.
const HUGE_BYTES_MAX: u64 = 1 << 30;
/// Mappings in this process for all drivers. The kernel allows a process 65,530; of a driver with huge pages of 2 MiB, each in a
/// file of its own, these are 8 GiB.
const PARTS_MAX: usize = 4096;
/// Times that memory is opened whose mapping changes meanwhile, as it may by what another thread of the driver does.
const TRIES: u32 = 8;
/// Places of the table of pages that were used last.
const SLOTS: usize = 1024;

/// Reasons why memory cannot be given to the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Some of it is private to the process, read-only, or of no file.
    NotShared,
    /// Something else, as the kernel would say it.
    Errno(Errno),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        Refusal::Errno(Errno::from_io_error(&error).unwrap_or(Errno::FAULT))
    }
}

/// All memory that drivers have given, by bus address.
#[derive(Debug)]
pub(crate) struct Iommu {
    mappings: BTreeMap<u64, Mapping>,
    parts: usize,
    bytes: u64,
    recent: Box<[Cell<Slot>; SLOTS]>,
}

/// A page of a mapping: where it is here, and where the mapping ends.
#[derive(Debug, Clone, Copy)]
struct Slot {
    page: u64,
    start: *mut u8,
    end: u64,
}

const NO_SLOT: Slot = Slot { page: u64::MAX, start: ptr::null_mut(), end: 0 };

/// Memory of one call.
#[derive(Debug)]
struct Mapping {
    process: u32,
    /// First bus address behind it.
    end: u64,
    /// What the first bus address is here.
    start: *mut u8,
    /// Keeps it mapped.
    reserved: Reserved,
}

/// Addresses of this process, with parts of files mapped into them.
#[derive(Debug)]
struct Reserved {
    start: *mut u8,
    bytes: usize,
    parts: Vec<*mut u8>,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.parts.iter().for_each(|&part| guard::forget(part));
        // SAFETY: the addresses were reserved for this value, and nothing uses what is mapped there any more.
        let _ = unsafe { munmap(self.start.cast(), self.bytes) };
    }
}

impl Iommu {
    pub(crate) fn new() -> Iommu {
        Iommu { mappings: BTreeMap::new(), parts: 0, bytes: 0, recent: Box::new([const { Cell::new(NO_SLOT) }; SLOTS]) }
    }

    /// Bytes that drivers have given.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives the device the memory of a process, at a bus address. The caller has checked that addresses and length are of
    /// whole pages, and do not overflow.
    pub(crate) fn map(&mut self, process: u32, iova: u64, address: u64, bytes: u64) -> Result<(), Refusal> {
        let end = iova + bytes;
        let before = self.mappings.range(..end).next_back();
        if before.is_some_and(|(_, mapping)| mapping.end > iova) {
            return Err(Refusal::Errno(Errno::EXIST));
        }
        let room = PARTS_MAX.saturating_sub(self.parts);
        let (reserved, start) = map_memory(process, address, bytes, room)?;
        self.parts += reserved.parts.len();
        self.bytes += bytes;
        self.mappings.insert(iova, Mapping { process, end, start, reserved });
        Ok(())
    }

    /// Takes the mappings of a process away that lie in a range; `None` for all. Returns their bytes.
    pub(crate) fn unmap(&mut self, process: u32, range: Option<(u64, u64)>) -> Result<u64, Errno> {
        let (from, to) = range.unwrap_or((0, u64::MAX));
        // Type 1, version 2: no mapping is cut.
        let last = self.mappings.range(..to).next_back();
        let first = self.mappings.range(..from).next_back();
        if range.is_some()
            && (last.is_some_and(|(&start, mapping)| start >= from && mapping.end > to)
                || first.is_some_and(|(_, mapping)| mapping.end > from))
        {
            return Err(Errno::INVAL);
        }
        let inside = self.mappings.range(from..to).filter(|(_, mapping)| mapping.process == process);
        let keys: Vec<u64> = inside.map(|(&iova, _)| iova).collect();
        let mut bytes = 0;
        for iova in keys {
            if let Some(mapping) = self.mappings.remove(&iova) {
                bytes += mapping.end - iova;
                self.parts -= mapping.reserved.parts.len();
            }
        }
        self.bytes -= bytes;
        self.recent.iter().for_each(|slot| slot.set(NO_SLOT));
        Ok(bytes)
    }

    /// Memory at a bus address, and the bytes up to the end of its mapping.
    #[inline]
    pub(crate) fn place(&self, address: u64) -> Option<(*mut u8, u64)> {
        let page = address >> PAGE_BITS;
        let slot = self.recent.get(page as usize % SLOTS)?;
        let mut found = slot.get();
        if found.page != page {
            let (&iova, mapping) =
                self.mappings.range(..=address).next_back().filter(|(_, mapping)| address < mapping.end)?;
            let at = (page << PAGE_BITS) - iova;
            // SAFETY: the page lies in the mapping, which is of whole pages.
            found = Slot { page, start: unsafe { mapping.start.add(at as usize) }, end: mapping.end };
            slot.set(found);
        }
        // SAFETY: the offset is less than a page.
        Some((unsafe { found.start.add((address % PAGE_BYTES) as usize) }, found.end - address))
    }

    /// Pieces of `1 << bits` bytes that a mapping has as a whole, the first `pieces_max` of each: number, and where it is here.
    pub(crate) fn whole_pieces(&self, bits: u32, pieces_max: usize) -> impl Iterator<Item = (u64, *mut u8)> {
        self.mappings.iter().flat_map(move |(&iova, mapping)| {
            let pieces = iova.div_ceil(1 << bits)..mapping.end >> bits;
            // SAFETY: the piece begins in the mapping.
            pieces
                .take(pieces_max)
                .map(move |piece| (piece, unsafe { mapping.start.add(((piece << bits) - iova) as usize) }))
        })
    }
}

/// The mappings that hold a range without a gap, in their order.
fn areas(maps: Vec<Area>, address: u64, end: u64) -> Result<Vec<Area>, Refusal> {
    let areas: Vec<Area> = maps.into_iter().filter(|area| area.start < end && area.end > address).collect();
    let mut at = address;
    for area in &areas {
        if area.start > at {
            return Err(Refusal::Errno(Errno::FAULT));
        }
        if !area.is_shared {
            return Err(Refusal::NotShared);
        }
        at = area.end;
    }
    if at < end { Err(Refusal::Errno(Errno::FAULT)) } else { Ok(areas) }
}

/// Opens the files that hold a range of a process's memory, in their order: as many as `parts_max`.
fn open_memory(process: u32, address: u64, end: u64, parts_max: usize) -> Result<Vec<MappedFile>, Refusal> {
    let mut refusal = Refusal::NotShared;
    for _ in 0..TRIES {
        let areas = areas(mappings(process)?, address, end)?;
        if areas.len() > parts_max {
            return Err(Refusal::Errno(Errno::NOSPC));
        }
        let files = areas.iter().map(|area| MappedFile::open(process, area)).collect::<io::Result<Option<Vec<_>>>>();
        refusal = match files {
            Ok(Some(files)) => {
                let now = mappings(process)?;
                if files.iter().all(|file| file.is_confirmed(&now, address, end)) {
                    return Ok(files);
                }
                Refusal::NotShared
            }
            Ok(None) => Refusal::NotShared,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Refusal::Errno(Errno::FAULT),
            Err(error) => return Err(error.into()),
        };
    }
    Err(refusal)
}

/// Maps memory of a process here, in at most `parts_max` parts. Returns what keeps it, and where its first byte is.
fn map_memory(process: u32, address: u64, bytes: u64, parts_max: usize) -> Result<(Reserved, *mut u8), Refusal> {
    let end = address.checked_add(bytes).ok_or(Refusal::Errno(Errno::INVAL))?;
    let files = open_memory(process, address, end, parts_max)?;
    let unit = files.iter().map(|file| file.page_bytes).fold(PAGE_BYTES, u64::max);
    if files.iter().any(|file| !file.page_bytes.is_power_of_two()) || unit > HUGE_BYTES_MAX {
        return Err(Refusal::NotShared);
    }
    // A huge page is mapped as a whole, at a multiple of its size, whatever part of it the driver gives.
    let low = address / unit * unit;
    let high = end.checked_next_multiple_of(unit).ok_or(Errno::INVAL).map_err(Refusal::Errno)?;
    let room = usize::try_from(high - low + unit).map_err(|_| Refusal::Errno(Errno::NOMEM))?;
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let start =
        unsafe { mmap_anonymous(ptr::null_mut(), room, ProtFlags::empty(), MapFlags::PRIVATE | MapFlags::NORESERVE) };
    let start = start.map_err(Refusal::Errno)?.cast::<u8>();
    let mut reserved = Reserved { start, bytes: room, parts: Vec::with_capacity(files.len()) };
    let aligned = (start as u64).next_multiple_of(unit);
    let here = |there: u64| (aligned + (there - low)) as *mut u8;
    for MappedFile { file, page_bytes, mapping: area } in &files {
        let from = area.start.max(address) / page_bytes * page_bytes;
        let to = area.end.min(end).next_multiple_of(*page_bytes);
        let (place, length) = (here(from), (to - from) as usize);
        let offset = area.offset.checked_add(from.saturating_sub(area.start)).ok_or(Refusal::Errno(Errno::INVAL))?;
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::FIXED);
        // SAFETY: the place lies in the addresses that were reserved: `from` is at least `low`, and `to` at most `high`.
        unsafe { mmap(place.cast(), length, protection, flags, file.as_fd(), offset) }.map_err(Refusal::Errno)?;
        if !guard::remember(place, length, *page_bytes as usize) {
            return Err(Refusal::Errno(Errno::NOSPC));
        }
        reserved.parts.push(place);
    }
    Ok((reserved, here(address)))
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsRawFd, BorrowedFd};
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    use super::*;

    const IOVA: u64 = 0x10_0000_1000;

    /// Shared memory of this process, which is a driver here.
    fn shared(bytes: usize) -> (*mut u8, std::os::fd::OwnedFd) {
        let file = memfd_create("shared", MemfdFlags::CLOEXEC).expect("there are memory files");
        ftruncate(&file, bytes as u64).expect("it is ours");
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping, which stays.
        let start = unsafe { mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, &file, 0) };
        (start.expect("there is memory").cast(), file)
    }

    fn map(iommu: &mut Iommu, iova: u64, start: *mut u8, bytes: u64) -> Result<(), Refusal> {
        iommu.map(std::process::id(), iova, start as u64, bytes)
    }

    #[test]
    fn memory_is_found_at_the_address_that_the_driver_chose_and_nowhere_else() {
        let (start, _file) = shared(0x3000);
        let mut iommu = Iommu::new();
        map(&mut iommu, IOVA, start, 0x3000).expect("it is shared");
        let (place, left) = iommu.place(IOVA + 0x1234).expect("it is mapped");
        assert_eq!(left, 0x3000 - 0x1234);
        // SAFETY: both addresses are mapped, to the same memory.
        unsafe {
            place.write_volatile(7);
            assert_eq!(start.add(0x1234).read_volatile(), 7);
        }
        assert!(iommu.place(IOVA - 1).is_none() && iommu.place(IOVA + 0x3000).is_none());
        assert_eq!(iommu.unmap(std::process::id(), Some((IOVA, IOVA + 0x3000))), Ok(0x3000));
        assert!(iommu.place(IOVA + 0x1234).is_none() && iommu.bytes() == 0);
    }

    #[test]
    fn mappings_do_not_overlap_and_are_not_cut() {
        let (start, _file) = shared(0x4000);
        let mut iommu = Iommu::new();
        map(&mut iommu, IOVA, start, 0x2000).expect("it is shared");
        for (iova, bytes) in [(IOVA, 0x1000), (IOVA + 0x1000, 0x2000), (IOVA - 0x1000, 0x4000), (IOVA - 0x1000, 0x2000)]
        {
            assert_eq!(map(&mut iommu, iova, start, bytes), Err(Refusal::Errno(Errno::EXIST)));
        }
        map(&mut iommu, IOVA + 0x2000, start, 0x1000).expect("it begins where the other one ends");
        let process = std::process::id();
        for (from, to) in [(IOVA, IOVA + 0x1000), (IOVA + 0x1000, IOVA + 0x3000)] {
            assert_eq!(iommu.unmap(process, Some((from, to))), Err(Errno::INVAL));
        }
        assert_eq!(iommu.unmap(process + 1, None), Ok(0), "it is not that process's");
        assert_eq!(iommu.unmap(process, Some((0, !4095))), Ok(0x3000));
    }

    #[test]
    fn private_memory_and_addresses_without_memory_are_refused() {
        let mut iommu = Iommu::new();
        let flags = MapFlags::PRIVATE;
        // SAFETY: a fresh mapping, which stays.
        let private = unsafe { mmap_anonymous(ptr::null_mut(), 0x1000, ProtFlags::READ | ProtFlags::WRITE, flags) };
        let private = private.expect("there is memory").cast();
        assert_eq!(map(&mut iommu, IOVA, private, 0x1000), Err(Refusal::NotShared));
        assert_eq!(map(&mut iommu, IOVA, 0x1000 as *mut u8, 0x1000), Err(Refusal::Errno(Errno::FAULT)));
        assert_eq!(map(&mut iommu, IOVA, (1u64 << 60) as *mut u8, 0x1000), Err(Refusal::Errno(Errno::FAULT)));
        assert!(iommu.mappings.is_empty());
    }

    #[test]
    fn a_file_that_a_driver_may_only_read_is_not_written_however_it_swaps_its_mappings() {
        let (start, own) = shared(0x1000);
        let (_, other) = shared(0x1000);
        let read_only = std::fs::File::open(format!("/proc/self/fd/{}", other.as_raw_fd())).expect("it is ours");
        let at = start as u64;
        let replace = |protection, file: BorrowedFd| {
            // SAFETY: the page is that of this test, and nothing refers to it.
            unsafe { mmap(at as *mut _, 0x1000, protection, MapFlags::SHARED | MapFlags::FIXED, file, 0) }
                .expect("the file is open for this")
        };
        let is_over = AtomicBool::new(false);
        let mut iommu = Iommu::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    replace(ProtFlags::READ, read_only.as_fd());
                    replace(ProtFlags::READ | ProtFlags::WRITE, own.as_fd());
                }
            });
            for _ in 0..2000 {
                if map(&mut iommu, IOVA, at as *mut u8, 0x1000).is_ok() {
                    let (place, _) = iommu.place(IOVA).expect("it is mapped");
                    // SAFETY: it was just mapped.
                    unsafe { place.write_volatile(0xee) };
                    iommu.unmap(std::process::id(), None).expect("all is always whole");
                }
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let mut byte = [0];
        rustix::io::pread(&other, &mut byte, 0).expect("it is ours");
        assert_eq!(byte, [0], "the file that is only read was written");
        map(&mut iommu, IOVA, at as *mut u8, 0x1000).expect("the last mapping is writable");
    }

    #[test]
    fn memory_that_its_driver_cuts_reads_zeros() {
        let (start, file) = shared(0x2000);
        let mut iommu = Iommu::new();
        map(&mut iommu, IOVA, start, 0x2000).expect("it is shared");
        ftruncate(&file, 0).expect("it is ours");
        let (place, _) = iommu.place(IOVA + 0x1000).expect("it is mapped");
        // SAFETY: the mapping is there, and what it lacks is replaced by `guard`.
        assert_eq!(unsafe { place.read_volatile() }, 0);
    }

    #[test]
    fn pieces_are_whole_only_within_one_mapping() {
        let (start, _file) = shared(0x8000);
        let mut iommu = Iommu::new();
        map(&mut iommu, 0x3000, start, 0x8000).expect("it is shared");
        let pieces: Vec<u64> = iommu.whole_pieces(14, 8).map(|(piece, _)| piece).collect();
        assert_eq!(pieces, [1]);
    }

    #[test]
    fn a_mapping_of_terabytes_has_no_more_pieces_than_there_is_room_for() {
        let (start, _file) = shared(4 << 40);
        let mut iommu = Iommu::new();
        map(&mut iommu, 0x3000, start, 4 << 40).expect("it is shared");
        let pieces: Vec<u64> = iommu.whole_pieces(21, 1024).map(|(piece, _)| piece).collect();
        assert_eq!(pieces, (1..=1024).collect::<Vec<u64>>());
    }

    #[test]
    fn areas_without_a_gap_hold_a_range() {
        let maps = "1000-3000 rw-s 00005000 00:01 7 /a\n3000-4000 rw-s 00000000 00:01 8 /b\n5000-6000 rw-p 0 00:00 0\n";
        let lines = || maps.lines().filter_map(Area::parse).collect();
        assert_eq!(areas(lines(), 0x2000, 0x4000).map(|areas| areas.len()), Ok(2));
        let lines = || maps.lines().filter_map(Area::parse).collect();
        assert_eq!(areas(lines(), 0x2000, 0x5000), Err(Refusal::Errno(Errno::FAULT)));
        assert_eq!(areas(lines(), 0x5000, 0x6000), Err(Refusal::NotShared));
        assert_eq!(areas(lines(), 0x7000, 0x8000), Err(Refusal::Errno(Errno::FAULT)));
    }
}
