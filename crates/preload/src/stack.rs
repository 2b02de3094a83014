//! Bytes that hooks leave below the stack pointer of the program.
//!
//! A recorded call and a replayed one run different code there, and leave different words. A program does not read them, unless
//! it has a garbage collector that takes whatever looks like a pointer on the stack for one, in frames whose slots are not all
//! written. Then other objects live longer, and the next collection comes at another place. So hooks of such
//! programs leave zeros. So it is below handlers of signals, which a recording calls from within the call that they interrupt, and
//! a replay from another place: what a handler sends may have words that it has never written.

use std::ffi::CStr;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

/// Functions of collectors that scan the stack without knowing what is on it: Ruby, Boehm's, Mono, D.
const COLLECTORS: [&CStr; 4] = [c"ruby_init", c"GC_init", c"mono_gc_collect", c"gc_init"];

/// Bytes that are cleared: more than hooks and the calls behind them use.
const CLEARED: usize = 16 << 10;

static IS_SCANNED: AtomicBool = AtomicBool::new(false);

/// Looks among the objects of the program for a collector.
pub fn look_for_collector() {
    // SAFETY: the names are C strings.
    let is_there = |name: &CStr| unsafe { !libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).is_null() };
    let found = COLLECTORS.iter().any(|name| is_there(name));
    IS_SCANNED.store(found, Ordering::Relaxed);
    clear();
}

/// True if what is left on the stack matters to this program.
#[inline(always)]
pub fn is_scanned() -> bool {
    IS_SCANNED.load(Ordering::Relaxed)
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

/// Clears the stack below the caller's frame. The stack is that of the process, which has room for it.
#[inline(never)]
pub fn clear_for_handler() {
    black_box(&mut [0_u64; CLEARED_FOR_HANDLER / size_of::<u64>()]);
}
