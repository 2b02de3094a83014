//! An event that the kernel counts of the server's own code.

use crate::word::{Flag, layout};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// The event, and what was counted of it.
#[repr(C)]
pub struct Counter {
    /// It is counted.
    pub wanted: Flag,
    /// Kind of the event: `type` of `perf_event_attr`.
    pub kind: AtomicU32,
    /// The event itself: `config` of `perf_event_attr`.
    pub config: AtomicU64,
    /// Events of the server, of all processes and threads.
    pub total: AtomicU64,
    /// Those of the process whose frames count.
    pub of_process: AtomicU64,
    /// Those of it before its first frame.
    pub before_frames: AtomicU64,
    /// Error number of the first thread that could not count it; 0 for none.
    pub failed: AtomicI32,
}

layout!(Counter, 48, {
    wanted: 0, kind: 4, config: 8, total: 16, of_process: 24, before_frames: 32, failed: 40,
});
