//! Scheduling of the device and its driver where both share a CPU.
#![allow(unsafe_code, reason = "scheduling calls")]

use std::io;

/// In the middle, so that threads of the kernel that must come first can.
const FIFO_PRIORITY: i32 = 50;

/// Has the driver go before everything else on its CPU but the device, so that a slice is its own: for what this thread starts
/// from now on. Threads of equal rank take turns, so that one that spins does not stop the others of a virtual machine.
pub(crate) fn favour_children() -> io::Result<()> {
    schedule(libc::SCHED_RR, 1)
}

/// The device goes before the driver whenever it does not sleep, until [`go_last`]: next to a driver that polls, it would
/// otherwise have a CPU only when the kernel throttles real-time threads, once a second.
pub(crate) fn go_first() -> io::Result<()> {
    schedule(libc::SCHED_FIFO, FIFO_PRIORITY)
}

/// The device no longer goes before others. For a driver that has ended or was killed: the kernel removes a process from `/proc`
/// in a loop that waits for processes that read it there, which may be on this CPU and never have its turn.
pub(crate) fn go_last() {
    // Less can always be had.
    let _ = schedule(libc::SCHED_OTHER, 0);
}

fn schedule(policy: i32, priority: i32) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameter lives through the call, which reads it and keeps nothing; 0 is this thread.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const parameter) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
