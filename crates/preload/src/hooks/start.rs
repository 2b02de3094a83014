//! What a program has open when it starts: the first one of a recording from outside, and one that was spawned from its parent.

use super::super::descriptors::{self, INHERITED_MAX, Inherited};
use super::super::player::{self, CallResult};
use super::super::recorder::{self, Piece};
use super::super::state;
use super::super::thread::Thread;
use super::file::{record_content, replay_content};
use super::{enter, leave};
use prony_demo::{Op, PartKind};

/// Begins in the first program of a recording: what it was handed beside the standard streams belongs to the conversation, as they do, and the recording holds
/// the content of a file that it was handed. Where there is nothing of both, there is no record.
pub fn begin_first() {
    // SAFETY: the block that `enter` returns is the calling thread's own, in a process that has one thread.
    unsafe {
        let (thread, recording) = enter();
        let mut inherited = [Inherited::default(); INHERITED_MAX];
        if recording {
            let count = descriptors::handed(&mut inherited);
            if count > 0 {
                record_start(thread, 0, &inherited[..count]);
            }
            for one in &inherited[..count] {
                if let Some(file) = one.copied() {
                    record_content(thread, file);
                }
                one.take_over();
            }
        } else if let Some(answer) = player::take_if_next(thread, Op::ProgramStart) {
            let count = replay_start(thread, answer, &mut inherited);
            for one in &inherited[..count] {
                match one.copied() {
                    Some(file) => replay_content(thread, file),
                    None => one.stand_in(),
                }
            }
        }
        leave(thread);
    }
}

/// Begins in a program that was spawned: its descriptors are those that it found in the recording. `logs`: identities of those of
/// its parent that are logs.
pub fn begin_spawned(logs: &[[u64; 2]]) {
    // SAFETY: the block that `enter` returns is the calling thread's own, in a process that has one thread.
    unsafe {
        let (thread, recording) = enter();
        let mut inherited = [Inherited::default(); INHERITED_MAX];
        let count;
        if recording {
            count = descriptors::found(&mut inherited, logs);
            record_start(thread, state::index() + 1, &inherited[..count]);
        } else {
            let answer = player::take(thread, Op::ProgramStart, -1);
            count = replay_start(thread, answer, &mut inherited);
            descriptors::close_all_but(&inherited[..count]);
        }
        inherited[..count].iter().for_each(|one| one.take_over());
        leave(thread);
    }
}

/// Records the start of a program with its descriptors. `number`: one more than that of a process that was spawned, 0 for the first program.
unsafe fn record_start(thread: *mut Thread, number: u32, inherited: &[Inherited]) {
    // SAFETY: the caller passes its own block; the list lives across the call.
    unsafe {
        let list = Piece::some(PartKind::Value, inherited.as_ptr().cast(), size_of_val(inherited));
        recorder::emit(thread, Op::ProgramStart, -1, number, 0, &[list]);
    }
}

/// Takes the descriptors of such a record; returns how many.
unsafe fn replay_start(thread: *mut Thread, answer: CallResult, list: &mut [Inherited; INHERITED_MAX]) -> usize {
    // SAFETY: the caller passes its own block; any bytes are an entry.
    unsafe {
        let bytes = answer.fill(PartKind::Value, 0, list.as_mut_ptr().cast(), size_of_val(list));
        player::done(thread, answer);
        bytes / size_of::<Inherited>()
    }
}
