//! The process of a driver, and what it prints.
#![allow(unsafe_code, reason = "a child prepares itself before it executes its program")]

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, kill_process_group, set_parent_process_death_signal, waitid,
};

use crate::namespace::Binding;
use crate::options::Options;
use crate::scheduling;
use crate::vfio::seccomp::join_device;
use prony_machine::Tree;

/// Output that is kept, counted from its end.
const OUTPUT_BYTES: u64 = 16 << 10;
/// Time for a driver to end after SIGTERM.
const END: Duration = Duration::from_millis(500);

/// A driver that was started.
#[derive(Debug)]
pub(crate) struct Driver {
    child: Child,
    output: Option<File>,
}

impl Driver {
    /// Starts the driver, in the namespace and on the CPUs of this thread. It ends when this thread does.
    pub(crate) fn start(options: &Options) -> io::Result<Driver> {
        let (program, arguments) = options.command.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).envs(options.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).process_group(0);
        let output = match options.show_output {
            true => {
                let stderr = io::stderr();
                command.stdout(rustix::io::dup(&stderr).map(File::from)?);
                None
            }
            false => {
                let file = File::from(memfd_create("driver-output", MemfdFlags::CLOEXEC)?);
                command.stdout(file.try_clone()?).stderr(file.try_clone()?);
                Some(file)
            }
        };
        let uses_vfio = options.binding == Binding::Vfio;
        let prepare = move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            if uses_vfio { join_device() } else { Ok(()) }
        };
        // SAFETY: the closure makes system calls, which allocate nothing and take no lock.
        unsafe { command.pre_exec(prepare) };
        Ok(Driver { child: command.spawn()?, output })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it did.
    pub(crate) fn poll_end(&mut self) -> Option<ExitStatus> {
        let pid = Pid::from_raw(self.child.id() as i32)?;
        let has_ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(pid), has_ended) {
            Ok(None) => None,
            // Ended; or waited for already, of which `Child` knows the status.
            Ok(Some(_)) | Err(_) => {
                scheduling::go_last();
                self.child.try_wait().ok().flatten()
            }
        }
    }

    /// Last lines that the driver printed.
    pub(crate) fn output(&mut self) -> String {
        let Some(file) = &mut self.output else { return String::new() };
        let mut bytes = Vec::new();
        let length = file.metadata().map_or(0, |facts| facts.len());
        // A memory file can be read as long as there is memory; what cannot is not shown.
        let _ =
            file.seek(SeekFrom::Start(length.saturating_sub(OUTPUT_BYTES))).and_then(|_| file.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Ends it and what it started, with SIGKILL, wherever it is.
    pub(crate) fn kill(mut self) -> io::Result<ExitStatus> {
        if let Some(group) = Pid::from_raw(self.child.id() as i32) {
            // It may have ended by itself.
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.child.wait()
    }

    /// Ends it and what it started, with SIGTERM and then with SIGKILL.
    pub(crate) fn end(&mut self) -> Option<ExitStatus> {
        let group = Pid::from_raw(self.child.id() as i32)?;
        if let Some(status) = self.poll_end() {
            // Processes that it left behind are in its group, if they did not take care to leave it.
            let _ = kill_process_group(group, Signal::KILL);
            return Some(status);
        }
        let _ = kill_process_group(group, Signal::TERM);
        let until = Instant::now() + END;
        let mut status = None;
        while status.is_none() && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
            status = self.poll_end();
        }
        let _ = kill_process_group(group, Signal::KILL);
        status.or_else(|| {
            scheduling::go_last();
            self.child.wait().ok()
        })
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.end();
    }
}

/// A process and all that it started.
pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut at = 0;
    while at < found.len() {
        let tasks = Tree::machine().names(&format!("/proc/{}/task", found[at]));
        for task in tasks {
            let children =
                Tree::machine().read(&format!("/proc/{}/task/{task}/children", found[at])).unwrap_or_default();
            found.extend(children.split_ascii_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
        at += 1;
    }
    found
}
