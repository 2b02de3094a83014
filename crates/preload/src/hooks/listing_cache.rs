//! Listings of directories that have not changed since: a server may look through the same ones for each file that it opens.

use super::directory::{Listing, Names, listing_of};
use libc::DIR;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// Directories that are kept, each in the place that its number chooses.
const PLACES: usize = 32;

/// Age of the last change of a directory from which on another change gives it another time: those of file systems are exact to two
/// seconds at least.
const SETTLED_S: libc::time_t = 3;

/// A directory, and when it was changed last.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    modified: (libc::time_t, libc::c_long),
    changed: (libc::time_t, libc::c_long),
}

#[derive(Clone, Copy)]
struct Kept {
    version: Option<Version>,
    listing: Listing,
    names: Names,
}

struct Cache {
    is_used: AtomicBool,
    kept: UnsafeCell<[Kept; PLACES]>,
}

// SAFETY: only who has set `is_used` comes to what is kept.
unsafe impl Sync for Cache {}

static CACHE: Cache = Cache {
    is_used: AtomicBool::new(false),
    kept: UnsafeCell::new([Kept { version: None, listing: Listing::EMPTY, names: Names::EMPTY }; PLACES]),
};

/// Hands the listing of this directory to `use_it`: the one that is kept, or a new one. Nothing is kept while another thread is here, or for
/// good in a process that was forked while one was.
///
/// # Safety
/// `directory` is open, and the thread in pass-through mode.
pub unsafe fn with_listing<R>(directory: *mut DIR, use_it: impl FnOnce(&Listing, &Names) -> R) -> R {
    // SAFETY: as for this function; the place is this thread's own until `is_used` is given back.
    unsafe {
        let version = settled(directory);
        let is_free = CACHE.is_used.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
        let Some(version) = version.filter(|_| is_free) else {
            if is_free {
                CACHE.is_used.store(false, Ordering::Release);
            }
            let mut names = Names::EMPTY;
            let listing = listing_of(directory, &mut names);
            return use_it(&listing, &names);
        };
        let kept = &mut (*CACHE.kept.get())[version.inode as usize % PLACES];
        if kept.version != Some(version) {
            kept.names = Names::EMPTY;
            kept.listing = listing_of(directory, &mut kept.names);
            kept.version = Some(version);
        }
        let result = use_it(&kept.listing, &kept.names);
        CACHE.is_used.store(false, Ordering::Release);
        result
    }
}

/// What this directory is and when it was changed, if that was long enough ago. Directories of the kernel's objects (`/proc`, `/sys`, wherever
/// they are mounted) have a size of 0 and times that say nothing of their entries; those of file systems that keep no times have zeros.
unsafe fn settled(directory: *mut DIR) -> Option<Version> {
    // SAFETY: the caller passes an open directory; all zero is a valid answer, which lives across the call.
    unsafe {
        let mut status: libc::stat64 = std::mem::zeroed();
        let mut now: libc::timespec = std::mem::zeroed();
        let is_known = libc::fstat64(libc::dirfd(directory), &mut status) == 0;
        libc::clock_gettime(libc::CLOCK_REALTIME, &mut now);
        let keeps_account = status.st_size > 0 && status.st_ctime > 0;
        (is_known && keeps_account && now.tv_sec.saturating_sub(status.st_ctime) >= SETTLED_S).then_some(Version {
            device: status.st_dev,
            inode: status.st_ino,
            modified: (status.st_mtime, status.st_mtime_nsec),
            changed: (status.st_ctime, status.st_ctime_nsec),
        })
    }
}
