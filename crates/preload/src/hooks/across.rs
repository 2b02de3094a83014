//! Files that a replay moves across the mount of a state directory. While it was recorded, the directory was an ordinary
//! one; the kernel neither renames nor links from one mount to another, so the file is copied.

use super::super::state::{errno, mode, set_errno};
use super::super::thread::{PassThrough, REPLAYING};
use libc::{c_char, c_int, c_uint};

/// A path and the directory that it starts from.
#[derive(Clone, Copy)]
pub struct At(pub c_int, pub *const c_char);

/// The result of a rename, which is made good for where the kernel cannot.
pub unsafe fn renamed(from: At, to: At, flags: c_uint, result: c_int) -> c_int {
    // SAFETY: the caller passes paths that are C strings if the kernel has taken them for some.
    unsafe {
        if !is_across(result) || flags & !libc::RENAME_NOREPLACE != 0 {
            return result;
        }
        let _pass_through = PassThrough::enter();
        if copied(from, to, flags) == 0 && libc::unlinkat(from.0, from.1, 0) == 0 { 0 } else { across() }
    }
}

/// The result of a link: the file is there under both names, but not the same.
pub unsafe fn linked(from: At, to: At, result: c_int) -> c_int {
    // SAFETY: as for `renamed`.
    unsafe {
        if !is_across(result) {
            return result;
        }
        let _pass_through = PassThrough::enter();
        if copied(from, to, libc::RENAME_NOREPLACE) == 0 { 0 } else { across() }
    }
}

fn is_across(result: c_int) -> bool {
    result == -1 && errno() == libc::EXDEV && mode() == REPLAYING
}

/// What the kernel had answered, unless it is that the name is taken.
fn across() -> c_int {
    if errno() != libc::EEXIST {
        set_errno(libc::EXDEV);
    }
    -1
}

const SUFFIX: &[u8] = b".prony-moved\0";

/// Copies a regular file or a link, with its permissions and times, and gives it its name when it is whole.
unsafe fn copied(from: At, to: At, flags: c_uint) -> c_int {
    // SAFETY: the paths are C strings; structures and buffers live across the calls.
    unsafe {
        let mut path = [0u8; libc::PATH_MAX as usize];
        let length = libc::strlen(to.1);
        if length + SUFFIX.len() > path.len() {
            return -1;
        }
        to.1.cast::<u8>().copy_to_nonoverlapping(path.as_mut_ptr(), length);
        path[length..length + SUFFIX.len()].copy_from_slice(SUFFIX);
        let between = path.as_ptr().cast::<c_char>();
        libc::unlinkat(to.0, between, 0);
        let mut found: libc::stat64 = std::mem::zeroed();
        if libc::fstatat64(from.0, from.1, &mut found, libc::AT_SYMLINK_NOFOLLOW) != 0 {
            return -1;
        }
        let made = match found.st_mode & libc::S_IFMT {
            libc::S_IFREG => copied_content(from, At(to.0, between), &found),
            libc::S_IFLNK => copied_link(from, At(to.0, between)),
            _ => -1,
        };
        if made == 0 && libc::syscall(libc::SYS_renameat2, to.0, between, to.0, to.1, flags) == 0 {
            return 0;
        }
        let error = errno();
        libc::unlinkat(to.0, between, 0);
        set_errno(error);
        -1
    }
}

unsafe fn copied_content(from: At, to: At, found: &libc::stat64) -> c_int {
    // SAFETY: the paths are C strings, and the descriptors are closed here.
    unsafe {
        let source = libc::openat(from.0, from.1, libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_CLOEXEC);
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
        let copy = if source < 0 { -1 } else { libc::openat(to.0, to.1, flags, 0o600) };
        let mut result = c_int::from(copy >= 0) - 1;
        while result == 0 {
            match libc::sendfile(copy, source, std::ptr::null_mut(), 1 << 24) {
                0 => break,
                -1 => result = -1,
                _ => {}
            }
        }
        if result == 0 {
            let time = |s, ns| libc::timespec { tv_sec: s, tv_nsec: ns };
            let times = [time(found.st_atime, found.st_atime_nsec), time(found.st_mtime, found.st_mtime_nsec)];
            // Only root may give files away.
            libc::fchown(copy, found.st_uid, found.st_gid);
            libc::futimens(copy, times.as_ptr());
            result = libc::fchmod(copy, found.st_mode & 0o7777);
        }
        for fd in [source, copy].into_iter().filter(|&fd| fd >= 0) {
            libc::close(fd);
        }
        result
    }
}

unsafe fn copied_link(from: At, to: At) -> c_int {
    // SAFETY: the paths are C strings; the buffer lives across the calls.
    unsafe {
        let mut leads = [0u8; libc::PATH_MAX as usize];
        let length = libc::readlinkat(from.0, from.1, leads.as_mut_ptr().cast(), leads.len() - 1);
        if length < 0 { -1 } else { libc::symlinkat(leads.as_ptr().cast(), to.0, to.1) }
    }
}
