//! The thread of a replay that waits for a debugger, as the process outside sees it.

use super::Channel;
use prony_channel::HaltState;
use std::sync::atomic::Ordering;

/// Thread that waits for a debugger, and the record that it has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Halted {
    /// Index of the process in the recording, from 0.
    pub(crate) process: u32,
    /// Number of the thread within its process, from 0.
    pub(crate) thread: u32,
    /// Kernel's id of the process (PID).
    pub(crate) pid: i32,
    /// Kernel's id of the thread (TID).
    pub(crate) tid: i32,
    /// Number of the call.
    pub(crate) op: u16,
    /// Descriptor of the call, or -1.
    pub(crate) fd: i32,
    /// Record of the process.
    pub(crate) record: u64,
    /// Address of the function that a thread calls at each further place.
    pub(crate) arrival: u64,
    /// How far below the thread pointer the library has its block of each thread, and its size, in bytes.
    pub(crate) block: (u64, u64),
}

/// Byte of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutputByte {
    /// Number of its message within the call.
    pub(crate) message: u32,
    /// Offset within the message.
    pub(crate) byte: u64,
}

impl Channel {
    /// Has a thread wait that comes to the marked record, or diverges before.
    pub(crate) fn want_halt(&self) {
        self.control().halt.wanted.store(true, Ordering::Relaxed);
    }

    /// The thread that waits, once one does.
    pub(crate) fn halted(&self) -> Option<Halted> {
        let halt = &self.control().halt;
        halt.state.is(HaltState::Waiting, Ordering::Acquire).then(|| Halted {
            process: halt.process.load(Ordering::Relaxed),
            thread: halt.thread.load(Ordering::Relaxed),
            pid: halt.pid.load(Ordering::Relaxed),
            tid: halt.tid.load(Ordering::Relaxed),
            op: halt.op.load(Ordering::Relaxed) as u16,
            fd: halt.fd.load(Ordering::Relaxed),
            record: halt.record.load(Ordering::Relaxed),
            arrival: halt.arrival.load(Ordering::Relaxed),
            block: (halt.block_below.load(Ordering::Relaxed), halt.block_bytes.load(Ordering::Relaxed)),
        })
    }

    /// Makes comparing this byte a further place, in the output of the record at which a thread waits.
    pub(crate) fn want_output(&self, output: OutputByte) {
        let halt = &self.control().halt;
        halt.output_message.store(output.message, Ordering::Relaxed);
        halt.output_byte.store(output.byte, Ordering::Relaxed);
        halt.output_wanted.store(true, Ordering::Relaxed);
    }

    /// Address in the server of the byte of output that was wanted or that differs, and number of its message; `None` where there is
    /// none.
    pub(crate) fn output_place(&self) -> Option<(u64, u32)> {
        let halt = &self.control().halt;
        let address = halt.output_address.load(Ordering::Relaxed);
        (address != 0).then(|| (address, halt.output_message.load(Ordering::Relaxed)))
    }

    /// Lets the thread go on: a debugger has it.
    pub(crate) fn release(&self) {
        self.control().halt.state.store(HaltState::Released, Ordering::Release);
    }
}
