//! A server that goes on after its recording, as a child of this process, and how a server has ended.

use prony_demo::Exit;
use prony_machine::Interrupt;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, wait};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;

/// A server that goes on after its recording, as a child of this process.
#[derive(Debug, Clone)]
pub struct GoesOn {
    pid: i32,
    /// Signals that came since the demo was cut are among those that it has.
    interrupt: Arc<Interrupt>,
}

impl GoesOn {
    pub(crate) fn new(pid: i32, interrupt: Interrupt) -> GoesOn {
        GoesOn { pid, interrupt: Arc::new(interrupt) }
    }

    /// Kernel's id of the process.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Waits until it ends; passes SIGINT and SIGTERM on to it, and reaps what it leaves behind.
    ///
    /// # Errors
    /// When the kernel has no descriptor for it.
    pub fn wait(&self) -> io::Result<Exit> {
        let server = Pid::from_raw(self.pid).ok_or(io::ErrorKind::NotFound)?;
        let process = pidfd_open(server, PidfdFlags::empty())?;
        loop {
            while let Some(signal) = self.interrupt.take() {
                match signal {
                    SIGINT => kill_process(server, Signal::INT)?,
                    SIGTERM => kill_process(server, Signal::TERM)?,
                    _ => {}
                }
            }
            let mut watched = [PollFd::new(&process, PollFlags::IN)];
            // A signal ends the wait, unless it comes right before it.
            let second = rustix::time::Timespec { tv_sec: 1, tv_nsec: 0 };
            match poll(&mut watched, Some(&second)) {
                Err(error) if error != rustix::io::Errno::INTR => return Err(error.into()),
                _ => {}
            }
            // Orphans of the server have become children of this process.
            while let Some((ended, status)) = wait(WaitOptions::NOHANG)? {
                if ended == server {
                    return Ok(exit_of(ExitStatus::from_raw(status.as_raw())));
                }
            }
        }
    }
}

/// Exit code or signal of a process.
pub(crate) fn exit_of(ended: ExitStatus) -> Exit {
    match (ended.code(), ended.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Cut,
    }
}
