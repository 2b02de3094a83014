//! Samples of a command, of a running process and of the whole machine, until its end, a time limit or an interrupt.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use prony_machine::Interrupt;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::recording::Recording;
use crate::sampler::{Options, Sampler, SamplerError};

/// Time that a command has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);

/// Reasons why there are no samples.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// The kernel gives none.
    #[error(transparent)]
    Sampler(#[from] SamplerError),
    /// The command cannot be started.
    #[error("cannot run `{program}`: {error}")]
    Start {
        /// Its program.
        program: String,
        /// Reason of the operating system.
        error: io::Error,
    },
    /// Its end cannot be seen.
    #[error("cannot watch the command: {0}")]
    Watch(io::Error),
}

/// What of a command's output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// All of it, on standard error.
    Everything,
    /// What it writes to standard error.
    Errors,
}

/// Samples a command until its end, the time limit or an interrupt. Also returns how it ended; `None` where it was ended here.
///
/// # Errors
/// [`TakeError`] when it cannot be started, sampled or watched.
pub fn of_command(
    command: &[OsString],
    shown: Shown,
    options: &Options,
    limit: Option<Duration>,
    interrupt: &Interrupt,
) -> Result<(Recording, Option<ExitStatus>), TakeError> {
    let mut starter = Command::new(&command[0]);
    starter.args(&command[1..]);
    match shown {
        Shown::Everything => starter.stdout(io::stderr().as_fd().try_clone_to_owned().map_err(TakeError::Watch)?),
        Shown::Errors => starter.stdout(Stdio::null()),
    };
    let sampler = Sampler::of_children(options)?;
    let started = starter.spawn();
    let mut child =
        started.map_err(|error| TakeError::Start { program: command[0].to_string_lossy().into_owned(), error })?;
    let ended = until_end(limit, &mut child, interrupt);
    let recording = sampler.finish();
    let (status, stopped) = ended.map_err(TakeError::Watch)?;
    Ok((recording?, (!stopped).then_some(status)))
}

/// Samples a running process until its end, the time limit or an interrupt.
///
/// # Errors
/// As [`of_command`].
pub fn of_process(
    pid: i32,
    options: &Options,
    limit: Option<Duration>,
    interrupt: &Interrupt,
) -> Result<Recording, TakeError> {
    let sampler = Sampler::of_process(pid, options)?;
    let ended = ended(pid).map_err(TakeError::Watch)?;
    wait(Some(&ended), interrupt, limit).map_err(TakeError::Watch)?;
    Ok(sampler.finish()?)
}

/// Samples everything that runs until the time limit or an interrupt.
///
/// # Errors
/// As [`of_command`].
pub fn of_everyone(options: &Options, limit: Option<Duration>, interrupt: &Interrupt) -> Result<Recording, TakeError> {
    let sampler = Sampler::of_everyone(options)?;
    wait(None, interrupt, limit).map_err(TakeError::Watch)?;
    Ok(sampler.finish()?)
}

/// Readable once the process has ended.
fn ended(pid: i32) -> io::Result<OwnedFd> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::NotFound)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

/// Waits for the end of the command, and ends it on an interrupt or when time is up. True if it was ended so.
fn until_end(limit: Option<Duration>, child: &mut Child, interrupt: &Interrupt) -> io::Result<(ExitStatus, bool)> {
    let watch = ended(child.id() as i32);
    let waited = watch.and_then(|ended| {
        if wait(Some(&ended), interrupt, limit)? {
            return Ok(false);
        }
        if let Some(pid) = Pid::from_raw(child.id() as i32) {
            let _ = kill_process(pid, Signal::TERM);
        }
        wait_for(&[ended.as_fd()], GRACE)?;
        Ok(true)
    });
    // Nothing is left behind, also after an error.
    if child.try_wait()?.is_none() {
        child.kill()?;
    }
    let status = child.wait()?;
    Ok((status, waited?))
}

/// True when the process has ended, false after an interrupt or when time is up.
fn wait(ended: Option<&OwnedFd>, interrupt: &Interrupt, limit: Option<Duration>) -> io::Result<bool> {
    let began = Instant::now();
    loop {
        let left = limit.map_or(Duration::from_secs(3600), |limit| limit.saturating_sub(began.elapsed()));
        if left.is_zero() || interrupt.is_requested() {
            return Ok(false);
        }
        let mut descriptors = vec![interrupt.descriptor()];
        descriptors.extend(ended.map(AsFd::as_fd));
        if wait_for(&descriptors, left)?.get(1) == Some(&true) {
            return Ok(true);
        }
    }
}

/// Indices of the descriptors that are readable, after this time at the latest.
fn wait_for(descriptors: &[BorrowedFd<'_>], time: Duration) -> io::Result<Vec<bool>> {
    let mut polled: Vec<PollFd<'_>> =
        descriptors.iter().map(|descriptor| PollFd::from_borrowed_fd(*descriptor, PollFlags::IN)).collect();
    let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
    match poll(&mut polled, Some(&time)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(polled.iter().map(|entry| !entry.revents().is_empty()).collect()),
        Err(error) => Err(error.into()),
    }
}
