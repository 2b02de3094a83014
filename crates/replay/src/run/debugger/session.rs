//! A gdb that runs, and the places to which it has the build replayed again.

use super::DebuggerError;
use crate::run::stop_place::StopPlace;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, ExitStatus};

/// gdb, and what it requests: a line for each place.
#[derive(Debug)]
pub struct Session {
    child: Child,
    /// Ends with gdb, which has the other end.
    requests: BufReader<UnixStream>,
}

impl Session {
    pub(super) fn new(child: Child, requests: UnixStream) -> Session {
        Session { child, requests: BufReader::new(requests) }
    }

    /// Exit status of gdb, if it has ended.
    pub(super) fn ended(&mut self) -> Result<Option<ExitStatus>, DebuggerError> {
        self.child.try_wait().map_err(DebuggerError::Wait)
    }

    /// Says that a thread waits at the requested place.
    pub(crate) fn reached(&mut self, pid: i32, tid: i32, frame: u64) -> Result<(), DebuggerError> {
        self.answer(&format!("stopped {pid} {tid} {frame}"))
    }

    /// Says why there is no such place.
    pub(crate) fn refuse(&mut self, why: &str) -> Result<(), DebuggerError> {
        self.answer(&why.replace('\n', " "))
    }

    fn answer(&mut self, line: &str) -> Result<(), DebuggerError> {
        match writeln!(self.requests.get_mut(), "{line}") {
            // It has ended, which the next request says.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other.map_err(DebuggerError::Wait),
        }
    }

    /// The place that is requested next; `None` when gdb has ended.
    pub(crate) fn request(&mut self) -> Result<Option<StopPlace>, DebuggerError> {
        let mut line = String::new();
        loop {
            line.clear();
            if self.requests.read_line(&mut line).map_err(DebuggerError::Wait)? == 0 {
                self.child.wait().map_err(DebuggerError::Wait)?;
                return Ok(None);
            }
            match place(&line) {
                Some(place) => return Ok(Some(place)),
                None => self.refuse("expected a place: frame N, record N or divergence")?,
            }
        }
    }
}

impl Drop for Session {
    /// One that still runs has nothing to debug.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill().and_then(|()| self.child.wait());
        }
    }
}

/// `frame 12`, `record 1 30` of process 1, `divergence`.
fn place(line: &str) -> Option<StopPlace> {
    let mut words = line.split_ascii_whitespace();
    let place = match words.next()? {
        "frame" => StopPlace::Frame(words.next()?.parse().ok()?),
        "record" => {
            let process = words.next()?.parse().ok()?;
            StopPlace::Record { process, record: words.next()?.parse().ok()? }
        }
        "divergence" => StopPlace::Divergence,
        _ => return None,
    };
    words.next().is_none().then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_place() {
        assert_eq!(place("frame 12\n"), Some(StopPlace::Frame(12)));
        assert_eq!(place("record 1 30\n"), Some(StopPlace::Record { process: 1, record: 30 }));
        assert_eq!(place("divergence\n"), Some(StopPlace::Divergence));
        for wrong in ["", "frame", "frame x", "frame 1 2", "record 1", "back"] {
            assert_eq!(place(wrong), None, "{wrong}");
        }
    }
}
