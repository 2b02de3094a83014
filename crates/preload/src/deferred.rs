//! Deferred signals: they came where a handler would run at a place that no replay finds again.
//!
//! The kernel keeps them. The thread that got one sends it to itself once more and blocks it; where the handler may run, the
//! library unblocks it, and the kernel calls the handler as it always does: on its stack, with its mask, with all that a
//! handler may look at and change. What the server reads of its mask is without the signals that are blocked for
//! this reason alone.
//!
//! A thread that makes no call gets them after some [`PATIENCE`] all the same: a timer of the thread interrupts it by
//! SIGSYS, which no server can block.
//!
//! A server that has put itself into a sandbox may be ended by the system calls that all this takes. There the library keeps the
//! details, and calls the handler itself, without stack and mask.

use super::collect;
use super::handlers::{self, SIGNALS};
use super::handover;
use super::stack;
use super::state::{errno, set_errno};
use super::thread::{PASS_THROUGH, PassThrough, REPLAYING, Thread, this};
use super::trap::Trap;
use libc::{c_int, c_long, c_void, itimerspec, sigaction, sigevent, siginfo_t, sigset_t, timespec, ucontext_t};
use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::mem::replace;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Time after which a thread that makes no call gets a signal where it is, and between two attempts.
const PATIENCE: timespec = timespec { tv_sec: 0, tv_nsec: 5_000_000 };

/// Bytes of the kernel's sets of signals.
pub const SET_BYTES: usize = 8;

/// Signals by which the kernel reports raw system calls and queries of the processor: blocked, they end the process.
pub fn ours() -> u64 {
    bit(libc::SIGSYS) | bit(Trap::of_process().signal)
}

/// First of the real-time signals, which are queued however often they are sent.
const FIRST_QUEUED: c_int = 32;

/// Where a handler ran: when the call after its record had begun.
pub const BEFORE_NEXT: i32 = 0;
/// Before the call in front of its record returned.
pub const AFTER_LAST: i32 = 1;
/// Somewhere between the two.
pub const BETWEEN: i32 = 2;
/// Between the two, when the server unblocked the signal.
pub const UNBLOCKED: i32 = 3;

/// The signal in a set as the kernel has it.
pub fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// The signals of a set that the server gave.
///
/// # Safety
/// `set` leads to a set.
pub unsafe fn bits(set: *const sigset_t) -> u64 {
    // SAFETY: the sets of glibc begin with that of the kernel, in words of the machine.
    unsafe { set.cast::<[u32; 2]>().read_unaligned() }.iter().rev().fold(0, |all, &word| all << 32 | u64::from(word))
}

/// Changes a set by these signals.
///
/// # Safety
/// As for [`bits`].
pub unsafe fn change(set: *mut sigset_t, with: impl FnOnce(u64) -> u64) {
    // SAFETY: as for `bits`.
    unsafe {
        let signals = with(bits(set));
        set.cast::<[u32; 2]>().write_unaligned([signals as u32, (signals >> 32) as u32]);
    }
}

/// Changes the mask of the calling thread by a set as the kernel has it, and returns the one before.
fn change_mask(how: c_int, set: u64) -> u64 {
    let _pass_through = PassThrough::enter();
    let mut before = 0u64;
    // SAFETY: both sets live across the call.
    unsafe { libc::syscall(libc::SYS_rt_sigprocmask, how, &raw const set, &raw mut before, SET_BYTES) };
    before
}

/// Sends a signal to the calling thread with these details; false if the kernel has no room for it.
unsafe fn send_again(signal: c_int, info: *const siginfo_t) -> bool {
    let _pass_through = PassThrough::enter();
    // SAFETY: the details live across the call.
    unsafe {
        let (process, thread) = (libc::getpid(), libc::syscall(libc::SYS_gettid));
        // Where the signal is not blocked, its handler runs before this returns.
        collect::of_server(|| libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, signal, info)) == 0
    }
}

/// The server has put itself into a sandbox: the kernel may end it for what it has not called before.
static IN_SANDBOX: AtomicBool = AtomicBool::new(false);

/// Details of signals that the library keeps itself.
struct Kept(UnsafeCell<[siginfo_t; SIGNALS]>);

// SAFETY: those of a signal are written by its handler, during which it is blocked; that of another thread at the same time is a
// race of the server's own, of which either comes out.
unsafe impl Sync for Kept {}

// SAFETY: all zero is a valid siginfo_t.
static KEPT: Kept = Kept(UnsafeCell::new(unsafe { std::mem::zeroed() }));

/// The server is about to put itself into a sandbox (seccomp).
pub fn enter_sandbox() {
    IN_SANDBOX.store(true, Ordering::Relaxed);
    handover::enter_sandbox();
}

/// True once the server has put itself into a sandbox.
pub fn is_in_sandbox() -> bool {
    IN_SANDBOX.load(Ordering::Relaxed)
}

/// Holds a signal back that the kernel has just delivered.
///
/// # Safety
/// `thread` is the calling thread's block; the rest is what the kernel gave the handler of the signal.
pub unsafe fn hold(thread: *mut Thread, signal: c_int, info: *const siginfo_t, context: *mut c_void) {
    // SAFETY: as for this function; the handler of a signal has a place for its details.
    unsafe {
        if !is_in_sandbox() {
            // A handler may keep its signal unblocked.
            change_mask(libc::SIG_BLOCK, bit(signal));
        }
        if is_in_sandbox() || !send_again(signal, info) {
            (*KEPT.0.get())[signal as usize] = *info;
            (*thread).kept |= bit(signal);
            (*thread).pending.fetch_or(bit(signal), Ordering::Relaxed);
            return;
        }
        change(&mut (*context.cast::<ucontext_t>()).uc_sigmask, |all| all | bit(signal));
        (*thread).pending.fetch_or(bit(signal), Ordering::Relaxed);
        wait_with_patience(thread);
    }
}

/// Has the kernel deliver a deferred signal; its handler has run when this returns, at a place that it finds in
/// [`Thread::released_at`]. `wrapper`: what the kernel calls.
///
/// # Safety
/// `thread` is the calling thread's block.
pub unsafe fn release(thread: *mut Thread, signal: c_int, place: i32, wrapper: Wrapper) {
    // SAFETY: as for this function; all zero is a valid context.
    unsafe {
        if (*thread).pending.fetch_and(!bit(signal), Ordering::Relaxed) == bit(signal) {
            set_timer((*thread).timer, false);
        }
        ((*thread).released, (*thread).released_at) = (signal, place);
        if (*thread).kept & bit(signal) != 0 {
            (*thread).kept &= !bit(signal);
            let mut info = (*KEPT.0.get())[signal as usize];
            let mut context: ucontext_t = std::mem::zeroed();
            wrapper(signal, &mut info, (&raw mut context).cast());
        } else {
            change_mask(libc::SIG_UNBLOCK, bit(signal));
        }
        // `sigwait` may have consumed the signal: then no handler has cleared this.
        (*thread).released = 0;
    }
}

/// Function that the kernel calls for a signal.
pub type Wrapper = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// The action by which the kernel calls this function with the stack and the mask that the server chose.
pub fn wrapped(mut action: sigaction, function: Wrapper) -> sigaction {
    // SAFETY: the set is one.
    unsafe { change(&mut action.sa_mask, |all| all & !ours()) };
    action.sa_sigaction = function as *const () as usize;
    action.sa_flags |= libc::SA_SIGINFO;
    // The kernel calls for a deferred signal twice.
    action.sa_flags &= !libc::SA_RESETHAND;
    action
}

/// Runs the server's handler, in the state that the kernel has prepared for it.
///
/// # Safety
/// `thread` is the calling thread's block; the rest is what a handler of the signal gets.
pub unsafe fn run(thread: *mut Thread, signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: as for this function.
    unsafe {
        let Some(action) = handlers::of(signal) else { return };
        if action.sa_flags & libc::SA_RESETHAND != 0 {
            handlers::set_default(signal);
        }
        let live = replace(&mut (*thread).live, (*thread).mode);
        let call_mask = (*thread).call_mask.take();
        // Those that the handler blocks are not released while it runs.
        let shadowed = (*thread).pending.load(Ordering::Relaxed) & bits(&action.sa_mask);
        (*thread).pending.fetch_and(!shadowed, Ordering::Relaxed);
        // An alternate stack may lie within that of the process, above frames that are in use.
        let handler = (action.sa_flags & libc::SA_ONSTACK == 0).then(stack::begin_handler);
        handlers::run(signal, info, context);
        if let Some(handler) = &handler {
            stack::end_handler(handler);
        }
        (*thread).pending.fetch_or(shadowed, Ordering::Relaxed);
        (*thread).call_mask = call_mask;
        (*thread).live = live;
    }
}

/// Takes down which signals the kernel delivers when the handler returns that was given this context.
///
/// # Safety
/// `thread` is the calling thread's block, and `context` what the kernel gave the handler.
pub unsafe fn look_for_unblocked(thread: *mut Thread, context: *const c_void) {
    // SAFETY: as for this function.
    unsafe {
        let waiting = if is_in_sandbox() { 0 } else { waiting() };
        (*thread).unblocked = waiting & !bits(&raw const (*context.cast::<ucontext_t>()).uc_sigmask);
    }
}

/// Signals that the calling thread has sent to it and blocks.
fn waiting() -> u64 {
    let _pass_through = PassThrough::enter();
    let mut waiting = 0u64;
    // SAFETY: the set lives across the call.
    unsafe { libc::syscall(libc::SYS_rt_sigpending, &raw mut waiting, SET_BYTES) };
    waiting
}

/// Called by the kernel for a signal of a recording. One that comes from elsewhere meanwhile is none.
unsafe extern "C" fn replayed(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: called by the kernel with the details of the signal; the block is the calling thread's own.
    unsafe {
        let before = errno();
        let thread = this();
        if (*thread).released == signal {
            (*thread).released = 0;
            if replace(&mut (*thread).blocked_for_call, false) {
                change(&mut (*context.cast::<ucontext_t>()).uc_sigmask, |all| all & !bit(signal));
            }
            run(thread, signal, info, context);
        } else if (*thread).expected & bit(signal) != 0 {
            (*thread).expected &= !bit(signal) | sent_more_than_once(signal);
            run(thread, signal, info, context);
        }
        set_errno(before);
    }
}

/// The bit of a signal of which more than one is queued for the calling thread. Only real-time signals are: of another, one that
/// waits has come from a child of the replay or from elsewhere.
fn sent_more_than_once(signal: c_int) -> u64 {
    if signal < FIRST_QUEUED || is_in_sandbox() { 0 } else { waiting() & bit(signal) }
}

/// Has the kernel call the server's handler for a signal of a recording; otherwise it ignores them all. `mask`: that of the call it
/// interrupted, where the call has one of its own.
///
/// # Safety
/// `thread` is the calling thread's block, in pass-through mode; `info` are the details of the signal.
pub unsafe fn deliver_again(thread: *mut Thread, signal: c_int, info: *mut siginfo_t, mask: Option<u64>) {
    // SAFETY: as for this function; all zero is a valid action, and a valid context.
    unsafe {
        let Some(action) = handlers::of(signal) else { return };
        let action = wrapped(action, replayed);
        let mut before: sigaction = std::mem::zeroed();
        if is_in_sandbox()
            || libc::sigaction(signal, &action, &mut before) == -1
            || !send_released(thread, signal, info, mask)
        {
            let mut context: ucontext_t = std::mem::zeroed();
            return collect::of_server(|| run(thread, signal, info, (&raw mut context).cast()));
        }
        // The handler may have set another one.
        let mut now: sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut now);
        if now.sa_sigaction == action.sa_sigaction {
            libc::sigaction(signal, &before, null_mut());
        }
    }
}

/// Sends a signal of a recording to the calling thread, which is about to unblock it as it did then.
///
/// # Safety
/// As for [`deliver_again`].
pub unsafe fn send_for_later(thread: *mut Thread, signal: c_int, info: *mut siginfo_t) {
    // SAFETY: as for this function.
    unsafe {
        let Some(action) = handlers::of(signal) else { return };
        let action = wrapped(action, replayed);
        (*thread).expected |= bit(signal);
        if is_in_sandbox() || libc::sigaction(signal, &action, null_mut()) == -1 || !send_again(signal, info) {
            (*KEPT.0.get())[signal as usize] = *info;
            (*thread).kept |= bit(signal);
        }
    }
}

/// Sends a signal to the calling thread, whose handler has run when this returns; false if the kernel has no room for it, or the runtime of
/// a sanitizer, which stands between the kernel and the handler, keeps it for a call that it knows.
unsafe fn send_released(thread: *mut Thread, signal: c_int, info: *const siginfo_t, mask: Option<u64>) -> bool {
    // SAFETY: the caller passes the calling thread's block, and details of a signal whose handler is installed.
    unsafe {
        (*thread).released = signal;
        let sent;
        if let Some(mask) = mask {
            // Whatever the mask of the thread is, the signal waits for that of the call.
            let before = change_mask(libc::SIG_BLOCK, bit(signal));
            (*thread).blocked_for_call = before & bit(signal) == 0;
            sent = send_again(signal, info);
            if sent {
                let _pass_through = PassThrough::enter();
                let meanwhile = mask & !(bit(signal) | ours());
                collect::of_server(|| libc::syscall(libc::SYS_rt_sigsuspend, &raw const meanwhile, SET_BYTES));
            } else if (*thread).blocked_for_call {
                change_mask(libc::SIG_UNBLOCK, bit(signal));
            }
        } else {
            // Where it is not blocked, it is delivered here and now.
            sent = send_again(signal, info);
            if (*thread).released == signal {
                let before = collect::of_server(|| change_mask(libc::SIG_UNBLOCK, bit(signal)));
                if before & bit(signal) != 0 {
                    change_mask(libc::SIG_BLOCK, bit(signal));
                }
            }
        }
        let was_kept = replace(&mut (*thread).released, 0) == signal;
        if was_kept && replace(&mut (*thread).blocked_for_call, false) {
            change_mask(libc::SIG_UNBLOCK, bit(signal));
        }
        sent && !was_kept
    }
}

/// Changes the signals that the calling thread blocks, as the server sees them.
///
/// # Safety
/// Both sets are null or lead to one, as the call demands for which this is called.
pub unsafe fn masked(
    how: c_int,
    set: *const sigset_t,
    old: *mut sigset_t,
    wrapper: Wrapper,
    real: impl FnOnce(c_int, *const sigset_t, *mut sigset_t) -> c_int,
) -> c_int {
    // SAFETY: as for this function; the block is the calling thread's own.
    unsafe {
        let thread = this();
        let (pending, kept) = (&raw const (*thread).pending, &raw const (*thread).kept);
        let deferred = || (*pending).load(Ordering::Relaxed) & !*kept;
        let mut requested = None;
        let blocks = how != libc::SIG_UNBLOCK && !set.is_null();
        if !set.is_null() {
            let mut set = *set;
            if blocks {
                // Their handlers would have run by now.
                each((*pending).load(Ordering::Relaxed) & bits(&set), |signal| {
                    release(thread, signal, BETWEEN, wrapper)
                });
                change(&mut set, |all| all & !ours());
            }
            match how {
                libc::SIG_UNBLOCK => change(&mut set, |all| all & !deferred()),
                libc::SIG_SETMASK => change(&mut set, |all| all | deferred()),
                _ => {}
            }
            requested = Some(set);
        }
        let before = deferred();
        (*thread).unblocking = true;
        let made = || real(how, requested.as_ref().map_or(null_mut(), |set| set), old);
        let result = if (*thread).expected == 0 { made() } else { collect::of_server(made) };
        (*thread).unblocking = false;
        if let Some(set) = requested.filter(|_| blocks) {
            // One that came meanwhile stays blocked for the server.
            (*thread).pending.fetch_and(!bits(&set) | before | *kept, Ordering::Relaxed);
        }
        if !old.is_null() {
            change(old, |all| all & !(before | deferred()));
        }
        if (*thread).mode == REPLAYING && (*thread).kept != 0 {
            run_kept(thread);
        }
        result
    }
}

/// Runs the handlers of signals of a recording that the library keeps, and that the server does not block any more.
#[cold]
unsafe fn run_kept(thread: *mut Thread) {
    // SAFETY: the caller passes the calling thread's block; all zero is a valid context.
    unsafe {
        each((*thread).kept & !change_mask(libc::SIG_BLOCK, 0), |signal| {
            (*thread).kept &= !bit(signal);
            let mut info = (*KEPT.0.get())[signal as usize];
            let mut context: ucontext_t = std::mem::zeroed();
            collect::of_server(|| replayed(signal, &mut info, (&raw mut context).cast()));
        });
    }
}

/// Takes out of a set of pending signals those that are deferred.
///
/// # Safety
/// `set` leads to a set.
pub unsafe fn hide(set: *mut sigset_t) {
    // SAFETY: as for this function; the block is the calling thread's own.
    unsafe { change(set, |all| all & !((*this()).pending.load(Ordering::Relaxed) & !(*this()).kept)) }
}

/// Calls this for each signal of a set, from the lowest number on.
fn each(mut set: u64, mut with: impl FnMut(c_int)) {
    while set != 0 {
        with(set.trailing_zeros() as c_int + 1);
        set &= set - 1;
    }
}

/// Lets go of what is deferred: the thread is another process, or is recorded no more.
///
/// # Safety
/// `thread` is the calling thread's block.
pub unsafe fn let_go(thread: *mut Thread, is_child: bool) {
    // SAFETY: as for this function.
    unsafe {
        let timer = std::mem::take(&mut (*thread).timer);
        if timer != 0 && !is_child && !is_in_sandbox() {
            let _pass_through = PassThrough::enter();
            libc::syscall(libc::SYS_timer_delete, timer - 1);
        }
        ((*thread).released, (*thread).hurried, (*thread).unblocked) = (0, 0, 0);
        let deferred = (*thread).pending.swap(0, Ordering::Relaxed) & !replace(&mut (*thread).kept, 0);
        if deferred != 0 {
            change_mask(libc::SIG_UNBLOCK, deferred);
        }
    }
}

/// Code in which the library may be at work while the thread is in the server's: its own, that of libc and the loader, and the
/// kernel's page. Start and end of each.
static ASIDE: [[AtomicUsize; 2]; 8] = [const { [const { AtomicUsize::new(0) }; 2] }; 8];
/// How many there are.
static ASIDE_COUNT: AtomicUsize = AtomicUsize::new(0);

/// Value that the timers of this library send.
static MARK: u8 = 0;

/// Prepares for signals that come to a thread that makes no call; SIGSYS reaches this library.
pub fn prepare() {
    if ASIDE_COUNT.load(Ordering::Relaxed) == 0 {
        let _pass_through = PassThrough::enter();
        // SAFETY: the walk visits objects that are mapped.
        unsafe { libc::dl_iterate_phdr(Some(find_aside), null_mut()) };
    }
}

unsafe extern "C" fn find_aside(info: *mut libc::dl_phdr_info, _size: usize, _: *mut c_void) -> c_int {
    // SAFETY: called by `dl_iterate_phdr` with an object that is mapped.
    unsafe {
        let name = CStr::from_ptr((*info).dlpi_name).to_bytes();
        let file = name.rsplit(|&byte| byte == b'/').next().unwrap_or(name);
        let named = [&b"libc.so."[..], b"ld-linux", b"linux-vdso", b"linux-gate"].iter().any(|it| file.starts_with(it));
        let headers = std::slice::from_raw_parts((*info).dlpi_phdr, (*info).dlpi_phnum as usize);
        let code = headers.iter().filter(|it| it.p_type == libc::PT_LOAD && it.p_flags & libc::PF_X != 0);
        for header in code {
            let start = (*info).dlpi_addr as usize + header.p_vaddr as usize;
            let range = start..start + header.p_memsz as usize;
            if !named && !range.contains(&(prepare as *const () as usize)) {
                continue;
            }
            if let Some([from, to]) = ASIDE.get(ASIDE_COUNT.load(Ordering::Relaxed)) {
                from.store(range.start, Ordering::Relaxed);
                to.store(range.end, Ordering::Relaxed);
                ASIDE_COUNT.fetch_add(1, Ordering::Release);
            }
        }
        0
    }
}

fn is_aside(address: usize) -> bool {
    let known = ASIDE.iter().take(ASIDE_COUNT.load(Ordering::Acquire));
    known.into_iter().any(|[from, to]| (from.load(Ordering::Relaxed)..to.load(Ordering::Relaxed)).contains(&address))
}

/// Interrupts the thread from time to time until no signal of it is deferred.
unsafe fn wait_with_patience(thread: *mut Thread) {
    if ASIDE_COUNT.load(Ordering::Relaxed) == 0 {
        return;
    }
    let _pass_through = PassThrough::enter();
    // SAFETY: the caller passes the calling thread's block; what the kernel reads and writes lives across the calls. All zero is a
    // valid request.
    unsafe {
        if (*thread).timer == 0 {
            let mut event: sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_notify_thread_id = libc::syscall(libc::SYS_gettid) as c_int;
            event.sigev_signo = libc::SIGSYS;
            event.sigev_value.sival_ptr = (&raw const MARK).cast_mut().cast();
            let mut timer: c_int = 0;
            if libc::syscall(libc::SYS_timer_create, libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) != 0 {
                return;
            }
            (*thread).timer = timer + 1;
        }
        set_timer((*thread).timer, true);
    }
}

/// Restarts or stops a timer.
fn set_timer(timer: c_int, runs: bool) {
    if timer == 0 || is_in_sandbox() {
        return;
    }
    let _pass_through = PassThrough::enter();
    // SAFETY: all zero is a request to stop, which lives across the call.
    unsafe {
        let mut request: itimerspec = std::mem::zeroed();
        if runs {
            (request.it_value, request.it_interval) = (PATIENCE, PATIENCE);
        }
        let none = null_mut::<itimerspec>();
        libc::syscall(libc::SYS_timer_settime, c_long::from(timer - 1), 0, &raw const request, none);
    }
}

/// True for a signal that a timer of this library sent.
///
/// # Safety
/// `info` are the details of a signal as the kernel gave them.
pub unsafe fn is_impatient(info: *const siginfo_t) -> bool {
    // SAFETY: as for this function.
    unsafe {
        (*info).si_code == libc::SI_TIMER && (*info).si_value().sival_ptr.cast_const() == (&raw const MARK).cast()
    }
}

/// Signals of the thread were deferred for long: if it is in code of the server, the kernel delivers them there, as soon as the
/// handler that this is called from returns.
///
/// # Safety
/// `context` is what the kernel gave that handler.
pub unsafe fn hurry(context: *mut c_void) {
    // SAFETY: as for this function; the block is the calling thread's own.
    unsafe {
        let thread = this();
        let context: *mut ucontext_t = context.cast();
        if (*thread).live == PASS_THROUGH || is_aside(program_counter(context)) || is_in_sandbox() {
            return;
        }
        set_timer((*thread).timer, false);
        (*thread).hurried = (*thread).pending.swap(0, Ordering::Relaxed);
        change(&mut (*context).uc_sigmask, |all| all & !(*thread).hurried);
    }
}

unsafe fn program_counter(context: *const ucontext_t) -> usize {
    // SAFETY: the caller passes what the kernel gave a handler.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        return (*context).uc_mcontext.gregs[libc::REG_RIP as usize] as usize;
        #[cfg(target_arch = "x86")]
        return (*context).uc_mcontext.gregs[libc::REG_EIP as usize] as usize;
        #[cfg(target_arch = "aarch64")]
        return (*context).uc_mcontext.pc as usize;
    }
}
