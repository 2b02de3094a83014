//! Bytes that hooks leave below the stack pointer of the program.
//!
//! A recorded call and a replayed one run different code there, and leave different words. A program does not read them, unless
//! it has a garbage collector that takes whatever looks like a pointer on the stack for one, in frames whose slots are not all
//! written. Then other objects live longer, and the next collection comes at another place. So hooks of such
//! programs leave zeros. So it is below handlers of signals, which a recording calls from within the call that they interrupt, and
//! a replay from another place: what a handler sends may have words that it has never written.

use super::state::control;
use std::ffi::CStr;
use std::hint::black_box;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

/// Functions of collectors that scan the stack without knowing what is on it: Ruby, Boehm's, Mono, D.
const COLLECTORS: [&CStr; 4] = [c"ruby_init", c"GC_init", c"mono_gc_collect", c"gc_init"];

/// Bytes that are cleared: more than hooks and the calls behind them use.
const CLEARED: usize = 16 << 10;

/// Why hooks run in frames of their own, if they do.
static APART: AtomicU8 = AtomicU8::new(0);
const SCANNED: u8 = 1;
const WATCHED: u8 = 2;

/// Looks among the objects of the program for a collector. Under a debugger, what waits of the library left on the stack would differ
/// from replay to replay.
pub fn look_for_collector() {
    // SAFETY: the names are C strings.
    let is_there = |name: &CStr| unsafe { !libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).is_null() };
    let found = COLLECTORS.iter().any(|name| is_there(name));
    if found || control().halt.wanted.load(Ordering::Relaxed) {
        APART.fetch_or(SCANNED, Ordering::Relaxed);
    }
    clear();
}

/// True if hooks run in frames of their own: what is left on the stack matters to this program, or hooks are looked at from outside.
#[inline(always)]
pub fn are_calls_apart() -> bool {
    APART.load(Ordering::Relaxed) != 0
}

/// Has hooks run in frames of their own: `collect` counts them.
pub fn make_calls_apart() {
    APART.fetch_or(WATCHED, Ordering::Relaxed);
}

fn is_scanned() -> bool {
    APART.load(Ordering::Relaxed) & SCANNED != 0
}

/// Clears the stack below the caller's frame, where it matters.
pub fn clear() {
    if is_scanned() {
        clear_below();
    }
}

#[inline(never)]
fn clear_below() {
    black_box(&mut [0_u64; CLEARED / size_of::<u64>()]);
}

/// Bytes that are cleared for a handler of a signal: servers end themselves in one, and send what they have not written
/// all of.
const CLEARED_FOR_HANDLER: usize = 128 << 10;

/// Where the stack of the process is now, and how far below that it may grow.
static START: AtomicUsize = AtomicUsize::new(0);
static ROOM: AtomicUsize = AtomicUsize::new(0);

/// Takes down where the stack of the process is. Called on it.
pub fn find() {
    let here = 0_u8;
    // SAFETY: all zero is a valid limit, which the call fills.
    let room = unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        libc::getrlimit(libc::RLIMIT_STACK, &mut limit);
        // What lies above here is small; it is taken for a quarter.
        limit.rlim_cur.min(MOST_ROOM) / 4 * 3
    };
    START.store((&raw const here).addr(), Ordering::Relaxed);
    ROOM.store(room as usize, Ordering::Relaxed);
}

/// Bytes of a stack that are taken to be there where it has no limit.
const MOST_ROOM: libc::rlim_t = 8 << 20;

/// Clears the stack below the caller's frame, where it is that of the process and has room for it: those of threads, fibres and
/// alternate ones may be small.
#[inline(never)]
pub fn clear_for_handler() {
    let here = 0_u8;
    let depth = START.load(Ordering::Relaxed).wrapping_sub((&raw const here).addr());
    if depth.saturating_add(CLEARED_FOR_HANDLER) < ROOM.load(Ordering::Relaxed) {
        clear_deep();
    }
}

#[inline(never)]
fn clear_deep() {
    black_box(&mut [0_u64; CLEARED_FOR_HANDLER / size_of::<u64>()]);
}
