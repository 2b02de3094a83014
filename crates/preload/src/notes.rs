//! Notes of the recorder itself: printed at once, and kept in the demo for its replays.

use super::recorder::{self, Piece};
use super::report::{self, Text};
use super::state::{self, errno, set_errno};
use super::thread::{self, PASS_THROUGH, RECORDING};
use prony_demo::{Op, PartKind};

/// Something that a replay cannot bring back.
pub fn uncovered(text: &[&[u8]]) {
    note(Op::NoteUnrecordable, ANYTHING, text);
}

/// Notes a system call, by its number, that is not recorded.
pub fn uncovered_call(number: u32, text: &[&[u8]]) {
    note(Op::NoteUnrecordable, if number == 0 { ANYTHING } else { number }, text);
}

/// Something that a replay cannot bring back if the server makes use of it.
pub fn doubtful(text: &[&[u8]]) {
    note(Op::NoteUnrecordable, 0, text);
}

/// `aux` of a note that speaks of no system call. With 0 the demo is not considered weak.
const ANYTHING: u32 = u32::MAX;

/// Something that would pass the recorder by, for which the server was given something else.
pub fn covered(text: &[&[u8]]) {
    note(Op::NoteCovered, 0, text);
}

/// Nothing while replaying: it was said when the demo was made.
fn note(op: Op, aux: u32, text: &[&[u8]]) {
    // SAFETY: the block is the calling thread's own, and the line lives across the record that is made of it.
    unsafe {
        let thread = thread::this();
        if !(*thread).attached || state::mode() != RECORDING || state::is_over() {
            return;
        }
        let before = errno();
        let live = std::mem::replace(&mut (*thread).live, PASS_THROUGH);
        let mut line = [0; 480];
        let mut out = Text { to: &mut line, used: 0 };
        text.iter().for_each(|part| out.put(part));
        let used = out.used;
        let piece = Piece::Bytes(PartKind::Path, line.as_ptr(), used);
        recorder::emit(thread, op, -1, aux, 0, &[piece]);
        report::say(&[&line[..used]]);
        (*thread).live = live;
        set_errno(before);
    }
}
