//! Several directories of one study as one: what other machines measured, what was copied, what came back.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use prony_machine::own::{self, Ownership};
use prony_stats::samples::{MOST_BYTES, Samples, SamplesError};
use serde::Serialize;

use crate::atomic_file;
use crate::directory::{Directory, DirectoryError};
use crate::ledger::{self, CELLS, Conflict, Ledger, LedgerError};

/// Error of merging directories of a study.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// The study's directory, or a file or ledger in it.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A cell is done, and its samples are none.
    #[error("{}: {error}", path.display())]
    Samples {
        /// Path of the samples file.
        path: PathBuf,
        /// Reason why the samples cannot be used.
        error: SamplesError,
    },
}

impl From<LedgerError> for MergeError {
    fn from(error: LedgerError) -> MergeError {
        DirectoryError::from(error).into()
    }
}

/// Result of a merge for one machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Merged {
    /// Name of the machine that the cells ran on.
    pub machine: String,
    /// Directory from which its cells came.
    pub from: PathBuf,
    /// Cells that are done and were not before.
    pub done: usize,
    /// Other cells of which more is known now.
    pub others: usize,
    /// Cells for which two ledgers have different values.
    pub conflicts: Vec<Conflict>,
}

/// Takes what `from` knows of each machine into `into`; of cells that are done in both, that of `into` stays.
///
/// # Errors
/// [`MergeError`] when a file cannot be read or written, or a process runs cells in `into`. What was taken before stays.
pub fn merge(into: &Directory, from: &Path) -> Result<Vec<Merged>, MergeError> {
    let mut all = Vec::new();
    for machine in 0..into.study.machines.len() {
        let name = &into.study.machines[machine].name;
        let theirs = from.join(ledger::file_name(name));
        if !theirs.exists() {
            continue;
        }
        let theirs = Ledger::read(&theirs)?;
        let (mut ours, _) = Ledger::open(&into.ledger(machine), name)?;
        let union = ours.compare(&theirs)?;
        // Samples first: a cell that is done has them.
        copy_samples(&union.done, from, &into.path)?;
        let union = ours.take_from(&theirs)?;
        all.push(Merged {
            machine: name.clone(),
            from: from.to_owned(),
            done: union.done.len(),
            others: union.others,
            conflicts: union.conflicts,
        });
    }
    Ok(all)
}

fn copy_samples(keys: &[String], from: &Path, into: &Path) -> Result<(), MergeError> {
    for key in keys {
        let name = Path::new(CELLS).join(format!("{key}.json"));
        let (from, to) = (from.join(&name), into.join(&name));
        let io = |path: &Path| {
            let path = path.to_owned();
            move |error| DirectoryError::Io { path, error }
        };
        let bytes = read_samples(&from)?;
        Samples::decode(&bytes).map_err(|error| MergeError::Samples { path: from, error })?;
        atomic_file::write(&to, &bytes).map_err(io(&to))?;
    }
    Ok(())
}

/// The bytes of a samples file, of which one more than is ever decoded.
fn read_samples(path: &Path) -> Result<Vec<u8>, DirectoryError> {
    let file = own::open(path, Ownership::Anybodys).map_err(LedgerError::from)?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| DirectoryError::Io { path: path.to_owned(), error })?;
    Ok(bytes)
}

/// Copies what is in a directory on a disk of this machine to the study's, which others may see.
#[derive(Debug)]
pub struct Publisher {
    from: PathBuf,
    to: PathBuf,
    machine: String,
    /// When, and how long it took.
    last: Option<(Instant, Duration)>,
    /// Cells whose samples are there.
    there: std::collections::HashSet<String>,
}

impl Publisher {
    /// Seconds between two copies, unless copying takes long.
    const EVERY: Duration = Duration::from_secs(2);

    /// Publisher of the results of one machine, from a directory of its own to the study's.
    pub fn new(from: &Path, to: &Path, machine: &str) -> Publisher {
        let there = fs::read_dir(to.join(CELLS)).into_iter().flatten().flatten();
        let there = there.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".json")?.to_owned()));
        Publisher {
            from: from.to_owned(),
            to: to.to_owned(),
            machine: machine.to_owned(),
            last: None,
            there: there.collect(),
        }
    }

    /// Brings what was published before to a machine that has nothing of it: its disk is new.
    ///
    /// # Errors
    /// [`MergeError`] when it cannot be copied.
    pub fn restore(&self) -> Result<(), MergeError> {
        let name = ledger::file_name(&self.machine);
        let (ours, published) = (self.from.join(&name), self.to.join(&name));
        if ours.exists() || !published.exists() {
            return Ok(());
        }
        let published = Ledger::read(&published)?;
        let done = published.cells()?.into_iter().filter(|entry| entry.samples().is_some());
        // What is copied whole is read whole first, within its bounds.
        published.attempts()?;
        published.disturbances()?;
        let cells = self.from.join(CELLS);
        fs::create_dir_all(&cells).map_err(|error| DirectoryError::Io { path: cells, error })?;
        copy_samples(&done.map(|entry| entry.row.key).collect::<Vec<_>>(), &self.to, &self.from)?;
        Ok(published.copy_to(&ours)?)
    }

    /// Publishes when it is time again: copying takes a hundredth of the time at most.
    ///
    /// # Errors
    /// As [`Publisher::publish`].
    pub fn publish_if_due(&mut self) -> Result<(), MergeError> {
        let due = self.last.is_none_or(|(when, took)| when.elapsed() >= Publisher::EVERY.max(took * 100));
        if due { self.publish() } else { Ok(()) }
    }

    /// Publishes what is done, samples first.
    ///
    /// # Errors
    /// [`MergeError`] when it cannot be copied; what was published before stays.
    pub fn publish(&mut self) -> Result<(), MergeError> {
        let begun = Instant::now();
        let name = ledger::file_name(&self.machine);
        // A copy at one moment: cells that are done later have no samples there yet.
        let moment = self.from.join(format!(".{name}.published"));
        Ledger::read(&self.from.join(&name))?.copy_to(&moment)?;
        let copied = Ledger::read(&moment)?;
        let done = copied.cells()?.into_iter().filter(|entry| entry.samples().is_some()).map(|entry| entry.row.key);
        let new: Vec<String> = done.filter(|key| !self.there.contains(key)).collect();
        copy_samples(&new, &self.from, &self.to)?;
        self.there.extend(new);
        copied.copy_to(&self.to.join(&name))?;
        drop(copied);
        fs::remove_file(&moment).map_err(|error| DirectoryError::Io { path: moment, error })?;
        self.last = Some((Instant::now(), begun.elapsed()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::State;
    use crate::ledger::Measured;

    const STUDY: &str = r#"
        title = "Two machines"
        repeats = 2
        metric = { name = "cpu", unit = "second", direction = "lower" }
        [[factor]]
        name = "engine"
        levels = ["a", "b"]
        [[workload]]
        name = "w"
        command = "true {engine}"
        [[machine]]
        name = "n1"
        [[machine]]
        name = "n2"
    "#;

    fn directory(place: &TempDir, name: &str) -> Directory {
        Directory::make(&place.path().join(name), STUDY, place.path()).expect("it is a study")
    }

    /// Runs the first `cells` of a machine, with values from `value` on.
    fn measure(directory: &Directory, machine: usize, cells: usize, value: f64) {
        let name = &directory.study.machines[machine].name;
        let (mut ledger, _) = Ledger::open(&directory.ledger(machine), name).expect("nobody has it");
        ledger.plan(directory.rows(machine).into_iter()).expect("the disk is not full");
        for number in 0..cells {
            let claim = ledger.claim(None).expect("the disk is not full").expect("cells wait");
            let benchmark = prony_stats::samples::Benchmark {
                runs: vec![prony_stats::samples::Run::of(1.0)],
                ..prony_stats::samples::Benchmark::new("a")
            };
            let samples = Samples { benchmarks: vec![benchmark], circumstances: None };
            let path = directory.path.join(CELLS).join(format!("{}.json", claim.row.key));
            atomic_file::write(&path, &samples.encode().expect("it is sound")).expect("the disk is not full");
            let measured = Measured { value: value + number as f64, ..Measured::default() };
            ledger.done(&claim, &measured).expect("the disk is not full");
        }
    }

    fn done(directory: &Directory) -> usize {
        let results = directory.results().expect("it is sound");
        let done: Vec<_> = results.cells.iter().filter(|cell| cell.state == State::Done).collect();
        for cell in &done {
            let samples = directory.path.join(cell.samples.as_ref().expect("it is done"));
            Samples::decode(&fs::read(samples).expect("it is there")).expect("it is whole");
        }
        done.len()
    }

    #[test]
    fn machines_come_together_by_the_keys_of_their_cells() {
        let place = TempDir::new().expect("the temporary directory is writable");
        let (one, other, both) = (directory(&place, "one"), directory(&place, "other"), directory(&place, "both"));
        measure(&one, 0, 3, 1.0);
        measure(&other, 1, 2, 1.0);
        let merged: usize = [&one, &other]
            .into_iter()
            .flat_map(|from| merge(&both, &from.path).expect("they fit"))
            .map(|merged| merged.done)
            .sum();
        assert_eq!((merged, done(&both)), (5, 5));
        let again = merge(&both, &one.path).expect("they fit");
        assert_eq!((again[0].done, again[0].others, again[0].conflicts.len()), (0, 0, 0));
    }

    #[test]
    fn a_cell_with_two_values_keeps_the_first_and_is_reported() {
        let place = TempDir::new().expect("the temporary directory is writable");
        let (one, other) = (directory(&place, "one"), directory(&place, "other"));
        measure(&one, 0, 2, 1.0);
        measure(&other, 0, 3, 10.0);
        let merged = merge(&one, &other.path).expect("they fit").swap_remove(0);
        assert_eq!((merged.done, merged.conflicts.len()), (1, 2));
        assert_eq!((merged.conflicts[0].kept, merged.conflicts[0].left), (1.0, 10.0));
        assert_eq!(done(&one), 3);
    }

    #[test]
    fn samples_that_are_cut_are_not_taken() {
        let place = TempDir::new().expect("the temporary directory is writable");
        let (one, other) = (directory(&place, "one"), directory(&place, "other"));
        measure(&one, 0, 1, 1.0);
        let cell = fs::read_dir(one.path.join(CELLS)).expect("it is there").next().expect("one is done");
        fs::write(cell.expect("it is there").path(), "{\"benchmarks\": [").expect("it is ours");
        assert!(matches!(merge(&other, &one.path), Err(MergeError::Samples { .. })));
        assert_eq!(done(&other), 0);
    }

    #[test]
    fn what_is_published_is_whole_and_comes_back_to_a_new_disk() {
        let place = TempDir::new().expect("the temporary directory is writable");
        let (shared, scratch) = (directory(&place, "shared"), directory(&place, "scratch"));
        measure(&scratch, 0, 3, 1.0);
        Publisher::new(&scratch.path, &shared.path, "n1").publish().expect("the disk is not full");
        assert_eq!(done(&shared), 3);
        let new = directory(&place, "new");
        Publisher::new(&new.path, &shared.path, "n1").restore().expect("it was published");
        assert_eq!(done(&new), 3);
    }
}
