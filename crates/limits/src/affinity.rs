//! Which CPU a thread runs on.

use std::io;

/// CPUs on which this thread may run, ascending; sched_getaffinity(2).
pub fn allowed() -> Vec<usize> {
    // SAFETY: an all-zero cpu_set_t is the empty set, and the call writes no more than its size.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set);
        set
    };
    // SAFETY: every number is below the size of the set.
    (0..libc::CPU_SETSIZE as usize).filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) }).collect()
}

/// Binds this thread to one CPU until [`Bound`] is dropped.
///
/// # Errors
/// When it may not run there.
pub fn bind(cpu: usize) -> io::Result<Bound> {
    let before = allowed();
    bind_to(&[cpu])?;
    Ok(Bound { before })
}

/// A thread that stays where it is.
#[derive(Debug)]
pub struct Bound {
    before: Vec<usize>,
}

impl Drop for Bound {
    fn drop(&mut self) {
        // Whoever took CPUs away meanwhile knows better.
        let _ = bind_to(&self.before);
    }
}

fn bind_to(cpus: &[usize]) -> io::Result<()> {
    // SAFETY: an all-zero cpu_set_t is the empty set; CPU_SET ignores numbers beyond the set.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for &cpu in cpus.iter().filter(|&&cpu| cpu < libc::CPU_SETSIZE as usize) {
            libc::CPU_SET(cpu, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// What the kernel counts of this thread; getrusage(2) with `RUSAGE_THREAD`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_thread_may_run_on_one_cpu_and_on_all_again_after() {
        let before = allowed();
        let bound = bind(before[0]).expect("a thread may run where it may run");
        assert_eq!(allowed(), before[..1]);
        drop(bound);
        assert_eq!(allowed(), before);
    }
}
