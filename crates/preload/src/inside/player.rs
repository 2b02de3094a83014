//! Answers calls from the tape.
//!
//! Each thread walks over its own records. The usual case is that the next record is the one the
//! call wants: a few compares and a step. Everything else is [`Player::search`], which holds the
//! policies for builds that behave a little differently:
//!
//! * a clock read with no record gets the clock's last value; records of clock reads nobody makes
//!   are passed over;
//! * within a frame, calls on different descriptors may change places;
//! * a wait passes over what is left of its frame, unless output or input would be lost.
//!
//! In a process with several threads every record but clock reads has a turn, and threads step in
//! the order of the turns.

use super::descriptors;
use super::process::{control, index, returned, slot};
use super::report::{self, Finding};
use super::signals;
use super::thread::{self, Thread};
use crate::channel::{
    self, FRAME_END, FrameTime, NO_THREAD, OP_MASK, PARTLY, Stop, TAKEN, TAPE_BASE, TAPE_FD, TapeHead, TapeStream,
};
use prony_demo::{Class, HEAD_BYTES, Head, Op, PartKind, Parts};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many records a call looks ahead within its frame.
const SEARCH_RECORDS: usize = 4096;
/// Turns a thread spins for before it sleeps.
const SPINS: u32 = 300;

/// Maps the tape, private and writable: records answered ahead of their place are marked in it.
pub unsafe fn map_tape() {
    let bytes = (*control()).tape_bytes as usize;
    let tape = libc::mmap(
        TAPE_BASE as *mut c_void,
        bytes,
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_FIXED_NOREPLACE | libc::MAP_POPULATE,
        TAPE_FD,
        0,
    );
    let frames = libc::mmap(
        channel::FRAMES_BASE as *mut c_void,
        ((*control()).frame_capacity as usize * size_of::<FrameTime>()).next_multiple_of(4096).max(4096),
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE | libc::MAP_POPULATE,
        channel::CHANNEL_FD,
        channel::FRAMES_OFFSET as i64,
    );
    if tape as usize != TAPE_BASE || frames as usize != channel::FRAMES_BASE {
        report::fatal(&[b"cannot map the tape: out of memory or descriptor 1002 was closed"]);
    }
}

unsafe fn streams() -> &'static [TapeStream] {
    let head = TAPE_BASE as *const TapeHead;
    std::slice::from_raw_parts(head.add(1).cast(), (*head).streams as usize)
}

/// Points the thread at its records; a thread the demo does not know has none.
pub unsafe fn start_thread(thread: *mut Thread) {
    let own = index();
    let mut count = 0;
    (*thread).cursor = TAPE_BASE as *mut Head;
    (*thread).end = (*thread).cursor;
    for stream in streams().iter().filter(|stream| stream.process == own) {
        count += 1;
        if stream.thread == u32::from((*thread).index) {
            (*thread).cursor = (TAPE_BASE + stream.start as usize) as *mut Head;
            (*thread).end = (TAPE_BASE + stream.end as usize) as *mut Head;
            (*thread).turns = (TAPE_BASE + stream.turns as usize) as *const u16;
            (*thread).turn_count = stream.turn_count;
        }
    }
    (*thread).ordered = count > 1;
    let resume = (*slot()).resume.load(Ordering::Relaxed);
    if (*thread).index == 0 && resume != 0 {
        (*thread).cursor = (TAPE_BASE + resume as usize) as *mut Head;
    }
}

/// The process goes on as another program, which finds its place on the tape by this mark.
pub unsafe fn leave_mark(thread: *mut Thread) {
    (*slot()).resume.store((*thread).cursor as u64 - TAPE_BASE as u64, Ordering::Relaxed);
    // The slot is not used again: the new program takes one of its own, which is to be woken.
    (*(*thread).slot).thread.store(NO_THREAD, Ordering::Release);
}

/// What a call is answered with.
#[derive(Clone, Copy)]
pub struct Answer {
    head: *const Head,
}

impl Answer {
    /// The record at this place in memory.
    pub fn of(head: *const Head) -> Answer {
        Answer { head }
    }

    /// The recorded result.
    #[inline(always)]
    pub fn ret(self) -> i64 {
        // SAFETY: points at a record of the tape or of the thread's scratch, both alive.
        unsafe { (*self.head).ret }
    }

    /// What the recorded call was asked.
    #[inline(always)]
    pub fn aux(self) -> u32 {
        // SAFETY: as in `ret`.
        unsafe { (*self.head).aux }
    }

    /// The recorded result as the call returns it, `errno` included.
    #[inline(always)]
    pub fn value(self) -> isize {
        returned(self.ret())
    }

    /// The parts of the record.
    pub fn parts(self) -> Parts<'static> {
        // SAFETY: the tape was built from whole records, and `size` is one's length.
        unsafe { Parts::new(std::slice::from_raw_parts(self.head.cast(), (*self.head).size as usize)) }
    }

    /// Content of the `nth` part of this kind, empty when there is none.
    pub fn part(self, kind: PartKind, nth: usize) -> &'static [u8] {
        self.parts().filter(|part| part.kind == kind as u8).nth(nth).map_or(&[], |part| part.bytes)
    }

    /// Copies the `nth` part of this kind to `to`, at most `room` bytes; returns how many.
    pub unsafe fn copy_part(self, kind: PartKind, nth: usize, to: *mut u8, room: usize) -> usize {
        let bytes = self.part(kind, nth);
        let length = bytes.len().min(room);
        if !to.is_null() {
            bytes.as_ptr().copy_to_nonoverlapping(to, length);
        }
        length
    }

    /// Copies the value part over `to` if the record has one of that size.
    pub unsafe fn copy_value<T>(self, to: *mut T) {
        if !to.is_null() {
            self.copy_part(PartKind::Value, 0, to.cast(), size_of::<T>());
        }
    }

    /// The value part as a `T`, if it is one.
    pub unsafe fn read_value<T: Copy>(self) -> Option<T> {
        let bytes = self.part(PartKind::Value, 0);
        (bytes.len() >= size_of::<T>()).then(|| bytes.as_ptr().cast::<T>().read_unaligned())
    }
}

#[inline(always)]
unsafe fn number(record: *const Head) -> u16 {
    (*record).op & OP_MASK
}

#[inline(always)]
unsafe fn next(record: *mut Head) -> *mut Head {
    record.byte_add((*record).size as usize)
}

unsafe fn class(record: *const Head) -> Option<Class> {
    Op::from_number(number(record)).map(Op::class)
}

/// True where one call may take the record of another: the same bytes through another door.
fn interchangeable(recorded: Op, made: Op) -> bool {
    const RECEIVING: [Op; 5] = [Op::Recv, Op::Recvfrom, Op::Recvmsg, Op::Read, Op::Readv];
    const SENDING: [Op; 5] = [Op::Send, Op::Sendto, Op::Sendmsg, Op::Write, Op::Writev];
    recorded == made
        || (RECEIVING.contains(&recorded) && RECEIVING.contains(&made))
        || (SENDING.contains(&recorded) && SENDING.contains(&made))
}

unsafe fn fits(record: *const Head, op: Op, fd: i32) -> bool {
    (*record).op & TAKEN == 0
        && (*record).fd == fd
        && Op::from_number(number(record)).is_some_and(|recorded| interchangeable(recorded, op))
}

#[inline(always)]
pub(super) fn add(count: &AtomicU64, by: u64) {
    count.store(count.load(Ordering::Relaxed) + by, Ordering::Relaxed);
}

macro_rules! count {
    ($thread:expr, $name:ident, $by:expr) => {
        $crate::inside::player::add(&(*(*$thread).slot).counts.$name, $by)
    };
}
pub(super) use count;

/// The record that answers this call. Does not return when the build left its demo.
#[inline(always)]
pub unsafe fn take(thread: *mut Thread, op: Op, fd: i32) -> Answer {
    let record = (*thread).cursor;
    if record < (*thread).end && (*record).fd == fd && number(record) == op as u16 && (*record).op & TAKEN == 0 {
        return taken(thread, record);
    }
    search(thread, op, fd, u32::MAX)
}

/// The record of a clock that answers in a structure (`times`, `getrusage`). With none at this
/// place the last one is given again, as for any clock.
pub unsafe fn take_reading(thread: *mut Thread, op: Op) -> Option<Answer> {
    let last = if op == Op::Times { &mut (*thread).last_times } else { &mut (*thread).last_usage };
    let mut record = (*thread).cursor;
    while record < (*thread).end && class(record) == Some(Class::Clock) {
        if number(record) == op as u16 {
            while (*thread).cursor < record {
                pass_clock(thread);
            }
            *last = record;
            return Some(Answer { head: record });
        }
        record = next(record);
    }
    if (*thread).cursor >= (*thread).end {
        at_end(thread, op, -1);
    }
    count!(thread, clocks_added, 1);
    (!last.is_null()).then_some(Answer { head: *last })
}

/// Passes over the read of a clock that nobody makes.
unsafe fn pass_clock(thread: *mut Thread) {
    let record = (*thread).cursor;
    if let Some(place) = clock_place(number(record), (*record).aux) {
        (*thread).clocks[place] = (*record).ret;
    }
    count!(thread, clocks_removed, 1);
    (*thread).cursor = next(record);
}

/// Like [`take`] for calls whose `aux` tells what they ask, such as the command of `fcntl`.
pub unsafe fn take_with(thread: *mut Thread, op: Op, fd: i32, aux: u32) -> Answer {
    let record = (*thread).cursor;
    if record < (*thread).end && fits(record, op, fd) && (*record).aux != aux {
        let (end, _) = window(thread);
        return match find(record, end, |record| fits(record, op, fd) && (*record).aux == aux) {
            Some(record) => taken(thread, record),
            None => without_record(thread, op, fd, record, end),
        };
    }
    take(thread, op, fd)
}

/// The record that opened this path, if one is left in the frame.
pub unsafe fn take_path(thread: *mut Thread, op: Op, path: &[u8]) -> Option<Answer> {
    let first = skip_clocks(thread);
    let (end, _) = window(thread);
    let record =
        find(first, end, |record| fits(record, op, -1) && Answer { head: record }.part(PartKind::Path, 0) == path)?;
    Some(taken(thread, record))
}

/// Like [`take`] for a wait: `timeout_ms` decides whether it may pass over the rest of a frame.
#[inline(always)]
pub unsafe fn take_wait(thread: *mut Thread, op: Op, fd: i32, timeout_ms: u32) -> Answer {
    let record = (*thread).cursor;
    if record < (*thread).end
        && (*record).fd == fd
        && number(record) == op as u16
        && (*record).op & TAKEN == 0
        && ((*record).aux == 0) == (timeout_ms == 0)
    {
        return taken(thread, record);
    }
    search(thread, op, fd, timeout_ms)
}

#[inline(always)]
unsafe fn taken(thread: *mut Thread, record: *mut Head) -> Answer {
    if (*record).op & FRAME_END != 0 {
        end_frame(thread);
    }
    if (*thread).ordered && record == (*thread).cursor {
        wait_turn(thread, record);
    }
    Answer { head: record }
}

/// The call has been answered: step over its record, and start a frame where one ended.
#[inline(always)]
pub unsafe fn done(thread: *mut Thread, answer: Answer) {
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
    while (*thread).cursor < (*thread).end && (*(*thread).cursor).op & TAKEN != 0 {
        let passed = (*thread).cursor;
        if (*thread).ordered {
            wait_turn(thread, passed);
        }
        step(thread, passed);
    }
}

#[inline(always)]
unsafe fn step(thread: *mut Thread, record: *mut Head) {
    (*thread).cursor = next(record);
    if (*thread).ordered && class(record) != Some(Class::Clock) {
        end_turn(thread, (*record).time);
    }
}

/// Waits until it is this record's turn.
#[inline(always)]
unsafe fn wait_turn(thread: *mut Thread, record: *const Head) {
    let turn = (*record).time;
    if (*slot()).order.load(Ordering::Acquire) != turn {
        wait_turn_slowly(thread, record, turn);
    }
}

#[cold]
unsafe fn wait_turn_slowly(thread: *mut Thread, record: *const Head, turn: u64) {
    let order = &(*slot()).order;
    for _ in 0..SPINS {
        if order.load(Ordering::Acquire) >= turn {
            return;
        }
        std::hint::spin_loop();
    }
    let own = (*thread).slot;
    (*own).turn.store(turn, Ordering::Relaxed);
    (*own).call.store(u32::from(number(record)), Ordering::Relaxed);
    (*own).record.store((*record).order, Ordering::Relaxed);
    (*own).waiting.store(1, Ordering::SeqCst);
    while order.load(Ordering::SeqCst) < turn {
        // A wake that comes between the check and the call changes `waiting`, so none is lost.
        libc::syscall(
            libc::SYS_futex,
            (*own).waiting.as_ptr(),
            libc::FUTEX_WAIT,
            1,
            std::ptr::null::<libc::timespec>(),
        );
        if order.load(Ordering::SeqCst) < turn {
            (*own).waiting.store(1, Ordering::SeqCst);
        }
    }
    (*own).waiting.store(0, Ordering::SeqCst);
    (*own).call.store(0, Ordering::Relaxed);
}

unsafe fn end_turn(thread: *mut Thread, turn: u64) {
    (*slot()).order.store(turn + 1, Ordering::SeqCst);
    if turn + 1 >= (*thread).turn_count {
        return;
    }
    let owner = u32::from((*thread).turns.add(turn as usize + 1).read());
    if owner == u32::from((*thread).index) {
        return;
    }
    let control = control();
    let used = (*control).thread_slots_used.load(Ordering::Acquire) as usize;
    let own = index();
    for other in &(&(*control).threads)[..used] {
        if other.process.load(Ordering::Relaxed) == own && other.thread.load(Ordering::Relaxed) == owner {
            if other.waiting.swap(0, Ordering::SeqCst) == 1 {
                libc::syscall(libc::SYS_futex, other.waiting.as_ptr(), libc::FUTEX_WAKE, 1);
            }
            return;
        }
    }
}

/// One past the last record a call may look at: the wait that ends this frame is included.
unsafe fn window(thread: *const Thread) -> (*mut Head, Option<*mut Head>) {
    let mut record = (*thread).cursor;
    for _ in 0..SEARCH_RECORDS {
        if record >= (*thread).end {
            break;
        }
        let after = next(record);
        let blocks = class(record) == Some(Class::Wait) && (*record).aux > 0 && (*record).op & TAKEN == 0;
        if blocks {
            return (after, Some(record));
        }
        record = after;
    }
    (record, None)
}

unsafe fn find(from: *mut Head, end: *mut Head, wanted: impl Fn(*const Head) -> bool) -> Option<*mut Head> {
    let mut record = from;
    while record < end {
        if wanted(record) {
            return Some(record);
        }
        record = next(record);
    }
    None
}

/// The call does not meet its record at the cursor.
#[cold]
unsafe fn search(thread: *mut Thread, op: Op, fd: i32, timeout_ms: u32) -> Answer {
    let first = skip_clocks(thread);
    if first >= (*thread).end {
        at_end(thread, op, fd);
    }
    if (*first).op & OP_MASK == Op::Exit as u16 && op.class() != Class::Thread {
        report::stop(thread, Stop::LateExit, Finding::call(op, fd, first));
    }
    if op.class() == Class::Wait {
        return search_wait(thread, op, fd, timeout_ms);
    }
    if fits(first, op, fd) {
        return taken(thread, first);
    }
    let (end, _) = window(thread);
    if let Some(record) = find(first, end, |record| fits(record, op, fd)) {
        return taken(thread, record);
    }
    without_record(thread, op, fd, first, end)
}

unsafe fn skip_clocks(thread: *mut Thread) -> *mut Head {
    while (*thread).cursor < (*thread).end && class((*thread).cursor) == Some(Class::Clock) {
        pass_clock(thread);
    }
    (*thread).cursor
}

unsafe fn search_wait(thread: *mut Thread, op: Op, fd: i32, timeout_ms: u32) -> Answer {
    let (end, blocking) = window(thread);
    if timeout_ms == 0 {
        // A look without waiting: its record, or nothing is ready.
        return match find((*thread).cursor, end, |record| fits(record, op, fd) && (*record).aux == 0) {
            Some(record) => taken(thread, record),
            None => without(thread, 0),
        };
    }
    let Some(wait) = blocking.filter(|&wait| fits(wait, op, fd)) else {
        let expected = blocking.unwrap_or((*thread).cursor);
        report::stop(thread, Stop::Order, Finding::call(op, fd, expected));
    };
    while (*thread).cursor < wait {
        pass_over(thread, op, fd);
    }
    taken(thread, wait)
}

/// A record that nobody asked for, passed over at the end of its frame.
unsafe fn pass_over(thread: *mut Thread, op: Op, fd: i32) {
    let record = (*thread).cursor;
    if (*record).op & TAKEN == 0 {
        match class(record) {
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
                signals::replay_signal(thread);
                return;
            }
            _ => count!(thread, resynced, 1),
        }
    }
    if (*thread).ordered {
        wait_turn(thread, record);
    }
    step(thread, record);
}

/// An answer that stands in no demo.
unsafe fn without(thread: *mut Thread, ret: i64) -> Answer {
    count!(thread, resynced, 1);
    let scratch: *mut Head = (&raw mut (*thread).scratch).cast();
    scratch.write_unaligned(Head { size: HEAD_BYTES as u32, op: 0, thread: 0, order: 0, time: 0, ret, fd: -1, aux: 0 });
    Answer { head: scratch }
}

unsafe fn without_record(thread: *mut Thread, op: Op, fd: i32, first: *mut Head, end: *mut Head) -> Answer {
    match op {
        _ if op.class() == Class::Input && (descriptors::is_nonblocking(fd) || (*thread).no_wait) => {
            return without(thread, -i64::from(libc::EAGAIN));
        }
        Op::Setsockopt | Op::Shutdown | Op::Close | Op::Fcntl | Op::EpollCtl | Op::TimerfdSettime | Op::Kill => {
            return without(thread, 0);
        }
        Op::MutexLock | Op::RwlockRdlock | Op::RwlockWrlock | Op::SpinLock => return without(thread, 0),
        Op::Getpid | Op::Gettid => return without(thread, i64::from((*slot()).pid.load(Ordering::Relaxed))),
        _ => {}
    }
    if op.class() == Class::Output {
        report::stop(thread, Stop::Output, Finding::call(op, fd, first));
    }
    let related = find(first, end, |record| (*record).fd == fd && fd >= 0 || number(record) == op as u16);
    let class = if related.is_some() { Stop::Order } else { Stop::Unrecorded };
    report::stop(thread, class, Finding::call(op, fd, first));
}

/// The thread has no records left. The recording was cut here, or the server was killed, or the
/// thread never came back from its last call: all the same, this is where its story ends.
unsafe fn at_end(thread: *mut Thread, _op: Op, _fd: i32) -> ! {
    if (*thread).index != 0 {
        (*(*thread).slot).call.store(u32::MAX, Ordering::Release);
        loop {
            libc::syscall(libc::SYS_pause);
        }
    }
    // The main thread waits for the others to reach the end of theirs.
    let total = (*thread).turn_count;
    while (*thread).ordered && (*slot()).order.load(Ordering::Acquire) < total {
        let pause = libc::timespec { tv_sec: 0, tv_nsec: 100_000 };
        libc::nanosleep(&pause, std::ptr::null_mut());
    }
    end_process(channel::PLAYER_EXIT);
}

/// Ends a process that has followed its demo to the end.
pub unsafe fn end_process(status: i32) -> ! {
    (*slot()).state.store(2, Ordering::Release);
    libc::_exit(status);
}

/// What the call is given of the bytes of an input record.
///
/// A build that asks for fewer bytes of a stream than were recorded gets the rest with its next
/// calls, as from a real socket; of a datagram the rest is lost.
pub struct Given {
    answer: Answer,
    /// The bytes.
    pub bytes: &'static [u8],
    /// These are not all bytes of the record.
    some: bool,
    /// The record has more, which a later call gets.
    more: bool,
}

/// Takes the record of an input, or what is left of it, for a call with room for `room` bytes.
pub unsafe fn take_input(thread: *mut Thread, op: Op, fd: i32, room: usize) -> Given {
    let answer = take(thread, op, fd);
    let head = answer.head.cast_mut();
    let whole = answer.part(PartKind::In, 0);
    let given = if (*head).op & PARTLY != 0 { (*head).aux as usize } else { 0 };
    let rest = &whole[given.min(whole.len())..];
    let bytes = &rest[..rest.len().min(room)];
    let more = room > 0 && bytes.len() < rest.len() && !descriptors::is_datagram(fd);
    if more {
        (*head).op |= PARTLY;
        (*head).aux = (given + bytes.len()) as u32;
        count!(thread, resynced, 1);
    }
    Given { answer, bytes, some: bytes.len() < whole.len(), more }
}

impl Given {
    /// The record behind it.
    pub fn answer(&self) -> Answer {
        self.answer
    }

    /// What the call returns: fewer bytes than recorded when there was no room for them.
    pub fn value(&self) -> isize {
        // With `MSG_TRUNC` a call returns more than it gives, and did so when it was recorded.
        if self.some { self.bytes.len() as isize } else { self.answer.value() }
    }

    /// The call has been answered.
    pub unsafe fn done(self, thread: *mut Thread) {
        if !self.more {
            done(thread, self.answer);
        }
    }
}

/// The build calls `exit`.
pub unsafe fn exiting(thread: *mut Thread, status: i32) {
    let record = skip_clocks(thread);
    let mut place = record;
    let (end, _) = window(thread);
    while place < end && number(place) != Op::Exit as u16 {
        place = next(place);
    }
    if place >= end {
        if record >= (*thread).end {
            return; // cut before the exit: nothing to compare with
        }
        report::stop(thread, Stop::EarlyExit, Finding::call(Op::Exit, -1, record));
    }
    while (*thread).cursor < place {
        let passed = (*thread).cursor;
        let lost = matches!(class(passed), Some(Class::Output | Class::Input)) && (*passed).ret > 0;
        if lost && (*passed).op & TAKEN == 0 {
            report::stop(thread, Stop::EarlyExit, Finding::call(Op::Exit, -1, passed));
        }
        pass_over(thread, Op::Exit, -1);
    }
    if (*place).aux != status as u32 {
        report::stop(thread, Stop::EarlyExit, Finding::call(Op::Exit, -1, place));
    }
    done(thread, Answer { head: place });
}

fn clock_place(op: u16, clock: u32) -> Option<usize> {
    match Op::from_number(op)? {
        Op::ClockGettime if clock < 12 => Some(clock as usize),
        Op::Gettimeofday => Some(12),
        Op::Time => Some(13),
        Op::Clock => Some(14),
        Op::TimespecGet => Some(15),
        _ => None,
    }
}

/// The value of a clock, in nanoseconds.
#[inline(always)]
pub unsafe fn clock(thread: *mut Thread, op: Op, clock: u32) -> i64 {
    let record = (*thread).cursor;
    if record < (*thread).end && number(record) == op as u16 && (*record).aux == clock {
        (*thread).cursor = record.byte_add(HEAD_BYTES);
        count!(thread, records, 1);
        if (*record).op & FRAME_END != 0 {
            end_frame(thread);
            start_frame(thread);
        }
        let value = (*record).ret;
        if let Some(place) = clock_place(op as u16, clock) {
            (*thread).clocks[place] = value;
        }
        return value;
    }
    clock_slowly(thread, op, clock)
}

#[cold]
unsafe fn clock_slowly(thread: *mut Thread, op: Op, clock: u32) -> i64 {
    // Another clock's reads may stand in front; anything else ends the search.
    let mut record = (*thread).cursor;
    while record < (*thread).end && class(record) == Some(Class::Clock) {
        if number(record) == op as u16 && (*record).aux == clock {
            while (*thread).cursor < record {
                pass_clock(thread);
            }
            return self::clock(thread, op, clock);
        }
        record = next(record);
    }
    if (*thread).cursor >= (*thread).end {
        at_end(thread, op, -1);
    }
    count!(thread, clocks_added, 1);
    clock_place(op as u16, clock).map_or(0, |place| (*thread).clocks[place])
}

unsafe fn now(clock: i32) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let live = std::mem::replace(&mut (*thread::this()).live, thread::ASIDE);
    libc::clock_gettime(clock, &mut time);
    (*thread::this()).live = live;
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

unsafe fn start_frame(thread: *mut Thread) {
    (*thread).in_frame = true;
    (*thread).frame_cpu = now(libc::CLOCK_THREAD_CPUTIME_ID);
    (*thread).frame_wall = now(libc::CLOCK_MONOTONIC);
}

unsafe fn end_frame(thread: *mut Thread) {
    if !std::mem::take(&mut (*thread).in_frame) {
        return;
    }
    let wall_ns = now(libc::CLOCK_MONOTONIC) - (*thread).frame_wall;
    let cpu_ns = now(libc::CLOCK_THREAD_CPUTIME_ID) - (*thread).frame_cpu;
    let control = control();
    let frame = (*control).frames.load(Ordering::Relaxed);
    if frame < (*control).frame_capacity {
        (channel::FRAMES_BASE as *mut FrameTime).add(frame as usize).write(FrameTime { wall_ns, cpu_ns });
        (*control).frames.store(frame + 1, Ordering::Release);
    }
}

/// Where one run of sent bytes lies.
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

/// Compares bytes that the kernel moved from a file; only what was taken is known.
pub unsafe fn compare_content(thread: *mut Thread, answer: Answer, op: Op, fd: i32, run: Run) {
    let expected = answer.part(PartKind::Out, 0);
    let found = std::slice::from_raw_parts(if run.0.is_null() { [].as_ptr() } else { run.0 }, run.1);
    if expected != found {
        let at = found.iter().zip(expected).take_while(|(a, b)| a == b).count();
        return differs(thread, answer, op, fd, 0, expected, found.len(), at, std::iter::once(run));
    }
    count!(thread, outputs, 1);
    count!(thread, output_bytes, expected.len() as u64);
}

/// The record of this log text, if one is left in the frame; a build may log more or less.
pub unsafe fn take_log(thread: *mut Thread, fd: i32) -> Option<Answer> {
    let first = skip_clocks(thread);
    let (end, _) = window(thread);
    match find(first, end, |record| fits(record, Op::LogWrite, fd)) {
        Some(record) => Some(taken(thread, record)),
        None => {
            count!(thread, resynced, 1);
            None
        }
    }
}

#[cold]
#[allow(clippy::too_many_arguments)]
unsafe fn differs(
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
    if (*control()).tolerant != 0 && expected.len() == total {
        count!(thread, outputs_differing, 1);
        let vector: &mut [libc::iovec; 64] = &mut [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 64];
        let mut used = 0;
        for ((bytes, length), place) in runs.clone().zip(vector.iter_mut()) {
            *place = libc::iovec { iov_base: bytes.cast_mut().cast(), iov_len: length };
            used += length;
        }
        if used == total {
            let piece = super::recorder::Piece::Vector(PartKind::Out, vector.as_ptr(), total);
            let record = (*answer.head).order;
            super::recorder::emit_numbered(thread, op, fd, message as u32, total as i64, record, &[piece]);
            return;
        }
    }
    report::stop(thread, Stop::Output, Finding::differing(op, fd, answer.head, expected, total, at, runs));
}

/// Ends the replay: the address differs from the recorded one.
pub unsafe fn compare_address(thread: *mut Thread, answer: Answer, op: Op, fd: i32, message: usize, found: &[u8]) {
    let expected = answer.part(PartKind::Addr, message);
    if expected != found && !expected.is_empty() {
        let mut finding = Finding::differing(
            op,
            fd,
            answer.head,
            expected,
            found.len(),
            found.iter().zip(expected).take_while(|(a, b)| a == b).count(),
            std::iter::once((found.as_ptr(), found.len())),
        );
        finding.detail = b"destination address";
        report::stop(thread, Stop::Output, finding);
    }
}

/// True when a signal stands next on the tape of this thread, to be delivered at this place.
#[inline(always)]
pub unsafe fn signal_is_next(thread: *mut Thread, place: i64) -> bool {
    let record = (*thread).cursor;
    record < (*thread).end && number(record) == Op::Signal as u16 && (*record).ret == place
}
