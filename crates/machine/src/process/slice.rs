//! Time slice of a thread before the scheduler runs others on its CPU.

use std::io;
use std::mem;

/// The shortest that the kernel takes (`sched_setattr(2)`: 0.1 to 100 ms).
pub const SHORTEST_NS: u64 = 100_000;

/// Requests slices of this length for the calling thread and all that it starts from now on. Its policy, its nice value
/// and its priority stay. A thread of a real-time policy has no slices and is left as it is.
///
/// A slice ends at the next interruption of its CPU after that time: the timer's, each 1 to 10 ms, unless something else wakes there.
///
/// # Errors
/// What the system calls answer. A kernel before 6.12 takes the value and does nothing with it.
pub fn shorten(slice_ns: u64) -> io::Result<()> {
    // SAFETY: both calls get a struct of the size passed to them, which lives across them; plain data, for which zeros are valid.
    unsafe {
        let mut attributes: libc::sched_attr = mem::zeroed();
        let size = size_of_val(&attributes) as u32;
        if libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) == -1 {
            return Err(io::Error::last_os_error());
        }
        let has_slices =
            [libc::SCHED_OTHER, libc::SCHED_BATCH].iter().any(|&policy| policy as u32 == attributes.sched_policy);
        if !has_slices {
            return Ok(());
        }
        attributes.sched_runtime = slice_ns;
        match libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_nice_value() {
        let nice = || {
            // SAFETY: a pure query.
            unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
        };
        std::thread::spawn(move || {
            // SAFETY: of this thread only, on Linux; a greater value is always allowed.
            assert_eq!(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 7) }, 0);
            shorten(SHORTEST_NS).expect("0.1 ms are allowed");
            assert_eq!(nice(), 7);
        })
        .join()
        .expect("it does not panic");
    }
}
