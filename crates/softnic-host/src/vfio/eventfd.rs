//! Interrupts as eventfds of another process.
#![deny(clippy::indexing_slicing)]
#![allow(unsafe_code, reason = "asynchronous I/O of the kernel")]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

use rustix::fs::{MemfdFlags, memfd_create};

/// `IOCB_CMD_PREAD` and `IOCB_FLAG_RESFD` of linux/aio_abi.h.
const PREAD: u16 = 0;
const SIGNALS: u32 = 1;

/// Signals eventfds without ever waiting.
///
/// A process that shares an eventfd can fill it at any moment, and a write to it waits then, even if a poll just before said otherwise.
/// The end of an asynchronous read signals one as well (io_submit(2), `aio_resfd`), and adds no more than there is room for.
#[derive(Debug)]
pub(crate) struct Signaller {
    context: libc::c_ulong,
    /// A file without a byte.
    empty: File,
}

/// `struct iocb` of linux/aio_abi.h, on little-endian machines.
#[repr(C)]
#[derive(Default)]
struct Request {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    priority: i16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    eventfd: u32,
}

const _: () = assert!(size_of::<Request>() == 64 && cfg!(target_endian = "little"));

/// `struct io_event` of linux/aio_abi.h.
#[repr(C)]
#[derive(Default)]
struct Completion {
    data: u64,
    request: u64,
    results: [i64; 2],
}

impl Signaller {
    pub(crate) fn new() -> io::Result<Signaller> {
        let mut context: libc::c_ulong = 0;
        let empty = File::from(memfd_create("prony-empty", MemfdFlags::CLOEXEC)?);
        // SAFETY: the context is ours, and lives through the call.
        match unsafe { libc::syscall(libc::SYS_io_setup, 1, &raw mut context) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(Signaller { context, empty }),
        }
    }

    /// Adds 1 to an eventfd, unless it is full.
    pub(crate) fn signal(&self, eventfd: &OwnedFd) {
        let mut request = Request {
            opcode: PREAD,
            file: self.empty.as_raw_fd() as u32,
            flags: SIGNALS,
            eventfd: eventfd.as_raw_fd() as u32,
            ..Request::default()
        };
        let mut requests = [&raw mut request];
        let mut done = Completion::default();
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the request is read during the first call only, and reads no byte to anywhere, as there is none. It is done when that
        // call returns, so that the second one finds it; what it fills lives through it.
        unsafe {
            if libc::syscall(libc::SYS_io_submit, self.context, 1, requests.as_mut_ptr()) == 1 {
                libc::syscall(libc::SYS_io_getevents, self.context, 0, 1, &raw mut done, &raw const at_once);
            }
        }
    }
}

impl Drop for Signaller {
    fn drop(&mut self) {
        // SAFETY: the context is that of `new`, and nothing uses it any more.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context, ptr::null::<()>()) };
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{EventfdFlags, eventfd};

    use super::*;

    fn count(eventfd: &OwnedFd) -> u64 {
        let mut bytes = [0; 8];
        rustix::io::read(eventfd, &mut bytes).expect("it was signalled");
        u64::from_ne_bytes(bytes)
    }

    #[test]
    fn each_signal_is_counted() {
        let (signaller, eventfd) = (Signaller::new().expect("the kernel has AIO"), eventfd(0, EventfdFlags::empty()));
        let eventfd = eventfd.expect("there are descriptors");
        (0..100).for_each(|_| signaller.signal(&eventfd));
        assert_eq!(count(&eventfd), 100);
        signaller.signal(&eventfd);
        assert_eq!(count(&eventfd), 1);
    }

    #[test]
    fn one_that_is_full_is_not_waited_for() {
        let signaller = Signaller::new().expect("the kernel has AIO");
        let eventfd = eventfd(0, EventfdFlags::empty()).expect("there are descriptors");
        // More than this, a write would wait for a reader, of which there is none.
        rustix::io::write(&eventfd, &(u64::MAX - 1).to_ne_bytes()).expect("it has room");
        (0..3).for_each(|_| signaller.signal(&eventfd));
        assert!(count(&eventfd) >= u64::MAX - 1);
    }
}
