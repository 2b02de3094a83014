//! Build commands of users: text for `sh`, run to its end with its output in a file.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use prony_machine::{Interrupt, signal_name};
use rustix::process::{Pid, Signal, kill_process_group};

/// Time between two looks whether a build has ended.
const POLL: Duration = Duration::from_millis(20);
/// Time that a build has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// Bytes of a build's output that are read for its last lines.
const TAIL_BYTES: u64 = 4096;
/// Lines of a build's output that are shown.
const TAIL_LINES: usize = 8;

/// Reasons why a build has no result.
#[derive(Debug)]
pub enum BuildError {
    /// Something of the system failed.
    Io(PathBuf, io::Error),
    /// A signal requested a stop.
    Interrupted,
}

/// Runs `text` by `sh` in a process group of its own, with both outputs in the file `log`; `None` if it succeeded, else how it
/// ended: `exit code 2`, `SIGKILL`. `adapt`: sets the environment.
///
/// # Errors
/// [`BuildError`]; all processes of the build are gone then.
pub fn run(
    text: &str,
    directory: &Path,
    log: &Path,
    adapt: impl FnOnce(&mut Command),
    interrupt: Option<&Interrupt>,
) -> Result<Option<String>, BuildError> {
    let io_error = |path: &Path| {
        let path = path.to_owned();
        move |error| BuildError::Io(path, error)
    };
    let file = File::create(log).map_err(io_error(log))?;
    let both = file.try_clone().map_err(io_error(log))?;
    let mut command = Command::new("sh");
    command.args(["-c", text]).current_dir(directory);
    command.stdin(Stdio::null()).stdout(file).stderr(both).process_group(0);
    adapt(&mut command);
    let shell = Path::new("sh");
    let mut child = command.spawn().map_err(io_error(shell))?;
    loop {
        if let Some(status) = child.try_wait().map_err(io_error(shell))? {
            return Ok(match (status.success(), status.code()) {
                (true, _) => None,
                (false, Some(code)) => Some(format!("exit code {code}")),
                (false, None) => Some(status.signal().map_or_else(|| "a signal".to_owned(), signal_name)),
            });
        }
        if interrupt.is_some_and(Interrupt::is_requested) {
            end(&mut child);
            return Err(BuildError::Interrupted);
        }
        thread::sleep(POLL);
    }
}

/// The last lines that a build printed into `log`.
pub fn printed(log: &Path) -> Vec<String> {
    let read = || -> io::Result<String> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_default();
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].to_vec()
}

/// Ends a build with all of its processes.
fn end(child: &mut Child) {
    let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
    // What has ended meanwhile needs no signal.
    let _ = kill_process_group(group, Signal::TERM);
    let begun = Instant::now();
    while begun.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
        thread::sleep(POLL);
    }
    let _ = kill_process_group(group, Signal::KILL);
    let _ = child.wait();
}
