//! Puts the records of all threads into the order of their process, or of the processes that share one.
//!
//! The bytes come from memory that the server can write to, so they may be anything.
#![deny(clippy::indexing_slicing)]

use crate::channel::{Fault, Run};
use prony_channel::CLOCK_RUN;
use prony_demo::{HEAD_BYTES, Head, MAX_RECORD_BYTES};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// Bytes that wait for a record before theirs. A thread takes the number of a record and writes it at once, so this
/// many are never behind one that is still to come.
const MOST_WAITING_BYTES: usize = 1 << 30;

/// Bytes of one thread's slot that are not handed on yet.
#[derive(Debug, Default)]
struct Pending {
    process: u32,
    leader: u32,
    bytes: Vec<u8>,
    start: usize,
    /// Head of the record at `start`, once it was read.
    head: Option<Head>,
}

impl Pending {
    /// The head of the first record, if the record is whole.
    fn front(&mut self, slot: usize) -> Result<Option<Head>, Fault> {
        if self.head.is_none() {
            self.head = self.read_front(slot)?;
        }
        Ok(self.head)
    }

    fn read_front(&self, slot: usize) -> Result<Option<Head>, Fault> {
        let bytes = self.rest();
        let Some(first) = bytes.first_chunk::<HEAD_BYTES>() else { return Ok(None) };
        let size = first.first_chunk().map_or(0, |size| u32::from_le_bytes(*size));
        let head = Head::from_bytes(first).filter(|head| head.size as usize <= MAX_RECORD_BYTES);
        let head =
            head.ok_or(Fault { what: "bytes of a record", slot, limit: MAX_RECORD_BYTES as u64, found: size.into() })?;
        Ok((bytes.len() >= head.size as usize).then_some(head))
    }

    #[expect(clippy::indexing_slicing, reason = "`step` goes over whole records only")]
    fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    fn waiting(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Hands the first record on and steps over it; returns the places it took in the order.
    fn hand_on<E>(&mut self, head: &Head, each: &mut impl FnMut(u16, &Head, &[u8]) -> Result<(), E>) -> Result<u64, E> {
        let record = self.rest();
        let record = record.get(..head.size as usize).unwrap_or(record);
        let mut places = 1;
        if head.op == CLOCK_RUN {
            let reads = record.get(HEAD_BYTES..).unwrap_or_default().chunks_exact(8);
            places = reads.len() as u64;
            let mut read = Head { size: HEAD_BYTES as u32, op: head.ret as u16, fd: -1, ..*head };
            for (place, nanoseconds) in reads.enumerate() {
                read.ret = i64::from_le_bytes(nanoseconds.try_into().unwrap_or_default());
                read.order = head.order.wrapping_add(place as u64);
                each(self.process as u16, &read, &read.to_bytes())?;
            }
        } else {
            each(self.process as u16, head, record)?;
        }
        self.step(head.size as usize);
        Ok(places)
    }

    fn step(&mut self, length: usize) {
        self.head = None;
        self.start += length;
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        } else if self.start > 1 << 20 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
    }
}

/// Merges runs of bytes from many slots into records in the order of their process.
#[derive(Debug)]
pub(crate) struct Merger {
    /// By slot, in generations: a slot passes from a thread that ended to a new one.
    slots: BTreeMap<usize, Pending>,
    /// The last number that a former owner of a slot was kept under.
    former: usize,
    next: BTreeMap<u32, u64>,
}

impl Default for Merger {
    fn default() -> Merger {
        Merger { slots: BTreeMap::new(), former: usize::MAX, next: BTreeMap::new() }
    }
}

impl Merger {
    /// Takes what a slot has written. `leader`: the process in whose order the records of `process` stand.
    pub(crate) fn add(&mut self, process: u32, leader: u32, slot: usize, run: Run) {
        run.append_to(self.pending(process, leader, slot));
    }

    /// Destination of the bytes of a slot.
    fn pending(&mut self, process: u32, leader: u32, slot: usize) -> &mut Vec<u8> {
        let pending = self.slots.entry(slot).or_default();
        if (pending.process, pending.leader) != (process, leader) {
            // The former owner is gone. Where its tail waits for a gap to close, it keeps its bytes under a number no
            // slot has.
            let former = std::mem::replace(pending, Pending { process, leader, ..Pending::default() });
            if !former.bytes.is_empty() {
                self.former -= 1;
                self.slots.insert(self.former, former);
            }
        }
        &mut self.slots.entry(slot).or_default().bytes
    }

    /// Hands on every record whose turn has come. With `all`, gaps are passed over: the threads
    /// that took those numbers died before they could write.
    ///
    /// # Errors
    /// What `each` says, and a [`Fault`] where bytes are no record, or one that cannot come any more. What came before
    /// it has been handed on.
    pub(crate) fn take<E: From<Fault>>(
        &mut self,
        all: bool,
        mut each: impl FnMut(u16, &Head, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let leaders: BTreeSet<u32> = self.slots.values().map(|pending| pending.leader).collect();
        for leader in leaders {
            let next = self.next.entry(leader).or_default();
            let of_leader = self.slots.iter_mut().filter(|(_, pending)| pending.leader == leader);
            let mut pending: Vec<(usize, &mut Pending)> = of_leader.map(|(&slot, pending)| (slot, pending)).collect();
            // Slots that have a whole record, the one with the lowest number on top. What is wrong with one holds up no other.
            let mut fronts = BinaryHeap::new();
            let mut wrong = None;
            for (place, (slot, pending)) in pending.iter_mut().enumerate() {
                match pending.front(*slot) {
                    Ok(Some(head)) => fronts.push(Reverse((head.order, place))),
                    Ok(None) => {}
                    Err(fault) => wrong = wrong.or(Some(fault)),
                }
            }
            while let Some(Reverse((order, place))) = fronts.pop() {
                let Some((slot, pending)) = pending.get_mut(place) else { continue };
                let slot = *slot;
                if all {
                    *next = order;
                }
                if order < *next {
                    // Two records with one number: the first of them has been handed on.
                    let what = "number taken off a record that was to come";
                    return Err(Fault { what, slot, limit: order, found: *next }.into());
                }
                if order > *next {
                    break;
                }
                loop {
                    match pending.front(slot) {
                        Ok(Some(head)) if head.order == *next => {
                            let places = pending.hand_on(&head, &mut each)?;
                            let fault =
                                Fault { what: "number of a record", slot, limit: u64::MAX - places, found: *next };
                            *next = next.checked_add(places).ok_or(fault)?;
                        }
                        Ok(Some(head)) => {
                            fronts.push(Reverse((head.order, place)));
                            break;
                        }
                        Ok(None) => break,
                        Err(fault) => {
                            wrong = wrong.or(Some(fault));
                            break;
                        }
                    }
                }
            }
            if let Some(fault) = wrong {
                return Err(fault.into());
            }
        }
        self.slots.retain(|&slot, pending| slot < prony_channel::THREADS || !pending.bytes.is_empty());
        let found = self.slots.values().map(Pending::waiting).sum::<usize>();
        if found > MOST_WAITING_BYTES {
            let slot = self.slots.iter().max_by_key(|(_, pending)| pending.waiting()).map_or(0, |(&slot, _)| slot);
            let (what, limit) = ("bytes behind a record that does not come", MOST_WAITING_BYTES as u64);
            return Err(Fault { what, slot, limit, found: found as u64 }.into());
        }
        Ok(())
    }

    /// Bytes that wait for a gap to close.
    #[cfg(test)]
    fn waiting(&self) -> usize {
        self.slots.values().map(Pending::waiting).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_demo::Record;

    fn record(order: u64) -> Vec<u8> {
        let head = Head { size: 0, op: 1, thread: 0, order, time: 0, ret: 0, fd: -1, aux: 0 };
        Record::new(head).as_bytes().to_vec()
    }

    /// Merged records, and what was wrong with the rest.
    fn tried(merger: &mut Merger, all: bool) -> (Vec<(u16, u64)>, Result<(), Fault>) {
        let mut orders = Vec::new();
        let ended = merger.take(all, |process, head, record| {
            assert_eq!(Some(*head), Head::from_bytes(record));
            orders.push((process, head.order));
            Ok(())
        });
        (orders, ended)
    }

    fn taken(merger: &mut Merger, all: bool) -> Vec<(u16, u64)> {
        let (orders, ended) = tried(merger, all);
        ended.expect("a recorder wrote them");
        orders
    }

    fn add(merger: &mut Merger, process: u32, slot: usize, bytes: &[u8]) {
        merger.pending(process, process, slot).extend_from_slice(bytes);
    }

    #[test]
    fn records_of_two_threads_come_out_in_their_order() {
        let mut merger = Merger::default();
        add(&mut merger, 0, 1, &[record(1), record(2)].concat());
        assert_eq!(taken(&mut merger, false), []);
        add(&mut merger, 0, 0, &record(0));
        assert_eq!(taken(&mut merger, false), [(0, 0), (0, 1), (0, 2)]);
        assert_eq!(merger.waiting(), 0);
    }

    #[test]
    fn a_record_cut_between_two_runs_waits_for_its_rest() {
        let mut merger = Merger::default();
        let whole = record(0);
        add(&mut merger, 0, 0, &whole[..17]);
        assert_eq!(taken(&mut merger, false), []);
        add(&mut merger, 0, 0, &whole[17..]);
        assert_eq!(taken(&mut merger, false), [(0, 0)]);
    }

    #[test]
    fn a_gap_holds_the_rest_back_until_the_end() {
        let mut merger = Merger::default();
        add(&mut merger, 0, 0, &[record(0), record(2)].concat());
        assert_eq!(taken(&mut merger, false), [(0, 0)]);
        assert_eq!(taken(&mut merger, true), [(0, 2)]);
    }

    #[test]
    fn a_slot_that_changes_hands_keeps_what_its_former_owner_left() {
        let mut merger = Merger::default();
        add(&mut merger, 0, 0, &record(1));
        add(&mut merger, 1, 0, &record(0));
        assert_eq!(taken(&mut merger, false), [(1, 0)]);
        add(&mut merger, 0, 3, &record(0));
        assert_eq!(taken(&mut merger, false), [(0, 0), (0, 1)]);
    }

    #[test]
    fn bytes_that_are_no_records_are_faults_and_what_came_before_is_kept() {
        let sized = |size: u32, order| [&size.to_le_bytes()[..], &record(order)[4..]].concat();
        let mut last = record(u64::MAX);
        last[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
        for (nonsense, all) in [
            (sized(0, 1), false),
            (sized(39, 1), false),
            (sized(41, 1), false),
            (sized(MAX_RECORD_BYTES as u32 + 8, 1), false),
            (sized(u32::MAX, 1), true),
            (record(0), false),
            (last, true),
        ] {
            let mut merger = Merger::default();
            add(&mut merger, 0, 7, &[&record(0)[..], &nonsense].concat());
            let (orders, ended) = tried(&mut merger, all);
            assert_eq!(orders.first(), Some(&(0, 0)));
            assert_eq!(ended.expect_err("no record").slot, 7, "{:x?}", &nonsense[..16]);
        }
    }

    #[test]
    fn a_slot_with_bytes_that_are_no_records_holds_up_no_other() {
        let mut merger = Merger::default();
        add(&mut merger, 0, 1, &[0xff; HEAD_BYTES]);
        add(&mut merger, 0, 2, &[record(0), record(1)].concat());
        let (orders, ended) = tried(&mut merger, false);
        assert_eq!(orders, [(0, 0), (0, 1)]);
        assert_eq!(ended.expect_err("no record").slot, 1);
    }

    #[test]
    fn numbers_that_go_back_are_taken_at_the_end_only() {
        for (all, expected) in [(false, 1), (true, 3)] {
            let mut merger = Merger::default();
            add(&mut merger, 0, 1, &[record(0), record(0)].concat());
            add(&mut merger, 0, 2, &record(0));
            let (orders, ended) = tried(&mut merger, all);
            assert_eq!((orders.len(), ended.is_ok()), (expected, all));
        }
    }

    #[test]
    fn a_run_of_clock_reads_at_the_end_of_all_numbers_ends() {
        let head = Head { size: 0, op: CLOCK_RUN, thread: 0, order: u64::MAX - 1, time: 0, ret: 1, fd: 3, aux: 0 };
        let mut run = [head.to_bytes().to_vec(), vec![0; 24]].concat();
        run[..4].copy_from_slice(&64u32.to_le_bytes());
        let mut merger = Merger::default();
        add(&mut merger, 0, 0, &run);
        assert!(tried(&mut merger, true).1.is_err());
    }
}
