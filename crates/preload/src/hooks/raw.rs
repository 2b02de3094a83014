//! System calls by their numbers: through libc's `syscall`, or by an instruction of the server's own.
//!
//! The rule: a call whose function of libc has a hook goes there. Of the others, those that bring nothing from outside are
//! made, and the rest is made and named.

use super::super::deferred;
use super::super::failures::at_descriptor;
use super::super::notes;
use super::super::pids;
use super::super::raw_calls;
use super::super::recorder::Piece;
use super::super::state::{errno, set_errno, threaded};
use super::super::vetted;
use super::pid;
use super::recorded;
use libc::{c_char, c_int, c_long, c_uint, c_ulong, pid_t, size_t};
use prony_demo::{Op, PartKind};
use std::sync::atomic::{AtomicBool, Ordering};

/// The arguments of a system call with the kernel's numbers of the processes and threads that the server means.
pub fn meant(number: c_long, mut arguments: [usize; 6]) -> [usize; 6] {
    const PROCESS: usize = 1; // `IOPRIO_WHO_PROCESS`
    let places: &[usize] = match number {
        libc::SYS_sched_getattr
        | libc::SYS_sched_setattr
        | libc::SYS_sched_getparam
        | libc::SYS_sched_setparam
        | libc::SYS_sched_getscheduler
        | libc::SYS_sched_setscheduler
        | libc::SYS_sched_rr_get_interval
        | libc::SYS_sched_getaffinity
        | libc::SYS_prlimit64
        | libc::SYS_process_vm_readv
        | libc::SYS_process_vm_writev
        | libc::SYS_get_robust_list
        | libc::SYS_migrate_pages
        | libc::SYS_move_pages => &[0],
        libc::SYS_ioprio_get | libc::SYS_ioprio_set if arguments[0] == PROCESS => &[1],
        libc::SYS_kcmp => &[0, 1],
        _ => &[],
    };
    for &place in places {
        arguments[place] = pids::real(arguments[place] as pid_t) as usize;
    }
    arguments
}

/// `sched_getaffinity` as the kernel has it: the answer is how many bytes it wrote, where libc's function answers with 0 and clears
/// the rest.
unsafe fn affinity(to: *mut u8, length: size_t, real: impl FnOnce() -> isize) -> isize {
    // SAFETY: the caller passes room for `length` bytes, of which the kernel writes as many as it answers.
    unsafe {
        recorded(
            Op::SchedGetaffinity,
            -1,
            0,
            real,
            |written| [if written == -1 { Piece::Nothing } else { Piece::some(PartKind::Value, to, written as usize) }],
            |answer| {
                answer.fill(PartKind::Value, 0, to, length);
                answer.within(length)
            },
        )
    }
}

/// Makes `by_function`, which answers a system call by the function of libc that takes the same arguments in the same
/// order, and answers the same.
macro_rules! by_function {
    ($($(#[$where:meta])* $number:ident $name:ident $answer:ident;)*) => {
        unsafe fn by_function(number: c_long, [a, b, c, d, e, f]: [usize; 6]) -> Option<c_long> {
            // SAFETY: the caller passes the arguments of the system call with this number. The function takes as many of
            // them as it has, from registers or from the start of the stack.
            unsafe {
                Some(match number {
                    $($(#[$where])* libc::$number => {
                        #[allow(clashing_extern_declarations, reason = "the arguments are handed on as words")]
                        unsafe extern "C" {
                            fn $name(a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> $answer;
                        }
                        $name(a, b, c, d, e, f) as c_long
                    })*
                    _ => return None,
                })
            }
        }
    };
}

by_function! {
    SYS_gettid gettid c_int;
    SYS_getpid getpid c_int;
    SYS_getppid getppid c_int;
    SYS_getpgid getpgid c_int;
    SYS_getsid getsid c_int;
    SYS_setsid setsid c_int;
    SYS_kill kill c_int;
    SYS_wait4 wait4 c_int;
    SYS_gettimeofday gettimeofday c_int;
    SYS_clock_gettime clock_gettime c_int;
    SYS_close close c_int;
    SYS_close_range close_range c_int;
    SYS_dup dup c_int;
    SYS_dup3 dup3 c_int;
    SYS_pipe2 pipe2 c_int;
    SYS_fcntl fcntl c_int;
    SYS_ioctl ioctl c_int;
    SYS_flock flock c_int;
    SYS_openat openat c_int;
    SYS_faccessat2 faccessat c_int;
    SYS_socket socket c_int;
    SYS_socketpair socketpair c_int;
    SYS_bind bind c_int;
    SYS_connect connect c_int;
    SYS_listen listen c_int;
    SYS_accept4 accept4 c_int;
    SYS_getsockname getsockname c_int;
    SYS_getpeername getpeername c_int;
    SYS_getsockopt getsockopt c_int;
    SYS_setsockopt setsockopt c_int;
    SYS_shutdown shutdown c_int;
    SYS_recvmmsg recvmmsg c_int;
    SYS_sendmmsg sendmmsg c_int;
    SYS_eventfd2 eventfd c_int;
    SYS_epoll_create1 epoll_create1 c_int;
    SYS_epoll_ctl epoll_ctl c_int;
    SYS_epoll_pwait epoll_pwait c_int;
    SYS_epoll_pwait2 epoll_pwait2 c_int;
    SYS_ppoll ppoll c_int;
    SYS_timerfd_create timerfd_create c_int;
    SYS_inotify_init1 inotify_init1 c_int;
    SYS_inotify_add_watch inotify_add_watch c_int;
    SYS_inotify_rm_watch inotify_rm_watch c_int;
    SYS_nanosleep nanosleep c_int;
    SYS_getitimer getitimer c_int;
    SYS_setitimer setitimer c_int;
    SYS_getrusage getrusage c_int;
    SYS_sched_yield sched_yield c_int;
    SYS_chdir chdir c_int;
    SYS_fchdir fchdir c_int;
    SYS_chroot chroot c_int;
    SYS_mkdirat mkdirat c_int;
    SYS_unlinkat unlinkat c_int;
    SYS_symlinkat symlinkat c_int;
    SYS_linkat linkat c_int;
    SYS_renameat2 renameat2 c_int;
    SYS_fchmod fchmod c_int;
    SYS_mlock mlock c_int;
    SYS_mlockall mlockall c_int;
    SYS_unshare unshare c_int;
    SYS_uname uname c_int;
    SYS_sysinfo sysinfo c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_semop semop c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_semtimedop semtimedop c_int;
    SYS_setpriority setpriority c_int;
    SYS_pidfd_open pidfd_open c_int;
    SYS_pidfd_send_signal pidfd_send_signal c_int;
    SYS_setpgid setpgid c_int;
    SYS_sched_setaffinity sched_setaffinity c_int;
    SYS_capget capget c_int;
    SYS_capset capset c_int;
    SYS_execve execve c_int;
    SYS_copy_file_range copy_file_range c_long;
    SYS_read read c_long;
    SYS_write write c_long;
    SYS_readv readv c_long;
    SYS_writev writev c_long;
    SYS_recvfrom recvfrom c_long;
    SYS_sendto sendto c_long;
    SYS_recvmsg recvmsg c_long;
    SYS_sendmsg sendmsg c_long;
    SYS_getrandom getrandom c_long;
    SYS_readlinkat readlinkat c_long;
    SYS_statx statx c_int;
    SYS_fsync fsync c_int;
    SYS_fdatasync fdatasync c_int;
    SYS_splice splice c_long;
    SYS_tee tee c_long;
    SYS_vmsplice vmsplice c_long;
    SYS_times times c_long;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_open open c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_creat creat c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_access access c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_chmod chmod c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_mkdir mkdir c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_rmdir rmdir c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_unlink unlink c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_link link c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_symlink symlink c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_rename rename c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_dup2 dup2 c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_pipe pipe c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_poll poll c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_epoll_create epoll_create c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_epoll_wait epoll_wait c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_inotify_init inotify_init c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_getpgrp getpgrp c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_pause pause c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_eventfd eventfd c_int;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_alarm alarm c_uint;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_readlink readlink c_long;
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    SYS_time time c_long;
    #[cfg(target_pointer_width = "64")]
    SYS_fstat fstat c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_newfstatat fstatat c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_accept accept c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_setrlimit setrlimit c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_fchown fchown c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_fchownat fchownat c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_setregid setregid c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_setreuid setreuid c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_timerfd_gettime timerfd_gettime c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_timerfd_settime timerfd_settime c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_statfs statfs c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_fstatfs fstatfs c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_truncate truncate c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_ftruncate ftruncate c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_utimensat utimensat c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_renameat renameat c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_shmget shmget c_int;
    #[cfg(target_pointer_width = "64")]
    SYS_pread64 pread64 c_long;
    #[cfg(target_pointer_width = "64")]
    SYS_pwrite64 pwrite64 c_long;
    #[cfg(target_pointer_width = "64")]
    SYS_preadv preadv c_long;
    #[cfg(target_pointer_width = "64")]
    SYS_pwritev pwritev c_long;
    #[cfg(target_pointer_width = "64")]
    SYS_sendfile sendfile c_long;
    #[cfg(target_arch = "x86_64")]
    SYS_stat stat c_int;
    #[cfg(target_arch = "x86_64")]
    SYS_lstat lstat c_int;
    #[cfg(target_arch = "x86_64")]
    SYS_select select c_int;
    #[cfg(target_arch = "x86_64")]
    SYS_chown chown c_int;
    #[cfg(target_arch = "x86_64")]
    SYS_lchown lchown c_int;
    #[cfg(target_arch = "x86_64")]
    SYS_mknod mknod c_int;
    #[cfg(target_arch = "x86_64")]
    SYS_utime utime c_int;
    #[cfg(target_arch = "x86_64")]
    SYS_utimes utimes c_int;
}

/// System calls that a server makes by their numbers, with the kernel's numbers of processes and threads in the arguments.
pub unsafe fn raw(number: c_long, arguments: [usize; 6], real: impl Fn() -> c_long) -> c_long {
    let [a, b, c, d, e, _] = arguments;
    // SAFETY: the caller passes the arguments of the system call with this number.
    unsafe {
        #[cfg(target_arch = "x86")]
        if let Some(result) = super::raw_i386::answered(number, arguments, &real) {
            return result;
        }
        // Of these, libc follows the pointer itself.
        let followed = match number {
            libc::SYS_clock_gettime => b,
            libc::SYS_gettimeofday if a != 0 => a,
            _ => usize::MAX,
        };
        if followed == 0 || vetted::is_low(followed) {
            return real();
        }
        if let Some(result) = by_function(number, arguments) {
            return result;
        }
        if let Some(result) = of_signals(number, arguments, &real) {
            return result;
        }
        match number {
            libc::SYS_prctl if a == libc::PR_SET_SECCOMP as usize => {
                deferred::enter_sandbox();
                real()
            }
            libc::SYS_seccomp => {
                deferred::enter_sandbox();
                real()
            }
            libc::SYS_tkill => c_long::from(super::signal::sent(a as c_int, b as c_int, || real() as c_int)),
            libc::SYS_tgkill => c_long::from(super::signal::sent(b as c_int, c as c_int, || real() as c_int)),
            libc::SYS_sched_getaffinity => affinity(c as *mut u8, b, || real() as isize) as c_long,
            libc::SYS_waitid if e == 0 => {
                c_long::from(libc::waitid(a as libc::idtype_t, b as libc::id_t, c as *mut _, d as c_int))
            }
            libc::SYS_clock_nanosleep => {
                let error = libc::clock_nanosleep(a as c_int, b as c_int, c as *const libc::timespec, d as *mut _);
                set_errno(error);
                if error == 0 { 0 } else { -1 }
            }
            libc::SYS_getcpu => {
                let cpu = libc::sched_getcpu();
                if a != 0 {
                    *(a as *mut c_uint) = cpu as c_uint;
                }
                0
            }
            // The kernel writes what libc's function returns.
            libc::SYS_ptrace => {
                let result = libc::ptrace(a as c_uint, b as pid_t, c, d);
                if pid::reads_word(a as c_uint) && (result != -1 || errno() == 0) {
                    (d as *mut c_long).write(result);
                    0
                } else {
                    result
                }
            }
            // The kernel's own answer is never negative.
            libc::SYS_getpriority => {
                set_errno(0);
                match libc::getpriority(a as _, b as libc::id_t) {
                    -1 if errno() != 0 => -1,
                    priority => c_long::from(20 - priority),
                }
            }
            // The kernel takes no flags.
            libc::SYS_faccessat => c_long::from(libc::faccessat(a as c_int, b as *const c_char, c as c_int, 0)),
            libc::SYS_fchmodat => c_long::from(libc::fchmodat(a as c_int, b as *const c_char, c as libc::mode_t, 0)),
            #[cfg(target_pointer_width = "64")]
            libc::SYS_pselect6 => {
                let f = arguments[5] as *const *const libc::sigset_t;
                let mask = if f.is_null() { std::ptr::null() } else { *f };
                c_long::from(libc::pselect(
                    a as c_int,
                    b as *mut libc::fd_set,
                    c as *mut libc::fd_set,
                    d as *mut libc::fd_set,
                    e as *const libc::timespec,
                    mask,
                ))
            }
            libc::SYS_exit_group => libc::_exit(a as c_int),
            libc::SYS_io_uring_setup | libc::SYS_io_uring_enter | libc::SYS_io_uring_register => {
                if !IO_URING_SAID.swap(true, Ordering::Relaxed) {
                    notes::covered(&[b"io_uring is answered with ENOSYS: its transfers cannot be recorded"]);
                }
                set_errno(libc::ENOSYS);
                -1
            }
            libc::SYS_futex if threaded() && is_plain_wait(b as c_int) => {
                super::sync::futex_waited(a as *const u32, real)
            }
            number if is_harmless(number) => at_descriptor(c"syscall", number as c_int, real() as isize) as c_long,
            number => {
                raw_calls::note(number as c_int);
                real()
            }
        }
    }
}

/// `struct sigaction` of the kernel.
#[repr(C)]
struct Action {
    handler: usize,
    flags: c_ulong,
    restorer: usize,
    mask: u64,
}

/// `rt_sigaction`, by libc's function, whose handlers return through libc's own code.
unsafe fn action_of_kernel(signal: c_int, new: *const Action, before: *mut Action) -> c_long {
    // SAFETY: the caller passes actions of the kernel's shape or null; all zero is a valid action of libc.
    unsafe {
        let mut requested: libc::sigaction = std::mem::zeroed();
        let mut old: libc::sigaction = std::mem::zeroed();
        if !new.is_null() {
            let new = new.read_unaligned();
            requested.sa_sigaction = new.handler;
            requested.sa_flags = new.flags as c_int;
            (&raw mut requested.sa_mask).cast::<u64>().write_unaligned(new.mask);
        }
        let requested = if new.is_null() { std::ptr::null() } else { &raw const requested };
        let result = libc::sigaction(signal, requested, &raw mut old);
        if result == 0 && !before.is_null() {
            let mask = deferred::bits(&raw const old.sa_mask);
            let restorer = old.sa_restorer.map_or(0, |restorer| restorer as usize);
            let old = Action { handler: old.sa_sigaction, flags: old.sa_flags as c_ulong, restorer, mask };
            before.write_unaligned(old);
        }
        c_long::from(result)
    }
}

/// `rt_sigprocmask`, with sets as the kernel has them, by libc's function.
unsafe fn mask_of_kernel(how: c_int, set: *const u64, before: *mut u64) -> c_long {
    // SAFETY: the caller passes sets of the kernel's size or null; all zero is the empty set.
    unsafe {
        let mut requested: libc::sigset_t = std::mem::zeroed();
        let mut old: libc::sigset_t = std::mem::zeroed();
        if !set.is_null() {
            (&raw mut requested).cast::<u64>().write_unaligned(set.read_unaligned());
        }
        let requested = if set.is_null() { std::ptr::null() } else { &raw const requested };
        let result = libc::sigprocmask(how, requested, &raw mut old);
        if result == 0 && !before.is_null() {
            before.write_unaligned(deferred::bits(&raw const old));
        }
        c_long::from(result)
    }
}

/// System calls about signals, whose masks come with their length; `None` for others.
unsafe fn of_signals(number: c_long, arguments: [usize; 6], real: &impl Fn() -> c_long) -> Option<c_long> {
    let [a, b, c, d, ..] = arguments;
    // SAFETY: the caller passes the arguments of the system call with this number.
    let result = unsafe {
        match number {
            libc::SYS_signalfd4 => c_long::from(libc::signalfd(a as c_int, b as *const libc::sigset_t, d as c_int)),
            libc::SYS_rt_sigpending => c_long::from(libc::sigpending(a as *mut libc::sigset_t)),
            libc::SYS_rt_sigsuspend => c_long::from(libc::sigsuspend(a as *const libc::sigset_t)),
            #[cfg(target_pointer_width = "64")]
            libc::SYS_rt_sigtimedwait => c_long::from(libc::sigtimedwait(
                a as *const libc::sigset_t,
                b as *mut libc::siginfo_t,
                c as *const libc::timespec,
            )),
            libc::SYS_rt_sigprocmask => mask_of_kernel(a as c_int, b as *const u64, c as *mut u64),
            // Signals that libc keeps for itself, which the kernel does not know of.
            libc::SYS_rt_sigaction if [32, 33].contains(&a) || vetted::is_low(b) || vetted::is_low(c) => real(),
            libc::SYS_rt_sigaction => action_of_kernel(a as c_int, b as *const Action, c as *mut Action),
            _ => return None,
        }
    };
    Some(result)
}

fn is_harmless(number: c_long) -> bool {
    #[cfg(target_arch = "x86")]
    if super::raw_i386::HARMLESS.contains(&number) {
        return true;
    }
    HARMLESS.contains(&number)
}

/// System calls that bring nothing from outside, or what a replay finds as the recording did: memory, the process's own
/// attributes, files.
const HARMLESS: &[c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_arch_prctl,
    libc::SYS_brk,
    libc::SYS_clock_getres,
    libc::SYS_exit,
    #[cfg(target_pointer_width = "64")]
    libc::SYS_fadvise64,
    libc::SYS_fallocate,
    libc::SYS_fgetxattr,
    libc::SYS_flistxattr,
    libc::SYS_fremovexattr,
    libc::SYS_fsetxattr,
    libc::SYS_futex,
    libc::SYS_get_mempolicy,
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    libc::SYS_get_thread_area,
    libc::SYS_getcwd,
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    libc::SYS_getdents,
    libc::SYS_getdents64,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getgroups,
    libc::SYS_getresgid,
    libc::SYS_getresuid,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getrlimit,
    libc::SYS_get_robust_list,
    libc::SYS_getuid,
    libc::SYS_getxattr,
    libc::SYS_ioprio_get,
    libc::SYS_ioprio_set,
    libc::SYS_kcmp,
    libc::SYS_keyctl,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_restrict_self,
    libc::SYS_lgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_lremovexattr,
    libc::SYS_lseek,
    libc::SYS_lsetxattr,
    libc::SYS_madvise,
    libc::SYS_mbind,
    libc::SYS_membarrier,
    libc::SYS_memfd_create,
    libc::SYS_mincore,
    libc::SYS_mknodat,
    libc::SYS_mlock2,
    #[cfg(target_pointer_width = "64")]
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_msync,
    libc::SYS_munlock,
    libc::SYS_munlockall,
    libc::SYS_munmap,
    libc::SYS_move_pages,
    libc::SYS_personality,
    libc::SYS_pkey_alloc,
    libc::SYS_pkey_free,
    libc::SYS_pkey_mprotect,
    libc::SYS_prctl,
    libc::SYS_prlimit64,
    libc::SYS_process_madvise,
    libc::SYS_readahead,
    libc::SYS_remap_file_pages,
    libc::SYS_removexattr,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_sched_getattr,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_rr_get_interval,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_set_mempolicy,
    libc::SYS_set_robust_list,
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    libc::SYS_set_thread_area,
    libc::SYS_set_tid_address,
    libc::SYS_setfsgid,
    libc::SYS_setfsuid,
    libc::SYS_setgid,
    libc::SYS_setgroups,
    libc::SYS_setresgid,
    libc::SYS_setresuid,
    libc::SYS_setuid,
    libc::SYS_setxattr,
    libc::SYS_sigaltstack,
    libc::SYS_sync,
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    libc::SYS_sync_file_range,
    libc::SYS_syncfs,
    libc::SYS_umask,
    libc::SYS_migrate_pages,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_mq_getsetattr,
    libc::SYS_mq_unlink,
    #[cfg(target_pointer_width = "64")]
    libc::SYS_msgctl,
    #[cfg(target_pointer_width = "64")]
    libc::SYS_msgget,
    #[cfg(target_pointer_width = "64")]
    libc::SYS_semctl,
    #[cfg(target_pointer_width = "64")]
    libc::SYS_semget,
    #[cfg(target_pointer_width = "64")]
    libc::SYS_shmat,
    #[cfg(target_pointer_width = "64")]
    libc::SYS_shmctl,
    #[cfg(target_pointer_width = "64")]
    libc::SYS_shmdt,
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    libc::SYS_futimesat,
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    libc::SYS_ustat,
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    libc::SYS_modify_ldt,
];

static IO_URING_SAID: AtomicBool = AtomicBool::new(false);

/// A wait on a futex after which the word alone says what happened.
pub(super) fn is_plain_wait(operation: c_int) -> bool {
    let operation = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    operation == libc::FUTEX_WAIT || operation == libc::FUTEX_WAIT_BITSET
}
