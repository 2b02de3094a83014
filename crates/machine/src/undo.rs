//! The undo file: what `tune` found before it changed anything, on disk before each change.
//!
//! It is written whole under a temporary name, synced and renamed before every single change, so
//! that whenever this process ends, by whatever signal, the file says what to put back. It lies
//! below `/run`, which a reboot empties as it does the values; where it survives one, the boot's
//! number differs, and it is dropped.

mod allowed;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use serde::{Deserialize, Serialize};

use crate::Tree;
use crate::knob::Knob;
use crate::own::{self, LockError, NotOurs, Ownership};

/// Names of an undo file and of its lock. What is changed at different times, and put back at different times, has an undo
/// file each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UndoName {
    file: &'static str,
    lock: &'static str,
}

/// The undo file of `tune`.
pub(crate) const MACHINE: UndoName = UndoName { file: "machine.undo", lock: "machine.lock" };
/// The undo file of reserved huge pages.
pub(crate) const HUGE_PAGES: UndoName = UndoName { file: "huge-pages.undo", lock: "huge-pages.lock" };

/// The version that is written; others are refused.
const VERSION: u32 = 1;

/// A machine of 1,000 CPUs and 10,000 interrupts makes a file of some 4 MB.
const BYTES_MAX: u64 = 64 << 20;

/// Values found before anything was changed, in the order of the changes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Undo {
    version: u32,
    boot_id: String,
    /// All changes were made and are meant to stay until `restore`.
    pub kept: bool,
    /// Every change, also those not begun.
    pub changes: Vec<Change>,
    /// Threads bound to some CPUs, of which some are taken away: older kernels forget the binding.
    pub affinities: Vec<Affinity>,
}

/// Change of one setting, with its value before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Knob that the change belongs to.
    pub knob: Knob,
    /// Stage of the change when the file was written.
    pub stage: Stage,
    /// Resource that is changed: a file, an interrupt, a thread.
    #[serde(flatten)]
    pub resource: Resource,
}

/// Stage of a change in the undo file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Nothing of the change was written yet.
    Planned,
    /// The value is being written; if the process ended here, it is unknown whether it was.
    Begun,
    /// The value was written and read back.
    Done,
    /// The kernel did not take it.
    Refused,
}

/// A thing that can be changed and put back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Resource {
    /// The value in a file.
    File {
        /// Path of the file, below `/proc` or `/sys`.
        path: String,
        /// Text that the file had before.
        before: String,
        /// Value to write; `None`: none, but other writes change it.
        asked: Option<String>,
        /// Value read right after the write.
        found: Option<String>,
        /// Value read after all changes were made: a later one may have changed it.
        settled: Option<String>,
    },
    /// A process that was stopped.
    Process {
        /// PID of the stopped process.
        pid: u32,
        /// Start time, in ticks since boot: PIDs are reused.
        start_ticks: u64,
        /// Name of the process, as `/proc/PID/comm` has it.
        name: String,
    },
    /// A control group that was made.
    Group {
        /// Directory of the control group.
        path: String,
        /// The directory of the group to which its processes return.
        home: String,
    },
}

/// The CPUs to which a thread is bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Affinity {
    /// Number of the thread (TID).
    pub thread: u32,
    /// Start time, in ticks since boot.
    pub start_ticks: u64,
    /// CPUs as a list, such as `0-3,8`.
    pub cpus: String,
}

/// Errors of the undo file.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// The undo file could not be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the undo file.
        path: PathBuf,
        /// Error that the kernel returned.
        error: io::Error,
    },
    /// The content is not what `tune` writes.
    #[error("{}: expected an undo file, found {problem}", path.display())]
    Damaged {
        /// Path of the undo file.
        path: PathBuf,
        /// Content that no undo file has, for the message.
        problem: String,
    },
    /// Another version of prony wrote it.
    #[error("{}: expected version {VERSION} of an undo file, found {found}", path.display())]
    Version {
        /// Path of the undo file.
        path: PathBuf,
        /// Version that the file states.
        found: u32,
    },
    /// Another user may have written the file, or its directory.
    #[error(transparent)]
    NotOurs(#[from] NotOurs),
    /// Another process tunes or restores this machine.
    #[error("{} is tuning this machine", pid.map_or("another process".to_owned(), |pid| format!("process {pid}")))]
    Busy {
        /// PID of that process, if the lock file has it.
        pid: Option<u32>,
    },
}

/// Relation of an undo file to this boot.
#[derive(Debug)]
pub(crate) enum Found {
    /// No undo file exists: nothing is tuned.
    Nothing,
    /// The undo file is from an earlier boot, whose values are gone.
    EarlierBoot,
    /// The undo file is to be applied.
    Undo(Undo),
}

/// True when the machine is tuned, or was left so: by this user, or by root.
pub(crate) fn is_there(tree: &Tree) -> bool {
    // Root's cannot be read by everybody. What lies in its directory is root's as long as that is.
    let is_roots = |path: &Path| {
        let of_root = |path: &Path| path.symlink_metadata().is_ok_and(|facts| facts.uid() == 0 && !facts.is_symlink());
        path.parent().is_some_and(of_root) && of_root(path) && path.is_file()
    };
    matches!(open(tree, MACHINE), Ok(Some(_))) || tree.is_machine() && is_roots(Path::new("/run/prony/machine.undo"))
}

/// The knobs that were turned and not turned back, each once, as far as this user may know.
pub fn tuned(tree: &Tree) -> Vec<Knob> {
    let Ok(Found::Undo(undo)) = Undo::load(tree, MACHINE) else { return Vec::new() };
    let done = undo.changes.iter().filter(|change| change.stage == Stage::Done).map(|change| change.knob);
    done.collect::<BTreeSet<Knob>>().into_iter().collect()
}

/// Path of the undo file of this user.
pub fn path(tree: &Tree) -> PathBuf {
    place(tree, MACHINE)
}

fn place(tree: &Tree, name: UndoName) -> PathBuf {
    directory(tree).join(name.file)
}

fn directory(tree: &Tree) -> PathBuf {
    if geteuid().is_root() || !tree.is_machine() {
        return tree.place("/run/prony");
    }
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(directory) if !directory.is_empty() => PathBuf::from(directory).join("prony"),
        _ => PathBuf::from(format!("/tmp/prony-{}", geteuid().as_raw())),
    }
}

/// Permitted mode of the directory: in root's, only root can create files, and all users can read.
fn directory_mode(tree: &Tree) -> u32 {
    if geteuid().is_root() || !tree.is_machine() { 0o755 } else { 0o700 }
}

/// The undo file, if there is one and it may be believed.
fn open(tree: &Tree, name: UndoName) -> Result<Option<File>, NotOurs> {
    let none = |error: NotOurs| match error {
        NotOurs::Io { error, .. } if error.kind() == io::ErrorKind::NotFound => Ok(None),
        error => Err(error),
    };
    if let Err(error) = own::check_directory(&directory(tree), directory_mode(tree)) {
        return none(error);
    }
    own::open(&place(tree, name), Ownership::Ours).map(Some).or_else(none)
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> UndoError + '_ {
    |error| UndoError::Io { path: path.to_owned(), error }
}

/// The number of this boot.
fn boot_id(tree: &Tree) -> String {
    tree.line("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// The right to change the machine: one process at a time has it.
#[derive(Debug)]
pub(crate) struct Lock {
    _lock: own::Lock,
}

impl Lock {
    /// Takes it, or says who has it.
    pub(crate) fn take(tree: &Tree, name: UndoName) -> Result<Lock, UndoError> {
        let directory = directory(tree);
        own::make_directory(&directory, directory_mode(tree))?;
        let lock = own::Lock::take(&directory.join(name.lock), Ownership::Ours).map_err(|error| match error {
            LockError::NotOurs(error) => UndoError::NotOurs(error),
            LockError::Busy { pid, .. } => UndoError::Busy { pid },
        })?;
        sweep_away_temporaries(&directory, name);
        Ok(Lock { _lock: lock })
    }
}

/// Removes what a process that was killed was writing. The caller has the lock, so no other process finishes it.
fn sweep_away_temporaries(directory: &Path, name: UndoName) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let prefix = format!(".{}.", name.file);
    let is_left = |found: &str| own::is_temporary(found) && found.starts_with(&prefix);
    for entry in entries.filter(|entry| is_left(&entry.file_name().to_string_lossy())) {
        // A file that cannot be removed does no harm.
        let _ = fs::remove_file(entry.path());
    }
}

impl Undo {
    pub(crate) fn new(tree: &Tree, changes: Vec<Change>, affinities: Vec<Affinity>) -> Undo {
        Undo { version: VERSION, boot_id: boot_id(tree), kept: false, changes, affinities }
    }

    /// Reads the undo file of an earlier run.
    pub(crate) fn load(tree: &Tree, name: UndoName) -> Result<Found, UndoError> {
        let path = place(tree, name);
        let Some(file) = open(tree, name)? else { return Ok(Found::Nothing) };
        let mut text = String::new();
        file.take(BYTES_MAX).read_to_string(&mut text).map_err(io_error(&path))?;
        let undo = parse(&path, &text)?;
        for change in &undo.changes {
            allowed::check(tree, &change.resource)
                .map_err(|found| UndoError::Damaged { path: path.clone(), problem: found })?;
        }
        if undo.boot_id != boot_id(tree) {
            return Ok(Found::EarlierBoot);
        }
        Ok(Found::Undo(undo))
    }

    /// Puts the file on disk, whole.
    pub(crate) fn save(&self, tree: &Tree, name: UndoName) -> Result<(), UndoError> {
        let path = place(tree, name);
        let text = serde_json::to_string_pretty(self).map_err(|error| io_error(&path)(error.into()))?;
        tree.step();
        let (temporary, mut file) = own::temporary(&path, 0o600).map_err(io_error(&path))?;
        let mut write = || {
            file.write_all(text.as_bytes())?;
            tree.step();
            own::put_in_place(&temporary, &path)
        };
        let written = write();
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written.map_err(io_error(&path))
    }
}

/// Removes the undo file: there is nothing left to put back.
pub(crate) fn remove(tree: &Tree, name: UndoName) -> Result<(), UndoError> {
    tree.step();
    let path = place(tree, name);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error(&path)(error)),
        _ => Ok(()),
    }
}

/// Reads the text of an undo file.
fn parse(path: &Path, text: &str) -> Result<Undo, UndoError> {
    #[derive(Deserialize)]
    struct Version {
        version: u32,
    }
    let damaged = |problem: String| UndoError::Damaged { path: path.to_owned(), problem };
    let Version { version } = serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
    if version != VERSION {
        return Err(UndoError::Version { path: path.to_owned(), found: version });
    }
    serde_json::from_str(text).map_err(|error| damaged(error.to_string()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn undo(path: String, before: String) -> Undo {
        let resource = Resource::File { path, before, asked: Some("1".to_owned()), found: None, settled: None };
        let change = Change { knob: Knob::VmStat, stage: Stage::Begun, resource };
        Undo { version: VERSION, boot_id: "b".to_owned(), kept: true, changes: vec![change], affinities: Vec::new() }
    }

    proptest! {
        #[test]
        fn every_byte_of_a_value_comes_back(before in "\\PC*\n?") {
            let undo = undo("/proc/sys/vm/stat_interval".to_owned(), before);
            let text = serde_json::to_string_pretty(&undo).expect("it has no map with odd keys");
            prop_assert_eq!(parse(Path::new("undo"), &text).expect("it was just written"), undo);
        }

        #[test]
        fn no_text_makes_reading_panic(text in "[\\[\\]{}\":,a-z0-9 ]{0,60}") {
            let _ = parse(Path::new("undo"), &text);
        }
    }
}
