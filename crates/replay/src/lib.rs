//! Starts a server under preload, to record or to replay.
//!
//! [`record`] runs a server with the library that this crate carries, gathers what its threads
//! write down, and makes a demo of it. [`replay`] lays a demo out as a tape, runs a build on it,
//! and says whether the build did what the recorded one did.
//!
//! Unsafe code is in two modules: where memory is shared with a server (`channel::memory`), and where one is started
//! (`launch`).
#![deny(unsafe_code)]

// Memory that is shared with the server, and files.
mod channel;
mod files;

// The server, and what is said of it.
mod report;
mod server;

// A build on its tape, and what it did beside what was recorded.
mod run;
mod verdict;

// The verbs.
mod record;
mod replay;
mod replay_error;

pub use channel::{CallCount, Counted, EventCounts, Fault, RecordScope};
pub use files::inspection::{CodeFile, CodeKind, FileInspection, SetIdFile, inspect_files};
pub use files::known::{KnownDemos, KnownError};
pub use files::layout::LayoutError;
pub use files::limits::Limits;
pub use files::overlay::OverlayError;
pub use files::pack::{LeaveOutReason, LeftOut, PackError, PackLimits, PackReport, needed, pack_files};
pub use files::regular::FileError;
pub use files::state::StateError;
pub use files::trusted::{TrustedDemos, TrustedError};
pub use prony_channel::NoCheckpoint;
pub use record::stop::{StopError, stop_recording};
pub use record::{RecordError, RecordOptions, exit_text, record};
pub use replay::both::{
    BothReport, DifferingValue, LastWrite, SideBySide, SideOfBoth, StackFrame, Variable, WrittenAt, debug_both,
};
pub use replay::debug::{DebugReport, Stopped, debug};
pub use replay::{
    AcceptOptions, ComparisonOptions, FileOptions, ReplayOptions, Replayer, SLOWER_UNDER_TOOL, StateOptions,
    TrustOptions, replay,
};
pub use replay_error::{Privilege, ReplayError};
pub use report::{
    BeyondLimit, ByteWindow, Cause, ChangedListing, Detail, Difference, DiskEnd, Divergence, DivergenceClass, Doing,
    Evidence, FailedCall, FilesLacking, FromDemo, Lack, LowLimit, Passed, ProcessorChange, Progress, RecordCost,
    RecordReport, RecordWarning, Recorded, ReplayReport, Surroundings, ThreadReport, Timing, ToolRun, Traced, TracedTo,
    Unrecorded, Verdict, Warning, WeakReason,
};
pub use run::debugger::{DebuggerError, GdbOptions, Way};
pub use run::decoder::{DecoderError, Side};
pub use run::stop_place::StopPlace;
pub use run::tape::TapeError;
#[doc(hidden)]
pub use run::tape::lay_out_demo;
pub use server::environment::{Origin, kept_from_strangers, loads_code};
pub use server::goes_on::GoesOn;
pub use server::library::has_i386;
pub use server::program::ProgramError;
pub use server::recorded::{code_variables, recorded_command, variables_kept};
pub use server::tool::{Collects, CountedEvent, ToolOptions};
pub use verdict::numbers::{Number, NumberChange, NumberForm};
