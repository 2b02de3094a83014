//! Errors of a command, with the next step.

use std::fmt;
use std::io;
use std::path::Path;

use prony_demo::{Cause, DemoError, Truncation, WriteError};
use prony_machine::perf::PerfError;
use prony_profile::SamplerError;
use prony_replay::{Privilege, ProgramError};
use prony_text::{count, printable_line, without_error_numbers};

/// Error because of which a command could not run. Prints as one `error:` line, which stays one whatever names are in
/// it, with what a command printed below it and, where there is a next step, one `hint:` line.
#[derive(Debug)]
pub struct Failure {
    error: String,
    printed: Vec<String>,
    hint: Option<String>,
    closed_pipe: bool,
}

impl Failure {
    /// `error`: thing, place, expected and found, without `error:`.
    pub fn new(error: impl Into<String>) -> Failure {
        Failure { error: without_error_numbers(&error.into()), printed: Vec::new(), hint: None, closed_pipe: false }
    }

    /// Adds what a command printed before it failed.
    pub fn printed(mut self, text: &str) -> Failure {
        self.printed = text.lines().map(str::to_owned).collect();
        self
    }

    /// Adds a next step, printed as the `hint:` line.
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// True if the reader of the answer closed the pipe.
    pub fn is_closed_pipe(&self) -> bool {
        self.closed_pipe
    }

    /// The answer could not be written to standard output.
    pub fn stdout(error: &io::Error) -> Failure {
        let closed_pipe = error.kind() == io::ErrorKind::BrokenPipe;
        Failure { closed_pipe, ..Failure::new(format!("cannot write to standard output: {}", io_text(error))) }
    }

    /// A file could not be read or written; `verb`: what was to be done with it.
    pub fn io(verb: &str, path: &Path, error: &io::Error) -> Failure {
        let failure = Failure::new(format!("cannot {verb} {}: {}", path.display(), io_text(error)));
        match error.kind() {
            io::ErrorKind::StorageFull => failure.hint("free some space, or write to another disk"),
            _ => failure,
        }
    }

    /// A demo could not be opened or read; `verb`: what was to be done with it.
    pub fn demo(verb: &str, path: &Path, error: &DemoError) -> Failure {
        let file = path.display();
        if let DemoError::Io(error) = error {
            let failure = Failure::io(verb, path, error);
            return match error.kind() {
                io::ErrorKind::NotFound => failure.hint(format!("`prony record -o {file} -- COMMAND` makes a demo")),
                io::ErrorKind::PermissionDenied => {
                    failure.hint("only the user who recorded a demo may read it, because it contains secrets")
                }
                _ => failure,
            };
        }
        let failure = Failure::new(format!("cannot {verb} {file}: {error}"));
        match error {
            DemoError::Io(_) => failure,
            DemoError::NotADemo { .. } => {
                failure.hint("the file is not a demo; `prony record -o FILE -- COMMAND` makes one".to_owned())
            }
            DemoError::TooShort { .. } => {
                failure.hint("the recording ended before anything was written to disk: record again")
            }
            DemoError::FileHead { .. } => failure.hint("the file was altered: use a copy of the original"),
            DemoError::Version { newer: true, .. } => failure.hint("it was made by a newer prony: update this one"),
            DemoError::Version { newer: false, .. } => {
                failure.hint("it was made by an older prony: use that version, or record again")
            }
            DemoError::Block { .. } => failure
                .hint(format!("the file was truncated or altered; `prony demo verify {file}` shows what is intact")),
            DemoError::NoFrame { .. } => failure.hint(format!("`prony demo frames {file}` lists them")),
        }
    }

    /// A demo ends early, which was not allowed.
    pub fn truncated(path: &Path, cut: &Truncation) -> Failure {
        let Truncation { offset, cause, blocks, frames, .. } = cut;
        let what = match cause {
            Cause::Block(problem) => format!("block {blocks} at byte {offset:#x}: {problem}"),
            Cause::NoCommit => format!("expected a commit marker at byte {offset:#x}, found the end of the file"),
            Cause::BytesAfterCommit => format!(
                "expected the end of the file at byte {offset:#x}, found further \
                                                bytes"
            ),
            Cause::Index => format!("the index at byte {offset:#x} disagrees with the blocks"),
        };
        let failure = Failure::new(format!("cannot replay {}: {what}", path.display()));
        match frames {
            0 => failure.hint("the file was truncated or altered before its first complete frame: record again"),
            _ => failure.hint(format!(
                "the file was truncated or altered; --allow-truncated replays the {} before it",
                count(*frames, "complete frame")
            )),
        }
    }

    /// An untrusted demo would do what only a trusted one may.
    pub fn not_trusted(path: &Path, privilege: &Privilege) -> Failure {
        let file = path.display();
        let failure =
            Failure::new(format!("cannot replay {file}: it was not recorded by you on this machine, and {privilege}"));
        match privilege {
            Privilege::Command(_) => failure.hint(format!(
                "`prony demo info {file}` shows what it would run; allow it with --trust-demo, or name your own \
                 build with `-- COMMAND`"
            )),
            Privilege::State(_) => failure.hint(format!(
                "`prony demo info {file}` lists them; allow the build to use them with \
                                      --trust-demo"
            )),
        }
    }

    /// A command cannot be run under preload; `verb`: what was to be done with it.
    pub fn program(verb: &str, error: &ProgramError) -> Failure {
        let failure = Failure::new(format!("cannot {verb}: {error}"));
        match error {
            ProgramError::NoCommand => failure.hint(format!("name the server: `prony {verb} … -- COMMAND`")),
            ProgramError::NotFound(..) => failure.hint("give its path"),
            ProgramError::NoFile(_) | ProgramError::Unreadable { .. } => failure,
            ProgramError::Runtime { .. } => failure,
            ProgramError::WithoutI386(_) => {
                failure.hint("run `scripts/setup i386` in prony's source directory and build prony again")
            }
            ProgramError::NoLoader { i386: true, .. } => {
                failure.hint("install the C library for 32-bit programs: the package libc6-i386 of Debian")
            }
            ProgramError::NoLoader { i386: false, .. } => failure.hint("install the C library that it was built for"),
            ProgramError::OtherAbi { .. } if cfg!(target_arch = "x86_64") => {
                failure.hint("use a build for x86-64 or for i386")
            }
            ProgramError::OtherAbi { .. } => failure.hint(format!("use a build for {}", std::env::consts::ARCH)),
            ProgramError::Unhookable { .. } => {
                failure.hint("prony intercepts calls to the C library; use a dynamically linked program")
            }
        }
    }

    /// No stack samples could be taken.
    pub fn sampler(error: &SamplerError) -> Failure {
        let failure = Failure::new(format!("cannot sample: {error}"));
        match error {
            SamplerError::Perf(PerfError::NotPermitted { needed, .. }) => failure.hint(format!(
                "run `sysctl kernel.perf_event_paranoid={needed}` as root, or run prony as root; containers may \
                 also block perf_event_open"
            )),
            SamplerError::Perf(PerfError::NoMemory { .. }) => {
                failure.hint("run `sysctl kernel.perf_event_mlock_kb=2048` as root")
            }
            SamplerError::Perf(PerfError::Refused { .. }) => failure
                .hint("run prony as the owner of the process, or as root; containers may also block perf_event_open"),
            SamplerError::NoProcess(_) => failure.hint("`pgrep NAME` finds PIDs"),
            SamplerError::Perf(_) | SamplerError::Collect(_) => failure,
            SamplerError::NoCpu(_) => failure.hint("see /sys/devices/system/cpu/online"),
        }
    }

    /// A demo could not be written.
    pub fn write(path: &Path, error: &WriteError) -> Failure {
        match error {
            WriteError::Io(error) => Failure::io("write", path, error),
            error => Failure::new(format!("cannot write {}: {error}", path.display())),
        }
    }
}

/// The kernel's words in lower case, as all our messages are.
fn io_text(error: &io::Error) -> String {
    let text = error.to_string();
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", printable_line(&self.error))?;
        for line in &self.printed {
            writeln!(f, "  | {}", printable_line(line))?;
        }
        if let Some(hint) = &self.hint {
            writeln!(f, "hint: {}", printable_line(hint))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
