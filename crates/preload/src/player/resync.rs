//! Policies for calls that do not meet their record at the cursor, made by builds that behave a little differently.

use super::clocks::skip_clocks;
use super::compare::{self, Run, Sending};
use super::turns::{leave_turn, wait_turn};
use super::window::{at, extend, go_on, has_next, place_of, sees_last};
use super::{CallResult, class, count, end_process, halt_at, next, number, replay_signal, step, taken};
use crate::descriptors;
use crate::own_words;
use crate::pids;
use crate::report::{self, Finding};
use crate::state::{self, control, index, leader, slot};
use crate::thread::{PASS_THROUGH, Thread};
use prony_channel::{self as channel, NO_THREAD, OP_MASK, SlotState, Stop, StopKind, TAKEN};
use prony_demo::{Bound, Class, HEAD_BYTES, Head, Op, PartKind};
use std::sync::atomic::Ordering;

/// True for a record behind which the descriptor's number means something else.
unsafe fn ends(record: *const Head, fd: i32) -> bool {
    // SAFETY: the caller passes a record that is in memory.
    unsafe {
        (*record).op & TAKEN == 0
            && match Op::from_number(number(record)) {
                Some(Op::Close | Op::CloseFile) => (*record).fd == fd,
                Some(op) => matches!(op.bound(), Bound::Descriptor | Bound::Accepted) && (*record).ret == i64::from(fd),
                None => false,
            }
    }
}

/// Number of records that a call looks ahead within its frame, those of clocks aside.
const SEARCH_RECORDS: usize = 4096;

/// The call does not meet its record at the cursor.
#[cold]
pub(super) unsafe fn search(thread: *mut Thread, op: Op, fd: i32, timeout_ms: u32) -> CallResult {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        let first = skip_clocks(thread);
        if first >= (*thread).end {
            at_end(thread);
        }
        if (*first).op & OP_MASK == Op::Exit as u16 && op.class() != Class::Thread && !is_housekeeping(op) {
            report::stop(thread, Stop::LateExit, Finding::call(op, fd, first));
        }
        if op.class() == Class::Wait {
            return search_wait(thread, op, fd, timeout_ms);
        }
        if fits(first, op, fd) {
            return taken(thread, first);
        }
        let (end, _) = reach(thread);
        // What is behind the end of a descriptor is about another one of the same number.
        let found = find(first, end, |record| fits(record, op, fd) || ends(record, fd));
        let Some(record) = found.filter(|&record| fits(record, op, fd)) else {
            return without_record(thread, op, fd, first, end);
        };
        // Locks that were not taken hold other threads up: they are passed over before anything else
        // is answered, unless something else stands between.
        let is_sync = |record: *const Head| matches!(class(record), Some(Class::Thread | Class::Clock));
        if find(first, record, |between| (*between).op & TAKEN == 0 && !is_sync(between)).is_none() {
            return taken(thread, pass_over_to(thread, record, op, fd));
        }
        taken(thread, record)
    }
}

/// Calls that a build may make before it ends and that the recording has not: none says anything to a peer or a process.
fn is_housekeeping(op: Op) -> bool {
    matches!(
        op,
        Op::Getpid | Op::Gettid | Op::Close | Op::CloseFile | Op::Shutdown | Op::Setsockopt | Op::Fcntl | Op::EpollCtl
    )
}

/// The record of an output that may differ: the next one in the frame to the same address. `None` where the
/// recording has no such output and it was handed out.
///
/// A build whose packets differ in length may fill more of them, or fewer, than the recorded one.
pub unsafe fn take_sent(
    thread: *mut Thread,
    sending: Sending<impl Iterator<Item = Run> + Clone>,
) -> Option<CallResult> {
    // SAFETY: the block is the calling thread's own, records before its `end` are whole and in memory, and the runs are
    // buffers of the server.
    unsafe {
        let Sending { op, fd, to, total, runs } = sending;
        let first = skip_clocks(thread);
        if first >= (*thread).end {
            at_end(thread);
        }
        let is_there = |record: *const Head| {
            let address = CallResult { head: record }.part(PartKind::Addr, 0);
            fits(record, op, fd) && (to.is_empty() || address.is_empty() || address == to)
        };
        if let Some(record) = find_from(thread, first, is_there) {
            return Some(taken(thread, record));
        }
        let handed_out = compare::added(thread, op, fd, (*thread).cursor, to, total, runs.clone());
        if !handed_out {
            let finding = Finding::differing(op, fd, first, &[], total, 0, runs);
            report::stop(thread, Stop::Output, finding.of(StopKind::NotRecorded));
        }
        count!(thread, resynced, 1);
        None
    }
}

pub(super) unsafe fn search_wait(thread: *mut Thread, op: Op, fd: i32, timeout_ms: u32) -> CallResult {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        let (mut end, mut blocking) = reach(thread);
        if timeout_ms == 0 {
            // A look without waiting: its record, or nothing is ready.
            return match find((*thread).cursor, end, |record| fits(record, op, fd) && (*record).aux == 0) {
                Some(record) => taken(thread, record),
                None => without(thread, 0),
            };
        }
        // Past the reach too: a thread may have taken thousands of locks more since its last wait.
        loop {
            while blocking.is_none() && (end < (*thread).end || extend(thread)) {
                blocking = find(end, (*thread).end, |record| blocks(record));
                end = (*thread).end;
            }
            if blocking.is_some() || sees_last(thread) {
                break;
            }
            // The wait lies behind all that the window holds.
            while (*thread).cursor < (*thread).end && !blocks((*thread).cursor) {
                pass_over(thread, op, fd);
            }
            if (*thread).cursor >= (*thread).end {
                go_on(thread);
            }
            end = (*thread).cursor;
        }
        if let Some(wait) = blocking {
            if !fits(wait, op, fd) {
                report::stop(thread, Stop::Order, Finding::call(op, fd, wait));
            }
            let wait = pass_over_to(thread, wait, op, fd);
            (*thread).loose = false;
            return taken(thread, wait);
        }
        // The demo has no wait any more: what it does have would be lost.
        let matters = |record: *const Head| {
            let is_output = class(record) == Some(Class::Output) && !compare::is_tolerant();
            let moved = (is_output || class(record) == Some(Class::Input)) && (*record).ret > 0;
            (moved || class(record) == Some(Class::Process)) && (*record).op & TAKEN == 0
        };
        if let Some(record) = find((*thread).cursor, (*thread).end, matters) {
            report::stop(thread, Stop::Order, Finding::call(op, fd, record));
        }
        while has_next(thread) {
            pass_over(thread, op, fd);
        }
        at_end(thread);
    }
}

/// True for a wait that ends a frame.
unsafe fn blocks(record: *const Head) -> bool {
    // SAFETY: the caller passes a record that is in memory.
    unsafe { class(record) == Some(Class::Wait) && (*record).aux > 0 && (*record).op & TAKEN == 0 }
}

/// Passes over what stands before `record`; returns where that one is now.
pub(super) unsafe fn pass_over_to(thread: *mut Thread, record: *mut Head, op: Op, fd: i32) -> *mut Head {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory; the caller
    // passes one of them.
    unsafe {
        let place = place_of(thread, record);
        while place_of(thread, (*thread).cursor) < place && has_next(thread) {
            pass_over(thread, op, fd);
        }
        at(thread, place)
    }
}

/// A record that no call took, passed over at the end of its frame.
pub(super) unsafe fn pass_over(thread: *mut Thread, op: Op, fd: i32) {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory: the caller
    // has seen that one stands at the cursor.
    unsafe {
        let record = (*thread).cursor;
        if (*record).op & TAKEN == 0 {
            match class(record) {
                // A thread that was woken once more or less.
                Some(Class::Output) if (*thread).ordered && descriptors::is_internal((*record).fd) => {
                    own_words::lose((*record).fd);
                    count!(thread, resynced, 1);
                }
                Some(Class::Output) if compare::is_tolerant() => {
                    if (*record).ret > 0 {
                        compare::unsent(thread, record);
                    }
                }
                Some(Class::Output) => report::stop(thread, Stop::Output, Finding::missing(op, fd, record)),
                Some(Class::Input) if (*record).ret > 0 => {
                    report::stop(thread, Stop::Order, Finding::call(op, fd, record));
                }
                Some(Class::Process) => report::stop(thread, Stop::Order, Finding::call(op, fd, record)),
                Some(Class::Clock) => {
                    skip_clocks(thread);
                    return;
                }
                Some(Class::Signal) => {
                    replay_signal(thread, None);
                    return;
                }
                _ => count!(thread, resynced, 1),
            }
        }
        if (*thread).ordered {
            wait_turn(thread, record);
        }
        halt_at(thread, record);
        step(thread, record);
    }
}

/// An answer that stands in no demo.
pub(super) unsafe fn without(thread: *mut Thread, ret: i64) -> CallResult {
    // SAFETY: the block is the calling thread's own, which has room for the head of a record.
    unsafe {
        count!(thread, resynced, 1);
        let scratch: *mut Head = (&raw mut (*thread).scratch).cast();
        scratch.write_unaligned(Head {
            size: HEAD_BYTES as u32,
            op: 0,
            thread: 0,
            order: 0,
            time: 0,
            ret,
            fd: -1,
            aux: 0,
        });
        CallResult { head: scratch }
    }
}

pub(super) unsafe fn without_record(
    thread: *mut Thread,
    op: Op,
    fd: i32,
    first: *mut Head,
    end: *mut Head,
) -> CallResult {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory; the caller
    // passes such records.
    unsafe {
        match op {
            _ if op.class() == Class::Input && (descriptors::is_nonblocking(fd) || (*thread).no_wait) => {
                return without(thread, -i64::from(libc::EAGAIN));
            }
            Op::Setsockopt
            | Op::Shutdown
            | Op::Close
            | Op::CloseFile
            | Op::Fcntl
            | Op::EpollCtl
            | Op::TimerfdSettime
            | Op::SchedSetaffinity
            | Op::Setpgid
            | Op::Kill => {
                return without(thread, 0);
            }
            Op::MutexLock | Op::RwlockRdlock | Op::RwlockWrlock | Op::SpinLock => return without(thread, 0),
            Op::Getpid | Op::Gettid => {
                let own = if op == Op::Getpid { &slot().pid } else { &(*(*thread).slot).tid };
                return without(thread, i64::from(pids::recorded(own.load(Ordering::Relaxed))));
            }
            _ => {}
        }
        if op.class() == Class::Output && (*thread).ordered && descriptors::is_internal(fd) {
            own_words::lose(fd);
            return without(thread, i64::from((*thread).offered));
        }
        if op.class() == Class::Output {
            report::stop(thread, Stop::Output, Finding::call(op, fd, first).of(StopKind::NotRecorded));
        }
        let related = find(first, end, |record| (*record).fd == fd && fd >= 0 || number(record) == op as u16);
        let class = if related.is_some() { Stop::Order } else { Stop::Unrecorded };
        report::stop(thread, class, Finding::call(op, fd, first));
    }
}

/// End of the records that a call may look at: the wait that ends this frame is included. Of a tape that is not mapped
/// whole it sees as much as fits in the window.
pub(super) unsafe fn reach(thread: *mut Thread) -> (*mut Head, Option<*mut Head>) {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        let mut record = (*thread).cursor;
        let mut looked = 0;
        while looked < SEARCH_RECORDS {
            if record >= (*thread).end && !extend(thread) {
                break;
            }
            looked += usize::from(class(record) != Some(Class::Clock));
            let after = next(record);
            if blocks(record) {
                return (after, Some(record));
            }
            record = after;
        }
        (record, None)
    }
}

/// The next record that is wanted within reach. Mostly that is `first`, at the cursor: a frame may be long, and is not walked
/// through for it.
pub(super) unsafe fn find_from(
    thread: *mut Thread,
    first: *mut Head,
    wanted: impl Fn(*const Head) -> bool,
) -> Option<*mut Head> {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        if first < (*thread).end && wanted(first) {
            return Some(first);
        }
        find(first, reach(thread).0, wanted)
    }
}

pub(super) unsafe fn find(from: *mut Head, end: *mut Head, wanted: impl Fn(*const Head) -> bool) -> Option<*mut Head> {
    // SAFETY: the caller passes records that are whole and in memory up to `end`.
    unsafe {
        let mut record = from;
        while record < end {
            if wanted(record) {
                return Some(record);
            }
            record = next(record);
        }
        None
    }
}

/// True where one call may take the record of another: the same bytes through another door.
pub(super) fn interchangeable(recorded: Op, made: Op) -> bool {
    const RECEIVING: [Op; 5] = [Op::Recv, Op::Recvfrom, Op::Recvmsg, Op::Read, Op::Readv];
    const SENDING: [Op; 5] = [Op::Send, Op::Sendto, Op::Sendmsg, Op::Write, Op::Writev];
    recorded == made
        || (RECEIVING.contains(&recorded) && RECEIVING.contains(&made))
        || (SENDING.contains(&recorded) && SENDING.contains(&made))
}

pub(super) unsafe fn fits(record: *const Head, op: Op, fd: i32) -> bool {
    // SAFETY: the caller passes a record that is in memory.
    unsafe {
        (*record).op & TAKEN == 0
            && (*record).fd == fd
            && Op::from_number(number(record)).is_some_and(|recorded| interchangeable(recorded, op))
    }
}

/// True while other threads of this process have records left. The turns that are left show it where it shares them with no process.
fn others_go_on() -> bool {
    let control = control();
    let used = control.thread_slots_used.load(Ordering::Acquire) as usize;
    !state::shares_order()
        || control.threads[..used].iter().any(|slot| {
            slot.process.load(Ordering::Relaxed) == index()
                && slot.state.is(SlotState::InUse, Ordering::Acquire)
                && !matches!(slot.thread.load(Ordering::Relaxed), 0 | NO_THREAD)
                && slot.call.load(Ordering::Relaxed) != channel::AT_END
        })
}

/// The thread has no records left. The recording was cut here, or the server was killed, or the
/// thread never came back from its last call: all the same, this is where its story ends.
pub(super) unsafe fn at_end(thread: *mut Thread) -> ! {
    // SAFETY: the block is the calling thread's own; the pause lives across its call.
    unsafe {
        leave_turn(thread);
        if (*thread).index != 0 {
            (*(*thread).slot).call.store(channel::AT_END, Ordering::Release);
            (*thread).live = PASS_THROUGH;
            loop {
                // One that was cancelled in its last wait ends here too: `pause` is a place where that happens.
                libc::pause();
            }
        }
        // The main thread waits for the others of its process to reach the end of theirs.
        let total = (*thread).turn_count;
        while (*thread).ordered && leader().order.load(Ordering::Acquire) < total && others_go_on() {
            let pause = libc::timespec { tv_sec: 0, tv_nsec: 100_000 };
            libc::nanosleep(&pause, std::ptr::null_mut());
        }
        end_process(channel::PLAYER_EXIT);
    }
}
