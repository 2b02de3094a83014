//! The tape of a replay, and what records on it and in rings have of their own.

use crate::word::layout;

/// The tape: what a replay walks over.
///
/// ```text
/// TapeHead, then `streams` × TapeStream, then each stream's records, then for each process with
/// several threads a [`turn_entry`] for every turn.
/// ```
///
/// Records stand as in memory (`prony_demo::Head` and parts), with two fields of another meaning:
/// `time` is the turn that begins with the record, or [`NO_TURN`]; and `op`
/// may carry [`FRAME_END`] and [`HALT`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TapeHead {
    /// Magic number of a tape, [`crate::MAGIC`].
    pub magic: u64,
    /// Number of [`TapeStream`] entries that follow.
    pub streams: u64,
}

layout!(TapeHead, 16, { magic: 0, streams: 8, });

/// The records of one thread.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TapeStream {
    /// Index of the process in the recording, from 0.
    pub process: u32,
    /// Number of the thread within its process, from 0.
    pub thread: u32,
    /// First byte of its records.
    pub start: u64,
    /// Offset after the last byte.
    pub end: u64,
    /// First byte of the turn owners of its process, 0 when it has one thread.
    pub turns: u64,
    /// Number of turns in the stream's process.
    pub turn_count: u64,
}

layout!(TapeStream, 40, { process: 0, thread: 4, start: 8, end: 16, turns: 24, turn_count: 32, });

/// Bit of a turn's number from which on it is stored in the upper half of its [`turn_entry`], as far as it fits.
pub(crate) const TURN_TAG_SHIFT: u32 = 18;

/// Entry of the list of turns: the thread that has the turn, and the number of the turn among those that share a
/// position.
pub const fn turn_entry(turn: u64, owner: u16) -> u32 {
    owner as u32 | ((turn >> TURN_TAG_SHIFT) as u32) << 16
}

/// `op` of a record that stands for several reads of one clock in a row, in rings only: `ret` is
/// the number of the call, `aux` the clock, `fd` how many; their nanoseconds follow the head as
/// `i64`. They take as many places in the order of the process, from `order` on.
pub const CLOCK_RUN: u16 = 0x3fff;
/// Reads of a clock that one such record holds at most.
pub const CLOCK_RUN_READS: usize = 512;

/// `time` of a tape record that begins no turn.
pub const NO_TURN: u64 = u64::MAX;

/// Flag in a tape record's `op`: the record ends a frame.
pub const FRAME_END: u16 = 0x4000;
/// Flag in a tape record's `op`, set by the player: the record was answered ahead of its place.
pub const TAKEN: u16 = 0x8000;
/// Flag in a tape record's `op`, set by the player: the build took a part of its bytes; `aux` then holds their number.
pub const PARTLY: u16 = 0x2000;
/// Flag in a tape record's `op`: the thread that comes to the record waits for a debugger.
pub const HALT: u16 = 0x1000;
/// Bits of a tape record's `op` that are the call's number.
pub const OP_MASK: u16 = 0x0fff;
