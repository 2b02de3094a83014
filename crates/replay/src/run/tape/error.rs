//! Reasons why the records of a demo cannot be unpacked.

use prony_demo::{DemoError, ResultBeyondBound};
use std::io;

/// Error of unpacking the records of a demo.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    /// The demo cannot be read.
    #[error(transparent)]
    Demo(#[from] DemoError),
    /// The tape does not fit.
    #[error("cannot hold the {bytes} bytes of the tape in memory: {error}")]
    Memory {
        /// Bytes of the whole tape.
        bytes: u64,
        /// Error that the system returned.
        error: io::Error,
    },
    /// What of the records has to be in memory at once is more than is allowed.
    #[error(
        "the demo's records that must be in memory at the same time: expected at most {limit} bytes, found \
             {found}"
    )]
    TooLarge {
        /// Largest permitted number of bytes.
        limit: u64,
        /// Bytes that the threads which lived at the same time need.
        found: u64,
    },
    /// The demo is not what it was a moment ago.
    #[error("the demo changed while it was replayed")]
    Changed,
    /// The demo has no such frame.
    #[error("expected a frame below {frames}, found frame {frame}")]
    NoFrame {
        /// Frame that was requested.
        frame: u64,
        /// Number of frames that the demo has.
        frames: u64,
    },
    /// The demo has no such record.
    #[error("process {process} has no call at record {record} or behind it")]
    NoRecord {
        /// Index of the process in the recording, from 0.
        process: u16,
        /// Record that was requested.
        record: u64,
    },
    /// A signal requested a stop.
    #[error("interrupted")]
    Interrupted,
    /// The records are more than the demo states.
    #[error("the demo's records: expected the stated {stated} bytes, found more")]
    MoreThanStated {
        /// Number of bytes that the demo states.
        stated: u64,
    },
    /// More threads than a demo is believed to have.
    #[error("the demo's threads: expected at most {limit}, found more")]
    Threads {
        /// Largest permitted number of threads.
        limit: usize,
    },
    /// A record that no recorder writes, and that the player would be led astray by.
    #[error("record {order} of process {process}: {what}")]
    Record {
        /// Index of the process in the recording, from 0.
        process: u16,
        /// Place of the record in its process.
        order: u64,
        /// Rule that the record breaks.
        what: &'static str,
    },
    /// A record has a result that its call cannot have, and that the build must not be given.
    #[error("record {order} of process {process}: {beyond}")]
    Result {
        /// Index of the process in the recording, from 0.
        process: u16,
        /// Place of the record in its process.
        order: u64,
        /// The rule that it breaks.
        beyond: ResultBeyondBound,
    },
    /// The demo has no record of a call.
    #[error("the demo has no records")]
    Empty,
}
