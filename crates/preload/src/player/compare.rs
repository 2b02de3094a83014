//! Sent bytes against recorded ones.

use super::{Answer, count};
use crate::report::{self, Finding};
use crate::ring::{Piece, emit_numbered};
use crate::state::control;
use crate::thread::Thread;
use prony_channel::{Stop, StopKind};
use prony_demo::{Op, PartKind};
use std::sync::atomic::Ordering;

/// Run of sent bytes: address and length.
pub type Run = (*const u8, usize);

/// Compares what is being sent with the record, and returns what the call returns.
///
/// `total`: bytes the build wants to send; `runs` yields them in order.
pub unsafe fn compare_output(
    thread: *mut Thread,
    answer: Answer,
    op: Op,
    fd: i32,
    message: usize,
    total: usize,
    runs: impl Iterator<Item = Run> + Clone,
) {
    // SAFETY: the runs are buffers of the server that are as long as they say; the record is whole and in memory.
    unsafe {
        let expected = answer.part(PartKind::Out, message);
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
        count!(thread, outputs, 1);
        count!(thread, output_bytes, length as u64);
    }
}

/// Compares bytes that the kernel moved from a file; only what was taken is known.
pub unsafe fn compare_content(thread: *mut Thread, answer: Answer, op: Op, fd: i32, run: Run) {
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
pub unsafe fn compare_address(thread: *mut Thread, answer: Answer, op: Op, fd: i32, message: usize, found: &[u8]) {
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
    answer: Answer,
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
        if control().tolerant.load(Ordering::Relaxed) && expected.len() == total {
            count!(thread, outputs_differing, 1);
            let vector: &mut [libc::iovec; 64] = &mut [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 64];
            let mut used = 0;
            for ((bytes, length), place) in runs.clone().zip(vector.iter_mut()) {
                *place = libc::iovec { iov_base: bytes.cast_mut().cast(), iov_len: length };
                used += length;
            }
            if used == total {
                let piece = Piece::Vector(PartKind::Out, vector.as_ptr(), total);
                let record = (*answer.head).order;
                emit_numbered(thread, op, fd, message as u32, total as i64, record, &[piece]);
                return;
            }
        }
        report::stop(thread, Stop::Output, Finding::differing(op, fd, answer.head, expected, total, at, runs));
    }
}
