//! Lays an archive out below a directory. Every step goes from a descriptor to the name below it and follows no link,
//! so whatever the archive holds, it stays below.
#![deny(clippy::indexing_slicing)]

use prony_demo::{ArchiveError, Member, MemberKind, StateArchiveWalk};
use rustix::fs::{AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, Uid};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};

/// Error of unpacking an archive.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// The archive cannot be read, or holds what is not laid out.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The system refused a member.
    #[error("`{name}`: {error}")]
    Member {
        /// Path of the entry below the directory.
        name: String,
        /// Error that the system returned.
        error: io::Error,
    },
    /// A signal requested a stop.
    #[error("interrupted")]
    Interrupted,
}

/// Options for unpacking an archive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnpackOptions<'a> {
    /// Files belong to whom the archive says; only root may do that.
    pub(crate) owners: bool,
    /// Files keep their bits for set-user-id and set-group-id.
    pub(crate) set_ids: bool,
    /// Flag that is set when a signal requests a stop.
    pub(crate) stop: Option<&'a AtomicBool>,
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// For directories and files until all of their content is there.
const PRIVATE: u32 = 0o700;
const SET_IDS: u32 = 0o6000;
const CONTENT_BYTES: usize = 1 << 16;

/// Lays out the members that `choose` takes, who may give them another path, below `root`, which is empty. Returns from
/// how many files bits for set-user-id or set-group-id were taken.
pub(crate) fn lay_out<R: Read>(
    archive: &mut StateArchiveWalk<R>,
    root: impl AsFd,
    options: UnpackOptions,
    mut choose: impl FnMut(&mut Member) -> bool,
) -> Result<u64, LayoutError> {
    let mut content = vec![0; CONTENT_BYTES];
    let mut directories = Vec::new();
    let mut set_ids_taken = 0;
    // The directory of the member before: most have the same.
    let mut parent: Option<(Vec<Vec<u8>>, OwnedFd)> = None;
    while let Some(mut member) = archive.next_member()? {
        if is_set(options.stop) {
            return Err(LayoutError::Interrupted);
        }
        if !choose(&mut member) {
            continue;
        }
        let failed = |member: &Member, error: Errno| LayoutError::Member { name: member.shown(), error: error.into() };
        let Some((name, folders)) = member.path.split_last() else {
            directories.push(member);
            continue;
        };
        if parent.as_ref().is_none_or(|(path, _)| path != folders) {
            let opened = open_folder(&root, folders, true).map_err(|error| failed(&member, error))?;
            parent = Some((folders.to_vec(), opened));
        }
        let Some((_, folder)) = &parent else { continue };
        let name = OsStr::from_bytes(name);
        match &member.kind {
            MemberKind::Directory => {
                make_folder(folder, name).map_err(|error| failed(&member, error))?;
                directories.push(member);
            }
            MemberKind::Link { target } => {
                let set = || {
                    rustix::fs::symlinkat(OsStr::from_bytes(target), folder, name)?;
                    if options.owners {
                        let (user, group) = owner(&member);
                        rustix::fs::chownat(folder, name, user, group, AtFlags::SYMLINK_NOFOLLOW)?;
                    }
                    rustix::fs::utimensat(folder, name, &times(&member), AtFlags::SYMLINK_NOFOLLOW)
                };
                set().map_err(|error| failed(&member, error))?;
            }
            MemberKind::File { bytes } => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = rustix::fs::openat(folder, name, flags, Mode::from_raw_mode(0o600));
                let file = File::from(file.map_err(|error| failed(&member, error))?);
                let in_file = |error| LayoutError::Member { name: member.shown(), error };
                while let Some((place, bytes)) = archive.next_run(&mut content)? {
                    file.write_all_at(content.get(..bytes).unwrap_or_default(), place).map_err(in_file)?;
                    if is_set(options.stop) {
                        return Err(LayoutError::Interrupted);
                    }
                }
                // What is not written is a hole, also at the end.
                file.set_len(*bytes).map_err(in_file)?;
                if member.mode & SET_IDS != 0 && !options.set_ids {
                    set_ids_taken += 1;
                    member.mode &= !SET_IDS;
                }
                set_attributes(&file, &member, options).map_err(|error| failed(&member, error))?;
            }
        }
    }
    // Last, as content changes their times, and some do not let anything be put into them. Inner ones come first.
    for member in directories.iter().rev() {
        let set = || set_attributes(open_folder(&root, &member.path, false)?, member, options);
        set().map_err(|error| LayoutError::Member { name: member.shown(), error: error.into() })?;
    }
    Ok(set_ids_taken)
}

fn is_set(stop: Option<&AtomicBool>) -> bool {
    stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
}

/// Opens a directory below `root`. With `make`, those that are not there are made.
fn open_folder(root: impl AsFd, path: &[Vec<u8>], make: bool) -> Result<OwnedFd, Errno> {
    let mut folder = rustix::fs::openat(root, ".", DIRECTORY, Mode::empty())?;
    for name in path {
        let name = OsStr::from_bytes(name);
        if make {
            make_folder(&folder, name)?;
        }
        folder = rustix::fs::openat(&folder, name, DIRECTORY, Mode::empty())?;
    }
    Ok(folder)
}

/// Makes a directory, unless there is something of this name: opening it will tell what.
fn make_folder(folder: impl AsFd, name: &OsStr) -> Result<(), Errno> {
    match rustix::fs::mkdirat(folder, name, Mode::from_raw_mode(PRIVATE)) {
        Err(Errno::EXIST) => Ok(()),
        made => made,
    }
}

/// Owner, permissions and time, in this order: a change of the owner takes bits from the permissions.
fn set_attributes(file: impl AsFd, member: &Member, options: UnpackOptions) -> Result<(), Errno> {
    let file = file.as_fd();
    if options.owners {
        let (user, group) = owner(member);
        rustix::fs::fchown(file, user, group)?;
    }
    rustix::fs::fchmod(file, Mode::from_raw_mode(member.mode))?;
    rustix::fs::futimens(file, &times(member))
}

fn owner(member: &Member) -> (Option<Uid>, Option<Gid>) {
    (Some(Uid::from_raw(member.user)), Some(Gid::from_raw(member.group)))
}

fn times(member: &Member) -> Timestamps {
    let (seconds, nanoseconds) = member.changed;
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() },
    }
}

#[cfg(test)]
mod tests;
