//! Reads a demo from end to end: what a scan finds, and whether the index says the same.

use std::io::{Read, Seek, SeekFrom};

use super::block::{Kind, ReadProblem, Unpacker};
use super::decode::{Cursor, Decoded, decode};
use super::error::{BlockProblem, DemoError};
use super::index::{BlockEntry, FrameEntry, Frames};
use super::reader::{Cause, Demo, Truncation};
use super::trailer::{Totals, Trailer};
use super::writer::WHOLE_COLUMN;
use super::{FILE_HEAD_BYTES, MAX_FRAMES};
use crate::{Framer, HEAD_BYTES, Head, Parts, ResultBeyondBound, check_result, part_size};

/// Result of checking a whole demo.
#[derive(Debug, Default)]
pub struct VerifyReport {
    /// Counted while scanning; `processes` counts those that have records.
    pub totals: Totals,
    /// True when the commit marker is there.
    pub committed: bool,
    /// Problems in the order of the file; at most 1,000 entries and the truncation.
    pub problems: Vec<Problem>,
}

impl VerifyReport {
    /// True when the demo is complete and nothing is wrong with it.
    pub fn is_sound(&self) -> bool {
        self.committed && self.problems.is_empty()
    }
}

/// A damaged file must not fill the memory with what is wrong with it.
const MOST_PROBLEMS: usize = 1000;

/// Something wrong with a demo.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The demo ends before its commit marker.
    #[error("{0}")]
    Truncated(Truncation),
    /// The parts of a record do not fill it.
    #[error(
        "record {order} of process {process} in block {block}: parts expected to end at byte {expected}, found {found}"
    )]
    Parts {
        /// Index of the process in the recording, from 0.
        process: u16,
        /// Place of the record in its process.
        order: u64,
        /// Number of the block in the file, from 0.
        block: u32,
        /// Size that the record's head states, in bytes.
        expected: u64,
        /// Byte at which its parts end.
        found: u64,
    },
    /// A record does not follow the one before it in its process.
    #[error("block {block}, process {process}: record expected {expected}, found {found}")]
    Order {
        /// Index of the process in the recording, from 0.
        process: u16,
        /// Number of the block in the file, from 0.
        block: u32,
        /// The place that comes next.
        expected: u64,
        /// The place that the record has.
        found: u64,
    },
    /// A record has a result that its call cannot have.
    #[error("record {order} of process {process} in block {block}: {beyond}")]
    Result {
        /// Index of the process in the recording, from 0.
        process: u16,
        /// Place of the record in its process.
        order: u64,
        /// Number of the block in the file, from 0.
        block: u32,
        /// The rule that it breaks.
        beyond: ResultBeyondBound,
    },
    /// The index or the trailer says something else than the blocks.
    #[error("{what}: expected {expected}, found {found}")]
    Disagrees {
        /// Item that differs, for the message.
        what: &'static str,
        /// Value in the index or the trailer.
        expected: u64,
        /// Value that follows from the blocks.
        found: u64,
    },
}

impl<R: Read + Seek> Demo<R> {
    /// Checks every checksum and every record, and that index, trailer and commit marker say what the
    /// blocks say.
    ///
    /// # Errors
    /// [`DemoError::Io`] only; all else is in the report.
    pub fn verify(&mut self) -> Result<VerifyReport, DemoError> {
        let scan = Scan::run(self)?;
        let mut report =
            VerifyReport { totals: scan.totals, committed: scan.end == End::Commit, problems: scan.problems.clone() };
        let mut agree = |what, expected: u64, found: u64| {
            if expected != found && report.problems.len() < MOST_PROBLEMS {
                report.problems.push(Problem::Disagrees { what, expected, found });
            }
        };
        if let Some(trailer) = self.trailer().filter(|_| self.truncation().is_none()) {
            let totals = &trailer.totals;
            agree("processes", totals.processes.into(), scan.totals.processes.into());
            agree("records", totals.records, scan.totals.records);
            agree("frames", totals.frames, scan.totals.frames);
            agree("blocks", totals.blocks.into(), scan.totals.blocks.into());
            agree("raw bytes", totals.raw_bytes, scan.totals.raw_bytes);
            agree("state bytes", totals.state_bytes, scan.totals.state_bytes);
        }
        agree("frames of the index", self.frames().len() as u64, scan.frames.len() as u64);
        for (indexed, found) in self.frames().iter().zip(&scan.frames) {
            agree("last record of a frame", indexed.last_record, found.last_record);
            agree("time of a frame", indexed.time_ns, found.time_ns);
            agree("block of a frame", indexed.block.into(), found.block.into());
        }
        agree("blocks of the index", self.blocks.len() as u64, scan.blocks.len() as u64);
        for (indexed, found) in self.blocks.iter().zip(&scan.blocks) {
            agree("offset of a block", indexed.offset, found.offset);
            agree("kind of a block", indexed.kind.0.into(), found.kind.0.into());
        }
        if scan.end != End::Commit {
            report.problems.push(Problem::Truncated(scan.truncation()));
        } else if let Some(truncation) = self.truncation() {
            report.problems.push(Problem::Truncated(truncation.clone()));
        }
        Ok(report)
    }
}

/// Sequential scan of the blocks of a file, up to its end or the first damaged one.
pub(crate) struct Scan {
    pub(crate) blocks: Vec<BlockEntry>,
    pub(crate) frames: Frames,
    pub(crate) trailer: Option<Trailer>,
    totals: Totals,
    problems: Vec<Problem>,
    offset: u64,
    end: End,
    /// Next place of every process, 0 for those without records.
    orders: Vec<u64>,
}

#[derive(Debug, PartialEq, Eq)]
enum End {
    Commit,
    Early(Cause),
}

impl Scan {
    /// Reads the stream from its first block on.
    pub(crate) fn run<R: Read + Seek>(demo: &mut Demo<R>) -> Result<Scan, DemoError> {
        let mut scan = Scan {
            blocks: Vec::new(),
            frames: Frames::default(),
            trailer: None,
            totals: Totals::default(),
            problems: Vec::new(),
            offset: FILE_HEAD_BYTES as u64,
            end: End::Early(Cause::NoCommit),
            orders: Vec::new(),
        };
        let mut framer = Framing { framer: Framer::new(demo.header().frame_rule), open: None };
        let mut decoded = Decoded::default();
        let file_bytes = demo.file_bytes;
        demo.from.seek(SeekFrom::Start(scan.offset))?;
        while scan.offset < file_bytes {
            let number = scan.blocks.len() as u32;
            let read = scan.block(&mut demo.from, &mut demo.unpacker, &mut decoded, &mut framer, number, file_bytes);
            let (kind, stored_bytes) = match read {
                Ok(read) => read,
                Err(ReadProblem::Io(error)) => return Err(error.into()),
                Err(ReadProblem::Block(problem)) => {
                    scan.end = End::Early(Cause::Block(problem));
                    break;
                }
            };
            scan.blocks.push(BlockEntry { kind, offset: scan.offset });
            scan.offset += stored_bytes;
            if kind == Kind::COMMIT {
                let complete = scan.offset == file_bytes;
                scan.end = if complete { End::Commit } else { End::Early(Cause::BytesAfterCommit) };
                break;
            }
        }
        scan.totals.blocks = scan.blocks.len() as u32;
        scan.totals.processes = scan.orders.iter().filter(|&&next| next > 0).count() as u32;
        scan.totals.file_bytes = file_bytes;
        Ok(scan)
    }

    /// The part of the file that remains. Meaningless for a file that opens by its index.
    pub(crate) fn truncation(&self) -> Truncation {
        Truncation {
            offset: self.offset,
            cause: match &self.end {
                End::Early(cause) => cause.clone(),
                End::Commit => Cause::Index,
            },
            blocks: self.totals.blocks,
            records: self.totals.records,
            frames: self.totals.frames,
        }
    }

    fn block(
        &mut self,
        from: &mut impl Read,
        unpacker: &mut Unpacker,
        decoded: &mut Decoded,
        framing: &mut Framing,
        number: u32,
        file_bytes: u64,
    ) -> Result<(Kind, u64), ReadProblem> {
        let head = unpacker.read(from, Some(number))?;
        unpacker.unpack(&head)?;
        match head.kind {
            Kind::RECORDS => {
                decode(|column| unpacker.column(column), decoded)?;
                self.records(decoded, framing, number)?;
            }
            Kind::STATE => self.totals.state_bytes += unpacker.column(WHOLE_COLUMN).len() as u64,
            Kind::TRAILER => self.trailer = Some(Trailer::from_bytes(unpacker.column(WHOLE_COLUMN), file_bytes)?),
            _ => {}
        }
        Ok((head.kind, head.stored_bytes()))
    }

    fn records(&mut self, decoded: &Decoded, framing: &mut Framing, block: u32) -> Result<(), BlockProblem> {
        let mut cursor = Cursor::default();
        while let Some((process, range)) = decoded.next(&mut cursor) {
            let record = decoded.bytes(range);
            let head = Head::from_bytes(record).ok_or(BlockProblem::Content { what: "head of a record" })?;
            self.check_order(process, head.order, block);
            self.check_parts(process, record, &head, block);
            if let Err(beyond) = check_result(record) {
                self.report(Problem::Result { process, order: head.order, block, beyond });
            }
            if process == 0
                && let Some(frame) = framing.push(&head, block)
            {
                self.totals.frames += 1;
                if self.frames.len() < MAX_FRAMES {
                    self.frames.push(&frame);
                    // The index has no place for it: each frame begins where the one before ends.
                    let found = self.frames.last().map_or(0, |indexed| indexed.first_record);
                    if found != frame.first_record {
                        let what = "first record of a frame";
                        self.report(Problem::Disagrees { what, expected: found, found: frame.first_record });
                    }
                }
            }
        }
        self.totals.records += decoded.records;
        self.totals.raw_bytes += decoded.raw_bytes() as u64;
        Ok(())
    }

    fn check_order(&mut self, process: u16, found: u64, block: u32) {
        if self.orders.len() <= process as usize {
            self.orders.resize(process as usize + 1, 0);
        }
        let Some(next) = self.orders.get_mut(process as usize) else { return };
        let expected = std::mem::replace(next, found.wrapping_add(1));
        if expected != found {
            self.report(Problem::Order { process, block, expected, found });
        }
    }

    fn check_parts(&mut self, process: u16, record: &[u8], head: &Head, block: u32) {
        if record.len() == HEAD_BYTES {
            return;
        }
        let end = Parts::new(record).fold(HEAD_BYTES, |end, part| end + part_size(part.bytes.len()));
        if end != record.len() {
            let (expected, found) = (record.len() as u64, end as u64);
            self.report(Problem::Parts { process, order: head.order, block, expected, found });
        }
    }

    fn report(&mut self, problem: Problem) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(problem);
        }
    }
}

/// Finds frames as the writer does.
struct Framing {
    framer: Framer,
    /// First record and block of the frame at hand.
    open: Option<(u64, u32)>,
}

impl Framing {
    fn push(&mut self, head: &Head, block: u32) -> Option<FrameEntry> {
        let (first_record, block) = *self.open.get_or_insert((head.order, block));
        if !self.framer.ends_frame(head) {
            return None;
        }
        self.open = None;
        Some(FrameEntry { first_record, last_record: head.order, time_ns: head.time, block })
    }
}
