//! Waits for descriptors and for time, and what `epoll` attaches to them.

use super::super::baton;
use super::super::descriptors;
use super::super::epoll::{self, Instance, Registered};
use super::super::going_on::is_over;
use super::super::player::{self, CallResult};
use super::super::real::hooks;
use super::super::recorder::{self, Piece};
use super::super::signals;
use super::super::state::{errno, outcome, set_errno};
use super::super::thread::Thread;
use super::super::widths::Time;
use super::super::widths::plain::{timespec, timeval};
use super::{blocking, enter, leave, recorded};
use libc::{c_int, c_ulong, epoll_event, fd_set, nfds_t, pollfd, sigset_t, useconds_t};
use prony_demo::{Op, PartKind, READY_AGE, READY_AGE_SHIFT, WAIT_FOREVER};
use std::ptr::null_mut;

/// A ready descriptor as it is recorded.
#[repr(C)]
#[derive(Clone, Copy)]
struct Ready {
    fd: i32,
    events: u32,
}

const READABLE: u32 = 1;
const WRITABLE: u32 = 2;
const EXCEPTIONAL: u32 = 4;

/// Ready descriptors of one wait that are gathered on the stack; a wait that returns more is
/// called with a lower limit.
const MOST_READY: usize = 1024;

fn in_milliseconds(seconds: i64, nanoseconds: i64) -> u32 {
    let milliseconds = seconds.saturating_mul(1000).saturating_add((nanoseconds + 999_999) / 1_000_000);
    u32::try_from(milliseconds).unwrap_or(0).min(WAIT_FOREVER - 1)
}

unsafe fn timeout_of(time: *const impl Time) -> u32 {
    // SAFETY: the caller passes a time that is null or valid.
    unsafe {
        if time.is_null() {
            return WAIT_FOREVER;
        }
        let (seconds, nanoseconds) = (*time).parts();
        in_milliseconds(seconds, nanoseconds)
    }
}

fn timeout_of_ms(timeout: c_int) -> u32 {
    u32::try_from(timeout).unwrap_or(WAIT_FOREVER)
}

/// Records a wait, or answers it. `gather` fills the list of ready descriptors after the real
/// call and returns their number, with what else the record needs; `give` hands recorded ones to the
/// server and returns how many it took.
#[inline(always)]
unsafe fn wait(
    op: Op,
    fd: i32,
    timeout_ms: u32,
    real: impl FnOnce() -> c_int,
    gather: impl FnOnce(&mut [Ready; MOST_READY], c_int) -> (usize, Piece),
    give: impl FnOnce(CallResult) -> c_int,
) -> c_int {
    // SAFETY: the block that `enter` returns is the calling thread's own; the pieces that the caller names live until
    // they are written.
    unsafe {
        let (thread, recording) = enter();
        let value;
        if recording {
            value = if timeout_ms == 0 { real() } else { blocking(thread, op, fd, real) };
            if value > 0 {
                emit_ready(thread, op, fd, timeout_ms, value, gather);
            } else {
                let errno = errno();
                recorder::emit(thread, op, fd, timeout_ms, outcome(value as isize), &[]);
                set_errno(errno);
            }
        } else {
            let answer = player::take_wait(thread, op, fd, timeout_ms);
            let given = give(answer);
            value = if answer.is_error() { answer.success() as c_int } else { given };
            player::done(thread, answer);
        }
        leave(thread);
        value
    }
}

#[inline(never)]
unsafe fn emit_ready(
    thread: *mut Thread,
    op: Op,
    fd: i32,
    timeout_ms: u32,
    value: c_int,
    gather: impl FnOnce(&mut [Ready; MOST_READY], c_int) -> (usize, Piece),
) {
    // SAFETY: the block is the calling thread's own. The list is written from its start on, and only what was written
    // is read; any bytes make an entry.
    unsafe {
        // Events are translated in the turn in which they stand in the record: what a number means depends on it.
        baton::keep(thread);
        let mut ready = std::mem::MaybeUninit::<[Ready; MOST_READY]>::uninit();
        let (count, more) = gather(&mut *ready.as_mut_ptr(), value);
        let piece = Piece::some(PartKind::Ready, ready.as_ptr().cast(), count * size_of::<Ready>());
        recorder::emit_at_once(thread, op, fd, timeout_ms, i64::from(value), &[piece, more]);
    }
}

fn each_ready(answer: CallResult) -> impl Iterator<Item = (i32, u32)> {
    answer.part(PartKind::Ready, 0).chunks_exact(8).map(|pair| {
        let (fd, events) = pair.split_at(4);
        (
            i32::from_le_bytes(fd.try_into().expect("split at four")),
            u32::from_le_bytes(events.try_into().expect("four are left")),
        )
    })
}

unsafe fn is_set(fd: i32, set: *const fd_set) -> bool {
    // SAFETY: the caller passes a set that is null or valid, and a descriptor that it has room for.
    unsafe { !set.is_null() && libc::FD_ISSET(fd, set) }
}

unsafe fn gather_sets(count: c_int, sets: [*mut fd_set; 3], ready: &mut [Ready; MOST_READY]) -> usize {
    let mut used = 0;
    for fd in 0..count.min(libc::FD_SETSIZE as c_int) {
        let mut events = 0;
        for (set, event) in sets.iter().zip([READABLE, WRITABLE, EXCEPTIONAL]) {
            // SAFETY: the caller passes sets that are null or valid.
            events |= if unsafe { is_set(fd, *set) } { event } else { 0 };
        }
        if events != 0 && used < MOST_READY {
            ready[used] = Ready { fd, events };
            used += 1;
        }
    }
    used
}

/// Sets are arrays of these.
const WORD_BITS: usize = c_ulong::BITS as usize;

unsafe fn give_sets(count: c_int, sets: [*mut fd_set; 3], answer: CallResult) -> c_int {
    // A call that fails leaves the sets as they are, and an interrupted caller passes them again.
    if answer.is_error() {
        return 0;
    }
    let mut given = 0;
    let words = (count.max(0) as usize).div_ceil(WORD_BITS).min(libc::FD_SETSIZE / WORD_BITS);
    let mut wanted: [[c_ulong; libc::FD_SETSIZE / WORD_BITS]; 3] = [[0; _]; 3];
    for (set, wanted) in sets.iter().zip(&mut wanted) {
        if !set.is_null() {
            // SAFETY: the caller passes sets that are null or have room for `count` descriptors.
            let bits = unsafe { std::slice::from_raw_parts_mut((*set).cast::<c_ulong>(), words) };
            wanted[..words].copy_from_slice(bits);
            bits.fill(0);
        }
    }
    for (fd, events) in each_ready(answer).filter(|&(fd, _)| fd >= 0 && fd < count) {
        for ((set, event), wanted) in sets.iter().zip([READABLE, WRITABLE, EXCEPTIONAL]).zip(&wanted) {
            let is_wanted = wanted[fd as usize / WORD_BITS] >> (fd as usize % WORD_BITS) & 1 == 1;
            if events & event != 0 && is_wanted && !set.is_null() {
                // SAFETY: as above: the descriptor is below `count`.
                unsafe { libc::FD_SET(fd, *set) };
                given += 1;
            }
        }
    }
    given
}

/// What finds no place in the list is left for the next `poll`.
unsafe fn gather_poll(fds: *mut pollfd, count: nfds_t, ready: &mut [Ready; MOST_READY]) -> usize {
    let mut used = 0;
    // SAFETY: the caller passes as many entries.
    for entry in unsafe { std::slice::from_raw_parts_mut(fds, count as usize) } {
        if entry.revents != 0 && used == MOST_READY {
            entry.revents = 0;
        } else if entry.revents != 0 {
            ready[used] = Ready { fd: entry.fd, events: u32::from(entry.revents as u16) };
            used += 1;
        }
    }
    used
}

/// Events that `poll` reports whether requested or not.
const ALWAYS_REPORTED: i16 = libc::POLLERR | libc::POLLHUP | libc::POLLNVAL;

unsafe fn give_poll(fds: *mut pollfd, count: nfds_t, answer: CallResult) -> c_int {
    // SAFETY: the caller passes as many entries.
    let fds = if count == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(fds, count as usize) } };
    for entry in fds.iter_mut() {
        entry.revents = 0;
    }
    // The server usually lists them in the recorded order.
    let mut place = 0;
    let mut given = 0;
    for (fd, events) in each_ready(answer) {
        let mut places = (0..fds.len()).map(|step| (place + step) % fds.len()).filter(|&at| fds[at].fd == fd);
        // Some ask for input and for output of one descriptor in two entries.
        let unrequested = |at: &usize| events as i16 & !(fds[*at].events | ALWAYS_REPORTED) != 0;
        let first = places.next();
        if let Some(at) = first.filter(|at| !unrequested(at)).or_else(|| places.find(|at| !unrequested(at))).or(first) {
            // Only those that the build requests, as from the kernel.
            let reported = events as i16 & (fds[at].events | ALWAYS_REPORTED);
            given += c_int::from(reported != 0 && fds[at].revents == 0);
            fds[at].revents |= reported;
            place = at + 1;
        }
    }
    given
}

unsafe fn wait_poll(op: Op, fds: *mut pollfd, count: nfds_t, timeout_ms: u32, real: impl FnOnce() -> c_int) -> c_int {
    if fds.is_null() && count > 0 {
        return real();
    }
    // SAFETY: the caller passes as many entries.
    unsafe {
        wait(
            op,
            -1,
            timeout_ms,
            || real().min(MOST_READY as c_int),
            |ready, _| (gather_poll(fds, count, ready), Piece::Nothing),
            |answer| give_poll(fds, count, answer),
        )
    }
}

unsafe fn wait_epoll(
    op: Op,
    epoll: c_int,
    events: *mut epoll_event,
    count: c_int,
    timeout_ms: u32,
    real: impl FnOnce(c_int) -> c_int,
) -> c_int {
    // SAFETY: the caller passes room for `count` events, of which the call has filled as many as it says; of the
    // instances as many are read as were written.
    unsafe {
        let count = count.min(MOST_READY as c_int);
        let waiting = epoll::instance(epoll);
        // The instance of each event, recorded only where the descriptor leads to another one than was
        // known: it came over a socket.
        let mut instances = std::mem::MaybeUninit::<[Instance; MOST_READY]>::uninit();
        let instances: *mut Instance = instances.as_mut_ptr().cast();
        wait(
            op,
            epoll,
            timeout_ms,
            || real(count),
            |ready, value| {
                let mut known = true;
                for (place, at) in ready.iter_mut().zip(0..value as usize) {
                    let event = events.add(at);
                    let Registered { instance, fd, age, data } = epoll::registered((*event).u64);
                    (*event).u64 = data;
                    *place = Ready { fd, events: (*event).events | age << READY_AGE_SHIFT };
                    *instances.add(at) = instance;
                    known &= instance == waiting;
                }
                let bytes = if known { 0 } else { value as usize * size_of::<Instance>() };
                (value as usize, Piece::some(PartKind::Value, instances.cast(), bytes))
            },
            |answer| {
                let mut given = 0;
                let mut instances = answer.part(PartKind::Value, 0).chunks_exact(size_of::<Instance>());
                for (fd, bits) in each_ready(answer) {
                    let age = (bits & READY_AGE) >> READY_AGE_SHIFT;
                    let instance = instances
                        .next()
                        .map_or(waiting, |name| Instance::from_le_bytes(name.try_into().expect("eight bytes")));
                    if let (true, Some(data)) = (given < count, epoll::data(instance, fd, age)) {
                        *events.add(given as usize) = epoll_event { events: bits & !READY_AGE, u64: data };
                        given += 1;
                    }
                }
                given
            },
        )
    }
}

/// A sleep: nothing but time passes, and a replay does not let it pass. What is left of an
/// interrupted one is in the value part.
unsafe fn sleep_for<T>(op: Op, timeout_ms: u32, left: *mut T, real: impl FnOnce() -> isize) -> isize {
    // SAFETY: the block that `enter` returns is the calling thread's own, and `left` is null or where the call writes.
    unsafe {
        let (thread, recording) = enter();
        let value;
        if recording {
            value = blocking(thread, op, -1, real);
            let errno = errno();
            let rest = if value != 0 && !left.is_null() { Piece::value(&*left) } else { Piece::Nothing };
            recorder::emit(thread, op, -1, timeout_ms, outcome(value), &[rest]);
            set_errno(errno);
        } else {
            let answer = player::take_wait(thread, op, -1, timeout_ms);
            answer.copy_value(left);
            value = answer.number();
            player::done(thread, answer);
        }
        leave(thread);
        value
    }
}

hooks! {
    [__select] time64 [__select64] until [is_over] fn select(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, timeout: *mut timeval) -> c_int {
        let timeout_ms = timeout_of(timeout);
        let sets = [read, write, except];
        wait(
            Op::Select,
            -1,
            timeout_ms,
            || real::select(count, read, write, except, timeout),
            |ready, _| (gather_sets(count, sets, ready), Piece::Nothing),
            |answer| give_sets(count, sets, answer),
        )
    }

    time64 [__pselect64] fn pselect(
        count: c_int,
        read: *mut fd_set,
        write: *mut fd_set,
        except: *mut fd_set,
        timeout: *const timespec,
        mask: *const sigset_t,
    ) -> c_int {
        let sets = [read, write, except];
        signals::with_mask(mask, || {
            wait(
                Op::Pselect,
                -1,
                timeout_of(timeout),
                || real::pselect(count, read, write, except, timeout, mask),
                |ready, _| (gather_sets(count, sets, ready), Piece::Nothing),
                |answer| give_sets(count, sets, answer),
            )
        })
    }

    [__poll] until [is_over] fn poll(fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
        wait_poll(Op::Poll, fds, count, timeout_of_ms(timeout), || real::poll(fds, count, timeout))
    }

    fn __poll_chk(fds: *mut pollfd, count: nfds_t, timeout: c_int, _length: usize) -> c_int {
        poll(fds, count, timeout)
    }

    time64 [__ppoll64] until [is_over] fn ppoll(fds: *mut pollfd, count: nfds_t, timeout: *const timespec, mask: *const sigset_t) -> c_int {
        signals::with_mask(mask, || {
            wait_poll(Op::Ppoll, fds, count, timeout_of(timeout), || real::ppoll(fds, count, timeout, mask))
        })
    }

    fn __ppoll_chk(
        fds: *mut pollfd,
        count: nfds_t,
        timeout: *const timespec,
        mask: *const sigset_t,
        length: usize,
    ) -> c_int {
        signals::with_mask(mask, || {
            wait_poll(Op::Ppoll, fds, count, timeout_of(timeout), || {
                real::__ppoll_chk(fds, count, timeout, mask, length)
            })
        })
    }

    fn epoll_wait(epoll: c_int, events: *mut epoll_event, count: c_int, timeout: c_int) -> c_int {
        wait_epoll(Op::EpollWait, epoll, events, count, timeout_of_ms(timeout), |count| {
            real::epoll_wait(epoll, events, count, timeout)
        })
    }

    fn epoll_pwait(
        epoll: c_int,
        events: *mut epoll_event,
        count: c_int,
        timeout: c_int,
        mask: *const sigset_t,
    ) -> c_int {
        signals::with_mask(mask, || {
            wait_epoll(Op::EpollWait, epoll, events, count, timeout_of_ms(timeout), |count| {
                real::epoll_pwait(epoll, events, count, timeout, mask)
            })
        })
    }

    time64 [__epoll_pwait2_time64] fn epoll_pwait2(
        epoll: c_int,
        events: *mut epoll_event,
        count: c_int,
        timeout: *const timespec,
        mask: *const sigset_t,
    ) -> c_int {
        signals::with_mask(mask, || {
            wait_epoll(Op::EpollWait, epoll, events, count, timeout_of(timeout), |count| {
                real::epoll_pwait2(epoll, events, count, timeout, mask)
            })
        })
    }

    fn epoll_create(size: c_int) -> c_int {
        created(|| real::epoll_create(size))
    }

    fn epoll_create1(flags: c_int) -> c_int {
        created(|| real::epoll_create1(flags))
    }

    fn epoll_ctl(epoll: c_int, operation: c_int, fd: c_int, event: *mut epoll_event) -> c_int {
        // Registered before the kernel knows it: the event may arrive on another thread at once.
        let mut registration = epoll_event { events: 0, u64: 0 };
        let mut change = None;
        if operation != libc::EPOLL_CTL_DEL && !event.is_null() {
            let is_new = operation == libc::EPOLL_CTL_ADD;
            let Some(made) = epoll::register(epoll::instance(epoll), fd, (*event).u64, is_new) else {
                set_errno(libc::ENOSPC);
                return -1;
            };
            registration = epoll_event { events: (*event).events, u64: made.token() };
            change = Some(made);
        }
        let value = recorded(
            Op::EpollCtl,
            fd,
            operation as u32,
            || real::epoll_ctl(epoll, operation, fd, if event.is_null() { event } else { &mut registration }) as isize,
            |_| [],
            CallResult::success,
        ) as c_int;
        if let Some(change) = change.filter(|_| value == -1) {
            change.undo();
        }
        value
    }

    [__nanosleep] time64 [__nanosleep64] fn nanosleep(time: *const timespec, left: *mut timespec) -> c_int {
        sleep_for(Op::Nanosleep, timeout_of(time), left, || real::nanosleep(time, left) as isize) as c_int
    }

    time64 [__clock_nanosleep_time64] fn clock_nanosleep(clock: libc::clockid_t, flags: c_int, time: *const timespec, left: *mut timespec) -> c_int {
        // An absolute time says nothing about how long; it is a wait that may block.
        let timeout_ms = if flags & libc::TIMER_ABSTIME != 0 { WAIT_FOREVER - 1 } else { timeout_of(time) };
        sleep_for(Op::ClockNanosleep, timeout_ms, left, || {
            real::clock_nanosleep(clock, flags, time, left) as isize
        }) as c_int
    }

    fn usleep(time: useconds_t) -> c_int {
        let timeout_ms = time.div_ceil(1000);
        sleep_for(Op::Usleep, timeout_ms, null_mut::<timespec>(), || real::usleep(time) as isize) as c_int
    }

    fn sleep(seconds: libc::c_uint) -> libc::c_uint {
        let timeout_ms = seconds.saturating_mul(1000).min(WAIT_FOREVER - 1);
        sleep_for(Op::Sleep, timeout_ms, null_mut::<timespec>(), || real::sleep(seconds) as isize) as libc::c_uint
    }

    fn pause() -> c_int {
        sleep_for(Op::Pause, WAIT_FOREVER, null_mut::<timespec>(), || real::pause() as isize) as c_int
    }

    [__sigsuspend] fn sigsuspend(mask: *const sigset_t) -> c_int {
        signals::with_mask(mask, || {
            sleep_for(Op::Sigsuspend, WAIT_FOREVER, null_mut::<timespec>(), || real::sigsuspend(mask) as isize) as c_int
        })
    }
}

fn created(real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: there are no pieces.
    unsafe {
        let fd = recorded(
            Op::EpollCreate,
            -1,
            0,
            || real() as isize,
            |_| [],
            |answer| answer.descriptor(descriptors::StandIn::Other),
        ) as c_int;
        descriptors::opened(fd);
        epoll::made(fd);
        fd
    }
}

/// `sigwait` and its kin return the signal and leave details in the value part.
unsafe fn wait_for_signal(op: Op, timeout_ms: u32, info: *mut libc::siginfo_t, real: impl FnOnce() -> isize) -> isize {
    // SAFETY: the block that `enter` returns is the calling thread's own, and `info` is null or where the call writes.
    unsafe {
        let (thread, recording) = enter();
        let value;
        if recording {
            value = blocking(thread, op, -1, real);
            let errno = errno();
            let piece = if value > 0 && !info.is_null() { Piece::value(&*info) } else { Piece::Nothing };
            recorder::emit(thread, op, -1, timeout_ms, outcome(value), &[piece]);
            set_errno(errno);
        } else {
            let answer = player::take_wait(thread, op, -1, timeout_ms);
            answer.copy_value(info);
            value = answer.number();
            player::done(thread, answer);
        }
        leave(thread);
        value
    }
}

mod signal_waits {
    use super::*;

    hooks! {
        fn sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int {
            // Returns an error number, not -1: the signal itself is what is recorded.
            let mut failed = 0;
            let value = wait_for_signal(Op::Sigwait, WAIT_FOREVER, null_mut(), || {
                failed = real::sigwait(set, signal);
                if failed == 0 { *signal as isize } else { 0 }
            });
            if value > 0 {
                *signal = value as c_int;
            }
            failed
        }

        fn sigwaitinfo(set: *const sigset_t, info: *mut libc::siginfo_t) -> c_int {
            wait_for_signal(Op::Sigtimedwait, WAIT_FOREVER, info, || real::sigwaitinfo(set, info) as isize) as c_int
        }

        time64 [__sigtimedwait64] fn sigtimedwait(set: *const sigset_t, info: *mut libc::siginfo_t, timeout: *const timespec) -> c_int {
            wait_for_signal(Op::Sigtimedwait, timeout_of(timeout), info, || {
                real::sigtimedwait(set, info, timeout) as isize
            }) as c_int
        }
    }
}
