//! Hooks for identity and location of the server, and for randomness.

use super::super::handover;
use super::super::pids;
use super::super::player;
use super::super::real::hooks;
use super::super::recorder::{self, Piece};
use super::super::state::{self, errno, set_errno};
use super::super::thread::this;
use super::process as process_calls;
use super::raw;
use super::{byte_count, enter, leave, recorded, recorded_plain};
use libc::{c_char, c_int, c_long, c_uint, c_void, cpu_set_t, pid_t, size_t, ssize_t};
use prony_demo::{Op, PartKind};
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

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
            byte_count(length),
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

/// The random bytes that the kernel has given this program when it started (`AT_RANDOM`): they become those of the
/// recording. libc has made use of them before, for what no output depends on.
pub fn begin_randomness() {
    const BYTES: usize = 16;
    // SAFETY: the kernel has put as many bytes there, for good; the block is the calling thread's own.
    unsafe {
        let bytes = libc::getauxval(libc::AT_RANDOM) as *mut u8;
        if bytes.is_null() {
            return;
        }
        let (thread, recording) = enter();
        if recording {
            let piece = Piece::some(PartKind::In, bytes, BYTES);
            recorder::emit(thread, Op::StartRandom, -1, BYTES as u32, 0, &[piece]);
        } else if let Some(answer) = player::take_if_there(thread, Op::StartRandom, -1) {
            answer.fill(PartKind::In, 0, bytes, BYTES);
            player::done(thread, answer);
        }
        leave(thread);
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

    [__getpgid] fn getpgid(pid: pid_t) -> pid_t {
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
        // Of what `sysconf` returns only the number of processors and the free memory change
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
        let get = || handover::without_moves(|| real::sched_getaffinity(pid, length, to) as isize);
        filled(Op::SchedGetaffinity, 0, to.cast(), length, get) as c_int
    }

    // Answers with the error, and leaves `errno` alone.
    fn pthread_getaffinity_np(thread: libc::pthread_t, length: size_t, to: *mut cpu_set_t) -> c_int {
        let before = errno();
        let found = filled(Op::SchedGetaffinity, 0, to.cast(), length, || {
            match handover::without_moves(|| real::pthread_getaffinity_np(thread, length, to)) {
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
        let [a, b, c, d, e, f] = raw::meant(number, [a, b, c, d, e, f]);
        let fork = |number, [a, b, c, d, e]: [usize; 5]| real::syscall(number, a, b, c, d, e, 0) as pid_t;
        match process_calls::forked_by(number, [a, b, c, d, e], fork) {
            Some(pid) => c_long::from(pid),
            None => raw::raw(number, [a, b, c, d, e, f], || real::syscall(number, a, b, c, d, e, f)),
        }
    }
}
