//! Descriptors that belong to the recorded conversation, and their stand-ins during a replay.

use super::failures;
use super::own_words;
use super::thread::{RECORDING, REPLAYING};
use prony_channel::{CHANNEL_FD, LIBRARY_FD, LIBRARY_I386_FD, TAPE_FD};
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering};

/// Role of a descriptor in the recording.
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
/// Only in the list of what the first program is handed: a file whose content the recording holds.
const COPIED: u8 = 0x40;

/// Largest file that a server is handed of which the recording holds the content.
pub const COPIED_BYTES: usize = 16 << 20;

/// Number of descriptors that can be followed.
const DESCRIPTORS: usize = prony_demo::DESCRIPTORS as usize;

static TABLE: [AtomicU8; DESCRIPTORS] = [const { AtomicU8::new(0) }; DESCRIPTORS];

/// Highest descriptor that ever had an entry.
static HIGHEST: AtomicI32 = AtomicI32::new(2);

fn entry(fd: i32) -> Option<&'static AtomicU8> {
    TABLE.get(usize::try_from(fd).ok()?)
}

/// Role of the descriptor `fd` in the recording.
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

/// True for descriptors of which a replay answers what they are: those that are recorded, and standard streams.
pub fn is_answered(fd: i32) -> bool {
    matches!(kind(fd), Kind::Recorded | Kind::Log)
}

/// Sets what a descriptor is, as a blocking one.
pub fn set(fd: i32, kind: Kind) {
    if let Some(entry) = entry(fd) {
        entry.store(kind as u8, Ordering::Relaxed);
        own_words::forget(fd);
        HIGHEST.fetch_max(fd, Ordering::Relaxed);
    }
}

/// A descriptor is the library's, or is free again.
pub fn mark_own(fd: i32, is_own: bool) {
    set(fd, if is_own { Kind::Own } else { Kind::File });
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
    HIGHEST.fetch_max(to, Ordering::Relaxed);
    own_words::copied(from, to);
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

/// A descriptor that outlives `exec`, and what it is.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Inherited {
    fd: i32,
    bits: u32,
}

impl Inherited {
    /// Enters it in the table of this program.
    pub fn take_over(self) {
        take_over(self.fd, self.bits as i32);
    }

    /// Its number if it is a file whose content the recording holds.
    pub fn copied(self) -> Option<i32> {
        (self.bits & u32::from(COPIED) != 0).then_some(self.fd)
    }

    /// Puts a stand-in there, in a replay, and enters it in the table of this program. A log is what standard output is. Numbers that are taken stay
    /// what they are, but for standard output.
    pub fn stand_in(self) {
        if !is_free(self.fd) && self.fd != libc::STDOUT_FILENO {
            return;
        }
        if self.bits & u32::from(KIND) == Kind::Log as u32 {
            // SAFETY: acts on descriptors alone; the number is free.
            unsafe { libc::dup2(libc::STDOUT_FILENO, self.fd) };
        } else {
            stand_in(self.fd, StandIn::Other);
        }
        self.take_over();
    }

    /// Both descriptor numbers, recorded and real.
    pub fn numbers(self) -> [i32; 2] {
        [self.fd, self.bits as i32]
    }
}

/// Descriptors that a program may hand on to the next one; those beyond are files to it.
pub const INHERITED_MAX: usize = 256;

/// Fills `list` with the recorded descriptors that the next program of this process inherits, and with standard input if that is a file; returns how
/// many.
pub fn outlasting(list: &mut [Inherited; INHERITED_MAX]) -> usize {
    let mut count = 0;
    for fd in 0..=HIGHEST.load(Ordering::Relaxed) {
        let bits = entry(fd).map_or(0, |entry| entry.load(Ordering::Relaxed));
        if count < INHERITED_MAX && (is_answered(fd) || fd == 0 && kind(fd) == Kind::File) && !closes_on_exec(fd) {
            list[count] = Inherited { fd, bits: u32::from(bits) };
            count += 1;
        }
    }
    count
}

fn closes_on_exec(fd: i32) -> bool {
    // SAFETY: only a query.
    unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFD);
        flags == -1 || flags & libc::FD_CLOEXEC != 0
    }
}

/// Has the stand-ins that are not in `list` closed when the next program starts: in the recording, they were.
pub fn close_on_exec_but(list: &[Inherited]) {
    // SAFETY: acts on the descriptor alone, which is a stand-in of this library.
    unsafe {
        for fd in 3..=HIGHEST.load(Ordering::Relaxed) {
            if is_recorded(fd) && !list.iter().any(|inherited| inherited.fd == fd) {
                libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
    }
}

/// Status of what is open; `None` for a descriptor that is not.
fn status_of(fd: i32) -> Option<libc::stat64> {
    // SAFETY: all zero is a valid answer, which lives across the call.
    unsafe {
        let mut status: libc::stat64 = std::mem::zeroed();
        (libc::fstat64(fd, &mut status) == 0).then_some(status)
    }
}

/// Device and number of a file, the same for each of its descriptors.
fn identity_of(status: &libc::stat64) -> [u64; 2] {
    [status.st_dev, status.st_ino]
}

/// Identities of inherited standard output and error, zeros for one that is closed or replaced.
pub fn logs() -> [[u64; 2]; 2] {
    let log = |fd| status_of(fd).filter(|_| kind(fd) == Kind::Log);
    [1, 2].map(|fd| log(fd).map_or([0; 2], |status| identity_of(&status)))
}

/// Fills `list` with the descriptors of a program that was spawned, and what they are; `logs`: identities of what is a log.
/// Returns how many.
pub fn found(list: &mut [Inherited; INHERITED_MAX], logs: &[[u64; 2]]) -> usize {
    examine(list, |fd, status| Some(bits_of(fd, status, logs)))
}

/// Fills `list` with the descriptors that the first program of a recording inherits beside the standard streams, and what they are; returns how
/// many. A regular file that can be read stays a file, as one that the server opens, and is copied, standard input too: a replay knows no path of it. One that is
/// too large, or can only be written, is recorded. Directories stay files. Standard output is among them where clients read it.
pub fn handed(list: &mut [Inherited; INHERITED_MAX]) -> usize {
    let answers = super::state::control().answers_on_output.load(Ordering::Relaxed);
    if answers {
        set(libc::STDOUT_FILENO, Kind::Recorded);
    }
    let logs = logs();
    examine(list, |fd, status| {
        let form = status.st_mode & libc::S_IFMT;
        if form == libc::S_IFDIR {
            return None;
        }
        // SAFETY: only a query.
        let access = unsafe { libc::fcntl(fd, libc::F_GETFL) } & libc::O_ACCMODE;
        // `/dev/null` may be standard output as well as something to read from.
        let bits = bits_of(fd, status, if access == libc::O_RDONLY { &[] } else { &logs });
        let is_small = u64::try_from(status.st_size).is_ok_and(|size| size <= COPIED_BYTES as u64);
        match bits {
            0 if form == libc::S_IFREG && access != libc::O_WRONLY && is_small && ![1, 2].contains(&fd) => Some(COPIED),
            _ if fd < 3 && !(answers && fd == libc::STDOUT_FILENO) => None,
            0 => Some(Kind::Recorded as u8),
            bits => Some(bits),
        }
    })
}

/// Fills `list` with what is open and not the library's own; `bits` says what that is, `None` to leave it out. Returns how many.
fn examine(list: &mut [Inherited; INHERITED_MAX], bits: impl Fn(i32, &libc::stat64) -> Option<u8>) -> usize {
    let theirs = (0..HIGHEST_INHERITED).filter(|&fd| kind(fd) != Kind::Own);
    let open = theirs.filter_map(|fd| Some(Inherited { fd, bits: u32::from(bits(fd, &status_of(fd)?)?) }));
    list.iter_mut().zip(open).map(|(place, inherited)| *place = inherited).count()
}

/// Number of descriptors of a program that are examined at its start.
const HIGHEST_INHERITED: i32 = 4096;

/// Role and flags of a descriptor that this program inherited.
fn bits_of(fd: i32, status: &libc::stat64, logs: &[[u64; 2]]) -> u8 {
    if logs.contains(&identity_of(status)) {
        return Kind::Log as u8;
    }
    // Everything but files and directories: sockets, pipes, devices, and what has no type (events, timers).
    if [libc::S_IFREG, libc::S_IFDIR].contains(&(status.st_mode & libc::S_IFMT)) {
        return Kind::File as u8;
    }
    let mut bits = Kind::Recorded as u8;
    // SAFETY: the answer lives across the call; the other one is only a query.
    unsafe {
        if libc::fcntl(fd, libc::F_GETFL) & libc::O_NONBLOCK != 0 {
            bits |= NONBLOCKING;
        }
        let (mut kind, mut length) = (0, size_of::<i32>() as libc::socklen_t);
        let failed = libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_TYPE, (&raw mut kind).cast(), &mut length);
        if failed == 0 && kind != libc::SOCK_STREAM {
            bits |= DATAGRAM;
        }
    }
    bits
}

/// Closes what this program has open and had not in the recording: stand-ins of the program that spawned it.
pub fn close_all_but(list: &[Inherited]) {
    for fd in 3..HIGHEST_INHERITED {
        if kind(fd) != Kind::Own && !list.iter().any(|inherited| inherited.fd == fd) {
            // SAFETY: nothing of this program uses the descriptor yet.
            unsafe { libc::close(fd) };
        }
    }
}

/// The program before this one handed a descriptor on.
pub fn take_over(fd: i32, bits: i32) {
    if bits & i32::from(KIND) == Kind::File as i32 {
        set(fd, Kind::File);
    } else if let Some(entry) = entry(fd) {
        entry.store(bits as u8, Ordering::Relaxed);
        HIGHEST.fetch_max(fd, Ordering::Relaxed);
    }
}

/// Classifies what the server inherits from outside.
pub fn inherit() {
    // SAFETY: makes descriptors and closes them again; their numbers are put where the calls want them.
    unsafe {
        for fd in [CHANNEL_FD, LIBRARY_FD, LIBRARY_I386_FD] {
            set(fd, Kind::Own);
        }
        if super::state::mode() == RECORDING {
            // A replay needs these numbers, so no call of the server may return them.
            for fd in prony_demo::OWN_DESCRIPTORS.filter(|&fd| is_free(fd)) {
                if libc::dup3(CHANNEL_FD, fd, libc::O_CLOEXEC) == fd {
                    set(fd, Kind::Own);
                }
            }
        }
        set(0, Kind::Recorded);
        set(1, Kind::Log);
        set(2, Kind::Log);
        if super::state::mode() == REPLAYING {
            set(TAPE_FD, Kind::Own);
            let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC | libc::O_NONBLOCK);
            let socket = libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0);
            let mut pipe = [-1; 2];
            libc::pipe2(pipe.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK);
            for (opened, own) in [(socket, STAND_IN_SOCKET), (pipe[0], STAND_IN_PIPE), (null, STAND_IN_OTHER)] {
                if opened < 0 || libc::dup3(opened, own, libc::O_CLOEXEC) < 0 {
                    super::report::fatal(&[b"cannot open the stand-ins for recorded descriptors"]);
                }
                set(own, Kind::Own);
            }
            for opened in [socket, pipe[0], pipe[1], null] {
                libc::close(opened);
            }
        }
    }
}

const _: () = {
    assert!(
        *prony_demo::OWN_DESCRIPTORS.start() == CHANNEL_FD && *prony_demo::OWN_DESCRIPTORS.end() == LIBRARY_I386_FD
    );
    assert!(CHANNEL_FD < LIBRARY_FD && LIBRARY_FD < TAPE_FD && STAND_IN_PIPE < LIBRARY_I386_FD);
};

const STAND_IN_SOCKET: i32 = TAPE_FD + 1;
const STAND_IN_OTHER: i32 = TAPE_FD + 2;
const STAND_IN_PIPE: i32 = TAPE_FD + 3;

/// Kind of file that stands in for a recorded descriptor in calls that are not hooked, such as `fstat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandIn {
    /// A socket that is not connected.
    Socket,
    /// A pipe without a writer.
    Pipe,
    /// `/dev/null`, for any other kind.
    Other,
}

/// True for a number that a recorded descriptor may have: one that nothing of the build and nothing of this library's has.
pub fn is_free(fd: i32) -> bool {
    match kind(fd) {
        Kind::Recorded => true,
        Kind::Own => false,
        // SAFETY: only a query.
        Kind::File | Kind::Log => unsafe { libc::fcntl(fd, libc::F_GETFD) == -1 },
    }
}

/// Takes the number `fd`, which is free, for a recorded descriptor.
pub fn stand_in(fd: i32, like: StandIn) {
    let source = match like {
        StandIn::Socket => STAND_IN_SOCKET,
        StandIn::Pipe => STAND_IN_PIPE,
        StandIn::Other => STAND_IN_OTHER,
    };
    // SAFETY: acts on descriptors alone; the caller has seen that the number is free.
    failures::at_descriptor(c"dup3", fd, unsafe { libc::dup3(source, fd, 0) });
    set(fd, Kind::Recorded);
}
