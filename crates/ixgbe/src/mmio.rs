//! Registers, as mapped from BAR 0.
#![allow(unsafe_code, reason = "registers are memory that a device changes")]

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{Ordering, compiler_fence, fence};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::checks::hold;

/// The registers of a device.
#[derive(Debug)]
pub(crate) struct Bar {
    start: NonNull<u8>,
    bytes: usize,
}

impl Bar {
    /// Maps `resource0` of a PCI device.
    pub(crate) fn map(file: &File) -> io::Result<Bar> {
        Bar::map_part(file, 0, file.metadata()?.len())
    }

    /// Maps a part of a file.
    pub(crate) fn map_part(file: &File, offset: u64, bytes: u64) -> io::Result<Bar> {
        let bytes = usize::try_from(bytes).map_err(|_| io::ErrorKind::InvalidData)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe { mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, file.as_fd(), offset)? };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Bar { start, bytes })
    }

    #[inline]
    fn register(&self, offset: u32) -> *mut u32 {
        let offset = offset as usize;
        hold(offset.is_multiple_of(4) && offset + 4 <= self.bytes, "registers lie in the BAR");
        // SAFETY: the offset was just checked against the length of the mapping.
        unsafe { self.start.as_ptr().add(offset).cast() }
    }

    /// Value of the register at an offset.
    #[inline]
    pub(crate) fn read32(&self, offset: u32) -> u32 {
        // SAFETY: `register` gives an aligned place in the mapping, which lives as long as `self`.
        let value = unsafe { ptr::read_volatile(self.register(offset)) };
        compiler_fence(Ordering::Acquire);
        value
    }

    /// Writes a register, after all that was written to DMA memory before.
    #[inline]
    pub(crate) fn write32(&self, offset: u32, value: u32) {
        // On x86-64 a fence for the compiler only: its stores are in order.
        fence(Ordering::Release);
        // SAFETY: as in `read32`.
        unsafe { ptr::write_volatile(self.register(offset), value) };
    }

    pub(crate) fn set(&self, offset: u32, bits: u32) {
        self.write32(offset, self.read32(offset) | bits);
    }

    pub(crate) fn clear(&self, offset: u32, bits: u32) {
        self.write32(offset, self.read32(offset) & !bits);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        // SAFETY: the mapping is that of `map`, and no reference into it exists. If it cannot be unmapped it stays.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
