//! Asks the process outside to search the objects of this one: for system calls that do not come from libc, and for
//! what they ask the processor.

use super::notes;
use super::process::{self, control};
use super::processor;
use super::thread::Aside;
use crate::channel::{SCAN_ANSWERED, SCAN_CLAIMED, SCAN_FREE};
use libc::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

/// Has the objects searched and follows what is found. `what`: one of the `SCAN` numbers. Returns whether any of them
/// makes system calls of its own.
pub unsafe fn ask(what: u32) -> bool {
    let _aside = Aside::step();
    let control = control();
    let word = &(*control).scan;
    claim(word);
    (*control).scan_pid.store(libc::getpid(), Ordering::Relaxed);
    word.store(what, Ordering::Release);
    wake(word);
    for _ in 0..LOOKS {
        // The recorder may be gone; the server goes on without it.
        if word.load(Ordering::Acquire) != what || process::is_outside_gone() {
            break;
        }
        sleep(word, what);
    }
    let answered = word.load(Ordering::Acquire) == SCAN_ANSWERED;
    let raw_calls = answered && (*control).raw_calls.load(Ordering::Relaxed) != 0;
    if answered {
        processor::follow();
    } else {
        notes::uncovered(&[b"the objects of this process were not searched: the recorder did not answer in time"]);
    }
    word.store(SCAN_FREE, Ordering::Release);
    wake(word);
    raw_calls
}

/// Waits until nobody else asks. Whoever takes longer than an answer may is dead.
unsafe fn claim(word: &AtomicU32) {
    for _ in 0..LOOKS {
        match word.compare_exchange(SCAN_FREE, SCAN_CLAIMED, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return,
            Err(now) => sleep(word, now),
        }
    }
    word.store(SCAN_CLAIMED, Ordering::Release);
}

/// Times that an answer is looked for: ten seconds in all.
const LOOKS: u32 = 250;
static LOOK: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 40_000_000 };

unsafe fn sleep(word: &AtomicU32, value: u32) {
    libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const LOOK);
}

unsafe fn wake(word: &AtomicU32) {
    libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, c_int::MAX);
}
