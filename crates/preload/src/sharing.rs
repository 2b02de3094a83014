//! Processes that share memory take turns, as threads do: what one finds in the memory depends on what the others did before.
//!
//! A process that has mapped memory it can share puts its children into its own order from the next `fork` on, and they
//! theirs: one baton while recording, one list of turns in a replay. Every process does if the recording was started so, for
//! servers whose processes agree through files. Record [`Op::OrderShared`] says so in the demo: of
//! the parent before its first such child, and of each of them as its first.

use super::state::{self, control, mode};
use super::thread::{RECORDING, Thread};
use super::{baton, own_words, player, recorder};
use prony_demo::{Op, WAITS_ONLY};
use std::sync::atomic::{AtomicBool, Ordering};

/// Memory is mapped that children will share.
static MAPPED: AtomicBool = AtomicBool::new(false);

/// Takes down that the process maps memory that it may share; `named`: also with processes that it does not make. False if
/// the order of what is done to it is not known to be kept.
pub fn note_mapping(named: bool) -> bool {
    MAPPED.store(true, Ordering::Relaxed);
    !control().side_by_side.load(Ordering::Relaxed) && (!named || state::shares_order())
}

/// True if the children of a recorded process will stand in its order.
fn shares_with_children() -> bool {
    control().processes_in_turn.load(Ordering::Relaxed)
        || MAPPED.load(Ordering::Relaxed) && !control().side_by_side.load(Ordering::Relaxed)
}

/// Prepares for a child that is about to be made: in a recording no other thread runs from here on until it is recorded.
pub unsafe fn before_fork(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        own_words::end();
        if mode() != RECORDING {
            share_as_recorded(thread);
        } else if state::shares_order() {
            baton::keep(thread);
        } else if shares_with_children() {
            state::share_order();
            begin(thread);
        }
    }
}

/// Begins in a process that shares the order: waits until it has the baton, or its first turn.
pub unsafe fn begin(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        if !state::shares_order() {
            return;
        }
        state::set_threaded();
        if mode() == RECORDING {
            baton::enable();
            recorder::emit(thread, Op::OrderShared, -1, state::leader_index(), WAITS_ONLY, &[]);
        } else {
            // One that was killed before it had the baton ran nothing.
            player::end_without_records(thread);
            share_as_recorded(thread);
        }
    }
}

/// Follows the record that says that the order is shared, if it is next.
unsafe fn share_as_recorded(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let Some(answer) = player::take_if_next(thread, Op::OrderShared) else { return };
        if !state::shares_order() {
            state::share_order();
        }
        state::set_threaded();
        player::share_one_cpu(thread);
        if answer.code() == WAITS_ONLY {
            player::expect_waits_only();
        }
        player::done(thread, answer);
    }
}
