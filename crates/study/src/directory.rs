//! A study's directory: what was planned, what was shipped, and the ledgers of its machines.
//!
//! ```text
//! DIR/study.toml               the study file
//! DIR/builds/                  what is shipped, by content
//! DIR/ledger-MACHINE.sqlite    what came of the cells of each machine
//! DIR/cells/KEY.json           the samples of each cell that is done
//! DIR/work/                    where commands run
//! ```

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::artifacts::{ArtifactError, Artifacts};
use crate::file::{MOST_BYTES, Study, StudyError};
use crate::ledger::{self, Ledger, LedgerError, Row};
use crate::plan::{Plan, PlanError};
use crate::results::{Machine, Results};

/// The study file, in its directory.
pub const STUDY_FILE: &str = "study.toml";
/// Directory below a study's directory in which commands run.
pub const WORK: &str = "work";
/// The fact of a ledger that lists the points which its sweeps added.
pub(crate) const POINTS: &str = "points";
/// The fact of a ledger that says what its machine is.
pub(crate) const FACTS: &str = "facts";

/// Error of opening or creating a study's directory.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// A file of the directory could not be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error that the system returned.
        error: io::Error,
    },
    /// The study file cannot be used.
    #[error("{}: {error}", path.display())]
    Study {
        /// Path of the study file.
        path: PathBuf,
        /// Problem of the study file, with its line and column.
        error: StudyError,
    },
    /// The study cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A copied file cannot be read, or is not the one that was copied.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// A ledger of the study cannot be used.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// A study as it lies in its directory.
#[derive(Debug)]
pub struct Directory {
    /// Absolute path of the directory.
    pub path: PathBuf,
    /// The study, as its file describes it.
    pub study: Study,
    /// Files that were copied into the directory.
    pub artifacts: Artifacts,
    /// Cells that run, in their order.
    pub plan: Plan,
}

impl Directory {
    /// Makes the directory of a study, or brings one up to what its study file says now: ships what it names, and writes
    /// the plan into the ledger of each machine. What was measured stays.
    ///
    /// `base`: the directory that relative paths of the study mean.
    ///
    /// # Errors
    /// [`DirectoryError`] when the study cannot be read, shipped or planned.
    pub fn make(path: &Path, text: &str, base: &Path) -> Result<Directory, DirectoryError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |error| DirectoryError::Io { path, error }
        };
        let file = path.join(STUDY_FILE);
        let study = Study::parse(text).map_err(|error| DirectoryError::Study { path: file.clone(), error })?;
        for directory in [path.to_owned(), path.join(ledger::CELLS), path.join(WORK)] {
            fs::create_dir_all(&directory).map_err(io(&directory))?;
        }
        let path = fs::canonicalize(path).map_err(io(path))?;
        let artifacts = Artifacts::store(study.paths(), base, &path)?;
        let plan = study.plan(&artifacts.contents())?;
        crate::atomic_file::write_with_mode(&file, text.as_bytes(), 0o644).map_err(io(&file))?;
        Ok(Directory { path, study, artifacts, plan })
    }

    /// Makes the directory of a study that lies in another one, with all it ships.
    ///
    /// # Errors
    /// [`DirectoryError`] when the other is not what was shipped, or cannot be copied.
    pub fn take(path: &Path, text: &str, from: &Directory) -> Result<Directory, DirectoryError> {
        Artifacts::check(&from.path)?;
        fs::create_dir_all(path).map_err(|error| DirectoryError::Io { path: path.to_owned(), error })?;
        from.artifacts.copy(&from.path, path)?;
        let file = path.join(STUDY_FILE);
        crate::atomic_file::write_with_mode(&file, text.as_bytes(), 0o644)
            .map_err(|error| DirectoryError::Io { path: file, error })?;
        for directory in [path.join(ledger::CELLS), path.join(WORK)] {
            fs::create_dir_all(&directory).map_err(|error| DirectoryError::Io { path: directory, error })?;
        }
        Directory::open(path)
    }

    /// Opens an existing study's directory and reads its study file and plan.
    ///
    /// # Errors
    /// [`DirectoryError`] when there is no study in it.
    pub fn open(path: &Path) -> Result<Directory, DirectoryError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |error| DirectoryError::Io { path, error }
        };
        let file = path.join(STUDY_FILE);
        let mut text = String::new();
        let limited = File::open(&file).map(|file| file.take(MOST_BYTES as u64 + 1));
        limited.and_then(|mut file| file.read_to_string(&mut text)).map_err(io(&file))?;
        let study = Study::parse(&text).map_err(|error| DirectoryError::Study { path: file, error })?;
        let path = fs::canonicalize(path).map_err(io(path))?;
        let artifacts = Artifacts::read(&path)?;
        let plan = study.plan(&artifacts.contents())?;
        Ok(Directory { path, study, artifacts, plan })
    }

    /// Path of the ledger of a machine.
    pub fn ledger(&self, machine: usize) -> PathBuf {
        self.path.join(ledger::file_name(&self.study.machines[machine].name))
    }

    /// The cells of a machine as its ledger takes them.
    pub fn rows(&self, machine: usize) -> Vec<Row> {
        rows(&self.study, &self.plan, machine)
    }

    /// Everything known of the study.
    ///
    /// # Errors
    /// [`DirectoryError`] when a ledger cannot be read.
    pub fn results(&self) -> Result<Results, DirectoryError> {
        let mut ledgers = Vec::new();
        for machine in 0..self.study.machines.len() {
            let path = self.ledger(machine);
            ledgers.push(if path.exists() { Some(Ledger::read(&path)?) } else { None });
        }
        let mut study = self.study.clone();
        for ledger in ledgers.iter().flatten() {
            for (factor, point) in points(ledger)? {
                let Some(at) = study.factors.iter().position(|other| other.name == factor) else { continue };
                study = study.with_point(at, point).unwrap_or(study);
            }
        }
        let planned = study.plan(&self.artifacts.contents())?;
        let mut results = planned.results(&study);
        for (machine, ledger) in ledgers.iter().enumerate() {
            if let Some(ledger) = ledger {
                fill_in(&mut results, machine, ledger)?;
            }
        }
        // A point of one block's search is in the plan of every block, which did not ask for it.
        let grown = study.factors.iter().zip(&self.study.factors).map(|(grown, planned)| {
            let is_new = |level: &crate::file::Level| planned.levels.iter().all(|other| other.name != level.name);
            grown.levels.iter().map(is_new).collect::<Vec<bool>>()
        });
        let grown: Vec<Vec<bool>> = grown.collect();
        let is_requested =
            |cell: &crate::Cell| cell.attempt > 0 || !cell.levels.iter().zip(&grown).any(|(&level, new)| new[level]);
        results.cells.retain(|cell| cell.state != crate::State::Pending || is_requested(cell));
        Ok(results)
    }
}

/// The cells of a machine as its ledger takes them.
pub(crate) fn rows(study: &Study, plan: &Plan, machine: usize) -> Vec<Row> {
    let blocks = plan.blocks.iter().filter(|block| block.machine == machine);
    let of_block = |(number, block): (usize, &crate::Block)| {
        let rows = block.cells.iter().map(|cell| Row {
            key: cell.key.clone(),
            block: number as u64,
            workload: study.workloads[block.workload].name.clone(),
            repeat: block.repeat,
            levels: study.names(&cell.levels).map(str::to_owned).collect(),
            role: cell.role,
        });
        rows.collect::<Vec<Row>>()
    };
    blocks.enumerate().flat_map(of_block).collect()
}

/// Points that sweeps of a ledger added: the name of the factor, and the number.
pub(crate) fn points(ledger: &Ledger) -> Result<Vec<(String, f64)>, LedgerError> {
    let noted = ledger.note(POINTS)?;
    Ok(noted.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default())
}

/// Brings what a ledger knows into the results of a plan.
fn fill_in(results: &mut Results, machine: usize, ledger: &Ledger) -> Result<(), LedgerError> {
    let mut known: HashMap<String, ledger::Entry> =
        ledger.cells()?.into_iter().map(|entry| (entry.row.key.clone(), entry)).collect();
    for cell in results.cells.iter_mut().filter(|cell| cell.machine == machine) {
        let Some(entry) = known.remove(&cell.key) else { continue };
        cell.samples = entry.samples();
        (cell.state, cell.attempt, cell.value) = (entry.state, entry.attempt, entry.value);
        (cell.spread, cell.seconds, cell.provenance) = (entry.spread, entry.seconds, entry.provenance);
    }
    let facts = ledger.note(FACTS)?.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
    let name = results.machines[machine].name.clone();
    results.machines[machine] = Machine { name, facts, disturbances: ledger.disturbances()? };
    Ok(())
}

/// Progress of a machine, readable while it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Name of the machine in the study file.
    pub machine: String,
    /// Number of its cells in each state; of a machine that has not begun, all are pending.
    pub counts: ledger::Counts,
    /// Seconds that a cell takes on average, when one has run.
    pub cell_s: Option<f64>,
    /// Failed and skipped cells: why, and how many.
    pub reasons: BTreeMap<String, u64>,
}

impl Progress {
    /// Total of the counts of several machines.
    pub fn total(machines: &[Progress]) -> ledger::Counts {
        machines.iter().fold(ledger::Counts::default(), |all, one| all.and(one.counts))
    }
}

impl Directory {
    /// Progress of each machine, in the order of the study file.
    ///
    /// # Errors
    /// [`DirectoryError`] when a ledger cannot be read.
    pub fn progress(&self) -> Result<Vec<Progress>, DirectoryError> {
        let of_machine = |machine: usize| -> Result<Progress, DirectoryError> {
            let path = self.ledger(machine);
            let name = self.study.machines[machine].name.clone();
            if !path.exists() {
                let blocks = self.plan.blocks.iter().filter(|block| block.machine == machine);
                let pending = blocks.map(|block| block.cells.len() as u64).sum();
                let counts = ledger::Counts { pending, ..ledger::Counts::default() };
                return Ok(Progress { machine: name, counts, cell_s: None, reasons: BTreeMap::new() });
            }
            let ledger = Ledger::read(&path)?;
            let mut counts = ledger.counts()?;
            // What is skipped as it is in no plan any more does not count.
            let gone = ledger.gone()?;
            counts.skipped = counts.skipped.saturating_sub(gone);
            Ok(Progress { machine: name, counts, cell_s: ledger.cell_s()?, reasons: ledger.reasons()? })
        };
        (0..self.study.machines.len()).map(of_machine).collect()
    }
}
