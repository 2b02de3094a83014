//! Results of a recording and of a replay, as the verbs show them.

mod cause;
mod detail;
mod warning;

pub use crate::server::inheritance::LowLimit;
pub use cause::{Cause, ChangedListing, Traced, TracedTo, Unrecorded};
pub use detail::{BeyondLimit, Detail, FilesLacking, Lack};
pub use warning::{ProcessorChange, RecordWarning, Warning, WeakReason};

use crate::channel::{CallCount, Counted, EventCounts};
use crate::files::pack::PackReport;
use crate::server::goes_on::GoesOn;
use prony_demo::tolerance::ToleranceSummary;
use prony_demo::{Exit, WriteError};
use std::sync::Arc;

/// Results of a recording: counts, exit status, warnings.
#[derive(Debug, Clone, Default)]
pub struct RecordReport {
    /// Duration of the recording in seconds.
    pub recorded_s: f64,
    /// Number of processes that have records.
    pub processes: u64,
    /// Number of records, of all processes.
    pub records: u64,
    /// Frames of the server's main loop.
    pub frames: u64,
    /// Number of calls that sent bytes.
    pub outputs: u64,
    /// Number of bytes that those calls sent.
    pub output_bytes: u64,
    /// What the recording cost.
    pub cost: RecordCost,
    /// Size of the demo file, in bytes.
    pub file_bytes: u64,
    /// Exit status or signal of the server; [`Exit::Cut`] where it goes on.
    pub exit: Exit,
    /// The server, where it goes on without being recorded.
    pub goes_on: Option<GoesOn>,
    /// Why the recording ended before the server, if the disk is the reason.
    pub disk_end: Option<DiskEnd>,
    /// Files in the demo that the server only read, and those left out.
    pub packed: PackReport,
    /// Warnings that qualify the demo.
    pub warnings: Vec<RecordWarning>,
}

/// Note of a demo whose threads ran in no order.
pub(crate) const SIDE_BY_SIDE: &str = "threads ran side by side: a race between them may end differently in a replay";

/// What a recording cost: waits of the server, and CPU time of the recorder.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RecordCost {
    /// Seconds that threads were ready and waited for their turn, all of them together.
    pub threads_waited_s: f64,
    /// Seconds that threads waited as the recorder had not taken their records yet, all of them together.
    pub room_awaited_s: f64,
    /// CPU time of the recorder in seconds.
    pub recorder_cpu_s: f64,
    /// Bytes of records, before compression.
    pub record_bytes: u64,
    /// Those of them that were compressed less, as they came faster than the usual level takes.
    pub fast_bytes: u64,
}

/// What of the disk ended a recording; its server goes on.
#[derive(Debug, Clone)]
pub enum DiskEnd {
    /// No room was left. The demo is complete up to there.
    Full,
    /// The disk was slower than the server. The demo is complete up to there.
    Slow {
        /// Number of bytes that waited to be written.
        waiting_bytes: u64,
    },
    /// A write failed. The file has the name that it has while recording, and every block that was written before.
    Broken(Arc<WriteError>),
}

/// Share of the recorded time from which on users notice that threads waited for their turn.
const NOTICEABLE_WAIT: f64 = 0.01;

impl RecordReport {
    /// The same of a demo whose file could not be written further.
    pub(crate) fn broken(self, error: WriteError, server: GoesOn) -> RecordReport {
        RecordReport { disk_end: Some(DiskEnd::Broken(Arc::new(error))), goes_on: Some(server), ..self }
    }

    /// True if the demo could not be completed: its file has the name with `.partial`.
    pub fn is_partial(&self) -> bool {
        matches!(self.disk_end, Some(DiskEnd::Broken(_)))
    }

    /// Seconds that threads waited for their turn, where that is noticed.
    pub fn noticeable_wait_s(&self) -> Option<f64> {
        let is_noticed =
            self.cost.threads_waited_s >= NOTICEABLE_WAIT * self.recorded_s && self.cost.threads_waited_s > 0.0;
        is_noticed.then_some(self.cost.threads_waited_s)
    }
}

/// Results of the replays of a demo.
#[derive(Debug, Clone)]
pub struct ReplayReport {
    /// Verdict: identical, tolerant, weak or diverged.
    pub verdict: Verdict,
    /// Number of frames that were replayed.
    pub frames: u64,
    /// Counters of the player; of outputs, those that a tolerance rule excused are among them.
    pub counted: Counted,
    /// Times of the recording, of each replay and of its frames.
    pub timing: Timing,
    /// The signal that ended the build after its last record, as it had ended the recorded server.
    pub crashed_as_recorded: Option<i32>,
    /// The tool that started the build, if one did. Times are kept only on request then: they are those of the tool, too.
    pub tool: Option<ToolRun>,
    /// Events of the build's own code in the last replay, where they were counted.
    pub events: Option<EventCounts>,
    /// Divergence that ended the replay, if any.
    pub divergence: Option<Divergence>,
    /// Warnings that qualify the verdict.
    pub warnings: Vec<Warning>,
    /// Variables and files of the demo that the build got, or that were withheld from it.
    pub from_demo: FromDemo,
    /// Differences that the rules of `--tolerance` excused.
    pub tolerance: Option<ToleranceSummary>,
    /// Facts about the build and its surroundings, known before it runs.
    pub surroundings: Surroundings,
    /// Facts from which the causes of the divergence are derived, besides the surroundings.
    pub evidence: Evidence,
    /// Possible causes of the divergence, the likeliest first.
    pub causes: Vec<Cause>,
    /// The last lines that it printed, where they were requested.
    pub printed: Vec<String>,
}

/// A tool that started the build, as often as it was replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRun {
    /// Program and arguments of the tool, without the server's.
    pub command: Vec<String>,
    /// How it ended, for each replay.
    pub exits: Vec<Exit>,
    /// How the server ended while recording.
    pub recorded: Exit,
    /// How often the server made each hooked call in the last replay, by name; empty where that was not requested.
    pub calls: Vec<CallCount>,
}

impl ToolRun {
    /// True if the tool ended with a status that is neither 0 nor the server's own: checkers report by it what they found.
    pub fn has_finding(&self) -> bool {
        self.exits.iter().any(|&exit| exit != Exit::Code(0) && exit != self.recorded)
    }
}

/// Times of a recording, of its replays and of their frames.
#[derive(Debug, Clone)]
pub struct Timing {
    /// Wall time of each replay, in seconds.
    pub wall_s: Vec<f64>,
    /// CPU time of each replay, in seconds.
    pub cpu_s: Vec<f64>,
    /// Duration of the recording in seconds.
    pub recorded_s: f64,
    /// Frames that each time below is of: 1, but of a demo with more than 262,144 of them as many in a row as leave that
    /// many times.
    pub frames_in_each: u64,
    /// Start of each frame, in nanoseconds of `CLOCK_MONOTONIC`.
    pub frame_start_ns: Vec<u64>,
    /// Wall time of each frame, in nanoseconds.
    pub frame_wall_ns: Vec<u64>,
    /// CPU time of each frame, in nanoseconds.
    pub frame_cpu_ns: Vec<u64>,
}

/// Variables and files of a demo that a build got in place of those here, or that were withheld from it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FromDemo {
    /// Variables of the recording that the build did not get as they were recorded, as the demo's author could choose code by them.
    pub variables_withheld: Vec<String>,
    /// Files of the demo, and others with the recorded content, that the build read in place of those here.
    pub files_laid_over: u64,
    /// Files that the demo or its assets have, that differ here, and that the build did not get, as the demo is not trusted.
    pub files_withheld: u64,
    /// Directories of such files that the build did not get as they lie neither below a directory of the demo nor one
    /// that the user named.
    pub directories_outside: Vec<String>,
}

/// Facts about a divergence that the replay and the recording have, beyond its place.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// Calls that were made for real and failed here but not while recording, the latest first; of a build that
    /// diverged.
    pub failed_calls: Vec<FailedCall>,
    /// Calls that failed while recording and never failed here.
    pub unfailed_calls: Vec<FailedCall>,
    /// Directories that contained something else when the server listed them.
    pub listings: Vec<ChangedListing>,
    /// Where the number at which an output differs comes from, as far as it is known.
    pub source: Option<Unrecorded>,
    /// Where the bytes come from at which an output differs, as far as a real call or a file has them.
    pub traced: Option<Traced>,
    /// Number of threads that the process that diverged had then.
    pub threads: usize,
    /// The thread that was passed last although it was its turn, where any was.
    pub passed: Option<Passed>,
}

impl Timing {
    /// Times before any replay of a recording of this duration, in seconds.
    pub fn before_replay(recorded_s: f64) -> Timing {
        Timing {
            wall_s: Vec::new(),
            cpu_s: Vec::new(),
            recorded_s,
            frames_in_each: 1,
            frame_start_ns: Vec::new(),
            frame_wall_ns: Vec::new(),
            frame_cpu_ns: Vec::new(),
        }
    }
}

impl ReplayReport {
    /// Report without a replay: weak, as nothing was verified. `recorded_s`: duration of the recording, in seconds.
    pub fn before_replay(recorded_s: f64) -> ReplayReport {
        ReplayReport {
            verdict: Verdict::Weak(Vec::new()),
            frames: 0,
            counted: Counted::default(),
            timing: Timing::before_replay(recorded_s),
            crashed_as_recorded: None,
            tool: None,
            events: None,
            divergence: None,
            warnings: Vec::new(),
            from_demo: FromDemo::default(),
            tolerance: None,
            surroundings: Surroundings::default(),
            evidence: Evidence::default(),
            causes: Vec::new(),
            printed: Vec::new(),
        }
    }

    /// Number of calls other than clock reads that changed places, had no record, or were left out.
    pub fn resynced(&self) -> u64 {
        self.counted.resynced + self.counted.reordered
    }
}

/// A thread that made no call for so long, in its turn, that others went on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// Index of the process in the recording, from 0.
    pub process: u16,
    /// Number of the thread within its process, from 0.
    pub thread: u16,
    /// The record that it was answered with last.
    pub record: u64,
    /// The call of that record.
    pub call: String,
}

/// Facts about a build and its surroundings, known before it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The build is the very program that was recorded; `None` where that is unknown.
    pub recorded_build: Option<bool>,
    /// A command was given in place of the recorded one.
    pub command_given: bool,
    /// Files that the server wrote while recording, in no state directory.
    pub written: Vec<String>,
    /// Files that it read, and that a program without records wrote meanwhile.
    pub written_by_others: Vec<String>,
    /// Files that it read, and that have another content here.
    pub changed: Vec<String>,
    /// Libraries that are not those of the recording.
    pub libraries: Vec<String>,
    /// Difference between this processor and that of the recording.
    pub processor: Option<ProcessorChange>,
    /// Descriptions of calls that the recorder could not record.
    pub missed: Vec<String>,
    /// Further notes of the recording about itself.
    pub notes: Vec<String>,
    /// Files that the recorded server opened, or looked for.
    pub files: Vec<String>,
}

/// A call that is made for real, and answered from no record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedCall {
    /// Index of the process in the recording, from 0.
    pub process: u16,
    /// Number of the thread within its process, from 0.
    pub thread: u16,
    /// C name of the call.
    pub call: String,
    /// The path that it was about; empty for none.
    pub path: String,
    /// The descriptor that it was about, or -1; of `syscall` its number.
    pub fd: i32,
    /// `errno` that the call returned.
    pub errno: i32,
    /// The last recorded call before it.
    pub after_record: u64,
    /// Result of the same call in the recording.
    pub recorded: Recorded,
}

/// Result in a recording of a call that failed elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// The call succeeded, in this record.
    Succeeded(u64),
    /// The call failed with this other `errno`.
    FailedWith(i32),
    /// The call did not fail: it succeeded, or was not made.
    NotFailed,
    /// The recording is older than the notes of failures, or has too many of them.
    NotNoted,
}

/// The answer of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Every byte was equal, and there was at least one.
    Identical,
    /// Every difference was within the limits of a rule.
    Tolerant,
    /// The build left the recording.
    Diverged,
    /// Nothing diverged, and that means little, for these reasons.
    Weak(Vec<WeakReason>),
}

/// Class of a divergence, by what the build did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DivergenceClass {
    /// The build sent different bytes.
    Output,
    /// The build made its calls in a different order.
    Order,
    /// The build made a call that the recording does not have.
    UnrecordedCall,
    /// A thread waited for a turn that did not come.
    Starvation,
    /// The build ended before the recording did.
    EarlyExit,
    /// The build continued after the end of the recording.
    LateExit,
    /// A file that it opened is not there, or is another one.
    MissingFile,
    /// A signal ended the build.
    Crash,
    /// What a recorded call brought does not fit into the build.
    Input,
}

/// Divergence of a build: class, position and evidence.
#[derive(Debug, Clone)]
pub struct Divergence {
    /// Class of the divergence, by what the build did.
    pub class: DivergenceClass,
    /// Index of the process in the recording, from 0.
    pub process: u16,
    /// Number of the thread within its process, from 0.
    pub thread: u16,
    /// Place of the call among all calls of its process.
    pub record: u64,
    /// Frame that was going on.
    pub frame: u64,
    /// The call that the build made.
    pub call: String,
    /// Descriptor of the call, or -1.
    pub fd: i32,
    /// Bytes of the output around the first one that differs.
    pub window: ByteWindow,
    /// Recorded call, as a line of `demo dump`.
    pub expected_call: String,
    /// The last calls before it, oldest first.
    pub recent: Vec<String>,
    /// Callers of the call in the build, innermost first.
    pub backtrace: Vec<String>,
    /// Further facts that are specific to the divergence.
    pub detail: Option<Detail>,
    /// Kind of difference within the class.
    pub difference: Difference,
    /// State of each thread, if one starved.
    pub threads: Vec<ThreadReport>,
}

/// Bytes of an output around the first one that differs; empty where a divergence is not about bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ByteWindow {
    /// Place in the output of the first byte that differs.
    pub differing: Option<u64>,
    /// Place in the output at which both sides below begin.
    pub from: u64,
    /// Recorded bytes around that byte.
    pub expected: Vec<u8>,
    /// Bytes that the build sent around that byte.
    pub found: Vec<u8>,
}

/// Kind of difference within the class of a divergence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// No further kind: the class says it all.
    Class,
    /// Bytes of an output, of the same length or not.
    Bytes,
    /// A recorded output was not sent.
    NotSent,
    /// An output that was not recorded.
    NotRecorded,
    /// The destination of an output differs.
    Destination,
    /// The build has room for less than a recorded call brought, in bytes, or messages of `recvmmsg`.
    Room {
        /// What the recorded call brought.
        recorded: u64,
        /// What the build has room for.
        room: u64,
    },
    /// A recorded call made this descriptor, and the build has something of its own there.
    Descriptor(i32),
    /// The status that the build ended with.
    Status {
        /// Exit status in the recording.
        expected: i32,
        /// Exit status of the build.
        found: i32,
    },
}

/// State of a thread of a build when the build was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadReport {
    /// Index of the process in the recording, from 0.
    pub process: u16,
    /// Number of the thread within its process, from 0.
    pub thread: u16,
    /// The record that it was answered with last, or stands before while it waits.
    pub record: u64,
    /// The call of that record; empty where there is none.
    pub call: String,
    /// The turn that it waits for.
    pub waits_for: Option<u64>,
    /// The turn that its process has reached is its own; false where the process has one thread, and no turns.
    pub is_its_turn: bool,
    /// Activity of the thread when the replay ended.
    pub doing: Doing,
}

/// Activity of a thread when the replay ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doing {
    /// The thread waits for its turn.
    Turn,
    /// Running, in code of its own.
    Running,
    /// Sleeping in a system call.
    Sleeping {
        /// Name of the system call, or its number.
        call: String,
        /// Target of the descriptor of the call; empty without one.
        at: String,
    },
    /// The thread has no records left.
    Finished,
    /// The thread does not exist: it was not started, or has ended.
    Gone,
}

/// Progress of a recording or of a series of replays, for a progress line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// Recording: seconds so far, bytes the server's threads wrote, bytes of the demo.
    Recording {
        /// Seconds since the server started.
        seconds: f64,
        /// Bytes of the records so far, uncompressed.
        raw_bytes: u64,
        /// Bytes of the demo file so far.
        file_bytes: u64,
    },
    /// Replaying: which run of how many, and records answered of all.
    Replaying {
        /// Number of the replay, from 1.
        run: u32,
        /// Number of replays requested.
        runs: u32,
        /// Number of records answered in this replay.
        records: u64,
        /// Number of records in the demo.
        of: u64,
    },
}
