//! A decoder as a process: datagrams go in, a line of JSON comes back for each.
#![deny(clippy::indexing_slicing)]

use prony_decoder::{AnswerError, Datagram, Decoded, MOST_LINE_BYTES, Reply, greeting, read_hello};
use prony_text::Untrusted;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Side of a replay that a decoder reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// What was recorded.
    Recorded,
    /// What the build sent.
    Replayed,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Recorded => "the recorded side",
            Side::Replayed => "the replayed side",
        })
    }
}

/// What is wrong with a decoder.
#[derive(Debug, thiserror::Error)]
pub enum DecoderError {
    /// It cannot be started.
    #[error("cannot start the decoder `{program}`: {error}")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        error: io::Error,
    },
    /// It ended before it had answered.
    #[error("the decoder of {side} ended ({}) at {}{}", status_text(*status), place(*datagram), last_words(said))]
    Ended {
        /// The side.
        side: Side,
        /// Datagram that it did not answer; 0 for the greeting.
        datagram: u64,
        /// How it ended; `None` if it only closed its output.
        status: Option<ExitStatus>,
        /// The end of what it wrote to standard error.
        said: String,
    },
    /// It answered everything and then reported a failure.
    #[error("the decoder of {side} answered everything and failed then ({status}){}", last_words(said))]
    Failed {
        /// The side.
        side: Side,
        /// How it ended.
        status: ExitStatus,
        /// The end of what it wrote to standard error.
        said: String,
    },
    /// It does not answer.
    #[error("the decoder of {side} did not answer for {} s at {}{}", after.as_secs_f64(), place(*datagram), last_words(said))]
    Stalled {
        /// The side.
        side: Side,
        /// Datagram that it did not answer; 0 for the greeting.
        datagram: u64,
        /// Time that was waited.
        after: Duration,
        /// The end of what it wrote to standard error.
        said: String,
    },
    /// It does not end after its input has.
    #[error("the decoder of {side} did not end within {} s after its input", after.as_secs_f64())]
    Lingers {
        /// The side.
        side: Side,
        /// Time that was waited.
        after: Duration,
    },
    /// A line without an end.
    #[error("the decoder of {side} wrote a line of more than {MOST_LINE_BYTES} bytes at {}", place(*datagram))]
    LongLine {
        /// The side.
        side: Side,
        /// Datagram that was to be answered; 0 for the greeting.
        datagram: u64,
    },
    /// A line that is no answer.
    #[error("the decoder of {side} wrote no answer at {}: {error}; its line: {}", place(*datagram), Untrusted::new(line))]
    Garbage {
        /// The side.
        side: Side,
        /// Datagram that was to be answered; 0 for the greeting.
        datagram: u64,
        /// What is wrong with the line.
        error: AnswerError,
        /// Beginning of the line.
        line: String,
    },
    /// An answer to another datagram.
    #[error("the decoder of {side} answered datagram {found} where {expected} was expected: one line for each")]
    OtherNumber {
        /// The side.
        side: Side,
        /// Datagram that was to be answered.
        expected: u64,
        /// Number in its line.
        found: u64,
    },
    /// A line that was not requested.
    #[error("the decoder of {side} wrote more lines than it was given datagrams")]
    Unexpected {
        /// The side.
        side: Side,
    },
    /// It keeps datagrams back and does not say what is in them.
    #[error("the decoder of {side} held back {count} datagrams to {} in a row", Untrusted::new(peer))]
    Holds {
        /// The side.
        side: Side,
        /// Number of datagrams.
        count: usize,
        /// Receiver.
        peer: String,
    },
    /// The sides have had the same bytes so far, and the answers differ.
    #[error(
        "the decoder is not deterministic: both sides had the same bytes up to record {record}, and it found {} there \
         differently: {} and {}",
        Untrusted::new(field),
        Untrusted::new(recorded),
        Untrusted::new(replayed)
    )]
    Inconsistent {
        /// Record of the output.
        record: u64,
        /// The field.
        field: String,
        /// Value of the recorded side.
        recorded: String,
        /// Value of the replayed side.
        replayed: String,
    },
    /// A signal requested a stop.
    #[error("interrupted")]
    Interrupted,
}

fn place(datagram: u64) -> String {
    if datagram == 0 { "the greeting".to_owned() } else { format!("datagram {datagram}") }
}

fn status_text(status: Option<ExitStatus>) -> String {
    status.map_or_else(|| "it closed its output".to_owned(), |status| status.to_string())
}

fn last_words(said: &str) -> String {
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(String::new, |line| format!("; it last said: {}", Untrusted::new(line)))
}

/// Datagrams that may wait for their answers.
const MOST_WAITING: usize = 32;
/// Bytes of standard error that are kept.
const KEPT_BYTES: usize = 4096;
/// Bytes of a wrong line that are shown.
const SHOWN_BYTES: usize = 120;
/// Time that a decoder without output has to end, and its last words have to arrive.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How often a wait looks for a signal.
const LOOK: Duration = Duration::from_millis(100);

/// A running decoder.
pub(crate) struct Decoder<'a> {
    side: Side,
    name: String,
    child: Child,
    to: Option<SyncSender<Vec<u8>>>,
    from: Receiver<Heard>,
    said: Arc<Mutex<Vec<u8>>>,
    keeper: JoinHandle<()>,
    sent: u64,
    answered: u64,
    wanted: BTreeSet<u64>,
    ready: BTreeMap<u64, Decoded>,
    patience: Duration,
    stop: Option<&'a AtomicBool>,
}

/// What was read from a decoder.
enum Heard {
    Line(Vec<u8>),
    TooLong,
    End,
}

impl<'a> Decoder<'a> {
    /// Starts the decoder and waits for its name.
    pub(crate) fn start(
        command: &[OsString],
        side: Side,
        patience: Duration,
        stop: Option<&'a AtomicBool>,
    ) -> Result<Decoder<'a>, DecoderError> {
        let program = command.first().cloned().unwrap_or_default();
        let cannot = |error| DecoderError::Start { program: Untrusted::new(&program).to_string(), error };
        let mut child = Command::new(&program)
            .args(command.iter().skip(1))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(cannot)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else { unreachable!("all three were asked for") };
        let (to, queue) = sync_channel(2 * MOST_WAITING);
        let (heard, from) = sync_channel(2 * MOST_WAITING);
        let said = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&said);
        // The reader may wait for room, and a process that the decoder has started may hold the pipes open: the threads end
        // when those do, and are not joined.
        std::thread::spawn(move || write_all(&queue, stdin));
        std::thread::spawn(move || read_lines(stdout, &heard));
        let keeper = std::thread::spawn(move || keep_end(stderr, &kept));
        let mut decoder = Decoder {
            side,
            name: String::new(),
            child,
            to: Some(to),
            from,
            said,
            keeper,
            sent: 0,
            answered: 0,
            wanted: BTreeSet::new(),
            ready: BTreeMap::new(),
            patience,
            stop,
        };
        decoder.send(greeting().to_vec());
        let line = decoder.line(0)?;
        decoder.name = read_hello(&line).map_err(|error| decoder.garbage(0, error, &line))?;
        Ok(decoder)
    }

    /// Name that it gave.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Gives it a datagram; returns its number. With `wanted`, the answer can be had by [`Decoder::answer`].
    pub(crate) fn give(&mut self, mut datagram: Datagram, wanted: bool) -> Result<u64, DecoderError> {
        while self.sent - self.answered >= MOST_WAITING as u64 {
            self.read_answer()?;
        }
        self.sent += 1;
        datagram.number = self.sent;
        if wanted {
            self.wanted.insert(self.sent);
        }
        let mut frame = Vec::new();
        match datagram.write(&mut frame) {
            Some(()) => self.send(frame),
            // No datagram is so long, and no call moves so much of a stream: its bytes are compared.
            None => {
                self.sent -= 1;
                self.wanted.remove(&(self.sent + 1));
                return Ok(0);
            }
        }
        Ok(self.sent)
    }

    /// The answer to a datagram that was given with `wanted`.
    pub(crate) fn answer(&mut self, number: u64) -> Result<Decoded, DecoderError> {
        if number == 0 {
            return Ok(Decoded::Opaque(String::new()));
        }
        loop {
            if let Some(answer) = self.ready.remove(&number) {
                return Ok(answer);
            }
            self.read_answer()?;
        }
    }

    /// Reads what is outstanding, closes its input, and waits for its end.
    pub(crate) fn finish(mut self) -> Result<(), DecoderError> {
        while self.answered < self.sent {
            self.read_answer()?;
        }
        self.to = None;
        let until = Instant::now() + self.patience;
        let mut ended = false;
        loop {
            if !ended {
                match self.from.recv_timeout(LOOK) {
                    Ok(Heard::End) | Err(RecvTimeoutError::Disconnected) => ended = true,
                    Ok(_) => return Err(DecoderError::Unexpected { side: self.side }),
                    Err(RecvTimeoutError::Timeout) => {}
                }
            }
            self.look_for_stop()?;
            match self.child.try_wait() {
                Ok(Some(status)) if ended && status.success() => return Ok(()),
                Ok(Some(status)) if ended => {
                    return Err(DecoderError::Failed { side: self.side, status, said: self.said_to_the_end() });
                }
                _ if Instant::now() > until => {
                    return Err(DecoderError::Lingers { side: self.side, after: self.patience });
                }
                _ if ended => std::thread::sleep(Duration::from_millis(1)),
                _ => {}
            }
        }
    }

    /// A decoder that has ended reads no more; that shows when its answer is missing.
    fn send(&self, bytes: Vec<u8>) {
        if let Some(to) = &self.to {
            let _ = to.send(bytes);
        }
    }

    fn read_answer(&mut self) -> Result<(), DecoderError> {
        let number = self.answered + 1;
        let line = self.line(number)?;
        let reply = Reply::from_line(&line).map_err(|error| self.garbage(number, error, &line))?;
        if reply.number != number {
            return Err(DecoderError::OtherNumber { side: self.side, expected: number, found: reply.number });
        }
        self.answered = number;
        if self.wanted.remove(&number) {
            self.ready.insert(number, reply.answer);
        }
        Ok(())
    }

    fn line(&mut self, datagram: u64) -> Result<Vec<u8>, DecoderError> {
        let until = Instant::now() + self.patience;
        loop {
            match self.from.recv_timeout(LOOK.min(self.patience)) {
                Ok(Heard::Line(line)) => return Ok(line),
                Ok(Heard::TooLong) => return Err(DecoderError::LongLine { side: self.side, datagram }),
                Ok(Heard::End) | Err(RecvTimeoutError::Disconnected) => {
                    let status = self.ended_within(LAST_WORDS);
                    return Err(DecoderError::Ended {
                        side: self.side,
                        datagram,
                        status,
                        said: self.said_to_the_end(),
                    });
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.look_for_stop()?;
            if Instant::now() > until {
                let said = self.said();
                return Err(DecoderError::Stalled { side: self.side, datagram, after: self.patience, said });
            }
        }
    }

    fn ended_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + patience;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                _ if Instant::now() > until => return None,
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    fn look_for_stop(&self) -> Result<(), DecoderError> {
        match self.stop {
            Some(stop) if stop.load(Ordering::Relaxed) => Err(DecoderError::Interrupted),
            _ => Ok(()),
        }
    }

    fn garbage(&self, datagram: u64, error: AnswerError, line: &[u8]) -> DecoderError {
        let line = String::from_utf8_lossy(line.get(..SHOWN_BYTES).unwrap_or(line)).into_owned();
        DecoderError::Garbage { side: self.side, datagram, error, line }
    }

    /// What it said, once all of it has been read: its output may be seen to end before its standard error is.
    fn said_to_the_end(&self) -> String {
        let until = Instant::now() + LAST_WORDS;
        while !self.keeper.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.said()
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&self.said.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Drop for Decoder<'_> {
    fn drop(&mut self) {
        self.to = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write_all(queue: &Receiver<Vec<u8>>, mut to: ChildStdin) {
    while let Ok(bytes) = queue.recv() {
        if to.write_all(&bytes).and_then(|()| to.flush()).is_err() {
            // There is no reader. The sender sees it by the missing answer, and must not wait for room here.
            while queue.recv().is_ok() {}
            return;
        }
    }
}

fn read_lines(from: ChildStdout, to: &SyncSender<Heard>) {
    let mut from = BufReader::with_capacity(64 << 10, from);
    loop {
        let mut line = Vec::new();
        let read = from.by_ref().take(MOST_LINE_BYTES as u64 + 1).read_until(b'\n', &mut line);
        let heard = match (read, line.last()) {
            (Ok(_), Some(b'\n')) => {
                line.pop();
                Heard::Line(line)
            }
            (Ok(read), _) if read > MOST_LINE_BYTES => Heard::TooLong,
            _ => Heard::End,
        };
        let goes_on = matches!(heard, Heard::Line(_));
        if to.send(heard).is_err() || !goes_on {
            return;
        }
    }
}

fn keep_end(mut from: ChildStderr, to: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let mut kept = to.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(buffer.get(..count).unwrap_or_default());
        let over = kept.len().saturating_sub(KEPT_BYTES);
        kept.drain(..over);
    }
}
