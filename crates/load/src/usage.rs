//! CPU time of threads and processes, as the scheduler accounts it.

use std::collections::BTreeMap;

use prony_machine::Tree;

/// Time on a CPU, and time ready to run without one.
///
/// Source: Documentation/scheduler/sched-stats.rst, `/proc/<pid>/schedstat`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time on a CPU, in nanoseconds.
    pub cpu_ns: u64,
    /// Ready to run, waiting for a CPU.
    pub waited_ns: u64,
}

impl Usage {
    /// Difference from an `earlier` usage.
    pub fn since(self, earlier: Usage) -> Usage {
        Usage {
            cpu_ns: self.cpu_ns.saturating_sub(earlier.cpu_ns),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
        }
    }

    /// Sum of this usage and another.
    pub fn plus(self, other: Usage) -> Usage {
        Usage { cpu_ns: self.cpu_ns + other.cpu_ns, waited_ns: self.waited_ns + other.waited_ns }
    }

    /// Usage of the calling thread; `None` where the kernel does not account for it.
    pub(crate) fn of_this_thread(tree: &Tree) -> Option<Usage> {
        parse(&tree.read("/proc/thread-self/schedstat").ok()?)
    }
}

/// All threads of a process at one time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Threads(BTreeMap<String, Usage>);

impl Threads {
    /// `None` if there is no such process, or the kernel does not account.
    pub fn of_process(tree: &Tree, pid: u32) -> Option<Threads> {
        let directory = format!("/proc/{pid}/task");
        let usages = tree.names(&directory).into_iter().filter_map(|thread| {
            let usage = parse(&tree.read(&format!("{directory}/{thread}/schedstat")).ok()?)?;
            Some((thread, usage))
        });
        let threads: BTreeMap<String, Usage> = usages.collect();
        (!threads.is_empty()).then_some(Threads(threads))
    }

    /// Usage of the threads since `earlier`, and the number of threads that ended meanwhile, whose usage is unknown.
    pub fn since(&self, earlier: &Threads) -> (Usage, u64) {
        let before = |thread| earlier.0.get(thread).copied().unwrap_or_default();
        let did = self.0.iter().map(|(thread, usage)| usage.since(before(thread))).fold(Usage::default(), Usage::plus);
        let ended = earlier.0.keys().filter(|&thread| !self.0.contains_key(thread)).count();
        (did, ended as u64)
    }
}

fn parse(schedstat: &str) -> Option<Usage> {
    let mut fields = schedstat.split_ascii_whitespace().map(str::parse);
    let (cpu_ns, waited_ns) = (fields.next()?.ok()?, fields.next()?.ok()?);
    Some(Usage { cpu_ns, waited_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(of: &[(&str, u64, u64)]) -> Threads {
        Threads(of.iter().map(|&(name, cpu_ns, waited_ns)| (name.to_owned(), Usage { cpu_ns, waited_ns })).collect())
    }

    #[test]
    fn threads_that_begin_are_counted_and_those_that_end_are_reported() {
        let before = threads(&[("10", 100, 1), ("11", 50, 5)]);
        let after = threads(&[("10", 130, 4), ("12", 7, 0)]);
        assert_eq!(after.since(&before), (Usage { cpu_ns: 37, waited_ns: 3 }, 1));
    }

    #[test]
    fn schedstat_is_two_numbers_and_more() {
        assert_eq!(parse("20692897 17550181 16\n"), Some(Usage { cpu_ns: 20_692_897, waited_ns: 17_550_181 }));
        for wrong in ["", "1", "x 1 2", "-1 2 3"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn this_process_has_threads_that_did_something() {
        let threads = Threads::of_process(&Tree::machine(), std::process::id()).expect("we run, on Linux");
        let (did, ended) = threads.since(&Threads::default());
        assert!(did.cpu_ns > 0);
        assert_eq!(ended, 0);
        assert!(Threads::of_process(&Tree::machine(), u32::MAX).is_none());
    }
}
