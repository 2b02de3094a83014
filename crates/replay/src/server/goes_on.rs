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
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// A server that goes on after its recording, as a child of this process.
#[derive(Debug, Clone)]
pub struct GoesOn {
    pid: i32,
    /// Signals that came since the demo was cut are among those that it has.
    interrupt: Arc<Interrupt>,
    /// When it is to be ended.
    ends_at: Option<Instant>,
}

/// Time that a server has to end by itself after SIGTERM.
const GRACE: Duration = Duration::from_secs(10);

impl GoesOn {
    pub(crate) fn new(pid: i32, interrupt: Interrupt, ends_at: Option<Instant>) -> GoesOn {
        GoesOn { pid, interrupt: Arc::new(interrupt), ends_at }
    }

    /// Kernel's id of the process.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Waits until it ends; passes SIGINT and SIGTERM on to it, and reaps what it leaves behind. One that had a time limit is
    /// ended then, which is [`Exit::Cut`].
    ///
    /// # Errors
    /// When the kernel has no descriptor for it.
    pub fn wait(&self) -> io::Result<Exit> {
        let server = Pid::from_raw(self.pid).ok_or(io::ErrorKind::NotFound)?;
        let process = pidfd_open(server, PidfdFlags::empty())?;
        let mut requests =
            self.ends_at.into_iter().flat_map(|end| [(end, Signal::TERM), (end + GRACE, Signal::KILL)]).peekable();
        let is_cut = |ended| if self.ends_at.is_some_and(|end| Instant::now() >= end) { Exit::Cut } else { ended };
        loop {
            if let Some((_, signal)) = requests.next_if(|(at, _)| Instant::now() >= *at) {
                kill_process(server, signal)?;
            }
            self.pass_on(server)?;
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
                    return Ok(is_cut(exit_of(ExitStatus::from_raw(status.as_raw()))));
                }
            }
        }
    }
}

impl GoesOn {
    /// Passes SIGINT and SIGTERM on to it while `work` is done, which may wait for a disk.
    pub(crate) fn meanwhile<T>(&self, work: impl FnOnce() -> T) -> T {
        // Dropped when the work is done, also by a panic.
        let (done, is_done) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // One that has ended is a child still, so that no other process has its number.
                while is_done.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                    let _ = Pid::from_raw(self.pid).map_or(Ok(()), |server| self.pass_on(server));
                }
            });
            let _done = done;
            work()
        })
    }

    fn pass_on(&self, server: Pid) -> io::Result<()> {
        while let Some(signal) = self.interrupt.take() {
            match signal {
                SIGINT => kill_process(server, Signal::INT)?,
                SIGTERM => kill_process(server, Signal::TERM)?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Time between looks at signals.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Exit code or signal of a process.
pub(crate) fn exit_of(ended: ExitStatus) -> Exit {
    match (ended.code(), ended.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(signal)) => Exit::Signal(signal),
        (None, None) => Exit::Cut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_signal_is_passed_on_while_a_disk_is_waited_for() {
        let mut server = Command::new("sleep").arg("1000").spawn().expect("sleep(1) is there");
        let pid = i32::try_from(server.id()).expect("ids are small");
        let interrupt = Interrupt::catch_each(&[SIGINT, SIGTERM]).expect("there are descriptors");
        let goes_on = GoesOn::new(pid, interrupt, None);
        let ended = goes_on.meanwhile(|| {
            signal_hook::low_level::raise(SIGTERM).expect("a process may signal itself");
            server.wait().expect("it was started")
        });
        assert_eq!(ended.signal(), Some(SIGTERM));
        assert_eq!(goes_on.meanwhile(|| 7), 7);
    }
}
