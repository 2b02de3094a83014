//! Frames: one iteration of the server's main loop each.

use crate::{Class, Head, Op};

/// Decides from the records of a process, in order, where its frames end.
///
/// By default a frame ends at a wait of the main thread that may block: a timeout above zero, or
/// none. Waits that follow each other with nothing between them, not even a look at the clock, end one
/// frame together: a sleep that was interrupted and resumed is still one turn. With [`FrameRule::On`]
/// every such call of the main thread ends a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FrameRule {
    /// The first wait of the main thread that may block.
    #[default]
    BlockingWait,
    /// Every call of this kind by the main thread.
    On(Op),
}

/// Counts the frames of one process.
#[derive(Debug, Clone)]
pub struct Framer {
    rule: FrameRule,
    worked: bool,
}

impl Framer {
    /// A counter that has seen nothing yet.
    pub fn new(rule: FrameRule) -> Framer {
        Framer { rule, worked: false }
    }

    /// True when this record ends a frame; the record itself is the frame's last one.
    pub fn ends_frame(&mut self, head: &Head) -> bool {
        if head.thread != 0 {
            return false;
        }
        let Some(op) = Op::from_number(head.op) else { return false };
        match self.rule {
            FrameRule::On(marker) => op == marker,
            FrameRule::BlockingWait => match op.class() {
                Class::Wait if head.aux > 0 => std::mem::take(&mut self.worked),
                Class::Wait | Class::Note | Class::Signal => false,
                _ => {
                    self.worked = true;
                    false
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(op: Op, aux: u32) -> Head {
        Head { size: 40, op: op as u16, thread: 0, order: 0, time: 0, ret: 0, fd: -1, aux }
    }

    #[test]
    fn a_poll_that_cannot_block_is_no_frame_and_split_sleeps_are_one() {
        let mut framer = Framer::new(FrameRule::BlockingWait);
        let turn = [(Op::Recvfrom, 1400), (Op::Select, 0), (Op::ClockGettime, 1), (Op::Select, 10), (Op::Select, 2)];
        let ends: Vec<bool> = turn.iter().map(|&(op, aux)| framer.ends_frame(&head(op, aux))).collect();
        assert_eq!(ends, [false, false, false, true, false]);
    }

    #[test]
    fn a_chosen_call_replaces_the_default_marker() {
        let mut framer = Framer::new(FrameRule::On(Op::Gettimeofday));
        assert!(framer.ends_frame(&head(Op::Gettimeofday, 0)));
        assert!(!framer.ends_frame(&head(Op::Select, 10)));
    }
}
