//! Starting a process in shared memory, and watching it until it ends.

use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use super::account::{self, Account};
use super::command::{Drain, EXTRA_DESCRIPTOR, Flow, Placement, Process, RunError, Step};
use super::slice;

/// Time that a process has to end after SIGTERM, in milliseconds.
const GRACE_MS: i32 = 2000;

/// Everything a process needs, as the kernel wants it.
pub(super) struct Prepared {
    program: CString,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    directory: Option<CString>,
    streams: [RawFd; 3],
    extra: Option<RawFd>,
    placement: Placement,
    /// Signals that have a handler here; in the process they must have none.
    caught: Vec<i32>,
}

impl Prepared {
    pub(super) fn of(process: &Process) -> Result<Prepared, RunError> {
        let text = |text: &OsStr| {
            CString::new(text.as_bytes()).map_err(|_| RunError::ZeroByte(text.to_string_lossy().into_owned()))
        };
        let variable = |(name, value): &(std::ffi::OsString, std::ffi::OsString)| {
            let mut whole = name.clone();
            whole.push("=");
            whole.push(value);
            text(&whole)
        };
        Ok(Prepared {
            program: text(process.program.as_os_str())?,
            arguments: process.arguments.iter().map(|argument| text(argument)).collect::<Result<_, _>>()?,
            environment: process.environment.iter().map(variable).collect::<Result<_, _>>()?,
            directory: process.directory.map(|directory| text(directory.as_os_str())).transpose()?,
            streams: process.streams.map(|stream| stream.as_raw_fd()),
            extra: process.extra.map(|extra| extra.as_raw_fd()),
            placement: process.placement,
            caught: caught_signals(),
        })
    }
}

/// Signals with a handler in this process.
fn caught_signals() -> Vec<i32> {
    (1..32)
        .filter(|&signal| {
            // SAFETY: a pure query; `action` is plain data that the kernel overwrites.
            let (status, action) = unsafe {
                let mut action: libc::sigaction = mem::zeroed();
                (libc::sigaction(signal, ptr::null(), &raw mut action), action)
            };
            status == 0 && action.sa_sigaction != libc::SIG_DFL && action.sa_sigaction != libc::SIG_IGN
        })
        .collect()
}

/// Stack of a process until it executes the program.
#[derive(Debug)]
pub(super) struct Stack(Box<[u128]>);

impl Stack {
    /// `prepare` calls one function deep and holds a CPU mask of 128 bytes; the rest is room for libc.
    const BYTES: usize = 64 << 10;

    pub(super) fn new() -> Stack {
        Stack(vec![0; Stack::BYTES / size_of::<u128>()].into_boxed_slice())
    }
}

/// Memory shared with the new process while this one is suspended.
struct Shared<'a> {
    prepared: &'a Prepared,
    arguments: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
    mask: libc::sigset_t,
    /// The step that failed and its error.
    failed: Option<(Step, i32)>,
}

/// A process that was started.
#[derive(Debug)]
pub(super) struct Child {
    pid: libc::pid_t,
    descriptor: OwnedFd,
}

/// Starts a process; on return it is the program, or it failed and is gone.
pub(super) fn start(prepared: &Prepared, stack: &mut Stack) -> Result<Child, (Step, io::Error)> {
    let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
    };
    // SAFETY: a signal set is plain data, valid when zero, and filled below.
    let mut mask: libc::sigset_t = unsafe { mem::zeroed() };
    let mut shared = Shared {
        prepared,
        arguments: pointers(&prepared.arguments),
        environment: pointers(&prepared.environment),
        mask,
        failed: None,
    };
    let mut descriptor: RawFd = -1;
    // SAFETY: `CLONE_VFORK` stops this thread until the process executes or ends, so `shared`, which
    // it reads and writes, and its stack, 16-byte aligned and used by nothing else, outlive it. All
    // signals are blocked across it, so that no handler of ours runs in it. The fifth argument is
    // where `CLONE_PIDFD` stores a descriptor.
    let pid = unsafe {
        let mut all: libc::sigset_t = mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, &raw mut mask);
        shared.mask = mask;
        let pid = libc::clone(
            become_program,
            stack.0.as_mut_ptr_range().end.cast(),
            libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD,
            (&raw mut shared).cast(),
            &raw mut descriptor,
        );
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const mask, ptr::null_mut());
        if pid == -1 {
            return Err((Step::Clone, error));
        }
        pid
    };
    // SAFETY: the kernel stored a new descriptor that nothing else uses.
    let child = Child { pid, descriptor: unsafe { OwnedFd::from_raw_fd(descriptor) } };
    match shared.failed {
        None => Ok(child),
        Some((step, error)) => {
            // Its end is of no interest; it must only be gone.
            let _ = child.reap();
            Err((step, io::Error::from_raw_os_error(error)))
        }
    }
}

/// Steps of the new process: in our memory, while this process is suspended.
extern "C" fn become_program(shared: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `start` passes its `Shared` and is stopped until this process has executed or ended.
    let shared = unsafe { &mut *shared.cast::<Shared>() };
    let failed = prepare(shared.prepared).err().unwrap_or_else(|| {
        // SAFETY: C strings and arrays of them that end in a null pointer, made before the start;
        // the mask is the one that `start` found.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const shared.mask, ptr::null_mut());
            libc::execve(shared.prepared.program.as_ptr(), shared.arguments.as_ptr(), shared.environment.as_ptr());
        }
        (Step::Execute, errno())
    });
    shared.failed = Some(failed);
    127
}

/// Sets the process up. Takes no memory and no lock: both are ours.
fn prepare(prepared: &Prepared) -> Result<(), (Step, i32)> {
    let check = |step: Step, result: libc::c_int| if result == -1 { Err((step, errno())) } else { Ok(()) };
    // SAFETY: plain system calls on values that live across them. Handlers and descriptors are
    // copies of ours (neither CLONE_SIGHAND nor CLONE_FILES), so ours stay as they are.
    unsafe {
        for &signal in &prepared.caught {
            libc::signal(signal, libc::SIG_DFL);
        }
        // Rust ignores it in our process, and what is ignored stays ignored across execve.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        // A group of its own: it and all its children can be ended at once, and Ctrl-C reaches us only.
        libc::setpgid(0, 0);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // The standard ones first: the extra one may take the place of what they are made from.
        let streams = prepared.streams.iter().zip(0..);
        for (&from, place) in streams.chain(prepared.extra.iter().zip(EXTRA_DESCRIPTOR..)) {
            // dup2 of a descriptor to itself would leave it closed on exec.
            let placed = if from == place { libc::fcntl(place, libc::F_SETFD, 0) } else { libc::dup2(from, place) };
            check(Step::Descriptors, placed)?;
        }
        if let Some(directory) = &prepared.directory {
            check(Step::Directory, libc::chdir(directory.as_ptr()))?;
        }
        if let Some(cpu) = prepared.placement.cpu {
            let mut mask: libc::cpu_set_t = mem::zeroed();
            if cpu >= libc::CPU_SETSIZE as usize {
                return Err((Step::Pin, libc::EINVAL));
            }
            libc::CPU_SET(cpu, &mut mask);
            check(Step::Pin, libc::sched_setaffinity(0, size_of_val(&mask), &raw const mask))?;
        }
        if let Some(priority) = prepared.placement.fifo_priority {
            let parameter = libc::sched_param { sched_priority: i32::from(priority) };
            check(Step::Fifo, libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter))?;
        }
        if let Some(slice_ns) = prepared.placement.slice_ns {
            // Where it cannot be, turns are as long as they were.
            let _ = slice::shorten(slice_ns);
        }
    }
    Ok(())
}

impl Child {
    /// Waits for the end and empties `drains` meanwhile; true when `stop` became readable.
    pub(super) fn until_end(&self, drains: &mut [Drain], stop: Option<BorrowedFd>) -> io::Result<bool> {
        // Negative descriptors are skipped by poll.
        let watch = |descriptor: RawFd| libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
        let mut watched = vec![watch(self.descriptor.as_raw_fd()), watch(stop.map_or(-1, |stop| stop.as_raw_fd()))];
        watched.extend(drains.iter().map(|drain| watch(drain.from.as_raw_fd())));
        loop {
            poll(&mut watched, -1)?;
            let [ended, stopped, pipes @ ..] = watched.as_mut_slice() else { return Ok(false) };
            if ended.revents != 0 {
                return Ok(false);
            }
            if stopped.revents != 0 {
                self.end()?;
                return Ok(true);
            }
            for (drain, watched) in drains.iter_mut().zip(pipes) {
                if watched.revents != 0 && drain.empty()? == Flow::Closed {
                    watched.fd = -1;
                }
            }
        }
    }

    /// Ends the process and its group, first kindly.
    fn end(&self) -> io::Result<()> {
        let mut watched = [libc::pollfd { fd: self.descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 }];
        for signal in [libc::SIGTERM, libc::SIGKILL] {
            // SAFETY: a signal to a group that exists as long as its first process is not reaped.
            unsafe { libc::kill(-self.pid, signal) };
            if poll(&mut watched, GRACE_MS)? > 0 {
                return Ok(());
            }
        }
        poll(&mut watched, -1).map(drop)
    }

    /// Takes the account of a process that ended, and reaps it; waits for one that still runs.
    pub(super) fn reap(&self) -> io::Result<Account> {
        account::settle(self.pid)
    }
}

fn poll(watched: &mut [libc::pollfd], timeout_ms: i32) -> io::Result<i32> {
    loop {
        // SAFETY: a slice of plain data and its length.
        let ready = unsafe { libc::poll(watched.as_mut_ptr(), watched.len() as libc::nfds_t, timeout_ms) };
        let error = io::Error::last_os_error();
        match (ready, error.kind()) {
            (-1, io::ErrorKind::Interrupted) => {}
            (-1, _) => return Err(error),
            _ => return Ok(ready),
        }
    }
}

pub(super) fn file_in_memory() -> io::Result<File> {
    const NAME: &CStr = c"prony";
    // SAFETY: a C string; nothing else owns the new descriptor.
    unsafe {
        let descriptor = libc::memfd_create(NAME.as_ptr(), libc::MFD_CLOEXEC);
        if descriptor == -1 {
            return Err(io::Error::last_os_error());
        }
        let file = File::from_raw_fd(descriptor);
        // Appending: several processes share the file, and it is cut to nothing between them.
        if libc::fcntl(descriptor, libc::F_SETFL, libc::O_APPEND) == -1 {
            return Err(io::Error::last_os_error());
        }
        Ok(file)
    }
}

fn errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
