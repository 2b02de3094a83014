//! Hooks of clocks. The hot ones keep to a handful of instructions around the real call.

use super::super::real::hooks;
use super::super::recorder::{self, Piece};
use super::super::state::{errno, outcome, set_errno};
use super::super::thread::{RECORDING, Thread, this};
use super::super::{player, signals};
use super::{enter, leave};
use libc::{c_int, c_void, clockid_t, time_t, timespec, timeval};
use prony_demo::Op;

const SECOND: i64 = 1_000_000_000;

fn nanoseconds(time: &timespec) -> i64 {
    time.tv_sec * SECOND + time.tv_nsec
}

fn as_timespec(nanoseconds: i64) -> timespec {
    timespec { tv_sec: nanoseconds.div_euclid(SECOND), tv_nsec: nanoseconds.rem_euclid(SECOND) }
}

#[inline(always)]
fn read_clock(op: Op, clock: u32, real: impl FnOnce() -> Option<i64>) -> Option<i64> {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let thread: *mut Thread = this();
        let value;
        if (*thread).live == RECORDING {
            value = real();
            if let Some(value) = value {
                recorder::emit_clock(thread, op, clock, value);
            }
        } else {
            value = Some(player::clock(thread, op, clock));
        }
        signals::deliver_after(thread);
        value
    }
}

hooks! {
    [__clock_gettime] fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
        let mut result = 0;
        let value = read_clock(Op::ClockGettime, clock as u32, || {
            result = real::clock_gettime(clock, time);
            (result == 0).then(|| nanoseconds(&*time))
        });
        if let Some(value) = value {
            *time = as_timespec(value);
        }
        result
    }

    [__gettimeofday] fn gettimeofday(time: *mut timeval, zone: *mut c_void) -> c_int {
        let mut result = 0;
        let value = read_clock(Op::Gettimeofday, 0, || {
            result = real::gettimeofday(time, zone);
            (result == 0 && !time.is_null()).then(|| (*time).tv_sec * SECOND + (*time).tv_usec * 1000)
        });
        if let (Some(value), false) = (value, time.is_null()) {
            *time = timeval { tv_sec: value.div_euclid(SECOND), tv_usec: value.rem_euclid(SECOND) / 1000 };
        }
        result
    }

    fn time(to: *mut time_t) -> time_t {
        let value = read_clock(Op::Time, 0, || Some(real::time(to).wrapping_mul(SECOND)));
        let seconds = value.unwrap_or(0) / SECOND;
        if !to.is_null() {
            *to = seconds;
        }
        seconds
    }

    fn clock() -> libc::clock_t {
        read_clock(Op::Clock, 0, || Some(real::clock().wrapping_mul(1000))).unwrap_or(0) / 1000
    }

    fn timespec_get(time: *mut timespec, base: c_int) -> c_int {
        let mut result = base;
        let value = read_clock(Op::TimespecGet, base as u32, || {
            result = real::timespec_get(time, base);
            (result != 0).then(|| nanoseconds(&*time))
        });
        if let Some(value) = value {
            *time = as_timespec(value);
        }
        result
    }

    fn times(to: *mut libc::tms) -> libc::clock_t {
        reading(Op::Times, 0, to, || real::times(to) as isize) as libc::clock_t
    }

    fn getrusage(who: c_int, to: *mut libc::rusage) -> c_int {
        reading(Op::Getrusage, who as u32, to, || real::getrusage(who, to) as isize) as c_int
    }
}

/// A clock that answers in a structure.
unsafe fn reading<T>(op: Op, aux: u32, to: *mut T, real: impl FnOnce() -> isize) -> isize {
    // SAFETY: the block that `enter` returns is the calling thread's own, and `to` is null or where the call writes.
    unsafe {
        let (thread, recording) = enter();
        let mut value = 0;
        if recording {
            value = real();
            let before = errno();
            let piece = if value == -1 || to.is_null() { Piece::Nothing } else { Piece::value(&*to) };
            recorder::emit(thread, op, -1, aux, outcome(value), &[piece]);
            set_errno(before);
        } else if let Some(answer) = player::take_reading(thread, op) {
            answer.copy_value(to);
            value = answer.value();
            player::done(thread, answer);
        }
        leave(thread);
        value
    }
}
