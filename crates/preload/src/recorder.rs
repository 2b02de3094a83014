//! Records calls: each into the ring of its thread, while the thread has the baton.

use super::baton;
pub use super::ring::{Piece, emit_at_once, emit_clock, in_memory};
use super::thread::Thread;
use prony_demo::Op;

/// Any call but the read of a clock.
pub unsafe fn emit(thread: *mut Thread, op: Op, fd: i32, aux: u32, ret: i64, pieces: &[Piece]) {
    // SAFETY: as for this function: the block is the calling thread's own, and the pieces live across the call.
    unsafe {
        baton::keep(thread);
        emit_at_once(thread, op, fd, aux, ret, pieces);
    }
}
