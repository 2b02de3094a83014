//! First bytes of every packet; an answer repeats them.

#![deny(clippy::indexing_slicing)]

/// Bytes of a stamp, and of the shortest packet.
pub const STAMP_BYTES: usize = 16;

/// The first 16 bytes of a packet.
///
/// | bytes | field |
/// |---|---|
/// | 0 to 7 | intended time, nanoseconds of the sender's own clock, little-endian |
/// | 8 to 11 | number of the packet among those of its client, little-endian |
/// | 12 to 15 | bytes wanted in the answer, little-endian; 0: no answer |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Intended send time, in nanoseconds.
    pub intended_ns: u64,
    /// Sequence number within the client, from 0.
    pub number: u32,
    /// Bytes wanted in the answer, stamp included; 0 for none.
    pub reply_bytes: u32,
}

impl Stamp {
    /// A packet of `bytes`, at least [`STAMP_BYTES`]; what follows the stamp is zero.
    pub fn packet(self, bytes: usize) -> Vec<u8> {
        let mut packet = vec![0; bytes.max(STAMP_BYTES)];
        self.write(&mut packet);
        packet
    }

    /// Writes the stamp to the first bytes of `packet`; one that is too short is left as it is.
    pub fn write(self, packet: &mut [u8]) {
        let Some(stamp) = packet.first_chunk_mut::<STAMP_BYTES>() else { return };
        let fields = u128::from(self.intended_ns) | u128::from(self.number) << 64 | u128::from(self.reply_bytes) << 96;
        *stamp = fields.to_le_bytes();
    }

    /// The stamp of a packet; `None` if it is too short for one.
    pub fn read(packet: &[u8]) -> Option<Stamp> {
        let (intended, rest) = packet.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (reply, _) = rest.split_first_chunk()?;
        Some(Stamp {
            intended_ns: u64::from_le_bytes(*intended),
            number: u32::from_le_bytes(*number),
            reply_bytes: u32::from_le_bytes(*reply),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_brings_the_stamp_back() {
        let stamp = Stamp { intended_ns: 0x0102_0304_0506_0708, number: 77, reply_bytes: 4096 };
        let packet = stamp.packet(40);
        assert_eq!(packet.len(), 40);
        assert_eq!(Stamp::read(&packet), Some(stamp));
        assert_eq!(Stamp::read(&packet[..STAMP_BYTES]), Some(stamp));
        assert_eq!(Stamp::read(&packet[..STAMP_BYTES - 1]), None);
        assert_eq!(stamp.packet(3).len(), STAMP_BYTES);
        let mut used = vec![9; 20];
        stamp.write(&mut used);
        assert_eq!((Stamp::read(&used), &used[STAMP_BYTES..]), (Some(stamp), &[9; 4][..]));
        let mut short = [9; STAMP_BYTES - 1];
        stamp.write(&mut short);
        assert_eq!(short, [9; STAMP_BYTES - 1]);
    }
}
