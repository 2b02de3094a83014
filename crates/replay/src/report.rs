//! What a recording and a replay found, as the verbs show it.

use crate::pack::PackReport;
use prony_demo::tolerance::ToleranceSummary;

/// What a recording left.
#[derive(Debug, Clone, Default)]
pub struct RecordReport {
    /// How long it took, in seconds.
    pub recorded_s: f64,
    /// Processes that have records.
    pub processes: u64,
    /// Records of all processes.
    pub records: u64,
    /// Frames of the server's main loop.
    pub frames: u64,
    /// Calls that sent bytes.
    pub outputs: u64,
    /// Bytes they sent.
    pub output_bytes: u64,
    /// Size of the demo.
    pub file_bytes: u64,
    /// How the server ended.
    pub exit: String,
    /// Its own exit code, if it exited.
    pub exit_code: Option<i32>,
    /// The signal that ended it, if one did.
    pub exit_signal: Option<i32>,
    /// What of the files that the server only read is in the demo.
    pub packed: PackReport,
    /// What should be looked at before the demo is relied on.
    pub warnings: Vec<Warning>,
}

/// Something to look at before a result is relied on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// What was seen: thing, place, expected and found.
    pub text: String,
}

/// What the replays of a demo found.
#[derive(Debug, Clone)]
pub struct ReplayReport {
    /// The answer.
    pub verdict: Verdict,
    /// Frames replayed.
    pub frames: u64,
    /// Records replayed.
    pub records: u64,
    /// Calls whose output was compared.
    pub outputs_verified: u64,
    /// Bytes of output that were compared.
    pub output_bytes_verified: u64,
    /// Wall time of each replay, in seconds.
    pub wall_s: Vec<f64>,
    /// CPU time of each replay, in seconds.
    pub cpu_s: Vec<f64>,
    /// How long the recording took, in seconds.
    pub recorded_s: f64,
    /// When each frame began, in nanoseconds of `CLOCK_MONOTONIC`.
    pub frame_start_ns: Vec<u64>,
    /// Wall time of each frame, in nanoseconds.
    pub frame_wall_ns: Vec<u64>,
    /// CPU time of each frame, in nanoseconds.
    pub frame_cpu_ns: Vec<u64>,
    /// Where the build left the recording.
    pub divergence: Option<Divergence>,
    /// Clock reads that the build made and the recording did not.
    pub clocks_added: u64,
    /// Clock reads of the recording that the build did not make.
    pub clocks_removed: u64,
    /// Calls other than clock reads that changed places, had no record, or were left out.
    pub resynced: u64,
    /// Times a thread was let in while the one before it still ran.
    pub overlapped: u64,
    /// Bytes of log text that differed.
    pub log_bytes_differing: u64,
    /// What should be looked at before the verdict is relied on.
    pub warnings: Vec<Warning>,
    /// Variables of the recording that choose code and that the build did not get as they were recorded.
    pub variables_withheld: Vec<String>,
    /// Files of the demo, and others with the recorded content, that the build read in the place of those here.
    pub files_laid_over: u64,
    /// Files that the demo has, that differ here, and that the build did not get, as the demo is not trusted.
    pub files_withheld: u64,
    /// What the rules of `--tolerance` excused.
    pub tolerance: Option<ToleranceSummary>,
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
    Weak(Vec<String>),
}

/// How a build left the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DivergenceClass {
    /// It sent other bytes.
    Output,
    /// It made its calls in another order.
    Order,
    /// It made a call that the recording does not have.
    UnrecordedCall,
    /// A thread waited for a turn that did not come.
    Starvation,
    /// It ended before the recording did.
    EarlyExit,
    /// It went on after the recording ended.
    LateExit,
    /// A file that it opened is not there, or is another one.
    MissingFile,
    /// A signal ended it.
    Crash,
}

/// Where and how a build left the recording.
#[derive(Debug, Clone)]
pub struct Divergence {
    /// How.
    pub class: DivergenceClass,
    /// Index of the process.
    pub process: u16,
    /// Thread within the process.
    pub thread: u16,
    /// Place of the call among all calls of its process.
    pub record: u64,
    /// Frame that was going on.
    pub frame: u64,
    /// The call that the build made.
    pub call: String,
    /// Its descriptor, or -1.
    pub fd: i32,
    /// First byte of the output that differs.
    pub byte: Option<u64>,
    /// Place in the output at which both windows below begin.
    pub window_from: u64,
    /// What was recorded around that byte.
    pub expected: Vec<u8>,
    /// What the build sent around that byte.
    pub found: Vec<u8>,
    /// The recorded call.
    pub expected_call: String,
    /// The last calls before it, oldest first.
    pub recent: Vec<String>,
    /// Where in the build the call was made, innermost first.
    pub backtrace: Vec<String>,
    /// What else is known.
    pub detail: String,
}

/// How far a recording or a series of replays has got, for a progress line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Progress {
    /// Recording: seconds so far, bytes the server's threads wrote, bytes of the demo.
    Recording {
        /// Seconds since the server started.
        seconds: f64,
        /// Bytes of raw records.
        raw_bytes: u64,
        /// Bytes of the file.
        file_bytes: u64,
    },
    /// Replaying: which run of how many, and records answered of all.
    Replaying {
        /// The run, from 1.
        run: u32,
        /// Runs asked for.
        runs: u32,
        /// Records answered in it.
        records: u64,
        /// Records of the demo.
        of: u64,
    },
}
