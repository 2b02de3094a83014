//! Digests of names and of what calls are about (FNV-1a).

/// Of 32 bits, as records have them.
pub fn short(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |digest, &byte| (digest ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Of 64 bits.
pub fn long(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes
        .into_iter()
        .fold(0xcbf2_9ce4_8422_2325, |digest: u64, byte| (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
