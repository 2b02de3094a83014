//! What a server did in each frame of a recording: received, sent, both, or neither.

use std::collections::BTreeMap;
use std::io::{Read, Seek};
use std::ops::ControlFlow;

use crate::{Class, Demo, DemoError, FrameRule, Framer, Head, Op};

/// What a server did in a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FrameActivity {
    /// It received bytes, the end of a stream or a connection.
    pub received: bool,
    /// It sent bytes.
    pub sent: bool,
}

impl FrameActivity {
    /// True for a frame in which the server only looked whether there was anything to do.
    pub fn is_idle(self) -> bool {
        !self.received && !self.sent
    }

    /// What was done in one of two frames, or in both.
    #[must_use]
    pub fn with(self, other: FrameActivity) -> FrameActivity {
        FrameActivity { received: self.received || other.received, sent: self.sent || other.sent }
    }

    /// What a call did.
    fn of(head: &Head) -> FrameActivity {
        let Some(op) = Op::from_number(head.op) else { return FrameActivity::default() };
        let received = match op {
            Op::Accept => head.ret >= 0,
            op => op.class() == Class::Input && head.ret >= 0,
        };
        FrameActivity { received, sent: op.class() == Class::Output && head.ret > 0 }
    }
}

/// The frames of one process so far.
struct Frames {
    framer: Framer,
    ended: Vec<FrameActivity>,
    current: FrameActivity,
}

/// What was done in each frame of the process with the most frames, the one that a replay times; of several, the first.
///
/// Calls of all threads of the process count. The call that ends a frame belongs to it, but what that call received is
/// processed in the next one, and counts there.
///
/// # Errors
/// When a block cannot be read.
pub fn frame_activity<R: Read + Seek>(demo: &mut Demo<R>) -> Result<Vec<FrameActivity>, DemoError> {
    let rule = demo.header().frame_rule;
    let mut processes: BTreeMap<u16, Frames> = BTreeMap::new();
    demo.for_each_record(|process, record| {
        if let Some(head) = Head::from_bytes(record) {
            processes.entry(process).or_insert_with(|| Frames::new(rule)).add(&head);
        }
        ControlFlow::Continue(())
    })?;
    let most = processes.into_iter().max_by_key(|(process, frames)| (frames.ended.len(), u16::MAX - process));
    Ok(most.map(|(_, frames)| frames.ended).unwrap_or_default())
}

impl Frames {
    fn new(rule: FrameRule) -> Frames {
        Frames { framer: Framer::new(rule), ended: Vec::new(), current: FrameActivity::default() }
    }

    fn add(&mut self, head: &Head) {
        let activity = FrameActivity::of(head);
        if self.framer.ends_frame(head) {
            self.current.sent |= activity.sent;
            self.ended.push(std::mem::take(&mut self.current));
            self.current.received = activity.received;
        } else {
            self.current = self.current.with(activity);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(op: Op, ret: i64, aux: u32) -> Head {
        Head { size: 40, op: op as u16, thread: 0, order: 0, time: 0, ret, fd: 3, aux }
    }

    fn of(rule: FrameRule, calls: &[(Op, i64, u32)]) -> Vec<(bool, bool)> {
        let mut frames = Frames::new(rule);
        calls.iter().for_each(|&(op, ret, aux)| frames.add(&head(op, ret, aux)));
        frames.ended.iter().map(|activity| (activity.received, activity.sent)).collect()
    }

    #[test]
    fn a_frame_is_known_by_the_calls_that_moved_something() {
        let wait = (Op::Select, 1, 10);
        let calls = [
            (Op::Socket, 3, 0),
            wait,
            (Op::Recvfrom, 20, 0),
            (Op::Sendto, 40, 0),
            wait,
            (Op::Recvfrom, 20, 0),
            wait,
            // EAGAIN, twice.
            (Op::Recvfrom, -11, 0),
            (Op::Sendto, -11, 0),
            wait,
            (Op::Accept, 5, 0),
            wait,
            (Op::Send, 9, 0),
            wait,
        ];
        let expected = [(false, false), (true, true), (true, false), (false, false), (true, false), (false, true)];
        assert_eq!(of(FrameRule::BlockingWait, &calls), expected);
    }

    #[test]
    fn what_a_call_that_ends_a_frame_received_is_work_of_the_next_one() {
        let calls = [
            (Op::Recvfrom, 20, 0),
            (Op::Sendto, 40, 0),
            (Op::Recvfrom, 20, 0),
            (Op::Recvfrom, -11, 0),
            (Op::Recvfrom, 20, 0),
        ];
        let expected = [(false, false), (true, true), (true, false), (false, false)];
        assert_eq!(of(FrameRule::On(Op::Recvfrom), &calls), expected);
    }

    #[test]
    fn frames_together_did_what_any_of_them_did() {
        let [received, sent] = [true, false].map(|received| FrameActivity { received, sent: !received });
        assert_eq!(received.with(sent), FrameActivity { received: true, sent: true });
        assert!(FrameActivity::default().is_idle() && !received.is_idle() && !sent.is_idle());
    }
}
