//! The order of a process with several threads: every record but a clock read has a turn.

use super::number;
use crate::inside::process::{control, index, slot};
use crate::inside::thread::Thread;
use prony_demo::Head;
use std::sync::atomic::Ordering;

/// Looks a thread takes at the turn before it sleeps.
const SPINS: u32 = 300;

/// Waits until it is this record's turn.
#[inline(always)]
pub(super) unsafe fn wait_turn(thread: *mut Thread, record: *const Head) {
    let turn = (*record).time;
    if (*slot()).order.load(Ordering::Acquire) != turn {
        wait_turn_slowly(thread, record, turn);
    }
}

#[cold]
pub(super) unsafe fn wait_turn_slowly(thread: *mut Thread, record: *const Head, turn: u64) {
    let order = &(*slot()).order;
    for _ in 0..SPINS {
        if order.load(Ordering::Acquire) >= turn {
            return;
        }
        std::hint::spin_loop();
    }
    let own = (*thread).slot;
    (*own).turn.store(turn, Ordering::Relaxed);
    (*own).call.store(u32::from(number(record)), Ordering::Relaxed);
    (*own).record.store((*record).order, Ordering::Relaxed);
    (*own).waiting.store(1, Ordering::SeqCst);
    while order.load(Ordering::SeqCst) < turn {
        // A wake that comes between the check and the call changes `waiting`, so none is lost.
        libc::syscall(
            libc::SYS_futex,
            (*own).waiting.as_ptr(),
            libc::FUTEX_WAIT,
            1,
            std::ptr::null::<libc::timespec>(),
        );
        if order.load(Ordering::SeqCst) < turn {
            (*own).waiting.store(1, Ordering::SeqCst);
        }
    }
    (*own).waiting.store(0, Ordering::SeqCst);
    (*own).call.store(0, Ordering::Relaxed);
}

pub(super) unsafe fn end_turn(thread: *mut Thread, turn: u64) {
    (*slot()).order.store(turn + 1, Ordering::SeqCst);
    if turn + 1 >= (*thread).turn_count {
        return;
    }
    let owner = u32::from((*thread).turns.add(turn as usize + 1).read());
    if owner == u32::from((*thread).index) {
        return;
    }
    let control = control();
    let used = (*control).thread_slots_used.load(Ordering::Acquire) as usize;
    let own = index();
    for other in &(&(*control).threads)[..used] {
        if other.process.load(Ordering::Relaxed) == own && other.thread.load(Ordering::Relaxed) == owner {
            if other.waiting.swap(0, Ordering::SeqCst) == 1 {
                libc::syscall(libc::SYS_futex, other.waiting.as_ptr(), libc::FUTEX_WAKE, 1);
            }
            return;
        }
    }
}
