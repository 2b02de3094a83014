//! Bytes that hooks leave below the stack pointer of the program.
//!
//! A recorded call and a replayed one run different code there, and leave different words. A program does not read them, unless
//! it has a garbage collector that takes whatever looks like a pointer on the stack for one, in frames whose slots are not all
//! written. Then other objects live longer, and the next collection comes at another place. So hooks of such
//! programs leave zeros. So it is below handlers of signals, which a recording calls from within the call that they interrupt, and
//! a replay from another place, and so do hooks that a handler calls: what a handler sends may have words that it has never written.
//!
//! Under a debugger, hooks put back what was there: a server that sends words that it has never written is to send what it sends in any other
//! replay, and its stack is to be the same in each.

use super::addresses;
use super::state::control;
use super::thread;
use prony_channel::THREADS;
use std::cell::UnsafeCell;
use std::ffi::{CStr, c_void};
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
const KEPT: u8 = 4;
const HANDLED: u8 = 8;

/// Looks among the objects of the program for a collector, and prepares for a debugger.
pub fn look_for_collector() {
    // SAFETY: the names are C strings.
    let is_there = |name: &CStr| unsafe { !libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).is_null() };
    let found = COLLECTORS.iter().any(|name| is_there(name));
    if found {
        APART.fetch_or(SCANNED, Ordering::Relaxed);
    } else if control().halt.wanted.load(Ordering::Relaxed) {
        APART.fetch_or(if map_kept() { KEPT } else { SCANNED }, Ordering::Relaxed);
    }
    if APART.load(Ordering::Relaxed) & (SCANNED | KEPT) != 0 {
        // What looking up functions has left.
        clear_below();
    }
}

/// Bytes that hooks put back: more than most of them use in a replay.
const KEPT_BYTES: usize = 1536;
/// Bytes below those that tell whether a hook has used more.
const MARK_BYTES: usize = 256;
/// Calls of a thread within each other, by handlers of signals, whose stacks are kept.
const MOST_KEPT: usize = 4;
/// Bytes from the frame of [`keep`] to those that it keeps. There are the frames of what puts them back.
const MARGIN: usize = 256;
/// Bytes that are kept of a call.
const ROOM_BYTES: usize = MARK_BYTES + KEPT_BYTES;

/// Maps room for stacks of all threads, of which the kernel makes what is used.
fn map_kept() -> bool {
    let Some(start) = addresses::STACKS else { return false };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let bytes = THREADS * MOST_KEPT * ROOM_BYTES;
    // SAFETY: nothing else is mapped there, or the call fails.
    let mapped = unsafe { libc::mmap(start as *mut c_void, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    mapped as usize == start
}

/// Bytes of a stack that are put back.
pub struct Kept {
    /// Number of the call among those of its thread that are within each other, where the bytes are kept, and where they belong; `None` for
    /// nothing.
    place: Option<(usize, *const u8, *mut u8)>,
}

/// Where bytes are kept of a call of the calling thread.
fn room(call: usize) -> Option<*mut u8> {
    // SAFETY: the block is the calling thread's own; its slot is one of the control area.
    let slot = unsafe {
        let slot = (*thread::this()).slot;
        if slot.is_null() { None } else { Some(slot.offset_from(&raw const control().threads[0]) as usize) }
    };
    let number = slot?.checked_mul(MOST_KEPT)? + call;
    let is_room = call < MOST_KEPT && number < THREADS * MOST_KEPT;
    addresses::STACKS.filter(|_| is_room).map(|start| (start + number * ROOM_BYTES) as *mut u8)
}

/// Keeps what lies below the caller's frame, where it matters.
#[inline(never)]
pub fn keep() -> Kept {
    let here = 0_u8;
    let from = (&raw const here).cast_mut().wrapping_sub(MARGIN + ROOM_BYTES);
    if APART.load(Ordering::Relaxed) & KEPT == 0 || is_in_handler((&raw const here).addr()) {
        return Kept { place: None };
    }
    // SAFETY: the block is the calling thread's own. Below the frames of the calls under way, the stack is memory that they may use.
    unsafe {
        let call = (*thread::this()).kept_stacks;
        let Some(to) = room(call) else { return Kept { place: None } };
        (*thread::this()).kept_stacks = call + 1;
        from.copy_to_nonoverlapping(to, ROOM_BYTES);
        Kept { place: Some((call, to, from)) }
    }
}

/// Puts back what [`keep`] kept, and clears what is between that and the caller's frame, and below it where the call has written there. Called
/// from the same frame.
#[inline(always)]
pub fn put_back(kept: &Kept) {
    if kept.place.is_some() {
        if is_deep(kept) {
            clear_below();
        }
        put_back_bytes(kept);
        clear_margin();
    }
}

#[inline(never)]
fn clear_margin() {
    black_box(&mut [0_u64; MARGIN * 3 / 2 / size_of::<u64>()]);
}

/// True if the call has used more of the stack than is put back.
#[inline(never)]
fn is_deep(kept: &Kept) -> bool {
    let Some((_, from, to)) = kept.place else { return false };
    // SAFETY: as many bytes are kept of a call, of a stack that is mapped.
    unsafe { std::slice::from_raw_parts(from, MARK_BYTES) != std::slice::from_raw_parts(to, MARK_BYTES) }
}

#[inline(never)]
fn put_back_bytes(kept: &Kept) {
    let Some((call, from, to)) = kept.place else { return };
    // SAFETY: the block is the calling thread's own. The bytes lie below the frame of this function.
    unsafe {
        (*thread::this()).kept_stacks = call;
        to.add(MARK_BYTES).copy_from_nonoverlapping(from.add(MARK_BYTES), KEPT_BYTES);
    }
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

/// What lies below the frame of [`keep_deep`].
pub struct KeptDeep(*mut u8);

/// Memory for that: a process with one thread uses it.
struct DeepRoom(UnsafeCell<[u8; CLEARED]>);

// SAFETY: only a process with one thread uses it.
unsafe impl Sync for DeepRoom {}

static DEEP: DeepRoom = DeepRoom(UnsafeCell::new([0; CLEARED]));

/// Keeps as much of the stack below the caller's frame as the library uses at most.
///
/// # Safety
/// The process has one thread.
#[inline(never)]
pub unsafe fn keep_deep() -> KeptDeep {
    let here = 0_u8;
    let from = (&raw const here).cast_mut().wrapping_sub(MARGIN + CLEARED);
    // SAFETY: below the frames of the calls under way, the stack is memory that they may use.
    unsafe { from.copy_to_nonoverlapping(DEEP.0.get().cast(), CLEARED) };
    KeptDeep(from)
}

/// Puts back what [`keep_deep`] kept. Called from the same frame.
///
/// # Safety
/// As for [`keep_deep`].
#[inline(never)]
pub unsafe fn put_back_deep(kept: &KeptDeep) {
    // SAFETY: the bytes lie below the frame of this function.
    unsafe { kept.0.copy_from_nonoverlapping(DEEP.0.get().cast(), CLEARED) };
}

/// Clears the stack below the caller's frame, where it matters.
#[inline(never)]
pub fn clear() {
    let here = 0_u8;
    if is_scanned() || is_in_handler((&raw const here).addr()) {
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

/// Bytes of the stack of the process that may lie above where the library begins: a server's own frames begin there, too.
const ABOVE: usize = 64 << 10;

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
    START.store((&raw const here).addr() + ABOVE, Ordering::Relaxed);
    ROOM.store(room as usize, Ordering::Relaxed);
}

/// Bytes of a stack that are taken to be there where it has no limit.
const MOST_ROOM: libc::rlim_t = 8 << 20;

/// Frame below which a handler of a signal runs on the stack of the process, of several the outermost; 0 for none.
static HANDLER_BELOW: AtomicUsize = AtomicUsize::new(0);

/// The outermost handler of a signal on the stack of the process, or none.
pub struct Handler(Option<usize>);

/// How far below the start of the stack of the process this is, if it is there.
fn depth(address: usize) -> Option<usize> {
    let depth = START.load(Ordering::Relaxed).wrapping_sub(address);
    (depth < ROOM.load(Ordering::Relaxed)).then_some(depth)
}

/// Clears the stack below the caller's frame for a handler of a signal, and has its hooks leave zeros, where it is that of the process and
/// has room for it: those of threads, fibres and alternate ones may be small.
#[inline(never)]
pub fn begin_handler() -> Handler {
    let marker = 0_u8;
    let here = (&raw const marker).addr();
    if depth(here).is_none_or(|depth| depth + CLEARED_FOR_HANDLER >= ROOM.load(Ordering::Relaxed)) {
        return Handler(None);
    }
    clear_deep();
    if is_in_handler(here) {
        return Handler(None);
    }
    HANDLER_BELOW.store(here, Ordering::Relaxed);
    APART.fetch_or(HANDLED, Ordering::Relaxed);
    Handler(Some(here))
}

/// The handler has returned.
pub fn end_handler(handler: &Handler) {
    if handler.0.is_some_and(|frame| HANDLER_BELOW.load(Ordering::Relaxed) == frame) {
        forget_handler();
    }
}

fn forget_handler() {
    HANDLER_BELOW.store(0, Ordering::Relaxed);
    APART.fetch_and(!HANDLED, Ordering::Relaxed);
}

/// True for a frame of the stack of the process that a handler has called. A frame above the handler's says that it has jumped out.
fn is_in_handler(frame: usize) -> bool {
    if APART.load(Ordering::Relaxed) & HANDLED == 0 || depth(frame).is_none() {
        return false;
    }
    let is_below = frame < HANDLER_BELOW.load(Ordering::Relaxed);
    if !is_below {
        forget_handler();
    }
    is_below
}

#[inline(never)]
fn clear_deep() {
    black_box(&mut [0_u64; CLEARED_FOR_HANDLER / size_of::<u64>()]);
}
