//! Writes a demo while the recording runs, block by block.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::block::{Kind, Packer};
use super::encode::{Encoder, ProcessPosition};
use super::error::WriteError;
use super::index::{BlockEntry, FrameEntry, INDEX_BEFORE_COLUMN, IndexEncoder};
use super::trailer::{Totals, Trailer};
use super::varint;
use super::{FILE_HEAD_BYTES, Header, MAGIC, MAX_FRAMES, MAX_RECORD_BYTES, VERSION};
use crate::{Framer, Head};

/// Raw bytes at which a block of records ends by itself.
const BLOCK_RAW_BYTES: usize = 1 << 20;
/// Bytes of a state archive in one block.
const STATE_BLOCK_BYTES: usize = 1 << 20;
/// Bytes of pending index at which an index block is written, so that memory stays bounded.
const INDEX_BYTES: usize = 1 << 20;
pub(crate) const WHOLE_COLUMN: u16 = 1;
pub(crate) const STATE_PLACE_COLUMN: u16 = 2;

/// Options for writing a demo.
#[derive(Debug, Clone)]
pub struct WriterOptions {
    /// Level of zstd: 1 to 22, or negative ones, which are faster.
    pub level: i32,
}

impl Default for WriterOptions {
    fn default() -> WriterOptions {
        WriterOptions { level: 3 }
    }
}

/// Writes a demo; what it has written stays readable wherever it is cut. After a failed write every
/// other one fails, too, so that nothing is lost behind half a block.
pub struct Writer<W: Write> {
    pub(crate) out: Out<W>,
    packer: Packer,
    encoder: Encoder,
    index: IndexEncoder,
    framer: Framer,
    /// Place and number of the index block before, for the chain that leads back to it.
    index_before: Option<(u64, u32)>,
    /// First record and block of the frame that process 0 is in.
    frame: Option<(u64, u32)>,
    /// By the index of a process; of one without records there is nothing.
    places: Vec<Option<ProcessPosition>>,
    state_chunks: BTreeMap<u32, u64>,
    totals: Totals,
}

impl<W: Write> Writer<W> {
    /// Writes the file head and the header.
    ///
    /// # Errors
    /// [`WriteError::Io`] from the stream; [`WriteError::TooLarge`] for a header past 68 MiB.
    pub fn new(out: W, header: &Header, options: WriterOptions) -> Result<Writer<W>, WriteError> {
        let mut writer = Writer {
            out: Out { stream: out, offset: 0, broken: false },
            packer: Packer::new(options.level)?,
            encoder: Encoder::default(),
            index: IndexEncoder::default(),
            framer: Framer::new(header.frame_rule),
            index_before: None,
            frame: None,
            places: Vec::new(),
            state_chunks: BTreeMap::new(),
            totals: Totals::default(),
        };
        writer.out.write(&file_head())?;
        writer.write_block(Kind::HEADER, &[(WHOLE_COLUMN, &header.to_bytes())])?;
        Ok(writer)
    }

    /// Appends to the archive of state directory `dir`, or to [`super::FILES_ARCHIVE`]; the bytes are opaque here.
    ///
    /// # Errors
    /// [`WriteError::Io`] from the stream.
    pub fn state_chunk(&mut self, dir: u32, bytes: &[u8]) -> Result<(), WriteError> {
        self.end_records()?;
        for chunk in bytes.chunks(STATE_BLOCK_BYTES) {
            let number = self.state_chunks.entry(dir).or_default();
            let mut place = Vec::new();
            varint::put(&mut place, u64::from(dir));
            varint::put(&mut place, *number);
            *number += 1;
            self.totals.state_bytes += chunk.len() as u64;
            self.write_block(Kind::STATE, &[(STATE_PLACE_COLUMN, &place), (WHOLE_COLUMN, chunk)])?;
        }
        Ok(())
    }

    /// Appends a record of a process. Its `order` is ignored: records of a process count from 0.
    ///
    /// # Errors
    /// [`WriteError::Record`] when `record` is not as long as its head says, [`WriteError::TooLarge`]
    /// past [`MAX_RECORD_BYTES`]; both leave the demo as it was. [`WriteError::Io`] from the stream.
    pub fn push(&mut self, process: u16, record: &[u8]) -> Result<(), WriteError> {
        match Head::from_bytes(record) {
            Some(head) => self.push_headed(process, record, &head),
            None => Err(self.odd_record(process, record)),
        }
    }

    fn odd_record(&self, process: u16, record: &[u8]) -> WriteError {
        let expected = record.first_chunk().map_or(0, |size| u64::from(u32::from_le_bytes(*size)));
        WriteError::Record { process, order: self.order(process), expected, found: record.len() as u64 }
    }

    /// Number of the next record of a process.
    fn order(&self, process: u16) -> u64 {
        self.places.get(usize::from(process)).copied().flatten().map_or(0, |place| place.order)
    }

    /// Appends a record of a process. `head`: that of the record, of which the time may be another one, in nanoseconds.
    ///
    /// # Errors
    /// As for [`Writer::push`].
    pub fn push_headed(&mut self, process: u16, record: &[u8], head: &Head) -> Result<(), WriteError> {
        if head.size as usize != record.len() {
            return Err(self.odd_record(process, record));
        }
        let order = self.order(process);
        if record.len() > MAX_RECORD_BYTES {
            let (limit, found) = (MAX_RECORD_BYTES as u64, record.len() as u64);
            return Err(WriteError::TooLarge { what: "bytes of a record", limit, found });
        }
        if self.places.len() <= usize::from(process) {
            self.places.resize(usize::from(process) + 1, None);
        }
        let place =
            self.places.get_mut(usize::from(process)).expect("room was just made for it").get_or_insert_default();
        self.encoder.push(process, record, head, place);
        place.order += 1;
        let time_ns = place.time_us.wrapping_mul(1000);
        self.totals.records += 1;
        self.totals.raw_bytes += record.len() as u64;
        if process == 0 {
            let (first_record, block) = *self.frame.get_or_insert((order, self.packer.number()));
            if self.framer.ends_frame(head) {
                self.frame = None;
                self.totals.frames += 1;
                if self.totals.frames <= MAX_FRAMES as u64 {
                    self.index.push_frame(&FrameEntry { first_record, last_record: order, time_ns, block });
                }
            }
        }
        if self.encoder.raw_bytes() >= BLOCK_RAW_BYTES || self.encoder.is_full() {
            self.end_records()?;
        }
        Ok(())
    }

    /// Compresses with this level of zstd from now on.
    ///
    /// # Errors
    /// [`WriteError::Io`]: zstd has no such level.
    pub fn set_level(&mut self, level: i32) -> Result<(), WriteError> {
        Ok(self.packer.set_level(level)?)
    }

    /// Ends the block of records and flushes the stream, so that a cut loses at most what comes later.
    ///
    /// # Errors
    /// [`WriteError::Io`] from the stream.
    pub fn flush_block(&mut self) -> Result<(), WriteError> {
        self.end_records()?;
        self.out.stream.flush()?;
        Ok(())
    }

    /// Number of frames that have ended so far.
    pub fn frames(&self) -> u64 {
        self.totals.frames
    }

    /// Number of bytes written so far.
    pub fn file_bytes(&self) -> u64 {
        self.out.offset
    }

    /// Writes what is left, the trailer, the index and the commit marker, and flushes the stream.
    ///
    /// # Errors
    /// [`WriteError::Io`] from the stream; [`WriteError::TooLarge`] for a trailer past 68 MiB.
    pub fn finish(mut self, trailer: &Trailer) -> Result<(W, Totals), WriteError> {
        self.end_records()?;
        self.totals.processes = self.places.iter().flatten().count() as u32;
        // The trailer itself, the last index block and the commit marker are still to come.
        self.totals.blocks = self.packer.number() + 3;
        let trailer = Trailer { totals: self.totals, ..trailer.clone() };
        let trailer_offset = self.out.offset;
        self.write_block(Kind::TRAILER, &[(WHOLE_COLUMN, &trailer.to_bytes())])?;
        let index_offset = self.out.offset;
        let index_number = self.packer.number();
        self.write_index()?;
        let mut commit = Vec::new();
        commit.extend_from_slice(&trailer_offset.to_le_bytes());
        commit.extend_from_slice(&index_offset.to_le_bytes());
        commit.extend_from_slice(&index_number.to_le_bytes());
        commit.extend_from_slice(&COMMIT_WORD);
        let commit = self.packer.pack(Kind::COMMIT, &[(WHOLE_COLUMN, &commit)])?;
        self.out.write(commit)?;
        self.out.stream.flush()?;
        self.totals.file_bytes = self.out.offset;
        Ok((self.out.stream, self.totals))
    }

    fn end_records(&mut self) -> Result<(), WriteError> {
        if self.encoder.records() == 0 {
            return Ok(());
        }
        self.out.check()?;
        let columns = self.encoder.finish();
        let entry = BlockEntry { kind: Kind::RECORDS, offset: self.out.offset };
        self.out.write(self.packer.pack(Kind::RECORDS, &columns)?)?;
        self.index.push_block(&entry);
        self.encoder.clear();
        if self.index.pending_bytes() >= INDEX_BYTES {
            self.write_index()?;
        }
        Ok(())
    }

    fn write_index(&mut self) -> Result<(), WriteError> {
        let entry = BlockEntry { kind: Kind::INDEX, offset: self.out.offset };
        let mut before = Vec::new();
        if let Some((offset, number)) = self.index_before.replace((self.out.offset, self.packer.number())) {
            varint::put(&mut before, offset);
            varint::put(&mut before, u64::from(number));
        }
        let [frames, blocks] = self.index.columns();
        let block = self.packer.pack(Kind::INDEX, &[(INDEX_BEFORE_COLUMN, &before), frames, blocks])?;
        self.out.write(block)?;
        self.index.drained();
        self.index.push_block(&entry);
        Ok(())
    }

    pub(crate) fn write_block(&mut self, kind: Kind, columns: &[(u16, &[u8])]) -> Result<(), WriteError> {
        let entry = BlockEntry { kind, offset: self.out.offset };
        self.out.write(self.packer.pack(kind, columns)?)?;
        self.index.push_block(&entry);
        Ok(())
    }
}

/// The stream and how far it is.
pub(crate) struct Out<W> {
    pub(crate) stream: W,
    offset: u64,
    /// A write failed, maybe half-way: whatever came behind it could not be read.
    broken: bool,
}

impl<W: Write> Out<W> {
    fn check(&self) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("an earlier write to this demo failed"));
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.check()?;
        self.broken = true;
        self.stream.write_all(bytes)?;
        self.broken = false;
        self.offset += bytes.len() as u64;
        Ok(())
    }
}

/// Fills the commit marker to 24 bytes, which is stored as it is: the marker always has one size.
pub(crate) const COMMIT_WORD: [u8; 4] = *b"DONE";

fn file_head() -> [u8; FILE_HEAD_BYTES] {
    let mut out = [0; FILE_HEAD_BYTES];
    out[..8].copy_from_slice(&MAGIC);
    out[8..12].copy_from_slice(&VERSION.to_le_bytes());
    let checksum = crc32c::crc32c(&out[..12]);
    out[12..].copy_from_slice(&checksum.to_le_bytes());
    out
}
