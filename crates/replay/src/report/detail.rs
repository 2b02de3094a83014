//! Facts about a divergence beyond its class and position.

use super::Doing;
use prony_demo::tolerance::DifferenceAt;
use std::fmt;
use std::process::ExitStatus;

/// Facts about a divergence beyond its class and position.
#[derive(Debug, Clone, PartialEq)]
pub enum Detail {
    /// Lengths of an output, in bytes, where they differ.
    Lengths {
        /// Number of bytes in the recording.
        expected: u64,
        /// Number of bytes that the build sent.
        found: u64,
    },
    /// Status that the build was about to end with.
    EndingStatus(i32),
    /// Output that differs by more than the tolerance rules allow; `None` where no rule covers the byte.
    NotTolerated(Option<BeyondLimit>),
    /// Field of an output, as a decoder names it, that differs by more than is tolerated.
    Field(Box<DifferenceAt>),
    /// Signal that ended the build.
    Signal {
        /// Number of the signal.
        signal: i32,
        /// Number of records answered before the end.
        records: u64,
        /// Number of records in the demo.
        of: u64,
    },
    /// End of the build before all records were answered.
    Ended {
        /// Exit status of the build.
        status: ExitStatus,
        /// Number of records answered before the end.
        records: u64,
        /// Number of records in the demo.
        of: u64,
    },
    /// Files that the recorded server read and that cannot be read here.
    FilesLacking(FilesLacking),
    /// Replay that made no progress; [`super::Divergence::threads`] has what each thread was doing.
    NoProgress {
        /// Activity of the process that was started.
        process: Doing,
        /// Turn that did not come; `None` where no thread waited for one.
        turn: Option<u64>,
        /// The build made calls all the time, of which the recording has none at this place.
        spins: bool,
    },
}

/// A number in an output that is further from the recorded one than its rule allows.
#[derive(Debug, Clone, PartialEq)]
pub struct BeyondLimit {
    /// Place of the rule in its file, from 0.
    pub rule: usize,
    /// Description of the field: type and place.
    pub field: String,
    /// First byte of the field in the output.
    pub offset: usize,
    /// Value of the field in the recording.
    pub recorded: f64,
    /// Value of the field in the replay.
    pub replayed: f64,
}

/// Files that the recorded server read and that cannot be read here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilesLacking {
    /// Path of the first one.
    pub first: String,
    /// Number of further files that are not named.
    pub more: usize,
    /// State of what is in their place.
    pub lack: Lack,
}

/// State of what is in place of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lack {
    /// No file of this machine has the name.
    NotThere,
    /// Something that is not a regular file.
    NotRegular,
}

impl FilesLacking {
    /// `None` where no file is lacking.
    pub(crate) fn of(files: &[String], lack: Lack) -> Option<FilesLacking> {
        let first = files.first()?.clone();
        Some(FilesLacking { first, more: files.len() - 1, lack })
    }
}

impl fmt::Display for FilesLacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FilesLacking { first, more, lack } = self;
        let what = match lack {
            Lack::NotThere => "not there",
            Lack::NotRegular => "not a regular file here",
        };
        match more {
            0 => write!(f, "the server read `{first}`, which is {what}"),
            more => write!(f, "the server read `{first}` and {more} more, which is {what}"),
        }
    }
}
