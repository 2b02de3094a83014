//! The registers as data: for the model, and for traces.

/// Size of BAR 0 in bytes (datasheet 9.3.6.1).
pub const BAR_BYTES: usize = 512 << 10;

/// A register, or an array of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Register {
    /// Name in the datasheet, without an index.
    pub name: &'static str,
    /// Offset of the first in bytes.
    pub offset: u32,
    /// Distance of two of them in bytes.
    pub stride: u32,
    /// Number of them, 1 or more.
    pub count: u32,
    /// Offset and stride of a second place at which the same registers are found.
    pub alias: Option<(u32, u32)>,
    /// Value after a software reset.
    pub reset: u32,
    /// Effect of reads and writes.
    pub access: Access,
    /// True if the datasheet has an index in the name.
    pub is_array: bool,
    /// Section of the datasheet.
    pub section: &'static str,
}

/// Effects of reading and writing a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Reads what was written.
    ReadWrite,
    /// Writes do nothing.
    ReadOnly,
    /// A read clears it; writes do nothing.
    ReadClear,
    /// A read, or writing 1, clears bits.
    WriteClear,
    /// Writing 1 sets bits of a mask.
    WriteSet,
    /// Writing 1 clears bits of another register's mask; reads 0.
    WriteOnly,
}

impl Register {
    /// Offset of number `index`; `None` beyond the last.
    pub fn at(&self, index: u32) -> Option<u32> {
        (index < self.count).then(|| self.offset + index * self.stride)
    }
}
