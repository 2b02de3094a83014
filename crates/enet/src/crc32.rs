//! CRC-32/IEEE, the checksum that the stock library offers.

/// Polynomial of IEEE 802.3, reflected.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// Bytes taken at once. Eight independent look-ups keep a core busier than one chain of them
/// (Kounavis & Berry 2005, "slicing by 8").
const SLICE: usize = 8;

static TABLES: [[u32; 256]; SLICE] = tables();

#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, which refuses an index out of bounds")]
const fn tables() -> [[u32; 256]; SLICE] {
    let mut tables = [[0; 256]; SLICE];
    let mut byte = 0;
    while byte < 256 {
        let mut rest = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ POLYNOMIAL } else { rest >> 1 };
            bit += 1;
        }
        tables[0][byte] = rest;
        byte += 1;
    }
    let mut slice = 1;
    while slice < SLICE {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[slice - 1][byte];
            tables[slice][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        slice += 1;
    }
    tables
}

#[expect(clippy::indexing_slicing, reason = "a table has an entry for each value of a byte, and a constant names it")]
#[inline]
fn entry<const TABLE: usize>(byte: u8) -> u32 {
    const { assert!(TABLE < SLICE) };
    TABLES[TABLE][usize::from(byte)]
}

/// CRC-32/IEEE of `bytes`: reflected, all ones before, complement after.
///
/// On the wire it is stored big-endian.
pub fn crc32(bytes: &[u8]) -> u32 {
    let mut rest = !0u32;
    let (slices, tail) = bytes.as_chunks::<SLICE>();
    for &[a, b, c, d, e, f, g, h] in slices {
        let [low_a, low_b, low_c, low_d] = (u32::from_le_bytes([a, b, c, d]) ^ rest).to_le_bytes();
        rest = entry::<7>(low_a)
            ^ entry::<6>(low_b)
            ^ entry::<5>(low_c)
            ^ entry::<4>(low_d)
            ^ entry::<3>(e)
            ^ entry::<2>(f)
            ^ entry::<1>(g)
            ^ entry::<0>(h);
    }
    for byte in tail {
        rest = rest >> 8 ^ entry::<0>(rest as u8 ^ byte);
    }
    !rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_the_catalogue_comes_out() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
    }

    #[test]
    fn slices_and_single_bytes_agree() {
        let bytes: [u8; 100] = core::array::from_fn(|at| (at * 37) as u8);
        for length in 0..bytes.len() {
            let mut rest = !0u32;
            for byte in &bytes[..length] {
                rest = rest >> 8 ^ TABLES[0][(rest as u8 ^ byte) as usize];
            }
            assert_eq!(crc32(&bytes[..length]), !rest, "{length} bytes");
        }
    }
}
