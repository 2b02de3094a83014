//! Calls that synchronise threads: in recorded order, as long as a thread follows its records.
//!
//! Decisions on memory that no lock protects may come out otherwise in a replay, and a thread then
//! takes a lock more or fewer, or another one. From there to its next wait it takes its locks for
//! real and waits for no turn: it may hold what the thread whose turn it is needs.

use super::clocks::skip_clocks;
use super::resync::{at_end, find, fits, pass_over, window};
use super::turns::leave_turn;
use super::{Answer, count, done, taken};
use crate::channel::Stop;
use crate::inside::report::{self, Finding};
use crate::inside::thread::Thread;
use prony_demo::{Head, Op};
use std::sync::atomic::{AtomicU64, Ordering};

/// Objects that can be told apart; a power of two. More than that are taken for each other.
const OBJECTS: usize = 1 << 16;

/// What a record calls the object of a synchronising call: its address in units of 8 bytes.
pub fn name_of<T>(object: *const T) -> u32 {
    (object as usize >> 3) as u32
}

/// Which object of this process a recorded one turned out to be, learned where a thread met its
/// record: another build has its locks elsewhere. Name and address in one word each.
static KNOWN: [(AtomicU64, AtomicU64); OBJECTS] = [const { (AtomicU64::new(0), AtomicU64::new(0)) }; OBJECTS];

/// False when the recorded object is known and is not this one.
fn is_the_same(recorded: u32, object: usize) -> bool {
    if recorded == 0 {
        return true;
    }
    // Fibonacci hashing (Knuth, volume 3, 6.4) spreads neighbouring addresses.
    let mut place = (u64::from(recorded).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize;
    for _ in 0..16 {
        let (name, address) = &KNOWN[place % OBJECTS];
        match name.load(Ordering::Acquire) {
            0 => {
                // Taken first, so that two threads that learn at once do not mix their words up.
                if name.compare_exchange(0, u64::from(recorded), Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    address.store(object as u64, Ordering::Release);
                    return true;
                }
            }
            known if known == u64::from(recorded) => {
                let address = address.load(Ordering::Acquire);
                return address == 0 || address == object as u64;
            }
            _ => place += 1,
        }
    }
    true
}

/// The record of an acquisition of `object`; `None` if the thread left its records, so that it
/// has to acquire for real.
pub unsafe fn take_sync<T>(thread: *mut Thread, op: Op, object: *const T) -> Option<Answer> {
    let mut first = skip_clocks(thread);
    while first < (*thread).end && fits(first, Op::SchedYield, -1) {
        pass_over(thread, op, -1);
        first = skip_clocks(thread);
    }
    if first >= (*thread).end {
        at_end(thread, op, -1);
    }
    if !(*thread).loose && fits(first, op, -1) && is_the_same((*first).aux, object as usize) {
        return Some(taken(thread, first));
    }
    (*thread).loose = true;
    leave_turn(thread);
    count!(thread, resynced, 1);
    None
}

/// Waits for the first turn of a thread. Older demos have no record of it.
pub unsafe fn take_start(thread: *mut Thread) {
    let record = (*thread).cursor;
    if record < (*thread).end && fits(record, Op::ThreadStart, -1) {
        let answer = taken(thread, record);
        done(thread, answer);
    }
}

/// The record of a yield, if one is next.
pub unsafe fn take_yield(thread: *mut Thread) -> Option<Answer> {
    let record = skip_clocks(thread);
    (record < (*thread).end && fits(record, Op::SchedYield, -1)).then(|| taken(thread, record))
}

/// The record of a wait for a condition: a place where a thread that left its records finds back.
pub unsafe fn take_condition(thread: *mut Thread, op: Op) -> Answer {
    let first = skip_clocks(thread);
    if first >= (*thread).end {
        at_end(thread, op, -1);
    }
    let mut record: *mut Head = first;
    if !fits(first, op, -1) {
        let (end, _) = window(thread);
        match find(first, end, |record| fits(record, op, -1)) {
            Some(found) => record = found,
            None => report::stop(thread, Stop::Order, Finding::call(op, -1, first)),
        }
    }
    while (*thread).cursor < record {
        pass_over(thread, op, -1);
    }
    (*thread).loose = false;
    taken(thread, record)
}
