//! Hardware counters of a process and its children, where the machine has them.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;

/// What hardware can count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// Instructions retired.
    Instructions,
    /// Cycles at the frequency of the moment.
    Cycles,
    /// Branches that went another way than predicted.
    BranchMisses,
    /// Reads that no cache could answer.
    CacheMisses,
}

impl Counter {
    const ALL: [Counter; 4] = [Counter::Instructions, Counter::Cycles, Counter::BranchMisses, Counter::CacheMisses];

    /// Its name, as `perf stat` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Counter::Instructions => "instructions",
            Counter::Cycles => "cycles",
            Counter::BranchMisses => "branch-misses",
            Counter::CacheMisses => "cache-misses",
        }
    }

    /// `PERF_COUNT_HW_*` of include/uapi/linux/perf_event.h.
    fn config(self) -> u64 {
        match self {
            Counter::Cycles => 0,
            Counter::Instructions => 1,
            Counter::CacheMisses => 3,
            Counter::BranchMisses => 5,
        }
    }
}

/// What was counted; empty where the machine counts nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts(pub Vec<(Counter, u64)>);

/// Counters that children of this thread inherit, and that count from their `execve` on. Ours never
/// runs, as we never execute; a child adds what it counted when it ends.
#[derive(Debug)]
pub(super) struct Counters(Vec<(Counter, File)>);

/// What a counter says: events, and for how long it was wanted and had a place in the hardware.
type Reading = [u64; 3];

impl Counters {
    pub(super) fn open() -> Counters {
        Counters(Counter::ALL.into_iter().filter_map(|counter| Some((counter, open(counter).ok()?))).collect())
    }

    pub(super) fn available(&self) -> Vec<Counter> {
        self.0.iter().map(|&(counter, _)| counter).collect()
    }

    pub(super) fn read(&mut self) -> Vec<Reading> {
        self.0.iter_mut().map(|(_, file)| read(file).unwrap_or_default()).collect()
    }

    /// What was counted since `before`; a counter that had no place in the hardware is left out.
    pub(super) fn since(&mut self, before: &[Reading]) -> Counts {
        let after = self.read();
        let counters = self.0.iter().map(|&(counter, _)| counter);
        let counted = counters.zip(before.iter().zip(&after)).filter_map(|(counter, (before, after))| {
            let [count, enabled, running] = [0, 1, 2].map(|field| after[field].saturating_sub(before[field]));
            // perf_event_open(2): counters that shared a place are scaled by enabled / running.
            (running > 0).then(|| (counter, (count as f64 * enabled as f64 / running as f64) as u64))
        });
        Counts(counted.collect())
    }
}

fn read(file: &mut File) -> io::Result<Reading> {
    let mut bytes = [0; size_of::<Reading>()];
    file.read_exact(&mut bytes)?;
    let field = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    Ok([field(0), field(8), field(16)])
}

/// `struct perf_event_attr` in its first published size (PERF_ATTR_SIZE_VER0).
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const PERF_TYPE_HARDWARE: u32 = 0;
const PERF_FORMAT_TOTAL_TIMES: u64 = 0b11;
const DISABLED: u64 = 1 << 0;
const INHERIT: u64 = 1 << 1;
/// Without it a user needs more rights (`perf_event_paranoid` above 1), and the kernel's part is the
/// noisiest.
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const ENABLE_ON_EXEC: u64 = 1 << 12;

fn open(counter: Counter) -> io::Result<File> {
    let attributes = Attributes {
        kind: PERF_TYPE_HARDWARE,
        size: size_of::<Attributes>() as u32,
        config: counter.config(),
        read_format: PERF_FORMAT_TOTAL_TIMES,
        flags: DISABLED | INHERIT | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR | ENABLE_ON_EXEC,
        ..Attributes::default()
    };
    const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;
    // SAFETY: `attributes` is as long as it says and outlives the call; the new descriptor belongs
    // to nobody else.
    unsafe {
        let (this_thread, any_cpu, no_group) = (0, -1, -1);
        let descriptor = libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            this_thread,
            any_cpu,
            no_group,
            PERF_FLAG_FD_CLOEXEC,
        );
        match descriptor {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(File::from_raw_fd(descriptor as i32)),
        }
    }
}
