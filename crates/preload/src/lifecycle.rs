//! Threads that join and leave, forked children, and the end of a process.

use super::state::{control, mode, slot};
use super::thread::{self, PASS_THROUGH};
use super::{baton, deferred, ending, epoll, handover, player, recorder, report, ring, sharing, slots, state};
use prony_channel::{PROCESSES, ProcessState};
use prony_demo::Op;
use std::ffi::c_int;
use std::sync::atomic::Ordering;

/// Joins the calling thread to the recording under the number its creator chose.
pub fn attach_thread(index: u16) {
    let thread = thread::this();
    // SAFETY: the block is the calling thread's own. Nothing of it is in use by a hook: the thread is new, or the one of
    // a process that begins.
    unsafe {
        (*thread).index = index;
        (*thread).attached = true;
        (*thread).mode = mode();
        if state::is_over() {
            (*thread).slot = std::ptr::null();
            (*thread).live = mode();
            return;
        }
        (*thread).slot = slots::claim(index);
        (*thread).own_turn = None;
        ((*thread).unrecorded, (*thread).next_call) = (0, 0);
        ring::map(thread);
        if mode() == thread::REPLAYING {
            player::start_thread(thread);
        }
        (*thread).live = mode();
    }
}

/// Detaches the calling thread, which ends.
pub fn detach_thread() {
    let thread = thread::this();
    // SAFETY: the block is the calling thread's own; what an attached thread has is mapped until here.
    unsafe {
        if (*thread).attached {
            (*thread).live = PASS_THROUGH;
            (*thread).attached = false;
            ring::close_run(thread);
            deferred::let_go(thread, false);
            ending::begin();
            player::leave_turn(thread);
            baton::give(thread);
            ring::unmap(thread);
            player::close(thread);
            slots::give_back((*thread).slot);
        }
    }
}

/// Marks the process as having several threads: locks are recorded from now on.
pub fn now_threaded() {
    state::set_threaded();
    baton::enable();
}

/// Chooses the index of a process about to be made. One that is made after the end of the recording needs none.
pub fn next_index() -> u32 {
    if state::is_over() {
        return 0;
    }
    let index = control().processes_used.fetch_add(1, Ordering::Relaxed);
    if index as usize >= PROCESSES {
        report::fatal(&[b"more than 32,768 processes in one recording"]);
    }
    index
}

/// Runs in the child of a `fork`: it becomes process `index`, with one thread.
pub fn become_child(index: u32) {
    if state::is_over() {
        return go_on_as_child();
    }
    state::join_as_child(index);
    // A replay takes the numbers of the recording.
    control().processes_used.fetch_max(index.saturating_add(1), Ordering::Relaxed);
    baton::disable();
    ending::forget();
    let thread = thread::this();
    // SAFETY: the block is the calling thread's own, and this thread is the only one of the process.
    unsafe {
        if !state::shares_order() {
            player::use_all_cpus();
        }
        let pid = libc::getpid();
        slot().pid.store(pid, Ordering::Relaxed);
        handover::note_process(pid);
        slot().threads.store(1, Ordering::Relaxed);
        slot().state.store(ProcessState::Running, Ordering::Release);
        // The parent's ring and window stay mapped in the parent only.
        ring::unmap(thread);
        player::close(thread);
        deferred::let_go(thread, true);
        attach_thread(0);
        (*thread).live = PASS_THROUGH;
        sharing::begin(thread);
    }
}

/// Runs in the child of a `fork` after the end of the recording.
fn go_on_as_child() {
    ending::forget();
    epoll::name_by_pid();
    let thread = thread::this();
    // SAFETY: the block is the calling thread's own, and this thread is the only one of the process.
    unsafe {
        ring::unmap(thread);
        deferred::let_go(thread, true);
        (*thread).slot = std::ptr::null();
        (*thread).live = PASS_THROUGH;
    }
}

/// Marks this process as ended: it continues as a program that is not recorded.
pub fn ended() {
    if mode() == thread::RECORDING {
        baton::leave_behind();
    }
    slot().state.store(ProcessState::Ended, Ordering::Release);
}

/// The process ends with this status: the last record.
pub fn exiting(status: c_int) {
    let thread = thread::this();
    // SAFETY: the block is the calling thread's own.
    unsafe {
        if !(*thread).attached || mode() == PASS_THROUGH {
            return;
        }
        (*thread).live = PASS_THROUGH;
        if mode() == thread::RECORDING {
            recorder::emit(thread, Op::Exit, -1, status as u32, 0, &[]);
        } else {
            player::exiting(thread, status);
            if state::shares_order() {
                player::leave_turn(thread);
            }
        }
    }
    ended();
    slots::leave();
    detach();
}

/// Stops taking part: every hook passes through from here on.
pub fn detach() {
    state::leave();
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let thread = thread::this();
        ((*thread).live, (*thread).mode) = (PASS_THROUGH, PASS_THROUGH);
        deferred::let_go(thread, false);
    }
}
