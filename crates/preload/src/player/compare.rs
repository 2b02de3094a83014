//! Sent bytes against recorded ones.

use super::{CallResult, count};
use crate::descriptors;
use crate::halt;
use crate::own_words;
use crate::report::{self, Finding};
use crate::ring::{Piece, emit_numbered};
use crate::state::control;
use crate::thread::Thread;
use prony_channel::{ADDED_OUTPUT, OP_MASK, Stop, StopKind, UNSENT_OUTPUT};
use prony_demo::{Head, Op, PartKind};
use std::sync::atomic::Ordering;

/// Run of sent bytes: address and length.
pub type Run = (*const u8, usize);

/// What a build is about to send.
pub struct Sending<'a, R> {
    /// Name of the call.
    pub op: Op,
    /// Descriptor it goes to.
    pub fd: i32,
    /// Address it goes to; empty for a connected socket.
    pub to: &'a [u8],
    /// Bytes altogether.
    pub total: usize,
    /// The bytes in order.
    pub runs: R,
}

/// Compares what is being sent with the record, and returns what the call returns.
///
/// `total`: bytes the build wants to send; `runs` yields them in order.
pub unsafe fn compare_output(
    thread: *mut Thread,
    answer: CallResult,
    op: Op,
    fd: i32,
    message: usize,
    total: usize,
    runs: impl Iterator<Item = Run> + Clone,
) {
    // SAFETY: the runs are buffers of the server that are as long as they say; the record is whole and in memory.
    unsafe {
        let expected = answer.part(PartKind::Out, message);
        if descriptors::is_internal(fd) && own_words::sent(fd, expected, total, runs.clone()) {
            return says_to_itself(thread, expected, runs);
        }
        let length = expected.len().min(total);
        let mut at = 0;
        for (bytes, run) in runs.clone() {
            let run = run.min(length - at);
            let found = std::slice::from_raw_parts(bytes, run);
            if found != &expected[at..at + run] {
                at += found.iter().zip(&expected[at..]).take_while(|(a, b)| a == b).count();
                return differs(thread, answer, op, fd, message, expected, total, at, runs);
            }
            at += run;
            if at == length {
                break;
            }
        }
        // The kernel may have taken less than was offered; that it was offered the same is in `aux`.
        let offered = if answer.part(PartKind::Message, 0).is_empty() { answer.aux() as usize } else { expected.len() };
        if total as u32 as usize != offered {
            return differs(thread, answer, op, fd, message, expected, total, length, runs);
        }
        if halt::is_output_wanted() {
            halt::see_output((*answer.head).order, message as u32, runs);
        }
        count!(thread, outputs, 1);
        count!(thread, output_bytes, length as u64);
    }
}

/// The build has written to a descriptor of which it has the other end, too.
unsafe fn says_to_itself(thread: *mut Thread, expected: &[u8], runs: impl Iterator<Item = Run>) {
    // SAFETY: the runs are as long as they say.
    unsafe {
        let mut rest = expected;
        let is_equal = runs.into_iter().all(|(bytes, run)| {
            let (now, later) = rest.split_at(run.min(rest.len()));
            rest = later;
            std::slice::from_raw_parts(bytes, now.len()) == now
        });
        count!(thread, outputs, 1);
        match is_equal {
            true => count!(thread, output_bytes, expected.len() as u64),
            false => count!(thread, resynced, 1),
        }
    }
}

/// Compares bytes that the kernel moved from a file; only what was taken is known.
pub unsafe fn compare_content(thread: *mut Thread, answer: CallResult, op: Op, fd: i32, run: Run) {
    // SAFETY: the run is as long as it says; the record is whole and in memory.
    unsafe {
        let expected = answer.part(PartKind::Out, 0);
        let found = std::slice::from_raw_parts(if run.0.is_null() { [].as_ptr() } else { run.0 }, run.1);
        if expected != found {
            let at = found.iter().zip(expected).take_while(|(a, b)| a == b).count();
            return differs(thread, answer, op, fd, 0, expected, found.len(), at, std::iter::once(run));
        }
        count!(thread, outputs, 1);
        count!(thread, output_bytes, expected.len() as u64);
    }
}

/// Ends the replay: the address differs from the recorded one.
pub unsafe fn compare_address(thread: *mut Thread, answer: CallResult, op: Op, fd: i32, message: usize, found: &[u8]) {
    // SAFETY: the record is whole and in memory.
    unsafe {
        let expected = answer.part(PartKind::Addr, message);
        if expected != found && !expected.is_empty() {
            let finding = Finding::differing(
                op,
                fd,
                answer.head,
                expected,
                found.len(),
                found.iter().zip(expected).take_while(|(a, b)| a == b).count(),
                std::iter::once((found.as_ptr(), found.len())),
            );
            report::stop(thread, Stop::Output, finding.of(StopKind::Destination));
        }
    }
}

#[cold]
#[allow(clippy::too_many_arguments)]
pub(super) unsafe fn differs(
    thread: *mut Thread,
    answer: CallResult,
    op: Op,
    fd: i32,
    message: usize,
    expected: &[u8],
    total: usize,
    at: usize,
    runs: impl Iterator<Item = Run> + Clone,
) {
    // SAFETY: the block is the calling thread's own, the record is whole and in memory, and the runs are buffers of the
    // server that are as long as they say.
    unsafe {
        let single = answer.part(PartKind::Message, 0).is_empty();
        // Of what the kernel took in part, another length would be another conversation.
        let any_length = !single || answer.aux() as usize == expected.len();
        if is_tolerant() && (expected.len() == total || any_length) {
            count!(thread, outputs_differing, 1);
            let record = (*answer.head).order;
            if hand_out(thread, op, fd, message as u32, record, &[], total, runs.clone()) {
                return;
            }
        }
        let finding = Finding::differing(op, fd, answer.head, expected, total, at, runs);
        report::stop(thread, Stop::Output, finding.in_message(message));
    }
}

/// Hands the bytes of an output out, to be compared outside; false where they are in more pieces than there is room for.
#[cold]
#[allow(clippy::too_many_arguments)]
unsafe fn hand_out(
    thread: *mut Thread,
    op: Op,
    fd: i32,
    message: u32,
    record: u64,
    to: &[u8],
    total: usize,
    runs: impl Iterator<Item = Run>,
) -> bool {
    // SAFETY: the block is the calling thread's own, and the runs are buffers of the server that are as long as they say.
    unsafe {
        let vector: &mut [libc::iovec; 64] = &mut [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 64];
        let mut used = 0;
        for ((bytes, length), place) in runs.zip(vector.iter_mut()) {
            *place = libc::iovec { iov_base: bytes.cast_mut().cast(), iov_len: length };
            used += length;
        }
        if used == total {
            let address = Piece::some(PartKind::Addr, to.as_ptr(), to.len());
            let content = Piece::Vector(PartKind::Out, vector.as_ptr(), total);
            emit_numbered(thread, op, fd, message, total as i64, record, &[address, content]);
        }
        used == total
    }
}

/// True if outputs may differ: they are handed out, and compared outside.
pub fn is_tolerant() -> bool {
    control().tolerant.load(Ordering::Relaxed)
}

/// An output that the recording does not have: it counts as sent, and is aligned outside.
pub(super) unsafe fn added(
    thread: *mut Thread,
    op: Op,
    fd: i32,
    record: *const Head,
    to: &[u8],
    total: usize,
    runs: impl Iterator<Item = Run>,
) -> bool {
    // SAFETY: as in `hand_out`; the caller passes a record that is in memory.
    unsafe {
        count!(thread, outputs_differing, 1);
        hand_out(thread, op, fd, ADDED_OUTPUT, (*record).order, to, total, runs)
    }
}

/// An output of the recording that the build did not make.
pub(super) unsafe fn unsent(thread: *mut Thread, record: *const Head) {
    // SAFETY: the block is the calling thread's own; the caller passes a record that is in memory, of a known call.
    unsafe {
        count!(thread, outputs_differing, 1);
        if let Some(op) = Op::from_number((*record).op & OP_MASK) {
            emit_numbered(thread, op, (*record).fd, UNSENT_OUTPUT, 0, (*record).order, &[]);
        }
    }
}
