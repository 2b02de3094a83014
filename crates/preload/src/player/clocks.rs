//! Clock reads: a record if there is one, else the last value again.

use super::frames::{end_frame, start_frame};
use super::resync::{at_end, find, reach};
use super::turns::wait_turn;
use super::window::{extend, go_on, has_next, settle_in_time};
use super::{CallResult, class, count, halt_at, next, number, pass_taken, step};
use crate::thread::Thread;
use prony_channel::{FRAME_END, HALT, OP_MASK, TAKEN};
use prony_demo::{Class, HEAD_BYTES, Head, Op};

/// The value of a clock, in nanoseconds.
#[inline(always)]
pub unsafe fn clock(thread: *mut Thread, op: Op, clock: u32) -> i64 {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        let record = (*thread).cursor;
        let meets =
            |record: *const Head| (*record).op & (OP_MASK | TAKEN | HALT) == op as u16 && (*record).aux == clock;
        if record < (*thread).end && meets(record) {
            (*thread).cursor = record.byte_add(HEAD_BYTES);
            count!(thread, records, 1);
            if (*record).op & FRAME_END != 0 {
                end_frame(thread);
                start_frame(thread);
            }
            let value = (*record).ret;
            if let Some(place) = clock_place(op as u16, clock) {
                (*thread).clocks[place] = value;
            }
            return value;
        }
        clock_slowly(thread, op, clock)
    }
}

#[cold]
pub(super) unsafe fn clock_slowly(thread: *mut Thread, op: Op, clock: u32) -> i64 {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        pass_taken(thread);
        if (*thread).cursor >= (*thread).end && !go_on(thread) {
            at_end(thread);
        }
        let mut record = (*thread).cursor;
        halt_at(thread, record);
        // Another clock's reads may stand in front.
        while (record < (*thread).end || extend(thread)) && class(record) == Some(Class::Clock) {
            if number(record) == op as u16 && (*record).aux == clock && (*record).op & TAKEN == 0 {
                while (*thread).cursor < record {
                    pass_clock(thread);
                }
                return self::clock(thread, op, clock);
            }
            record = next(record);
        }
        // A call that this build does not make must not stop its time: the read behind it is taken.
        let (end, _) = reach(thread);
        let stops = |record: *const Head| {
            let moved = matches!(class(record), Some(Class::Output | Class::Input)) && (*record).ret > 0;
            moved || matches!(class(record), Some(Class::Process | Class::Signal))
        };
        let end = find(record, end, stops).unwrap_or(end);
        let ahead =
            |record: *const Head| number(record) == op as u16 && (*record).aux == clock && (*record).op & TAKEN == 0;
        if let Some(found) = find(record, end, ahead) {
            (*found).op |= TAKEN;
            count!(thread, records, 1);
            count!(thread, reordered, 1);
            if let Some(place) = clock_place(op as u16, clock) {
                (*thread).clocks[place] = (*found).ret;
            }
            return (*found).ret;
        }
        count!(thread, clocks_added, 1);
        clock_place(op as u16, clock).map_or(0, |place| (*thread).clocks[place])
    }
}

/// The record of a clock that answers in a structure (`times`, `getrusage`). With none at this
/// place the last one is given again, as for any clock.
pub unsafe fn take_reading(thread: *mut Thread, op: Op) -> Option<CallResult> {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        if !has_next(thread) {
            at_end(thread);
        }
        let mut record = (*thread).cursor;
        while (record < (*thread).end || extend(thread)) && class(record) == Some(Class::Clock) {
            if number(record) == op as u16 {
                while (*thread).cursor < record {
                    pass_clock(thread);
                }
                halt_at(thread, record);
                keep(last_reading(thread, op), record);
                return Some(CallResult { head: record });
            }
            record = next(record);
        }
        count!(thread, clocks_added, 1);
        let last = last_reading(thread, op);
        (last[0] != 0).then_some(CallResult { head: last.as_ptr().cast() })
    }
}

/// Place of the last record of such a clock.
unsafe fn last_reading<'a>(thread: *mut Thread, op: Op) -> &'a mut [u64] {
    // SAFETY: the block is the calling thread's own, and no other thread uses the copies while the call is under way.
    unsafe { if op == Op::Times { &mut (*thread).last_times } else { &mut (*thread).last_usage } }
}

/// Keeps a record beyond its time in the window. One that is larger than those of a recorder is not kept.
unsafe fn keep(last: &mut [u64], record: *const Head) {
    // SAFETY: the caller passes a record that is whole and in memory, which is copied if there is room for all of it.
    unsafe {
        let words = (*record).size as usize / 8;
        if words <= last.len() {
            record.cast::<u64>().copy_to_nonoverlapping(last.as_mut_ptr(), words);
        } else {
            last.fill(0);
        }
    }
}

/// True for records that a build may leave out without another word.
fn may_be_passed(record: *const Head) -> bool {
    // SAFETY: the caller passes a record that is in memory.
    let number = unsafe { number(record) };
    [Op::AcquireStart, Op::FileStatus, Op::FileSystem, Op::Listing].into_iter().any(|op| number == op as u16)
}

/// The next record that is no read of a clock, no start of an acquisition and no status of a file; at `end` there is none.
pub(super) unsafe fn skip_clocks(thread: *mut Thread) -> *mut Head {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        settle_in_time(thread);
        loop {
            while (*thread).cursor < (*thread).end {
                let record = (*thread).cursor;
                if class(record) == Some(Class::Clock) {
                    pass_clock(thread);
                } else if may_be_passed(record) {
                    wait_turn(thread, record);
                    halt_at(thread, record);
                    count!(thread, records, 1);
                    step(thread, record);
                } else {
                    break;
                }
            }
            if (*thread).cursor < (*thread).end || !go_on(thread) {
                return (*thread).cursor;
            }
        }
    }
}

/// Passes over a recorded clock read that is not made.
pub(super) unsafe fn pass_clock(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory: the caller
    // has seen that one stands at the cursor.
    unsafe {
        let record = (*thread).cursor;
        halt_at(thread, record);
        if (*record).op & TAKEN == 0 {
            if let Some(place) = clock_place(number(record), (*record).aux) {
                (*thread).clocks[place] = (*record).ret;
            }
            count!(thread, clocks_removed, 1);
        }
        (*thread).cursor = next(record);
    }
}

pub(super) fn clock_place(op: u16, clock: u32) -> Option<usize> {
    match Op::from_number(op)? {
        Op::ClockGettime if clock < 12 => Some(clock as usize),
        Op::Gettimeofday => Some(12),
        Op::Time => Some(13),
        Op::Clock => Some(14),
        Op::TimespecGet => Some(15),
        Op::Rdtsc => Some(16),
        Op::Rdpid => Some(17),
        _ => None,
    }
}
