//! Hardware counters of a process and its children, where the machine has them.

use std::fs::File;
use std::io::{self, Read};

use crate::perf::event::{
    self, ANY_CPU, Attributes, COUNT_HW_BRANCH_MISSES, COUNT_HW_CACHE_MISSES, COUNT_HW_CPU_CYCLES,
    COUNT_HW_INSTRUCTIONS, DISABLED, ENABLE_ON_EXEC, EXCLUDE_HYPERVISOR, EXCLUDE_KERNEL, INHERIT, PERF_TYPE_HARDWARE,
    THIS_THREAD,
};

/// Hardware events that can be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counter {
    /// Number of retired instructions.
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

    /// Name of the event, as in `perf stat`.
    pub fn name(self) -> &'static str {
        match self {
            Counter::Instructions => "instructions",
            Counter::Cycles => "cycles",
            Counter::BranchMisses => "branch-misses",
            Counter::CacheMisses => "cache-misses",
        }
    }

    /// Number of the counter, as `PERF_COUNT_HW_*` of include/uapi/linux/perf_event.h.
    pub(super) fn config(self) -> u64 {
        match self {
            Counter::Cycles => COUNT_HW_CPU_CYCLES,
            Counter::Instructions => COUNT_HW_INSTRUCTIONS,
            Counter::CacheMisses => COUNT_HW_CACHE_MISSES,
            Counter::BranchMisses => COUNT_HW_BRANCH_MISSES,
        }
    }
}

/// Counted events; empty if the machine counts nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts(pub Vec<(Counter, u64)>);

/// Counters of one child of this thread and of its children, from its `execve` on. Ours never runs, as we never
/// execute; a child adds what it counted when it ends.
///
/// Each child needs new ones. The kernel may exchange the events of a thread and its child at a switch between them,
/// and the flag to start at `execve` is spent with the first: a second child would not be counted.
#[derive(Debug)]
pub(super) struct Counters(Vec<(Counter, File)>);

/// Reading of a counter: events, and the times for which it was enabled and running.
type Reading = [u64; 3];

impl Counters {
    /// Counters that this machine has.
    pub(super) fn available() -> Vec<Counter> {
        Counter::ALL.into_iter().filter(|counter| open(PERF_TYPE_HARDWARE, counter.config()).is_ok()).collect()
    }

    pub(super) fn open(counters: &[Counter]) -> Counters {
        let open = |&counter: &Counter| Some((counter, open(PERF_TYPE_HARDWARE, counter.config()).ok()?));
        Counters(counters.iter().filter_map(open).collect())
    }

    /// Counted events; a counter that never ran is left out.
    pub(super) fn counts(self) -> Counts {
        let counted = self.0.into_iter().filter_map(|(counter, mut file)| {
            let [count, enabled, running] = read(&mut file).ok()?;
            // perf_event_open(2): counters that shared a place are scaled by enabled / running.
            (running > 0).then(|| (counter, (count as f64 * enabled as f64 / running as f64) as u64))
        });
        Counts(counted.collect())
    }
}

fn read(file: &mut File) -> io::Result<Reading> {
    let mut bytes = [0; size_of::<Reading>()];
    file.read_exact(&mut bytes)?;
    let mut fields = bytes.as_chunks().0.iter().map(|field| u64::from_ne_bytes(*field));
    Ok(std::array::from_fn(|_| fields.next().unwrap_or_default()))
}

/// Reads give, after the count, for how long it was wanted and had a place in the hardware.
const PERF_FORMAT_TOTAL_TIMES: u64 = 0b11;

fn open(kind: u32, config: u64) -> io::Result<File> {
    let attributes = Attributes {
        kind,
        config,
        read_format: PERF_FORMAT_TOTAL_TIMES,
        // With the kernel's part a user needs more rights (`perf_event_paranoid` above 1), and it is the noisiest.
        flags: DISABLED | INHERIT | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR | ENABLE_ON_EXEC,
        ..Attributes::default()
    };
    event::open(attributes, THIS_THREAD, ANY_CPU)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::perf::event::PERF_TYPE_SOFTWARE;

    #[test]
    fn every_child_is_counted() {
        const PERF_COUNT_SW_PAGE_FAULTS: u64 = 2;
        for child in 0..100 {
            let mut counter = open(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS).expect("any kernel counts faults");
            assert!(Command::new("true").status().expect("it runs").success());
            let [faults, ..] = read(&mut counter).expect("an event");
            assert!(faults > 20, "child {child} had {faults} faults");
        }
    }
}
