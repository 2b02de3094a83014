//! Two commands at once on one CPU, which the scheduler gives them alternately.
//!
//! What slows a shared machine down, as a neighbour on the other half of the core, comes and goes in times much longer than
//! a turn for which the scheduler lets a process run. Of two processes that run one after the other it meets one; of two
//! that run alternately it meets both, and falls out of their ratio. The two share the caches of that CPU, and pay for
//! coming back to it.
//!
//! The kernel ends a turn when its timer interrupts, every 4 ms on Debian, however short a slice a process requests: a run
//! of 40 ms has ten turns, and how the last of them falls out is a tenth of it. So commands ask for short slices
//! (`sched_setattr`), and a **metronome**, a thread that sleeps on the same CPU, wakes twice a millisecond: each time
//! the scheduler chooses again. That takes some microseconds, of both commands alike.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Scope};
use std::time::Duration;

use prony_machine::Interrupt;
use prony_machine::affinity;
use prony_machine::process::slice;

use crate::context::{RunContext, TURN_NS};
use crate::error::{BenchError, MeasureError, Phase};
use crate::options::Options;
use crate::randomization::Randomization;
use crate::sample::Observation;

/// Runs one of the two commands: a run context on a thread of its own.
#[derive(Debug)]
pub struct Partner {
    /// CPU that both commands share, if one was named.
    cpu: Option<usize>,
    ask: Sender<RunRequest>,
    answers: Receiver<Result<Observation, MeasureError>>,
}

/// A run of a command that is prepared.
#[derive(Debug)]
struct RunRequest {
    subject: usize,
    randomization: Randomization,
    phase: Phase,
}

impl Partner {
    /// Starts the partner on a thread that ends with it.
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        options: &'scope Options,
        interrupt: Option<&'scope Interrupt>,
    ) -> Result<Partner, BenchError> {
        let (ask, requests) = channel::<RunRequest>();
        let (answer, answers) = channel();
        let (report, reported) = channel();
        // A run context stays on the thread it was made on: what it counts with follows the children of that thread.
        scope.spawn(move || {
            let mut context = match RunContext::new(options, interrupt) {
                Ok(context) => context,
                Err(error) => return drop(report.send(Err(error))),
            };
            drop(report.send(Ok(())));
            for RunRequest { subject, randomization, phase } in requests {
                if answer.send(context.run_prepared(subject, &randomization, phase)).is_err() {
                    break;
                }
            }
        });
        let started = reported.recv().unwrap_or_else(|_| {
            let error = io::Error::other("it ended immediately");
            Err(BenchError::System { what: "start a thread", error })
        });
        started.map(|()| Partner { cpu: options.execution.placement.cpu, ask, answers })
    }

    /// Runs two commands at once, the first of them here with the partner, and gives what came of each.
    pub fn run(
        &self,
        context: &mut RunContext,
        [first, second]: [usize; 2],
        randomization: &Randomization,
        phase: Phase,
    ) -> [Result<Observation, MeasureError>; 2] {
        for subject in [first, second] {
            if let Err(error) = context.prepare(subject) {
                return [Err(error), Err(MeasureError::Interrupted)];
            }
        }
        let request = RunRequest { subject: first, randomization: randomization.clone(), phase };
        // It ends only with us.
        let gone = || Err(MeasureError::Interrupted);
        if self.ask.send(request).is_err() {
            return [gone(), gone()];
        }
        let mut observed = with_metronome(self.cpu, || {
            let of_second = context.run_prepared(second, randomization, phase);
            [self.answers.recv().unwrap_or_else(|_| gone()), of_second]
        });
        for (subject, observed) in [first, second].into_iter().zip(&mut observed) {
            if let (Ok(_), Err(error)) = (&observed, context.conclude(subject)) {
                *observed = Err(error);
            }
        }
        observed
    }
}

/// Acts while a thread wakes on `cpu` every [`TURN_NS`]; without one where it cannot be.
fn with_metronome<T>(cpu: Option<usize>, act: impl FnOnce() -> T) -> T {
    /// However it ends, the metronome ends too.
    struct Silenced<'a>(&'a AtomicBool);
    impl Drop for Silenced<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let over = AtomicBool::new(false);
    let beat = || {
        let pinned = cpu.and_then(|cpu| affinity::pin(cpu).ok());
        // Else it would wait for the commands' slices to end, which are as short as a beat.
        if pinned.is_none() || slice::shorten(slice::SHORTEST_NS).is_err() {
            return;
        }
        while !over.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_nanos(TURN_NS));
        }
    };
    thread::scope(|scope| {
        // A machine that has no room for another thread has longer turns.
        let _ = thread::Builder::new().name("metronome".to_owned()).spawn_scoped(scope, beat);
        let _silenced = Silenced(&over);
        act()
    })
}

/// The CPU for a duet where none is given: the last that we may use, as the first ones serve interrupts.
///
/// # Errors
/// When the kernel does not tell which those are.
pub fn duet_cpu() -> io::Result<usize> {
    let last = affinity::allowed()?.iter().next_back().map(|cpu| cpu as usize);
    last.ok_or_else(|| io::Error::other("expected a CPU that this process may use, found none"))
}

/// Acts on one CPU, which new processes inherit, and goes back to where it was.
///
/// # Errors
/// When there is no such CPU, or it may not be used.
pub fn on_cpu<T>(cpu: usize, act: impl FnOnce() -> T) -> io::Result<T> {
    let _pinned = affinity::pin(cpu)?;
    Ok(act())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metronome_ends_with_what_it_is_for() {
        let cpu = duet_cpu().ok();
        assert_eq!(with_metronome(cpu, || 7), 7);
        assert_eq!(with_metronome(None, || 7), 7, "without one where there is no CPU for it");
        let panicked = std::panic::catch_unwind(|| with_metronome(cpu, || panic!("as a run may")));
        assert!(panicked.is_err());
    }
}
