//! Block of each thread in static thread-local storage.
//!
//! The block is declared in assembly: `thread_local!` in a shared object goes through
//! `__tls_get_addr`, which costs more than the rest of a clock hook and may allocate on first
//! use; the attribute for the initial-exec model is not in stable Rust.

use prony_channel as channel;
use prony_demo::Head;
use std::arch::{asm, global_asm};
use std::ffi::c_int;
use std::sync::atomic::AtomicU64;

pub const BLOCK_BYTES: usize = 1024;

#[cfg(target_arch = "x86_64")]
global_asm!(
    ".section .tbss.prony_thread,\"awT\",@nobits",
    ".p2align 6",
    ".hidden prony_thread",
    ".globl prony_thread",
    ".type prony_thread, @object",
    ".size prony_thread, 1024",
    "prony_thread:",
    ".zero 1024",
    ".text",
);

// Code of i386 has no place for the offset; the loader writes it into a variable (`R_386_TLS_TPOFF`).
#[cfg(target_arch = "x86")]
global_asm!(
    ".section .tbss.prony_thread,\"awT\",@nobits",
    ".p2align 6",
    ".hidden prony_thread",
    ".globl prony_thread",
    ".type prony_thread, @object",
    ".size prony_thread, 1024",
    "prony_thread:",
    ".zero 1024",
    ".section .data.rel.ro.prony_thread,\"aw\",@progbits",
    ".p2align 2",
    ".hidden prony_thread_offset",
    ".globl prony_thread_offset",
    ".type prony_thread_offset, @object",
    ".size prony_thread_offset, 4",
    "prony_thread_offset:",
    ".long prony_thread@NTPOFF",
    ".text",
);

#[cfg(target_arch = "aarch64")]
global_asm!(
    ".section .tbss.prony_thread,\"awT\",%nobits",
    ".p2align 6",
    ".hidden prony_thread",
    ".globl prony_thread",
    ".type prony_thread, %object",
    ".size prony_thread, 1024",
    "prony_thread:",
    ".zero 1024",
    ".text",
);

/// Mode in which hooked calls of a thread are not the server's and pass through.
pub const PASS_THROUGH: u8 = 0;
/// Mode in which calls are recorded.
pub const RECORDING: u8 = channel::Mode::Record as u8;
/// Calls are answered from the tape.
pub const REPLAYING: u8 = channel::Mode::Replay as u8;

/// State of one thread; all zero until the thread is attached.
#[repr(C)]
pub struct Thread {
    /// [`PASS_THROUGH`] before attaching and inside the library, else [`RECORDING`] or [`REPLAYING`].
    pub live: u8,
    /// True while a real call that may block is under way and a handler may run at once.
    pub blocking: bool,
    /// True while the call under way has its record already: a handler that runs at once runs behind it.
    pub recorded: bool,
    /// Value of `live` outside of the library.
    pub mode: u8,
    /// Attached as a thread of the server.
    pub attached: bool,
    /// Number of the thread within its process, from 0.
    pub index: u16,
    /// Deferred signals, see `deferred`: the set of them as the kernel has it.
    pub pending: AtomicU64,
    /// Those of them that the library keeps, and not the kernel.
    pub kept: u64,
    /// Those that the kernel is about to deliver wherever the thread is.
    pub hurried: u64,
    /// Signals that the kernel is about to deliver because the handler that blocked them returns.
    pub unblocked: u64,
    /// True while the server changes its mask.
    pub unblocking: bool,
    /// Player: the released signal is blocked by the library, and not by the server.
    pub blocked_for_call: bool,
    /// Player: signals that the thread has sent to itself for when the server unblocks them.
    pub expected: u64,
    /// The signal that the library has the kernel deliver now, 0 for none.
    pub released: c_int,
    /// Where it is delivered.
    pub released_at: i32,
    /// One more than the kernel's number of the timer for deferred signals, 0 before there is one.
    pub timer: c_int,
    /// Where the system call under way was made, if that is outside of libc.
    pub raw_call: *mut libc::c_void,
    /// Where the server goes on behind what `raw_calls::elsewhere` has it run first.
    pub goes_on_at: usize,
    /// The mask of signals that it sets there.
    pub mask_then: u64,
    /// The mask that the call under way waits with, if it has one of its own.
    pub call_mask: Option<u64>,
    /// The slot in the control area.
    pub slot: *const channel::Thread,
    /// Where on the stack collecting was paused, 0 while it is not; see `collect`.
    pub paused_at: usize,
    /// Calls under way whose stacks are kept, see `stack`.
    pub kept_stacks: usize,
    /// Bytes of messages that the call under way has moved, see `collect`.
    pub moved: u64,
    /// One more than the descriptor of the thread's event, see `counter`; 0 before there is one.
    pub event: c_int,
    /// Its count when the server went on last.
    pub events_before: u64,
    /// The server runs, and its events count.
    pub counting: bool,
    /// Acquisitions without a record since the last call that restarts the count, see `hooks::sync`.
    pub unrecorded: u32,

    /// Recorder: start of the ring.
    pub ring: *mut u8,
    /// Recorder: number of bytes written to the ring.
    pub head: u64,
    /// Recorder: how far the reader was when last looked at.
    pub tail_seen: u64,
    /// Recorder: reads in the clock run that stands open at `head`, not yet published.
    pub run_reads: u32,
    /// Recorder: the clock that the run reads.
    pub run_clock: u32,
    /// Recorder: the call that the run makes.
    pub run_op: u16,

    /// Player: head of the next record.
    pub cursor: *mut Head,
    /// Player: one past the last record that is in memory; see `player::window`.
    pub end: *mut Head,
    /// Player: where the record at `window_place` stands.
    pub window: *mut u8,
    /// Player: bytes of the window, 0 where all records of the thread are in memory.
    pub window_bytes: u64,
    /// Player: bytes of records before those in the window.
    pub window_place: u64,
    /// Player: bytes of all records of the thread.
    pub stream_end: u64,
    /// Player: the tape has other threads, so turns are waited for.
    pub ordered: bool,
    /// Player: the list of turns.
    pub turns: *mut u32,
    /// Player: which bits of a turn's number are its place in the list.
    pub turn_mask: u64,
    /// Player: number of turns in the list.
    pub turn_count: u64,
    /// Player: the turn that the thread has.
    pub own_turn: Option<u64>,
    /// Player: last value of the clocks 0..=11 of `clock_gettime`, then `gettimeofday`, `time`,
    /// `clock` and `timespec_get`; `rdtsc` and `rdpid`.
    pub clocks: [i64; 18],
    /// Player: place of the first record from the cursor on that is not a clock's, when last looked for.
    pub next_call: u64,
    /// Player: no turn is waited for until the thread's next wait, see `player::take_sync`.
    pub loose: bool,
    /// Player: bytes that the call under way offers to send.
    pub offered: u32,
    /// Player: the call under way must not wait.
    pub no_wait: bool,
    /// Player: a copy of the last record of `times`.
    pub last_times: [u64; 12],
    /// Player: a copy of the last record of `getrusage`.
    pub last_usage: [u64; 26],
    /// Player: when the frame under way started.
    pub frame_wall: u64,
    /// Player: CPU time at that moment.
    pub frame_cpu: u64,
    /// Player: true once a frame has started.
    pub in_frame: bool,
    /// Player: the payload of this record differs within a run that tolerates it.
    pub scratch: [u8; 216],
}

const _: () = assert!(size_of::<Thread>() <= BLOCK_BYTES);

/// How far below the thread pointer the block is, in bytes; 0 where nothing needs it.
pub fn block_below() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let pointer: u64;
        // SAFETY: reads the thread pointer, which the System V ABI keeps there.
        unsafe {
            asm!("mov {pointer}, qword ptr fs:[0]", pointer = out(reg) pointer, options(pure, readonly, nostack));
        }
        pointer.wrapping_sub(this() as usize as u64)
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Address of the calling thread's block.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn this() -> *mut Thread {
    let block: *mut Thread;
    // SAFETY: reads the thread pointer and a constant of the loader; the library is always part
    // of the initial set of objects, which the initial-exec model requires.
    unsafe {
        asm!(
            "mov {block}, qword ptr fs:[0]",
            "add {block}, qword ptr [rip + prony_thread@GOTTPOFF]",
            block = out(reg) block,
            options(pure, nomem, nostack),
        );
    }
    block
}

/// Address of the calling thread's block.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn this() -> *mut Thread {
    let block: *mut Thread;
    // SAFETY: as on x86-64.
    unsafe {
        asm!(
            "mrs {block}, tpidr_el0",
            "adrp {offset}, :gottprel:prony_thread",
            "ldr {offset}, [{offset}, #:gottprel_lo12:prony_thread]",
            "add {block}, {block}, {offset}",
            block = out(reg) block,
            offset = out(reg) _,
            options(pure, nomem, nostack),
        );
    }
    block
}

/// Block of the calling thread, in thread-local storage.
#[cfg(target_arch = "x86")]
#[inline(always)]
pub fn this() -> *mut Thread {
    unsafe extern "C" {
        #[link_name = "prony_thread_offset"]
        static OFFSET: usize;
    }
    let pointer: *mut Thread;
    // SAFETY: as on x86-64; the loader has written the offset before any code of the library runs.
    unsafe {
        asm!("mov {pointer}, dword ptr gs:[0]", pointer = out(reg) pointer, options(pure, nomem, nostack, preserves_flags));
        pointer.wrapping_byte_add(OFFSET)
    }
}

/// Guard of pass-through mode: until it is dropped, hooked calls of this thread go to the real functions.
pub struct PassThrough(*mut Thread, u8);

impl PassThrough {
    /// Enters pass-through mode on the calling thread.
    #[inline(always)]
    pub fn enter() -> PassThrough {
        let thread = this();
        // SAFETY: the block belongs to the calling thread alone.
        unsafe {
            let before = (*thread).live;
            (*thread).live = PASS_THROUGH;
            PassThrough(thread, before)
        }
    }
}

impl Drop for PassThrough {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: as in `enter`.
        unsafe { (*self.0).live = self.1 }
    }
}
