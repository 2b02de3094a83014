//! The process that made a call: its memory, its descriptors, and whether it is still there.
#![deny(clippy::indexing_slicing)]
#![allow(unsafe_code, reason = "system calls on another process")]

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use rustix::io::Errno;

const PAGE_BYTES: u64 = 4096;

/// The process of a thread.
pub(crate) fn process_of(thread: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// Device and inode of an open file.
pub(crate) fn file_of(thread: u32, descriptor: i32) -> Option<(u64, u64)> {
    let facts = fs::metadata(format!("/proc/{thread}/fd/{descriptor}")).ok()?;
    Some((facts.dev(), facts.ino()))
}

/// A handle of a process, which is never that of another one.
pub(crate) fn open(process: u32) -> io::Result<OwnedFd> {
    // SAFETY: a plain system call, whose descriptor is checked before it is owned.
    match unsafe { libc::syscall(libc::SYS_pidfd_open, process as libc::pid_t, 0) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: it was just opened.
        descriptor => Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) }),
    }
}

/// True if the process has ended.
pub(crate) fn has_ended(process: impl AsFd) -> bool {
    let mut poll = libc::pollfd { fd: process.as_fd().as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the structure lives through the call.
    unsafe { libc::poll(&raw mut poll, 1, 0) == 1 && poll.revents & libc::POLLIN != 0 }
}

/// An eventfd of the process, which both have then.
pub(crate) fn take_eventfd(process: &OwnedFd, descriptor: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: a plain system call, whose descriptor is checked before it is owned.
    let taken = unsafe {
        match libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), descriptor, 0) {
            -1 => return Err(Errno::BADF),
            taken => OwnedFd::from_raw_fd(taken as i32),
        }
    };
    // Another file could make the device wait, or the process at its other end.
    match fs::read_link(format!("/proc/self/fd/{}", taken.as_raw_fd())) {
        Ok(path) if path.as_os_str() == "anon_inode:[eventfd]" => Ok(taken),
        _ => Err(Errno::INVAL),
    }
}

/// Reads memory of a process, all of it or none.
pub(crate) fn read(process: u32, address: u64, into: &mut [u8]) -> Result<(), Errno> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: address as *mut _, iov_len: into.len() };
    // SAFETY: the local range is a slice of ours; the remote one is checked by the kernel.
    let read = unsafe { libc::process_vm_readv(process as libc::pid_t, &raw const local, 1, &raw const remote, 1, 0) };
    if read == into.len() as isize { Ok(()) } else { Err(Errno::FAULT) }
}

/// Writes memory of a process, all of it or a part.
pub(crate) fn write(process: u32, address: u64, bytes: &[u8]) -> Result<(), Errno> {
    let local = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    let remote = libc::iovec { iov_base: address as *mut _, iov_len: bytes.len() };
    // SAFETY: as in `read`; the local range is only read.
    let written =
        unsafe { libc::process_vm_writev(process as libc::pid_t, &raw const local, 1, &raw const remote, 1, 0) };
    if written == bytes.len() as isize { Ok(()) } else { Err(Errno::FAULT) }
}

/// Reads a string that ends with 0, of up to `bytes_max` bytes.
pub(crate) fn read_text(process: u32, address: u64, bytes_max: usize) -> Result<Vec<u8>, Errno> {
    let mut text = Vec::new();
    while text.len() < bytes_max {
        let at = address.checked_add(text.len() as u64).ok_or(Errno::FAULT)?;
        // The string may end right before a page that is not there.
        let room = (PAGE_BYTES - at % PAGE_BYTES).min((bytes_max - text.len()) as u64);
        let mut part = vec![0; room as usize];
        read(process, at, &mut part)?;
        match part.iter().position(|&byte| byte == 0) {
            Some(end) => {
                text.extend(part.into_iter().take(end));
                return Ok(text);
            }
            None => text.extend(part),
        }
    }
    Err(Errno::INVAL)
}

/// The file once more, with a position of its own.
pub(crate) fn reopen(file: &File) -> io::Result<File> {
    File::options().read(true).write(true).open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}
