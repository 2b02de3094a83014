//! The kernel's clock that only goes forward, as `Instant` has it, in a form that is read in few instructions.

use std::time::Duration;

/// Time since the machine was started, without that in which it slept.
#[inline]
pub(crate) fn monotonic() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes the time to `time`, and fails for clocks alone that there are not.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
