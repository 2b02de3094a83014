//! The index: which frame is where, and which block is what.

use super::block::{BLOCK_HEAD_BYTES, Kind};
use super::error::BlockProblem;
use super::varint::{self, Input};
use super::{FILE_HEAD_BYTES, MAX_FRAMES};

/// Where one frame of process 0 is; its place in the list of frames is its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameEntry {
    /// Place of the frame's first record in process 0.
    pub first_record: u64,
    /// Place of the record that ends the frame in process 0.
    pub last_record: u64,
    /// When it ended, in nanoseconds since the recording started, rounded down to microseconds.
    pub time_ns: u64,
    /// Number of the block that holds the first record.
    pub block: u32,
}

/// Where a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockEntry {
    pub(crate) kind: Kind,
    pub(crate) offset: u64,
}

/// Frames and blocks as they are appended while writing; drained into index blocks.
#[derive(Debug, Default)]
pub(crate) struct IndexEncoder {
    frames: Vec<u8>,
    blocks: Vec<u8>,
    last: Last,
    offset: u64,
}

#[derive(Debug, Default, Clone, Copy)]
struct Last {
    record: u64,
    time_us: u64,
    block: u32,
}

pub(crate) const FRAMES_COLUMN: u16 = 1;
pub(crate) const BLOCKS_COLUMN: u16 = 2;
pub(crate) const INDEX_BEFORE_COLUMN: u16 = 3;

impl IndexEncoder {
    pub(crate) fn push_frame(&mut self, frame: &FrameEntry) {
        let time_us = frame.time_ns / 1000;
        varint::put(&mut self.frames, frame.last_record.wrapping_sub(self.last.record));
        varint::put_signed(&mut self.frames, time_us.wrapping_sub(self.last.time_us) as i64);
        varint::put(&mut self.frames, u64::from(frame.block - self.last.block));
        self.last = Last { record: frame.last_record, time_us, block: frame.block };
    }

    pub(crate) fn push_block(&mut self, block: &BlockEntry) {
        varint::put(&mut self.blocks, u64::from(block.kind.0));
        varint::put(&mut self.blocks, block.offset - self.offset);
        self.offset = block.offset;
    }

    pub(crate) fn pending_bytes(&self) -> usize {
        self.frames.len() + self.blocks.len()
    }

    pub(crate) fn columns(&self) -> [(u16, &[u8]); 2] {
        [(FRAMES_COLUMN, &self.frames), (BLOCKS_COLUMN, &self.blocks)]
    }

    /// Forgets what was pending; the deltas go on.
    pub(crate) fn drained(&mut self) {
        self.frames.clear();
        self.blocks.clear();
    }
}

/// Appends what index blocks say, in the order of the blocks.
#[derive(Debug, Default)]
pub(crate) struct IndexDecoder {
    pub(crate) frames: Vec<FrameEntry>,
    pub(crate) blocks: Vec<BlockEntry>,
}

impl IndexDecoder {
    /// `number` and `offset`: those of the index block, which bound what it can speak of.
    pub(crate) fn append(
        &mut self,
        frames: &[u8],
        blocks: &[u8],
        number: u32,
        offset: u64,
    ) -> Result<(), BlockProblem> {
        const WRONG: BlockProblem = BlockProblem::Content { what: "frame index" };
        let mut input = Input::new(frames);
        while !input.is_empty() {
            if self.frames.len() == MAX_FRAMES {
                return Err(WRONG);
            }
            let frame = self.next_frame(&mut input).ok_or(WRONG)?;
            if frame.block >= number || frame.last_record < frame.first_record {
                return Err(WRONG);
            }
            self.frames.push(frame);
        }
        let mut input = Input::new(blocks);
        while !input.is_empty() {
            let (before, least) = match self.blocks.last() {
                Some(block) => (block.offset, block.offset + BLOCK_HEAD_BYTES as u64),
                None => (0, FILE_HEAD_BYTES as u64),
            };
            let read = input.fitting().zip(input.number());
            let entry = read.and_then(|(kind, delta)| Some((Kind(kind), before.checked_add(delta)?)));
            // Blocks do not overlap, so there are never more of them than the file has room for.
            let entry = entry.filter(|(_, at)| (least..offset).contains(at)).ok_or(WRONG)?;
            self.blocks.push(BlockEntry { kind: entry.0, offset: entry.1 });
        }
        Ok(())
    }

    fn next_frame(&self, input: &mut Input<'_>) -> Option<FrameEntry> {
        let (record, time_us, block) = match self.frames.last() {
            Some(frame) => (frame.last_record, frame.time_ns / 1000, frame.block),
            None => (0, 0, 0),
        };
        let first_record = if self.frames.is_empty() { 0 } else { record.checked_add(1)? };
        let last_record = record.checked_add(input.number()?)?;
        let time_us = time_us.checked_add_signed(input.signed()?)?;
        let block = block.checked_add(input.fitting()?)?;
        Some(FrameEntry { first_record, last_record, time_ns: time_us.checked_mul(1000)?, block })
    }
}
