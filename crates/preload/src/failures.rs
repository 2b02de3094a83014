//! Calls that are made for real, in the recording and in every replay of it, and that fail. Each is noted once for a
//! process: by the recorder in the demo, by the player in the control area. A call that fails only in a replay is
//! often why it goes another way.

use super::digest;
use super::recorder::{self, Piece};
use super::state::{self, control, errno, set_errno};
use super::thread::{self, PASS_THROUGH, RECORDING, REPLAYING, Thread};
use libc::{c_char, c_int, c_void};
use prony_channel::{CHANGED, FAILURES, NOTED, NOTED_FROM_HERE, NOTED_NO_MORE, UNFINISHED};
use prony_demo::{Op, PartKind};
use std::ffi::CStr;
use std::ptr::null;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Failures of one process that are distinguished.
const MOST: usize = 4096;
/// Places that are tried for one.
const TRIES: usize = 64;

/// Digests of those noted so far; 0 for a free place.
static SEEN: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];
static TOO_MANY: AtomicBool = AtomicBool::new(false);

/// A result of which one value says that the call failed.
pub trait Fallible: Copy {
    /// True for the value that stands for an error.
    fn failed(self) -> bool;
}

impl Fallible for c_int {
    fn failed(self) -> bool {
        self == -1
    }
}

impl Fallible for isize {
    fn failed(self) -> bool {
        self == -1
    }
}

impl<T> Fallible for *mut T {
    fn failed(self) -> bool {
        self.is_null() || self.cast::<c_void>() == libc::MAP_FAILED
    }
}

/// Passes on the result of a call about this path.
#[inline(always)]
pub unsafe fn at_path<T: Fallible>(name: &CStr, path: *const c_char, result: T) -> T {
    // SAFETY: the caller passes a path that its call was given, null or a C string.
    unsafe {
        if result.failed() {
            note(name, -1, path, errno());
        }
        result
    }
}

/// Passes on the result of a call about this descriptor; -1 for one about neither.
#[inline(always)]
pub fn at_descriptor<T: Fallible>(name: &CStr, fd: c_int, result: T) -> T {
    // SAFETY: there is no path.
    unsafe {
        if result.failed() {
            note(name, fd, null(), errno());
        }
        result
    }
}

/// Notes the failures of this process in the demo from here on.
pub fn begin() {
    // SAFETY: the block is the calling thread's own; it is attached, as the process has just joined.
    unsafe {
        let thread = thread::this();
        if state::mode() == RECORDING {
            write_down(thread, -1, NOTED_FROM_HERE, 0, &[]);
        }
    }
}

/// A call that was made for real failed with this error.
#[cold]
pub unsafe fn note(name: &CStr, fd: c_int, path: *const c_char, error: c_int) {
    // SAFETY: the block is the calling thread's own; the caller passes a path that is null or a C string, which lives
    // across this call.
    unsafe {
        let thread = thread::this();
        // A call that a signal interrupted is made again.
        if !(*thread).attached || error == libc::EINTR {
            return;
        }
        let path = if path.is_null() { &[] } else { CStr::from_ptr(path).to_bytes() };
        let digest = digest_of(&[name.to_bytes(), path, &fd.to_ne_bytes(), &error.to_ne_bytes()]);
        match (see(digest), state::mode()) {
            (Some(true), RECORDING) => {
                let name = Piece::Bytes(PartKind::Value, name.as_ptr().cast(), name.count_bytes());
                let path = Piece::some(PartKind::Path, path.as_ptr(), path.len());
                write_down(thread, fd, NOTED, -i64::from(error), &[name, path]);
            }
            (Some(true), REPLAYING) => keep(thread, name.to_bytes(), fd, path, error),
            (None, RECORDING) if !TOO_MANY.swap(true, Ordering::Relaxed) => {
                write_down(thread, -1, NOTED_NO_MORE, 0, &[]);
            }
            _ => {}
        }
    }
}

/// A call that was made for real has another result than in the recording, though it does not fail.
#[cold]
pub unsafe fn changed(name: &CStr, path: *const c_char) {
    // SAFETY: as for `note`.
    unsafe { note(name, -1, path, CHANGED) }
}

unsafe fn write_down(thread: *mut Thread, fd: c_int, what: u32, ret: i64, pieces: &[Piece]) {
    // SAFETY: the block is the calling thread's own, and the pieces live across this call.
    unsafe {
        let before = errno();
        let live = std::mem::replace(&mut (*thread).live, PASS_THROUGH);
        recorder::emit(thread, Op::NoteFailed, fd, what, ret, pieces);
        (*thread).live = live;
        set_errno(before);
    }
}

/// Of a failure of this process. Never 0.
fn digest_of(parts: &[&[u8]]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.iter().chain(&[0]).copied());
    digest::long(bytes.chain(state::index().to_ne_bytes())) | 1
}

/// True the first time; `None` where there is no more room.
fn see(digest: u64) -> Option<bool> {
    for step in 0..TRIES {
        let place = &SEEN[((digest >> 1) as usize).wrapping_add(step) % MOST];
        match place.compare_exchange(0, digest, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Some(true),
            Err(other) if other == digest => return Some(false),
            Err(_) => {}
        }
    }
    None
}

/// Keeps a failure, to explain the replay.
unsafe fn keep(thread: *mut Thread, name: &[u8], fd: c_int, path: &[u8], error: c_int) {
    // SAFETY: the block is the calling thread's own; an attached thread has a slot.
    unsafe {
        let number = control().failures_used.fetch_add(1, Ordering::Relaxed);
        let place = &control().failures[number as usize % FAILURES];
        place.state.store(UNFINISHED, Ordering::Relaxed);
        place.process.store(state::index(), Ordering::Relaxed);
        place.thread.store((*thread).index.into(), Ordering::Relaxed);
        place.errno.store(error, Ordering::Relaxed);
        place.fd.store(fd, Ordering::Relaxed);
        place.record.store((*(*thread).slot).record.load(Ordering::Relaxed), Ordering::Relaxed);
        place.name.write_text(name);
        place.path_len.store(place.path.write(path), Ordering::Relaxed);
        place.state.store(number.wrapping_add(1), Ordering::Release);
    }
}
