//! Signals reach the server's handlers only at hooked calls, so that a replay can deliver them at
//! the same place.
//!
//! While recording, the kernel calls [`wrapper`] instead of the server's handler. Inside a call
//! that may block the handler runs at once, and its record stands before the call's own. Anywhere
//! else the signal is [deferred] until the next hooked call of the thread begins or ends, or the thread has made
//! none for long. While replaying, no signal but a fault reaches a handler: the tape says when they run. There the thread
//! sends them to itself, so that a handler finds what the kernel gives it, in a replay as in the recording.

use super::baton;
use super::deferred::{self, AFTER_LAST, BEFORE_NEXT, BETWEEN, UNBLOCKED};
use super::handlers::{self, SIGNALS};
use super::notes;
use super::player;
use super::processor;
use super::raw_calls;
use super::recorder::{self, Piece};
use super::report::Text;
use super::state::{self, errno, set_errno};
use super::thread::{self, PASS_THROUGH, RECORDING, REPLAYING, Thread};
use prony_demo::{Op, PartKind};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

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
            libc::SIGTRAP | libc::SIGILL => processor::catches(signal),
            libc::SIGSYS => raw_calls::catches(),
            _ => false,
        };
        if taken_over {
            // The kernel keeps calling us, and we call the handler set here.
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
        // Both pointers may be the same, so the new action is copied first.
        let requested = if new.is_null() { None } else { Some(*new) };
        let handled = requested.and_then(handlers::handler);
        if state::mode() == RECORDING && requested.is_some() {
            if handled.is_some() {
                raw_calls::take_over();
                deferred::prepare();
            }
            // The handler that is set now would have run by now.
            let thread = thread::this();
            if (*thread).pending.load(Ordering::Relaxed) & deferred::bit(signal) != 0 {
                deferred::release(thread, signal, BETWEEN, wrapper);
            }
        }
        let failed = match requested {
            None => real(signal, new, old),
            Some(mut installed) => {
                deferred::change(&mut installed.sa_mask, |all| all & !deferred::ours());
                if state::mode() == REPLAYING {
                    // Nothing real may end or interrupt a replay; ignored children would not be waited for.
                    let default = installed.sa_sigaction == libc::SIG_DFL || signal == libc::SIGCHLD;
                    installed.sa_sigaction = if default { libc::SIG_DFL } else { libc::SIG_IGN };
                    installed.sa_flags &= !libc::SA_SIGINFO;
                } else if handled.is_some() {
                    installed = deferred::wrapped(installed, wrapper);
                }
                real(signal, &installed, old)
            }
        };
        if failed == -1 {
            return -1;
        }
        if requested.is_some() {
            handlers::set(signal, handled);
        }
        if let (Some(before), false) = (before, old.is_null()) {
            *old = before;
        }
        0
    }
}

/// Handler that the kernel calls in place of the server's.
pub unsafe extern "C" fn wrapper(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: called by the kernel with the details of the signal; the block is the calling thread's own.
    unsafe {
        let before = errno();
        let thread = thread::this();
        if !(*thread).attached || state::mode() == PASS_THROUGH || state::is_over() {
            deferred::run(thread, signal, info, context);
        } else if (*thread).blocking {
            (*thread).blocking = false;
            let recorded = (*thread).recorded;
            record_and_run(thread, if recorded { AFTER_LAST } else { BEFORE_NEXT }, signal, info, context);
            (*thread).blocking = true;
            if !recorded {
                baton::give(thread);
            }
        } else if (*thread).released == signal {
            (*thread).released = 0;
            record_and_run(thread, (*thread).released_at, signal, info, context);
        } else if (*thread).unblocking || (*thread).unblocked & deferred::bit(signal) != 0 {
            (*thread).unblocked &= !deferred::bit(signal);
            let unblocking = std::mem::take(&mut (*thread).unblocking);
            record_and_run(thread, UNBLOCKED, signal, info, context);
            (*thread).unblocking = unblocking;
        } else if (*thread).hurried & deferred::bit(signal) != 0 {
            (*thread).hurried &= !deferred::bit(signal);
            say_between(signal);
            record_and_run(thread, BETWEEN, signal, info, context);
        } else {
            deferred::hold(thread, signal, info, context);
        }
        set_errno(before);
    }
}

/// Says once that a replay runs a handler elsewhere.
fn say_between(signal: c_int) {
    static SAID: AtomicBool = AtomicBool::new(false);
    if SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    let mut text = [0; 32];
    let mut number = Text { to: &mut text, used: 0 };
    number.decimal(signal as u64);
    let used = number.used;
    notes::doubtful(&[
        b"signal ",
        &text[..used],
        b" reached a thread that was computing: a replay runs its handler at the end of the call before",
    ]);
}

unsafe fn record_and_run(
    thread: *mut Thread,
    place: i32,
    signal: c_int,
    info: *mut libc::siginfo_t,
    context: *mut c_void,
) {
    // SAFETY: the block is the calling thread's own; the caller passes what a handler of the signal gets.
    unsafe {
        let live = std::mem::replace(&mut (*thread).live, PASS_THROUGH);
        let piece = Piece::Bytes(PartKind::Value, info.cast(), size_of::<libc::siginfo_t>());
        recorder::emit(thread, Op::Signal, -1, signal as u32, i64::from(place), &[piece]);
        (*thread).live = live;
        deferred::run(thread, signal, info, context);
        deferred::look_for_unblocked(thread, context);
    }
}

/// A call begins: runs what was deferred, or what the tape has before it.
#[inline(always)]
pub unsafe fn deliver_before(thread: *mut Thread) {
    // SAFETY: as for this function.
    unsafe {
        deliver(thread, BEFORE_NEXT);
    }
}

/// A call is about to return: runs what was deferred, or what the tape has at its end.
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
            deliver_deferred(thread, place);
        }
    }
}

#[cold]
unsafe fn deliver_deferred(thread: *mut Thread, place: i32) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let before = errno();
        loop {
            let pending = (*thread).pending.load(Ordering::Relaxed);
            if pending == 0 {
                break;
            }
            let live = std::mem::replace(&mut (*thread).live, PASS_THROUGH);
            deferred::release(thread, pending.trailing_zeros() as c_int + 1, place, wrapper);
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
            player::replay_signal(thread, (*thread).call_mask.filter(|_| place == BEFORE_NEXT));
        }
        set_errno(before);
    }
}

/// Makes a call that waits with a mask of its own: what interrupts it meets that mask.
#[inline(always)]
pub unsafe fn with_mask<T>(mask: *const libc::sigset_t, call: impl FnOnce() -> T) -> T {
    // SAFETY: the block is the calling thread's own; the caller passes a mask that is null or good across the call.
    unsafe {
        let thread = thread::this();
        (*thread).call_mask = (!mask.is_null()).then(|| deferred::bits(mask));
        let result = call();
        (*thread).call_mask = None;
        result
    }
}
