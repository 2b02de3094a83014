//! Competition for a CPU: steal, pressure and waits, cheap enough to be read repeatedly.

use std::fs;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::{Tree, affinity};

/// Wait of a thread that wanted its CPU all the time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Wait {
    /// The share of the time it was ready and not running, 0 to 1.
    pub share: f64,
    /// Time over which the wait was measured, in seconds.
    pub window_s: f64,
}

/// Lets a thread spin on a CPU and returns how long it waited; `None` where it may not run there, or
/// this kernel counts no waits.
///
/// Waiting shows only where a task wants the CPU, so a probe must want it.
pub fn wait_on(cpu: u32, window: Duration) -> Option<Wait> {
    let spin = move || {
        let _pinned = affinity::pin(cpu as usize).ok()?;
        let started = Instant::now();
        let before = own_wait_ns()?;
        while started.elapsed() < window {
            std::hint::spin_loop();
        }
        let waited_s = own_wait_ns()?.saturating_sub(before) as f64 / 1e9;
        let window_s = started.elapsed().as_secs_f64();
        Some(Wait { share: waited_s / window_s, window_s })
    };
    std::thread::spawn(spin).join().ok().flatten()
}

/// Field 2 of `schedstat`: nanoseconds on a run queue, Documentation/scheduler/sched-stats.rst.
fn own_wait_ns() -> Option<u64> {
    fs::read_to_string("/proc/thread-self/schedstat").ok()?.split_whitespace().nth(1)?.parse().ok()
}

/// Reads what others take of a CPU since the last look: four small files at most.
#[derive(Debug)]
pub struct Contention<'a> {
    tree: &'a Tree,
    cpu: Option<u32>,
    last: Counters,
}

/// Time taken by others since the last look. Values that this kernel does not count are `None`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Taken {
    /// The time since the last look, in seconds.
    pub elapsed_s: f64,
    /// Share of the CPU's time that the hypervisor gave to others while it was wanted, 0 to 1.
    pub steal: Option<f64>,
    /// Share of the time in which some task of the machine waited for a CPU, 0 to 1.
    pub pressure: Option<f64>,
    /// Time that tasks waited for the CPU, as a multiple of the time that passed: 2 waiting all the time are 2.
    pub queue_wait: Option<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Counters {
    at: Instant,
    cpu: Option<CpuTimes>,
    pressure_us: Option<u64>,
    queue_wait_ns: Option<u64>,
}

/// Times of a CPU in ticks of `USER_HZ`, from `/proc/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CpuTimes {
    pub(crate) total: u64,
    pub(crate) idle: u64,
    pub(crate) steal: u64,
}

impl<'a> Contention<'a> {
    /// Begins now; `cpu`: of this one, or of all together.
    pub fn start(tree: &'a Tree, cpu: Option<u32>) -> Contention<'a> {
        Contention { tree, cpu, last: counters(tree, cpu) }
    }

    /// Time taken since the last look, or since the start.
    pub fn since_last(&mut self) -> Taken {
        let now = counters(self.tree, self.cpu);
        let last = std::mem::replace(&mut self.last, now);
        let elapsed_s = now.at.duration_since(last.at).as_secs_f64();
        let share = |before: Option<u64>, after: Option<u64>, per_s: f64| {
            let grown = after?.checked_sub(before?)? as f64;
            (elapsed_s > 0.0).then_some(grown / per_s / elapsed_s)
        };
        Taken {
            elapsed_s,
            steal: last.cpu.zip(now.cpu).and_then(|(before, after)| steal_share(before, after)),
            pressure: share(last.pressure_us, now.pressure_us, 1e6),
            queue_wait: share(last.queue_wait_ns, now.queue_wait_ns, 1e9),
        }
    }
}

fn counters(tree: &Tree, cpu: Option<u32>) -> Counters {
    Counters {
        at: Instant::now(),
        cpu: cpu_times(&tree.read("/proc/stat").unwrap_or_default(), cpu),
        pressure_us: pressure_us(tree, "cpu", "some"),
        queue_wait_ns: queue_wait_ns(tree, cpu),
    }
}

/// Share of the steal in the time between two looks; `None` when no tick passed.
pub(crate) fn steal_share(before: CpuTimes, after: CpuTimes) -> Option<f64> {
    let total = after.total.checked_sub(before.total).filter(|&total| total > 0)?;
    Some(after.steal.checked_sub(before.steal)? as f64 / total as f64)
}

/// The times of one CPU, or of all, in the text of `/proc/stat`; proc_stat(5).
pub(crate) fn cpu_times(stat: &str, cpu: Option<u32>) -> Option<CpuTimes> {
    let name = cpu.map_or_else(|| "cpu".to_owned(), |cpu| format!("cpu{cpu}"));
    let mut fields =
        stat.lines().map(str::split_whitespace).find_map(|mut fields| (fields.next()? == name).then_some(fields))?;
    let mut next = || fields.next().and_then(|field| field.parse::<u64>().ok());
    // user nice system idle iowait irq softirq steal; guest times are in user and nice already.
    let times = [next()?, next()?, next()?, next()?, next()?, next()?, next()?, next()?];
    Some(CpuTimes { total: times.iter().sum(), idle: times[3] + times[4], steal: times[7] })
}

/// Microseconds in which tasks waited for a resource; Documentation/accounting/psi.rst.
pub(crate) fn pressure_us(tree: &Tree, resource: &str, kind: &str) -> Option<u64> {
    let text = tree.read(&format!("/proc/pressure/{resource}")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
    line.split_whitespace().find_map(|field| field.strip_prefix("total="))?.parse().ok()
}

/// Nanoseconds that tasks waited for a CPU: field 8 of its line in `/proc/schedstat`, which is
/// there since version 15 and only with `CONFIG_SCHEDSTATS`.
pub(crate) fn queue_wait_ns(tree: &Tree, cpu: Option<u32>) -> Option<u64> {
    let text = tree.read("/proc/schedstat").ok()?;
    let wait = |line: &str| line.split_whitespace().nth(8)?.parse::<u64>().ok();
    let of = |line: &&str| match cpu {
        Some(cpu) => line.split_whitespace().next() == Some(&format!("cpu{cpu}")),
        None => line.starts_with("cpu"),
    };
    text.lines().filter(of).map(wait).reduce(|sum, wait| Some(sum? + wait?)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_is_a_share_of_the_time_that_passed() {
        let before = cpu_times("cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 10 0 5 80 5 0 0 0 0 0\n", Some(0)).expect("a line");
        let after = cpu_times("cpu0 60 0 5 90 5 0 0 40 0 0\n", Some(0)).expect("a line");
        assert_eq!(steal_share(before, after), Some(0.4));
        assert_eq!(steal_share(before, before), None);
        assert_eq!(cpu_times("cpu0 1 2 3\n", Some(0)), None);
    }

    #[test]
    fn a_thread_that_spins_knows_what_it_waited() {
        let wait = wait_on(first_allowed(), Duration::from_millis(5)).expect("this kernel counts waits");
        assert!((0.0..=1.0).contains(&wait.share), "{wait:?}");
    }

    fn first_allowed() -> u32 {
        let allowed = affinity::allowed().expect("a process may ask for its own");
        allowed.iter().next().expect("it runs on one")
    }
}
