//! Halt of a replay: a thread that waits for a debugger.

use crate::word::{Flag, StateWord, layout, states};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

states! {
    /// State of a [`Halt`].
    pub enum HaltState {
        /// No thread has come to the place yet.
        Absent = 0,
        /// A thread writes where it is.
        Begun = 1,
        /// The thread waits. What is written can be read.
        Waiting = 2,
        /// A debugger has stopped the thread, which goes on once the debugger lets it.
        Released = 3,
    }
}

/// Place at which the first thread that comes there waits for a debugger, and what a debugger has to know of it.
#[repr(C)]
pub struct Halt {
    /// A debugger will be attached: at the record of the tape that has [`crate::HALT`], or at a divergence before it.
    pub wanted: Flag,
    /// State of the halt. What follows belongs to the thread that changed it from [`HaltState::Absent`].
    pub state: StateWord<HaltState>,
    /// Index of the process in the recording, from 0.
    pub process: AtomicU32,
    /// Number of the thread within its process, from 0.
    pub thread: AtomicU32,
    /// Kernel's id of the process (PID).
    pub pid: AtomicI32,
    /// Kernel's id of the thread (TID).
    pub tid: AtomicI32,
    /// Number of the call that stands at the record.
    pub op: AtomicU32,
    /// Descriptor of the call, or -1.
    pub fd: AtomicI32,
    /// Record of the process.
    pub record: AtomicU64,
    /// Address of a function of the library that a thread calls at each further place, once a debugger is attached.
    pub arrival: AtomicU64,
    /// Address in the server of a byte of output: the first one that differs, or the wanted one; 0 where there is none.
    pub output_address: AtomicU64,
    /// Byte of the message whose address is wanted, of the output of `record`.
    pub output_byte: AtomicU64,
    /// Number of that message within its call.
    pub output_message: AtomicU32,
    /// The address of that byte is wanted, and comparing it is a further place.
    pub output_wanted: Flag,
    /// How far below its thread pointer each thread has the block of the library, in bytes; 0 where that is not known.
    pub block_below: AtomicU64,
    /// Bytes of the block.
    pub block_bytes: AtomicU64,
}

layout!(Halt, 88, {
    wanted: 0, state: 4, process: 8, thread: 12, pid: 16, tid: 20, op: 24, fd: 28, record: 32, arrival: 40, output_address: 48,
    output_byte: 56, output_message: 64, output_wanted: 68, block_below: 72, block_bytes: 80,
});
