//! The place where the state of one replay is laid out: for its owner only, gone afterwards, and where its owner was
//! killed, swept by the next one.
//!
//! Its owner holds a lock on the directory itself. The kernel gives it back however the owner ends, so a directory that
//! can be locked is stale.

use rustix::fs::{FlockOperation, FsWord, Mode, OFlags, StatVfsMountFlags};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const PREFIX: &str = "prony-state-";
/// Lists directories that were made elsewhere, each ended by a zero byte.
const MADE: &str = "made";
const PRIVATE: u32 = 0o700;
/// More than this is laid out on a disk rather than in memory.
const MEMORY_BYTES_MOST: u64 = 32 << 20;

/// A directory for one replay, removed when dropped.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    _lock: OwnedFd,
}

impl Scratch {
    /// Makes one among the temporary directories.
    pub(crate) fn new() -> io::Result<Scratch> {
        Scratch::below(&std::env::temp_dir())
    }

    /// Makes one for the kernel to merge into these directories, none of which it lies in.
    pub(crate) fn outside_of(merged: &BTreeSet<PathBuf>, bytes: u64) -> io::Result<Scratch> {
        let mut parents = parents();
        if bytes > MEMORY_BYTES_MOST {
            // From memory to disk.
            parents.rotate_left(1);
        }
        let outside = |parent: &PathBuf| {
            let real = fs::canonicalize(parent).ok()?;
            (can_be_upper(&real) && !merged.iter().any(|place| real.starts_with(place))).then_some(real)
        };
        let mut last = io::ErrorKind::NotFound.into();
        for parent in parents.iter().filter_map(outside) {
            match Scratch::below(&parent) {
                Ok(scratch) => return Ok(scratch),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn below(parent: &Path) -> io::Result<Scratch> {
        loop {
            let made = tempfile::Builder::new()
                .prefix(PREFIX)
                .permissions(fs::Permissions::from_mode(PRIVATE))
                .tempdir_in(parent)?;
            let lock = open_directory(made.path())?;
            rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
            // Before it was locked, another process may have taken it for a stale one and removed it.
            if rustix::fs::fstat(&lock)?.st_nlink > 0 {
                return Ok(Scratch { path: made.keep(), _lock: lock });
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a directory elsewhere with those that lead to it. What was not there is removed with the scratch, where
    /// it is empty again.
    pub(crate) fn make_elsewhere(&self, path: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = path.ancestors().take_while(|path| path.symlink_metadata().is_err()).collect();
        let mut list = File::options().create(true).append(true).mode(0o600).open(self.path.join(MADE))?;
        for path in missing.into_iter().rev() {
            // Before it is made: whatever ends us then, the next one knows.
            list.write_all(&[path.as_os_str().as_bytes(), &[0]].concat())?;
            DirBuilder::new().mode(0o755).create(path)?;
        }
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Whatever cannot be removed now, the next one tries again.
        let _ = remove(&self.path);
    }
}

/// Parents of scratch directories; the first is in memory.
fn parents() -> Vec<PathBuf> {
    vec!["/dev/shm".into(), std::env::temp_dir(), "/var/tmp".into()]
}

/// Removes what killed replays of this user have left among the temporary directories.
pub(crate) fn sweep() {
    parents().iter().for_each(|parent| sweep_below(parent));
}

fn sweep_below(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().as_bytes().starts_with(PREFIX.as_bytes())) {
        let path = entry.path();
        let Ok(directory) = open_directory(&path) else { continue };
        let own = rustix::fs::fstat(&directory)
            .is_ok_and(|data| data.st_uid == rustix::process::geteuid().as_raw() && data.st_mode & 0o777 == PRIVATE);
        if own && rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = remove(&path);
        }
    }
}

/// Opens a directory, without following a link.
fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?)
}

/// Removes a scratch directory and what was made elsewhere for it.
fn remove(path: &Path) -> io::Result<()> {
    let made = fs::read(path.join(MADE)).unwrap_or_default();
    let whole = made.split_inclusive(|&byte| byte == 0).filter_map(|path| path.strip_suffix(&[0]));
    for path in whole.collect::<Vec<_>>().into_iter().rev() {
        // Only what is still empty: nothing of a person's is removed.
        let _ = fs::remove_dir(std::ffi::OsString::from_vec(path.to_vec()));
    }
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path)?;
            fs::remove_dir_all(path)
        }
        removed => removed,
    }
}

/// State may hold directories that do not let their own owner in.
fn open_up(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.mode() & PRIVATE != PRIVATE {
        fs::set_permissions(path, fs::Permissions::from_mode(PRIVATE))?;
    }
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

/// True if a directory of this file system can be the upper layer of an overlay (overlayfs.rst of Linux): it must not
/// be an overlay itself, as the root of a container is, and must be writable.
fn can_be_upper(path: &Path) -> bool {
    /// Type of overlayfs: `OVERLAYFS_SUPER_MAGIC` of Linux.
    const OVERLAY: FsWord = 0x794c_7630;
    let writable = rustix::fs::statvfs(path).is_ok_and(|system| !system.f_flag.contains(StatVfsMountFlags::RDONLY));
    let plain = !path.as_os_str().as_bytes().iter().any(|byte| b",:\\".contains(byte));
    plain && writable && rustix::fs::statfs(path).is_ok_and(|system| system.f_type != OVERLAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_directory_is_private_and_gone_with_all_that_was_made_elsewhere() {
        let parent = tempfile::tempdir().expect("the temporary directory is writable");
        let scratch = Scratch::below(parent.path()).expect("writable");
        let path = scratch.path().to_owned();
        assert_eq!(path.metadata().expect("it is there").mode() & 0o7777, 0o700);
        let deep = parent.path().join("srv/game/maps");
        let kept = parent.path().join("var/game");
        scratch.make_elsewhere(&deep).and_then(|()| scratch.make_elsewhere(&kept)).expect("writable");
        fs::write(parent.path().join("var/mine"), b"").expect("writable");
        fs::create_dir_all(path.join("0/closed/inner")).expect("writable");
        fs::set_permissions(path.join("0/closed"), fs::Permissions::from_mode(0o000)).expect("it is ours");
        drop(scratch);
        assert!(!path.exists() && !parent.path().join("srv").exists() && !kept.exists());
        assert!(parent.path().join("var/mine").exists(), "what somebody put there stays");
    }

    #[test]
    fn only_stale_directories_of_our_own_are_swept() {
        let parent = tempfile::tempdir().expect("the temporary directory is writable");
        let alive = Scratch::below(parent.path()).expect("writable");
        let stale = Scratch::below(parent.path()).expect("writable");
        stale.make_elsewhere(&parent.path().join("srv/game")).expect("writable");
        fs::write(stale.path().join("file"), b"").expect("writable");
        let left = stale.path().to_owned();
        // What the kernel does when it kills us: nothing runs, the lock is gone.
        rustix::fs::flock(&stale._lock, FlockOperation::Unlock).expect("it is locked");
        std::mem::forget(stale);
        let elsewhere = parent.path().join("elsewhere");
        fs::create_dir(&elsewhere).expect("writable");
        std::os::unix::fs::symlink(&elsewhere, parent.path().join("prony-state-link")).expect("writable");
        let open_to_all = parent.path().join("prony-state-somebody");
        fs::create_dir(&open_to_all).expect("writable");
        fs::set_permissions(&open_to_all, fs::Permissions::from_mode(0o755)).expect("it is ours");
        sweep_below(parent.path());
        assert!(!left.exists() && !parent.path().join("srv").exists());
        assert!(alive.path().exists() && elsewhere.exists() && open_to_all.exists());
    }
}
