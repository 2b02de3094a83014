//! System calls that only i386 has: those of sockets behind one number, offsets in two halves, and times of 64 bits.

use super::super::widths::{large, time64};
use super::sync;
use libc::{c_int, c_long, c_uint, c_ulong, c_void, size_t, sockaddr};

// Numbers that all architectures of 32 bits share (`<asm-generic/unistd.h>`).
const CLOCK_GETTIME64: c_long = 403;
const CLOCK_NANOSLEEP_TIME64: c_long = 407;
const TIMERFD_GETTIME64: c_long = 410;
const TIMERFD_SETTIME64: c_long = 411;
const PPOLL_TIME64: c_long = 414;
const RECVMMSG_TIME64: c_long = 417;
const FUTEX_TIME64: c_long = 422;

unsafe extern "C" {
    // Hooks of this library, by the names under which programs with times of 64 bits call them.
    fn __clock_gettime64(clock: c_int, time: *mut time64::timespec) -> c_int;
    fn __clock_nanosleep_time64(
        clock: c_int,
        flags: c_int,
        time: *const time64::timespec,
        left: *mut time64::timespec,
    ) -> c_int;
    fn __ppoll64(
        fds: *mut libc::pollfd,
        count: libc::nfds_t,
        timeout: *const time64::timespec,
        mask: *const libc::sigset_t,
    ) -> c_int;
    fn __recvmmsg64(
        fd: c_int,
        messages: *mut libc::mmsghdr,
        count: c_uint,
        flags: c_int,
        timeout: *mut time64::timespec,
    ) -> c_int;
    fn __timerfd_gettime64(fd: c_int, to: *mut time64::itimerspec) -> c_int;
    fn __timerfd_settime64(
        fd: c_int,
        flags: c_int,
        new: *const time64::itimerspec,
        old: *mut time64::itimerspec,
    ) -> c_int;
}

/// Offsets come as two registers, the lower half first.
fn offset(low: usize, high: usize) -> large::off_t {
    (low as u64 | (high as u64) << 32) as large::off_t
}

/// Answers a system call by the hook of the function that makes it; `None` for one that other architectures have too.
///
/// # Safety
/// The arguments are those of the system call with this number.
pub unsafe fn answered(number: c_long, [a, b, c, d, e, _f]: [usize; 6], real: &impl Fn() -> c_long) -> Option<c_long> {
    // SAFETY: as for this function.
    unsafe {
        Some(match number {
            libc::SYS_socketcall => return socket_call(a as c_int, b as *const usize),
            libc::SYS_pread64 => libc::pread64(a as c_int, b as *mut c_void, c, offset(d, e)) as c_long,
            libc::SYS_pwrite64 => libc::pwrite64(a as c_int, b as *const c_void, c, offset(d, e)) as c_long,
            CLOCK_GETTIME64 => c_long::from(__clock_gettime64(a as c_int, b as *mut _)),
            CLOCK_NANOSLEEP_TIME64 => {
                let error = __clock_nanosleep_time64(a as c_int, b as c_int, c as *const _, d as *mut _);
                super::set_errno(error);
                if error == 0 { 0 } else { -1 }
            }
            PPOLL_TIME64 => {
                c_long::from(__ppoll64(a as *mut libc::pollfd, b as libc::nfds_t, c as *const _, d as *const _))
            }
            RECVMMSG_TIME64 => {
                c_long::from(__recvmmsg64(a as c_int, b as *mut libc::mmsghdr, c as c_uint, d as c_int, e as *mut _))
            }
            TIMERFD_GETTIME64 => c_long::from(__timerfd_gettime64(a as c_int, b as *mut _)),
            TIMERFD_SETTIME64 => c_long::from(__timerfd_settime64(a as c_int, b as c_int, c as *const _, d as *mut _)),
            FUTEX_TIME64 if super::super::state::threaded() && super::raw::is_plain_wait(b as c_int) => {
                sync::futex_waited(a as *const u32, real)
            }
            FUTEX_TIME64 => real(),
            _ => return None,
        })
    }
}

/// `socketcall(2)`: the number of a function of sockets, and where its arguments stand.
unsafe fn socket_call(call: c_int, arguments: *const usize) -> Option<c_long> {
    // SAFETY: the caller passes as many arguments as the function takes; only those are read.
    unsafe {
        let at = |place: usize| *arguments.add(place);
        let fd = || at(0) as c_int;
        let address = |place: usize| at(place) as *mut sockaddr;
        let length = |place: usize| at(place) as *mut libc::socklen_t;
        let bytes = || at(1) as *mut c_void;
        let int = |value: c_int| c_long::from(value);
        Some(match call {
            1 => int(libc::socket(fd(), at(1) as c_int, at(2) as c_int)),
            2 => int(libc::bind(fd(), address(1), at(2) as libc::socklen_t)),
            3 => int(libc::connect(fd(), address(1), at(2) as libc::socklen_t)),
            4 => int(libc::listen(fd(), at(1) as c_int)),
            5 => int(libc::accept(fd(), address(1), length(2))),
            6 => int(libc::getsockname(fd(), address(1), length(2))),
            7 => int(libc::getpeername(fd(), address(1), length(2))),
            8 => int(libc::socketpair(fd(), at(1) as c_int, at(2) as c_int, at(3) as *mut c_int)),
            9 => libc::send(fd(), bytes(), at(2), at(3) as c_int) as c_long,
            10 => libc::recv(fd(), bytes(), at(2), at(3) as c_int) as c_long,
            11 => libc::sendto(fd(), bytes(), at(2), at(3) as c_int, address(4), at(5) as libc::socklen_t) as c_long,
            12 => libc::recvfrom(fd(), bytes(), at(2) as size_t, at(3) as c_int, address(4), length(5)) as c_long,
            13 => int(libc::shutdown(fd(), at(1) as c_int)),
            14 => int(libc::setsockopt(fd(), at(1) as c_int, at(2) as c_int, at(3) as *const c_void, at(4) as u32)),
            15 => int(libc::getsockopt(fd(), at(1) as c_int, at(2) as c_int, at(3) as *mut c_void, length(4))),
            16 => libc::sendmsg(fd(), at(1) as *const libc::msghdr, at(2) as c_int) as c_long,
            17 => libc::recvmsg(fd(), at(1) as *mut libc::msghdr, at(2) as c_int) as c_long,
            18 => int(libc::accept4(fd(), address(1), length(2), at(3) as c_int)),
            19 => int(libc::recvmmsg(
                fd(),
                at(1) as *mut _,
                at(2) as c_uint,
                at(3) as c_int,
                at(4) as *mut libc::timespec,
            )),
            20 => int(libc::sendmmsg(fd(), at(1) as *mut _, at(2) as c_uint, at(3) as c_int)),
            _ => return None,
        })
    }
}

/// System calls of i386 that bring nothing from outside, or nothing that varies.
pub const HARMLESS: [c_long; 16] = [
    libc::SYS_mmap2,
    libc::SYS_fstatat64,
    libc::SYS_fstat64,
    libc::SYS__llseek,
    libc::SYS_setuid32,
    libc::SYS_setgid32,
    libc::SYS_setresuid32,
    libc::SYS_setresgid32,
    libc::SYS_setgroups32,
    libc::SYS_getuid32,
    libc::SYS_getgid32,
    libc::SYS_geteuid32,
    libc::SYS_getegid32,
    libc::SYS_fcntl64,
    libc::SYS_sigreturn,
    libc::SYS_rt_sigreturn,
];

const _: () = assert!(size_of::<c_ulong>() == size_of::<usize>());
