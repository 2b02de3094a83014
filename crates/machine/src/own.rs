//! Files and directories that are this user's alone, in places where anybody may put something: `/tmp`, `/var/tmp`.
//!
//! What lies there under a name that can be guessed is foreign until its owner, its kind and its permissions say
//! otherwise. No link is followed, and nothing is opened that could make its opener wait.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use rustix::rand::{GetRandomFlags, getrandom};

/// Reasons why something does not belong to this user alone.
#[derive(Debug, thiserror::Error)]
pub enum NotOurs {
    /// The file could not be made, opened or examined.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error that the system returned.
        error: io::Error,
    },
    /// Something else lies there: a link, a pipe, a device.
    #[error("{}: expected a {expected}, found a {found}", path.display())]
    Kind {
        /// Path of the file or directory.
        path: PathBuf,
        /// Expected kind: `file` or `directory`.
        expected: &'static str,
        /// Kind of the existing file.
        found: &'static str,
    },
    /// The file or directory belongs to another user.
    #[error("{}: expected a {kind} of user {expected}, found one of user {found}", path.display())]
    Owner {
        /// Path of the file or directory.
        path: PathBuf,
        /// Kind of the existing entry: `file` or `directory`.
        kind: &'static str,
        /// Numeric id of this user.
        expected: u32,
        /// Owner of the existing file.
        found: u32,
    },
    /// Others may do more in it than they should.
    #[error("{}: expected permissions {expected:o} or fewer, found {found:o}", path.display())]
    Permissions {
        /// Path of the file or directory.
        path: PathBuf,
        /// The most that it may allow.
        expected: u32,
        /// Permissions of the existing file.
        found: u32,
    },
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> NotOurs + '_ {
    |error| NotOurs::Io { path: path.to_owned(), error }
}

/// Makes a directory, or takes the one that is there if it is this user's own and allows no more than `mode`.
///
/// Directories above it that are missing are made with the same permissions.
///
/// # Errors
/// [`NotOurs`], also for a link to a directory: its author chose where it leads.
pub fn make_directory(path: &Path, mode: u32) -> Result<(), NotOurs> {
    let mut builder = DirBuilder::new();
    builder.mode(mode);
    let made = match builder.create(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => builder.recursive(true).create(path),
        made => made,
    };
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(io_error(path)(error)),
        // Also one that was made just now: without the recursion's own look, another could have been first.
        _ => check_directory(path, mode),
    }
}

/// Looks whether a directory is this user's own and allows no more than `mode`.
///
/// # Errors
/// As [`make_directory`].
pub fn check_directory(path: &Path, mode: u32) -> Result<(), NotOurs> {
    let facts = path.symlink_metadata().map_err(io_error(path))?;
    check(path, &facts, "directory", facts.is_dir())?;
    let found = facts.mode() & 0o7777;
    // The bit that directories inherit from their group allows nothing.
    match found & 0o777 & !mode {
        0 => Ok(()),
        _ => Err(NotOurs::Permissions { path: path.to_owned(), expected: mode, found }),
    }
}

/// Permitted owners of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// The file belongs to this user, and no other user can change it.
    Ours,
    /// Anybody's, who may write to a directory that this user chose.
    Anybodys,
}

/// Opens a file to read it.
///
/// # Errors
/// [`NotOurs`] for a link, a pipe, a device or a file of another user: none of them is opened, or waited for.
pub fn open(path: &Path, whose: Ownership) -> Result<File, NotOurs> {
    open_with(OpenOptions::new().read(true), path, whose)
}

/// Opens a file that processes lock, or makes it. Its content stays.
///
/// # Errors
/// As [`open`].
pub fn open_lock(path: &Path, whose: Ownership) -> Result<File, NotOurs> {
    open_with(OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600), path, whose)
}

/// The text of a lock file is a number.
const LOCK_BYTES_MOST: u64 = 32;

/// A lock that one process at a time has. The kernel takes it back when its holder ends in any way.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// Reasons why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The existing file is not a lock file of ours, or cannot be used.
    #[error(transparent)]
    NotOurs(#[from] NotOurs),
    /// Another process holds the lock.
    #[error("{}: held by process {}", path.display(), pid.map_or("?".to_owned(), |pid| pid.to_string()))]
    Busy {
        /// Path of the lock file.
        path: PathBuf,
        /// PID of the holder, if the file has it.
        pid: Option<u32>,
    },
}

impl Lock {
    /// Takes the lock of a file, which is made if need be and names its owner.
    ///
    /// # Errors
    /// [`LockError::Busy`] at once, without waiting, when another process has it; otherwise as [`open`].
    pub fn take(path: &Path, whose: Ownership) -> Result<Lock, LockError> {
        let mut file = open_lock(path, whose)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // What it does not tell is unknown.
                let _ = file.take(LOCK_BYTES_MOST).read_to_string(&mut holder);
                return Err(LockError::Busy { path: path.to_owned(), pid: holder.trim().parse().ok() });
            }
            Err(TryLockError::Error(error)) => return Err(io_error(path)(error).into()),
        }
        file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id())).map_err(io_error(path))?;
        Ok(Lock { file })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a child that another thread is starting has a copy of the descriptor until it executes
        // its program, and the lock belongs to all copies. What cannot be given back here is when they are closed.
        let _ = self.file.unlock();
    }
}

/// Looks whether what lies at a path, if anything, is a file, without opening it.
///
/// # Errors
/// As [`open`].
pub fn check_file(path: &Path, whose: Ownership) -> Result<(), NotOurs> {
    match path.symlink_metadata() {
        Ok(facts) => check_opened(path, &facts, whose),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io_error(path)(error)),
    }
}

fn check_opened(path: &Path, facts: &Metadata, whose: Ownership) -> Result<(), NotOurs> {
    match whose {
        Ownership::Ours => check(path, facts, "file", facts.is_file()),
        Ownership::Anybodys => check_kind(path, facts, "file", facts.is_file()),
    }
}

fn open_with(options: &mut OpenOptions, path: &Path, whose: Ownership) -> Result<File, NotOurs> {
    // Before it is opened, so that what is wrong has a name, and as opening a device may do something.
    check_file(path, whose)?;
    // Exchanging it in between gains nothing: no link is followed, no pipe waited for, and what was opened is
    // looked at again.
    let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).map_err(io_error(path))?;
    let facts = file.metadata().map_err(io_error(path))?;
    check_opened(path, &facts, whose)?;
    Ok(file)
}

fn check_kind(path: &Path, facts: &Metadata, expected: &'static str, is_expected: bool) -> Result<(), NotOurs> {
    match is_expected {
        true => Ok(()),
        false => Err(NotOurs::Kind { path: path.to_owned(), expected, found: kind(facts) }),
    }
}

fn check(path: &Path, facts: &Metadata, expected: &'static str, is_expected: bool) -> Result<(), NotOurs> {
    check_kind(path, facts, expected, is_expected)?;
    let (us, found) = (geteuid().as_raw(), facts.uid());
    match found == us {
        true => Ok(()),
        false => Err(NotOurs::Owner { path: path.to_owned(), kind: expected, expected: us, found }),
    }
}

fn kind(facts: &Metadata) -> &'static str {
    let kind = facts.file_type();
    match () {
        () if kind.is_symlink() => "link",
        () if kind.is_fifo() => "pipe",
        () if kind.is_socket() => "socket",
        () if kind.is_dir() => "directory",
        () if kind.is_file() => "file",
        () => "device",
    }
}

/// Makes a file beside `path` under an unguessable name, to be renamed when it is complete: `.NAME.RANDOM.tmp`.
/// It is open for reading, too: who writes may look at the result first.
///
/// # Errors
/// What the system says.
pub fn temporary(path: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    let temporary = temporary_name(path)?;
    // `create_new` is O_EXCL, which follows no link either (open(2)).
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(mode).open(&temporary)?;
    Ok((temporary, file))
}

/// Such a name, for what is no plain file or is made by other code.
///
/// # Errors
/// For a path without a name; or when the kernel gives no random numbers.
pub fn temporary_name(path: &Path) -> io::Result<PathBuf> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    let mut random = [0; 8];
    // Few bytes come whole or not at all (getrandom(2)).
    getrandom(&mut random, GetRandomFlags::empty())?;
    name.push(format!(".{:016x}.tmp", u64::from_ne_bytes(random)));
    Ok(path.with_file_name(name))
}

/// True if a name is that of a temporary file, which stays unfinished when its writer is gone.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(".tmp")
}

/// Syncs a file and gives it its name, also on disk.
///
/// # Errors
/// What the system says.
pub fn put_in_place(temporary: &Path, path: &Path) -> io::Result<()> {
    File::open(temporary)?.sync_all()?;
    fs::rename(temporary, path)?;
    sync_name(path)
}

/// Syncs the directory that a file has its name in: a new name is on disk only when the directory is.
///
/// # Errors
/// What the system says.
pub fn sync_name(path: &Path) -> io::Result<()> {
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => File::open(parent)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    fn place() -> tempfile::TempDir {
        tempfile::tempdir().expect("the temporary directory is writable")
    }

    #[test]
    fn a_directory_is_ours_and_closed_or_refused() {
        let place = place();
        let directory = place.path().join("a/scratch");
        make_directory(&directory, 0o700).expect("nothing is there");
        make_directory(&directory, 0o700).expect("it is ours");
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o750)).expect("it is ours");
        let open = make_directory(&directory, 0o700).expect_err("others may look into it").to_string();
        assert!(open.ends_with("scratch: expected permissions 700 or fewer, found 750"), "{open}");
        let link = place.path().join("link");
        symlink(place.path(), &link).expect("a scratch directory takes it");
        let link = make_directory(&link, 0o700).expect_err("it leads elsewhere").to_string();
        assert!(link.ends_with("link: expected a directory, found a link"), "{link}");
        let given = place.path().join("given");
        make_directory(&given, 0o700).expect("nothing is there");
        chown(&given, Some(65534), None).expect("run as root: only root gives a directory to another user");
        let given = make_directory(&given, 0o700).expect_err("it is another user's").to_string();
        assert!(given.ends_with("expected a directory of user 0, found one of user 65534"), "{given}");
    }

    #[test]
    fn a_lock_is_given_back_while_a_child_that_is_being_started_has_a_copy_of_it() {
        let place = place();
        let path = place.path().join("lock");
        let lock = Lock::take(&path, Ownership::Ours).expect("nobody has it");
        // What fork(2) leaves in the child until it executes its program.
        let _copy = lock.file.try_clone().expect("descriptors are left");
        let busy = Lock::take(&path, Ownership::Ours).expect_err("it is taken").to_string();
        assert!(busy.ends_with(&format!("lock: held by process {}", std::process::id())), "{busy}");
        drop(lock);
        Lock::take(&path, Ownership::Ours).expect("it was given back");
    }

    #[test]
    fn a_temporary_name_is_another_each_time_and_no_link_is_written_through() {
        let place = place();
        let path = place.path().join("samples.json");
        let (one, mut file) = temporary(&path, 0o600).expect("the directory is writable");
        let (other, _) = temporary(&path, 0o600).expect("the directory is writable");
        assert_ne!(one, other);
        let name = one.file_name().and_then(|name| name.to_str()).expect("it is text");
        assert!(is_temporary(name) && name.starts_with(".samples.json."), "{name}");
        file.write_all(b"{}").expect("the disk is not full");
        put_in_place(&one, &path).expect("it is ours");
        assert_eq!(fs::read(&path).expect("it is there"), b"{}");
    }
}
