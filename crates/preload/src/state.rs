//! State of this process in the recording: the shared control area, its slot there, its mode; and `errno`.
//!
//! Everything else of the library rests on this, and this on nothing but the block of the thread.

use super::thread;
use prony_channel::{self as channel, Control, Mode};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, Ordering};

static CONTROL: AtomicPtr<Control> = AtomicPtr::new(null_mut());
static INDEX: AtomicU32 = AtomicU32::new(0);
/// Index of the process in whose order the calls of this one stand.
static LEADER: AtomicU32 = AtomicU32::new(0);
/// The order is shared with other processes, or will be.
static SHARES_ORDER: AtomicBool = AtomicBool::new(false);
static MODE: AtomicU8 = AtomicU8::new(thread::PASS_THROUGH);
/// More than one thread was ever made in this process.
static THREADED: AtomicBool = AtomicBool::new(false);
/// This process was forked from one of the recording, so it is not the one that was started.
static FORKED: AtomicBool = AtomicBool::new(false);

/// Joins this process to the recording as number `index`. `control`: the control area, mapped for good.
pub fn join(control: &'static Control, index: u32, mode: Mode) {
    CONTROL.store((&raw const *control).cast_mut(), Ordering::Relaxed);
    INDEX.store(index, Ordering::Relaxed);
    LEADER.store(index, Ordering::Relaxed);
    MODE.store(mode as u8, Ordering::Relaxed);
}

/// Joins a process that was just forked to the recording as number `index`. It has one thread, and stands in the order of its
/// parent if that shares it.
pub fn join_as_child(index: u32) {
    INDEX.store(index, Ordering::Relaxed);
    if shares_order() {
        share_order();
    } else {
        LEADER.store(index, Ordering::Relaxed);
        THREADED.store(false, Ordering::Relaxed);
    }
    FORKED.store(true, Ordering::Relaxed);
}

/// Shares the order of this process with the children that it will have.
pub fn share_order() {
    SHARES_ORDER.store(true, Ordering::Relaxed);
    slot().leader.store(leader_index() + 1, Ordering::Relaxed);
}

/// Shares the order of this process with another one, which is about to be made, if it shares any.
pub fn share_order_with(index: u32) {
    if shares_order() {
        let place = &control().processes[index as usize % prony_channel::PROCESSES];
        place.leader.store(leader_index() + 1, Ordering::Relaxed);
    }
}

/// Stands in the order that the recording has this process in. The build may have come here another way than the recorded one, and
/// have missed where that shared its order.
pub fn stand_in_order_of(leader: u32) {
    if leader_index() == leader {
        return;
    }
    let shares = leader != index();
    LEADER.store(leader, Ordering::Relaxed);
    SHARES_ORDER.store(shares, Ordering::Relaxed);
    slot().leader.store(if shares { leader + 1 } else { 0 }, Ordering::Relaxed);
    if shares {
        set_threaded();
    }
}

/// Shares the order that the program before in this process shared. False if it shared none.
pub fn share_order_again() -> bool {
    let leader = slot().leader.load(Ordering::Relaxed).checked_sub(1);
    if let Some(leader) = leader {
        LEADER.store(leader, Ordering::Relaxed);
        SHARES_ORDER.store(true, Ordering::Relaxed);
    }
    leader.is_some()
}

/// Ends this process's part in the recording.
pub fn leave() {
    MODE.store(thread::PASS_THROUGH, Ordering::Relaxed);
}

/// Marks the process as having several threads, whose order matters.
pub fn set_threaded() {
    THREADED.store(true, Ordering::Relaxed);
}

/// True in the process that was started, whatever programs it has run since.
pub fn is_started_one() -> bool {
    !FORKED.load(Ordering::Relaxed)
}

/// Shared control area of the recording. It is there once [`join`] has run, which the first check of every hook
/// ensures: no thread is attached before.
#[inline(always)]
pub fn control() -> &'static Control {
    // SAFETY: `join` was given a reference for good; all of the area is atomics, so that whatever the other side writes
    // is valid.
    unsafe { &*CONTROL.load(Ordering::Relaxed) }
}

/// Index of this process in the recording.
pub fn index() -> u32 {
    INDEX.load(Ordering::Relaxed)
}

/// The slot of this process.
#[inline(always)]
pub fn slot() -> &'static channel::Process {
    &control().processes[index() as usize]
}

/// Index of the process in whose order the calls of this one stand: its own, or that of an ancestor.
#[inline(always)]
pub fn leader_index() -> u32 {
    LEADER.load(Ordering::Relaxed)
}

/// Slot of that process, which has the order, the baton and the turns.
#[inline(always)]
pub fn leader() -> &'static channel::Process {
    &control().processes[leader_index() as usize]
}

/// True if processes take turns as threads do.
#[inline(always)]
pub fn shares_order() -> bool {
    SHARES_ORDER.load(Ordering::Relaxed)
}

/// [`thread::RECORDING`] or [`thread::REPLAYING`] while this process takes part.
pub fn mode() -> u8 {
    MODE.load(Ordering::Relaxed)
}

/// True once the process has had a second thread, or shares its order; from then on its order matters.
#[inline(always)]
pub fn threaded() -> bool {
    THREADED.load(Ordering::Relaxed)
}

/// True once the recording has ended although this server goes on: no record is written, and no thread waits for its turn.
#[inline(always)]
pub fn is_over() -> bool {
    control().ended.load(Ordering::Relaxed)
}

/// True in a replay under a tool.
pub fn is_under_tool() -> bool {
    mode() == thread::REPLAYING && control().under_tool.load(Ordering::Relaxed)
}

/// True once the process outside has ended. One that a server without privileges may not signal is there.
pub fn is_outside_gone() -> bool {
    let before = errno();
    // SAFETY: signal 0 is only a query.
    let failed = unsafe { libc::kill(control().outside_pid.load(Ordering::Relaxed), 0) } == -1;
    let is_gone = failed && errno() == libc::ESRCH;
    set_errno(before);
    is_gone
}

/// `errno` of the calling thread.
#[inline(always)]
pub fn errno() -> i32 {
    // SAFETY: always a valid pointer to the thread's own integer.
    unsafe { *libc::__errno_location() }
}

/// Sets `errno` of the calling thread.
#[inline(always)]
pub fn set_errno(value: i32) {
    // SAFETY: as in `errno`.
    unsafe { *libc::__errno_location() = value }
}

/// A call's result as it is recorded: the value, or the negated `errno`.
#[inline(always)]
pub fn outcome(value: isize) -> i64 {
    if value == -1 { -i64::from(errno()) } else { value as i64 }
}

/// A recorded result as the call returns it.
#[inline(always)]
pub fn returned(ret: i64) -> isize {
    if ret < 0 {
        set_errno(-ret as i32);
        -1
    } else {
        ret as isize
    }
}

/// Wakes the recorder, which rests at the word of the searches of objects, and processes that wait there for their turn.
pub fn wake_outside() {
    // SAFETY: the kernel takes the word for a name only.
    unsafe { libc::syscall(libc::SYS_futex, control().scan.state.word().as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// Time of `CLOCK_MONOTONIC` in nanoseconds. It is not recorded.
pub fn nanoseconds() -> u64 {
    time_of(libc::CLOCK_MONOTONIC)
}

/// Time of a clock in nanoseconds. It is not recorded.
pub fn time_of(clock: i32) -> u64 {
    let _pass_through = thread::PassThrough::enter();
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes the time into `now`.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
