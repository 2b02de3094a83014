//! The order of a process with several threads: every record but a clock read has a turn.
//!
//! The tape names the owner of each turn; the player marks there which turns have ended. The
//! number of the process whose turn it is moves over every ended one, so a thread that runs ahead
//! of its turns (see `take_sync`) leaves no gap for the others.

use super::number;
use crate::channel::NO_TURN;
use crate::inside::process::{control, index, slot};
use crate::inside::thread::Thread;
use prony_demo::Head;
use std::sync::atomic::{AtomicU16, Ordering};

/// Looks a thread takes at the turn before it sleeps.
const SPINS: u32 = 300;

/// Waits until it is this record's turn.
#[inline(always)]
pub(super) unsafe fn wait_turn(thread: *mut Thread, record: *const Head) {
    let turn = (*record).time;
    // A thread that left its records may hold a lock that the thread whose turn it is needs.
    if (*thread).loose || turn == NO_TURN {
        return;
    }
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

/// Bit of a turn's owner that says that the turn has ended.
const ENDED: u16 = 0x8000;

unsafe fn owner_of<'a>(thread: *const Thread, turn: u64) -> &'a AtomicU16 {
    AtomicU16::from_ptr((*thread).turns.add(turn as usize))
}

/// Ends a turn and wakes the thread that has the next one.
pub(super) unsafe fn end_turn(thread: *mut Thread, turn: u64) {
    owner_of(thread, turn).fetch_or(ENDED, Ordering::SeqCst);
    let order = &(*slot()).order;
    let next = loop {
        let now = order.load(Ordering::SeqCst);
        if now >= (*thread).turn_count {
            return;
        }
        let owner = owner_of(thread, now).load(Ordering::SeqCst);
        if owner & ENDED == 0 {
            break owner;
        }
        // Whoever fails here sees the number that another thread has moved on to.
        let _ = order.compare_exchange(now, now + 1, Ordering::SeqCst, Ordering::SeqCst);
    };
    if next != (*thread).index {
        wake(u32::from(next));
    }
}

unsafe fn wake(owner: u32) {
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
