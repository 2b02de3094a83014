//! Signals reach the server's handlers only at hooked calls, so that a replay can deliver them at
//! the same place.
//!
//! While recording, the kernel calls [`wrapper`] instead of the server's handler. Inside a call
//! that may block the handler runs at once, and its record stands before the call's own. Anywhere
//! else the signal is held back until the next hooked call of the thread begins or ends. While
//! replaying, no signal but a fault reaches a handler: the tape says when they run.

use super::baton;
use super::handlers::{self, SIGNALS};
use super::player;
use super::processor;
use super::raw_calls;
use super::recorder::{self, Piece};
use super::state::{self, errno, set_errno};
use super::thread::{self, PASS_THROUGH, REPLAYING, Thread};
use prony_demo::{Op, PartKind};
use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

/// Faults are the server's own doing and come at the same instruction in every run.
fn is_fault(signal: c_int) -> bool {
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGSYS]
        .contains(&signal)
}

/// `sigaction` as the server sees it.
pub unsafe fn change(
    signal: c_int,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
    real: impl Fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int,
) -> c_int {
    // SAFETY: called for `sigaction`: the pointers are null or lead to one each. All zero is a valid action.
    unsafe {
        let place = signal as usize;
        let taken_over = match signal {
            libc::SIGTRAP => processor::catches(),
            libc::SIGSYS => raw_calls::catches(),
            _ => false,
        };
        if taken_over {
            // The kernel keeps calling us, and we call whoever is set here.
            let before = handlers::taken_over(signal);
            if !new.is_null() {
                handlers::set_taken_over(signal, *new);
            }
            if !old.is_null() {
                *old = before;
            }
            return 0;
        }
        if is_fault(signal) || place == 0 || place >= SIGNALS {
            return real(signal, new, old);
        }
        let before = handlers::of(signal);
        // Both pointers may be the same, so what is asked for is copied first.
        let asked = if new.is_null() { None } else { Some(*new) };
        let handled = asked.and_then(handlers::handler);
        let failed = match asked {
            None => real(signal, new, old),
            Some(mut installed) => {
                libc::sigdelset(&mut installed.sa_mask, libc::SIGSYS);
                libc::sigdelset(&mut installed.sa_mask, libc::SIGTRAP);
                if state::mode() == REPLAYING {
                    // Nothing real may end or interrupt a replay; ignored children would not be waited for.
                    let default = installed.sa_sigaction == libc::SIG_DFL || signal == libc::SIGCHLD;
                    installed.sa_sigaction = if default { libc::SIG_DFL } else { libc::SIG_IGN };
                    installed.sa_flags &= !libc::SA_SIGINFO;
                } else if handled.is_some() {
                    installed.sa_sigaction = wrapper as *const () as usize;
                    installed.sa_flags |= libc::SA_SIGINFO;
                }
                real(signal, &installed, old)
            }
        };
        if failed == -1 {
            return -1;
        }
        if asked.is_some() {
            handlers::set(signal, handled);
        }
        if let (Some(before), false) = (before, old.is_null()) {
            *old = before;
        }
        0
    }
}

/// Handler that the kernel calls in place of the server's.
unsafe extern "C" fn wrapper(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: called by the kernel with the details of the signal; the block is the calling thread's own.
    unsafe {
        let before = errno();
        let thread = thread::this();
        if !(*thread).attached || state::mode() == PASS_THROUGH {
            handlers::run(signal, info, context);
        } else if (*thread).blocking {
            (*thread).blocking = false;
            record_and_run(thread, BEFORE_NEXT, signal, info, context);
            (*thread).blocking = true;
            baton::give(thread);
        } else {
            handlers::keep_details(signal, *info);
            (*thread).pending.fetch_or(1 << (signal - 1), Ordering::Relaxed);
        }
        set_errno(before);
    }
}

/// `ret` of a signal's record: its handler ran when the call after it had begun.
const BEFORE_NEXT: i32 = 0;
/// `ret` of a signal's record: its handler ran before the call in front of it returned.
const AFTER_LAST: i32 = 1;

unsafe fn record_and_run(
    thread: *mut Thread,
    place: i32,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: the block is the calling thread's own; the caller passes what a handler of the signal gets.
    unsafe {
        let piece = Piece::Bytes(PartKind::Value, info.cast(), size_of::<libc::siginfo_t>());
        recorder::emit(thread, Op::Signal, -1, signal as u32, i64::from(place), &[piece]);
        let live = (*thread).live;
        (*thread).live = (*thread).mode;
        handlers::run(signal, info, context);
        (*thread).live = live;
    }
}

/// A call begins: runs what was held back, or what the tape has before it.
#[inline(always)]
pub unsafe fn deliver_before(thread: *mut Thread) {
    // SAFETY: as for this function.
    unsafe {
        deliver(thread, BEFORE_NEXT);
    }
}

/// A call is about to return: runs what was held back, or what the tape has at its end.
#[inline(always)]
pub unsafe fn deliver_after(thread: *mut Thread) {
    // SAFETY: as for this function.
    unsafe {
        deliver(thread, AFTER_LAST);
    }
}

#[inline(always)]
unsafe fn deliver(thread: *mut Thread, place: i32) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        if (*thread).mode == REPLAYING {
            if player::signal_is_next(thread, place) {
                deliver_recorded(thread, place);
            }
        } else if (*thread).pending.load(Ordering::Relaxed) != 0 {
            deliver_held_back(thread, place);
        }
    }
}

#[cold]
unsafe fn deliver_held_back(thread: *mut Thread, place: i32) {
    // SAFETY: the block is the calling thread's own; all zero is a valid context, of which a handler that runs at a
    // call sees nothing.
    unsafe {
        let before = errno();
        loop {
            let pending = (*thread).pending.load(Ordering::Relaxed);
            if pending == 0 {
                break;
            }
            let signal = pending.trailing_zeros() as c_int + 1;
            (*thread).pending.fetch_and(!(1 << (signal - 1)), Ordering::Relaxed);
            let mut info = handlers::details(signal);
            let live = std::mem::replace(&mut (*thread).live, PASS_THROUGH);
            let mut context: libc::ucontext_t = std::mem::zeroed();
            record_and_run(thread, place, signal, &mut info, (&raw mut context).cast());
            (*thread).live = live;
        }
        set_errno(before);
    }
}

#[cold]
unsafe fn deliver_recorded(thread: *mut Thread, place: i32) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let before = errno();
        while player::signal_is_next(thread, place) {
            player::replay_signal(thread);
        }
        set_errno(before);
    }
}
