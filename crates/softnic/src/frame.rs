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
    frame[..6].copy_from_slice(&to);
    frame[6..12].copy_from_slice(&[0x02, b'p', b'r', b'o', b'n', stream]);
    frame[12..14].copy_from_slice(&ETHERTYPE);
    frame[STREAM_AT] = stream;
    frame[STREAM_AT + 1] = VERSION;
    frame
}

/// Writes what differs from frame to frame.
#[inline]
pub(crate) fn stamp(frame: &mut [u8], stream: u8, sequence: u64, time_ns: u64) {
    let sum = checksum(stream, frame.len(), sequence, time_ns);
    frame[SEQUENCE_AT..SEQUENCE_AT + 8].copy_from_slice(&sequence.to_le_bytes());
    frame[TIME_AT..TIME_AT + 8].copy_from_slice(&time_ns.to_le_bytes());
    frame[CHECKSUM_AT..CHECKSUM_AT + 8].copy_from_slice(&sum.to_le_bytes());
}

/// The eight bytes at a place, as a number. `frame`: at least [`FRAME_BYTES_MIN`] bytes.
#[inline]
pub(crate) fn word(frame: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(frame[at..at + 8].try_into().expect("eight bytes"))
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
