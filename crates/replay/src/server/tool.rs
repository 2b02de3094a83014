//! A tool that starts the server: a debugger, a tracer, a checker of memory.

use crate::channel::Started;
use crate::server::program::{self, Architecture, Program, ProgramError};
use prony_channel::digest_of_arguments;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// An event that the kernel counts, as `perf_event_open(2)` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedEvent {
    /// Kind of the event: `type` of `perf_event_attr`.
    pub kind: u32,
    /// The event: `config` of `perf_event_attr`.
    pub config: u64,
}

/// What is collected of a build, by a tool or without one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Collects {
    /// All that the tool looks at.
    #[default]
    All,
    /// Callgrind: what the server itself runs, without this library and what that calls. Hooked calls are counted.
    Server,
    /// The same, and each frame by itself: Callgrind writes a part of its file at the end of each, the first of which is what came before.
    Frames,
    /// Without a tool: this event, of what the server itself runs, by frame. Hooked calls are counted.
    Event(CountedEvent),
}

/// A tool that starts a build.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolOptions {
    /// Program and arguments of the tool; empty for none.
    pub command: Vec<OsString>,
    /// What it is to collect.
    pub collects: Collects,
    /// Keep the times of the build and of its frames, which are those of the tool and the build together.
    pub timed: bool,
    /// Directory in which the tool writes `PID.out` of each process: the user that a process becomes owns both.
    pub writes_to: Option<PathBuf>,
}

/// Bytes for the records of a demo beside a tool for programs of i386. Such a tool has its own memory below 4 GiB, too: Valgrind's
/// begins at 0x81c0_0000, and the library maps the records from 0x7e00_0000 on.
const ROOM_I386: u64 = 32 << 20;

impl ToolOptions {
    /// How many of `bytes`, which a replay may take for the records, there is room for.
    pub(crate) fn room(&self, program: &Program, bytes: u64) -> u64 {
        match program.architecture {
            Architecture::I386 if !self.command.is_empty() => bytes.min(ROOM_I386),
            _ => bytes,
        }
    }
}

/// A tool and the server that it is to start.
#[derive(Debug)]
pub(crate) struct Tool {
    /// Path of the tool's program file.
    pub(crate) executable: PathBuf,
    /// The tool's words, and behind them the server's command.
    pub(crate) command: Vec<OsString>,
    /// The program in which the recording is joined.
    pub(crate) started: Started,
}

impl Tool {
    /// Puts `words` before a server's command. The tool is looked for where the person is; `cwd` and `search` are the working
    /// directory and `PATH` that it gets, by which it looks for the server.
    ///
    /// # Errors
    /// When there is no such program.
    pub(crate) fn of(
        words: &[OsString],
        server: &Program,
        arguments: &[OsString],
        cwd: &Path,
        search: Option<&OsStr>,
    ) -> Result<Tool, ProgramError> {
        let name = words.first().ok_or(ProgramError::NoCommand)?;
        let here = std::env::current_dir().unwrap_or_default();
        let executable = program::locate(name, &here, std::env::var_os("PATH").as_deref())?;
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let interpreter = program::interpreter(&server.path);
        let script = interpreter.is_some().then(|| real(&server.path));
        let started = Started {
            program: real(interpreter.as_deref().unwrap_or(&server.path)),
            script,
            arguments: digest_of_arguments(arguments.iter().skip(1).map(|argument| argument.as_bytes())),
        };
        // The word of the command, which servers print, if it leads the tool to the same file.
        let word =
            arguments.first().filter(|word| program::locate(word, cwd, search).is_ok_and(|path| path == server.path));
        let server = word.cloned().unwrap_or_else(|| server.path.clone().into());
        let command = words.iter().cloned().chain([server]).chain(arguments.iter().skip(1).cloned()).collect();
        Ok(Tool { executable, command, started })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_servers_command_stands_behind_the_words_of_the_tool() {
        let folder = tempfile::tempdir().expect("a directory");
        let server = folder.path().join("server");
        fs::write(&server, "#! /bin/sh -e\n").expect("a script");
        fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).expect("its mode");
        let words = ["env", "--"].map(OsString::from);
        let found = Program { path: server.clone(), build_id: Vec::new(), architecture: Architecture::Own };
        let of = |name: &str, search: &Path| {
            let arguments = [name, "-p", "1"].map(OsString::from);
            Tool::of(&words, &found, &arguments, Path::new("/"), Some(search.as_os_str())).expect("env is everywhere")
        };
        let tool = of("server", folder.path());
        assert_eq!(tool.command, ["env", "--", "server", "-p", "1"]);
        assert_eq!(tool.started.script, Some(server.canonicalize().expect("it is there")));
        assert_eq!(tool.started.program, Path::new("/bin/sh").canonicalize().expect("it is there"));
        let elsewhere = of("server", Path::new("/nowhere"));
        assert_eq!(elsewhere.command[2], server.into_os_string());
    }

    #[test]
    fn a_tool_that_is_not_there_is_named() {
        let found = Program { path: "/bin/true".into(), build_id: Vec::new(), architecture: Architecture::Own };
        let words = [OsString::from("no-such-tool")];
        let error = Tool::of(&words, &found, &["true".into()], Path::new("/"), None).expect_err("no such tool");
        assert!(error.to_string().starts_with("`no-such-tool`: command not found in "), "{error}");
    }
}
