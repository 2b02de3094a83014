//! The end of what a build prints, kept to explain why it diverged.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Number of bytes kept of the output's end.
const KEPT_BYTES: usize = 16 << 10;
/// Lines that are shown of them.
const LINES: usize = 20;
/// How long a process that outlived the replay is waited for, which would still print.
const PATIENCE: Duration = Duration::from_secs(1);

/// A pipe that a build prints into, and who empties it.
pub(crate) struct Printed {
    file: File,
    kept: Receiver<Vec<u8>>,
}

impl Printed {
    /// Opens the pipe and starts the thread that reads it.
    pub(crate) fn start() -> io::Result<Printed> {
        let (mut reader, writer) = io::pipe()?;
        let (done, kept) = channel();
        std::thread::spawn(move || {
            let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                all.extend_from_slice(&buffer[..count]);
                if all.len() > 2 * KEPT_BYTES {
                    all.drain(..all.len() - KEPT_BYTES);
                }
            }
            // The receiver may be gone.
            let _ = done.send(all);
        });
        Ok(Printed { file: File::from(OwnedFd::from(writer)), kept })
    }

    /// Write end of the pipe, for the build's output.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The last lines, once no process prints any more.
    pub(crate) fn last_lines(self) -> Vec<String> {
        drop(self.file);
        let kept = self.kept.recv_timeout(PATIENCE).unwrap_or_default();
        let text = String::from_utf8_lossy(&kept);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].iter().map(|line| (*line).to_owned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_last_lines_are_kept_however_many_there_are() {
        let printed = Printed::start().expect("a pipe");
        for line in 0..20_000 {
            writeln!(printed.file(), "line {line}").expect("somebody reads");
        }
        let lines = printed.last_lines();
        assert_eq!((lines.len(), lines[0].as_str(), lines[19].as_str()), (LINES, "line 19980", "line 19999"));
    }
}
