//! Runs a command on a quiet machine.

use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitStatus};

use rustix::process::{getpriority_process, setpriority_process};

use super::{Signals, Tuning};
use crate::{CpuSet, affinity};

/// Nice value of the highest priority.
const NICE: i32 = -20;

/// In the middle, so that threads of the kernel that must come first can.
const FIFO_PRIORITY: i32 = 50;

/// Result of running a command.
#[derive(Debug)]
pub struct Ran {
    /// Exit status of the command.
    pub status: ExitStatus,
    /// Scheduling requests that failed: `nice -20`, and the kernel's reason.
    pub lacked: Vec<(&'static str, io::Error)>,
}

impl Tuning<'_> {
    /// Runs a command inside the shield, on the benchmark's CPUs, before all others; waits for its end.
    ///
    /// `fifo`: under `SCHED_FIFO` instead of a nice value.
    ///
    /// # Errors
    /// When it has no word, or cannot be started.
    pub fn run(&self, command: &[OsString], cpus: &CpuSet, fifo: bool, signals: &Signals) -> io::Result<Ran> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut lacked = Vec::new();
        // The command inherits all of it; this process is put back before it waits, so that what it
        // does itself stays away from the command.
        let shield = self.shield.as_ref().filter(|shield| shield.raised);
        if let Some(Err(error)) = shield.map(|shield| shield.enter(self.tree)) {
            lacked.push(("the shield", error));
        }
        let own = self.tree.is_machine().then(|| Own::give_up(cpus, fifo, &mut lacked));
        let child = Command::new(program).args(arguments).spawn();
        if let Some(own) = own {
            own.take_back();
        }
        if let Some(Err(error)) = shield.map(|shield| shield.leave(self.tree)) {
            lacked.push(("the way out of the shield", error));
        }
        let mut child = child?;
        signals.pass_to(child.id())?;
        Ok(Ran { status: child.wait()?, lacked })
    }
}

/// Scheduling of this thread while no command is started.
struct Own {
    allowed: Option<CpuSet>,
    nice: Option<i32>,
    fifo: bool,
}

impl Own {
    fn give_up(cpus: &CpuSet, fifo: bool, lacked: &mut Vec<(&'static str, io::Error)>) -> Own {
        let allowed = affinity::allowed().ok();
        if let Err(error) = affinity::set_allowed(cpus) {
            lacked.push(("its CPUs", error));
        }
        let nice = getpriority_process(None).ok();
        let faster = if fifo {
            schedule(libc::SCHED_FIFO, FIFO_PRIORITY)
        } else {
            setpriority_process(None, NICE).map_err(Into::into)
        };
        if let Err(error) = faster {
            lacked.push((if fifo { "SCHED_FIFO" } else { "nice -20" }, error));
        }
        Own { allowed, nice, fifo }
    }

    /// Less can always be had, and where more was refused nothing was taken.
    fn take_back(self) {
        if self.fifo {
            let _ = schedule(libc::SCHED_OTHER, 0);
        } else if let Some(nice) = self.nice {
            let _ = setpriority_process(None, nice);
        }
        if let Some(allowed) = self.allowed {
            let _ = affinity::set_allowed(&allowed);
        }
    }
}

/// Sets the scheduling policy of this thread.
fn schedule(policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    let parameter = libc::sched_param { sched_priority: priority };
    // SAFETY: the parameter lives through the call, which reads it and keeps nothing; 0 is this thread.
    let answer = unsafe { libc::sched_setscheduler(0, policy, &parameter) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
