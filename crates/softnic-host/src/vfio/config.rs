//! What a driver reads of the configuration space beside its header: interrupts by message.
#![deny(clippy::indexing_slicing)]

/// Bytes of the configuration space of PCI Express.
pub(crate) const CONFIG_BYTES: usize = 4096;
/// Vectors of MSI-X of a port (82599 datasheet 9.3.8).
pub(crate) const MSIX_VECTORS: u32 = 64;
/// Bytes of BAR 4, which has the table of MSI-X at 0 and the pending bits at 8 KiB.
pub(crate) const MSIX_BYTES: usize = 16 << 10;

/// Where capabilities are, as on the card (9.3.7, 9.3.8, 9.3.10).
const MSI_AT: u8 = 0x50;
const MSIX_AT: u8 = 0x70;
const EXPRESS_AT: u8 = 0xa0;
/// Bus address of BAR 4, which nothing uses.
const MSIX_BAR_AT: u32 = 0xc010_0000;

/// Adds MSI, MSI-X and PCI Express to a configuration space (PCI Local Bus Specification 3.0, 6.7 and 6.8).
pub(crate) fn add_capabilities(space: &mut [u8]) {
    // Status: there is a list of capabilities, and nothing else is set.
    put(space, 0x06, &[0x10]);
    put(space, 0x34, &[MSI_AT]);
    // BAR 4: memory, 64 bits.
    put(space, 0x20, &(MSIX_BAR_AT | 4).to_le_bytes());
    // An interrupt pin, for INTx.
    put(space, 0x3d, &[1]);
    let mut capability = |at: u8, id: u8, next: u8, rest: &[u8]| put(space, at, &[&[id, next], rest].concat());
    // 64-bit addresses and a mask for each vector; one vector.
    capability(MSI_AT, 0x05, MSIX_AT, &[0x80, 0x01]);
    let last = (MSIX_VECTORS - 1) as u8;
    // Table at 0 of BAR 4, pending bits at 0x2000 of it.
    capability(MSIX_AT, 0x11, EXPRESS_AT, &[last, 0, 4, 0, 0, 0, 4, 0x20, 0, 0]);
    // An endpoint, version 2; with reset.
    capability(EXPRESS_AT, 0x10, 0, &[0x02, 0, 0xc2, 0x8c, 0, 0x10]);
}

/// Writes bytes at an offset in the header, or in a capability.
pub(crate) fn put(space: &mut [u8], at: u8, bytes: &[u8]) {
    let place = space.get_mut(at.into()..);
    place.into_iter().flatten().zip(bytes).for_each(|(place, &byte)| *place = byte);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drivers_find_the_capabilities_one_behind_the_other() {
        let mut space = vec![0; CONFIG_BYTES];
        add_capabilities(&mut space);
        let (mut at, mut found) = (usize::from(space[0x34]), Vec::new());
        while at != 0 {
            found.push(space[at]);
            at = usize::from(space[at + 1]);
        }
        assert_eq!(found, [0x05, 0x11, 0x10]);
        let msix = usize::from(MSIX_AT);
        assert_eq!(u16::from_le_bytes([space[msix + 2], space[msix + 3]]) & 0x7ff, 63);
        assert_eq!(space[msix + 4] & 7, 4, "the table is in BAR 4");
    }
}
