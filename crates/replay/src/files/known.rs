//! Demos that this user recorded on this machine: a list of hashes in a file of the user's own.
//!
//! `docs/formats/recorded.md` draws the file. What cannot be believed (another owner, a mode that lets others write, a
//! symbolic link) is as good as an empty list.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use prony_machine::own::{self, NotOurs, Ownership};
use rustix::fs::{FlockOperation, flock, ftruncate};
use rustix::process::geteuid;

/// Error of using the list.
#[derive(Debug, thiserror::Error)]
pub enum KnownError {
    /// No directory exists in which the list could be.
    #[error("the user has no home directory, and XDG_STATE_HOME is not set")]
    NoHome,
    /// Another user may have written the list, or it cannot be opened.
    #[error(transparent)]
    NotOurs(#[from] NotOurs),
    /// The demo cannot be read.
    #[error("cannot read the demo: {0}")]
    Demo(#[from] io::Error),
    /// Something of the system failed.
    #[error("cannot {what} `{path}`: {error}")]
    System {
        /// Attempted action as a verb, such as `read`.
        what: &'static str,
        /// Path of the file or directory.
        path: String,
        /// Error that the system returned.
        error: io::Error,
    },
}

/// The list of one user.
#[derive(Debug)]
pub struct KnownDemos {
    folder: PathBuf,
    machine: Vec<u8>,
}

/// 64 hexadecimal digits and a newline.
const ENTRY_BYTES: usize = 65;
/// A full list forgets its older half: 650 kB are read in no time.
const ENTRIES_MAX: usize = 10_000;
/// Keeps these hashes apart from all others that are made of files.
const CONTEXT: &str = "prony 2026-11-22 demos recorded on this machine: machine id, NUL, BLAKE3 of the file";

impl KnownDemos {
    /// The list of the user who runs this process, below `$XDG_STATE_HOME`, or `.local/state` in the home directory.
    ///
    /// The home directory is that of `/etc/passwd`, and `$HOME` only where it names none: servers are recorded with a
    /// `HOME` of their own.
    ///
    /// # Errors
    /// [`KnownError::NoHome`].
    pub fn of_user() -> Result<KnownDemos, KnownError> {
        let state_home = directory_of_user("XDG_STATE_HOME", ".local/state").ok_or(KnownError::NoHome)?;
        Ok(KnownDemos::below(&state_home, &machine_id()))
    }

    fn below(state_home: &Path, machine: &[u8]) -> KnownDemos {
        KnownDemos { folder: state_home.join("prony"), machine: machine.to_vec() }
    }

    /// True for a demo that was recorded here by this user: it is the user's own file, and its content is in the list.
    ///
    /// # Errors
    /// [`KnownError`] when the list cannot be read, or not be believed.
    pub fn contains(&self, demo: &File) -> Result<bool, KnownError> {
        if !is_only_ours(demo) {
            return Ok(false);
        }
        let Some(list) = self.open()? else { return Ok(false) };
        flock(&list, FlockOperation::LockShared).map_err(|error| self.failed("lock", error.into()))?;
        let entries = self.entries(&list)?;
        let entry = self.entry(demo)?;
        Ok(entries.chunks_exact(ENTRY_BYTES).any(|found| found == entry))
    }

    /// Puts a demo on the list.
    ///
    /// # Errors
    /// [`KnownError`] when the list cannot be written, or not be believed.
    pub fn add(&self, demo: &File) -> Result<(), KnownError> {
        let entry = self.entry(demo)?;
        own::make_directory(&self.folder, 0o700)?;
        let list = private(&self.path(), own::open_lock(&self.path(), Ownership::Ours)?)?;
        flock(&list, FlockOperation::LockExclusive).map_err(|error| self.failed("lock", error.into()))?;
        let mut entries = self.entries(&list)?;
        if entries.chunks_exact(ENTRY_BYTES).any(|found| found == entry) {
            return Ok(());
        }
        let written = |error| self.failed("write", error);
        if entries.len() >= ENTRIES_MAX * ENTRY_BYTES {
            // Whole entries over whole entries: cut short, the list has some twice and loses none of the newer half.
            entries.drain(..entries.len() - ENTRIES_MAX / 2 * ENTRY_BYTES);
            list.write_all_at(&entries, 0).map_err(written)?;
        }
        list.write_all_at(&entry, entries.len() as u64).map_err(written)?;
        ftruncate(&list, (entries.len() + ENTRY_BYTES) as u64).map_err(|error| written(error.into()))?;
        list.sync_data().map_err(written)
    }

    /// The list itself, if it is there and owned by this user.
    fn open(&self) -> Result<Option<File>, KnownError> {
        let opened = own::check_directory(&self.folder, 0o700).and_then(|()| own::open(&self.path(), Ownership::Ours));
        match opened {
            Ok(list) => private(&self.path(), list).map(Some),
            Err(NotOurs::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whole entries of the list, no more than it may have.
    fn entries(&self, list: &File) -> Result<Vec<u8>, KnownError> {
        let mut bytes = vec![0; ENTRIES_MAX * ENTRY_BYTES];
        let mut filled = 0;
        while filled < bytes.len() {
            match list.read_at(&mut bytes[filled..], filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.failed("read", error)),
            }
        }
        bytes.truncate(filled / ENTRY_BYTES * ENTRY_BYTES);
        Ok(bytes)
    }

    /// Entry of the list for this file on this machine.
    fn entry(&self, demo: &File) -> Result<Vec<u8>, KnownError> {
        let mut content = blake3::Hasher::new();
        each_piece(demo, |piece| {
            content.update(piece);
        })?;
        let mut entry = blake3::Hasher::new_derive_key(CONTEXT);
        entry.update(&self.machine).update(&[0]).update(content.finalize().as_bytes());
        Ok(format!("{}\n", entry.finalize().to_hex()).into_bytes())
    }

    fn path(&self) -> PathBuf {
        self.folder.join("recorded")
    }

    fn failed(&self, what: &'static str, error: io::Error) -> KnownError {
        KnownError::System { what, path: self.path().display().to_string(), error }
    }
}

/// True for a regular file that belongs to this user and that no other user may write: another one could change it after it was
/// looked up.
pub(crate) fn is_only_ours(file: &File) -> bool {
    file.metadata()
        .is_ok_and(|data| data.is_file() && data.uid() == geteuid().as_raw() && data.mode() & WRITABLE_BY_OTHERS == 0)
}

/// Bits of a mode: group and others may write.
pub(crate) const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The file, unless others may read or write it.
fn private(path: &Path, file: File) -> Result<File, KnownError> {
    let found = file.metadata()?.mode() & 0o7777;
    match found & 0o077 {
        0 => Ok(file),
        _ => Err(NotOurs::Permissions { path: path.to_owned(), expected: 0o600, found }.into()),
    }
}

/// Reads a whole file, wherever its position is.
pub(crate) fn each_piece(file: &File, mut take: impl FnMut(&[u8])) -> io::Result<()> {
    let mut bytes = vec![0; 1 << 20];
    let mut at = 0;
    loop {
        match file.read_at(&mut bytes, at) {
            Ok(0) => return Ok(()),
            Ok(read) => {
                take(&bytes[..read]);
                at += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The directory that a variable of XDG names, or `otherwise` in the home directory of `/etc/passwd`, or of `$HOME` if that has none.
pub(crate) fn directory_of_user(variable: &str, otherwise: &str) -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || home_in_passwd().or_else(|| absolute("HOME")).map(|home| home.join(otherwise));
    absolute(variable).or_else(home)
}

/// The home directory that `/etc/passwd` names, if it is there.
fn home_in_passwd() -> Option<PathBuf> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    home_of(&users, geteuid().as_raw()).filter(|home| home.is_dir())
}

/// Home directory of a user in passwd(5): `name:password:uid:gid:comment:home:shell`.
fn home_of(users: &str, user: u32) -> Option<PathBuf> {
    let fields = |line: &str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
    let line = users.lines().map(fields).find(|fields| fields.get(2).is_some_and(|uid| uid.parse() == Ok(user)))?;
    line.get(5).map(PathBuf::from).filter(|home| home.is_absolute())
}

/// machine-id(5); empty where there is none.
fn machine_id() -> Vec<u8> {
    ["/etc/machine-id", "/var/lib/dbus/machine-id"]
        .iter()
        .find_map(|path| std::fs::read(path).ok())
        .map(|id| id.trim_ascii().to_vec())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn demo(place: &Path, content: &str) -> File {
        let path = place.join("x.demo");
        fs::write(&path, content).expect("the temporary directory is writable");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("it is ours");
        File::open(path).expect("just made")
    }

    fn place() -> (tempfile::TempDir, KnownDemos) {
        let place = tempfile::tempdir().expect("the temporary directory is writable");
        let known = KnownDemos::below(&place.path().join("state"), b"a machine");
        (place, known)
    }

    #[test]
    fn a_demo_that_was_added_is_known_here_and_no_other_one_is() {
        let (place, known) = place();
        let recorded = demo(place.path(), "recorded");
        assert!(!known.contains(&recorded).expect("no list is no error"));
        known.add(&recorded).expect("the directory is writable");
        known.add(&recorded).expect("twice is once");
        assert!(known.contains(&recorded).expect("the list is ours"));
        let elsewhere = KnownDemos::below(&place.path().join("state"), b"another machine");
        assert!(!elsewhere.contains(&recorded).expect("the list is ours"), "a home on many machines");
        assert!(!known.contains(&demo(place.path(), "recordee")).expect("the list is ours"));
        let list = fs::read(known.path()).expect("it was written");
        assert_eq!((list.len(), list.last()), (ENTRY_BYTES, Some(&b'\n')));
        let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o777;
        assert_eq!((mode(&known.folder), mode(&known.path())), (0o700, 0o600));
    }

    #[test]
    fn a_demo_that_others_may_write_is_not_known() {
        let (place, known) = place();
        let recorded = demo(place.path(), "recorded");
        known.add(&recorded).expect("the directory is writable");
        recorded.set_permissions(Permissions::from_mode(0o620)).expect("it is ours");
        assert!(!known.contains(&recorded).expect("the list is ours"));
    }

    #[test]
    fn a_list_that_others_could_have_written_is_refused() {
        let (place, known) = place();
        let recorded = demo(place.path(), "recorded");
        known.add(&recorded).expect("the directory is writable");
        fs::set_permissions(known.path(), Permissions::from_mode(0o620)).expect("it is ours");
        let error = known.contains(&recorded).expect_err("the group may write").to_string();
        assert!(error.ends_with("/state/prony/recorded: expected permissions 600 or fewer, found 620"), "{error}");
        assert!(known.add(&recorded).is_err());

        fs::set_permissions(known.path(), Permissions::from_mode(0o600)).expect("it is ours");
        fs::set_permissions(&known.folder, Permissions::from_mode(0o777)).expect("it is ours");
        let error = known.contains(&recorded).expect_err("others may replace the list").to_string();
        assert!(error.ends_with("/state/prony: expected permissions 700 or fewer, found 777"), "{error}");

        fs::set_permissions(&known.folder, Permissions::from_mode(0o700)).expect("it is ours");
        let elsewhere = place.path().join("elsewhere");
        fs::rename(known.path(), &elsewhere).expect("it is ours");
        symlink(&elsewhere, known.path()).expect("it is ours");
        assert!(known.contains(&recorded).is_err(), "a symbolic link is not followed");
        fs::remove_file(known.path()).expect("it is ours");
        fs::create_dir(known.path()).expect("it is ours");
        assert!(known.contains(&recorded).is_err(), "a directory is no list");
    }

    #[test]
    fn a_full_list_keeps_the_newer_half_and_what_was_torn_is_mended() {
        let (place, known) = place();
        known.add(&demo(place.path(), "first")).expect("the directory is writable");
        let mut list = fs::OpenOptions::new().append(true).open(known.path()).expect("it was made");
        let made_up: String = (1..ENTRIES_MAX - 1).map(|number| format!("{number:064x}\n")).collect();
        list.write_all(made_up.as_bytes()).expect("the directory is writable");
        let newest = demo(place.path(), "newest");
        known.add(&newest).expect("there is one place left");
        assert!(known.contains(&demo(place.path(), "first")).expect("the list is ours"));
        list.write_all(b"torn").expect("the directory is writable");
        known.add(&demo(place.path(), "one more")).expect("older ones make room");
        assert!(known.contains(&demo(place.path(), "newest")).expect("the list is ours"));
        assert!(known.contains(&demo(place.path(), "one more")).expect("the list is ours"));
        assert!(!known.contains(&demo(place.path(), "first")).expect("the list is ours"));
        let bytes = fs::metadata(known.path()).expect("it is there").len();
        assert_eq!(bytes, ((ENTRIES_MAX / 2 + 1) * ENTRY_BYTES) as u64);
    }

    #[test]
    fn the_home_directory_is_that_of_the_user_id() {
        let users =
            "root:x:0:0:root:/root:/bin/bash\nwww:x:33:33::relative:/bin/sh\nme:x:1000:1000:Me,,,:/home/me:/bin/sh\n";
        assert_eq!(home_of(users, 1000), Some(PathBuf::from("/home/me")));
        assert_eq!(home_of(users, 0), Some(PathBuf::from("/root")));
        assert_eq!(home_of(users, 33), None);
        assert_eq!(home_of(users, 7), None);
    }
}
