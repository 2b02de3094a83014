//! A server that was started: its end, its signals, and processes that descend from it.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

/// A server that was started.
#[derive(Debug)]
pub(crate) struct Launched {
    child: Child,
    ended: Option<ExitStatus>,
    /// CPU time of those that were reaped, in seconds.
    cpu_s: f64,
    /// Readable once the process has ended.
    watch: Option<OwnedFd>,
    /// It goes on when this is dropped.
    let_go: bool,
    /// The process that goes on instead of the started one, if one does.
    followed: Option<i32>,
}

impl Launched {
    pub(super) fn of(child: Child) -> Launched {
        Launched { child, ended: None, cpu_s: 0.0, watch: None, let_go: false, followed: None }
    }

    /// Kernel's id of the process, and of its process group.
    pub(crate) fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Exit status of the started process; `None` while it runs.
    ///
    /// # Errors
    /// When the kernel no longer knows the process.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            let reaped = self.reap(self.running_pid(), libc::WNOHANG)?;
            self.ended = reaped.map(ExitStatus::from_raw);
        }
        Ok(self.ended)
    }

    /// Kernel's id of the process that runs the server.
    fn running_pid(&self) -> i32 {
        self.followed.unwrap_or(self.pid())
    }

    /// Ends the process that runs the server, and waits until it has ended.
    ///
    /// # Errors
    /// When the kernel no longer knows the process.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.signal(libc::SIGKILL);
        while self.ended.is_none() {
            let reaped = self.reap(self.running_pid(), 0);
            match reaped {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => self.ended = other?.map(ExitStatus::from_raw),
            }
        }
        Ok(())
    }

    /// Another process of the group runs the server from here on: the shared memory names it. False if it is no child of this one.
    pub(crate) fn follow(&mut self, pid: i32) -> bool {
        let is_child = parent_and_state(pid).is_some_and(|(parent, _)| parent == std::process::id() as i32);
        // SAFETY: only a query.
        let is_it = is_child && unsafe { libc::getpgid(pid) } == self.pid();
        if is_it {
            (self.followed, self.ended, self.watch) = (Some(pid), None, None);
        }
        is_it
    }

    /// Reaps a child if it ended, and returns how. `whom` is as in waitpid(2).
    fn reap(&mut self, whom: libc::pid_t, options: libc::c_int) -> io::Result<Option<libc::c_int>> {
        // SAFETY: all zero is a valid rusage; it and the status are filled by the call, which they outlive.
        let (reaped, status, used) = unsafe {
            let (mut status, mut used) = (0, std::mem::zeroed::<libc::rusage>());
            (libc::wait4(whom, &mut status, options | libc::__WALL, &mut used), status, used)
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        match reaped {
            -1 => Err(io::Error::last_os_error()),
            0 => Ok(None),
            _ => {
                self.cpu_s += seconds(used.ru_utime) + seconds(used.ru_stime);
                Ok(Some(status))
            }
        }
    }

    /// Sends a signal to the started process.
    pub(crate) fn signal(&self, signal: i32) {
        if self.ended.is_none() {
            // SAFETY: the child has not been reaped, so the number is still its own.
            unsafe { libc::kill(self.running_pid(), signal) };
        }
    }

    /// Sends a signal to a process that the shared memory names, if it descends from this one: what stands there a
    /// server wrote, and it may name whom it likes.
    pub(crate) fn signal_process(pid: i32, signal: i32) {
        // SAFETY: the descriptor is new and ours; as long as it is open, the number belongs to the same process.
        unsafe {
            let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0) as RawFd;
            if fd < 0 {
                return;
            }
            let process = OwnedFd::from_raw_fd(fd);
            if Launched::runs(pid) {
                libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), signal, std::ptr::null::<()>(), 0);
            }
        }
    }

    /// Waits until the started process has ended, at most this long.
    ///
    /// # Errors
    /// When the kernel has no descriptor for the process.
    pub(crate) fn wait_for(&mut self, time: std::time::Duration) -> io::Result<Option<ExitStatus>> {
        if self.ended()?.is_none() {
            if self.watch.is_none() {
                // SAFETY: the child has not been reaped; the descriptor is new and ours.
                self.watch = unsafe {
                    let fd = libc::syscall(libc::SYS_pidfd_open, self.running_pid(), 0) as RawFd;
                    if fd < 0 {
                        return Err(io::Error::last_os_error());
                    }
                    Some(OwnedFd::from_raw_fd(fd))
                };
            }
            if let Some(watch) = &self.watch {
                let mut poll = libc::pollfd { fd: watch.as_raw_fd(), events: libc::POLLIN, revents: 0 };
                // SAFETY: one entry, which lives across the call.
                unsafe { libc::poll(&mut poll, 1, time.as_millis() as i32) };
            }
        }
        self.ended()
    }

    /// Lets the server go on when this is dropped.
    pub(crate) fn let_go(&mut self) {
        self.let_go = true;
    }

    /// Ends every process of the group.
    pub(crate) fn kill_group(&self) {
        // SAFETY: the group was made for this child; members keep its number in use.
        unsafe { libc::kill(-self.pid(), libc::SIGKILL) };
    }

    /// CPU time of the started process and of its children, as far as they have ended and are reaped, in seconds.
    pub(crate) fn cpu_s(&self) -> f64 {
        self.cpu_s
    }

    /// Becomes the parent of orphaned grandchildren, so that none outlives a replay unseen.
    pub(crate) fn adopt_orphans() {
        // SAFETY: sets an attribute of this process.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    }

    /// Reaps orphans of the started process that ended: those of its group, and of `processes`, whatever group they went
    /// to. True while there are others that run. Servers that were started at the same time keep theirs.
    pub(crate) fn reap_orphans(&mut self, processes: &[i32]) -> bool {
        if !matches!(self.ended(), Ok(Some(_))) {
            return true;
        }
        let group = [-self.pid()];
        let mut others_run = false;
        for &whom in group.iter().chain(processes.iter().filter(|&&pid| pid > 0)) {
            // Until it is gone, or the child of another process.
            while let Ok(found) = self.reap(whom, libc::WNOHANG) {
                if found.is_none() {
                    others_run = true;
                    break;
                }
            }
        }
        others_run
    }

    /// Name of the program that a process runs, as the kernel has it (at most 15 bytes); empty once it has ended.
    pub(crate) fn name_of(pid: i32) -> String {
        let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        String::from_utf8_lossy(name.trim_ascii_end()).into_owned()
    }

    /// True if the process descends from this one and still runs (and is not a zombie).
    pub(crate) fn runs(pid: i32) -> bool {
        match parent_and_state(pid) {
            Some((_, b'Z' | b'X')) | None => false,
            Some((parent, _)) => descends(parent),
        }
    }
}

/// Generations that are looked at.
const GENERATIONS: usize = 1000;

/// True for this process and its descendants, as far as those in between live; a process whose parent died is this
/// one's child (see [`Launched::adopt_orphans`]).
fn descends(mut pid: i32) -> bool {
    for _ in 0..GENERATIONS {
        if pid == std::process::id() as i32 {
            return true;
        }
        match parent_and_state(pid) {
            Some((parent, _)) if parent > 0 => pid = parent,
            _ => return false,
        }
    }
    false
}

/// Parent and state of a process: what follows its name, which may hold anything, in `/proc/PID/stat`.
fn parent_and_state(pid: i32) -> Option<(i32, u8)> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let mut fields = stat.rsplit(") ").next()?.split(' ');
    let state = fields.next()?.bytes().next()?;
    Some((fields.next()?.parse().ok()?, state))
}

impl Drop for Launched {
    fn drop(&mut self) {
        if self.let_go {
            return;
        }
        self.kill_group();
        // One that the kernel no longer knows has ended.
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_descendants_are_taken_for_servers() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().expect("sleep is everywhere");
        let pid = child.id() as i32;
        assert!(Launched::runs(pid) && !Launched::runs(1) && !Launched::runs(-1) && !Launched::runs(0));
        Launched::signal_process(1, 0);
        Launched::signal_process(pid, libc::SIGKILL);
        assert!(!child.wait().expect("it is ours").success());
        assert!(!Launched::runs(pid));
    }
}
