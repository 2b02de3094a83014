//! Handover of the baton on one CPU.
//!
//! A thread that is woken on another CPU costs some microseconds, and some tens in a virtual machine, whose other CPU has left the
//! guest. The thread that gives the baton away is about to sleep, so the one that it wakes can as well run on its CPU. No flag of
//! a wake-up says so to the kernel, which prefers a CPU that is idle. So while a thread sleeps for the baton, the one that wakes it
//! allows it this CPU only, and once awake it allows itself again what it was allowed before, ahead of the server's code.
//!
//! Which thread the kernel wakes is not known; it wakes them in the order in which they began to sleep, and that is noted. A wrong
//! guess leaves a thread confined for the rest of its sleep.
//!
//! None is moved where a filter of system calls is in the way, or where processes number threads differently.

use super::state::{self, control, errno, leader_index, set_errno};
use super::thread::RECORDING;
use prony_channel::{self as channel, CPU_SET_BYTES, SLEEPER_LISTS, Sleepers, Waiting};
use std::sync::atomic::Ordering;

/// Set of CPUs, a bit for each, as the kernel has it.
type Cpus = [u8; CPU_SET_BYTES];

/// Looks at a thread that is being moved before the one that moves it counts as killed: some tens of milliseconds.
const PATIENCE: u32 = 50_000;

/// The thread `own` is about to sleep for the baton. `name`: its slot, from 1.
pub fn before_sleep(own: &channel::Thread, name: u32) {
    if are_allowed() {
        own.waiting.store(Waiting::Baton, Ordering::Release);
        sleepers().add(name);
    }
}

/// The thread `own` is awake.
pub fn after_sleep(own: &channel::Thread) {
    loop {
        match settled(own) {
            Some(Waiting::Baton) if own.waiting.acquire(Waiting::Baton, Waiting::Nothing) => return,
            Some(Waiting::Moved) if own.waiting.acquire(Waiting::Moved, Waiting::Moving) => break,
            Some(Waiting::Baton | Waiting::Moved) => {}
            // The one that moved it was killed.
            Some(Waiting::Moving) => break,
            _ => return,
        }
    }
    put_back(own, 0);
    own.waiting.store(Waiting::Nothing, Ordering::Release);
}

/// Moves the thread that has slept longest for the baton to this CPU.
pub fn before_wake() {
    while are_allowed()
        && let Some(name) = sleepers().take()
    {
        // Some in the list are awake, or sleep for another baton of this list.
        let slot = control().threads.get((name as usize).wrapping_sub(1)).filter(|slot| sleeps_for_own_baton(slot));
        if let Some(slot) = slot.filter(|slot| slot.waiting.acquire(Waiting::Baton, Waiting::Moving)) {
            return move_here(slot);
        }
    }
}

/// Runs `call`, which allows threads of the server CPUs or asks what they are allowed, while none is moved.
pub fn without_moves<T>(call: impl FnOnce() -> T) -> T {
    if state::mode() != RECORDING {
        return call();
    }
    bar_moves();
    let result = call();
    control().moves_barred.fetch_sub(1, Ordering::Relaxed);
    result
}

/// The process is about to put itself into a sandbox: the kernel may end a thread for the call by which it allows itself its CPUs again.
pub fn enter_sandbox() {
    if state::mode() == RECORDING {
        bar_moves();
    }
}

/// A process has come up under this number in the kernel, which is 1 for the first one of a namespace: numbers of threads mean
/// others outside.
pub fn note_process(pid: i32) {
    if pid == 1 && state::mode() == RECORDING {
        control().moves_barred.fetch_add(1, Ordering::Relaxed);
    }
}

fn are_allowed() -> bool {
    control().moves_barred.load(Ordering::SeqCst) == 0
}

/// From here on no thread that sleeps for the baton is moved, and none is where it was moved to.
fn bar_moves() {
    let (control, error) = (control(), errno());
    control.moves_barred.fetch_add(1, Ordering::SeqCst);
    let used = control.thread_slots_used.load(Ordering::Relaxed) as usize;
    for slot in control.threads.iter().take(used).filter(|slot| sleeps_for_own_baton(slot)) {
        if settled(slot) == Some(Waiting::Moved) && slot.waiting.acquire(Waiting::Moved, Waiting::Moving) {
            let tid = slot.tid.load(Ordering::Relaxed);
            let waiting = if put_back(slot, tid) { Waiting::Baton } else { Waiting::Moved };
            slot.waiting.store(waiting, Ordering::Release);
        }
    }
    set_errno(error);
}

fn sleepers() -> &'static Sleepers {
    &control().sleepers[leader_index() as usize % SLEEPER_LISTS]
}

/// True if the thread of this slot waits, when it does, for the baton of this process.
fn sleeps_for_own_baton(slot: &channel::Thread) -> bool {
    let process = slot.process.load(Ordering::Relaxed);
    let leader = control().processes.get(process as usize).map_or(0, |known| known.leader.load(Ordering::Relaxed));
    leader.checked_sub(1).unwrap_or(process) == leader_index()
}

/// What the thread waits for, once no other moves it.
fn settled(slot: &channel::Thread) -> Option<Waiting> {
    for _ in 0..PATIENCE {
        let waiting = slot.waiting.load(Ordering::SeqCst);
        if waiting != Some(Waiting::Moving) {
            return waiting;
        }
        // SAFETY: takes nothing.
        unsafe { libc::syscall(libc::SYS_sched_yield) };
    }
    Some(Waiting::Moving)
}

/// Moves a thread that sleeps, and is marked as being moved, to this CPU.
fn move_here(slot: &channel::Thread) {
    let tid = slot.tid.load(Ordering::Relaxed);
    // Moves may have been barred before it was marked.
    let before = allowed(tid).filter(|before| tid > 0 && are_allowed() && allow_this_cpu(slot, tid, before));
    let waiting = if before.is_some() { Waiting::Moved } else { Waiting::Baton };
    // A thread that did not want to wait longer has put back what it found.
    if !slot.waiting.acquire(Waiting::Moving, waiting)
        && let Some(before) = before
    {
        allow(tid, &before);
    }
}

/// Allows a thread the CPU that this one is on, if that is one of several it may run on.
fn allow_this_cpu(slot: &channel::Thread, tid: i32, before: &Cpus) -> bool {
    // SAFETY: takes nothing.
    let Ok(cpu) = usize::try_from(unsafe { libc::sched_getcpu() }) else { return false };
    let mut one = [0; CPU_SET_BYTES];
    let Some(byte) = one.get_mut(cpu / 8) else { return false };
    *byte = 1 << (cpu % 8);
    if before[cpu / 8] & one[cpu / 8] == 0 || *before == one {
        return false;
    }
    slot.allowed.write(before);
    allow(tid, &one)
}

/// Allows a thread the CPUs that it was allowed before it was moved. If it may run on several, another program has changed them
/// meanwhile, and they stay. `tid`: 0 for the calling thread. False if the kernel refuses.
fn put_back(slot: &channel::Thread, tid: i32) -> bool {
    let several = |now: Cpus| now.iter().map(|byte| byte.count_ones()).sum::<u32>() > 1;
    allowed(tid).is_some_and(several) || allow(tid, &slot.allowed.read())
}

fn allowed(tid: i32) -> Option<Cpus> {
    let mut cpus = [0; CPU_SET_BYTES];
    // SAFETY: the kernel writes at most this many bytes.
    let filled = unsafe { libc::syscall(libc::SYS_sched_getaffinity, tid, CPU_SET_BYTES, cpus.as_mut_ptr()) };
    (filled > 0).then_some(cpus)
}

fn allow(tid: i32, cpus: &Cpus) -> bool {
    // SAFETY: the kernel reads this many bytes.
    unsafe { libc::syscall(libc::SYS_sched_setaffinity, tid, CPU_SET_BYTES, cpus.as_ptr()) == 0 }
}
