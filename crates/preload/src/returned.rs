//! What calls return that a replay makes for real. The last results are kept in the control area where a divergence is to be
//! explained: bytes of an output that differ may stand in one of them.

use super::state::{self, control, errno, set_errno};
use super::thread::{self, PassThrough, REPLAYING};
use libc::{c_char, c_int, c_void};
use prony_channel::{RETURNED, RETURNED_BYTES, UNFINISHED};
use std::ffi::CStr;
use std::io::Write;
use std::sync::atomic::Ordering;

fn is_kept() -> bool {
    state::mode() == REPLAYING && control().explained.load(Ordering::Relaxed)
}

/// Keeps what a call about this path has filled: `length` bytes.
#[inline(always)]
pub unsafe fn at_path(name: &CStr, path: *const c_char, bytes: *const c_void, length: usize) {
    // SAFETY: the caller passes a C string, and memory that its call has filled.
    unsafe {
        if length > 0 && is_kept() {
            keep(name, CStr::from_ptr(path).to_bytes(), std::slice::from_raw_parts(bytes.cast(), length));
        }
    }
}

/// As [`at_path`], about a descriptor; passes on the result of a call that says how many bytes it has filled, or -1.
#[inline(always)]
pub unsafe fn at_descriptor(name: &CStr, fd: c_int, bytes: *const c_void, length: isize) -> isize {
    // SAFETY: as for `at_path`.
    unsafe {
        if length > 0 && is_kept() {
            keep_of_descriptor(name, fd, std::slice::from_raw_parts(bytes.cast(), length as usize));
        }
    }
    length
}

#[cold]
fn keep_of_descriptor(name: &CStr, fd: c_int, bytes: &[u8]) {
    let before = errno();
    let mut link = [0u8; 40];
    let mut path = [0u8; 184];
    // The array is filled with zeros, so that a zero byte ends the text.
    let _ = write!(&mut link[..39], "/proc/self/fd/{fd}");
    let length = {
        let _pass_through = PassThrough::enter();
        // SAFETY: a C string, and room as long as is said.
        unsafe { libc::readlink(link.as_ptr().cast(), path.as_mut_ptr().cast(), path.len()) }
    };
    set_errno(before);
    keep(name, &path[..usize::try_from(length).unwrap_or(0)], bytes);
}

#[cold]
fn keep(name: &CStr, path: &[u8], bytes: &[u8]) {
    // SAFETY: the block is the calling thread's own; an attached thread has a slot.
    unsafe {
        let thread = thread::this();
        if !(*thread).attached {
            return;
        }
        let number = control().returned_used.fetch_add(1, Ordering::Relaxed);
        let place = &control().returned[number as usize % RETURNED];
        place.state.store(UNFINISHED, Ordering::Relaxed);
        place.process.store(state::index(), Ordering::Relaxed);
        place.thread.store((*thread).index.into(), Ordering::Relaxed);
        place.record.store((*(*thread).slot).record.load(Ordering::Relaxed), Ordering::Relaxed);
        place.name.write_text(name.to_bytes());
        place.path_len.store(place.path.write(path), Ordering::Relaxed);
        place.bytes_len.store(place.bytes.write(&bytes[..bytes.len().min(RETURNED_BYTES)]), Ordering::Relaxed);
        place.state.store(number.wrapping_add(1), Ordering::Release);
    }
}
