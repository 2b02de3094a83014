//! A driver that talks to VFIO field by field: sizes of structures near the right ones, indices of regions and interrupts near the last, memory
//! near what was given before. What it gives is memory of this process, so that the device really maps it; what must be reachable at each
//! bus address is known beside it. The choices come from a [`Source`]: random numbers in a test, the bytes of a fuzzer in `fuzz/`.
#![allow(unsafe_code, reason = "memory that the driver gives")]

#[path = "../../../softnic/tests/conversation/source.rs"]
mod source;

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::ptr;
use std::sync::OnceLock;

use prony_softnic::DmaMemory;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous};

use super::abi;
use super::machine::{Caller, FileKind, Machine, ReturnValue};
use crate::dma_map::DmaMap;
use crate::iommu::Refusal;

pub(crate) use source::Source;

const PAGE: u64 = 4096;
const PORTS: usize = 2;
/// Pages of the driver, by what they are: shared, a gap, private, only read, shared in another file, one behind the other. Around them is
/// nothing, as far as an address near an end can be: what the device has mapped in this process is no memory of the driver.
const LAYOUT: [(u64, Kind); 7] = [
    (AROUND, Kind::Nothing),
    (32, Kind::Shared),
    (4, Kind::Nothing),
    (8, Kind::Private),
    (8, Kind::ReadOnly),
    (12, Kind::Shared),
    (AROUND, Kind::Nothing),
];
const AROUND: u64 = 64;
const PAGES: u64 = 64 + 2 * AROUND;
/// Where the arguments of requests end: behind it is nothing.
const ARGUMENTS_END: u64 = 0x2_0000;
const ARGUMENTS_BYTES: u64 = 512;
const ADDRESSES: [&str; PORTS] = ["0000:03:00.0", "0000:03:00.1"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Shared,
    Nothing,
    Private,
    ReadOnly,
}

/// First page of the driver's memory, which all conversations of a process have.
fn memory() -> u64 {
    static MEMORY: OnceLock<(u64, Vec<OwnedFd>)> = OnceLock::new();
    let make = || {
        let bytes = (PAGES * PAGE) as usize;
        // SAFETY: a fresh mapping at an address of the kernel's choice, which stays.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), bytes, ProtFlags::empty(), MapFlags::PRIVATE) };
        let start = start.expect("there is memory") as u64;
        let (mut at, mut files) = (start, Vec::new());
        for (pages, kind) in LAYOUT {
            let file = memfd_create("driver", MemfdFlags::CLOEXEC).expect("there are memory files");
            ftruncate(&file, pages * PAGE).expect("it is ours");
            let (protection, sharing) = match kind {
                Kind::Nothing => (ProtFlags::empty(), MapFlags::PRIVATE),
                Kind::Private => (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE),
                Kind::ReadOnly => (ProtFlags::READ, MapFlags::SHARED),
                Kind::Shared => (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED),
            };
            let bytes = (pages * PAGE) as usize;
            // SAFETY: these addresses were just reserved, and nothing refers to them.
            unsafe { mmap(at as *mut _, bytes, protection, sharing | MapFlags::FIXED, &file, 0) }
                .expect("they are free");
            at += pages * PAGE;
            files.push(file);
        }
        (start, files)
    };
    MEMORY.get_or_init(make).0
}

/// True if all of these bytes lie in pages that are shared and writable.
fn is_shared(address: u64, bytes: u64) -> bool {
    let mut at = memory();
    let mut shared = Vec::new();
    for (pages, kind) in LAYOUT {
        if kind == Kind::Shared {
            shared.push(at..at + pages * PAGE);
        }
        at += pages * PAGE;
    }
    address.checked_add(bytes).is_some_and(|end| shared.iter().any(|range| range.start <= address && end <= range.end))
}

/// A process that makes requests.
struct Process<'a> {
    pid: u32,
    /// The last bytes before [`ARGUMENTS_END`].
    arguments: &'a mut [u8; ARGUMENTS_BYTES as usize],
    memory: &'a mut DmaMap,
    /// By bus address: process, address and length of what was given.
    given: &'a mut BTreeMap<u64, (u32, u64, u64)>,
    resets: u32,
}

impl Process<'_> {
    fn place(address: u64, bytes: usize) -> Result<std::ops::Range<usize>, Errno> {
        let from = address.checked_sub(ARGUMENTS_END - ARGUMENTS_BYTES).ok_or(Errno::FAULT)?;
        let to = from.checked_add(bytes as u64).filter(|&to| to <= ARGUMENTS_BYTES).ok_or(Errno::FAULT)?;
        Ok(from as usize..to as usize)
    }
}

impl Caller for Process<'_> {
    type Signal = i32;

    fn process(&self) -> u32 {
        self.pid
    }

    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Errno> {
        into.copy_from_slice(&self.arguments[Process::place(address, into.len())?]);
        Ok(())
    }

    fn read_text(&self, address: u64, bytes_max: usize) -> Result<Vec<u8>, Errno> {
        let all = &self.arguments[Process::place(address, 0)?.start..];
        let text: Vec<u8> = all.iter().copied().take(bytes_max).take_while(|&byte| byte != 0).collect();
        let is_whole = text.len() < all.len().min(bytes_max);
        if is_whole { Ok(text) } else { Err(Errno::FAULT) }
    }

    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), Errno> {
        Process::place(address, bytes.len()).map(drop)
    }

    fn file(&self, descriptor: i32) -> Option<FileKind> {
        match descriptor {
            7 => Some(FileKind::Container),
            8 => Some(FileKind::Group(0)),
            9 => Some(FileKind::Device(0)),
            _ => None,
        }
    }

    fn eventfd(&self, descriptor: i32) -> Result<i32, Errno> {
        if (100..200).contains(&descriptor) { Ok(descriptor) } else { Err(Errno::INVAL) }
    }

    fn map(&mut self, iova: u64, address: u64, bytes: u64) -> Result<(), Errno> {
        let overlaps = self.given.iter().any(|(&at, &(_, _, length))| at < iova + bytes && iova < at + length);
        let before = self.memory.bytes();
        let result = self.memory.map(self.pid, iova, address, bytes);
        let is_possible = !overlaps && self.pid == std::process::id() && is_shared(address, bytes);
        assert_eq!(result.is_ok(), is_possible, "{iova:#x} {address:#x} {bytes:#x}: {result:?}");
        match result {
            Ok(()) => drop(self.given.insert(iova, (self.pid, address, bytes))),
            Err(_) => assert_eq!(self.memory.bytes(), before, "what is refused changes nothing"),
        }
        result.map_err(|refusal| if let Refusal::Errno(error) = refusal { error } else { Errno::OPNOTSUPP })
    }

    fn unmap(&mut self, range: Option<(u64, u64)>) -> Result<u64, Errno> {
        let (from, to) = range.unwrap_or((0, u64::MAX));
        let is_cut = |(&at, &(_, _, length)): (&u64, &(u32, u64, u64))| {
            at < to && from < at + length && (at < from || at + length > to)
        };
        let result = self.memory.unmap(self.pid, range);
        if self.given.iter().any(is_cut) {
            assert_eq!(result, Err(Errno::INVAL), "{from:#x}..{to:#x} cuts a mapping");
            return result;
        }
        let pid = self.pid;
        let mut bytes = 0;
        self.given.retain(|&at, &mut (owner, _, length)| {
            let is_gone = owner == pid && from <= at && at < to;
            bytes += if is_gone { length } else { 0 };
            !is_gone
        });
        assert_eq!(result, Ok(bytes), "{from:#x}..{to:#x}");
        result
    }

    fn reset(&mut self, port: usize) {
        assert!(port < PORTS);
        self.resets += 1;
    }
}

/// Two drivers, the files of VFIO, and the memory that they gave.
pub(crate) struct Conversation<S> {
    source: S,
    machine: Machine<i32>,
    memory: DmaMap,
    given: BTreeMap<u64, (u32, u64, u64)>,
    arguments: [u8; ARGUMENTS_BYTES as usize],
    /// The bus address that was named last.
    last_iova: u64,
}

impl<S: Source> Conversation<S> {
    /// No file is open.
    pub(crate) fn new(source: S) -> Conversation<S> {
        Conversation {
            source,
            machine: Machine::new(&ADDRESSES.map(str::to_owned)),
            memory: DmaMap::with_iommu(),
            given: BTreeMap::new(),
            arguments: [0; ARGUMENTS_BYTES as usize],
            last_iova: 1 << 30,
        }
    }

    /// Says the next thing; false when the source is exhausted.
    pub(crate) fn step(&mut self) -> bool {
        let Some(step) = self.source.byte() else { return false };
        match step % 16 {
            0 | 1 => self.set_up(),
            2..=6 => self.give(),
            7 | 8 => self.take_away(),
            9 | 10 => self.set_interrupts(),
            11 => self.ask_of_structure(),
            12 => self.ask_of_device(),
            13 => self.ask_anything(),
            14 => self.reach_memory(),
            _ => self.end_or_interrupt(),
        }
        assert_eq!(self.memory.bytes(), self.given.values().map(|&(_, _, bytes)| bytes).sum::<u64>());
        true
    }

    /// Mappings that there are now.
    pub(crate) fn mappings(&self) -> usize {
        self.given.len()
    }

    /// This process, or another one, which has no memory.
    fn pid(&mut self) -> u32 {
        if self.source.once_in(8) { u32::MAX - 1 } else { std::process::id() }
    }

    fn call(&mut self, pid: u32, file: FileKind, request: u32, argument: u64) -> Result<ReturnValue, Errno> {
        let Conversation { machine, memory, given, arguments, .. } = self;
        let mut process = Process { pid, arguments, memory, given, resets: 0 };
        let answer = machine.handle(file, request, argument, &mut process);
        assert!(answer != Ok(ReturnValue::Device(PORTS)), "there is no such port");
        answer
    }

    /// A structure of these words at the end of the arguments, or near it, whose first word is its size, or near it.
    fn ask(&mut self, pid: u32, file: FileKind, request: u32, words: &[u32]) -> Result<ReturnValue, Errno> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let at = ARGUMENTS_BYTES as usize - bytes.len();
        self.arguments[at..].copy_from_slice(&bytes);
        let argument = ARGUMENTS_END - bytes.len() as u64;
        let argument = if self.source.once_in(32) { self.source.near(argument, 1) } else { argument };
        self.call(pid, file, request, argument)
    }

    fn size(&mut self, bytes: u64) -> u32 {
        if self.source.once_in(8) { self.source.near(bytes, 1) as u32 } else { bytes as u32 }
    }

    fn set_up(&mut self) {
        let (pid, port) = (self.pid(), self.source.below(PORTS as u64) as usize);
        let descriptor = if self.source.once_in(8) { self.source.near(7, 1) as u32 } else { 7 };
        let _ = self.ask(pid, FileKind::Group(port), abi::GROUP_SET_CONTAINER, &[descriptor]);
        let kind = if self.source.once_in(8) { self.source.near(abi::TYPE1V2, 1) } else { abi::TYPE1 };
        let _ = self.call(pid, FileKind::Container, abi::SET_IOMMU, kind);
    }

    /// A bus address near one that was given before.
    fn iova(&mut self) -> u64 {
        let place = self.source.below(self.given.len().max(1) as u64) as usize;
        let near = self.given.iter().nth(place).map(|(&at, &(_, _, bytes))| [at, at + bytes]);
        let known = match self.source.below(4) {
            0 => self.last_iova,
            1 => self.source.any_of(&[0, 1 << 30, (1 << 30) + (2 << 20), 1 << 48, !(PAGE - 1)]),
            _ => near.map_or(1 << 30, |ends| self.source.any_of(&ends)),
        };
        let step = self.source.any_of(&[PAGE, PAGE, PAGE, 1]);
        self.last_iova = self.source.near(known, step);
        self.last_iova
    }

    fn give(&mut self) {
        let edges = [0, 32, 36, 44, 52, 63].map(|page| memory() + (AROUND + page) * PAGE);
        let edge = self.source.any_of(&edges);
        let address = match self.source.below(4) {
            0 => self.source.near(edge, 1),
            1 => self.source.near(edge, PAGE),
            _ => memory() + PAGE * (AROUND + self.source.below(PAGES - 2 * AROUND)),
        };
        let pages = self.source.any_of(&[0, 1, 1, 2, 4, 16, 32]);
        let bytes = match self.source.below(8) {
            0 => self.source.near(pages * PAGE, 1),
            1 => !(PAGE - 1),
            _ => pages * PAGE,
        };
        let flags = if self.source.once_in(16) { self.source.below(8) as u32 } else { abi::MAP_READ | abi::MAP_WRITE };
        let (iova, size, pid) = (self.iova(), self.size(abi::MAP_BYTES as u64), self.pid());
        let words = [size, flags, address as u32, (address >> 32) as u32, iova as u32, (iova >> 32) as u32];
        let words = [&words[..], &[bytes as u32, (bytes >> 32) as u32]].concat();
        let _ = self.ask(pid, FileKind::Container, abi::IOMMU_MAP_DMA, &words);
    }

    fn take_away(&mut self) {
        let iova = self.iova();
        let known = self.given.get(&iova).map_or(PAGE, |&(_, _, bytes)| bytes);
        let bytes = self.source.near(known, PAGE);
        let flags = if self.source.once_in(8) { self.source.below(4) as u32 } else { 0 };
        let (iova, bytes) = if flags == abi::UNMAP_ALL { (0, 0) } else { (iova, bytes) };
        let (size, pid) = (self.size(abi::UNMAP_BYTES as u64), self.pid());
        let words = [size, flags, iova as u32, (iova >> 32) as u32, bytes as u32, (bytes >> 32) as u32];
        let _ = self.ask(pid, FileKind::Container, abi::IOMMU_UNMAP_DMA, &words);
    }

    fn set_interrupts(&mut self) {
        let index = self.source.near(u64::from(abi::IRQ_MSIX), 1) as u32;
        let start = {
            let known = self.source.any_of(&[0, 1, 63]);
            self.source.near(known, 1)
        } as u32;
        let count = {
            let known = self.source.any_of(&[0, 1, 2, 64]);
            self.source.near(known, 1)
        } as u32;
        let data = self.source.any_of(&[abi::SET_EVENTFD, abi::SET_EVENTFD, abi::SET_NONE, abi::SET_BOOL, 0, 7]);
        let action = self.source.any_of(&[abi::SET_TRIGGER, abi::SET_TRIGGER, abi::SET_MASK, abi::SET_UNMASK, 0, 0x38]);
        let values = self.source.below(80) as usize;
        let unit = if data == abi::SET_BOOL { 1 } else { 4 };
        let size = self.size((abi::IRQ_SET_BYTES + values * unit) as u64);
        let mut words = vec![size, data | action, index, start, count];
        for _ in 0..values {
            words.push(self.source.any_of(&[100, 101, 199, u32::MAX, 99, 200]));
        }
        let (pid, port) = (self.pid(), self.source.below(PORTS as u64) as usize);
        let before: Vec<_> = (0..66).map(|vector| self.machine.signal(port, vector).copied()).collect();
        let is_msi = before.iter().any(Option::is_some);
        let answer = self.ask(pid, FileKind::Device(port), abi::DEVICE_SET_IRQS, &words);
        if answer.is_err() && is_msi && self.machine.has_signals(port) {
            let after: Vec<_> = (0..66).map(|vector| self.machine.signal(port, vector).copied()).collect();
            // INTx masks itself with each signal.
            assert!(after == before || after.iter().all(Option::is_none), "a refused request changes no vector");
        }
    }

    /// Requests that fill a structure: sizes near the right ones, indices near the last.
    fn ask_of_structure(&mut self) {
        let (file, request, bytes, last) = self.source.any_of(&[
            (FileKind::Device(0), abi::DEVICE_GET_INFO, abi::DEVICE_INFO_BYTES, 0),
            (FileKind::Device(0), abi::DEVICE_GET_REGION_INFO, abi::REGION_INFO_BYTES, abi::REGIONS),
            (FileKind::Device(1), abi::DEVICE_GET_IRQ_INFO, abi::IRQ_INFO_BYTES, abi::IRQS),
            (FileKind::Container, abi::IOMMU_GET_INFO, abi::IOMMU_INFO_BYTES, 0),
            (FileKind::Group(0), abi::GROUP_GET_STATUS, abi::GROUP_STATUS_BYTES, 0),
        ]);
        let known = self.source.any_of(&[0, last]);
        let index = self.source.near(known.into(), 1) as u32;
        let (size, pid) = (self.size(bytes as u64), self.pid());
        let words: Vec<u32> = [size, 0, index].into_iter().chain([0; 5]).take(bytes / 4).collect();
        let answer = self.ask(pid, file, request, &words);
        if (size as usize) < bytes {
            assert!(answer.is_err(), "{request:#x} of {size} bytes");
        }
    }

    fn ask_of_device(&mut self) {
        let (pid, port) = (self.pid(), self.source.below(PORTS as u64) as usize);
        match self.source.below(4) {
            0 => {
                let _ = self.call(pid, FileKind::Device(port), abi::DEVICE_RESET, 0);
            }
            1 => {
                let _ = self.call(pid, FileKind::Group(port), abi::GROUP_UNSET_CONTAINER, 0);
            }
            _ => {
                let mut name = self.source.any_of(&ADDRESSES).as_bytes().to_vec();
                name.resize(16, 0);
                if self.source.once_in(4) {
                    name[self.source.below(16) as usize] = self.source.number(1) as u8;
                }
                let words: Vec<u32> =
                    name.chunks_exact(4).map(|word| word.try_into().map_or(0, u32::from_ne_bytes)).collect();
                let answer = self.ask(pid, FileKind::Group(port), abi::GROUP_GET_DEVICE_FD, &words);
                assert!(
                    !matches!(answer, Ok(ReturnValue::Device(other)) if other != port),
                    "the device of another group"
                );
            }
        }
    }

    fn ask_anything(&mut self) {
        let port = self.source.below(PORTS as u64) as usize;
        let file = self.source.any_of(&[FileKind::Container, FileKind::Group(port), FileKind::Device(port)]);
        let request = self.source.near(u64::from(abi::DEVICE_GET_INFO), 3) as u32;
        let words: Vec<u32> = (0..self.source.below(40)).map(|_| self.source.near(32, 1) as u32).collect();
        let pid = self.pid();
        match self.source.once_in(4) {
            true => drop({
                let argument = self.source.near(ARGUMENTS_END, 1);
                self.call(pid, file, request, argument)
            }),
            false => drop(self.ask(pid, file, request, &words)),
        }
    }

    /// The device reads and writes where something was given, and nowhere else.
    fn reach_memory(&mut self) {
        let (address, bytes) = (self.iova(), self.source.any_of(&[1, 16, 60, 4096, 9000]));
        let mut left = bytes as u64;
        let mut at = address;
        while let Some((&start, &(_, _, length))) = self.given.range(..=at).next_back().filter(|_| left > 0) {
            let Some(room) = (start + length).checked_sub(at).filter(|&room| room > 0) else { break };
            (at, left) = (at + room.min(left), left - room.min(left));
        }
        let mut found = vec![0; bytes];
        assert_eq!(self.memory.read(address, &mut found).is_ok(), left == 0, "{bytes} bytes at {address:#x}");
        let written = self.memory.write(address, &vec![7; bytes]);
        assert_eq!(written.is_ok(), left == 0, "{bytes} bytes at {address:#x}");
        let aligned = address & !15;
        assert_eq!(
            self.memory.read_descriptor(aligned).is_ok(),
            self.given.range(..=aligned).next_back().is_some_and(|(&at, &(_, _, length))| aligned - at < length)
        );
        if let Some((&start, &(_, memory, length))) = self.given.range(..=address).next_back()
            && address - start < length
        {
            // SAFETY: the page was given, so it is shared memory of this process, which stays.
            let byte = unsafe { ((memory + (address - start)) as *const u8).read_volatile() };
            assert!(left > 0 || byte == 7, "it is the memory that was given there");
        }
    }

    fn end_or_interrupt(&mut self) {
        let (pid, port) = (self.pid(), self.source.below(PORTS as u64) as usize);
        if self.source.once_in(8) {
            // As when a process has ended.
            self.machine.release(pid);
            let _ = self.memory.unmap(pid, None);
            self.given.retain(|_, &mut (owner, _, _)| owner != pid);
            return;
        }
        let vector = self.source.near(63, 1) as u32;
        let _ = self.machine.signal(port, vector);
        self.machine.take_unmasked(port);
    }
}

#[cfg(test)]
mod tests {
    use super::source::Random;
    use super::*;

    #[test]
    fn no_conversation_reaches_memory_that_was_not_given_or_keeps_what_was_taken_away() {
        let mut mappings = 0;
        for seed in 0..20 {
            let mut conversation = Conversation::new(Random(seed));
            for _ in 0..500 {
                conversation.step();
                mappings = mappings.max(conversation.mappings());
            }
        }
        assert!(mappings > 5, "otherwise nothing was tried that matters");
    }
}
