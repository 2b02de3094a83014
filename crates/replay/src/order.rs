//! Which records of a process with several threads need a turn.
//!
//! Clocks and sleeps do nothing to other threads. A lock matters to another thread only where it
//! changes hands: of the acquisitions that one thread makes in a row, the first comes after the
//! other thread's last, and the last before the other thread's next. Everything else keeps the
//! recorded order.

use prony_demo::{Class, Head, Op};
use std::collections::{BTreeMap, BTreeSet};

/// Finds the acquisitions where a lock changes hands.
#[derive(Debug, Default)]
pub(crate) struct Hands {
    /// By process and object: the thread that had it last, and the record of that.
    last: BTreeMap<(u16, u32), (u16, u64)>,
    changes: BTreeSet<(u16, u64)>,
}

/// True for a call that acquires the object named in `aux`.
fn acquires(op: Op) -> bool {
    matches!(
        op,
        Op::MutexLock
            | Op::MutexTrylock
            | Op::MutexTimedlock
            | Op::CondWait
            | Op::CondTimedwait
            | Op::RwlockRdlock
            | Op::RwlockWrlock
            | Op::RwlockTryrdlock
            | Op::RwlockTrywrlock
            | Op::RwlockTimedrdlock
            | Op::RwlockTimedwrlock
            | Op::SpinLock
            | Op::SpinTrylock
    )
}

impl Hands {
    /// Takes the next record of a process, in order.
    pub(crate) fn note(&mut self, process: u16, head: &Head) {
        let Some(op) = Op::from_number(head.op).filter(|&op| acquires(op)) else { return };
        let failed = head.ret != 0 && !matches!(op, Op::CondWait | Op::CondTimedwait);
        if failed {
            return;
        }
        let before = self.last.insert((process, head.aux), (head.thread, head.order));
        if let Some((_, order)) = before.filter(|&(thread, _)| thread != head.thread) {
            self.changes.insert((process, order));
            self.changes.insert((process, head.order));
        }
    }

    /// True if the record has to wait for its turn.
    pub(crate) fn needs_turn(&self, process: u16, head: &Head) -> bool {
        let Some(op) = Op::from_number(head.op) else { return true };
        match op {
            Op::Nanosleep | Op::ClockNanosleep | Op::Usleep | Op::Sleep => false,
            // A wait for a condition ends when another thread says so.
            Op::CondWait | Op::CondTimedwait => true,
            _ if op.class() == Class::Clock => false,
            _ if acquires(op) && head.aux != 0 => self.changes.contains(&(process, head.order)),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_run_of_locks_only_its_ends_are_ordered() {
        let lock =
            |order, thread| Head { size: 40, op: Op::MutexLock as u16, thread, order, time: 0, ret: 0, fd: -1, aux: 7 };
        let records = [lock(0, 0), lock(1, 1), lock(2, 1), lock(3, 1), lock(4, 0), lock(5, 0)];
        let mut hands = Hands::default();
        records.iter().for_each(|record| hands.note(0, record));
        let ordered: Vec<bool> = records.iter().map(|record| hands.needs_turn(0, record)).collect();
        assert_eq!(ordered, [true, true, false, true, true, false]);
    }

    #[test]
    fn sleeps_need_no_turn_and_sends_do() {
        let call = |op: Op| Head { size: 40, op: op as u16, thread: 1, order: 0, time: 0, ret: 1, fd: 3, aux: 1 };
        let hands = Hands::default();
        assert!(!hands.needs_turn(0, &call(Op::Usleep)));
        assert!(hands.needs_turn(0, &call(Op::Sendto)));
    }
}
