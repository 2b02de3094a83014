//! Result of a call: a record of the tape, or a part of its bytes.
//!
//! Hooks get results from here only, each with the room that the caller of the call has: nothing recorded is written or returned
//! beyond it. What a result may be for the *recorded* arguments was checked before the replay (`prony_demo::check_result`).

use super::super::descriptors::{self, StandIn};
use super::super::report::{self, Finding};
use super::super::state::returned;
use super::super::thread;
use super::{Head, PartKind, Parts, Stop, Thread, done};

/// Record that answers a call.
#[derive(Clone, Copy)]
pub struct CallResult {
    pub(super) head: *const Head,
}

impl CallResult {
    /// The record at this place in memory.
    pub fn of(head: *const Head) -> CallResult {
        CallResult { head }
    }

    /// True for an answer that stands in no demo.
    pub fn is_made_up(self) -> bool {
        // SAFETY: as in `ret`.
        unsafe { (*self.head).op == 0 }
    }

    fn ret(self) -> i64 {
        // SAFETY: points at a record of the tape or of the thread's scratch, both alive.
        unsafe { (*self.head).ret }
    }

    /// Recorded argument word of the call.
    #[inline(always)]
    pub fn aux(self) -> u32 {
        // SAFETY: as in `ret`.
        unsafe { (*self.head).aux }
    }

    /// True if the recorded call failed.
    #[inline(always)]
    pub fn is_error(self) -> bool {
        self.ret() < 0
    }

    /// Sets `errno` as the recorded call left it, if it failed.
    #[inline(always)]
    pub fn set_error(self) {
        if self.is_error() {
            returned(self.ret());
        }
    }

    /// 0, or -1 with `errno`.
    #[inline(always)]
    pub fn success(self) -> isize {
        returned(self.ret().min(0))
    }

    /// A number that says nothing about the memory of the caller, such as that of a process; or -1 with `errno`.
    #[inline(always)]
    pub fn number(self) -> isize {
        returned(self.ret())
    }

    /// What the call returns as it stands: 0, an error number, or a mark of the recorder.
    #[inline(always)]
    pub fn code(self) -> i64 {
        self.ret()
    }

    /// A number of bytes or entries that the caller goes by, never more than its `room`; or -1 with `errno`.
    #[inline(always)]
    pub fn within(self, room: usize) -> isize {
        returned(self.ret().min(i64::try_from(room).unwrap_or(i64::MAX)))
    }

    /// True for an output of which the kernel took all.
    pub fn is_complete_output(self) -> bool {
        self.ret() >= 0 && self.ret() == i64::from(self.aux())
    }

    /// A new descriptor, with a stand-in behind it; or -1 with `errno`. Ends the replay if the build has something open there.
    pub unsafe fn descriptor(self, like: StandIn) -> isize {
        // SAFETY: as for `take_descriptor`.
        unsafe {
            if !self.is_error() {
                self.take_descriptor(self.ret() as i32, like);
            }
        }
        returned(self.ret())
    }

    /// Puts a stand-in behind a recorded descriptor. Ends the replay if the build has something open there.
    pub unsafe fn take_descriptor(self, fd: i32, like: StandIn) {
        // SAFETY: as for `expect_free`.
        unsafe { self.expect_free(fd) };
        descriptors::stand_in(fd, like);
    }

    /// Ends the replay if the build has something of its own under a number that the recording gave to something else: its log,
    /// its memory, or what this library needs.
    pub unsafe fn expect_free(self, fd: i32) {
        if !descriptors::is_free(fd) {
            // SAFETY: the answer is a record in memory, taken by the calling thread.
            unsafe { self.stop(Finding::descriptor(fd)) };
        }
    }

    /// Ends the replay: the recorded call brought more than the build has room for, and the rest is lost.
    #[cold]
    pub unsafe fn lost(self, recorded: usize, room: usize) -> ! {
        // SAFETY: the answer is a record in memory, taken by the calling thread.
        unsafe { self.stop(Finding::room(recorded, room)) }
    }

    #[cold]
    unsafe fn stop(self, finding: Finding) -> ! {
        // SAFETY: the block is the calling thread's own; the answer is a record in memory.
        unsafe { report::stop(thread::this(), Stop::Input, finding.at(self.head)) }
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

    /// Copies the `nth` part of this kind to `to`, where there is room for `room` bytes; returns how many. Ends the replay if
    /// there is not room for all, zeros at the end aside.
    pub unsafe fn fill(self, kind: PartKind, nth: usize, to: *mut u8, room: usize) -> usize {
        // SAFETY: the caller passes null or room for as many bytes; the answer is a record in memory.
        unsafe {
            let bytes = self.part(kind, nth);
            let (bytes, rest) = bytes.split_at(bytes.len().min(room));
            if rest.iter().any(|&byte| byte != 0) {
                self.lost(bytes.len() + rest.len(), room);
            }
            if !to.is_null() {
                bytes.as_ptr().copy_to_nonoverlapping(to, bytes.len());
            }
            bytes.len()
        }
    }

    /// Copies the value part over `to`, if the record has one. Ends the replay if it is a structure of another size.
    pub unsafe fn copy_value<T>(self, to: *mut T) {
        // SAFETY: the caller passes null or room for a value, of which whatever bytes were recorded make one.
        unsafe {
            let bytes = self.part(PartKind::Value, 0);
            if to.is_null() || bytes.is_empty() {
                return;
            }
            if bytes.len() != size_of::<T>() {
                self.lost(bytes.len(), size_of::<T>());
            }
            bytes.as_ptr().copy_to_nonoverlapping(to.cast(), size_of::<T>());
        }
    }

    /// The value part as a `T`, if it is one.
    pub unsafe fn read_value<T: Copy>(self) -> Option<T> {
        // SAFETY: as for `read_values`.
        unsafe { self.read_values().next() }
    }

    /// The value parts as `T`s, up to the first that is none.
    pub unsafe fn read_values<T: Copy>(self) -> impl Iterator<Item = T> {
        let values = self.parts().filter(|part| part.kind == PartKind::Value as u8);
        let whole = values.map(|part| part.bytes).take_while(|bytes| bytes.len() >= size_of::<T>());
        // SAFETY: the part is as long as the value, and any bytes are a value of the type.
        whole.map(|bytes| unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
    }
}

/// Part of an input record's bytes that the call is given.
///
/// A build that reads fewer bytes of a stream than were recorded gets the rest with its next
/// calls, as from a real socket; of a datagram the rest is lost.
pub struct Given {
    pub(super) answer: CallResult,
    /// Bytes for the call, in the tape's memory.
    pub bytes: &'static [u8],
    /// What the call returns beyond the bytes: the length of a whole message, where that is requested.
    pub(super) length: usize,
    /// The record has more, which a later call gets.
    pub(super) more: bool,
}

impl Given {
    /// Record that the bytes belong to.
    pub fn answer(&self) -> CallResult {
        self.answer
    }

    /// Return value of the call: the bytes that it is given, unless the length of the whole message is requested.
    pub fn value(&self) -> isize {
        if self.answer.is_error() { self.answer.success() } else { self.length as isize }
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
