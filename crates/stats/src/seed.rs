//! Random numbers that are the same for the same seed, in every version of prony.

/// SplitMix64 (Steele, Lea & Flood 2014): enough for signs, shuffles and resampling, not for secrets.
#[derive(Debug, Clone)]
pub struct Seed {
    state: u64,
}

impl Seed {
    /// Sequence of random numbers that `seed` determines.
    pub fn new(seed: u64) -> Seed {
        Seed { state: seed }
    }

    /// Number of 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A whole number from 0 to `limit` − 1; the bias, `limit`/2⁶⁴, is far below what any use here could show.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.bits()) * limit as u128) >> 64) as usize
    }

    /// Random boolean, true with probability 1/2.
    pub fn coin(&mut self) -> bool {
        self.bits() >> 63 == 1
    }
}
