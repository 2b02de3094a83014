//! Runs a process and accounts for its time: what it used, what it waited for, what it touched.
//!
//! A process is started with `CLONE_VM | CLONE_VFORK`, so that starting it costs the same however
//! much memory we hold, and everything it needs is prepared before the clock starts. When it has
//! ended it is looked at once more before it is reaped: the kernel keeps the exact times of a
//! process only until `wait4` takes it away.
//!
//! What the kernel reports of a process that ended, and which tasks it covers:
//!
//! | number | source | covers |
//! |---|---|---|
//! | CPU time, ns | CPU clock of the process | all its threads |
//! | user and system time, µs | `wait4` | its threads, and children it waited for |
//! | run-queue wait, ns | `/proc/PID/schedstat` | the first thread only |
//! | migrations | `/proc/PID/sched` | the first thread only |
//! | faults, switches, memory | `wait4` | its threads, and children it waited for |
//! | memory below ours | taskstats (`exits`) | a process without children |
//!
//! So the wait of a command with threads or children is not known from here. Where the kernel also
//! reports each task that ends (`exits`), and these took turns (`family`), the sum of their waits is used;
//! otherwise there is none, with a reason, and [`Run::uncontended_ns`] is `None`. The sum of user and system time is exact although either alone is sampled at
//! ticks: the kernel scales the two to the exact sum (`cputime_adjust` in `kernel/sched/cputime.c`).

mod account;
mod command;
mod counters;
mod exits;
mod family;
pub mod slice;
mod start;
mod user_event;

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

pub use account::{Ended, SpawnedTasks};
pub use command::Step;
pub use command::{Drain, EXTRA_DESCRIPTOR, Placement, Process, RunError};
pub use counters::{Counter, Counts};
pub use family::NoWait;
pub use user_event::{KnownWork, UserEvent};

use account::{Account, OwnWait, now_ns};
use counters::Counters;
use exits::Exits;
use start::{Prepared, Stack};

/// A process that ran, and what it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Way in which the process ended.
    pub ended: Ended,
    /// Wall time from just before the start until the end was noticed, in nanoseconds.
    pub wall_ns: u64,
    /// CPU time of all threads, and of children that were waited for, in nanoseconds.
    pub cpu_ns: u64,
    /// CPU time in user mode; sampled at ticks, so rough for short runs.
    pub user_ns: u64,
    /// CPU time in the kernel; sampled at ticks, so rough for short runs.
    pub system_ns: u64,
    /// Time it was ready and had no CPU: its one thread, or all tasks of it if they took turns.
    pub wait_ns: Result<u64, NoWait>,
    /// Time *we* were ready and had no CPU after it had ended, which `wall_ns` includes.
    pub own_wait_ns: u64,
    /// Threads and children that the process had.
    pub spawned: SpawnedTasks,
    /// Page faults of it, and of children it waited for.
    pub faults: Faults,
    /// Context switches of it, and of children it waited for.
    pub switches: Switches,
    /// Blocks of 512 bytes that it had written to disks.
    pub blocks_written: u64,
    /// Times its first thread changed CPUs.
    pub migrations: Option<u64>,
    /// The most memory it, or a child it waited for, had. `wait4` does not tell where that is not more than we have:
    /// `execve` keeps the peak of the memory it leaves behind (`exec_mmap` in fs/exec.c), which is ours. Of a process
    /// without children the kernel may tell when it ends; otherwise it is `None` then.
    pub rss_max_bytes: Option<u64>,
    /// Hardware counters, where the machine has them.
    pub counts: Counts,
}

/// Page faults of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// Page faults served without reading from disk.
    pub minor: u64,
    /// Page faults that read from disk.
    pub major: u64,
}

/// Context switches of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switches {
    /// Times it gave its CPU up.
    pub voluntary: u64,
    /// Times its CPU was taken away.
    pub involuntary: u64,
}

impl Run {
    /// Wall time without the time it was ready and had no CPU; `None` where that is not known.
    pub fn uncontended_ns(&self) -> Option<u64> {
        let wait_ns = self.wait_ns.ok()?;
        // Part of our own wait may have been while it still ran; tasks that take turns take at least their CPU time.
        Some(self.wall_ns.saturating_sub(wait_ns).saturating_sub(self.own_wait_ns).max(self.cpu_ns))
    }
}

/// Runs processes one after another; holds what they need in common.
#[derive(Debug)]
pub struct Runner {
    stack: Stack,
    own_wait: Option<OwnWait>,
    counters: Vec<Counter>,
    exits: Option<Exits>,
}

impl Runner {
    /// Finds out what this machine can count. To be used on the thread it was made on, whose waits for a CPU it reads.
    pub fn new() -> Runner {
        Runner {
            stack: Stack::new(),
            own_wait: OwnWait::open().ok(),
            counters: Counters::available(),
            exits: Exits::open().ok(),
        }
    }

    /// The hardware counters this machine has.
    pub fn counters(&self) -> &[Counter] {
        &self.counters
    }

    /// True if the kernel reports the ends of threads and children, and so their waits for a CPU.
    pub fn reports_exits(&self) -> bool {
        self.exits.is_some()
    }

    /// Runs a process to its end, emptying `drains` meanwhile. When `stop` becomes readable, the
    /// process and its group are ended.
    ///
    /// # Errors
    /// [`RunError`] when it could not be started or watched; how it ended is no error.
    pub fn run(&mut self, process: &Process, drains: &mut [Drain], stop: Option<BorrowedFd>) -> Result<Run, RunError> {
        let prepared = Prepared::of(process)?;
        if let Some(exits) = &self.exits {
            exits.forget();
        }
        let counters = Counters::open(&self.counters);
        let begin_ns = now_ns();
        let child = start::start(&prepared, &mut self.stack).map_err(|(step, error)| RunError::Start {
            step,
            program: process.program.to_owned(),
            error,
        })?;
        let own_wait_before = self.own_wait.as_ref().and_then(OwnWait::read_ns);
        let watched = child.until_end(drains, stop);
        let end_ns = now_ns();
        let own_wait_after = self.own_wait.as_ref().and_then(OwnWait::read_ns);
        let in_watch = |error| RunError::Watch { program: process.program.to_owned(), error };
        // Reaped before an error is returned, so that nothing is left behind.
        let account = child.reap();
        let stopped = watched.map_err(in_watch)?;
        let account = account.map_err(in_watch)?;
        for drain in drains {
            drain.empty().map_err(in_watch)?;
        }
        // Before its `execve` the child had our memory, whose peak counts as its own: read after it, as ours may have grown.
        let rss_is_known = account.rss_max_bytes > account::own_rss_max_bytes() + RSS_SLACK_BYTES;
        // Read where it is of use only.
        let received =
            self.exits.as_ref().filter(|_| !account.spawned.is_alone() || !rss_is_known).map(Exits::received);
        let rss_max_bytes = match rss_is_known {
            true => Some(account.rss_max_bytes),
            false => reported_rss(&account, received.as_ref()),
        };
        Ok(Run {
            ended: if stopped { Ended::Stopped } else { account.ended },
            wall_ns: end_ns.saturating_sub(begin_ns),
            cpu_ns: account.cpu_ns,
            user_ns: account.user_ns,
            system_ns: account.system_ns,
            wait_ns: wait_ns(&account, received.as_ref()),
            own_wait_ns: own_wait_after.zip(own_wait_before).map_or(0, |(after, before)| after.saturating_sub(before)),
            spawned: account.spawned,
            faults: account.faults,
            switches: account.switches,
            blocks_written: account.blocks_written,
            migrations: account.migrations,
            rss_max_bytes,
            counts: counters.counts(),
        })
    }
}

/// How far two readings of one process's memory may lie apart: the kernel counts pages for each CPU, and adds them up later.
const RSS_SLACK_BYTES: u64 = 1 << 20;

/// Everything the kernel reported of tasks that began and ended.
type Received = Result<(Vec<family::Event>, Vec<family::Record>), NoWait>;

fn wait_ns(account: &Account, received: Option<&Received>) -> Result<u64, NoWait> {
    let first_thread = account.first_thread.ok_or(NoWait::NotReported)?;
    if account.spawned.is_alone() {
        return Ok(first_thread.waited_ns);
    }
    let (events, records) = received.ok_or(NoWait::NotReported)?.as_ref().map_err(|&reason| reason)?;
    family::wait_ns(account.pid, account.cpu_ns, first_thread, events, records)
}

/// The most memory of a process without children, as the kernel reported at its end: its own memory only.
fn reported_rss(account: &Account, received: Option<&Received>) -> Option<u64> {
    let (_, records) = received?.as_ref().ok().filter(|_| !account.spawned.children)?;
    let own = records.iter().find(|record| record.task == account.pid)?;
    Some(own.rss_max_bytes).filter(|&bytes| bytes > 0)
}

impl Default for Runner {
    fn default() -> Runner {
        Runner::new()
    }
}

/// A file without a name, in memory, to which processes append.
///
/// # Errors
/// When the kernel has no memory for it.
pub fn file_in_memory() -> io::Result<File> {
    start::file_in_memory()
}

#[cfg(test)]
mod tests;
