//! The records of a ring, decoded: `enum perf_event_type` of include/uapi/linux/perf_event.h, for the samples
//! that `prony_machine::perf` requests.
#![deny(clippy::indexing_slicing)]

/// Record of the kernel's ring buffer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Record<'a> {
    /// Sample with a call stack.
    Sample(Sample<'a>),
    /// A file, or memory of another kind, was mapped to be executed.
    Map(Map<'a>),
    /// A thread has a name; `exec`: because its process became another program.
    Name { pid: i32, tid: i32, exec: bool, name: &'a [u8] },
    /// A thread was made; another process when the two differ.
    Fork { pid: i32, parent: i32 },
    /// A thread left the CPU, or came back.
    Switch { tid: i32, out: bool },
    /// Number of records that found no room in the ring buffer.
    Lost(u64),
    /// Nothing that is used here.
    Other,
}

/// A stack, as the kernel has seen it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sample<'a> {
    pub(crate) pid: i32,
    pub(crate) tid: i32,
    /// Instruction pointers, innermost first, with marks between the kernel's and the user's.
    pub(crate) chain: Words<'a>,
    /// Registers and stack bytes that unwinding starts from.
    pub(crate) user: Option<UserStack<'a>>,
}

/// Registers and a copy of the stack.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UserStack<'a> {
    /// The registers are those of a 32-bit program.
    pub(crate) is_32_bit: bool,
    /// Registers in the order of their numbers in the kernel.
    pub(crate) registers: Words<'a>,
    /// Bytes from the stack pointer upwards.
    pub(crate) bytes: &'a [u8],
}

/// Mapping of a file or of anonymous memory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Map<'a> {
    pub(crate) pid: i32,
    pub(crate) start: u64,
    pub(crate) length: u64,
    /// Start in the file, in bytes.
    pub(crate) offset: u64,
    pub(crate) identity: Identity<'a>,
    pub(crate) path: &'a [u8],
}

/// Identity of the mapped file, whatever is at its path by now.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Identity<'a> {
    BuildId(&'a [u8]),
    /// The number of its inode.
    Inode(u64),
}

/// Slice of bytes as words of eight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Words<'a>(&'a [u8]);

impl Words<'_> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("eight bytes")))
    }
}

const PERF_RECORD_LOST: u32 = 2;
const PERF_RECORD_COMM: u32 = 3;
const PERF_RECORD_FORK: u32 = 7;
const PERF_RECORD_SAMPLE: u32 = 9;
const PERF_RECORD_MMAP2: u32 = 10;
const PERF_RECORD_LOST_SAMPLES: u32 = 13;
const PERF_RECORD_SWITCH: u32 = 14;
const PERF_RECORD_SWITCH_CPU_WIDE: u32 = 15;

const MISC_COMM_EXEC: u16 = 1 << 13;
const MISC_SWITCH_OUT: u16 = 1 << 13;
const MISC_MMAP_BUILD_ID: u16 = 1 << 14;

/// Process and thread, time, CPU: `sample_id_all` puts them at the end of whatever is no sample.
const TRAILER_BYTES: usize = 24;

/// Time of a record, in nanoseconds of `CLOCK_MONOTONIC`; 0 for one that is too short to have it.
pub(crate) fn time_ns(record: &[u8]) -> u64 {
    let mut fields = Fields(record);
    let kind = fields.u32().unwrap_or(0);
    let at = if kind == PERF_RECORD_SAMPLE { 24 } else { record.len().saturating_sub(16) };
    Fields(record.get(at..).unwrap_or_default()).u64().unwrap_or(0)
}

/// Decodes a record; [`Record::Other`] for one that is shorter than it should be.
pub(crate) fn decode(record: &[u8]) -> Record<'_> {
    decoded(record).unwrap_or(Record::Other)
}

fn decoded(record: &[u8]) -> Option<Record<'_>> {
    let mut fields = Fields(record);
    let kind = fields.u32()?;
    let misc = fields.u16()?;
    fields.u16()?;
    if kind == PERF_RECORD_SAMPLE {
        return sample(fields).map(Record::Sample);
    }
    let (body, trailer) = fields.0.split_at_checked(fields.0.len().checked_sub(TRAILER_BYTES)?)?;
    let mut fields = Fields(body);
    Some(match kind {
        PERF_RECORD_MMAP2 => Record::Map(map(fields, misc)?),
        PERF_RECORD_COMM => {
            let (pid, tid) = (fields.i32()?, fields.i32()?);
            Record::Name { pid, tid, exec: misc & MISC_COMM_EXEC != 0, name: until_zero(fields.0) }
        }
        PERF_RECORD_FORK => Record::Fork { pid: fields.i32()?, parent: fields.i32()? },
        PERF_RECORD_SWITCH | PERF_RECORD_SWITCH_CPU_WIDE => {
            let mut trailer = Fields(trailer);
            trailer.i32()?;
            Record::Switch { tid: trailer.i32()?, out: misc & MISC_SWITCH_OUT != 0 }
        }
        PERF_RECORD_LOST => {
            fields.u64()?;
            Record::Lost(fields.u64()?)
        }
        PERF_RECORD_LOST_SAMPLES => Record::Lost(fields.u64()?),
        _ => Record::Other,
    })
}

fn sample(mut fields: Fields<'_>) -> Option<Sample<'_>> {
    let _instruction_pointer = fields.u64()?;
    let (pid, tid) = (fields.i32()?, fields.i32()?);
    let (_time, _cpu, _period) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let frames = usize::try_from(fields.u64()?).ok()?;
    let chain = Words(fields.bytes(frames.checked_mul(8)?)?);
    Some(Sample { pid, tid, chain, user: user_stack(fields) })
}

/// Registers are left out for a thread of the kernel, the stack where it could not be read.
fn user_stack(mut fields: Fields<'_>) -> Option<UserStack<'_>> {
    const PERF_SAMPLE_REGS_ABI_32: u64 = 1;
    const PERF_SAMPLE_REGS_ABI_64: u64 = 2;
    let is_32_bit = match fields.u64()? {
        // Of a 32-bit program on Arm there are other registers.
        PERF_SAMPLE_REGS_ABI_32 if cfg!(target_arch = "x86_64") => true,
        PERF_SAMPLE_REGS_ABI_64 => false,
        _ => return None,
    };
    let registers = if cfg!(target_arch = "aarch64") { 4 } else { 3 };
    let registers = Words(fields.bytes(registers * 8)?);
    let copied = usize::try_from(fields.u64()?).ok()?;
    let bytes = fields.bytes(copied)?;
    // How much of it is the stack follows only where there is one.
    let used = if copied > 0 { usize::try_from(fields.u64()?).ok()? } else { 0 };
    Some(UserStack { is_32_bit, registers, bytes: bytes.get(..used)? })
}

fn map(mut fields: Fields<'_>, misc: u16) -> Option<Map<'_>> {
    let (pid, _tid) = (fields.i32()?, fields.i32()?);
    let (start, length, offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let which = fields.bytes(24)?;
    let (_protection, _flags) = (fields.u32()?, fields.u32()?);
    let identity = match misc & MISC_MMAP_BUILD_ID {
        // One byte of length, three reserved, up to twenty bytes of build id.
        0 => Identity::Inode(Fields(which.get(8..)?).u64()?),
        _ => Identity::BuildId(which.get(4..)?.get(..usize::from(*which.first()?))?),
    };
    Some(Map { pid, start, length, offset, identity, path: until_zero(fields.0) })
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

/// Reads fields one after another.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_ne_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_ne_bytes)
    }

    fn i32(&mut self) -> Option<i32> {
        self.array().map(i32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_ne_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(misc.to_ne_bytes());
        bytes.extend((8 + body.len() as u16).to_ne_bytes());
        bytes.extend(body);
        bytes
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    /// Process 7, thread 9, at 1,234 ns, on CPU 1.
    const TRAILER: [u64; 3] = [7 | 9 << 32, 1234, 1];

    #[test]
    fn a_sample_has_its_chain_and_what_unwinding_starts_from() {
        let mut body = words(&[0x400, 7 | 9 << 32, 1234, 1, 1_000_000, 2, 0x400, 0x500]);
        let without = record(PERF_RECORD_SAMPLE, 0, &body);
        body.extend(words(&[2, 0x10, 0x20, 0x30, 16, 1, 2, 8]));
        let with = record(PERF_RECORD_SAMPLE, 0, &body);
        assert_eq!((time_ns(&without), time_ns(&with)), (1234, 1234));
        let Record::Sample(sample) = decode(&without) else { panic!() };
        assert_eq!((sample.pid, sample.tid, sample.user), (7, 9, None));
        let Record::Sample(sample) = decode(&with) else { panic!() };
        assert_eq!(sample.chain.iter().collect::<Vec<_>>(), [0x400, 0x500]);
        let user = sample.user.expect("a stack");
        assert_eq!(user.registers.iter().collect::<Vec<_>>(), [0x10, 0x20, 0x30]);
        assert_eq!(user.bytes, 1u64.to_ne_bytes());
    }

    #[test]
    fn a_mapping_says_which_file_it_meant() {
        let mut body = words(&[7 | 9 << 32, 0x1000, 0x2000, 0x3000]);
        let mut id = [0; 24];
        (id[0], id[4], id[5]) = (2, 0xab, 0xcd);
        body.extend(id);
        body.extend(words(&[0]));
        body.extend(b"/bin/x\0\0");
        body.extend(words(&TRAILER));
        let with_id = record(PERF_RECORD_MMAP2, MISC_MMAP_BUILD_ID, &body);
        let Record::Map(map) = decode(&with_id) else { panic!() };
        assert_eq!((map.pid, map.start, map.length, map.offset), (7, 0x1000, 0x2000, 0x3000));
        assert_eq!((map.identity, map.path), (Identity::BuildId(&[0xab, 0xcd]), &b"/bin/x"[..]));
        assert_eq!(time_ns(&with_id), 1234);
        let without_id = record(PERF_RECORD_MMAP2, 0, &body);
        let Record::Map(map) = decode(&without_id) else { panic!() };
        assert_eq!(map.identity, Identity::Inode(0));
    }

    #[test]
    fn a_switch_is_of_the_thread_in_its_trailer() {
        let out = record(PERF_RECORD_SWITCH, MISC_SWITCH_OUT, &words(&TRAILER));
        assert_eq!(decode(&out), Record::Switch { tid: 9, out: true });
        assert_eq!(decode(&record(PERF_RECORD_SWITCH, 0, &words(&TRAILER))), Record::Switch { tid: 9, out: false });
    }

    proptest! {
        #[test]
        fn no_bytes_are_read_past_their_end(kind in 0u32..22, misc: u16, body: Vec<u8>) {
            let record = record(kind, misc, &body);
            time_ns(&record);
            decode(&record);
            decode(&body);
        }
    }
}
