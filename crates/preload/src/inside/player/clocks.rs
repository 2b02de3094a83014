//! Clock reads: a record if there is one, else the last value again.

use super::frames::{end_frame, start_frame};
use super::resync::{at_end, find, window};
use super::{Answer, class, count, next, number, pass_taken};
use crate::channel::{FRAME_END, OP_MASK, TAKEN};
use crate::inside::thread::Thread;
use prony_demo::{Class, HEAD_BYTES, Head, Op};

/// The value of a clock, in nanoseconds.
#[inline(always)]
pub unsafe fn clock(thread: *mut Thread, op: Op, clock: u32) -> i64 {
    let record = (*thread).cursor;
    let meets = (*record).op & (OP_MASK | TAKEN) == op as u16 && (*record).aux == clock;
    if record < (*thread).end && meets {
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

#[cold]
pub(super) unsafe fn clock_slowly(thread: *mut Thread, op: Op, clock: u32) -> i64 {
    pass_taken(thread);
    let mut record = (*thread).cursor;
    // Another clock's reads may stand in front.
    while record < (*thread).end && class(record) == Some(Class::Clock) {
        if number(record) == op as u16 && (*record).aux == clock && (*record).op & TAKEN == 0 {
            while (*thread).cursor < record {
                pass_clock(thread);
            }
            return self::clock(thread, op, clock);
        }
        record = next(record);
    }
    if (*thread).cursor >= (*thread).end {
        at_end(thread, op, -1);
    }
    // A call that this build does not make must not stop its time: the read behind it is taken.
    let (end, _) = window(thread);
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

/// The record of a clock that answers in a structure (`times`, `getrusage`). With none at this
/// place the last one is given again, as for any clock.
pub unsafe fn take_reading(thread: *mut Thread, op: Op) -> Option<Answer> {
    let last = if op == Op::Times { &mut (*thread).last_times } else { &mut (*thread).last_usage };
    let mut record = (*thread).cursor;
    while record < (*thread).end && class(record) == Some(Class::Clock) {
        if number(record) == op as u16 {
            while (*thread).cursor < record {
                pass_clock(thread);
            }
            *last = record;
            return Some(Answer { head: record });
        }
        record = next(record);
    }
    if (*thread).cursor >= (*thread).end {
        at_end(thread, op, -1);
    }
    count!(thread, clocks_added, 1);
    (!last.is_null()).then_some(Answer { head: *last })
}

pub(super) unsafe fn skip_clocks(thread: *mut Thread) -> *mut Head {
    while (*thread).cursor < (*thread).end && class((*thread).cursor) == Some(Class::Clock) {
        pass_clock(thread);
    }
    (*thread).cursor
}

/// Passes over the read of a clock that nobody makes.
pub(super) unsafe fn pass_clock(thread: *mut Thread) {
    let record = (*thread).cursor;
    if (*record).op & TAKEN == 0 {
        if let Some(place) = clock_place(number(record), (*record).aux) {
            (*thread).clocks[place] = (*record).ret;
        }
        count!(thread, clocks_removed, 1);
    }
    (*thread).cursor = next(record);
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
