//! Capacity of a server: the greatest number of clients at which conditions on a load hold.
//!
//! Each step is a load of its own, with connections of its own, so that what one step does to the server ends with it.

mod condition;
mod level;
mod search;
mod step;

use std::thread;
use std::time::{Duration, Instant};

use prony_stats::samples::{Benchmark, Circumstances, Samples};

pub use condition::{Condition, ConditionError, Quantity};
pub use level::{Level, Spread};
pub use search::{ClientRange, Knee, Outcome, Search};
pub use step::{Measured, Step};

use crate::failures::Reason;
use crate::generator::GeneratorError;
use crate::options::Options;
use crate::report::Warning;
use crate::run::{LoadError, Progress, load, raise_descriptors};

/// Interval at which a pause is checked for an interrupt.
const PAUSE: Duration = Duration::from_millis(100);

/// Options of a search for a server's capacity.
#[derive(Debug, Clone, PartialEq)]
pub struct CapacityOptions {
    /// The load of each step; its number of clients is not used.
    pub load: Options,
    /// Numbers of clients to search.
    pub range: ClientRange,
    /// Conditions, all of which a step must satisfy.
    pub conditions: Vec<Condition>,
    /// The search ends when the interval is narrower than this share of the estimate.
    pub precision: f64,
    /// The search ends after this number of steps.
    pub steps_max: usize,
    /// Pause after a step that left clients behind, which the server keeps until they time out.
    pub settle: Duration,
}

/// Capacity of a server, with all steps that it rests on.
#[derive(Debug, Clone)]
pub struct Capacity {
    /// Options of the search.
    pub options: CapacityOptions,
    /// Steps in the order in which they were run.
    pub steps: Vec<Step>,
    /// The answer.
    pub knee: Knee,
    /// Reason for the end.
    pub end: End,
}

/// Reason why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The answer is as precise as requested.
    Decided,
    /// As many steps were run as are allowed.
    StepsMax,
    /// The search was interrupted.
    Interrupted,
    /// The server's port was closed: it has exited.
    ServerGone,
}

/// Warnings that limit what the answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CapacityWarning {
    /// The interval is wider than requested after all steps that are allowed.
    Imprecise {
        /// Number of steps.
        steps: usize,
    },
    /// The search was interrupted.
    Interrupted,
    /// The server has exited.
    ServerGone,
    /// Steps do not count because the generator may have been the reason for their failure.
    GeneratorLimited {
        /// Number of such steps.
        steps: usize,
    },
    /// In some steps the server was long ready to run without a CPU: with one it could have held more clients.
    ServerWaited {
        /// Number of such steps.
        steps: usize,
    },
    /// In some steps clients did not connect or lost their connection: the slots of the server may be its limit.
    ClientsUnserved {
        /// Number of such steps.
        steps: usize,
    },
}

/// Progress of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapacityProgress {
    /// Number of the step, from 1.
    pub step: usize,
    /// Clients of the step.
    pub clients: usize,
    /// The load of the step; `None` during the pause after it.
    pub load: Option<Progress>,
}

/// Searches for the greatest number of clients at which all conditions hold.
///
/// `is_ended` and `progress` are called as by [`load`].
///
/// # Errors
/// [`LoadError`] if the first step cannot run, or a step could not for a reason that has nothing to do with the server.
pub fn capacity(
    options: &CapacityOptions,
    is_ended: impl Fn() -> bool,
    progress: &mut dyn FnMut(CapacityProgress),
) -> Result<Capacity, LoadError> {
    // Before anything is measured, so that the last step does not fail for it.
    raise_descriptors(&Options { clients: options.range.high, ..options.load.clone() })?;
    let mut search = Search::new(options.range, options.precision, options.steps_max);
    let mut steps: Vec<Step> = Vec::new();
    let mut end = None;
    while let Some(clients) = search.next() {
        let number = steps.len() + 1;
        let seed = options.load.seed.wrapping_add(steps.len() as u64);
        let of_step = Options { clients, seed, ..options.load.clone() };
        let report = load(&of_step, &is_ended, &mut |load| {
            progress(CapacityProgress { step: number, clients, load: Some(load) });
        });
        let step = match report {
            Ok(report) if report.is_interrupted => {
                end = Some(End::Interrupted);
                break;
            }
            Ok(report) => Step::of(&options.conditions, clients, &report),
            Err(LoadError::NoConnection { failures }) if !steps.is_empty() => {
                if failures.of(Reason::PortClosed) > 0 {
                    end = Some(End::ServerGone);
                    break;
                }
                Step::without(&options.conditions, clients, Outcome::Fails)
            }
            // No port is left for this number of sockets.
            Err(LoadError::Generator(GeneratorError::Socket { .. })) if !steps.is_empty() => {
                Step::without(&options.conditions, clients, Outcome::GeneratorLimited)
            }
            Err(error) => return Err(error),
        };
        search.record(clients, step.outcome);
        let leaves_clients = step.leaves_clients();
        steps.push(step);
        if leaves_clients && search.next().is_some() {
            pause(options.settle, &is_ended, &mut || progress(CapacityProgress { step: number, clients, load: None }));
        }
        if is_ended() {
            end = Some(End::Interrupted);
            break;
        }
    }
    let is_exhausted = steps.len() >= options.steps_max && !search.is_decided();
    let end = end.unwrap_or(if is_exhausted { End::StepsMax } else { End::Decided });
    Ok(Capacity { options: options.clone(), steps, knee: search.knee(), end })
}

fn pause(length: Duration, is_ended: impl Fn() -> bool, progress: &mut dyn FnMut()) {
    let started = Instant::now();
    while let Some(left) = length.checked_sub(started.elapsed()).filter(|left| !left.is_zero() && !is_ended()) {
        progress();
        thread::sleep(left.min(PAUSE));
    }
}

impl Capacity {
    /// Steps with the same number of clients, from the fewest clients to the most.
    pub fn levels(&self) -> Vec<Level> {
        level::levels(&self.steps)
    }

    /// Number of steps with this outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.steps.iter().filter(|step| step.outcome == outcome).count()
    }

    /// Warnings that limit what the answer says.
    pub fn warnings(&self) -> Vec<CapacityWarning> {
        let of_end = match self.end {
            End::Decided => None,
            End::StepsMax => Some(CapacityWarning::Imprecise { steps: self.steps.len() }),
            End::Interrupted => Some(CapacityWarning::Interrupted),
            End::ServerGone => Some(CapacityWarning::ServerGone),
        };
        let measured = self.steps.iter().filter_map(|step| step.measured.as_ref());
        let waited = |measured: &&Measured| {
            measured.warnings.iter().any(|warning| matches!(warning, Warning::ServerWaited { .. }))
        };
        let unserved = |step: &&Step| step.measured.as_ref().is_none_or(|measured| !measured.all_served());
        let counted = |steps: usize| (steps > 0).then_some(steps);
        let of_steps = [
            counted(self.count(Outcome::GeneratorLimited)).map(|steps| CapacityWarning::GeneratorLimited { steps }),
            counted(measured.filter(waited).count()).map(|steps| CapacityWarning::ServerWaited { steps }),
            counted(self.steps.iter().filter(unserved).count()).map(|steps| CapacityWarning::ClientsUnserved { steps }),
        ];
        of_end.into_iter().chain(of_steps.into_iter().flatten()).collect()
    }

    /// All steps as samples: a benchmark for each quantity and number of clients, a run for each step. Arguments as for
    /// [`crate::Report::samples`].
    pub fn samples(&self, version: &str, warnings: Vec<String>) -> Option<Samples> {
        let mut benchmarks: Vec<Benchmark> = Vec::new();
        for step in &self.steps {
            for benchmark in step.measured.iter().flat_map(|measured| &measured.benchmarks) {
                let name = format!("{}, {} clients", benchmark.name, step.clients);
                match benchmarks.iter_mut().find(|known| known.name == name) {
                    Some(known) => known.runs.extend(benchmark.runs.iter().cloned()),
                    None => benchmarks.push(Benchmark { name, ..benchmark.clone() }),
                }
            }
        }
        let circumstances: Circumstances = crate::samples::circumstances(version, warnings);
        (!benchmarks.is_empty()).then_some(Samples { benchmarks, circumstances: Some(circumstances) })
    }
}

#[cfg(test)]
mod tests;
