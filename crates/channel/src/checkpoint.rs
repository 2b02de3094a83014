//! Checkpoints of a replay: copies of the server, made by forks, from which it goes on for a debugger.

use crate::word::{Flag, StateWord, layout, states};
use std::sync::atomic::{AtomicI32, AtomicU64};

/// Checkpoints that are kept at most.
pub const CHECKPOINTS: usize = 64;

states! {
    /// State of a [`Checkpoint`].
    pub enum CheckpointState {
        /// There is none.
        Free = 0,
        /// The server is being copied.
        Begun = 1,
        /// The copy waits.
        Waiting = 2,
        /// The process outside wants a server that goes on from there. The copy makes one of itself, and waits again.
        Wanted = 3,
        /// The copy is to end.
        Dropped = 4,
    }
}

states! {
    /// Why a server has no checkpoint.
    pub enum NoCheckpoint {
        /// Nothing speaks against them.
        Nothing = 0,
        /// It has or had several threads, of which a fork copies one.
        Threads = 1,
        /// It has children.
        Children = 2,
        /// It has mapped memory that the copy would share.
        SharedMemory = 3,
        /// It has opened a file for reading and writing: the copy would find in it what was written later.
        Files = 4,
        /// It has put itself into a sandbox, in which it may not fork.
        Sandbox = 5,
        /// The kernel refused a copy.
        Refused = 6,
    }
}

/// A copy of the server.
#[repr(C)]
pub struct Checkpoint {
    /// State of the copy. A futex.
    pub state: StateWord<CheckpointState>,
    /// Kernel's id of the process (PID) that waits.
    pub pid: AtomicI32,
    /// Record of the process that was answered last.
    pub record: AtomicU64,
}

layout!(Checkpoint, 16, { state: 0, pid: 4, record: 8, });

/// Checkpoints of the process that a debugger will be attached to, and what they are for.
#[repr(C)]
pub struct Checkpoints {
    /// Checkpoints are to be made.
    pub wanted: Flag,
    /// Why none is made, at last.
    pub hindrance: StateWord<NoCheckpoint>,
    /// Number of the record at which the next one is due.
    pub due: AtomicU64,
    /// Records from one checkpoint to the next.
    pub interval: AtomicU64,
    /// Nanoseconds that making them has taken.
    pub spent_ns: AtomicU64,
    /// Numbers of the records at which a server that goes on from one waits for the debugger, [`NO_STOP`] for none.
    pub stops: [AtomicU64; 2],
    /// The copies.
    pub all: [Checkpoint; CHECKPOINTS],
}

layout!(Checkpoints, 1072, { wanted: 0, hindrance: 4, due: 8, interval: 16, spent_ns: 24, stops: 32, all: 48, });

/// Value of [`Checkpoints::stops`].
pub const NO_STOP: u64 = u64::MAX;
