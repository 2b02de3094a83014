//! The windows of a replay as the process outside fills them.
//!
//! What a server writes to the shared memory is believed as far as it can be true: where a window is filled and how long
//! it is are kept here, and a reader that claims to be elsewhere is a [`Fault`].

use super::memory::{Mapped, wait, wake_all};
use super::{Channel, Fault};
use prony_channel::{
    Control, Feed, NO_PROCESS, NO_THREAD, PROCESSES, Process, QUARTERS, THREADS, TURNS, turn_entry, turns_offset,
    window_offset,
};
use rustix::fs::{FallocateFlags, fallocate};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A thread that wants a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WindowRequest {
    /// Index of its slot in the control area.
    pub(crate) slot: usize,
    /// Index of the thread's process in the recording.
    pub(crate) process: u16,
    /// Number of the thread within its process, from 0.
    pub(crate) thread: u16,
    /// Bytes of its records that it does not want.
    pub(crate) from: u64,
    request: u32,
}

/// A window that a thread gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offer {
    /// Bytes of the window, a power of two and at least a page; 0 for a thread without records.
    pub(crate) bytes: u64,
    /// Bytes of all records of the thread.
    pub(crate) end: u64,
    /// The process has several threads.
    pub(crate) ordered: bool,
    /// Number of the thread in the list of turns, if it is in it.
    pub(crate) owner: Option<u16>,
    /// The process in whose order the recording has it, if it has the process.
    pub(crate) leader: Option<u16>,
}

/// Result of copying records or turns to their readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Filled {
    /// Bytes or turns that are there now.
    pub(crate) taken: usize,
    /// True if there is no room for the next one.
    pub(crate) full: bool,
}

/// The filling end of a replay whose tape is not mapped whole.
#[derive(Debug)]
pub(crate) struct Feeder {
    control: Arc<Mapped>,
    memory: OwnedFd,
    stride: u64,
    slots: Vec<Slot>,
    turns: BTreeMap<u16, Turns>,
}

#[derive(Debug, Default)]
struct Slot {
    request: u32,
    window: Option<Mapped>,
    bytes: u64,
    read: u64,
    filled: u64,
    quarter: u64,
}

#[derive(Debug)]
struct Turns {
    list: Mapped,
    places: u64,
    count: u64,
    filled: u64,
}

/// Handle that wakes the filling end from another thread.
#[derive(Debug, Clone)]
pub(crate) struct Bell {
    control: Arc<Mapped>,
}

impl Bell {
    /// Has the [`Feeder`] look again.
    pub(crate) fn ring(&self) {
        let sleeps = &self.control.control().feeder_sleeps;
        sleeps.store(false, Ordering::SeqCst);
        wake_all(sleeps.word());
    }
}

impl Channel {
    /// The end at which windows are filled; it may go to another thread. For channels with windows.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub(crate) fn feeder(&self) -> io::Result<Feeder> {
        let Some(memory) = self.descriptors().1 else { return Err(io::Error::other("this channel has no windows")) };
        let slots = std::iter::repeat_with(Slot::default).take(THREADS).collect();
        let (control, stride) = (self.shared_control(), self.window_stride());
        Ok(Feeder { control, memory: memory.try_clone_to_owned()?, stride, slots, turns: BTreeMap::new() })
    }
}

impl Feeder {
    /// Handle that wakes this end while it sleeps.
    pub(crate) fn bell(&self) -> Bell {
        Bell { control: Arc::clone(&self.control) }
    }

    pub(super) fn control(&self) -> &Control {
        self.control.control()
    }

    fn feed(&self, slot: usize) -> &Feed {
        &self.control().threads[slot].feed
    }

    fn process(&self, process: u16) -> &Process {
        &self.control().processes[usize::from(process)]
    }

    /// A thread that wants a window and has not been given one.
    ///
    /// # Errors
    /// [`Fault`] for one that is no thread of a recording.
    pub(crate) fn next_request(&self) -> Result<Option<WindowRequest>, Fault> {
        let used = (self.control().thread_slots_used.load(Ordering::Acquire) as usize).min(THREADS);
        for (slot, known) in self.slots[..used].iter().enumerate() {
            let feed = self.feed(slot);
            let request = feed.requests.load(Ordering::Acquire);
            if request == known.request {
                continue;
            }
            let thread = &self.control().threads[slot];
            let fault = |what, limit: u64, found| Fault { what, slot, limit, found };
            let process = thread.process.load(Ordering::Relaxed);
            let process = u16::try_from(process).ok().filter(|&index| usize::from(index) < PROCESSES).ok_or(fault(
                "index of a process",
                PROCESSES as u64 - 1,
                process.into(),
            ))?;
            let number = thread.thread.load(Ordering::Relaxed);
            if number == NO_THREAD {
                continue;
            }
            let thread =
                u16::try_from(number).map_err(|_| fault("number of a thread", u16::MAX.into(), number.into()))?;
            return Ok(Some(WindowRequest { slot, process, thread, from: feed.from.load(Ordering::Relaxed), request }));
        }
        Ok(None)
    }

    /// Gives the thread its window.
    ///
    /// # Errors
    /// When the kernel does not map it.
    pub(crate) fn give(&mut self, wanted: WindowRequest, offer: Offer) -> io::Result<()> {
        let from = wanted.from.min(offer.end);
        let offset = window_offset(wanted.slot, self.stride);
        let before = std::mem::take(&mut self.slots[wanted.slot]);
        if before.bytes > offer.bytes {
            self.forget(offset + offer.bytes, before.bytes - offer.bytes);
        }
        let window = match offer.bytes {
            0 => None,
            bytes => Some(Mapped::of(self.memory.as_fd(), offset, bytes as usize, true)?),
        };
        let quarter = from.checked_div(offer.bytes / 4).unwrap_or(0);
        let (request, bytes) = (wanted.request, offer.bytes);
        self.slots[wanted.slot] = Slot { request, window, bytes, read: from, filled: from, quarter };
        let feed = self.feed(wanted.slot);
        feed.bytes.store(offer.bytes, Ordering::Relaxed);
        feed.end.store(offer.end, Ordering::Relaxed);
        feed.ordered.store(offer.ordered, Ordering::Relaxed);
        feed.owner.store(offer.owner.map_or(NO_THREAD, u32::from), Ordering::Relaxed);
        feed.leader.store(offer.leader.map_or(NO_PROCESS, u32::from), Ordering::Relaxed);
        feed.filled.store(from, Ordering::Relaxed);
        feed.full_filled.store(u64::MAX, Ordering::Relaxed);
        feed.wants.store(0, Ordering::Relaxed);
        for quarter in &feed.quarters {
            quarter.store(0, Ordering::Relaxed);
        }
        feed.given.0.store(wanted.request, Ordering::SeqCst);
        Ok(())
    }

    /// Makes the list of turns of a process that has several threads.
    ///
    /// # Errors
    /// When the kernel does not map it.
    pub(crate) fn give_turns(&mut self, process: u16, count: u64) -> io::Result<()> {
        if self.turns.contains_key(&process) {
            return Ok(());
        }
        let places = count.next_power_of_two().clamp(1024, TURNS);
        let offset = turns_offset(process.into(), self.stride);
        let list = Mapped::of(self.memory.as_fd(), offset, places as usize * size_of::<u32>(), false)?;
        let slot = self.process(process);
        slot.turn_count.store(count, Ordering::Relaxed);
        slot.turn_places.store(places, Ordering::Relaxed);
        self.turns.insert(process, Turns { list, places, count, filled: 0 });
        Ok(())
    }

    /// Gives memory back that is no longer read.
    fn forget(&self, offset: u64, bytes: u64) {
        // Where it fails, the memory is kept.
        let _ = fallocate(&self.memory, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, bytes);
    }

    /// Appends whole records to a window, as many as there is room for.
    ///
    /// `records`: whole records behind each other.
    ///
    /// # Errors
    /// [`Fault`] for a reader that is where it cannot be.
    pub(crate) fn put(&mut self, slot: usize, records: &[u8]) -> Result<Filled, Fault> {
        let read = self.feed(slot).read.load(Ordering::SeqCst);
        let state = &mut self.slots[slot];
        if !(state.read..=state.filled).contains(&read) {
            return Err(Fault { what: "place of a reader", slot, limit: state.filled, found: read });
        }
        state.read = read;
        let room = (read + state.bytes - state.filled) as usize;
        let feed = &self.control.control().threads[slot].feed;
        let quarter_bytes = state.bytes / 4;
        let mut taken = 0;
        while let Some(size) = records.get(taken..taken + 4) {
            let size = u32::from_le_bytes([size[0], size[1], size[2], size[3]]) as usize;
            if size == 0 || taken + size > room.min(records.len()) {
                break;
            }
            let place = state.filled + taken as u64;
            let quarter = place / quarter_bytes;
            while state.quarter < quarter {
                state.quarter += 1;
                feed.quarters[state.quarter as usize % QUARTERS].store(place, Ordering::Relaxed);
            }
            taken += size;
        }
        if let Some(window) = state.window.as_ref().filter(|_| taken > 0) {
            // Mapped twice in a row, so what fits in it fits behind every place of the first half.
            window.put((state.filled % state.bytes) as usize, &records[..taken]);
        }
        state.filled += taken as u64;
        feed.filled.store(state.filled, Ordering::SeqCst);
        let full = taken < records.len();
        if full {
            feed.full_read.store(read, Ordering::SeqCst);
            feed.full_filled.store(state.filled, Ordering::SeqCst);
        }
        Ok(Filled { taken, full })
    }

    /// Appends owners to the list of turns of a process, as many as there is room for.
    pub(crate) fn put_turns(&mut self, process: u16, owners: impl Iterator<Item = u16>) -> Filled {
        let order = self.process(process).order.load(Ordering::SeqCst);
        let Some(turns) = self.turns.get_mut(&process) else { return Filled { taken: 0, full: true } };
        let room = (order.min(turns.filled) + turns.places - turns.filled) as usize;
        let (mut taken, mut full) = (0, false);
        for owner in owners {
            if taken == room {
                full = true;
                break;
            }
            let turn = turns.filled + taken as u64;
            let entry = turns.list.word((turn & (turns.places - 1)) as usize);
            entry.store(turn_entry(turn, owner), Ordering::Relaxed);
            taken += 1;
        }
        turns.filled += taken as u64;
        let filled = turns.filled;
        self.process(process).turns_filled.store(filled, Ordering::SeqCst);
        Filled { taken, full }
    }

    /// Gives the list of turns of a process back whose turns are over; false if they are not.
    pub(crate) fn forget_turns(&mut self, process: u16) -> bool {
        let order = self.process(process).order.load(Ordering::SeqCst);
        match self.turns.get(&process) {
            Some(turns) if order < turns.count => false,
            Some(turns) => {
                self.forget(turns_offset(process.into(), self.stride), turns.places * size_of::<u32>() as u64);
                self.turns.remove(&process);
                true
            }
            None => true,
        }
    }

    /// True if the thread in this slot waits for more than its window has.
    pub(crate) fn waits(&self, slot: usize) -> bool {
        self.feed(slot).wants.load(Ordering::SeqCst) == self.slots[slot].filled + 1
    }

    /// True if threads of this process wait for more of the list of turns.
    pub(crate) fn waits_for_turns(&self, process: u16) -> bool {
        self.process(process).turns_waiting.swap(false, Ordering::SeqCst)
    }

    /// Wakes who waits for what was put or given.
    pub(crate) fn tell(&self) {
        if self.control().fed_waiters.load(Ordering::SeqCst) != 0 {
            self.control().fed.fetch_add(1, Ordering::SeqCst);
            wake_all(&self.control().fed);
        }
    }

    /// Marks this end as about to sleep, so that readers wake it. An end that looks once more after this, and then sleeps,
    /// misses nothing.
    pub(crate) fn drowse(&self) {
        self.control().feeder_sleeps.store(true, Ordering::SeqCst);
    }

    /// Marks this end as awake, so that readers need not wake it.
    pub(crate) fn mark_awake(&self) {
        self.control().feeder_sleeps.store(false, Ordering::SeqCst);
    }

    /// Sleeps until a reader wakes this end, at most this long.
    pub(crate) fn sleep(&self, at_most: Duration) {
        wait(self.control().feeder_sleeps.word(), 1, at_most);
        self.mark_awake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::{PastLibc, Tapes};
    use prony_channel::SMALLEST_WINDOW;

    /// A feeder, and a thread that has requested a window.
    fn requested(from: u64) -> (Feeder, WindowRequest) {
        let tapes = Tapes::Windows { longest: SMALLEST_WINDOW };
        let channel = Channel::to_replay(&[], tapes, 1, 1, false, PastLibc::default()).expect("the kernel has memory");
        let feeder = channel.feeder().expect("it has windows");
        let control = feeder.control();
        control.thread_slots_used.store(2, Ordering::Relaxed);
        let thread = &control.threads[1];
        thread.process.store(3, Ordering::Relaxed);
        thread.thread.store(5, Ordering::Relaxed);
        thread.feed.from.store(from, Ordering::Relaxed);
        thread.feed.read.store(from, Ordering::Relaxed);
        thread.feed.requests.store(1, Ordering::Relaxed);
        let wanted = feeder.next_request().expect("it is a thread").expect("it asks");
        assert_eq!((wanted.slot, wanted.process, wanted.thread, wanted.from), (1, 3, 5, from));
        (feeder, wanted)
    }

    fn given(from: u64, bytes: u64) -> Feeder {
        let (mut feeder, wanted) = requested(from);
        feeder
            .give(wanted, Offer { bytes, end: 1 << 30, ordered: false, owner: None, leader: None })
            .expect("the kernel maps it");
        assert_eq!(feeder.next_request().expect("it is a thread"), None);
        feeder
    }

    fn record(size: u32) -> Vec<u8> {
        let mut record = size.to_le_bytes().to_vec();
        record.resize(size as usize, 7);
        record
    }

    #[test]
    fn a_window_takes_whole_records_up_to_its_size_and_goes_round() {
        let mut feeder = given(0, 4096);
        let records = record(1000).repeat(9);
        assert_eq!(feeder.put(1, &records).expect("the reader is there"), Filled { taken: 4000, full: true });
        let feed = feeder.feed(1);
        assert_eq!(
            [&feed.filled, &feed.full_filled, &feed.full_read].map(|place| place.load(Ordering::Relaxed)),
            [4000, 4000, 0]
        );
        // Quarters of 1,024 bytes: the second begins before the third record, and so on.
        assert_eq!([1, 2, 3].map(|quarter: usize| feed.quarters[quarter].load(Ordering::Relaxed)), [2000, 3000, 0]);
        feed.read.store(3000, Ordering::Relaxed);
        assert_eq!(feeder.put(1, &records).expect("the reader is there"), Filled { taken: 3000, full: true });
        let feed = feeder.feed(1);
        assert_eq!(feed.filled.load(Ordering::Relaxed), 7000);
        assert_eq!([3, 4, 5].map(|quarter: usize| feed.quarters[quarter].load(Ordering::Relaxed)), [4000, 5000, 6000]);
        let window = feeder.slots[1].window.as_ref().expect("it was given");
        let mut across = Vec::new();
        window.append_to(4000, 1000, &mut across);
        assert_eq!(across, record(1000));
    }

    #[test]
    fn a_window_begins_at_the_requested_position() {
        let mut feeder = given(10_000, 4096);
        assert_eq!(feeder.put(1, &record(64)).expect("the reader is there"), Filled { taken: 64, full: false });
        assert_eq!(feeder.feed(1).filled.load(Ordering::Relaxed), 10_064);
        feeder.feed(1).wants.store(10_065, Ordering::Relaxed);
        assert!(feeder.waits(1));
        feeder.put(1, &record(64)).expect("the reader is there");
        assert!(!feeder.waits(1));
    }

    #[test]
    fn a_reader_that_is_where_nothing_is_yet_is_a_fault() {
        let mut feeder = given(0, 4096);
        feeder.put(1, &record(64)).expect("the reader is there");
        for place in [65, u64::MAX] {
            feeder.feed(1).read.store(place, Ordering::Relaxed);
            let fault = feeder.put(1, &record(64)).expect_err("nonsense");
            assert_eq!((fault.slot, fault.limit, fault.found), (1, 64, place));
        }
        feeder.feed(1).read.store(64, Ordering::Relaxed);
        feeder.put(1, &record(64)).expect("the reader is there");
        // Nor does it go back.
        feeder.feed(1).read.store(0, Ordering::Relaxed);
        assert!(feeder.put(1, &record(64)).is_err());
    }

    #[test]
    fn a_thread_that_no_recording_has_is_a_fault() {
        for (process, thread) in [(PROCESSES as u32, 0), (0, 1 << 16), (u32::MAX, 0)] {
            let (mut feeder, wanted) = requested(0);
            feeder
                .give(wanted, Offer { bytes: 4096, end: 0, ordered: false, owner: None, leader: None })
                .expect("the kernel maps it");
            let slot = &feeder.control().threads[1];
            slot.process.store(process, Ordering::Relaxed);
            slot.thread.store(thread, Ordering::Relaxed);
            slot.feed.requests.store(2, Ordering::Relaxed);
            let fault = feeder.next_request().expect_err("nonsense");
            assert!(fault.slot == 1 && fault.found > fault.limit, "{fault}");
        }
    }

    #[test]
    fn the_list_of_turns_goes_round_behind_the_turn_that_is_due() {
        let (mut feeder, _) = requested(0);
        feeder.give_turns(3, 3 * TURNS).expect("the kernel maps it");
        let owners = || std::iter::repeat_n(9, 2 * TURNS as usize);
        assert_eq!(feeder.put_turns(3, owners()), Filled { taken: TURNS as usize, full: true });
        assert_eq!(feeder.put_turns(3, owners()), Filled { taken: 0, full: true });
        feeder.process(3).order.store(5, Ordering::Relaxed);
        assert_eq!(feeder.put_turns(3, owners()), Filled { taken: 5, full: true });
        let list = &feeder.turns[&3].list;
        let [new, old] = [4, 5].map(|place| list.word(place).load(Ordering::Relaxed));
        assert_eq!([new, old], [turn_entry(TURNS + 4, 9), turn_entry(5, 9)]);
        assert_ne!(new, turn_entry(4, 9));
        assert!(!feeder.forget_turns(3));
        feeder.process(3).order.store(3 * TURNS, Ordering::Relaxed);
        assert!(feeder.forget_turns(3));
    }
}
