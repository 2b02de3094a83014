//! Limits on the resources that a demo may use, checked before anything of it runs.

/// A few bytes of a demo may stand for gigabytes. What it states is compared with these before anything is laid out, and
/// what it has, with both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory that a replay takes for the records, about: those of a demo that fit in half of it are laid out
    /// whole, others a window at a time.
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
    /// 512 MiB of memory, 1 GiB of state.
    fn default() -> Limits {
        Limits { memory_bytes: 512 << 20, state_bytes: 1 << 30 }
    }
}
