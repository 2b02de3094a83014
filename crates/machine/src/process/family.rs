//! The threads and children of a process that ended: whether they took turns, and how long they waited.
//!
//! Pure: what the kernel reported comes in, from `exits`, and one wait or the reason against it goes out.
//!
//! **What wall − wait means for several tasks.** Let R(t) tasks be runnable at t: on a CPU, or waiting
//! for one. Wall time is lost to other work where R ≥ 1 and none of them has a CPU. While R ≤ 1
//! throughout, as for a shell that waits for its child, that is exactly the sum of their waits. Where
//! R ≥ 2 the sum counts too much: two that wait at once lose the time once, and one that waits while
//! another runs loses none. It counts too much by at most ∫ (R − 1)⁺ dt, which is the sum of all
//! runnable times less the time in which R ≥ 1.
//!
//! **How far it is known.** The kernel reports when a task began and ended and how long it ran and waited
//! in all, but not when in between. Tasks whose lives do not touch cannot be runnable at once, so a
//! chain of such tasks takes turns for certain, and only the *rest* can overlap it. Of all chains the
//! one that ran longest is taken; where the rest is no more than [`REST_MOST`] of all CPU time, the sum
//! of waits is used, otherwise there is none. What is left after it is no less than all CPU time: a shell
//! that starts a child on its own CPU may wait a time slice while the child runs already, before it can
//! wait *for* it (4 ms in one run of 25 with `--pin`, seen on a quiet CPU). The bound looks at CPU time, not at waits, so that load
//! on the machine does not switch it on and off.
//!
//! A program that works itself and then as long in a child it waits for is taken for one that overlaps:
//! totals do not tell the two apart. Context switches with their times would (a perf event on each
//! CPU); they cost every run more than what is measured here.

use std::collections::HashMap;

use super::account::Schedstat;

/// The part of all CPU time that may have been beside the rest: what a shell takes (up to 1 ms) around a
/// command of more than 20 ms, or a runtime's own threads beside the program.
const REST_MOST: f64 = 0.05;

/// Reasons why the wait for a CPU, which would be subtracted from wall time, is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoWait {
    /// The kernel does not tell us of threads and children: that takes `CAP_NET_ADMIN`, outside containers.
    NotReported,
    /// Some of the kernel's reports were lost.
    Lost,
    /// A child or thread still ran when the process had ended.
    Outlived,
    /// Tasks may have been runnable at once: their waits are no wall time then.
    Overlap,
}

/// A task began or ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    Fork { at_ns: u64, parent_process: u32, task: u32, process: u32 },
    Exit { at_ns: u64, task: u32 },
}

/// Resources used by a task until it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) task: u32,
    pub(super) times: Schedstat,
    /// The most memory that its process had since its last `execve`; 0 where the kernel does not count it.
    pub(super) rss_max_bytes: u64,
}

#[derive(Debug, Clone, Copy)]
struct Task {
    begin_ns: u64,
    end_ns: Option<u64>,
    times: Option<Schedstat>,
}

/// A task that is known from its begin to its end.
#[derive(Debug, Clone, Copy)]
struct Life {
    begin_ns: u64,
    end_ns: u64,
    times: Schedstat,
    /// CPU time that it may have taken beside what is in `times`.
    lacks_ns_most: u64,
}

/// The wait of `root` and all below it, in nanoseconds.
///
/// `cpu_ns`: what they took, as `wait4` says; `first_thread`: of `root`, read after its end. Both are whole.
/// A record is not: the scheduler adds CPU time up at ticks and switches only, and a task takes more on its
/// way out. What records lack is put down to the rest, as far as its tasks lived long enough.
pub(super) fn wait_ns(
    root: u32,
    cpu_ns: u64,
    first_thread: Schedstat,
    events: &[Event],
    records: &[Record],
) -> Result<u64, NoWait> {
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
    for (&number, task) in &tasks {
        let end_ns = task.end_ns.ok_or(NoWait::Outlived)?;
        let times = task.times.ok_or(NoWait::Lost)?;
        let lacks_ns_most =
            if number == root { 0 } else { end_ns.saturating_sub(task.begin_ns).saturating_sub(times.ran_ns) };
        lives.push(Life { begin_ns: task.begin_ns, end_ns, times, lacks_ns_most });
    }
    let recorded_ns: u64 = lives.iter().map(|life| life.times.ran_ns).sum();
    let waited_ns = lives.iter().map(|life| life.times.waited_ns).sum();
    let rest = without_longest_chain(lives);
    let rest_lacks_ns: u64 = rest.iter().map(|life| life.lacks_ns_most).sum();
    let rest_ns =
        rest.iter().map(|life| life.times.ran_ns).sum::<u64>() + rest_lacks_ns.min(cpu_ns.saturating_sub(recorded_ns));
    if rest_ns as f64 > REST_MOST * cpu_ns as f64 { Err(NoWait::Overlap) } else { Ok(waited_ns) }
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
    if tasks.contains_key(&root) { Ok(tasks) } else { Err(NoWait::NotReported) }
}

/// Takes out the tasks whose lives do not touch and that ran longest together: weighted interval
/// scheduling (Kleinberg & Tardos 2006, section 6.1).
#[expect(
    clippy::indexing_slicing,
    reason = "`best_ns` has one entry more than `lives`, and `before` and `first` are numbers of lives"
)]
fn without_longest_chain(mut lives: Vec<Life>) -> Vec<Life> {
    lives.sort_unstable_by_key(|life| life.end_ns);
    let before = |life: &Life| lives.partition_point(|other| other.end_ns <= life.begin_ns);
    // Of this many at the beginning: how long the best chain of them ran.
    let mut best_ns = vec![0];
    for (place, life) in lives.iter().enumerate() {
        best_ns.push(best_ns[place].max(best_ns[before(life)] + life.times.ran_ns));
    }
    let mut rest = Vec::new();
    let mut first = lives.len();
    while let Some(life) = lives[..first].last() {
        if best_ns[first] == best_ns[first - 1] {
            rest.push(*life);
            first -= 1;
        } else {
            // What ended after this one began, and before it ended, overlaps it.
            let next = before(life);
            rest.extend_from_slice(&lives[next..first - 1]);
            first = next;
        }
    }
    rest
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
        Record { task, times: Schedstat { ran_ns, waited_ns }, rss_max_bytes: 0 }
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
        assert_eq!(wait_ns(7, 860, SHELL, &shell_with_two(), &records), Ok(143));
        // What the records of the two lack can only be theirs: that of the shell is whole.
        assert_eq!(wait_ns(7, 990, SHELL, &shell_with_two(), &records), Ok(143));
        let busy = Schedstat { ran_ns: 100, waited_ns: 3 };
        assert_eq!(wait_ns(7, 950, busy, &shell_with_two(), &records), Err(NoWait::Overlap));
    }

    #[test]
    fn tasks_that_live_at_once_have_no_net() {
        let threads =
            [fork(0, 1, 7, 7), fork(10, 1, 8, 7), fork(11, 1, 9, 7), exit(500, 8), exit(510, 9), exit(520, 7)];
        let records = [record(8, 450, 40), record(9, 400, 100), record(7, 10, 3)];
        assert_eq!(wait_ns(7, 860, SHELL, &threads, &records), Err(NoWait::Overlap));
    }

    #[test]
    fn a_thread_that_hardly_runs_does_not_matter() {
        let threads = [fork(0, 1, 7, 7), fork(10, 1, 8, 7), exit(500, 8), exit(520, 7)];
        let main = Schedstat { ran_ns: 480, waited_ns: 3 };
        let records = [record(8, 20, 5), record(7, 470, 3)];
        assert_eq!(wait_ns(7, 500, main, &threads, &records), Ok(8));
        // Nobody else can have taken what is in no record.
        assert_eq!(wait_ns(7, 510, main, &threads, &records), Err(NoWait::Overlap));
    }

    #[test]
    fn the_rest_is_all_but_the_longest_chain() {
        let life = |begin_ns, end_ns, ran_ns| Life {
            begin_ns,
            end_ns,
            times: Schedstat { ran_ns, waited_ns: 0 },
            lacks_ns_most: 0,
        };
        let rest = |lives: &[Life]| {
            let mut ran: Vec<u64> =
                without_longest_chain(lives.to_vec()).iter().map(|life| life.times.ran_ns).collect();
            ran.sort_unstable();
            ran
        };
        let shell = life(0, 100, 5);
        assert_eq!(rest(&[shell, life(10, 40, 25), life(40, 90, 45)]), [5]);
        assert_eq!(rest(&[shell, life(10, 40, 25), life(39, 90, 45)]), [5, 25]);
        assert_eq!(rest(&[shell, life(10, 30, 10), life(20, 60, 35), life(60, 80, 9), life(70, 90, 8)]), [5, 8, 10]);
        assert_eq!(rest(&[shell]), [0; 0]);
    }

    #[test]
    fn what_is_missing_is_named() {
        let events = shell_with_two();
        let records = [record(8, 450, 40), record(9, 400, 100)];
        let of = |root, events: &[Event], records: &[Record]| wait_ns(root, 860, SHELL, events, records);
        assert_eq!(of(7, &events, &records[..1]), Err(NoWait::Lost));
        assert_eq!(of(7, &events, &[records[0], records[1], records[1]]), Err(NoWait::Lost));
        assert_eq!(of(7, &events[..5], &records), Err(NoWait::Outlived));
        assert_eq!(of(70, &events, &records), Err(NoWait::NotReported));
        assert_eq!(of(7, &[events.as_slice(), &events].concat(), &records), Err(NoWait::Lost));
    }
}
