//! Starting a server under preload: descriptors at their places, addresses not randomised, state
//! directories mounted over, in a process group of its own.

use crate::outside::Channel;
use prony_channel::{CHANNEL_FD, ENVIRONMENT_MARK, LIBRARY_FD, LIBRARY_PATH, TAPE_FD};
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// A server to be started.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The program and its arguments.
    pub argv: &'a [OsString],
    /// The file to run.
    pub executable: &'a Path,
    /// Its whole environment.
    pub environment: &'a [(OsString, OsString)],
    /// Its working directory.
    pub cwd: &'a Path,
    /// What to mount, in a mount namespace of the server's own.
    pub mounts: &'a [Mount],
    /// Where its output goes; `None` for where ours goes.
    pub output: Option<&'a File>,
    /// Give it our standard input; `/dev/null` otherwise.
    pub input: bool,
    /// End it when this process ends, however that comes.
    pub dies_with_us: bool,
}

/// Something that a server finds in its mount namespace alone. What is merged is mounted before what is bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mount {
    /// A directory or file in the place of another.
    Bind {
        /// What is seen there.
        what: PathBuf,
        /// Where.
        place: PathBuf,
    },
    /// A directory whose files are seen over those of another. What is written there goes into it, too.
    Merge {
        /// The directory.
        upper: PathBuf,
        /// An empty directory of the same file system, for the kernel. Neither it nor `upper` lies below `place`, and
        /// neither path has a comma, colon or backslash.
        work: PathBuf,
        /// Where.
        place: PathBuf,
        /// What is mounted below `place` already, which stays visible.
        inner: Vec<PathBuf>,
    },
}

/// A server that was started.
#[derive(Debug)]
pub struct Launched {
    child: Child,
    ended: Option<ExitStatus>,
    /// CPU time of those that were reaped, in seconds.
    cpu_s: f64,
    /// Readable once the process has ended.
    watch: Option<OwnedFd>,
}

/// Two names that must have the same length for record and replay: the kernel puts the environment
/// on the stack, above everything else.
fn set_preload(command: &mut Command, environment: &[(OsString, OsString)]) {
    let others = environment.iter().find(|(name, _)| name == "LD_PRELOAD").map(|(_, value)| value.as_os_str());
    let mut value = OsString::from(LIBRARY_PATH);
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        value.push(":");
        value.push(others);
    }
    command.env("LD_PRELOAD", value).env(ENVIRONMENT_MARK, "0");
}

impl Launch<'_> {
    /// Starts the server with `channel`, under the library in `library`.
    ///
    /// # Errors
    /// What kept the kernel from it: a missing file, a permission, no mount namespace.
    pub fn start(&self, channel: &Channel, library: BorrowedFd) -> io::Result<Launched> {
        let mut command = Command::new(self.executable);
        if let Some(name) = self.argv.first() {
            command.arg0(name);
        }
        command
            .args(self.argv.iter().skip(1))
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        set_preload(&mut command, self.environment);
        command.stdin(if self.input { Stdio::inherit() } else { Stdio::null() });
        if let Some(output) = self.output {
            command.stdout(output.try_clone()?).stderr(output.try_clone()?);
        }
        let (memory, tape) = channel.descriptors();
        let mut places = vec![(memory.as_raw_fd(), CHANNEL_FD), (library.as_raw_fd(), LIBRARY_FD)];
        places.extend(tape.map(|tape| (tape.as_raw_fd(), TAPE_FD)));
        let mut mounts = Mounts::of(self.mounts)?;
        let cwd = c_string(self.cwd)?;
        // Addresses of the server's own group: SIGINT from the terminal reaches the outside only,
        // which forwards it.
        command.process_group(0);
        let dies_with_us = self.dies_with_us;
        // SAFETY: the closure calls only async-signal-safe functions on memory made before the
        // fork.
        unsafe {
            command.pre_exec(move || {
                if dies_with_us {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                }
                prepare(&places, &mut mounts, &cwd)
            });
        }
        Ok(Launched { child: command.spawn()?, ended: None, cpu_s: 0.0, watch: None })
    }
}

fn c_string(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// What to mount as the kernel takes it, with room for what is known only in the child.
struct Mounts {
    /// Each with a descriptor, where one is needed.
    binds: Vec<(CString, CString, RawFd)>,
    merges: Vec<Merge>,
}

struct Merge {
    place: CString,
    options: CString,
    inner: Vec<(CString, RawFd)>,
}

impl Mounts {
    fn of(mounts: &[Mount]) -> io::Result<Mounts> {
        let mut made = Mounts { binds: Vec::new(), merges: Vec::new() };
        for mount in mounts {
            match mount {
                Mount::Bind { what, place } => made.binds.push((c_string(what)?, c_string(place)?, -1)),
                Mount::Merge { upper, work, place, inner } => {
                    // Extended attributes of the other kind are for root alone (overlayfs.rst of Linux, "User xattr").
                    // SAFETY: only asks.
                    let owner = if unsafe { libc::geteuid() } == 0 { "" } else { ",userxattr" };
                    let mut options = OsString::from("lowerdir=.,upperdir=");
                    options.push(upper);
                    options.push(",workdir=");
                    options.push(work);
                    options.push(owner);
                    let inner = inner.iter().map(|path| Ok((c_string(path)?, -1))).collect::<io::Result<_>>()?;
                    made.merges.push(Merge { place: c_string(place)?, options: c_string(options.as_ref())?, inner });
                }
            }
        }
        Ok(made)
    }

    fn is_empty(&self) -> bool {
        self.binds.is_empty() && self.merges.is_empty()
    }

    /// Mounts everything. Whatever lies where something is merged is taken hold of before that hides it.
    ///
    /// # Safety
    /// For the child between `fork` and `exec`: plain system calls on memory that was made before.
    unsafe fn mount(&mut self) -> io::Result<()> {
        // SAFETY: all strings live across the calls.
        unsafe {
            let none = std::ptr::null();
            if self.merges.is_empty() {
                for (what, place, _) in &self.binds {
                    check(libc::mount(what.as_ptr(), place.as_ptr(), none, libc::MS_BIND, none.cast()))?;
                }
                return Ok(());
            }
            for (what, _, tree) in &mut self.binds {
                *tree = take_tree(what, 0)?;
            }
            for Merge { place, options, inner } in &mut self.merges {
                for (path, tree) in inner.iter_mut() {
                    *tree = take_tree(path, libc::AT_RECURSIVE as libc::c_uint)?;
                }
                check(libc::chdir(place.as_ptr()))?;
                let kind = c"overlay".as_ptr();
                check(libc::mount(kind, place.as_ptr(), kind, 0, options.as_ptr().cast()))?;
                for (path, tree) in inner.iter() {
                    put_tree(*tree, path)?;
                }
            }
            for (_, place, tree) in &self.binds {
                put_tree(*tree, place)?;
            }
        }
        Ok(())
    }
}

/// Takes hold of what a path leads to, to mount it later (open_tree(2), Linux 5.2).
unsafe fn take_tree(path: &CString, flags: libc::c_uint) -> io::Result<RawFd> {
    // SAFETY: the string lives across the call.
    let tree = unsafe {
        let flags = flags | libc::OPEN_TREE_CLONE | libc::OPEN_TREE_CLOEXEC;
        libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags)
    };
    check(tree as libc::c_int)
}

/// Mounts it (move_mount(2)) and lets go.
unsafe fn put_tree(tree: RawFd, place: &CString) -> io::Result<()> {
    const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;
    // SAFETY: the strings live across the calls, and the descriptor is ours.
    unsafe {
        let (from, to) = (c"".as_ptr(), place.as_ptr());
        let flags = MOVE_MOUNT_F_EMPTY_PATH;
        check(libc::syscall(libc::SYS_move_mount, tree, from, libc::AT_FDCWD, to, flags) as libc::c_int)?;
        check(libc::close(tree))?;
    }
    Ok(())
}

/// Runs in the child between `fork` and `exec`.
fn prepare(places: &[(RawFd, RawFd)], mounts: &mut Mounts, cwd: &CString) -> io::Result<()> {
    // SAFETY: plain system calls on values that live across them.
    unsafe {
        for &(from, to) in places {
            check(libc::dup2(from, to))?;
        }
        const ADDR_NO_RANDOMIZE: libc::c_ulong = 0x0040000;
        check(libc::personality(ADDR_NO_RANDOMIZE))?;
        if !mounts.is_empty() {
            let root = libc::geteuid() == 0;
            if !root {
                enter_user_namespace()?;
            }
            check(libc::unshare(libc::CLONE_NEWNS))?;
            let none = std::ptr::null();
            check(libc::mount(none, c"/".as_ptr(), none, libc::MS_REC | libc::MS_PRIVATE, none.cast()))?;
            mounts.mount()?;
        }
        // It may lie below what has just been mounted.
        check(libc::chdir(cwd.as_ptr()))?;
    }
    Ok(())
}

/// A person without root gets a mount namespace by way of a user namespace in which nothing but
/// their own id exists.
unsafe fn enter_user_namespace() -> io::Result<()> {
    unsafe fn write(path: &std::ffi::CStr, text: &[u8]) -> io::Result<()> {
        // SAFETY: the path is a C string and the text is as long as it says.
        unsafe {
            let fd = libc::open(path.as_ptr(), libc::O_WRONLY);
            if fd < 0 || libc::write(fd, text.as_ptr().cast(), text.len()) < 0 {
                return Err(io::Error::last_os_error());
            }
            libc::close(fd);
        }
        Ok(())
    }
    // `id id 1` without allocating.
    fn mapping(id: u32, room: &mut [u8; 32]) -> &[u8] {
        let mut digits = [0; 10];
        let mut used = 0;
        let mut rest = id;
        loop {
            digits[used] = b'0' + (rest % 10) as u8;
            used += 1;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let mut at = 0;
        for _ in 0..2 {
            for digit in digits[..used].iter().rev() {
                room[at] = *digit;
                at += 1;
            }
            room[at] = b' ';
            at += 1;
        }
        room[at] = b'1';
        &room[..=at]
    }
    // SAFETY: plain system calls.
    unsafe {
        let (user, group) = (libc::geteuid(), libc::getegid());
        if libc::unshare(libc::CLONE_NEWUSER) == -1 {
            return Err(io::Error::last_os_error());
        }
        let mut room = [0; 32];
        write(c"/proc/self/setgroups", b"deny")?;
        write(c"/proc/self/uid_map", mapping(user, &mut room))?;
        write(c"/proc/self/gid_map", mapping(group, &mut room))
    }
}

impl Launched {
    /// Kernel's id of the process, and of its process group.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// How the started process ended, if it has.
    ///
    /// # Errors
    /// When the kernel no longer knows the process.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            let reaped = self.reap(self.pid(), libc::WNOHANG)?;
            self.ended = reaped.map(ExitStatus::from_raw);
        }
        Ok(self.ended)
    }

    /// Reaps a child if it ended, and returns how. `whom` is as in waitpid(2).
    fn reap(&mut self, whom: libc::pid_t, options: libc::c_int) -> io::Result<Option<libc::c_int>> {
        // SAFETY: all zero is a valid rusage; it and the status are filled by the call, which they outlive.
        let (reaped, status, used) = unsafe {
            let (mut status, mut used) = (0, std::mem::zeroed::<libc::rusage>());
            (libc::wait4(whom, &mut status, options, &mut used), status, used)
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        match reaped {
            -1 => Err(io::Error::last_os_error()),
            0 => Ok(None),
            _ => {
                self.cpu_s += seconds(used.ru_utime) + seconds(used.ru_stime);
                Ok(Some(status))
            }
        }
    }

    /// Sends a signal to the started process.
    pub fn signal(&self, signal: i32) {
        if self.ended.is_none() {
            // SAFETY: the child has not been reaped, so the number is still its own.
            unsafe { libc::kill(self.pid(), signal) };
        }
    }

    /// Sends a signal to a process that the shared memory names, if it descends from this one: what stands there a
    /// server wrote, and it may name whom it likes.
    pub fn signal_process(pid: i32, signal: i32) {
        // SAFETY: the descriptor is new and ours; as long as it is open, the number belongs to the same process.
        unsafe {
            let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0) as RawFd;
            if fd < 0 {
                return;
            }
            let process = OwnedFd::from_raw_fd(fd);
            if Launched::runs(pid) {
                libc::syscall(libc::SYS_pidfd_send_signal, process.as_raw_fd(), signal, std::ptr::null::<()>(), 0);
            }
        }
    }

    /// Waits until the started process has ended, at most this long.
    ///
    /// # Errors
    /// When the kernel has no descriptor for the process.
    pub fn wait_for(&mut self, time: std::time::Duration) -> io::Result<Option<ExitStatus>> {
        if self.ended()?.is_none() {
            if self.watch.is_none() {
                // SAFETY: the child has not been reaped; the descriptor is new and ours.
                self.watch = unsafe {
                    let fd = libc::syscall(libc::SYS_pidfd_open, self.pid(), 0) as RawFd;
                    if fd < 0 {
                        return Err(io::Error::last_os_error());
                    }
                    Some(OwnedFd::from_raw_fd(fd))
                };
            }
            if let Some(watch) = &self.watch {
                let mut poll = libc::pollfd { fd: watch.as_raw_fd(), events: libc::POLLIN, revents: 0 };
                // SAFETY: one entry, which lives across the call.
                unsafe { libc::poll(&mut poll, 1, time.as_millis() as i32) };
            }
        }
        self.ended()
    }

    /// Ends every process of the group.
    pub fn kill_group(&self) {
        // SAFETY: the group was made for this child; members keep its number in use.
        unsafe { libc::kill(-self.pid(), libc::SIGKILL) };
    }

    /// CPU time of the started process and of its children, as far as they have ended and are reaped, in seconds.
    pub fn cpu_s(&self) -> f64 {
        self.cpu_s
    }

    /// Becomes the parent of orphaned grandchildren, so that none outlives a replay unseen.
    pub fn adopt_orphans() {
        // SAFETY: sets an attribute of this process.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    }

    /// Reaps orphans of the started process that ended: those of its group, and of `processes`, whatever group they went
    /// to. True while there are others that run. Servers that were started at the same time keep theirs.
    pub fn reap_orphans(&mut self, processes: &[i32]) -> bool {
        if !matches!(self.ended(), Ok(Some(_))) {
            return true;
        }
        let group = [-self.pid()];
        let mut others_run = false;
        for &whom in group.iter().chain(processes.iter().filter(|&&pid| pid > 0)) {
            // Until it is nobody's, or a child of somebody else.
            while let Ok(found) = self.reap(whom, libc::WNOHANG) {
                if found.is_none() {
                    others_run = true;
                    break;
                }
            }
        }
        others_run
    }

    /// True if the process descends from this one and still runs (and is not a zombie).
    pub fn runs(pid: i32) -> bool {
        match parent_and_state(pid) {
            Some((_, b'Z' | b'X')) | None => false,
            Some((parent, _)) => descends(parent),
        }
    }
}

/// Generations that are looked at.
const GENERATIONS: usize = 1000;

/// True for this process and its descendants, as far as those in between live; a process whose parent died is this
/// one's child (see [`Launched::adopt_orphans`]).
fn descends(mut pid: i32) -> bool {
    for _ in 0..GENERATIONS {
        if pid == std::process::id() as i32 {
            return true;
        }
        match parent_and_state(pid) {
            Some((parent, _)) if parent > 0 => pid = parent,
            _ => return false,
        }
    }
    false
}

/// Parent and state of a process: what follows its name, which may hold anything, in `/proc/PID/stat`.
fn parent_and_state(pid: i32) -> Option<(i32, u8)> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat);
    let mut fields = stat.rsplit(") ").next()?.split(' ');
    let state = fields.next()?.bytes().next()?;
    Some((fields.next()?.parse().ok()?, state))
}

impl Drop for Launched {
    fn drop(&mut self) {
        self.kill_group();
        if self.ended.is_none() {
            while self.reap(self.pid(), 0).is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {}
        }
    }
}
