//! Directories that are listed. Each is listed for real; what it contained while recording is in the demo, so that a replay names one
//! that contains something else: whatever a server does with a listing, be it no more than to keep it in memory, it does otherwise.

use super::super::collect;
use super::super::failures::{at_path, changed};
use super::super::player;
use super::super::real::hooks;
use super::super::recorder::{self, Piece};
use super::super::state::{errno, set_errno, threaded};
use super::super::thread::PassThrough;
use super::super::widths::plain::Entry;
use super::directory::{Listing, is_demo};
use super::file::{PathKind, kind_of, ordered};
use super::listing_cache::with_listing;
use super::pid::made_at;
use super::status::of_path;
use super::{enter, leave};
use libc::{DIR, c_char, c_int};
use prony_demo::{Op, PartKind};
use std::ffi::CStr;

/// The server is about to list this directory, whose path is a C string.
unsafe fn listed(path: *const c_char, directory: *mut DIR) {
    // SAFETY: the block that `enter` returns is the calling thread's own; a listing is numbers without padding.
    unsafe {
        let (thread, recording) = enter();
        let errno = errno();
        let number = of_path(path);
        if recording {
            with_listing(directory, |here, names| {
                let value = Piece::Bytes(PartKind::Value, (&raw const *here).cast(), size_of::<Listing>());
                let names = Piece::Bytes(PartKind::Path, names.bytes().as_ptr(), names.bytes().len());
                recorder::emit(thread, Op::Listing, -1, number, 0, &[value, Piece::path(path), names]);
            });
        } else if let Some(answer) = player::take_about(thread, Op::Listing, number) {
            let mut recorded = Listing::EMPTY;
            answer.copy_value(&mut recorded);
            let is_same = with_listing(directory, |here, _| recorded == *here);
            player::done(thread, answer);
            if !is_same {
                changed(c"opendir", path);
            }
        }
        set_errno(errno);
        leave(thread);
    }
}

/// Directories of processes and of devices are others in each replay; those of the kernel's objects are the machine's.
unsafe fn is_compared(path: *const c_char, kind: PathKind) -> bool {
    // SAFETY: the caller passes a path that is null or a C string.
    unsafe {
        match kind {
            PathKind::Ordinary => true,
            PathKind::Kernel => CStr::from_ptr(path).to_bytes().starts_with(b"/sys/"),
            PathKind::Device => false,
        }
    }
}

/// As [`listed`], for a call that opens the directory itself.
unsafe fn listed_by(path: *const c_char) {
    // SAFETY: the caller passes a path that is null or a C string.
    unsafe {
        if !is_compared(path, kind_of(path)) {
            return;
        }
        let before = errno();
        let pass_through = PassThrough::enter();
        let directory = libc::opendir(path);
        drop(pass_through);
        if !directory.is_null() {
            listed(path, directory);
            let _pass_through = PassThrough::enter();
            libc::closedir(directory);
        }
        set_errno(before);
    }
}

type Filter = Option<unsafe extern "C" fn(*const Entry) -> c_int>;
type Compare = Option<unsafe extern "C" fn(*mut *const Entry, *mut *const Entry) -> c_int>;

hooks! {
    // As that of libc does it. The number of its descriptor counts as that of any other file.
    large [readdir64] fn readdir(directory: *mut DIR) -> *mut Entry {
        loop {
            let entry = real::readdir(directory);
            if entry.is_null() || !is_demo(&*entry) {
                return entry;
            }
        }
    }

    large [readdir64_r] fn readdir_r(directory: *mut DIR, to: *mut Entry, found: *mut *mut Entry) -> c_int {
        loop {
            let result = real::readdir_r(directory, to, found);
            if result != 0 || (*found).is_null() || !is_demo(&**found) {
                return result;
            }
        }
    }

    fn opendir(path: *const c_char) -> *mut DIR {
        const FLAGS: c_int = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_DIRECTORY | libc::O_CLOEXEC;
        let kind = kind_of(path);
        let directory = if threaded() && kind == PathKind::Ordinary {
            let fd = ordered(path, FLAGS, || libc::open(path, FLAGS));
            if fd < 0 { std::ptr::null_mut() } else { libc::fdopendir(fd) }
        } else {
            made_at(c"opendir", path, |path| real::opendir(path))
        };
        if !directory.is_null() && is_compared(path, kind) {
            listed(path, directory);
        }
        directory
    }

    large [scandir64] fn scandir(path: *const c_char, to: *mut *mut *mut Entry, filter: Filter, compare: Compare) -> c_int {
        listed_by(path);
        at_path(c"scandir", path, collect::of_server(|| real::scandir(path, to, filter, compare)))
    }
}
