//! Signal actions, sending signals, and timers that send them.

use super::super::deferred;
use super::super::failures::at_descriptor;
use super::super::handlers;
use super::super::player;
use super::super::real::hooks;
use super::super::recorder::Piece;
use super::super::signals;
use super::super::state::{errno, set_errno};
use super::super::thread::{PassThrough, REPLAYING, this};
use super::super::widths::Time;
use super::super::widths::plain::{itimerspec, itimerval};
use super::thread_timer;
use super::{recorded, recorded_plain};
use libc::{c_int, c_uint, c_ulong, c_void, pid_t, pthread_t, sighandler_t, sigset_t, timer_t};
use prony_demo::{Op, PartKind};
use std::ptr::null_mut;

fn set_simple(signal: c_int, handler: sighandler_t, flags: c_int) -> sighandler_t {
    // SAFETY: all zero is a valid action, and both live across the call.
    unsafe {
        let mut new: libc::sigaction = std::mem::zeroed();
        new.sa_sigaction = handler;
        new.sa_flags = flags;
        libc::sigemptyset(&mut new.sa_mask);
        let mut old: libc::sigaction = std::mem::zeroed();
        // Through the hook below, which keeps the handler.
        if libc::sigaction(signal, &new, &mut old) == -1 { libc::SIG_ERR } else { old.sa_sigaction }
    }
}

/// Sends a signal to this process or another. In a replay only what has no handler is sent: the
/// tape delivers the rest.
pub(super) fn sent(aux: c_int, signal: c_int, real: impl Fn() -> c_int) -> c_int {
    // A handler that is set for one signal is none by the time the call returns.
    let handled = handlers::of(signal).is_some();
    let mut replayed = false;
    // SAFETY: the one piece lives across the call, and the block is the calling thread's own.
    unsafe {
        let value = recorded(
            Op::Kill,
            -1,
            signal as u32,
            || real() as isize,
            |_| [Piece::value(&aux)],
            |answer| {
                replayed = true;
                answer.success()
            },
        );
        if replayed && aux == 0 && !handled {
            let _pass_through = PassThrough::enter();
            player::end_by_signal(this());
            real();
        }
        value as c_int
    }
}

/// Timers that signal are not armed in a replay.
unsafe fn timer<T>(op: Op, aux: u32, old: *mut T, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: `old` is null or where the call writes.
    unsafe {
        recorded(
            op,
            -1,
            aux,
            || real() as isize,
            |failed| [if failed == 0 && !old.is_null() { Piece::value(&*old) } else { Piece::Nothing }],
            |answer| {
                answer.copy_value(old);
                answer.success()
            },
        ) as c_int
    }
}

hooks! {
    [__sigaction] fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
        let _pass_through = PassThrough::enter();
        signals::change(signal, new, old, |signal, new, old| real::sigaction(signal, new, old))
    }

    fn sigprocmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
        deferred::masked(how, set, old, signals::wrapper, |how, set, old| real::sigprocmask(how, set, old))
    }

    fn pthread_sigmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int {
        deferred::masked(how, set, old, signals::wrapper, |how, set, old| real::pthread_sigmask(how, set, old))
    }

    fn sigpending(set: *mut sigset_t) -> c_int {
        recorded(
            Op::Sigpending,
            -1,
            0,
            || real::sigpending(set) as isize,
            |failed| {
                if failed != 0 {
                    return [Piece::Nothing];
                }
                deferred::hide(set);
                [Piece::Bytes(PartKind::Value, set.cast(), deferred::SET_BYTES)]
            },
            |answer| {
                answer.fill(PartKind::Value, 0, set.cast(), deferred::SET_BYTES);
                answer.success()
            },
        ) as c_int
    }

    [bsd_signal, ssignal] fn signal(number: c_int, handler: sighandler_t) -> sighandler_t {
        set_simple(number, handler, libc::SA_RESTART)
    }

    [sysv_signal] fn __sysv_signal(number: c_int, handler: sighandler_t) -> sighandler_t {
        set_simple(number, handler, libc::SA_RESETHAND | libc::SA_NODEFER)
    }

    fn kill(pid: pid_t, signal: c_int) -> c_int {
        let own = pid == libc::getpid() || pid == 0;
        sent(if own { 0 } else { pid }, signal, || real::kill(if own { own_pid() } else { pid }, signal))
    }

    [gsignal] fn raise(signal: c_int) -> c_int {
        sent(0, signal, || real::raise(signal))
    }

    fn pthread_kill(thread: pthread_t, signal: c_int) -> c_int {
        recorded_plain(Op::Kill, -1, signal as u32, || real::pthread_kill(thread, signal) as isize) as c_int
    }

    // When a child of a replay ends the tape says, and its parent may be done before.
    fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int {
        if option == libc::PR_SET_PDEATHSIG && (*this()).live == REPLAYING {
            return 0;
        }
        if option == libc::PR_SET_SECCOMP {
            deferred::enter_sandbox();
        }
        at_descriptor(c"prctl", -1, real::prctl(option, a, b, c, d))
    }

    fn alarm(seconds: c_uint) -> c_uint {
        recorded_plain(Op::Alarm, -1, seconds, || real::alarm(seconds) as isize) as c_uint
    }

    fn ualarm(after: libc::useconds_t, every: libc::useconds_t) -> libc::useconds_t {
        recorded_plain(Op::Alarm, -1, after, || real::ualarm(after, every) as isize) as libc::useconds_t
    }

    time64 [__setitimer64] fn setitimer(which: c_int, new: *const itimerval, old: *mut itimerval) -> c_int {
        timer(Op::Setitimer, which as u32, old, || real::setitimer(which, new, old))
    }

    time64 [__getitimer64] fn getitimer(which: c_int, to: *mut itimerval) -> c_int {
        timer(Op::Getitimer, which as u32, to, || real::getitimer(which, to))
    }

    fn timer_create(clock: libc::clockid_t, event: *mut libc::sigevent, to: *mut timer_t) -> c_int {
        if thread_timer::is_wanted(clock, event) {
            return match thread_timer::create(clock, event) {
                Ok(made) => {
                    *to = made.cast();
                    0
                }
                Err(error) => {
                    set_errno(error);
                    -1
                }
            };
        }
        timer(Op::TimerCreate, clock as u32, to, || real::timer_create(clock, event, to))
    }

    time64 [__timer_settime64] fn timer_settime(which: timer_t, flags: c_int, new: *const itimerspec, old: *mut itimerspec) -> c_int {
        if let Some(own) = thread_timer::existing(which) {
            if !thread_timer::is_valid(&(*new).it_value) || !thread_timer::is_valid(&(*new).it_interval) {
                set_errno(libc::EINVAL);
                return -1;
            }
            let [value, interval] = [(*new).it_value.nanoseconds(), (*new).it_interval.nanoseconds()];
            let before = thread_timer::set(own, flags & libc::TIMER_ABSTIME != 0, value, interval);
            if !old.is_null() {
                ((*old).it_value, (*old).it_interval) = (Time::of_nanoseconds(before.0), Time::of_nanoseconds(before.1));
            }
            return 0;
        }
        timer(Op::TimerSettime, flags as u32, old, || real::timer_settime(which, flags, new, old))
    }

    time64 [__timer_gettime64] fn timer_gettime(which: timer_t, to: *mut itimerspec) -> c_int {
        if let Some(own) = thread_timer::existing(which) {
            let left = thread_timer::remaining(own);
            ((*to).it_value, (*to).it_interval) = (Time::of_nanoseconds(left.0), Time::of_nanoseconds(left.1));
            return 0;
        }
        timer(Op::TimerGettime, 0, to, || real::timer_gettime(which, to))
    }

    fn timer_delete(which: timer_t) -> c_int {
        if let Some(own) = thread_timer::existing(which) {
            thread_timer::delete(own);
            return 0;
        }
        timer(Op::TimerSettime, 0, null_mut::<c_void>(), || real::timer_delete(which))
    }

    fn timer_getoverrun(which: timer_t) -> c_int {
        if let Some(own) = thread_timer::existing(which) {
            return thread_timer::overrun(own);
        }
        recorded_plain(Op::TimerGetoverrun, -1, 0, || real::timer_getoverrun(which) as isize) as c_int
    }
}

/// The kernel's number of this process, which in a replay is not the recorded one.
fn own_pid() -> pid_t {
    // SAFETY: only a query.
    unsafe {
        let _pass_through = PassThrough::enter();
        let before = errno();
        let pid = libc::getpid();
        set_errno(before);
        pid
    }
}
