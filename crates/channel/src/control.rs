//! The control area: what each side says of itself, and a slot for each process and each thread.

use crate::calls::{CALLS, CallCount};
use crate::checkpoint::Checkpoints;
use crate::counter::Counter;
use crate::divergence::{FAILURES, Failure, RETURNED, Report, Returned};
use crate::feed::Feed;
use crate::halt::Halt;
use crate::scan::Scan;
use crate::sleepers::{SLEEPER_LISTS, Sleepers};
use crate::word::{Flag, Line, SharedBytes, StateWord, layout, states};
use crate::{CONTROL_BYTES, PROCESSES, THREADS};
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64};

/// First bytes of the control area; changes with every change of a layout in this crate.
pub const MAGIC: u64 = u64::from_le_bytes(*b"prony\0d8");

states! {
    /// Task of the library in this server.
    pub enum Mode {
        /// Write down every hooked call.
        Record = 1,
        /// Answer every hooked call from the tape.
        Replay = 2,
    }
}

/// Bytes of the names of excluded objects.
pub const EXCLUDED_BYTES: usize = 2048;
/// Bytes of a set of CPUs (`cpu_set_t`).
pub const CPU_SET_BYTES: usize = 128;
/// Bytes of a path of the program that a tool is to start (`PATH_MAX`).
pub const PROGRAM_BYTES: usize = 4096;

/// Control area: settings, slots, counts and reports.
#[repr(C)]
pub struct Control {
    /// Magic number of the control area, [`MAGIC`].
    pub magic: AtomicU64,
    /// Task of the library in this server.
    pub mode: StateWord<Mode>,
    /// Process id of the one outside.
    pub outside_pid: AtomicI32,
    /// Names of objects whose own calls are not the server's, each ended by a zero byte.
    pub excluded: SharedBytes<EXCLUDED_BYTES>,
    /// Payloads that differ are written to the observed ring instead of ending the replay.
    pub tolerant: Flag,
    /// Children that run another program stay under preload.
    pub follow_exec: Flag,
    /// The threads of a recorded process run side by side.
    pub side_by_side: Flag,
    /// Number of thread slots handed out so far.
    pub thread_slots_used: AtomicU32,
    /// Number of processes so far.
    pub processes_used: AtomicU32,
    /// Recording: all processes take turns, not only those that share memory.
    pub processes_in_turn: Flag,
    /// Bytes of the tape that is mapped whole.
    pub tape_bytes: AtomicU64,
    /// Bytes from one window to the next; 0 where the tape is mapped whole.
    pub window_stride: AtomicU64,
    /// The feeder sleeps. A futex.
    pub feeder_sleeps: Flag,
    /// Changes with every filling that a thread waits for. A futex.
    pub fed: AtomicU32,
    /// Threads that wait for `fed`.
    pub fed_waiters: AtomicU32,
    /// Entries that the frame list has room for.
    pub frame_capacity: AtomicU64,
    /// Frames that one entry stands for.
    pub frames_in_each: AtomicU64,
    /// Replay: what threads that ended have counted.
    pub ended_counts: Counts,
    /// Number of frames measured so far, of the process whose frames count.
    pub frames: AtomicU64,
    /// Entries of the frame list so far.
    pub frame_times: AtomicU64,
    /// Instructions that ask the processor are recorded, or answered.
    pub processor: Flag,
    /// Replay: system calls that do not come from libc are answered.
    pub raw_calls: Flag,
    /// Taken while a thread slot is being chosen.
    pub slot_lock: Flag,
    /// A request to have objects searched.
    pub scan: Scan,
    /// Report of the divergence that ended the replay, if one did.
    pub report: Report,
    /// Replay: when it was begun, in nanoseconds since 1970-01-01 UTC. Times of files from then on are reported as times of the
    /// recording.
    pub begun_unix_ns: AtomicI64,
    /// Replay: when the recording was begun, in nanoseconds since 1970-01-01 UTC.
    pub recorded_unix_ns: AtomicI64,
    /// Inode of the demo, which the server does not see in a directory: it was not there while recording. 0: none.
    pub hidden_inode: AtomicU64,
    /// Recording: inode of the demo that will be replaced. 0: none.
    pub replaced_inode: AtomicU64,
    /// Replay: a divergence will be explained. What the build prints through stdio comes out line by line, and what real calls
    /// return is kept.
    pub explained: Flag,
    /// Replay: the thread that was passed last while it was still in its turn: process, thread, and the record that it was
    /// answered with last.
    pub passed_process: AtomicU32,
    /// Replay: thread of that record, within its process.
    pub passed_thread: AtomicU32,
    /// Recording: it has ended, and the server goes on. No record is written from here on.
    pub ended: Flag,
    /// Replay: number of that record within its thread.
    pub passed_record: AtomicU64,
    /// Replay: real calls that failed so far, each counted once for a process.
    pub failures_used: AtomicU32,
    /// Replay: the last of them, each at its number modulo [`FAILURES`].
    pub failures: [Failure; FAILURES],
    /// Slots of processes, one for each.
    pub processes: [Process; PROCESSES],
    /// Slots of threads, one for each.
    pub threads: [Thread; THREADS],
    /// Replay: calls so far whose results were kept.
    pub returned_used: AtomicU32,
    /// Replay: the last of them, each at its number modulo [`RETURNED`].
    pub returned: [Returned; RETURNED],
    /// Replay: the build is started by a tool, of whose processes only that of the build joins.
    pub under_tool: Flag,
    /// Replay under a tool: the calls of [`crate::OWN_STATE_CALLS`] that failed while recording, a bit for each.
    pub own_state_failed: AtomicU32,
    /// Replay under a tool: path of the program that runs the build, as `/proc/self/exe` names it; the interpreter of a script.
    pub program: SharedBytes<PROGRAM_BYTES>,
    /// Replay under a tool: path of the script that is the build; empty for a program.
    pub script: SharedBytes<PROGRAM_BYTES>,
    /// Replay: the thread that waits for a debugger.
    pub halt: Halt,
    /// Replay under Callgrind: only what the server itself runs is collected, and its calls are counted.
    pub collects: Flag,
    /// Replay under Callgrind: what each frame runs is written by itself.
    pub dumps_frames: Flag,
    /// Replay under a tool: directory in which the tool writes `PID.out` of each process; empty if it does not.
    pub written: SharedBytes<PROGRAM_BYTES>,
    /// Functions of which calls were counted so far.
    pub calls_used: AtomicU32,
    /// How often each of them was called.
    pub calls: [CallCount; CALLS],
    /// Replay under a tool: [`digest_of_arguments`] of what the build is started with.
    pub arguments: AtomicU64,
    /// Replay under a tool: digest of the program that each process was about to run when it left the one before, and of its
    /// arguments; 0 for none.
    pub programs: [AtomicU64; PROCESSES],
    /// Replay: copies of the server from which it can go on.
    pub checkpoints: Checkpoints,
    /// Recording: reasons why no thread that sleeps for a baton may be moved to another CPU.
    pub moves_barred: AtomicU32,
    /// Recording: threads that sleep for a baton, each in the list of its leader's index modulo [`SLEEPER_LISTS`].
    pub sleepers: [Sleepers; SLEEPER_LISTS],
    /// Recording: clients read the answers of the server from its standard output.
    pub answers_on_output: Flag,
    /// Replay: an event that is counted of the server's own code.
    pub counter: Counter,
}

/// Digest of the arguments of a program, without its name (FNV-1a).
pub fn digest_of_arguments<'a>(arguments: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let bytes = arguments.into_iter().flat_map(|argument| argument.iter().chain(&[0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |digest: u64, &byte| (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

layout!(Control, 4291968, {
    magic: 0, mode: 8, outside_pid: 12, excluded: 16, tolerant: 2064, follow_exec: 2068, side_by_side: 2072,
    thread_slots_used: 2076, processes_used: 2080, processes_in_turn: 2084, tape_bytes: 2088, window_stride: 2096, feeder_sleeps: 2104,
    fed: 2108, fed_waiters: 2112, frame_capacity: 2120, frames_in_each: 2128, ended_counts: 2136, frames: 2216,
    frame_times: 2224, processor: 2232, raw_calls: 2236, slot_lock: 2240, scan: 2248, report: 35032, begun_unix_ns: 37296, recorded_unix_ns: 37304, hidden_inode: 37312, replaced_inode: 37320, explained: 37328,
    passed_process: 37332, passed_thread: 37336, ended: 37340, passed_record: 37344, failures_used: 37352, failures: 37360,
    processes: 164336, threads: 3047936, returned_used: 3768832, returned: 3768840,
    under_tool: 3977352, own_state_failed: 3977356, program: 3977360, script: 3981456, halt: 3985552, collects: 3985640,
    dumps_frames: 3985644, written: 3985648, calls_used: 3989744, calls: 3989752,
    arguments: 4026616, programs: 4026624, checkpoints: 4288768, moves_barred: 4289840,
    sleepers: 4289856, answers_on_output: 4291904, counter: 4291912,
});

const _: () = assert!(size_of::<Control>() <= CONTROL_BYTES);

states! {
    /// State of a process in the recording.
    pub enum ProcessState {
        /// The library has not come up in it.
        NotStarted = 0,
        /// The library has come up, and the process runs.
        Running = 1,
        /// The process ended its records itself: by `exit`, or at the end of its tape.
        Ended = 2,
    }
}

/// Slot of one process under preload.
#[repr(C)]
pub struct Process {
    /// State of the process in the recording.
    pub state: StateWord<ProcessState>,
    /// Number of the process (PID) in the kernel.
    pub pid: AtomicI32,
    /// Record run: the next global order number. Replay: the number whose turn it is.
    pub order: AtomicU64,
    /// Threads made so far, the main thread included.
    pub threads: AtomicU32,
    /// One more than the index of the process in whose order the calls of this one stand, 0 for its own. The order, the
    /// baton and the turns are that process's.
    pub leader: AtomicU32,
    /// Replay: where on the tape the main thread goes on after it ran another program, 0 before.
    pub resume: AtomicU64,
    /// Recording: the thread slot that has the baton, from 1, and whether others sleep for it. A futex.
    pub baton: AtomicU32,
    /// Recording: since when threads sleep for the baton: microseconds of `CLOCK_MONOTONIC`, modulo 2³².
    pub awaited_since_us: AtomicU32,
    /// Recording: how often the baton went to another thread.
    pub passed: AtomicU32,
    /// Recording: how often it was taken from a thread that was still running.
    pub overlapped: AtomicU32,
    /// Recording: nanoseconds that threads were ready and waited for the baton, of all threads together.
    pub waited_ns: AtomicU64,
    /// Windows: a thread waits for more turns.
    pub turns_waiting: Flag,
    /// Windows: turns of this process on the whole tape.
    pub turn_count: AtomicU64,
    /// Windows: turns that have places; a power of two.
    pub turn_places: AtomicU64,
    /// Windows: turns that are there, or were.
    pub turns_filled: AtomicU64,
}

layout!(Process, 88, {
    state: 0, pid: 4, order: 8, threads: 16, leader: 20, resume: 24, baton: 32, awaited_since_us: 36, passed: 40, overlapped: 44,
    waited_ns: 48, turns_waiting: 56, turn_count: 64, turn_places: 72, turns_filled: 80,
});

states! {
    /// State of a thread slot.
    pub enum SlotState {
        /// The slot was never used, or its ring was emptied after its thread ended.
        Free = 0,
        /// A thread uses the slot.
        InUse = 1,
        /// A thread's that has ended: free once the reader has emptied the ring.
        Ended = 2,
    }
}

states! {
    /// Object that a thread waits for.
    pub enum Waiting {
        /// Nothing that the other side could know of.
        Nothing = 0,
        /// Replay: the thread waits for its turn.
        Turn = 1,
        /// Recording: room in its ring.
        Reader = 2,
        /// Recording: the baton. The thread sleeps.
        Baton = 3,
        /// Recording: the baton, while the CPUs that the thread may run on are changed.
        Moving = 4,
        /// Recording: the baton. The thread may run on one CPU only, and on others again once it is awake.
        Moved = 5,
        /// Replay: the end of a thread or a process that the server made, for real. How long that takes is unknown.
        End = 6,
    }
}

/// Value of [`Thread::thread`]: the thread ended with the program that its process ran before.
pub const NO_THREAD: u32 = u32::MAX;
/// Value of [`Thread::call`]: the thread does not wait for its turn.
pub const NO_CALL: u32 = 0;
/// Value of [`Thread::call`]: the thread is at the end of its records.
pub const AT_END: u32 = u32::MAX;

/// Slot of one thread under preload.
#[repr(C, align(64))]
pub struct Thread {
    /// State of the slot: free, in use, or left by a thread.
    pub state: StateWord<SlotState>,
    /// Index of the thread's process in the recording, from 0.
    pub process: AtomicU32,
    /// Thread within the process, or [`NO_THREAD`].
    pub thread: AtomicU32,
    /// Object that the thread waits for. Replay: a futex.
    pub waiting: StateWord<Waiting>,
    /// Replay: the number of the call before which the thread waits for its turn, [`NO_CALL`], or [`AT_END`].
    pub call: AtomicU32,
    /// Kernel's id of the thread (TID).
    pub tid: AtomicI32,
    /// Replay: the record the thread was answered with last, or stands before while it waits.
    pub record: AtomicU64,
    /// Replay: the turn it waits for.
    pub turn: AtomicU64,
    /// Ring: its bytes, a power of two. Those of 32-bit processes are smaller.
    pub ring_bytes: AtomicU32,
    /// Replay: its number in the list of turns.
    pub owner: AtomicU32,
    /// Recording: nanoseconds that threads of this slot waited for room in their rings.
    pub room_awaited_ns: AtomicU64,
    /// Ring: bytes written so far. Alone on its line with what the writer writes.
    pub head: Line<AtomicU64>,
    /// Ring: bytes read so far.
    pub tail: Line<AtomicU64>,
    /// Replay: what the thread counted.
    pub counts: Counts,
    /// Replay: window of the thread over its records.
    pub feed: Feed,
    /// Recording: CPUs that the thread may run on once it is awake, a bit for each.
    pub allowed: SharedBytes<CPU_SET_BYTES>,
}

layout!(Thread, 704, {
    state: 0, process: 4, thread: 8, waiting: 12, call: 16, tid: 20, record: 24, turn: 32, ring_bytes: 40, owner: 44, room_awaited_ns: 48, head: 64, tail: 128,
    counts: 192, feed: 320, allowed: 576,
});

/// Counts of a replaying thread. Only the thread itself writes.
#[repr(C)]
#[derive(Default)]
pub struct Counts {
    /// Number of records that calls were answered with.
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

layout!(Counts, 80, {
    records: 0, outputs: 8, output_bytes: 16, outputs_differing: 24, clocks_added: 32, clocks_removed: 40,
    resynced: 48, log_bytes_differing: 56, reordered: 64, overlapped: 72,
});

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

/// Entries of the frame list at most. Where a demo has more frames, an entry stands for several in a row.
pub const MOST_FRAME_TIMES: u64 = 1 << 18;

/// Duration of one frame of a replay, or of several in a row, and what was counted of it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameTime {
    /// Start of the frame, in nanoseconds of `CLOCK_MONOTONIC`.
    pub start_ns: u64,
    /// Nanoseconds from the end of one wait to the start of the next, over all of them.
    pub wall_ns: u64,
    /// Nanoseconds of CPU time of the main thread, over all of them.
    pub cpu_ns: u64,
    /// Events of the process, where one is counted.
    pub events: u64,
}

layout!(FrameTime, 32, { start_ns: 0, wall_ns: 8, cpu_ns: 16, events: 24, });
