//! The server's handlers of signals, as it set them; the kernel has others.

use super::thread::PassThrough;
use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of signals, 0 included.
pub const SIGNALS: usize = 65;

struct Actions {
    /// Handlers that the server set, by signal.
    set: UnsafeCell<[Option<libc::sigaction>; SIGNALS]>,
}

// SAFETY: as in C, changing the action of a signal while it arrives on another thread is a race of
// the server's own.
unsafe impl Sync for Actions {}

static ACTIONS: Actions = Actions { set: UnsafeCell::new([None; SIGNALS]) };

/// An action that is a handler.
pub fn handler(action: libc::sigaction) -> Option<libc::sigaction> {
    (action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN).then_some(action)
}

/// The server's handler of a signal.
pub fn of(signal: c_int) -> Option<libc::sigaction> {
    // SAFETY: see `Sync for Actions`.
    unsafe { (*ACTIONS.set.get()).get(signal as usize).copied().flatten() }
}

/// Keeps the server's handler of a signal, or that it has none.
pub fn set(signal: c_int, handler: Option<libc::sigaction>) {
    // SAFETY: see `Sync for Actions`.
    unsafe { (*ACTIONS.set.get())[signal as usize] = handler };
}

/// Signals that the library has taken over and that the server ignores, a bit each.
static IGNORED: AtomicU64 = AtomicU64::new(0);

/// Keeps the server's action of a signal that the library has taken over.
pub fn set_taken_over(signal: c_int, action: libc::sigaction) {
    let bit = 1 << signal;
    match action.sa_sigaction == libc::SIG_IGN {
        true => IGNORED.fetch_or(bit, Ordering::Relaxed),
        false => IGNORED.fetch_and(!bit, Ordering::Relaxed),
    };
    set(signal, handler(action));
}

/// The server's action of a signal that the library has taken over.
pub fn taken_over(signal: c_int) -> libc::sigaction {
    of(signal).unwrap_or_else(|| {
        // SAFETY: all zero is the default action.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        if IGNORED.load(Ordering::Relaxed) >> signal & 1 == 1 {
            action.sa_sigaction = libc::SIG_IGN;
        }
        action
    })
}

/// Runs the server's handler, if it has one.
///
/// # Safety
/// `info` and `context` are what the kernel gives a handler of this signal.
pub unsafe fn run(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(action) = of(signal) else { return };
    if action.sa_flags & libc::SA_RESETHAND != 0 {
        set(signal, None);
    }
    if action.sa_flags & libc::SA_SIGINFO != 0 {
        type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
        // SAFETY: the server set it as a handler of this shape.
        unsafe { std::mem::transmute::<usize, Handler>(action.sa_sigaction)(signal, info, context) };
    } else {
        // SAFETY: the server set it as a handler of this shape.
        unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(c_int)>(action.sa_sigaction)(signal) };
    }
}

/// A signal that the library has taken over comes for the server: its handler runs, or what happens without one.
///
/// # Safety
/// As for [`run`].
pub unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    if of(signal).is_some() {
        // SAFETY: as for this function.
        return unsafe { run(signal, info, context) };
    }
    // What the kernel reports of an instruction ends a process that ignores it, too.
    // SAFETY: the caller passes the details of the signal.
    if unsafe { (*info).si_code } <= 0 && taken_over(signal).sa_sigaction == libc::SIG_IGN {
        return;
    }
    set_default(signal);
    let _pass_through = PassThrough::enter();
    // SAFETY: a signal of this thread's own, which ends the process in most cases.
    unsafe { libc::raise(signal) };
}

/// Sets the default action of a signal for the kernel.
pub fn set_default(signal: c_int) {
    let _pass_through = PassThrough::enter();
    // SAFETY: all zero but the action is a valid request for the default.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}
