//! Puts the records of all threads into the order of their process.

use prony_demo::{HEAD_BYTES, Head};
use prony_preload::CLOCK_RUN;
use std::collections::BTreeMap;

/// Bytes of one thread's slot that are not handed on yet.
#[derive(Debug, Default)]
struct Pending {
    process: u32,
    bytes: Vec<u8>,
    start: usize,
}

impl Pending {
    /// The head of the first record, if the record is whole.
    fn front(&self) -> Option<Head> {
        let bytes = &self.bytes[self.start..];
        let head = Head::from_bytes(bytes.get(..HEAD_BYTES)?)?;
        (bytes.len() >= head.size as usize).then_some(head)
    }

    /// Hands the first record on and steps over it; returns the places it took in the order.
    fn hand_on<E>(&mut self, head: &Head, each: &mut impl FnMut(u16, &[u8]) -> Result<(), E>) -> Result<u64, E> {
        let record = &self.bytes[self.start..self.start + head.size as usize];
        let mut places = 1;
        if head.op == CLOCK_RUN {
            let reads = record[HEAD_BYTES..].chunks_exact(8);
            places = reads.len() as u64;
            let mut read = Head { size: HEAD_BYTES as u32, op: head.ret as u16, fd: -1, ..*head };
            for (nanoseconds, order) in reads.zip(head.order..) {
                read.ret = i64::from_le_bytes(nanoseconds.try_into().unwrap_or_default());
                read.order = order;
                each(self.process as u16, &read.to_bytes())?;
            }
        } else {
            each(self.process as u16, record)?;
        }
        self.step(head.size as usize);
        Ok(places)
    }

    fn step(&mut self, length: usize) {
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
#[derive(Debug, Default)]
pub(crate) struct Merger {
    /// By slot, in generations: a slot passes from a thread that ended to a new one.
    slots: BTreeMap<usize, Pending>,
    next: BTreeMap<u32, u64>,
}

impl Merger {
    /// Takes what a slot has written.
    pub(crate) fn add(&mut self, process: u32, slot: usize, bytes: &[u8]) {
        let pending = self.slots.entry(slot).or_default();
        if pending.process != process && pending.bytes.is_empty() {
            pending.process = process;
        } else if pending.process != process {
            // The former owner is gone and its tail waits for a gap to close: it keeps its bytes
            // under a number no slot has.
            let former = std::mem::take(pending);
            let mut place = usize::MAX;
            while self.slots.contains_key(&place) {
                place -= 1;
            }
            self.slots.insert(place, former);
            self.slots.insert(slot, Pending { process, bytes: bytes.to_vec(), start: 0 });
            return;
        }
        pending.bytes.extend_from_slice(bytes);
    }

    /// Hands on every record whose turn has come. With `all`, gaps are passed over: the threads
    /// that took those numbers died before they could write.
    pub(crate) fn take<E>(&mut self, all: bool, mut each: impl FnMut(u16, &[u8]) -> Result<(), E>) -> Result<(), E> {
        let processes: Vec<u32> = self.slots.values().map(|pending| pending.process).collect();
        for process in processes {
            let next = self.next.entry(process).or_default();
            loop {
                let mut lowest: Option<(u64, usize)> = None;
                for (&slot, pending) in self.slots.iter_mut().filter(|(_, pending)| pending.process == process) {
                    while let Some(head) = pending.front().filter(|head| head.order == *next) {
                        *next += pending.hand_on(&head, &mut each)?;
                    }
                    if let Some(head) = pending.front() {
                        lowest = Some(lowest.map_or((head.order, slot), |found| found.min((head.order, slot))));
                    }
                }
                match lowest {
                    Some((order, _)) if order == *next => {}
                    Some((order, _)) if all => *next = order,
                    _ => break,
                }
            }
        }
        self.slots.retain(|&slot, pending| slot < prony_preload::THREADS || !pending.bytes.is_empty());
        Ok(())
    }

    /// Bytes that wait for a gap to close.
    #[cfg(test)]
    fn waiting(&self) -> usize {
        self.slots.values().map(|pending| pending.bytes.len() - pending.start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_demo::Record;
    use std::convert::Infallible;

    fn record(order: u64) -> Vec<u8> {
        let head = Head { size: 0, op: 1, thread: 0, order, time: 0, ret: 0, fd: -1, aux: 0 };
        Record::new(head).as_bytes().to_vec()
    }

    fn taken(merger: &mut Merger, all: bool) -> Vec<(u16, u64)> {
        let mut orders = Vec::new();
        let Ok(()) = merger.take::<Infallible>(all, |process, record| {
            orders.push((process, Head::from_bytes(record).expect("whole").order));
            Ok(())
        });
        orders
    }

    #[test]
    fn records_of_two_threads_come_out_in_their_order() {
        let mut merger = Merger::default();
        merger.add(0, 1, &[record(1), record(2)].concat());
        assert_eq!(taken(&mut merger, false), []);
        merger.add(0, 0, &record(0));
        assert_eq!(taken(&mut merger, false), [(0, 0), (0, 1), (0, 2)]);
        assert_eq!(merger.waiting(), 0);
    }

    #[test]
    fn a_record_cut_between_two_runs_waits_for_its_rest() {
        let mut merger = Merger::default();
        let whole = record(0);
        merger.add(0, 0, &whole[..17]);
        assert_eq!(taken(&mut merger, false), []);
        merger.add(0, 0, &whole[17..]);
        assert_eq!(taken(&mut merger, false), [(0, 0)]);
    }

    #[test]
    fn a_gap_holds_the_rest_back_until_the_end() {
        let mut merger = Merger::default();
        merger.add(0, 0, &[record(0), record(2)].concat());
        assert_eq!(taken(&mut merger, false), [(0, 0)]);
        assert_eq!(taken(&mut merger, true), [(0, 2)]);
    }

    #[test]
    fn a_slot_that_changes_hands_keeps_what_its_former_owner_left() {
        let mut merger = Merger::default();
        merger.add(0, 0, &record(1));
        merger.add(1, 0, &record(0));
        assert_eq!(taken(&mut merger, false), [(1, 0)]);
        merger.add(0, 3, &record(0));
        assert_eq!(taken(&mut merger, false), [(0, 0), (0, 1)]);
    }
}
