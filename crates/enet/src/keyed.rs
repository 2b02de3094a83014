//! Numbers and hashes that are unpredictable without the seed.
//!
//! SipHash with one compression and three finalization rounds. Source: Aumasson & Bernstein 2012.

use core::hash::{BuildHasher, Hasher};

/// Sixteen bytes that must be unpredictable where the network is not trusted.
pub type Seed = [u8; 16];

/// Makes hashers that share a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keyed {
    low: u64,
    high: u64,
}

impl Keyed {
    pub fn new(seed: &Seed) -> Keyed {
        let number = u128::from_le_bytes(*seed);
        Keyed { low: number as u64, high: (number >> 64) as u64 }
    }
}

impl BuildHasher for Keyed {
    type Hasher = Sip;

    fn build_hasher(&self) -> Sip {
        Sip {
            words: [
                self.low ^ 0x736f_6d65_7073_6575,
                self.high ^ 0x646f_7261_6e64_6f6d,
                self.low ^ 0x6c79_6765_6e65_7261,
                self.high ^ 0x7465_6462_7974_6573,
            ],
            tail: 0,
            length: 0,
        }
    }
}

pub(crate) struct Sip {
    words: [u64; 4],
    tail: u64,
    length: u64,
}

impl Sip {
    #[inline]
    fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.words;
        a = a.wrapping_add(b);
        b = b.rotate_left(13) ^ a;
        a = a.rotate_left(32);
        c = c.wrapping_add(d);
        d = d.rotate_left(16) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(21) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        c = c.rotate_left(32);
        self.words = [a, b, c, d];
    }

    #[inline]
    fn compress(&mut self, word: u64) {
        self.words[3] ^= word;
        self.round();
        self.words[0] ^= word;
    }
}

impl Hasher for Sip {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.tail |= u64::from(byte) << (8 * (self.length % 8));
            self.length += 1;
            if self.length.is_multiple_of(8) {
                self.compress(self.tail);
                self.tail = 0;
            }
        }
    }

    /// A whole word at once, where the bytes so far are whole words.
    #[inline]
    fn write_u64(&mut self, word: u64) {
        if !self.length.is_multiple_of(8) {
            return self.write(&word.to_le_bytes());
        }
        self.length += 8;
        self.compress(word);
    }

    #[inline]
    fn finish(&self) -> u64 {
        let mut end = Sip { ..*self };
        end.compress(self.tail | self.length << 56);
        end.words[2] ^= 0xff;
        for _ in 0..3 {
            end.round();
        }
        end.words.iter().fold(0, |all, word| all ^ word)
    }
}

/// A row of numbers, each the hash of its place.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    key: Keyed,
    drawn: u64,
}

impl Random {
    pub fn new(seed: &Seed) -> Random {
        Random { key: Keyed::new(seed), drawn: 0 }
    }

    pub fn next(&mut self) -> u64 {
        self.drawn += 1;
        self.key.hash_one(self.drawn)
    }

    /// A number below `end`, which is at least 1. The bias is below 2^-32 × `end`.
    pub fn below(&mut self, end: u32) -> u32 {
        (((self.next() >> 32) * u64::from(end)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_and_bytes_hash_alike() {
        let key = Keyed::new(&core::array::from_fn(|at| at as u8));
        for words in 0..5u64 {
            let (mut by_bytes, mut by_words) = (key.build_hasher(), key.build_hasher());
            for word in 0..words {
                by_bytes.write(&word.to_le_bytes());
                by_words.write_u64(word);
            }
            assert_eq!(by_bytes.finish(), by_words.finish());
        }
    }

    /// Key and messages are those of the paper's appendix; the numbers come from a second implementation that was
    /// compared with the appendix with 2 and 4 rounds.
    #[test]
    fn the_hash_of_nothing_and_of_bytes_are_those_of_siphash_1_3() {
        let key = Keyed::new(&core::array::from_fn(|at| at as u8));
        let hash = |bytes: &[u8]| {
            let mut hasher = key.build_hasher();
            hasher.write(bytes);
            hasher.finish()
        };
        assert_eq!(hash(&[]), 0xabac_0158_050f_c4dc);
        assert_eq!(hash(&[0]), 0xc9f4_9bf3_7d57_ca93);
        assert_eq!(hash(&[0, 1, 2, 3, 4, 5, 6, 7]), 0x3690_9511_8d29_9a8e);
    }

    #[test]
    fn seeds_tell_rows_apart_and_numbers_stay_below_their_end() {
        let (mut a, mut b) = (Random::new(&[1; 16]), Random::new(&[2; 16]));
        assert_ne!(a.next(), b.next());
        assert!((0..1000).all(|_| a.below(7) < 7));
    }
}
