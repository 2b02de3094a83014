//! Threads end one after another, and before the next one begins.
//!
//! What libc does with a thread that ends no call shows: its stack and its part of the heap are
//! given to the next thread, if that comes late enough. Addresses of a server with short-lived
//! threads would depend on it, and with them whatever the server makes of addresses.
//!
//! Where instructions are counted, a thread goes on with its turn only when those that end are gone: what they give back to the heap
//! decides how long a search for a free piece takes.

use super::state;
use super::thread::PassThrough;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// Threads of which the kernel may still know, 0 for none.
static ENDING: [AtomicI32; 64] = [const { AtomicI32::new(0) }; 64];
/// True if there may be one.
static ANY: AtomicBool = AtomicBool::new(false);

/// The calling thread will make no recorded call any more.
pub fn begin() {
    if state::is_over() {
        return;
    }
    // SAFETY: only reads the number of the thread.
    unsafe {
        wait_for_others();
        let own = libc::syscall(libc::SYS_gettid) as i32;
        for place in &ENDING {
            if place.compare_exchange(0, own, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                ANY.store(true, Ordering::Release);
                return;
            }
        }
    }
}

/// Waits until the threads that are ending are gone.
pub fn wait_for_others() {
    if state::is_over() {
        return;
    }
    ANY.store(false, Ordering::Release);
    for place in &ENDING {
        let tid = place.load(Ordering::Acquire);
        if tid == 0 {
            continue;
        }
        // Signal 0 only checks whether there is such a thread. Ending takes some microseconds; a
        // destructor of the server's that hangs must not hang the others.
        let rounds = if state::is_under_tool() { ROUNDS_UNDER_TOOL } else { ROUNDS };
        for round in 0..rounds {
            // SAFETY: signal 0 is only a query.
            if unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, 0) } == -1 {
                break;
            }
            // In a replay it needs this CPU; otherwise it is mostly gone before a sleep would be over.
            if round < YIELDS {
                // SAFETY: it takes nothing.
                unsafe { libc::syscall(libc::SYS_sched_yield) };
            } else {
                // SAFETY: reads a constant.
                unsafe { libc::nanosleep(&PAUSE, std::ptr::null_mut()) };
            }
        }
        place.store(0, Ordering::Release);
    }
}

/// The same before each turn of a replay under a tool.
#[inline]
pub fn wait_under_tool() {
    if ANY.load(Ordering::Acquire) && state::is_under_tool() {
        let before = state::errno();
        let _pass_through = PassThrough::enter();
        wait_for_others();
        state::set_errno(before);
    }
}

const ROUNDS: u32 = 1000;
const ROUNDS_UNDER_TOOL: u32 = 10 * ROUNDS;
const YIELDS: u32 = 20;
const PAUSE: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 20_000 };

/// Forgets threads that were ending, in a process that was just forked and has one thread.
pub fn forget() {
    for place in &ENDING {
        place.store(0, Ordering::Relaxed);
    }
}
