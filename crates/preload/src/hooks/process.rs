//! Processes: each child made by `fork` has a stream of its own in the demo. A child that runs
//! another program leaves the recording there; what the server learns of it is recorded.

use super::super::baton;
use super::super::collect;
use super::super::descriptors::{self, INHERITED_MAX, Inherited, StandIn};
use super::super::epoll;
use super::super::failures::{at_descriptor, at_path};
use super::super::lifecycle::{self, become_child, exiting};
use super::super::notes;
use super::super::own_words;
use super::super::pids;
use super::super::player::{self, CallResult};
use super::super::programs::{self, Unloadable};
use super::super::raw_calls;
use super::super::real::hooks;
use super::super::recorder::{self, Piece};
use super::super::sharing;
use super::super::state::{self, errno, set_errno};
use super::super::thread::{PassThrough, RECORDING, Thread, this};
use super::super::tool;
use super::super::widths::plain::rusage;
use super::{blocking, enter, leave, recorded};
use libc::{FILE, c_char, c_int, c_long, c_void, id_t, pid_t, siginfo_t};
use prony_channel::{CHANNEL_FD, LIBRARY_FD, LIBRARY_I386_FD, TAPE_FD};
use prony_demo::{Op, PartKind};
use std::ffi::CStr;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, Ordering};

/// A child that is a copy of this process. `pidfd`: where the kernel puts a descriptor for it, null without. `real`
/// learns whether this is a replay, in which there is no such descriptor.
unsafe fn forked(pidfd: *mut c_int, real: impl Fn(bool) -> pid_t) -> pid_t {
    // SAFETY: the block that `enter` returns is the calling thread's own, in the child that of its only thread; `pidfd`
    // is null or where the call writes.
    unsafe {
        let (thread, recording) = enter();
        let pid;
        if recording {
            sharing::before_fork(thread);
            let index = lifecycle::next_index();
            pid = real(false);
            let before = errno();
            if pid == 0 {
                become_child(index);
                raw_calls::watch_thread();
            } else {
                record_child(thread, pid, index, pidfd);
            }
            set_errno(before);
        } else {
            sharing::before_fork(thread);
            let answer = player::take(thread, Op::Fork, -1);
            let recorded = answer.number() as pid_t;
            let index = answer.aux();
            // The server has functions for before and after.
            let made = || collect::of_server(|| real(true));
            let own = if recorded > 0 { at_descriptor(c"fork", -1, made()) } else { -1 };
            if own == 0 {
                become_replayed_child(index, recorded);
                pid = 0;
            } else {
                if recorded > 0 {
                    pids::learn(recorded, own);
                    give_pidfd(answer, pidfd);
                }
                epoll::forked();
                pid = recorded;
                // The child has records of its own, in a window that may be where this one's is.
                player::done(thread, answer);
            }
        }
        leave(thread);
        pid
    }
}

/// The parent goes on while it is recorded.
unsafe fn record_child(thread: *mut Thread, pid: pid_t, index: u32, pidfd: *mut c_int) {
    // SAFETY: the caller passes the block that `enter` returned, and a place that is null or where the kernel has put a
    // descriptor.
    unsafe {
        epoll::forked();
        let mut piece = Piece::Nothing;
        if pid > 0 && !pidfd.is_null() {
            descriptors::opened(*pidfd);
            piece = Piece::value(&*pidfd);
        }
        // At once: a child that shares the order begins behind this record.
        recorder::emit_at_once(thread, Op::Fork, -1, index, state::outcome(pid as isize), &[piece]);
    }
}

/// What is collected is the child's own from here on, as [`forks::watch`](super::super::forks::watch) has it where `fork` runs
/// functions of the server in the child. Returns `pid`, which is 0 in the child.
fn in_child_forked(pid: pid_t) -> pid_t {
    if pid == 0 {
        collect::forked();
    }
    pid
}

fn become_replayed_child(index: u32, recorded: pid_t) {
    become_child(index);
    pids::learn(recorded, state::slot().pid.load(Ordering::Relaxed));
}

/// Gives the parent the recorded descriptor of its child.
unsafe fn give_pidfd(answer: CallResult, pidfd: *mut c_int) {
    // SAFETY: the caller passes a place that is null or where the call writes.
    unsafe {
        if let Some(fd) = answer.read_value::<c_int>().filter(|_| !pidfd.is_null()) {
            answer.take_descriptor(fd, StandIn::Other);
            *pidfd = fd;
        }
    }
}

/// Flags of `clone` as the kernel has them (`linux/sched.h`).
const VM: u64 = libc::CLONE_VM as u64;
const SHARED: u64 = (libc::CLONE_VM | libc::CLONE_SIGHAND) as u64;
const VFORK: u64 = libc::CLONE_VFORK as u64;
const THREAD: u64 = libc::CLONE_THREAD as u64;
const PIDFD: u64 = libc::CLONE_PIDFD as u64;

/// The flags that a child of its own is made with: one that shares memory until it runs a program gets a copy, as
/// `vfork` does. `None` for what is a thread, or goes on sharing.
fn flags_of_child(flags: u64, replaying: bool) -> Option<u64> {
    if flags & THREAD != 0 || flags & VM != 0 && flags & VFORK == 0 {
        return None;
    }
    Some(flags & !SHARED & if replaying { !PIDFD } else { u64::MAX })
}

static SHARING_SAID: AtomicBool = AtomicBool::new(false);

fn say_sharing() {
    if !SHARING_SAID.swap(true, Ordering::Relaxed) {
        notes::uncovered(&[b"clone: a process that shares memory and is not a thread of libc is not recorded"]);
    }
}

/// A system call that makes a child. `None` for any other. `real` makes a call of this number.
pub unsafe fn forked_by(
    number: c_long,
    [a, b, c, d, e]: [usize; 5],
    real: impl Fn(c_long, [usize; 5]) -> pid_t,
) -> Option<pid_t> {
    let real = |number, words| in_child_forked(real(number, words));
    // SAFETY: the caller passes the arguments of the system call with this number.
    unsafe {
        /// `struct clone_args`, as far as it goes.
        type Arguments = [u64; 11];
        match number {
            libc::SYS_clone => {
                let child = |replaying| flags_of_child(a as u64, replaying).filter(|_| b == 0);
                if child(false).is_none() {
                    say_sharing();
                    return None;
                }
                let pidfd = if a as u64 & PIDFD != 0 { c as *mut c_int } else { null_mut() };
                Some(forked(pidfd, |replaying| match child(replaying) {
                    Some(flags) => real(libc::SYS_clone, [flags as usize, b, c, d, e]),
                    None => -1,
                }))
            }
            libc::SYS_clone3 => {
                let mut arguments: Arguments = [0; 11];
                (a as *const u8).copy_to_nonoverlapping(arguments.as_mut_ptr().cast(), b.min(size_of::<Arguments>()));
                // Flags, descriptor, and behind three more the stack.
                let [flags, pidfd, _, _, _, stack, ..] = arguments;
                let child = |replaying| flags_of_child(flags, replaying).filter(|_| stack == 0);
                if child(false).is_none() || b > size_of::<Arguments>() {
                    say_sharing();
                    return None;
                }
                let pidfd = if flags & PIDFD != 0 { pidfd as *mut c_int } else { null_mut() };
                Some(forked(pidfd, |replaying| {
                    let mut changed = arguments;
                    changed[0] = child(replaying).unwrap_or(flags);
                    real(libc::SYS_clone3, [(&raw const changed) as usize, b, c, d, e])
                }))
            }
            #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
            libc::SYS_fork | libc::SYS_vfork => Some(forked(null_mut(), |_| real(libc::SYS_fork, [0; 5]))),
            _ => None,
        }
    }
}

/// Function, argument and recorded number of a child that `clone` makes.
struct Beginning {
    function: extern "C" fn(*mut c_void) -> c_int,
    argument: *mut c_void,
    index: u32,
    /// Number of the child in the recording, 0 while recording.
    recorded: pid_t,
}

/// Runs in the child, on the stack that it was given.
extern "C" fn begin(beginning: *mut c_void) -> c_int {
    // SAFETY: the child has a copy of the memory in which its parent left this.
    unsafe {
        let Beginning { function, argument, index, recorded } = *beginning.cast::<Beginning>();
        match recorded {
            0 => {
                become_child(index);
                raw_calls::watch_thread();
            }
            recorded => {
                collect::forked();
                become_replayed_child(index, recorded);
            }
        }
        leave(this());
        _exit(collect::of_server(|| function(argument)))
    }
}

/// Status of `wait` and resources of a child, as a record has them.
#[repr(C)]
#[derive(Clone, Copy)]
struct Ended<T> {
    status: c_int,
    padding: c_int,
    used: T,
}

unsafe fn waited<T: Copy>(
    pid: pid_t,
    status: *mut c_int,
    used: *mut T,
    real: impl FnOnce(*mut c_int, *mut T) -> pid_t,
) -> pid_t {
    // SAFETY: the caller passes places that are null or where the call writes. All zero is a valid answer, which lives
    // until it is written.
    unsafe {
        let mut ended: Ended<T> = std::mem::zeroed();
        let to = &raw mut ended;
        let found = recorded(
            Op::Wait,
            -1,
            pid as u32,
            || real(&raw mut (*to).status, &raw mut (*to).used) as isize,
            |found| {
                [if found > 0 {
                    Piece::Bytes(PartKind::Value, to.cast(), size_of::<Ended<T>>())
                } else {
                    Piece::Nothing
                }]
            },
            |answer| {
                answer.copy_value(to);
                answer.number()
            },
        ) as pid_t;
        if found > 0 {
            if libc::WIFEXITED(ended.status) || libc::WIFSIGNALED(ended.status) {
                wait_for_replayed(found, 0);
            }
            if !status.is_null() {
                *status = ended.status;
            }
            if !used.is_null() {
                *used = ended.used;
            }
        }
        found
    }
}

/// Waits for the end of a child that a replay has made. What it wrote to files the server may look for.
fn wait_for_replayed(recorded: pid_t, options: c_int) {
    let Some(own) = pids::known(recorded) else { return };
    let before = errno();
    let _pass_through = PassThrough::enter();
    // SAFETY: all zero is a valid answer.
    let mut info: siginfo_t = unsafe { std::mem::zeroed() };
    let options = libc::WEXITED | options & libc::WNOWAIT;
    player::wait_for_end(|| {
        // SAFETY: the answer lives across the call.
        while unsafe { libc::waitid(libc::P_PID, own as id_t, &mut info, options) } == -1 && errno() == libc::EINTR {}
    });
    if options & libc::WNOWAIT == 0 {
        pids::forget(recorded);
    }
    set_errno(before);
}

/// The environment of a program that stays under preload: the server's own, and two more.
struct Followed {
    list: *mut *const c_char,
    /// `LD_PRELOAD` with what the server has in it; null where it has none.
    preload: *mut c_char,
    /// `PRONY_CHANNEL=PROCESS,FD:BITS,FD:BITS…`: which process it is, and the descriptors that it inherits.
    mark: [u8; MARK_BYTES],
}

/// Room for the mark: two numbers of at most eight and three digits for each descriptor.
const MARK_BYTES: usize = 32 + INHERITED_MAX * 13;

impl Followed {
    const NOTHING: Followed = Followed { list: null_mut(), preload: null_mut(), mark: [0; MARK_BYTES] };

    /// Gives the memory back.
    unsafe fn free(self) {
        // SAFETY: both are null or were allocated for this environment, which no call uses any more.
        unsafe {
            libc::free(self.list.cast());
            libc::free(self.preload.cast());
        }
    }

    /// This library and behind it those that the server preloads, as the loader takes them in this order.
    unsafe fn preload_before(&mut self, own: &'static CStr, others: *const c_char) {
        // SAFETY: the caller passes a C string; the memory has room for both, a colon and the zero byte.
        unsafe {
            let (own, others) = (own.to_bytes(), CStr::from_ptr(others).to_bytes_with_nul());
            if others.len() > 1 && self.preload.is_null() {
                self.preload = libc::malloc(own.len() + 1 + others.len()).cast();
                let to: *mut u8 = self.preload.cast();
                own.as_ptr().copy_to_nonoverlapping(to, own.len());
                to.add(own.len()).write(b':');
                others.as_ptr().copy_to_nonoverlapping(to.add(own.len() + 1), others.len());
                *self.list = self.preload;
            }
        }
    }
}

unsafe fn followed(
    environment: *const *const c_char,
    index: u32,
    inherited: &[Inherited],
    preload: &'static CStr,
    to: &mut Followed,
) -> *const *const c_char {
    // SAFETY: the caller passes an environment: C strings, with a null pointer behind them. The list has room for all
    // of them, two more and the null pointer.
    unsafe {
        let mut count = 0;
        while !environment.is_null() && !(*environment.add(count)).is_null() {
            count += 1;
        }
        to.list = libc::malloc((count + 3) * size_of::<*const c_char>()).cast();
        let mut text = super::super::report::Text { to: &mut to.mark, used: 0 };
        text.put(b"PRONY_CHANNEL=");
        text.decimal(u64::from(index));
        for [fd, bits] in inherited.iter().map(|one| one.numbers()) {
            text.put(b",");
            text.decimal(fd as u64);
            text.put(b":");
            text.decimal(bits as u64);
        }
        *to.list = preload.as_ptr();
        *to.list.add(1) = to.mark.as_ptr().cast();
        let mut used = 2;
        for at in 0..count {
            if libc::strncmp(*environment.add(at), c"LD_PRELOAD=".as_ptr(), 11) == 0 {
                to.preload_before(preload, (*environment.add(at)).add(11));
            } else {
                *to.list.add(used) = *environment.add(at);
                used += 1;
            }
        }
        *to.list.add(used) = null();
        to.list.cast_const()
    }
}

/// Runs another program in this process. `real` gets the environment to use.
unsafe fn executed(
    path: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    real: impl FnOnce(*const *const c_char) -> c_int,
) -> c_int {
    // SAFETY: the block that `enter` returns is the calling thread's own; the caller passes what the call that it is
    // for got.
    unsafe {
        let (thread, recording) = enter();
        let control = state::control();
        let follow = !state::is_over() && (state::is_started_one() || control.follow_exec.load(Ordering::Relaxed));
        let mut room = Followed::NOTHING;
        let mut inherited = [Inherited::default(); INHERITED_MAX];
        let mut inherits = 0;
        let preload = programs::preload_of(path);
        // 0: the new program is not recorded; otherwise the number of the process, from 1.
        let followed_as;
        if recording {
            // A program that is not there is an ordinary failure; a path without a slash is searched
            // for by libc, so it is not known beforehand.
            let searched = libc::strchr(path, c_int::from(b'/')).is_null();
            if !searched && libc::access(path, libc::X_OK) != 0 {
                let before = errno();
                recorder::emit(thread, Op::Exec, -1, 0, -i64::from(before), &[Piece::path(path)]);
                leave(thread);
                set_errno(before);
                return -1;
            }
            match preload {
                Err(Unloadable::Architecture) if follow => {
                    notes::uncovered(&[b"exec of a program of another architecture: what it does is not recorded"]);
                }
                Err(Unloadable::Root) if follow => {
                    notes::uncovered(&[
                        b"exec in a root directory without /proc (chroot): what it does is not recorded",
                    ]);
                }
                _ => {}
            }
            followed_as = if follow && preload.is_ok() { state::index() + 1 } else { 0 };
            if follow && (*thread).index != 0 {
                // The new program's records are those of thread 0, which in a replay waits for what never comes.
                notes::uncovered(&[b"exec by a thread that is not the first one of its process"]);
            }
            if followed_as != 0 {
                inherits = descriptors::outlasting(&mut inherited);
            }
            let handed_on = Piece::some(PartKind::Value, inherited.as_ptr().cast(), inherits * size_of::<Inherited>());
            recorder::emit(thread, Op::Exec, -1, followed_as, 0, &[Piece::path(path), handed_on]);
            if state::shares_order() {
                baton::give(thread);
            }
        } else {
            let answer = player::take(thread, Op::Exec, -1);
            if answer.is_error() {
                let result = answer.success();
                player::done(thread, answer);
                leave(thread);
                return result as c_int;
            }
            followed_as = answer.aux();
            let room = size_of_val(&inherited);
            inherits = answer.fill(PartKind::Value, 0, inherited.as_mut_ptr().cast(), room) / size_of::<Inherited>();
            player::done(thread, answer);
            if inherits > 0 {
                descriptors::close_on_exec_but(&inherited[..inherits]);
            }
            if followed_as == 0 {
                player::end_process(0);
            }
            player::leave_mark(thread);
        }
        let environment = match (followed_as, preload) {
            (0, _) | (_, Err(_)) => environment,
            (_, Ok(preload)) => followed(environment, state::index(), &inherited[..inherits], preload, &mut room),
        };
        if followed_as == 0 {
            lifecycle::ended();
            for fd in [CHANNEL_FD, LIBRARY_FD, LIBRARY_I386_FD, TAPE_FD] {
                libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
        if followed_as != 0 {
            tool::expect(state::index(), path, arguments);
        }
        let result = at_path(c"exec", path, real(environment));
        room.free();
        leave(thread);
        result
    }
}

/// `fork` for signal handlers: it does not run the handlers of `pthread_atfork`.
mod bare {
    #![allow(non_snake_case, reason = "libc has it so")]
    use super::*;

    hooks! {
        fn _Fork() -> pid_t {
            forked(null_mut(), |_| in_child_forked(real::_Fork()))
        }
    }
}

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// Streams made by `popen`: the stream and the process behind it.
static CHILDREN: [(AtomicPtr<FILE>, AtomicI32); 32] = [const { (AtomicPtr::new(null_mut()), AtomicI32::new(0)) }; 32];

hooks! {
    [__fork] fn fork() -> pid_t {
        forked(null_mut(), |_| real::fork())
    }

    // The arguments behind the fourth are there if the flags say so.
    [__clone] fn clone(
        function: extern "C" fn(*mut c_void) -> c_int,
        stack: *mut c_void,
        flags: c_int,
        argument: *mut c_void,
        // Anything where the caller passes none: not vetted.
        parent_tid: *mut c_void,
        storage: *mut c_void,
        child_tid: *mut c_void,
    ) -> c_int {
        let given = flags as u32 as u64;
        let child = |replaying| flags_of_child(given, replaying);
        if child(false).is_none() {
            say_sharing();
            return real::clone(function, stack, flags, argument, parent_tid, storage, child_tid);
        }
        let pidfd = if given & PIDFD != 0 { parent_tid.cast() } else { null_mut() };
        let start = |beginning: &mut Beginning| {
            let flags = child(beginning.recorded != 0).unwrap_or(given) as c_int;
            real::clone(begin, stack, flags, (&raw mut *beginning).cast(), parent_tid, storage, child_tid)
        };
        let mut beginning = Beginning { function, argument, index: 0, recorded: 0 };
        let (thread, recording) = enter();
        let pid;
        if recording {
            sharing::before_fork(thread);
            beginning.index = lifecycle::next_index();
            pid = start(&mut beginning);
            let before = errno();
            record_child(thread, pid, beginning.index, pidfd);
            set_errno(before);
        } else {
            sharing::before_fork(thread);
            let answer = player::take(thread, Op::Fork, -1);
            pid = answer.number() as pid_t;
            (beginning.index, beginning.recorded) = (answer.aux(), pid);
            if pid > 0 {
                pids::learn(pid, start(&mut beginning));
                give_pidfd(answer, pidfd);
            }
            epoll::forked();
            player::done(thread, answer);
        }
        leave(thread);
        pid
    }

    // A child of `vfork` shares the stack of its parent until it runs a program, which a hook that
    // returns cannot offer; `fork` keeps the contract, with a copy.
    [__vfork] fn vfork() -> pid_t {
        fork()
    }

    fn daemon(stay: c_int, keep_output: c_int) -> c_int {
        match fork() {
            -1 => return -1,
            0 => {}
            _ => _exit(0),
        }
        if libc::setsid() == -1 {
            return -1;
        }
        if stay == 0 {
            libc::chdir(c"/".as_ptr());
        }
        if keep_output == 0 {
            let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
            for fd in 0..3 {
                libc::dup2(nothing, fd);
            }
            if nothing > 2 {
                libc::close(nothing);
            }
        }
        0
    }

    [__wait] fn wait(status: *mut c_int) -> pid_t {
        waited(-1, status, null_mut(), |status, used| real_wait4(-1, status, 0, used))
    }

    [__waitpid] fn waitpid(pid: pid_t, status: *mut c_int, options: c_int) -> pid_t {
        waited(pid, status, null_mut(), |status, used| real_wait4(pid, status, options, used))
    }

    time64 [__wait3_time64] fn wait3(status: *mut c_int, options: c_int, used: *mut rusage) -> pid_t {
        waited(-1, status, used, |status, used| real::wait3(status, options, used))
    }

    time64 [__wait4_time64] fn wait4(pid: pid_t, status: *mut c_int, options: c_int, used: *mut rusage) -> pid_t {
        waited(pid, status, used, |status, used| real::wait4(pid, status, options, used))
    }

    fn waitid(kind: libc::idtype_t, id: id_t, info: *mut siginfo_t, options: c_int) -> c_int {
        let mut scratch: siginfo_t = std::mem::zeroed();
        let to = if info.is_null() { &raw mut scratch } else { info };
        let failed = recorded(
            Op::Wait,
            -1,
            id,
            || real::waitid(kind, id, to, options) as isize,
            |failed| [if failed == 0 { Piece::value(&*to) } else { Piece::Nothing }],
            |answer| {
                answer.copy_value(to);
                answer.success()
            },
        ) as c_int;
        let ended = [libc::CLD_EXITED, libc::CLD_KILLED, libc::CLD_DUMPED].contains(&(*to).si_code);
        if failed == 0 && (*to).si_pid() > 0 && ended {
            wait_for_replayed((*to).si_pid(), options);
        }
        failed
    }

    fn execve(path: *const c_char, arguments: *const *const c_char, environment: *const *const c_char) -> c_int {
        if path.is_null() {
            return real::execve(path, arguments, environment);
        }
        executed(path, arguments, environment, |environment| real::execve(path, arguments, environment))
    }

    fn execv(path: *const c_char, arguments: *const *const c_char) -> c_int {
        execve(path, arguments, environ)
    }

    fn execvpe(file: *const c_char, arguments: *const *const c_char, environment: *const *const c_char) -> c_int {
        executed(file, arguments, environment, |environment| real::execvpe(file, arguments, environment))
    }

    fn execvp(file: *const c_char, arguments: *const *const c_char) -> c_int {
        execvpe(file, arguments, environ)
    }

    fn system(command: *const c_char) -> c_int {
        let follows = match state::mode() {
            RECORDING => state::control().follow_exec.load(Ordering::Relaxed),
            // Before the first child there may be the record that the order is shared.
            _ => [Op::Spawn, Op::OrderShared].iter().any(|&op| player::is_next(this(), op)),
        };
        if follows && !command.is_null() {
            return system_followed(command);
        }
        own_words::end();
        recorded(
            Op::System,
            -1,
            0,
            || real::system(command) as isize,
            |_| [Piece::path(command)],
            CallResult::number,
        ) as c_int
    }

    fn posix_spawn(
        to: *mut pid_t,
        path: *const c_char,
        actions: *const libc::posix_spawn_file_actions_t,
        attributes: *const libc::posix_spawnattr_t,
        arguments: *const *mut c_char,
        environment: *const *mut c_char,
    ) -> c_int {
        spawned(to, path, arguments.cast(), environment.cast(), |to, environment| {
            real::posix_spawn(to, path, actions, attributes, arguments, environment.cast())
        })
    }

    fn posix_spawnp(
        to: *mut pid_t,
        file: *const c_char,
        actions: *const libc::posix_spawn_file_actions_t,
        attributes: *const libc::posix_spawnattr_t,
        arguments: *const *mut c_char,
        environment: *const *mut c_char,
    ) -> c_int {
        spawned(to, file, arguments.cast(), environment.cast(), |to, environment| {
            real::posix_spawnp(to, file, actions, attributes, arguments, environment.cast())
        })
    }

    // A stream to a child: a pipe of the recording with a shell at its other end.
    [_IO_popen] fn popen(command: *const c_char, mode: *const c_char) -> *mut FILE {
        let reading = *mode == b'r' as c_char;
        let mut ends = [0; 2];
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) == -1 {
            return null_mut();
        }
        let (ours, theirs) = if reading { (ends[0], ends[1]) } else { (ends[1], ends[0]) };
        let arguments = [c"sh".as_ptr().cast_mut(), c"-c".as_ptr().cast_mut(), command.cast_mut(), null_mut()];
        let mut actions: libc::posix_spawn_file_actions_t = std::mem::zeroed();
        libc::posix_spawn_file_actions_init(&mut actions);
        libc::posix_spawn_file_actions_adddup2(&mut actions, theirs, c_int::from(reading));
        let mut pid = 0;
        let failed =
            libc::posix_spawn(&mut pid, c"/bin/sh".as_ptr(), &actions, null(), arguments.as_ptr(), environ.cast());
        libc::posix_spawn_file_actions_destroy(&mut actions);
        libc::close(theirs);
        if failed != 0 {
            libc::close(ours);
            set_errno(failed);
            return null_mut();
        }
        let stream = super::file::stream(ours, mode);
        if let Some((place, child)) = CHILDREN.iter().find(|(_, child)| child.load(Ordering::Relaxed) == 0) {
            place.store(stream, Ordering::Relaxed);
            child.store(pid, Ordering::Relaxed);
        }
        stream
    }

    fn pclose(stream: *mut FILE) -> c_int {
        let Some((_, child)) = CHILDREN
            .iter()
            .find(|(place, child)| place.load(Ordering::Relaxed) == stream && child.load(Ordering::Relaxed) > 0)
        else {
            return real::pclose(stream);
        };
        let pid = child.swap(0, Ordering::Relaxed);
        libc::fclose(stream);
        let mut status = 0;
        loop {
            match libc::waitpid(pid, &mut status, 0) {
                -1 if errno() == libc::EINTR => {}
                -1 => return -1,
                _ => return status,
            }
        }
    }

    [_Exit] fn _exit(status: c_int) -> ! {
        exiting(status);
        real::_exit(status)
    }

    fn quick_exit(status: c_int) -> ! {
        exiting(status);
        collect::of_server(|| real::quick_exit(status))
    }
}

unsafe fn real_wait4(pid: pid_t, status: *mut c_int, options: c_int, used: *mut libc::rusage) -> pid_t {
    // SAFETY: as for this function, whose name this is.
    unsafe {
        // In pass-through mode, so this call goes to the real function.
        libc::wait4(pid, status, options, used)
    }
}

/// `system`, made of calls that are recorded: the signals of the terminal are the command's, and its end is this call's to see.
unsafe fn system_followed(command: *const c_char) -> c_int {
    // SAFETY: the caller passes a C string; all that the calls use lives across them. All zero is a valid action.
    unsafe {
        let mut ignore: libc::sigaction = std::mem::zeroed();
        ignore.sa_sigaction = libc::SIG_IGN;
        let [mut interrupt, mut quit]: [libc::sigaction; 2] = std::mem::zeroed();
        libc::sigaction(libc::SIGINT, &ignore, &mut interrupt);
        libc::sigaction(libc::SIGQUIT, &ignore, &mut quit);
        let [mut children, mut before, mut defaults]: [libc::sigset_t; 3] = std::mem::zeroed();
        libc::sigaddset(&mut children, libc::SIGCHLD);
        libc::pthread_sigmask(libc::SIG_BLOCK, &children, &mut before);
        for (signal, action) in [(libc::SIGINT, &interrupt), (libc::SIGQUIT, &quit)] {
            if action.sa_sigaction != libc::SIG_IGN {
                libc::sigaddset(&mut defaults, signal);
            }
        }
        let mut attributes: libc::posix_spawnattr_t = std::mem::zeroed();
        libc::posix_spawnattr_init(&mut attributes);
        libc::posix_spawnattr_setsigmask(&mut attributes, &before);
        libc::posix_spawnattr_setsigdefault(&mut attributes, &defaults);
        let flags = libc::POSIX_SPAWN_SETSIGDEF | libc::POSIX_SPAWN_SETSIGMASK;
        libc::posix_spawnattr_setflags(&mut attributes, flags as libc::c_short);
        let arguments = [c"sh".as_ptr().cast_mut(), c"-c".as_ptr().cast_mut(), command.cast_mut(), null_mut()];
        let (mut pid, mut status) = (0, -1);
        let shell = c"/bin/sh".as_ptr();
        let failed = libc::posix_spawn(&mut pid, shell, null(), &attributes, arguments.as_ptr(), environ.cast());
        libc::posix_spawnattr_destroy(&mut attributes);
        if failed != 0 {
            // As if the shell had ended because it cannot run the command.
            status = 127 << 8;
        } else {
            while libc::waitpid(pid, &mut status, 0) == -1 {
                if errno() != libc::EINTR {
                    status = -1;
                    break;
                }
            }
        }
        libc::sigaction(libc::SIGINT, &interrupt, null_mut());
        libc::sigaction(libc::SIGQUIT, &quit, null_mut());
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, null_mut());
        status
    }
}

/// A child that runs a program. `real` gets where its number goes, and the environment to use.
unsafe fn spawned(
    to: *mut pid_t,
    path: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    real: impl Fn(*mut pid_t, *const *const c_char) -> c_int,
) -> c_int {
    // SAFETY: `to` is null or where the call writes, the path is a C string, and the block is the calling thread's own.
    unsafe {
        let (thread, recording) = enter();
        let mut room = Followed::NOTHING;
        let mut pid: pid_t = 0;
        let failed;
        if recording {
            let follows = state::control().follow_exec.load(Ordering::Relaxed) && !state::is_over();
            let preload = if follows { programs::preload_of(path).ok() } else { None };
            let mut followed_as = 0;
            if let Some(preload) = preload {
                sharing::before_fork(thread);
                followed_as = lifecycle::next_index() + 1;
                let environment = followed_with_logs(environment, followed_as - 1, preload, &mut room);
                failed = real(&mut pid, environment);
            } else {
                failed = blocking(thread, Op::Spawn, -1, || real(&mut pid, environment));
            }
            let piece = if failed == 0 { Piece::value(&pid) } else { Piece::Nothing };
            let followed_as = if failed == 0 { followed_as } else { 0 };
            recorder::emit_at_once(thread, Op::Spawn, -1, followed_as, i64::from(failed), &[Piece::path(path), piece]);
        } else {
            sharing::before_fork(thread);
            let answer = player::take(thread, Op::Spawn, -1);
            answer.copy_value(&mut pid);
            failed = answer.number() as c_int;
            let followed_as = answer.aux();
            if failed == 0
                && followed_as > 0
                && let Ok(preload) = programs::preload_of(path)
            {
                let environment = followed_with_logs(environment, followed_as - 1, preload, &mut room);
                tool::expect(followed_as - 1, path, arguments);
                let mut own = 0;
                let failed = real(&mut own, environment);
                if failed == 0 {
                    pids::learn(pid, own);
                } else {
                    super::super::failures::note(c"posix_spawn", -1, path, failed);
                }
            }
            player::done(thread, answer);
        }
        room.free();
        if failed == 0 && !to.is_null() {
            *to = pid;
        }
        leave(thread);
        failed
    }
}

/// Prepares a program that is about to be spawned as process `index`, and returns its environment: the parent cannot tell which descriptors it will have, but which of them are
/// logs.
unsafe fn followed_with_logs(
    environment: *const *const c_char,
    index: u32,
    preload: &'static CStr,
    to: &mut Followed,
) -> *const *const c_char {
    state::share_order_with(index);
    // SAFETY: the caller passes an environment; what is written lies in the mark, which has room for it.
    unsafe {
        let environment = followed(environment, index, &[], preload, to);
        let used = to.mark.iter().position(|&byte| byte == 0).unwrap_or(0);
        let mut text = super::super::report::Text { to: &mut to.mark, used };
        text.put(b"+");
        for file in descriptors::logs().into_iter().flatten() {
            text.decimal(file);
            text.put(b".");
        }
        environment
    }
}

/// `execl` and its kin take a list of arguments that ends with a null pointer. The stubs lay the
/// ones in registers in front of the ones on the stack, which makes the list an array.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
mod lists {
    use super::*;

    // All arguments are on the stack, the list behind the first one.
    #[cfg(target_arch = "x86")]
    macro_rules! list_stub {
        ($name:ident, $array:path) => {
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                std::arch::naked_asm!(
                    "sub esp, 4",
                    "lea eax, [esp + 12]",
                    "push eax",
                    "push dword ptr [esp + 12]",
                    "call {array}",
                    "add esp, 12",
                    "ret",
                    array = sym $array,
                )
            }
        };
    }

    #[cfg(target_arch = "x86_64")]
    macro_rules! list_stub {
        ($name:ident, $array:path) => {
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                std::arch::naked_asm!(
                    "pop rax",
                    "push r9",
                    "push r8",
                    "push rcx",
                    "push rdx",
                    "push rsi",
                    "mov rsi, rsp",
                    "push rax",
                    "call {array}",
                    "pop rcx",
                    "add rsp, 40",
                    "jmp rcx",
                    array = sym $array,
                )
            }
        };
    }

    unsafe extern "C" fn execl_array(path: *const c_char, arguments: *const *const c_char) -> c_int {
        // SAFETY: the stub of `execl` has made an array of the list that it got.
        unsafe { execve(path, arguments, environ) }
    }

    unsafe extern "C" fn execlp_array(file: *const c_char, arguments: *const *const c_char) -> c_int {
        // SAFETY: the stub of `execlp` has made an array of the list that it got.
        unsafe { execvpe(file, arguments, environ) }
    }

    unsafe extern "C" fn execle_array(path: *const c_char, arguments: *const *const c_char) -> c_int {
        // SAFETY: the stub of `execle` has made an array of the list that it got: arguments, a null pointer, and the
        // environment.
        unsafe {
            let mut count = 0;
            while !(*arguments.add(count)).is_null() {
                count += 1;
            }
            execve(path, arguments, (*arguments.add(count + 1)).cast())
        }
    }

    list_stub!(execl, execl_array);
    list_stub!(execlp, execlp_array);
    list_stub!(execle, execle_array);
}
