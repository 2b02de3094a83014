//! A process to run, and reasons why it could not.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The number of [`Process::extra`] in the process.
pub const EXTRA_DESCRIPTOR: i32 = 3;

/// A program to run, and how.
#[derive(Debug)]
pub struct Process<'a> {
    /// Path of the program file.
    pub program: &'a Path,
    /// Program name and arguments, as `main` gets them.
    pub arguments: &'a [OsString],
    /// Complete environment of the process.
    pub environment: &'a [(OsString, OsString)],
    /// Working directory; the current one if `None`.
    pub directory: Option<&'a Path>,
    /// Descriptors 0, 1 and 2.
    pub streams: [BorrowedFd<'a>; 3],
    /// Descriptor 3, the only additional one: shells can name only one digit.
    pub extra: Option<BorrowedFd<'a>>,
    /// CPU affinity and scheduling of the process.
    pub placement: Placement,
}

/// CPU affinity and scheduling of a process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Placement {
    /// CPU to which the process is pinned.
    pub cpu: Option<usize>,
    /// Under `SCHED_FIFO` with this priority.
    pub fifo_priority: Option<u8>,
    /// Time slice in nanoseconds, as [`super::slice::shorten`] sets it, inherited by children. Kernels that know no slices
    /// (before 6.12) go on as they are.
    pub slice_ns: Option<u64>,
}

/// A pipe that is emptied while the process runs, so that it never waits for us.
#[derive(Debug)]
pub struct Drain {
    /// The end to read from.
    pub from: File,
    /// Keep at most this many bytes; the rest is thrown away.
    pub keep_bytes: usize,
    /// Bytes that were read so far, at most `keep_bytes`.
    pub bytes: Vec<u8>,
}

impl Drain {
    /// Empties `from`, which is made non-blocking.
    ///
    /// # Errors
    /// When the kernel does not take the flag.
    pub fn new(from: impl Into<OwnedFd>, keep_bytes: usize) -> io::Result<Drain> {
        let from = File::from(from.into());
        set_nonblocking(from.as_fd())?;
        Ok(Drain { from, keep_bytes, bytes: Vec::new() })
    }

    /// Reads whatever the pipe holds now.
    pub(super) fn empty(&mut self) -> io::Result<Flow> {
        let mut chunk = [0; 1 << 16];
        loop {
            match self.from.read(&mut chunk) {
                Ok(0) => return Ok(Flow::Closed),
                Ok(length) => {
                    let room = self.keep_bytes.saturating_sub(self.bytes.len());
                    self.bytes.extend_from_slice(chunk.get(..length.min(room)).unwrap_or_default());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Flow::Open),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Open,
    Closed,
}

/// Reasons why a process could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A name, argument or variable holds a zero byte, which C strings cannot.
    #[error("`{0}` holds a zero byte")]
    ZeroByte(String),
    /// The process could not be set up or its program not executed.
    #[error("cannot {step} `{}`: {error}", program.display())]
    Start {
        /// Step that failed before the program ran.
        step: Step,
        /// Path of the program file.
        program: PathBuf,
        /// Error that the kernel returned.
        error: io::Error,
    },
    /// The process ran, but could not be watched or accounted for.
    #[error("cannot watch `{}`: {error}", program.display())]
    Watch {
        /// Path of the program file.
        program: PathBuf,
        /// Error that the kernel returned.
        error: io::Error,
    },
}

/// Steps of a new process before it executes the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Step {
    /// Creation of the process by `clone`.
    Clone,
    /// Setup of its file descriptors.
    Descriptors,
    /// Change to its working directory.
    Directory,
    /// Pinning of the process to its CPU.
    Pin,
    /// Change to the scheduler `SCHED_FIFO`.
    Fifo,
    /// Execution of the program by `execve`.
    Execute,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::Clone => "make a process for",
            Step::Descriptors => "set up the descriptors of",
            Step::Directory => "change to the working directory of",
            Step::Pin => "pin",
            Step::Fifo => "give SCHED_FIFO to",
            Step::Execute => "execute",
        })
    }
}

fn set_nonblocking(descriptor: BorrowedFd) -> io::Result<()> {
    // SAFETY: a descriptor that is open, and flags.
    let set = unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    if set == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
