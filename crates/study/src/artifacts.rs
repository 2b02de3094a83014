//! Builds, demos and files of a study in its directory, by their content: what ran is what was shipped.
//!
//! `builds/<sha256>/<name>` holds a file or a directory; `builds/contents.json` says which path of the study file is
//! which. The content is checked before cells run.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use prony_machine::own;

use crate::atomic_file;

/// Directory of what is shipped, in the study's.
pub const BUILDS: &str = "builds";
const CONTENTS: &str = "contents.json";
/// The deepest directory that is shipped.
const DEEPEST: usize = 64;
/// The largest list of contents that is read, in bytes.
const CONTENTS_BYTES_MOST: u64 = 16 << 20;

/// Error of adding a file to a study's directory, or of checking that it is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// A file that the study names cannot be read, or its copy not be written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error that the system returned.
        error: io::Error,
    },
    /// A pipe, a socket, a device, or directories in directories without end.
    #[error("{}: expected a file or a directory, found {found}", path.display())]
    Kind {
        /// Path that leads to no regular file.
        path: PathBuf,
        /// Kind of the existing entry, for the message.
        found: &'static str,
    },
    /// The copy is not what it was when it was made.
    #[error("{}: expected content {expected}, found {found}", path.display())]
    Content {
        /// Path of the copy.
        path: PathBuf,
        /// Hash of the copy in the list, in hexadecimal.
        expected: String,
        /// Hash of the copy as it is, in hexadecimal.
        found: String,
    },
    /// The list of contents is none.
    #[error("{}: {problem}", path.display())]
    List {
        /// Path of the list of artifacts.
        path: PathBuf,
        /// Problem of the list, for the message.
        problem: String,
    },
}

/// File or directory that was copied into a study's directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artifact {
    /// SHA-256 of its content, in hex.
    pub sha256: String,
    /// Name of the file, without directories.
    pub name: String,
}

/// Files that are copied into a study's directory, by the paths in its study file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Artifacts(pub BTreeMap<String, Artifact>);

impl Artifacts {
    /// Copies what the study names into its directory; what is there already stays.
    ///
    /// `base`: the directory that relative paths of the study file mean. `directory`: the study's.
    ///
    /// # Errors
    /// [`ArtifactError`] for the first path that cannot be shipped.
    pub fn store<'a>(
        paths: impl IntoIterator<Item = &'a str>,
        base: &Path,
        directory: &Path,
    ) -> Result<Artifacts, ArtifactError> {
        let mut artifacts = Artifacts::default();
        for path in paths {
            let from = base.join(path);
            let from = fs::canonicalize(&from).map_err(|error| ArtifactError::Io { path: from, error })?;
            let sha256 = digest(&from)?;
            let name = from.file_name().map_or_else(|| "root".to_owned(), |name| name.to_string_lossy().into_owned());
            let artifact = Artifact { sha256, name };
            let to = artifact.place(directory);
            if !to.exists() {
                copy_in_place(&from, &to)?;
                // It may have changed while it was copied.
                artifact.check(directory)?;
            }
            artifacts.0.insert(path.to_owned(), artifact);
        }
        artifacts.write(directory)?;
        Ok(artifacts)
    }

    /// Copies everything from one study's directory to another.
    ///
    /// # Errors
    /// [`ArtifactError`] for the first thing that cannot be copied.
    pub fn copy(&self, from: &Path, to: &Path) -> Result<(), ArtifactError> {
        for artifact in self.0.values().filter(|artifact| !artifact.place(to).exists()) {
            copy_in_place(&artifact.place(from), &artifact.place(to))?;
            artifact.check(to)?;
        }
        self.write(to)
    }

    fn write(&self, directory: &Path) -> Result<(), ArtifactError> {
        let list = directory.join(BUILDS).join(CONTENTS);
        let json = serde_json::to_vec_pretty(self).expect("texts are JSON");
        make_directory(&directory.join(BUILDS))?;
        if fs::read(&list).ok().as_ref() != Some(&json) {
            atomic_file::write_with_mode(&list, &json, 0o644)
                .map_err(|error| ArtifactError::Io { path: list, error })?;
        }
        Ok(())
    }

    /// Reads what is in a study's directory, and checks all of it.
    ///
    /// # Errors
    /// [`ArtifactError`] when something is missing or is not what was shipped.
    pub fn check(directory: &Path) -> Result<Artifacts, ArtifactError> {
        let artifacts = Artifacts::read(directory)?;
        artifacts.0.values().try_for_each(|artifact| artifact.check(directory))?;
        Ok(artifacts)
    }

    /// Reads the list in a study's directory.
    ///
    /// # Errors
    /// [`ArtifactError`] when there is none.
    pub fn read(directory: &Path) -> Result<Artifacts, ArtifactError> {
        let path = directory.join(BUILDS).join(CONTENTS);
        let list = |problem: String| ArtifactError::List { path: path.clone(), problem };
        let mut text = String::new();
        File::open(&path)
            .and_then(|file| file.take(CONTENTS_BYTES_MOST).read_to_string(&mut text))
            .map_err(|error| ArtifactError::Io { path: path.clone(), error })?;
        let artifacts: Artifacts = serde_json::from_str(&text).map_err(|error| list(error.to_string()))?;
        // The list may come from elsewhere, and names files that are run.
        for artifact in artifacts.0.values() {
            let mut parts = Path::new(&artifact.name).components();
            let plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
            if !plain || artifact.sha256.len() != 64 || !artifact.sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(list(format!("expected a hash and a name, found `{}/{}`", artifact.sha256, artifact.name)));
            }
        }
        Ok(artifacts)
    }

    /// Hashes by path, as the keys of cells take them.
    pub fn contents(&self) -> BTreeMap<String, String> {
        self.0.iter().map(|(path, artifact)| (path.clone(), artifact.sha256.clone())).collect()
    }

    /// Location of a path of the study file: in the study's directory, or unchanged if it was not copied there.
    pub fn place(&self, directory: &Path, path: &str) -> String {
        let place = self.0.get(path).map(|artifact| artifact.place(directory).to_string_lossy().into_owned());
        place.unwrap_or_else(|| path.to_owned())
    }
}

impl Artifact {
    /// Path of the copy in the study's directory.
    pub fn place(&self, directory: &Path) -> PathBuf {
        directory.join(BUILDS).join(&self.sha256).join(&self.name)
    }

    fn check(&self, directory: &Path) -> Result<(), ArtifactError> {
        let path = self.place(directory);
        let found = digest(&path)?;
        match found == self.sha256 {
            true => Ok(()),
            false => Err(ArtifactError::Content { path, expected: self.sha256.clone(), found }),
        }
    }
}

/// SHA-256 of a file's bytes, in hex; of a directory that of the names, kinds and contents in it, and who may run them.
///
/// # Errors
/// [`ArtifactError`] when it cannot be read, or holds what cannot be shipped.
pub fn digest(path: &Path) -> Result<String, ArtifactError> {
    let hash = digest_of(path, 0)?;
    Ok(hash.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn digest_of(path: &Path, depth: usize) -> Result<[u8; 32], ArtifactError> {
    let io = |error| ArtifactError::Io { path: path.to_owned(), error };
    let facts = fs::symlink_metadata(path).map_err(io)?;
    let mut hash = Sha256::new();
    if facts.is_file() {
        let mut file = File::open(path).map_err(io)?;
        let mut chunk = vec![0; 1 << 17];
        loop {
            match file.read(&mut chunk).map_err(io)? {
                0 => break,
                length => hash.update(&chunk[..length]),
            }
        }
        return Ok(hash.finalize().into());
    }
    for (name, entry) in entries(path, depth)? {
        let facts = fs::symlink_metadata(&entry).map_err(io)?;
        let (kind, content): (u8, [u8; 32]) = if facts.is_symlink() {
            let target = fs::read_link(&entry).map_err(io)?;
            (b'l', Sha256::digest(target.as_os_str().as_bytes()).into())
        } else {
            let runs = facts.is_file() && facts.permissions().mode() & 0o111 != 0;
            let kind = if facts.is_dir() { b'd' } else { [b'f', b'x'][usize::from(runs)] };
            (kind, digest_of(&entry, depth + 1)?)
        };
        hash.update([kind]);
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(&name);
        hash.update(content);
    }
    Ok(hash.finalize().into())
}

/// Entries of a directory, by name.
fn entries(path: &Path, depth: usize) -> Result<BTreeMap<Vec<u8>, PathBuf>, ArtifactError> {
    let kind = |found| ArtifactError::Kind { path: path.to_owned(), found };
    if !path.is_dir() {
        return Err(kind("neither"));
    }
    if depth >= DEEPEST {
        return Err(kind("directories nested in a cycle"));
    }
    let io = |error| ArtifactError::Io { path: path.to_owned(), error };
    let entries = fs::read_dir(path).map_err(io)?;
    let entries = entries.map(|entry| entry.map(|entry| (entry.file_name().as_bytes().to_vec(), entry.path())));
    entries.collect::<io::Result<_>>().map_err(io)
}

/// Copies under a temporary name, then gives it its own.
fn copy_in_place(from: &Path, to: &Path) -> Result<(), ArtifactError> {
    let io = |error| ArtifactError::Io { path: to.to_owned(), error };
    let parent = to.parent().unwrap_or(Path::new("."));
    make_directory(parent)?;
    let temporary = own::temporary_name(to).map_err(io)?;
    let copied = copy(from, &temporary, 0);
    let remove = || fs::remove_dir_all(&temporary).or_else(|_| fs::remove_file(&temporary));
    if copied.is_err() {
        let _ = remove();
        return copied;
    }
    match own::put_in_place(&temporary, to) {
        // Somebody else shipped the same meanwhile.
        Err(_) if to.exists() => remove().map_err(io),
        moved => moved.map_err(io),
    }
}

fn copy(from: &Path, to: &Path, depth: usize) -> Result<(), ArtifactError> {
    let io = |error| ArtifactError::Io { path: from.to_owned(), error };
    let facts = fs::symlink_metadata(from).map_err(io)?;
    if facts.is_symlink() {
        return fs::read_link(from).and_then(|target| symlink(target, to)).map_err(io);
    }
    if facts.is_file() {
        return atomic_file::copy_new(from, to).map_err(io);
    }
    let entries = entries(from, depth)?;
    fs::create_dir(to).map_err(io)?;
    for entry in entries.values() {
        copy(entry, &to.join(entry.file_name().unwrap_or_default()), depth + 1)?;
    }
    File::open(to).and_then(|directory| directory.sync_all()).map_err(io)
}

fn make_directory(path: &Path) -> Result<(), ArtifactError> {
    fs::create_dir_all(path).map_err(|error| ArtifactError::Io { path: path.to_owned(), error })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn place() -> TempDir {
        let place = TempDir::new().expect("the temporary directory is writable");
        fs::create_dir_all(place.path().join("from/build/lib")).expect("it is writable");
        fs::write(place.path().join("from/match.demo"), "a demo").expect("it is writable");
        fs::write(place.path().join("from/build/server"), "#!/bin/sh\n").expect("it is writable");
        fs::set_permissions(place.path().join("from/build/server"), fs::Permissions::from_mode(0o755)).expect("ours");
        symlink("../server", place.path().join("from/build/lib/link")).expect("it is writable");
        place
    }

    fn store(place: &TempDir) -> Result<Artifacts, ArtifactError> {
        Artifacts::store(["match.demo", "build"], &place.path().join("from"), &place.path().join("study"))
    }

    #[test]
    fn what_is_shipped_is_the_same_and_checked() {
        let place = place();
        let artifacts = store(&place).expect("all is there");
        let study = place.path().join("study");
        assert_eq!(Artifacts::check(&study).expect("nobody touched it"), artifacts);
        let demo = artifacts.place(&study, "match.demo");
        assert_eq!(fs::read_to_string(&demo).expect("it was copied"), "a demo");
        // printf 'a demo' | sha256sum
        let hash = "e6cfcbdec4afd8d786dc934fdd79a712e4c08308f6d15692417e5e932bd2e85f";
        assert_eq!(artifacts.0["match.demo"].sha256, hash);
        let server = PathBuf::from(artifacts.place(&study, "build")).join("server");
        assert_eq!(fs::metadata(server).expect("it was copied").permissions().mode() & 0o777, 0o755);
        assert_eq!(store(&place).expect("all is there"), artifacts);
        assert_eq!(artifacts.place(&study, "elsewhere"), "elsewhere");
    }

    #[test]
    fn a_copy_that_was_changed_is_named() {
        let place = place();
        let artifacts = store(&place).expect("all is there");
        let study = place.path().join("study");
        fs::write(artifacts.place(&study, "match.demo"), "another").expect("it is ours");
        let error = Artifacts::check(&study).expect_err("it was changed").to_string();
        let expected = format!("match.demo: expected content {}, found ", artifacts.0["match.demo"].sha256);
        assert!(error.contains(&expected), "{error}");
    }

    #[test]
    fn a_directory_is_another_when_a_name_a_byte_or_a_permission_is() {
        let place = place();
        let build = place.path().join("from/build");
        let first = digest(&build).expect("it is readable");
        fs::rename(build.join("server"), build.join("game")).expect("it is ours");
        let renamed = digest(&build).expect("it is readable");
        fs::set_permissions(build.join("game"), fs::Permissions::from_mode(0o644)).expect("it is ours");
        let not_run = digest(&build).expect("it is readable");
        fs::write(build.join("game"), "#!/bin/sh\n\n").expect("it is ours");
        let changed = digest(&build).expect("it is readable");
        let all = [&first, &renamed, &not_run, &changed];
        assert!((0..4).all(|one| (0..one).all(|other| all[one] != all[other])), "{all:?}");
    }

    #[test]
    fn what_cannot_be_shipped_is_named() {
        let place = place();
        let base = place.path().join("from");
        let missing = Artifacts::store(["nothing"], &base, &place.path().join("study")).expect_err("it is not there");
        assert!(missing.to_string().ends_with("from/nothing: No such file or directory (os error 2)"), "{missing}");
        let device = digest(Path::new("/dev/null")).expect_err("it is a device").to_string();
        assert_eq!(device, "/dev/null: expected a file or a directory, found neither");
    }

    #[test]
    fn a_list_that_names_files_elsewhere_is_refused() {
        let place = place();
        fs::create_dir_all(place.path().join(BUILDS)).expect("it is writable");
        let list = place.path().join(BUILDS).join(CONTENTS);
        for name in ["../../bin/sh", "", "..", "a/b"] {
            let json = format!("{{\"a\": {{\"sha256\": \"{}\", \"name\": \"{name}\"}}}}", "0".repeat(64));
            fs::write(&list, json).expect("it is writable");
            let error = Artifacts::read(place.path()).expect_err("it lies elsewhere").to_string();
            assert!(error.contains("expected a hash and a name, found `000"), "{error}");
        }
    }
}
