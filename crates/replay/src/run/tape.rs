//! Lays the records of a demo out as the tape that a replay walks over: in memory, where they fit.

mod error;
mod record;

pub use error::TapeError;
pub(crate) use record::{playable, put_clocks};

use crate::channel::{Channel, PastLibc};
use crate::run::directory::{Directory, Group, Walk, groups_of};
use crate::run::order::Turns;
use crate::run::sockets;
use crate::run::stop_place::{StopPlan, StopSearch, Stops};
use crate::run::windows::Plan;
use prony_channel::{MAGIC, NOTED, OP_MASK, PROCESSES, TapeHead, TapeStream, own_state_bit, turn_entry};
use prony_demo::dump::call_name;
use prony_demo::{
    Class, Demo, DemoError, Framer, HEAD_BYTES, Head, Op, PartKind, Parts, check_result, note_text, part_size,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Records that a replay walks over, and facts about them.
#[derive(Debug)]
pub(crate) struct Tape {
    pub(crate) source: Source,
    /// Records on it, clock reads included.
    pub(crate) records: u64,
    /// Frames of the process whose frames are measured.
    pub(crate) frames: u64,
    /// Indices of the processes that have records, ascending.
    pub(crate) processes: Vec<u16>,
    /// Time of the last record, in nanoseconds since the recording started.
    pub(crate) recorded_ns: u64,
    /// Bytes that were sent, over all processes.
    pub(crate) output_bytes: u64,
    /// Descriptions of calls that the recorder could not record and that weaken the demo.
    pub(crate) uncovered: Vec<String>,
    /// What the recording followed past libc.
    pub(crate) past_libc: PastLibc,
    /// Paths that Unix sockets were bound to.
    pub(crate) sockets: Vec<PathBuf>,
    /// Records at which a replay stops.
    pub(crate) stops: Stops,
    /// First record of each frame of process 0, where replays stop for a debugger.
    pub(crate) frame_starts: Vec<u64>,
}

/// Place of the records: in memory, or read as the replay proceeds.
#[derive(Debug)]
pub(crate) enum Source {
    /// All of them in memory, for many replays.
    Whole(File),
    /// Records in the demo, which each replay unpacks as it proceeds.
    Windows(Arc<Plan>),
}

/// Place of one thread on the tape.
#[derive(Debug, Default, Clone)]
struct Stream {
    start: u64,
    written: u64,
    buffered: Vec<u8>,
}

#[derive(Debug, Default, Clone)]
struct Process {
    owners: Vec<u32>,
    owners_start: u64,
}

/// Bytes of a stream gathered before they are written.
const BUFFERED_BYTES: usize = 1 << 18;
/// The same over all streams.
const ALL_BUFFERED_BYTES: usize = 1 << 26;
/// Most notes of a demo that are repeated.
const MOST_NOTES: usize = 16;
/// Most streams of a tape: threads that ever lived, over all processes.
const MOST_STREAMS: usize = 1 << 18;

impl Tape {
    /// Reads the demo once, to know how long each stream is. What fits in half of `limit` bytes is then unpacked;
    /// otherwise each replay unpacks it in windows that move over it. A cut demo gives the tape of its whole blocks.
    ///
    /// `file`: the demo itself, for reading while it is replayed. `plan`: where replays stop for a debugger.
    pub(crate) fn of<R: Read + Seek>(
        demo: &mut Demo<R>,
        file: File,
        limit: u64,
        stop: Option<&AtomicBool>,
        plan: Option<StopPlan>,
    ) -> Result<Tape, TapeError> {
        let stated = demo.trailer().map(|trailer| trailer.totals.raw_bytes);
        let mut bytes = 0;
        let mut directory = Directory::default();
        let rule = demo.header().frame_rule;
        let mut walk = Walk::new(rule);
        let mut frames = Vec::new();
        let mut search = plan.map(StopSearch::of);
        let mut tape = Tape {
            source: Source::Whole(Channel::tape_file().map_err(|error| TapeError::Memory { bytes: 0, error })?),
            records: 0,
            frames: 0,
            processes: Vec::new(),
            recorded_ns: 0,
            output_bytes: 0,
            uncovered: Vec::new(),
            past_libc: PastLibc::default(),
            sockets: Vec::new(),
            stops: Stops::default(),
            frame_starts: Vec::new(),
        };
        let mut records = demo.records();
        while let Some((index, run)) = records.next_run()? {
            if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(TapeError::Interrupted);
            }
            for group in groups_of(run, rule, [None; 2]) {
                let Group { record, more } = group;
                bytes += (record.len() + more.len()) as u64;
                if let Some(stated) = stated.filter(|&stated| bytes > stated) {
                    return Err(TapeError::MoreThanStated { stated });
                }
                let Some((head, class)) = playable(record) else {
                    note_past_libc(&mut tape.past_libc, record);
                    if tape.uncovered.len() < MOST_NOTES {
                        tape.uncovered.extend(uncovered(record));
                    }
                    continue;
                };
                check(index, &head, record)?;
                let lane = directory.enter(index, &head).map_err(|what| TapeError::Record {
                    process: index,
                    order: head.order,
                    what,
                })?;
                if directory.streams.len() > MOST_STREAMS {
                    return Err(TapeError::Threads { limit: MOST_STREAMS });
                }
                directory.streams[lane.stream as usize].add(tape.records, record.len() as u64, group.count());
                if frames.len() < directory.processes.len() {
                    frames.resize(directory.processes.len(), 0);
                }
                if let Some(search) = &mut search {
                    search.see(index, &head, group.count(), frames[lane.process as usize]);
                }
                frames[lane.process as usize] += u64::from(walk.state(lane.process as usize).framer.ends_frame(&head));
                let owner = directory.streams[lane.stream as usize].owner;
                let begins = walk.state(lane.leader as usize).turns.begins(&head, owner);
                directory.processes[lane.leader as usize].turns += u64::from(begins);
                tape.records += group.count();
                if tape.sockets.len() < sockets::MOST_PATHS {
                    tape.sockets.extend(sockets::bound_path(&head, record));
                }
                tape.recorded_ns = tape.recorded_ns.max(head.time);
                if class == Some(Class::Output) && head.ret > 0 {
                    tape.output_bytes += record.len() as u64 - HEAD_BYTES as u64;
                }
            }
        }
        tape.processes = directory.processes.iter().map(|process| process.index).collect();
        tape.processes.sort_unstable();
        let by_frames = |&at: &usize| (frames[at], u16::MAX - directory.processes[at].index);
        let Some(main) = (0..frames.len()).max_by_key(by_frames) else { return Err(TapeError::Empty) };
        (tape.frames, directory.main_process) = (frames[main], directory.processes[main].index);
        if let Some(search) = search {
            tape.stops = search.found(directory.main_process, tape.frames)?;
            tape.frame_starts = search.frames();
        }
        directory.stops = tape.stops;
        let (mut streams, mut processes, bytes) = lay_out(&directory);
        // Processes have the list of their turns in common only where it is not a copy of each.
        if bytes > limit / 2 || directory.shares_order() {
            let plan = Plan::new(directory, demo, file, limit)?;
            tape.source = Source::Windows(Arc::new(plan));
            return Ok(tape);
        }
        let Source::Whole(file) = &tape.source else { return Ok(tape) };
        write(file, demo, &mut directory, &mut streams, &mut processes)
            .and_then(|()| Ok(Channel::seal_tape(file)?))
            .map_err(|error| match error {
                Failed::Demo(error) => TapeError::Demo(error),
                Failed::Io(error) => TapeError::Memory { bytes, error },
                Failed::Changed => TapeError::Changed,
            })?;
        Ok(tape)
    }
}

/// Unpacks the demo again, each stream to its place.
fn write<R: Read + Seek>(
    file: &File,
    demo: &mut Demo<R>,
    directory: &mut Directory,
    streams: &mut [Stream],
    processes: &mut [Process],
) -> Result<(), Failed> {
    file.write_all_at(&head_of(directory, streams, processes), 0)?;
    let rule = demo.header().frame_rule;
    let mut walk = Walk::new(rule);
    let mut buffered = 0;
    let mut records = demo.records();
    while let Some((index, run)) = records.next_run()? {
        for Group { record, more } in groups_of(run, rule, directory.stops.of(index)) {
            let Some((mut head, _)) = playable(record) else { continue };
            let lane = directory.find(index, head.thread).ok_or(Failed::Changed)?;
            let (process, stream) = (&mut processes[lane.process as usize], &mut streams[lane.stream as usize]);
            let turn = process.owners.len() as u64;
            if walk.mark(directory, lane, &mut head, turn) {
                process.owners.push(turn_entry(turn, directory.streams[lane.stream as usize].owner));
            }
            stream.buffered.extend_from_slice(&head.to_bytes());
            stream.buffered.extend_from_slice(&record[HEAD_BYTES..]);
            put_clocks(&mut stream.buffered, more);
            buffered += record.len() + more.len();
            if stream.buffered.len() >= BUFFERED_BYTES {
                buffered -= stream.buffered.len();
                stream.flush(file)?;
            } else if buffered >= ALL_BUFFERED_BYTES {
                buffered = 0;
                for stream in streams.iter_mut() {
                    stream.flush(file)?;
                }
            }
        }
    }
    for stream in streams {
        stream.flush(file)?;
    }
    for process in processes {
        let owners: Vec<u8> = process.owners.iter().flat_map(|owner| owner.to_le_bytes()).collect();
        file.write_all_at(&owners, process.owners_start)?;
    }
    Ok(())
}

enum Failed {
    Demo(DemoError),
    Io(io::Error),
    Changed,
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
        file.write_all_at(&self.buffered, self.start + self.written)?;
        self.written += self.buffered.len() as u64;
        self.buffered.clear();
        Ok(())
    }
}

/// The text of a note of what could not be recorded, and without which a replay goes another way.
fn uncovered(record: &[u8]) -> Option<String> {
    let head = Head::from_bytes(record).filter(|head| head.op == Op::NoteUnrecordable as u16 && head.aux != 0)?;
    note_text(record).filter(|_| head.size as usize == record.len())
}

/// The player walks over parts as over memory of its own, finds the server's process by its index, and gives the build results as
/// a kernel does.
fn check(process: u16, head: &Head, record: &[u8]) -> Result<(), TapeError> {
    let end = Parts::new(record).fold(HEAD_BYTES, |end, part| end + part_size(part.bytes.len()));
    let what = if end != record.len() {
        "expected parts that fill it"
    } else if head.op & !OP_MASK != 0 {
        "unknown call number"
    } else if usize::from(process) >= PROCESSES {
        "expected a process below 32,768"
    } else {
        let order = head.order;
        return check_result(record).map_err(|beyond| TapeError::Result { process, order, beyond });
    };
    Err(TapeError::Record { process, order: head.order, what })
}

/// Gives every stream and every list of owners its place; returns the bytes of all.
fn lay_out(directory: &Directory) -> (Vec<Stream>, Vec<Process>, u64) {
    let mut at = (size_of::<TapeHead>() + directory.streams.len() * size_of::<TapeStream>()) as u64;
    let mut streams = vec![Stream::default(); directory.streams.len()];
    for (stream, known) in streams.iter_mut().zip(&directory.streams) {
        stream.start = at;
        at += known.bytes;
    }
    let mut processes = vec![Process::default(); directory.processes.len()];
    for (process, known) in processes.iter_mut().zip(&directory.processes) {
        if known.threads > 1 {
            process.owners_start = at;
            at += (size_of::<u32>() as u64 * known.turns).next_multiple_of(8);
        }
    }
    (streams, processes, at)
}

fn head_of(directory: &Directory, streams: &[Stream], processes: &[Process]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&MAGIC.to_le_bytes());
    out.extend_from_slice(&(streams.len() as u64).to_le_bytes());
    for (stream, known) in streams.iter().zip(&directory.streams) {
        let (place, process) = (&processes[known.process as usize], &directory.processes[known.process as usize]);
        out.extend_from_slice(&u32::from(process.index).to_le_bytes());
        out.extend_from_slice(&u32::from(known.thread).to_le_bytes());
        for word in [stream.start, stream.start + known.bytes, place.owners_start, process.turns] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
    out
}

/// Process and thread of turns, each given by the process that leads its order and its number.
pub(crate) type TurnOwners = BTreeMap<(u16, u64), (u16, u16)>;

/// Lays out a demo as a replay does, without a build: for what attacks that with demos of its own. Returns the number of records.
///
/// # Errors
/// As for a replay.
pub fn lay_out_demo(file: File, limit: u64) -> Result<u64, TapeError> {
    let mut demo = Demo::open(BufReader::new(file.try_clone().map_err(DemoError::Io)?))?;
    Tape::of(&mut demo, file, limit, None, None).map(|tape| tape.records)
}

/// Process and thread that have each of these turns, which are given by the process that leads their order and their number.
/// None for a thread that takes turns with no other, and behind the last turn.
pub(crate) fn owners_of<R: Read + Seek>(
    demo: &mut Demo<R>,
    wanted: &BTreeSet<(u16, u64)>,
) -> Result<TurnOwners, DemoError> {
    let mut found = BTreeMap::new();
    let mut directory = Directory::default();
    // Of the order that each process leads: who made the last call, and the turn that comes next.
    let mut orders: Vec<(Turns, u64)> = Vec::new();
    let mut records = demo.records();
    while let Some((process, record)) = records.next()? {
        let Some((head, _)) = playable(record) else { continue };
        // A demo that gets here was laid out before.
        let Ok(lane) = directory.enter(process, &head) else { continue };
        orders.resize(directory.processes.len(), (Turns::default(), 0));
        let (turns, next) = &mut orders[lane.leader as usize];
        if turns.begins(&head, directory.streams[lane.stream as usize].owner) {
            let turn = (directory.processes[lane.leader as usize].index, *next);
            if wanted.contains(&turn) {
                found.insert(turn, (process, head.thread));
            }
            *next += 1;
        }
    }
    found.retain(|&(leader, _), _| directory.process(leader).is_some_and(|leader| directory.is_ordered(leader)));
    Ok(found)
}

/// Record of a demo that was found again, with those before it.
#[derive(Debug, Default)]
pub(crate) struct Scene {
    /// Frame of the process that was going on.
    pub(crate) frame: u64,
    /// Bytes of the record, head and parts.
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
/// Takes note of a record that says what was recorded past libc.
fn note_past_libc(past_libc: &mut PastLibc, record: &[u8]) {
    let Some(head) = Head::from_bytes(record) else { return };
    match Op::from_number(head.op) {
        Some(Op::NoteFailed) if head.aux == NOTED => {
            let name = Parts::first(record, PartKind::Value).unwrap_or_default();
            past_libc.own_state_failed |= own_state_bit(name);
        }
        Some(Op::NoteProcessor) => past_libc.processor = true,
        Some(Op::NoteRawCalls) => past_libc.raw_calls = true,
        _ => {}
    }
}
