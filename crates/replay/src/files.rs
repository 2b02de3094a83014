//! The files a server opened: listed with size and hash when recording, looked for when replaying.

use prony_demo::{FileEntry, FileRole, Head, PartKind, Parts};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Why a file could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// It cannot be read.
    #[error("cannot read `{path}`: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        error: io::Error,
    },
}

const O_ACCMODE: u32 = 3;

/// What was opened so far.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    cwd: PathBuf,
    /// Path, and whether it was ever opened for writing.
    paths: BTreeMap<PathBuf, bool>,
}

impl Opened {
    pub(crate) fn new(cwd: &Path) -> Opened {
        Opened { cwd: cwd.to_owned(), paths: BTreeMap::new() }
    }

    /// Takes the note of an opened file.
    pub(crate) fn note(&mut self, head: &Head, record: &[u8]) {
        let path = Parts::new(record).find(|part| part.kind == PartKind::Path as u8);
        if let Some(path) = path.filter(|path| !path.bytes.is_empty()) {
            let path = self.cwd.join(PathBuf::from(std::ffi::OsString::from_vec(path.bytes.to_vec())));
            *self.paths.entry(path).or_default() |= head.aux & O_ACCMODE != 0;
        }
    }

    /// Files that were written outside of the state directories.
    pub(crate) fn written_elsewhere<'a>(&'a self, state: &'a [PathBuf]) -> impl Iterator<Item = &'a Path> {
        self.paths
            .iter()
            .filter(|&(path, written)| *written && path.is_file() && !under(path, state))
            .map(|(path, _)| path.as_path())
    }

    /// The manifest: every regular file, hashed unless the server's state restores it.
    pub(crate) fn manifest(&self, state: &[PathBuf]) -> Vec<FileEntry> {
        self.paths
            .iter()
            .filter(|(path, _)| path.is_file())
            .map(|(path, &written)| {
                let role = match (under(path, state), written) {
                    (true, _) => FileRole::State,
                    (false, true) => FileRole::Written,
                    (false, false) => FileRole::Read,
                };
                let (size_bytes, hash) =
                    if role == FileRole::Read { fingerprint(path) } else { None }.unwrap_or_default();
                FileEntry { path: path.as_os_str().as_bytes().to_vec(), size_bytes, hash, role }
            })
            .collect()
    }
}

fn under(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// Size and BLAKE3 hash of a file.
fn fingerprint(path: &Path) -> Option<(u64, [u8; 32])> {
    let mut hasher = blake3::Hasher::new();
    let size = io::copy(&mut fs::File::open(path).ok()?, &mut hasher).ok()?;
    Some((size, *hasher.finalize().as_bytes()))
}

/// How the files of this machine differ from those of the recording.
#[derive(Debug, Default)]
pub(crate) struct Differences {
    /// Files that the server read and that are not here.
    pub(crate) missing: Vec<String>,
    /// Files that have another content.
    pub(crate) changed: Vec<String>,
}

/// Looks for the files of a manifest.
pub(crate) fn differences(manifest: &[FileEntry]) -> Differences {
    let mut found = Differences::default();
    for entry in manifest.iter().filter(|entry| entry.role == FileRole::Read) {
        let path = PathBuf::from(std::ffi::OsString::from_vec(entry.path.clone()));
        let shown = path.display().to_string();
        match fingerprint(&path) {
            None => found.missing.push(shown),
            Some((size, hash)) if (size, hash) != (entry.size_bytes, entry.hash) => found.changed.push(shown),
            Some(_) => {}
        }
    }
    found
}
