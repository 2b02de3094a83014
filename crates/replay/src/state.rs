//! Directories that a server writes and reads back: archived when recording starts, and laid over
//! the real ones for each replay.

use prony_demo::{Demo, WriteError, Writer};
use prony_text::Untrusted;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Seek, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// Why state could not be kept or brought back.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// A state directory cannot be archived.
    #[error("cannot keep state directory `{path}`: {error}")]
    Archive {
        /// The directory.
        path: String,
        /// What the system said.
        error: io::Error,
    },
    /// A state directory cannot be brought back.
    #[error("cannot restore state directory `{path}`: {error}")]
    Restore {
        /// The directory.
        path: String,
        /// What the system said.
        error: io::Error,
    },
    /// A directory that was to be restored in place is none of the demo's.
    #[error("`{directory}` is no state directory of the demo, which has {}", listed(.state))]
    NotOfTheDemo {
        /// The directory that was named.
        directory: String,
        /// Those of the demo.
        state: Vec<PathBuf>,
    },
    /// A directory that was to be restored in place leads elsewhere.
    #[error("cannot restore `{path}` in place: expected a directory, found a symbolic link")]
    Link {
        /// The directory that was named.
        path: String,
    },
}

fn listed(directories: &[PathBuf]) -> String {
    let shown: Vec<String> = directories.iter().map(|path| format!("`{}`", Untrusted::new(path))).collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

/// Hands an archive to the demo in chunks.
struct Chunks<'a, W: Write> {
    writer: &'a mut Writer<W>,
    dir: u32,
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
fn append_mtime<W: Write>(archive: &mut tar::Builder<W>, changed: SystemTime) -> io::Result<()> {
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

/// What [`append_mtime`] has said of this entry.
fn mtime_of<R: Read>(entry: &mut tar::Entry<'_, R>) -> io::Result<Option<SystemTime>> {
    let Some(extensions) = entry.pax_extensions()? else { return Ok(None) };
    for extension in extensions {
        let extension = extension?;
        let value = extension.value().ok().filter(|_| extension.key() == Ok("mtime"));
        if let Some((seconds, nanoseconds)) = value.and_then(|value| value.split_once('.'))
            && let (Ok(seconds), Ok(nanoseconds)) = (seconds.parse(), nanoseconds.parse())
        {
            return Ok(UNIX_EPOCH.checked_add(Duration::new(seconds, nanoseconds)));
        }
    }
    Ok(None)
}

/// A program in the state of a demo that runs as its owner or group, whoever starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetIdFile {
    /// Where it would be.
    pub path: PathBuf,
    /// Its permissions, as in `chmod`.
    pub mode: u32,
}

/// How many of them are listed.
const SET_ID_FILES_MAX: usize = 100;

/// Finds the set-user-id and set-group-id files in the state of a demo, a hundred at most.
///
/// # Errors
/// [`StateError::Restore`] when an archive cannot be read.
pub fn set_id_files<R: Read + Seek>(demo: &mut Demo<R>) -> Result<Vec<SetIdFile>, StateError> {
    let mut found = Vec::new();
    for (number, directory) in state_directories(demo).iter().enumerate() {
        set_id_files_of(demo, number as u32, directory, &mut found)
            .map_err(|error| StateError::Restore { path: directory.display().to_string(), error })?;
    }
    Ok(found)
}

fn set_id_files_of<R: Read + Seek>(
    demo: &mut Demo<R>,
    number: u32,
    directory: &Path,
    found: &mut Vec<SetIdFile>,
) -> io::Result<()> {
    let mut archive = tar::Archive::new(demo.state_archive(number));
    for entry in archive.entries()? {
        let entry = entry?;
        let mode = entry.header().mode()? & 0o7777;
        if entry.header().entry_type().is_file() && mode & 0o6000 != 0 && found.len() < SET_ID_FILES_MAX {
            let path = entry.path()?;
            found.push(SetIdFile { path: directory.join(path.strip_prefix(".").unwrap_or(&path)), mode });
        }
    }
    Ok(())
}

fn state_directories<R: Read + Seek>(demo: &Demo<R>) -> Vec<PathBuf> {
    demo.state_dirs().iter().map(|path| PathBuf::from(OsString::from_vec(path.clone()))).collect()
}

/// Says of each state directory whether it is one of those that were `asked` for by name.
fn named(directories: &[PathBuf], asked: &[PathBuf]) -> Result<Vec<bool>, StateError> {
    let mut named = vec![false; directories.len()];
    for directory in asked {
        // Recorded paths have no symbolic link in them; the last part of this one may not be one.
        let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
        let absolute: PathBuf = absolute.components().collect();
        let real = match (absolute.parent().map(fs::canonicalize), absolute.file_name()) {
            (Some(Ok(parent)), Some(name)) => parent.join(name),
            _ => absolute.clone(),
        };
        let Some(number) = directories.iter().position(|path| *path == real || *path == absolute) else {
            return Err(StateError::NotOfTheDemo {
                directory: directory.display().to_string(),
                state: directories.to_vec(),
            });
        };
        if fs::symlink_metadata(&directories[number]).is_ok_and(|data| data.is_symlink()) {
            return Err(StateError::Link { path: directory.display().to_string() });
        }
        named[number] = true;
    }
    Ok(named)
}

/// State directories brought back for one replay; gone when dropped.
#[derive(Debug)]
pub(crate) struct Restored {
    _scratch: Option<TempDir>,
    /// What to mount where.
    pub(crate) mounts: Vec<(PathBuf, PathBuf)>,
    /// Mount points that were not there.
    made: Vec<PathBuf>,
}

impl Restored {
    /// Lays out every state directory of a demo: in a scratch place to be mounted over the real
    /// one, or, where it is among `in_place`, in the real one.
    pub(crate) fn from_demo<R: Read + Seek>(demo: &mut Demo<R>, in_place: &[PathBuf]) -> Result<Restored, StateError> {
        let directories = state_directories(demo);
        let in_place = named(&directories, in_place)?;
        let mut restored = Restored { _scratch: None, mounts: Vec::new(), made: Vec::new() };
        if directories.is_empty() {
            return Ok(restored);
        }
        let failed = |path: &Path, error| StateError::Restore { path: path.display().to_string(), error };
        let scratch = tempfile::Builder::new()
            .prefix("prony-state-")
            .tempdir()
            .map_err(|error| failed(&std::env::temp_dir(), error))?;
        for (number, path) in directories.iter().enumerate() {
            let target = if in_place[number] { path.clone() } else { scratch.path().join(number.to_string()) };
            restored
                .lay_out(demo, number as u32, path, &target, in_place[number])
                .map_err(|error| failed(path, error))?;
        }
        restored._scratch = Some(scratch);
        Ok(restored)
    }

    fn lay_out<R: Read + Seek>(
        &mut self,
        demo: &mut Demo<R>,
        number: u32,
        path: &Path,
        target: &Path,
        in_place: bool,
    ) -> io::Result<()> {
        if !path.is_dir() {
            let first_missing = path.ancestors().take_while(|path| !path.exists()).last();
            fs::create_dir_all(path)?;
            self.made.extend(first_missing.map(Path::to_owned));
        }
        if in_place {
            for entry in fs::read_dir(path)? {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    fs::remove_dir_all(entry.path())?;
                } else {
                    fs::remove_file(entry.path())?;
                }
            }
        } else {
            fs::create_dir(target)?;
            self.mounts.push((target.to_owned(), path.to_owned()));
        }
        let mut archive = tar::Archive::new(demo.state_archive(number));
        archive.set_preserve_permissions(true);
        archive.set_preserve_mtime(true);
        archive.set_preserve_ownerships(is_root());
        archive.unpack(target)?;
        let mut archive = tar::Archive::new(demo.state_archive(number));
        for (place, entry) in archive.entries()?.enumerate() {
            let mut entry = entry?;
            if place == 0 && is_root() {
                // The directory itself was made by us; a server that gave root up must still own it.
                let (owner, group) = (entry.header().uid()? as u32, entry.header().gid()? as u32);
                std::os::unix::fs::chown(target, Some(owner), Some(group))?;
                fs::set_permissions(target, fs::Permissions::from_mode(entry.header().mode()?))?;
            }
            if let Some(changed) = mtime_of(&mut entry)? {
                File::open(target.join(entry.path()?))?.set_modified(changed)?;
            }
        }
        Ok(())
    }
}

impl Drop for Restored {
    fn drop(&mut self) {
        for made in &self.made {
            // Only what is still empty: nothing of a person's is removed.
            let _ = fs::remove_dir(made);
        }
    }
}

/// The owner of our own process entry tells who we are.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|data| data.uid() == 0)
}

/// A file beside the demo that is renamed to it when complete.
pub(crate) fn partial_path(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".partial");
    PathBuf::from(name)
}

/// Creates the file of a demo, for its owner only.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    fs::OpenOptions::new().create(true).write(true).truncate(true).read(true).mode(0o600).open(path)
}
