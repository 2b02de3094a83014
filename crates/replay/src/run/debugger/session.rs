//! A gdb that runs, and the places to which it has the build replayed again.

use super::DebuggerError;
use crate::channel::Halted;
use crate::run::stop_place::{StopPlace, StopPlan, Stretch};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, ExitStatus};

/// gdb, and what it requests: a line for each.
#[derive(Debug)]
pub struct Session {
    child: Child,
    /// Ends with gdb, which has the other end.
    requests: BufReader<UnixStream>,
    /// What it found, in the order in which it says so: a JSON object each.
    facts: Vec<String>,
}

/// Request of gdb.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Another replay.
    Replay(StopPlan),
    /// How far the thread with this number of the kernel has come, and the address of the output that is looked for.
    Where(i32),
    /// None: gdb has ended.
    End,
}

/// Longest line of a gdb, in bytes.
const LINE_BYTES: u64 = 16 << 20;

impl Session {
    pub(super) fn new(child: Child, requests: UnixStream) -> Session {
        Session { child, requests: BufReader::new(requests), facts: Vec::new() }
    }

    /// Exit status of gdb, if it has ended.
    pub(super) fn ended(&mut self) -> Result<Option<ExitStatus>, DebuggerError> {
        self.child.try_wait().map_err(DebuggerError::Wait)
    }

    /// What gdb found until now: a JSON object each.
    pub(crate) fn facts(&self) -> &[String] {
        &self.facts
    }

    /// Says that a thread waits at the requested place.
    pub(crate) fn reached(&mut self, halted: &Halted, frame: u64, diverged: bool) -> Result<(), DebuggerError> {
        self.answer(&format!("stopped {}", stop_words(halted, frame, diverged)))
    }

    /// Says why there is no such place.
    pub(crate) fn refuse(&mut self, why: &str) -> Result<(), DebuggerError> {
        self.answer(&why.replace('\n', " "))
    }

    /// Says how far a thread has come: the record that it has passed last, and the address of a byte of output.
    pub(super) fn place(&mut self, record: Option<u64>, output: Option<u64>) -> Result<(), DebuggerError> {
        let word = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        self.answer(&format!("at {} {}", word(record), word(output)))
    }

    fn answer(&mut self, line: &str) -> Result<(), DebuggerError> {
        match writeln!(self.requests.get_mut(), "{line}") {
            // It has ended, which the next request says.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other.map_err(DebuggerError::Wait),
        }
    }

    /// The next replay that is requested after one has ended; `None` when gdb has ended.
    pub(crate) fn next_replay(&mut self) -> Result<Option<StopPlan>, DebuggerError> {
        loop {
            match self.request()? {
                Request::Replay(plan) => return Ok(Some(plan)),
                Request::Where(_) => self.place(None, None)?,
                Request::End => return Ok(None),
            }
        }
    }

    pub(super) fn request(&mut self) -> Result<Request, DebuggerError> {
        let mut line = String::new();
        loop {
            line.clear();
            let mut limited = self.requests.by_ref().take(LINE_BYTES);
            if limited.read_line(&mut line).map_err(DebuggerError::Wait)? == 0 {
                self.child.wait().map_err(DebuggerError::Wait)?;
                return Ok(Request::End);
            }
            if let Some(facts) = line.strip_prefix("facts ") {
                self.facts.push(facts.trim_end().to_owned());
                continue;
            }
            match request(&line) {
                Some(request) => return Ok(request),
                None => self.refuse("expected a place: frame N, record N or divergence")?,
            }
        }
    }
}

/// A stop in words for gdb: process, thread, frame, index of the process, record, address of the arrival, 1 for a divergence, and where
/// the library has its block of a thread.
pub(super) fn stop_words(halted: &Halted, frame: u64, diverged: bool) -> String {
    let Halted { pid, tid, process, record, arrival, block: (below, bytes), .. } = halted;
    format!("{pid} {tid} {frame} {process} {record} {arrival} {} {below} {bytes}", u8::from(diverged))
}

impl Drop for Session {
    /// One that still runs has nothing to debug.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill().and_then(|()| self.child.wait());
        }
    }
}

/// `where 4711`; a place; `from 0 12 30` for records 12 to 30 of process 0 before a place.
fn request(line: &str) -> Option<Request> {
    let mut words = line.split_ascii_whitespace();
    let first = words.next()?;
    let found = match first {
        "where" => Request::Where(words.next()?.parse().ok()?),
        "from" => {
            let (process, from, to) =
                (words.next()?.parse().ok()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            let stretch = Some(Stretch { process, from, to });
            let kind = words.next()?;
            Request::Replay(StopPlan { stretch, place: place(kind, &mut words)? })
        }
        kind => Request::Replay(StopPlan::at(place(kind, &mut words)?)),
    };
    words.next().is_none().then_some(found)
}

/// `frame 12`, `record 1 30` of process 1, `divergence`.
fn place<'a>(kind: &str, words: &mut impl Iterator<Item = &'a str>) -> Option<StopPlace> {
    Some(match kind {
        "frame" => StopPlace::Frame(words.next()?.parse().ok()?),
        "record" => {
            let process = words.next()?.parse().ok()?;
            StopPlace::Record { process, record: words.next()?.parse().ok()? }
        }
        "divergence" => StopPlace::Divergence,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_place_a_stretch_before_it_or_a_question() {
        let replay = |place| Some(Request::Replay(StopPlan::at(place)));
        assert_eq!(request("frame 12\n"), replay(StopPlace::Frame(12)));
        assert_eq!(request("record 1 30\n"), replay(StopPlace::Record { process: 1, record: 30 }));
        assert_eq!(request("divergence\n"), replay(StopPlace::Divergence));
        let stretch = Some(Stretch { process: 2, from: 3, to: 30 });
        let plan = StopPlan { stretch, place: StopPlace::Record { process: 2, record: 30 } };
        assert_eq!(request("from 2 3 30 record 2 30\n"), Some(Request::Replay(plan)));
        assert_eq!(request("where 4711\n"), Some(Request::Where(4711)));
        for wrong in
            ["", "frame", "frame x", "frame 1 2", "record 1", "back", "from 1 2 3", "from 1 2 frame 3", "where"]
        {
            assert_eq!(request(wrong), None, "{wrong}");
        }
    }
}
