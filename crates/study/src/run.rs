//! Runs the cells of one machine: claim, run, samples on disk, commit; what is cut short is run again.

mod cell;
mod failure;
mod machine;
mod sweep;
mod value;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use prony_machine::Interrupt;
use prony_machine::own;
use prony_replay::{ReplayOptions, Replayer};
use prony_stats::samples::SamplesError;
use sha2::{Digest, Sha256};

pub use cell::{ATTEMPT_VARIABLE, CELL_VARIABLE};

use crate::State;
use crate::artifacts::ArtifactError;
use crate::atomic_file;
use crate::cells::Task;
use crate::directory::{Directory, DirectoryError, WORK};
use crate::file::{Study, Unmet};
use crate::ledger::{self, AfterFailure, Claim, Counts, Failure, Ledger, LedgerError};
use cell::{Build, CellContext, NoOutcome, Outcome};
use machine::LocalMachine;
use sweep::SweepError;

/// Cells to run on a machine, and the options for it.
#[derive(Debug)]
pub struct Work<'a> {
    /// Directory of the study: its file, ledgers and samples.
    pub directory: &'a Directory,
    /// Directory for the ledger and samples; the study's directory, or one on a disk of this machine.
    pub results: &'a Path,
    /// Index of the machine that this is.
    pub machine: usize,
    /// Block of the plan to which the run is restricted.
    pub block: Option<u64>,
    /// Cells that run at the same time; they disturb each other.
    pub jobs: usize,
    /// Run cells again that failed.
    pub retry_failed: bool,
    /// Signal listener that ends the run.
    pub interrupt: Option<&'a Interrupt>,
    /// Directory that holds `proc` and `sys`; `None`: the real ones.
    pub root: Option<&'a Path>,
}

/// Error that keeps cells from being run.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    /// The machine does not meet the study's requirements.
    #[error("machine `{machine}`: {}", unmet.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Unmet {
        /// Name of the machine.
        machine: String,
        /// Requirements that the machine does not meet; at least one.
        unmet: Vec<Unmet>,
    },
    /// The study's directory, or a file or ledger in it.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// Samples that are none: a fault of ours.
    #[error("the samples of cell {key}: {error}")]
    Samples {
        /// Key of the cell.
        key: String,
        /// Reason why the samples cannot be used.
        error: SamplesError,
    },
}

impl From<LedgerError> for WorkError {
    fn from(error: LedgerError) -> WorkError {
        DirectoryError::from(error).into()
    }
}

impl From<ArtifactError> for WorkError {
    fn from(error: ArtifactError) -> WorkError {
        WorkError::Directory(error.into())
    }
}

impl From<SweepError> for WorkError {
    fn from(error: SweepError) -> WorkError {
        match error {
            SweepError::Ledger(error) => error.into(),
            SweepError::Plan(error) => WorkError::Directory(error.into()),
        }
    }
}

/// Event while the cells of a machine run.
#[derive(Debug)]
pub enum Event<'a> {
    /// Cells that were cut short before are to run again.
    Cut(usize),
    /// Progress of the machine, after each cell.
    Progress(Progress),
    /// A cell failed, and what that led to.
    Failed(&'a Claim, &'a Failure, AfterFailure),
    /// A sweep went far enough, or looks for its crossing: the point it tries.
    Point(f64),
}

/// Progress of a machine: counts and time left.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Number of its cells in each state.
    pub counts: Counts,
    /// Seconds until all have run, by what those took that did.
    pub left_s: Option<f64>,
}

/// Summary of a machine's work: numbers of cells, and seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finished {
    /// The cells of the machine.
    pub counts: Counts,
    /// Seconds from the first claim to the last commit.
    pub elapsed_s: f64,
    /// Seconds of it that cells took themselves.
    pub cells_s: f64,
    /// Number of cells that ran since the start.
    pub ran: u64,
    /// True if a signal requested a stop.
    pub interrupted: bool,
}

/// Runs what is left of a machine's cells.
///
/// # Errors
/// [`WorkError`] when the machine is refused, or what was measured cannot be kept. What was kept before stays.
pub fn work(work: &Work, events: &(dyn Fn(&Event) + Sync)) -> Result<Finished, WorkError> {
    let study = &work.directory.study;
    let name = &study.machines[work.machine].name;
    let mut here = LocalMachine::look(work.root);
    let unmet = here.unmet(&study.machines[work.machine]);
    if !unmet.is_empty() {
        return Err(WorkError::Unmet { machine: name.clone(), unmet });
    }
    for directory in [work.results.join(ledger::CELLS), work.results.join(WORK)] {
        fs::create_dir_all(&directory).map_err(|error| DirectoryError::Io { path: directory, error })?;
    }
    // What runs is what was shipped, also when the directory came over a network.
    crate::artifacts::Artifacts::check(&work.directory.path)?;
    let (mut ledger, cut) = Ledger::open(&work.results.join(ledger::file_name(name)), name)?;
    sweep_away_temporaries(&work.results.join(ledger::CELLS));
    if cut > 0 {
        events(&Event::Cut(cut));
    }
    // What a sweep added is in no plan.
    let grown = sweep::grown(study, &ledger)?;
    let added: Vec<ledger::Row> = ledger.cells()?.into_iter().map(|entry| entry.row).collect();
    let planned = work.directory.rows(work.machine);
    let keys: std::collections::HashSet<&str> = planned.iter().map(|row| row.key.as_str()).collect();
    let is_point = |row: &&ledger::Row| {
        let known = |(at, level): (usize, &String)| {
            let named = |factor: &crate::file::Factor| factor.levels.iter().any(|other| other.name == *level);
            grown.factors.get(at).is_some_and(named) && !study.factors.get(at).is_some_and(named)
        };
        !keys.contains(row.key.as_str()) && row.levels.iter().enumerate().any(known)
    };
    let added: Vec<ledger::Row> = added.iter().filter(is_point).cloned().collect();
    ledger.plan(planned.iter().cloned().chain(added))?;
    if work.retry_failed {
        ledger.retry_failed()?;
    }
    here.note(&mut ledger)?;
    let counts = ledger.counts()?;
    let cell_s = ledger.cell_s()?;
    let facts = here.facts.clone();
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let shared = Shared {
        work,
        facts: &facts,
        environment: &environment,
        events,
        state: Mutex::new(Running { ledger, here, study: grown, counts, cells_s: 0.0, ran: 0, cell_s, stopped: false }),
    };
    let begun = Instant::now();
    let jobs = work.jobs.max(1);
    if jobs == 1 {
        worker(&shared)?;
    } else {
        thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(|| worker(&shared))).collect();
            let ended = workers
                .into_iter()
                .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            ended.fold(Ok(()), Result::and)
        })?;
    }
    let elapsed_s = begun.elapsed().as_secs_f64();
    let running = shared.state.into_inner().unwrap_or_else(PoisonError::into_inner);
    let interrupted = work.interrupt.is_some_and(Interrupt::is_requested);
    Ok(Finished {
        counts: running.ledger.counts()?,
        elapsed_s,
        cells_s: running.cells_s,
        ran: running.ran,
        interrupted,
    })
}

/// State that the workers of a machine share.
struct Shared<'a> {
    work: &'a Work<'a>,
    facts: &'a serde_json::Value,
    environment: &'a [(OsString, OsString)],
    events: &'a (dyn Fn(&Event) + Sync),
    state: Mutex<Running>,
}

/// State that changes while cells run.
struct Running {
    ledger: Ledger,
    here: LocalMachine,
    /// With the points that sweeps added.
    study: Study,
    counts: Counts,
    cells_s: f64,
    ran: u64,
    /// Mean of the cells that ran before.
    cell_s: Option<f64>,
    /// A worker could not go on.
    stopped: bool,
}

impl Shared<'_> {
    fn lock(&self) -> MutexGuard<'_, Running> {
        // A worker that panics leaves a ledger that any end of us leaves.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn should_stop(&self) -> bool {
        self.work.interrupt.is_some_and(Interrupt::is_requested)
    }
}

impl Running {
    fn progress(&self, jobs: usize) -> Progress {
        let mean = if self.ran > 0 { Some(self.cells_s / self.ran as f64) } else { self.cell_s };
        Progress { counts: self.counts, left_s: mean.map(|mean| mean * self.counts.left() as f64 / jobs.max(1) as f64) }
    }
}

/// Runs cells until none is left.
fn worker(shared: &Shared) -> Result<(), WorkError> {
    let claimed = {
        let mut running = shared.lock();
        if shared.should_stop() { Ok(None) } else { claim(&mut running, shared.work.block) }
    };
    let mut claimed = claimed?;
    while let Some(first) = claimed {
        let ended = workload(shared, first);
        if ended.is_err() {
            shared.lock().stopped = true;
        }
        claimed = ended?;
    }
    Ok(())
}

fn claim(running: &mut Running, block: Option<u64>) -> Result<Option<Claim>, LedgerError> {
    let claimed = running.ledger.claim(block)?;
    if claimed.is_some() {
        running.counts.pending = running.counts.pending.saturating_sub(1);
        running.counts.running += 1;
    }
    Ok(claimed)
}

/// Runs cells as long as they are of the workload of the first. Returns the one after them.
fn workload(shared: &Shared, first: Claim) -> Result<Option<Claim>, WorkError> {
    let study = shared.lock().study.clone();
    let demo = study.workloads.iter().find(|workload| workload.name == first.row.workload);
    let demo = demo.and_then(|workload| workload.demo.as_deref());
    let demo = demo.map(|path| shared.work.directory.artifacts.place(&shared.work.directory.path, path));
    // Every build of the block, laid out when it is first used and kept for the blocks that follow.
    let builds = if demo.is_some() { builds(shared, &study, &first)? } else { Vec::new() };
    let options: Vec<Result<ReplayOptions, Failure>> =
        builds.iter().map(|build| build.options(demo.as_deref().unwrap_or_default())).collect();
    let mut players: Vec<Option<Replayer>> = options.iter().map(|_| None).collect();
    let mut claimed = first;
    loop {
        let grown = shared.lock().study.clone();
        let Some(task) = task(shared, &grown, &claimed) else {
            let failure = Failure {
                kind: crate::FailureKind::Permanent,
                message: "the study no longer has what this cell is made of".to_owned(),
            };
            match failed(shared, &claimed, &failure)? {
                Some(next) => claimed = next,
                None => return Ok(None),
            }
            continue;
        };
        let context = CellContext {
            study: &grown,
            artifacts: &shared.work.directory.artifacts,
            facts: shared.facts,
            interrupt: shared.work.interrupt,
            environment: shared.environment,
        };
        let outcome = match &task.demo {
            None => context.command(&claimed, &task, surroundings(&grown, &claimed)),
            Some(_) => {
                let Some(at) = builds.iter().position(|build| *build == Build::of(&task)) else {
                    // A build that came up only now, as the point of a sweep: lay out again.
                    return Ok(Some(claimed));
                };
                player(&options, &mut players, at).and_then(|player| context.replay(&claimed, &task, player))
            }
        };
        let next = match outcome {
            Ok(outcome) => done(shared, &claimed, &outcome)?,
            Err(NoOutcome::Failed(failure)) => failed(shared, &claimed, &failure)?,
            Err(NoOutcome::Interrupted) => {
                shared.lock().ledger.release(&claimed)?;
                None
            }
        };
        match next {
            Some(next) if next.row.workload == claimed.row.workload => claimed = next,
            other => return Ok(other),
        }
    }
}

/// Command of a cell; `None` when the study lacks a name of it.
fn task(shared: &Shared, study: &Study, claim: &Claim) -> Option<Task> {
    let directory = shared.work.directory;
    let workload = study.workloads.iter().position(|workload| workload.name == claim.row.workload)?;
    let levels = study.factors.iter().zip(&claim.row.levels);
    let levels: Option<Vec<usize>> =
        levels.map(|(factor, name)| factor.levels.iter().position(|level| level.name == *name)).collect();
    study.task(workload, &levels?, &|path| directory.artifacts.place(&directory.path, path))
}

/// The builds of a block, each once.
fn builds(shared: &Shared, study: &Study, claim: &Claim) -> Result<Vec<Build>, LedgerError> {
    let entries = shared.lock().ledger.block(claim.row.block)?;
    let mut builds = Vec::new();
    for entry in entries {
        let claim = Claim { row: entry.row, attempt: 0 };
        if let Some(build) = task(shared, study, &claim).map(|task| Build::of(&task))
            && !builds.contains(&build)
        {
            builds.push(build);
        }
    }
    Ok(builds)
}

/// The player of a build; the demo is laid out only for the first.
fn player<'a, 'b>(
    options: &'b [Result<ReplayOptions, Failure>],
    players: &'a mut [Option<Replayer<'b>>],
    at: usize,
) -> Result<&'a mut Replayer<'b>, NoOutcome> {
    if players[at].is_none() {
        let options = options[at].as_ref().map_err(|failure| NoOutcome::Failed(failure.clone()))?;
        let opened = match players.iter().flatten().next() {
            Some(other) => other.beside(options),
            None => Replayer::open(options),
        };
        players[at] = Some(opened.map_err(|error| NoOutcome::Failed(failure::of_replay_error(&error)))?);
    }
    Ok(players[at].as_mut().expect("it was opened above"))
}

/// Equal for the cells of a block, another for each.
fn surroundings(study: &Study, claim: &Claim) -> u64 {
    let mut hash = Sha256::new();
    hash.update(study.seed.to_le_bytes());
    hash.update(claim.row.repeat.to_le_bytes());
    hash.update(claim.row.workload.as_bytes());
    let digest: [u8; 32] = hash.finalize().into();
    digest[..8].iter().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

/// Puts the samples in place, commits the cell, and takes the next.
fn done(shared: &Shared, claimed: &Claim, outcome: &Outcome) -> Result<Option<Claim>, WorkError> {
    let key = &claimed.row.key;
    let bytes = outcome.samples.encode().map_err(|error| WorkError::Samples { key: key.clone(), error })?;
    let path = shared.work.results.join(ledger::CELLS).join(format!("{key}.json"));
    if let Err(error) = atomic_file::write(&path, &bytes) {
        // A value without its samples is none. Only trying shows whether the ledger still takes a failure.
        let failure = Failure { kind: failure::of_io(&error), message: format!("cannot write its samples: {error}") };
        return failed(shared, claimed, &failure);
    }
    let mut running = shared.lock();
    running.cells_s += outcome.measured.seconds;
    running.ran += 1;
    let watched = sweep::of(&running.study).is_some();
    let stop = running.stopped || shared.should_stop();
    let next = if watched || stop {
        running.ledger.done(claimed, &outcome.measured)?;
        follow(shared, &mut running, claimed)?;
        if stop { None } else { running.ledger.claim(shared.work.block)? }
    } else {
        running.ledger.done_and_claim(claimed, &outcome.measured, shared.work.block)?
    };
    if watched {
        running.counts = running.ledger.counts()?;
    } else {
        running.counts.done += 1;
        match next {
            Some(_) => running.counts.pending = running.counts.pending.saturating_sub(1),
            None => running.counts.running = running.counts.running.saturating_sub(1),
        }
    }
    let Running { here, ledger, .. } = &mut *running;
    here.after_cell(outcome.measured.seconds, ledger)?;
    let progress = running.progress(shared.work.jobs);
    drop(running);
    (shared.events)(&Event::Progress(progress));
    Ok(next)
}

/// Commits a cell as failed, and takes the next.
fn failed(shared: &Shared, claimed: &Claim, failure: &Failure) -> Result<Option<Claim>, WorkError> {
    let mut running = shared.lock();
    let after = running.ledger.failed(claimed, failure)?;
    running.ran += 1;
    if after != AfterFailure::Again {
        follow(shared, &mut running, claimed)?;
    }
    let stop = running.stopped || shared.should_stop();
    let next = if stop { None } else { running.ledger.claim(shared.work.block)? };
    running.counts = running.ledger.counts()?;
    let progress = running.progress(shared.work.jobs);
    drop(running);
    (shared.events)(&Event::Failed(claimed, failure, after));
    (shared.events)(&Event::Progress(progress));
    Ok(next)
}

/// Goes on with the sweep of a cell that ended.
fn follow(shared: &Shared, running: &mut Running, claimed: &Claim) -> Result<(), WorkError> {
    let Running { study, ledger, .. } = running;
    let grown = sweep::follow(study, &shared.work.directory.artifacts, shared.work.machine, claimed, ledger)?;
    if let Some(grown) = grown {
        *study = grown;
    }
    Ok(())
}

/// Files that a process which is gone was writing. We hold the ledger's lock, so they have no owner.
fn sweep_away_temporaries(directory: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| own::is_temporary(&entry.file_name().to_string_lossy())) {
        // A file that cannot be removed does no harm.
        let _ = fs::remove_file(entry.path());
    }
}

/// True if no cell is left to run on any machine.
pub fn is_complete(cells: &[crate::Cell]) -> bool {
    !cells.iter().any(|cell| matches!(cell.state, State::Pending | State::Running))
}
