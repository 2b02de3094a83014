//! Selection of the records that need a turn, in a process with several threads.
//!
//! The records of a process stand in one order. A thread that makes several calls in a row needs
//! only be let in once: the first of them waits for a turn, and the turn lasts until the thread
//! comes to a call after which another thread had made one. Clocks do nothing to other threads and
//! are read by millions, so they neither start a turn nor end one.

use prony_demo::{Class, Head, Op};

/// Finds the records of a process with which another thread goes on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Turns {
    /// The owner that made the last call.
    last: Option<u16>,
}

impl Turns {
    /// True if this record, the next one of the process, begins a turn.
    /// `owner`: who made it, a number among the threads of the order.
    pub(crate) fn begins(&mut self, head: &Head, owner: u16) -> bool {
        let clock = Op::from_number(head.op).is_some_and(|op| op.class() == Class::Clock);
        !clock && self.last.replace(owner) != Some(owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(op: Op) -> Head {
        Head { size: 40, op: op as u16, thread: 0, order: 0, time: 0, ret: 0, fd: -1, aux: 7 }
    }

    #[test]
    fn of_the_calls_that_a_thread_makes_in_a_row_the_first_begins_a_turn() {
        let mut turns = Turns::default();
        let threads = [0, 1, 1, 1, 0, 0, 2];
        let begin = threads.map(|thread| turns.begins(&call(Op::MutexLock), thread));
        assert_eq!(begin, [true, true, false, false, true, false, true]);
    }

    #[test]
    fn clocks_neither_begin_a_turn_nor_end_one() {
        let mut turns = Turns::default();
        let calls = [(Op::Sendto, 0), (Op::ClockGettime, 1), (Op::Sendto, 0), (Op::Sendto, 1)];
        let begin = calls.map(|(op, thread)| turns.begins(&call(op), thread));
        assert_eq!(begin, [true, false, false, true]);
    }
}
