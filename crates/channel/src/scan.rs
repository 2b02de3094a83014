//! Requests of a server to have its objects searched, and the answers.

use crate::word::{Flag, StateWord, layout, states};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

states! {
    /// State of a [`Scan`] request, set by both sides in turn.
    pub enum ScanState {
        /// No process has a request.
        Free = 0,
        /// A process prepares a request.
        Claimed = 1,
        /// The objects of a program that begins are to be searched.
        Program = 2,
        /// The objects are to be searched again, as one was loaded.
        Loaded = 3,
        /// The answer is complete and can be read.
        Answered = 4,
        /// Requests are no longer answered.
        Closed = 5,
    }
}

/// The one request that can be under way, and its answer.
#[repr(C)]
pub struct Scan {
    /// State of the request, which decides who uses the fields below. A futex.
    pub state: StateWord<ScanState>,
    /// Process whose objects are to be searched.
    pub pid: AtomicI32,
    /// Answer: an object makes system calls of its own.
    pub raw_calls: Flag,
    /// Answer: how many there are of `sites`.
    pub site_count: AtomicU32,
    /// Answer: where the objects query the processor, each a [`Site`] in a word.
    pub sites: [AtomicU64; SITES],
}

layout!(Scan, 32784, { state: 0, pid: 4, raw_calls: 8, site_count: 12, sites: 16, });

/// Instructions of one process that are followed.
pub const SITES: usize = 4096;
/// Most bytes that may give way to a jump.
pub const MOST_ROOM: usize = 31;

/// A place in the memory of a server where it queries the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Site {
    /// Address of the instruction in the server's memory.
    pub address: u64,
    /// Bytes of it and of what moves away with it to make room for a jump, at most [`MOST_ROOM`], 0 without; `None` if
    /// it may be no instruction, or cannot be followed.
    pub room: Option<u8>,
}

/// Bit of a word whose site may be no instruction.
const DOUBTFUL: u64 = 1 << 63;
/// From this bit on stands how many bytes may give way.
const ROOM_SHIFT: u32 = 56;

impl Site {
    /// The site as it stands in [`Scan::sites`].
    pub fn to_word(self) -> u64 {
        self.address | self.room.map_or(DOUBTFUL, |room| u64::from(room) << ROOM_SHIFT)
    }

    /// The site that stands there.
    pub fn from_word(word: u64) -> Site {
        let room = (word >> ROOM_SHIFT) as u8 & MOST_ROOM as u8;
        Site { address: word & ((1 << ROOM_SHIFT) - 1), room: (word & DOUBTFUL == 0).then_some(room) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_comes_back_from_its_word() {
        for room in [None, Some(0), Some(5), Some(MOST_ROOM as u8)] {
            let site = Site { address: 0x7fff_ffff_f123, room };
            assert_eq!(Site::from_word(site.to_word()), site);
        }
        assert_eq!(Site::from_word(u64::MAX).address, (1 << 56) - 1);
    }
}
