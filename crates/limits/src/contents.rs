//! Contents of the memory that kernels load, store and copy.
//!
//! Some memory systems take zeros for less than other bytes: an EPYC with Zen 5 cores, behind a hypervisor, takes non-temporal stores
//! of zeros more than twice as fast as those of any other value (`prony limits contents` measures it). A real copy reaches no limit of
//! zeros, so that every kernel that loads, stores or copies works on [`Contents::Noise`]; zeros are cases of their own.

use prony_stats::Seed;

/// The bytes of an area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// Numbers that nothing can pack: no line is like another.
    Noise,
    /// Single value other than zero, repeated.
    OneValue,
    /// Every byte is zero.
    Zeros,
}

/// The byte of [`Contents::OneValue`]: half of its bits are set.
const VALUE: u8 = 0x5a;

impl Contents {
    /// All, the usual one first.
    pub const ALL: [Contents; 3] = [Contents::Noise, Contents::OneValue, Contents::Zeros];

    /// Word for names of cases and tables.
    pub fn word(self) -> &'static str {
        match self {
            Contents::Noise => "noise",
            Contents::OneValue => "one value",
            Contents::Zeros => "zeros",
        }
    }

    /// Fills memory with this content. The first byte of noise is not zero either: `rep stosb` stores nothing but the
    /// first byte.
    pub fn fill(self, bytes: &mut [u8], seed: &mut Seed) {
        match self {
            Contents::Zeros => bytes.fill(0),
            Contents::OneValue => bytes.fill(VALUE),
            Contents::Noise => {
                // xorshift64 (Marsaglia 2003): a gigabyte in a fraction of a second, as good as any for this.
                let mut state = seed.bits() | 1;
                let mut next = || {
                    state ^= state << 13;
                    state ^= state >> 7;
                    state ^= state << 17;
                    state.to_ne_bytes()
                };
                let mut words = bytes.chunks_exact_mut(8);
                words.by_ref().for_each(|word| word.copy_from_slice(&next()));
                let rest = words.into_remainder();
                let length = rest.len();
                rest.copy_from_slice(&next()[..length]);
                if let Some(first) = bytes.first_mut() {
                    *first |= 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_line_of_noise_is_like_another_and_none_is_zero() {
        let mut bytes = vec![0; 64 * 1000 + 5];
        Contents::Noise.fill(&mut bytes, &mut Seed::new(3));
        let lines: HashSet<&[u8]> = bytes.chunks(64).collect();
        assert_eq!(lines.len(), 1001);
        assert!(bytes.chunks_exact(8).all(|word| word != [0; 8]));
        assert_ne!(bytes[0], 0);
        assert!(!bytes[64 * 1000..].iter().all(|&byte| byte == 0), "the rest of a word is filled too");
    }

    #[test]
    fn one_value_is_not_zero_and_zeros_are() {
        let mut bytes = vec![1; 9];
        Contents::Zeros.fill(&mut bytes, &mut Seed::new(3));
        assert_eq!(bytes, [0; 9]);
        Contents::OneValue.fill(&mut bytes, &mut Seed::new(3));
        assert_eq!(bytes, [VALUE; 9]);
        Contents::Noise.fill(&mut [], &mut Seed::new(3));
    }
}
