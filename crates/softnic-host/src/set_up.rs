//! The time in which a driver sets up a port. It waits for some answers for 10 µs only, so that the device must be on a CPU of its
//! own then: one on which the driver does not run.

use prony_machine::{CpuSet, Tree, affinity};

use crate::scheduling;

/// Time after a write to a register in which a driver is taken to set up the port, while it has no queues that work.
const SETTING_UP_NS: u64 = 10_000_000_000;
/// Time after a write in which the next one is likely, so that the device looks without a pause.
const WRITTEN_NS: u64 = 5_000_000;

/// What is known of a driver that sets up a port.
#[derive(Debug, Default)]
pub(crate) struct SetUp {
    written_ns: Option<u64>,
    /// CPUs of this thread before it was in a hurry, while it is.
    hurry: Option<CpuSet>,
}

impl SetUp {
    /// A driver has written to a port that has no queues.
    pub(crate) fn written(&mut self, now_ns: u64) {
        self.written_ns = Some(now_ns);
    }

    /// True while a driver may be waiting for an answer of some microseconds: nothing else is to be done now.
    pub(crate) fn is_urgent(&self, now_ns: u64) -> bool {
        self.hurry.is_some() && self.is_within(now_ns, WRITTEN_NS)
    }

    fn is_within(&self, now_ns: u64, ns: u64) -> bool {
        self.written_ns.is_some_and(|written_ns| now_ns.saturating_sub(written_ns) < ns)
    }

    /// Has this thread go before what else runs on its CPU while one of these drivers sets up a port, and no longer.
    pub(crate) fn update(&mut self, now_ns: u64, drivers: &[u32]) {
        let is_wanted = !drivers.is_empty() && self.is_within(now_ns, SETTING_UP_NS);
        match (is_wanted, &self.hurry) {
            (true, None) => self.begin(drivers),
            (false, Some(_)) => self.end(),
            _ => {}
        }
    }

    fn begin(&mut self, drivers: &[u32]) {
        // Without the right to it, or without a second CPU, a driver may find that the device is too slow.
        let Ok(before) = affinity::allowed() else { return };
        let taken: Vec<u32> = drivers.iter().flat_map(|&pid| running_on(pid)).collect();
        let Some(cpu) = before.iter().find(|cpu| !taken.contains(cpu)) else { return };
        if affinity::set_allowed(&CpuSet::from_iter([cpu])).is_ok() {
            let _ = scheduling::go_first();
            self.hurry = Some(before);
        }
    }

    /// All ports are set up, or the driver has given up.
    pub(crate) fn end(&mut self) {
        self.written_ns = None;
        if let Some(before) = self.hurry.take() {
            scheduling::go_last();
            let _ = affinity::set_allowed(&before);
        }
    }
}

/// CPUs on which threads of a process run now.
fn running_on(pid: u32) -> Vec<u32> {
    let tasks = format!("/proc/{pid}/task");
    let stats = Tree::machine().names(&tasks).into_iter();
    let stats = stats.filter_map(|task| Tree::machine().read(&format!("{tasks}/{task}/stat")).ok());
    stats.filter_map(|stat| cpu_of_running(&stat)).collect()
}

/// The CPU of a thread, if it runs (proc_pid_stat(5): fields 3 and 39).
fn cpu_of_running(stat: &str) -> Option<u32> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    (fields.next()? == "R").then(|| fields.nth(35)?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_of_a_thread_is_known_while_it_runs() {
        let rest = (4..39).map(|field| field.to_string()).collect::<Vec<_>>().join(" ");
        assert_eq!(cpu_of_running(&format!("17 (a) b) R {rest} 5 0 0")), Some(5));
        assert_eq!(cpu_of_running(&format!("17 (a) b) S {rest} 5 0 0")), None);
        assert_eq!(cpu_of_running("17 (ab"), None);
        assert!(!running_on(std::process::id()).is_empty(), "this thread runs");
    }

    #[test]
    fn nothing_is_urgent_before_a_driver_is_known_or_long_after_it_wrote() {
        let mut set_up = SetUp::default();
        set_up.written(1000);
        set_up.update(1000, &[]);
        assert!(!set_up.is_urgent(1000));
        set_up.hurry = affinity::allowed().ok();
        assert!(set_up.is_urgent(1000 + WRITTEN_NS - 1) && !set_up.is_urgent(1000 + WRITTEN_NS));
        set_up.update(1000 + SETTING_UP_NS, &[1]);
        assert!(set_up.hurry.is_none() && !set_up.is_urgent(1000));
    }
}
