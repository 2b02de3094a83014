//! Layout of a block of records: the columns and the words of a template.
//!
//! A template is everything that records of one call site have in common. A record is the number
//! of its template and, in columns of their own, what differs.

use super::varint::{self, Input};

/// Counts, and where each process stands when the block begins.
pub(crate) const META: u16 = 1;
/// Numbers of templates, with runs.
pub(crate) const HEADS: u16 = 2;
/// Definitions of templates, in the order of their first use.
pub(crate) const TEMPLATES: u16 = 3;
/// Clock deltas in nanoseconds: low bytes, high bytes.
pub(crate) const FINE_LOW: u16 = 4;
pub(crate) const FINE_HIGH: u16 = 5;
/// Clock deltas in coarser units.
pub(crate) const COARSE: u16 = 6;
/// Time deltas in microseconds: low bytes, high bytes.
pub(crate) const TIME_LOW: u16 = 7;
pub(crate) const TIME_HIGH: u16 = 8;
/// Values that calls returned: low bytes, high bytes.
pub(crate) const RET_LOW: u16 = 9;
pub(crate) const RET_HIGH: u16 = 10;
/// Column of values that do not fit a pair of low and high byte.
pub(crate) const WIDE: u16 = 11;
/// Column of the values of `aux`.
pub(crate) const AUX: u16 = 12;
/// Lengths of parts and of opaque bodies.
pub(crate) const LENGTHS: u16 = 13;
/// Column of the numbers of dictionary entries.
pub(crate) const WORDS: u16 = 14;
/// New dictionary entries behind their lengths.
pub(crate) const WORD_BYTES: u16 = 15;
/// Payload that reached the server.
pub(crate) const PAYLOAD_IN: u16 = 16;
/// Payload that left the server.
pub(crate) const PAYLOAD_OUT: u16 = 17;
/// Column of all other bytes.
pub(crate) const OTHER: u16 = 18;

/// Most templates, shapes and dictionary entries of a block, so that an index fits `u16`.
pub(crate) const MAX_TEMPLATES: usize = 1 << 16;
pub(crate) const MAX_SHAPES: usize = 256;
pub(crate) const MAX_WORDS: usize = 4096;
/// Longest content that goes to the dictionary.
pub(crate) const MAX_WORD_BYTES: usize = 128;
/// Most parts that a shape lists; a record with more has an opaque body.
pub(crate) const MAX_SHAPE_PARTS: usize = 256;
/// Longest pattern that a run repeats.
pub(crate) const MAX_PERIOD: usize = 8;

/// `ret` stands in the template.
pub(crate) const RET_CONST: u8 = 0;
/// `ret` stands in its column.
pub(crate) const RET_COLUMN: u8 = 1;
/// Bit of a template: `ret` is a clock.
pub(crate) const RET_CLOCK: u8 = 2;
pub(crate) const RET_MASK: u8 = 3;
/// `aux` stands in its column.
pub(crate) const AUX_COLUMN: u8 = 1 << 2;
/// Bits of a template: `aux` equals `ret`.
pub(crate) const AUX_RET: u8 = 2 << 2;
pub(crate) const AUX_MASK: u8 = 3 << 2;
/// The record keeps its time.
pub(crate) const TIMED: u8 = 1 << 4;
/// The body is not made of well-formed parts and stands as it is.
pub(crate) const OPAQUE: u8 = 1 << 5;
pub(crate) const KNOWN_FLAGS: u8 = RET_MASK | AUX_MASK | TIMED | OPAQUE;

/// Length and storage of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mode {
    /// Length in its column, bytes in the column of the kind.
    Length = 0,
    /// As many bytes as `ret` says, in the column of the kind.
    Ret = 1,
    /// An entry of the dictionary.
    Word = 2,
}

impl Mode {
    pub(crate) const fn from_number(number: u8) -> Option<Mode> {
        match number {
            0 => Some(Mode::Length),
            1 => Some(Mode::Ret),
            2 => Some(Mode::Word),
            _ => None,
        }
    }
}

/// The parts of a record without their bytes.
pub(crate) type Shape = Vec<(u8, Mode)>;

/// Fields that the records of one call site have in common. Fields that a flag moves to a column are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Template {
    pub(crate) op: u16,
    pub(crate) thread: u16,
    /// Place of the process in the block's table of processes.
    pub(crate) process: u16,
    pub(crate) shape: u16,
    pub(crate) fd: i32,
    pub(crate) aux: u32,
    /// `ret`, or for a clock the unit of its deltas in nanoseconds.
    pub(crate) ret: i64,
    pub(crate) flags: u8,
}

impl Template {
    /// `slot`: which clock the deltas belong to. `new_shape`: the shape when it was not used before.
    pub(crate) fn put(&self, out: &mut Vec<u8>, slot: usize, new_shape: Option<&Shape>) {
        out.push(self.flags);
        varint::put(out, u64::from(self.process));
        varint::put(out, u64::from(self.op));
        varint::put(out, u64::from(self.thread));
        varint::put_signed(out, i64::from(self.fd));
        if self.flags & AUX_MASK == 0 {
            varint::put(out, u64::from(self.aux));
        }
        match self.flags & RET_MASK {
            RET_CONST => varint::put_signed(out, self.ret),
            RET_CLOCK => {
                varint::put(out, self.ret as u64);
                varint::put(out, slot as u64);
            }
            _ => {}
        }
        varint::put(out, u64::from(self.shape));
        if let Some(shape) = new_shape {
            varint::put(out, shape.len() as u64);
            for &(kind, mode) in shape {
                out.extend_from_slice(&[kind, mode as u8]);
            }
        }
    }

    /// The next template, its clock slot; a new shape is appended to `shapes`.
    pub(crate) fn take(input: &mut Input<'_>, shapes: &mut Vec<Shape>) -> Option<(Template, usize)> {
        let flags = input.byte()?;
        if flags & !KNOWN_FLAGS != 0 || flags & RET_MASK > RET_CLOCK || flags & AUX_MASK == AUX_MASK {
            return None;
        }
        let mut template = Template {
            flags,
            process: input.fitting()?,
            op: input.fitting()?,
            thread: input.fitting()?,
            fd: i32::try_from(input.signed()?).ok()?,
            aux: 0,
            ret: 0,
            shape: 0,
        };
        let mut slot = 0;
        if flags & AUX_MASK == 0 {
            template.aux = input.fitting()?;
        }
        match flags & RET_MASK {
            RET_CONST => template.ret = input.signed()?,
            RET_CLOCK => {
                template.ret = i64::try_from(input.number()?).ok()?;
                slot = input.fitting()?;
            }
            _ => {}
        }
        template.shape = input.fitting()?;
        if template.shape as usize == shapes.len() {
            let count: usize = input.fitting()?;
            let listed = input.bytes(count.checked_mul(2)?)?;
            let shape: Option<Shape> =
                listed.as_chunks().0.iter().map(|&[kind, mode]| Some((kind, Mode::from_number(mode)?))).collect();
            shapes.push(shape?);
        }
        (shapes.len() <= MAX_SHAPES && shapes.len() > template.shape as usize).then_some((template, slot))
    }
}
