//! All machines of a study at work: this one, those that commands lead to, and those whose cells are jobs of Slurm.

use std::env;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use prony_machine::Interrupt;

use crate::directory::{Directory, DirectoryError, Progress, WORK};
use crate::exec::{self, ExecError, Running, Templates};
use crate::run::{self, Event, Work, WorkError};
use crate::slurm::{Queue, Rounds, SlurmError, Submission};

/// Interval at which other machines' ledgers are read.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Interval at which Slurm is queried for jobs to wait for.
const QUEUE_EVERY: Duration = Duration::from_secs(1);
/// So often in a row nothing must be alive before it is submitted again.
const DEAD_LOOKS: u32 = 3;
/// Interval at which the progress of all machines is reported.
const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// Machines of a study, by their index, and how each is used.
#[derive(Debug)]
pub struct Fleet<'a> {
    /// Directory of the study: its file, ledgers and samples.
    pub directory: &'a Directory,
    /// The machine that this is.
    pub local: Option<usize>,
    /// Machines that commands lead to.
    pub exec: Vec<(usize, Templates)>,
    /// Machines whose cells are jobs of Slurm.
    pub slurm: Vec<usize>,
    /// Number of cells that run at the same time on this machine; they disturb each other.
    pub jobs: usize,
    /// Run cells of this machine again that failed.
    pub retry_failed: bool,
    /// Directory below which other machines work; `None`: as [`exec::scratch`] says.
    pub scratch: Option<&'a Path>,
    /// Directory that holds `proc` and `sys`; `None`: the real ones.
    pub root: Option<&'a Path>,
    /// Wait for the jobs of Slurm.
    pub waits: bool,
    /// Signal listener that ends the run.
    pub interrupt: &'a Interrupt,
}

/// Event while the machines of a study work.
#[derive(Debug)]
pub enum FleetEvent<'a> {
    /// Something on this machine, whose name comes first.
    Local(&'a str, &'a Event<'a>),
    /// Progress of all machines, in the order of the study file.
    Progress(&'a [Progress]),
    /// Number of jobs that were submitted to Slurm.
    Submitted(usize),
    /// Number of jobs that were submitted again, as Slurm lost them or holds them.
    Resubmitted(usize),
}

/// Error of a machine that could not work.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// Cells could not be run on this machine.
    #[error(transparent)]
    Work(#[from] WorkError),
    /// A machine could not be reached, or failed.
    #[error(transparent)]
    Exec(#[from] ExecError),
    /// Jobs could not be submitted.
    #[error(transparent)]
    Slurm(#[from] SlurmError),
    /// The study's directory, or a file or ledger in it.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The directory that commands run in cannot be entered.
    #[error("cannot go to {}: {error}", path.display())]
    Enter {
        /// Path of the directory.
        path: PathBuf,
        /// Error that the system returned.
        error: std::io::Error,
    },
}

/// Progress of the machines, and their errors.
#[derive(Debug)]
pub struct FleetReport {
    /// Progress of each machine, in the order of the study file.
    pub progress: Vec<Progress>,
    /// Errors of machines that did not work to their end; values that they measured before are kept.
    pub errors: Vec<FleetError>,
    /// True if a signal requested a stop.
    pub interrupted: bool,
    /// Jobs of Slurm go on.
    pub jobs_left: bool,
}

impl Fleet<'_> {
    /// Runs what is left of the cells of these machines. Enters the directory that commands run in.
    ///
    /// # Errors
    /// [`FleetError`] where nothing could be begun, or it cannot be known how far it is.
    pub fn run(&self, events: &(dyn Fn(FleetEvent<'_>) + Sync)) -> Result<FleetReport, FleetError> {
        let program = match self.exec.is_empty() && self.slurm.is_empty() {
            true => None,
            false => Some(exec::store_program(&self.directory.path).map_err(ExecError::from)?),
        };
        let program = program.as_deref().unwrap_or(Path::new("prony"));
        let mut errors = Vec::new();
        let mut machines = self.start_exec(program, &mut errors);
        if !self.slurm.is_empty() {
            events(FleetEvent::Submitted(self.submit(program)?));
        }
        let path = self.directory.path.join(WORK);
        env::set_current_dir(&path).map_err(|error| FleetError::Enter { path, error })?;
        let finished = self.local.map(|machine| self.work_here(machine, events)).transpose();
        let finished = finished.unwrap_or_else(|error| {
            errors.push(error.into());
            None
        });
        let mut interrupted = finished.is_some_and(|finished| finished.interrupted);
        let (mut reported, mut queried, mut dead) = (None::<Instant>, Instant::now(), 0);
        loop {
            self.look_at_exec(&mut machines, interrupted, &mut errors);
            interrupted |= self.interrupt.is_requested();
            let at_work = machines.iter().any(|(_, _, running)| running.is_some());
            let queued = !self.slurm.is_empty() && self.waits && !interrupted && !self.is_over()?;
            if queued && queried.elapsed() >= QUEUE_EVERY {
                queried = Instant::now();
                dead = self.look_at_queue(program, dead, events)?;
            }
            if !at_work && !queued {
                break;
            }
            let due = reported.is_none_or(|reported| reported.elapsed() >= PROGRESS_EVERY);
            if due && let Ok(progress) = self.directory.progress() {
                reported = Some(Instant::now());
                events(FleetEvent::Progress(&progress));
            }
            thread::sleep(LOOK_EVERY);
        }
        let jobs_left = !self.slurm.is_empty() && (interrupted || !self.waits) && !self.is_over()?;
        Ok(FleetReport { progress: self.directory.progress()?, errors, interrupted, jobs_left })
    }

    fn name(&self, machine: usize) -> &str {
        &self.directory.study.machines[machine].name
    }

    /// Starts work on the machines that commands lead to.
    fn start_exec(&self, program: &Path, errors: &mut Vec<FleetError>) -> Vec<(usize, &Templates, Option<Running>)> {
        let directory = &self.directory.path;
        let mut machines = Vec::new();
        for (machine, templates) in &self.exec {
            let name = self.name(*machine);
            let scratch = self.scratch.map_or_else(|| exec::scratch(directory, name), |scratch| scratch.join(name));
            let command = exec::work_command(program, directory, name, &scratch, None);
            match Running::start(templates, directory, name, &command) {
                Ok(running) => machines.push((*machine, templates, Some(running))),
                Err(error) => errors.push(error.into()),
            }
        }
        machines
    }

    /// Fetches what machines have measured whose commands ended, and passes on a requested stop.
    fn look_at_exec(
        &self,
        machines: &mut [(usize, &Templates, Option<Running>)],
        interrupted: bool,
        errors: &mut Vec<FleetError>,
    ) {
        for (machine, templates, running) in machines {
            let Some(command) = running else { continue };
            if self.interrupt.is_requested() && !interrupted {
                command.interrupt();
            }
            let ended = command.ended();
            if matches!(ended, Ok(false)) {
                continue;
            }
            // What it measured before it failed is fetched all the same.
            let fetched = exec::fetch(templates, self.directory, self.name(*machine));
            errors.extend([ended.map(drop), fetched.map(drop)].into_iter().filter_map(Result::err).map(Into::into));
            *running = None;
        }
    }

    fn work_here(&self, machine: usize, events: &(dyn Fn(FleetEvent<'_>) + Sync)) -> Result<run::Finished, WorkError> {
        let work = Work {
            directory: self.directory,
            results: &self.directory.path,
            machine,
            block: None,
            jobs: self.jobs,
            retry_failed: self.retry_failed,
            interrupt: Some(self.interrupt),
            root: self.root,
        };
        run::work(&work, &|event| events(FleetEvent::Local(self.name(machine), event)))
    }

    fn submission<'a>(&'a self, program: &'a Path, machines: &'a [String]) -> Submission<'a> {
        Submission { directory: &self.directory.path, program, scratch: self.scratch, machines }
    }

    /// Submits what is left; returns the number of jobs.
    fn submit(&self, program: &Path) -> Result<usize, SlurmError> {
        let names: Vec<String> = self.slurm.iter().map(|&machine| self.name(machine).to_owned()).collect();
        Rounds::forget(&self.directory.path)?;
        Ok(self.submission(program, &names).submit(self.directory)?.jobs.len())
    }

    /// Whether nothing of Slurm's machines is left, or the collector gave up. The queue is not queried.
    fn is_over(&self) -> Result<bool, FleetError> {
        let progress = self.directory.progress()?;
        if self.slurm.iter().all(|&machine| progress[machine].counts.left() == 0) {
            return Ok(true);
        }
        Ok(Rounds::read(&self.directory.path)?.ended)
    }

    /// Submits again what a killed controller forgot or holds. `dead`: how often in a row nothing was alive.
    fn look_at_queue(
        &self,
        program: &Path,
        dead: u32,
        events: &(dyn Fn(FleetEvent<'_>) + Sync),
    ) -> Result<u32, SlurmError> {
        let rounds = Rounds::read(&self.directory.path)?;
        if rounds.ended || rounds.queue() != Queue::Dead {
            return Ok(0);
        }
        // Between the last job and the collector nothing may be alive for a moment.
        if dead + 1 < DEAD_LOOKS {
            return Ok(dead + 1);
        }
        rounds.cancel();
        let rounds = self.submission(program, &rounds.machines).collect(self.directory)?;
        events(FleetEvent::Resubmitted(rounds.jobs.len()));
        Ok(0)
    }
}
