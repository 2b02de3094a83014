//! Record of a call in memory: written by the recorder into its ring, walked over by a replay, and stored by the demo
//! file in a denser form.
//!
//! ```text
//! 0      4    6    8         16        24         32        36        40
//! +------+----+----+---------+---------+----------+---------+---------+---------+
//! | size | op |thr | order   | time    | ret      | fd      | aux     | parts … |
//! +------+----+----+---------+---------+----------+---------+---------+---------+
//!
//! part:  0      1     4        8
//!        +------+-----+--------+-----------------------------+
//!        | kind | 0   | length | bytes, padded to 8 with 0   |
//!        +------+-----+--------+-----------------------------+
//! ```
//!
//! All integers are little-endian; `size` counts the whole record and is a multiple of 8.

/// Bytes of a record before its parts.
pub const HEAD_BYTES: usize = 40;
/// Bytes of a part before its content.
pub const PART_HEAD_BYTES: usize = 8;

/// The fixed part of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Head {
    /// Bytes of the whole record, this head included; a multiple of 8, at least [`HEAD_BYTES`].
    pub size: u32,
    /// Number of the call, see [`crate::Op`].
    pub op: u16,
    /// Thread within the process in order of creation; 0 is the one that ran `main`.
    pub thread: u16,
    /// Place of the call among all calls of its process.
    pub order: u64,
    /// Time of the return, in nanoseconds since the recording started. Files keep it only for waits and for calls that
    /// moved bytes, rounded down to microseconds; any other record has the time of the one before it. (In the
    /// recorder's ring: ticks of the time-stamp counter.)
    pub time: u64,
    /// Result of the call: its value, or the negated `errno`. Clocks: nanoseconds.
    pub ret: i64,
    /// The descriptor the call was about, or -1.
    pub fd: i32,
    /// Argument of the call, depending on its class. Waits: the timeout in milliseconds rounded up, [`WAIT_FOREVER`]
    /// for none. `clock_gettime`: the clock's ID. Bytes in and out: the size that the server requested. `fcntl`: the
    /// command. `ioctl`: the request. Others: see `preload`.
    pub aux: u32,
}

/// The timeout of a wait that has none.
pub const WAIT_FOREVER: u32 = u32::MAX;

/// Bits of the events of `epoll` in a [`PartKind::Ready`] that no kernel sets: how often the descriptor was added to the instance
/// after the registration that the event belongs to. Above 0 that registration is gone, and the data is that which it had.
pub const READY_AGE: u32 = 0b11 << READY_AGE_SHIFT;

/// Place of the lowest bit of [`READY_AGE`].
pub const READY_AGE_SHIFT: u32 = 16;

/// `ret` of the creation of a thread: from here on, acquisitions of this process that need no wait have no record. Those
/// that have one begin with [`Op::AcquireStart`](crate::Op::AcquireStart), whose `ret` is the number of acquisitions that
/// the thread made without since its last call that [restarts the count](crate::Op::restarts_count).
pub const WAITS_ONLY: i64 = 1;

/// Most bytes of names that the record of a listing has.
pub const LISTED_NAMES: usize = 4096;

impl Head {
    /// The head as it stands in memory and in files.
    pub fn to_bytes(&self) -> [u8; HEAD_BYTES] {
        let mut out = [0; HEAD_BYTES];
        out[0..4].copy_from_slice(&self.size.to_le_bytes());
        out[4..6].copy_from_slice(&self.op.to_le_bytes());
        out[6..8].copy_from_slice(&self.thread.to_le_bytes());
        out[8..16].copy_from_slice(&self.order.to_le_bytes());
        out[16..24].copy_from_slice(&self.time.to_le_bytes());
        out[24..32].copy_from_slice(&self.ret.to_le_bytes());
        out[32..36].copy_from_slice(&self.fd.to_le_bytes());
        out[36..40].copy_from_slice(&self.aux.to_le_bytes());
        out
    }

    /// Reads a head; `None` under [`HEAD_BYTES`] bytes or when `size` cannot be.
    pub fn from_bytes(bytes: &[u8]) -> Option<Head> {
        let bytes: &[u8; HEAD_BYTES] = bytes.get(..HEAD_BYTES)?.try_into().ok()?;
        let head = Head {
            size: u32::from_le_bytes(bytes[0..4].try_into().ok()?),
            op: u16::from_le_bytes(bytes[4..6].try_into().ok()?),
            thread: u16::from_le_bytes(bytes[6..8].try_into().ok()?),
            order: u64::from_le_bytes(bytes[8..16].try_into().ok()?),
            time: u64::from_le_bytes(bytes[16..24].try_into().ok()?),
            ret: i64::from_le_bytes(bytes[24..32].try_into().ok()?),
            fd: i32::from_le_bytes(bytes[32..36].try_into().ok()?),
            aux: u32::from_le_bytes(bytes[36..40].try_into().ok()?),
        };
        (head.size as usize >= HEAD_BYTES && head.size.is_multiple_of(8)).then_some(head)
    }
}

/// Kind of the bytes of a part. The number is part of the demo file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PartKind {
    /// Payload that reached the server.
    In = 1,
    /// Payload that left the server; what a replay compares.
    Out = 2,
    /// A `sockaddr` as the kernel lays it out. `bind`, `connect` and `accept` carry two: the
    /// argument or the peer, then the local address the kernel chose.
    Addr = 3,
    /// Ancillary data (`cmsghdr` and content).
    Control = 4,
    /// Ready descriptors of a wait: `fd: i32, events: u32` each. For `epoll`, [`READY_AGE`] in `events` counts additions.
    Ready = 5,
    /// Other result bytes, in the C layout of the call.
    Value = 6,
    /// A path or name, without a terminating zero.
    Path = 7,
    /// Opens one message of `recvmmsg`/`sendmmsg`: `length: u32, flags: u32`; its `Addr`,
    /// `Control` and payload parts follow.
    Message = 8,
}

impl PartKind {
    /// The kind with this number, if this version knows it.
    pub const fn from_number(number: u8) -> Option<PartKind> {
        Some(match number {
            1 => PartKind::In,
            2 => PartKind::Out,
            3 => PartKind::Addr,
            4 => PartKind::Control,
            5 => PartKind::Ready,
            6 => PartKind::Value,
            7 => PartKind::Path,
            8 => PartKind::Message,
            _ => return None,
        })
    }
}

/// Part of a record: its kind's number and its bytes without padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// Number of the kind, see [`PartKind::from_number`].
    pub kind: u8,
    /// Start of the content, in bytes from the record's first byte.
    pub offset: usize,
    /// Content of the part, without its padding.
    pub bytes: &'a [u8],
}

/// Bytes that a part with `length` bytes of content takes, head and padding included.
pub const fn part_size(length: usize) -> usize {
    PART_HEAD_BYTES + length.next_multiple_of(8)
}

/// Walks over the parts of one record; stops early where the bytes do not add up.
#[derive(Debug, Clone)]
pub struct Parts<'a> {
    record: &'a [u8],
    at: usize,
}

impl<'a> Parts<'a> {
    /// `record`: a whole record, head included.
    pub fn new(record: &'a [u8]) -> Parts<'a> {
        Parts { record, at: HEAD_BYTES }
    }

    /// The bytes of the first part of this kind.
    pub fn first(record: &'a [u8], kind: PartKind) -> Option<&'a [u8]> {
        Parts::new(record).find(|part| part.kind == kind as u8).map(|part| part.bytes)
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        let head: &[u8; PART_HEAD_BYTES] = self.record.get(self.at..)?.first_chunk()?;
        let [kind, _, _, _, length @ ..] = *head;
        let length = u32::from_le_bytes(length) as usize;
        let offset = self.at + PART_HEAD_BYTES;
        let bytes = self.record.get(offset..offset.checked_add(length)?)?;
        self.at += part_size(length);
        Some(Part { kind, offset, bytes })
    }
}

/// Text of a note's record; `None` for other records.
#[cfg(feature = "file")]
pub fn note_text(record: &[u8]) -> Option<String> {
    Some(String::from_utf8_lossy(Parts::first(record, PartKind::Path)?).into_owned())
}

/// The little-endian word at a place.
#[cfg(feature = "file")]
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word))
}

/// A whole record that owns its bytes, for tools that build or edit records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The fixed part; `size` always equals the bytes of head and parts.
    pub head: Head,
    bytes: Vec<u8>,
}

impl Record {
    /// Record without parts. `head.size` is set here.
    pub fn new(mut head: Head) -> Record {
        head.size = HEAD_BYTES as u32;
        Record { head, bytes: head.to_bytes().to_vec() }
    }

    /// Adds a part at the end.
    pub fn with_part(mut self, kind: PartKind, content: &[u8]) -> Record {
        self.bytes.extend_from_slice(&[kind as u8, 0, 0, 0]);
        self.bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
        self.bytes.extend_from_slice(content);
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.head.size = self.bytes.len() as u32;
        if let Some(size) = self.bytes.first_chunk_mut() {
            *size = self.head.size.to_le_bytes();
        }
        self
    }

    /// The record as it stands in memory.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Op;

    #[test]
    fn parts_come_back_as_they_were_put_in() {
        let head = Head { size: 0, op: Op::Recvfrom as u16, thread: 0, order: 7, time: 9, ret: 5, fd: 3, aux: 1400 };
        let record = Record::new(head).with_part(PartKind::Addr, &[2; 16]).with_part(PartKind::In, b"hello");
        assert_eq!(Head::from_bytes(record.as_bytes()), Some(record.head));
        let parts: Vec<_> = Parts::new(record.as_bytes()).map(|part| (part.kind, part.bytes.to_vec())).collect();
        assert_eq!(parts, [(3, vec![2; 16]), (1, b"hello".to_vec())]);
    }

    #[test]
    fn a_part_longer_than_its_record_ends_the_walk() {
        let head = Head { size: 0, op: 1, thread: 0, order: 0, time: 0, ret: 0, fd: -1, aux: 0 };
        let mut bytes = Record::new(head).with_part(PartKind::In, b"hello").as_bytes().to_vec();
        bytes[HEAD_BYTES + 4] = 200;
        assert_eq!(Parts::new(&bytes).count(), 0);
    }
}
