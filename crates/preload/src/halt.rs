//! Halt of a replay: a thread waits until a debugger has stopped it, at the call of a record or where the build diverges.

use super::state::{control, errno, index, is_outside_gone, set_errno, slot};
use super::thread::{PassThrough, Thread};
use libc::{c_int, timespec};
use prony_channel::{HaltState, PLAYER_EXIT};
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

/// Interval at which a waiting thread looks whether a debugger has stopped it.
const LOOK: timespec = timespec { tv_sec: 0, tv_nsec: 2_000_000 };

/// The command of prctl(2) that names the process which may attach to this one; -1 for any.
const PR_SET_PTRACER: c_int = 0x5961_6d61;

/// True once a thread of the replay has come to where a debugger is to stop it. From then on a thread that gets nowhere may be
/// stopped by the debugger.
pub fn has_begun() -> bool {
    !control().halt.state.is(HaltState::Absent, Ordering::Relaxed)
}

/// Waits for a debugger, if one is to be attached and no thread waited before. The server's stack stays as the call found it.
#[cold]
#[inline(never)]
pub unsafe fn wait(thread: *mut Thread, op: u32, fd: c_int, record: u64) {
    let halt = &control().halt;
    if !halt.wanted.load(Ordering::Relaxed) || !halt.state.acquire(HaltState::Absent, HaltState::Begun) {
        return;
    }
    let before = errno();
    let _pass_through = PassThrough::enter();
    // SAFETY: the block is the calling thread's own, which has a slot; the time lives across the call.
    unsafe {
        halt.process.store(index(), Ordering::Relaxed);
        halt.thread.store((*thread).index.into(), Ordering::Relaxed);
        halt.pid.store(slot().pid.load(Ordering::Relaxed), Ordering::Relaxed);
        halt.tid.store((*(*thread).slot).tid.load(Ordering::Relaxed), Ordering::Relaxed);
        halt.op.store(op, Ordering::Relaxed);
        halt.fd.store(fd, Ordering::Relaxed);
        halt.record.store(record, Ordering::Relaxed);
        // Where Yama restricts debuggers to ancestors: gdb is no ancestor of the server.
        libc::prctl(PR_SET_PTRACER, libc::c_ulong::MAX, 0, 0, 0);
        halt.state.store(HaltState::Waiting, Ordering::Release);
        while !halt.state.is(HaltState::Released, Ordering::Acquire) {
            if is_outside_gone() {
                libc::_exit(PLAYER_EXIT);
            }
            libc::syscall(libc::SYS_nanosleep, &LOOK, null_mut::<timespec>());
        }
    }
    set_errno(before);
}
