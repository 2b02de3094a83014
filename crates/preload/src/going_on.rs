//! A server that goes on after the end of its recording.
//!
//! The hooks stay, and keep what they keep for the server: the data that it attaches to descriptors in epoll instances, its handlers
//! of signals, its descriptors. They write no record, no thread waits for another one's turn, no program is followed. What cost
//! the server time besides the hooks is given back: the thread's ring, reports of system calls that libc does not make, and the
//! breakpoints at instructions that ask the processor.

use super::state::{self, errno, set_errno};
use super::thread::{self, PassThrough, Thread};
use super::{deferred, processor, raw_calls, ring};
use std::sync::atomic::{AtomicBool, Ordering};

/// True once the recording is over; the calling thread has then left it. For hooks that keep nothing for the server.
#[inline(always)]
pub fn is_over() -> bool {
    if !state::is_over() {
        return false;
    }
    // SAFETY: the block is the calling thread's own.
    unsafe { leave_recording(thread::this()) };
    true
}

/// The calling thread leaves the recording, which is over; once it has, this does nothing.
///
/// # Safety
/// `thread` is the calling thread's block.
#[inline(always)]
pub unsafe fn leave_recording(thread: *mut Thread) {
    // SAFETY: as for this function.
    unsafe {
        if !(*thread).ring.is_null() {
            leave_first(thread);
        }
    }
}

#[cold]
unsafe fn leave_first(thread: *mut Thread) {
    static GIVEN_BACK: AtomicBool = AtomicBool::new(false);
    // A sandbox of the server's own may end it for calls that it does not make.
    if deferred::is_in_sandbox() {
        return;
    }
    let before = errno();
    let _pass_through = PassThrough::enter();
    // SAFETY: as for `leave_recording`.
    unsafe { ring::unmap(thread) };
    raw_calls::unwatch_thread();
    if !GIVEN_BACK.swap(true, Ordering::Relaxed) {
        processor::give_back();
    }
    set_errno(before);
}
