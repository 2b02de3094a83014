//! CPUs on which a thread may run; sched_setaffinity(2).
//!
//! A process that was just cloned and has not called `execve` yet may allocate nothing, and binds itself in
//! `process/start.rs`.

use std::io;
use std::marker::PhantomData;

use rustix::process::Pid;
use rustix::thread::{CpuSet as Mask, sched_getaffinity, sched_setaffinity};

use crate::CpuSet;

/// CPUs on which the calling thread may run.
///
/// # Errors
/// The kernel's.
pub fn allowed() -> io::Result<CpuSet> {
    let mask = sched_getaffinity(None)?;
    Ok((0..Mask::MAX_CPU).filter(|&cpu| mask.is_set(cpu)).filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// Lets the calling thread run on these CPUs only; threads and processes that it starts from then on inherit that.
///
/// # Errors
/// The kernel's: `EINVAL` where it may run on none of them.
pub fn set_allowed(cpus: &CpuSet) -> io::Result<()> {
    set(None, cpus)
}

/// Restricts another thread to these CPUs.
pub(crate) fn set_allowed_of(thread: Pid, cpus: &CpuSet) -> io::Result<()> {
    set(Some(thread), cpus)
}

fn set(thread: Option<Pid>, cpus: &CpuSet) -> io::Result<()> {
    let mut mask = Mask::new();
    cpus.iter().map(|cpu| cpu as usize).filter(|&cpu| cpu < Mask::MAX_CPU).for_each(|cpu| mask.set(cpu));
    Ok(sched_setaffinity(thread, &mask)?)
}

/// Pins the calling thread to one CPU until [`Pinned`] is dropped.
///
/// # Errors
/// The kernel's: `EINVAL` where there is no such CPU, or the thread may not run there.
pub fn pin(cpu: usize) -> io::Result<Pinned> {
    let before = allowed()?;
    set_allowed(&u32::try_from(cpu).into_iter().collect())?;
    Ok(Pinned { before, this_thread: PhantomData })
}

/// A pinned thread; dropped on that thread, it may run again where it might before.
#[derive(Debug)]
pub struct Pinned {
    before: CpuSet,
    this_thread: PhantomData<*const ()>,
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // CPUs that were taken away meanwhile are not given back.
        let _ = set_allowed(&self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_may_run_on_one_cpu_and_on_all_again_after() {
        let before = allowed().expect("a thread may ask for its own");
        let first = before.iter().next().expect("it runs on one");
        let pinned = pin(first as usize).expect("a thread may run where it may run");
        assert_eq!(allowed().expect("as before"), [first].into_iter().collect());
        drop(pinned);
        assert_eq!(allowed().expect("as before"), before);
    }

    #[test]
    fn a_cpu_that_no_machine_has_is_refused() {
        assert_eq!(pin(1 << 20).expect_err("there is none").raw_os_error(), Some(libc::EINVAL));
    }
}
