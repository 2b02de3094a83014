//! Errors of demo files, as facts; the command adds the remedy.

use std::io;

/// Reasons why a demo could not be opened or read.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The stream could not be read.
    #[error("reading failed: {0}")]
    Io(#[from] io::Error),
    /// The file ends before its first 16 bytes are complete.
    #[error("file head expected 16 bytes, found {found}")]
    TooShort {
        /// Number of bytes that the file has.
        found: u64,
    },
    /// The first eight bytes are not those of a demo.
    #[error("magic expected `89 50 52 4f 4e 59 0d 0a`, found `{}`", hex(.found))]
    NotADemo {
        /// First eight bytes of the file.
        found: [u8; 8],
    },
    /// The file head was altered.
    #[error("file head: checksum expected {expected:08x}, found {found:08x}")]
    FileHead {
        /// The checksum that the file states.
        expected: u32,
        /// The checksum of what is there.
        found: u32,
    },
    /// Another version of the format.
    #[error("format version expected {supported}, found {found}")]
    Version {
        /// The version of the file.
        found: u32,
        /// The version that this reader knows.
        supported: u32,
        /// True when the file is newer than the reader, so that a newer reader is the remedy.
        newer: bool,
    },
    /// A block cannot be used.
    #[error("block {index} at byte {offset:#x}: {problem}")]
    Block {
        /// Place of the block in the file, from 0.
        index: u32,
        /// Offset of its first byte in the file.
        offset: u64,
        /// Problem that makes the block unusable.
        problem: BlockProblem,
    },
    /// The demo has no such frame.
    #[error("frame {frame} expected below {frames}")]
    NoFrame {
        /// Number of the frame requested, from 0.
        frame: usize,
        /// Frames that the demo has.
        frames: usize,
    },
}

/// Problem of one block of a demo file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockProblem {
    /// The file ends inside it.
    #[error("expected {expected} bytes, found {found}")]
    Ends {
        /// Bytes that the block should have from its offset on, as far as known.
        expected: u64,
        /// Bytes that the file still has there.
        found: u64,
    },
    /// The block does not begin with the marker of a block.
    #[error("marker expected `PBLK`, found `{}`", hex(.found))]
    Marker {
        /// The four bytes at its place.
        found: [u8; 4],
    },
    /// The checksum of the head does not match.
    #[error("head checksum expected {expected:08x}, found {found:08x}")]
    HeadChecksum {
        /// The checksum that the head states.
        expected: u32,
        /// The checksum of the head as it is.
        found: u32,
    },
    /// The checksum of the body does not match.
    #[error("checksum expected {expected:08x}, found {found:08x}")]
    Checksum {
        /// The checksum that the head states.
        expected: u32,
        /// The checksum of the body as it is.
        found: u32,
    },
    /// A block of another place stands here.
    #[error("number expected {expected}, found {found}")]
    Number {
        /// The number that belongs here.
        expected: u32,
        /// The number that the head states.
        found: u32,
    },
    /// A block of another kind stands where the index points.
    #[error("kind expected {expected}, found {found}")]
    Kind {
        /// The kind that belongs here.
        expected: u16,
        /// The kind that the head states.
        found: u16,
    },
    /// A length is past the limit of the format.
    #[error("{what} expected at most {limit}, found {found}")]
    TooLarge {
        /// Item that exceeds its limit.
        what: &'static str,
        /// Largest size or count that the format permits.
        limit: u64,
        /// Size or count that the file states.
        found: u64,
    },
    /// A column does not unpack to its stated size.
    #[error("column {column} does not unpack to {expected} bytes")]
    Unpack {
        /// Number of the column within the block.
        column: u16,
        /// Unpacked size that the block states, in bytes.
        expected: u32,
    },
    /// A column or field holds what the format does not allow there.
    #[error("{what} cannot be read")]
    Content {
        /// Item that could not be read.
        what: &'static str,
    },
    /// A count or place disagrees with another part of the file.
    #[error("{what} expected {expected}, found {found}")]
    Disagrees {
        /// Item that differs, for the message.
        what: &'static str,
        /// Value that the file states for the item.
        expected: u64,
        /// The value of the content.
        found: u64,
    },
}

/// Reasons why a demo could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The stream could not be written.
    #[error("writing failed: {0}")]
    Io(#[from] io::Error),
    /// The bytes pushed are no record.
    #[error("record {order} of process {process}: size expected {expected} bytes, found {found}")]
    Record {
        /// Index of the process in the recording, from 0.
        process: u16,
        /// Place of the record in its process.
        order: u64,
        /// Bytes that the head states; 0 when there is no whole head.
        expected: u64,
        /// Number of bytes that were pushed.
        found: u64,
    },
    /// A length is past the limit of the format.
    #[error("{what} expected at most {limit}, found {found}")]
    TooLarge {
        /// Item that exceeds its limit.
        what: &'static str,
        /// Largest size that the format permits.
        limit: u64,
        /// Size of the item that was to be written.
        found: u64,
    },
}

fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(" ")
}
