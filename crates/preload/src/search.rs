//! Request to the process outside to search the objects of this one, for system calls that do not come from libc and
//! for instructions that read from the processor.

use super::notes;
use super::state::{self, control};
use super::thread::PassThrough;
use prony_channel::{ScanState, StateWord};
use std::sync::atomic::{AtomicU32, Ordering};

/// Has the objects searched, and calls `follow` while the sites that were found stand in the control area. `what`: [`ScanState::Program`] or [`ScanState::Loaded`]. Returns
/// whether any of them makes system calls of its own.
pub fn ask(what: ScanState, follow: impl FnOnce()) -> bool {
    if state::is_over() {
        return false;
    }
    let _pass_through = PassThrough::enter();
    let scan = &control().scan;
    let state = &scan.state;
    claim(state);
    // SAFETY: only a query.
    scan.pid.store(unsafe { libc::getpid() }, Ordering::Relaxed);
    state.store(what, Ordering::Release);
    state::wake_outside();
    for _ in 0..LOOKS {
        // The recorder may be gone; the server goes on without it.
        if !state.is(what, Ordering::Acquire) || state::is_over() || state::is_outside_gone() {
            break;
        }
        sleep(state.word(), what as u32);
    }
    let answered = state.is(ScanState::Answered, Ordering::Acquire);
    let raw_calls = answered && scan.raw_calls.load(Ordering::Relaxed);
    if answered {
        follow();
    } else {
        notes::uncovered(&[b"the objects of this process were not searched: the recorder did not answer in time"]);
    }
    state.store(ScanState::Free, Ordering::Release);
    state::wake_outside();
    raw_calls
}

/// Waits until no other process has a request. One that takes longer than an answer may is dead.
fn claim(state: &StateWord<ScanState>) {
    for _ in 0..LOOKS {
        let now = state.word().load(Ordering::Relaxed);
        if state.acquire(ScanState::Free, ScanState::Claimed) {
            return;
        }
        sleep(state.word(), now);
    }
    state.store(ScanState::Claimed, Ordering::Release);
}

/// Times that an answer is looked for: ten seconds in all.
const LOOKS: u32 = 250;
static LOOK: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 40_000_000 };

fn sleep(word: &AtomicU32, value: u32) {
    // SAFETY: the kernel reads the word and the time, which live across the call.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const LOOK);
    }
}
