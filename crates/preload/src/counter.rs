//! An event that the kernel counts of the server's own code: instructions, by the counters of the processor.
//!
//! Each thread has an event of its own (`perf_event_open(2)`). Its count is read where the server calls the library and where the
//! library returns to it, and what lies between is the server's. What a read costs is known from two in a row, and is no part of that.

use super::state::{control, errno, set_errno};
use super::thread::{self, PassThrough, Thread};
use libc::{c_int, c_ulong};
use prony_channel::Control;
use std::mem::{replace, take};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// An event is counted.
static IS_ON: AtomicBool = AtomicBool::new(false);
/// Called with each descriptor that becomes the library's, and again with `false` when it is closed.
pub type MarkOwn = fn(c_int, bool);
static MARK_OWN: OnceLock<MarkOwn> = OnceLock::new();
/// Events of this process, of all its threads.
static COUNTED: AtomicU64 = AtomicU64::new(0);
/// How many of them the frames so far have, with what came before.
static IN_FRAMES: AtomicU64 = AtomicU64::new(0);
/// The frames are this process's.
static HAS_FRAMES: AtomicBool = AtomicBool::new(false);
/// Events from one read to the next, where nothing lies between.
static OF_READ: AtomicU64 = AtomicU64::new(u64::MAX);

/// The descriptor that the first event gets, if the hard limit allows it: servers have no such numbers.
const FIRST: u64 = 60_000;
/// Reads in a row from which the cost of one is known.
const READS: usize = 16;
/// How far an event may be without its counter: this long, and this part of the time, from which on a count is not all.
const SLACK_NS: u64 = 10_000;
const SLACK_SHARE: u64 = 10_000;
/// Value of [`Thread::event`]: the thread ends.
const NO_MORE: c_int = -1;

/// `struct perf_event_attr` of Linux 2.6.32 (PERF_ATTR_SIZE_VER0), include/uapi/linux/perf_event.h.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint_type: u32,
    config1: u64,
}

/// The event has its counter whenever the thread runs, or fails.
const PINNED: u64 = 1 << 2;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// Reads give, after the count, for how long it was wanted and had a counter.
const TOTAL_TIMES: u64 = 0b11;

/// True if an event is counted.
#[inline(always)]
pub fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// From here on the event is counted, if one is wanted. `area`: the control area.
pub fn begin(area: &Control, mark_own: MarkOwn) {
    if area.counter.wanted.load(Ordering::Relaxed) {
        let _ = MARK_OWN.set(mark_own);
        IS_ON.store(true, Ordering::Relaxed);
    }
}

/// The server goes on.
pub fn resume() {
    let thread = thread::this();
    let _inside = PassThrough::enter();
    // SAFETY: the block is the calling thread's own.
    unsafe {
        if (*thread).event == 0 {
            open(thread);
        }
        if let Some(now) = read(thread) {
            (*thread).events_before = now;
            (*thread).counting = true;
        }
    }
}

/// The library is at work. Returns whether the server was.
pub fn pause() -> bool {
    let thread = thread::this();
    let _inside = PassThrough::enter();
    // SAFETY: the block is the calling thread's own.
    unsafe {
        if !take(&mut (*thread).counting) {
            return false;
        }
        if let Some(now) = read(thread) {
            let own = OF_READ.load(Ordering::Relaxed);
            let events = now.wrapping_sub((*thread).events_before).saturating_sub(own);
            let counted = COUNTED.fetch_add(events, Ordering::Relaxed) + events;
            if HAS_FRAMES.load(Ordering::Relaxed) {
                control().counter.of_process.store(counted, Ordering::Relaxed);
            }
            control().counter.total.fetch_add(events, Ordering::Relaxed);
        }
        true
    }
}

/// This process was forked: the event that it has is its parent's, and so is what was counted.
pub fn forked() {
    let thread = thread::this();
    COUNTED.store(0, Ordering::Relaxed);
    IN_FRAMES.store(0, Ordering::Relaxed);
    HAS_FRAMES.store(false, Ordering::Relaxed);
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let was_counting = replace(&mut (*thread).counting, false);
        close_event(thread);
        if was_counting {
            resume();
        }
    }
}

/// The calling thread ends.
pub fn close() {
    if !is_on() {
        return;
    }
    pause();
    let thread = thread::this();
    // SAFETY: the block is the calling thread's own.
    unsafe {
        close_event(thread);
        (*thread).event = NO_MORE;
    }
}

/// The first frame begins.
pub fn begin_frames() {
    if is_on() {
        let before = COUNTED.load(Ordering::Relaxed);
        IN_FRAMES.store(before, Ordering::Relaxed);
        HAS_FRAMES.store(true, Ordering::Relaxed);
        control().counter.of_process.store(before, Ordering::Relaxed);
        control().counter.before_frames.store(before, Ordering::Relaxed);
    }
}

/// A frame has ended. Returns its events, with those since the end of the frame before.
pub fn end_frame() -> u64 {
    let counted = COUNTED.load(Ordering::Relaxed);
    counted.wrapping_sub(IN_FRAMES.swap(counted, Ordering::Relaxed))
}

fn mark(descriptor: c_int, is_own: bool) {
    if let Some(mark) = MARK_OWN.get() {
        mark(descriptor, is_own);
    }
}

unsafe fn close_event(thread: *mut Thread) {
    let _inside = PassThrough::enter();
    // SAFETY: the descriptor is this module's.
    unsafe {
        let event = replace(&mut (*thread).event, 0);
        if event > 0 {
            mark(event - 1, false);
            libc::syscall(libc::SYS_close, event - 1);
        }
    }
}

/// Opens the event of the calling thread, and reads it several times in a row in the first one.
unsafe fn open(thread: *mut Thread) {
    let counter = &control().counter;
    let attributes = Attributes {
        kind: counter.kind.load(Ordering::Relaxed),
        size: size_of::<Attributes>() as u32,
        config: counter.config.load(Ordering::Relaxed),
        sample_period: 0,
        sample_type: 0,
        read_format: TOTAL_TIMES,
        flags: PINNED | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
        wakeup: 0,
        breakpoint_type: 0,
        config1: 0,
    };
    const THIS_THREAD: c_int = 0;
    const ANY_CPU: c_int = -1;
    const NO_GROUP: c_int = -1;
    const PERF_FLAG_FD_CLOEXEC: c_ulong = 1 << 3;
    // SAFETY: the attributes are as long as they say; the descriptor is this module's.
    unsafe {
        (*thread).event = NO_MORE;
        let call = libc::SYS_perf_event_open;
        let opened =
            libc::syscall(call, &raw const attributes, THIS_THREAD, ANY_CPU, NO_GROUP, PERF_FLAG_FD_CLOEXEC) as c_int;
        if opened < 0 {
            return failed();
        }
        let moved = move_up(opened);
        libc::syscall(libc::SYS_close, opened);
        if moved < 0 {
            return failed();
        }
        mark(moved, true);
        (*thread).event = moved + 1;
        if OF_READ.load(Ordering::Relaxed) == u64::MAX {
            let mut reads = [const { None }; READS];
            reads.fill_with(|| read(thread));
            let between = reads.windows(2).filter_map(|pair| Some(pair.last()?.as_ref()? - pair.first()?.as_ref()?));
            OF_READ.store(between.min().unwrap_or(0), Ordering::Relaxed);
        }
    }
}

/// A copy of a descriptor with a number that no server has.
unsafe fn move_up(descriptor: c_int) -> c_int {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structures are the call's.
    unsafe {
        let prlimit = |new: *const libc::rlimit64, old: *mut libc::rlimit64| {
            libc::syscall(libc::SYS_prlimit64, 0, libc::RLIMIT_NOFILE, new, old)
        };
        prlimit(null_mut(), &raw mut limit);
        let raised = libc::rlimit64 { rlim_cur: limit.rlim_max, ..limit };
        prlimit(&raw const raised, null_mut());
        let least = (*prony_demo::OWN_DESCRIPTORS.end() + 1) as u64;
        let first = FIRST.min(limit.rlim_max.saturating_sub(prony_channel::THREADS as u64)).max(least);
        let moved = libc::syscall(libc::SYS_fcntl, descriptor, libc::F_DUPFD_CLOEXEC, first as c_int) as c_int;
        let error = errno();
        prlimit(&raw const limit, null_mut());
        set_errno(error);
        moved
    }
}

/// Count of the calling thread's event.
unsafe fn read(thread: *const Thread) -> Option<u64> {
    // SAFETY: the descriptor is this module's, and the kernel writes no more than there is.
    unsafe {
        let event = (*thread).event;
        if event <= 0 {
            return None;
        }
        let error = errno();
        let mut values = [0_u64; 3];
        let filled = libc::syscall(libc::SYS_read, event - 1, values.as_mut_ptr(), size_of_val(&values));
        let [count, wanted, had] = values;
        // A pinned event that found no counter is at its end, which reads say. The two times are taken one after the other.
        let is_lost = wanted.saturating_sub(had) > SLACK_NS + wanted / SLACK_SHARE;
        if filled as usize != size_of_val(&values) || is_lost {
            set_errno(if filled < 0 { errno() } else { libc::EBUSY });
            failed();
            return None;
        }
        set_errno(error);
        Some(count)
    }
}

/// What was counted is not all.
fn failed() {
    let failed = &control().counter.failed;
    let _ = failed.compare_exchange(0, errno(), Ordering::Relaxed, Ordering::Relaxed);
}
