//! The frames of the generator: what each byte holds, and the checksum that proves it.
//!
//! | bytes | content |
//! |---|---|
//! | 0–5 | destination: the address of the port |
//! | 6–11 | source: locally administered, the last byte is the stream |
//! | 12–13 | [`ETHERTYPE`] |
//! | 14 | stream: number of the port that it enters |
//! | 15 | 1, the version of this layout |
//! | 16–23 | sequence number |
//! | 24–31 | time of generation in nanoseconds |
//! | 32–39 | checksum over stream, length, sequence number and time |
//! | 40– | byte *n* holds *n* mod 251 |
//!
//! Numbers are little-endian. A driver may add 1 to one byte, to show that it touched the frame.
//!
//! As packets of flows, frames have the headers of IPv4 and UDP (RFC 791, RFC 768) between byte 13 and what else stands from byte
//! 14 on, which is [`HEADER_BYTES`] further behind then. Frames take turns in the flows, by their sequence number.

/// IEEE 802: a local experimental type.
pub const ETHERTYPE: [u8; 2] = [0x88, 0xb5];
/// The shortest frame, without its frame check sequence.
pub const FRAME_BYTES_MIN: usize = 60;
/// The longest frame that the device sends or takes, without its frame check sequence (datasheet 1.1: 15.5 KB).
pub const FRAME_BYTES_MAX: usize = 15_872;

pub(crate) const STREAM_AT: usize = 14;
pub(crate) const SEQUENCE_AT: usize = 16;
pub(crate) const TIME_AT: usize = 24;
pub(crate) const CHECKSUM_AT: usize = 32;
pub(crate) const FILL_AT: usize = 40;
const VERSION: u8 = 1;
/// Place of the header of IPv4, and bytes of both headers.
pub(crate) const HEADER_AT: usize = 14;
pub(crate) const HEADER_BYTES: usize = 28;
/// Flows of a stream at most.
pub const FLOWS_MAX: u16 = 256;
/// The shortest frame of a flow, without its frame check sequence.
pub const FLOW_BYTES_MIN: usize = FILL_AT + HEADER_BYTES + 4;
const TYPE_AT: usize = 12;
const IPV4: [u8; 2] = [0x08, 0x00];
const UDP: u8 = 17;
/// Of each flow: its first source port.
const PORT_FIRST: u16 = 1024;

/// Place of the byte that names the stream of a frame.
#[inline]
pub fn stream_at(flows: u16) -> usize {
    if flows == 0 { STREAM_AT } else { STREAM_AT + HEADER_BYTES }
}

/// The flow that a frame is of; 0 without flows.
#[inline]
pub(crate) fn flow(flows: u16, sequence: u64) -> u16 {
    sequence.checked_rem(flows.into()).unwrap_or(0) as u16
}

/// IPv4 and UDP headers of a frame that is `bytes` long. Flows differ in the source's address and port. UDP's checksum is left
/// out, as it may be.
#[inline]
pub(crate) fn header(stream: u8, flow: u16, bytes: usize) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    let total = (bytes - HEADER_AT) as u16;
    put(&mut header, 0, [0x45, 0]);
    put(&mut header, 2, total.to_be_bytes());
    // Do not fragment; 64 hops.
    put(&mut header, 6, [0x40, 0, 64, UDP]);
    let [high, low] = flow.to_be_bytes();
    put(&mut header, 12, [10, stream, high, low]);
    put(&mut header, 16, [10, 255, 0, 1]);
    let (words, _) = header.as_chunks::<2>();
    let sum: u32 = words.iter().map(|&word| u32::from(u16::from_be_bytes(word))).sum();
    // Ten words carry less than one that is folded once.
    let folded = (sum & 0xffff) + (sum >> 16);
    put(&mut header, 10, (!(folded as u16 + (folded >> 16) as u16)).to_be_bytes());
    put(&mut header, 20, (PORT_FIRST + flow).to_be_bytes());
    put(&mut header, 22, 4433u16.to_be_bytes());
    put(&mut header, 24, (total - 20).to_be_bytes());
    header
}

/// A frame of the longest kind, without sequence number, time and checksum; with flows, without the headers of their packets, too.
pub(crate) fn template(stream: u8, to: [u8; 6], flows: u16) -> Box<[u8]> {
    let mut frame: Box<[u8]> = (0..FRAME_BYTES_MAX).map(|place| (place % 251) as u8).collect();
    put(&mut frame, 0, to);
    put(&mut frame, 6, [0x02, b'p', b'r', b'o', b'n', stream]);
    put(&mut frame, TYPE_AT, if flows == 0 { ETHERTYPE } else { IPV4 });
    if flows > 0 {
        put(&mut frame, HEADER_AT, header(stream, 0, FLOW_BYTES_MIN));
    }
    put(&mut frame, stream_at(flows), [stream, VERSION]);
    frame
}

/// Writes what differs from frame to frame, of which `SHIFT` bytes of headers are another matter.
#[inline]
pub(crate) fn stamp<const SHIFT: usize>(frame: &mut [u8], stream: u8, sequence: u64, time_ns: u64) {
    let sum = checksum(stream, frame.len(), sequence, time_ns);
    put(frame, SEQUENCE_AT + SHIFT, sequence.to_le_bytes());
    put(frame, TIME_AT + SHIFT, time_ns.to_le_bytes());
    put(frame, CHECKSUM_AT + SHIFT, sum.to_le_bytes());
}

/// The same of a packet of a flow, with its headers.
pub(crate) fn stamp_packet(frame: &mut [u8], stream: u8, flows: u16, sequence: u64, time_ns: u64) {
    put(frame, HEADER_AT, header(stream, flow(flows, sequence), frame.len()));
    stamp::<HEADER_BYTES>(frame, stream, sequence, time_ns);
}

/// Writes bytes at a place, if the frame has all of them.
#[inline]
fn put<const N: usize>(frame: &mut [u8], at: usize, bytes: [u8; N]) {
    if let Some(place) = frame.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = bytes;
    }
}

/// The eight bytes at a place, as a number; 0 if the frame has not all of them.
#[inline]
pub(crate) fn word(frame: &[u8], at: usize) -> u64 {
    frame.get(at..).and_then(<[u8]>::first_chunk).copied().map_or(0, u64::from_le_bytes)
}

/// Mixes by a multiplication of which both halves count, as wyhash does (Wang Yi): every bit of the input changes about half of
/// the bits. The constants are the first two of its.
#[inline]
pub(crate) fn checksum(stream: u8, bytes: usize, sequence: u64, time_ns: u64) -> u64 {
    let first = sequence ^ u64::from(stream) << 56 ^ 0xa076_1d64_78bd_642f;
    let second = time_ns ^ (bytes as u64) << 48 ^ 0xe703_7ed1_a0b4_28db;
    let product = u128::from(first) * u128::from(second);
    product as u64 ^ (product >> 64) as u64
}
