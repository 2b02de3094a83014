//! Several threads, each on a CPU of its own, that begin at the same time.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use prony_machine::affinity;

use crate::tester::{Passes, Series, Tester};
use crate::ticks::now_ns;
use crate::unsupported::Unsupported;

/// Work of a thread: does something this many times.
pub type Work<'a> = Box<dyn FnMut(u64) + 'a>;
/// Makes the work of the thread with this number, on its CPU, so that memory is near to it.
pub type Make<'a> = &'a (dyn Fn(usize) -> Result<Work<'a>, Unsupported> + Sync);

/// Threads wait so long after they woke before they begin together: longer than a wake-up takes.
const HEAD_START_NS: u64 = 60_000;

/// Repeats work on all of `cpus` at once; the first is the one this thread is bound to. The time of a sample goes from the first
/// that begins to the last that ends.
///
/// # Errors
/// What keeps a thread from its CPU, or from its work.
pub fn run_parallel(tester: &mut Tester, cpus: &[usize], make: Make<'_>) -> Result<Series, Unsupported> {
    // Twice around a sample: when it may begin, and when it ended.
    let gate = Barrier::new(cpus.len());
    // Passes of the sample, 0 to end; when it begins; when the last one ended.
    let (passes, begin, end) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let sample = |work: &mut Work<'_>| {
        let start = begin.load(Ordering::Acquire);
        while now_ns() < start {}
        work(passes.load(Ordering::Acquire));
        end.fetch_max(now_ns(), Ordering::AcqRel);
    };
    thread::scope(|scope| {
        let others: Vec<_> = cpus[1..]
            .iter()
            .enumerate()
            .map(|(place, &cpu)| {
                let (gate, passes, sample) = (&gate, &passes, &sample);
                scope.spawn(move || -> Result<(), Unsupported> {
                    let pinned = affinity::pin(cpu);
                    let mut work = make(place + 1);
                    // A thread that cannot work still comes to the gate, or the others would wait for ever.
                    loop {
                        gate.wait();
                        if passes.load(Ordering::Acquire) == 0 {
                            break;
                        }
                        if let Ok(work) = &mut work {
                            sample(work);
                        }
                        gate.wait();
                    }
                    pinned.map_err(|error| Unsupported::because(format!("cannot run on CPU {cpu}: {error}")))?;
                    work.map(|_| ())
                })
            })
            .collect();
        let mut own = make(0);
        let series = match &mut own {
            Err(reason) => Err(reason.clone()),
            Ok(work) => tester.repeat_timed(Passes::Calibrated, |count| {
                passes.store(count, Ordering::Release);
                let start = now_ns() + HEAD_START_NS;
                begin.store(start, Ordering::Release);
                end.store(0, Ordering::Release);
                gate.wait();
                sample(work);
                gate.wait();
                Ok(end.load(Ordering::Acquire).saturating_sub(start).max(1))
            }),
        };
        passes.store(0, Ordering::Release);
        gate.wait();
        for other in others {
            other.join().map_err(|_| Unsupported::because("a thread ended early"))??;
        }
        series
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Probe;
    use crate::tester::Effort;

    fn first_allowed() -> usize {
        let allowed = affinity::allowed().expect("a thread may ask for its own CPUs");
        allowed.iter().next().expect("it runs on one") as usize
    }

    #[test]
    fn every_thread_does_as_much_as_the_first() {
        let mut tester = Tester::new(Effort::QUICK, Probe::new().expect("a page"));
        let done: Vec<AtomicU64> = (0..3).map(|_| AtomicU64::new(0)).collect();
        let cpu = first_allowed();
        let make = |place: usize| -> Result<Work<'_>, Unsupported> {
            let done = &done[place];
            Ok(Box::new(move |passes| {
                done.fetch_add(passes, Ordering::Relaxed);
            }))
        };
        let series = run_parallel(&mut tester, &[cpu, cpu, cpu], &make).expect("threads run on a CPU that is there");
        let counts: Vec<u64> = done.iter().map(|done| done.load(Ordering::Relaxed)).collect();
        assert!(counts[0] > 0 && counts.iter().all(|&count| count == counts[0]), "{counts:?}");
        assert!(!series.samples.is_empty());
    }

    #[test]
    fn a_thread_that_cannot_work_says_why_and_is_not_waited_for() {
        let mut tester = Tester::new(Effort::QUICK, Probe::new().expect("a page"));
        let cpu = first_allowed();
        let make = |place: usize| -> Result<Work<'_>, Unsupported> {
            if place == 1 { Err(Unsupported::because("no memory")) } else { Ok(Box::new(|_| ())) }
        };
        assert_eq!(run_parallel(&mut tester, &[cpu, cpu], &make), Err(Unsupported::because("no memory")));
    }
}
