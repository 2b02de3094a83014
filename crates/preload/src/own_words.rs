//! What a server says to itself: bytes that it writes into a pipe, or a pair of sockets, of which it has both ends.
//!
//! They are no answer to anyone outside, and often addresses: of an object for another thread, of a function to call. In another build,
//! or under a tool that lays memory out in its own way, these differ. So a replay gives the build what the build has written: where
//! a write differs from the recorded one, the difference is kept until the bytes at the same place of the stream are read.
//!
//! Where a process makes another one, that one has the ends too, and what goes through them may leave the process: it is compared as any other
//! output from there on.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

/// Pairs of ends that a process may make; those that it makes later are compared as other outputs are.
const PAIRS: usize = 512;
/// Differences at a time that were written and not read.
const DIFFERENCES: usize = 1024;
/// Bytes of a difference.
const WORD: usize = 8;

const DESCRIPTORS: usize = prony_demo::DESCRIPTORS as usize;

/// Name of the end that a descriptor is: twice the number of the pair, from 1, and one more for the second end; 0 for none.
static ENDS: [AtomicU16; DESCRIPTORS] = [const { AtomicU16::new(0) }; DESCRIPTORS];

/// Bytes that differ from the recorded ones.
#[derive(Clone, Copy)]
struct Difference {
    /// The end at which they are read; 0 for a free place.
    end: u16,
    length: u8,
    /// Place in the stream.
    at: u64,
    recorded: [u8; WORD],
    own: [u8; WORD],
}

/// Place of both directions of a pair.
#[derive(Clone, Copy)]
struct Stream {
    written: u64,
    read: u64,
}

struct Words {
    pairs: usize,
    /// By the end at which it is read.
    streams: [Stream; 2 * PAIRS + 2],
    differences: [Difference; DIFFERENCES],
    /// Those beyond are free.
    used: usize,
}

struct Shared(UnsafeCell<Words>);

// SAFETY: only reached with `LOCK` held.
unsafe impl Sync for Shared {}

const NONE: Difference = Difference { end: 0, length: 0, at: 0, recorded: [0; WORD], own: [0; WORD] };
static WORDS: Shared = Shared(UnsafeCell::new(Words {
    pairs: 0,
    streams: [Stream { written: 0, read: 0 }; 2 * PAIRS + 2],
    differences: [NONE; DIFFERENCES],
    used: 0,
}));
static LOCK: AtomicBool = AtomicBool::new(false);
/// The first pair of which no other process has an end.
static FIRST_OWN: AtomicU16 = AtomicU16::new(1);

/// Runs with the words of the process. No signal's handler of the server runs meanwhile, and nothing in it waits.
fn with<T>(action: impl FnOnce(&mut Words) -> T) -> T {
    while LOCK.swap(true, Ordering::Acquire) {
        std::hint::spin_loop();
    }
    // SAFETY: the lock is held.
    let result = action(unsafe { &mut *WORDS.0.get() });
    LOCK.store(false, Ordering::Release);
    result
}

fn place(fd: i32) -> Option<&'static AtomicU16> {
    ENDS.get(usize::try_from(fd).ok()?)
}

/// The end that a descriptor is, of a pair of which the process has both.
fn end_of(fd: i32) -> Option<usize> {
    let end = place(fd)?.load(Ordering::Relaxed);
    (end / 2 >= FIRST_OWN.load(Ordering::Relaxed)).then_some(usize::from(end))
}

/// True if the descriptor is an end of a stream of which the process has both.
pub fn is_end(fd: i32) -> bool {
    end_of(fd).is_some()
}

fn set(fd: i32, end: u16) {
    if let Some(place) = place(fd) {
        place.store(end, Ordering::Relaxed);
    }
}

/// The process has made both ends of a stream.
pub fn made(first: i32, second: i32) {
    let pair = with(|words| {
        let next = (words.pairs + 1).min(PAIRS + 1);
        words.pairs = next.min(PAIRS);
        next
    });
    if pair <= PAIRS {
        set(first, 2 * pair as u16);
        set(second, 2 * pair as u16 + 1);
    }
}

/// `to` is a copy of `from`.
pub fn copied(from: i32, to: i32) {
    set(to, place(from).map_or(0, |end| end.load(Ordering::Relaxed)));
}

/// The descriptor is another one from here on, or none.
pub fn forget(fd: i32) {
    set(fd, 0);
}

/// The process makes another one, which has the ends of all pairs too.
pub fn end() {
    let next = with(|words| (words.pairs + 1).min(PAIRS + 1));
    FIRST_OWN.store(next as u16, Ordering::Relaxed);
}

/// The build writes to a descriptor, or does not make the recorded write: the places in the stream are not known any more.
pub fn lose(fd: i32) {
    if let Some(end) = end_of(fd) {
        let end = end as u16;
        for place in &ENDS {
            if place.load(Ordering::Relaxed) & !1 == end & !1 {
                place.store(0, Ordering::Relaxed);
            }
        }
    }
}

/// The build writes `runs`, of `total` bytes, where `recorded` was written. True if the build is to read its own bytes, whatever they
/// are; false where they have to be the recorded ones.
///
/// # Safety
/// The runs are buffers as long as they say.
pub unsafe fn sent(fd: i32, recorded: &[u8], total: usize, runs: impl Iterator<Item = (*const u8, usize)>) -> bool {
    let Some(end) = end_of(fd) else { return false };
    if recorded.len() != total {
        lose(fd);
        return false;
    }
    let reader = end ^ 1;
    with(|words| {
        let begin = words.streams[reader].written;
        let before = words.used;
        words.streams[reader].written = begin + total as u64;
        let mut at = 0;
        for (bytes, length) in runs {
            // SAFETY: the caller passes buffers that are as long as they say.
            let own = unsafe { std::slice::from_raw_parts(bytes, length.min(total - at)) };
            for (own, recorded) in own.chunks(WORD).zip(recorded[at..at + own.len()].chunks(WORD)) {
                if own != recorded && !words.keep(reader as u16, begin + at as u64, recorded, own) {
                    words.used = before;
                    return false;
                }
                at += own.len();
            }
        }
        true
    })
}

/// The build reads `recorded` from a descriptor: what it wrote itself takes the place of what was recorded.
/// `peeks`: it will read the same once more.
pub fn read(fd: i32, recorded: &mut [u8], peeks: bool) {
    let Some(end) = end_of(fd) else { return };
    with(|words| {
        let begin = words.streams[end].read;
        words.streams[end].read += if peeks { 0 } else { recorded.len() as u64 };
        let mut at = 0;
        while at < words.used {
            if words.differences[at].end == end as u16 && words.give(at, begin, recorded) && !peeks {
                words.used -= 1;
                words.differences[at] = words.differences[words.used];
            } else {
                at += 1;
            }
        }
    });
}

impl Words {
    /// Keeps a difference; false if there is no room.
    fn keep(&mut self, end: u16, at: u64, recorded: &[u8], own: &[u8]) -> bool {
        let Some(place) = self.differences.get_mut(self.used) else { return false };
        *place = Difference { end, length: own.len() as u8, at, ..NONE };
        place.recorded[..own.len()].copy_from_slice(recorded);
        place.own[..own.len()].copy_from_slice(own);
        self.used += 1;
        true
    }

    /// Lays what there is of a difference over the bytes that begin at place `begin`. True once all of it was read.
    fn give(&mut self, number: usize, begin: u64, bytes: &mut [u8]) -> bool {
        let difference = &self.differences[number];
        let ends = begin + bytes.len() as u64;
        for (nth, (&recorded, &own)) in difference.recorded.iter().zip(&difference.own).enumerate() {
            let place = difference.at + nth as u64;
            if nth >= usize::from(difference.length) || place < begin || place >= ends {
                continue;
            }
            let byte = &mut bytes[(place - begin) as usize];
            // What stands there was written in another way.
            if *byte == recorded {
                *byte = own;
            }
        }
        difference.at + u64::from(difference.length) <= ends
    }
}
