//! The order of a process with several threads: one runs at a time, in the recorded order.
//!
//! A turn lasts from a thread's call to its next call after which another thread had made one. What
//! a thread does between its calls belongs to its turn, so threads that race for memory without a
//! lock meet it in the same order in every replay.
//!
//! A list names the owner of each turn; the player marks there which turns have ended. The
//! number of the process whose turn it is moves over every ended one, so a thread that runs ahead
//! of its turns (see `take_sync`) leaves no gap for the others.
//!
//! All threads share one CPU: who wakes the next thread sleeps right after, and a core that has to
//! be woken for a turn costs more than most turns.

use super::clocks::skip_clocks;
use super::count;
use super::number;
use super::window::{has_next, has_turn_entry, is_unfed, wait_for_turn_entry};
use crate::ending;
use crate::state::{control, errno, leader, leader_index, set_errno};
use crate::stuck::{LOOK, Stuck};
use crate::thread::{self, PassThrough, Thread};
use libc::cpu_set_t;
use prony_channel::{self as channel, NO_CALL, NO_THREAD, NO_TURN, PROCESSES, Waiting, turn_entry};
use prony_demo::Head;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering};

/// The CPUs this process could use before its threads were put on one of them.
static CPUS: Cpus = Cpus(UnsafeCell::new(None));

struct Cpus(UnsafeCell<Option<cpu_set_t>>);

// SAFETY: written while the process has one thread.
unsafe impl Sync for Cpus {}

/// The process is about to have a second thread. The CPU it is on now was the idlest when it
/// started. Where the kernel does not allow it, or has more CPUs than fit, the replay is only slower.
pub unsafe fn share_one_cpu(thread: *const Thread) {
    // SAFETY: the block is the calling thread's own, and the process has this thread alone. All zero is a valid set;
    // sets live across the calls.
    unsafe {
        let before = CPUS.0.get();
        let cpu = libc::sched_getcpu();
        if !(*thread).ordered || (*before).is_some() || cpu < 0 {
            return;
        }
        let mut all: cpu_set_t = std::mem::zeroed();
        if libc::syscall(libc::SYS_sched_getaffinity, 0, size_of::<cpu_set_t>(), &raw mut all) > 0 {
            let mut one: cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(cpu as usize, &mut one);
            libc::syscall(libc::SYS_sched_setaffinity, 0, size_of::<cpu_set_t>(), &raw const one);
            *before = Some(all);
        }
    }
}

/// The process has one thread again, by `fork` or as another program.
pub fn use_all_cpus() {
    // SAFETY: the process has one thread; the set lives across the call.
    unsafe {
        if let Some(all) = (*CPUS.0.get()).take() {
            libc::syscall(libc::SYS_sched_setaffinity, 0, size_of::<cpu_set_t>(), &raw const all);
        }
    }
}

/// Waits until it is this record's turn.
#[inline(always)]
pub(super) unsafe fn wait_turn(thread: *mut Thread, record: *const Head) {
    // SAFETY: as for this function: the caller passes a record that is in memory.
    unsafe {
        if (*record).time != NO_TURN {
            come_to_turn(thread, record);
        }
    }
}

#[inline(never)]
unsafe fn come_to_turn(thread: *mut Thread, record: *const Head) {
    // SAFETY: the block is the calling thread's own, which has a slot, and the caller passes a record that is in
    // memory.
    unsafe {
        let turn = (*record).time;
        leave_turn(thread);
        // A thread that left its records may hold a lock that the thread whose turn it is needs.
        if (*thread).loose {
            return;
        }
        let own = (*thread).slot;
        (*own).turn.store(turn, Ordering::Relaxed);
        if leader().order.load(Ordering::Acquire) < turn {
            (*own).call.store(u32::from(number(record)), Ordering::Relaxed);
            (*own).record.store((*record).order, Ordering::Relaxed);
            sleep_until(thread, turn);
            (*own).call.store(NO_CALL, Ordering::Relaxed);
        }
        ending::wait_under_tool();
    }
}

/// Also where a hook looks ahead before it passes through: the wait is prony's own, no wait of the server on a futex.
unsafe fn sleep_until(thread: *mut Thread, turn: u64) {
    let before = errno();
    let _pass_through = PassThrough::enter();
    // SAFETY: the block is the calling thread's own, which has a slot; the kernel reads the word and the time, which
    // live across the call.
    unsafe {
        let order = &leader().order;
        let own = (*thread).slot;
        let mut stuck = Stuck::default();
        (*own).waiting.store(Waiting::Turn, Ordering::SeqCst);
        while order.load(Ordering::SeqCst) < turn {
            // A wake that comes between the check and the call changes `waiting`, so none is lost.
            let word = (*own).waiting.word().as_ptr();
            let awaited = libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, Waiting::Turn as u32, &LOOK);
            if awaited == -1 && errno() == libc::ETIMEDOUT {
                look_after_holder(&mut stuck, thread);
            }
            if order.load(Ordering::SeqCst) < turn {
                (*own).waiting.store(Waiting::Turn, Ordering::SeqCst);
            }
        }
        (*own).waiting.store(Waiting::Nothing, Ordering::SeqCst);
    }
    set_errno(before);
}

/// Looks after the thread whose turn it is. When it is given up, the turn goes on to the next.
unsafe fn look_after_holder(stuck: &mut Stuck, thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own; the list has a place for the turn, as was just seen.
    unsafe {
        let turn = leader().order.load(Ordering::SeqCst);
        if turn >= (*thread).turn_count || !has_turn_entry(thread, turn) {
            return;
        }
        let Some(holder) = slot_of(owner_in(entry_of(thread, turn).load(Ordering::SeqCst))) else { return };
        let has_it =
            holder.turn.load(Ordering::Relaxed) == turn && holder.waiting.is(Waiting::Nothing, Ordering::SeqCst);
        let place = has_it.then(|| (turn, holder.counts.records.load(Ordering::Relaxed)));
        stuck.look(place, (!is_unfed(holder)).then_some(holder));
        if stuck.is_sure() {
            count!(thread, overlapped, 1);
            control().passed_process.store(holder.process.load(Ordering::Relaxed), Ordering::Relaxed);
            control().passed_thread.store(holder.thread.load(Ordering::Relaxed), Ordering::Relaxed);
            control().passed_record.store(holder.record.load(Ordering::Relaxed), Ordering::Relaxed);
            end_turn(thread, turn);
        }
    }
}

/// Bit of a turn's owner that says that the turn has ended.
const ENDED: u32 = 0x8000;

/// Entry of the list for a turn, or for a later one that has its place.
unsafe fn entry_of<'a>(thread: *const Thread, turn: u64) -> &'a AtomicU32 {
    // SAFETY: the block is the calling thread's own, and its list of turns is mapped for good: the place lies in it, as
    // the mask says. Everybody changes it as an atomic.
    unsafe { AtomicU32::from_ptr((*thread).turns.add((turn & (*thread).turn_mask) as usize)) }
}

fn owner_in(entry: u32) -> u16 {
    (entry & 0x7fff) as u16
}

/// True if the entry is that of `turn`.
fn is_of(entry: u32, turn: u64) -> bool {
    (entry ^ turn_entry(turn, 0)) >> 16 == 0
}

/// The thread has the turn of this record, or passes it.
#[inline(always)]
pub(super) unsafe fn hold_turn(thread: *mut Thread, turn: u64) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        if (*thread).loose {
            end_turn(thread, turn);
        } else {
            (*thread).own_turn = Some(turn);
        }
    }
}

/// The thread goes on with the program that its process runs now. The turn that it had as the program
/// before is still its own: there is no other thread that could have ended it.
pub(super) unsafe fn resume_turn(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        let turn = leader().order.load(Ordering::SeqCst);
        if !(*thread).ordered || turn >= (*thread).turn_count {
            return;
        }
        wait_for_turn_entry(thread, turn);
        let own = (*(*thread).slot).owner.load(Ordering::Relaxed) as u16;
        if entry_of(thread, turn).load(Ordering::SeqCst) == turn_entry(turn, own) {
            (*(*thread).slot).turn.store(turn, Ordering::Relaxed);
            (*thread).own_turn = Some(turn);
        }
    }
}

/// The thread comes to a place where others go on, or to its end.
pub unsafe fn leave_turn(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own.
    unsafe {
        if let Some(turn) = (*thread).own_turn.take() {
            end_turn(thread, turn);
        }
    }
}

/// The thread is about to wait for others, for real. Where the recording goes on with this thread,
/// the others wait for it already.
pub unsafe fn let_others_in(thread: *mut Thread) {
    // SAFETY: the block is the calling thread's own, and records before its `end` are whole and in memory.
    unsafe {
        let record = skip_clocks(thread);
        if has_next(thread) && (*record).time != NO_TURN {
            leave_turn(thread);
        }
    }
}

/// Waits for the end of a thread or a process that the calling thread's records say has ended. It keeps its turn however long that takes: what
/// ends makes no call any more that could need one.
pub fn wait_for_end<T>(wait: impl FnOnce() -> T) -> T {
    // SAFETY: the block is the calling thread's own; its slot is one of the control area.
    let slot = unsafe { (*thread::this()).slot.as_ref() };
    if let Some(slot) = slot {
        slot.waiting.store(Waiting::End, Ordering::SeqCst);
    }
    let value = wait();
    if let Some(slot) = slot {
        slot.waiting.store(Waiting::Nothing, Ordering::SeqCst);
    }
    value
}

/// Ends a turn and wakes the thread that has the next one.
unsafe fn end_turn(thread: *mut Thread, turn: u64) {
    // SAFETY: the block is the calling thread's own; turns that were waited for have a place in the list.
    unsafe {
        // A thread that runs ahead of its turns may be ahead of the list.
        wait_for_turn_entry(thread, turn);
        let entry = entry_of(thread, turn);
        // Once the turn is long over, for a thread that was given up, its place is another one's.
        let mark = |now| is_of(now, turn).then_some(now | ENDED);
        let _ = entry.fetch_update(Ordering::SeqCst, Ordering::SeqCst, mark);
        let order = &leader().order;
        let next = loop {
            let now = order.load(Ordering::SeqCst);
            if now >= (*thread).turn_count {
                return;
            }
            wait_for_turn_entry(thread, now);
            let entry = entry_of(thread, now).load(Ordering::SeqCst);
            if !is_of(entry, now) {
                continue;
            }
            if entry & ENDED == 0 {
                break owner_in(entry);
            }
            // A thread that fails here sees the number that another thread has moved on to.
            let _ = order.compare_exchange(now, now + 1, Ordering::SeqCst, Ordering::SeqCst);
        };
        if u32::from(next) != (*(*thread).slot).owner.load(Ordering::Relaxed) {
            wake(next);
        }
    }
}

fn slot_of<'a>(owner: u16) -> Option<&'a channel::Thread> {
    let control = control();
    let used = control.thread_slots_used.load(Ordering::Acquire) as usize;
    let own = leader_index();
    // A process that stands in the order of another one says so before its first thread has a number.
    let leader_of = |process: u32| match control.processes[process as usize % PROCESSES].leader.load(Ordering::Relaxed)
    {
        0 => process,
        leader => leader - 1,
    };
    (control.threads)[..used].iter().find(|slot| {
        slot.owner.load(Ordering::Relaxed) == u32::from(owner)
            && leader_of(slot.process.load(Ordering::Relaxed)) == own
            && slot.thread.load(Ordering::Relaxed) != NO_THREAD
    })
}

fn wake(owner: u16) {
    // SAFETY: the kernel takes the word for a name only.
    unsafe {
        if let Some(slot) = slot_of(owner).filter(|slot| slot.waiting.acquire(Waiting::Turn, Waiting::Nothing)) {
            libc::syscall(libc::SYS_futex, slot.waiting.word().as_ptr(), libc::FUTEX_WAKE, 1);
        }
    }
}
