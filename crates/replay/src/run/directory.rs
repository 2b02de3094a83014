//! Processes and threads that made the records of a demo, and the facts about each record that a replay is given.

use crate::run::order::Turns;
use crate::run::stop_place::Stops;
use prony_channel::{FRAME_END, HALT, NO_TURN};
use prony_demo::{Class, FrameRule, Framer, HEAD_BYTES, Head, Op};
use std::collections::BTreeMap;

/// The processes and threads of a demo, numbered in the order in which they come up.
#[derive(Debug, Clone, Default)]
pub(crate) struct Directory {
    pub(crate) processes: Vec<ProcessEntry>,
    pub(crate) streams: Vec<StreamEntry>,
    /// The process whose frames are measured: the one that has most of them, the server, where what was started only
    /// made it.
    pub(crate) main_process: u16,
    /// Records at which a replay stops.
    pub(crate) stops: Stops,
    by_name: BTreeMap<(u16, u16), Lane>,
    by_index: BTreeMap<u16, u32>,
    /// Entry that was looked up last, as servers have few threads that call again and again.
    recent: [Option<(u16, u16, Lane)>; RECENT],
}

const RECENT: usize = 32;

/// A process of a demo.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessEntry {
    pub(crate) index: u16,
    /// The process in whose order its records stand, as a place in [`Directory::processes`]: mostly itself.
    pub(crate) leader: u32,
    /// Threads that have records in its order.
    pub(crate) threads: u32,
    /// Number of turns that those threads have.
    pub(crate) turns: u64,
}

/// The records of one thread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamEntry {
    /// Index of its process in [`Directory::processes`].
    pub(crate) process: u32,
    pub(crate) thread: u16,
    /// Number of the thread among those of its order.
    pub(crate) owner: u16,
    pub(crate) bytes: u64,
    /// Bytes of the largest record.
    pub(crate) largest: u64,
    /// Numbers of the first and the last record, over all threads.
    pub(crate) lives: (u64, u64),
}

impl StreamEntry {
    /// Counts `count` records of this size, of which `number` is the first one.
    #[inline]
    pub(crate) fn add(&mut self, number: u64, size: u64, count: u64) {
        if self.bytes == 0 {
            self.lives.0 = number;
        }
        self.lives.1 = number + count - 1;
        self.bytes += size * count;
        self.largest = self.largest.max(size);
    }
}

/// Process and thread of a record, as indices into [`Directory::processes`] and [`Directory::streams`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lane {
    pub(crate) process: u32,
    /// The process that leads the order.
    pub(crate) leader: u32,
    pub(crate) stream: u32,
}

/// Threads that one order can have: what the list of turns has bits for.
const MOST_OWNERS: u32 = 1 << 15;

impl Directory {
    #[inline]
    fn recent(process: u16, thread: u16) -> usize {
        (usize::from(process) * 7 + usize::from(thread)) % RECENT
    }

    /// Lane of a thread's records; `None` if it has none.
    #[inline]
    pub(crate) fn find(&mut self, process: u16, thread: u16) -> Option<Lane> {
        let recent = Directory::recent(process, thread);
        match self.recent[recent] {
            Some((of, by, lane)) if (of, by) == (process, thread) => Some(lane),
            _ => {
                let lane = *self.by_name.get(&(process, thread))?;
                self.recent[recent] = Some((process, thread, lane));
                Some(lane)
            }
        }
    }

    /// The place of a process, if it has records.
    pub(crate) fn process(&self, index: u16) -> Option<u32> {
        self.by_index.get(&index).copied()
    }

    /// Lane of a thread's records; unknown threads are added.
    ///
    /// # Errors
    /// What is wrong with the record, if no recorder writes it.
    #[inline]
    pub(crate) fn enter(&mut self, process: u16, head: &Head) -> Result<Lane, &'static str> {
        match self.find(process, head.thread) {
            Some(lane) => Ok(lane),
            None => self.add(process, head),
        }
    }

    fn add(&mut self, index: u16, head: &Head) -> Result<Lane, &'static str> {
        let thread = head.thread;
        let process = match self.process(index) {
            Some(process) => process,
            None => {
                let own = self.processes.len() as u32;
                let leader = self.leader_of(index, head).map_or(Ok(own), |leader| {
                    leader.ok_or("expected a process that began earlier and leads an order")
                })?;
                self.processes.push(ProcessEntry { index, leader, threads: 0, turns: 0 });
                self.by_index.insert(index, own);
                own
            }
        };
        let leader = self.processes[process as usize].leader;
        let owner = self.processes[leader as usize].threads;
        if owner == MOST_OWNERS {
            return Err("expected at most 32,768 threads that take turns");
        }
        self.processes[leader as usize].threads += 1;
        self.streams.push(StreamEntry { process, thread, owner: owner as u16, bytes: 0, largest: 0, lives: (0, 0) });
        let lane = Lane { process, leader, stream: self.streams.len() as u32 - 1 };
        self.by_name.insert((index, thread), lane);
        Ok(lane)
    }

    /// Place of the process in whose order this new one stands, as its first record says; the inner `None` for one that cannot
    /// be, the outer one for a process with an order of its own.
    fn leader_of(&self, index: u16, first: &Head) -> Option<Option<u32>> {
        if first.op != Op::OrderShared as u16 || first.aux == u32::from(index) {
            return None;
        }
        let leader = u16::try_from(first.aux).ok().and_then(|leader| self.process(leader));
        Some(leader.filter(|&leader| self.processes[leader as usize].leader == leader))
    }

    /// True if the threads of the order that this process leads take turns.
    #[inline]
    pub(crate) fn is_ordered(&self, leader: u32) -> bool {
        self.processes[leader as usize].threads > 1
    }

    /// True if any processes stand in one order.
    pub(crate) fn shares_order(&self) -> bool {
        (0..).zip(&self.processes).any(|(place, process)| process.leader != place)
    }
}

/// State of a walk over the records of a process: frames, and turns of the order that it leads.
#[derive(Debug, Clone)]
pub(crate) struct WalkState {
    pub(crate) framer: Framer,
    pub(crate) turns: Turns,
}

/// A walk over the records of a demo, in their order.
#[derive(Debug, Clone)]
pub(crate) struct Walk {
    rule: FrameRule,
    processes: Vec<WalkState>,
}

impl Walk {
    pub(crate) fn new(rule: FrameRule) -> Walk {
        Walk { rule, processes: Vec::new() }
    }

    #[inline]
    pub(crate) fn state(&mut self, process: usize) -> &mut WalkState {
        while self.processes.len() <= process {
            self.processes.push(WalkState { framer: Framer::new(self.rule), turns: Turns::default() });
        }
        &mut self.processes[process]
    }

    /// Turns the head of the next record into that of the tape. True if it begins `turn`.
    #[inline]
    pub(crate) fn mark(&mut self, directory: &Directory, lane: Lane, head: &mut Head, turn: u64) -> bool {
        let ends_frame = self.state(lane.process as usize).framer.ends_frame(head);
        let owner = directory.streams[lane.stream as usize].owner;
        let begins = directory.is_ordered(lane.leader) && self.state(lane.leader as usize).turns.begins(head, owner);
        if ends_frame && directory.processes[lane.process as usize].index == directory.main_process {
            head.op |= FRAME_END;
        }
        if directory.stops.of(directory.processes[lane.process as usize].index).contains(&Some(head.order)) {
            head.op |= HALT;
        }
        head.time = if begins { turn } else { NO_TURN };
        begins
    }
}

/// A record, and how many like it follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group<'a> {
    /// First record of the group, as bytes.
    pub(crate) record: &'a [u8],
    /// The others, as they lie behind it: reads of the same clock by the same thread.
    pub(crate) more: &'a [u8],
}

impl Group<'_> {
    /// Number of records in the group.
    pub(crate) fn count(&self) -> u64 {
        1 + (self.more.len() / HEAD_BYTES) as u64
    }
}

/// Groups of records of one process that lie behind each other.
///
/// Servers read clocks far more often than they do anything else. What is said of one read holds for those behind it:
/// they end no frame, but by a rule that each of them does, and begin no turn. `firsts`: records that are the first of their groups.
pub(crate) fn groups_of(mut run: &[u8], rule: FrameRule, firsts: [Option<u64>; 2]) -> impl Iterator<Item = Group<'_>> {
    std::iter::from_fn(move || {
        let head = *run.first_chunk::<8>()?;
        let size = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let (record, rest) = run.split_at_checked(size).filter(|_| size > 0)?;
        let op = Op::from_number(u16::from_le_bytes([head[4], head[5]]));
        let clock = size == HEAD_BYTES && op.is_some_and(|op| op.class() == Class::Clock && rule != FrameRule::On(op));
        // Size, call and thread are the first eight bytes.
        let is_first = |record: &[u8]| firsts.contains(&Head::from_bytes(record).map(|head| head.order));
        let same = |record: &&[u8]| record.first_chunk() == Some(&head) && (firsts == [None; 2] || !is_first(record));
        let more = if clock { rest.chunks_exact(HEAD_BYTES).take_while(same).count() } else { 0 };
        let (more, rest) = rest.split_at(more * HEAD_BYTES);
        run = rest;
        Some(Group { record, more })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_demo::{PartKind, Record};

    fn call(op: Op, thread: u16) -> Record {
        Record::new(Head { size: 0, op: op as u16, thread, order: 0, time: 0, ret: 0, fd: -1, aux: 1 })
    }

    fn counts(rule: FrameRule) -> Vec<u64> {
        let clock = |thread| call(Op::ClockGettime, thread);
        let sent = call(Op::Send, 0).with_part(PartKind::Out, b"bytes");
        let records = [clock(0), clock(0), clock(0), clock(1), sent.clone(), sent, clock(0), call(Op::Getpid, 0)];
        let run: Vec<u8> = records.iter().flat_map(|record| record.as_bytes().to_vec()).collect();
        let groups: Vec<Group> = groups_of(&run, rule, [None; 2]).collect();
        let all = groups.iter().flat_map(|group| [group.record, group.more]).flatten().copied();
        assert_eq!(all.collect::<Vec<u8>>(), run);
        groups.iter().map(Group::count).collect()
    }

    #[test]
    fn reads_of_a_clock_by_one_thread_are_a_group_and_all_else_stands_alone() {
        assert_eq!(counts(FrameRule::BlockingWait), [3, 1, 1, 1, 1, 1]);
        assert_eq!(counts(FrameRule::On(Op::Send)), [3, 1, 1, 1, 1, 1]);
    }

    #[test]
    fn a_read_of_a_clock_that_ends_a_frame_stands_alone() {
        assert_eq!(counts(FrameRule::On(Op::ClockGettime)), [1; 8]);
    }
}
