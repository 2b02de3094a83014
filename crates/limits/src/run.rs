//! Order of a run: plan, shuffle, measure, collect.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use prony_machine::{Contention, Facts, Tree, affinity};
use prony_stats::Seed;

use crate::area::PageKind;
use crate::case::{Case, Measured};
use crate::case_context::{CaseContext, Memory, Setting};
use crate::experiment::Experiment;
use crate::experiments;
use crate::fingerprint::{Fingerprint, fingerprint};
use crate::probe::Probe;
use crate::tester::{Effort, Tester};

/// Options of a measurement of limits.
#[derive(Debug, Clone)]
pub struct Options {
    /// Requested experiments, in any order.
    pub experiments: Vec<Experiment>,
    /// Words that the names of measured cases contain; `None`: all cases.
    pub only: Option<String>,
    /// Time limits of each case.
    pub effort: Effort,
    /// Cases that were disturbed are tried again until so much time has passed since the start.
    pub budget: Duration,
    /// The CPU on which one thread measures; `None`: the one that a benchmark should use here.
    pub cpu: Option<usize>,
    /// Equal seeds, equal orders of cases and of chases.
    pub seed: u64,
    /// Directory for files to read; they have no name there once they are open.
    pub directory: PathBuf,
}

/// Number of attempts at disturbed cases: interference often ends, such as a neighbour that computes for some seconds.
const ROUNDS: usize = 6;

/// Progress of a measurement, before each case.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// 0 for the first time, then what was disturbed is tried again.
    pub round: usize,
    /// Cases of this round that are done.
    pub done: usize,
    /// All cases of this round.
    pub cases: usize,
    /// The one that runs now.
    pub experiment: Experiment,
    /// Name of the case within its experiment.
    pub name: &'a str,
}

/// Something that was not measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Experiment that the case belongs to.
    pub experiment: Experiment,
    /// Name of the case; `None`: the whole experiment.
    pub name: Option<String>,
    /// Reason why the case was skipped.
    pub reason: String,
}

/// Measured limits of a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Fingerprint of the machine, under which limits are stored.
    pub fingerprint: Fingerprint,
    /// Facts about the machine, as `machine show` prints them.
    pub facts: Facts,
    /// The CPU on which one thread measured.
    pub cpu: usize,
    /// Everything that was measured, by experiment.
    pub measured: Vec<Measured>,
    /// Cases that were skipped, each with its reason.
    pub skipped: Vec<Skipped>,
    /// Time from the first case to the last.
    pub elapsed: Duration,
    /// True if it was interrupted.
    pub stopped: bool,
    /// Share of that CPU's time that the hypervisor gave to others meanwhile; `None` where the kernel does not count it.
    pub steal: Option<f64>,
}

impl Limits {
    /// Takes from an earlier run on the same machine the cases of experiments not in `requested`. If this run measured only some
    /// cases of those in it (`in_part`), takes their other cases too.
    pub fn keep(&mut self, earlier: Limits, requested: &[Experiment], in_part: bool) {
        if earlier.fingerprint != self.fingerprint {
            return;
        }
        let known: HashSet<(Experiment, String)> =
            self.measured.iter().map(|measured| (measured.experiment, measured.name.clone())).collect();
        let stays = |experiment: Experiment, name: &str| {
            !requested.contains(&experiment) || (in_part && !known.contains(&(experiment, name.to_owned())))
        };
        self.measured
            .extend(earlier.measured.into_iter().filter(|measured| stays(measured.experiment, &measured.name)));
        self.measured.sort_by_key(|measured| measured.experiment);
        let skipped = earlier.skipped.into_iter();
        self.skipped
            .extend(skipped.filter(|skipped| stays(skipped.experiment, skipped.name.as_deref().unwrap_or_default())));
        let mut seen = HashSet::new();
        self.skipped.retain(|skipped| seen.insert((skipped.experiment, skipped.name.clone())));
        self.skipped.sort_by_key(|skipped| skipped.experiment);
    }

    /// Measured cases of one experiment.
    pub fn of(&self, experiment: Experiment) -> impl Iterator<Item = &Measured> + Clone {
        self.measured.iter().filter(move |measured| measured.experiment == experiment)
    }

    /// The median share of samples of a case that may be slower than the hardware, 0 to 1; `None` where nothing was measured.
    pub fn contaminated(&self) -> Option<f64> {
        let shares: Vec<f64> =
            self.measured.iter().filter_map(|measured| Some(measured.figure()?.contaminated)).collect();
        prony_stats::quantile::median(&shares)
    }

    /// True where too many cases were disturbed to trust the result: other load on the machine shaped the figures.
    pub fn is_disturbed(&self) -> bool {
        self.disturbed() as f64 > self.measured.len() as f64 * DISTURBED_MOST
    }

    /// Cases without as many undisturbed samples as a figure rests on.
    pub fn disturbed(&self) -> usize {
        self.measured.iter().filter(|measured| !measured.series.is_clean()).count()
    }
}

/// Above this share of disturbed cases a result is not trusted.
const DISTURBED_MOST: f64 = 0.5;

/// Reasons why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The thread may not run on the CPU.
    #[error("cannot run on CPU {cpu}: {error}")]
    Cpu {
        /// Number of the CPU to bind to.
        cpu: usize,
        /// Error that the kernel returned.
        error: std::io::Error,
    },
    /// The kernel gives no memory for machine code.
    #[error("{0}")]
    Code(String),
}

/// Measures the cases of the chosen experiments. `stop`: checked before each case; `tell`: called before each case.
///
/// # Errors
/// [`RunError`]; a case that cannot run here is [`Limits::skipped`], not an error.
pub fn run(
    options: &Options,
    stop: &mut dyn FnMut() -> bool,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Limits, RunError> {
    let began = Instant::now();
    let tree = Tree::machine();
    let facts = prony_machine::facts(&tree);
    let allowed = affinity::allowed().unwrap_or_default();
    let allowed: Vec<usize> = allowed.iter().map(|cpu| cpu as usize).collect();
    let fallback = allowed.first().copied().unwrap_or(0);
    let preferred = Some(prony_machine::bench_cpu(&tree) as usize).filter(|cpu| allowed.contains(cpu));
    let cpu = options.cpu.unwrap_or(preferred.unwrap_or(fallback));
    // Held until the end: every case runs here but those that say otherwise.
    let _pinned = affinity::pin(cpu).map_err(|error| RunError::Cpu { cpu, error })?;
    let probe = Probe::new().map_err(|error| RunError::Code(error.to_string()))?;
    let caches: Vec<_> = facts.cpu.caches.iter().filter(|cache| cache.kind != "Instruction").cloned().collect();
    let setting = Setting {
        effort: options.effort,
        cpus: std::iter::once(cpu).chain(allowed.into_iter().filter(|&other| other != cpu)).collect(),
        area_bytes: Setting::area_bytes(available_bytes(&tree), &caches, options.effort.thorough),
        caches,
        huge: PageKind::huge(2 << 30),
        directory: options.directory.clone(),
    };
    let (mut cases, mut skipped) = plan(&options.experiments, &setting);
    if let Some(part) = &options.only {
        cases.retain(|case| case.name.contains(part.as_str()));
    }
    let mut seed = Seed::new(options.seed);
    let order = order(cases.len(), &mut seed);
    let mut context = CaseContext {
        memory: Memory::new(setting.area_bytes, Seed::new(seed.bits())),
        tester: Tester::new(options.effort, probe),
        setting,
        seed,
        file: None,
    };
    let contention = || Contention::start(&tree, u32::try_from(cpu).ok());
    let (mut contention, mut contention_of_all) = (contention(), contention());
    let mut measured: Vec<Option<Measured>> = cases.iter().map(|_| None).collect();
    let mut stopped = false;
    let mut left = order;
    for round in 0..ROUNDS {
        let of_round = left.len();
        let mut disturbed = Vec::new();
        for (done, place) in left.into_iter().enumerate() {
            let late = round > 0 && began.elapsed() >= options.budget;
            stopped = stopped || stop();
            if stopped || late {
                break;
            }
            let case = &cases[place];
            tell(Event { round, done, cases: of_round, experiment: case.experiment, name: &case.name });
            let _ = contention.since_last();
            match (case.run)(&mut context) {
                Ok(mut outcome) => {
                    outcome.series.steal = contention.since_last().steal;
                    let found = Measured::of(case, outcome);
                    let wanted = options.effort.samples_min.min(found.series.samples.len());
                    if found.series.clean() < wanted {
                        disturbed.push(place);
                    }
                    let clean = |measured: &Measured| measured.series.clean();
                    if measured[place].as_ref().is_none_or(|before| clean(before) < clean(&found)) {
                        measured[place] = Some(found);
                    }
                }
                Err(reason) if round == 0 => {
                    skipped.push(Skipped {
                        experiment: case.experiment,
                        name: Some(case.name.clone()),
                        reason: reason.0,
                    });
                }
                Err(_) => {}
            }
        }
        left = disturbed;
    }
    // In the order of names: that in which they were tried is random.
    skipped.sort_by(|a, b| (a.experiment, &a.name).cmp(&(b.experiment, &b.name)));
    Ok(Limits {
        fingerprint: fingerprint(&facts),
        facts,
        cpu,
        measured: measured.into_iter().flatten().collect(),
        skipped,
        elapsed: began.elapsed(),
        stopped,
        steal: contention_of_all.since_last().steal,
    })
}

/// The cases of all experiments, in the order of answers, and experiments that have none here.
fn plan(experiments: &[Experiment], setting: &Setting) -> (Vec<Case>, Vec<Skipped>) {
    let (mut cases, mut skipped) = (Vec::new(), Vec::new());
    for experiment in Experiment::ALL.into_iter().filter(|experiment| experiments.contains(experiment)) {
        match experiments::cases(experiment, setting) {
            Ok(of_experiment) => cases.extend(of_experiment),
            Err(reason) => skipped.push(Skipped { experiment, name: None, reason: reason.0 }),
        }
    }
    (cases, skipped)
}

/// A random order: what drifts, as the temperature, then spreads over all cases (Fisher & Yates).
fn order(n: usize, seed: &mut Seed) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for place in (1..n).rev() {
        order.swap(place, seed.below(place + 1));
    }
    order
}

/// `MemAvailable` of `/proc/meminfo`, in bytes.
fn available_bytes(tree: &Tree) -> Option<u64> {
    let text = tree.read("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_cases_is_drawn_by_the_seed() {
        let drawn = |seed| order(200, &mut Seed::new(seed));
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
        let mut all = drawn(7);
        assert_ne!(all, (0..200).collect::<Vec<_>>());
        all.sort_unstable();
        assert_eq!(all, (0..200).collect::<Vec<_>>());
    }
}
