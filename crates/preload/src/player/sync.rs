//! Calls that synchronise threads: in recorded order, as long as a thread follows its records.
//!
//! Another build may take a lock more or fewer. From there to its next wait the thread takes its
//! locks for real and waits for no turn: it may hold what the thread whose turn it is needs.

use super::clocks::skip_clocks;
use super::resync::{at_end, find_from, fits, pass_over, pass_over_to};
use super::turns::leave_turn;
use super::window::{at, extend, has_next, place_of};
use super::{CallResult, class, count, done, end_without_records, next, number, taken};
use crate::report::{self, Finding};
use crate::thread::{REPLAYING, Thread};
use prony_channel::{Stop, TAKEN};
use prony_demo::{Class, Head, Op};
use std::sync::atomic::{AtomicBool, Ordering};

/// Name of the object of a synchronising call in records: its address in units of 8 bytes.
pub fn name_of<T>(object: *const T) -> u32 {
    (object as usize >> 3) as u32
}

/// Acquisitions that needed no wait have no record.
static WAITS_ONLY: AtomicBool = AtomicBool::new(false);

/// Expects no record for acquisitions of this process that need no wait, from here on.
pub fn expect_waits_only() {
    WAITS_ONLY.store(true, Ordering::Relaxed);
}

/// True if the acquisition that the thread is about to make had no record. The start of one that had is passed over.
pub unsafe fn is_unrecorded(thread: *mut Thread) -> bool {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        if !WAITS_ONLY.load(Ordering::Relaxed) || (*thread).loose {
            return false;
        }
        let recorded = start_is_next(thread);
        if recorded {
            skip_clocks(thread);
        }
        !recorded
    }
}

/// The thread has to wait for what was free while recording. With no record left, it is where the demo ends.
pub unsafe fn wait_unrecorded(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        end_without_records(thread);
        leave_turn(thread);
    }
}

/// The next record is the start of this acquisition, not of one to come.
unsafe fn start_is_next(thread: *mut Thread) -> bool {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        next_call(thread).is_some_and(|record| {
            number(record) == Op::AcquireStart as u16 && (*record).ret <= i64::from((*thread).unrecorded)
        })
    }
}

/// The next record that is not a clock's.
unsafe fn next_call(thread: *mut Thread) -> Option<*const Head> {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        if !has_next(thread) {
            return None;
        }
        let mut record = at(thread, place_of(thread, (*thread).cursor).max((*thread).next_call));
        let passes = |record: *const Head| (*record).op & TAKEN != 0 || class(record) == Some(Class::Clock);
        while (record < (*thread).end || extend(thread)) && passes(record) {
            record = next(record);
        }
        // What lies before it is not looked at again: a server may read a clock ten thousand times between two calls.
        (*thread).next_call = place_of(thread, record);
        (record < (*thread).end).then_some(record.cast_const())
    }
}

/// True if such a call, without a descriptor, is next.
pub unsafe fn is_next(thread: *mut Thread, op: Op) -> bool {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe { next_call(thread).is_some_and(|record| fits(record, op, -1)) }
}

/// True where this call is next in a replay, and always while recording.
pub unsafe fn goes_on_with(thread: *mut Thread, op: Op, fd: i32) -> bool {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe { (*thread).live != REPLAYING || next_call(thread).is_some_and(|record| fits(record, op, fd)) }
}

/// The record of a call without a descriptor, if it is next.
pub unsafe fn take_if_next(thread: *mut Thread, op: Op) -> Option<CallResult> {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe { is_next(thread, op).then(|| taken(thread, skip_clocks(thread))) }
}

/// The record of an acquisition, or of a wait on a futex; `None` if the thread left its records, so that it has to
/// acquire for real. Which object it is does not matter: another build has its own elsewhere.
pub unsafe fn take_sync(thread: *mut Thread, op: Op) -> Option<CallResult> {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        let mut first = skip_clocks(thread);
        while first < (*thread).end && fits(first, Op::SchedYield, -1) {
            pass_over(thread, op, -1);
            first = skip_clocks(thread);
        }
        if first >= (*thread).end {
            at_end(thread);
        }
        if !(*thread).loose && fits(first, op, -1) {
            return Some(taken(thread, first));
        }
        (*thread).loose = true;
        leave_turn(thread);
        count!(thread, resynced, 1);
        None
    }
}

/// Waits for the first turn of a thread. Older demos have no record of it; in others the demo ends before the thread ran.
pub unsafe fn take_start(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        if WAITS_ONLY.load(Ordering::Relaxed) {
            end_without_records(thread);
        }
        if has_next(thread) && fits((*thread).cursor, Op::ThreadStart, -1) {
            let answer = taken(thread, (*thread).cursor);
            done(thread, answer);
        }
    }
}

/// The record of a yield, if one is next. With no record left, the thread is where the demo ends: what it would do behind
/// the yield came after everything the demo has.
pub unsafe fn take_yield(thread: *mut Thread) -> Option<CallResult> {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        let record = skip_clocks(thread);
        end_without_records(thread);
        fits(record, Op::SchedYield, -1).then(|| taken(thread, record))
    }
}

/// The record of a wait for a condition: a place where a thread that left its records finds back.
pub unsafe fn take_condition(thread: *mut Thread, op: Op) -> CallResult {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        let first = skip_clocks(thread);
        if first >= (*thread).end {
            at_end(thread);
        }
        let Some(record) = find_from(thread, first, |record| fits(record, op, -1)) else {
            report::stop(thread, Stop::Order, Finding::call(op, -1, first))
        };
        let record = pass_over_to(thread, record, op, -1);
        (*thread).loose = false;
        taken(thread, record)
    }
}
