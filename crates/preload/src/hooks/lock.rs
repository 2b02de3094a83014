//! Locks on files and semaphores of System V: what processes wait for, as threads wait for a mutex. They are taken for real
//! in a replay too; where processes take turns, those that had to wait have a record, see `sync`.

use super::super::failures::{at_descriptor, at_path};
use super::super::notes;
use super::super::real::hooks;
use super::super::sharing;
use super::super::state::{errno, set_errno};
use super::super::widths::plain::off_t;
use super::file::cannot_record;
use super::sync::acquired;
use libc::{c_char, c_int, c_short, c_uint, c_void, key_t, mode_t, sem_t, sembuf, size_t, timespec};
use prony_demo::Op;

/// Most operations of one `semop` that are looked at.
const OPERATIONS: usize = 64;

/// Result of a call as that of an acquisition: 0, or the error.
fn error_of(result: c_int) -> c_int {
    if result == -1 { errno() } else { 0 }
}

/// Takes a lock on a file. `at_once` fails where `wait` would wait.
unsafe fn locked(name: &std::ffi::CStr, fd: c_int, at_once: impl Fn() -> c_int, wait: impl Fn() -> c_int) -> c_int {
    let tried = || match error_of(at_once()) {
        libc::EAGAIN | libc::EACCES => None,
        error => Some(error),
    };
    let waited = || error_of(wait());
    // SAFETY: there is no object whose lifetime matters: the descriptor is only a name for it.
    let error = unsafe { acquired(Op::FileLock, ((fd as usize) << 3) as *const u64, tried, waited, waited) };
    at_descriptor(name, fd, result_of(error))
}

fn result_of(error: c_int) -> c_int {
    if error == 0 {
        return 0;
    }
    set_errno(error);
    -1
}

/// The command of `fcntl` that fails where this one waits for a lock on a range; `None` for other commands. Numbers of
/// Linux (`asm-generic/fcntl.h`): on i386 the first stands for ranges of 32 bits, and the second, which is its own
/// there, for those of 64.
pub(super) fn at_once_of(command: c_int) -> Option<c_int> {
    match command {
        7 => Some(6),
        14 if cfg!(target_arch = "x86") => Some(13),
        libc::F_OFD_SETLKW => Some(libc::F_OFD_SETLK),
        _ => None,
    }
}

/// `fcntl` with a command that waits for a lock on a range, and with the one that does not.
pub(super) unsafe fn range_locked(
    fd: c_int,
    (command, at_once): (c_int, c_int),
    range: *mut c_void,
    real: impl Fn(c_int) -> c_int,
) -> c_int {
    // SAFETY: the caller passes what its call was given: a range that is good across it, and begins with its kind.
    unsafe {
        if *range.cast::<c_short>() == libc::F_UNLCK as c_short {
            return at_descriptor(c"fcntl", fd, real(command));
        }
        locked(c"fcntl", fd, || real(at_once), || real(command))
    }
}

/// Operations on a set of semaphores. `real` gets those to make.
unsafe fn operated(operations: *mut sembuf, count: size_t, real: impl Fn(*mut sembuf) -> c_int) -> c_int {
    // SAFETY: the caller passes what its call was given: as many operations as it says.
    unsafe {
        let requested = std::slice::from_raw_parts(operations, count.min(OPERATIONS));
        let waits = |operation: &sembuf| operation.sem_op <= 0 && operation.sem_flg & libc::IPC_NOWAIT as c_short == 0;
        if count > OPERATIONS
            || !requested.iter().all(|operation| waits(operation) || operation.sem_op > 0)
            || !requested.iter().any(waits)
        {
            return at_descriptor(c"semop", -1, real(operations));
        }
        let at_once = || {
            let mut copy = [sembuf { sem_num: 0, sem_op: 0, sem_flg: 0 }; OPERATIONS];
            copy[..count].copy_from_slice(requested);
            copy[..count].iter_mut().for_each(|operation| operation.sem_flg |= libc::IPC_NOWAIT as c_short);
            match error_of(real(copy.as_mut_ptr())) {
                libc::EAGAIN => None,
                error => Some(error),
            }
        };
        let waited = || error_of(real(operations));
        let error = acquired(Op::Semop, operations.cast_const(), at_once, waited, waited);
        at_descriptor(c"semop", -1, result_of(error))
    }
}

hooks! {
    fn flock(fd: c_int, operation: c_int) -> c_int {
        if operation & (libc::LOCK_UN | libc::LOCK_NB) != 0 {
            return at_descriptor(c"flock", fd, real::flock(fd, operation));
        }
        locked(c"flock", fd, || real::flock(fd, operation | libc::LOCK_NB), || real::flock(fd, operation))
    }

    large [lockf64] fn lockf(fd: c_int, command: c_int, length: off_t) -> c_int {
        if command != libc::F_LOCK {
            return at_descriptor(c"lockf", fd, real::lockf(fd, command, length));
        }
        locked(c"lockf", fd, || real::lockf(fd, libc::F_TLOCK, length), || real::lockf(fd, command, length))
    }

    fn semop(set: c_int, operations: *mut sembuf, count: size_t) -> c_int {
        operated(operations, count, |operations| real::semop(set, operations, count))
    }

    fn semtimedop(set: c_int, operations: *mut sembuf, count: size_t, timeout: *const timespec) -> c_int {
        operated(operations, count, |operations| real::semtimedop(set, operations, count, timeout))
    }

    // The arguments behind the second are there if the flags say so. One that this process makes is shared with its children.
    fn sem_open(name: *const c_char, flags: c_int, mode: mode_t, value: c_uint) -> *mut sem_t {
        let made = flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0;
        if !sharing::note_mapping(!made) {
            notes::doubtful(&[b"a named semaphore that was there before: who else takes it is not recorded"]);
        }
        let semaphore = real::sem_open(name, flags, mode, value);
        if semaphore.is_null() {
            at_path(c"sem_open", name, -1);
        }
        semaphore
    }

    fn shmget(key: key_t, length: size_t, flags: c_int) -> c_int {
        if !sharing::note_mapping(key != libc::IPC_PRIVATE) {
            cannot_record(b"shared memory segment", length);
        }
        at_descriptor(c"shmget", -1, real::shmget(key, length, flags))
    }
}
