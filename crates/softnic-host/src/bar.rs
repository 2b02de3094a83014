//! The register file that a driver maps: BAR 0 as a file in memory.
#![deny(clippy::indexing_slicing)]
#![allow(unsafe_code, reason = "the file is mapped, and written by another process")]

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use prony_ixgbe_regs::BAR_BYTES;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::guard;

const PAGE_BYTES: usize = 4096;

/// BAR 0, shared with processes that map the file.
#[derive(Debug)]
pub(crate) struct Bar {
    words: *const AtomicU32,
    /// Device and inode of the file, as `/proc/PID/maps` names them.
    pub(crate) identity: (u64, u64),
}

// SAFETY: the mapping belongs to the value alone, and is reached through atomics only.
unsafe impl Send for Bar {}

impl Bar {
    /// Maps the first bytes of a file, after giving it the size of a BAR if it is shorter.
    pub(crate) fn map(file: &File) -> io::Result<Bar> {
        if file.metadata()?.len() < BAR_BYTES as u64 {
            file.set_len(BAR_BYTES as u64)?;
        }
        let facts = file.metadata()?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe { mmap(ptr::null_mut(), BAR_BYTES, protection, MapFlags::SHARED, file.as_fd(), 0)? };
        guard::remember(start.cast(), BAR_BYTES, PAGE_BYTES);
        Ok(Bar { words: start.cast::<AtomicU32>(), identity: (facts.dev(), facts.ino()) })
    }

    #[inline]
    fn word(&self, offset: u32) -> &AtomicU32 {
        let index = offset as usize / 4;
        assert!(index < BAR_BYTES / 4, "registers lie in the BAR");
        // SAFETY: the index was just checked against the length of the mapping, which lives as long as `self`. The file is
        // on a file system of this namespace; a driver that cuts it is stopped by the handler of `guard`.
        unsafe { &*self.words.add(index) }
    }

    /// What a register holds. What the driver wrote before it wrote this is seen after it.
    #[inline]
    pub(crate) fn read32(&self, offset: u32) -> u32 {
        self.word(offset).load(Ordering::Acquire)
    }

    /// Sets a register. Who sees it sees what was written before.
    #[inline]
    pub(crate) fn write32(&self, offset: u32, value: u32) {
        self.word(offset).store(value, Ordering::Release);
    }

    /// Sets a register, unless the driver has written another value than `seen` to it.
    #[inline]
    pub(crate) fn replace32(&self, offset: u32, seen: u32, value: u32) {
        let _ = self.word(offset).compare_exchange(seen, value, Ordering::AcqRel, Ordering::Relaxed);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        guard::forget(self.words.cast_mut().cast());
        // SAFETY: the mapping is that of `map`, and no reference into it outlives `self`. That it cannot be unmapped would
        // only leave it mapped.
        let _ = unsafe { munmap(self.words.cast_mut().cast(), BAR_BYTES) };
    }
}
