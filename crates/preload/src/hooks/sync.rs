//! Threads and what orders them.
//!
//! While a process has one thread, locks are not recorded. From the second thread on each
//! acquisition is recorded after it happened, so the order of the records is an order in which
//! the acquisitions are possible; a replay makes every thread wait for its turn and then really
//! acquires. Releases need no record: they come before the next acquisition by themselves.
//! What is free is taken at once; only who has to wait for it lets other threads run meanwhile.
//!
//! While threads run one at a time, an acquisition that needs no wait has no record either: it follows from what the
//! threads did before, in an order that the other records give. Those of servers with many locks are most of all calls.
//! One that waits has two records. The first, before other threads run, says how many acquisitions the thread made without, so
//! a replay knows which one it is, also if the demo ends before the second.

use super::super::baton;
use super::super::collect;
use super::super::ending;
use super::super::failures;
use super::super::lifecycle::{self, attach_thread, detach_thread};
use super::super::player;
use super::super::raw_calls;
use super::super::real::hooks;
use super::super::recorder;
use super::super::stack;
use super::super::state::{self, threaded};
use super::super::thread::{PassThrough, RECORDING, this};
use super::super::widths::plain::timespec;

use super::{behind_record, blocking, enter, leave};
use libc::{c_int, c_void, clockid_t, pthread_attr_t, pthread_t, sem_t};
use libc::{pthread_barrier_t, pthread_cond_t, pthread_mutex_t, pthread_rwlock_t, pthread_spinlock_t};
use prony_demo::{Op, WAITS_ONLY};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

/// Function and argument that a new thread starts with.
struct Start {
    routine: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
    index: u16,
}

extern "C" fn run(start: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` below hands over a `Start` that it took from `malloc`.
    unsafe {
        let paused = collect::pause();
        let start: *mut Start = start.cast();
        let Start { routine, argument, index } = start.read();
        attach_thread(index);
        started();
        // Not before: the first use of the heap by a thread opens files, whose numbers matter.
        libc::free(start.cast());
        raw_calls::watch_thread();
        watch_end(ROUNDS);
        collect::resume(paused);
        stack::clear();
        routine(argument)
    }
}

/// The thread runs the server's code from here on.
unsafe fn started() {
    // SAFETY: the block that `enter` gives is the calling thread's own.
    unsafe {
        let (thread, recording) = enter();
        if recording {
            recorder::emit(thread, Op::ThreadStart, -1, 0, 0, &[]);
        } else {
            player::take_start(thread);
        }
        leave(thread);
    }
}

/// The key whose value makes libc call [`ending`] on every thread that ends, also by `pthread_exit`
/// or when it is cancelled. One more than the key; 0 before there is one.
static ENDING: AtomicU32 = AtomicU32::new(0);

/// Times that libc goes round the destructors before the thread's slot is given back: the server's
/// own make calls too.
const ROUNDS: usize = 2;

extern "C" fn ending(rounds: *mut c_void) {
    // SAFETY: libc calls this on the thread that ends, with what was set before.
    unsafe {
        let paused = collect::pause();
        match rounds as usize {
            1 => detach_thread(),
            left => watch_end(left - 1),
        }
        collect::resume(paused);
    }
}

unsafe fn watch_end(rounds: usize) {
    // SAFETY: `ENDING` holds a key that was made, which libc takes any value for.
    unsafe {
        if ENDING.load(Ordering::Acquire) == 0 {
            let mut key = 0;
            if libc::pthread_key_create(&mut key, Some(ending)) != 0 {
                super::super::report::fatal(&[b"no key is left for data of threads"]);
            }
            // A second thread may have been as quick; its key stays unused.
            let _ = ENDING.compare_exchange(0, key + 1, Ordering::AcqRel, Ordering::Relaxed);
        }
        libc::pthread_setspecific(ENDING.load(Ordering::Acquire) - 1, rounds as *const c_void);
    }
}

unsafe fn created(
    real: impl FnOnce(extern "C" fn(*mut c_void) -> *mut c_void, *mut c_void) -> c_int,
    routine: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: `start` has the size of a `Start` and is this thread's until the new one has it; `real` takes a routine and its argument.
    unsafe {
        let (thread, recording) = enter();
        lifecycle::now_threaded();
        let start: *mut Start = libc::malloc(size_of::<Start>()).cast();
        let result;
        if recording {
            let index = state::slot().threads.fetch_add(1, Ordering::Relaxed);
            start.write(Start { routine, argument, index: index as u16 });
            // The record comes first: the new thread's calls follow it in the order.
            let kind = if baton::is_in_use() { WAITS_ONLY } else { 0 };
            recorder::emit(thread, Op::ThreadCreate, -1, index, kind, &[]);
            ending::wait_for_others();
            // The new thread has the mask of this one, in which no signal may be deferred.
            result = behind_record(thread, || real(run, start.cast()));
        } else {
            let answer = player::take(thread, Op::ThreadCreate, -1);
            player::share_one_cpu(thread);
            if answer.code() == WAITS_ONLY {
                player::expect_waits_only();
            }
            ending::wait_for_others();
            start.write(Start { routine, argument, index: answer.aux() as u16 });
            result = real(run, start.cast());
            if result != 0 {
                failures::note(c"pthread_create", -1, std::ptr::null(), result);
            }
            player::done(thread, answer);
        }
        leave(thread);
        result
    }
}

/// A lock that was free, or whose owner died.
fn had(result: c_int) -> Option<c_int> {
    matches!(result, 0 | libc::EOWNERDEAD).then_some(result)
}

/// Result of an acquisition that was made without a record, if it may have none.
enum Attempt {
    /// The attempt is over, with this result.
    Made(c_int),
    /// The attempt needs a record: it was not made yet, failed, or had a result that says more than success.
    Recorded(Option<Option<c_int>>),
}

/// Makes an acquisition without a record where the thread runs alone and no thread waits for the baton: then every replay
/// finds the lock as free. With a signal that waits for its handler there has to be a record, behind the signal's.
#[inline(always)]
unsafe fn unrecorded(at_once: impl Fn() -> Option<c_int>, real: impl Fn() -> c_int) -> Attempt {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let thread = this();
        if (*thread).live == RECORDING {
            let may = baton::is_owned_uncontended(thread) && (*thread).pending.load(Ordering::Relaxed) == 0;
            let pass_through = PassThrough::enter();
            let tried = may.then(&at_once);
            if tried != Some(Some(0)) {
                if baton::is_in_use() {
                    recorder::emit_at_once(thread, Op::AcquireStart, -1, 0, i64::from((*thread).unrecorded), &[]);
                }
                drop(pass_through);
                return Attempt::Recorded(tried);
            }
        } else {
            if !player::is_unrecorded(thread) {
                return Attempt::Recorded(None);
            }
            let _pass_through = PassThrough::enter();
            if at_once() != Some(0) {
                // Another build, or another process, has it, or the demo ends before the record that says who.
                player::wait_unrecorded(thread);
                return Attempt::Made(real());
            }
        }
        (*thread).unrecorded = (*thread).unrecorded.saturating_add(1);
        Attempt::Made(0)
    }
}

/// An acquisition: recorded once it is had. `at_once` gives the result if it needs no wait, `real`
/// waits for it; `acquire` is what a replay does where the recorded call succeeded.
#[inline(always)]
pub(super) unsafe fn acquired<T>(
    op: Op,
    object: *const T,
    at_once: impl Fn() -> Option<c_int>,
    real: impl Fn() -> c_int,
    acquire: impl FnOnce() -> c_int,
) -> c_int {
    // SAFETY: the block that `enter` gives is the calling thread's own; `object` is only named.
    unsafe {
        if state::is_over() {
            return real();
        }
        // Alone, it waits for nothing but a signal or another process.
        if !threaded()
            && let Some(result) = at_once()
        {
            return result;
        }
        let tried = match unrecorded(&at_once, &real) {
            Attempt::Made(result) => return result,
            Attempt::Recorded(tried) => tried,
        };
        let (thread, recording) = enter();
        let result;
        if recording {
            result = match tried.unwrap_or_else(at_once) {
                Some(result) => result,
                None => blocking(thread, op, -1, real),
            };
            recorder::emit(thread, op, -1, player::name_of(object), i64::from(result), &[]);
        } else if let Some(answer) = player::take_sync(thread, op) {
            result = answer.code() as c_int;
            if had(result).is_some() {
                acquire();
            }
            player::done(thread, answer);
        } else {
            result = real();
        }
        leave(thread);
        result
    }
}

/// Waiting on a condition gives the mutex up and has it again at the end. A replay needs no
/// signal: the turn says when the wait ended.
unsafe fn waited(op: Op, mutex: *mut pthread_mutex_t, real: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the block is the calling thread's own; the caller passes a mutex that this thread has, as the contract of the hooked function demands.
    unsafe {
        let replaying = (*this()).live != RECORDING;
        if replaying {
            // A wait whose turn is far off must not hold the mutex meanwhile, nor one for the turn of a signal before it.
            libc::pthread_mutex_unlock(mutex);
        }
        let (thread, _) = enter();
        let result;
        if !replaying {
            result = blocking(thread, op, -1, real);
            recorder::emit(thread, op, -1, player::name_of(mutex), i64::from(result), &[]);
        } else {
            let answer = player::take_condition(thread, op);
            result = answer.code() as c_int;
            libc::pthread_mutex_lock(mutex);
            player::done(thread, answer);
        }
        leave(thread);
        result
    }
}

/// Semaphores return -1 and set `errno`.
unsafe fn semaphore(op: Op, object: *mut sem_t, real: impl Fn() -> c_int) -> c_int {
    // SAFETY: the block is the calling thread's own; the caller passes a semaphore.
    unsafe {
        if state::is_over() {
            return real();
        }
        let at_once = || (real::sem_trywait(object) == 0).then_some(0);
        let tried = match unrecorded(at_once, &real) {
            Attempt::Made(result) => return result,
            Attempt::Recorded(tried) => tried,
        };
        let (thread, recording) = enter();
        let result;
        if recording {
            result = match tried.unwrap_or_else(at_once) {
                Some(result) => result,
                None => blocking(thread, op, -1, real),
            };
            let errno = state::errno();
            recorder::emit(thread, op, -1, player::name_of(object), state::outcome(result as isize), &[]);
            state::set_errno(errno);
        } else if let Some(answer) = player::take_sync(thread, op) {
            let outcome = answer.code() as c_int;
            if outcome == 0 {
                wait_semaphore(object);
            }
            result = state::returned(i64::from(outcome)) as c_int;
            player::done(thread, answer);
        } else {
            result = real();
        }
        leave(thread);
        result
    }
}

unsafe fn wait_semaphore(semaphore: *mut sem_t) {
    // SAFETY: the caller passes a semaphore.
    unsafe { while libc::sem_wait(semaphore) == -1 && state::errno() == libc::EINTR {} }
}

unsafe fn joined(op: Op, real: impl FnOnce() -> c_int, join: impl FnOnce() -> c_int) -> c_int {
    // SAFETY: the block that `enter` gives is the calling thread's own.
    unsafe {
        let (thread, recording) = enter();
        let result;
        if recording {
            result = blocking(thread, op, -1, real);
            recorder::emit(thread, op, -1, 0, i64::from(result), &[]);
        } else {
            // The turn first: the thread to be joined still needs the turns before it.
            let answer = player::take(thread, op, -1);
            result = answer.code() as c_int;
            if result == 0 {
                player::wait_for_end(join);
            }
            player::done(thread, answer);
        }
        leave(thread);
        result
    }
}

type Routine = extern "C" fn(*mut c_void) -> *mut c_void;

hooks! {
    fn pthread_create(
        to: *mut pthread_t,
        attributes: *const pthread_attr_t,
        routine: Routine,
        argument: *mut c_void,
    ) -> c_int {
        created(|run, start| real::pthread_create(to, attributes, run, start), routine, argument)
    }

    fn pthread_join(other: pthread_t, value: *mut *mut c_void) -> c_int {
        joined(Op::ThreadJoin, || real::pthread_join(other, value), || real::pthread_join(other, value))
    }

    fn pthread_tryjoin_np(other: pthread_t, value: *mut *mut c_void) -> c_int {
        joined(Op::ThreadTryjoin, || real::pthread_tryjoin_np(other, value), || libc::pthread_join(other, value))
    }

    time64 [__pthread_timedjoin_np64] fn pthread_timedjoin_np(other: pthread_t, value: *mut *mut c_void, time: *const timespec) -> c_int {
        joined(Op::ThreadTryjoin, || real::pthread_timedjoin_np(other, value, time), || libc::pthread_join(other, value))
    }

    time64 [__pthread_clockjoin_np64] fn pthread_clockjoin_np(other: pthread_t, value: *mut *mut c_void, clock: clockid_t, time: *const timespec) -> c_int {
        let real = || real::pthread_clockjoin_np(other, value, clock, time);
        joined(Op::ThreadTryjoin, real, || libc::pthread_join(other, value))
    }

    [__pthread_mutex_lock] fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int {
        acquired(
            Op::MutexLock,
            mutex,
            || had(real::pthread_mutex_trylock(mutex)),
            || real::pthread_mutex_lock(mutex),
            || real::pthread_mutex_lock(mutex),
        )
    }

    [__pthread_mutex_trylock] fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int {
        acquired(
            Op::MutexTrylock,
            mutex,
            || Some(real::pthread_mutex_trylock(mutex)),
            || real::pthread_mutex_trylock(mutex),
            || libc::pthread_mutex_lock(mutex),
        )
    }

    time64 [__pthread_mutex_timedlock64] fn pthread_mutex_timedlock(mutex: *mut pthread_mutex_t, time: *const timespec) -> c_int {
        acquired(
            Op::MutexTimedlock,
            mutex,
            || had(real::pthread_mutex_trylock(mutex)),
            || real::pthread_mutex_timedlock(mutex, time),
            || libc::pthread_mutex_lock(mutex),
        )
    }

    time64 [__pthread_mutex_clocklock64] fn pthread_mutex_clocklock(mutex: *mut pthread_mutex_t, clock: clockid_t, time: *const timespec) -> c_int {
        acquired(
            Op::MutexTimedlock,
            mutex,
            || had(real::pthread_mutex_trylock(mutex)),
            || real::pthread_mutex_clocklock(mutex, clock, time),
            || libc::pthread_mutex_lock(mutex),
        )
    }

    fn pthread_cond_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int {
        waited(Op::CondWait, mutex, || real::pthread_cond_wait(condition, mutex))
    }

    time64 [__pthread_cond_timedwait64] fn pthread_cond_timedwait(
        condition: *mut pthread_cond_t,
        mutex: *mut pthread_mutex_t,
        time: *const timespec,
    ) -> c_int {
        // Timed, so it ends alone too: its outcome is recorded even in a process of one thread.
        waited(Op::CondTimedwait, mutex, || real::pthread_cond_timedwait(condition, mutex, time))
    }

    time64 [__pthread_cond_clockwait64] fn pthread_cond_clockwait(
        condition: *mut pthread_cond_t,
        mutex: *mut pthread_mutex_t,
        clock: clockid_t,
        time: *const timespec,
    ) -> c_int {
        waited(Op::CondTimedwait, mutex, || real::pthread_cond_clockwait(condition, mutex, clock, time))
    }

    fn sem_wait(to: *mut sem_t) -> c_int {
        if !threaded() && real::sem_trywait(to) == 0 {
            return 0;
        }
        semaphore(Op::SemWait, to, || real::sem_wait(to))
    }

    fn sem_trywait(to: *mut sem_t) -> c_int {
        if !threaded() {
            return real::sem_trywait(to);
        }
        semaphore(Op::SemTrywait, to, || real::sem_trywait(to))
    }

    time64 [__sem_timedwait64] fn sem_timedwait(to: *mut sem_t, time: *const timespec) -> c_int {
        semaphore(Op::SemTimedwait, to, || real::sem_timedwait(to, time))
    }

    time64 [__sem_clockwait64] fn sem_clockwait(to: *mut sem_t, clock: clockid_t, time: *const timespec) -> c_int {
        semaphore(Op::SemTimedwait, to, || real::sem_clockwait(to, clock, time))
    }

    fn sem_getvalue(to: *mut sem_t, value: *mut c_int) -> c_int {
        if !threaded() {
            return real::sem_getvalue(to, value);
        }
        super::recorded(
            Op::SemGetvalue,
            -1,
            0,
            || real::sem_getvalue(to, value) as isize,
            |_| [recorder::Piece::value(&*value)],
            |answer| {
                answer.copy_value(value);
                answer.success()
            },
        ) as c_int
    }

    [__pthread_rwlock_rdlock] fn pthread_rwlock_rdlock(lock: *mut pthread_rwlock_t) -> c_int {
        acquired(
            Op::RwlockRdlock,
            lock,
            || had(real::pthread_rwlock_tryrdlock(lock)),
            || real::pthread_rwlock_rdlock(lock),
            || real::pthread_rwlock_rdlock(lock),
        )
    }

    [__pthread_rwlock_wrlock] fn pthread_rwlock_wrlock(lock: *mut pthread_rwlock_t) -> c_int {
        acquired(
            Op::RwlockWrlock,
            lock,
            || had(real::pthread_rwlock_trywrlock(lock)),
            || real::pthread_rwlock_wrlock(lock),
            || real::pthread_rwlock_wrlock(lock),
        )
    }

    [__pthread_rwlock_tryrdlock] fn pthread_rwlock_tryrdlock(lock: *mut pthread_rwlock_t) -> c_int {
        acquired(
            Op::RwlockTryrdlock,
            lock,
            || Some(real::pthread_rwlock_tryrdlock(lock)),
            || real::pthread_rwlock_tryrdlock(lock),
            || libc::pthread_rwlock_rdlock(lock),
        )
    }

    [__pthread_rwlock_trywrlock] fn pthread_rwlock_trywrlock(lock: *mut pthread_rwlock_t) -> c_int {
        acquired(
            Op::RwlockTrywrlock,
            lock,
            || Some(real::pthread_rwlock_trywrlock(lock)),
            || real::pthread_rwlock_trywrlock(lock),
            || libc::pthread_rwlock_wrlock(lock),
        )
    }

    time64 [__pthread_rwlock_timedrdlock64] fn pthread_rwlock_timedrdlock(lock: *mut pthread_rwlock_t, time: *const timespec) -> c_int {
        acquired(
            Op::RwlockTimedrdlock,
            lock,
            || had(real::pthread_rwlock_tryrdlock(lock)),
            || real::pthread_rwlock_timedrdlock(lock, time),
            || libc::pthread_rwlock_rdlock(lock),
        )
    }

    time64 [__pthread_rwlock_clockrdlock64] fn pthread_rwlock_clockrdlock(lock: *mut pthread_rwlock_t, clock: clockid_t, time: *const timespec) -> c_int {
        acquired(
            Op::RwlockTimedrdlock,
            lock,
            || had(real::pthread_rwlock_tryrdlock(lock)),
            || real::pthread_rwlock_clockrdlock(lock, clock, time),
            || libc::pthread_rwlock_rdlock(lock),
        )
    }

    time64 [__pthread_rwlock_clockwrlock64] fn pthread_rwlock_clockwrlock(lock: *mut pthread_rwlock_t, clock: clockid_t, time: *const timespec) -> c_int {
        acquired(
            Op::RwlockTimedwrlock,
            lock,
            || had(real::pthread_rwlock_trywrlock(lock)),
            || real::pthread_rwlock_clockwrlock(lock, clock, time),
            || libc::pthread_rwlock_wrlock(lock),
        )
    }

    time64 [__pthread_rwlock_timedwrlock64] fn pthread_rwlock_timedwrlock(lock: *mut pthread_rwlock_t, time: *const timespec) -> c_int {
        acquired(
            Op::RwlockTimedwrlock,
            lock,
            || had(real::pthread_rwlock_trywrlock(lock)),
            || real::pthread_rwlock_timedwrlock(lock, time),
            || libc::pthread_rwlock_wrlock(lock),
        )
    }

    fn pthread_spin_lock(lock: *mut pthread_spinlock_t) -> c_int {
        acquired(
            Op::SpinLock,
            lock,
            || had(real::pthread_spin_trylock(lock)),
            || real::pthread_spin_lock(lock),
            || real::pthread_spin_lock(lock),
        )
    }

    fn pthread_spin_trylock(lock: *mut pthread_spinlock_t) -> c_int {
        acquired(
            Op::SpinTrylock,
            lock,
            || Some(real::pthread_spin_trylock(lock)),
            || real::pthread_spin_trylock(lock),
            || libc::pthread_spin_lock(lock),
        )
    }

    fn pthread_barrier_wait(barrier: *mut pthread_barrier_t) -> c_int {
        if !threaded() {
            return real::pthread_barrier_wait(barrier);
        }
        let (thread, recording) = enter();
        let result;
        if recording {
            result = blocking(thread, Op::BarrierWait, -1, || real::pthread_barrier_wait(barrier));
            recorder::emit(thread, Op::BarrierWait, -1, 0, i64::from(result), &[]);
        } else {
            // All meet here first; the turns order only the way out.
            player::let_others_in(thread);
            real::pthread_barrier_wait(barrier);
            let answer = player::take(thread, Op::BarrierWait, -1);
            result = answer.code() as c_int;
            player::done(thread, answer);
        }
        leave(thread);
        result
    }

    // A loop that yields waits for another thread. How often it went round does not matter.
    [pthread_yield, __sched_yield] fn sched_yield() -> c_int {
        if !threaded() {
            return real::sched_yield();
        }
        let (thread, recording) = enter();
        let result;
        if recording {
            result = blocking(thread, Op::SchedYield, -1, || real::sched_yield());
            recorder::emit(thread, Op::SchedYield, -1, 0, i64::from(result), &[]);
        } else if let Some(answer) = player::take_yield(thread) {
            result = 0;
            player::done(thread, answer);
        } else {
            player::leave_turn(thread);
            result = real::sched_yield();
        }
        leave(thread);
        result
    }
}

/// A wait on a futex that the server calls itself, as Rust's `std` and `std::atomic::wait` of C++
/// do. The word says what the wait is for, so a replay needs no wake: the turn says when it ended.
pub(super) unsafe fn futex_waited(word: *const u32, real: impl FnOnce() -> libc::c_long) -> libc::c_long {
    // SAFETY: the block that `enter` gives is the calling thread's own; the word is only named.
    unsafe {
        let (thread, recording) = enter();
        let result;
        if recording {
            result = blocking(thread, Op::FutexWait, -1, real);
            let errno = state::errno();
            let outcome = state::outcome(result as isize);
            recorder::emit(thread, Op::FutexWait, -1, player::name_of(word), outcome, &[]);
            state::set_errno(errno);
        } else if let Some(answer) = player::take_sync(thread, Op::FutexWait) {
            player::done(thread, answer);
            result = answer.number() as libc::c_long;
        } else {
            result = real();
        }
        leave(thread);
        result
    }
}

mod c11 {
    //! The threads of C11 and their locks, which libc makes of its own without passing a hook.
    use super::*;

    type Thrd = pthread_t;

    // `enum` of <threads.h>.
    const THRD_SUCCESS: c_int = 0;
    const THRD_BUSY: c_int = 1;
    const THRD_ERROR: c_int = 2;
    const THRD_TIMEDOUT: c_int = 4;

    fn answer(error: c_int) -> c_int {
        match error {
            0 => THRD_SUCCESS,
            libc::EBUSY => THRD_BUSY,
            libc::ETIMEDOUT => THRD_TIMEDOUT,
            _ => THRD_ERROR,
        }
    }

    hooks! {
        fn thrd_create(to: *mut Thrd, routine: extern "C" fn(*mut c_void) -> c_int, argument: *mut c_void) -> c_int {
            // Returning an `int` in place of a pointer leaves it where `thrd_join` finds it.
            let routine = std::mem::transmute::<extern "C" fn(*mut c_void) -> c_int, Routine>(routine);
            if libc::pthread_create(to, std::ptr::null(), routine, argument) == 0 { THRD_SUCCESS } else { THRD_ERROR }
        }

        fn thrd_join(other: Thrd, value: *mut c_int) -> c_int {
            let mut found: *mut c_void = null_mut();
            let result = libc::pthread_join(other, &mut found);
            if !value.is_null() {
                *value = found as isize as c_int;
            }
            if result == 0 { THRD_SUCCESS } else { THRD_ERROR }
        }

        fn thrd_yield() -> () {
            libc::sched_yield();
        }

        fn thrd_sleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int {
            match libc::clock_nanosleep(libc::CLOCK_REALTIME, 0, time, left) {
                0 => 0,
                libc::EINTR => -1,
                _ => -2,
            }
        }

        fn mtx_lock(mutex: *mut pthread_mutex_t) -> c_int {
            answer(libc::pthread_mutex_lock(mutex))
        }

        fn mtx_trylock(mutex: *mut pthread_mutex_t) -> c_int {
            answer(libc::pthread_mutex_trylock(mutex))
        }

        fn mtx_timedlock(mutex: *mut pthread_mutex_t, time: *const libc::timespec) -> c_int {
            answer(libc::pthread_mutex_timedlock(mutex, time))
        }

        fn cnd_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int {
            answer(libc::pthread_cond_wait(condition, mutex))
        }

        fn cnd_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, time: *const libc::timespec) -> c_int {
            answer(libc::pthread_cond_timedwait(condition, mutex, time))
        }
    }
}
