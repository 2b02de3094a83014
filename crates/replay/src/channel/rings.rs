//! Records of a server's threads as the recorder reads them from the rings.
#![deny(clippy::indexing_slicing)]

use super::Channel;
use super::memory::Mapped;
use prony_channel::{LEAST_RING_BYTES, PROCESSES, RING_BYTES, ring_offset};
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

/// Something in the shared memory that the library does not write: the server did, by mistake or on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Name of the value in the shared memory.
    pub what: &'static str,
    /// Slot of the thread that it belongs to.
    pub slot: usize,
    /// The largest value it can have.
    pub limit: u64,
    /// Value that was found there.
    pub found: u64,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Fault { what, slot, limit, found } = self;
        write!(f, "{what} in slot {slot} of the shared memory: expected at most {limit}, found {found}")
    }
}

impl std::error::Error for Fault {}

/// Error of reading the rings.
#[derive(Debug)]
pub(crate) enum DrainError {
    /// The system refused an operation on the memory.
    System(io::Error),
    /// Content of the rings that no recorder writes.
    Fault(Fault),
}

impl From<Fault> for DrainError {
    fn from(fault: Fault) -> DrainError {
        DrainError::Fault(fault)
    }
}

/// Bytes in the ring of a thread, which the thread may still change: they are copied before they are looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'a> {
    ring: &'a Mapped,
    start: usize,
    length: usize,
}

/// What the rings held.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Drained {
    pub(crate) bytes: usize,
    /// Share of its ring that the thread with the fullest one had filled.
    pub(crate) fullest: f64,
}

impl Run<'_> {
    /// Copies them behind what is there.
    pub(crate) fn append_to(&self, bytes: &mut Vec<u8>) {
        self.ring.append_to(self.start, self.length, bytes);
    }
}

impl Channel {
    /// Hands out what the threads have written since the last time, in runs of whole or cut
    /// records: index of the process, that of the process in whose order it stands, slot of the thread, bytes.
    ///
    /// # Errors
    /// When a ring cannot be mapped, or the server has written over what the library says of it.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(u32, u32, usize, Run)) -> Result<Drained, DrainError> {
        let Channel { memory, control, rings, tails, .. } = self;
        let control = control.control();
        let used = control.thread_slots_used.load(Ordering::Acquire) as usize;
        let mut drained = Drained { bytes: 0, fullest: 0.0 };
        let slots = control.threads.iter().zip(tails).zip(rings).take(used).enumerate();
        for (place, ((slot, known_tail), mapped)) in slots {
            let head = slot.head.0.load(Ordering::Acquire);
            let tail = *known_tail;
            if head == tail {
                continue;
            }
            let fault = |what, limit: u64, found| Fault { what, slot: place, limit, found };
            let length = head.wrapping_sub(tail);
            // As large as its process has it, or nonsense, which harms only the server.
            let stated = slot.ring_bytes.load(Ordering::Relaxed) as usize;
            let is_size = stated.is_power_of_two() && (LEAST_RING_BYTES..=RING_BYTES).contains(&stated);
            let ring_bytes = if is_size { stated } else { RING_BYTES };
            if length > ring_bytes as u64 {
                return Err(fault("bytes of a ring", ring_bytes as u64, length).into());
            }
            let process = slot.process.load(Ordering::Relaxed);
            let Some(known) = control.processes.get(process as usize) else {
                return Err(fault("index of a process", PROCESSES as u64 - 1, process.into()).into());
            };
            let leader = match known.leader.load(Ordering::Relaxed) {
                0 => process,
                leader if leader as usize <= PROCESSES => leader - 1,
                found => return Err(fault("leader of an order", PROCESSES as u64, found.into()).into()),
            };
            if mapped.as_ref().is_none_or(|ring| ring.length() != 2 * ring_bytes) {
                let ring = Mapped::of(memory.as_fd(), ring_offset(place), ring_bytes, true);
                *mapped = Some(ring.map_err(DrainError::System)?);
            }
            let Some(ring) = mapped else { continue };
            // Mapped twice in a row: as many bytes as the ring holds lie behind every place of the first half.
            let start = tail as usize & (ring_bytes - 1);
            each(process, leader, place, Run { ring, start, length: length as usize });
            *known_tail = head;
            slot.tail.0.store(head, Ordering::Release);
            drained.bytes += length as usize;
            drained.fullest = drained.fullest.max(length as f64 / ring_bytes as f64);
        }
        Ok(drained)
    }
}
