//! Opens a demo, whole or cut, and walks over its records.

use std::fmt;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;

use super::block::{BLOCK_HEAD_BYTES, BlockHead, COLUMN_HEAD_BYTES, Kind, ReadProblem, Unpacker, read_up_to};
use super::decode::{Cursor, Decoded, decode};
use super::error::{BlockProblem, DemoError};
use super::index::{BLOCKS_COLUMN, BlockEntry, FRAMES_COLUMN, Frames, INDEX_BEFORE_COLUMN, IndexDecoder};
use super::trailer::Trailer;
use super::varint::Input;
use super::verify::Scan;
use super::writer::{COMMIT_WORD, STATE_PLACE_COLUMN, WHOLE_COLUMN};
use super::{FILE_HEAD_BYTES, FILES_ARCHIVE, Header, MAGIC, VERSION};
use crate::Head;

/// Bytes of the commit marker: a block with one stored column of 24 bytes.
pub(crate) const COMMIT_BYTES: u64 = (BLOCK_HEAD_BYTES + COLUMN_HEAD_BYTES + 24) as u64;

/// Demo file that is open for reading.
///
/// Opening reads the header, the trailer and the index; a demo without a commit marker is read
/// once as a whole instead. Records are checked and decoded block by block as they are read.
pub struct Demo<R> {
    pub(crate) from: R,
    pub(crate) unpacker: Unpacker,
    decoded: Decoded,
    header: Header,
    trailer: Option<Trailer>,
    truncation: Option<Truncation>,
    frames: Frames,
    pub(crate) blocks: Vec<BlockEntry>,
    pub(crate) file_bytes: u64,
}

/// A demo that does not end as it should, and what of it can still be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncation {
    /// Offset of the first byte that does not belong to a whole block.
    pub offset: u64,
    /// Reason why reading stopped there.
    pub cause: Cause,
    /// Whole blocks before it, the header included.
    pub blocks: u32,
    /// Records in the whole blocks.
    pub records: u64,
    /// Frames that end in the whole blocks.
    pub frames: u64,
}

/// Reasons why a demo counts as truncated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The block that begins there is incomplete or altered.
    Block(BlockProblem),
    /// The file ends between two blocks: nothing says that the recording was complete.
    NoCommit,
    /// More bytes follow the commit marker.
    BytesAfterCommit,
    /// The blocks are whole, but the commit marker or the index says otherwise.
    Index,
}

impl fmt::Display for Truncation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Truncation { offset, cause, blocks, records, frames } = self;
        match cause {
            Cause::Block(problem) => write!(f, "block {blocks} at byte {offset:#x}: {problem}")?,
            Cause::NoCommit => write!(f, "ends at byte {offset:#x} without a commit marker")?,
            Cause::BytesAfterCommit => write!(f, "bytes follow the commit marker at byte {offset:#x}")?,
            Cause::Index => write!(f, "the index at byte {offset:#x} disagrees with the blocks")?,
        }
        write!(f, "; {blocks} complete blocks, {records} records and {frames} frames remain")
    }
}

impl<R: Read + Seek> Demo<R> {
    /// Opens a demo from its first byte on.
    ///
    /// # Errors
    /// Anything that keeps the header from being read. A cut or altered demo behind its header opens
    /// with a [`Demo::truncation`], or fails later at the block in question.
    pub fn open(mut from: R) -> Result<Demo<R>, DemoError> {
        let file_bytes = from.seek(SeekFrom::End(0))?;
        from.seek(SeekFrom::Start(0))?;
        check_file_head(&mut from)?;
        let mut demo = Demo {
            from,
            unpacker: Unpacker::new()?,
            decoded: Decoded::default(),
            header: Header::default(),
            trailer: None,
            truncation: None,
            frames: Frames::default(),
            blocks: vec![BlockEntry { kind: Kind::HEADER, offset: FILE_HEAD_BYTES as u64 }],
            file_bytes,
        };
        demo.unpack_block(0)?;
        demo.header =
            Header::from_bytes(demo.unpacker.column(WHOLE_COLUMN)).map_err(|problem| demo.wrong(0, problem))?;
        if !demo.open_by_index()? {
            demo.open_by_scan()?;
        }
        Ok(demo)
    }

    /// Header: facts about the recording.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Trailer: facts known when the recording ended; `None` for a truncated demo.
    pub fn trailer(&self) -> Option<&Trailer> {
        self.trailer.as_ref()
    }

    /// Place and reason of the truncation; `None` for a complete demo.
    pub fn truncation(&self) -> Option<&Truncation> {
        self.truncation.as_ref()
    }

    /// The whole frames of process 0; the place in the list is the number of the frame.
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Size of the file in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// The state directories; archive N belongs to entry N.
    pub fn state_dirs(&self) -> &[Vec<u8>] {
        &self.header.state_directories
    }

    /// Numbers of the archives that the demo may have: those of the state directories and [`FILES_ARCHIVE`].
    pub fn archives(&self) -> impl Iterator<Item = u32> + use<R> {
        (0..self.header.state_directories.len() as u32).chain([FILES_ARCHIVE])
    }

    /// The archive of state directory `dir`, or [`FILES_ARCHIVE`]; empty when the demo has none.
    pub fn state_archive(&mut self, dir: u32) -> StateArchive<'_, R> {
        StateArchive { demo: self, dir, next_block: 0, chunk: 0, unpacked: Vec::new(), at: 0 }
    }

    /// All records in the order they were pushed.
    pub fn records(&mut self) -> Records<'_, R> {
        self.records_from_block(0)
    }

    /// All records from the first one of frame `frame` on.
    ///
    /// # Errors
    /// [`DemoError::NoFrame`], or whatever keeps its block from being read.
    pub fn records_from_frame(&mut self, frame: usize) -> Result<Records<'_, R>, DemoError> {
        let frames = self.frames.len();
        let entry = self.frames.get(frame).ok_or(DemoError::NoFrame { frame, frames })?;
        let mut records = self.records_from_block(entry.block as usize);
        loop {
            let before = records.cursor;
            let Some((process, record)) = records.next()? else {
                return Err(DemoError::NoFrame { frame, frames });
            };
            if process == 0 && Head::from_bytes(record).is_some_and(|head| head.order >= entry.first_record) {
                // The first record of a block has no place before it but the start.
                records.cursor = if records.started_block { Cursor::default() } else { before };
                return Ok(records);
            }
        }
    }

    /// Calls `each` with the process and the raw bytes of every record until it breaks.
    ///
    /// # Errors
    /// [`DemoError`] at the first block that cannot be read.
    pub fn for_each_record(&mut self, mut each: impl FnMut(u16, &[u8]) -> ControlFlow<()>) -> Result<(), DemoError> {
        let mut records = self.records();
        while let Some((process, record)) = records.next()? {
            if each(process, record).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn records_from_block(&mut self, next_block: usize) -> Records<'_, R> {
        self.decoded.clear();
        Records { demo: self, next_block, cursor: Cursor::default(), started_block: false }
    }

    /// Record blocks of the file, for additional readers.
    pub fn record_blocks(&self) -> RecordBlocks {
        let blocks = self.blocks.iter().enumerate().filter(|(_, block)| block.kind == Kind::RECORDS);
        RecordBlocks { blocks: blocks.map(|(number, block)| (number as u32, block.offset)).collect() }
    }

    /// Reads, checks and unpacks the block with this number.
    fn unpack_block(&mut self, number: usize) -> Result<(), DemoError> {
        let BlockEntry { kind, offset } = self.block(number);
        self.from.seek(SeekFrom::Start(offset))?;
        let head = self.read_here(Some(number as u32), offset)?;
        if head.kind != kind {
            return Err(self.wrong(number, BlockProblem::Kind { expected: kind.0, found: head.kind.0 }));
        }
        self.unpacker.unpack(&head).map_err(|problem| self.wrong(number, problem))
    }

    fn read_here(&mut self, number: Option<u32>, offset: u64) -> Result<BlockHead, DemoError> {
        self.unpacker.read(&mut self.from, number).map_err(|problem| match problem {
            ReadProblem::Io(error) => DemoError::Io(error),
            ReadProblem::Block(problem) => DemoError::Block { index: number.unwrap_or(0), offset, problem },
        })
    }

    fn wrong(&self, number: usize, problem: BlockProblem) -> DemoError {
        DemoError::Block { index: number as u32, offset: self.block(number).offset, problem }
    }

    #[expect(
        clippy::indexing_slicing,
        reason = "numbers of blocks are places in `blocks`, which is not changed once it is read"
    )]
    fn block(&self, number: usize) -> BlockEntry {
        self.blocks[number]
    }

    fn decode_block(&mut self, number: usize) -> Result<(), DemoError> {
        self.decoded.clear();
        self.unpack_block(number)?;
        decode(|column| self.unpacker.column(column), &mut self.decoded).map_err(|problem| self.wrong(number, problem))
    }

    /// False when there is no commit marker, or what it leads to does not hold.
    fn open_by_index(&mut self) -> Result<bool, DemoError> {
        match self.read_index() {
            Ok(opened) => Ok(opened),
            Err(DemoError::Block { .. }) => {
                self.blocks.truncate(1);
                self.trailer = None;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn read_index(&mut self) -> Result<bool, DemoError> {
        let Some(commit_offset) = self.file_bytes.checked_sub(COMMIT_BYTES) else { return Ok(false) };
        self.from.seek(SeekFrom::Start(commit_offset))?;
        let head = self.read_here(None, commit_offset)?;
        let in_commit = |problem| DemoError::Block { index: head.number, offset: commit_offset, problem };
        if head.kind != Kind::COMMIT || head.stored_bytes() != COMMIT_BYTES {
            return Ok(false);
        }
        self.unpacker.unpack(&head).map_err(in_commit)?;
        let commit = Commit::from_bytes(self.unpacker.column(WHOLE_COLUMN))
            .filter(|commit| commit.index_number.checked_add(1) == Some(head.number))
            .ok_or(in_commit(BlockProblem::Content { what: "commit marker" }))?;

        let index = self.read_index_chain(&commit)?;
        self.frames = index.frames;
        self.blocks = index.blocks;
        self.blocks.push(BlockEntry { kind: Kind::INDEX, offset: commit.index_offset });
        self.blocks.push(BlockEntry { kind: Kind::COMMIT, offset: commit_offset });
        let mut blocks = self.blocks.iter().enumerate();
        let trailer = blocks.find(|(_, block)| block.offset == commit.trailer_offset);
        let known = self.blocks.len() == head.number as usize + 1;
        let Some((trailer, _)) = trailer.filter(|(_, block)| known && block.kind == Kind::TRAILER) else {
            return Err(in_commit(BlockProblem::Content { what: "commit marker" }));
        };
        self.unpack_block(trailer)?;
        let read = Trailer::from_bytes(self.unpacker.column(WHOLE_COLUMN), self.file_bytes);
        self.trailer = Some(read.map_err(|problem| self.wrong(trailer, problem))?);
        Ok(true)
    }

    /// Follows the index blocks back to the first one, then reads them in order.
    fn read_index_chain(&mut self, commit: &Commit) -> Result<IndexDecoder, DemoError> {
        let (mut offset, mut number) = (commit.index_offset, commit.index_number);
        let mut links = Vec::new();
        loop {
            links.push((offset, number));
            self.read_index_block(offset, number)?;
            let column = self.unpacker.column(INDEX_BEFORE_COLUMN);
            if column.is_empty() {
                break;
            }
            let mut input = Input::new(column);
            let before = input.number().zip(input.fitting::<u32>());
            // Strictly backwards, so the chain ends.
            let link = before.filter(|&(at, before)| at < offset && before < number);
            let problem = BlockProblem::Content { what: "frame index" };
            (offset, number) = link.ok_or(DemoError::Block { index: number, offset, problem })?;
        }
        let mut index = IndexDecoder::default();
        for &(offset, number) in links.iter().rev() {
            self.read_index_block(offset, number)?;
            let (frames, blocks) = (self.unpacker.column(FRAMES_COLUMN), self.unpacker.column(BLOCKS_COLUMN));
            let appended = index.append(frames, blocks, number, offset);
            appended.map_err(|problem| DemoError::Block { index: number, offset, problem })?;
        }
        Ok(index)
    }

    fn read_index_block(&mut self, offset: u64, number: u32) -> Result<(), DemoError> {
        self.from.seek(SeekFrom::Start(offset))?;
        let head = self.read_here(Some(number), offset)?;
        let unpacked = match head.kind {
            Kind::INDEX => self.unpacker.unpack(&head),
            found => Err(BlockProblem::Kind { expected: Kind::INDEX.0, found: found.0 }),
        };
        unpacked.map_err(|problem| DemoError::Block { index: number, offset, problem })
    }

    fn open_by_scan(&mut self) -> Result<(), DemoError> {
        let scan = Scan::run(self)?;
        self.truncation = Some(scan.truncation());
        self.blocks = scan.blocks;
        self.frames = scan.frames;
        self.trailer = scan.trailer;
        Ok(())
    }
}

fn check_file_head(from: &mut impl Read) -> Result<(), DemoError> {
    let mut head = [0; FILE_HEAD_BYTES];
    let found = read_up_to(from, &mut head)?;
    let magic: [u8; 8] = head[..8].try_into().expect("eight bytes of sixteen");
    if found >= 8 && magic != MAGIC {
        return Err(DemoError::NotADemo { found: magic });
    }
    if found < FILE_HEAD_BYTES {
        return Err(DemoError::TooShort { found: found as u64 });
    }
    let word = |at: usize| crate::record::word(&head, at).unwrap_or_default();
    let (expected, found) = (word(12), crc32c::crc32c(&head[..12]));
    if expected != found {
        return Err(DemoError::FileHead { expected, found });
    }
    match word(8) {
        VERSION => Ok(()),
        found => Err(DemoError::Version { found, supported: VERSION, newer: found > VERSION }),
    }
}

/// Fields of the commit marker.
struct Commit {
    trailer_offset: u64,
    index_offset: u64,
    index_number: u32,
}

impl Commit {
    fn from_bytes(bytes: &[u8]) -> Option<Commit> {
        let bytes: &[u8; 24] = bytes.try_into().ok()?;
        let commit = Commit {
            trailer_offset: u64::from_le_bytes(bytes[..8].try_into().ok()?),
            index_offset: u64::from_le_bytes(bytes[8..16].try_into().ok()?),
            index_number: u32::from_le_bytes(bytes[16..20].try_into().ok()?),
        };
        (bytes[20..] == COMMIT_WORD).then_some(commit)
    }
}

/// Walks over records; each one is lent until the next is read.
pub struct Records<'a, R> {
    demo: &'a mut Demo<R>,
    next_block: usize,
    cursor: Cursor,
    /// True when the record returned last was the first of its block.
    started_block: bool,
}

impl<R: Read + Seek> Records<'_, R> {
    /// The next record: its process and its raw bytes; `None` behind the last one.
    ///
    /// # Errors
    /// [`DemoError`] when the next block cannot be read; asking again goes on behind it.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<(u16, &[u8])>, DemoError> {
        self.started_block = false;
        loop {
            if let Some((process, range)) = self.demo.decoded.next(&mut self.cursor) {
                return Ok(Some((process, self.demo.decoded.bytes(range))));
            }
            if !self.next_block()? {
                return Ok(None);
            }
        }
    }

    /// The records up to the end of the block or the next change of process, as they lie behind
    /// each other: the quick way to take them all.
    ///
    /// # Errors
    /// As [`Records::next`].
    pub fn next_run(&mut self) -> Result<Option<(u16, &[u8])>, DemoError> {
        loop {
            if let Some((process, range)) = self.demo.decoded.next_run(&mut self.cursor) {
                return Ok(Some((process, self.demo.decoded.bytes(range))));
            }
            if !self.next_block()? {
                return Ok(None);
            }
        }
    }

    /// Decodes the next block of records; false behind the last one.
    fn next_block(&mut self) -> Result<bool, DemoError> {
        let after = self.demo.blocks.get(self.next_block..).unwrap_or_default();
        let Some(skipped) = after.iter().position(|block| block.kind == Kind::RECORDS) else {
            self.demo.decoded.clear();
            self.cursor = Cursor::default();
            return Ok(false);
        };
        let number = self.next_block + skipped;
        self.next_block = number + 1;
        self.cursor = Cursor::default();
        self.started_block = true;
        self.demo.decode_block(number)?;
        Ok(true)
    }
}

/// The blocks of a demo that hold records: where each of them is.
#[derive(Debug, Clone)]
pub struct RecordBlocks {
    /// Number in the file and offset.
    blocks: Vec<(u32, u64)>,
}

impl RecordBlocks {
    /// Number of blocks of records.
    pub fn count(&self) -> usize {
        self.blocks.len()
    }
}

/// Decodes one block of records at a time, in any order; keeps its buffers from block to block.
pub struct BlockReader<R> {
    from: R,
    unpacker: Unpacker,
    decoded: Decoded,
}

impl<R: Read + Seek> BlockReader<R> {
    /// `from`: the file that the blocks are of.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn new(from: R) -> io::Result<BlockReader<R>> {
        Ok(BlockReader { from, unpacker: Unpacker::new()?, decoded: Decoded::default() })
    }

    /// Reads, checks and decodes block `place` of those that hold records. The records of one process that follow each
    /// other go to `each` together, as they lie behind each other.
    ///
    /// # Errors
    /// [`DemoError`] for a block that cannot be read, before anything went to `each`, and what `each` says.
    pub fn for_each_run<E: From<DemoError>>(
        &mut self,
        blocks: &RecordBlocks,
        place: usize,
        mut each: impl FnMut(u16, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(&(index, offset)) = blocks.blocks.get(place) else { return Ok(()) };
        self.decode(index, offset)?;
        let mut cursor = Cursor::default();
        while let Some((process, range)) = self.decoded.next_run(&mut cursor) {
            each(process, self.decoded.bytes(range))?;
        }
        Ok(())
    }

    fn decode(&mut self, index: u32, offset: u64) -> Result<(), DemoError> {
        let wrong = |problem| DemoError::Block { index, offset, problem };
        self.decoded.clear();
        self.from.seek(SeekFrom::Start(offset))?;
        let head = self.unpacker.read(&mut self.from, Some(index)).map_err(|problem| match problem {
            ReadProblem::Io(error) => DemoError::Io(error),
            ReadProblem::Block(problem) => wrong(problem),
        })?;
        if head.kind != Kind::RECORDS {
            return Err(wrong(BlockProblem::Kind { expected: Kind::RECORDS.0, found: head.kind.0 }));
        }
        self.unpacker.unpack(&head).map_err(wrong)?;
        decode(|column| self.unpacker.column(column), &mut self.decoded).map_err(wrong)
    }
}

/// Reads the archive of one state directory.
pub struct StateArchive<'a, R> {
    demo: &'a mut Demo<R>,
    dir: u32,
    next_block: usize,
    chunk: u64,
    unpacked: Vec<u8>,
    at: usize,
}

impl<R: Read + Seek> StateArchive<'_, R> {
    /// Holds the next chunk of this directory; false behind the last one.
    fn next_chunk(&mut self) -> Result<bool, DemoError> {
        while let Some(block) = self.demo.blocks.get(self.next_block) {
            let number = self.next_block;
            self.next_block += 1;
            if block.kind != Kind::STATE {
                continue;
            }
            self.demo.unpack_block(number)?;
            let mut place = Input::new(self.demo.unpacker.column(STATE_PLACE_COLUMN));
            let Some((dir, chunk)) = place.fitting::<u32>().zip(place.number()) else {
                return Err(self.demo.wrong(number, BlockProblem::Content { what: "place of a state chunk" }));
            };
            if dir != self.dir {
                continue;
            }
            if chunk != self.chunk {
                let problem = BlockProblem::Disagrees { what: "state chunk", expected: self.chunk, found: chunk };
                return Err(self.demo.wrong(number, problem));
            }
            self.chunk += 1;
            self.unpacked.clear();
            self.unpacked.extend_from_slice(self.demo.unpacker.column(WHOLE_COLUMN));
            self.at = 0;
            return Ok(true);
        }
        Ok(false)
    }
}

impl<R: Read + Seek> Read for StateArchive<'_, R> {
    /// Errors other than those of the stream are [`DemoError`]s inside of [`io::ErrorKind::InvalidData`].
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.unpacked.len() {
            let more = self.next_chunk().map_err(|error| match error {
                DemoError::Io(error) => error,
                error => io::Error::new(io::ErrorKind::InvalidData, error),
            })?;
            if !more {
                return Ok(0);
            }
        }
        let bytes = self.unpacked.get(self.at..).unwrap_or_default().read(buffer)?;
        self.at += bytes;
        Ok(bytes)
    }
}
