//! The columns of a block of records in, raw records out.

use std::ops::Range;

use super::MAX_RECORD_BYTES;
use super::error::BlockProblem;
use super::layout::*;
use super::varint::Input;
use crate::{HEAD_BYTES, Head, PART_HEAD_BYTES, PartKind, part_size};

/// Most bytes that the records of one block take in raw form.
const MAX_RAW_BYTES: usize = MAX_RECORD_BYTES + (2 << 20);

/// The records of one block in raw form.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    raw: Vec<u8>,
    /// Boundaries between the records of different processes.
    runs: Vec<Run>,
    pub(crate) records: u64,
    /// Kept so that blocks do not allocate again.
    ids: Vec<u16>,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    end: usize,
    process: u16,
}

/// Position of a record in [`Decoded`].
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cursor {
    at: usize,
    run: usize,
}

impl Decoded {
    /// Leaves no record. The bytes stay until others are written over them: to fill a block with zeros first takes as long as
    /// to decode it.
    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        self.records = 0;
    }

    pub(crate) fn raw_bytes(&self) -> usize {
        self.runs.last().map_or(0, |run| run.end)
    }

    /// The next record: its process and where it lies.
    #[inline]
    pub(crate) fn next(&self, cursor: &mut Cursor) -> Option<(u16, Range<usize>)> {
        let process = self.process_at(cursor)?;
        let size = self.raw.get(cursor.at..)?.first_chunk().map(|size| u32::from_le_bytes(*size))? as usize;
        let record = cursor.at..cursor.at + size;
        cursor.at = record.end;
        Some((process, record))
    }

    /// All records up to the next change of process, as they lie behind each other.
    pub(crate) fn next_run(&self, cursor: &mut Cursor) -> Option<(u16, Range<usize>)> {
        let process = self.process_at(cursor)?;
        let records = cursor.at..self.runs.get(cursor.run)?.end;
        cursor.at = records.end;
        Some((process, records))
    }

    #[inline]
    fn process_at(&self, cursor: &mut Cursor) -> Option<u16> {
        let mut run = self.runs.get(cursor.run)?;
        while cursor.at >= run.end {
            cursor.run += 1;
            run = self.runs.get(cursor.run)?;
        }
        Some(run.process)
    }

    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.raw.get(range).unwrap_or_default()
    }
}

/// A template as the decoder uses it.
struct Ready {
    head: [u8; HEAD_BYTES],
    flags: u8,
    process: u16,
    shape: u16,
    slot: u16,
    unit: i64,
}

struct Process {
    id: u16,
    order: u64,
    time_us: u64,
}

const fn wrong(what: &'static str) -> BlockProblem {
    BlockProblem::Content { what }
}

/// Decodes the records of a block. `column`: the bytes of a column, empty when the block has none. On an error `into`
/// is empty: records before the place of the error may be wrong already.
pub(crate) fn decode<'a>(column: impl Fn(u16) -> &'a [u8], into: &mut Decoded) -> Result<(), BlockProblem> {
    into.clear();
    let decoded = decode_columns(column, into);
    if decoded.is_err() {
        into.clear();
    }
    decoded
}

fn decode_columns<'a>(column: impl Fn(u16) -> &'a [u8], into: &mut Decoded) -> Result<(), BlockProblem> {
    let mut meta = Input::new(column(META));
    let (records, raw_bytes) = meta.number().zip(meta.fitting::<usize>()).ok_or(wrong("counts of records"))?;
    if raw_bytes > MAX_RAW_BYTES {
        let (limit, found) = (MAX_RAW_BYTES as u64, raw_bytes as u64);
        return Err(BlockProblem::TooLarge { what: "raw bytes of a block", limit, found });
    }
    if records > (raw_bytes / HEAD_BYTES) as u64 {
        return Err(wrong("counts of records"));
    }
    let mut processes = take_processes(&mut meta).ok_or(wrong("table of processes"))?;
    let mut shapes = Vec::new();
    let (templates, mut slots) =
        take_templates(column(TEMPLATES), processes.len(), &mut shapes).ok_or(wrong("table of templates"))?;
    let mut ids = std::mem::take(&mut into.ids);
    let heads = take_heads(column(HEADS), records as usize, templates.len(), &mut ids);
    into.ids = ids;
    heads.ok_or(wrong("column of heads"))?;

    let mut columns = Columns {
        fine: Split { low: Input::new(column(FINE_LOW)), high: Input::new(column(FINE_HIGH)) },
        coarse: Coarse { tokens: Input::new(column(COARSE)), zeros: 0, nibble: 0 },
        time: Split { low: Input::new(column(TIME_LOW)), high: Input::new(column(TIME_HIGH)) },
        ret: Split { low: Input::new(column(RET_LOW)), high: Input::new(column(RET_HIGH)) },
        wide: Input::new(column(WIDE)),
        aux: Input::new(column(AUX)),
        lengths: Input::new(column(LENGTHS)),
        words: Input::new(column(WORDS)),
        word_bytes: Input::new(column(WORD_BYTES)),
        dictionary: Vec::new(),
        payload_in: Input::new(column(PAYLOAD_IN)),
        payload_out: Input::new(column(PAYLOAD_OUT)),
        other: Input::new(column(OTHER)),
    };
    // Only what a longer block adds is filled: each byte of a record is written.
    into.raw.resize(raw_bytes, 0);
    let mut at = 0;
    let mut current = templates.first().map_or(0, |template| template.process);
    for &id in &into.ids {
        let template = templates.get(id as usize).expect("`take_heads` gives numbers of templates only");
        if template.process != current {
            let process = processes.get(current as usize).expect("the process of a template, too");
            into.runs.push(Run { end: at, process: process.id });
            current = template.process;
        }
        let process = processes.get_mut(template.process as usize).expect("`take_templates` knows the processes");
        let end = put_record(&mut into.raw, at, template, process, &mut slots, &mut columns, &shapes);
        at = end.ok_or(wrong("columns of records"))?;
    }
    if let Some(process) = processes.get(current as usize) {
        into.runs.push(Run { end: at, process: process.id });
    }
    if at != raw_bytes {
        let (expected, found) = (raw_bytes as u64, at as u64);
        return Err(BlockProblem::Disagrees { what: "raw bytes of a block", expected, found });
    }
    if !columns.all_read() {
        return Err(wrong("columns of records"));
    }
    into.records = records;
    Ok(())
}

fn take_processes(meta: &mut Input<'_>) -> Option<Vec<Process>> {
    let count: u16 = meta.fitting()?;
    (0..count).map(|_| Some(Process { id: meta.fitting()?, order: meta.number()?, time_us: meta.number()? })).collect()
}

fn take_templates(column: &[u8], processes: usize, shapes: &mut Vec<Shape>) -> Option<(Vec<Ready>, Vec<i64>)> {
    let mut input = Input::new(column);
    let mut templates = Vec::new();
    let mut slots = 0;
    while !input.is_empty() {
        let (template, slot) = Template::take(&mut input, shapes)?;
        let clock = template.flags & RET_MASK == RET_CLOCK;
        if template.process as usize >= processes || slot > slots || templates.len() == MAX_TEMPLATES {
            return None;
        }
        slots = slots.max(slot + usize::from(clock));
        let head = Head {
            size: HEAD_BYTES as u32,
            op: template.op,
            thread: template.thread,
            order: 0,
            time: 0,
            ret: if clock { 0 } else { template.ret },
            fd: template.fd,
            aux: template.aux,
        };
        templates.push(Ready {
            head: head.to_bytes(),
            flags: template.flags,
            process: template.process,
            shape: template.shape,
            slot: slot as u16,
            unit: template.ret,
        });
    }
    Some((templates, vec![0; slots]))
}

/// Unrolls the runs; at most `records` numbers, all below `templates`.
fn take_heads(column: &[u8], records: usize, templates: usize, ids: &mut Vec<u16>) -> Option<()> {
    ids.clear();
    ids.reserve(records);
    let mut input = Input::new(column);
    while !input.is_empty() {
        let token: usize = input.fitting()?;
        if token > 0 {
            if token > templates || ids.len() == records {
                return None;
            }
            ids.push((token - 1) as u16);
            continue;
        }
        let (period, count): (usize, usize) = (input.fitting()?, input.fitting()?);
        if period == 0 || period > MAX_PERIOD || count > records - ids.len() {
            return None;
        }
        let start = ids.len().checked_sub(period)?;
        // Doubling copies: each one repeats all of the pattern there is so far.
        let end = ids.len() + count;
        while ids.len() < end {
            let from = start..(start + (end - ids.len())).min(ids.len());
            ids.extend_from_within(from);
        }
    }
    (ids.len() == records).then_some(())
}

struct Columns<'a> {
    fine: Split<'a>,
    coarse: Coarse<'a>,
    time: Split<'a>,
    ret: Split<'a>,
    wide: Input<'a>,
    aux: Input<'a>,
    lengths: Input<'a>,
    words: Input<'a>,
    word_bytes: Input<'a>,
    dictionary: Vec<&'a [u8]>,
    payload_in: Input<'a>,
    payload_out: Input<'a>,
    other: Input<'a>,
}

impl<'a> Columns<'a> {
    /// True when every column was used up: a block says nothing that its records do not.
    fn all_read(&self) -> bool {
        let pairs = [&self.fine, &self.time, &self.ret];
        let lone = [&self.wide, &self.aux, &self.lengths, &self.words, &self.word_bytes];
        let bytes = [&self.payload_in, &self.payload_out, &self.other, &self.coarse.tokens];
        pairs.iter().all(|pair| pair.low.is_empty() && pair.high.is_empty())
            && lone.iter().chain(&bytes).all(|column| column.is_empty())
            && self.coarse.zeros == 0
            && self.coarse.nibble == 0
    }

    fn word(&mut self) -> Option<&'a [u8]> {
        match self.words.number()? {
            0 => {
                let word = self.word_bytes.prefixed()?;
                if self.dictionary.len() < MAX_WORDS {
                    self.dictionary.push(word);
                }
                Some(word)
            }
            number => self.dictionary.get(usize::try_from(number - 1).ok()?).copied(),
        }
    }
}

/// Writes the next record at `at`; returns where it ends, `None` where the columns do not fit.
#[inline]
fn put_record(
    raw: &mut [u8],
    at: usize,
    template: &Ready,
    process: &mut Process,
    slots: &mut [i64],
    columns: &mut Columns<'_>,
    shapes: &[Shape],
) -> Option<usize> {
    let body = at + HEAD_BYTES;
    let head: &mut [u8; HEAD_BYTES] = raw.get_mut(at..body)?.try_into().ok()?;
    *head = template.head;
    let flags = template.flags;
    if flags & TIMED != 0 {
        process.time_us = process.time_us.wrapping_add(columns.time.take(&mut columns.wide)? as u64);
    }
    head[8..16].copy_from_slice(&process.order.to_le_bytes());
    head[16..24].copy_from_slice(&process.time_us.wrapping_mul(1000).to_le_bytes());
    process.order = process.order.wrapping_add(1);
    let mut ret = 0;
    match flags & RET_MASK {
        RET_CLOCK => {
            let delta = match template.unit {
                1 => columns.fine.take(&mut columns.wide)?,
                unit => columns.coarse.take(&mut columns.wide)?.wrapping_mul(unit),
            };
            let slot = slots.get_mut(template.slot as usize).expect("`take_templates` makes a slot for each clock");
            *slot = slot.wrapping_add(delta);
            head[24..32].copy_from_slice(&slot.to_le_bytes());
        }
        RET_COLUMN => {
            ret = columns.ret.take(&mut columns.wide)?;
            head[24..32].copy_from_slice(&ret.to_le_bytes());
        }
        _ => {}
    }
    match flags & AUX_MASK {
        AUX_COLUMN => head[36..40].copy_from_slice(&columns.aux.fitting::<u32>()?.to_le_bytes()),
        AUX_RET => head[36..40].copy_from_slice(&(ret as u32).to_le_bytes()),
        _ => {}
    }
    let end = if flags & OPAQUE != 0 {
        let length: usize = columns.lengths.fitting()?;
        raw.get_mut(body..body.checked_add(length)?)?.copy_from_slice(columns.other.bytes(length)?);
        body + length
    } else {
        let shape = shapes.get(template.shape as usize)?;
        if shape.is_empty() {
            return Some(body);
        }
        put_parts(raw, body, shape, ret, columns)?
    };
    let size = end - at;
    if size > MAX_RECORD_BYTES || !size.is_multiple_of(8) {
        return None;
    }
    *raw.get_mut(at..)?.first_chunk_mut()? = (size as u32).to_le_bytes();
    Some(end)
}

fn put_parts(raw: &mut [u8], mut at: usize, shape: &Shape, ret: i64, columns: &mut Columns<'_>) -> Option<usize> {
    for &(kind, mode) in shape {
        let content = if mode == Mode::Word {
            columns.word()?
        } else {
            let length = if mode == Mode::Ret { usize::try_from(ret).ok()? } else { columns.lengths.fitting()? };
            match PartKind::from_number(kind) {
                Some(PartKind::In) => columns.payload_in.bytes(length)?,
                Some(PartKind::Out) => columns.payload_out.bytes(length)?,
                _ => columns.other.bytes(length)?,
            }
        };
        let part = raw.get_mut(at..at.checked_add(part_size(content.len()))?)?;
        let (head, part) = part.split_first_chunk_mut::<PART_HEAD_BYTES>()?;
        let [l0, l1, l2, l3] = (content.len() as u32).to_le_bytes();
        *head = [kind, 0, 0, 0, l0, l1, l2, l3];
        let (bytes, padding) = part.split_at_mut_checked(content.len())?;
        bytes.copy_from_slice(content);
        padding.fill(0);
        at += part_size(content.len());
    }
    Some(at)
}

/// The inverse of the encoder's pair of columns.
struct Split<'a> {
    low: Input<'a>,
    high: Input<'a>,
}

impl Split<'_> {
    #[inline(always)]
    fn take(&mut self, wide: &mut Input<'_>) -> Option<i64> {
        match self.high.byte()? {
            255 => wide.signed(),
            high => Some(i64::from(self.low.byte()?) | i64::from(high) << 8),
        }
    }
}

/// The inverse of the encoder's column of coarse deltas.
struct Coarse<'a> {
    tokens: Input<'a>,
    /// Zeros that are left before the delta of the token at hand.
    zeros: u8,
    /// That delta; 15 stands for one in the wide column, 0 for none.
    nibble: u8,
}

impl Coarse<'_> {
    #[inline(always)]
    fn take(&mut self, wide: &mut Input<'_>) -> Option<i64> {
        if self.zeros == 0 && self.nibble == 0 {
            let token = self.tokens.byte()?;
            self.zeros = token >> 4;
            self.nibble = token & 15;
        }
        if self.zeros > 0 {
            self.zeros -= 1;
            return Some(0);
        }
        match std::mem::take(&mut self.nibble) {
            0 => None,
            15 => wide.signed(),
            delta => Some(i64::from(delta)),
        }
    }
}
