//! Every hooked call, by family. A new call is one line in `prony_demo::Op` and one function here.

mod across;
mod bytes;
mod descriptor;
mod directory;
mod file;
mod host;
mod identity;
mod listing;
mod listing_cache;
mod loading;
mod lock;
mod name;
mod old_signal;
mod pid;
mod process;
mod raw;
#[cfg(target_arch = "x86")]
mod raw_i386;
mod reported;
mod signal;
mod socket;
mod start;
mod status;
mod sync;
mod temporary;
mod terminal;
mod thread_timer;
mod time;
mod unanswered;
mod wait;

pub use file::{flush_streams, redirect_standard_streams};
pub use identity::begin_randomness;
pub use start::{begin_first, begin_spawned};

use super::baton;
use super::descriptors;
use super::going_on;
use super::player::{self, CallResult};
use super::recorder::{self, Piece};
use super::signals;
use super::state::{self, errno, outcome, set_errno};
use super::thread::{self, Thread};
use prony_demo::{Class, Op};
use std::sync::atomic::Ordering;

/// The block of the calling thread, in pass-through mode, and whether it records. Deferred signals
/// run before.
#[inline(always)]
pub fn enter() -> (*mut Thread, bool) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let thread = thread::this();
        signals::deliver_before(thread);
        let recording = (*thread).live == thread::RECORDING;
        (*thread).live = thread::PASS_THROUGH;
        if recording && state::is_over() {
            going_on::leave_recording(thread);
        }
        (thread, recording)
    }
}

/// Leaves a hook: deferred signals run now.
#[inline(always)]
pub unsafe fn leave(thread: *mut Thread) {
    // SAFETY: the caller passes the block that `enter` returned.
    unsafe {
        (*thread).live = (*thread).mode;
        signals::deliver_after(thread);
    }
}

/// Runs a real call that may block: a handler may run while it does, and other threads.
#[inline(always)]
pub unsafe fn blocking<T>(thread: *mut Thread, op: Op, fd: i32, real: impl FnOnce() -> T) -> T {
    let pass = || {
        // SAFETY: the caller passes the block that `enter` returned.
        unsafe {
            if may_block(op, fd) {
                baton::give(thread);
            } else if matches!(op.class(), Class::Input | Class::Output) {
                baton::lend(thread);
            }
        }
    };
    // SAFETY: the same.
    unsafe { interruptible(thread, pass, real) }
}

/// Runs a real call, after `pass`, during which a handler may run.
#[inline(always)]
pub unsafe fn interruptible<T>(thread: *mut Thread, pass: impl FnOnce(), real: impl FnOnce() -> T) -> T {
    if state::is_over() {
        return real();
    }
    // SAFETY: the caller passes the block that `enter` returned.
    unsafe {
        ((*thread).blocking, (*thread).recorded) = (true, false);
        while (*thread).pending.load(Ordering::Relaxed) != 0 {
            (*thread).blocking = false;
            signals::deliver_before(thread);
            (*thread).blocking = true;
        }
        pass();
        let value = real();
        (*thread).blocking = false;
        value
    }
}

/// Makes a real call whose record is written: a handler that runs while it does runs behind that.
pub unsafe fn behind_record<T>(thread: *mut Thread, real: impl FnOnce() -> T) -> T {
    // SAFETY: the caller passes the block that `enter` returned.
    unsafe {
        ((*thread).blocking, (*thread).recorded) = (true, true);
        while (*thread).pending.load(Ordering::Relaxed) != 0 {
            (*thread).blocking = false;
            signals::deliver_after(thread);
            (*thread).blocking = true;
        }
        let value = real();
        ((*thread).blocking, (*thread).recorded) = (false, false);
        value
    }
}

/// False for calls that answer at once, during which no other thread needs to run.
#[inline(always)]
fn may_block(op: Op, fd: i32) -> bool {
    match op.class() {
        Class::Wait | Class::Thread | Class::Process | Class::Name => true,
        Class::Input | Class::Output => !descriptors::is_nonblocking(fd),
        Class::Descriptor => {
            matches!(op, Op::Connect | Op::Accept | Op::Fcntl | Op::Ioctl) && !descriptors::is_nonblocking(fd)
        }
        _ => false,
    }
}

/// A call whose result and result bytes are recorded, and given back by a replay.
///
/// `pieces` names the result bytes after the real call returned; `answer` copies them to where the
/// server wants them, and returns what the call returns.
#[inline(always)]
pub unsafe fn recorded<const N: usize>(
    op: Op,
    fd: i32,
    aux: u32,
    real: impl FnOnce() -> isize,
    pieces: impl FnOnce(isize) -> [Piece; N],
    answer: impl FnOnce(CallResult) -> isize,
) -> isize {
    // SAFETY: the block that `enter` returns is the calling thread's own; the pieces that the caller names live until
    // they are written.
    unsafe {
        let (thread, recording) = enter();
        let value;
        if recording {
            value = blocking(thread, op, fd, real);
            let errno = errno();
            recorder::emit(thread, op, fd, aux, outcome(value), &pieces(value));
            set_errno(errno);
        } else {
            // What the answer is about is in `aux`: that of another name or request is none.
            let found = match op {
                Op::Sysconf | Op::Ioctl => player::take_with(thread, op, fd, aux),
                _ => player::take(thread, op, fd),
            };
            let errno = errno();
            value = answer(found);
            set_errno(errno);
            found.set_error();
            player::done(thread, found);
        }
        leave(thread);
        value
    }
}

/// A call that fills what it is given, at a descriptor that is recorded, or at a standard stream: what a replay has there is another
/// thing. Older demos have no record of it, and a replay makes the call.
pub unsafe fn recorded_if_there(
    op: Op,
    fd: i32,
    real: impl FnOnce() -> i32,
    filled: impl FnOnce() -> Piece,
    fill: impl FnOnce(CallResult),
) -> i32 {
    // SAFETY: the block that `enter` returns is the calling thread's own; the piece lives until it is written.
    unsafe {
        let (thread, recording) = enter();
        let value;
        if recording {
            value = real();
            let errno = errno();
            let piece = if value == 0 { filled() } else { Piece::Nothing };
            recorder::emit(thread, op, fd, 0, outcome(value as isize), &[piece]);
            set_errno(errno);
        } else if let Some(answer) = player::take_if_there(thread, op, fd) {
            value = answer.success() as i32;
            fill(answer);
            player::done(thread, answer);
        } else {
            value = real();
        }
        leave(thread);
        value
    }
}

/// A call of which only the result matters: a number on which no memory of the server depends.
#[inline(always)]
pub unsafe fn recorded_plain(op: Op, fd: i32, aux: u32, real: impl FnOnce() -> isize) -> isize {
    // SAFETY: there are no pieces.
    unsafe { recorded(op, fd, aux, real, |_| [], CallResult::number) }
}

/// A count of bytes in the form of `aux`.
#[inline(always)]
pub fn byte_count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
