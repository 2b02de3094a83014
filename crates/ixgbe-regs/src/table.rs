//! The registers as data: for the model, and for whoever prints a trace.

use crate::registers::REGISTERS;

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

/// Register at an offset, and its index; the second place of an aliased register counts as the first.
pub fn find(offset: u32) -> Option<(&'static Register, u32)> {
    REGISTERS.iter().find_map(|register| {
        let index = |(first, stride): (u32, u32)| {
            let distance = offset.checked_sub(first)?;
            (distance.is_multiple_of(stride) && distance / stride < register.count).then_some(distance / stride)
        };
        let index = index((register.offset, register.stride)).or_else(|| index(register.alias?));
        index.map(|index| (register, index))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::{rdt, srrctl};

    #[test]
    fn every_register_lies_in_the_bar_at_a_place_of_its_own() {
        for register in REGISTERS {
            for index in 0..register.count {
                let offset = register.at(index).expect("below the count");
                assert!(offset.is_multiple_of(4) && (offset as usize) < BAR_BYTES, "{} {index}", register.name);
                assert_eq!(find(offset), Some((register, index)), "{} {index}", register.name);
            }
            assert_eq!(register.at(register.count), None);
        }
    }

    #[test]
    fn an_alias_is_the_register_itself() {
        let (register, index) = find(0x1014 + 3 * 0x40).expect("the second place of SRRCTL[3]");
        assert_eq!((register.name, register.at(index)), ("SRRCTL", Some(srrctl(3))));
        assert_eq!(find(rdt(15)).map(|(register, index)| (register.name, index)), Some(("RDT", 15)));
        assert_eq!(find(0x1002), None);
    }
}
