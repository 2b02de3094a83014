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
//! Each ring has one writer, the thread that owns the slot, and one reader, the recorder outside.
//!
//! Both sides are processes of their own, perhaps of different architectures, and neither trusts the other. Therefore:
//!
//! * no layout depends on the width of a pointer: sizes and offsets are fixed, and asserted where a type is declared;
//! * whatever one side may change while the other looks at it is an atomic, so that a reference to it promises nothing, or is
//!   copied through raw pointers (records, and times of frames);
//! * a word that holds one of several states has names for them ([`StateWord`]), and other values have none.
#![deny(unsafe_code)]

mod areas;
mod calls;
mod checkpoint;
mod control;
mod counter;
mod divergence;
mod feed;
mod halt;
mod own_state;
mod scan;
mod sleepers;
mod tape;
mod ticks;
mod word;

pub use areas::{
    ADDED_OUTPUT, CHANNEL_FD, CONTROL_BYTES, ENVIRONMENT_MARK, FRAMES_OFFSET, LEAST_RING_BYTES, LIBRARY_FD,
    LIBRARY_I386_FD, LIBRARY_I386_PATH, LIBRARY_PATH, MARK_SERVER, MARK_TOOL, PLAYER_EXIT, PROCESSES, RING_BYTES,
    TAPE_FD, THREADS, TURN_RING_BYTES, TURNS, UNSENT_OUTPUT, ring_offset, turns_offset, window_offset, windows_bytes,
};
pub use calls::{CALL_NAME_BYTES, CALLS, CallCount};
pub use checkpoint::{CHECKPOINTS, Checkpoint, CheckpointState, Checkpoints, NO_STOP, NoCheckpoint};
pub use control::{
    AT_END, CPU_SET_BYTES, Control, Counts, EXCLUDED_BYTES, FrameTime, MAGIC, MOST_FRAME_TIMES, Mode, NO_CALL,
    NO_THREAD, PROGRAM_BYTES, Process, ProcessState, SlotState, Thread, Waiting, digest_of_arguments,
};
pub use counter::Counter;
pub use divergence::{
    CALLER_BYTES, CALLERS, CHANGED, FAILURES, Failure, NOTED, NOTED_FROM_HERE, NOTED_NO_MORE, RETURNED, RETURNED_BYTES,
    Report, ReportState, Returned, Stop, StopKind, UNFINISHED, WINDOW_BYTES,
};
pub use feed::{Feed, NO_PROCESS, QUARTERS, SMALLEST_WINDOW};
pub use halt::{Halt, HaltState};
pub use own_state::{OWN_STATE_CALLS, own_state_bit};
pub use scan::{MOST_ROOM, SITES, Scan, ScanState, Site};
pub use sleepers::{SLEEPER_LISTS, SLEEPERS, Sleepers};
pub use tape::{
    CLOCK_RUN, CLOCK_RUN_READS, FRAME_END, HALT, NO_TURN, OP_MASK, PARTLY, TAKEN, TapeHead, TapeStream, turn_entry,
};
pub use ticks::ticks;
pub use word::{Flag, Line, SharedBytes, State, StateWord};
