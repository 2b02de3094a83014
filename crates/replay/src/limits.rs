//! What a demo may take of this machine before anything of it runs.

/// A few bytes of a demo may stand for gigabytes. What it states is compared with these before anything is laid out, and
/// what it has, with both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the records laid out in memory.
    pub memory_bytes: u64,
    /// Bytes of the state archives, and one entry for every 1,024 of them.
    pub state_bytes: u64,
}

impl Limits {
    /// Files, directories and links of all archives together.
    pub fn state_entries(&self) -> u64 {
        self.state_bytes / 1024
    }
}

impl Default for Limits {
    /// 1 GiB of either.
    fn default() -> Limits {
        Limits { memory_bytes: 1 << 30, state_bytes: 1 << 30 }
    }
}
