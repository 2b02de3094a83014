//! What this process is to the recording: its slot, its mode, and how threads join it.

use super::thread::{self, Thread};
use super::{addresses, baton, ending, failures, hooks, objects, player, recorder, report, signals};
use prony_channel::{self as channel, Control, ProcessState, SlotState};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, Ordering};

static CONTROL: AtomicPtr<Control> = AtomicPtr::new(null_mut());
static INDEX: AtomicU32 = AtomicU32::new(0);
static MODE: AtomicU8 = AtomicU8::new(thread::ASIDE);
/// More than one thread was ever made in this process.
static THREADED: AtomicBool = AtomicBool::new(false);

/// This process was forked from one of the recording, so it is not the one that was started.
static FORKED: AtomicBool = AtomicBool::new(false);

/// True in the process that was started, whatever programs it has run since.
pub fn is_started_one() -> bool {
    !FORKED.load(Ordering::Relaxed)
}

/// This process goes on as a program that is not recorded.
pub unsafe fn ended() {
    (*slot()).state.store(ProcessState::Ended, Ordering::Release);
}

/// The control area. Only valid once [`attach`] has run, which every hook's first check ensures.
#[inline(always)]
pub fn control() -> *mut Control {
    CONTROL.load(Ordering::Relaxed)
}

/// Index of this process in the recording.
pub fn index() -> u32 {
    INDEX.load(Ordering::Relaxed)
}

/// The slot of this process.
#[inline(always)]
pub fn slot() -> *mut channel::Process {
    // SAFETY: the index is below `PROCESSES`, and the control area is mapped for good.
    unsafe { &raw mut (*control()).processes[index() as usize] }
}

/// [`thread::RECORDING`] or [`thread::REPLAYING`] while this process takes part.
pub fn mode() -> u8 {
    MODE.load(Ordering::Relaxed)
}

/// True once the process has had a second thread; from then on its order matters.
#[inline(always)]
pub fn threaded() -> bool {
    THREADED.load(Ordering::Relaxed)
}

/// From now on locks are recorded.
pub unsafe fn now_threaded() {
    THREADED.store(true, Ordering::Relaxed);
    baton::put_to_use();
}

/// Stops taking part: every hook passes through from here on.
pub fn detach() {
    MODE.store(thread::ASIDE, Ordering::Relaxed);
    // SAFETY: the block belongs to the calling thread.
    unsafe {
        (*thread::this()).live = thread::ASIDE;
        (*thread::this()).mode = thread::ASIDE;
    }
}

#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn(c_int, *const *const c_char, *mut *mut c_char) = at_load;

/// Runs when the loader has relocated every object and before `main`.
extern "C" fn at_load(_argc: c_int, _argv: *const *const c_char, environment: *mut *mut c_char) {
    // SAFETY: the loader runs initialisers on one thread; the environment is not shared yet.
    unsafe {
        let mark = take_variable(environment, b"PRONY_CHANNEL=");
        if mark.is_null() {
            return;
        }
        restore_preload_variable(environment);
        attach(mark);
    }
}

/// Takes a variable out of the environment and returns its value, null if there is none.
/// `getenv` and `unsetenv` will not do: shells export functions of these names, which act on their
/// own variables.
unsafe fn take_variable(environment: *mut *mut c_char, name: &[u8]) -> *mut c_char {
    let mut place = environment;
    while !(*place).is_null() {
        if libc::strncmp(*place, name.as_ptr().cast(), name.len()) == 0 {
            let value = (*place).add(name.len());
            while !(*place).is_null() {
                *place = *place.add(1);
                place = place.add(1);
            }
            return value;
        }
        place = place.add(1);
    }
    std::ptr::null_mut()
}

/// Takes this library out of `LD_PRELOAD`, so that helpers run without it and the server's own
/// setting, if any, stands.
unsafe fn restore_preload_variable(environment: *mut *mut c_char) {
    const NAME: &[u8] = b"LD_PRELOAD=";
    let mut place = environment;
    while !(*place).is_null() && libc::strncmp(*place, NAME.as_ptr().cast(), NAME.len()) != 0 {
        place = place.add(1);
    }
    if (*place).is_null() {
        return;
    }
    let value = (*place).add(NAME.len());
    let rest = value.add(channel::LIBRARY_PATH.len());
    if *rest == 0 {
        take_variable(environment, NAME);
    } else {
        // "OWN:OTHERS" becomes "OTHERS" in place; `setenv` would take memory.
        libc::memmove(value.cast(), rest.add(1).cast(), libc::strlen(rest.add(1)) + 1);
    }
}

/// Joins this process to the recording. `mark`: its number, and behind it what the program before handed on, see
/// `hooks::process`.
unsafe fn attach(mark: *const c_char) {
    let mut rest = null_mut();
    let index = libc::strtoul(mark, &mut rest, 10) as u32;
    let control: *mut Control = libc::mmap(
        addresses::CONTROL as *mut c_void,
        channel::CONTROL_BYTES,
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE,
        channel::CHANNEL_FD,
        0,
    )
    .cast();
    let is_ours = control as usize == addresses::CONTROL && (*control).magic.load(Ordering::Relaxed) == channel::MAGIC;
    let Some(known) = is_ours.then(|| (*control).mode.load(Ordering::Relaxed)).flatten() else {
        report::fatal(&[b"cannot map the channel to the recorder; descriptor 1000 was taken or closed"]);
    };
    CONTROL.store(control, Ordering::Relaxed);
    INDEX.store(index, Ordering::Relaxed);
    MODE.store(known as u8, Ordering::Relaxed);
    (*slot()).pid.store(libc::getpid(), Ordering::Relaxed);
    // A program that this process ran before may have had threads; their numbers stay taken.
    (*slot()).threads.fetch_max(1, Ordering::Relaxed);
    // Its threads are gone, and with them who had the baton.
    (*slot()).baton.store(0, Ordering::Relaxed);
    (*slot()).impatient.store(0, Ordering::Relaxed);
    super::epoll::map_table();
    super::descriptors::inherit();
    while *rest == b',' as c_char {
        let fd = libc::strtol(rest.add(1), &mut rest, 10) as c_int;
        let bits = if *rest == b':' as c_char { libc::strtol(rest.add(1), &mut rest, 10) } else { 0 };
        super::descriptors::take_over(fd, bits as c_int);
    }
    if mode() == thread::REPLAYING {
        player::map_tape();
        if (*control).line_by_line.load(Ordering::Relaxed) {
            libc::setvbuf(stdout, null_mut(), libc::_IOLBF, 0);
        }
    }
    objects::exclude();
    on_exit(at_exit, null_mut());
    (*slot()).state.store(ProcessState::Running, Ordering::Release);
    hooks::redirect_standard_input();
    attach_thread(0);
    failures::begin();
    objects::watch();
    objects::name_interposer();
}

unsafe extern "C" {
    /// The stream that `printf` writes to.
    static stdout: *mut libc::FILE;

    /// Handlers run last in, first out; this one is registered before those of the loader and the
    /// server, so it comes last. Unlike `atexit` it learns the status.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

extern "C" fn at_exit(status: c_int, _argument: *mut c_void) {
    // SAFETY: runs on the thread that called `exit`.
    unsafe { exiting(status) }
}

/// The process ends with this status: the last record.
pub unsafe fn exiting(status: c_int) {
    let thread = thread::this();
    if !(*thread).attached || mode() == thread::ASIDE {
        return;
    }
    (*thread).live = thread::ASIDE;
    if mode() == thread::RECORDING {
        recorder::emit(thread, prony_demo::Op::Exit, -1, status as u32, 0, &[]);
    } else {
        player::exiting(thread, status);
    }
    (*slot()).state.store(ProcessState::Ended, Ordering::Release);
    leave_slot();
    detach();
}

/// Joins the calling thread to the recording under the number its creator chose.
pub unsafe fn attach_thread(index: u16) {
    let thread = thread::this();
    let slot = claim_slot(index);
    (*thread).slot = slot;
    (*thread).index = index;
    (*thread).attached = true;
    (*thread).mode = mode();
    (*thread).held = None;
    ((*thread).unrecorded, (*thread).next_call) = (0, 0);
    recorder::map_ring(thread);
    if mode() == thread::REPLAYING {
        player::start_thread(thread);
    }
    (*thread).live = mode();
}

/// The calling thread ends.
pub unsafe fn detach_thread() {
    let thread = thread::this();
    if (*thread).attached {
        (*thread).live = thread::ASIDE;
        (*thread).attached = false;
        recorder::close_run(thread);
        ending::begin();
        player::leave_turn(thread);
        baton::give(thread);
        recorder::unmap_ring(thread);
        player::close(thread);
        give_slot_back((*thread).slot);
    }
}

/// Another thread may take the slot, once its ring is read.
unsafe fn give_slot_back(slot: *mut channel::Thread) {
    for (count, total) in (*slot).counts.all().into_iter().zip((*control()).ended_counts.all()) {
        total.fetch_add(count.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
    (*slot).state.store(SlotState::Ended, Ordering::Release);
}

/// The calling thread ends with its process.
pub unsafe fn leave_slot() {
    let thread = thread::this();
    if std::mem::take(&mut (*thread).attached) {
        give_slot_back((*thread).slot);
    }
}

unsafe fn claim_slot(index: u16) -> *mut channel::Thread {
    let control = control();
    while (*control).slot_lock.swap(true, Ordering::Acquire) {
        std::hint::spin_loop();
    }
    let used = (*control).thread_slots_used.load(Ordering::Relaxed) as usize;
    let free = |slot: &channel::Thread| match slot.state.load(Ordering::Acquire) {
        Some(SlotState::Free) => true,
        Some(SlotState::Ended) => slot.tail.0.load(Ordering::Acquire) == slot.head.0.load(Ordering::Relaxed),
        _ => false,
    };
    let place = (0..used).find(|&place| free(&(*control).threads[place])).unwrap_or(used);
    if place >= channel::THREADS {
        report::fatal(&[b"more than 1024 threads at the same time"]);
    }
    if place == used {
        (*control).thread_slots_used.store(used as u32 + 1, Ordering::Release);
    }
    let slot = &raw mut (*control).threads[place];
    (*slot).process.store(self::index(), Ordering::Relaxed);
    (*slot).thread.store(index as u32, Ordering::Relaxed);
    (*slot).tid.store(libc::syscall(libc::SYS_gettid) as i32, Ordering::Relaxed);
    (*slot).state.store(SlotState::InUse, Ordering::Release);
    (*control).slot_lock.store(false, Ordering::Release);
    slot
}

/// Runs in the child of a `fork`: it becomes process `index`, with one thread.
pub unsafe fn become_child(index: u32) {
    INDEX.store(index, Ordering::Relaxed);
    // A replay takes the numbers of the recording.
    (*control()).processes_used.fetch_max(index.saturating_add(1), Ordering::Relaxed);
    THREADED.store(false, Ordering::Relaxed);
    baton::put_aside();
    ending::forget();
    player::use_all_cpus();
    FORKED.store(true, Ordering::Relaxed);
    (*slot()).pid.store(libc::getpid(), Ordering::Relaxed);
    (*slot()).threads.store(1, Ordering::Relaxed);
    (*slot()).state.store(ProcessState::Running, Ordering::Release);
    let thread = thread::this();
    // The parent's ring and window stay mapped in the parent only.
    recorder::unmap_ring(thread);
    player::close(thread);
    (*thread).pending.store(0, Ordering::Relaxed);
    attach_thread(0);
    (*thread).live = thread::ASIDE;
}

/// Chooses the index of a process about to be made.
pub unsafe fn next_index() -> u32 {
    let index = (*control()).processes_used.fetch_add(1, Ordering::Relaxed);
    if index as usize >= channel::PROCESSES {
        report::fatal(&[b"more than 32,768 processes in one recording"]);
    }
    index
}

/// Nanoseconds that a thread of this process has run so far. Asked without a descriptor: one that
/// is open for a moment takes a number that the server is about to get.
pub unsafe fn cpu_time_of(tid: i32) -> u64 {
    // The clock of a thread as the kernel numbers it (pthread_getcpuclockid in glibc): the inverted
    // id, then 4 for a thread and 2 for time on the CPU.
    let clock = (!tid << 3) | 6;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// True once the process outside has ended. One that a server without privileges may not signal is there.
pub unsafe fn is_outside_gone() -> bool {
    let before = errno();
    let is_gone = libc::kill((*control()).outside_pid.load(Ordering::Relaxed), 0) == -1 && errno() == libc::ESRCH;
    set_errno(before);
    is_gone
}

/// `errno` of the calling thread.
#[inline(always)]
pub fn errno() -> i32 {
    // SAFETY: always a valid pointer to the thread's own integer.
    unsafe { *libc::__errno_location() }
}

/// Sets `errno` of the calling thread.
#[inline(always)]
pub fn set_errno(value: i32) {
    // SAFETY: as in `errno`.
    unsafe { *libc::__errno_location() = value }
}

/// A call's result as it is recorded: the value, or the negated `errno`.
#[inline(always)]
pub fn outcome(value: isize) -> i64 {
    if value == -1 { -i64::from(errno()) } else { value as i64 }
}

/// A recorded result as the call returns it.
#[inline(always)]
pub fn returned(ret: i64) -> isize {
    if ret < 0 {
        set_errno(-ret as i32);
        -1
    } else {
        ret as isize
    }
}

/// Thread state and kind of the calling thread, with the library stepped aside.
#[inline(always)]
pub unsafe fn enter() -> (*mut Thread, bool) {
    let thread = thread::this();
    signals::deliver_before(thread);
    let recording = (*thread).live == thread::RECORDING;
    (*thread).live = thread::ASIDE;
    (thread, recording)
}

/// Leaves a hook: signals that were held back run now.
#[inline(always)]
pub unsafe fn leave(thread: *mut Thread) {
    (*thread).live = (*thread).mode;
    signals::deliver_after(thread);
}
