//! A driver that takes its memory away while the device uses it: SIGBUS, and what is done about it.
//!
//! A process that has a file open can cut it, and an access behind its new end ends the process with SIGBUS. Here, zeroed pages
//! take the place of what is gone, and the device is notified.
#![deny(clippy::indexing_slicing)]
#![allow(unsafe_code, reason = "a signal handler")]

use std::io;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Largest number of guarded mappings: those that drivers may make, and some of this process.
const REGIONS: usize = 4096 + 256;

static REGION_STARTS: [AtomicUsize; REGIONS] = [const { AtomicUsize::new(0) }; REGIONS];
static REGION_BYTES: [AtomicUsize; REGIONS] = [const { AtomicUsize::new(0) }; REGIONS];
static PIECE_BYTES: [AtomicUsize; REGIONS] = [const { AtomicUsize::new(0) }; REGIONS];
static WAS_TAKEN: AtomicBool = AtomicBool::new(false);
static INSTALLED: Once = Once::new();

/// Guards a mapping, whose address and size are multiples of `piece_bytes`: so much of it is replaced at a time. False if there
/// are too many.
pub(crate) fn remember(start: *mut u8, bytes: usize, piece_bytes: usize) -> bool {
    INSTALLED.call_once(|| {
        // Without it a hostile driver ends this process, and nothing worse.
        let _ = install();
    });
    for ((place, room), piece) in REGION_STARTS.iter().zip(&REGION_BYTES).zip(&PIECE_BYTES) {
        if place.compare_exchange(0, start as usize, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
            piece.store(piece_bytes, Ordering::Release);
            room.store(bytes, Ordering::Release);
            return true;
        }
    }
    false
}

/// No longer guards a mapping.
pub(crate) fn forget(start: *mut u8) {
    for (place, room) in REGION_STARTS.iter().zip(&REGION_BYTES) {
        if place.load(Ordering::Acquire) == start as usize {
            room.store(0, Ordering::Release);
            place.store(0, Ordering::Release);
        }
    }
}

/// True once after memory was taken away.
pub(crate) fn was_taken() -> bool {
    WAS_TAKEN.swap(false, Ordering::AcqRel)
}

fn install() -> io::Result<()> {
    // SAFETY: all zeros is a valid sigaction, and the handler has the signature that SA_SIGINFO requires.
    let done = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_bus_error as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        libc::sigaction(libc::SIGBUS, &raw const action, ptr::null_mut())
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Replaces the piece that was touched, if it is one of ours; otherwise ends the process as the signal would have.
extern "C" fn on_bus_error(_signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel gives a valid record to a handler with SA_SIGINFO; for SIGBUS it has an address.
    let address = unsafe { (*info).si_addr() } as usize;
    for ((place, room), piece) in REGION_STARTS.iter().zip(&REGION_BYTES).zip(&PIECE_BYTES) {
        let (start, bytes) = (place.load(Ordering::Acquire), room.load(Ordering::Acquire));
        let piece_bytes = piece.load(Ordering::Acquire);
        if start == 0 || !(start..start + bytes).contains(&address) {
            continue;
        }
        let piece = start + (address - start) / piece_bytes * piece_bytes;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: the piece lies in a mapping of ours, whose content is gone; mmap(2) is a plain system call.
        let mapped = unsafe { libc::mmap(piece as *mut libc::c_void, piece_bytes, protection, flags, -1, 0) };
        if mapped != libc::MAP_FAILED {
            WAS_TAKEN.store(true, Ordering::Release);
            return;
        }
    }
    // SAFETY: plain system calls. The instruction is repeated, and the signal has its usual effect then.
    unsafe { libc::signal(libc::SIGBUS, libc::SIG_DFL) };
}
