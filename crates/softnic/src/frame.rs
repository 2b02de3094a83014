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

/// A frame of the longest kind, without sequence number, time and checksum.
pub(crate) fn template(stream: u8, to: [u8; 6]) -> Box<[u8]> {
    let mut frame: Box<[u8]> = (0..FRAME_BYTES_MAX).map(|place| (place % 251) as u8).collect();
    put(&mut frame, 0, to);
    put(&mut frame, 6, [0x02, b'p', b'r', b'o', b'n', stream]);
    put(&mut frame, 12, ETHERTYPE);
    put(&mut frame, STREAM_AT, [stream, VERSION]);
    frame
}

/// Writes what differs from frame to frame.
#[inline]
pub(crate) fn stamp(frame: &mut [u8], stream: u8, sequence: u64, time_ns: u64) {
    let sum = checksum(stream, frame.len(), sequence, time_ns);
    put(frame, SEQUENCE_AT, sequence.to_le_bytes());
    put(frame, TIME_AT, time_ns.to_le_bytes());
    put(frame, CHECKSUM_AT, sum.to_le_bytes());
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
