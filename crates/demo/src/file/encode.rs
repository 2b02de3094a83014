//! Raw records in, the columns of a block of records out.

use rustc_hash::FxHashMap;

use super::layout::*;
use super::varint;
use crate::{Class, HEAD_BYTES, Head, Op, PART_HEAD_BYTES, PartKind, WAIT_FOREVER, part_size};

/// Fills one block of records at a time.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    columns: Columns,
    /// Template of every record so far.
    ids: Vec<u16>,
    templates: Vec<Known>,
    template_ids: FxHashMap<Template, u16>,
    shapes: Vec<Shape>,
    word_ids: FxHashMap<Box<[u8]>, u16>,
    slots: Vec<i64>,
    slot_ids: FxHashMap<Clock, usize>,
    /// Templates that each call has so far, by its number modulo the length.
    templates_of: Vec<u16>,
    processes: Vec<Process>,
    raw_bytes: usize,
    /// Reused for the shape of the record at hand.
    shape: Shape,
    last: LastOfThreads,
}

/// Template of the last record of each thread.
#[derive(Debug)]
struct LastOfThreads([u16; LANES]);

impl LastOfThreads {
    /// Threads whose number ends alike share a place, and guess worse.
    #[expect(clippy::indexing_slicing, reason = "the remainder is below the length")]
    fn of(&mut self, template: &Template) -> &mut u16 {
        let lane = usize::from(template.process.wrapping_mul(8) ^ template.thread);
        &mut self.0[lane % LANES]
    }
}

impl Default for LastOfThreads {
    fn default() -> LastOfThreads {
        LastOfThreads([NO_TEMPLATE; LANES])
    }
}

/// Columns of the block as they are written to the file.
#[derive(Debug, Default)]
struct Columns {
    meta: Vec<u8>,
    heads: Vec<u8>,
    definitions: Vec<u8>,
    fine: Split,
    coarse: Coarse,
    time: Split,
    ret: Split,
    /// Numbers that do not fit into the narrow columns above.
    wide: Vec<u8>,
    aux: Vec<u8>,
    lengths: Vec<u8>,
    words: Vec<u8>,
    word_bytes: Vec<u8>,
    payload_in: Vec<u8>,
    payload_out: Vec<u8>,
    other: Vec<u8>,
}

#[derive(Debug)]
struct Known {
    template: Template,
    slot: usize,
    /// The template that last followed this one in its thread: usually the next one, too.
    successor: u16,
}

#[derive(Debug)]
struct Process {
    id: u16,
    first_order: u64,
    base_time_us: u64,
    time_us: u64,
}

/// Clocks that share deltas: equal values up to their unit.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Clock {
    id: u32,
    unit: i64,
    /// Clocks of CPU time belong to one process and thread.
    owner: Option<(u16, u16)>,
}

/// State of a process at the beginning of a block.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessPosition {
    pub(crate) order: u64,
    pub(crate) time_us: u64,
}

/// Threads whose last record is remembered apart from that of others.
const LANES: usize = 64;
/// A number that no template has.
const NO_TEMPLATE: u16 = u16::MAX;

/// Constants of one call past this number go to columns: they do not repeat enough to be templates.
const MAX_TEMPLATES_PER_CALL: u16 = 48;

impl Encoder {
    pub(crate) fn records(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn raw_bytes(&self) -> usize {
        self.raw_bytes
    }

    /// Appends a record to the block. `record`: as long as its head says. `place`: where its process stands before it;
    /// the time that the demo keeps for it is put there.
    #[expect(
        clippy::indexing_slicing,
        reason = "templates, processes and slots are numbered by this encoder as it makes them, and stay for the block"
    )]
    pub(crate) fn push(&mut self, process: u16, record: &[u8], head: &Head, place: &mut ProcessPosition) {
        let process = self.process_index(process, place);
        let mut template = Template {
            op: head.op,
            thread: head.thread,
            process,
            shape: 0,
            fd: head.fd,
            aux: head.aux,
            ret: head.ret,
            flags: 0,
        };
        self.classify(head, &mut template);
        let last = *self.last.of(&template);
        let predicted = self.predicted(last, &template, head, record);
        let id = predicted.unwrap_or_else(|| self.template_id(last, template, head, record));
        *self.last.of(&template) = id;
        self.ids.push(id);
        self.raw_bytes += record.len();

        let flags = self.templates[id as usize].template.flags;
        if flags & TIMED != 0 {
            let state = &mut self.processes[process as usize];
            let time_us = head.time / 1000;
            self.columns.time.put(time_us.wrapping_sub(state.time_us) as i64, &mut self.columns.wide);
            state.time_us = time_us;
            place.time_us = time_us;
        }
        match flags & RET_MASK {
            RET_COLUMN => self.columns.ret.put(head.ret, &mut self.columns.wide),
            RET_CLOCK => {
                let known = &self.templates[id as usize];
                let last = std::mem::replace(&mut self.slots[known.slot], head.ret);
                match known.template.ret {
                    1 => self.columns.fine.put(head.ret.wrapping_sub(last), &mut self.columns.wide),
                    unit => self.columns.coarse.put((head.ret - last) / unit, &mut self.columns.wide),
                }
            }
            _ => {}
        }
        if flags & AUX_MASK == AUX_COLUMN {
            varint::put(&mut self.columns.aux, u64::from(head.aux));
        }
        if flags & OPAQUE != 0 {
            varint::put(&mut self.columns.lengths, (record.len() - HEAD_BYTES) as u64);
            self.columns.other.extend_from_slice(record.get(HEAD_BYTES..).unwrap_or_default());
        } else if record.len() > HEAD_BYTES {
            self.push_parts(id, record);
        }
    }

    fn process_index(&mut self, id: u16, place: &ProcessPosition) -> u16 {
        // Nearly always the process of the record before, or one of a few.
        if let Some(index) = self.processes.iter().position(|process| process.id == id) {
            return index as u16;
        }
        self.processes.push(Process {
            id,
            first_order: place.order,
            base_time_us: place.time_us,
            time_us: place.time_us,
        });
        (self.processes.len() - 1) as u16
    }

    /// Decides by the call's class what goes into the template and what into columns.
    fn classify(&self, head: &Head, template: &mut Template) {
        let op = Op::from_number(head.op);
        let class = op.map(Op::class);
        let moved = matches!(class, Some(Class::Input | Class::Output | Class::Log)) && head.ret > 0;
        let timed = match class {
            Some(Class::Wait | Class::Output) => true,
            Some(Class::Input) => head.ret > 0,
            _ => false,
        };
        let mut flags = if timed { TIMED } else { 0 };
        if let Some(unit) = op.and_then(|op| clock_unit(op, head.ret)) {
            flags |= RET_CLOCK;
            template.ret = unit;
        } else if moved {
            flags |= RET_COLUMN;
            template.ret = 0;
        }
        if moved && i64::from(head.aux) == head.ret {
            flags |= AUX_RET;
            template.aux = 0;
        } else if class == Some(Class::Wait) && head.aux != 0 && head.aux != WAIT_FOREVER {
            flags |= AUX_COLUMN;
            template.aux = 0;
        }
        if self
            .templates_of
            .get(head.op as usize % TEMPLATE_COUNTS)
            .is_some_and(|&count| count >= MAX_TEMPLATES_PER_CALL)
        {
            if flags & RET_MASK == RET_CONST {
                flags |= RET_COLUMN;
                template.ret = 0;
            }
            if flags & AUX_MASK == 0 {
                flags |= AUX_COLUMN;
                template.aux = 0;
            }
        }
        template.flags = flags;
    }

    /// The template that last followed that of the thread's record before, if this record has it, too. `template`: without its shape.
    #[inline]
    fn predicted(&self, last: u16, template: &Template, head: &Head, record: &[u8]) -> Option<u16> {
        let guess = self.templates.get(usize::from(last))?.successor;
        let known = &self.templates.get(usize::from(guess))?.template;
        let is_it = *known == Template { shape: known.shape, ..*template };
        let shape = self.shapes.get(usize::from(known.shape)).filter(|_| is_it)?;
        let mut expected = shape.iter();
        let is_whole = walk_parts(record, template.flags, head.ret, |part| expected.next() == Some(&part));
        (is_whole && expected.next().is_none()).then_some(guess)
    }

    fn template_id(&mut self, last: u16, mut template: Template, head: &Head, record: &[u8]) -> u16 {
        let mut shape = std::mem::take(&mut self.shape);
        shape.clear();
        let is_whole = walk_parts(record, template.flags, head.ret, |part| {
            shape.push(part);
            shape.len() <= MAX_SHAPE_PARTS
        });
        if !is_whole {
            shape.clear();
            template.flags |= OPAQUE;
        }
        self.shape = shape;
        let known = self.shapes.iter().position(|shape| *shape == self.shape);
        template.shape = known.unwrap_or(self.shapes.len()) as u16;
        let id = match self.template_ids.get(&template) {
            Some(&id) => id,
            None => self.define(template, head, known.is_none()),
        };
        if let Some(last) = self.templates.get_mut(usize::from(last)) {
            last.successor = id;
        }
        id
    }

    fn define(&mut self, template: Template, head: &Head, new_shape: bool) -> u16 {
        let mut slot = 0;
        if template.flags & RET_MASK == RET_CLOCK {
            let clock = Clock::of(head, template.process, template.ret);
            slot = *self.slot_ids.entry(clock).or_insert_with(|| {
                self.slots.push(0);
                self.slots.len() - 1
            });
        }
        template.put(&mut self.columns.definitions, slot, new_shape.then_some(&self.shape));
        if new_shape {
            self.shapes.push(self.shape.clone());
        }
        let id = self.templates.len() as u16;
        self.templates.push(Known { template, slot, successor: 0 });
        self.template_ids.insert(template, id);
        self.templates_of.resize(TEMPLATE_COUNTS, 0);
        if let Some(count) = self.templates_of.get_mut(head.op as usize % TEMPLATE_COUNTS) {
            *count += 1;
        }
        id
    }

    #[expect(clippy::indexing_slicing, reason = "`id` is a template's, whose shape `split_parts` made of this record")]
    fn push_parts(&mut self, id: u16, record: &[u8]) {
        let shape = &self.shapes[self.templates[id as usize].template.shape as usize];
        let mut at = HEAD_BYTES;
        for &(kind, mode) in shape {
            let length = part_head(record, at).map_or(0, |(_, length)| length);
            let content = &record[at + PART_HEAD_BYTES..at + PART_HEAD_BYTES + length];
            at += part_size(length);
            if mode == Mode::Word {
                if let Some(&word) = self.word_ids.get(content) {
                    varint::put(&mut self.columns.words, u64::from(word) + 1);
                    continue;
                }
                varint::put(&mut self.columns.words, 0);
                varint::put_bytes(&mut self.columns.word_bytes, content);
                if self.word_ids.len() < MAX_WORDS {
                    self.word_ids.insert(content.into(), self.word_ids.len() as u16);
                }
                continue;
            }
            if mode == Mode::Length {
                varint::put(&mut self.columns.lengths, length as u64);
            }
            match PartKind::from_number(kind) {
                Some(PartKind::In) => self.columns.payload_in.extend_from_slice(content),
                Some(PartKind::Out) => self.columns.payload_out.extend_from_slice(content),
                _ => self.columns.other.extend_from_slice(content),
            }
        }
    }

    /// True when the block must end because a table is full.
    pub(crate) fn is_full(&self) -> bool {
        self.templates.len() + 1 >= MAX_TEMPLATES || self.shapes.len() + 1 >= MAX_SHAPES
    }

    /// Completes the columns; call [`Encoder::clear`] when they are written.
    pub(crate) fn finish(&mut self) -> [(u16, &[u8]); 18] {
        let columns = &mut self.columns;
        varint::put(&mut columns.meta, self.ids.len() as u64);
        varint::put(&mut columns.meta, self.raw_bytes as u64);
        varint::put(&mut columns.meta, self.processes.len() as u64);
        for process in &self.processes {
            varint::put(&mut columns.meta, u64::from(process.id));
            varint::put(&mut columns.meta, process.first_order);
            varint::put(&mut columns.meta, process.base_time_us);
        }
        put_heads(&mut columns.heads, &self.ids);
        columns.coarse.flush();
        [
            (META, &columns.meta),
            (HEADS, &columns.heads),
            (TEMPLATES, &columns.definitions),
            (FINE_LOW, &columns.fine.low),
            (FINE_HIGH, &columns.fine.high),
            (COARSE, &columns.coarse.tokens),
            (TIME_LOW, &columns.time.low),
            (TIME_HIGH, &columns.time.high),
            (RET_LOW, &columns.ret.low),
            (RET_HIGH, &columns.ret.high),
            (WIDE, &columns.wide),
            (AUX, &columns.aux),
            (LENGTHS, &columns.lengths),
            (WORDS, &columns.words),
            (WORD_BYTES, &columns.word_bytes),
            (PAYLOAD_IN, &columns.payload_in),
            (PAYLOAD_OUT, &columns.payload_out),
            (OTHER, &columns.other),
        ]
    }

    /// Forgets everything: the next block stands alone.
    pub(crate) fn clear(&mut self) {
        self.columns.clear();
        self.ids.clear();
        self.templates.clear();
        self.template_ids.clear();
        self.shapes.clear();
        self.word_ids.clear();
        self.slots.clear();
        self.slot_ids.clear();
        self.templates_of.clear();
        self.processes.clear();
        self.last = LastOfThreads::default();
        self.raw_bytes = 0;
    }
}

impl Columns {
    fn clear(&mut self) {
        for column in [
            &mut self.meta,
            &mut self.heads,
            &mut self.definitions,
            &mut self.fine.low,
            &mut self.fine.high,
            &mut self.coarse.tokens,
            &mut self.time.low,
            &mut self.time.high,
            &mut self.ret.low,
            &mut self.ret.high,
            &mut self.wide,
            &mut self.aux,
            &mut self.lengths,
            &mut self.words,
            &mut self.word_bytes,
            &mut self.payload_in,
            &mut self.payload_out,
            &mut self.other,
        ] {
            column.clear();
        }
        self.coarse.zeros = 0;
    }
}

const TEMPLATE_COUNTS: usize = 512;

impl Clock {
    fn of(head: &Head, process: u16, unit: i64) -> Clock {
        // Linux: 0 is CLOCK_REALTIME, 2 and 3 are the CPU time of the process and of the thread.
        let id = match Op::from_number(head.op) {
            Some(Op::ClockGettime) => head.aux,
            Some(Op::Clock) => 2,
            // Not nanoseconds.
            Some(Op::Rdtsc) => u32::MAX,
            _ => 0,
        };
        let owner = matches!(id, 2 | 3).then_some((process, head.thread));
        Clock { id, unit, owner }
    }
}

/// The unit in nanoseconds that the values of a clock are multiples of; `None` when it is no clock.
fn clock_unit(op: Op, value: i64) -> Option<i64> {
    let unit = match op {
        Op::ClockGettime | Op::TimespecGet | Op::Rdtsc => 1,
        Op::Gettimeofday | Op::Clock => 1000,
        Op::Time => 1_000_000_000,
        _ => return None,
    };
    // A failed call, or a value from elsewhere, is not on the grid: nanoseconds hold anything.
    Some(if value >= 0 && value % unit == 0 { unit } else { 1 })
}

/// Kind and length of the part at a place; `None` where there is none, or its padding is not zero.
fn part_head(record: &[u8], at: usize) -> Option<(u8, usize)> {
    match *record.get(at..)?.first_chunk::<PART_HEAD_BYTES>()? {
        [kind, 0, 0, 0, length @ ..] => Some((kind, u32::from_le_bytes(length) as usize)),
        _ => None,
    }
}

/// Shows kind and mode of each part of a record, until `each` says no. False then, and when decoding them could not give the same
/// bytes back. `flags`: of the record's template.
#[inline]
fn walk_parts(record: &[u8], flags: u8, ret: i64, mut each: impl FnMut((u8, Mode)) -> bool) -> bool {
    let by_ret = flags & RET_MASK == RET_COLUMN;
    let mut at = HEAD_BYTES;
    while at < record.len() {
        let Some((kind, length)) = part_head(record, at) else { return false };
        let Some(padding) = record.get(at + PART_HEAD_BYTES + length..at + part_size(length)) else { return false };
        if padding.iter().any(|&byte| byte != 0) {
            return false;
        }
        let payload = matches!(PartKind::from_number(kind), Some(PartKind::In | PartKind::Out));
        let mode = if by_ret && payload && length as i64 == ret {
            Mode::Ret
        } else if !payload && length <= MAX_WORD_BYTES {
            Mode::Word
        } else {
            Mode::Length
        };
        if !each((kind, mode)) {
            return false;
        }
        at += part_size(length);
    }
    true
}

/// Template numbers, with runs of short patterns: 0 says that the last `period` records repeat for
/// `count` more; any other number is a template plus one.
#[expect(
    clippy::indexing_slicing,
    reason = "`at` is below the length of the list, and no period is longer than what lies before"
)]
fn put_heads(out: &mut Vec<u8>, ids: &[u16]) {
    let runs = runs_from(ids);
    let mut at = 0;
    while at < ids.len() {
        let none = runs[at..].iter().position(|&periods| periods != 0).unwrap_or(ids.len() - at);
        for &id in &ids[at..at + none] {
            varint::put(out, u64::from(id) + 1);
        }
        at += none;
        let mut best = (0, 0);
        for period in (1..=MAX_PERIOD).filter(|period| runs.get(at).is_some_and(|runs| runs >> (period - 1) & 1 == 1)) {
            let run = ids[at..].iter().zip(&ids[at - period..]).take_while(|(new, old)| new == old).count();
            if run > best.0 {
                best = (run, period);
            }
        }
        let (run, period) = best;
        if run > 0 {
            out.push(0);
            varint::put(out, period as u64);
            varint::put(out, run as u64);
            at += run;
        }
    }
}

/// For each place, the periods with which a run begins there that is worth its bytes: bit 0 is period 1. Plain loops over
/// bytes, which the compiler makes vectors of.
#[expect(
    clippy::indexing_slicing,
    reason = "all places are below the length of the list, and so is its length less a step"
)]
fn runs_from(ids: &[u16]) -> Vec<u8> {
    let mut runs = vec![0; ids.len()];
    for period in 1..=MAX_PERIOD.min(ids.len()) {
        for ((runs, new), old) in runs[period..].iter_mut().zip(&ids[period..]).zip(ids) {
            *runs |= u8::from(new == old) << (period - 1);
        }
    }
    // What repeats at a place and at the next one does so for two, and so on. Runs below eight cost as much as they save.
    for step in [1, 2, 4] {
        let whole = ids.len().saturating_sub(step);
        for at in 0..whole {
            runs[at] &= runs[at + step];
        }
        runs[whole..].fill(0);
    }
    runs
}

/// Numbers as a low and a high byte in two columns: each compresses best beside its own kind.
#[derive(Debug, Default)]
struct Split {
    low: Vec<u8>,
    high: Vec<u8>,
}

impl Split {
    #[inline]
    fn put(&mut self, value: i64, wide: &mut Vec<u8>) {
        if (0..255 << 8).contains(&value) {
            self.low.push(value as u8);
            self.high.push((value >> 8) as u8);
        } else {
            self.high.push(255);
            varint::put_signed(wide, value);
        }
    }
}

/// Deltas of a coarse clock, mostly 0 or 1: a byte holds how many zeros come first, then one delta.
#[derive(Debug, Default)]
struct Coarse {
    tokens: Vec<u8>,
    zeros: u8,
}

impl Coarse {
    #[inline]
    fn put(&mut self, delta: i64, wide: &mut Vec<u8>) {
        if delta == 0 {
            self.zeros += 1;
            if self.zeros == 15 {
                self.flush();
            }
            return;
        }
        let nibble = if (1..15).contains(&delta) { delta as u8 } else { 15 };
        self.tokens.push(self.zeros << 4 | nibble);
        self.zeros = 0;
        if nibble == 15 {
            varint::put_signed(wide, delta);
        }
    }

    fn flush(&mut self) {
        if self.zeros > 0 {
            self.tokens.push(self.zeros << 4);
            self.zeros = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_those_of_eight_numbers_and_more() {
        // Short patterns with a break now and then, by a generator of its own.
        let mut state = 1u32;
        let mut next = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % below
        };
        for length in (0..40).chain([500, 1000]) {
            let mut ids: Vec<u16> = Vec::new();
            while ids.len() < length {
                let (period, count) = (next(9) as usize, next(30));
                for _ in 0..count {
                    let repeated = ids.len().checked_sub(period + 1).map(|at| ids[at]);
                    ids.push(repeated.filter(|_| next(12) > 0).unwrap_or(next(4) as u16));
                }
            }
            ids.truncate(length);
            let runs = runs_from(&ids);
            for at in 0..length {
                for period in 1..=MAX_PERIOD {
                    let begins =
                        at >= period && at + 8 <= length && ids[at..at + 8] == ids[at - period..at - period + 8];
                    assert_eq!(runs[at] >> (period - 1) & 1 == 1, begins, "period {period} at {at} of {ids:?}");
                }
            }
        }
    }
}
