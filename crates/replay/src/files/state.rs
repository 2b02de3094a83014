//! Directories that a server writes and reads back: archived when recording starts, and laid over
//! the real ones for each replay.
#![deny(clippy::indexing_slicing)]

use crate::files::layout::{LayoutError, UnpackOptions, lay_out};
use crate::files::limits::Limits;
use crate::files::mount::Mount;
use crate::files::overlay::{self, Attributes, Overlay, OverlayError, Plan};
use crate::files::scratch::Scratch;
use prony_demo::{ArchiveError, ArchiveLimits, Demo, StateArchiveWalk, WriteError, Writer};
use prony_text::Untrusted;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Error of storing or restoring state.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A state directory cannot be archived.
    #[error("cannot store state directory `{path}`: {error}")]
    Archive {
        /// Path of the state directory.
        path: String,
        /// Error that the system returned.
        error: io::Error,
    },
    /// A state directory cannot be brought back.
    #[error("cannot restore state directory `{path}`: {error}")]
    Restore {
        /// Path of the state directory.
        path: String,
        /// Reason why the archive was not laid out.
        error: LayoutError,
    },
    /// A directory that was to be restored in place is none of the demo's.
    #[error("`{directory}` is not a state directory of the demo, which has {}", listed(.state))]
    NotOfTheDemo {
        /// The directory that was named.
        directory: String,
        /// State directories of the demo.
        state: Vec<PathBuf>,
    },
    /// A directory that was to be restored in place leads elsewhere.
    #[error("cannot restore `{path}` in place: expected a directory, found a symbolic link")]
    Link {
        /// The directory that was named.
        path: String,
    },
    /// No directory can have this name.
    #[error("state directory `{path}`: expected an absolute path without `..`")]
    Path {
        /// Path that the demo states.
        path: String,
    },
    /// Nothing is mounted there.
    #[error(
        "state directory `{path}`: expected a directory on a disk, found the root directory or one of a kernel file system"
    )]
    Kernel {
        /// Path that the demo states.
        path: String,
    },
    /// More directories than a demo is believed to have.
    #[error("expected at most {limit} state directories, found {found}")]
    Directories {
        /// Largest permitted number of state directories.
        limit: usize,
        /// Number of state directories in the demo.
        found: usize,
    },
    /// The archives are larger than is allowed.
    #[error("the demo's state: expected at most {limit} bytes, found {}", shown(.found))]
    TooLarge {
        /// Largest permitted number of bytes.
        limit: u64,
        /// Bytes that the demo states; `None` for one that states none and has more.
        found: Option<u64>,
    },
    /// The archives have more entries than is allowed.
    #[error("the demo's state: expected at most {limit} entries, found more")]
    TooMany {
        /// Largest permitted number of entries.
        limit: u64,
    },
    /// The files of the demo cannot be put in place of those of this machine.
    #[error("cannot mount the files of the demo over those of this machine: {0}")]
    Files(OverlayError),
    /// The archives hold more than the demo states.
    #[error("the demo's state: expected the stated {stated} bytes, found more")]
    MoreThanStated {
        /// Number of bytes that the demo states.
        stated: u64,
    },
}

fn shown(found: &Option<u64>) -> String {
    found.map_or_else(|| "more".to_owned(), |bytes| bytes.to_string())
}

fn listed(directories: &[PathBuf]) -> String {
    let shown: Vec<String> = directories.iter().map(|path| format!("`{}`", Untrusted::new(path))).collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

/// Hands an archive to the demo in chunks.
pub(crate) struct Chunks<'a, W: Write> {
    pub(crate) writer: &'a mut Writer<W>,
    pub(crate) dir: u32,
}

impl<W: Write> Write for Chunks<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.state_chunk(self.dir, bytes).map_err(|error| match error {
            WriteError::Io(error) => error,
            other => io::Error::other(other),
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// State directories without links in their paths.
///
/// # Errors
/// [`StateError::Archive`] for the first that is not there.
pub(crate) fn directories(named: &[PathBuf]) -> Result<Vec<PathBuf>, StateError> {
    let resolved = |path: &PathBuf| {
        fs::canonicalize(path).map_err(|error| StateError::Archive { path: path.display().to_string(), error })
    };
    named.iter().map(resolved).collect()
}

/// Writes the archive of a directory into the demo.
pub(crate) fn archive<W: Write>(writer: &mut Writer<W>, dir: u32, path: &Path) -> Result<(), StateError> {
    let mut archive = tar::Builder::new(BufWriter::with_capacity(1 << 20, Chunks { writer, dir }));
    archive.follow_symlinks(false);
    let done = append(&mut archive, path, Path::new(".")).and_then(|()| archive.into_inner()?.flush());
    done.map_err(|error| StateError::Archive { path: path.display().to_string(), error })
}

/// Adds a directory and what is in it, by name, so that equal directories make equal archives.
/// Sockets, pipes and devices are left out: a server makes its own.
fn append<W: Write>(archive: &mut tar::Builder<W>, path: &Path, name: &Path) -> io::Result<()> {
    archive.append_dir(name, path)?;
    let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), name.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            append(archive, &path, &name)?;
        } else if kind.is_file() {
            append_mtime(archive, fs::metadata(&path)?.modified()?)?;
            archive.append_path_with_name(&path, &name)?;
        } else if kind.is_symlink() {
            archive.append_path_with_name(&path, &name)?;
        }
    }
    Ok(())
}

/// Says when the next file was changed, to the nanosecond: web servers make names of versions of it.
/// A record of the POSIX pax format: its own length, a space, key, `=`, value, newline.
pub(crate) fn append_mtime<W: Write>(archive: &mut tar::Builder<W>, changed: SystemTime) -> io::Result<()> {
    let Ok(since) = changed.duration_since(UNIX_EPOCH) else { return Ok(()) };
    let text = format!(" mtime={}.{:09}\n", since.as_secs(), since.subsec_nanos());
    // The length counts its own digits: two, as the text has some thirty bytes.
    let record = format!("{}{text}", text.len() + 2);
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::XHeader);
    header.set_size(record.len() as u64);
    header.set_cksum();
    archive.append_data(&mut header, "mtime", record.as_bytes())
}

pub(crate) fn state_directories<R: Read + Seek>(demo: &Demo<R>) -> Vec<PathBuf> {
    demo.state_dirs().iter().map(|path| PathBuf::from(OsString::from_vec(path.clone()))).collect()
}

/// Says of each state directory whether it is one of those `requested` by name.
fn named(directories: &[PathBuf], requested: &[PathBuf]) -> Result<Vec<bool>, StateError> {
    let mut named = vec![false; directories.len()];
    for directory in requested {
        // Recorded paths have no symbolic link in them; the last part of this one may not be one.
        let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
        let absolute: PathBuf = absolute.components().collect();
        let real = match (absolute.parent().map(fs::canonicalize), absolute.file_name()) {
            (Some(Ok(parent)), Some(name)) => parent.join(name),
            _ => absolute.clone(),
        };
        let mut numbered = directories.iter().zip(&mut named);
        let Some((found, named)) = numbered.find(|(path, _)| **path == real || **path == absolute) else {
            return Err(StateError::NotOfTheDemo {
                directory: directory.display().to_string(),
                state: directories.to_vec(),
            });
        };
        if fs::symlink_metadata(found).is_ok_and(|data| data.is_symlink()) {
            return Err(StateError::Link { path: directory.display().to_string() });
        }
        *named = true;
    }
    Ok(named)
}

/// Most state directories of one demo: each is mounted.
const MOST_DIRECTORIES: usize = 256;

/// State directories brought back for one replay; gone when dropped.
#[derive(Debug)]
pub(crate) struct Restored {
    _scratch: Option<Scratch>,
    _overlay: Option<Overlay>,
    /// Mounts that place the restored state.
    pub(crate) mounts: Vec<Mount>,
    /// Files that lost their bits for set-user-id or set-group-id.
    pub(crate) set_ids_taken: u64,
}

/// Options for restoring the state directories of a demo.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RestoreOptions<'a> {
    /// Directories that are unpacked in their real place instead of in a scratch directory that is mounted over them.
    pub(crate) in_place: &'a [PathBuf],
    pub(crate) limits: Limits,
    pub(crate) set_ids: bool,
    pub(crate) stop: Option<&'a std::sync::atomic::AtomicBool>,
}

impl Restored {
    /// Lays out every state directory of a demo, and of its files what `plan` says.
    pub(crate) fn from_demo<R: Read + Seek>(
        demo: &mut Demo<R>,
        plan: &Plan,
        restore: RestoreOptions,
    ) -> Result<Restored, StateError> {
        let directories = state_directories(demo);
        let in_place = named(&directories, restore.in_place)?;
        let mut restored = Restored { _scratch: None, _overlay: None, mounts: Vec::new(), set_ids_taken: 0 };
        if directories.is_empty() && plan.is_empty() {
            return Ok(restored);
        }
        let mut left = allowed(demo, &directories, &restore.limits)?;
        let options = UnpackOptions {
            owners: rustix::process::geteuid().is_root(),
            set_ids: restore.set_ids,
            stop: restore.stop,
        };
        // Where something is merged anyway, a state directory that is not there is, too.
        let mut plan = plan.clone();
        let merges = !plan.is_empty();
        if merges {
            let missing = directories.iter().zip(&in_place).filter(|(path, in_place)| !**in_place && !path.is_dir());
            plan.directories.extend(missing.map(|(path, _)| path.clone()));
        }
        if merges {
            let overlay = plan.lay_out(demo, &mut left, options).map_err(StateError::Files)?;
            restored.mounts.clone_from(&overlay.mounts);
            restored._overlay = Some(overlay);
        }
        if directories.is_empty() {
            return Ok(restored);
        }
        let system = |path: &Path, error: io::Error| StateError::Restore {
            path: path.display().to_string(),
            error: ArchiveError::Io(error).into(),
        };
        let scratch = Scratch::new().map_err(|error| system(&std::env::temp_dir(), error))?;
        for (number, (path, in_place)) in directories.iter().zip(in_place).enumerate() {
            let target = if in_place { path.clone() } else { scratch.path().join(number.to_string()) };
            prepare((!merges).then_some(&scratch), path, &target, in_place).map_err(|error| system(path, error))?;
            let root = File::open(&target).map_err(|error| system(path, error))?;
            let mut archive = StateArchiveWalk::new(demo.state_archive(number as u32), left);
            let laid_out = lay_out(&mut archive, &root, options, |_| true);
            let used = archive.used();
            restored.set_ids_taken += laid_out.map_err(|error| too_large(demo, &restore.limits, path, error))?;
            left.bytes -= used.bytes.min(left.bytes);
            left.entries -= used.entries.min(left.entries);
            if !in_place {
                let place = overlay::resolved(path).map_err(StateError::Files)?;
                restored.mounts.push(Mount::Bind { what: target, place });
            }
        }
        restored._scratch = Some(scratch);
        Ok(restored)
    }
}

/// Permissions and modification times of the files of a demo, by name.
pub(crate) fn file_attributes<R: Read + Seek>(
    demo: &mut Demo<R>,
    limits: &Limits,
) -> Result<BTreeMap<PathBuf, Attributes>, StateError> {
    let allowed = allowed(demo, &state_directories(demo), limits)?;
    overlay::attributes(demo, allowed).map_err(|error| StateError::Files(error.into()))
}

/// What all archives of a demo may take: what it states, if that is within the limits.
fn allowed<R: Read + Seek>(
    demo: &Demo<R>,
    directories: &[PathBuf],
    limits: &Limits,
) -> Result<ArchiveLimits, StateError> {
    check(directories)?;
    let stated = stated_bytes(demo);
    match stated.filter(|&stated| stated > limits.state_bytes) {
        Some(found) => Err(StateError::TooLarge { limit: limits.state_bytes, found: Some(found) }),
        None => Ok(ArchiveLimits { bytes: stated.unwrap_or(limits.state_bytes), entries: limits.state_entries() }),
    }
}

/// The number and the names of state directories are as a recording has them.
pub(crate) fn check(directories: &[PathBuf]) -> Result<(), StateError> {
    if directories.len() > MOST_DIRECTORIES {
        return Err(StateError::Directories { limit: MOST_DIRECTORIES, found: directories.len() });
    }
    let plain = |part: Component| matches!(part, Component::RootDir | Component::Normal(_));
    let zero = |path: &Path| std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).contains(&0);
    if let Some(path) =
        directories.iter().find(|path| !path.is_absolute() || !path.components().all(plain) || zero(path))
    {
        return Err(StateError::Path { path: path.display().to_string() });
    }
    let made_up =
        |path: &&PathBuf| path.parent().is_none() || matches!(overlay::resolved(path), Err(OverlayError::Place(_)));
    match directories.iter().find(made_up) {
        Some(path) => Err(StateError::Kernel { path: path.display().to_string() }),
        None => Ok(()),
    }
}

/// Bytes of all archives; a demo that was cut does not say.
pub(crate) fn stated_bytes<R: Read + Seek>(demo: &Demo<R>) -> Option<u64> {
    demo.trailer().map(|trailer| trailer.totals.state_bytes)
}

/// Says whose limit an archive went beyond.
fn too_large<R: Read + Seek>(demo: &Demo<R>, limits: &Limits, path: &Path, error: LayoutError) -> StateError {
    match (error, stated_bytes(demo)) {
        (LayoutError::Archive(ArchiveError::MoreBytes { .. }), Some(stated)) => StateError::MoreThanStated { stated },
        (LayoutError::Archive(ArchiveError::MoreBytes { .. }), None) => {
            StateError::TooLarge { limit: limits.state_bytes, found: None }
        }
        (LayoutError::Archive(ArchiveError::MoreEntries { .. }), _) => {
            StateError::TooMany { limit: limits.state_entries() }
        }
        (error, _) => StateError::Restore { path: path.display().to_string(), error },
    }
}

/// Makes the empty directory that an archive is laid out in, and with `scratch` the one that it is mounted over.
fn prepare(scratch: Option<&Scratch>, path: &Path, target: &Path, in_place: bool) -> io::Result<()> {
    if !in_place {
        if let Some(scratch) = scratch.filter(|_| !path.is_dir()) {
            scratch.make_elsewhere(path)?;
        }
        return fs::create_dir(target);
    }
    if !path.is_dir() {
        fs::create_dir_all(path)?;
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
