//! The thread slots of the control area: a thread claims one, and gives it back when it ends.

use super::counter;
use super::report;
use super::state::{control, index};
use super::thread;
use prony_channel::{self as channel, NO_THREAD, SlotState, Waiting};
use std::sync::atomic::Ordering;

/// Claims a slot for the calling thread, whose number within its process is `thread`.
pub fn claim(thread: u16) -> &'static channel::Thread {
    let control = control();
    while control.slot_lock.swap(true, Ordering::Acquire) {
        std::hint::spin_loop();
    }
    let used = control.thread_slots_used.load(Ordering::Relaxed) as usize;
    let free = |slot: &channel::Thread| match slot.state.load(Ordering::Acquire) {
        Some(SlotState::Free) => true,
        Some(SlotState::Ended) => slot.tail.0.load(Ordering::Acquire) == slot.head.0.load(Ordering::Relaxed),
        _ => false,
    };
    let place = (0..used).find(|&place| free(&control.threads[place])).unwrap_or(used);
    let Some(slot) = control.threads.get(place) else {
        report::fatal(&[b"more than 1024 threads at the same time"]);
    };
    if place == used {
        control.thread_slots_used.store(used as u32 + 1, Ordering::Release);
    }
    slot.owner.store(NO_THREAD, Ordering::Relaxed);
    // The thread before it may have been killed while it waited.
    slot.waiting.store(Waiting::Nothing, Ordering::Relaxed);
    slot.process.store(index(), Ordering::Relaxed);
    slot.thread.store(thread.into(), Ordering::Relaxed);
    // SAFETY: only a query.
    let tid = unsafe { libc::syscall(libc::SYS_gettid) };
    slot.tid.store(tid as i32, Ordering::Relaxed);
    slot.state.store(SlotState::InUse, Ordering::Release);
    control.slot_lock.store(false, Ordering::Release);
    slot
}

/// Another thread may take the slot, once its ring is read. A thread that began after the end of the recording has none.
///
/// # Safety
/// `slot` is null or one of the control area's.
pub unsafe fn give_back(slot: *const channel::Thread) {
    counter::close();
    // SAFETY: as for this function; the control area is mapped for good.
    let Some(slot) = (unsafe { slot.as_ref() }) else { return };
    for (count, total) in slot.counts.all().into_iter().zip(control().ended_counts.all()) {
        total.fetch_add(count.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
    slot.state.store(SlotState::Ended, Ordering::Release);
}

/// The calling thread ends with its process.
pub fn leave() {
    let thread = thread::this();
    // SAFETY: the block is the calling thread's own, and an attached thread has a slot, which is mapped for good.
    unsafe {
        if std::mem::take(&mut (*thread).attached) {
            give_back((*thread).slot);
        }
    }
}
