//! gdb, gdbserver or lldb on the thread of a replay that waits.

use super::session::stop_words;
use super::{DebuggerError, Session, lldb};
use crate::channel::Halted;
use rustix::io::{FdFlags, fcntl_setfd};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use tempfile::TempPath;

/// Commands for gdb: signals and frames of the library in the server, and the thread.
const SCRIPT: &str = include_str!("place.py");
/// What a gdb can do besides that replays again: search for writes, and say what it found.
const AGAIN: [&str; 4] =
    [include_str!("again.py"), include_str!("write.py"), include_str!("facts.py"), include_str!("hash.py")];

/// How gdb is started.
#[derive(Debug, Clone, Default)]
pub struct GdbOptions {
    /// Program to run, which may be an lldb; `None` for `gdb`, or `gdbserver` with a port.
    pub program: Option<OsString>,
    /// Commands that gdb runs once the build is stopped.
    pub commands: Vec<String>,
    /// End gdb after these commands.
    pub batch: bool,
    /// File for what gdb prints; `None` for where this process prints.
    pub output: Option<Arc<File>>,
    /// Port of localhost on which gdbserver waits for gdb. That runs no commands then, but by itself.
    pub port: Option<u16>,
    /// File for what that gdb is to run; `None` for one that is removed at the end.
    pub script: Option<PathBuf>,
}

/// A file that gdb runs.
pub(crate) struct ScriptFile {
    path: PathBuf,
    /// Removes it.
    _temporary: Option<TempPath>,
}

impl ScriptFile {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl GdbOptions {
    /// Starts gdb on a thread, in this frame. `diverged`: the build has diverged there.
    pub(crate) fn start(&self, halted: &Halted, frame: u64, diverged: bool) -> Result<Session, DebuggerError> {
        let (ours, its) = UnixStream::pair().map_err(DebuggerError::Wait)?;
        let pid = halted.pid.to_string();
        if let Some(program) = self.lldb() {
            if self.port.is_some() || self.output.is_some() {
                return Err(DebuggerError::NotGdb(program.to_string_lossy().into_owned()));
            }
            let words = lldb::arguments(halted, &self.commands, self.batch);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            return Ok(Session::new(self.spawn("lldb", &words)?, ours));
        }
        let child = match self.port {
            Some(port) => self.spawn("gdbserver", &["--once", "--attach", &format!("localhost:{port}"), &pid]),
            None => {
                fcntl_setfd(&its, FdFlags::empty()).map_err(|error| DebuggerError::Wait(error.into()))?;
                let stop = stop_words(halted, frame, diverged);
                let (socket, script) = (its.as_raw_fd(), with_thread(halted));
                let script = format!(
                    "PROCESS = {pid}\nREQUESTS = {socket}\nSTOP = {stop:?}\n{script}\n\n{}",
                    AGAIN.join("\n\n")
                );
                // A command of gdb is one line; a text of Rust in quotes is one of Python.
                let script = format!("python exec({script:?})");
                let mut words: Vec<&str> = vec!["-q"];
                words.extend(self.batch.then_some("-batch"));
                words.extend(["-ex", &script]);
                words.extend(self.commands.iter().flat_map(|command| ["-ex", command]));
                self.spawn("gdb", &words)
            }
        };
        Ok(Session::new(child?, ours))
    }

    /// What a gdb is to run that has connected to the port; `None` without one.
    pub(crate) fn script(&self, halted: &Halted) -> Result<Option<ScriptFile>, DebuggerError> {
        let written = || -> io::Result<ScriptFile> {
            let text = format!("PROCESS = None\n{}", with_thread(halted));
            if let Some(path) = &self.script {
                fs::write(path, text)?;
                return Ok(ScriptFile { path: path.clone(), _temporary: None });
            }
            let mut file = tempfile::Builder::new().prefix("prony-").suffix(".py").tempfile()?;
            file.write_all(text.as_bytes())?;
            let path = file.into_temp_path();
            Ok(ScriptFile { path: path.to_path_buf(), _temporary: Some(path) })
        };
        self.port.map(|_| written().map_err(DebuggerError::Script)).transpose()
    }

    /// True for a gdb that can have the build replayed again.
    pub(crate) fn goes_back(&self) -> bool {
        self.port.is_none() && self.lldb().is_none()
    }

    /// The program, if it is an lldb.
    fn lldb(&self) -> Option<&OsString> {
        self.program.as_ref().filter(|program| lldb::is_lldb(program))
    }

    fn spawn(&self, default: &str, words: &[&str]) -> Result<Child, DebuggerError> {
        let program = self.program.clone().unwrap_or_else(|| OsString::from(default));
        let mut command = Command::new(&program);
        command.args(words);
        if let Some(path) = self.lldb().and_then(|program| lldb::python_path(program)) {
            command.env("PYTHONPATH", path);
        }
        if let Some(file) = &self.output {
            let own = || file.try_clone().map_err(DebuggerError::Script);
            command.stdin(Stdio::null()).stdout(own()?).stderr(own()?);
        }
        command.spawn().map_err(|error| DebuggerError::Start { program: program.to_string_lossy().into_owned(), error })
    }
}

fn with_thread(halted: &Halted) -> String {
    format!("THREAD = {}\n{SCRIPT}", halted.tid)
}
