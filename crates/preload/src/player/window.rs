//! Records of a thread that are in memory: all of them, or those in a window that moves over them.
//!
//! The process outside fills the window ([`channel::Feed`]) while the thread walks over it. `cursor` and `end` stand in
//! the window; behind `end` there may be more. Up to `end`, nothing here is called. From there:
//!
//! * [`go_on`] gives up what lies before the cursor and waits for more;
//! * [`extend`] waits for more and gives nothing up, for who looks ahead and has pointers into the window. What a search
//!   can reach is therefore what fits in a window, and the same in every replay, however fast it is filled.
//!
//! A pointer into the window is good until the next [`go_on`] or [`settle`]. Across those a *place* is kept: bytes from
//! the first record of the thread on.

use super::pass_taken;
use crate::addresses;
use crate::report;
use crate::state::{self, control, errno, is_outside_gone, leader, leader_index, set_errno};
use crate::stuck::LOOK;
use crate::thread::{self, Thread};
use prony_channel::{self as channel, Feed, NO_PROCESS, QUARTERS, TAPE_FD, turns_offset, window_offset};
use prony_demo::Head;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, Ordering};

/// Value of [`Thread::turn_mask`]: every turn has a place of its own.
pub(super) const ALL_TURNS: u64 = u64::MAX;

/// The tape of this replay is not mapped whole.
pub(super) fn is_windowed() -> bool {
    stride() > 0
}

/// Bytes from one window to the next.
fn stride() -> u64 {
    control().window_stride.load(Ordering::Relaxed)
}

/// Requests the records of this thread from byte `from` on.
pub(super) unsafe fn open(thread: *mut Thread, from: u64) {
    // SAFETY: the block is the calling thread's own, which has just got its slot.
    unsafe {
        let feed = feed(thread);
        feed.from.store(from, Ordering::Relaxed);
        feed.read.store(from, Ordering::Relaxed);
        let request = feed.requests.load(Ordering::Relaxed).wrapping_add(1);
        feed.requests.store(request, Ordering::SeqCst);
        wait_until(|| (feed.given.0.load(Ordering::Acquire) == request).then_some(()));
        (*thread).ordered = feed.ordered.load(Ordering::Relaxed);
        let leader = feed.leader.load(Ordering::Relaxed);
        if leader != NO_PROCESS {
            state::stand_in_order_of(leader);
        }
        (*(*thread).slot).owner.store(feed.owner.load(Ordering::Relaxed), Ordering::Relaxed);
        (*thread).stream_end = feed.end.load(Ordering::Relaxed);
        let bytes = feed.bytes.load(Ordering::Relaxed);
        (*thread).window_bytes = bytes;
        if bytes == 0 {
            // Memory that may be read, and no record of it.
            ((*thread).window, (*thread).window_place) = (addresses::CONTROL as *mut u8, (*thread).stream_end);
            (*thread).cursor = addresses::CONTROL as *mut Head;
        } else {
            map(thread, bytes);
            (*thread).window_place = from - from % bytes;
            (*thread).cursor = at(thread, from);
        }
        (*thread).end = (*thread).cursor;
        if (*thread).ordered {
            map_turns(thread);
        }
    }
}

/// Requests the records from the cursor on once more: another process has read on.
pub(super) unsafe fn open_again(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let from = place_of(thread, (*thread).cursor);
        feed(thread).wants.store(0, Ordering::Relaxed);
        open(thread, from);
    }
}

unsafe fn map(thread: *mut Thread, bytes: u64) {
    // SAFETY: the block is the calling thread's own, and its slot is one of the control area.
    unsafe {
        let place = (*thread).slot.offset_from(&raw const control().threads[0]) as usize;
        let stride = stride();
        let window = addresses::TAPE as u64 + place as u64 * 2 * stride;
        if window + 2 * bytes > addresses::TAPE_END as u64 {
            report::fatal(&[b"a 32-bit server with this many threads needs its demo whole in memory: replay it with a larger --max-memory"]);
        }
        let window = window as usize;
        for half in 0..2 {
            map_shared(window + half * bytes as usize, bytes as usize, window_offset(place, stride) as i64);
        }
        (*thread).window = window as *mut u8;
    }
}

/// Maps the turns of the process; its threads have them in common.
unsafe fn map_turns(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let places = leader().turn_places.load(Ordering::Relaxed);
        if places == 0 {
            report::fatal(&[b"the demo gives a process to an order that it does not stand in"]);
        }
        if (*thread).index == 0 {
            let offset = turns_offset(leader_index(), stride());
            map_shared(addresses::TURNS, (places as usize * size_of::<u32>()).next_multiple_of(4096), offset as i64);
        }
        (*thread).turns = addresses::TURNS as *mut u32;
        (*thread).turn_mask = places - 1;
        (*thread).turn_count = leader().turn_count.load(Ordering::Relaxed);
    }
}

/// Over whatever a parent, or a thread that has ended, had there.
unsafe fn map_shared(address: usize, bytes: usize, offset: i64) {
    // SAFETY: the caller passes addresses that only the player uses, from `addresses::TAPE` or `addresses::TURNS` on.
    unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        let mapped = libc::mmap64(address as *mut c_void, bytes, protection, flags, TAPE_FD, offset);
        if mapped as usize != address {
            report::fatal(&[b"cannot map a window of the tape: out of memory or descriptor 1002 was closed"]);
        }
    }
}

/// Gives the address range of the thread's window back.
pub unsafe fn close(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own; its records are no longer read.
    unsafe {
        let bytes = std::mem::take(&mut (*thread).window_bytes);
        if bytes > 0 {
            libc::munmap((*thread).window.cast(), 2 * bytes as usize);
            (*thread).end = (*thread).cursor;
            (*thread).stream_end = 0;
        }
    }
}

/// Position of a record, in bytes from the first record of the thread.
#[inline(always)]
pub(super) unsafe fn place_of(thread: *const Thread, record: *const Head) -> u64 {
    // SAFETY: the block is the calling thread's own.
    unsafe { (*thread).window_place + (record as u64).wrapping_sub((*thread).window as u64) }
}

/// The record at a place that is in memory.
#[inline(always)]
pub(super) unsafe fn at(thread: *const Thread, place: u64) -> *mut Head {
    // SAFETY: the block is the calling thread's own, and the caller passes a place that is in memory.
    unsafe { (*thread).window.add((place - (*thread).window_place) as usize).cast() }
}

/// True if a record stands at the cursor; waits for it if there is one.
#[inline(always)]
pub(super) unsafe fn has_next(thread: *mut Thread) -> bool {
    // SAFETY: the block is the calling thread's own.
    unsafe { (*thread).cursor < (*thread).end || go_on(thread) }
}

/// The cursor is at `end`: the records before it are no longer needed, and those behind it are.
#[cold]
#[inline(never)]
pub(super) unsafe fn go_on(thread: *mut Thread) -> bool {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        loop {
            let place = place_of(thread, (*thread).cursor);
            if place >= (*thread).stream_end {
                return false;
            }
            settle(thread);
            if !wait_for_more(thread, place) {
                // Windows are as large as the largest record of their threads was.
                report::fatal(&[b"the demo changed while it was replayed: a record does not fit in its window"]);
            }
            (*thread).end = at(thread, stop_after(thread, place));
            pass_taken(thread);
            if (*thread).cursor < (*thread).end {
                return true;
            }
        }
    }
}

/// Where the thread looks up next: at the end of what is there, or of the quarter of the window that it is in, so that
/// the quarter before can be filled again.
unsafe fn stop_after(thread: *const Thread, place: u64) -> u64 {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let feed = feed(thread);
        let filled = feed.filled.load(Ordering::Acquire);
        let quarter = (*thread).window_bytes / 4;
        let next = place / quarter + 1;
        let first = feed.quarters[next as usize % QUARTERS].load(Ordering::Relaxed);
        if (next * quarter..filled).contains(&first) { first } else { filled }
    }
}

/// Gives up what lies before the cursor. Pointers into the window mean something else behind this.
pub(super) unsafe fn settle(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own; cursor and end move by the length of the window, which is mapped
    // twice in a row.
    unsafe {
        let bytes = (*thread).window_bytes;
        if bytes == 0 {
            return;
        }
        let place = place_of(thread, (*thread).cursor);
        while place - (*thread).window_place >= bytes {
            (*thread).window_place += bytes;
            (*thread).cursor = (*thread).cursor.byte_sub(bytes as usize);
            (*thread).end = (*thread).end.byte_sub(bytes as usize);
        }
        let feed = feed(thread);
        feed.read.store(place, Ordering::SeqCst);
        if feed.filled.load(Ordering::Relaxed) - place <= bytes / 2 {
            wake_feeder();
        }
    }
}

/// Gives up what lies before the cursor if that is worth the while.
#[inline(always)]
pub(super) unsafe fn settle_in_time(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let bytes = (*thread).window_bytes;
        if bytes > 0 && place_of(thread, (*thread).cursor) - feed(thread).read.load(Ordering::Relaxed) >= bytes / 8 {
            settle(thread);
        }
    }
}

/// Looks further ahead; false where there is no more, or none that fits in the window behind what is still needed.
pub(super) unsafe fn extend(thread: *mut Thread) -> bool {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let known = place_of(thread, (*thread).end);
        if known >= (*thread).stream_end || !wait_for_more(thread, known) {
            return false;
        }
        (*thread).end = at(thread, feed(thread).filled.load(Ordering::Acquire));
        true
    }
}

/// True if nothing of the thread comes behind `end`.
pub(super) unsafe fn sees_last(thread: *const Thread) -> bool {
    // SAFETY: the block is the calling thread's own.
    unsafe { place_of(thread, (*thread).end) >= (*thread).stream_end }
}

/// True for a thread that waits for records: how long that takes is unknown.
pub(super) fn is_unfed(slot: &channel::Thread) -> bool {
    slot.feed.wants.load(Ordering::SeqCst) != 0
}

/// Waits for a record at `place`; false if none fits in the window.
unsafe fn wait_for_more(thread: *const Thread, place: u64) -> bool {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let feed = feed(thread);
        let look = || {
            if feed.filled.load(Ordering::SeqCst) > place {
                return Some(true);
            }
            // In this order: who reads what was found full with the present `read` has read everything filled before.
            let full = feed.full_filled.load(Ordering::Acquire) == place
                && feed.full_read.load(Ordering::Acquire) == feed.read.load(Ordering::Relaxed)
                && feed.filled.load(Ordering::Acquire) == place;
            full.then_some(false)
        };
        if let Some(more) = look() {
            return more;
        }
        feed.wants.store(place + 1, Ordering::SeqCst);
        let more = wait_until(look);
        feed.wants.store(0, Ordering::SeqCst);
        more
    }
}

/// Waits until the list of turns reaches this one.
#[inline(always)]
pub(super) unsafe fn wait_for_turn_entry(thread: *const Thread, turn: u64) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        if (*thread).turn_mask != ALL_TURNS && leader().turns_filled.load(Ordering::Acquire) <= turn {
            wait_until(|| {
                leader().turns_waiting.store(true, Ordering::SeqCst);
                (leader().turns_filled.load(Ordering::SeqCst) > turn).then_some(())
            });
        }
    }
}

/// True if the list of turns reaches this one.
pub(super) unsafe fn has_turn_entry(thread: *const Thread, turn: u64) -> bool {
    // SAFETY: the block is the calling thread's own.
    unsafe { (*thread).turn_mask == ALL_TURNS || leader().turns_filled.load(Ordering::Acquire) > turn }
}

unsafe fn feed<'a>(thread: *const Thread) -> &'a Feed {
    // SAFETY: the block is the calling thread's own, and a slot is mapped for good.
    unsafe { &(*(*thread).slot).feed }
}

fn wake_feeder() {
    let sleeps = &control().feeder_sleeps;
    if sleeps.load(Ordering::SeqCst) && sleeps.swap(false, Ordering::SeqCst) {
        futex_wake(sleeps.word());
    }
}

fn futex_wake(word: &AtomicU32) {
    // SAFETY: the block is the calling thread's own; the kernel takes the word for a name only.
    unsafe {
        let before = errno();
        let live = std::mem::replace(&mut (*thread::this()).live, thread::PASS_THROUGH);
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1);
        (*thread::this()).live = live;
        set_errno(before);
    }
}

/// Waits for the process outside until `look` finds something.
#[cold]
fn wait_until<T>(look: impl Fn() -> Option<T>) -> T {
    // SAFETY: the block is the calling thread's own; the kernel reads the word and the time, which live across the
    // call.
    unsafe {
        let before = errno();
        let live = std::mem::replace(&mut (*thread::this()).live, thread::PASS_THROUGH);
        let control = control();
        let (fed, waiters) = (&control.fed, &control.fed_waiters);
        waiters.fetch_add(1, Ordering::SeqCst);
        let found = loop {
            let seen = fed.load(Ordering::SeqCst);
            if let Some(found) = look() {
                break found;
            }
            wake_feeder();
            let slept = libc::syscall(libc::SYS_futex, fed.as_ptr(), libc::FUTEX_WAIT, seen, &LOOK);
            if slept == -1 && errno() == libc::ETIMEDOUT && is_outside_gone() {
                // The window is no longer filled, and no report is read.
                libc::_exit(channel::PLAYER_EXIT);
            }
        };
        waiters.fetch_sub(1, Ordering::SeqCst);
        (*thread::this()).live = live;
        set_errno(before);
        found
    }
}
