//! Scripts that use `pyperf.Runner`: each of their benchmarks is measured as a command.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::process::{Command, ExitStatus, Stdio};

use crate::command::{CommandError, CommandLine};
use crate::options::Subject;
use crate::worker;

/// Script under an interpreter, and what it measures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Name for people.
    pub name: String,
    /// Program that runs it.
    interpreter: String,
    /// The script and its arguments.
    words: Vec<String>,
    /// Names of its benchmarks, in order.
    pub benchmarks: Vec<String>,
}

/// Reasons why the benchmarks of a script are unknown.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The interpreter cannot be started.
    #[error("cannot run `{interpreter}`: {error}")]
    Start {
        /// Its name.
        interpreter: String,
        /// Reason of the operating system.
        error: io::Error,
    },
    /// The script failed.
    #[error("cannot list the benchmarks of {script}: {status}")]
    Failed {
        /// Path of the script.
        script: String,
        /// Program that ran it.
        interpreter: String,
        /// End of the process.
        status: ExitStatus,
        /// What it printed on standard error.
        printed: String,
    },
    /// It ran and has no benchmark.
    #[error("{script} has no benchmark")]
    Empty {
        /// Path of the script.
        script: String,
        /// What it printed on standard error.
        printed: String,
    },
}

impl Script {
    /// Asks a script for the names of its benchmarks, without running any.
    ///
    /// # Errors
    /// [`ScriptError`] when it does not name any.
    pub fn read(name: String, interpreter: &str, words: Vec<String>) -> Result<Script, ScriptError> {
        let interpreter = executable(interpreter);
        let script = words.first().cloned().unwrap_or_default();
        let mut command = Command::new(&interpreter);
        command.args(["-c", worker::RUNNER, "list"]).args(&words).stdin(Stdio::null());
        let output =
            command.output().map_err(|error| ScriptError::Start { interpreter: interpreter.clone(), error })?;
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            return Err(ScriptError::Failed { script, interpreter, status: output.status, printed });
        }
        let names = String::from_utf8_lossy(&output.stdout);
        let benchmarks: Vec<String> = names.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if benchmarks.is_empty() {
            return Err(ScriptError::Empty { script, printed });
        }
        Ok(Script { name, interpreter, words, benchmarks })
    }

    /// What is run for the benchmark of this name.
    ///
    /// # Errors
    /// [`CommandError`] when the interpreter is gone.
    pub fn subject(&self, benchmark: &str) -> Result<Subject, CommandError> {
        let number = self.benchmarks.iter().position(|other| other == benchmark).unwrap_or(0).to_string();
        let words = [self.interpreter.as_str(), "-c", worker::RUNNER, &number].into_iter().map(OsString::from);
        let words = words.chain(self.words.iter().map(OsString::from)).collect();
        let command = CommandLine::of_words(words)?;
        let (prepare, conclude, setup, cleanup, template) = (None, None, None, None, None);
        let (name, parameters) = (self.name.clone(), BTreeMap::new());
        Ok(Subject { name, command, prepare, conclude, setup, cleanup, template, parameters })
    }
}

/// Names of the benchmarks that all scripts have, in the order of the first.
pub fn common(scripts: &[Script]) -> Vec<String> {
    let is_everywhere = |name: &&String| scripts.iter().all(|script| script.benchmarks.contains(name));
    let first = scripts.first().map_or(&[][..], |script| &script.benchmarks);
    first.iter().filter(is_everywhere).cloned().collect()
}

/// The interpreter itself, where the name stands for a script that looks for it each time, as pyenv's do.
pub fn executable(interpreter: &str) -> String {
    let output =
        Command::new(interpreter).args(["-c", "import sys; print(sys.executable)"]).stdin(Stdio::null()).output();
    let answer = output.ok().filter(|output| output.status.success());
    let path = answer.and_then(|answer| String::from_utf8(answer.stdout).ok()).map(|path| path.trim().to_owned());
    path.filter(|path| !path.is_empty()).unwrap_or_else(|| interpreter.to_owned())
}
