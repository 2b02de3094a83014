//! Files of others, opened so that nothing but a regular file is.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Opens a regular file, and nothing else: opening a device may do something, and a pipe would be waited for.
///
/// # Errors
/// The system's; [`NotOpened::Kind`] as a cause.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    // Only its name is looked up at first, so nothing can take its place between the look and the opening.
    let found = File::from(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?);
    if !found.metadata()?.is_file() {
        return Err(io::Error::other(NotOpened::Kind));
    }
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(format!("/proc/self/fd/{}", found.as_raw_fd()))
}

/// Opens a regular file that a program's file names, if it belongs to a user of this profile: to us, to root, or to the
/// owner's of the program's file. Another user's program leads only to what that user may read, too.
///
/// # Errors
/// As [`open_regular`]; [`NotOpened::Owner`] and [`NotOpened::Unreadable`] as causes.
pub(crate) fn open_named(path: &Path, owner: u32) -> io::Result<File> {
    let file = open_regular(path)?;
    let facts = file.metadata()?;
    let ours = rustix::process::geteuid().as_raw();
    let is_trusted = |user: u32| user == 0 || user == ours;
    if facts.uid() == owner {
        return Ok(file);
    }
    if !is_trusted(facts.uid()) {
        return Err(io::Error::other(NotOpened::Owner { found: facts.uid() }));
    }
    if !is_trusted(owner) && facts.mode() & 0o004 == 0 {
        return Err(io::Error::other(NotOpened::Unreadable { owner }));
    }
    Ok(file)
}

/// Reasons why a file that is there was not opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotOpened {
    /// A pipe, a device, a directory.
    #[error("expected a regular file")]
    Kind,
    /// A file of a third user.
    #[error("expected a file of this user, of root or of the program's owner, found one of user {found}")]
    Owner {
        /// Owner of the file.
        found: u32,
    },
    /// A private file that another user's program names.
    #[error("expected a file that user {owner}, who owns the program, can read")]
    Unreadable {
        /// Owner of the program's file.
        owner: u32,
    },
}
