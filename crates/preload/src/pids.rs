//! Numbers of processes and threads. A replay gives the server the recorded ones; the kernel knows others. Calls that
//! are made for real in a replay get the kernel's number of what the server means.

use super::state::mode;
use super::thread::REPLAYING;
use libc::{c_char, pid_t};
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

/// Number of processes and threads known at a time: this one, its threads, its parent and its children.
const KNOWN: usize = 1024;

struct Pair {
    recorded: AtomicI32,
    real: AtomicI32,
}

static PAIRS: [Pair; KNOWN] = [const { Pair { recorded: AtomicI32::new(0), real: AtomicI32::new(0) } }; KNOWN];
static NEXT: AtomicUsize = AtomicUsize::new(0);

fn place_of(recorded: pid_t) -> Option<&'static Pair> {
    let used = NEXT.load(Ordering::Acquire).min(KNOWN);
    PAIRS[..used].iter().find(|pair| pair.recorded.load(Ordering::Relaxed) == recorded)
}

/// Maps `recorded`, which the server knows, to `real`, which the kernel knows.
pub fn learn(recorded: pid_t, real: pid_t) {
    if mode() != REPLAYING || recorded <= 0 || real <= 0 {
        return;
    }
    let place = place_of(recorded).unwrap_or_else(|| {
        let place = &PAIRS[NEXT.fetch_add(1, Ordering::AcqRel) % KNOWN];
        place.recorded.store(recorded, Ordering::Relaxed);
        place
    });
    place.real.store(real, Ordering::Release);
}

/// The kernel's number of a process or thread that a replay knows.
pub fn known(recorded: pid_t) -> Option<pid_t> {
    let found = place_of(recorded).filter(|_| mode() == REPLAYING && recorded > 0);
    found.map(|pair| pair.real.load(Ordering::Acquire)).filter(|&real| real > 0)
}

/// The recorded number of a process or thread; its real one where it has no other.
pub fn recorded(real: pid_t) -> pid_t {
    let mut pairs = PAIRS.iter();
    let found = pairs.find(|pair| pair.real.load(Ordering::Acquire) == real);
    found.map_or(real, |pair| pair.recorded.load(Ordering::Relaxed))
}

/// Forgets a child that was waited for.
pub fn forget(recorded: pid_t) {
    if let Some(place) = place_of(recorded) {
        place.real.store(0, Ordering::Relaxed);
    }
}

/// Process number to give the kernel when the server names `pid`. Zero and what is negative have meanings of their own.
pub fn real(pid: pid_t) -> pid_t {
    known(pid).unwrap_or(pid)
}

/// Calls `with` with the path that leads where the server means: below `/proc`, processes are named by numbers.
pub unsafe fn in_path<T>(path: *const c_char, with: impl FnOnce(*const c_char) -> T) -> T {
    const FOLDER: &[u8] = b"/proc/";
    if mode() != REPLAYING || path.is_null() {
        return with(path);
    }
    // SAFETY: the caller passes a path that is null or a C string.
    let text = unsafe { std::ffi::CStr::from_ptr(path) }.to_bytes();
    if !text.starts_with(FOLDER) {
        return with(path);
    }
    let (mut room, mut used) = ([0u8; 512], 0);
    // `/proc/PID`, and `/proc/PID/task/TID`.
    for (at, part) in text.split(|&byte| byte == b'/').enumerate() {
        let separator = usize::from(at > 0);
        let number = (at == 2 || at == 4).then(|| std::str::from_utf8(part).ok()?.parse().ok()).flatten();
        let mut line = super::report::Text { to: &mut room, used };
        line.put(&b"/"[..separator]);
        match number.and_then(known) {
            Some(real) => line.decimal(real as u64),
            None => line.put(part),
        }
        used = line.used;
    }
    // A path without an end is no path.
    if used >= room.len() { with(path) } else { with(room.as_ptr().cast()) }
}
