//! The kernel's accounting of a process that ended and is not reaped yet.

use std::fs::{self, File};
use std::io;
use std::mem;
use std::os::unix::fs::FileExt;

use super::{Faults, Switches};

/// Ways in which a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The process exited with this code.
    Exited(i32),
    /// A signal of this number ended the process.
    Signalled(i32),
    /// We ended it, because a stop was requested.
    Stopped,
}

/// Threads and children of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SpawnedTasks {
    /// True if the process had more than one thread.
    pub threads: bool,
    /// True if the process waited for children.
    pub children: bool,
}

impl SpawnedTasks {
    /// True with one thread and no child: what is known of the first thread is known of all.
    pub fn is_alone(self) -> bool {
        !self.threads && !self.children
    }
}

/// The kernel's account of a process.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) ended: Ended,
    pub(super) cpu_ns: u64,
    pub(super) user_ns: u64,
    pub(super) system_ns: u64,
    pub(super) pid: u32,
    pub(super) first_thread: Option<Schedstat>,
    pub(super) spawned: SpawnedTasks,
    pub(super) faults: Faults,
    pub(super) switches: Switches,
    pub(super) blocks_written: u64,
    pub(super) migrations: Option<u64>,
    pub(super) rss_max_bytes: u64,
}

/// Waits for the end of `pid`, reads its account and reaps it.
pub(super) fn settle(pid: libc::pid_t) -> io::Result<Account> {
    await_end(pid)?;
    // It may still be on its way off its CPU, and then has some time to come. What is compared is
    // therefore read in this order: a time that is part of another before it would be taken for less.
    let threads_ns = process_clock_ns(pid);
    let migrations = fs::read_to_string(format!("/proc/{pid}/sched")).ok().as_deref().and_then(parse_migrations);
    let schedstat = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok();
    let first_thread = schedstat.as_deref().and_then(parse_schedstat);
    let all_threads_ns = process_clock_ns(pid);
    let (status, usage) = reap(pid)?;
    let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    let (user_ns, system_ns) = (micros(usage.ru_utime), micros(usage.ru_stime));
    let with_children_ns = user_ns + system_ns;
    // `wait4` cuts user and system time to microseconds, never up: more than the process clock says
    // is time of children.
    let children = all_threads_ns.is_none_or(|ns| with_children_ns > ns + 1000);
    let threads = match (first_thread, threads_ns) {
        (Some(first), Some(all)) => all > first.ran_ns + 1000,
        _ => true,
    };
    Ok(Account {
        ended: match libc::WIFSIGNALED(status) {
            true => Ended::Signalled(libc::WTERMSIG(status)),
            false => Ended::Exited(libc::WEXITSTATUS(status)),
        },
        cpu_ns: all_threads_ns.filter(|_| !children).unwrap_or(with_children_ns),
        user_ns,
        system_ns,
        pid: pid as u32,
        first_thread,
        spawned: SpawnedTasks { threads, children },
        faults: Faults { minor: usage.ru_minflt as u64, major: usage.ru_majflt as u64 },
        switches: Switches { voluntary: usage.ru_nvcsw as u64, involuntary: usage.ru_nivcsw as u64 },
        blocks_written: usage.ru_oublock as u64,
        migrations,
        rss_max_bytes: rss_bytes(&usage),
    })
}

/// Returns when `pid` has ended, and leaves it there to be looked at.
fn await_end(pid: libc::pid_t) -> io::Result<()> {
    loop {
        // SAFETY: `information` is plain data that the kernel overwrites.
        let waited = unsafe {
            let mut information: libc::siginfo_t = mem::zeroed();
            libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut information, libc::WEXITED | libc::WNOWAIT)
        };
        let error = io::Error::last_os_error();
        match (waited, error.kind()) {
            (0, _) => return Ok(()),
            (_, io::ErrorKind::Interrupted) => {}
            _ => return Err(error),
        }
    }
}

/// Takes a process that ended away.
fn reap(pid: libc::pid_t) -> io::Result<(i32, libc::rusage)> {
    // SAFETY: `status` and `usage` are plain data that the kernel overwrites.
    unsafe {
        let mut status = 0;
        let mut usage: libc::rusage = mem::zeroed();
        match libc::wait4(pid, &raw mut status, 0, &raw mut usage) {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok((status, usage)),
        }
    }
}

/// The most memory this process ever had.
pub(super) fn own_rss_max_bytes() -> u64 {
    // SAFETY: `usage` is plain data that the kernel overwrites.
    unsafe {
        let mut usage: libc::rusage = mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        rss_bytes(&usage)
    }
}

/// Linux gives it in KiB (getrusage(2)).
fn rss_bytes(usage: &libc::rusage) -> u64 {
    usage.ru_maxrss as u64 * 1024
}

/// CPU time of all threads of a process, those that ended too.
fn process_clock_ns(pid: libc::pid_t) -> Option<u64> {
    // include/linux/posix-timers_types.h: the clock of a process is ~pid shifted by three, and 2
    // stands for the scheduler's own, exact account. glibc's clock_getcpuclockid makes the same number,
    // after a system call that checks whether the process exists.
    const CPUCLOCK_SCHED: libc::clockid_t = 2;
    let clock = (!pid << 3) | CPUCLOCK_SCHED;
    read_clock(clock)
}

/// Time of `CLOCK_MONOTONIC` in nanoseconds.
pub(super) fn now_ns() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

fn read_clock(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is plain data that the kernel overwrites.
    let read = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (read == 0).then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// The first two fields of a `schedstat` (Documentation/scheduler/sched-stats.rst).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Schedstat {
    pub(super) ran_ns: u64,
    pub(super) waited_ns: u64,
}

pub(super) fn parse_schedstat(text: &str) -> Option<Schedstat> {
    let mut fields = text.split_ascii_whitespace().map(str::parse);
    let (ran_ns, waited_ns) = (fields.next()?.ok()?, fields.next()?.ok()?);
    // A kernel that does not account writes `0 0 0`; every process ran.
    (ran_ns > 0).then_some(Schedstat { ran_ns, waited_ns })
}

/// `se.nr_migrations` of a `/proc/PID/sched`, which only kernels with CONFIG_SCHED_DEBUG have.
pub(super) fn parse_migrations(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("se.nr_migrations"))?;
    line.split_once(':')?.1.trim().parse().ok()
}

/// Time in which the calling thread was ready and had no CPU.
#[derive(Debug)]
pub(super) struct OwnWait(File);

impl OwnWait {
    /// Opens the accounting of the calling thread's waits.
    pub(super) fn open() -> io::Result<OwnWait> {
        File::open("/proc/thread-self/schedstat").map(OwnWait)
    }

    pub(super) fn read_ns(&self) -> Option<u64> {
        let mut text = [0; 64];
        let length = self.0.read_at(&mut text, 0).ok()?;
        parse_schedstat(str::from_utf8(text.get(..length)?).ok()?).map(|schedstat| schedstat.waited_ns)
    }
}
