//! Starts a server under preload, to record or to replay.
//!
//! [`record`] runs a server with the library that this crate carries, gathers what its threads
//! write down, and makes a demo of it. [`replay`] lays a demo out as a tape, runs a build on it,
//! and says whether the build did what the recorded one did.
//!
//! Unsafe code is in two modules: where memory is shared with a server (`channel::memory`), and where one is started
//! (`launch`).
#![deny(unsafe_code)]

mod calls;
mod cause;
mod channel;
mod compare;
mod decoded;
mod decoder;
mod directory;
mod diverged;
mod environment;
mod facts;
mod failures;
mod files;
mod functions;
mod inspection;
mod known;
mod launch;
mod layout;
mod library;
mod limits;
mod listings;
mod merge;
mod numbers;
mod objects;
mod order;
mod overlay;
mod pack;
mod partial;
mod printed;
mod processor;
mod program;
mod raw_calls;
mod record;
mod regular;
mod replay;
mod report;
mod run;
mod scratch;
mod search;
mod sockets;
mod state;
mod syscalls;
mod tape;
mod trusted;
mod unrecorded;
mod windows;

pub use channel::{Counted, Fault, RecordScope};
pub use decoder::{DecoderError, Side};
pub use environment::{Origin, kept_from_strangers, loads_code};
pub use inspection::{CodeFile, CodeKind, FileInspection, SetIdFile, inspect_files};
pub use known::{KnownDemos, KnownError};
pub use layout::LayoutError;
pub use library::has_i386;
pub use limits::Limits;
pub use listings::ChangedListing;
pub use numbers::{Number, NumberChange, NumberForm};
pub use overlay::OverlayError;
pub use pack::{LeaveOutReason, LeftOut, PackError, PackLimits, PackReport, needed, pack_files};
pub use program::ProgramError;
pub use record::{RecordError, RecordOptions, exit_text, record};
pub use regular::FileError;
pub use replay::{FileOptions, Privilege, ReplayError, ReplayOptions, Replayer, replay};
pub use report::{
    BeyondLimit, Cause, Detail, Difference, Divergence, DivergenceClass, Doing, FailedCall, FilesLacking, Lack, Passed,
    ProcessorChange, Progress, RecordReport, RecordWarning, Recorded, ReplayReport, Surroundings, ThreadReport,
    Verdict, Warning, WeakReason,
};
pub use state::StateError;
pub use tape::TapeError;
#[doc(hidden)]
pub use tape::lay_out_demo;
pub use trusted::{TrustedDemos, TrustedError};
pub use unrecorded::Unrecorded;
