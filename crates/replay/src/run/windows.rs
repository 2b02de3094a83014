//! A tape that is not mapped whole: a thread beside the replay unpacks the demo and fills the windows that the server's
//! threads walk over.
//!
//! A [`Walker`] goes over the blocks of the demo in their order and hands each record to the stream of its thread. What
//! a window has no room for is *pending*. Usually one walker is enough: threads pass their records in about the order of
//! the demo. Where they do not, as nothing orders the processes of one server among each other, some thread waits for
//! records behind those that another one does not take. Then the walker goes on with what is pending in memory; and when
//! that gets too much, another walker goes ahead and leaves the records behind to the one that stays. So a thread that waits
//! is always fed, memory is bounded, and a part of the demo is unpacked more than once only then.

use crate::channel::{Bell, Channel, Fault, Feeder, Filled, Offer, WindowRequest};
use crate::run::directory::{Directory, Group, Lane, Walk, groups_of};
use crate::run::stop_place::{StopRecord, Stops};
use crate::run::tape::{TapeError, playable, put_clocks};
use prony_channel::SMALLEST_WINDOW;
use prony_demo::{BlockReader, Demo, DemoError, FrameRule, HEAD_BYTES, RecordBlocks};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Facts about a demo that replays need when they unpack it as they proceed.
#[derive(Debug)]
pub(crate) struct Plan {
    directory: Directory,
    rule: FrameRule,
    blocks: RecordBlocks,
    file: File,
    /// Bytes of the window of a thread that needs no other one.
    usual: u64,
    /// Bytes of records that may be pending.
    pending: u64,
    /// Bytes of the longest window.
    pub(crate) longest: u64,
    /// Where this process may run. A replay may be on one CPU, to be measured there, and this work does not belong to it.
    cpus: Option<CpuSet>,
}

/// Bytes of the largest window of a thread whose records are small: it stays in the caches, and holds a dozen blocks' worth
/// of what is looked ahead.
const USUAL_WINDOW: u64 = 4 << 20;
const PAGE: u64 = 4096;
/// The least that is pending before a walker leaves records behind: a few blocks.
const LEAST_PENDING: u64 = 2 << 20;

impl Plan {
    /// `limit`: bytes that the replay may take.
    pub(crate) fn new<R: Read + Seek>(
        directory: Directory,
        demo: &Demo<R>,
        file: File,
        limit: u64,
    ) -> Result<Plan, TapeError> {
        let together = most_at_once(directory.streams.iter().map(|stream| (stream.lives, 1)));
        let share = (limit / 8 / together.max(1)).checked_ilog2().map_or(0, |bits| 1 << bits);
        let usual = share.clamp(SMALLEST_WINDOW, USUAL_WINDOW);
        let mut plan = Plan {
            rule: demo.header().frame_rule,
            blocks: demo.record_blocks(),
            file,
            usual,
            pending: (limit / 8).max(LEAST_PENDING),
            longest: SMALLEST_WINDOW,
            cpus: sched_getaffinity(None).ok(),
            directory,
        };
        let windows = (0..plan.directory.streams.len()).map(|stream| plan.window(stream));
        plan.longest = windows.max().unwrap_or(0).max(SMALLEST_WINDOW);
        let streams = plan.directory.streams.iter().enumerate();
        let found = most_at_once(streams.map(|(number, stream)| (stream.lives, plan.window(number))));
        if found > limit {
            return Err(TapeError::TooLarge { limit, found });
        }
        Ok(plan)
    }

    /// Bytes of the window of a stream: a power of two, in which its largest record fits.
    fn window(&self, stream: usize) -> u64 {
        let stream = &self.directory.streams[stream];
        let records = (stream.largest + PAGE).next_power_of_two();
        stream.bytes.next_power_of_two().clamp(PAGE, self.usual).max(records)
    }
}

/// The largest sum over streams that live at the same time: of each, the numbers of its first and last record, and what
/// it counts.
fn most_at_once(streams: impl Iterator<Item = ((u64, u64), u64)>) -> u64 {
    let mut events = Vec::new();
    for ((first, last), counts) in streams {
        events.push((first, false, counts));
        events.push((last, true, counts));
    }
    // Who begins at a record counts beside who ends there.
    events.sort_unstable();
    let (mut now, mut most) = (0, 0);
    for (_, ends, counts) in events {
        if ends {
            now -= counts;
        } else {
            now += counts;
            most = most.max(now);
        }
    }
    most
}

/// Reason why a replay was left without records.
#[derive(Debug)]
pub(crate) enum FeedError {
    Tape(TapeError),
    Channel(Fault),
    System(io::Error),
}

impl From<DemoError> for FeedError {
    fn from(error: DemoError) -> FeedError {
        FeedError::Tape(TapeError::Demo(error))
    }
}

impl From<Fault> for FeedError {
    fn from(fault: Fault) -> FeedError {
        FeedError::Channel(fault)
    }
}

impl From<io::Error> for FeedError {
    fn from(error: io::Error) -> FeedError {
        FeedError::System(error)
    }
}

/// A thread that feeds one replay; it ends when this is dropped.
pub(crate) struct Feeding {
    bell: Bell,
    over: Arc<AtomicBool>,
    failed: Arc<Mutex<Option<FeedError>>>,
    blocks: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

/// Longest sleep of the feeding thread.
const LOOK: Duration = Duration::from_millis(50);

impl Feeding {
    pub(crate) fn start(channel: &Channel, plan: &Arc<Plan>) -> io::Result<Feeding> {
        let feeder = channel.feeder()?;
        let bell = feeder.bell();
        let reader = BlockReader::new(At { file: plan.file.try_clone()?, at: 0 })?;
        let over = Arc::new(AtomicBool::new(false));
        let failed = Arc::new(Mutex::new(None));
        let mut streams = Streams::new(Arc::clone(plan), feeder, reader);
        let blocks = Arc::clone(&streams.unpacked);
        let (ended, why) = (Arc::clone(&over), Arc::clone(&failed));
        let cpus = plan.cpus;
        let thread = std::thread::spawn(move || {
            // Where it is not allowed, the replay is only slower.
            let _ = cpus.map(|cpus| sched_setaffinity(None, &cpus));
            if let Err(error) = streams.feed(&ended) {
                *why.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        });
        Ok(Feeding { bell, over, failed, blocks, thread: Some(thread) })
    }

    /// Blocks unpacked so far: it gets on, even if no reader does.
    pub(crate) fn progress(&self) -> u64 {
        self.blocks.load(Ordering::Relaxed)
    }

    /// Reason why feeding stopped; `None` while it continues.
    pub(crate) fn failed(&self) -> Option<FeedError> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Feeding {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.bell.ring();
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
    }
}

/// Ways that keep whatever memory their records once took.
const FEW_WAYS: usize = 16;
/// Copies of a walker that are kept.
const MOST_PAST: usize = 256;
/// Bytes that each of more of them keeps.
const KEPT_BYTES: usize = 4096;

/// A file that several read, each at a place of its own.
struct At {
    file: File,
    at: u64,
}

impl Read for At {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for At {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::Current(by) => self.at.saturating_add_signed(by),
            SeekFrom::End(by) => self.file.metadata()?.len().saturating_add_signed(by),
        };
        Ok(self.at)
    }
}

/// What is on its way to a reader: records to the window of a thread, or owners (two bytes each) to the list of turns
/// of a process. Streams of the directory come first, then its processes.
#[derive(Debug, Default)]
struct Way {
    /// Bytes that a walker has put on it.
    fed: u64,
    pending: Vec<u8>,
    /// Number of those bytes that have arrived.
    arrived: usize,
    /// Destination of the bytes, once the reader is there.
    to: Option<Destination>,
    /// True if the way stands in `Streams::lagging`.
    lags: bool,
}

#[derive(Debug, Clone, Copy)]
enum Destination {
    Window(usize),
    Turns(u16),
}

impl Way {
    fn waiting(&self) -> usize {
        self.pending.len() - self.arrived
    }
}

/// One pass over the blocks.
#[derive(Debug, Clone)]
struct Walker {
    /// The block that comes next.
    next: usize,
    walk: Walk,
    /// Of each way, the bytes before the next block. Where more is fed, another walker was here.
    seen: Vec<u64>,
}

struct Streams<R> {
    plan: Arc<Plan>,
    /// The plan's, with what was looked up last.
    directory: Directory,
    feeder: Feeder,
    reader: BlockReader<R>,
    ways: Vec<Way>,
    /// Indices of the ways that have records pending.
    lagging: Vec<usize>,
    /// Windows that were given, and whose they are.
    given: Vec<(usize, usize)>,
    /// Processes that lead an order whose list of turns was given: places in the directory.
    ordered: Vec<usize>,
    pending: u64,
    walkers: Vec<Walker>,
    /// Walkers as they were at some blocks, in their order, where a reader may go back.
    past: Vec<Walker>,
    /// Number of blocks unpacked so far.
    unpacked: Arc<AtomicU64>,
}

impl<R: Read + Seek> Streams<R> {
    fn new(plan: Arc<Plan>, feeder: Feeder, reader: BlockReader<R>) -> Streams<R> {
        let directory = plan.directory.clone();
        let count = directory.streams.len() + directory.processes.len();
        let ways = std::iter::repeat_with(Way::default).take(count).collect();
        let mut streams = Streams {
            plan,
            directory,
            feeder,
            reader,
            ways,
            lagging: Vec::new(),
            given: Vec::new(),
            ordered: Vec::new(),
            pending: 0,
            walkers: Vec::new(),
            past: Vec::new(),
            unpacked: Arc::default(),
        };
        streams.begin_walk();
        streams
    }

    fn begin_walk(&mut self) {
        let walk = Walk::new(self.plan.rule);
        self.walkers.push(Walker { next: 0, walk, seen: vec![0; self.ways.len()] });
    }

    fn feed(&mut self, over: &AtomicBool) -> Result<(), FeedError> {
        let mut drowsy = false;
        while !over.load(Ordering::Relaxed) {
            if self.get_on()? {
                drowsy = false;
                self.feeder.mark_awake();
            } else if drowsy {
                self.feeder.sleep(LOOK);
                drowsy = false;
            } else {
                self.feeder.drowse();
                drowsy = true;
            }
        }
        Ok(())
    }

    /// Does what there is to do; false if there was nothing.
    fn get_on(&mut self) -> Result<bool, FeedError> {
        let mut done = false;
        while let Some(wanted) = self.feeder.next_request()? {
            self.give(wanted)?;
            done = true;
        }
        done |= self.deliver()?;
        if let Some(way) = self.hungry() {
            self.walk_for(way)?;
            return Ok(true);
        }
        if let Some(walker) = (0..self.walkers.len()).find(|&walker| self.may_walk(walker)) {
            self.step(walker, &[])?;
            done = true;
        }
        Ok(done)
    }

    /// A thread came up, and wants its records.
    fn give(&mut self, wanted: WindowRequest) -> Result<(), FeedError> {
        let leader = self.directory.process(wanted.process);
        let leader = leader.map(|process| self.directory.processes[process as usize].leader);
        let ordered = leader.is_some_and(|leader| self.directory.is_ordered(leader));
        self.given.retain(|&(slot, _)| slot != wanted.slot);
        let recorded = leader.map(|leader| self.directory.processes[leader as usize].index);
        let mut offer = Offer { bytes: 0, end: 0, ordered, owner: None, leader: recorded };
        if let Some(Lane { stream, .. }) = self.directory.find(wanted.process, wanted.thread) {
            let (way, known) = (stream as usize, self.directory.streams[stream as usize]);
            let limit = known.bytes;
            if wanted.from > limit {
                let what = "place of a reader";
                return Err(Fault { what, slot: wanted.slot, limit, found: wanted.from }.into());
            }
            (offer.bytes, offer.end, offer.owner) = (self.plan.window(way), limit, Some(known.owner));
            let moved = self.move_stops();
            if moved || wanted.from != self.ways[way].fed - self.ways[way].waiting() as u64 {
                self.rewind(way, wanted.from);
            }
            self.ways[way].to = Some(Destination::Window(wanted.slot));
            self.given.retain(|&(_, of)| of != way);
            self.given.push((wanted.slot, way));
        }
        if let Some(leader) = leader.filter(|_| ordered) {
            self.forget_turns();
            let way = self.directory.streams.len() + leader as usize;
            let known = self.directory.processes[leader as usize];
            self.feeder.give_turns(known.index, known.turns)?;
            if self.ways[way].to.replace(Destination::Turns(known.index)).is_none() {
                self.ordered.push(leader as usize);
            }
        }
        self.feeder.give(wanted, offer)?;
        self.feeder.tell();
        Ok(())
    }

    /// Gives the lists of processes back that have had all of their turns.
    fn forget_turns(&mut self) {
        let Streams { directory, feeder, ways, ordered, .. } = self;
        ordered.retain(|&process| {
            let (known, way) = (directory.processes[process], &ways[directory.streams.len() + process]);
            way.fed < 2 * known.turns || way.waiting() > 0 || !feeder.forget_turns(known.index)
        });
    }

    /// The process runs another program, which begins with an empty window where the one before was; or it goes back to a checkpoint.
    fn rewind(&mut self, way: usize, to: u64) {
        self.pending -= self.ways[way].waiting() as u64;
        self.ways[way].pending.clear();
        (self.ways[way].arrived, self.ways[way].fed) = (0, to);
        if self.walkers.iter().all(|walker| walker.seen[way] > to) {
            match self.past.iter().rfind(|walker| walker.seen[way] <= to) {
                Some(past) => self.walkers.push(past.clone()),
                None => self.begin_walk(),
            }
        }
    }

    /// Marks other records for a debugger from here on, where a reader goes back to reach another place. True if they are others.
    fn move_stops(&mut self) -> bool {
        let Some(stops) = self.feeder.stops() else { return false };
        let moved = stops != self.directory.stops.of(0);
        if moved {
            let [first, place] = stops.map(|stop| stop.map(|record| StopRecord { process: 0, record, frame: 0 }));
            self.directory.stops = Stops { first, place };
        }
        moved
    }

    /// Brings what is pending to its readers as far as they have room; false if nothing arrived.
    fn deliver(&mut self) -> Result<bool, Fault> {
        let mut any = false;
        let crowded = self.ways.len() > FEW_WAYS;
        for place in (0..self.lagging.len()).rev() {
            let number = self.lagging[place];
            let way = &mut self.ways[number];
            let pending = &way.pending[way.arrived..];
            let Filled { taken, full } = match way.to {
                _ if pending.is_empty() => Filled { taken: 0, full: false },
                None => continue,
                Some(Destination::Window(slot)) => self.feeder.put(slot, pending)?,
                Some(Destination::Turns(process)) => {
                    let owners = pending.chunks_exact(2).map(|owner| u16::from_le_bytes([owner[0], owner[1]]));
                    let Filled { taken, full } = self.feeder.put_turns(process, owners);
                    Filled { taken: 2 * taken, full }
                }
            };
            any |= taken > 0;
            self.pending -= taken as u64;
            way.arrived += taken;
            if !full {
                // Few streams keep their memory for the next block; thousands of them would keep it all.
                if crowded && way.pending.capacity() > KEPT_BYTES {
                    way.pending = Vec::new();
                }
                way.pending.clear();
                (way.arrived, way.lags) = (0, false);
                self.lagging.swap_remove(place);
            } else if way.arrived > way.pending.len() / 2 {
                way.pending.drain(..way.arrived);
                way.arrived = 0;
            }
        }
        self.feeder.tell();
        Ok(any)
    }

    /// A way whose reader waits, and that has nothing pending.
    fn hungry(&self) -> Option<usize> {
        let streams = self.directory.streams.len();
        let window = self.given.iter().find(|&&(slot, way)| {
            let has_more = self.ways[way].fed < self.directory.streams[way].bytes;
            has_more && self.ways[way].waiting() == 0 && self.feeder.waits(slot)
        });
        let turns = || {
            self.ordered.iter().find(|&&process| {
                let (known, way) = (self.directory.processes[process], &self.ways[streams + process]);
                way.fed < 2 * known.turns && way.waiting() == 0 && self.feeder.waits_for_turns(known.index)
            })
        };
        window.map(|&(_, way)| way).or_else(|| turns().map(|&process| streams + process))
    }

    /// Goes on for a reader that waits, whatever others have pending.
    fn walk_for(&mut self, way: usize) -> Result<(), FeedError> {
        let fed = self.ways[way].fed;
        let ahead = |&walker: &usize| {
            self.walkers[walker].seen[way] <= fed && self.walkers[walker].next < self.plan.blocks.count()
        };
        let walker = (0..self.walkers.len()).filter(ahead).max_by_key(|&walker| self.walkers[walker].next);
        // Some walker stands before what is not fed yet, unless it is not there.
        let Some(walker) = walker else { return Err(FeedError::Tape(TapeError::Changed)) };
        let mut left = Vec::new();
        if self.pending >= self.plan.pending {
            left.clone_from(&self.lagging);
            let alone = |&&way: &&usize| {
                let mut others = self.walkers.iter().enumerate().filter(|&(other, _)| other != walker);
                !others.any(|(_, other)| other.seen[way] <= self.ways[way].fed)
            };
            if left.iter().any(|way| alone(&way)) {
                // It stays, for those that are left behind.
                self.walkers.push(self.walkers[walker].clone());
            }
        }
        self.step(walker, &left)
    }

    /// True if a walker may go on although no thread waits.
    fn may_walk(&self, walker: usize) -> bool {
        let Walker { next, seen, .. } = &self.walkers[walker];
        let stalled = |&way: &usize| self.ways[way].to.is_some() && self.ways[way].fed == seen[way];
        *next < self.plan.blocks.count() && self.pending < self.plan.pending / 2 && !self.lagging.iter().any(stalled)
    }

    /// Takes a walker over its next block. Ways in `left` get nothing of it.
    fn step(&mut self, walker: usize, left: &[usize]) -> Result<(), FeedError> {
        self.keep_past(walker);
        let Streams { plan, directory, reader, ways, lagging, pending, walkers, .. } = self;
        let Walker { next, walk, seen } = &mut walkers[walker];
        let streams = directory.streams.len();
        let mut put = |ways: &mut [Way], number: usize, seen: u64, parts: [&[u8]; 2], clocks: &[u8]| {
            let way = &mut ways[number];
            if way.fed != seen || !left.is_empty() && left.contains(&number) {
                return;
            }
            if !std::mem::replace(&mut way.lags, true) {
                lagging.push(number);
            }
            for part in parts {
                way.pending.extend_from_slice(part);
            }
            put_clocks(&mut way.pending, clocks);
            let bytes = (parts[0].len() + parts[1].len() + clocks.len()) as u64;
            way.fed += bytes;
            *pending += bytes;
        };
        reader.for_each_run(&plan.blocks, *next, |process, run| {
            for Group { record, more } in groups_of(run, plan.rule, directory.stops.of(process)) {
                let Some((mut head, _)) = playable(record) else { continue };
                let changed = FeedError::Tape(TapeError::Changed);
                let Some(lane) = directory.find(process, head.thread) else { return Err(changed) };
                let (stream, turns) = (lane.stream as usize, streams + lane.leader as usize);
                let owner = directory.streams[stream].owner;
                let bytes = (record.len() + more.len()) as u64;
                if seen[stream] + bytes > directory.streams[stream].bytes {
                    return Err(changed);
                }
                if walk.mark(directory, lane, &mut head, seen[turns] / 2) {
                    put(ways, turns, seen[turns], [&owner.to_le_bytes(), &[]], &[]);
                    seen[turns] += 2;
                }
                put(ways, stream, seen[stream], [&head.to_bytes(), &record[HEAD_BYTES..]], more);
                seen[stream] += bytes;
            }
            Ok(())
        })?;
        *next += 1;
        self.unpacked.fetch_add(1, Ordering::Relaxed);
        self.dismiss();
        Ok(())
    }

    /// Keeps a copy of a walker now and then, for readers that go back.
    fn keep_past(&mut self, walker: usize) {
        let apart = (self.plan.blocks.count() / MOST_PAST + 1).max(self.ways.len() / FEW_WAYS + 1);
        let next = self.walkers[walker].next;
        let is_further = self.past.last().is_none_or(|past| past.next < next);
        if self.feeder.stops().is_some() && next.is_multiple_of(apart) && is_further {
            self.past.push(self.walkers[walker].clone());
        }
    }

    /// Lets go of walkers that are not needed: for everything that they could feed, another one stands further on.
    fn dismiss(&mut self) {
        let streams = self.directory.streams.len();
        let total = |way: usize| match self.directory.streams.get(way) {
            Some(stream) => stream.bytes,
            None => 2 * self.directory.processes[way - streams].turns,
        };
        let mut place = 0;
        while self.walkers.len() > 1 && place < self.walkers.len() {
            let walker = &self.walkers[place];
            let replaced = |(number, way): (usize, &Way)| {
                let further = |(at, other): (usize, &Walker)| {
                    let after = (other.next, at) > (walker.next, place);
                    at != place && after && other.seen[number] <= way.fed
                };
                way.fed >= total(number)
                    || walker.seen[number] > way.fed
                    || self.walkers.iter().enumerate().any(further)
            };
            if self.ways.iter().enumerate().all(replaced) {
                self.walkers.swap_remove(place);
                place = 0;
            } else {
                place += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_count_together_while_they_live() {
        assert_eq!(most_at_once([((0, 9), 4), ((3, 5), 2), ((6, 8), 3)].into_iter()), 7);
        assert_eq!(most_at_once([((0, 5), 4), ((5, 9), 2)].into_iter()), 6);
        assert_eq!(most_at_once(std::iter::empty()), 0);
    }
}
