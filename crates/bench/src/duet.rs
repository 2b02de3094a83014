//! Two commands at once on one CPU, which the scheduler gives them in turns.
//!
//! What slows a shared machine down, as a neighbour on the other half of a core, comes and goes in times much longer than
//! the slice for which the scheduler lets a process run (`sched_base_slice`, some 3 ms). Of two processes that run one
//! after the other it meets one; of two that run in turns it meets both, and falls out of their ratio. The two share the
//! caches of that CPU, and pay for coming back to it.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::interrupt::Interrupt;
use crate::options::Options;
use crate::report::Occasion;
use crate::scatter::Scatter;
use crate::stand::{BenchError, Observation, Stand, Trouble};

/// Whoever runs one of the two commands: a stand on a thread of its own.
#[derive(Debug)]
pub struct Partner {
    ask: Sender<Asked>,
    answers: Receiver<Result<Observation, Trouble>>,
}

/// A run of a command that is prepared.
#[derive(Debug)]
struct Asked {
    subject: usize,
    scatter: Scatter,
    occasion: Occasion,
}

impl Partner {
    /// On a thread that ends with the partner.
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        options: &'scope Options,
        interrupt: Option<&'scope Interrupt>,
    ) -> Result<Partner, BenchError> {
        let (ask, asked) = channel::<Asked>();
        let (answer, answers) = channel();
        let (tell, told) = channel();
        // A stand stays on the thread it was made on: what it counts with follows the children of that thread.
        scope.spawn(move || {
            let mut stand = match Stand::new(options, interrupt) {
                Ok(stand) => stand,
                Err(error) => return drop(tell.send(Err(error))),
            };
            drop(tell.send(Ok(())));
            for Asked { subject, scatter, occasion } in asked {
                if answer.send(stand.run_prepared(subject, &scatter, occasion)).is_err() {
                    break;
                }
            }
        });
        let started = told.recv().unwrap_or_else(|_| {
            let error = io::Error::other("it ended at once");
            Err(BenchError::System { what: "start a thread", error })
        });
        started.map(|()| Partner { ask, answers })
    }

    /// Runs two commands at once, the first of them here with the partner, and gives what came of each.
    pub fn run(
        &self,
        stand: &mut Stand,
        [first, second]: [usize; 2],
        scatter: &Scatter,
        occasion: Occasion,
    ) -> [Result<Observation, Trouble>; 2] {
        for subject in [first, second] {
            if let Err(trouble) = stand.prepare(subject) {
                return [Err(trouble), Err(Trouble::Interrupted)];
            }
        }
        let asked = Asked { subject: first, scatter: scatter.clone(), occasion };
        // It ends only with us.
        let gone = || Err(Trouble::Interrupted);
        if self.ask.send(asked).is_err() {
            return [gone(), gone()];
        }
        let of_second = stand.run_prepared(second, scatter, occasion);
        [self.answers.recv().unwrap_or_else(|_| gone()), of_second]
    }
}

/// The CPU for a duet where none is asked for: the last that we may use, as the first ones serve interrupts.
///
/// # Errors
/// When the kernel does not tell which those are.
pub fn duet_cpu() -> io::Result<usize> {
    let allowed = sched_getaffinity(None)?;
    let last = (0..CpuSet::MAX_CPU).rev().find(|&cpu| allowed.is_set(cpu));
    last.ok_or_else(|| io::Error::other("expected a CPU that may be used, found none"))
}

/// Acts on one CPU, which new processes inherit, and goes back to where it was.
///
/// # Errors
/// When there is no such CPU, or it may not be used.
pub fn on_cpu<T>(cpu: usize, act: impl FnOnce() -> T) -> io::Result<T> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let before = sched_getaffinity(None)?;
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only)?;
    let value = act();
    sched_setaffinity(None, &before)?;
    Ok(value)
}
