//! Which descriptors belong to the recorded conversation, and their stand-ins during a replay.

use super::failures;
use super::thread::REPLAYING;
use crate::channel::{CHANNEL_FD, LIBRARY_FD, TAPE_FD};
use std::sync::atomic::{AtomicU8, Ordering};

/// What a descriptor is to the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// An ordinary file: its calls go to the kernel, in record and replay.
    File = 0,
    /// A socket, pipe, event, timer, device …: its calls are recorded.
    Recorded = 1,
    /// Inherited standard output or error: written bytes are recorded, compared loosely.
    Log = 2,
    /// The library's own: the server may not close it.
    Own = 3,
}

const KIND: u8 = 0x03;
const NONBLOCKING: u8 = 0x04;
const DATAGRAM: u8 = 0x08;
const INTERNAL: u8 = 0x10;

/// Highest descriptor that can be followed; the kernel's default ceiling (`fs.nr_open`).
const DESCRIPTORS: usize = 1 << 20;

static TABLE: [AtomicU8; DESCRIPTORS] = [const { AtomicU8::new(0) }; DESCRIPTORS];

fn entry(fd: i32) -> Option<&'static AtomicU8> {
    TABLE.get(usize::try_from(fd).ok()?)
}

/// What this descriptor is.
#[inline(always)]
pub fn kind(fd: i32) -> Kind {
    match entry(fd).map_or(0, |entry| entry.load(Ordering::Relaxed)) & KIND {
        0 => Kind::File,
        1 => Kind::Recorded,
        2 => Kind::Log,
        _ => Kind::Own,
    }
}

/// True for descriptors whose calls are recorded.
#[inline(always)]
pub fn is_recorded(fd: i32) -> bool {
    kind(fd) == Kind::Recorded
}

/// Sets what a descriptor is, as a blocking one.
pub fn set(fd: i32, kind: Kind) {
    if let Some(entry) = entry(fd) {
        entry.store(kind as u8, Ordering::Relaxed);
    }
}

/// A call has made this descriptor, if it is one.
pub fn opened(fd: i32) {
    set(fd, Kind::Recorded);
}

/// Makes `to` what `from` is.
pub fn copy(from: i32, to: i32) {
    if let (Some(from), Some(to)) = (entry(from), entry(to)) {
        to.store(from.load(Ordering::Relaxed), Ordering::Relaxed);
    }
    super::epoll::copied(from, to);
}

/// Remembers whether calls on the descriptor may block.
pub fn set_nonblocking(fd: i32, nonblocking: bool) {
    if let Some(entry) = entry(fd) {
        let bits = entry.load(Ordering::Relaxed) & !NONBLOCKING;
        entry.store(bits | if nonblocking { NONBLOCKING } else { 0 }, Ordering::Relaxed);
    }
}

/// Remembers that both ends of the descriptor are the server's own.
pub fn set_internal(fd: i32) {
    if let Some(entry) = entry(fd) {
        entry.fetch_or(INTERNAL, Ordering::Relaxed);
    }
}

/// True if what is written to the descriptor only wakes the server's own threads.
pub fn is_internal(fd: i32) -> bool {
    entry(fd).is_some_and(|entry| entry.load(Ordering::Relaxed) & INTERNAL != 0)
}

/// Remembers that the descriptor keeps messages apart.
pub fn set_datagram(fd: i32) {
    if let Some(entry) = entry(fd) {
        entry.fetch_or(DATAGRAM, Ordering::Relaxed);
    }
}

/// True if a read that is too short loses the rest of its message.
pub fn is_datagram(fd: i32) -> bool {
    entry(fd).is_some_and(|entry| entry.load(Ordering::Relaxed) & DATAGRAM != 0)
}

/// True if calls on the descriptor do not block.
pub fn is_nonblocking(fd: i32) -> bool {
    entry(fd).is_some_and(|entry| entry.load(Ordering::Relaxed) & NONBLOCKING != 0)
}

/// Classifies what the server inherits.
pub unsafe fn inherit() {
    for fd in [CHANNEL_FD, LIBRARY_FD] {
        set(fd, Kind::Own);
    }
    set(0, Kind::Recorded);
    set(1, Kind::Log);
    set(2, Kind::Log);
    if super::process::mode() == REPLAYING {
        set(TAPE_FD, Kind::Own);
        for (own, kind) in [(STAND_IN_SOCKET, libc::SOCK_DGRAM), (STAND_IN_OTHER, 0)] {
            let opened = match kind {
                0 => libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC | libc::O_NONBLOCK),
                kind => libc::socket(libc::AF_UNIX, kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0),
            };
            if opened < 0 || libc::dup3(opened, own, libc::O_CLOEXEC) < 0 {
                super::report::fatal(&[b"cannot open the stand-ins for recorded descriptors"]);
            }
            libc::close(opened);
            set(own, Kind::Own);
        }
    }
}

const STAND_IN_SOCKET: i32 = TAPE_FD + 1;
const STAND_IN_OTHER: i32 = TAPE_FD + 2;

/// What a recorded descriptor looks like to calls that are not hooked, such as `fstat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandIn {
    /// An unconnected socket.
    Socket,
    /// `/dev/null`.
    Other,
}

/// Takes the number `fd` for a recorded descriptor. A file that the build opened under that
/// number moves out of the way only in builds that open files in another order; that is refused.
pub unsafe fn stand_in(fd: i32, like: StandIn) {
    let source = if like == StandIn::Socket { STAND_IN_SOCKET } else { STAND_IN_OTHER };
    if fd >= 0 {
        failures::at_descriptor(c"dup3", fd, libc::dup3(source, fd, 0));
        set(fd, Kind::Recorded);
    }
}
