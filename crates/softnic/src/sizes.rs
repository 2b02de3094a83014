//! Sizes of generated frames.

use std::fmt;
use std::str::FromStr;

use crate::frame::FRAME_BYTES_MIN;

/// The longest frame of a driver with buffers of 2 KiB: 1,500 bytes behind an Ethernet header and a VLAN tag.
const BYTES_MAX: usize = 1518;

/// Simple IMIX: 7 : 4 : 1 frames of 64, 594 and 1,518 bytes with their frame check sequence (Spirent, "Test methodology journal:
/// IMIX", 2006).
const IMIX: [usize; 12] = [60, 60, 590, 60, 60, 590, 60, 1514, 60, 590, 60, 590];

/// Sizes of frames in bytes, without the frame check sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sizes {
    /// All frames have this size, in bytes.
    Fixed(usize),
    /// Each size of a range equally likely.
    Range {
        /// Smallest size of a frame, in bytes.
        low: usize,
        /// Largest size of a frame, in bytes.
        high: usize,
        /// State of the random numbers.
        state: u64,
    },
    /// The mix of the Internet's sizes.
    Imix {
        /// Frames so far, modulo the length of the mix.
        place: usize,
    },
}

/// A text that describes no sizes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a frame size from {FRAME_BYTES_MIN} to {BYTES_MAX} bytes, a range such as 64..1518, or imix")]
pub struct SizesError;

impl Sizes {
    #[inline]
    pub(crate) fn next_bytes(&mut self) -> usize {
        match self {
            Sizes::Fixed(bytes) => *bytes,
            Sizes::Range { low, high, state } => {
                // Marsaglia 2003, "Xorshift RNGs", 64 bits.
                *state ^= *state << 13;
                *state ^= *state >> 7;
                *state ^= *state << 17;
                // Lemire 2019: a multiplication in place of a division.
                let span = (*high - *low + 1) as u64;
                *low + ((u128::from(*state) * u128::from(span)) >> 64) as usize
            }
            Sizes::Imix { place } => {
                // The place is public: one outside of the mix is its beginning.
                let bytes = IMIX.get(*place).copied().unwrap_or(FRAME_BYTES_MIN);
                *place = place.wrapping_add(1) % IMIX.len();
                bytes
            }
        }
    }
}

impl FromStr for Sizes {
    type Err = SizesError;

    fn from_str(text: &str) -> Result<Sizes, SizesError> {
        let bytes = |text: &str| {
            text.parse().ok().filter(|bytes| (FRAME_BYTES_MIN..=BYTES_MAX).contains(bytes)).ok_or(SizesError)
        };
        if text == "imix" {
            return Ok(Sizes::Imix { place: 0 });
        }
        match text.split_once("..") {
            None => bytes(text).map(Sizes::Fixed),
            Some((low, high)) => {
                let (low, high) = (bytes(low)?, bytes(high)?);
                (low <= high).then_some(Sizes::Range { low, high, state: 0x9e37_79b9_7f4a_7c15 }).ok_or(SizesError)
            }
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sizes::Fixed(bytes) => write!(f, "{bytes}"),
            Sizes::Range { low, high, .. } => write!(f, "{low}..{high}"),
            Sizes::Imix { .. } => f.write_str("imix"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_used_from_end_to_end_and_nowhere_else() {
        let mut sizes: Sizes = "64..67".parse().expect("a range");
        let mut seen = [0; 4];
        for _ in 0..4000 {
            seen[sizes.next_bytes() - 64] += 1;
        }
        assert!(seen.iter().all(|&number| (900..1100).contains(&number)), "{seen:?}");
    }

    #[test]
    fn imix_is_seven_to_four_to_one() {
        let mut sizes: Sizes = "imix".parse().expect("a mix");
        let drawn: Vec<usize> = (0..24).map(|_| sizes.next_bytes()).collect();
        let number = |bytes: usize| drawn.iter().filter(|&&drawn| drawn == bytes).count();
        assert_eq!((number(60), number(590), number(1514)), (14, 8, 2));
    }

    #[test]
    fn what_describes_no_sizes_is_refused() {
        for wrong in ["", "59", "1519", "x", "60..", "..60", "80..70", "-1", "60..2000", "IMIX"] {
            assert_eq!(wrong.parse::<Sizes>(), Err(SizesError), "{wrong}");
        }
        for text in ["60", "64..1518", "imix"] {
            assert_eq!(text.parse::<Sizes>().map(|sizes| sizes.to_string()), Ok(text.to_owned()));
        }
    }
}
