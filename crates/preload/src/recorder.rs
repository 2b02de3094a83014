//! Records calls: each into the ring of its thread, while the thread has the baton.

use super::baton;
pub use super::ring::{Piece, emit_at_once, emit_clock, in_memory};
use super::thread::Thread;
use prony_demo::{Class, Op};

/// Records any call but the read of a clock. Another thread may have the baton first, unless a replay does not wait at
/// this record for its turn.
pub unsafe fn emit(thread: *mut Thread, op: Op, fd: i32, aux: u32, ret: i64, pieces: &[Piece]) {
    // SAFETY: as for this function: the block is the calling thread's own, and the pieces live across the call.
    unsafe {
        if !matches!(op.class(), Class::Clock | Class::Note) {
            baton::keep(thread);
        }
        emit_at_once(thread, op, fd, aux, ret, pieces);
    }
}
