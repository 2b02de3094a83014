//! Report of a divergence, and of calls that failed in a replay, as the player writes them.

use crate::word::{SharedBytes, StateWord, layout, states};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

states! {
    /// Class of a divergence, as the server's side reports it.
    pub enum Stop {
        /// Sent bytes differ, are missing or were not expected.
        Output = 1,
        /// A call came where the demo has another one.
        Order = 2,
        /// A call of which the demo has no record.
        Unrecorded = 3,
        /// The build ended before the demo did.
        EarlyExit = 4,
        /// The demo ended and the build goes on.
        LateExit = 5,
        /// What a recorded call brought does not fit into the build.
        Input = 6,
    }
}

states! {
    /// Kind of difference within a [`Stop`].
    pub enum StopKind {
        /// No further kind: the class says it all.
        Call = 0,
        /// A recorded output was not sent.
        NotSent = 1,
        /// An output that was not recorded.
        NotRecorded = 2,
        /// Bytes or length of an output.
        Bytes = 3,
        /// The destination of an output differs.
        Destination = 4,
        /// The status that the build ended with.
        Status = 5,
        /// The room for it is smaller.
        Room = 6,
        /// The number of a new descriptor is taken.
        Descriptor = 7,
    }
}

states! {
    /// State of a [`Report`], which one thread alone writes.
    pub enum ReportState {
        /// No thread has reported a divergence.
        Absent = 0,
        /// A thread is writing it.
        Begun = 1,
        /// The report can be read.
        Complete = 2,
    }
}

/// Bytes of either side shown in a report.
pub const WINDOW_BYTES: usize = 128;
/// Callers shown in a report.
pub const CALLERS: usize = 12;
/// Bytes of a caller's description.
pub const CALLER_BYTES: usize = 160;

/// Facts of the first divergence, written by the player.
#[repr(C)]
pub struct Report {
    /// State of the report. What follows belongs to who changed it from [`ReportState::Absent`].
    pub state: StateWord<ReportState>,
    /// Class of the divergence; valid when `state` says so.
    pub class: StateWord<Stop>,
    /// Kind of difference within the class.
    pub kind: StateWord<StopKind>,
    /// The status that the build ended with, if it called `exit`.
    pub status: AtomicI32,
    /// Index of the process in the recording, from 0.
    pub process: AtomicU32,
    /// Number of the thread within its process, from 0.
    pub thread: AtomicU32,
    /// The call the build made, 0 for none.
    pub op: AtomicU32,
    /// Descriptor of the call, or -1.
    pub fd: AtomicI32,
    /// Record of the process that was expected.
    pub record: AtomicU64,
    /// First byte that differs, or `u64::MAX`.
    pub byte: AtomicU64,
    /// Bytes the demo has for this output.
    pub expected_bytes: AtomicU64,
    /// Number of bytes the build sent.
    pub found_bytes: AtomicU64,
    /// Place of the two windows within the output.
    pub window_start: AtomicU64,
    /// Number of valid bytes of `expected`.
    pub expected_len: AtomicU32,
    /// Number of valid bytes of `found`.
    pub found_len: AtomicU32,
    /// Recorded bytes around the first differing one.
    pub expected: SharedBytes<WINDOW_BYTES>,
    /// Bytes that the build sent there.
    pub found: SharedBytes<WINDOW_BYTES>,
    /// Number of callers that are described.
    pub callers: AtomicU32,
    /// `object+0xoffset (symbol)`, innermost first, each ended by a zero byte.
    pub caller: [SharedBytes<CALLER_BYTES>; CALLERS],
}

layout!(Report, 2264, {
    state: 0, class: 4, kind: 8, status: 12, process: 16, thread: 20, op: 24, fd: 28, record: 32, byte: 40,
    expected_bytes: 48, found_bytes: 56, window_start: 64, expected_len: 72, found_len: 76, expected: 80, found: 208,
    callers: 336, caller: 340,
});

/// Real calls that failed, of which a replay keeps the last this many.
pub const FAILURES: usize = 512;

/// Value of [`Failure::state`]: the failure is being written.
pub const UNFINISHED: u32 = 0;

/// Value of [`Failure::errno`]: the call did not fail, but has another result than in the recording.
pub const CHANGED: i32 = 0;

/// A call that a replay makes for real, and that failed.
#[repr(C)]
pub struct Failure {
    /// Number of the failure plus one, or [`UNFINISHED`].
    pub state: AtomicU32,
    /// Index of the process in the recording, from 0.
    pub process: AtomicU32,
    /// Number of the thread within its process, from 0.
    pub thread: AtomicU32,
    /// `errno` that the call returned here.
    pub errno: AtomicI32,
    /// The descriptor that it was about, or -1.
    pub fd: AtomicI32,
    /// Number of valid bytes of `path`.
    pub path_len: AtomicU32,
    /// The record that the thread was answered with last.
    pub record: AtomicU64,
    /// C name of the call, ended by a zero byte.
    pub name: SharedBytes<32>,
    /// The path that it was about, cut where the place ends; empty for none.
    pub path: SharedBytes<184>,
}

layout!(Failure, 248, {
    state: 0, process: 4, thread: 8, errno: 12, fd: 16, path_len: 20, record: 24, name: 32, path: 64,
});

/// Number of results of real calls that a replay keeps: the last ones.
pub const RETURNED: usize = 48;

/// What a call returned that a replay makes for real.
#[repr(C)]
pub struct Returned {
    /// Number of the result plus one, or [`UNFINISHED`].
    pub state: AtomicU32,
    /// Index of the process in the recording, from 0.
    pub process: AtomicU32,
    /// Number of the thread within its process, from 0.
    pub thread: AtomicU32,
    /// Number of valid bytes of `path`.
    pub path_len: AtomicU32,
    /// Number of valid bytes of `bytes`.
    pub bytes_len: AtomicU32,
    /// The record that the thread was answered with last.
    pub record: AtomicU64,
    /// C name of the call, ended by a zero byte.
    pub name: SharedBytes<32>,
    /// The path that it was about, cut where the place ends.
    pub path: SharedBytes<184>,
    /// What it wrote into the memory of the build, cut where the place ends.
    pub bytes: SharedBytes<RETURNED_BYTES>,
}

/// Bytes of one result that are kept.
pub const RETURNED_BYTES: usize = 4096;

layout!(Returned, 4344, {
    state: 0, process: 4, thread: 8, path_len: 12, bytes_len: 16, record: 24, name: 32, path: 64, bytes: 248,
});

/// `aux` of a note of a call that failed: it did.
pub const NOTED: u32 = 0;
/// `aux` of the same: from here on the failures of this process are noted.
pub const NOTED_FROM_HERE: u32 = 1;
/// `aux` of the same: there were too many in this process, and no more are noted.
pub const NOTED_NO_MORE: u32 = 2;
