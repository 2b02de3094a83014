//! The command under test, and its output.

use std::env;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// `target/PROFILE`, where cargo puts programs: tests and benchmarks are in `deps` below it.
fn build_directory() -> PathBuf {
    let test = env::current_exe().expect("Linux knows it");
    let build = test.parent().and_then(Path::parent).expect("cargo puts tests two levels below");
    build.to_owned()
}

/// The `prony` that was built along with the test.
pub fn program() -> PathBuf {
    let program = build_directory().join("prony");
    assert!(program.exists(), "{}: expected the command, found nothing: cargo build -p prony", program.display());
    program
}

/// A directory for what several tests share; cargo leaves it alone.
pub fn target_tmp() -> PathBuf {
    let directory = build_directory().parent().expect("a profile has a directory of its own in `target`").join("tmp");
    fs::create_dir_all(&directory).expect("cargo writes to it too");
    directory
}

/// Directory in which the tests keep the list of recorded demos, instead of the user's home.
pub fn state_home() -> PathBuf {
    target_tmp().join("state")
}

/// Directory in which the tests keep what was found in object files, instead of the user's home.
pub fn cache_home() -> PathBuf {
    target_tmp().join("cache")
}

/// The command under test, with [`state_home`] and [`cache_home`].
pub fn prony() -> Command {
    let mut command = Command::new(program());
    command.env("XDG_STATE_HOME", state_home()).env("XDG_CACHE_HOME", cache_home());
    command
}

/// The output of a command: exit code, standard output and standard error.
#[derive(Debug)]
pub struct CommandOutput {
    /// None if a signal ended it.
    pub code: Option<i32>,
    /// Number of the signal that ended it.
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl CommandOutput {
    /// Runs `command` to its end.
    pub fn to(command: &mut Command) -> CommandOutput {
        CommandOutput::of(command.output().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}")))
    }

    /// Output of a command that has ended.
    pub fn of(output: Output) -> CommandOutput {
        let text = |bytes| String::from_utf8(bytes).expect("answers and messages are text");
        let (code, signal) = (output.status.code(), output.status.signal());
        CommandOutput { code, signal, stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Standard output, parsed as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// Exit code, standard output and standard error, for a snapshot.
    pub fn whole(&self) -> String {
        let code = self.code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        format!("exit code {code}\n--- stdout\n{}--- stderr\n{}", self.stdout, self.stderr)
    }
}
