//! What the kernel lets this user do here: tried, not concluded from settings.

use std::io;
use std::thread;

use crate::Tree;
use crate::perf::{PerfError, Ring, Sampling, Target, Trigger};
use crate::process::{Counter, Runner};

/// Abilities of this user on this machine.
#[derive(Debug)]
pub struct Abilities {
    /// The effective user is root.
    pub is_root: bool,
    /// Stack samples of own processes, without those of the kernel.
    pub sampling: Result<(), PerfError>,
    /// Stack samples of own processes, with those of the kernel.
    pub kernel_sampling: Result<(), PerfError>,
    /// Stack samples of all processes of the machine.
    pub machine_sampling: Result<(), PerfError>,
    /// Hardware counters of own processes.
    pub counters: Vec<Counter>,
    /// The kernel reports the ends of threads and children, with their waits for a CPU.
    pub reports_exits: bool,
    /// `SCHED_FIFO`, or the error of the kernel.
    pub realtime: io::Result<()>,
    /// Number of descriptors that a process may have, if it raises its limit.
    pub descriptors: Option<u64>,
    /// The kernel has huge pages of 2 MiB that can be reserved.
    pub has_huge_pages: bool,
    /// Number of CPUs that this process may use.
    pub cpus: usize,
}

/// Tries everything. Takes a few milliseconds, and changes nothing.
pub fn abilities(tree: &Tree) -> Abilities {
    let cpu = crate::bench_cpu(tree) as usize;
    let sampled = |kernel, target| {
        let sampling =
            Sampling { trigger: Trigger::CpuClock, frequency_hz: 99, kernel, stack_bytes: None, tracking: false };
        Ring::open(&sampling, target, cpu, 1 << 14).map(|_| ())
    };
    let runner = Runner::new();
    Abilities {
        is_root: rustix::process::geteuid().is_root(),
        sampling: sampled(false, Target::ThisThread),
        kernel_sampling: sampled(true, Target::ThisThread),
        machine_sampling: sampled(true, Target::Everyone),
        counters: runner.counters().to_vec(),
        reports_exits: runner.reports_exits(),
        realtime: realtime(),
        descriptors: rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum,
        has_huge_pages: tree.exists("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"),
        cpus: crate::affinity::allowed().map_or(0, |cpus| cpus.len()),
    }
}

/// Gives a thread `SCHED_FIFO`, and lets it end.
fn realtime() -> io::Result<()> {
    let tried = thread::spawn(|| {
        let parameter = libc::sched_param { sched_priority: 1 };
        // SAFETY: the structure is complete, and 0 is the calling thread, which does nothing else.
        match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    });
    tried.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_tried_agrees_with_what_the_settings_say() {
        let abilities = abilities(&Tree::machine());
        assert!(abilities.cpus >= 1);
        // A process that may sample the machine may sample the kernel below its own processes, and these without it.
        assert!(abilities.machine_sampling.is_err() || abilities.kernel_sampling.is_ok());
        assert!(abilities.kernel_sampling.is_err() || abilities.sampling.is_ok());
        assert!(abilities.descriptors.is_none_or(|most| most > 0));
        // The thread that had it is gone.
        // SAFETY: queries the scheduler of the calling thread.
        assert_ne!(unsafe { libc::sched_getscheduler(0) }, libc::SCHED_FIFO);
    }
}
