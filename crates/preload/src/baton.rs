//! Baton: while a server with several threads is recorded, one of them runs at a time, which holds the baton.
//!
//! A thread gives the baton away where it may block, and when others have waited for a while. So
//! the order of the records is also the order of everything the threads did between their calls,
//! and a replay, which lets the same thread run at the same place, meets every race of the server
//! with the outcome it had. (rr runs a whole process on one core for the same reason.)
//!
//! Processes that share memory have one baton for all of them, see `sharing`.
//!
//! The baton is a futex in the control area. A thread that comes back quickly may take it before those
//! that wait, until one of them has waited for long: then its holder reserves it for those that sleep.
//!
//! To wake a thread on another CPU takes some microseconds, and some tens in a virtual machine, where it leaves the guest; so does
//! a timer that ends soon. So one thread is woken at a time, and it is the holder that sees, at its calls, how long others have waited.
//!
//! While a thread is in the kernel with a call that moves bytes and does not block, it lends the baton: a thread that looks for it
//! right then has it, and none is woken. What the thread runs before the call and after it is in the order all the same.

use super::handover;
use super::ring;
use super::state::{self, control, errno, leader, set_errno};
use super::stuck::{LOOK, Stuck};
use super::thread::{RECORDING, Thread};
use libc::timespec;
use prony_channel::{self as channel, Waiting};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The recording has several threads and lets one of them run at a time.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// Set in the baton's word when a thread sleeps for it.
const AWAITED: u32 = 1 << 31;

/// Set in the baton's word when the process whose thread had it has ended; the index of the process stands beside. Its other
/// threads, which end with it, do not get the baton any more.
const ENDED: u32 = 1 << 30;

/// Set in the baton's word when no thread has it, and only those may take it that have slept for it.
const RESERVED: u32 = 1 << 29;

/// Microseconds that threads wait before those that come after them have to wait too. A few switches of
/// threads: less, and the server spends its time on them; more, and requests wait for each other.
const PATIENCE_US: i32 = 200;

/// Looks at a baton that is not free before a thread sleeps for it: some microseconds, about what a thread runs between
/// two calls. Looking for twice the time of a wake-up, up to 50 µs, took a tokio server a fifth of its CPU time, and no
/// fewer of its threads slept.
const SPINS: u32 = 100;

/// Puts the baton into use: from now on this process has several threads.
pub fn enable() {
    if state::mode() == RECORDING && !state::is_over() && !control().side_by_side.load(Ordering::Relaxed) {
        IN_USE.store(true, Ordering::Relaxed);
    }
}

/// Takes the baton out of use in a process that was just forked, and has one thread. Where processes take turns it stays in use.
pub fn disable() {
    IN_USE.store(state::shares_order() && is_in_use(), Ordering::Relaxed);
}

/// Leaves the baton to other processes, as this one ends or takes part no more.
pub fn leave_behind() {
    if !is_in_use() || !state::shares_order() {
        return;
    }
    let left = |word: u32| {
        let holder = control().threads.get(holder_of(word).checked_sub(1)? as usize)?;
        (holder.process.load(Ordering::Relaxed) == state::index()).then_some(ENDED | state::index())
    };
    let word = &leader().baton;
    // Threads of this process may be among those that sleep, so all of them are woken.
    if word.fetch_update(Ordering::Release, Ordering::Relaxed, left).is_ok_and(|before| before & AWAITED != 0) {
        wake(word, i32::MAX);
    }
}

/// Name of the thread that has the baton, or 0.
fn holder_of(word: u32) -> u32 {
    word & !(AWAITED | RESERVED)
}

/// True if a thread of this process may take the baton, and has slept for it if it is reserved.
fn is_free(word: u32) -> bool {
    let holder = holder_of(word);
    holder == 0 || holder & ENDED != 0 && holder & !ENDED != state::index()
}

/// True if threads that sleep for the baton have waited for long.
fn is_overdue(process: &channel::Process, word: u32) -> bool {
    // Less than nothing where another thread wrote it after this one read the clock.
    let waited_us = || microseconds().wrapping_sub(process.awaited_since_us.load(Ordering::Relaxed)) as i32;
    word & AWAITED != 0 && waited_us() > PATIENCE_US
}

/// Threads of this process run one at a time.
pub fn is_in_use() -> bool {
    IN_USE.load(Ordering::Relaxed) && !state::is_over()
}

/// The thread has the baton, and no other has waited for it for long.
#[inline(always)]
pub unsafe fn is_owned_uncontended(thread: *const Thread) -> bool {
    // SAFETY: the caller passes the block of an attached thread.
    unsafe {
        let word = leader().baton.load(Ordering::Relaxed);
        is_in_use() && holder_of(word) == name(thread) && !is_overdue(leader(), word)
    }
}

/// The thread goes on to run the server's code.
#[inline(always)]
pub unsafe fn keep(thread: *mut Thread) {
    // SAFETY: the caller passes the calling thread's own block, which is attached.
    unsafe {
        if is_in_use() && leader().baton.load(Ordering::Relaxed) != name(thread) {
            keep_or_wait(thread);
        }
    }
}

/// The thread may block, and may never come back: what it has read of clocks is written down first.
#[inline(always)]
pub unsafe fn give(thread: *mut Thread) {
    // SAFETY: the caller passes the calling thread's own block, which is attached.
    unsafe {
        ring::close_run(thread);
        if is_in_use() {
            pass_on(thread, 0);
        }
    }
}

/// The thread is in the kernel for some microseconds: others may take the baton meanwhile, but none is woken for it.
#[inline(always)]
pub unsafe fn lend(thread: *mut Thread) {
    // SAFETY: the caller passes the calling thread's own block, which is attached.
    unsafe {
        if is_in_use() {
            let process = leader();
            let now = process.baton.load(Ordering::Relaxed);
            if is_overdue(process, now) {
                return pass_on(thread, RESERVED);
            }
            if holder_of(now) == name(thread) {
                let _ = process.baton.compare_exchange(now, now & AWAITED, Ordering::Release, Ordering::Relaxed);
            }
        }
    }
}

/// Value of the baton's word while this thread has it.
unsafe fn name(thread: *const Thread) -> u32 {
    // SAFETY: an attached thread has a slot, which is one of the control area's.
    unsafe { (*thread).slot.offset_from(&raw const control().threads[0]) as u32 + 1 }
}

#[cold]
unsafe fn keep_or_wait(thread: *mut Thread) {
    // SAFETY: the caller passes the calling thread's own block, which is attached.
    unsafe {
        let before = errno();
        let process = leader();
        let word = process.baton.load(Ordering::Relaxed);
        let has_it = holder_of(word) == name(thread);
        if has_it && is_overdue(process, word) {
            pass_on(thread, RESERVED);
            take(thread);
        } else if !has_it {
            take(thread);
        }
        set_errno(before);
    }
}

/// Gives the baton away, and wakes a thread that sleeps for it. `kept`: [`RESERVED`] if only such a thread may take it, 0 if any.
unsafe fn pass_on(thread: *mut Thread, kept: u32) {
    // SAFETY: as for `name`; the call wakes those that sleep for a word of the control area, which is mapped for good.
    unsafe {
        let (word, name) = (&leader().baton, name(thread));
        // Another thread may have taken it over, see `Stuck`.
        let given = |now: u32| (holder_of(now) == name).then_some(if now & AWAITED == 0 { 0 } else { kept });
        let before = word.fetch_update(Ordering::Release, Ordering::Relaxed, given);
        if before.is_ok_and(|before| before & AWAITED != 0) {
            wake_next(word, kept);
        }
    }
}

/// Wakes a thread that sleeps for the baton, which is free: it sees to the others, as it takes them to sleep too.
#[cold]
fn wake_next(word: &AtomicU32, kept: u32) {
    let before = errno();
    handover::before_wake();
    // If none slept, the baton is not reserved any more; one that began to sleep because it was is woken.
    if wake(word, 1) == 0 && kept != 0 && word.fetch_and(!kept, Ordering::Relaxed) & AWAITED != 0 {
        wake(word, 1);
    }
    set_errno(before);
}

unsafe fn take(thread: *mut Thread) {
    // SAFETY: the caller passes the calling thread's own block, which is attached.
    unsafe {
        let (process, name) = (leader(), name(thread));
        if !take_free(process, name) {
            let since = state::nanoseconds();
            let had_soon = (0..SPINS).any(|_| {
                std::hint::spin_loop();
                take_free(process, name)
            });
            if !had_soon {
                wait_for_it(process, name, &*(*thread).slot);
            }
            process.waited_ns.fetch_add(state::nanoseconds().saturating_sub(since), Ordering::Relaxed);
        }
        process.passed.fetch_add(1, Ordering::Relaxed);
    }
}

/// Takes a baton that no thread has, and that is not reserved for another one.
fn take_free(process: &channel::Process, name: u32) -> bool {
    let now = process.baton.load(Ordering::Relaxed);
    now & RESERVED == 0
        && is_free(now)
        && process.baton.compare_exchange(now, name | now & AWAITED, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

fn wait_for_it(process: &channel::Process, name: u32, own: &channel::Thread) {
    let began_us = microseconds();
    let mut has_slept = false;
    let mut stuck = Stuck::default();
    while !state::is_over() {
        let now = process.baton.load(Ordering::Relaxed);
        let free = is_free(now) && (has_slept || now & RESERVED == 0);
        if free || stuck.is_sure() {
            // Others may sleep as well, and now they wait for this thread.
            process.awaited_since_us.store(microseconds(), Ordering::Relaxed);
            if process.baton.compare_exchange(now, name | AWAITED, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                process.overlapped.fetch_add(u32::from(!free), Ordering::Relaxed);
                break;
            }
            continue;
        }
        if now & AWAITED == 0 {
            process.awaited_since_us.store(began_us, Ordering::Relaxed);
            if process.baton.compare_exchange(now, now | AWAITED, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                continue;
            }
        }
        handover::before_sleep(own, name);
        let is_late = sleep(&process.baton, now | AWAITED, &LOOK);
        handover::after_sleep(own);
        has_slept = true;
        if is_late {
            look_after_holder(&mut stuck, process, own);
        }
    }
}

/// Time of `CLOCK_MONOTONIC` in microseconds, which starts again each 71 minutes.
fn microseconds() -> u32 {
    (state::nanoseconds() / 1000) as u32
}

/// Wakes threads that sleep for a change of the word; returns their number.
fn wake(word: &AtomicU32, count: i32) -> libc::c_long {
    // SAFETY: the kernel takes the word for a name only.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, count) }
}

/// Sleeps until the word is woken or changed, at most this long; true when the time was up.
fn sleep(word: &AtomicU32, value: u32, at_most: &timespec) -> bool {
    // SAFETY: the kernel reads the word and the time, which both live until the call returns.
    let woken = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, at_most) };
    woken == -1 && errno() == libc::ETIMEDOUT
}

/// Looks after the thread that has the baton; one whose ring is full waits for the recorder.
fn look_after_holder(stuck: &mut Stuck, process: &channel::Process, own: &channel::Thread) {
    let holder = holder_of(process.baton.load(Ordering::Relaxed));
    let place = (holder != 0).then(|| (u64::from(process.passed.load(Ordering::Relaxed)), 0));
    // The end of this process, which holds no lock for long, is awaited as a thread that sleeps.
    let holder = if holder & ENDED != 0 { Some(own) } else { control().threads.get(holder.wrapping_sub(1) as usize) };
    let holder = holder.filter(|it| !it.waiting.is(Waiting::Reader, Ordering::Relaxed));
    stuck.look(place, holder);
}
