//! Criterion for giving up a thread that others wait for.
//!
//! A thread may wait for one that waits for it, without a call that is hooked: for a lock inside libc
//! or of its own make, or in a loop that looks at a variable.

use super::halt;
use super::state::{control, index, is_under_tool};
use libc::timespec;
use prony_channel::{self as channel, PROCESSES};
use std::sync::atomic::Ordering;

/// Interval at which a waiting thread examines the one it waits for.
pub const LOOK: timespec = timespec { tv_sec: 0, tv_nsec: 5_000_000 };
/// Looks in a row that find it making no call. It may be busy with something long, or the machine
/// with something else, and the end of a thread can take a tenth of a second; each look too few would
/// let threads race that need not.
const LOOKS: u32 = 60;
/// Of those, the ones in a row after which a thread that does not run is given up.
const LOOKS_ASLEEP: u32 = 40;

/// As many times longer under a tool: Valgrind's DRD and Helgrind slow programs down by 20 to 100 times (its manual), and run one
/// thread at a time.
const SLOWER_UNDER_TOOL: u32 = 100;

/// Result of the examinations of a thread since it last made progress.
#[derive(Default)]
pub struct Stuck {
    place: Option<(u64, u64)>,
    cpu_ns: u64,
    looks: u32,
    asleep: u32,
}

impl Stuck {
    /// Examines the thread once more. `place` changes whenever the thread gets on, and is `None` when there is nothing to
    /// wait for; `thread` is the thread, `None` when it has a reason to be slow.
    pub fn look(&mut self, place: Option<(u64, u64)>, thread: Option<&channel::Thread>) {
        if place.is_none() || place != self.place {
            *self = Stuck { place, ..Stuck::default() };
        }
        if let Some(thread) = thread.filter(|_| place.is_some()) {
            let cpu_ns = cpu_time_of(thread);
            self.asleep = if cpu_ns == self.cpu_ns { self.asleep + 1 } else { 0 };
            self.cpu_ns = cpu_ns;
            self.looks += 1;
        }
    }

    /// True when it is given up.
    pub fn is_sure(&self) -> bool {
        if halt::has_begun() {
            return false;
        }
        let slower = if is_under_tool() { SLOWER_UNDER_TOOL } else { 1 };
        self.asleep >= LOOKS_ASLEEP * slower || self.looks >= LOOKS * slower
    }
}

/// Nanoseconds that a thread has run so far; those of its process, if that is another one, and 0 once it is gone. Read without a
/// descriptor: one that is open for a moment takes a number that the server is about to get.
fn cpu_time_of(thread: &channel::Thread) -> u64 {
    let process = thread.process.load(Ordering::Relaxed);
    // The clocks of threads and processes as the kernel numbers them (pthread_getcpuclockid and clock_getcpuclockid in glibc):
    // the inverted id, then 4 for a thread and 2 for time on the CPU.
    let clock = if process == index() {
        (!thread.tid.load(Ordering::Relaxed) << 3) | 6
    } else {
        (!control().processes[process as usize % PROCESSES].pid.load(Ordering::Relaxed) << 3) | 2
    };
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes the one timespec.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
