//! gdb, or gdbserver, on the thread of a replay that waits.

use super::DebuggerError;
use crate::channel::Halted;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Child, Command};
use tempfile::NamedTempFile;

/// Commands for gdb: signals and frames of the library in the server, and the thread.
const SCRIPT: &str = include_str!("place.py");

/// How gdb is started.
#[derive(Debug, Clone, Default)]
pub struct GdbOptions {
    /// Program to run; `None` for `gdb`, or `gdbserver` with a port.
    pub program: Option<OsString>,
    /// Commands that gdb runs once the build is stopped.
    pub commands: Vec<String>,
    /// End gdb after these commands.
    pub batch: bool,
    /// Port of localhost on which gdbserver waits for gdb. That runs no commands then, but by itself.
    pub port: Option<u16>,
}

impl GdbOptions {
    /// Starts gdb on a thread.
    pub(crate) fn start(&self, halted: &Halted) -> Result<Child, DebuggerError> {
        let pid = halted.pid.to_string();
        let Some(port) = self.port else {
            // A command of gdb is one line; a text of Rust in quotes is one of Python.
            let script = format!("python exec({:?})", with_names(&pid, halted));
            let mut words: Vec<&str> = vec!["-q"];
            words.extend(self.batch.then_some("-batch"));
            words.extend(["-ex", &script]);
            words.extend(self.commands.iter().flat_map(|command| ["-ex", command]));
            return self.spawn("gdb", &words);
        };
        self.spawn("gdbserver", &["--once", "--attach", &format!("localhost:{port}"), &pid])
    }

    /// What a gdb is to run that has connected to the port; `None` without one.
    pub(crate) fn script(&self, halted: &Halted) -> Result<Option<NamedTempFile>, DebuggerError> {
        let written = || -> io::Result<NamedTempFile> {
            let mut file = tempfile::Builder::new().prefix("prony-").suffix(".py").tempfile()?;
            file.write_all(with_names("None", halted).as_bytes())?;
            Ok(file)
        };
        self.port.map(|_| written().map_err(DebuggerError::Script)).transpose()
    }

    fn spawn(&self, default: &str, words: &[&str]) -> Result<Child, DebuggerError> {
        let program = self.program.clone().unwrap_or_else(|| OsString::from(default));
        Command::new(&program)
            .args(words)
            .spawn()
            .map_err(|error| DebuggerError::Start { program: program.to_string_lossy().into_owned(), error })
    }
}

/// The script, with the names that it expects.
fn with_names(process: &str, halted: &Halted) -> String {
    format!("PROCESS = {process}\nTHREAD = {}\n{SCRIPT}", halted.tid)
}
