//! Checkpoints: copies of a server that is about to be debugged, made by forks between two of its calls. Each waits until the
//! process outside wants a server that goes on from there, and makes another copy of itself, which does.
//!
//! A fork copies one thread, and memory that is not shared. What the kernel and the control area have besides is put back in the copy.
//! A server of which that is not all has no checkpoint, and the control area says why.

use super::addresses;
use super::deferred::{self, SET_BYTES};
use super::descriptors::{self, Kind};
use super::epoll;
use super::halt;
use super::player;
use super::raw_calls;
use super::stack;
use super::state::{self, control, errno, index, is_outside_gone, set_errno, slot};
use super::thread::{self, PassThrough, REPLAYING, Thread};
use libc::{c_int, c_long, c_void, pid_t, timespec};
use prony_channel::{
    self as channel, CHECKPOINTS, Checkpoint, CheckpointState, Checkpoints, NoCheckpoint, ProcessState, ReportState,
    SlotState,
};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU64, Ordering};

/// Time that making checkpoints may take, beside a part of the time that the replay has taken.
const MOST_NS: u64 = 100_000_000;
/// What part of it.
const PART: u64 = 20;
/// Interval at which a copy that waits looks whether the process outside is there.
static LOOK: timespec = timespec { tv_sec: 1, tv_nsec: 0 };
/// Regular files of a server whose places are kept.
const FILES: usize = 256;

/// What the library keeps for copies: none of it is the server's.
struct Room {
    /// Memory for what the kernel tells of this process.
    text: [u8; 4096],
    /// Places in the files that the server has open: descriptor and offset.
    files: [(c_int, i64); FILES],
    files_used: usize,
    kept: Kept,
}

/// Numbers of the control area as they were when a copy was made.
struct Kept {
    counts: [u64; 10],
    ended_counts: [u64; 10],
    frames: u64,
    frame_times: u64,
    record: u64,
}

struct Shared(UnsafeCell<Room>);

// SAFETY: a process with one thread uses it, within one function at a time.
unsafe impl Sync for Shared {}

static ROOM: Shared = Shared(UnsafeCell::new(Room {
    text: [0; 4096],
    files: [(0, 0); FILES],
    files_used: 0,
    kept: Kept { counts: [0; 10], ended_counts: [0; 10], frames: 0, frame_times: 0, record: 0 },
}));

/// When the first checkpoint was considered, in nanoseconds; 0 before.
static BEGAN: AtomicU64 = AtomicU64::new(0);

/// A program begins: copies of the one before it in this process are of no use.
pub fn begin() {
    let checkpoints = &control().checkpoints;
    if checkpoints.wanted.load(Ordering::Relaxed) {
        checkpoints.all.iter().for_each(drop_copy);
        checkpoints.due.store(checkpoints.interval.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// Makes a checkpoint if one is wanted and due, as long as no debugger is there, whose breakpoints the copy would have. Called when a call
/// has returned, before the server goes on.
pub fn consider() {
    let checkpoints = &control().checkpoints;
    if checkpoints.wanted.load(Ordering::Relaxed) {
        // SAFETY: the block is the calling thread's own.
        unsafe {
            let thread = thread::this();
            let is_here = (*thread).live == REPLAYING && (*thread).attached && !halt::has_begun();
            let record = if is_here { (*(*thread).slot).record.load(Ordering::Relaxed) } else { 0 };
            if record >= checkpoints.due.load(Ordering::Relaxed) && is_here && can_be_here(thread) {
                // It depends on time whether this is done: it must leave no trace. Another thread ends it for good.
                let kept = (!state::threaded()).then(|| stack::keep_deep());
                make(thread, checkpoints);
                if let Some(kept) = &kept {
                    stack::put_back_deep(kept);
                }
            }
        }
    }
}

/// True where a copy can go on, with the records from here and without signals that the kernel or the library keeps.
unsafe fn can_be_here(thread: *mut Thread) -> bool {
    // SAFETY: the block is the calling thread's own, which is attached.
    unsafe {
        let before = errno();
        let _pass_through = PassThrough::enter();
        let can = player::can_go_back_here(thread) && !has_signals(thread);
        set_errno(before);
        can
    }
}

/// Copies the server, unless something is in the way.
#[cold]
#[inline(never)]
unsafe fn make(thread: *mut Thread, checkpoints: &Checkpoints) {
    let before = errno();
    // SAFETY: the block is the calling thread's own, which is attached.
    unsafe {
        let _pass_through = PassThrough::enter();
        let begun = state::nanoseconds();
        let _ = BEGAN.compare_exchange(0, begun, Ordering::Relaxed, Ordering::Relaxed);
        let replayed_ns = begun - BEGAN.load(Ordering::Relaxed);
        let record = (*(*thread).slot).record.load(Ordering::Relaxed);
        let due = record + checkpoints.interval.load(Ordering::Relaxed);
        let affordable = checkpoints.spent_ns.load(Ordering::Relaxed) <= MOST_NS + replayed_ns / PART;
        if affordable {
            let hindrance = hindrance(&mut *ROOM.0.get());
            checkpoints.hindrance.store(hindrance, Ordering::Relaxed);
            if hindrance == NoCheckpoint::Nothing {
                if copy_server(thread, checkpoints, record) {
                    // The copy, which goes on much later.
                    set_errno(before);
                    return;
                }
            } else {
                // A file may be closed again; all else stays.
                checkpoints.wanted.store(hindrance == NoCheckpoint::Files, Ordering::Relaxed);
                checkpoints.all.iter().for_each(drop_copy);
            }
        }
        checkpoints.due.store(due, Ordering::Relaxed);
        checkpoints.spent_ns.fetch_add(state::nanoseconds() - begun, Ordering::Relaxed);
    }
    set_errno(before);
}

/// True while the kernel or the library keeps signals for the thread: a copy would not have them.
unsafe fn has_signals(thread: *const Thread) -> bool {
    // SAFETY: the block is the calling thread's own; the kernel writes to the set.
    unsafe {
        let mut waiting = 0_u64;
        libc::syscall(libc::SYS_rt_sigpending, &raw mut waiting, SET_BYTES);
        waiting != 0 || (*thread).pending.load(Ordering::Relaxed) != 0 || (*thread).expected != 0 || (*thread).kept != 0
    }
}

/// What keeps a fork from being a copy of the server. Takes down the places in its files.
unsafe fn hindrance(room: &mut Room) -> NoCheckpoint {
    // SAFETY: the room is this process's, which has one thread where that matters.
    unsafe {
        if state::threaded() || slot().threads.load(Ordering::Relaxed) > 1 {
            NoCheckpoint::Threads
        } else if index() > 0 || control().processes_used.load(Ordering::Relaxed) > 1 {
            NoCheckpoint::Children
        } else if deferred::is_in_sandbox() {
            NoCheckpoint::Sandbox
        } else {
            match (shares_memory(room), keeps_places(room)) {
                (Some(false), Some(true)) => NoCheckpoint::Nothing,
                (Some(true), _) => NoCheckpoint::SharedMemory,
                (_, Some(false)) => NoCheckpoint::Files,
                (None, _) | (_, None) => NoCheckpoint::Refused,
            }
        }
    }
}

/// True if the server has mapped memory that it shares, and may write to; `None` if the kernel does not say.
unsafe fn shares_memory(room: &mut Room) -> Option<bool> {
    // SAFETY: the kernel writes at most as many bytes as there is room for.
    unsafe {
        let maps = libc::open(c"/proc/self/maps".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if maps < 0 {
            return None;
        }
        let (mut used, mut shares) = (0, false);
        loop {
            let free = &mut room.text[used..];
            let read = libc::read(maps, free.as_mut_ptr().cast(), free.len());
            if read <= 0 {
                libc::close(maps);
                return (read == 0 && used == 0).then_some(shares);
            }
            let end = used + read as usize;
            let whole = room.text[..end].iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
            for line in room.text[..whole].split(|&byte| byte == b'\n') {
                shares |= is_shared(line);
            }
            room.text.copy_within(whole..end, 0);
            used = end - whole;
        }
    }
}

/// `7f01-7f02 rw-s 00000000 00:01 1024 /memfd:name (deleted)`: memory that is shared, written to, and not the library's.
fn is_shared(line: &[u8]) -> bool {
    let mut words = line.split(|&byte| byte == b' ');
    let (Some(range), Some(access)) = (words.next(), words.next()) else { return false };
    let start = range.split(|&byte| byte == b'-').next().unwrap_or_default();
    let start = start
        .iter()
        .fold(0_usize, |start, &digit| start << 4 | char::from(digit).to_digit(16).map_or(0, |digit| digit as usize));
    let own = start == addresses::EPOLL || line.windows(13).any(|part| part == b"/memfd:prony-");
    matches!(access, [_, b'w', _, b's']) && !own
}

/// Takes down the places in the server's regular files. False where it has one open for reading and writing; `None` if the kernel does
/// not say, or there are too many.
unsafe fn keeps_places(room: &mut Room) -> Option<bool> {
    // SAFETY: the kernel writes entries of directories, each as long as it says and with a name that ends with a zero byte.
    unsafe {
        let all = libc::open(c"/proc/self/fd".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC | libc::O_DIRECTORY);
        if all < 0 {
            return None;
        }
        room.files_used = 0;
        let mut found = Some(true);
        loop {
            let read = libc::syscall(libc::SYS_getdents64, all, room.text.as_mut_ptr(), room.text.len());
            if read <= 0 {
                break;
            }
            let mut at = 0;
            while at < read as usize {
                let entry: *const libc::dirent64 = room.text.as_ptr().add(at).cast();
                at += usize::from((&raw const (*entry).d_reclen).read_unaligned());
                let fd = libc::atoi((&raw const (*entry).d_name).cast());
                let is_theirs = (*entry).d_name[0] != b'.' as libc::c_char && descriptors::kind(fd) == Kind::File;
                if is_theirs && fd != all && is_regular(fd) {
                    let place = (fd, libc::lseek64(fd, 0, libc::SEEK_CUR));
                    match room.files.get_mut(room.files_used) {
                        Some(free) => (*free, room.files_used) = (place, room.files_used + 1),
                        None => found = None,
                    }
                    let both = libc::fcntl(fd, libc::F_GETFL) & libc::O_ACCMODE == libc::O_RDWR;
                    found = if both { found.map(|_| false) } else { found };
                }
            }
        }
        libc::close(all);
        found
    }
}

unsafe fn is_regular(fd: c_int) -> bool {
    // SAFETY: all zero is a valid answer, which the kernel fills.
    unsafe {
        let mut known: libc::stat64 = std::mem::zeroed();
        libc::fstat64(fd, &mut known) == 0 && known.st_mode & libc::S_IFMT == libc::S_IFREG
    }
}

/// Copies the server. True in a copy that goes on as the server; false in the server itself.
unsafe fn copy_server(thread: *mut Thread, checkpoints: &Checkpoints, record: u64) -> bool {
    let place = free_place(checkpoints);
    // SAFETY: the block is the calling thread's own, and the room is this process's, which has one thread.
    unsafe {
        keep(thread, &mut (*ROOM.0.get()).kept);
        place.record.store(record, Ordering::Relaxed);
        place.state.store(CheckpointState::Begun, Ordering::Release);
        match fork(0) {
            0 => {
                wait_until_wanted(place);
                go_on(thread);
                true
            }
            pid if pid > 0 => {
                place.pid.store(pid, Ordering::Relaxed);
                // What is shared with the copy must not change until it has its own.
                while place.state.is(CheckpointState::Begun, Ordering::Acquire) && is_running(pid) {
                    wait(place, CheckpointState::Begun);
                }
                place.state.acquire(CheckpointState::Begun, CheckpointState::Free);
                false
            }
            _ => {
                place.state.store(CheckpointState::Free, Ordering::Relaxed);
                checkpoints.hindrance.store(NoCheckpoint::Refused, Ordering::Relaxed);
                checkpoints.wanted.store(false, Ordering::Relaxed);
                false
            }
        }
    }
}

/// Makes a child that is a copy of this process, for the thread library of the server as well. Its end is no signal for the parent.
unsafe fn fork(flags: c_int) -> pid_t {
    const PR_GET_TID_ADDRESS: c_int = 40;
    // SAFETY: the kernel writes an address and a size; what it says where the thread library keeps the id of the thread is its own.
    unsafe {
        let (mut id, mut list, mut bytes) = (null_mut::<pid_t>(), null_mut::<c_void>(), 0_usize);
        if libc::prctl(PR_GET_TID_ADDRESS, &raw mut id, 0, 0, 0) != 0 {
            id = null_mut();
        }
        libc::syscall(libc::SYS_get_robust_list, 0, &raw mut list, &raw mut bytes);
        let pid = libc::syscall(libc::SYS_clone, c_long::from(flags), 0, 0, 0, 0) as pid_t;
        if pid == 0 {
            if !id.is_null() {
                *id = libc::syscall(libc::SYS_set_tid_address, id) as pid_t;
            }
            libc::syscall(libc::SYS_set_robust_list, list, bytes);
        }
        pid
    }
}

/// A place for another checkpoint. Where all are taken, every second one is given up, and the next ones are further apart.
fn free_place(checkpoints: &Checkpoints) -> &Checkpoint {
    let is_free = |place: &&Checkpoint| place.state.is(CheckpointState::Free, Ordering::Acquire);
    if let Some(free) = checkpoints.all.iter().find(is_free) {
        return free;
    }
    let record = |place: &Checkpoint| place.record.load(Ordering::Relaxed);
    let mut records = [0; CHECKPOINTS];
    for (to, place) in records.iter_mut().zip(&checkpoints.all) {
        *to = record(place);
    }
    records.sort_unstable();
    for place in &checkpoints.all {
        if records.iter().position(|&other| other == record(place)).is_some_and(|rank| rank % 2 == 1) {
            drop_copy(place);
        }
    }
    checkpoints.interval.fetch_add(checkpoints.interval.load(Ordering::Relaxed), Ordering::Relaxed);
    checkpoints.all.iter().find(is_free).unwrap_or(&checkpoints.all[0])
}

/// Ends a copy.
fn drop_copy(place: &Checkpoint) {
    if place.state.is(CheckpointState::Free, Ordering::Acquire) {
        return;
    }
    let pid = place.pid.load(Ordering::Relaxed);
    if pid > 0 {
        // SAFETY: only numbers. What does not descend from this process is reaped by the process outside.
        unsafe {
            libc::syscall(libc::SYS_kill, pid, libc::SIGKILL);
            libc::syscall(libc::SYS_wait4, pid, 0, libc::__WALL, 0);
        }
    }
    place.state.store(CheckpointState::Free, Ordering::Release);
}

/// True for a child that has not ended. One that has is reaped.
fn is_running(pid: pid_t) -> bool {
    // SAFETY: only numbers.
    unsafe { libc::syscall(libc::SYS_wait4, pid, 0, libc::__WALL | libc::WNOHANG, 0) == 0 }
}

/// Waits for a change of the state from this one, for a while.
fn wait(place: &Checkpoint, from: CheckpointState) {
    // SAFETY: the kernel reads the word and the time, which live across the call.
    unsafe {
        libc::syscall(libc::SYS_futex, place.state.word().as_ptr(), libc::FUTEX_WAIT, from as u32, &raw const LOOK);
    }
}

fn wake(place: &Checkpoint) {
    // SAFETY: the kernel takes the word for a name only.
    unsafe { libc::syscall(libc::SYS_futex, place.state.word().as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

/// What a copy does: it waits, and each time that it is wanted makes a copy of itself, which returns from here.
unsafe fn wait_until_wanted(place: &Checkpoint) {
    // SAFETY: this process has one thread.
    unsafe {
        if !epoll::copy_table(false) {
            libc::_exit(channel::PLAYER_EXIT);
        }
        place.state.store(CheckpointState::Waiting, Ordering::Release);
        wake(place);
        loop {
            match place.state.load(Ordering::Acquire) {
                Some(CheckpointState::Waiting) => wait(place, CheckpointState::Waiting),
                Some(CheckpointState::Wanted) => {
                    place.state.store(CheckpointState::Waiting, Ordering::Release);
                    // Its parent is that of the server, which is the process outside.
                    if fork(libc::CLONE_PARENT) == 0 {
                        return;
                    }
                }
                _ => libc::_exit(channel::PLAYER_EXIT),
            }
            if is_outside_gone() {
                libc::_exit(channel::PLAYER_EXIT);
            }
        }
    }
}

/// Becomes the server, at the place at which it was copied.
unsafe fn go_on(thread: *mut Thread) {
    // SAFETY: this process has one thread, whose block and slot these are; its files are open as they were.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        if !epoll::copy_table(true) {
            libc::_exit(channel::PLAYER_EXIT);
        }
        let room = &*ROOM.0.get();
        for &(fd, place) in &room.files[..room.files_used] {
            libc::lseek64(fd, place, libc::SEEK_SET);
        }
        let own = &*(*thread).slot;
        put_back(&room.kept, own);
        own.thread.store((*thread).index.into(), Ordering::Relaxed);
        own.state.store(SlotState::InUse, Ordering::Relaxed);
        own.tid.store(libc::syscall(libc::SYS_gettid) as i32, Ordering::Relaxed);
        slot().state.store(ProcessState::Running, Ordering::Relaxed);
        player::go_back(thread, control().checkpoints.stops.each_ref().map(|stop| stop.load(Ordering::Relaxed)));
        // The process outside now knows it.
        slot().pid.store(libc::syscall(libc::SYS_getpid) as i32, Ordering::Release);
        raw_calls::watch_thread();
    }
}

unsafe fn keep(thread: *const Thread, kept: &mut Kept) {
    // SAFETY: the caller passes the block of the calling thread, which is attached.
    let own = unsafe { &*(*thread).slot };
    kept.counts = own.counts.all().map(|count| count.load(Ordering::Relaxed));
    kept.ended_counts = control().ended_counts.all().map(|count| count.load(Ordering::Relaxed));
    kept.frames = control().frames.load(Ordering::Relaxed);
    kept.frame_times = control().frame_times.load(Ordering::Relaxed);
    kept.record = own.record.load(Ordering::Relaxed);
}

fn put_back(kept: &Kept, own: &channel::Thread) {
    let control = control();
    for (counts, values) in [(own.counts.all(), &kept.counts), (control.ended_counts.all(), &kept.ended_counts)] {
        counts.iter().zip(values).for_each(|(count, &value)| count.store(value, Ordering::Relaxed));
    }
    control.frames.store(kept.frames, Ordering::Relaxed);
    control.frame_times.store(kept.frame_times, Ordering::Relaxed);
    own.record.store(kept.record, Ordering::Relaxed);
    control.report.state.store(ReportState::Absent, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_others_see_is_in_the_way_and_that_of_the_library_is_not() {
        let lines: [(&[u8], bool); 6] = [
            (b"7f01a000-7f02b000 rw-p 00000000 00:00 0", false),
            (b"7f01a000-7f02b000 rw-s 00000000 00:01 3 /dev/zero (deleted)", true),
            (b"7f01a000-7f02b000 rw-s 00000000 00:01 3 /memfd:cache (deleted)", true),
            (b"7f01a000-7f02b000 r--s 00000000 fe:00 3 /var/lib/a table", false),
            (b"200000000000-200000400000 rw-s 00000000 00:01 1 /memfd:prony-channel (deleted)", false),
            (b"", false),
        ];
        for (line, expected) in lines {
            assert_eq!(is_shared(line), expected, "{}", String::from_utf8_lossy(line));
        }
        let table = format!("{:x}-{:x} rw-s 00000000 00:01 9 /dev/zero (deleted)", addresses::EPOLL, usize::MAX);
        assert!(!is_shared(table.as_bytes()));
    }

    #[test]
    fn a_file_that_is_read_and_written_is_in_the_way_and_places_in_others_are_known() {
        // SAFETY: the room is this test's own.
        unsafe {
            let mut room = Room {
                text: [0; 4096],
                files: [(0, 0); FILES],
                files_used: 0,
                kept: Kept { counts: [0; 10], ended_counts: [0; 10], frames: 0, frame_times: 0, record: 0 },
            };
            let read = libc::open(c"/proc/self/exe".as_ptr(), libc::O_RDONLY);
            assert_eq!(libc::lseek(read, 77, libc::SEEK_SET), 77);
            keeps_places(&mut room).expect("the kernel says which files are open");
            assert!(room.files[..room.files_used].contains(&(read, 77)));
            let both = libc::memfd_create(c"both".as_ptr(), 0);
            assert_eq!(keeps_places(&mut room), Some(false));
            assert_eq!(shares_memory(&mut room), Some(false));
            libc::close(both);
            libc::close(read);
        }
    }
}
