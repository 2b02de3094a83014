//! Answers calls from the tape.
//!
//! Each thread walks over its own records. The usual case is that the next record is the one the
//! call wants: a few compares and a step. Everything else goes to `resync`, which holds
//! the policies for builds that behave a little differently:
//!
//! * a clock read with no record gets the clock's last value; records of clock reads that are not made
//!   are passed over;
//! * within a frame, calls on different descriptors may change places;
//! * a wait passes over what is left of its frame, unless output or input would be lost.
//!
//! In a process with several threads one runs at a time, in the recorded order: see `turns`.

mod clocks;
mod compare;
mod frames;
mod result;
mod resync;
mod sync;
mod turns;
mod window;

pub use clocks::{clock, take_reading};
pub use compare::{Run, Sending, compare_address, compare_content, compare_output, is_tolerant};
pub use result::{CallResult, Given};

use super::addresses;
use super::deferred::{self, BETWEEN, UNBLOCKED};
use super::descriptors;
use super::halt;
use super::own_words;
use super::report::{self, Finding};
use super::slots;
use super::state::{self, control, index, slot};
use super::thread::{self, PASS_THROUGH, Thread};
use clocks::skip_clocks;
use frames::{end_frame, start_frame};
use prony_channel::{
    self as channel, FRAME_END, FrameTime, HALT, NO_THREAD, NO_TURN, OP_MASK, PARTLY, ProcessState, Stop, StopKind,
    TAKEN, TAPE_FD, TapeHead, TapeStream,
};
use prony_demo::{Class, Head, Op, PartKind, Parts};
pub use resync::take_sent;
use resync::{at_end, find, find_from, fits, pass_over, reach, search, without_record};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
pub use sync::{
    expect_waits_only, goes_on_with, is_next, is_unrecorded, name_of, take_condition, take_if_next, take_start,
    take_sync, take_yield, wait_unrecorded,
};
use turns::{hold_turn, wait_turn};
pub use turns::{leave_turn, let_others_in, share_one_cpu, use_all_cpus, wait_for_end};
pub use window::close;
use window::{ALL_TURNS, has_next, place_of};

/// Maps the times of frames, and the tape if it is mapped whole: private, as records answered ahead of their place are
/// marked in it. Its pages are mapped before they may be written, so that only those with marks are copied.
pub fn map_tape() {
    // SAFETY: nothing else is mapped at those addresses, or the calls fail.
    unsafe {
        if !window::is_windowed() {
            let bytes = control().tape_bytes.load(Ordering::Relaxed) as usize;
            let flags = libc::MAP_PRIVATE | libc::MAP_FIXED_NOREPLACE | libc::MAP_POPULATE;
            let tape = libc::mmap(addresses::TAPE as *mut c_void, bytes, libc::PROT_READ, flags, TAPE_FD, 0);
            let writable = || libc::mprotect(tape, bytes, libc::PROT_READ | libc::PROT_WRITE) == 0;
            if tape as usize != addresses::TAPE || !writable() {
                report::fatal(&[b"cannot map the tape: out of memory or descriptor 1002 was closed"]);
            }
        }
        let frames = libc::mmap64(
            addresses::FRAMES as *mut c_void,
            (control().frame_capacity.load(Ordering::Relaxed) as usize * size_of::<FrameTime>())
                .next_multiple_of(4096)
                .max(4096),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE | libc::MAP_POPULATE,
            channel::CHANNEL_FD,
            channel::FRAMES_OFFSET as i64,
        );
        if frames as usize != addresses::FRAMES {
            report::fatal(&[b"cannot map the times of frames: out of memory or descriptor 1000 was closed"]);
        }
    }
}

unsafe fn streams() -> &'static [TapeStream] {
    // SAFETY: the tape, if it is mapped whole, begins with its head and as many streams.
    unsafe {
        let head = addresses::TAPE as *const TapeHead;
        std::slice::from_raw_parts(head.add(1).cast(), (*head).streams as usize)
    }
}

/// Points the thread at its records; a thread the demo does not know has none.
pub unsafe fn start_thread(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own, and it has just got its slot.
    unsafe {
        (*thread).turn_mask = ALL_TURNS;
        // A process that ran another program before goes on behind the call that it did so with.
        let resume = if (*thread).index == 0 { slot().resume.load(Ordering::Relaxed) } else { 0 };
        let from = resume.saturating_sub(1);
        if window::is_windowed() {
            window::open(thread, from);
        } else {
            find_stream(thread, from);
        }
        // The slot may have been another thread's.
        (*(*thread).slot).record.store(0, Ordering::Relaxed);
        if resume != 0 {
            if has_next(thread) {
                (*(*thread).slot).record.store((*(*thread).cursor).order.saturating_sub(1), Ordering::Relaxed);
            }
            turns::resume_turn(thread);
        }
    }
}

unsafe fn find_stream(thread: *mut Thread, from: u64) {
    // SAFETY: the block is the calling thread's own; the tape is mapped, and its streams lie in it.
    unsafe {
        let own = index();
        let mut count = 0;
        let tape = addresses::TAPE as *mut u8;
        (*thread).window = tape;
        ((*thread).window_bytes, (*thread).window_place, (*thread).stream_end) = (0, 0, 0);
        (*(*thread).slot).owner.store(NO_THREAD, Ordering::Relaxed);
        (*thread).cursor = tape.cast();
        (*thread).end = (*thread).cursor;
        for stream in streams().iter().filter(|stream| stream.process == own) {
            if stream.thread == u32::from((*thread).index) {
                (*(*thread).slot).owner.store(count, Ordering::Relaxed);
                (*thread).window = tape.add(stream.start as usize);
                (*thread).stream_end = stream.end - stream.start;
                (*thread).cursor = window::at(thread, from);
                (*thread).end = window::at(thread, (*thread).stream_end);
                (*thread).turns = tape.add(stream.turns as usize).cast();
                (*thread).turn_count = stream.turn_count;
            }
            count += 1;
        }
        (*thread).ordered = count > 1;
    }
}

/// The process goes on as another program, which finds its place on the tape by this mark.
pub unsafe fn leave_mark(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        slot().resume.store(place_of(thread, (*thread).cursor) + 1, Ordering::Relaxed);
        // The slot is not used again: the new program takes one of its own, which is to be woken.
        (*(*thread).slot).thread.store(NO_THREAD, Ordering::Release);
        use_all_cpus();
    }
}

#[inline(always)]
unsafe fn number(record: *const Head) -> u16 {
    // SAFETY: the caller passes a record that is in memory.
    unsafe { (*record).op & OP_MASK }
}

#[inline(always)]
unsafe fn next(record: *mut Head) -> *mut Head {
    // SAFETY: the caller passes a record that is whole and in memory; what stands behind it is the next, or the end.
    unsafe { record.byte_add((*record).size as usize) }
}

unsafe fn class(record: *const Head) -> Option<Class> {
    // SAFETY: the caller passes a record that is in memory.
    unsafe { Op::from_number(number(record)).map(Op::class) }
}

#[inline(always)]
pub(super) fn add(count: &AtomicU64, by: u64) {
    count.store(count.load(Ordering::Relaxed) + by, Ordering::Relaxed);
}

macro_rules! count {
    ($thread:expr, $name:ident, $by:expr) => {
        $crate::player::add(&(*(*$thread).slot).counts.$name, $by)
    };
}
pub(super) use count;

/// The record that answers this call. Does not return when the build left its demo.
#[inline(always)]
pub unsafe fn take(thread: *mut Thread, op: Op, fd: i32) -> CallResult {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        let record = (*thread).cursor;
        if record < (*thread).end && (*record).fd == fd && number(record) == op as u16 && (*record).op & TAKEN == 0 {
            return taken(thread, record);
        }
        search(thread, op, fd, u32::MAX)
    }
}

/// Like [`take`] for calls whose `aux` says what they query, such as the command of `fcntl`.
pub unsafe fn take_with(thread: *mut Thread, op: Op, fd: i32, aux: u32) -> CallResult {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        let is_next = has_next(thread);
        let record = (*thread).cursor;
        if is_next && fits(record, op, fd) && (*record).aux != aux {
            let (end, _) = reach(thread);
            return match find(record, end, |record| fits(record, op, fd) && (*record).aux == aux) {
                Some(record) => taken(thread, record),
                None => without_record(thread, op, fd, record, end),
            };
        }
        take(thread, op, fd)
    }
}

/// The record of this call about what `aux` names, if one is left in the frame. Without one nothing is passed over, but for a record of
/// the same call whose turn other threads wait for.
pub unsafe fn take_about(thread: *mut Thread, op: Op, aux: u32) -> Option<CallResult> {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        let is_next = has_next(thread);
        let first = (*thread).cursor;
        let found = find_from(thread, first, |record| fits(record, op, -1) && (*record).aux == aux);
        if found.is_none() && (*thread).ordered && is_next && fits(first, op, -1) {
            let passed = taken(thread, first);
            done(thread, passed);
        }
        Some(taken(thread, found?))
    }
}

/// The record that opened this path, or the one that opened something at this place: a build in
/// another directory looks for its files there.
pub unsafe fn take_open(thread: *mut Thread, path: &[u8]) -> Option<CallResult> {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        if let Some(answer) = take_path(thread, Op::OpenFile, path) {
            return Some(answer);
        }
        let first = skip_clocks(thread);
        (first < (*thread).end && fits(first, Op::OpenFile, -1)).then(|| taken(thread, first))
    }
}

/// The record that opened this path, if one is left in the frame.
pub unsafe fn take_path(thread: *mut Thread, op: Op, path: &[u8]) -> Option<CallResult> {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        let first = skip_clocks(thread);
        let record = find_from(thread, first, |record| {
            fits(record, op, -1) && CallResult { head: record }.part(PartKind::Path, 0) == path
        })?;
        Some(taken(thread, record))
    }
}

/// Like [`take`] for a wait: `timeout_ms` decides whether it may pass over the rest of a frame.
#[inline(always)]
pub unsafe fn take_wait(thread: *mut Thread, op: Op, fd: i32, timeout_ms: u32) -> CallResult {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        let record = (*thread).cursor;
        if record < (*thread).end
            && (*record).fd == fd
            && number(record) == op as u16
            && (*record).op & TAKEN == 0
            && ((*record).aux == 0) == (timeout_ms == 0)
        {
            (*thread).loose &= timeout_ms == 0;
            return taken(thread, record);
        }
        search(thread, op, fd, timeout_ms)
    }
}

#[inline(always)]
unsafe fn taken(thread: *mut Thread, record: *mut Head) -> CallResult {
    // SAFETY: the block is the calling thread's own, and the caller passes a record that is whole and in memory.
    unsafe {
        let marks = (*record).op & (FRAME_END | HALT);
        if marks & FRAME_END != 0 {
            end_frame(thread);
        }
        if (*thread).ordered && record == (*thread).cursor {
            wait_turn(thread, record);
        }
        if marks & HALT != 0 {
            halt_at(thread, record);
        }
        CallResult { head: record }
    }
}

/// Waits for a debugger at a record, if it is the one at which one is to be attached. A call that passes over it waits as well.
#[cold]
#[inline(never)]
unsafe fn halt_at(thread: *mut Thread, record: *mut Head) {
    // SAFETY: the block is the calling thread's own, and the caller passes a record that is whole and in memory.
    unsafe {
        if (*record).op & HALT != 0 {
            (*record).op &= !HALT;
            halt::wait(thread, number(record).into(), (*record).fd, (*record).order);
        }
    }
}

/// True if the records from here on can be read again: the next one is no reading of a clock, of which several are fed together, and
/// of those in a window, none is answered.
pub unsafe fn can_go_back_here(thread: *mut Thread) -> bool {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        let record = (*thread).cursor;
        if record >= (*thread).end || class(record) == Some(Class::Clock) {
            return false;
        }
        !window::is_windowed() || find(record, reach(thread).0, |record| (*record).op & (TAKEN | PARTLY) != 0).is_none()
    }
}

/// Reads the records from here on again, with a debugger that waits at the first ones from these numbers on, and at no other.
pub unsafe fn go_back(thread: *mut Thread, stops: [u64; 2]) {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory; those in a window are not used
    // any more.
    unsafe {
        if window::is_windowed() {
            // The process outside puts the stops into them.
            window::open_again(thread);
            return;
        }
        let (mut record, mut stops) = ((*thread).cursor, stops);
        while record < (*thread).end {
            let order = (*record).order;
            let is_stop = (*record).op & TAKEN == 0 && stops.iter().any(|&stop| stop <= order);
            if is_stop {
                stops = stops.map(|stop| if stop <= order { u64::MAX } else { stop });
            }
            if is_stop != ((*record).op & HALT != 0) {
                (*record).op ^= HALT;
            }
            record = next(record);
        }
    }
}

/// The call has been answered: step over its record, and start a frame where one ended.
#[inline(always)]
pub unsafe fn done(thread: *mut Thread, answer: CallResult) {
    // SAFETY: the block is the calling thread's own, and the answer is a record in memory or stands in the block.
    unsafe {
        let record = answer.head.cast_mut();
        if record == (*thread).cursor {
            count!(thread, records, 1);
            (*(*thread).slot).record.store((*record).order, Ordering::Relaxed);
            step(thread, record);
        } else if record > (*thread).cursor && record < (*thread).end {
            count!(thread, records, 1);
            count!(thread, reordered, 1);
            (*record).op |= TAKEN;
        } else {
            return; // an answer without a record
        }
        if (*record).op & FRAME_END != 0 {
            start_frame(thread);
        }
        pass_taken(thread);
    }
}

/// Steps over records that were answered ahead of their place.
#[inline(always)]
unsafe fn pass_taken(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        while (*thread).cursor < (*thread).end && (*(*thread).cursor).op & TAKEN != 0 {
            let passed = (*thread).cursor;
            if (*thread).ordered {
                wait_turn(thread, passed);
            }
            step(thread, passed);
        }
    }
}

#[inline(always)]
unsafe fn step(thread: *mut Thread, record: *mut Head) {
    // SAFETY: the block is the calling thread's own, and the caller passes the record at its cursor.
    unsafe {
        (*thread).cursor = next(record);
        if (*thread).unrecorded != 0 && Op::from_number(number(record)).is_some_and(Op::restarts_count) {
            (*thread).unrecorded = 0;
        }
        if (*thread).ordered && (*record).time != NO_TURN {
            hold_turn(thread, (*record).time);
        }
    }
}

/// Ends a process that has followed its demo to the end.
pub fn end_process(status: i32) -> ! {
    // SAFETY: the process ends without running handlers.
    unsafe {
        if state::shares_order() {
            leave_turn(thread::this());
        }
        slot().state.store(ProcessState::Ended, Ordering::Release);
        slots::leave();
        libc::_exit(status);
    }
}

/// A signal is about to end the process, as it did in the recording: one without records has followed its demo to the end.
pub unsafe fn end_by_signal(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        if !has_next(thread) {
            if state::shares_order() {
                leave_turn(thread);
            }
            slot().state.store(ProcessState::Ended, Ordering::Release);
        }
    }
}

/// Ends a process that has no record left.
pub unsafe fn end_without_records(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        if !has_next(thread) {
            at_end(thread);
        }
    }
}

/// Takes the record of an input, or what is left of it, for a call with room for `room` bytes and these flags.
///
/// Of a stream, the rest is kept for the next call. Of a message it would be lost, which ends the replay unless the call only
/// looks at it.
pub unsafe fn take_input(thread: *mut Thread, op: Op, fd: i32, room: usize, flags: i32) -> Given {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        let answer = take(thread, op, fd);
        let head = answer.head.cast_mut();
        let whole = answer.part(PartKind::In, 0);
        let given = if (*head).op & PARTLY != 0 { (*head).aux as usize } else { 0 };
        if given == 0 && descriptors::is_internal(fd) {
            // The records of a replay are its own copy.
            let own = std::slice::from_raw_parts_mut(whole.as_ptr().cast_mut(), whole.len());
            own_words::read(fd, own, flags & libc::MSG_PEEK != 0);
        }
        let rest = &whole[given.min(whole.len())..];
        let bytes = &rest[..rest.len().min(room)];
        let is_message = descriptors::is_datagram(fd);
        let peeks = flags & libc::MSG_PEEK != 0;
        let cut = bytes.len() < rest.len() && !peeks;
        if cut && is_message {
            answer.lost(rest.len(), room);
        }
        let mut length = bytes.len();
        if flags & libc::MSG_TRUNC != 0 && (*head).ret >= 0 && (*head).op & PARTLY == 0 {
            let whole = (*head).ret as usize;
            length = if is_message || whole > (*head).aux as usize { whole } else { whole.min(room) };
        }
        let more = cut;
        if more {
            (*head).op |= PARTLY;
            (*head).aux = (given + bytes.len()) as u32;
            count!(thread, resynced, 1);
        }
        Given { answer, bytes, length, more }
    }
}

/// Compares a call of `exit` with the recording and ends the replay.
pub unsafe fn exiting(thread: *mut Thread, status: i32) {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        let record = skip_clocks(thread);
        let mut place = record;
        let (end, _) = reach(thread);
        while place < end && number(place) != Op::Exit as u16 {
            place = next(place);
        }
        if place >= end {
            if record >= (*thread).end {
                return; // cut before the exit: nothing to compare with
            }
            report::stop(thread, Stop::EarlyExit, Finding::ending(record, status));
        }
        let stands = place_of(thread, place);
        while place_of(thread, (*thread).cursor) < stands && has_next(thread) {
            let passed = (*thread).cursor;
            let matters = match class(passed) {
                Some(Class::Output) => !is_tolerant(),
                class => class == Some(Class::Input),
            };
            let lost = matters && (*passed).ret > 0;
            if lost && (*passed).op & TAKEN == 0 {
                report::stop(thread, Stop::EarlyExit, Finding::ending(passed, status));
            }
            pass_over(thread, Op::Exit, -1);
        }
        let place = window::at(thread, stands);
        if (*thread).ordered && state::shares_order() {
            wait_turn(thread, place);
        }
        if (*place).aux != status as u32 {
            report::stop(thread, Stop::EarlyExit, Finding::ending(place, status).of(StopKind::Status));
        }
        done(thread, CallResult { head: place });
    }
}

/// The record of this call, if one is left in the frame; a build may log more or less, and older demos lack some calls.
pub unsafe fn take_if_there(thread: *mut Thread, op: Op, fd: i32) -> Option<CallResult> {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        let first = skip_clocks(thread);
        match find_from(thread, first, |record| fits(record, op, fd)) {
            Some(record) => Some(taken(thread, record)),
            None => {
                count!(thread, resynced, 1);
                None
            }
        }
    }
}

/// The next record is a signal: its handler runs now. `mask`: that of the call it interrupts, where the call has one of its own.
pub unsafe fn replay_signal(thread: *mut Thread, mask: Option<u64>) {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory: the caller
    // has seen that a signal's stands at the cursor. All zero is a valid siginfo_t.
    unsafe {
        let live = std::mem::replace(&mut (*thread).live, PASS_THROUGH);
        let answer = taken(thread, (*thread).cursor);
        let (signal, place) = (answer.aux() as i32, answer.code());
        let mut info: libc::siginfo_t = std::mem::zeroed();
        answer.copy_value(&mut info);
        done(thread, answer);
        if place == i64::from(UNBLOCKED) {
            deferred::send_for_later(thread, signal, &mut info);
        } else {
            deferred::deliver_again(thread, signal, &mut info, mask);
        }
        (*thread).live = live;
    }
}

/// True when a signal stands next on the tape of this thread, to be delivered at this place: the beginning of a call
/// (`deferred::BEFORE_NEXT`) or its end. One that came between two calls is delivered at the end of the first.
#[inline(always)]
pub unsafe fn signal_is_next(thread: *mut Thread, place: i32) -> bool {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        has_next(thread) && {
            let record = (*thread).cursor;
            number(record) == Op::Signal as u16
                && ((*record).ret == i64::from(place) || (*record).ret >= i64::from(BETWEEN))
        }
    }
}
