//! Processes and the control groups they are in.

use std::io;

use rustix::process::{Pid, Signal, kill_process};

use crate::undo::Affinity;
use crate::{CpuSet, Tree, affinity};

/// Round after round of moving what was born meanwhile; who still forks after this many, does it on purpose.
const ROUNDS_MAX: u32 = 100;

/// `PF_KTHREAD` of include/linux/sched.h: a thread of the kernel.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// State, flags and start of a process, from its `stat`; proc_pid_stat(5).
struct Stat {
    state: char,
    flags: u64,
    start_ticks: u64,
}

fn stat(tree: &Tree, directory: &str) -> Option<Stat> {
    let text = tree.read(&format!("{directory}/stat")).ok()?;
    // The name may hold spaces and parentheses; the last one ends it. What follows begins with field 3.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    Some(Stat {
        state: fields.first()?.chars().next()?,
        flags: fields.get(9 - 3)?.parse().ok()?,
        start_ticks: fields.get(22 - 3)?.parse().ok()?,
    })
}

fn pids(tree: &Tree) -> impl Iterator<Item = u32> {
    tree.names("/proc").into_iter().filter_map(|name| name.parse().ok())
}

/// Processes of a name that run: number, start in ticks, name.
pub(super) fn processes_named(tree: &Tree, name: &str) -> Vec<(u32, u64, String)> {
    pids(tree)
        .filter(|pid| tree.line(&format!("/proc/{pid}/comm")).as_deref() == Some(name))
        .filter_map(|pid| Some((pid, stat(tree, &format!("/proc/{pid}"))?)))
        .filter(|(_, stat)| stat.state != 'T')
        .map(|(pid, stat)| (pid, stat.start_ticks, name.to_owned()))
        .collect()
}

fn is_same(tree: &Tree, pid: u32, start_ticks: u64) -> bool {
    stat(tree, &format!("/proc/{pid}")).is_some_and(|stat| stat.start_ticks == start_ticks)
}

/// True when the process is still the same and stopped.
pub(super) fn is_stopped(tree: &Tree, pid: u32, start_ticks: u64) -> bool {
    stat(tree, &format!("/proc/{pid}")).is_some_and(|stat| stat.start_ticks == start_ticks && stat.state == 'T')
}

/// Stops a process where it is; it stays a service that runs in the eyes of what started it.
pub(super) fn stop(tree: &Tree, pid: u32, start_ticks: u64) -> io::Result<()> {
    signal(tree, pid, start_ticks, Signal::STOP)
}

/// Lets a stopped process go on.
pub(super) fn go_on(tree: &Tree, pid: u32, start_ticks: u64) -> io::Result<()> {
    signal(tree, pid, start_ticks, Signal::CONT)
}

fn signal(tree: &Tree, pid: u32, start_ticks: u64, signal: Signal) -> io::Result<()> {
    let gone = || io::Error::from_raw_os_error(libc::ESRCH);
    if !is_same(tree, pid, start_ticks) {
        return Err(gone());
    }
    if !tree.is_machine() {
        let path = format!("/proc/{pid}/stat");
        let (from, to) = if signal == Signal::STOP { (") S", ") T") } else { (") T", ") S") };
        return tree.write(&path, &tree.read(&path)?.replacen(from, to, 1));
    }
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(gone)?;
    Ok(kill_process(pid, signal)?)
}

/// Threads of programs that are bound to CPUs of which some are in `taken`.
pub(super) fn bound_threads(tree: &Tree, taken: &CpuSet, online: &CpuSet) -> Vec<Affinity> {
    let mut bound = Vec::new();
    for pid in pids(tree) {
        for thread in tree.names(&format!("/proc/{pid}/task")) {
            let directory = format!("/proc/{pid}/task/{thread}");
            let Some(cpus) = allowed(tree, &directory) else { continue };
            if cpus.within(taken).is_empty() || online.without(&cpus).is_empty() {
                continue;
            }
            if let (Some(stat), Ok(thread)) = (stat(tree, &directory), thread.parse())
                && stat.flags & KERNEL_THREAD == 0
            {
                bound.push(Affinity { thread, start_ticks: stat.start_ticks, cpus: cpus.to_string() });
            }
        }
    }
    bound
}

fn allowed(tree: &Tree, directory: &str) -> Option<CpuSet> {
    let status = tree.read(&format!("{directory}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.parse().ok()
}

/// Binds a thread again as it was, if what was taken away is what it lost. Returns whether it had to.
pub(super) fn bind_again(tree: &Tree, affinity: &Affinity) -> io::Result<bool> {
    // A thread's own directory is there although no list shows it.
    let directory = format!("/proc/{}", affinity.thread);
    let same = stat(tree, &directory).is_some_and(|stat| stat.start_ticks == affinity.start_ticks);
    let (Some(now), Ok(before)) = (allowed(tree, &directory), affinity.cpus.parse::<CpuSet>()) else {
        return Ok(false);
    };
    if !same || now == before || !tree.is_machine() {
        return Ok(false);
    }
    let gone = || io::Error::from_raw_os_error(libc::ESRCH);
    let thread = i32::try_from(affinity.thread).ok().and_then(Pid::from_raw).ok_or_else(gone)?;
    affinity::set_allowed_of(thread, &before)?;
    Ok(true)
}

/// The file of a group by which threads (version 1) or processes (version 2) enter it.
fn members(tree: &Tree, group: &str) -> String {
    let threads = format!("{group}/tasks");
    // A version 2 group has no such file.
    if tree.exists(&threads) && !tree.exists(&format!("{group}/cgroup.controllers")) {
        threads
    } else {
        format!("{group}/cgroup.procs")
    }
}

/// Number of members of a group that were moved, and of those that the kernel keeps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Moved {
    pub(super) moved: usize,
    pub(super) refused: usize,
}

/// Moves every member of a group to another, those born meanwhile too.
pub(super) fn move_all(tree: &Tree, from: &str, to: &str) -> io::Result<Moved> {
    let (from, to) = (members(tree, from), members(tree, to));
    let mut sum = Moved::default();
    for _ in 0..ROUNDS_MAX {
        let text = tree.read(&from)?;
        let mut round = Moved::default();
        for member in text.lines() {
            match tree.write(&to, member) {
                Ok(()) => round.moved += 1,
                // It ended meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(_) => round.refused += 1,
            }
        }
        sum = Moved { moved: sum.moved + round.moved, refused: round.refused };
        if round.moved == 0 {
            break;
        }
    }
    Ok(sum)
}

/// Moves this process, with all its threads.
pub(super) fn move_self(tree: &Tree, group: &str) -> io::Result<()> {
    if !tree.is_machine() {
        // This process is none of the imitated ones.
        return Ok(());
    }
    tree.write(&format!("{group}/cgroup.procs"), &std::process::id().to_string())
}

/// Sends the members of a group home and removes it.
pub(super) fn dissolve(tree: &Tree, group: &str, home: &str) -> io::Result<()> {
    move_all(tree, group, home)?;
    tree.remove_group(group)
}
