//! Warnings that qualify a demo or the result of a replay.

use crate::files::known::KnownError;
use crate::server::environment::Origin;
use crate::server::inheritance::LowLimit;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// Something to look at before a demo is relied on.
#[derive(Debug, Clone)]
pub enum RecordWarning {
    /// File that the server wrote outside of any state directory.
    Written(PathBuf),
    /// Note of the recorder, as the demo has it: what could not be recorded, or only in part.
    Note(String),
    /// Processes that did not end with the recording: their numbers and programs. What they do from here on is not in the demo.
    LivesOn(Vec<(i32, String)>),
    /// The demo is not on the list of those that this user recorded here.
    NotListed(Arc<KnownError>),
}

/// Something to look at before the verdict of a replay is relied on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// Recorded variables that the build does not have: their names, harmless to show, and whose demo it is.
    VariablesDropped(Vec<String>, Origin),
    /// Recorded variables that have the values of this environment: their names, harmless to show, and whose demo it is.
    VariablesReplaced(Vec<String>, Origin),
    /// Another processor than that of the recording.
    Processor(ProcessorChange),
    /// Library with another build id than the recorded one.
    OtherLibrary(PathBuf),
    /// File that the server wrote while recording, outside of any state directory.
    Written(PathBuf),
    /// File with another content than the recorded one; its path.
    Changed(String),
    /// A limit of the recorded server that the build cannot have.
    LowLimit(LowLimit),
    /// Number of files that were restored without their bits for set-user-id and set-group-id.
    SetIdsTaken(u64),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names_of = |f: &mut fmt::Formatter<'_>, names: &[String], origin: &Origin| {
            let names = names.join(", ");
            match origin {
                Origin::Unknown => write!(f, "the demo, which is not yours, sets {names}: "),
                Origin::Own | Origin::Trusted => write!(f, "the demo sets {names}, which can choose code or files: "),
            }
        };
        match self {
            Warning::VariablesDropped(names, origin) => {
                names_of(f, names, origin)?;
                f.write_str("not given to the build")
            }
            Warning::VariablesReplaced(names, origin) => {
                names_of(f, names, origin)?;
                f.write_str("the build gets the values of this environment")
            }
            Warning::Processor(change) => change.fmt(f),
            Warning::OtherLibrary(path) => write!(f, "`{}` differs from the recorded library", path.display()),
            Warning::Written(path) => write!(
                f,
                "`{}` was written while recording, outside any state directory; a replay writes it too",
                path.display()
            ),
            Warning::Changed(path) => write!(f, "`{path}` differs from the recorded file in content"),
            Warning::LowLimit(limit) => write!(
                f,
                "the limit `{}` was {} while recording, and the build has {}, the most that this user can have",
                limit.name, limit.recorded, limit.here
            ),
            Warning::SetIdsTaken(files) => write!(
                f,
                "the state has {files} set-user-id or set-group-id files; they were restored without these bits"
            ),
        }
    }
}

/// Difference between this processor and that of the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProcessorChange {
    /// Another architecture; `i386`, or as [`std::env::consts::ARCH`] has it.
    Architecture {
        /// Architecture of the recorded server.
        recorded: String,
        /// Architecture of the build.
        here: &'static str,
    },
    /// Flags of the recording's processor that this one lacks.
    FlagsLacking(Vec<String>),
}

impl fmt::Display for ProcessorChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProcessorChange::Architecture { recorded, here } => {
                write!(f, "recorded on {recorded}, replayed on {here}")
            }
            ProcessorChange::FlagsLacking(flags) => {
                write!(f, "this processor lacks {} of the recording machine", flags.join(" "))
            }
        }
    }
}

/// Reason why a replay that did not diverge is weak evidence about its build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WeakReason {
    /// Another processor than that of the recording.
    Processor(ProcessorChange),
    /// File with another content than the recorded one; its path.
    Changed(String),
    /// Note of what the recorder could not record.
    Missed(String),
    /// No byte of output was verified, as the recorded server sent none.
    NothingSent,
    /// No byte of output was verified, though the recorded server sent some.
    NothingVerified,
    /// Few bytes of output were verified, for as long as the server ran.
    LittleVerified {
        /// Number of bytes that were verified.
        output_bytes: u64,
        /// Number of frames that were replayed.
        frames: u64,
    },
    /// The tool that started the build ended it, or itself, before the end of the demo.
    EndedByTool {
        /// Number of records that were replayed.
        records: u64,
        /// Number of records of the demo.
        of: u64,
    },
}

impl WeakReason {
    /// True for what `AcceptOptions::other_machine` leaves out: this machine is another than that of the recording.
    pub fn is_of_environment(&self) -> bool {
        matches!(self, WeakReason::Processor(_) | WeakReason::Changed(_))
    }
}

impl fmt::Display for WeakReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WeakReason::Processor(change) => change.fmt(f),
            WeakReason::Changed(path) => write!(f, "`{path}` changed since the recording"),
            WeakReason::Missed(note) => write!(f, "the recording missed something: {note}"),
            WeakReason::NothingSent => f.write_str("no output byte was verified: the recorded server sent nothing"),
            WeakReason::NothingVerified => f.write_str("no output byte was verified: nothing it sent was verified"),
            WeakReason::LittleVerified { output_bytes, frames } => {
                write!(f, "only {output_bytes} bytes of output were verified over {frames} frames")
            }
            WeakReason::EndedByTool { records, of } => {
                write!(f, "the tool ended the server after {records} of {of} records")
            }
        }
    }
}
