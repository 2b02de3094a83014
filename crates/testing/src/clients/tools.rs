//! Clients that come as programs of their own.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::recording::Stop;

/// Runs `command` again and again until the recording ends; returns how often it succeeded.
///
/// A run that the end of the recording interrupts is killed and does not count.
pub fn repeat(stop: &Stop, mut command: impl FnMut() -> Command) -> u32 {
    let mut succeeded = 0;
    while !stop.is_set() {
        let mut tool = Tool::start(&mut command());
        if tool.ends_well(stop) {
            succeeded += 1;
        } else {
            // Not there yet, or gone: give it the time of a poll.
            thread::park_timeout(Duration::from_millis(20));
        }
    }
    succeeded
}

/// A program that is killed and reaped when the story is done with it.
pub struct Tool {
    child: Child,
}

impl Tool {
    /// Starts it without input and output.
    pub fn start(command: &mut Command) -> Tool {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Tool { child: child.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}")) }
    }

    /// Waits until it has ended or the recording has; true when it succeeded.
    pub fn ends_well(&mut self, stop: &Stop) -> bool {
        let mut status = None;
        stop.until(|| {
            status = self.child.try_wait().expect("the child is ours");
            status.is_some()
        });
        status.is_some_and(|status| status.success())
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        // It may have ended by itself; either way it is reaped here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
