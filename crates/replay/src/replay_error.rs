//! Errors of replays, and what a demo of another user is not allowed.

use crate::channel::Fault;
use crate::files::regular;
use crate::files::state::StateError;
use crate::run::debugger::DebuggerError;
use crate::run::decoder::DecoderError;
use crate::run::tape::TapeError;
use crate::server::program::ProgramError;
use prony_demo::{DemoError, Header, Truncation};
use prony_text::Untrusted;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Error of running a replay.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The demo cannot be read.
    #[error(transparent)]
    Demo(#[from] DemoError),
    /// The demo was cut, and that was not allowed.
    #[error("the demo is truncated: {} complete blocks with {} frames remain", .0.blocks, .0.frames)]
    Truncated(Truncation),
    /// The demo is another user's, and what it would do was not allowed.
    #[error("it was not recorded by this user on this machine, and {0}")]
    NotTrusted(Privilege),
    /// The demo is another user's, and its working directory is one that the kernel makes up.
    #[error("it was not recorded by this user on this machine, and its working directory is `{}`", Untrusted::new(.0))]
    WorkingDirectory(PathBuf),
    /// The demo cannot be laid out.
    #[error(transparent)]
    Tape(#[from] TapeError),
    /// The command cannot be run under preload.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The build was made for another architecture than the recorded server.
    #[error("`{program}` was built for {found}, and the recorded server for {recorded}")]
    OtherArchitecture {
        /// Path of the program file.
        program: String,
        /// Architecture that the program is built for.
        found: &'static str,
        /// Architecture of the recorded server.
        recorded: String,
    },
    /// State cannot be brought back.
    #[error(transparent)]
    State(#[from] StateError),
    /// Directories and files of the demo cannot be mounted.
    #[error("cannot mount files of the demo over local ones: {0}")]
    Mount(io::Error),
    /// The channel's descriptors lie above the limit.
    #[error("the limit of open descriptors is below 1,008, which the replay channel needs")]
    FewDescriptors,
    /// The library did not come up in the build.
    #[error("`{0}` ended before the player started in it")]
    NotAttached(String),
    /// The tool did not start the build.
    #[error("`{tool}` ended without starting `{program}`")]
    NotStarted {
        /// The tool's first word.
        tool: String,
        /// Path of the program file.
        program: String,
    },
    /// The build wrote over what the player in it had counted.
    #[error("`{program}` overwrote the memory that it shares with prony: {fault}")]
    Channel {
        /// Path of the program file.
        program: String,
        /// Value that no library writes, and its place.
        fault: Fault,
    },
    /// The decoder does not do what a decoder does.
    #[error(transparent)]
    Decoder(DecoderError),
    /// The debugger could not be attached.
    #[error(transparent)]
    Debugger(#[from] DebuggerError),
    /// A signal requested a stop.
    #[error("interrupted")]
    Interrupted,
    /// Something of the system failed.
    #[error("cannot run `{program}`: {error}")]
    System {
        /// Path of the program file.
        program: String,
        /// Error that the system returned.
        error: io::Error,
    },
}

/// Privilege that only demos have which the user recorded or trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Privilege {
    /// Choose the program and its arguments.
    Command(Vec<OsString>),
    /// Put its own files in place of these directories.
    State(Vec<PathBuf>),
}

impl Privilege {
    /// Privilege that a demo with this header needs, if any; `build`: the user names a command.
    pub fn of(header: &Header, build: bool) -> Option<Privilege> {
        let os = |texts: &[Vec<u8>]| texts.iter().map(|text| regular::os(text)).collect::<Vec<_>>();
        match (build, header.state_directories.is_empty()) {
            (false, _) => Some(Privilege::Command(os(&header.argv))),
            (true, false) => {
                Some(Privilege::State(os(&header.state_directories).into_iter().map(PathBuf::from).collect()))
            }
            (true, true) => None,
        }
    }
}

impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Privilege::Command(_) => write!(f, "without a command it runs its own"),
            Privilege::State(directories) => {
                let shown: Vec<String> = directories.iter().map(|path| format!("`{}`", Untrusted::new(path))).collect();
                write!(f, "it has files of its own for {}", shown.join(", "))
            }
        }
    }
}
