//! Reading a file: by which call, in what portions, from the page cache or the disk, with and without looking at the bytes.

use std::fs::{File, OpenOptions};
use std::hint::black_box;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::ptr::NonNull;

use prony_stats::Seed;

use crate::area::{Area, PageKind};
use crate::case::{Case, Measure, Outcome};
use crate::case_context::{CaseContext, Setting};
use crate::experiment::Experiment;
use crate::experiments::size_word;
use crate::tester::Passes;
use crate::ticks::now_ns;
use crate::unsupported::Unsupported;

/// Size of the file in a quick run, in bytes.
const QUICK_BYTES: usize = 32 << 20;
const FULL_BYTES: usize = 256 << 20;
/// Portions of `read`; the whole file is another.
const PORTIONS: [usize; 6] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20];
/// Portions and reads in flight of io_uring: 8 MiB in all, as much as a disk's queue makes use of.
const RING_PORTION: usize = 256 << 10;
const RING_DEPTH: usize = 32;

/// Ways to read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// `pread` of this many bytes at a time.
    Read(usize),
    /// `mmap`, and its pages are touched.
    Map,
    /// `mmap` with `MAP_POPULATE`, read in full.
    MapPopulate,
    /// `pread` of this many bytes past the page cache.
    Direct(usize),
    /// io_uring, with several portions in flight.
    Ring,
}

impl Way {
    fn word(self) -> String {
        match self {
            Way::Read(portion) => format!("read of {}", size_word(portion)),
            Way::Map => "mmap".to_owned(),
            Way::MapPopulate => "mmap, MAP_POPULATE".to_owned(),
            Way::Direct(portion) => format!("O_DIRECT read of {}", size_word(portion)),
            Way::Ring => format!("io_uring, {RING_DEPTH} of {}", size_word(RING_PORTION)),
        }
    }
}

pub fn cases(setting: &Setting) -> Result<Vec<Case>, Unsupported> {
    let bytes = if setting.effort.thorough { FULL_BYTES } else { QUICK_BYTES };
    let mut ways: Vec<Way> = PORTIONS.into_iter().chain([bytes]).map(Way::Read).collect();
    ways.extend([Way::Map, Way::MapPopulate, Way::Ring]);
    let mut from_disk = vec![Way::Read(256 << 10), Way::Read(bytes), Way::Map, Way::MapPopulate, Way::Ring];
    from_disk.extend([64 << 10, 1 << 20].map(Way::Direct));
    let all = ways.iter().map(|&way| (way, true)).chain(from_disk.iter().map(|&way| (way, false)));
    let all = all.flat_map(|(way, cached)| [false, true].map(|looked_at| (way, cached, looked_at)));
    let case = |(way, cached, looked_at): (Way, bool, bool)| {
        let from = if cached { "page cache" } else { "disk" };
        let look = if looked_at { "added up" } else { "not looked at" };
        let run = move |context: &mut CaseContext| measured(context, way, cached, looked_at, bytes);
        let name = format!("{}, {from}, {look}", way.word());
        Case::new(Experiment::File, name, Measure::BytesEachSecond(bytes as f64), run)
            .with("way", way.word())
            .with("from", from)
            .with("look", look)
            .with("bytes", bytes)
    };
    // A mapping that is not looked at reads nothing.
    Ok(all.filter(|&(way, _, looked_at)| way != Way::Map || looked_at).map(case).collect())
}

fn measured(
    context: &mut CaseContext,
    way: Way,
    cached: bool,
    looked_at: bool,
    bytes: usize,
) -> Result<Outcome, Unsupported> {
    let directory = context.setting.directory.clone();
    if context.file.as_ref().is_none_or(|file| file.metadata().map_or(0, |facts| facts.len()) != bytes as u64) {
        context.file = Some(made(&directory, bytes, &mut context.seed)?);
    }
    let file = context.file.as_ref().expect("it was made if it was missing");
    let reader = Reader::new(file, way, bytes)?;
    if cached {
        reader.pass(looked_at)?;
    }
    let series = context.tester.repeat_timed(Passes::Single, |_| {
        if !cached {
            uncache(file, bytes)?;
        }
        let before = now_ns();
        let sum = reader.pass(looked_at)?;
        let ns = now_ns() - before;
        black_box(sum);
        Ok(ns)
    })?;
    Ok(Outcome { series, ..Outcome::default() })
}

/// A file of numbers that no disk can pack, without a name, so that nothing is left whatever happens.
fn made(directory: &Path, bytes: usize, seed: &mut Seed) -> io::Result<File> {
    let open = |flags: i32, path: &Path, create: bool| {
        OpenOptions::new().read(true).write(true).create_new(create).mode(0o600).custom_flags(flags).open(path)
    };
    let mut file = match open(libc::O_TMPFILE, directory, false) {
        Ok(file) => file,
        // Not every file system has files without names.
        Err(_) => {
            let path = directory.join(format!(".prony-limits.{}", std::process::id()));
            let file = open(0, &path, true)?;
            std::fs::remove_file(&path)?;
            file
        }
    };
    let chunk: Vec<u8> = (0..1 << 17).flat_map(|_| seed.bits().to_le_bytes()).collect();
    for _ in 0..bytes / chunk.len() {
        file.write_all(&chunk)?;
    }
    file.sync_all()?;
    Ok(file)
}

/// Takes the file out of the page cache.
///
/// # Errors
/// When it stays there, as files in memory do.
fn uncache(file: &File, bytes: usize) -> Result<(), Unsupported> {
    // SAFETY: advice about a descriptor that is open.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    let map = Mapping::new(file, bytes, 0)?;
    let mut resident = vec![0u8; bytes.div_ceil(4096)];
    // SAFETY: the mapping is so long, and there is a byte for each of its pages.
    let result = unsafe { libc::mincore(map.at.as_ptr().cast(), bytes, resident.as_mut_ptr().cast()) };
    let stay = resident.iter().filter(|&&page| page & 1 == 1).count();
    if result == 0 && stay * 50 > resident.len() {
        return Err(Unsupported::because("the page cache keeps the file: choose a directory on a disk"));
    }
    Ok(())
}

/// One way to read, with what it needs.
enum Reader<'a> {
    Portions { file: &'a File, own: Option<File>, buffer: std::cell::RefCell<Area>, bytes: usize, portion: usize },
    Map { file: &'a File, bytes: usize, flags: i32 },
    Ring { ring: Box<std::cell::RefCell<ring::Ring<'a>>> },
}

impl<'a> Reader<'a> {
    fn new(file: &'a File, way: Way, bytes: usize) -> Result<Reader<'a>, Unsupported> {
        Ok(match way {
            Way::Read(portion) | Way::Direct(portion) => {
                let own = match way {
                    Way::Direct(_) => {
                        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
                        let open = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path);
                        Some(open.map_err(|error| Unsupported::because(format!("cannot open with O_DIRECT: {error}")))?)
                    }
                    _ => None,
                };
                let buffer = Area::touched(portion, PageKind::Small)?.into();
                Reader::Portions { file, own, buffer, bytes, portion }
            }
            Way::Map => Reader::Map { file, bytes, flags: 0 },
            Way::MapPopulate => Reader::Map { file, bytes, flags: libc::MAP_POPULATE },
            Way::Ring => Reader::Ring { ring: Box::new(ring::Ring::new(file, bytes)?.into()) },
        })
    }

    /// Reads the whole file; adds it up if it is to be looked at.
    fn pass(&self, looked_at: bool) -> Result<u64, Unsupported> {
        match self {
            Reader::Portions { file, own, buffer, bytes, portion } => {
                let file = own.as_ref().unwrap_or(file);
                let mut buffer = buffer.borrow_mut();
                let (mut at, mut total) = (0, 0u64);
                while at < *bytes {
                    let wanted = (*portion).min(bytes - at);
                    let length = file.read_at(&mut buffer[..wanted], at as u64)?;
                    if length == 0 {
                        return Err(Unsupported::because("the file ended early"));
                    }
                    if looked_at {
                        total = total.wrapping_add(sum(&buffer[..length]));
                    }
                    at += length;
                }
                Ok(total)
            }
            Reader::Map { file, bytes, flags } => {
                let map = Mapping::new(file, *bytes, *flags)?;
                Ok(if looked_at { sum(map.bytes()) } else { 0 })
            }
            Reader::Ring { ring } => ring.borrow_mut().pass(looked_at),
        }
    }
}

/// Adds up words: every byte is looked at, and at a speed that reading is compared with.
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
    words.fold(0, u64::wrapping_add)
}

/// Mapping of a whole file into memory.
struct Mapping {
    at: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    fn new(file: &File, bytes: usize, flags: i32) -> io::Result<Mapping> {
        // SAFETY: a new mapping touches nothing that exists.
        let at = unsafe {
            let null = std::ptr::null_mut();
            libc::mmap(null, bytes, libc::PROT_READ, libc::MAP_PRIVATE | flags, file.as_raw_fd(), 0)
        };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Mapping { at: NonNull::new(at.cast()).expect("mmap(2) gives no null without MAP_FIXED"), bytes })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is so long; the file has no name, and nothing here truncates it.
        unsafe { std::slice::from_raw_parts(self.at.as_ptr(), self.bytes) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and all borrows of it have ended.
        unsafe { libc::munmap(self.at.as_ptr().cast(), self.bytes) };
    }
}

mod ring {
    use io_uring::{IoUring, opcode, types};

    use super::*;

    /// Portions of a file in flight.
    pub struct Ring<'a> {
        // The first to be dropped: what is in flight writes into the buffer, and `pass` waits for all of it.
        ring: IoUring,
        buffer: Area,
        file: &'a File,
        bytes: usize,
    }

    impl<'a> Ring<'a> {
        pub fn new(file: &'a File, bytes: usize) -> Result<Ring<'a>, Unsupported> {
            let ring = IoUring::new(RING_DEPTH as u32)
                .map_err(|error| Unsupported::because(format!("io_uring_setup: {error}")))?;
            Ok(Ring { ring, buffer: Area::touched(RING_DEPTH * RING_PORTION, PageKind::Small)?, file, bytes })
        }

        pub fn pass(&mut self, looked_at: bool) -> Result<u64, Unsupported> {
            let portions = self.bytes / RING_PORTION;
            let (mut submitted_portions, mut done, mut total) = (0, 0, 0u64);
            let mut failed = None;
            for slot in 0..RING_DEPTH.min(portions) {
                self.ask(slot, submitted_portions);
                submitted_portions += 1;
            }
            while done < submitted_portions {
                match self.ring.submit_and_wait(1) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    submitted => submitted?,
                };
                let finished: Vec<(usize, i32)> =
                    self.ring.completion().map(|entry| (entry.user_data() as usize, entry.result())).collect();
                for (slot, result) in finished {
                    done += 1;
                    if result != RING_PORTION as i32 {
                        failed.get_or_insert(result);
                        continue;
                    }
                    if looked_at {
                        total = total.wrapping_add(sum(&self.buffer[slot * RING_PORTION..][..RING_PORTION]));
                    }
                    // After a failure nothing is begun, and what is in flight is waited for.
                    if submitted_portions < portions && failed.is_none() {
                        self.ask(slot, submitted_portions);
                        submitted_portions += 1;
                    }
                }
            }
            match failed {
                None => Ok(total),
                Some(result) if result < 0 => Err(io::Error::from_raw_os_error(-result).into()),
                Some(result) => Err(Unsupported::because(format!("io_uring read {result} bytes of {RING_PORTION}"))),
            }
        }

        fn ask(&mut self, slot: usize, portion: usize) {
            let at = self.buffer[slot * RING_PORTION..][..RING_PORTION].as_mut_ptr();
            let read = opcode::Read::new(types::Fd(self.file.as_raw_fd()), at, RING_PORTION as u32)
                .offset((portion * RING_PORTION) as u64)
                .build()
                .user_data(slot as u64);
            // SAFETY: the buffer outlives the read, which `pass` waits for, and no two reads share a slot.
            unsafe { self.ring.submission().push(&read) }.expect("as many entries as slots");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_reads_every_byte() {
        let directory = tempfile::tempdir().expect("a scratch directory");
        let bytes = 16 << 20;
        let file = made(directory.path(), bytes, &mut Seed::new(5)).expect("a file of 16 MiB");
        assert_eq!(file.metadata().expect("it is open").len(), bytes as u64);
        assert_eq!(std::fs::read_dir(directory.path()).expect("it is there").count(), 0, "the file has no name");
        let expected = Reader::new(&file, Way::Read(bytes), bytes).and_then(|reader| reader.pass(true)).expect("reads");
        for way in [Way::Read(4096), Way::Read(1 << 20), Way::Map, Way::MapPopulate] {
            let found = Reader::new(&file, way, bytes).and_then(|reader| reader.pass(true));
            assert_eq!(found, Ok(expected), "{way:?}");
        }
    }
}
