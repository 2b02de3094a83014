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
/// CPU time that a thread may use without a call. It may be busy with something long; each millisecond too few would let threads race that need not.
/// Time on the clock does not count: the machine may be busy with something else.
const BUSY_NS: u64 = 300_000_000;
/// Looks in a row that find it hardly running, after which it is given up. The end of a thread can take a tenth of a second.
const LOOKS_ASLEEP: u32 = 40;
/// CPU time from one look to the next below which it hardly runs, as a thread that looks at a variable and sleeps.
const ASLEEP_NS: u64 = LOOK.tv_nsec as u64 / 10;

/// As many times longer under a tool: Valgrind's DRD and Helgrind slow programs down by 20 to 100 times (its manual), and run one
/// thread at a time.
const SLOWER_UNDER_TOOL: u32 = 100;

/// Result of the examinations of a thread since it last made progress.
#[derive(Default)]
pub struct Stuck {
    place: Option<(u64, u64)>,
    /// CPU time of the thread at the first look and at the last one.
    cpu_ns: Option<(u64, u64)>,
    asleep: u32,
}

impl Stuck {
    /// Examines the thread once more. `place` changes whenever the thread gets on, and is `None` when there is nothing to
    /// wait for; `thread` is the thread, `None` when it has a reason to be slow.
    pub fn look(&mut self, place: Option<(u64, u64)>, thread: Option<&channel::Thread>) {
        self.look_at(place, thread.filter(|_| place.is_some()).map(cpu_time_of));
    }

    /// `cpu_ns`: CPU time of the thread so far.
    fn look_at(&mut self, place: Option<(u64, u64)>, cpu_ns: Option<u64>) {
        if place.is_none() || place != self.place {
            *self = Stuck { place, ..Stuck::default() };
        }
        if let Some(now) = cpu_ns {
            let (first, last) = self.cpu_ns.unwrap_or((now, now));
            self.asleep = if now.saturating_sub(last) < ASLEEP_NS { self.asleep + 1 } else { 0 };
            self.cpu_ns = Some((first, now));
        }
    }

    /// True when it is given up.
    pub fn is_sure(&self) -> bool {
        if halt::has_begun() {
            return false;
        }
        self.is_given_up(if is_under_tool() { SLOWER_UNDER_TOOL } else { 1 })
    }

    fn is_given_up(&self, slower: u32) -> bool {
        let busy_ns = self.cpu_ns.map_or(0, |(first, last)| last.saturating_sub(first));
        self.asleep >= LOOKS_ASLEEP * slower || busy_ns >= BUSY_NS * u64::from(slower)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks until it is given up, at a thread that runs for `each_ns` between two of them; at most 10,000.
    fn looks_until_given_up(each_ns: u64, slower: u32) -> u64 {
        let mut stuck = Stuck::default();
        let mut look = 0;
        while !stuck.is_given_up(slower) && look < 10_000 {
            stuck.look_at(Some((7, 1)), Some(5_000_000_000 + look * each_ns));
            look += 1;
        }
        look
    }

    #[test]
    fn a_thread_that_computes_is_given_up_by_its_cpu_time_however_busy_the_machine_is() {
        let alone = LOOK.tv_nsec as u64;
        assert_eq!(looks_until_given_up(alone, 1), 61);
        // Eight others on its CPU.
        assert_eq!(looks_until_given_up(alone / 8, 1), 481);
        assert_eq!(looks_until_given_up(alone, 100), 6_001);
    }

    #[test]
    fn a_thread_that_hardly_runs_is_given_up_sooner() {
        assert_eq!(looks_until_given_up(0, 1), 40);
        assert_eq!(looks_until_given_up(ASLEEP_NS - 1, 1), 40);
    }

    #[test]
    fn a_thread_that_gets_on_or_has_a_reason_to_be_slow_is_not_given_up() {
        let mut stuck = Stuck::default();
        for look in 0..1000 {
            stuck.look_at(Some((look, 0)), Some(look * 5_000_000));
            assert!(!stuck.is_given_up(1));
        }
        for _ in 0..1000 {
            stuck.look_at(Some((7, 0)), None);
            assert!(!stuck.is_given_up(1));
        }
    }
}
