//! Writes records into the ring of the calling thread.
//!
//! The ring has one writer and one reader and is mapped twice in a row, so a record is one run of
//! plain stores followed by one release store of the head. The reader outside merges the rings of
//! a process, or of those that share their order, by `order`.

use super::addresses::{self, RING_BYTES};
use super::report;
use super::state::{self, control, leader};
use super::thread::{RECORDING, Thread};
use prony_channel::ticks;
use prony_channel::{CHANNEL_FD, CLOCK_RUN, CLOCK_RUN_READS, CONTROL_BYTES, Waiting, ring_offset};
use prony_demo::{HEAD_BYTES, Head, Op, PART_HEAD_BYTES, PartKind, part_size};
use std::ffi::c_void;
use std::sync::atomic::Ordering;

/// Part of a record to be written.
#[derive(Clone, Copy)]
pub enum Piece {
    /// The piece has no part.
    Nothing,
    /// Content in one place: kind, address, length in bytes.
    Bytes(PartKind, *const u8, usize),
    /// The first `usize` bytes of a vector of buffers.
    Vector(PartKind, *const libc::iovec, usize),
}

impl Piece {
    /// Piece with the bytes of a plain value.
    pub fn value<T>(value: &T) -> Piece {
        Piece::Bytes(PartKind::Value, (value as *const T).cast(), size_of::<T>())
    }

    /// A C string, without its zero; empty for a null pointer.
    pub unsafe fn path(text: *const libc::c_char) -> Piece {
        // SAFETY: the caller passes a path that is null or a C string.
        unsafe {
            let length = if text.is_null() { 0 } else { libc::strlen(text) };
            Piece::Bytes(PartKind::Path, text.cast(), length)
        }
    }

    /// Content if there is any.
    pub fn some(kind: PartKind, bytes: *const u8, length: usize) -> Piece {
        if bytes.is_null() || length == 0 { Piece::Nothing } else { Piece::Bytes(kind, bytes, length) }
    }

    fn size(&self) -> usize {
        if matches!(self, Piece::Nothing) { 0 } else { part_size(self.length()) }
    }

    fn length(&self) -> usize {
        match *self {
            Piece::Nothing => 0,
            Piece::Bytes(_, _, length) | Piece::Vector(_, _, length) => length,
        }
    }

    fn kind(&self) -> PartKind {
        match *self {
            Piece::Bytes(kind, ..) | Piece::Vector(kind, ..) => kind,
            Piece::Nothing => PartKind::Value,
        }
    }

    /// Calls `each` for every run of bytes of the content.
    #[inline(always)]
    unsafe fn runs(&self, mut each: impl FnMut(*const u8, usize)) {
        // SAFETY: a piece is made of a vector whose buffers hold as many bytes as it says.
        unsafe {
            match *self {
                Piece::Nothing => {}
                Piece::Bytes(_, bytes, length) => each(bytes, length),
                Piece::Vector(_, mut buffer, mut left) => {
                    while left > 0 {
                        let length = (*buffer).iov_len.min(left);
                        each((*buffer).iov_base.cast(), length);
                        left -= length;
                        buffer = buffer.add(1);
                    }
                }
            }
        }
    }
}

/// Maps the ring of the thread's slot, twice in a row. A replay has something to write only where differences are
/// tolerated.
pub unsafe fn map(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own, and its slot is one of the control area. Nothing else is mapped
    // where the ring goes, or the call fails.
    unsafe {
        if state::mode() != RECORDING && !control().tolerant.load(Ordering::Relaxed) {
            return;
        }
        let place = (*thread).slot.offset_from(&raw const control().threads[0]) as usize;
        let ring = addresses::CONTROL + CONTROL_BYTES + place * 2 * RING_BYTES;
        for half in 0..2 {
            let at = ring + half * RING_BYTES;
            let mapped = libc::mmap64(
                at as *mut c_void,
                RING_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE,
                CHANNEL_FD,
                ring_offset(place) as i64,
            );
            if mapped as usize != at {
                report::fatal(&[b"cannot map the ring of a thread: out of memory or descriptor 1000 was closed"]);
            }
        }
        (*thread).ring = ring as *mut u8;
        (*(*thread).slot).ring_bytes.store(RING_BYTES as u32, Ordering::Relaxed);
        (*thread).head = (*(*thread).slot).head.0.load(Ordering::Relaxed);
        (*thread).tail_seen = (*(*thread).slot).tail.0.load(Ordering::Acquire);
    }
}

/// Gives the address range of the thread's ring back. An open clock run must be closed before,
/// unless it belongs to the parent of a forked child.
pub unsafe fn unmap(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own; no other thread writes to the ring, and this one has forgotten it.
    unsafe {
        (*thread).run_reads = 0;
        let ring = std::mem::replace(&mut (*thread).ring, std::ptr::null_mut());
        if !ring.is_null() {
            libc::munmap(ring.cast(), 2 * RING_BYTES);
        }
    }
}

/// The next place in the order of this process's calls, or of those of all that share it.
#[inline(always)]
fn next_order() -> u64 {
    leader().order.fetch_add(1, Ordering::Relaxed)
}

/// Bytes of the longest clock run.
const RUN_BYTES: usize = HEAD_BYTES + 8 * CLOCK_RUN_READS;

/// A clock read: no parts, no time of its own.
///
/// Reads of one clock in a row share one record, which is published by the next call of another
/// kind, or when it is full; a server that spins on the clock costs eight bytes a turn.
#[inline(always)]
pub unsafe fn emit_clock(thread: *mut Thread, op: Op, clock: u32, nanoseconds: i64) {
    // SAFETY: the block is the calling thread's own, which has a ring; an open run has room for every read up to
    // `CLOCK_RUN_READS`.
    unsafe {
        if (*thread).run_reads == 0 || (*thread).run_op != op as u16 || (*thread).run_clock != clock {
            if state::is_over() {
                return;
            }
            open_run(thread, op, clock);
        }
        let at = (*thread).ring.add(((*thread).head as usize & (RING_BYTES - 1)) + HEAD_BYTES);
        at.cast::<i64>().add((*thread).run_reads as usize).write(nanoseconds);
        (*thread).run_reads += 1;
        if (*thread).run_reads as usize == CLOCK_RUN_READS {
            close_run(thread);
        }
    }
}

unsafe fn open_run(thread: *mut Thread, op: Op, clock: u32) {
    // SAFETY: the block is the calling thread's own, which has a ring.
    unsafe {
        close_run(thread);
        if (*thread).head + RUN_BYTES as u64 > (*thread).tail_seen + RING_BYTES as u64 {
            wait_for_space(thread, RUN_BYTES);
        }
        ((*thread).run_op, (*thread).run_clock) = (op as u16, clock);
    }
}

/// Publishes the open clock run, if there is one. Its places in the order are taken now: reads of
/// a clock wait for no turn, so only their order within the thread matters.
#[inline(always)]
pub unsafe fn close_run(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own, which has a ring: from `head` on there is room for the run.
    unsafe {
        let reads = std::mem::take(&mut (*thread).run_reads);
        if reads == 0 {
            return;
        }
        let size = HEAD_BYTES + 8 * reads as usize;
        let at = (*thread).ring.add((*thread).head as usize & (RING_BYTES - 1)).cast::<Head>();
        at.write(Head {
            size: size as u32,
            op: CLOCK_RUN,
            thread: (*thread).index,
            order: leader().order.fetch_add(u64::from(reads), Ordering::Relaxed),
            time: 0,
            ret: i64::from((*thread).run_op),
            fd: reads as i32,
            aux: (*thread).run_clock,
        });
        (*thread).head += size as u64;
        (*(*thread).slot).head.0.store((*thread).head, Ordering::Release);
    }
}

/// A call that is recorded before another thread may have the baton.
pub unsafe fn emit_at_once(thread: *mut Thread, op: Op, fd: i32, aux: u32, ret: i64, pieces: &[Piece]) {
    // SAFETY: the block is the calling thread's own, which has a ring, and the pieces live across the call.
    unsafe {
        if state::is_over() {
            return;
        }
        close_run(thread);
        if (*thread).unrecorded != 0 && op.restarts_count() {
            (*thread).unrecorded = 0;
        }
        let order = next_order();
        emit_numbered(thread, op, fd, aux, ret, order, pieces);
    }
}

/// A call whose place in the order is already known.
pub unsafe fn emit_numbered(thread: *mut Thread, op: Op, fd: i32, aux: u32, ret: i64, order: u64, pieces: &[Piece]) {
    // SAFETY: the block is the calling thread's own. Its ring has room for the record from `head` on, as it was waited
    // for, and does not wrap, as it is mapped twice in a row. The pieces live across the call.
    unsafe {
        let size = HEAD_BYTES + pieces.iter().map(Piece::size).sum::<usize>();
        if size > u32::MAX as usize {
            report::fatal(&[b"a single call moved 4 GiB or more"]);
        }
        let head =
            Head { size: size as u32, op: op as u16, thread: (*thread).index, order, time: ticks(), ret, fd, aux };
        if size > RING_BYTES / 2 {
            return emit_in_steps(thread, &head, pieces);
        }
        if (*thread).head + size as u64 > (*thread).tail_seen + RING_BYTES as u64 {
            wait_for_space(thread, size);
        }
        let at = (*thread).ring.add(((*thread).head as usize) & (RING_BYTES - 1));
        at.cast::<Head>().write(head);
        put_pieces(at.add(HEAD_BYTES), pieces);
        (*thread).head += size as u64;
        (*(*thread).slot).head.0.store((*thread).head, Ordering::Release);
        own_lines_ahead((*thread).ring.add((*thread).head as usize & (RING_BYTES - 1)), size);
    }
}

/// Prefetches the cache lines that the next record of this size will be written to. The reader on
/// another core looked at them last, so each would stall the store; requested now, they arrive
/// while the server works or is in the kernel. Measured on a 1,200-byte send: see the benchmarks.
#[inline(always)]
fn own_lines_ahead(at: *const u8, bytes: usize) {
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    for line in (0..bytes.min(LINES_AHEAD_BYTES)).step_by(64) {
        // SAFETY: `prefetchw` only hints, also for an address that is not mapped; where a processor lacks it, it does
        // nothing.
        unsafe {
            std::arch::asm!("prefetchw [{}]", in(reg) at.wrapping_add(line), options(nostack, preserves_flags));
        }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
    let _ = (at, bytes);
}

/// Lines are prefetched this far ahead; a processor follows some two dozen requests at a time.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
const LINES_AHEAD_BYTES: usize = 2048;

/// Lays parts out in a row.
#[inline(always)]
unsafe fn put_pieces(mut at: *mut u8, pieces: &[Piece]) {
    // SAFETY: the caller has room for all pieces from `at` on, which is a multiple of 8, and the pieces live across the
    // call.
    unsafe {
        for piece in pieces.iter().filter(|piece| piece.size() > 0) {
            let length = piece.length();
            at.cast::<u64>().write(part_head(piece.kind(), length));
            // The last word first: what the content does not cover of it is the padding.
            if !length.is_multiple_of(8) {
                at.add(PART_HEAD_BYTES + (length & !7)).cast::<u64>().write(0);
            }
            let mut content = at.add(PART_HEAD_BYTES);
            piece.runs(|bytes, length| {
                bytes.copy_to_nonoverlapping(content, length);
                content = content.add(length);
            });
            at = at.add(part_size(length));
        }
    }
}

/// Lays a record of these parts out in memory of its own and shows it to `read`.
pub unsafe fn in_memory<T>(pieces: &[Piece], read: impl FnOnce(*const Head) -> T) -> T {
    // SAFETY: the mapping is fresh and has room for the record; it is given back when nothing reads it any more.
    unsafe {
        let size = HEAD_BYTES + pieces.iter().map(Piece::size).sum::<usize>();
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let start: *mut u8 = libc::mmap(std::ptr::null_mut(), size, protection, flags, -1, 0).cast();
        if start.cast() == libc::MAP_FAILED {
            report::fatal(&[b"out of memory"]);
        }
        start.cast::<Head>().write(Head {
            size: size as u32,
            op: 0,
            thread: 0,
            order: 0,
            time: 0,
            ret: 0,
            fd: -1,
            aux: 0,
        });
        put_pieces(start.add(HEAD_BYTES), pieces);
        let value = read(start.cast());
        libc::munmap(start.cast(), size);
        value
    }
}

const fn part_head(kind: PartKind, length: usize) -> u64 {
    kind as u64 | (length as u64) << 32
}

/// A record larger than half the ring: written and published in pieces.
#[cold]
unsafe fn emit_in_steps(thread: *mut Thread, head: &Head, pieces: &[Piece]) {
    // SAFETY: the block is the calling thread's own, which has a ring, and head and pieces live across the call.
    unsafe {
        put(thread, (head as *const Head).cast(), HEAD_BYTES);
        for piece in pieces.iter().filter(|piece| piece.size() > 0) {
            let length = piece.length();
            let head = part_head(piece.kind(), length);
            put(thread, (&raw const head).cast(), PART_HEAD_BYTES);
            piece.runs(|bytes, length| put(thread, bytes, length));
            put(thread, [0u8; 8].as_ptr(), length.next_multiple_of(8) - length);
        }
    }
}

unsafe fn put(thread: *mut Thread, mut bytes: *const u8, mut length: usize) {
    // SAFETY: the block is the calling thread's own. Its ring has room for each step from `head` on, as it was waited
    // for; the caller passes as many bytes as it says.
    unsafe {
        while length > 0 {
            let step = length.min(RING_BYTES / 4);
            if (*thread).head + step as u64 > (*thread).tail_seen + RING_BYTES as u64 {
                wait_for_space(thread, step);
            }
            let at = (*thread).ring.add(((*thread).head as usize) & (RING_BYTES - 1));
            bytes.copy_to_nonoverlapping(at, step);
            (*thread).head += step as u64;
            (*(*thread).slot).head.0.store((*thread).head, Ordering::Release);
            bytes = bytes.add(step);
            length -= step;
        }
    }
}

/// Waits until the reader has made room. If it is gone, the server goes on unrecorded: a server
/// must not die of its recorder.
#[cold]
unsafe fn wait_for_space(thread: *mut Thread, size: usize) {
    // SAFETY: the block is the calling thread's own; it has a slot, and the pause lives across its call.
    unsafe {
        let errno = super::state::errno();
        let live = std::mem::replace(&mut (*thread).live, super::thread::PASS_THROUGH);
        let mut rounds = 0u32;
        (*(*thread).slot).waiting.store(Waiting::Reader, Ordering::Relaxed);
        state::wake_outside();
        let since = state::nanoseconds();
        loop {
            (*thread).tail_seen = (*(*thread).slot).tail.0.load(Ordering::Acquire);
            if (*thread).head + size as u64 <= (*thread).tail_seen + RING_BYTES as u64 {
                break;
            }
            rounds += 1;
            let pause = libc::timespec { tv_sec: 0, tv_nsec: 50_000 };
            libc::nanosleep(&pause, std::ptr::null_mut());
            if rounds.is_multiple_of(2000) && state::is_outside_gone() {
                control().ended.store(true, Ordering::Relaxed);
            }
            if state::is_over() {
                // What is left of this record goes into memory that is not read any more.
                (*(*thread).slot).tail.0.store((*thread).head, Ordering::Release);
            }
        }
        let awaited_ns = state::nanoseconds().saturating_sub(since);
        (*(*thread).slot).room_awaited_ns.fetch_add(awaited_ns, Ordering::Relaxed);
        (*(*thread).slot).waiting.store(Waiting::Nothing, Ordering::Relaxed);
        (*thread).live = live;
        super::state::set_errno(errno);
    }
}
