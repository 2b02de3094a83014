//! The end of a recording whose server goes on: where the demo is cut, and the request for it by another process.

use crate::files::partial;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A server without frames, or one whose clients are silent, is cut where it stands after this time.
pub(super) const FRAME_WITHIN: Duration = Duration::from_secs(1);

/// Place at which the demo ends although the server goes on.
#[derive(Debug, Default)]
pub(super) enum Cut {
    /// The recording goes on.
    #[default]
    NotRequested,
    /// At the end of the frame under way, or where the server stands at this time.
    Requested(Instant),
    /// What comes now is not recorded.
    Made,
}

impl Cut {
    /// The demo is to end with a frame, at this time at the latest.
    pub(super) fn request(&mut self, latest: Instant) {
        match self {
            Cut::NotRequested => *self = Cut::Requested(latest),
            Cut::Requested(until) => *until = latest.min(*until),
            Cut::Made => {}
        }
    }

    /// A frame has ended with the last record.
    pub(super) fn at_frame(&mut self) {
        if let Cut::Requested(_) = self {
            *self = Cut::Made;
        }
    }

    pub(super) fn is_made(&self) -> bool {
        matches!(self, Cut::Made)
    }

    /// True once the demo is cut. `attached`: the server has begun to record.
    pub(super) fn is_due(&mut self, now: Instant, attached: bool) -> bool {
        if matches!(self, Cut::Requested(latest) if attached && now >= *latest) {
            *self = Cut::Made;
        }
        self.is_made()
    }
}

/// Error of stopping a recording from another process.
#[derive(Debug, thiserror::Error)]
pub enum StopError {
    /// There is no unfinished demo of this name.
    #[error("`{}` is not being recorded: there is no `{}`", demo.display(), partial.display())]
    NotRecorded {
        /// The demo that was named.
        demo: PathBuf,
        /// The name that it has while it is recorded.
        partial: PathBuf,
    },
    /// No recorder has the unfinished demo open.
    #[error("`{}` is not being recorded: no recorder of yours has `{}` open", demo.display(), partial.display())]
    NoRecorder {
        /// The demo that was named.
        demo: PathBuf,
        /// The name that it has while it is recorded.
        partial: PathBuf,
    },
    /// The recorder has ended without completing the demo.
    #[error("the recorder (process {pid}) ended without completing `{}`", demo.display())]
    NotCompleted {
        /// The demo that was named.
        demo: PathBuf,
        /// Process of the recorder.
        pid: i32,
    },
    /// Something of the system failed.
    #[error("cannot {what} (process {pid}): {error}")]
    System {
        /// Attempted action as a verb phrase.
        what: &'static str,
        /// Process of the recorder.
        pid: i32,
        /// Error that the system returned.
        error: io::Error,
    },
}

/// Ends the recording of `demo`, which another process makes, and waits until the demo is complete. The server goes on.
///
/// # Errors
/// [`StopError`]; where no recorder was found, nothing was signalled.
pub fn stop_recording(demo: &Path) -> Result<(), StopError> {
    let partial = partial::path_of(demo);
    let Ok(unfinished) = fs::metadata(&partial) else {
        return Err(StopError::NotRecorded { demo: demo.to_owned(), partial });
    };
    let identity = (unfinished.dev(), unfinished.ino());
    let Some(recorder) = recorder_of(identity) else {
        return Err(StopError::NoRecorder { demo: demo.to_owned(), partial });
    };
    let pid = recorder.as_raw_nonzero().get();
    let system = |what| move |error: rustix::io::Errno| StopError::System { what, pid, error: error.into() };
    // As long as it is open, the number belongs to the same process.
    let process = pidfd_open(recorder, PidfdFlags::empty()).map_err(system("watch the recorder"))?;
    rustix::process::pidfd_send_signal(&process, Signal::USR1).map_err(system("signal the recorder"))?;
    let is_complete = || fs::metadata(demo).is_ok_and(|file| (file.dev(), file.ino()) == identity);
    loop {
        if is_complete() {
            return Ok(());
        }
        let mut watched = [PollFd::new(&process, PollFlags::IN)];
        let soon = rustix::time::Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        let ended = poll(&mut watched, Some(&soon)).map_err(system("wait for the recorder"))? > 0;
        if ended && !is_complete() {
            return Err(StopError::NotCompleted { demo: demo.to_owned(), pid });
        }
    }
}

/// The process that has this file open for writing and catches the signal: a recorder.
fn recorder_of((device, inode): (u64, u64)) -> Option<Pid> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter_map(Pid::from_raw).find(|pid| {
        let place = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
        let descriptors = fs::read_dir(place.join("fd")).into_iter().flatten().flatten();
        let mut open = descriptors.filter(|fd| {
            fs::metadata(fd.path()).is_ok_and(|file| (file.dev(), file.ino()) == (device, inode))
                && is_writable(&place.join("fdinfo").join(fd.file_name()))
        });
        open.next().is_some() && catches_stop(&place)
    })
}

/// True if a descriptor is open for writing, by its `/proc/PID/fdinfo/FD`.
fn is_writable(information: &Path) -> bool {
    let text = fs::read_to_string(information).unwrap_or_default();
    let flags = text.lines().find_map(|line| i32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_ACCMODE != libc::O_RDONLY)
}

/// True if a process has a handler for the signal, which would end it otherwise.
fn catches_stop(place: &Path) -> bool {
    let text = fs::read_to_string(place.join("status")).unwrap_or_default();
    let caught = text.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigCgt:")?.trim(), 16).ok());
    caught.is_some_and(|caught| caught >> (libc::SIGUSR1 - 1) & 1 == 1)
}
