//! The demo file: writer, reader and checks. `docs/formats/demo.md` draws every byte.

mod block;
mod decode;
mod edit;
mod encode;
mod error;
mod fields;
mod header;
mod index;
mod layout;
mod reader;
mod trailer;
mod varint;
mod verify;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use block::read_up_to;
pub use edit::{RewriteError, copy, rewrite, rewrite_with};
pub use error::{BlockProblem, DemoError, WriteError};
pub use header::Header;
pub use index::{FrameEntry, Frames, FramesIter};
pub use reader::{BlockReader, Cause, Demo, RecordBlocks, Records, StateArchive, Truncation};
pub use trailer::{Exit, FileEntry, FileRole, ObjectEntry, Totals, Trailer};
pub use verify::{Problem, VerifyReport};
pub use writer::{Writer, WriterOptions};

/// First bytes of every demo. Like PNG's: not text, and altered by anything that translates line ends.
pub const MAGIC: [u8; 8] = *b"\x89PRONY\r\n";
/// The version of the format that this crate writes and reads.
pub const VERSION: u32 = 1;
/// The largest record a demo can hold, in bytes of its raw form.
pub const MAX_RECORD_BYTES: usize = 64 << 20;
/// Number of the archive with files that the server only read; those of state directories count from 0.
pub const FILES_ARCHIVE: u32 = u32::MAX;
/// Frames that the index holds at most; those after them are found only by reading on.
pub const MAX_FRAMES: usize = 1 << 24;
/// Bytes of magic, version and their checksum.
pub(crate) const FILE_HEAD_BYTES: usize = 16;
