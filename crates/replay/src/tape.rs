//! Lays the records of a demo out as the tape that a replay walks over.

use crate::order::Turns;
use crate::record::note_text;
use crate::sockets;
use prony_demo::dump::call_name;
use prony_demo::{Class, Demo, DemoError, FrameRule, Framer, HEAD_BYTES, Head, Op, Parts, part_size};
use prony_preload::{Channel, FRAME_END, MAGIC, NO_TURN, OP_MASK, PROCESSES, TapeHead, TapeStream};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Why a demo could not be laid out.
#[derive(Debug, thiserror::Error)]
pub enum TapeError {
    /// The demo cannot be read.
    #[error(transparent)]
    Demo(#[from] DemoError),
    /// The tape does not fit.
    #[error("cannot hold the {bytes} bytes of the tape in memory: {error}")]
    Memory {
        /// Bytes of the whole tape.
        bytes: u64,
        /// What the system said.
        error: io::Error,
    },
    /// The records are more than is allowed.
    #[error("the demo's records: expected at most {limit} bytes, found {}", .found.map_or("more".to_owned(), |bytes| bytes.to_string()))]
    TooLarge {
        /// Bytes that are allowed.
        limit: u64,
        /// Bytes that the demo states; `None` for one that states fewer, or none, and has more.
        found: Option<u64>,
    },
    /// The records are more than the demo states.
    #[error("the demo's records: expected the {stated} bytes that it states, found more")]
    MoreThanStated {
        /// Bytes that it states.
        stated: u64,
    },
    /// More threads than a demo is believed to have.
    #[error("the demo's threads: expected at most {limit}, found more")]
    Threads {
        /// Threads that are allowed.
        limit: usize,
    },
    /// A record that no recorder writes, and that the player would be led astray by.
    #[error("record {order} of process {process}: {what}")]
    Record {
        /// Index of the process.
        process: u16,
        /// Place of the record in its process.
        order: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// No call was recorded.
    #[error("the demo has no records")]
    Empty,
}

/// A tape and what is known of it.
#[derive(Debug)]
pub(crate) struct Tape {
    pub(crate) file: File,
    /// Records on it, clock reads included.
    pub(crate) records: u64,
    /// Frames of the process whose frames are measured.
    pub(crate) frames: u64,
    /// The process that has most of the frames: the server, where what was started only made it.
    pub(crate) main_process: u16,
    /// Processes that have records.
    pub(crate) processes: Vec<u16>,
    /// Time of the last record, in nanoseconds since the recording started.
    pub(crate) recorded_ns: u64,
    /// Bytes that were sent, over all processes.
    pub(crate) output_bytes: u64,
    /// What the recorder could not record, as far as that speaks against the demo.
    pub(crate) uncovered: Vec<String>,
    /// What the processor was asked is recorded.
    pub(crate) processor: bool,
    /// Paths that Unix sockets were bound to.
    pub(crate) sockets: Vec<PathBuf>,
    /// For each process with several threads: where on the tape the owners of its turns are, and how many turns it has.
    owners: BTreeMap<u16, (u64, u64)>,
}

/// What one thread takes on the tape.
#[derive(Debug, Default, Clone)]
struct Stream {
    bytes: u64,
    start: u64,
    written: u64,
    held: Vec<u8>,
}

#[derive(Debug)]
struct Process {
    framer: Framer,
    frames: u64,
    turns: u64,
    owners: Vec<u16>,
    owners_start: u64,
}

impl Process {
    fn new(rule: FrameRule) -> Process {
        Process { framer: Framer::new(rule), frames: 0, turns: 0, owners: Vec::new(), owners_start: 0 }
    }
}

/// Bytes of a stream gathered before they are written.
const HELD_BYTES: usize = 1 << 18;
/// The same over all streams.
const ALL_HELD_BYTES: usize = 1 << 26;
/// Most notes of a demo that are repeated.
const MOST_NOTES: usize = 16;
/// Most streams of a tape: threads that ever lived, over all processes.
const MOST_STREAMS: usize = 1 << 18;

impl Tape {
    /// Reads the demo twice: once to know how long each stream is, once to write it. A cut demo
    /// gives the tape of its whole blocks. `limit`: bytes that it may take.
    pub(crate) fn of<R: Read + Seek>(demo: &mut Demo<R>, limit: u64) -> Result<Tape, TapeError> {
        let stated = demo.trailer().map(|trailer| trailer.totals.raw_bytes);
        if let Some(found) = stated.filter(|&stated| stated > limit) {
            return Err(TapeError::TooLarge { limit, found: Some(found) });
        }
        let mut bytes = 0;
        let rule = demo.header().frame_rule;
        let mut streams: BTreeMap<(u16, u16), Stream> = BTreeMap::new();
        let mut processes: BTreeMap<u16, Process> = BTreeMap::new();
        let mut tape = Tape {
            file: Channel::tape_file().map_err(|error| TapeError::Memory { bytes: 0, error })?,
            records: 0,
            frames: 0,
            main_process: 0,
            processes: Vec::new(),
            recorded_ns: 0,
            output_bytes: 0,
            uncovered: Vec::new(),
            processor: false,
            sockets: Vec::new(),
            owners: BTreeMap::new(),
        };
        let mut turns = Turns::default();
        let mut records = demo.records();
        while let Some((index, record)) = records.next()? {
            bytes += record.len() as u64;
            match stated {
                Some(stated) if bytes > stated => return Err(TapeError::MoreThanStated { stated }),
                None if bytes > limit => return Err(TapeError::TooLarge { limit, found: None }),
                _ => {}
            }
            let Some((head, class)) = playable(record) else {
                tape.processor |= Head::from_bytes(record).is_some_and(|head| head.op == Op::NoteProcessor as u16);
                if tape.uncovered.len() < MOST_NOTES {
                    tape.uncovered.extend(uncovered(record));
                }
                continue;
            };
            check(index, &head, record)?;
            if streams.len() > MOST_STREAMS {
                return Err(TapeError::Threads { limit: MOST_STREAMS });
            }
            let process = processes.entry(index).or_insert_with(|| Process::new(rule));
            process.frames += u64::from(process.framer.ends_frame(&head));
            process.turns += u64::from(turns.begins(index, &head));
            streams.entry((index, head.thread)).or_default().bytes += record.len() as u64;
            tape.records += 1;
            if tape.sockets.len() < sockets::MOST_PATHS {
                tape.sockets.extend(sockets::bound_path(&head, record));
            }
            tape.recorded_ns = tape.recorded_ns.max(head.time);
            if class == Some(Class::Output) && head.ret > 0 {
                tape.output_bytes += record.len() as u64 - HEAD_BYTES as u64;
            }
        }
        let Some((&main, process)) =
            processes.iter().max_by_key(|(index, process)| (process.frames, u16::MAX - **index))
        else {
            return Err(TapeError::Empty);
        };
        (tape.main_process, tape.frames) = (main, process.frames);
        tape.processes = processes.keys().copied().collect();
        let bytes = lay_out(&mut streams, &mut processes);
        let ordered = processes.iter().filter(|(_, process)| process.owners_start > 0);
        tape.owners = ordered.map(|(&index, process)| (index, (process.owners_start, process.turns))).collect();
        tape.write(demo, rule, streams, processes).and_then(|()| Ok(Channel::seal_tape(&tape.file)?)).map_err(
            |error| match error {
                Failed::Demo(error) => TapeError::Demo(error),
                Failed::Io(error) => TapeError::Memory { bytes, error },
            },
        )?;
        Ok(tape)
    }

    /// The thread that has this turn; `None` where there are no turns, and behind the last one.
    pub(crate) fn owner(&self, process: u16, turn: u64) -> Option<u16> {
        let &(start, _) = self.owners.get(&process).filter(|&&(_, count)| turn < count)?;
        let mut owner = [0; 2];
        self.file.read_exact_at(&mut owner, start + 2 * turn).ok()?;
        Some(u16::from_le_bytes(owner))
    }

    fn write<R: Read + Seek>(
        &self,
        demo: &mut Demo<R>,
        rule: FrameRule,
        mut streams: BTreeMap<(u16, u16), Stream>,
        mut processes: BTreeMap<u16, Process>,
    ) -> Result<(), Failed> {
        self.file.write_all_at(&directory(&streams, &processes), 0)?;
        for process in processes.values_mut() {
            process.framer = Framer::new(rule);
        }
        let mut turns = Turns::default();
        let mut held = 0;
        let mut records = demo.records();
        while let Some((index, record)) = records.next()? {
            let Some((mut head, _)) = playable(record) else { continue };
            let (Some(process), Some(stream)) = (processes.get_mut(&index), streams.get_mut(&(index, head.thread)))
            else {
                continue;
            };
            if process.framer.ends_frame(&head) && index == self.main_process {
                head.op |= FRAME_END;
            }
            head.time = NO_TURN;
            if process.owners_start > 0 && turns.begins(index, &head) {
                head.time = process.owners.len() as u64;
                process.owners.push(head.thread);
            }
            stream.held.extend_from_slice(&head.to_bytes());
            stream.held.extend_from_slice(&record[HEAD_BYTES..]);
            held += record.len();
            if stream.held.len() >= HELD_BYTES {
                held -= stream.held.len();
                stream.flush(&self.file)?;
            } else if held >= ALL_HELD_BYTES {
                held = 0;
                for stream in streams.values_mut() {
                    stream.flush(&self.file)?;
                }
            }
        }
        for stream in streams.values_mut() {
            stream.flush(&self.file)?;
        }
        for process in processes.values() {
            let owners: Vec<u8> = process.owners.iter().flat_map(|owner| owner.to_le_bytes()).collect();
            self.file.write_all_at(&owners, process.owners_start)?;
        }
        Ok(())
    }
}

enum Failed {
    Demo(DemoError),
    Io(io::Error),
}

impl From<DemoError> for Failed {
    fn from(error: DemoError) -> Failed {
        Failed::Demo(error)
    }
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Failed {
        Failed::Io(error)
    }
}

impl Stream {
    fn flush(&mut self, file: &File) -> io::Result<()> {
        file.write_all_at(&self.held, self.start + self.written)?;
        self.written += self.held.len() as u64;
        self.held.clear();
        Ok(())
    }
}

/// Head and class of a record that a replay answers a call with.
fn playable(record: &[u8]) -> Option<(Head, Option<Class>)> {
    let head = Head::from_bytes(record)?;
    let class = Op::from_number(head.op).map(Op::class);
    (class != Some(Class::Note)).then_some((head, class))
}

/// The text of a note of what could not be recorded, and without which a replay goes another way.
fn uncovered(record: &[u8]) -> Option<String> {
    let head = Head::from_bytes(record).filter(|head| head.op == Op::NoteUnrecordable as u16 && head.aux != 0)?;
    note_text(record).filter(|_| head.size as usize == record.len())
}

/// The player walks over parts as over memory of its own, and finds the server's process by its index.
fn check(process: u16, head: &Head, record: &[u8]) -> Result<(), TapeError> {
    let end = Parts::new(record).fold(HEAD_BYTES, |end, part| end + part_size(part.bytes.len()));
    let what = if end != record.len() {
        "expected parts that fill it"
    } else if head.op & !OP_MASK != 0 {
        "the number of its call is none"
    } else if usize::from(process) >= PROCESSES {
        "expected a process below 32,768"
    } else {
        return Ok(());
    };
    Err(TapeError::Record { process, order: head.order, what })
}

/// Gives every stream and every list of owners its place; returns the bytes of all.
fn lay_out(streams: &mut BTreeMap<(u16, u16), Stream>, processes: &mut BTreeMap<u16, Process>) -> u64 {
    let mut at = (size_of::<TapeHead>() + streams.len() * size_of::<TapeStream>()) as u64;
    for stream in streams.values_mut() {
        stream.start = at;
        at += stream.bytes;
    }
    for (&index, process) in processes {
        if streams.keys().filter(|&&(of, _)| of == index).count() > 1 {
            process.owners_start = at;
            at += (2 * process.turns).next_multiple_of(8);
        }
    }
    at
}

fn directory(streams: &BTreeMap<(u16, u16), Stream>, processes: &BTreeMap<u16, Process>) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&MAGIC.to_le_bytes());
    out.extend_from_slice(&(streams.len() as u64).to_le_bytes());
    for (&(index, thread), stream) in streams {
        let process = &processes[&index];
        out.extend_from_slice(&u32::from(index).to_le_bytes());
        out.extend_from_slice(&u32::from(thread).to_le_bytes());
        for word in [stream.start, stream.start + stream.bytes, process.owners_start, process.turns] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
    out
}

/// One record of a demo found again, with what stands before it.
#[derive(Debug, Default)]
pub(crate) struct Scene {
    /// Frame of the process that was going on.
    pub(crate) frame: u64,
    /// The record itself.
    pub(crate) record: Vec<u8>,
    /// The calls of the thread before it with their frames, oldest first.
    pub(crate) before: Vec<(u64, Vec<u8>)>,
}

/// Calls shown before a divergence.
const BEFORE: usize = 8;

/// Finds record `number` of `process`; the calls before it are those of `thread`. Runs of equal
/// clock reads count once.
pub(crate) fn scene<R: Read + Seek>(
    demo: &mut Demo<R>,
    process: u16,
    thread: u16,
    number: u64,
) -> Result<Scene, DemoError> {
    let mut framer = Framer::new(demo.header().frame_rule);
    let mut scene = Scene::default();
    let mut last_clock = None;
    let mut records = demo.records();
    while let Some((index, record)) = records.next()? {
        let Some(head) = Head::from_bytes(record).filter(|_| index == process) else { continue };
        if head.order == number {
            scene.record = record.to_vec();
            break;
        }
        let frame = scene.frame;
        scene.frame += u64::from(framer.ends_frame(&head));
        if head.thread != thread || playable(record).is_none() {
            continue;
        }
        let clock = Op::from_number(head.op).filter(|op| op.class() == Class::Clock);
        if clock.is_none() || clock != last_clock {
            if scene.before.len() == BEFORE {
                scene.before.remove(0);
            }
            scene.before.push((frame, record.to_vec()));
        } else if let Some((_, last)) = scene.before.last_mut() {
            last.clear();
            last.extend_from_slice(record);
        }
        last_clock = clock;
    }
    Ok(scene)
}

/// The names of the calls of these records, by process and number.
pub(crate) fn calls_of<R: Read + Seek>(
    demo: &mut Demo<R>,
    wanted: &[(u16, u64)],
) -> Result<BTreeMap<(u16, u64), String>, DemoError> {
    let wanted: BTreeSet<(u16, u64)> = wanted.iter().copied().collect();
    let mut found = BTreeMap::new();
    let mut records = demo.records();
    while let Some((process, record)) = records.next()? {
        let Some(head) = Head::from_bytes(record).filter(|head| wanted.contains(&(process, head.order))) else {
            continue;
        };
        found.insert((process, head.order), call_name(head.op));
        if found.len() == wanted.len() {
            break;
        }
    }
    Ok(found)
}
