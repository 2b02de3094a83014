//! The memory of a driver, as a device sees it.

use std::collections::BTreeMap;
use std::ops::Range;

/// Length of a descriptor, in bytes.
pub(crate) const DESCRIPTOR_BYTES: u64 = 16;

/// An access to memory that the driver does not have mapped for DMA, in whole or in part. Nothing was read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("DMA of {bytes} bytes at {address:#x}, which is not DMA memory of the driver")]
pub struct DmaFault {
    /// First byte, a bus address.
    pub address: u64,
    /// Length of the access, in bytes.
    pub bytes: u64,
}

/// Memory of a driver, by bus address.
///
/// An access that lies in it as a whole succeeds, also where its pages have other neighbours in the memory of the process;
/// any other does nothing.
pub trait DmaMemory {
    /// Copies bytes of the driver.
    ///
    /// # Errors
    /// [`DmaFault`]: not all of them are DMA memory.
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), DmaFault>;

    /// Copies bytes to the driver.
    ///
    /// # Errors
    /// As [`DmaMemory::read`].
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), DmaFault>;

    /// Reads a descriptor: two little-endian words. `address` is a multiple of 16.
    ///
    /// # Errors
    /// As [`DmaMemory::read`].
    fn read_descriptor(&mut self, address: u64) -> Result<[u64; 2], DmaFault>;

    /// Writes a descriptor back. `address` is a multiple of 16. A reader that sees the second word also sees the first,
    /// and all that was written before.
    ///
    /// # Errors
    /// As [`DmaMemory::read`].
    fn write_descriptor(&mut self, address: u64, words: [u64; 2]) -> Result<(), DmaFault>;

    /// Reads descriptors that lie one behind another, each as by [`DmaMemory::read_descriptor`].
    ///
    /// # Errors
    /// As [`DmaMemory::read`]. Then nothing is known of `into`.
    #[inline]
    fn read_descriptors(&mut self, address: u64, into: &mut [[u64; 2]]) -> Result<(), DmaFault> {
        for (address, words) in (address..).step_by(DESCRIPTOR_BYTES as usize).zip(into) {
            *words = self.read_descriptor(address)?;
        }
        Ok(())
    }

    /// Writes descriptors back that lie one behind another, each as by [`DmaMemory::write_descriptor`].
    ///
    /// # Errors
    /// As [`DmaMemory::read`]. Then some of them may have been written.
    #[inline]
    fn write_descriptors(&mut self, address: u64, words: &[[u64; 2]]) -> Result<(), DmaFault> {
        for (address, words) in (address..).step_by(DESCRIPTOR_BYTES as usize).zip(words) {
            self.write_descriptor(address, *words)?;
        }
        Ok(())
    }

    /// Announces that this address will be read soon. Does nothing else.
    fn prefetch(&self, _address: u64) {}

    /// Announces that this address will be written soon. Does nothing else.
    fn prefetch_write(&self, address: u64) {
        self.prefetch(address);
    }
}

/// DMA memory in pages of 4 KiB that the model owns, for tests and simulations.
#[derive(Debug, Clone, Default)]
pub struct PagedMemory {
    pages: BTreeMap<u64, Box<[u8]>>,
}

const PAGE_BYTES: u64 = 4096;

/// The parts of an access, in their order: number of the page, and the bytes in it. The access does not go round all addresses.
fn pages(address: u64, bytes: usize) -> impl Iterator<Item = (u64, Range<usize>)> {
    let (mut at, mut left) = (address, bytes as u64);
    std::iter::from_fn(move || {
        let first = at % PAGE_BYTES;
        let number = left.min(PAGE_BYTES.wrapping_sub(first));
        let part = (at / PAGE_BYTES, first as usize..first.wrapping_add(number) as usize);
        (at, left) = (at.wrapping_add(number), left.wrapping_sub(number));
        (number > 0).then_some(part)
    })
}

impl PagedMemory {
    /// Memory in which no page is mapped.
    pub fn new() -> PagedMemory {
        PagedMemory::default()
    }

    /// Maps zeroed pages, so that all of these bytes are DMA memory.
    pub fn map(&mut self, address: u64, bytes: u64) {
        let Some(last) = bytes.checked_sub(1).map(|bytes| address.saturating_add(bytes)) else { return };
        for page in address / PAGE_BYTES..=last / PAGE_BYTES {
            self.pages.entry(page).or_insert_with(|| vec![0; PAGE_BYTES as usize].into_boxed_slice());
        }
    }

    /// Takes the pages away that hold these bytes.
    pub fn unmap(&mut self, address: u64, bytes: u64) {
        let Some(last) = bytes.checked_sub(1).map(|bytes| address.saturating_add(bytes)) else { return };
        self.pages.retain(|page, _| !(address / PAGE_BYTES..=last / PAGE_BYTES).contains(page));
    }

    /// True if all of these bytes are DMA memory.
    fn has(&self, address: u64, bytes: usize) -> bool {
        address.checked_add(bytes as u64).is_some()
            && pages(address, bytes).all(|(page, _)| self.pages.contains_key(&page))
    }

    fn check(&self, address: u64, bytes: usize) -> Result<(), DmaFault> {
        self.has(address, bytes).then_some(()).ok_or(DmaFault { address, bytes: bytes as u64 })
    }
}

impl DmaMemory for PagedMemory {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), DmaFault> {
        self.check(address, into.len())?;
        let mut rest = into;
        for (page, range) in pages(address, rest.len()) {
            let found = self.pages.get(&page).and_then(|page| page.get(range.clone()));
            if let Some((into, from)) = rest.split_off_mut(..range.len()).zip(found) {
                into.copy_from_slice(from);
            }
        }
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), DmaFault> {
        self.check(address, bytes.len())?;
        let mut rest = bytes;
        for (page, range) in pages(address, bytes.len()) {
            let found = self.pages.get_mut(&page).and_then(|page| page.get_mut(range.clone()));
            if let Some((from, into)) = rest.split_off(..range.len()).zip(found) {
                into.copy_from_slice(from);
            }
        }
        Ok(())
    }

    fn read_descriptor(&mut self, address: u64) -> Result<[u64; 2], DmaFault> {
        let mut words = [[0; 8]; 2];
        self.read(address, words.as_flattened_mut())?;
        Ok(words.map(u64::from_le_bytes))
    }

    fn write_descriptor(&mut self, address: u64, words: [u64; 2]) -> Result<(), DmaFault> {
        self.write(address, words.map(u64::to_le_bytes).as_flattened())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_that_leaves_the_memory_does_nothing_at_all() {
        let mut memory = PagedMemory::new();
        memory.map(0x1000, 0x2000);
        memory.write(0x1ffe, &[1, 2, 3, 4]).expect("two neighbouring pages are one range");
        let fault = memory.write(0x2ffe, &[5, 6, 7]).expect_err("the last byte is not mapped");
        assert_eq!(fault, DmaFault { address: 0x2ffe, bytes: 3 });
        let mut found = [9; 4];
        memory.read(0x2ffc, &mut found).expect("it is mapped");
        assert_eq!(found, [0; 4]);
        memory.read(0x1ffe, &mut found).expect("it is mapped");
        assert_eq!(found, [1, 2, 3, 4]);
        assert!(memory.read(u64::MAX - 1, &mut found).is_err());
    }
}
