//! Memory that is shared with a server: files that exist in memory only, and views of them.
//!
//! All unsafe code of the channel is here. A view hands out references to atomics only; other content is copied.
#![allow(unsafe_code, reason = "memory that another process writes to is reached through raw pointers")]

use prony_channel::{Control, FrameTime};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;
use rustix::thread::futex;
use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU32;
use std::thread;
use std::time::Duration;

/// A file in memory that an unrelated process can map.
pub(super) fn memory_file(name: &str) -> io::Result<OwnedFd> {
    Ok(memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?)
}

/// Memory that both sides write keeps its size, as reading behind the end of a file that was cut ends a process.
pub(super) fn seal_size(memory: BorrowedFd) -> io::Result<()> {
    Ok(fcntl_add_seals(memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?)
}

/// Memory that servers only read, or change in a copy of their own, keeps its content: another one may get it after
/// them.
pub(super) fn seal_content(memory: BorrowedFd) -> io::Result<()> {
    for _ in 1..SEAL_TRIES {
        match seal_written(memory) {
            Err(Errno::BUSY) => thread::sleep(SEAL_PAUSE),
            sealed => return Ok(sealed?),
        }
    }
    Ok(seal_written(memory)?)
}

/// The kernel refuses to seal what is written while a page of it is referenced beside a mapping, even if nothing is going to
/// write to it. On a busy machine the kernel itself does so for a while, longer than it waits for that.
const SEAL_TRIES: u32 = 40;
const SEAL_PAUSE: Duration = Duration::from_millis(50);

fn seal_written(memory: BorrowedFd) -> rustix::io::Result<()> {
    fcntl_add_seals(memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL)
}

/// Wakes everybody who waits for a change of the word, in whatever process.
pub(super) fn wake_all(word: &AtomicU32) {
    // It fails for a word that is not mapped only.
    let _ = futex::wake(word, futex::Flags::empty(), i32::MAX as u32);
}

/// Waits for a change of the word from this value, at most this long.
pub(super) fn wait(word: &AtomicU32, value: u32, at_most: Duration) {
    let at_most = futex::Timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: at_most.subsec_nanos().into() };
    // That the time is up, or the value another one, is seen by the next look at the word.
    let _ = futex::wait(word, futex::Flags::empty(), value, Some(&at_most));
}

/// A view of memory shared with a server, unmapped when dropped.
#[derive(Debug)]
pub(super) struct Mapped {
    start: *mut u8,
    /// Bytes of it, both times if it is mapped twice in a row.
    length: usize,
}

// SAFETY: the mapping belongs to the value alone; what others may change in it is atomic or copied.
unsafe impl Send for Mapped {}
// SAFETY: as for `Send`; shared references lead to atomics only.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// A view of `length` bytes from `offset` on; with `twice`, of the same bytes twice in a row.
    pub(super) fn of(fd: BorrowedFd, offset: u64, length: usize, twice: bool) -> io::Result<Mapped> {
        let total = if twice { 2 * length } else { length };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: reserves a fresh range.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), total, libc::PROT_NONE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mapped = Mapped { start: start.cast(), length: total };
        for half in 0..total / length {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_SHARED | libc::MAP_FIXED;
            // SAFETY: the half lies in the range that was reserved, which is not used yet.
            let done = unsafe {
                let at = mapped.start.add(half * length).cast::<c_void>();
                libc::mmap(at, length, protection, flags, fd.as_raw_fd(), offset as i64)
            };
            if done == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(mapped)
    }

    /// Bytes of the view, both times if it is mapped twice in a row.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Panics unless as many bytes from `offset` on lie in the view.
    fn expect(&self, offset: usize, bytes: usize) {
        assert!(offset.checked_add(bytes).is_some_and(|end| end <= self.length), "{bytes} bytes at {offset} of a view");
    }

    /// The control area, which the view is one of.
    pub(super) fn control(&self) -> &Control {
        self.expect(0, size_of::<Control>());
        // SAFETY: it lies in the mapping, which begins with a page and lives as long as the reference; all of it is
        // atomics, for which every content is valid.
        unsafe { &*self.start.cast() }
    }

    /// The word at this place, counted in words.
    pub(super) fn word(&self, place: usize) -> &AtomicU32 {
        self.expect(place * size_of::<u32>(), size_of::<u32>());
        // SAFETY: it lies in the mapping, which begins with a page and lives as long as the reference.
        unsafe { AtomicU32::from_ptr(self.start.cast::<u32>().add(place)) }
    }

    /// Copies bytes to this place.
    pub(super) fn put(&self, offset: usize, bytes: &[u8]) {
        self.expect(offset, bytes.len());
        // SAFETY: as many bytes lie in the mapping from there on, to which no reference leads.
        unsafe { self.start.add(offset).copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    /// Copies bytes from this place behind those that are there.
    pub(super) fn append_to(&self, offset: usize, length: usize, bytes: &mut Vec<u8>) {
        self.expect(offset, length);
        bytes.reserve(length);
        // SAFETY: as many bytes lie in the mapping from there on, and there is room for them behind `bytes`. Whatever is
        // copied, the server may still be changing it, is a valid byte.
        unsafe {
            self.start.add(offset).copy_to_nonoverlapping(bytes.as_mut_ptr().add(bytes.len()), length);
            bytes.set_len(bytes.len() + length);
        }
    }

    /// A copy of an entry of the list of frames, which the view is one of.
    pub(super) fn frame_time(&self, entry: usize) -> FrameTime {
        self.expect(entry * size_of::<FrameTime>(), size_of::<FrameTime>());
        // SAFETY: it lies in the mapping, which begins with a page, and any bytes make one.
        unsafe { self.start.cast::<FrameTime>().add(entry).read_volatile() }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped in `of` with this length; no reference outlives the value.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_page_that_is_pinned_for_a_while_delays_the_seal() {
        let mut file = std::fs::File::from(memory_file("test").expect("memory"));
        file.write_all(&[1; 4096]).expect("memory");
        let (mut reader, writer) = io::pipe().expect("a pipe");
        let mut from = 0;
        // SAFETY: both descriptors are open, and the place is the variable's own.
        let moved =
            unsafe { libc::splice(file.as_raw_fd(), &mut from, writer.as_raw_fd(), std::ptr::null_mut(), 4096, 0) };
        assert_eq!(moved, 4096, "the page itself is in the pipe");
        assert_eq!(seal_written(file.as_fd()), Err(Errno::BUSY));
        let release = thread::spawn(move || {
            thread::sleep(Duration::from_millis(300));
            reader.read_exact(&mut [0; 4096]).expect("what was put in");
        });
        seal_content(file.as_fd()).expect("the page is free after a while");
        release.join().expect("it read the page");
        assert!(file.write_all_at(&[2], 0).is_err(), "nobody writes any more");
    }

    #[test]
    #[should_panic(expected = "4 bytes at 8192 of a view")]
    fn nothing_behind_a_view_is_reached() {
        let file = std::fs::File::from(memory_file("test").expect("memory"));
        file.set_len(4096).expect("memory");
        let mapped = Mapped::of(file.as_fd(), 0, 4096, true).expect("memory");
        mapped.word(2047).store(7, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(mapped.word(1023).load(std::sync::atomic::Ordering::Relaxed), 7);
        mapped.word(2048);
    }
}
