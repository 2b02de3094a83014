//! The kernel's counts of a thread.

/// The kernel's counts of this thread; getrusage(2) with `RUSAGE_THREAD`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Page faults, those served from memory and those that waited for a disk.
    pub faults: u64,
    /// Times that it was made to yield its CPU.
    pub preempted: u64,
}

/// Counts of this thread since it began.
pub fn thread_usage() -> ThreadUsage {
    // SAFETY: rusage is plain data; the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
        usage
    };
    ThreadUsage { faults: (usage.ru_minflt + usage.ru_majflt) as u64, preempted: usage.ru_nivcsw as u64 }
}
