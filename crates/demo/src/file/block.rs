//! Blocks: the unit that is checked, compressed, and survives a cut as a whole.
//!
//! `docs/formats/demo.md` draws the bytes.

use std::io::{self, Read};

use super::error::{BlockProblem, WriteError};

/// Bytes of a block's head.
pub(crate) const BLOCK_HEAD_BYTES: usize = 24;
/// Bytes of one entry of a block's column table.
pub(crate) const COLUMN_HEAD_BYTES: usize = 12;
/// Most columns a block may have.
pub(crate) const MAX_COLUMNS: usize = 64;
/// Most bytes that all columns of a block may unpack to: the largest record and what is beside it.
pub(crate) const MAX_BLOCK_BYTES: usize = super::MAX_RECORD_BYTES + (4 << 20);
/// Shorter columns are stored as they are: a frame of zstd costs about as much.
const SHORTEST_PACKED: usize = 32;
const MARKER: [u8; 4] = *b"PBLK";

/// Kind of a block in a demo file. Readers skip unknown kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kind(pub(crate) u16);

impl Kind {
    pub(crate) const HEADER: Kind = Kind(1);
    pub(crate) const STATE: Kind = Kind(2);
    pub(crate) const RECORDS: Kind = Kind(3);
    pub(crate) const TRAILER: Kind = Kind(4);
    pub(crate) const INDEX: Kind = Kind(5);
    pub(crate) const COMMIT: Kind = Kind(6);
}

/// The head of a block, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockHead {
    pub(crate) kind: Kind,
    pub(crate) columns: u16,
    pub(crate) number: u32,
    pub(crate) body_bytes: u32,
    body_checksum: u32,
}

impl BlockHead {
    fn to_bytes(self) -> [u8; BLOCK_HEAD_BYTES] {
        let mut out = [0; BLOCK_HEAD_BYTES];
        out[0..4].copy_from_slice(&MARKER);
        out[4..6].copy_from_slice(&self.kind.0.to_le_bytes());
        out[6..8].copy_from_slice(&self.columns.to_le_bytes());
        out[8..12].copy_from_slice(&self.number.to_le_bytes());
        out[12..16].copy_from_slice(&self.body_bytes.to_le_bytes());
        out[16..20].copy_from_slice(&self.body_checksum.to_le_bytes());
        let checksum = crc32c::crc32c(&out[..20]);
        out[20..24].copy_from_slice(&checksum.to_le_bytes());
        out
    }

    fn from_bytes(bytes: &[u8; BLOCK_HEAD_BYTES]) -> Result<BlockHead, BlockProblem> {
        let word = |at: usize| crate::record::word(bytes, at).unwrap_or_default();
        if bytes[..4] != MARKER {
            return Err(BlockProblem::Marker { found: [bytes[0], bytes[1], bytes[2], bytes[3]] });
        }
        let (expected, found) = (word(20), crc32c::crc32c(&bytes[..20]));
        if expected != found {
            return Err(BlockProblem::HeadChecksum { expected, found });
        }
        let head = BlockHead {
            kind: Kind(u16::from_le_bytes([bytes[4], bytes[5]])),
            columns: u16::from_le_bytes([bytes[6], bytes[7]]),
            number: word(8),
            body_bytes: word(12),
            body_checksum: word(16),
        };
        limit("columns of a block", head.columns as usize, MAX_COLUMNS)?;
        limit("bytes of a block", head.body_bytes as usize, MAX_BLOCK_BYTES)?;
        Ok(head)
    }

    /// Bytes of the whole block in the file.
    pub(crate) fn stored_bytes(&self) -> u64 {
        BLOCK_HEAD_BYTES as u64 + u64::from(self.body_bytes)
    }
}

fn limit(what: &'static str, found: usize, limit: usize) -> Result<(), BlockProblem> {
    if found > limit {
        return Err(BlockProblem::TooLarge { what, limit: limit as u64, found: found as u64 });
    }
    Ok(())
}

/// Packs columns into blocks; keeps its compressor and buffer from block to block.
pub(crate) struct Packer {
    compressor: zstd::bulk::Compressor<'static>,
    level: i32,
    block: Vec<u8>,
    /// Room for a compressed column.
    packed: Vec<u8>,
    number: u32,
}

impl Packer {
    pub(crate) fn new(level: i32) -> io::Result<Packer> {
        let mut compressor = zstd::bulk::Compressor::new(level)?;
        // The block's own checksum covers the column, and its size stands in the column table.
        compressor.include_checksum(false)?;
        compressor.include_contentsize(false)?;
        Ok(Packer { compressor, level, block: Vec::new(), packed: Vec::new(), number: 0 })
    }

    /// Compresses with this level from now on.
    pub(crate) fn set_level(&mut self, level: i32) -> io::Result<()> {
        if level != self.level {
            self.compressor.set_compression_level(level)?;
            self.level = level;
        }
        Ok(())
    }

    /// Number of the next block.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Complete block, ready to be written. Empty columns are left out.
    pub(crate) fn pack(&mut self, kind: Kind, columns: &[(u16, &[u8])]) -> Result<&[u8], WriteError> {
        let total: usize = columns.iter().map(|(_, bytes)| bytes.len()).sum();
        if total > MAX_BLOCK_BYTES {
            let (limit, found) = (MAX_BLOCK_BYTES as u64, total as u64);
            return Err(WriteError::TooLarge { what: "bytes of a block", limit, found });
        }
        let used = columns.iter().filter(|(_, bytes)| !bytes.is_empty()).count();
        let table_end = BLOCK_HEAD_BYTES + used * COLUMN_HEAD_BYTES;
        self.block.clear();
        self.block.resize(table_end, 0);
        let mut entry = BLOCK_HEAD_BYTES;
        for &(id, raw) in columns.iter().filter(|(_, bytes)| !bytes.is_empty()) {
            let codec = u16::from(raw.len() >= SHORTEST_PACKED && self.compress(raw)?);
            let stored = if codec == 0 { raw } else { self.packed.as_slice() };
            self.block.extend_from_slice(stored);
            let head = ColumnHead { id, codec, raw_bytes: raw.len() as u32, stored_bytes: stored.len() as u32 };
            if let Some(place) = self.block.get_mut(entry..).and_then(<[u8]>::first_chunk_mut) {
                *place = head.to_bytes();
            }
            entry += COLUMN_HEAD_BYTES;
        }
        let body = self.block.get(BLOCK_HEAD_BYTES..).unwrap_or_default();
        let head = BlockHead {
            kind,
            columns: used as u16,
            number: self.number,
            body_bytes: body.len() as u32,
            body_checksum: crc32c::crc32c(body),
        };
        if let Some(place) = self.block.first_chunk_mut() {
            *place = head.to_bytes();
        }
        self.number += 1;
        Ok(&self.block)
    }

    /// Compresses a column into `packed`; false when that is no shorter.
    fn compress(&mut self, raw: &[u8]) -> io::Result<bool> {
        self.packed.clear();
        self.packed.reserve(zstd::zstd_safe::compress_bound(raw.len()));
        let packed = self.compressor.compress_to_buffer(raw, &mut self.packed)?;
        Ok(packed < raw.len())
    }
}

/// An entry of a block's table of columns.
struct ColumnHead {
    id: u16,
    codec: u16,
    raw_bytes: u32,
    stored_bytes: u32,
}

impl ColumnHead {
    fn from_bytes(bytes: &[u8; COLUMN_HEAD_BYTES]) -> ColumnHead {
        let &[i0, i1, c0, c1, r0, r1, r2, r3, s0, s1, s2, s3] = bytes;
        ColumnHead {
            id: u16::from_le_bytes([i0, i1]),
            codec: u16::from_le_bytes([c0, c1]),
            raw_bytes: u32::from_le_bytes([r0, r1, r2, r3]),
            stored_bytes: u32::from_le_bytes([s0, s1, s2, s3]),
        }
    }

    fn to_bytes(&self) -> [u8; COLUMN_HEAD_BYTES] {
        let ([i0, i1], [c0, c1]) = (self.id.to_le_bytes(), self.codec.to_le_bytes());
        let ([r0, r1, r2, r3], [s0, s1, s2, s3]) = (self.raw_bytes.to_le_bytes(), self.stored_bytes.to_le_bytes());
        [i0, i1, c0, c1, r0, r1, r2, r3, s0, s1, s2, s3]
    }
}

/// Reads blocks and unpacks their columns; keeps its buffers from block to block.
pub(crate) struct Unpacker {
    decompressor: zstd::bulk::Decompressor<'static>,
    body: Vec<u8>,
    unpacked: Vec<u8>,
    columns: Vec<(u16, std::ops::Range<usize>)>,
}

/// Reasons why a block could not be read: the stream failed, or the bytes are wrong.
pub(crate) enum ReadProblem {
    Io(io::Error),
    Block(BlockProblem),
}

impl From<io::Error> for ReadProblem {
    fn from(error: io::Error) -> ReadProblem {
        ReadProblem::Io(error)
    }
}

impl From<BlockProblem> for ReadProblem {
    fn from(problem: BlockProblem) -> ReadProblem {
        ReadProblem::Block(problem)
    }
}

impl Unpacker {
    pub(crate) fn new() -> io::Result<Unpacker> {
        let decompressor = zstd::bulk::Decompressor::new()?;
        Ok(Unpacker { decompressor, body: Vec::new(), unpacked: Vec::new(), columns: Vec::new() })
    }

    /// Reads the head and the body at the stream's place and checks both checksums.
    /// `number`: the number the block must have, if that is known.
    pub(crate) fn read(&mut self, from: &mut impl Read, number: Option<u32>) -> Result<BlockHead, ReadProblem> {
        let mut bytes = [0; BLOCK_HEAD_BYTES];
        let found = read_up_to(from, &mut bytes)?;
        if found < BLOCK_HEAD_BYTES {
            return Err(BlockProblem::Ends { expected: BLOCK_HEAD_BYTES as u64, found: found as u64 }.into());
        }
        let head = BlockHead::from_bytes(&bytes)?;
        if let Some(expected) = number.filter(|&number| number != head.number) {
            return Err(BlockProblem::Number { expected, found: head.number }.into());
        }
        // Grows with what the file really has, not with what it claims.
        self.body.clear();
        from.take(u64::from(head.body_bytes)).read_to_end(&mut self.body)?;
        if self.body.len() < head.body_bytes as usize {
            let found = BLOCK_HEAD_BYTES as u64 + self.body.len() as u64;
            return Err(BlockProblem::Ends { expected: head.stored_bytes(), found }.into());
        }
        let found = crc32c::crc32c(&self.body);
        if found != head.body_checksum {
            return Err(BlockProblem::Checksum { expected: head.body_checksum, found }.into());
        }
        Ok(head)
    }

    /// Unpacks all columns of the block read last.
    pub(crate) fn unpack(&mut self, head: &BlockHead) -> Result<(), BlockProblem> {
        self.columns.clear();
        let table_bytes = head.columns as usize * COLUMN_HEAD_BYTES;
        let Some((table, mut rest)) = self.body.split_at_checked(table_bytes) else {
            return Err(BlockProblem::Content { what: "column table" });
        };
        let mut total = 0usize;
        for entry in table.as_chunks::<COLUMN_HEAD_BYTES>().0 {
            let ColumnHead { id, codec, raw_bytes: raw, stored_bytes: stored } = ColumnHead::from_bytes(entry);
            let Some((packed, after)) = rest.split_at_checked(stored as usize) else {
                return Err(BlockProblem::Content { what: "column table" });
            };
            rest = after;
            let start = total;
            total += raw as usize;
            limit("bytes of all columns", total, MAX_BLOCK_BYTES)?;
            if self.unpacked.len() < total {
                self.unpacked.resize(total, 0);
            }
            let Some(target) = self.unpacked.get_mut(start..total) else {
                return Err(BlockProblem::Content { what: "column table" });
            };
            match codec {
                0 if raw == stored => target.copy_from_slice(packed),
                1 => match self.decompressor.decompress_to_buffer(packed, target) {
                    Ok(bytes) if bytes == raw as usize => {}
                    _ => return Err(BlockProblem::Unpack { column: id, expected: raw }),
                },
                _ => return Err(BlockProblem::Unpack { column: id, expected: raw }),
            }
            self.columns.push((id, start..total));
        }
        if !rest.is_empty() {
            return Err(BlockProblem::Content { what: "column table" });
        }
        Ok(())
    }

    /// The column with this number, empty when the block has none.
    pub(crate) fn column(&self, id: u16) -> &[u8] {
        let found = self.columns.iter().find(|(column, _)| *column == id);
        found.and_then(|(_, range)| self.unpacked.get(range.clone())).unwrap_or_default()
    }
}

/// Fills as much of `buffer` as the stream has.
pub(crate) fn read_up_to(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match from.read(rest) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
