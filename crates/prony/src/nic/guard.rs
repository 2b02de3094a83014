//! A process that gives huge pages back when this one is killed.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use prony_machine::{Tree, UndoError, huge_pages};

use crate::exit::Exit;
use crate::failure::Failure;

/// Time for the kernel to take a lock back from a process that was killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// The other process. It waits for the end of its standard input, which comes with the end of this one.
pub struct Guard {
    child: Child,
}

impl Guard {
    /// Starts it, out of reach of the terminal's signals.
    ///
    /// # Errors
    /// When this program cannot be started again.
    pub fn start() -> io::Result<Guard> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["nic", "guard"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        Ok(Guard { child: command.spawn()? })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It ends by itself, as nothing is left to do.
        let _ = self.child.wait();
    }
}

/// Waits until the run is over, and gives the huge pages back.
///
/// # Errors
/// When the undo file cannot be used.
pub fn wait() -> Result<Exit, Failure> {
    // An error is the end of it as well.
    let _ = io::stdin().read_to_end(&mut Vec::new());
    let until = Instant::now() + PATIENCE;
    loop {
        match huge_pages::give_back(&Tree::machine()) {
            Err(UndoError::Busy { .. }) if Instant::now() < until => thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(crate::machine::undo_failure("restore", &error)),
            Ok(_) => return Ok(Exit::Good),
        }
    }
}
