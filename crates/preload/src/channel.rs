//! The memory that a server under preload shares with the process that started it.
//!
//! ```text
//! 0                         CONTROL_BYTES            + RING_BYTES        FRAMES_OFFSET
//! +-------------------------+------------------------+-----------------+----------------------+
//! | Control                 | ring of thread slot 0  | ring of slot 1… | one FrameTime for    |
//! |  Report, Process slots, |                        |                 | each frame (replays) |
//! |  Thread slots           |                        |                 |                      |
//! +-------------------------+------------------------+-----------------+----------------------+
//! ```
//!
//! A replay has a second memory. Where the records fit, that is the tape, laid out whole ([`TapeHead`]). Otherwise it is
//! the windows that move over it ([`Feed`]):
//!
//! ```text
//! 0                      window_stride          THREADS × window_stride     + TURN_RING_BYTES
//! +----------------------+----------------------+---------------------------+------------------------+
//! | window of slot 0     | window of slot 1 …   | turns of process 0        | turns of process 1 …   |
//! +----------------------+----------------------+---------------------------+------------------------+
//! ```
//!
//! It stands at a fixed address, far from where the loader, the heap and the stacks live, so that
//! a recorded and a replayed server see the same addresses. Each ring has one writer, the thread
//! that owns the slot, and one reader, the recorder outside.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

/// First bytes of the control page; changes with every change of a layout in this file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"prony\0c4");
/// Where the channel is mapped inside the server.
pub const BASE: usize = 0x2000_0000_0000;
/// Where the tape of a replay is mapped inside the server.
pub const TAPE_BASE: usize = 0x2100_0000_0000;
/// Bytes of the control area.
pub const CONTROL_BYTES: usize = 4 << 20;
/// Bytes of one ring; a power of two. Each is mapped twice in a row, so no record wraps.
pub const RING_BYTES: usize = 8 << 20;
/// Processes of one recording: a server that forks for each connection has many.
pub const PROCESSES: usize = 1 << 15;
/// Threads of one recording that may live at the same time, over all processes.
pub const THREADS: usize = 1024;

/// Where the frame list stands in the channel's file: behind the last ring.
pub const FRAMES_OFFSET: usize = CONTROL_BYTES + THREADS * RING_BYTES;
/// Where the frame list is mapped inside the server.
pub const FRAMES_BASE: usize = 0x2200_0000_0000;

/// Where the table of epoll registrations is mapped inside the server.
pub const EPOLL_BASE: usize = 0x2300_0000_0000;
/// Where the turns of a process are mapped inside the server when the tape is not held whole.
pub const TURNS_BASE: usize = 0x2400_0000_0000;
/// Turns of one process that are there at once when the tape is not held whole; a power of two.
pub const TURNS: u64 = 1 << TURN_TAG_SHIFT;
/// From this bit of a turn's number on it stands in the upper half of its [`turn_entry`], as far as it fits.
pub const TURN_TAG_SHIFT: u32 = 18;
/// Bytes of the turns of one process.
pub const TURN_RING_BYTES: usize = (TURNS as usize) * size_of::<u32>();

/// What stands in the list of turns: the thread that has the turn, and which of those turns it is that share a place.
pub const fn turn_entry(turn: u64, owner: u16) -> u32 {
    owner as u32 | ((turn >> TURN_TAG_SHIFT) as u32) << 16
}

/// Descriptor of the channel inside the server; high, so that the server's own numbers stay.
pub const CHANNEL_FD: i32 = 1000;
/// Descriptor of the preload library's image inside the server.
pub const LIBRARY_FD: i32 = 1001;
/// Descriptor of the tape inside the server, or of the windows that move over it.
pub const TAPE_FD: i32 = 1002;
/// Set for the server and taken out of its environment before `main`.
pub const ENVIRONMENT_MARK: &str = "PRONY_CHANNEL";
/// What `LD_PRELOAD` names.
pub const LIBRARY_PATH: &str = "/proc/self/fd/1001";
/// Exit status of a server that the player ended.
pub const PLAYER_EXIT: i32 = 0;

/// What the library does in this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Mode {
    /// Write down every hooked call.
    Record = 1,
    /// Answer every hooked call from the tape.
    Replay = 2,
}

/// The control area.
#[repr(C)]
pub struct Control {
    /// [`MAGIC`].
    pub magic: u64,
    /// A [`Mode`].
    pub mode: u32,
    /// Process id of the one outside.
    pub outside_pid: i32,
    /// Names of objects whose own calls are not the server's, each ended by a zero byte.
    pub excluded: [u8; 2048],
    /// 1: payloads that differ are written to the observed ring instead of ending the replay.
    pub tolerant: u32,
    /// 1: children that run another program stay under preload.
    pub follow_exec: u32,
    /// 1: the threads of a recorded process run side by side.
    pub side_by_side: u32,
    /// Number of thread slots handed out so far.
    pub thread_slots_used: AtomicU32,
    /// Number of processes so far.
    pub processes_used: AtomicU32,
    /// Bytes of the tape that is held whole.
    pub tape_bytes: u64,
    /// Bytes from one window to the next; 0 where the tape is held whole.
    pub window_stride: u64,
    /// 1 while the feeder sleeps. A futex.
    pub feeder_sleeps: AtomicU32,
    /// Changes with every filling that somebody waits for. A futex.
    pub fed: AtomicU32,
    /// Threads that wait for `fed`.
    pub fed_waiters: AtomicU32,
    /// Entries that the frame list has room for.
    pub frame_capacity: u64,
    /// Frames that one entry stands for.
    pub frames_in_each: u64,
    /// Replay: what threads that ended have counted.
    pub ended_counts: Counts,
    /// Frames measured so far.
    pub frames: AtomicU64,
    /// Entries of the frame list so far.
    pub frame_times: AtomicU64,
    /// 1: instructions that ask the processor are recorded, or answered.
    pub processor: u32,
    /// Who uses the fields below: nobody, or one of the `SCAN` numbers. A futex.
    pub scan: AtomicU32,
    /// Process whose objects are to be searched.
    pub scan_pid: AtomicI32,
    /// Answer: an object makes system calls of its own.
    pub raw_calls: AtomicU32,
    /// Answer: how many there are of `sites`.
    pub site_count: AtomicU32,
    /// Answer: where the objects ask the processor, [`DOUBTFUL`] among them.
    pub sites: [AtomicU64; SITES],
    /// Taken while a thread slot is being chosen.
    pub slot_lock: AtomicU32,
    /// Why the replay ended early, if it did.
    pub report: Report,
    /// Replay: 1 if what the build prints through stdio is to come out line by line.
    pub line_by_line: u32,
    /// Replay: the thread that was passed last while it was still in its turn: process, thread, and the record that it was
    /// answered with last.
    pub passed_process: AtomicU32,
    /// The same: the thread within the process.
    pub passed_thread: AtomicU32,
    /// The same: the record.
    pub passed_record: AtomicU64,
    /// Replay: real calls that failed so far, each counted once for a process.
    pub failures_used: AtomicU32,
    /// Replay: the last of them, each at its number modulo [`FAILURES`].
    pub failures: [Failure; FAILURES],
    /// One slot a process.
    pub processes: [Process; PROCESSES],
    /// One slot a thread.
    pub threads: [Thread; THREADS],
}

const _: () = assert!(size_of::<Control>() <= CONTROL_BYTES);

/// In [`Control::scan`]: nobody asks.
pub const SCAN_FREE: u32 = 0;
/// In [`Control::scan`]: somebody is about to ask.
pub const SCAN_CLAIMED: u32 = 1;
/// In [`Control::scan`]: the objects of a program that begins are to be searched.
pub const SCAN_PROGRAM: u32 = 2;
/// In [`Control::scan`]: the objects are to be searched again, as one was loaded.
pub const SCAN_LOADED: u32 = 3;
/// In [`Control::scan`]: the answer is there.
pub const SCAN_ANSWERED: u32 = 4;
/// In [`Control::scan`]: nobody answers any more.
pub const SCAN_CLOSED: u32 = 5;
/// Instructions of one process that are followed.
pub const SITES: usize = 4096;
/// Bit of a site that may be no instruction.
pub const DOUBTFUL: u64 = 1 << 63;
/// From this bit of a site on: how many bytes may give way to a jump, 0 if none.
pub const ROOM_SHIFT: u32 = 56;
/// Most such bytes.
pub const MOST_ROOM: usize = 31;

/// One process under preload.
#[repr(C)]
pub struct Process {
    /// 0 not started, 1 running, 2 ended by itself.
    pub state: AtomicU32,
    /// Process id.
    pub pid: AtomicI32,
    /// Record run: the next global order number. Replay: the number whose turn it is.
    pub order: AtomicU64,
    /// Threads made so far, the main thread included.
    pub threads: AtomicU32,
    /// Replay: where on the tape the main thread goes on after it ran another program, 0 before.
    pub resume: AtomicU64,
    /// Recording: the thread slot that has the baton, from 1, and whether others sleep for it. A futex.
    pub baton: AtomicU32,
    /// Recording: threads that have waited for the baton for long.
    pub impatient: AtomicU32,
    /// Recording: how often the baton went to another thread.
    pub passed: AtomicU32,
    /// Recording: how often it was taken from a thread that was still running.
    pub overlapped: AtomicU32,
    /// Recording: nanoseconds that threads were ready and waited for the baton, of all threads together.
    pub waited_ns: AtomicU64,
    /// Windows: 1 while somebody waits for more turns.
    pub turns_waiting: AtomicU32,
    /// Windows: turns of this process on the whole tape.
    pub turn_count: AtomicU64,
    /// Windows: turns that have places; a power of two.
    pub turn_places: AtomicU64,
    /// Windows: turns that are there, or were.
    pub turns_filled: AtomicU64,
}

/// In [`Thread::thread`]: the thread went with the program that its process ran before.
pub const NO_THREAD: u32 = u32::MAX;

/// In [`Thread::waiting`]: the thread's ring is full.
pub const WAITS_FOR_READER: u32 = 2;

/// One thread under preload.
#[repr(C, align(64))]
pub struct Thread {
    /// 0 free, 1 in use, 2 ended: free again once the reader has emptied the ring.
    pub state: AtomicU32,
    /// Index of the process.
    pub process: AtomicU32,
    /// Thread within the process.
    pub thread: AtomicU32,
    /// Replay: 1 while the thread waits for its turn. A futex. Recording: [`WAITS_FOR_READER`] or 0.
    pub waiting: AtomicU32,
    /// Replay: the call before which the thread waits for its turn, 0 when it does not; `u32::MAX` at
    /// the end of its records.
    pub call: AtomicU32,
    /// Kernel's thread id.
    pub tid: AtomicI32,
    /// Replay: the record the thread was answered with last, or stands before while it waits.
    pub record: AtomicU64,
    /// Replay: the turn it waits for.
    pub turn: AtomicU64,
    /// Ring: bytes written so far. Alone on its line with what the writer writes.
    pub head: Line<AtomicU64>,
    /// Ring: bytes read so far.
    pub tail: Line<AtomicU64>,
    /// Replay: what the thread counted.
    pub counts: Counts,
    /// Replay: its window.
    pub feed: Feed,
}

/// The window of a thread: records that the process outside has unpacked and that the thread has not passed yet.
///
/// Records stand as on the tape, see [`TapeHead`]. A *place* is a number of bytes from the first record of the thread
/// on; it lies in the window at its remainder by the bytes of the window. The window is mapped twice in a row, so no
/// record wraps. Nothing here depends on the width of a pointer.
#[repr(C, align(64))]
pub struct Feed {
    /// Player: how often a thread in this slot has asked for a window.
    pub asked: AtomicU32,
    /// Player: one more than the place at which the thread waits for a record, 0 while it does not.
    pub wants: AtomicU64,
    /// Player: the place from which on it wants records.
    pub from: AtomicU64,
    /// Player: the place up to which it needs them no more.
    pub read: AtomicU64,
    /// Outside: the request that was answered last. What follows belongs to that one.
    pub given: Line<AtomicU32>,
    /// Outside: bytes of the window, a power of two; 0 for a thread without records.
    pub bytes: AtomicU64,
    /// Outside: place behind the last record.
    pub end: AtomicU64,
    /// Outside: 1 if the process has several threads.
    pub ordered: AtomicU32,
    /// Outside: place up to which records are there; a record never stands there in part.
    pub filled: AtomicU64,
    /// Outside: `read` when the record at `full_filled` was found not to fit.
    pub full_read: AtomicU64,
    /// Outside: where the record stands that did not fit.
    pub full_filled: AtomicU64,
    /// Outside: at the number of a quarter of a window, modulo their count, the first record that begins in it or behind.
    pub quarters: [AtomicU64; QUARTERS],
}

/// Quarters of windows that are told apart: more than a window has.
pub const QUARTERS: usize = 8;
/// Bytes of the smallest window; a power of two.
pub const SMALLEST_WINDOW: u64 = 64 << 10;

/// A value that has a cache line to itself.
#[repr(C, align(64))]
pub struct Line<T>(pub T);

/// What a replaying thread counts. Only the thread itself writes.
#[repr(C)]
#[derive(Default)]
pub struct Counts {
    /// Records answered.
    pub records: AtomicU64,
    /// Calls that sent something and were compared.
    pub outputs: AtomicU64,
    /// Bytes compared and found equal.
    pub output_bytes: AtomicU64,
    /// Outputs that differ within a run that tolerates it.
    pub outputs_differing: AtomicU64,
    /// Clock reads the recorded build did not make.
    pub clocks_added: AtomicU64,
    /// Clock reads only the recorded build made.
    pub clocks_removed: AtomicU64,
    /// Other calls passed over or answered without a record.
    pub resynced: AtomicU64,
    /// Bytes of log text that differ.
    pub log_bytes_differing: AtomicU64,
    /// Records that were answered out of order.
    pub reordered: AtomicU64,
    /// Turns that went on while their thread was still in them.
    pub overlapped: AtomicU64,
}

/// How a replay stopped following its demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Stop {
    /// Sent bytes differ, are missing or were not expected.
    Output = 1,
    /// A call came where the demo has another one.
    Order = 2,
    /// A call of which the demo has no record.
    Unrecorded = 3,
    /// The build ended before the demo did.
    EarlyExit = 4,
    /// The demo ended and the build goes on.
    LateExit = 5,
}

/// What of a [`Stop`] it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum What {
    /// What its class says.
    Call = 0,
    /// A recorded output was not sent.
    NotSent = 1,
    /// An output that was not recorded.
    NotRecorded = 2,
    /// Bytes or length of an output.
    Bytes = 3,
    /// Where an output went.
    Destination = 4,
    /// The status that the build ended with.
    Status = 5,
}

impl What {
    /// The one with this number.
    pub fn from_number(number: u32) -> What {
        [What::NotSent, What::NotRecorded, What::Bytes, What::Destination, What::Status]
            .into_iter()
            .find(|&what| what as u32 == number)
            .unwrap_or(What::Call)
    }
}

impl Counts {
    /// The counters, in their order.
    pub fn all(&self) -> [&AtomicU64; 10] {
        [
            &self.records,
            &self.outputs,
            &self.output_bytes,
            &self.outputs_differing,
            &self.clocks_added,
            &self.clocks_removed,
            &self.resynced,
            &self.log_bytes_differing,
            &self.reordered,
            &self.overlapped,
        ]
    }
}

impl Stop {
    /// The class with this number.
    pub fn from_number(number: u32) -> Option<Stop> {
        [Stop::Output, Stop::Order, Stop::Unrecorded, Stop::EarlyExit, Stop::LateExit]
            .into_iter()
            .find(|&stop| stop as u32 == number)
    }
}

/// Bytes of either side shown in a report.
pub const WINDOW_BYTES: usize = 128;
/// Callers shown in a report.
pub const CALLERS: usize = 12;
/// Bytes of a caller's description.
pub const CALLER_BYTES: usize = 160;

/// Facts of the first divergence, written by the player.
#[repr(C)]
pub struct Report {
    /// 0 none, 1 being written, 2 complete.
    pub state: AtomicU32,
    /// A [`Stop`].
    pub class: u32,
    /// A [`What`].
    pub what: u32,
    /// The status that the build ended with, if it called `exit`.
    pub status: i32,
    /// Index of the process.
    pub process: u32,
    /// Thread within the process.
    pub thread: u32,
    /// The call the build made, 0 for none.
    pub op: u32,
    /// Its descriptor.
    pub fd: i32,
    /// Record of the process that was expected.
    pub record: u64,
    /// First byte that differs, or `u64::MAX`.
    pub byte: u64,
    /// Bytes the demo has for this output.
    pub expected_bytes: u64,
    /// Bytes the build sent.
    pub found_bytes: u64,
    /// Place of the two windows within the output.
    pub window_start: u64,
    /// Bytes used of `expected`.
    pub expected_len: u32,
    /// Bytes used of `found`.
    pub found_len: u32,
    /// What the demo has around the byte.
    pub expected: [u8; WINDOW_BYTES],
    /// What the build sent there.
    pub found: [u8; WINDOW_BYTES],
    /// Bytes used of `detail`.
    pub detail_len: u32,
    /// Callers described.
    pub callers: u32,
    /// A path or a short text.
    pub detail: [u8; 512],
    /// `object+0xoffset (symbol)`, innermost first, each ended by a zero byte.
    pub caller: [[u8; CALLER_BYTES]; CALLERS],
}

/// Real calls that failed, of which a replay keeps the last so many.
pub const FAILURES: usize = 512;

/// A call that a replay makes for real, and that failed.
#[repr(C)]
pub struct Failure {
    /// One more than the number of the failure that this is, 0 while it is being written.
    pub state: AtomicU32,
    /// Index of the process.
    pub process: u32,
    /// Thread within the process.
    pub thread: u32,
    /// What it failed with.
    pub errno: i32,
    /// The descriptor that it was about, or -1.
    pub fd: i32,
    /// Bytes used of `path`.
    pub path_len: u32,
    /// The record that the thread was answered with last.
    pub record: u64,
    /// Its C name, ended by a zero byte.
    pub name: [u8; 32],
    /// The path that it was about, cut where the place ends; empty for none.
    pub path: [u8; 184],
}

/// `aux` of a note of a call that failed: it did.
pub const NOTED: u32 = 0;
/// `aux` of the same: from here on the failures of this process are noted.
pub const NOTED_FROM_HERE: u32 = 1;
/// `aux` of the same: there were too many in this process, and no more are noted.
pub const NOTED_NO_MORE: u32 = 2;

/// Entries of the frame list at most. Where a demo has more frames, an entry stands for several in a row.
pub const MOST_FRAME_TIMES: u64 = 1 << 18;

/// What one frame of a replay took, or several in a row.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameTime {
    /// When it began, in nanoseconds of `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// Nanoseconds from the end of one wait to the start of the next, over all of them.
    pub wall_ns: u64,
    /// Nanoseconds of CPU time of the main thread, over all of them.
    pub cpu_ns: u64,
}

/// The tape: what a replay walks over.
///
/// ```text
/// TapeHead, then `streams` × TapeStream, then each stream's records, then for each process with
/// several threads a [`turn_entry`] for every turn.
/// ```
///
/// Records stand as in memory (`prony_demo::Head` and parts), with two fields of another meaning:
/// `time` is the turn that begins with the record, or [`NO_TURN`]; and `op`
/// may carry [`FRAME_END`].
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TapeHead {
    /// [`MAGIC`].
    pub magic: u64,
    /// Number of [`TapeStream`]s.
    pub streams: u64,
}

/// The records of one thread.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct TapeStream {
    /// Index of the process.
    pub process: u32,
    /// Thread within the process.
    pub thread: u32,
    /// First byte of its records.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// First byte of the turn owners of its process, 0 when it has one thread.
    pub turns: u64,
    /// Number of turns.
    pub turn_count: u64,
}

/// `op` of a record that stands for several reads of one clock in a row, in rings only: `ret` is
/// the number of the call, `aux` the clock, `fd` how many; their nanoseconds follow the head as
/// `i64`. They take as many places in the order of the process, from `order` on.
pub const CLOCK_RUN: u16 = 0x3fff;
/// Reads of a clock that one such record holds at most.
pub const CLOCK_RUN_READS: usize = 512;

/// `time` of a tape record that begins no turn.
pub const NO_TURN: u64 = u64::MAX;

/// Set in a tape record's `op` when the record ends a frame.
pub const FRAME_END: u16 = 0x4000;
/// Set by the player in a tape record's `op` when it was answered ahead of its place.
pub const TAKEN: u16 = 0x8000;
/// Set by the player in a tape record's `op` when the build took a part of its bytes; `aux` then
/// says how many.
pub const PARTLY: u16 = 0x2000;
/// Bits of a tape record's `op` that are the call's number.
pub const OP_MASK: u16 = 0x1fff;
