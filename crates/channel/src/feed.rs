//! The window of a thread, where the tape is not mapped whole.

use crate::word::{Flag, Line, layout};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// The window of a thread: records that the process outside has unpacked and that the thread has not passed yet.
///
/// Records stand as on the tape, see [`crate::TapeHead`]. A *place* is a number of bytes from the first record of the
/// thread on; it lies in the window at its remainder by the bytes of the window. The window is mapped twice in a row, so
/// no record wraps.
#[repr(C, align(64))]
pub struct Feed {
    /// Player: how often a thread in this slot has requested a window.
    pub requests: AtomicU32,
    /// Player: one more than the place at which the thread waits for a record, 0 while it does not.
    pub wants: AtomicU64,
    /// Player: the place from which on it wants records.
    pub from: AtomicU64,
    /// Player: the place up to which it needs them no more.
    pub read: AtomicU64,
    /// Outside: the request that was answered last. What follows belongs to that one.
    pub given: Line<AtomicU32>,
    /// Outside: bytes of the window, a power of two; 0 for a thread without records.
    pub bytes: AtomicU64,
    /// Outside: place behind the last record.
    pub end: AtomicU64,
    /// Outside: the thread takes turns with others.
    pub ordered: Flag,
    /// Outside: its number in the list of turns.
    pub owner: AtomicU32,
    /// Outside: the process in whose order it stands.
    pub leader: AtomicU32,
    /// Outside: place up to which records are there; a record never stands there in part.
    pub filled: AtomicU64,
    /// Outside: `read` when the record at `full_filled` was found not to fit.
    pub full_read: AtomicU64,
    /// Outside: where the record stands that did not fit.
    pub full_filled: AtomicU64,
    /// Outside: at the number of a quarter of a window, modulo their count, the first record that begins in it or behind.
    pub quarters: [AtomicU64; QUARTERS],
}

layout!(Feed, 256, {
    requests: 0, wants: 8, from: 16, read: 24, given: 64, bytes: 128, end: 136, ordered: 144, owner: 148, leader: 152, filled: 160, full_read: 168,
    full_filled: 176, quarters: 184,
});

/// Value of [`Feed::leader`]: the recording does not have the process.
pub const NO_PROCESS: u32 = u32::MAX;

/// Quarters of windows that are distinguished: more than a window has.
pub const QUARTERS: usize = 8;
/// Bytes of the smallest window; a power of two.
pub const SMALLEST_WINDOW: u64 = 64 << 10;
