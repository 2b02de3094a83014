//! Waiting for frames in place of polling.

use std::io;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::port::Port;

/// Waits until one of the ports has received frames, or for a time if there is a limit; spurious returns are possible.
///
/// Ports without interrupts are not waited for: if there is one, the call returns at once.
///
/// # Errors
/// What the kernel returns.
pub fn wait_for_frames<P: Port>(ports: &mut [&mut P], limit: Option<Duration>) -> io::Result<()> {
    // All of them: what comes after that interrupts, and what came before is seen.
    let mut has_frames = false;
    for port in ports.iter_mut() {
        has_frames |= port.enable_interrupt();
    }
    if has_frames {
        return Ok(());
    }
    let mut files: Vec<PollFd> = Vec::with_capacity(ports.len());
    for port in ports.iter() {
        let Some(interrupt) = port.interrupt() else { return Ok(()) };
        files.push(PollFd::from_borrowed_fd(interrupt, PollFlags::IN));
    }
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    match poll(&mut files, limit.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
