//! Calls that name a process or a thread. Their outcome is that of the recording, if what they do to others cannot be
//! done again, or is not wanted in a replay; the others are made for real, for the process that the server means.

use super::super::failures::{Fallible, at_descriptor, at_path};
use super::super::handover;
use super::super::notes;
use super::super::pids;
use super::super::real::hooks;
use super::super::recorder::Piece;
use super::super::state::{errno, is_under_tool, set_errno};
use super::super::tool::of_own_state;
use super::signal::sent;
use super::{recorded, recorded_plain};
use libc::{c_char, c_int, c_long, c_uint, c_ulong, c_void, id_t, iovec, pid_t, size_t, ssize_t};
use prony_demo::{Op, PartKind};
use std::ffi::CStr;
use std::ptr::null;

/// Head of the calls on capabilities (`struct __user_cap_header_struct`).
#[repr(C)]
#[derive(Clone, Copy)]
struct Capabilities {
    version: u32,
    pid: c_int,
}

/// The kernel writes the version that it wants to the header.
unsafe fn on_capabilities(header: *mut c_void, call: impl FnOnce(*mut c_void) -> c_int) -> c_int {
    // SAFETY: the caller passes a header that is null or one of the call's.
    unsafe {
        let header: *mut Capabilities = header.cast();
        if header.is_null() || pids::known((*header).pid).is_none() {
            return call(header.cast());
        }
        let mut meant = Capabilities { pid: pids::real((*header).pid), ..*header };
        let result = call((&raw mut meant).cast());
        (*header).version = meant.version;
        result
    }
}

/// Whom `getpriority` and kin mean: only processes are named by a number of their own.
fn whom(which: c_uint, who: id_t) -> id_t {
    const PROCESS: c_uint = libc::PRIO_PROCESS as c_uint;
    const GROUP: c_uint = libc::PRIO_PGRP as c_uint;
    if [PROCESS, GROUP].contains(&which) { pids::real(who as pid_t) as id_t } else { who }
}

/// Makes a call for real that names a place in the file system.
pub(super) unsafe fn made_at<T: Fallible>(
    name: &CStr,
    path: *const c_char,
    real: impl FnOnce(*const c_char) -> T,
) -> T {
    // SAFETY: the caller passes a path that is null or a C string.
    unsafe { at_path(name, path, pids::in_path(path, real)) }
}

// Of `linux/ptrace.h`.
const GET_FILTER: c_uint = 0x420c;
const GET_SYSCALL_INFO: c_uint = 0x420e;

/// True for a request that libc's function answers with a word of the process, and the kernel's call by writing it.
pub(super) fn reads_word(request: c_uint) -> bool {
    [libc::PTRACE_PEEKTEXT, libc::PTRACE_PEEKDATA, libc::PTRACE_PEEKUSER].contains(&request)
}

/// A call about a traced process, which a replay does not trace: it may have ended there, or be far ahead.
unsafe fn traced(request: c_uint, data: *mut u8, real: impl FnOnce() -> c_long) -> c_long {
    let mut word: c_long = 0;
    let reads_word = reads_word(request);
    let (to, length) = match request {
        _ if reads_word => ((&raw mut word).cast(), size_of::<c_long>()),
        libc::PTRACE_GETEVENTMSG => (data, size_of::<c_long>()),
        libc::PTRACE_GETSIGINFO => (data, size_of::<libc::siginfo_t>()),
        libc::PTRACE_GETSIGMASK => (data, size_of::<u64>()),
        #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
        libc::PTRACE_GETREGS => (data, size_of::<libc::user_regs_struct>()),
        #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
        libc::PTRACE_GETFPREGS => (data, size_of::<libc::user_fpregs_struct>()),
        // Answers of any length.
        libc::PTRACE_GETREGSET | libc::PTRACE_PEEKSIGINFO | GET_FILTER | GET_SYSCALL_INFO => {
            notes::uncovered(&[b"what `ptrace` reads of a process beyond words and registers is not recorded"]);
            (std::ptr::null_mut(), 0)
        }
        _ => (std::ptr::null_mut(), 0),
    };
    let made = || {
        if !reads_word {
            return real().min(0) as isize;
        }
        // A word may be -1.
        set_errno(0);
        let result = real();
        if result == -1 && errno() != 0 {
            return -1;
        }
        // SAFETY: it is the word above.
        unsafe { to.cast::<c_long>().write(result) };
        0
    };
    // SAFETY: the caller passes room for what the request is answered with.
    unsafe {
        let read = |result| if result == 0 { Piece::some(PartKind::Value, to, length) } else { Piece::Nothing };
        let result = recorded(
            Op::Ptrace,
            -1,
            request,
            made,
            |result| [read(result)],
            |answer| {
                answer.fill(PartKind::Value, 0, to, length);
                answer.success()
            },
        );
        if reads_word && result == 0 { word } else { result as c_long }
    }
}

hooks! {
    [__sched_getscheduler] fn sched_getscheduler(pid: pid_t) -> c_int {
        real::sched_getscheduler(pids::real(pid))
    }

    [__sched_setscheduler] fn sched_setscheduler(pid: pid_t, policy: c_int, parameters: *const c_void) -> c_int {
        at_descriptor(c"sched_setscheduler", -1, real::sched_setscheduler(pids::real(pid), policy, parameters))
    }

    [__sched_getparam] fn sched_getparam(pid: pid_t, to: *mut c_void) -> c_int {
        real::sched_getparam(pids::real(pid), to)
    }

    fn sched_setparam(pid: pid_t, parameters: *const c_void) -> c_int {
        at_descriptor(c"sched_setparam", -1, real::sched_setparam(pids::real(pid), parameters))
    }

    time64 [__sched_rr_get_interval64] fn sched_rr_get_interval(pid: pid_t, to: *mut c_void) -> c_int {
        real::sched_rr_get_interval(pids::real(pid), to)
    }

    // A replay chooses the CPUs of a process with several threads itself.
    fn sched_setaffinity(pid: pid_t, length: size_t, set: *const c_void) -> c_int {
        let set = || handover::without_moves(|| real::sched_setaffinity(pid, length, set) as isize);
        recorded_plain(Op::SchedSetaffinity, -1, 0, set) as c_int
    }

    // Answers with the error, and leaves `errno` alone.
    fn pthread_setaffinity_np(thread: libc::pthread_t, length: size_t, set: *const c_void) -> c_int {
        let before = errno();
        let failed = recorded_plain(Op::SchedSetaffinity, -1, 1, || {
            match handover::without_moves(|| real::pthread_setaffinity_np(thread, length, set)) {
                0 => 0,
                error => {
                    set_errno(error);
                    -1
                }
            }
        });
        let error = if failed == -1 { errno() } else { 0 };
        set_errno(before);
        error
    }

    fn getpriority(which: c_uint, who: id_t) -> c_int {
        real::getpriority(which, whom(which, who))
    }

    fn setpriority(which: c_uint, who: id_t, priority: c_int) -> c_int {
        of_own_state(c"setpriority", real::setpriority(which, whom(which, who), priority))
    }

    [__setpgid] fn setpgid(pid: pid_t, group: pid_t) -> c_int {
        recorded_plain(Op::Setpgid, -1, 0, || real::setpgid(pid, group) as isize) as c_int
    }

    large [prlimit64] fn prlimit(pid: pid_t, which: c_uint, new: *const c_void, old: *mut c_void) -> c_int {
        let result = real::prlimit(pids::real(pid), which, new, old);
        if result == -1 && !new.is_null() && !old.is_null() && is_under_tool() {
            // The old limit is there for the asking.
            real::prlimit(pids::real(pid), which, null(), old);
        }
        match new.is_null() {
            true => at_descriptor(c"prlimit", -1, result),
            false => of_own_state(c"prlimit", result),
        }
    }

    fn ptrace(request: c_uint, pid: pid_t, address: *mut c_void, data: *mut c_void) -> c_long {
        traced(request, data.cast(), || real::ptrace(request, pids::real(pid), address, data))
    }

    fn capget(header: *mut c_void, data: *mut c_void) -> c_int {
        on_capabilities(header, |header| real::capget(header, data))
    }

    fn capset(header: *mut c_void, data: *const c_void) -> c_int {
        at_descriptor(c"capset", -1, on_capabilities(header, |header| real::capset(header, data)))
    }

    fn process_vm_readv(
        pid: pid_t,
        local: *const iovec,
        local_count: c_ulong,
        remote: *const iovec,
        remote_count: c_ulong,
        flags: c_ulong,
    ) -> ssize_t {
        real::process_vm_readv(pids::real(pid), local, local_count, remote, remote_count, flags)
    }

    fn process_vm_writev(
        pid: pid_t,
        local: *const iovec,
        local_count: c_ulong,
        remote: *const iovec,
        remote_count: c_ulong,
        flags: c_ulong,
    ) -> ssize_t {
        real::process_vm_writev(pids::real(pid), local, local_count, remote, remote_count, flags)
    }

    fn killpg(group: pid_t, signal: c_int) -> c_int {
        sent(if group == 0 { -1 } else { -group }, signal, || real::killpg(group, signal))
    }

    fn sigqueue(pid: pid_t, signal: c_int, value: *mut c_void) -> c_int {
        sent(pid, signal, || real::sigqueue(pid, signal, value))
    }

    fn tgkill(group: pid_t, thread: pid_t, signal: c_int) -> c_int {
        sent(thread, signal, || real::tgkill(group, thread, signal))
    }

    fn pidfd_open(pid: pid_t, flags: c_uint) -> c_int {
        super::descriptor::made(Op::PidfdOpen, 0, false, || real::pidfd_open(pid, flags))
    }

    fn pidfd_send_signal(fd: c_int, signal: c_int, information: *mut c_void, flags: c_uint) -> c_int {
        sent(-1, signal, || real::pidfd_send_signal(fd, signal, information, flags))
    }

    // Paths below `/proc` name processes.
    fn access(path: *const c_char, mode: c_int) -> c_int {
        made_at(c"access", path, |path| real::access(path, mode))
    }

    fn faccessat(folder: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int {
        made_at(c"faccessat", path, |path| real::faccessat(folder, path, mode, flags))
    }
}
