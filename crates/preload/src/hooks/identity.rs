//! Hooks for identity and location of the server, and for randomness.

use super::super::failures::at_descriptor;
use super::super::held;
use super::super::notes;
use super::super::pids;
use super::super::raw_calls;
use super::super::real::hooks;
use super::super::recorder::Piece;
use super::super::state::{self, errno, set_errno, threaded};
use super::super::thread::this;
use super::pid;
use super::process as process_calls;
use super::{asked, recorded, recorded_plain};
use libc::{c_char, c_int, c_long, c_uint, c_void, cpu_set_t, pid_t, size_t, ssize_t};
use prony_demo::{Op, PartKind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

/// Calls that fill `length` bytes at `to` when they succeed, and return 0.
unsafe fn filled(op: Op, aux: u32, to: *mut u8, length: usize, real: impl FnOnce() -> isize) -> isize {
    // SAFETY: the caller passes room for as many bytes, as the call that it is for demands it.
    unsafe {
        recorded(
            op,
            -1,
            aux,
            real,
            |failed| [if failed == -1 { Piece::Nothing } else { Piece::some(PartKind::Value, to, length) }],
            |answer| {
                if !answer.is_error() {
                    let filled = answer.fill(PartKind::Value, 0, to, length);
                    to.add(filled).write_bytes(0, length - filled);
                }
                answer.success()
            },
        )
    }
}

unsafe fn random(op: Op, to: *mut c_void, length: usize, real: impl FnOnce() -> isize) -> isize {
    // SAFETY: the caller passes room for as many bytes, as the call that it is for demands it.
    unsafe {
        recorded(
            op,
            -1,
            asked(length),
            real,
            |result| match result {
                -1 => [Piece::Nothing],
                // `getentropy` and `arc4random_buf` fill everything and return nothing of use.
                0 => [Piece::some(PartKind::In, to.cast(), length)],
                count => [Piece::some(PartKind::In, to.cast(), count as usize)],
            },
            |answer| {
                let bytes = answer.part(PartKind::In, 0).len();
                // All of the calls but `getrandom` fill what they are given.
                if bytes > length || bytes < length && op != Op::Getrandom && !answer.is_error() {
                    answer.lost(bytes, length);
                }
                answer.fill(PartKind::In, 0, to.cast(), length);
                answer.within(bytes)
            },
        )
    }
}

hooks! {
    fn getrandom(to: *mut c_void, length: size_t, flags: c_uint) -> ssize_t {
        random(Op::Getrandom, to, length, || real::getrandom(to, length, flags))
    }

    fn getentropy(to: *mut c_void, length: size_t) -> c_int {
        random(Op::Getentropy, to, length, || real::getentropy(to, length) as isize) as c_int
    }

    fn arc4random() -> u32 {
        let mut value = 0u32;
        random(Op::Arc4random, (&raw mut value).cast(), 4, || {
            value = real::arc4random();
            0
        });
        value
    }

    fn arc4random_uniform(bound: u32) -> u32 {
        let mut value = 0u32;
        random(Op::Arc4random, (&raw mut value).cast(), 4, || {
            value = real::arc4random_uniform(bound);
            0
        });
        value
    }

    fn arc4random_buf(to: *mut c_void, length: size_t) -> () {
        random(Op::Arc4random, to, length, || {
            real::arc4random_buf(to, length);
            0
        });
    }

    [__getpid] fn getpid() -> pid_t {
        let pid = recorded_plain(Op::Getpid, -1, 0, || real::getpid() as isize) as pid_t;
        pids::learn(pid, state::slot().pid.load(Ordering::Relaxed));
        pid
    }

    fn getppid() -> pid_t {
        recorded_plain(Op::Getppid, -1, 0, || real::getppid() as isize) as pid_t
    }

    fn gettid() -> pid_t {
        let tid = recorded_plain(Op::Gettid, -1, 0, || real::gettid() as isize) as pid_t;
        pids::learn(tid, (*(*this()).slot).tid.load(Ordering::Relaxed));
        tid
    }

    fn getpgrp() -> pid_t {
        recorded_plain(Op::Getpgrp, -1, 0, || real::getpgrp() as isize) as pid_t
    }

    fn getpgid(pid: pid_t) -> pid_t {
        recorded_plain(Op::Getpgrp, -1, 1, || real::getpgid(pid) as isize) as pid_t
    }

    fn getsid(pid: pid_t) -> pid_t {
        recorded_plain(Op::Getpgrp, -1, 2, || real::getsid(pid) as isize) as pid_t
    }

    fn setsid() -> pid_t {
        recorded_plain(Op::Setsid, -1, 0, || real::setsid() as isize) as pid_t
    }

    fn gethostname(to: *mut c_char, length: size_t) -> c_int {
        recorded(
            Op::Gethostname,
            -1,
            0,
            || real::gethostname(to, length) as isize,
            |failed| [if failed == -1 { Piece::Nothing } else { Piece::some(PartKind::Value, to.cast(), length.min(256)) }],
            |answer| {
                // The name and its end; what the recorded buffer had behind it does not matter.
                let name = answer.part(PartKind::Value, 0);
                let used = name.iter().position(|&byte| byte == 0).map_or(name.len(), |end| end + 1);
                if used > length {
                    answer.lost(used, length);
                }
                name.as_ptr().copy_to_nonoverlapping(to.cast(), name.len().min(length));
                answer.success()
            },
        ) as c_int
    }

    fn __gethostname_chk(to: *mut c_char, length: size_t, _room: size_t) -> c_int {
        gethostname(to, length)
    }

    fn uname(to: *mut libc::utsname) -> c_int {
        filled(Op::Uname, 0, to.cast(), size_of::<libc::utsname>(), || real::uname(to) as isize) as c_int
    }

    fn sysinfo(to: *mut libc::sysinfo) -> c_int {
        filled(Op::Sysinfo, 0, to.cast(), size_of::<libc::sysinfo>(), || real::sysinfo(to) as isize) as c_int
    }

    fn getloadavg(to: *mut f64, count: c_int) -> c_int {
        let count = count.clamp(0, 3);
        recorded(
            Op::Getloadavg,
            -1,
            0,
            || real::getloadavg(to, count) as isize,
            |found| [if found == -1 { Piece::Nothing } else { Piece::some(PartKind::Value, to.cast(), count as usize * 8) }],
            |answer| {
                let length = answer.part(PartKind::Value, 0).len().min(count as usize * 8);
                answer.part(PartKind::Value, 0).as_ptr().copy_to_nonoverlapping(to.cast(), length);
                answer.within(length / 8)
            },
        ) as c_int
    }

    [__sysconf] fn sysconf(name: c_int) -> c_long {
        // Of what `sysconf` tells only the number of processors and the free memory change
        // between machines and moments.
        let varies = [libc::_SC_NPROCESSORS_CONF, libc::_SC_NPROCESSORS_ONLN, libc::_SC_PHYS_PAGES, libc::_SC_AVPHYS_PAGES];
        if !varies.contains(&name) {
            return real::sysconf(name);
        }
        recorded_plain(Op::Sysconf, -1, name as u32, || real::sysconf(name) as isize) as c_long
    }

    fn get_nprocs() -> c_int {
        recorded_plain(Op::Sysconf, -1, libc::_SC_NPROCESSORS_ONLN as u32, || real::get_nprocs() as isize) as c_int
    }

    fn get_nprocs_conf() -> c_int {
        recorded_plain(Op::Sysconf, -1, libc::_SC_NPROCESSORS_CONF as u32, || real::get_nprocs_conf() as isize) as c_int
    }

    fn sched_getaffinity(pid: pid_t, length: size_t, to: *mut c_void) -> c_int {
        filled(Op::SchedGetaffinity, 0, to.cast(), length, || real::sched_getaffinity(pid, length, to) as isize) as c_int
    }

    // Answers with the error, and leaves `errno` alone.
    fn pthread_getaffinity_np(thread: libc::pthread_t, length: size_t, to: *mut cpu_set_t) -> c_int {
        let before = errno();
        let found = filled(Op::SchedGetaffinity, 0, to.cast(), length, || {
            match real::pthread_getaffinity_np(thread, length, to) {
                0 => 0,
                error => {
                    set_errno(error);
                    -1
                }
            }
        });
        let error = if found == -1 { errno() } else { 0 };
        set_errno(before);
        error
    }

    fn sched_getcpu() -> c_int {
        recorded_plain(Op::Getcpu, -1, 0, || real::sched_getcpu() as isize) as c_int
    }

    // The node of a processor does not change.
    fn getcpu(cpu: *mut c_uint, node: *mut c_uint) -> c_int {
        if !node.is_null() {
            real::getcpu(null_mut(), node);
        }
        if !cpu.is_null() {
            *cpu = sched_getcpu() as c_uint;
        }
        0
    }

    fn if_nametoindex(name: *const c_char) -> c_uint {
        recorded_plain(Op::IfNametoindex, -1, 0, || real::if_nametoindex(name) as isize) as c_uint
    }

    fn if_indextoname(index: c_uint, to: *mut c_char) -> *mut c_char {
        let found = filled(Op::IfIndextoname, index, to.cast(), libc::IF_NAMESIZE, || {
            if real::if_indextoname(index, to).is_null() { -1 } else { 0 }
        });
        if found == 0 { to } else { std::ptr::null_mut() }
    }

    // `syscall` takes up to six arguments, which on both calling conventions come in the
    // registers of fixed ones. Calls with a hook of their own go there.
    fn syscall(
        number: c_long,
        a: usize,
        b: usize,
        c: usize,
        d: usize,
        e: usize,
        f: usize,
    ) -> c_long {
        let [a, b, c, d, e, f] = meant(number, [a, b, c, d, e, f]);
        let fork = |number, [a, b, c, d, e]: [usize; 5]| real::syscall(number, a, b, c, d, e, 0) as pid_t;
        match process_calls::forked_by(number, [a, b, c, d, e], fork) {
            Some(pid) => c_long::from(pid),
            None => raw(number, [a, b, c, d, e, f], || real::syscall(number, a, b, c, d, e, f)),
        }
    }
}

/// The arguments of a system call with the kernel's numbers of the processes and threads that the server means.
fn meant(number: c_long, mut arguments: [usize; 6]) -> [usize; 6] {
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
        libc::SYS_ptrace => &[1],
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

/// System calls that a server makes through `syscall`, without a function of libc for each.
pub(in super::super) unsafe fn raw(
    number: c_long,
    [a, b, c, d, e, f]: [usize; 6],
    real: impl Fn() -> c_long,
) -> c_long {
    // SAFETY: the caller passes the arguments of the system call with this number.
    unsafe {
        #[cfg(target_arch = "x86")]
        if let Some(result) = super::raw_i386::answered(number, [a, b, c, d, e, f], &real) {
            return result;
        }
        match number {
            libc::SYS_prctl if a == libc::PR_SET_SECCOMP as usize => {
                held::enter_sandbox();
                real()
            }
            libc::SYS_seccomp => {
                held::enter_sandbox();
                real()
            }
            libc::SYS_getrandom => libc::getrandom(a as *mut c_void, b, c as c_uint) as c_long,
            libc::SYS_gettid => c_long::from(libc::gettid()),
            libc::SYS_getpid => c_long::from(libc::getpid()),
            libc::SYS_getppid => c_long::from(libc::getppid()),
            libc::SYS_getpgid => c_long::from(libc::getpgid(a as pid_t)),
            libc::SYS_getsid => c_long::from(libc::getsid(a as pid_t)),
            libc::SYS_setsid => c_long::from(libc::setsid()),
            libc::SYS_setpgid => c_long::from(pid::setpgid(a as pid_t, b as pid_t)),
            libc::SYS_kill => c_long::from(libc::kill(a as pid_t, b as c_int)),
            libc::SYS_tkill => c_long::from(super::signal::sent(a as c_int, b as c_int, || real() as c_int)),
            libc::SYS_tgkill => c_long::from(super::signal::sent(b as c_int, c as c_int, || real() as c_int)),
            libc::SYS_sched_setaffinity => c_long::from(pid::sched_setaffinity(a as pid_t, b, c as *const c_void)),
            libc::SYS_sched_getaffinity => affinity(c as *mut u8, b, || real() as isize) as c_long,
            libc::SYS_capget => c_long::from(pid::capget(a as *mut c_void, b as *mut c_void)),
            libc::SYS_capset => c_long::from(pid::capset(a as *mut c_void, b as *const c_void)),
            libc::SYS_pidfd_open => c_long::from(pid::pidfd_open(a as pid_t, b as c_uint)),
            libc::SYS_pidfd_send_signal => {
                c_long::from(pid::pidfd_send_signal(a as c_int, b as c_int, c as *mut c_void, d as c_uint))
            }
            libc::SYS_wait4 => {
                c_long::from(libc::wait4(a as pid_t, b as *mut c_int, c as c_int, d as *mut libc::rusage))
            }
            libc::SYS_waitid if e == 0 => {
                c_long::from(libc::waitid(a as libc::idtype_t, b as libc::id_t, c as *mut _, d as c_int))
            }
            libc::SYS_clock_gettime => c_long::from(libc::clock_gettime(a as c_int, b as *mut libc::timespec)),
            libc::SYS_gettimeofday => c_long::from(libc::gettimeofday(a as *mut libc::timeval, b as *mut _)),
            libc::SYS_read => libc::read(a as c_int, b as *mut c_void, c) as c_long,
            libc::SYS_write => libc::write(a as c_int, b as *const c_void, c) as c_long,
            libc::SYS_close => c_long::from(libc::close(a as c_int)),
            libc::SYS_socket => c_long::from(libc::socket(a as c_int, b as c_int, c as c_int)),
            libc::SYS_bind => c_long::from(libc::bind(a as c_int, b as *const libc::sockaddr, c as u32)),
            libc::SYS_connect => c_long::from(libc::connect(a as c_int, b as *const libc::sockaddr, c as u32)),
            libc::SYS_listen => c_long::from(libc::listen(a as c_int, b as c_int)),
            libc::SYS_accept4 => {
                c_long::from(libc::accept4(a as c_int, b as *mut libc::sockaddr, c as *mut u32, d as c_int))
            }
            libc::SYS_recvfrom => {
                libc::recvfrom(a as c_int, b as *mut c_void, c, d as c_int, e as *mut libc::sockaddr, f as *mut u32)
                    as c_long
            }
            libc::SYS_sendto => {
                libc::sendto(a as c_int, b as *const c_void, c, d as c_int, e as *const libc::sockaddr, f as u32)
                    as c_long
            }
            libc::SYS_recvmsg => libc::recvmsg(a as c_int, b as *mut libc::msghdr, c as c_int) as c_long,
            libc::SYS_sendmsg => libc::sendmsg(a as c_int, b as *const libc::msghdr, c as c_int) as c_long,
            libc::SYS_eventfd2 => c_long::from(libc::eventfd(a as c_uint, b as c_int)),
            libc::SYS_epoll_create1 => c_long::from(libc::epoll_create1(a as c_int)),
            libc::SYS_epoll_ctl => {
                c_long::from(libc::epoll_ctl(a as c_int, b as c_int, c as c_int, d as *mut libc::epoll_event))
            }
            libc::SYS_getcpu => {
                let cpu = libc::sched_getcpu();
                if a != 0 {
                    *(a as *mut c_uint) = cpu as c_uint;
                }
                0
            }
            libc::SYS_io_uring_setup | libc::SYS_io_uring_enter | libc::SYS_io_uring_register => {
                if !IO_URING_SAID.swap(true, Ordering::Relaxed) {
                    notes::covered(&[b"io_uring is answered with ENOSYS: its transfers cannot be recorded"]);
                }
                set_errno(libc::ENOSYS);
                -1
            }
            libc::SYS_readv => libc::readv(a as c_int, b as *const libc::iovec, c as c_int) as c_long,
            libc::SYS_writev => libc::writev(a as c_int, b as *const libc::iovec, c as c_int) as c_long,
            #[cfg(not(target_arch = "x86"))]
            libc::SYS_pread64 => libc::pread(a as c_int, b as *mut c_void, c, d as libc::off_t) as c_long,
            #[cfg(not(target_arch = "x86"))]
            libc::SYS_pwrite64 => libc::pwrite(a as c_int, b as *const c_void, c, d as libc::off_t) as c_long,
            #[cfg(not(target_arch = "x86"))]
            libc::SYS_accept => c_long::from(libc::accept(a as c_int, b as *mut libc::sockaddr, c as *mut u32)),
            libc::SYS_shutdown => c_long::from(libc::shutdown(a as c_int, b as c_int)),
            libc::SYS_pipe2 => c_long::from(libc::pipe2(a as *mut c_int, b as c_int)),
            libc::SYS_dup => c_long::from(libc::dup(a as c_int)),
            libc::SYS_dup3 => c_long::from(libc::dup3(a as c_int, b as c_int, c as c_int)),
            libc::SYS_nanosleep => c_long::from(libc::nanosleep(a as *const libc::timespec, b as *mut libc::timespec)),
            libc::SYS_clock_nanosleep => {
                let error = libc::clock_nanosleep(a as c_int, b as c_int, c as *const libc::timespec, d as *mut _);
                set_errno(error);
                if error == 0 { 0 } else { -1 }
            }
            libc::SYS_ppoll => c_long::from(libc::ppoll(
                a as *mut libc::pollfd,
                b as libc::nfds_t,
                c as *const libc::timespec,
                d as *const libc::sigset_t,
            )),
            libc::SYS_epoll_pwait => c_long::from(libc::epoll_pwait(
                a as c_int,
                b as *mut libc::epoll_event,
                c as c_int,
                d as c_int,
                e as *const libc::sigset_t,
            )),
            libc::SYS_timerfd_create => c_long::from(libc::timerfd_create(a as c_int, b as c_int)),
            libc::SYS_recvmmsg => c_long::from(libc::recvmmsg(
                a as c_int,
                b as *mut libc::mmsghdr,
                c as c_uint,
                d as _,
                e as *mut libc::timespec,
            )),
            libc::SYS_sendmmsg => {
                c_long::from(libc::sendmmsg(a as c_int, b as *mut libc::mmsghdr, c as c_uint, d as _))
            }
            #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
            libc::SYS_poll => c_long::from(libc::poll(a as *mut libc::pollfd, b as libc::nfds_t, c as c_int)),
            #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
            libc::SYS_epoll_wait => {
                c_long::from(libc::epoll_wait(a as c_int, b as *mut libc::epoll_event, c as c_int, d as c_int))
            }
            #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
            libc::SYS_time => libc::time(a as *mut libc::time_t) as c_long,
            libc::SYS_sched_yield => c_long::from(libc::sched_yield()),
            libc::SYS_futex if threaded() && is_plain_wait(b as c_int) => {
                super::sync::futex_waited(a as *const u32, real)
            }
            number if is_harmless(number) => at_descriptor(c"syscall", number as c_int, real() as isize) as c_long,
            number => {
                raw_calls::note(number as c_int, std::ptr::null_mut());
                real()
            }
        }
    }
}

fn is_harmless(number: c_long) -> bool {
    #[cfg(target_arch = "x86")]
    if super::raw_i386::HARMLESS.contains(&number) {
        return true;
    }
    raw_calls::is_harmless(number)
}

static IO_URING_SAID: AtomicBool = AtomicBool::new(false);

/// A wait on a futex after which the word alone says what happened.
pub(super) fn is_plain_wait(operation: c_int) -> bool {
    let operation = operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    operation == libc::FUTEX_WAIT || operation == libc::FUTEX_WAIT_BITSET
}
