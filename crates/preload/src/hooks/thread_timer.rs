//! Timers that run a function on a thread (`SIGEV_THREAD`). libc starts such threads within itself, where no hook sees it: so they
//! are made here of calls that are recorded, which a replay makes as the recording did.
//!
//! A thread waits for each timer, and starts another one for each expiry, as libc does.

use super::super::collect;
use super::super::widths::{SECOND, Time};
use libc::{c_int, c_void, clockid_t, pthread_attr_t, pthread_cond_t, pthread_mutex_t, sigevent, timespec};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The function that the server registered.
#[derive(Clone, Copy)]
struct Call {
    function: extern "C" fn(*mut c_void),
    /// `union sigval`, as it is passed.
    value: *mut c_void,
}

/// A timer with a thread.
pub(super) struct ThreadTimer {
    clock: clockid_t,
    call: Call,
    /// Attributes of the threads that the call is made on, null for detached ones without any.
    attributes: *const pthread_attr_t,
    mutex: pthread_mutex_t,
    changed: pthread_cond_t,
    state: State,
}

/// What changes of a timer; guarded by its mutex.
#[derive(Clone, Copy)]
struct State {
    /// Nanoseconds of the clock at the next expiry, 0 for none.
    next: i64,
    /// Nanoseconds from one expiry to the next, 0 for one alone.
    interval: i64,
    /// Expiries beyond the one that the last call was made for.
    overrun: c_int,
    deleted: bool,
}

/// Timers of this kind at a time.
const TIMERS: usize = 256;
/// Those that exist.
static EXISTING: [AtomicPtr<ThreadTimer>; TIMERS] = [const { AtomicPtr::new(null_mut()) }; TIMERS];

/// The timer that the server means, if it is one of these.
pub(super) fn existing(timer: *mut c_void) -> Option<*mut ThreadTimer> {
    let found = EXISTING.iter().map(|place| place.load(Ordering::Relaxed)).find(|it| it.cast() == timer);
    found.filter(|timer| !timer.is_null())
}

/// True for the request of a timer of this kind, by a clock that a thread can wait for.
pub(super) unsafe fn is_wanted(clock: clockid_t, event: *const sigevent) -> bool {
    // SAFETY: the caller passes a request that is null or valid.
    let is_thread = !event.is_null() && unsafe { (*event).sigev_notify } == libc::SIGEV_THREAD;
    is_thread && [libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC, libc::CLOCK_BOOTTIME].contains(&clock)
}

/// Makes a timer; the error number if there is none.
pub(super) unsafe fn create(clock: clockid_t, event: *const sigevent) -> Result<*mut ThreadTimer, c_int> {
    /// Place of function and attributes in `struct sigevent`: behind the value and two numbers.
    const FUNCTION: usize = size_of::<usize>() + 2 * size_of::<c_int>();
    // SAFETY: the caller passes a request of this kind; what is made is initialised before it is used.
    unsafe {
        let place = EXISTING.iter().find(|place| place.load(Ordering::Relaxed).is_null()).ok_or(libc::EAGAIN)?;
        let timer: *mut ThreadTimer = libc::malloc(size_of::<ThreadTimer>()).cast();
        if timer.is_null() {
            return Err(libc::EAGAIN);
        }
        let [function, attributes] = event.byte_add(FUNCTION).cast::<[*mut c_void; 2]>().read();
        let function = std::mem::transmute::<*mut c_void, extern "C" fn(*mut c_void)>(function);
        let state = State { next: 0, interval: 0, overrun: 0, deleted: false };
        timer.write(ThreadTimer {
            clock: if clock == libc::CLOCK_REALTIME { clock } else { libc::CLOCK_MONOTONIC },
            call: Call { function, value: (*event).sigev_value.sival_ptr },
            attributes: attributes.cast(),
            mutex: libc::PTHREAD_MUTEX_INITIALIZER,
            changed: libc::PTHREAD_COND_INITIALIZER,
            state,
        });
        let mut with_clock = MaybeUninit::uninit();
        libc::pthread_condattr_init(with_clock.as_mut_ptr());
        libc::pthread_condattr_setclock(with_clock.as_mut_ptr(), (*timer).clock);
        libc::pthread_cond_init(&raw mut (*timer).changed, with_clock.as_ptr());
        libc::pthread_condattr_destroy(with_clock.as_mut_ptr());
        place.store(timer, Ordering::Relaxed);
        let failed = start(std::ptr::null(), serve, timer.cast());
        if failed != 0 {
            place.store(null_mut(), Ordering::Relaxed);
            libc::free(timer.cast());
            return Err(failed);
        }
        Ok(timer)
    }
}

/// Starts a thread; without attributes a detached one.
unsafe fn start(
    attributes: *const pthread_attr_t,
    routine: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: the caller passes attributes that are null or valid, and an argument that the routine takes.
    unsafe {
        let mut thread = MaybeUninit::uninit();
        if !attributes.is_null() {
            return libc::pthread_create(thread.as_mut_ptr(), attributes, routine, argument);
        }
        let mut detached = MaybeUninit::uninit();
        libc::pthread_attr_init(detached.as_mut_ptr());
        libc::pthread_attr_setdetachstate(detached.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED);
        let failed = libc::pthread_create(thread.as_mut_ptr(), detached.as_ptr(), routine, argument);
        libc::pthread_attr_destroy(detached.as_mut_ptr());
        failed
    }
}

unsafe fn now(clock: clockid_t) -> i64 {
    // SAFETY: the time lives across the call.
    unsafe {
        let mut time: timespec = std::mem::zeroed();
        libc::clock_gettime(clock, &mut time);
        time.nanoseconds()
    }
}

/// Waits for the expiries of a timer until it is deleted.
extern "C" fn serve(timer: *mut c_void) -> *mut c_void {
    let _paused = collect::pause();
    let timer: *mut ThreadTimer = timer.cast();
    // SAFETY: the timer exists until this thread frees it, and its state is changed with its mutex.
    unsafe {
        loop {
            libc::pthread_mutex_lock(&raw mut (*timer).mutex);
            let mut time = now((*timer).clock);
            while !(*timer).state.deleted && ((*timer).state.next == 0 || time < (*timer).state.next) {
                let mutex = &raw mut (*timer).mutex;
                match (*timer).state.next {
                    0 => libc::pthread_cond_wait(&raw mut (*timer).changed, mutex),
                    next => {
                        let until = timespec::of_nanoseconds(next);
                        libc::pthread_cond_timedwait(&raw mut (*timer).changed, mutex, &until)
                    }
                };
                time = now((*timer).clock);
            }
            let state = &mut (*timer).state;
            let deleted = state.deleted;
            if !deleted {
                let missed = if state.interval > 0 { (time - state.next) / state.interval } else { 0 };
                state.overrun = c_int::try_from(missed).unwrap_or(c_int::MAX);
                state.next = if state.interval > 0 { state.next + (missed + 1) * state.interval } else { 0 };
            }
            libc::pthread_mutex_unlock(&raw mut (*timer).mutex);
            if deleted {
                libc::pthread_cond_destroy(&raw mut (*timer).changed);
                libc::free(timer.cast());
                return null_mut();
            }
            let call: *mut Call = libc::malloc(size_of::<Call>()).cast();
            if !call.is_null() {
                call.write((*timer).call);
                if start((*timer).attributes, expired, call.cast()) != 0 {
                    libc::free(call.cast());
                }
            }
        }
    }
}

/// The thread of one expiry.
extern "C" fn expired(call: *mut c_void) -> *mut c_void {
    // SAFETY: the thread that starts this one hands over a call that it took from `malloc`.
    unsafe {
        let paused = collect::pause();
        let call: *mut Call = call.cast();
        let Call { function, value } = call.read();
        libc::free(call.cast());
        collect::resume(paused);
        function(value);
    }
    null_mut()
}

/// Runs with the state of a timer, and wakes its thread if it changed.
unsafe fn with<T>(timer: *mut ThreadTimer, change: impl FnOnce(&mut State) -> (T, bool)) -> T {
    // SAFETY: the caller passes a timer that exists, whose state is changed with its mutex.
    unsafe {
        libc::pthread_mutex_lock(&raw mut (*timer).mutex);
        let (result, changed) = change(&mut (*timer).state);
        if changed {
            libc::pthread_cond_signal(&raw mut (*timer).changed);
        }
        libc::pthread_mutex_unlock(&raw mut (*timer).mutex);
        result
    }
}

/// Nanoseconds until the next expiry, 0 for none, and from one to the next.
pub(super) unsafe fn remaining(timer: *mut ThreadTimer) -> (i64, i64) {
    // SAFETY: the caller passes a timer that exists.
    unsafe {
        let time = now((*timer).clock);
        with(timer, |state| {
            let left = if state.next == 0 { 0 } else { (state.next - time).max(1) };
            ((left, state.interval), false)
        })
    }
}

/// Sets a timer to expire `value` nanoseconds from now, or at that time of its clock, and every `interval` from then on; 0 stops it.
/// Returns what [`remaining`] said before.
pub(super) unsafe fn set(timer: *mut ThreadTimer, is_absolute: bool, value: i64, interval: i64) -> (i64, i64) {
    // SAFETY: the caller passes a timer that exists.
    unsafe {
        let before = remaining(timer);
        let time = now((*timer).clock);
        let next = if value == 0 || is_absolute { value } else { time.saturating_add(value) };
        with(timer, |state| {
            *state = State { next, interval, overrun: 0, deleted: false };
            ((), true)
        });
        before
    }
}

/// Expiries that had no call of their own before the last one.
pub(super) unsafe fn overrun(timer: *mut ThreadTimer) -> c_int {
    // SAFETY: the caller passes a timer that exists.
    unsafe { with(timer, |state| (state.overrun, false)) }
}

/// Deletes a timer; its thread ends.
pub(super) unsafe fn delete(timer: *mut ThreadTimer) {
    for place in &EXISTING {
        let _ = place.compare_exchange(timer, null_mut(), Ordering::Relaxed, Ordering::Relaxed);
    }
    // SAFETY: the caller passes a timer that exists.
    unsafe {
        with(timer, |state| {
            state.deleted = true;
            ((), true)
        });
    }
}

/// True for a time that a timer can be set to.
pub(super) fn is_valid<T: Time>(time: &T) -> bool {
    let (seconds, nanoseconds) = time.parts();
    seconds >= 0 && (0..SECOND).contains(&nanoseconds)
}
