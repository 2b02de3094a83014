//! Calls that tell about files and file systems. They are made for real; what of their answer depends on when and where a file
//! was made, or on what else uses the file system, is that of the recording: numbers of files, times, free blocks.

use super::super::descriptors;
use super::super::digest;
use super::super::failures::{at_descriptor, at_path};
use super::super::file_times;
use super::super::player;
use super::super::real::hooks;
use super::super::recorder::{self, Piece};
use super::super::returned;
use super::super::state::{errno, set_errno};
use super::super::widths::plain::{FileSystemStatus, Stat, VirtualStatus};
use super::super::widths::{FileSystem, Status};
use super::pid::made_at;
use super::{enter, leave, recorded_if_there};
use libc::{c_char, c_int, c_uint};
use prony_demo::{Op, PartKind};
use std::ffi::CStr;

/// The number of a path, by which the record of a call about it is found.
pub(super) unsafe fn of_path(path: *const c_char) -> u32 {
    // SAFETY: the caller passes a C string.
    digest::short(unsafe { CStr::from_ptr(path) }.to_bytes())
}

/// A real call has found what `marks` are of, and `number` is of what it was about: descriptors of files have other numbers in a
/// replay. Returns the marks of the recording, where a replay has a record of them.
unsafe fn recorded<M: Default>(op: Op, number: u32, marks: impl FnOnce() -> M) -> Option<M> {
    // SAFETY: the block that `enter` returns is the calling thread's own; marks are numbers without padding.
    unsafe {
        let (thread, recording) = enter();
        let errno = errno();
        let mut found = None;
        if recording {
            let marks = marks();
            let value = Piece::Bytes(PartKind::Value, (&raw const marks).cast(), size_of::<M>());
            recorder::emit(thread, op, -1, number, 0, &[value]);
            found = Some(marks);
        } else if let Some(answer) = player::take_about(thread, op, number) {
            let mut marks = M::default();
            answer.copy_value(&mut marks);
            player::done(thread, answer);
            found = Some(marks);
        }
        set_errno(errno);
        leave(thread);
        found
    }
}

/// The status of a file, of which a call with this result has filled `to`.
unsafe fn of_file(result: c_int, number: impl FnOnce() -> u32, to: *mut impl Status) -> c_int {
    // SAFETY: a call that succeeds has filled it.
    unsafe {
        if result == 0 {
            match recorded(Op::FileStatus, number(), || (*to).marks()) {
                Some(marks) => (*to).set_marks(&marks),
                None => file_times::shift(&mut *to),
            }
        }
    }
    result
}

unsafe fn at<T: Status>(
    name: &CStr,
    path: *const c_char,
    to: *mut T,
    real: impl FnOnce(*const c_char) -> c_int,
) -> c_int {
    // SAFETY: a call that succeeds has a path, and has filled `to`.
    unsafe {
        let result = of_file(made_at(name, path, real), || of_path(path), to);
        if result == 0 {
            returned::at_path(name, path, to.cast(), size_of::<T>());
        }
        result
    }
}

/// As [`at`], for a call that means its descriptor where the path is empty.
unsafe fn below<T: Status>(
    name: &CStr,
    folder: c_int,
    (path, flags): (*const c_char, c_int),
    to: *mut T,
    real: impl FnOnce(*const c_char) -> c_int,
) -> c_int {
    // SAFETY: the caller passes a path that is null or a C string, and room for an answer.
    unsafe {
        let is_descriptor = flags & libc::AT_EMPTY_PATH != 0 && folder >= 0 && (path.is_null() || *path == 0);
        if is_descriptor { looked_at(folder, to, || real(path)) } else { at(name, path, to, real) }
    }
}

/// What a descriptor is: of what is recorded it is answered as a whole, as the stand-in of a replay is another thing, and so are
/// standard streams.
unsafe fn looked_at<T: Status>(fd: c_int, to: *mut T, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: `to` is where the call writes.
    unsafe {
        if !descriptors::is_answered(fd) {
            let result = of_file(at_descriptor(c"fstat", fd, real()), || digest::short(&(*to).kind()), to);
            if result == 0 {
                returned::at_descriptor(c"fstat", fd, to.cast(), size_of::<T>() as isize);
            }
            return result;
        }
        let filled = || Piece::Bytes(PartKind::Value, to.cast(), size_of::<T>());
        recorded_if_there(Op::Fstat, fd, real, filled, |answer| answer.copy_value(to))
    }
}

/// The status of a file system, of which a call with this result has filled `to`.
unsafe fn of_system(result: c_int, path: *const c_char, to: *mut impl FileSystem) -> c_int {
    // SAFETY: a call that succeeds has filled it, and had a path where it takes one.
    unsafe {
        if result == 0 {
            let number = if path.is_null() { 0 } else { of_path(path) };
            let marks = recorded(Op::FileSystem, number, || (*to).marks());
            if let Some(marks) = marks {
                (*to).set_marks(&marks);
            }
            if !path.is_null() {
                returned::at_path(c"statfs", path, to.cast_const().cast(), size_of_val(&*to));
            }
        }
    }
    result
}

hooks! {
    // Paths below `/proc` name processes.
    large [stat64] time64 [__stat64_time64] fn stat(path: *const c_char, to: *mut Stat) -> c_int {
        at(c"stat", path, to, |path| real::stat(path, to))
    }

    large [lstat64] time64 [__lstat64_time64] fn lstat(path: *const c_char, to: *mut Stat) -> c_int {
        at(c"lstat", path, to, |path| real::lstat(path, to))
    }

    large [fstat64] time64 [__fstat64_time64] fn fstat(fd: c_int, to: *mut Stat) -> c_int {
        looked_at(fd, to, || real::fstat(fd, to))
    }

    large [__xstat64] fn __xstat(version: c_int, path: *const c_char, to: *mut Stat) -> c_int {
        at(c"stat", path, to, |path| real::__xstat(version, path, to))
    }

    large [__lxstat64] fn __lxstat(version: c_int, path: *const c_char, to: *mut Stat) -> c_int {
        at(c"lstat", path, to, |path| real::__lxstat(version, path, to))
    }

    large [__fxstat64] fn __fxstat(version: c_int, fd: c_int, to: *mut Stat) -> c_int {
        looked_at(fd, to, || real::__fxstat(version, fd, to))
    }

    large [fstatat64] time64 [__fstatat64_time64] fn fstatat(folder: c_int, path: *const c_char, to: *mut Stat, flags: c_int) -> c_int {
        below(c"fstatat", folder, (path, flags), to, |path| real::fstatat(folder, path, to, flags))
    }

    large [__fxstatat64] fn __fxstatat(version: c_int, folder: c_int, path: *const c_char, to: *mut Stat, flags: c_int) -> c_int {
        below(c"fstatat", folder, (path, flags), to, |path| real::__fxstatat(version, folder, path, to, flags))
    }

    fn statx(folder: c_int, path: *const c_char, flags: c_int, mask: c_uint, to: *mut libc::statx) -> c_int {
        below(c"statx", folder, (path, flags), to, |path| real::statx(folder, path, flags, mask, to))
    }

    [__statfs] large [statfs64] fn statfs(path: *const c_char, to: *mut FileSystemStatus) -> c_int {
        of_system(at_path(c"statfs", path, real::statfs(path, to)), path, to)
    }

    large [fstatfs64] fn fstatfs(fd: c_int, to: *mut FileSystemStatus) -> c_int {
        of_system(at_descriptor(c"fstatfs", fd, real::fstatfs(fd, to)), std::ptr::null(), to)
    }

    large [statvfs64] fn statvfs(path: *const c_char, to: *mut VirtualStatus) -> c_int {
        of_system(at_path(c"statvfs", path, real::statvfs(path, to)), path, to)
    }

    large [fstatvfs64] fn fstatvfs(fd: c_int, to: *mut VirtualStatus) -> c_int {
        of_system(at_descriptor(c"fstatvfs", fd, real::fstatvfs(fd, to)), std::ptr::null(), to)
    }
}
