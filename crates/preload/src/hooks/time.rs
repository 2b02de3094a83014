//! Hooks of clocks. The hot ones keep to a handful of instructions around the real call.

use super::super::going_on::is_over;
use super::super::real::hooks;
use super::super::recorder::{self, Piece};
use super::super::state::{errno, outcome, set_errno};
use super::super::thread::{RECORDING, Thread, this};
use super::super::widths::plain::{rusage, time_t, timespec, timeval};
use super::super::widths::{SECOND, Time, wide};
use super::super::{player, signals};
use super::{enter, leave};
use libc::{c_int, c_void, clockid_t};
use prony_demo::Op;

/// Reads a clock through `real`, which has written the time to where the server wants it, and records what `real` returns: nanoseconds,
/// or nothing where the call has failed. In a replay `real` is not called: the recorded value is returned, for the hook to write. A
/// recorded time is not written once more, as its division into seconds costs more than the rest of the hook where registers have
/// 32 bits.
#[inline(always)]
fn read_clock(op: Op, clock: u32, real: impl FnOnce() -> Option<i64>) -> Option<i64> {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let thread: *mut Thread = this();
        let mut replayed = None;
        if (*thread).live == RECORDING {
            if let Some(value) = real() {
                recorder::emit_clock(thread, op, clock, value);
            }
        } else {
            replayed = Some(player::clock(thread, op, clock));
        }
        signals::deliver_after(thread);
        replayed
    }
}

/// `struct timeb`, whose zone is that of no place in libc.
#[repr(C)]
pub struct Timeb {
    time: libc::time_t,
    milliseconds: u16,
    zone: i16,
    has_summer_time: i16,
}

hooks! {
    [__clock_gettime] time64 [__clock_gettime64] until [is_over] fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
        let mut result = 0;
        let replayed = read_clock(Op::ClockGettime, number_of(clock), || {
            result = real::clock_gettime(clock, time);
            (result == 0).then(|| (*time).nanoseconds())
        });
        if let Some(value) = replayed {
            *time = Time::of_nanoseconds(value);
        }
        result
    }

    fn ftime(time: *mut Timeb) -> c_int {
        let mut now: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_REALTIME, &mut now);
        let milliseconds = (now.tv_nsec / 1_000_000) as u16;
        *time = Timeb { time: now.tv_sec, milliseconds, zone: 0, has_summer_time: 0 };
        0
    }

    [__gettimeofday] time64 [__gettimeofday64] until [is_over] fn gettimeofday(time: *mut timeval, zone: *mut c_void) -> c_int {
        let mut result = 0;
        let replayed = read_clock(Op::Gettimeofday, 0, || {
            result = real::gettimeofday(time, zone);
            (result == 0 && !time.is_null()).then(|| (*time).nanoseconds())
        });
        if let (Some(value), false) = (replayed, time.is_null()) {
            *time = Time::of_nanoseconds(value);
        }
        result
    }

    time64 [__time64] until [is_over] fn time(to: *mut time_t) -> time_t {
        let mut seconds = 0;
        let replayed = read_clock(Op::Time, 0, || {
            seconds = real::time(to);
            Some(wide(seconds).wrapping_mul(SECOND))
        });
        if let Some(value) = replayed {
            seconds = (value / SECOND) as time_t;
            if !to.is_null() {
                *to = seconds;
            }
        }
        seconds
    }

    until [is_over] fn clock() -> libc::clock_t {
        let mut ticks = 0;
        // On i386 it has 32 bits and wraps around after 36 minutes.
        let replayed = read_clock(Op::Clock, 0, || {
            ticks = real::clock();
            Some(wide(ticks).wrapping_mul(1000))
        });
        replayed.map_or(ticks, |value| (value / 1000) as libc::clock_t)
    }

    time64 [__timespec_get64] until [is_over] fn timespec_get(time: *mut timespec, base: c_int) -> c_int {
        let mut result = base;
        let replayed = read_clock(Op::TimespecGet, base as u32, || {
            result = real::timespec_get(time, base);
            (result != 0).then(|| (*time).nanoseconds())
        });
        if let Some(value) = replayed {
            *time = Time::of_nanoseconds(value);
        }
        result
    }

    fn times(to: *mut libc::tms) -> libc::clock_t {
        // On i386 it has 32 bits, of which all values are times.
        reading(Op::Times, 0, to, || (real::times(to) as libc::c_ulong) as i64) as libc::clock_t
    }

    time64 [__getrusage64] fn getrusage(who: c_int, to: *mut rusage) -> c_int {
        reading(Op::Getrusage, who as u32, to, || i64::from(real::getrusage(who, to))) as c_int
    }
}

/// Number of a clock in records. One of a process or a thread (`pthread_getcpuclockid`) has the number of that in it, which is
/// another one in a replay: what remains is of which kind it is, in the lowest three bits.
#[inline(always)]
fn number_of(clock: clockid_t) -> u32 {
    if clock < 0 { clock as u32 | !7 } else { clock as u32 }
}

/// A clock that answers in a structure.
unsafe fn reading<T>(op: Op, aux: u32, to: *mut T, real: impl FnOnce() -> i64) -> i64 {
    // SAFETY: the block that `enter` returns is the calling thread's own, and `to` is null or where the call writes.
    unsafe {
        let (thread, recording) = enter();
        let mut value = 0;
        if recording {
            value = real();
            let before = errno();
            let piece = if value == -1 || to.is_null() { Piece::Nothing } else { Piece::value(&*to) };
            let result = if value == -1 { outcome(-1) } else { value };
            recorder::emit(thread, op, -1, aux, result, &[piece]);
            set_errno(before);
        } else if let Some(answer) = player::take_reading(thread, op) {
            answer.copy_value(to);
            value = if answer.is_error() { answer.success() as i64 } else { answer.code() };
            player::done(thread, answer);
        }
        leave(thread);
        value
    }
}
