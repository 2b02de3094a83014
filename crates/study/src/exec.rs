//! Machines that a command of the study leads to: `ssh xeon {command}`, GNU parallel, Nomad.
//!
//! The other side runs `prony study work` on a directory it sees; without a shared one, commands send the directory
//! there and fetch it back, and what came back is merged.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use sha2::{Digest, Sha256};

use crate::artifacts::{self, ArtifactError, BUILDS};
use crate::directory::{Directory, DirectoryError};
use crate::merge::{self, MergeError};

/// Directory below a study's directory that receives results, with a subdirectory for each machine.
pub const INCOMING: &str = "incoming";

/// Error of a command that runs cells on another machine.
#[derive(Debug, thiserror::Error)]
pub enum ExecError {
    /// A template of a command is malformed.
    #[error("`{template}`: {problem}")]
    Template {
        /// As the study says it.
        template: String,
        /// Problem of the template, for the message.
        problem: String,
    },
    /// A command of it could not be started.
    #[error("cannot run `{command}`: {error}")]
    Start {
        /// Command line that was to run.
        command: String,
        /// Error that the system returned.
        error: io::Error,
    },
    /// A command of it failed.
    #[error("`{command}` ended with {status}{}", if printed.is_empty() { String::new() } else { format!(": {printed}") })]
    Failed {
        /// Command line that ran.
        command: String,
        /// Exit status of the command.
        status: ExitStatus,
        /// The last line of what it printed on standard error.
        printed: String,
    },
    /// Our own program could not be shipped.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// Results that came back cannot be merged.
    #[error(transparent)]
    Merge(#[from] MergeError),
}

/// Ships this program into a study's directory, so that every machine runs the same. Returns where it lies.
///
/// # Errors
/// [`ArtifactError`] when it cannot be read or copied.
pub fn store_program(directory: &Path) -> Result<PathBuf, ArtifactError> {
    let program = Path::new("/proc/self/exe");
    let io = |error| ArtifactError::Io { path: program.to_owned(), error };
    let program = fs::canonicalize(program).map_err(io)?;
    let artifact = artifacts::Artifact { sha256: artifacts::digest(&program)?, name: "prony".to_owned() };
    let to = artifact.place(directory);
    if !to.exists() {
        let parent = directory.join(BUILDS).join(&artifact.sha256);
        fs::create_dir_all(&parent).map_err(io)?;
        crate::atomic_file::copy(&program, &to).map_err(io)?;
        fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).map_err(io)?;
    }
    Ok(to)
}

/// Default working directory of a machine of this study: one that a reboot does not empty.
pub fn scratch(directory: &Path, machine: &str) -> PathBuf {
    let hash = Sha256::digest(format!("{}\0{machine}", directory.display()));
    let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Path::new("/var/tmp").join(format!("prony-{hash}"))
}

/// The command that runs cells of a machine: words.
pub fn work_command(
    program: &Path,
    directory: &Path,
    machine: &str,
    scratch: &Path,
    block: Option<u64>,
) -> Vec<String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut words = vec![text(program), "study".into(), "work".into(), text(directory), "--machine".into()];
    words.extend([machine.to_owned(), "--scratch".into(), text(scratch)]);
    if let Some(block) = block {
        words.extend(["--block".into(), block.to_string()]);
    }
    words
}

/// Templates of the commands that copy files to a machine, run cells there and fetch their results.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Templates {
    /// Template of a command that runs `{command}` on `{machine}`.
    pub command: String,
    /// Brings `{directory}` to `{machine}` first.
    pub send: Option<String>,
    /// Brings the directory of `{machine}` back into `{incoming}`.
    pub fetch: Option<String>,
}

/// Values that fill a template.
struct Filled<'a> {
    machine: &'a str,
    directory: &'a Path,
    incoming: &'a Path,
    command: &'a [String],
}

/// Splits a template into words and fills them; `{command}` alone becomes several words.
fn fill(template: &str, with: &Filled) -> Result<Vec<String>, ExecError> {
    let problem = |problem: &str| ExecError::Template { template: template.to_owned(), problem: problem.to_owned() };
    let words = shell_words::split(template).map_err(|_| problem("a quote that is not closed"))?;
    if words.is_empty() {
        return Err(problem("expected a command"));
    }
    let mut filled = Vec::new();
    // ssh and its like hand what they are given to a shell, which takes words apart again.
    let command = shell_words::join(with.command);
    for word in words {
        let word = word
            .replace("{machine}", with.machine)
            .replace("{directory}", &with.directory.to_string_lossy())
            .replace("{incoming}", &with.incoming.to_string_lossy())
            .replace("{command}", &command);
        filled.push(word);
    }
    Ok(filled)
}

/// Command that runs cells on another machine. Dropping it ends the command that was started.
#[derive(Debug)]
pub struct Running {
    child: Child,
    command: String,
}

impl Running {
    /// Sends the directory, if requested, and starts the work.
    ///
    /// # Errors
    /// [`ExecError`] when a command cannot be made, started, or fails.
    pub fn start(
        templates: &Templates,
        directory: &Path,
        machine: &str,
        command: &[String],
    ) -> Result<Running, ExecError> {
        let incoming = directory.join(INCOMING).join(machine);
        let with = Filled { machine, directory, incoming: &incoming, command };
        if let Some(send) = &templates.send {
            run(&fill(send, &with)?)?;
        }
        let words = fill(&templates.command, &with)?;
        let child = spawn(&words)?;
        Ok(Running { child, command: shell_words::join(&words) })
    }

    /// True once the command has ended.
    ///
    /// # Errors
    /// [`ExecError`] when it failed, that is with another code than 0 and 1: a finding is none.
    pub fn ended(&mut self) -> Result<bool, ExecError> {
        let start = |error| ExecError::Start { command: self.command.clone(), error };
        match self.child.try_wait().map_err(start)? {
            None => Ok(false),
            Some(status) if matches!(status.code(), Some(0 | 1 | 3)) => Ok(true),
            Some(status) => {
                let mut printed = String::new();
                if let Some(mut stderr) = self.child.stderr.take() {
                    let _ = io::Read::read_to_string(&mut stderr, &mut printed);
                }
                let printed = last_line(&printed);
                Err(ExecError::Failed { command: self.command.clone(), status, printed })
            }
        }
    }

    /// Asks the command to stop; values that it measured are kept.
    pub fn interrupt(&mut self) {
        if let Some(pid) = rustix::process::Pid::from_raw(self.child.id().cast_signed()) {
            // It may have ended by itself.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// Fetches what a machine did and merges it; with a shared directory there is nothing to do.
///
/// # Errors
/// [`ExecError`] when it cannot be fetched or merged.
pub fn fetch(templates: &Templates, directory: &Directory, machine: &str) -> Result<Vec<merge::Merged>, ExecError> {
    let Some(fetch) = &templates.fetch else { return Ok(Vec::new()) };
    let incoming = directory.path.join(INCOMING).join(machine);
    fs::create_dir_all(&incoming).map_err(|error| {
        let path = incoming.clone();
        MergeError::from(DirectoryError::Io { path, error })
    })?;
    let with = Filled { machine, directory: &directory.path, incoming: &incoming, command: &[] };
    run(&fill(fetch, &with)?)?;
    Ok(merge::merge(directory, &incoming)?)
}

fn spawn(words: &[String]) -> Result<Child, ExecError> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.spawn().map_err(|error| ExecError::Start { command: shell_words::join(words), error })
}

fn run(words: &[String]) -> Result<(), ExecError> {
    let command = shell_words::join(words);
    let start = |error| ExecError::Start { command: command.clone(), error };
    let output = spawn(words)?.wait_with_output().map_err(start)?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let printed = last_line(&String::from_utf8_lossy(&output.stderr));
            Err(ExecError::Failed { command, status: output.status, printed })
        }
    }
}

fn last_line(text: &str) -> String {
    text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().chars().take(400).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str) -> Result<Vec<String>, ExecError> {
        let command = ["/a b/prony", "study", "work"].map(str::to_owned);
        let with =
            Filled { machine: "xeon", directory: Path::new("/d"), incoming: Path::new("/d/i"), command: &command };
        fill(template, &with)
    }

    #[test]
    fn a_template_is_words_and_the_command_is_one_that_a_shell_takes_apart() {
        let words = filled("ssh -o BatchMode=yes {machine} {command}").expect("it is a template");
        assert_eq!(words, ["ssh", "-o", "BatchMode=yes", "xeon", "'/a b/prony' study work"]);
        let words = filled("rsync -a '{machine}:{directory}/' {incoming}/").expect("it is a template");
        assert_eq!(words, ["rsync", "-a", "xeon:/d/", "/d/i/"]);
        assert_eq!(filled(" ").expect_err("it is empty").to_string(), "` `: expected a command");
    }

    #[test]
    fn a_command_that_fails_says_how_and_what_it_printed() {
        let words = ["sh", "-c", "echo no route to host >&2; exit 255"].map(str::to_owned);
        let error = run(&words).expect_err("it fails").to_string();
        assert!(error.ends_with("ended with exit status: 255: no route to host"), "{error}");
    }
}
