//! Answer of a call: a record of the tape, or a part of its bytes.

use super::super::state::returned;
use super::{Head, PartKind, Parts, Thread, done};

/// Record that answers a call.
#[derive(Clone, Copy)]
pub struct Answer {
    pub(super) head: *const Head,
}

impl Answer {
    /// The record at this place in memory.
    pub fn of(head: *const Head) -> Answer {
        Answer { head }
    }

    /// True for an answer that stands in no demo.
    pub fn is_made_up(self) -> bool {
        // SAFETY: as in `ret`.
        unsafe { (*self.head).op == 0 }
    }

    /// Return value of the recorded call.
    #[inline(always)]
    pub fn ret(self) -> i64 {
        // SAFETY: points at a record of the tape or of the thread's scratch, both alive.
        unsafe { (*self.head).ret }
    }

    /// Recorded argument word of the call.
    #[inline(always)]
    pub fn aux(self) -> u32 {
        // SAFETY: as in `ret`.
        unsafe { (*self.head).aux }
    }

    /// The recorded result as the call returns it, `errno` included.
    #[inline(always)]
    pub fn value(self) -> isize {
        returned(self.ret())
    }

    /// The parts of the record.
    pub fn parts(self) -> Parts<'static> {
        // SAFETY: the tape was built from whole records, and `size` is one's length.
        unsafe { Parts::new(std::slice::from_raw_parts(self.head.cast(), (*self.head).size as usize)) }
    }

    /// Content of the `nth` part of this kind, empty when there is none.
    pub fn part(self, kind: PartKind, nth: usize) -> &'static [u8] {
        self.parts().filter(|part| part.kind == kind as u8).nth(nth).map_or(&[], |part| part.bytes)
    }

    /// Copies the `nth` part of this kind to `to`, at most `room` bytes; returns how many.
    pub unsafe fn copy_part(self, kind: PartKind, nth: usize, to: *mut u8, room: usize) -> usize {
        // SAFETY: the caller passes null or room for as many bytes.
        unsafe {
            let bytes = self.part(kind, nth);
            let length = bytes.len().min(room);
            if !to.is_null() {
                bytes.as_ptr().copy_to_nonoverlapping(to, length);
            }
            length
        }
    }

    /// Copies the value part over `to` if the record has one of that size.
    pub unsafe fn copy_value<T>(self, to: *mut T) {
        // SAFETY: the caller passes null or room for a value, of which whatever bytes were recorded make one.
        unsafe {
            if !to.is_null() {
                self.copy_part(PartKind::Value, 0, to.cast(), size_of::<T>());
            }
        }
    }

    /// The value part as a `T`, if it is one.
    pub unsafe fn read_value<T: Copy>(self) -> Option<T> {
        // SAFETY: the part is as long as the value, and the caller asks for a type of which any bytes make one.
        unsafe {
            let bytes = self.part(PartKind::Value, 0);
            (bytes.len() >= size_of::<T>()).then(|| bytes.as_ptr().cast::<T>().read_unaligned())
        }
    }
}

/// Part of an input record's bytes that the call is given.
///
/// A build that asks for fewer bytes of a stream than were recorded gets the rest with its next
/// calls, as from a real socket; of a datagram the rest is lost.
pub struct Given {
    pub(super) answer: Answer,
    /// Bytes for the call, in the tape's memory.
    pub bytes: &'static [u8],
    /// True if these are not all bytes of the record.
    pub(super) some: bool,
    /// The record has more, which a later call gets.
    pub(super) more: bool,
}

impl Given {
    /// Record that the bytes belong to.
    pub fn answer(&self) -> Answer {
        self.answer
    }

    /// Return value of the call: fewer bytes than recorded if the caller's buffer is smaller.
    pub fn value(&self) -> isize {
        // With `MSG_TRUNC` a call returns more than it gives, and did so when it was recorded.
        if self.some { self.bytes.len() as isize } else { self.answer.value() }
    }

    /// The call has been answered.
    pub unsafe fn done(self, thread: *mut Thread) {
        // SAFETY: as for this function.
        unsafe {
            if !self.more {
                done(thread, self.answer);
            }
        }
    }
}
