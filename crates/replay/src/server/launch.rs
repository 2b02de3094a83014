//! Starting a server under preload: descriptors at their places, addresses not randomised, state
//! directories mounted over, in a process group of its own.

#![allow(unsafe_code, reason = "what the child does before `exec`, and its accounts, have no safe interface")]

pub(crate) mod beside;
mod launched;
mod mounts;

use crate::channel::Channel;
use crate::files::mount::Mount;
use crate::server::inheritance::Inheritance;
use crate::server::library::Libraries;
use crate::server::program::Architecture;
pub(crate) use launched::Launched;
use libc::c_int;
use mounts::Mounts;
use prony_channel::{
    CHANNEL_FD, ENVIRONMENT_MARK, LIBRARY_FD, LIBRARY_I386_FD, LIBRARY_I386_PATH, LIBRARY_PATH, MARK_SERVER, MARK_TOOL,
    TAPE_FD,
};
use std::ffi::{CString, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The kernel's error for a descriptor above the limit.
pub(crate) const EBADF: i32 = 9;

/// A server to be started.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    /// The program and its arguments; a tool's, with the server's behind them, where there is one.
    pub(crate) argv: &'a [OsString],
    /// Path of the program file, or of the tool's.
    pub(crate) executable: &'a Path,
    /// A tool is started, which starts the server.
    pub(crate) by_tool: bool,
    /// Architecture that it was built for.
    pub(crate) architecture: Architecture,
    /// Complete environment of the server.
    pub(crate) environment: &'a [(OsString, OsString)],
    /// Working directory of the server.
    pub(crate) cwd: &'a Path,
    /// Mounts to make in a mount namespace of the server's own.
    pub(crate) mounts: &'a [Mount],
    /// File for its standard output and error; `None`: inherited from this process.
    pub(crate) output: Option<&'a File>,
    /// Standard input of the server.
    pub(crate) input: Input<'a>,
    /// End it when this process ends, however that comes.
    pub(crate) dies_with_us: bool,
    /// It gets the descriptors above standard error that this process has got, as natively.
    pub(crate) inherits: bool,
    /// What else it has from the one that starts it.
    pub(crate) inheritance: &'a Inheritance,
}

/// Standard input of a server.
#[derive(Debug)]
pub(crate) enum Input<'a> {
    /// Standard input is empty: `/dev/null`.
    Nothing,
    /// Standard input is that of this process.
    Own,
    /// Standard input is this end of a pipe.
    Pipe(&'a File),
}

/// Two names that must have the same length for record and replay: the kernel puts the environment
/// on the stack, above everything else.
fn set_preload(command: &mut Command, architecture: Architecture, environment: &[(OsString, OsString)], mark: &str) {
    let others = environment.iter().find(|(name, _)| name == "LD_PRELOAD").map(|(_, value)| value.as_os_str());
    let mut value = OsString::from(match architecture {
        Architecture::Own => LIBRARY_PATH,
        Architecture::I386 => LIBRARY_I386_PATH,
    });
    if let Some(others) = others.filter(|others| !others.is_empty()) {
        value.push(":");
        value.push(others);
    }
    command.env("LD_PRELOAD", value).env(ENVIRONMENT_MARK, mark);
}

impl Launch<'_> {
    /// Starts the server with `channel`, under the library for its architecture; the other one is there for programs
    /// that it runs.
    ///
    /// # Errors
    /// What kept the kernel from it: a missing file, a permission, no mount namespace.
    pub(crate) fn start(&self, channel: &Channel, libraries: &Libraries) -> io::Result<Launched> {
        let mut command = Command::new(self.executable);
        if let Some(name) = self.argv.first() {
            command.arg0(name);
        }
        command
            .args(self.argv.iter().skip(1))
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        let mark = if self.by_tool { MARK_TOOL } else { MARK_SERVER };
        set_preload(&mut command, self.architecture, self.environment, mark);
        command.stdin(match self.input {
            Input::Nothing => Stdio::null(),
            Input::Own => Stdio::inherit(),
            Input::Pipe(end) => end.try_clone()?.into(),
        });
        if let Some(output) = self.output {
            command.stdout(output.try_clone()?).stderr(output.try_clone()?);
        }
        let (memory, tape) = channel.descriptors();
        let mut places = vec![(memory.as_raw_fd(), CHANNEL_FD), (libraries.own.as_raw_fd(), LIBRARY_FD)];
        places.extend(libraries.i386.iter().map(|library| (library.as_raw_fd(), LIBRARY_I386_FD)));
        places.extend(tape.map(|tape| (tape.as_raw_fd(), TAPE_FD)));
        let mut mounts = Mounts::of(self.mounts)?;
        let cwd = c_string(self.cwd)?;
        // Addresses of the server's own group: SIGINT from the terminal reaches the outside only,
        // which forwards it.
        command.process_group(0);
        let (dies_with_us, inherits) = (self.dies_with_us, self.inherits);
        let (inheritance, limits) = (*self.inheritance, !self.by_tool);
        // SAFETY: the closure calls only async-signal-safe functions on memory made before the
        // fork.
        unsafe {
            command.pre_exec(move || {
                if dies_with_us {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                }
                if !inherits {
                    // Kernels before 5.11 cannot; there the build has them, too.
                    libc::close_range(3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as c_int);
                }
                prepare(&places, &mut mounts, &cwd)?;
                // The standard library has signals as they are by default.
                inheritance.adopt(limits);
                Ok(())
            });
        }
        Ok(Launched::of(command.spawn()?))
    }
}

/// Runs in the child between `fork` and `exec`.
fn prepare(places: &[(RawFd, RawFd)], mounts: &mut Mounts, cwd: &CString) -> io::Result<()> {
    for &(from, to) in places {
        // SAFETY: acts on descriptors of the child alone, which nothing in it owns.
        check(unsafe { libc::dup2(from, to) })?;
    }
    const ADDR_NO_RANDOMIZE: libc::c_ulong = 0x0040000;
    // SAFETY: sets an attribute of the child.
    check(unsafe { libc::personality(ADDR_NO_RANDOMIZE) })?;
    // SAFETY: this is the child between `fork` and `exec`.
    unsafe { mounts.mount()? };
    // It may lie below what has just been mounted.
    // SAFETY: the string lives across the call.
    check(unsafe { libc::chdir(cwd.as_ptr()) })?;
    Ok(())
}

fn c_string(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
