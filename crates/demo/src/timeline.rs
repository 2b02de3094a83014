//! What happened when: the frames of a demo, the traffic of each client and the calls of each thread, for a picture.
//!
//! A demo is a stranger's and of any length, so everything here is bounded: frames are taken together until there are few
//! enough, the busiest clients and threads have a lane each and the others one together, and calls are kept of as many
//! units as fit, those that a reader requests first.

mod budget;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek};
use std::ops::{ControlFlow, Range};

use crate::dump::{Line, call_name};
use crate::pcap::Traffic;
use crate::{Class, Demo, DemoError, FrameEntry, Frames, FramesIter, Head, Op};

/// Units at most: frames, or as many of them in a row as leave so few.
pub const UNITS_MAX: usize = 20_000;
/// Slices of the time of a demo that has no frames.
const SLICES: u64 = 1_000;
/// Clients and threads that have a lane of their own.
pub const LANES_MAX: usize = 12;
/// Addresses that are counted one by one; further ones are counted together.
const ADDRESSES_MAX: usize = 4_096;
/// Characters of a call, as much as a line of a page shows.
const CALL_CHARACTERS: usize = 200;
/// Bytes of all texts of calls together; then a call is its name.
const TEXT_BYTES_MAX: usize = 4 << 20;
/// Lane of the clients or threads without one of their own.
const OTHERS: &str = "others";

/// What a reader wants to see of a demo.
#[derive(Debug, Clone, Default)]
pub struct Interest {
    /// Frames of which all calls are wanted.
    pub frames: Option<Range<u64>>,
    /// The frame in which a replay diverged.
    pub diverged: Option<u64>,
    /// Time of each frame in a replay, in nanoseconds; the slowest are wanted.
    pub frame_ns: Vec<u64>,
}

/// What a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitKind {
    /// This many frames in a row; 1 unless there are more frames than [`UNITS_MAX`].
    Frames(u64),
    /// This many nanoseconds: the demo has no frames.
    Slices(u64),
}

/// A demo along its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timeline {
    /// What a unit is.
    pub kind: UnitKind,
    /// Number of whole frames.
    pub frames: u64,
    /// Units in the order of time, at least one.
    pub units: Vec<Unit>,
    /// The clients with the most bytes, then the others together.
    pub clients: Vec<Lane<Moved>>,
    /// Number of clients that are counted one by one.
    pub clients_all: u64,
    /// True if there are more.
    pub more_clients: bool,
    /// The threads with the most calls, then the others together.
    pub threads: Vec<Lane<u64>>,
    /// Number of threads of all processes.
    pub threads_all: u64,
    /// Calls of the units that were chosen, in their order.
    pub calls: BTreeMap<u32, Vec<Calls>>,
    /// Texts of calls, each once.
    pub texts: Vec<String>,
    /// Names of the threads that [`Calls::thread`] is an index of.
    pub thread_names: Vec<String>,
}

/// A frame, several of them, or a slice of time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unit {
    /// End, in nanoseconds since the recording started.
    pub end_ns: u64,
    /// From the start of each frame to its last call that moved bytes; the rest of it is waiting, and work after that call.
    pub busy_ns: u64,
    /// Number of calls, of all processes.
    pub calls: u64,
}

/// One client or thread: what it did in each unit in which it did anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane<T> {
    /// Address of the client, or name of the thread.
    pub name: String,
    /// Index of the unit, and what happened in it.
    pub cells: Vec<(u32, T)>,
}

/// Datagrams and bytes that were moved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    /// Datagrams to the server, or calls that read a stream.
    pub datagrams_in: u64,
    /// Bytes to the server.
    pub bytes_in: u64,
    /// Datagrams from the server, or calls that wrote a stream.
    pub datagrams_out: u64,
    /// Bytes from the server.
    pub bytes_out: u64,
}

/// Equal calls in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calls {
    /// Time of the first, in nanoseconds since the recording started.
    pub time_ns: u64,
    /// Index in [`Timeline::thread_names`].
    pub thread: u32,
    /// Index in [`Timeline::texts`].
    pub text: u32,
    /// How many.
    pub count: u32,
    /// Number of the first in its process.
    pub record: u64,
}

impl Moved {
    fn add(&mut self, outward: bool, datagrams: u64, bytes: u64) {
        let (of, size) = match outward {
            true => (&mut self.datagrams_out, &mut self.bytes_out),
            false => (&mut self.datagrams_in, &mut self.bytes_in),
        };
        *of += datagrams;
        *size += bytes;
    }
}

impl Timeline {
    /// Goes over the records of a demo twice: once for what there is, once for what is shown.
    ///
    /// # Errors
    /// When a block cannot be read.
    pub fn of<R: Read + Seek>(demo: &mut Demo<R>, interest: &Interest) -> Result<Timeline, DemoError> {
        let frames = demo.frames().clone();
        let mut survey = Survey::new();
        let recorded_ns = demo.trailer().map(|trailer| trailer.duration_ns);
        demo.for_each_record(|process, record| {
            survey.record(process, record);
            ControlFlow::Continue(())
        })?;
        let end_ns = recorded_ns.unwrap_or(0).max(survey.last_ns);
        let kind = match frames.len() {
            0 | 1 => UnitKind::Slices((end_ns / SLICES).max(1)),
            all => UnitKind::Frames(all.div_ceil(UNITS_MAX) as u64),
        };
        let lanes = survey.lanes();
        let mut drawing = Drawing::new(kind, &frames, end_ns, lanes);
        let mut place = UnitCursor::new(kind, &frames);
        // The calls of each unit are known before it is chosen which of them are kept.
        demo.for_each_record(|process, record| {
            drawing.record(place.of(process, record), process, record);
            ControlFlow::Continue(())
        })?;
        let chosen = budget::chosen(&drawing.timeline, interest);
        let mut place = UnitCursor::new(kind, &frames);
        let mut kept = Kept::default();
        demo.for_each_record(|process, record| {
            let unit = place.of(process, record);
            if chosen.contains(&unit) {
                kept.record(unit, process, record);
            }
            ControlFlow::Continue(())
        })?;
        let Drawing { mut timeline, .. } = drawing;
        (timeline.calls, timeline.texts, timeline.thread_names) = (kept.calls, kept.texts, kept.threads);
        Ok(timeline)
    }
}

/// What there is: who talks, and which threads there are.
struct Survey {
    traffic: Traffic,
    clients: HashMap<String, u64>,
    more_clients: bool,
    threads: HashMap<(u16, u16), u64>,
    last_ns: u64,
}

/// Who has a lane.
struct Lanes {
    clients: HashMap<String, usize>,
    client_names: Vec<String>,
    clients_all: u64,
    more_clients: bool,
    threads: HashMap<(u16, u16), usize>,
    thread_names: Vec<String>,
    threads_all: u64,
}

impl Survey {
    fn new() -> Survey {
        Survey {
            traffic: Traffic::new(),
            clients: HashMap::new(),
            more_clients: false,
            threads: HashMap::new(),
            last_ns: 0,
        }
    }

    fn record(&mut self, process: u16, record: &[u8]) {
        let Some(head) = Head::from_bytes(record) else { return };
        self.last_ns = self.last_ns.max(head.time);
        *self.threads.entry((process, head.thread)).or_default() += 1;
        for payload in self.traffic.of(process, record) {
            let name = peer_name(payload.peer);
            if self.clients.len() < ADDRESSES_MAX || self.clients.contains_key(&name) {
                *self.clients.entry(name).or_default() += payload.bytes;
            } else {
                self.more_clients = true;
            }
        }
    }

    fn lanes(self) -> Lanes {
        let (clients_all, threads_all) = (self.clients.len() as u64, self.threads.len() as u64);
        let mut clients: Vec<(String, u64)> = self.clients.into_iter().collect();
        clients.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let mut threads: Vec<((u16, u16), u64)> = self.threads.into_iter().collect();
        threads.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        threads.truncate(LANES_MAX);
        threads.sort_by_key(|thread| thread.0);
        clients.truncate(LANES_MAX);
        let client_names: Vec<String> = clients.into_iter().map(|(name, _)| name).collect();
        Lanes {
            clients: client_names.iter().cloned().enumerate().map(|(at, name)| (name, at)).collect(),
            client_names,
            clients_all,
            more_clients: self.more_clients,
            threads: threads.iter().enumerate().map(|(at, thread)| (thread.0, at)).collect(),
            thread_names: threads.iter().map(|thread| thread_name(thread.0)).collect(),
            threads_all,
        }
    }
}

fn peer_name(peer: Option<std::net::SocketAddr>) -> String {
    peer.map_or_else(|| "Unix sockets".to_owned(), |peer| peer.to_string())
}

fn thread_name((process, thread): (u16, u16)) -> String {
    match process {
        0 => format!("thread {thread}"),
        _ => format!("process {process}, thread {thread}"),
    }
}

/// Which unit a record belongs to.
struct UnitCursor<'a> {
    kind: UnitKind,
    frames: FramesIter<'a>,
    /// The frame that goes on, if it is whole, and its number.
    current: Option<FrameEntry>,
    frame: u64,
    unit: u32,
}

impl<'a> UnitCursor<'a> {
    fn new(kind: UnitKind, frames: &'a Frames) -> UnitCursor<'a> {
        let mut frames = frames.iter();
        UnitCursor { kind, current: frames.next(), frames, frame: 0, unit: 0 }
    }

    /// Records come in the order of their process; the frames are those of process 0, to which all refer.
    fn of(&mut self, process: u16, record: &[u8]) -> u32 {
        let Some(head) = Head::from_bytes(record) else { return self.unit };
        self.unit = match self.kind {
            UnitKind::Slices(ns) => (head.time / ns).min(SLICES) as u32,
            UnitKind::Frames(each) => {
                while process == 0 && self.current.is_some_and(|frame| frame.last_record < head.order) {
                    self.current = self.frames.next();
                    self.frame += 1;
                }
                (self.frame / each) as u32
            }
        };
        self.unit
    }
}

/// The timeline as far as it is drawn.
struct Drawing<'a> {
    timeline: Timeline,
    lanes: Lanes,
    traffic: Traffic,
    /// The frame that goes on, its number, its start, and the last call in it that moved bytes.
    frames: FramesIter<'a>,
    current: Option<FrameEntry>,
    frame: u64,
    start_ns: u64,
    busy_until_ns: u64,
}

impl<'a> Drawing<'a> {
    fn new(kind: UnitKind, frames: &'a Frames, end_ns: u64, lanes: Lanes) -> Drawing<'a> {
        let mut units: Vec<Unit> = match kind {
            UnitKind::Slices(ns) => (1..=(end_ns.div_ceil(ns)).clamp(1, SLICES + 1))
                .map(|at| Unit { end_ns: at * ns, ..Unit::default() })
                .collect(),
            UnitKind::Frames(each) => {
                let last = frames.len() as u64;
                let ends = frames.iter().zip(1..).filter(|(_, number)| number % each == 0 || *number == last);
                ends.map(|(frame, _)| Unit { end_ns: frame.time_ns, ..Unit::default() }).collect()
            }
        };
        // What comes behind the last whole frame.
        if matches!(kind, UnitKind::Frames(_)) {
            let last_ns = units.last().map_or(0, |unit| unit.end_ns);
            units.push(Unit { end_ns: end_ns.max(last_ns), ..Unit::default() });
        }
        let with_others = |mut names: Vec<String>, all: u64, more: bool| {
            if more || all > names.len() as u64 {
                names.push(OTHERS.to_owned());
            }
            names
        };
        let clients = with_others(lanes.client_names.clone(), lanes.clients_all, lanes.more_clients);
        let threads = with_others(lanes.thread_names.clone(), lanes.threads_all, false);
        let timeline = Timeline {
            kind,
            frames: frames.len() as u64,
            units,
            clients: clients.into_iter().map(|name| Lane { name, cells: Vec::new() }).collect(),
            clients_all: lanes.clients_all,
            more_clients: lanes.more_clients,
            threads: threads.into_iter().map(|name| Lane { name, cells: Vec::new() }).collect(),
            threads_all: lanes.threads_all,
            calls: BTreeMap::new(),
            texts: Vec::new(),
            thread_names: Vec::new(),
        };
        let mut frames = frames.iter();
        Drawing {
            timeline,
            lanes,
            traffic: Traffic::new(),
            current: frames.next(),
            frames,
            frame: 0,
            start_ns: 0,
            busy_until_ns: 0,
        }
    }

    fn record(&mut self, unit: u32, process: u16, record: &[u8]) {
        let Some(head) = Head::from_bytes(record) else { return };
        let last = self.timeline.units.len().saturating_sub(1) as u32;
        let unit = unit.min(last);
        if process == 0 {
            self.busy(&head);
        }
        if let Some(unit) = self.timeline.units.get_mut(unit as usize) {
            unit.calls += 1;
        }
        let lane = self.lanes.threads.get(&(process, head.thread)).copied().unwrap_or(self.lanes.thread_names.len());
        if let Some(lane) = self.timeline.threads.get_mut(lane) {
            *cell(lane, unit) += 1;
        }
        for payload in self.traffic.of(process, record) {
            let lane = self.lanes.clients.get(&peer_name(payload.peer)).copied();
            let lane = lane.unwrap_or(self.lanes.client_names.len());
            if let Some(lane) = self.timeline.clients.get_mut(lane) {
                cell(lane, unit).add(payload.outward, payload.datagrams, payload.bytes);
            }
        }
    }

    /// Adds up how long each frame was at work, as far as times of its calls tell.
    fn busy(&mut self, head: &Head) {
        let UnitKind::Frames(each) = self.timeline.kind else { return };
        while let Some(frame) = self.current.filter(|frame| frame.last_record < head.order) {
            self.end_frame(&frame, each);
        }
        if Op::from_number(head.op).is_some_and(|op| op.class() != Class::Wait) {
            self.busy_until_ns = self.busy_until_ns.max(head.time);
        }
        // No record of a later frame may come.
        if let Some(frame) = self.current.filter(|frame| frame.last_record == head.order) {
            self.end_frame(&frame, each);
        }
    }

    fn end_frame(&mut self, frame: &FrameEntry, each: u64) {
        let end_ns = frame.time_ns.max(self.start_ns);
        let busy_ns = self.busy_until_ns.clamp(self.start_ns, end_ns) - self.start_ns;
        if let Some(unit) = self.timeline.units.get_mut((self.frame / each) as usize) {
            unit.busy_ns += busy_ns;
        }
        (self.current, self.start_ns) = (self.frames.next(), end_ns);
        self.frame += 1;
    }
}

/// The cell of a unit: the last one, as units come in order, or nearly so.
#[expect(clippy::indexing_slicing, reason = "`place` is where a cell was found or put")]
fn cell<T: Default>(lane: &mut Lane<T>, unit: u32) -> &mut T {
    let place = match lane.cells.last() {
        Some(last) if last.0 == unit => lane.cells.len() - 1,
        Some(last) if last.0 > unit => match lane.cells.binary_search_by_key(&unit, |cell| cell.0) {
            Ok(place) => place,
            Err(place) => {
                lane.cells.insert(place, (unit, T::default()));
                place
            }
        },
        _ => {
            lane.cells.push((unit, T::default()));
            lane.cells.len() - 1
        }
    };
    &mut lane.cells[place].1
}

/// Calls that are kept.
#[derive(Default)]
struct Kept {
    calls: BTreeMap<u32, Vec<Calls>>,
    texts: Vec<String>,
    text_bytes: usize,
    known: HashMap<String, u32>,
    threads: Vec<String>,
    thread_of: HashMap<(u16, u16), u32>,
}

impl Kept {
    fn record(&mut self, unit: u32, process: u16, record: &[u8]) {
        let Some(line) = Line::new(process, 0, record) else { return };
        let calls = self.calls.entry(unit).or_default();
        if calls.len() >= budget::CALLS_OF_UNIT_MAX {
            return;
        }
        let Head { op, fd, time, order, thread, .. } = line.head;
        let class = Op::from_number(op).map(Op::class);
        let mut text = match class {
            // Each read of a clock has another result: without it, those of a frame are one line.
            Some(Class::Clock) if fd >= 0 => format!("{}({fd})", call_name(op)),
            Some(Class::Clock) => format!("{}()", call_name(op)),
            _ => line.call().to_string(),
        };
        if let Some((end, _)) = text.char_indices().nth(CALL_CHARACTERS) {
            text.truncate(end);
            text.push('…');
        }
        if self.text_bytes > TEXT_BYTES_MAX && !self.known.contains_key(&text) {
            text = format!("{}(…)", call_name(op));
        }
        let next = self.texts.len() as u32;
        let text = *self.known.entry(text).or_insert_with_key(|text| {
            self.text_bytes += text.len();
            self.texts.push(text.clone());
            next
        });
        let next = self.threads.len() as u32;
        let thread = *self.thread_of.entry((process, thread)).or_insert_with(|| {
            self.threads.push(thread_name((process, thread)));
            next
        });
        match calls.last_mut() {
            Some(last) if (last.thread, last.text) == (thread, text) => last.count += 1,
            _ => calls.push(Calls { time_ns: time, thread, text, count: 1, record: order }),
        }
    }
}
