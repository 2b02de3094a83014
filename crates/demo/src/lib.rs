//! The demo file: a recorded conversation between a server and its services.
//!
//! Pure: bytes in, records out, and back. No clock, no files of its own, no unsafe.
#![deny(clippy::indexing_slicing)]
#![forbid(unsafe_code)]

#[cfg(feature = "file")]
mod activity;
mod bound;
#[cfg(feature = "file")]
mod claim;
#[cfg(feature = "file")]
mod file;
mod frame;
mod op;
mod record;
#[cfg(feature = "file")]
mod state_archive;

#[cfg(feature = "file")]
pub mod address;
#[cfg(feature = "file")]
pub mod anonymize;
#[cfg(feature = "file")]
pub mod dump;
#[cfg(feature = "file")]
pub mod pcap;
#[cfg(feature = "file")]
pub mod timeline;
#[cfg(feature = "file")]
pub mod tolerance;

#[cfg(feature = "file")]
pub use activity::{FrameActivity, frame_activity};
pub use bound::{Bound, DESCRIPTORS, OWN_DESCRIPTORS, SIOCGIFCONF, bytes_of_request};
#[cfg(feature = "file")]
pub use claim::{ResultBeyondBound, check_result};
#[cfg(feature = "file")]
pub use file::*;
pub use frame::{FrameRule, Framer};
pub use op::{Class, Op};
#[cfg(feature = "file")]
pub use record::note_text;
pub use record::{
    HEAD_BYTES, Head, LISTED_NAMES, PART_HEAD_BYTES, Part, PartKind, Parts, READY_AGE, READY_AGE_SHIFT, Record,
    WAIT_FOREVER, WAITS_ONLY, part_size,
};
#[cfg(feature = "file")]
pub use state_archive::{ArchiveError, ArchiveLimits, Member, MemberKind, StateArchiveWalk};
