//! The index: which frame is where, and which block is what.

use super::block::{BLOCK_HEAD_BYTES, Kind};
use super::error::BlockProblem;
use super::varint::{self, Input};
use super::{FILE_HEAD_BYTES, MAX_FRAMES};

/// Position of one frame of process 0; its index in the list is its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameEntry {
    /// Place of the frame's first record in process 0.
    pub first_record: u64,
    /// Place of the record that ends the frame in process 0.
    pub last_record: u64,
    /// End of the frame, in nanoseconds since the recording started, rounded down to microseconds.
    pub time_ns: u64,
    /// Number of the block that holds the first record.
    pub block: u32,
}

/// The whole frames of process 0, in their order. They are kept as the index has them, in a few bytes each: a demo of an
/// hour may have millions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frames {
    deltas: Vec<u8>,
    count: usize,
    last: Option<FrameEntry>,
}

impl Frames {
    /// Number of frames in the list.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Last frame of the list; `None` if it is empty.
    pub fn last(&self) -> Option<&FrameEntry> {
        self.last.as_ref()
    }

    /// All of them; the place is the number of the frame.
    pub fn iter(&self) -> FramesIter<'_> {
        FramesIter { deltas: Input::new(&self.deltas), left: self.count, last: None }
    }

    /// Frame `number`; those before it are read, too.
    pub fn get(&self, number: usize) -> Option<FrameEntry> {
        self.iter().nth(number)
    }

    /// Appends a frame to the list. It begins where the one before ends.
    pub(crate) fn push(&mut self, frame: &FrameEntry) {
        put_frame(&mut self.deltas, self.last.as_ref(), frame);
        self.last = Some(FrameEntry { first_record: begins_behind(self.last.as_ref()), ..*frame });
        self.count += 1;
    }
}

impl<'a> IntoIterator for &'a Frames {
    type Item = FrameEntry;
    type IntoIter = FramesIter<'a>;

    fn into_iter(self) -> FramesIter<'a> {
        self.iter()
    }
}

/// Iterator over frames; see [`Frames::iter`].
#[derive(Debug, Clone)]
pub struct FramesIter<'a> {
    deltas: Input<'a>,
    left: usize,
    last: Option<FrameEntry>,
}

impl Iterator for FramesIter<'_> {
    type Item = FrameEntry;

    fn next(&mut self) -> Option<FrameEntry> {
        self.left = self.left.checked_sub(1)?;
        let (record, time_us, block) = place_of(self.last.as_ref());
        let last_record = record.wrapping_add(self.deltas.number()?);
        let time_us = time_us.wrapping_add_signed(self.deltas.signed()?);
        let block = block.wrapping_add(self.deltas.fitting()?);
        let first_record = begins_behind(self.last.as_ref());
        self.last = Some(FrameEntry { first_record, last_record, time_ns: time_us.wrapping_mul(1000), block });
        self.last
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for FramesIter<'_> {}

/// Values from which the deltas of the next frame are counted.
fn place_of(frame: Option<&FrameEntry>) -> (u64, u64, u32) {
    frame.map_or((0, 0, 0), |frame| (frame.last_record, frame.time_ns / 1000, frame.block))
}

fn begins_behind(frame: Option<&FrameEntry>) -> u64 {
    frame.map_or(0, |frame| frame.last_record.wrapping_add(1))
}

fn put_frame(out: &mut Vec<u8>, before: Option<&FrameEntry>, frame: &FrameEntry) {
    let (record, time_us, block) = place_of(before);
    varint::put(out, frame.last_record.wrapping_sub(record));
    varint::put_signed(out, (frame.time_ns / 1000).wrapping_sub(time_us) as i64);
    varint::put(out, u64::from(frame.block.wrapping_sub(block)));
}

/// Kind and position of a block.
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
    last: Option<FrameEntry>,
    offset: u64,
}

pub(crate) const FRAMES_COLUMN: u16 = 1;
pub(crate) const BLOCKS_COLUMN: u16 = 2;
pub(crate) const INDEX_BEFORE_COLUMN: u16 = 3;

impl IndexEncoder {
    pub(crate) fn push_frame(&mut self, frame: &FrameEntry) {
        put_frame(&mut self.frames, self.last.as_ref(), frame);
        self.last = Some(*frame);
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
    pub(crate) frames: Frames,
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
            self.frames.push(&frame);
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
        let (record, time_us, block) = place_of(self.frames.last());
        let first_record = if self.frames.is_empty() { 0 } else { record.checked_add(1)? };
        let last_record = record.checked_add(input.number()?)?;
        let time_us = time_us.checked_add_signed(input.signed()?)?;
        let block = block.checked_add(input.fitting()?)?;
        Some(FrameEntry { first_record, last_record, time_ns: time_us.checked_mul(1000)?, block })
    }
}
