//! The threads and children of a process that ended: whether they took turns, and how long they waited.
//!
//! Pure: what the kernel told comes in, from `exits`, and one wait or the reason against it goes out.
//!
//! **What wall − wait means for several tasks.** Let R(t) tasks be runnable at t: on a CPU, or waiting
//! for one. Wall time is lost to other work where R ≥ 1 and none of them has a CPU. While R ≤ 1
//! throughout, as for a shell that waits for its child, that is exactly the sum of their waits. Where
//! R ≥ 2 the sum counts too much: two that wait at once lose the time once, and one that waits while
//! another runs loses none. It counts too much by at most ∫ (R − 1)⁺ dt, which is the sum of all
//! runnable times less the time in which R ≥ 1.
//!
//! **How far it is known.** The kernel tells when a task began and ended and how long it ran and waited
//! in all, but not when in between. Tasks whose lives do not touch cannot be runnable at once, so a
//! chain of such tasks is in turns for certain, and only the *rest* can overlap it. Of all chains the
//! one that ran longest is taken; where the rest is no more than [`REST_MOST`] of all CPU time, the sum
//! of waits is used, otherwise there is none. The bound looks at CPU time, not at waits, so that load
//! on the machine does not switch it on and off.
//!
//! A program that works itself and then as long in a child it waits for is taken for one that overlaps:
//! totals do not tell the two apart. Context switches with their times would (a perf event on each
//! CPU); they cost every run more than what is measured here.

use std::collections::HashMap;

use super::NoWait;
use super::account::Schedstat;

/// The part of all CPU time that may have been beside the rest: what a shell takes around a command
/// of 20 ms and more, or a runtime's own threads beside the program.
const REST_MOST: f64 = 0.05;

/// A task began or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    Fork { at_ns: u64, parent_process: u32, task: u32, process: u32 },
    Exit { at_ns: u64, task: u32 },
}

/// What a task took until it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) task: u32,
    pub(super) times: Schedstat,
}

/// What a family of tasks waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// The sum over its tasks of the time they were ready and had no CPU.
    pub ns: u64,
    /// CPU time that certainly was one task at a time: net time is no less.
    pub(super) in_turns_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Task {
    begin_ns: u64,
    end_ns: Option<u64>,
    times: Option<Schedstat>,
}

/// The wait of `root` and all below it; `first_thread`: its own, read after its end and therefore whole.
pub(super) fn wait(root: u32, first_thread: Schedstat, events: &[Event], records: &[Record]) -> Result<Wait, NoWait> {
    let mut tasks = members(root, events)?;
    for record in records {
        // Numbers come around: one that ended twice in one run could be either.
        if let Some(task) = tasks.get_mut(&record.task)
            && task.times.replace(record.times).is_some()
        {
            return Err(NoWait::Lost);
        }
    }
    if let Some(task) = tasks.get_mut(&root) {
        task.times = Some(first_thread);
    }
    let mut lives = Vec::with_capacity(tasks.len());
    for task in tasks.values() {
        let end_ns = task.end_ns.ok_or(NoWait::Outlived)?;
        lives.push((task.begin_ns, end_ns, task.times.ok_or(NoWait::Lost)?));
    }
    let ran_ns: u64 = lives.iter().map(|(_, _, times)| times.ran_ns).sum();
    let in_turns_ns = longest_chain_ns(&mut lives);
    if (ran_ns - in_turns_ns) as f64 > REST_MOST * ran_ns as f64 {
        return Err(NoWait::Overlap);
    }
    Ok(Wait { ns: lives.iter().map(|(_, _, times)| times.waited_ns).sum(), in_turns_ns })
}

/// `root` and all that descend from it. A thread's event names its process, as its parent is that of
/// the whole process (`proc_fork_connector` in drivers/connector/cn_proc.c).
fn members(root: u32, events: &[Event]) -> Result<HashMap<u32, Task>, NoWait> {
    let mut tasks: HashMap<u32, Task> = HashMap::new();
    for event in events {
        match *event {
            Event::Fork { at_ns, parent_process, task, process } => {
                let thread = task != process && tasks.contains_key(&process);
                if task != root && !thread && !tasks.contains_key(&parent_process) {
                    continue;
                }
                let begun = Task { begin_ns: at_ns, end_ns: None, times: None };
                if tasks.insert(task, begun).is_some() {
                    return Err(NoWait::Lost);
                }
            }
            Event::Exit { at_ns, task } => {
                if let Some(task) = tasks.get_mut(&task) {
                    task.end_ns = Some(at_ns);
                }
            }
        }
    }
    // The kernel speaks of other numbers than we know inside a namespace of processes.
    if tasks.contains_key(&root) { Ok(tasks) } else { Err(NoWait::Untold) }
}

/// The most CPU time of tasks whose lives do not touch: weighted interval scheduling (Kleinberg &
/// Tardos 2006, section 6.1).
fn longest_chain_ns(lives: &mut [(u64, u64, Schedstat)]) -> u64 {
    lives.sort_unstable_by_key(|&(_, end_ns, _)| end_ns);
    let mut best_ns = vec![0];
    for (place, &(begin_ns, _, times)) in lives.iter().enumerate() {
        let before = lives[..place].partition_point(|&(_, end_ns, _)| end_ns <= begin_ns);
        best_ns.push(best_ns[place].max(best_ns[before] + times.ran_ns));
    }
    best_ns[lives.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fork(at_ns: u64, parent_process: u32, task: u32, process: u32) -> Event {
        Event::Fork { at_ns, parent_process, task, process }
    }

    fn exit(at_ns: u64, task: u32) -> Event {
        Event::Exit { at_ns, task }
    }

    fn record(task: u32, ran_ns: u64, waited_ns: u64) -> Record {
        Record { task, times: Schedstat { ran_ns, waited_ns } }
    }

    const SHELL: Schedstat = Schedstat { ran_ns: 10, waited_ns: 3 };

    /// A shell, 7, that runs 8 and then 9, while a stranger, 5, begins and ends.
    fn shell_with_two() -> [Event; 7] {
        let (shell, first, second) = (fork(0, 1, 7, 7), fork(10, 7, 8, 8), fork(600, 7, 9, 9));
        [shell, first, fork(20, 1, 5, 5), exit(500, 8), second, exit(1100, 9), exit(1110, 7)]
    }

    #[test]
    fn waits_of_tasks_in_turns_add_up() {
        let records = [record(8, 450, 40), record(5, 999, 999), record(9, 400, 100), record(7, 9, 2)];
        assert_eq!(wait(7, SHELL, &shell_with_two(), &records), Ok(Wait { ns: 143, in_turns_ns: 850 }));
    }

    #[test]
    fn tasks_that_live_at_once_have_no_net() {
        let threads =
            [fork(0, 1, 7, 7), fork(10, 1, 8, 7), fork(11, 1, 9, 7), exit(500, 8), exit(510, 9), exit(520, 7)];
        let records = [record(8, 450, 40), record(9, 400, 100), record(7, 10, 3)];
        assert_eq!(wait(7, SHELL, &threads, &records), Err(NoWait::Overlap));
    }

    #[test]
    fn a_thread_that_hardly_runs_does_not_matter() {
        let threads = [fork(0, 1, 7, 7), fork(10, 1, 8, 7), exit(500, 8), exit(520, 7)];
        let main = Schedstat { ran_ns: 480, waited_ns: 3 };
        let expected = Wait { ns: 8, in_turns_ns: 480 };
        assert_eq!(wait(7, main, &threads, &[record(8, 20, 5), record(7, 470, 3)]), Ok(expected));
        assert_eq!(wait(7, main, &threads, &[record(8, 30, 5), record(7, 470, 3)]), Err(NoWait::Overlap));
    }

    #[test]
    fn what_is_missing_is_named() {
        let events = shell_with_two();
        let records = [record(8, 450, 40), record(9, 400, 100)];
        assert_eq!(wait(7, SHELL, &events, &records[..1]), Err(NoWait::Lost));
        assert_eq!(wait(7, SHELL, &events, &[records[0], records[1], records[1]]), Err(NoWait::Lost));
        assert_eq!(wait(7, SHELL, &events[..5], &records), Err(NoWait::Outlived));
        assert_eq!(wait(70, SHELL, &events, &records), Err(NoWait::Untold));
        assert_eq!(wait(7, SHELL, &[events.as_slice(), &events].concat(), &records), Err(NoWait::Lost));
    }
}
