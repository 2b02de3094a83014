//! What a conversation says next: random numbers in a test, the bytes of a fuzzer in `fuzz/`.

/// Where choices come from.
pub trait Source {
    /// A byte; `None` when the conversation is over.
    fn byte(&mut self) -> Option<u8>;

    /// A number of N bytes; missing ones are 0.
    fn number(&mut self, bytes: usize) -> u64 {
        (0..bytes).fold(0, |number, _| number << 8 | u64::from(self.byte().unwrap_or(0)))
    }

    /// A number below a limit.
    fn below(&mut self, limit: u64) -> u64 {
        let bytes = match limit {
            0..=0x100 => 1,
            0x101..=0x1_0000 => 2,
            _ => 8,
        };
        self.number(bytes) % limit.max(1)
    }

    /// True once in `times`.
    fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    fn any_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }

    /// A number near another one: itself, some steps from it, or a power of two from it.
    fn near(&mut self, value: u64, step: u64) -> u64 {
        match self.below(8) {
            0..=2 => value,
            3..=5 => value.wrapping_add(step.wrapping_mul(self.below(5))).wrapping_sub(step.wrapping_mul(2)),
            6 => value.wrapping_add(1 << self.below(17)),
            _ => value.wrapping_sub(1 << self.below(17)),
        }
    }
}

/// Steele, Lea and Flood 2014, SplitMix64: never over.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

impl Source for Random {
    fn byte(&mut self) -> Option<u8> {
        Some((self.next() >> 56) as u8)
    }
}
