//! Calls that no record answers: they are made for real in every replay as well. All that is kept of them is whether
//! they failed.

use super::super::failures::{at_descriptor, at_path};
use super::super::real::hooks;
use super::super::tool::{hand_over, of_own_state};
use super::super::widths::plain::off_t;
use super::across::{At, linked, renamed};
use libc::{c_char, c_int, c_uint, c_void, dev_t, gid_t, mode_t, size_t, uid_t};

hooks! {
    fn chmod(path: *const c_char, mode: mode_t) -> c_int {
        at_path(c"chmod", path, real::chmod(path, mode))
    }

    fn fchmod(fd: c_int, mode: mode_t) -> c_int {
        at_descriptor(c"fchmod", fd, real::fchmod(fd, mode))
    }

    fn fchmodat(folder: c_int, path: *const c_char, mode: mode_t, flags: c_int) -> c_int {
        at_path(c"fchmodat", path, real::fchmodat(folder, path, mode, flags))
    }

    fn chown(path: *const c_char, user: uid_t, group: gid_t) -> c_int {
        at_path(c"chown", path, real::chown(path, user, group))
    }

    fn lchown(path: *const c_char, user: uid_t, group: gid_t) -> c_int {
        at_path(c"lchown", path, real::lchown(path, user, group))
    }

    fn fchown(fd: c_int, user: uid_t, group: gid_t) -> c_int {
        at_descriptor(c"fchown", fd, real::fchown(fd, user, group))
    }

    fn fchownat(folder: c_int, path: *const c_char, user: uid_t, group: gid_t, flags: c_int) -> c_int {
        at_path(c"fchownat", path, real::fchownat(folder, path, user, group, flags))
    }

    fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
        at_path(c"mkdir", path, real::mkdir(path, mode))
    }

    fn mkdirat(folder: c_int, path: *const c_char, mode: mode_t) -> c_int {
        at_path(c"mkdirat", path, real::mkdirat(folder, path, mode))
    }

    fn mkfifo(path: *const c_char, mode: mode_t) -> c_int {
        at_path(c"mkfifo", path, real::mkfifo(path, mode))
    }

    fn mknod(path: *const c_char, mode: mode_t, device: dev_t) -> c_int {
        at_path(c"mknod", path, real::mknod(path, mode, device))
    }

    fn rmdir(path: *const c_char) -> c_int {
        at_path(c"rmdir", path, real::rmdir(path))
    }

    fn unlink(path: *const c_char) -> c_int {
        at_path(c"unlink", path, real::unlink(path))
    }

    fn unlinkat(folder: c_int, path: *const c_char, flags: c_int) -> c_int {
        at_path(c"unlinkat", path, real::unlinkat(folder, path, flags))
    }

    fn remove(path: *const c_char) -> c_int {
        at_path(c"remove", path, real::remove(path))
    }

    fn rename(path: *const c_char, to: *const c_char) -> c_int {
        let result = real::rename(path, to);
        at_path(c"rename", path, renamed(At(libc::AT_FDCWD, path), At(libc::AT_FDCWD, to), 0, result))
    }

    fn renameat(folder: c_int, path: *const c_char, other: c_int, to: *const c_char) -> c_int {
        let result = real::renameat(folder, path, other, to);
        at_path(c"renameat", path, renamed(At(folder, path), At(other, to), 0, result))
    }

    fn renameat2(folder: c_int, path: *const c_char, other: c_int, to: *const c_char, flags: c_uint) -> c_int {
        let result = real::renameat2(folder, path, other, to, flags);
        at_path(c"renameat2", path, renamed(At(folder, path), At(other, to), flags, result))
    }

    fn link(path: *const c_char, to: *const c_char) -> c_int {
        let result = real::link(path, to);
        at_path(c"link", path, linked(At(libc::AT_FDCWD, path), At(libc::AT_FDCWD, to), result))
    }

    fn linkat(folder: c_int, path: *const c_char, other: c_int, to: *const c_char, flags: c_int) -> c_int {
        let result = real::linkat(folder, path, other, to, flags);
        at_path(c"linkat", path, linked(At(folder, path), At(other, to), result))
    }

    fn symlink(content: *const c_char, path: *const c_char) -> c_int {
        at_path(c"symlink", path, real::symlink(content, path))
    }

    fn symlinkat(content: *const c_char, folder: c_int, path: *const c_char) -> c_int {
        at_path(c"symlinkat", path, real::symlinkat(content, folder, path))
    }

    large [truncate64] fn truncate(path: *const c_char, length: off_t) -> c_int {
        at_path(c"truncate", path, real::truncate(path, length))
    }

    large [ftruncate64] fn ftruncate(fd: c_int, length: off_t) -> c_int {
        at_descriptor(c"ftruncate", fd, real::ftruncate(fd, length))
    }

    large [fallocate64] fn fallocate(fd: c_int, mode: c_int, at: off_t, length: off_t) -> c_int {
        at_descriptor(c"fallocate", fd, real::fallocate(fd, mode, at, length))
    }

    time64 [__utime64] fn utime(path: *const c_char, times: *const c_void) -> c_int {
        at_path(c"utime", path, real::utime(path, times))
    }

    time64 [__utimes64] fn utimes(path: *const c_char, times: *const c_void) -> c_int {
        at_path(c"utimes", path, real::utimes(path, times))
    }

    time64 [__utimensat64] fn utimensat(folder: c_int, path: *const c_char, times: *const c_void, flags: c_int) -> c_int {
        at_path(c"utimensat", path, real::utimensat(folder, path, times, flags))
    }

    time64 [__futimens64] fn futimens(fd: c_int, times: *const c_void) -> c_int {
        at_descriptor(c"futimens", fd, real::futimens(fd, times))
    }

    fn chdir(path: *const c_char) -> c_int {
        at_path(c"chdir", path, real::chdir(path))
    }

    fn fchdir(fd: c_int) -> c_int {
        at_descriptor(c"fchdir", fd, real::fchdir(fd))
    }

    fn chroot(path: *const c_char) -> c_int {
        at_path(c"chroot", path, real::chroot(path))
    }

    [eaccess] fn euidaccess(path: *const c_char, mode: c_int) -> c_int {
        at_path(c"euidaccess", path, real::euidaccess(path, mode))
    }

    fn setuid(user: uid_t) -> c_int {
        hand_over(user);
        at_descriptor(c"setuid", -1, real::setuid(user))
    }

    fn setgid(group: gid_t) -> c_int {
        at_descriptor(c"setgid", -1, real::setgid(group))
    }

    fn seteuid(user: uid_t) -> c_int {
        hand_over(user);
        at_descriptor(c"seteuid", -1, real::seteuid(user))
    }

    fn setegid(group: gid_t) -> c_int {
        at_descriptor(c"setegid", -1, real::setegid(group))
    }

    fn setreuid(user: uid_t, effective: uid_t) -> c_int {
        hand_over(effective);
        at_descriptor(c"setreuid", -1, real::setreuid(user, effective))
    }

    fn setregid(group: gid_t, effective: gid_t) -> c_int {
        at_descriptor(c"setregid", -1, real::setregid(group, effective))
    }

    fn setresuid(user: uid_t, effective: uid_t, saved: uid_t) -> c_int {
        hand_over(effective);
        at_descriptor(c"setresuid", -1, real::setresuid(user, effective, saved))
    }

    fn setresgid(group: gid_t, effective: gid_t, saved: gid_t) -> c_int {
        at_descriptor(c"setresgid", -1, real::setresgid(group, effective, saved))
    }

    fn setgroups(count: size_t, groups: *const gid_t) -> c_int {
        at_descriptor(c"setgroups", -1, real::setgroups(count, groups))
    }

    fn initgroups(user: *const c_char, group: gid_t) -> c_int {
        at_descriptor(c"initgroups", -1, real::initgroups(user, group))
    }

    large [setrlimit64] fn setrlimit(which: c_uint, limit: *const c_void) -> c_int {
        of_own_state(c"setrlimit", real::setrlimit(which, limit))
    }

    fn unshare(flags: c_int) -> c_int {
        at_descriptor(c"unshare", -1, real::unshare(flags))
    }

    fn mlock(at: *const c_void, length: size_t) -> c_int {
        of_own_state(c"mlock", real::mlock(at, length))
    }

    fn mlockall(flags: c_int) -> c_int {
        of_own_state(c"mlockall", real::mlockall(flags))
    }

    fn shm_open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
        at_path(c"shm_open", path, real::shm_open(path, flags, mode))
    }
}
