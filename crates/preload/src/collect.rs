//! What a tool collects of a replay: the instructions of the server, and how often it makes each hooked call.
//!
//! Callgrind collects instructions, or does not, for each thread and each handler of a signal by itself; a request switches from the one
//! to the other. It is off while the library is at work, and with it all that libc runs for the library, and on in
//! what the server has the library call: handlers of signals, routines of threads.
//!
//! The counters of the processor collect where no tool does, see [`counter`].
//!
//! Without either nothing of this runs: hooks look at the one flag that they look at for a collector of garbage.

use super::counter;
use super::stack;
use super::state::control;
use super::thread::{self, Thread};
use prony_channel::{CallCount, Control};
use std::any::Any;
use std::mem::replace;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Requests to Valgrind (`valgrind.h`), and to Callgrind (`callgrind.h`).
#[repr(usize)]
#[derive(Clone, Copy)]
enum Request {
    /// Whether Valgrind is there, which every tool of it answers.
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    IsThere = 0x1001,
    /// Translates code again before it runs the next time.
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    Discard = 0x1002,
    /// Writes what was collected, and forgets it.
    Dump = 0x4354_0000,
    /// Forgets what was collected.
    Zero = 0x4354_0001,
    /// Starts to collect, or stops it.
    Toggle = 0x4354_0002,
}

/// True if Valgrind runs this program, with any of its tools.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
pub fn is_by_valgrind() -> bool {
    request(Request::IsThere) != 0
}

/// The library has changed code that may have run: Valgrind, which trusts code of files to stay as it is, runs what is there now.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
pub fn code_has_changed(address: usize, bytes: usize) {
    request_of(Request::Discard, [address, bytes]);
}

/// Makes a request to Valgrind; returns its answer. A processor runs the instructions without any effect, which is 0.
#[inline(always)]
fn request(which: Request) -> usize {
    request_of(which, [0, 0])
}

/// Makes a request with its arguments.
#[inline(always)]
fn request_of(which: Request, [first, second]: [usize; 2]) -> usize {
    let mut answer = 0;
    let arguments: [usize; 6] = [which as usize, first, second, 0, 0, 0];
    // SAFETY: the sequence changes nothing but the flags, and under Valgrind the register of its answer.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!(
            "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
            in("rax") arguments.as_ptr(), inout("rdx") answer,
        );
        #[cfg(target_arch = "x86")]
        std::arch::asm!(
            "rol edi, 3", "rol edi, 13", "rol edi, 29", "rol edi, 19", "xchg ebx, ebx",
            in("eax") arguments.as_ptr(), inout("edx") answer,
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!(
            "ror x12, x12, #3", "ror x12, x12, #13", "ror x12, x12, #51", "ror x12, x12, #61", "orr x10, x10, x10",
            in("x4") arguments.as_ptr(), inout("x3") answer,
        );
    }
    answer
}

/// A tool collects what this process does.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Whether [`resume`] has anything to do.
#[must_use]
pub struct Paused(bool);

/// The library begins to work in this process. It is not known yet whether anything is collected.
pub fn pause_at_load() -> Paused {
    // SAFETY: the block is the calling thread's own.
    unsafe { pause_here() }
}

/// From here on hooks pause what is collected, if it is. `area`: the control area; `mark_own`: see [`counter::MarkOwn`].
pub fn begin(area: &Control, mark_own: counter::MarkOwn) {
    if area.collects.load(Ordering::Relaxed) {
        IS_ON.store(true, Ordering::Relaxed);
        counter::begin(area, mark_own);
        stack::make_calls_apart();
    }
}

/// What the thread runs from here on is collected.
#[inline(always)]
fn start() {
    if counter::is_on() {
        counter::resume();
    } else {
        request(Request::Toggle);
    }
}

/// It is not. Returns whether it was until here.
#[inline(always)]
fn stop() -> bool {
    if counter::is_on() {
        return counter::pause();
    }
    request(Request::Toggle);
    true
}

/// The library is at work until [`resume`] is called.
#[inline(always)]
pub fn pause() -> Paused {
    if !IS_ON.load(Ordering::Relaxed) {
        return Paused(false);
    }
    // SAFETY: the block is the calling thread's own.
    unsafe { pause_here() }
}

/// Pauses unless that was done further up the stack.
#[inline(never)]
unsafe fn pause_here() -> Paused {
    let here = 0_u8;
    let here = (&raw const here).addr();
    // SAFETY: the caller is on the thread whose block this is.
    unsafe {
        let thread = thread::this();
        let paused_at = (*thread).paused_at;
        if paused_at > here {
            return Paused(false);
        }
        // Where the place is further down the stack, a handler has jumped out of a call, and it is still paused.
        if paused_at == 0 {
            stop();
        }
        (*thread).paused_at = here;
    }
    Paused(true)
}

/// The server goes on.
#[inline(always)]
pub fn resume(paused: Paused) {
    if paused.0 {
        // SAFETY: the block is the calling thread's own.
        unsafe { (*thread::this()).paused_at = 0 };
        start();
    }
}

/// What the library does in a handler of its own. A handler begins with collecting on, whatever it has interrupted.
#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
pub fn in_handler<T>(run: impl FnOnce() -> T) -> T {
    if !IS_ON.load(Ordering::Relaxed) {
        return run();
    }
    let here = 0_u8;
    // SAFETY: the block is the calling thread's own.
    let paused_at = unsafe { replace(&mut (*thread::this()).paused_at, (&raw const here).addr()) };
    let was_counting = stop();
    let value = run();
    if was_counting {
        start();
    }
    // SAFETY: as above.
    unsafe { (*thread::this()).paused_at = paused_at };
    value
}

/// Code that the server has the library run: its instructions are collected.
#[inline(always)]
pub fn of_server<T>(run: impl FnOnce() -> T) -> T {
    if !IS_ON.load(Ordering::Relaxed) {
        return run();
    }
    // SAFETY: the block is the calling thread's own, in a forked child as well.
    let paused_at = unsafe { replace(&mut (*thread::this()).paused_at, 0) };
    if paused_at != 0 {
        start();
    }
    let value = run();
    if paused_at != 0 {
        stop();
        // SAFETY: as above.
        unsafe { (*thread::this()).paused_at = paused_at };
    }
    value
}

/// A frame has ended: what was collected of it is written by itself, where that is wanted.
pub fn end_frame() {
    if IS_ON.load(Ordering::Relaxed) && !counter::is_on() && control().dumps_frames.load(Ordering::Relaxed) {
        request(Request::Dump);
    }
}

/// This process was forked: what was collected before is its parent's.
pub fn forked() {
    if counter::is_on() {
        counter::forked();
    } else if IS_ON.load(Ordering::Relaxed) {
        request(Request::Zero);
    }
}

/// A hooked function as it is counted.
pub struct Call {
    name: &'static str,
    /// One more than its place in the list of the control area, 0 before it has one.
    place: AtomicU32,
}

impl Call {
    /// A function that was not called yet.
    pub const fn named(name: &'static str) -> Call {
        Call { name, place: AtomicU32::new(0) }
    }

    fn count(&self) -> Option<&'static CallCount> {
        let control = control();
        let mut place = self.place.load(Ordering::Relaxed);
        if place == 0 {
            // Another program may have called it before.
            let used = control.calls.iter().take(control.calls_used.load(Ordering::Acquire) as usize);
            let known = used.into_iter().position(|count| is_text(&count.name.read(), self.name.as_bytes()));
            place = match known {
                Some(known) => known as u32 + 1,
                // Another thread may be as quick; the name then has two entries.
                None => control.calls_used.fetch_add(1, Ordering::AcqRel) + 1,
            };
            control.calls.get(place as usize - 1)?.name.write_text(self.name.as_bytes());
            self.place.store(place, Ordering::Relaxed);
        }
        control.calls.get(place as usize - 1)
    }
}

/// True if the bytes before the first zero byte are this text.
fn is_text(bytes: &[u8], text: &[u8]) -> bool {
    bytes.split(|&byte| byte == 0).next() == Some(text)
}

/// The server has made a call, which is counted. One that the library makes itself, while it is paused, is not.
#[inline(never)]
pub fn pause_for(call: &Call) -> Paused {
    let paused = pause();
    if paused.0
        && let Some(count) = call.count()
    {
        count.calls.fetch_add(1, Ordering::Relaxed);
    }
    paused
}

/// The call returns this to the server.
#[inline(always)]
pub fn resume_with<T: 'static>(paused: Paused, call: &Call, value: T) -> T {
    if paused.0
        && let Some(count) = call.count()
    {
        // SAFETY: the block is the calling thread's own.
        let of_messages = unsafe { replace(&mut (*thread::this()).moved, 0) };
        count.bytes.fetch_add(of_messages + bytes_of(&value), Ordering::Relaxed);
    }
    resume(paused);
    stack::clear();
    value
}

/// What functions return that return a `ssize_t`: a number of bytes, or −1.
fn bytes_of<T: 'static>(value: &T) -> u64 {
    (value as &dyn Any).downcast_ref::<isize>().map_or(0, |&bytes| u64::try_from(bytes).unwrap_or(0))
}

/// The call under way has moved this number of messages, or failed. Their bytes are what it does not return.
///
/// # Safety
/// `thread` is the calling thread's block, and as many messages are there.
pub unsafe fn moved(thread: *mut Thread, messages: *const libc::mmsghdr, number: libc::c_int) {
    if IS_ON.load(Ordering::Relaxed) {
        let number = usize::try_from(number).unwrap_or(0);
        // SAFETY: as for this function.
        unsafe { (*thread).moved = (0..number).map(|at| u64::from((*messages.add(at)).msg_len)).sum() };
    }
}
