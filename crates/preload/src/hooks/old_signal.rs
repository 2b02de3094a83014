//! Functions for signals from before POSIX, which libc makes of calls within itself.

use super::super::real::hooks;
use super::super::state::set_errno;
use libc::{c_int, sighandler_t, sigset_t};
use std::mem::zeroed;
use std::ptr::{null, null_mut};

/// The disposition that stands for a blocked signal.
const SIG_HOLD: sighandler_t = 2;

/// The set of the signals whose bits are set in a number.
fn set_of(mask: c_int) -> sigset_t {
    // SAFETY: all zero is the empty set, and sets begin with that of the kernel.
    unsafe {
        let mut set: sigset_t = zeroed();
        (&raw mut set).cast::<u32>().write(mask as u32);
        set
    }
}

/// Changes the mask by a set; the signals that were blocked before, as a number.
fn masked(how: c_int, set: *const sigset_t) -> c_int {
    // SAFETY: the caller passes a set or null; all zero is the empty set, and sets begin with that of the kernel.
    unsafe {
        let mut before: sigset_t = zeroed();
        match libc::sigprocmask(how, set, &mut before) {
            0 => (&raw const before).cast::<u32>().read() as c_int,
            _ => -1,
        }
    }
}

/// The set of one signal; `None`, with an error, for what is none.
fn only(signal: c_int) -> Option<sigset_t> {
    // SAFETY: all zero is the empty set.
    unsafe {
        let mut set: sigset_t = zeroed();
        (libc::sigaddset(&mut set, signal) == 0).then_some(set)
    }
}

fn changed(how: c_int, signal: c_int) -> c_int {
    match only(signal) {
        // SAFETY: the set lives across the call.
        Some(set) => unsafe { libc::sigprocmask(how, &set, null_mut()) },
        None => -1,
    }
}

/// Waits with a signal unblocked.
fn pause_without(signal: c_int) -> c_int {
    // SAFETY: all zero is the empty set, and the sets live across the calls.
    unsafe {
        let mut set: sigset_t = zeroed();
        if libc::sigprocmask(libc::SIG_BLOCK, null(), &mut set) != 0 || libc::sigdelset(&mut set, signal) != 0 {
            return -1;
        }
        libc::sigsuspend(&set)
    }
}

hooks! {
    fn sigblock(mask: c_int) -> c_int {
        masked(libc::SIG_BLOCK, &set_of(mask))
    }

    fn sigsetmask(mask: c_int) -> c_int {
        masked(libc::SIG_SETMASK, &set_of(mask))
    }

    fn siggetmask() -> c_int {
        masked(libc::SIG_BLOCK, null())
    }

    fn sighold(signal: c_int) -> c_int {
        changed(libc::SIG_BLOCK, signal)
    }

    fn sigrelse(signal: c_int) -> c_int {
        changed(libc::SIG_UNBLOCK, signal)
    }

    fn sigignore(signal: c_int) -> c_int {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = libc::SIG_IGN;
        libc::sigaction(signal, &action, null_mut())
    }

    fn sigset(signal: c_int, disposition: sighandler_t) -> sighandler_t {
        let mut before: libc::sigaction = zeroed();
        let Some(set) = only(signal).filter(|_| disposition != libc::SIG_ERR) else {
            set_errno(libc::EINVAL);
            return libc::SIG_ERR;
        };
        let mut blocked: sigset_t = zeroed();
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = disposition;
        let (how, new) = match disposition {
            SIG_HOLD => (libc::SIG_BLOCK, null()),
            _ => (libc::SIG_UNBLOCK, &raw const action),
        };
        if libc::sigaction(signal, new, &mut before) != 0 || libc::sigprocmask(how, &set, &mut blocked) != 0 {
            return libc::SIG_ERR;
        }
        if libc::sigismember(&blocked, signal) == 1 { SIG_HOLD } else { before.sa_sigaction }
    }

    fn siginterrupt(signal: c_int, interrupts: c_int) -> c_int {
        let mut action: libc::sigaction = zeroed();
        if libc::sigaction(signal, null(), &mut action) != 0 {
            return -1;
        }
        match interrupts {
            0 => action.sa_flags |= libc::SA_RESTART,
            _ => action.sa_flags &= !libc::SA_RESTART,
        }
        libc::sigaction(signal, &action, null_mut())
    }

    fn sigpause(mask: c_int) -> c_int {
        libc::sigsuspend(&set_of(mask))
    }

    fn __xpg_sigpause(signal: c_int) -> c_int {
        pause_without(signal)
    }

    fn __sigpause(signal_or_mask: c_int, is_signal: c_int) -> c_int {
        if is_signal == 0 { libc::sigsuspend(&set_of(signal_or_mask)) } else { pause_without(signal_or_mask) }
    }
}
