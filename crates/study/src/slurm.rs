//! Blocks as jobs of a Slurm cluster: one job a machine and block, pinned to its node, alone on it.
//!
//! The queue is never believed: whether a cell ran is in the ledger. A collector job comes after all others, whatever
//! became of them, looks into the ledgers, and submits again what is left.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::atomic_file;
use crate::directory::{Directory, DirectoryError};
use crate::exec;
use crate::file::{Executor, Machine, Slurm};
use crate::ledger::{Ledger, LedgerError};

/// Scripts, output and the state of the rounds, in the study's directory.
pub const DIRECTORY: &str = "slurm";
/// Number of submissions of a block after which it is given up: nodes that fail each time do not recover.
pub const ROUNDS_MOST: u32 = 4;
const STATE: &str = "rounds.json";

/// Reasons why jobs could not be submitted.
#[derive(Debug, thiserror::Error)]
pub enum SlurmError {
    /// `sbatch` could not be run.
    #[error("cannot run `sbatch`: {0}")]
    Start(io::Error),
    /// `sbatch` ran and refused a job.
    #[error("sbatch refused {job}: {printed}")]
    Refused {
        /// Name of the refused job.
        job: String,
        /// Text that `sbatch` printed.
        printed: String,
    },
    /// The study's directory, or a file or ledger in it.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
}

impl From<LedgerError> for SlurmError {
    fn from(error: LedgerError) -> SlurmError {
        DirectoryError::from(error).into()
    }
}

/// Jobs that were submitted for a study, round by round.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// Number of the current round, from 1.
    pub round: u32,
    /// The machines that are run so.
    pub machines: Vec<String>,
    /// Numbers of the jobs of the last round.
    pub jobs: Vec<u64>,
    /// Number of the collector of the last round.
    pub collector: Option<u64>,
    /// The collector found nothing left, or gave up.
    pub ended: bool,
    /// Blocks that were given up, by machine.
    #[serde(default)]
    pub given_up: Vec<(String, u64)>,
}

/// Options for submitting jobs: directory, program, machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission<'a> {
    /// Directory of the study, on a file system that all nodes share.
    pub directory: &'a Path,
    /// The program, where all nodes see it.
    pub program: &'a Path,
    /// Parent directory of the nodes' working directories, one for each machine. `None`: see [`exec::scratch`].
    pub scratch: Option<&'a Path>,
    /// Names of the machines to run so; those without Slurm settings in the study are submitted without options.
    pub machines: &'a [String],
}

impl Submission<'_> {
    /// Submits every block of Slurm's machines that has cells left, and the collector behind them. Returns the state;
    /// nothing is submitted when nothing is left.
    ///
    /// # Errors
    /// [`SlurmError`] when a job is refused; those before it stay submitted, and the ledgers keep them from repeating
    /// anything.
    pub fn submit(&self, study: &Directory) -> Result<Rounds, SlurmError> {
        let place = self.directory.join(DIRECTORY);
        fs::create_dir_all(&place).map_err(|error| DirectoryError::Io { path: place.clone(), error })?;
        let round = Rounds::read(self.directory)?.round + 1;
        let mut rounds = Rounds { round, machines: self.machines.to_vec(), ..Rounds::default() };
        for (machine, facts) in self.of(study) {
            let slurm = &slurm_of(facts);
            let scratch = self.scratch_of(&facts.name);
            for block in blocks_left(study, machine)? {
                let words = exec::work_command(self.program, self.directory, &facts.name, &scratch, Some(block));
                let name = format!("prony-{}-{block}", facts.name);
                rounds.jobs.push(self.job(slurm, &facts.name, &name, &words)?);
            }
        }
        if rounds.jobs.is_empty() {
            rounds.ended = true;
        } else {
            rounds.collector = Some(self.collector(study, &rounds)?);
        }
        rounds.write(self.directory)?;
        Ok(rounds)
    }

    fn of<'b>(&'b self, study: &'b Directory) -> impl Iterator<Item = (usize, &'b Machine)> {
        study.study.machines.iter().enumerate().filter(|(_, machine)| self.machines.contains(&machine.name))
    }

    fn scratch_of(&self, machine: &str) -> PathBuf {
        self.scratch.map_or_else(|| exec::scratch(self.directory, machine), |scratch| scratch.join(machine))
    }

    fn job(&self, slurm: &Slurm, machine: &str, name: &str, words: &[String]) -> Result<u64, SlurmError> {
        let node = slurm.node.as_deref().unwrap_or(machine);
        let mut flags = self.flags(slurm, name);
        // The whole node, whatever its share of the partition would be.
        flags.extend(["--exclusive".to_owned(), "--nodes=1".to_owned(), format!("--nodelist={node}")]);
        if let Some(constraint) = &slurm.constraint {
            flags.push(format!("--constraint={constraint}"));
        }
        sbatch(&flags, &script(slurm, words), name)
    }

    fn collector(&self, study: &Directory, rounds: &Rounds) -> Result<u64, SlurmError> {
        let slurm = self.of(study).next().map(|(_, facts)| slurm_of(facts)).unwrap_or_default();
        let mut flags = self.flags(&slurm, "prony-collect");
        let jobs: Vec<String> = rounds.jobs.iter().map(u64::to_string).collect();
        flags.push(format!("--dependency=afterany:{}", jobs.join(":")));
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let mut words = vec![text(self.program), "study".into(), "collect".into(), text(self.directory)];
        if let Some(scratch) = self.scratch {
            words.extend(["--scratch".to_owned(), text(scratch)]);
        }
        let script = format!("#!/bin/sh\nexec {}\n", shell_words::join(&words));
        sbatch(&flags, &script, "the collector")
    }

    fn flags(&self, slurm: &Slurm, name: &str) -> Vec<String> {
        let mut flags = vec![
            "--parsable".to_owned(),
            format!("--job-name={name}"),
            "--ntasks=1".to_owned(),
            // A node that comes back runs the job again; the ledger there knows what is done.
            "--requeue".to_owned(),
            "--open-mode=append".to_owned(),
            format!("--chdir={}", self.directory.display()),
            format!("--output={}", self.directory.join(DIRECTORY).join("%j.out").display()),
        ];
        if let Some(partition) = &slurm.partition {
            flags.push(format!("--partition={partition}"));
        }
        if let Some(account) = &slurm.account {
            flags.push(format!("--account={account}"));
        }
        flags
    }

    /// Work of the collector job: submits the remaining cells once more, or reports that none is left.
    ///
    /// # Errors
    /// As [`Submission::submit`].
    pub fn collect(&self, study: &Directory) -> Result<Rounds, SlurmError> {
        let mut left = Vec::new();
        for (machine, facts) in self.of(study) {
            left.extend(blocks_left(study, machine)?.into_iter().map(|block| (facts.name.clone(), block)));
        }
        let mut rounds = Rounds::read(self.directory)?;
        if !left.is_empty() && rounds.round < ROUNDS_MOST {
            return self.submit(study);
        }
        rounds.ended = true;
        rounds.given_up = left;
        rounds.write(self.directory)?;
        Ok(rounds)
    }
}

/// State of the jobs of a round in Slurm's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// A job of it runs or waits for its turn.
    Alive,
    /// None does: a controller that was killed forgets jobs that it had not written down, and holds those that it could
    /// not start again.
    Dead,
    /// The controller does not answer.
    Silent,
}

impl Rounds {
    /// State of the queue: whether there are jobs to wait for. What ran is not its to say.
    pub fn queue(&self) -> Queue {
        let listed = Command::new("squeue").args(["--noheader", "--format=%i|%T|%r"]).stdin(Stdio::null()).output();
        match listed {
            Ok(output) if output.status.success() => self.queue_of(&String::from_utf8_lossy(&output.stdout)),
            _ => Queue::Silent,
        }
    }

    fn queue_of(&self, listed: &str) -> Queue {
        let is_alive = |line: &str| {
            let mut fields = line.trim().splitn(3, '|');
            let number = fields.next().and_then(|number| number.parse::<u64>().ok());
            let (state, reason) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
            let held = state == "PENDING" && reason.to_lowercase().contains("held");
            // A collector that waits for a job which is held waits forever.
            let waits = self.collector == number && state == "PENDING";
            number.is_some_and(|number| self.jobs.contains(&number) || self.collector == Some(number))
                && !held
                && !waits
        };
        if listed.lines().any(is_alive) { Queue::Alive } else { Queue::Dead }
    }

    /// Takes what is left of a round out of the queue.
    pub fn cancel(&self) {
        let numbers = self.jobs.iter().chain(&self.collector).map(u64::to_string);
        let mut command = Command::new("scancel");
        command.arg("--quiet").args(numbers).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Jobs that are not there any more are what we want.
        let _ = command.status();
    }

    /// Reads the jobs that were submitted for a study so far.
    ///
    /// # Errors
    /// [`SlurmError`] when the file cannot be read.
    pub fn read(directory: &Path) -> Result<Rounds, SlurmError> {
        let path = directory.join(DIRECTORY).join(STATE);
        match fs::read(&path) {
            Ok(json) => serde_json::from_slice(&json).map_err(|error| in_file(&path, io::Error::other(error))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Rounds::default()),
            Err(error) => Err(in_file(&path, error)),
        }
    }

    fn write(&self, directory: &Path) -> Result<(), SlurmError> {
        let path = directory.join(DIRECTORY).join(STATE);
        let json = serde_json::to_vec_pretty(self).expect("numbers are JSON");
        atomic_file::write_with_mode(&path, &json, 0o644).map_err(|error| in_file(&path, error))
    }

    /// Begins again on request: what was given up is tried again.
    ///
    /// # Errors
    /// [`SlurmError`] when the file cannot be removed.
    pub fn forget(directory: &Path) -> Result<(), SlurmError> {
        let path = directory.join(DIRECTORY).join(STATE);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(in_file(&path, error)),
            _ => Ok(()),
        }
    }
}

fn in_file(path: &Path, error: io::Error) -> SlurmError {
    DirectoryError::Io { path: path.to_owned(), error }.into()
}

fn slurm_of(machine: &Machine) -> Slurm {
    match &machine.executor {
        Executor::Slurm(slurm) => slurm.clone(),
        _ => Slurm::default(),
    }
}

/// Blocks of a machine with cells left, by what its node has published.
fn blocks_left(study: &Directory, machine: usize) -> Result<Vec<u64>, SlurmError> {
    let path = study.ledger(machine);
    if path.exists() {
        return Ok(Ledger::read(&path)?.blocks_left()?.into_iter().map(|(block, _)| block).collect());
    }
    let blocks = study.plan.blocks.iter().filter(|block| block.machine == machine).count();
    Ok((0..blocks as u64).collect())
}

/// What a job does: every word of it is quoted for the shell that reads it.
fn script(slurm: &Slurm, words: &[String]) -> String {
    // --cpu-freq is a flag of steps (srun(1)); `study work` then checks that the node complied.
    let step = slurm.cpu_freq.iter().flat_map(|frequency| ["srun".to_owned(), format!("--cpu-freq={frequency}")]);
    let words: Vec<String> = step.chain(words.iter().cloned()).collect();
    format!("#!/bin/sh\nexec {}\n", shell_words::join(&words))
}

/// Hands a script to `sbatch` and returns the number of the job.
fn sbatch(flags: &[String], script: &str, job: &str) -> Result<u64, SlurmError> {
    let mut command = Command::new("sbatch");
    command.args(flags).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(SlurmError::Start)?;
    if let Some(mut stdin) = child.stdin.take() {
        io::Write::write_all(&mut stdin, script.as_bytes()).map_err(SlurmError::Start)?;
    }
    let output = child.wait_with_output().map_err(SlurmError::Start)?;
    let printed = String::from_utf8_lossy(&output.stdout);
    // --parsable: the number, and behind a semicolon the cluster.
    let number = printed.trim().split(';').next().and_then(|number| number.parse().ok());
    match number.filter(|_| output.status.success()) {
        Some(number) => Ok(number),
        None => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            Err(SlurmError::Refused { job: job.to_owned(), printed: said.join("; ") })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_a_job_is_one_for_the_shell() {
        let slurm = Slurm { cpu_freq: Some("high; touch x #".to_owned()), ..Slurm::default() };
        let words = ["/a b/prony", "study", "work", "$HOME"].map(str::to_owned);
        let expected = "#!/bin/sh\nexec srun '--cpu-freq=high; touch x #' '/a b/prony' study work '$HOME'\n";
        assert_eq!(script(&slurm, &words), expected);
        let plain = Slurm { cpu_freq: Some("800000-2400000:performance".to_owned()), ..Slurm::default() };
        assert_eq!(
            script(&plain, &words[1..3]),
            "#!/bin/sh\nexec srun '--cpu-freq=800000-2400000:performance' study work\n"
        );
    }

    #[test]
    fn jobs_that_are_held_or_forgotten_are_not_waited_for() {
        let rounds = Rounds { round: 1, jobs: vec![7, 8], collector: Some(9), ..Rounds::default() };
        assert_eq!(rounds.queue_of("7|RUNNING|None\n9|PENDING|Dependency\n"), Queue::Alive);
        assert_eq!(rounds.queue_of("8|PENDING|Resources\n"), Queue::Alive);
        assert_eq!(rounds.queue_of("9|RUNNING|None\n"), Queue::Alive);
        let none_alive = "7|PENDING|launch failed requeued held\n8|PENDING|JobHeldAdmin\n9|PENDING|Dependency\n";
        assert_eq!(rounds.queue_of(none_alive), Queue::Dead);
        assert_eq!(rounds.queue_of("17|RUNNING|None\n"), Queue::Dead);
        assert_eq!(rounds.queue_of(""), Queue::Dead);
    }
}
