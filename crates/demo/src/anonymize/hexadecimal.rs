//! Addresses in hexadecimal, as programs write them that print numbers, and as one decimal number.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::is_distinct;

/// What may stand between the bytes of an address in a dump, a URL, a list of C or a string of C.
const SEPARATORS: [&str; 9] = [" ", ":", "-", "\\x", "%", ".0x", " 0x", ",0x", ", 0x"];

/// Spellings by digits alone, which are replaced; of two addresses those at the same place are alike.
///
/// In network order, and as `/proc/net` has it: each four bytes as a number of a little-endian machine.
pub(super) fn digits(address: IpAddr) -> Vec<Vec<u8>> {
    let of = |bytes: &[u8]| [hexadecimal(bytes), hexadecimal(&swapped(bytes))];
    match address {
        IpAddr::V4(v4) => [of(&v4.octets()), of(&v4.to_ipv6_mapped().octets())].concat(),
        IpAddr::V6(v6) => of(&v6.octets()).to_vec(),
    }
}

/// False for an address whose digits are a number far more often, such as `0a000000`, and for the mapped form of an IPv4
/// address, whose digits are among those of that address.
pub(super) fn is_searched(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => is_distinct(v4.octets()),
        IpAddr::V6(v6) => v6.to_ipv4_mapped().is_none(),
    }
}

/// Spellings as separate bytes, without what stands before the first digit.
pub(super) fn separate(address: IpAddr) -> Vec<Vec<u8>> {
    let bytes = match address {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    };
    let joined = |one: fn(&u8) -> String, separator: &str| {
        bytes.iter().map(one).collect::<Vec<_>>().join(separator).into_bytes()
    };
    let mut all: Vec<Vec<u8>> =
        SEPARATORS.iter().map(|separator| joined(|byte| format!("{byte:02x}"), separator)).collect();
    match address {
        // inet_aton(3).
        IpAddr::V4(_) => all.push(joined(|byte| format!("{byte:x}"), ".0x")),
        // RFC 3596, 2.5: `ip6.arpa` has the digits from the last to the first.
        IpAddr::V6(_) => {
            let digits = hexadecimal(&bytes);
            let reversed: Vec<String> = digits.iter().rev().map(|&digit| char::from(digit).to_string()).collect();
            all.push(reversed.join(".").into_bytes());
        }
    }
    all
}

/// Spellings as one decimal number, of either byte order.
pub(super) fn decimal(address: IpAddr) -> Vec<Vec<u8>> {
    match address {
        IpAddr::V4(v4) => [u32::from_be_bytes(v4.octets()), u32::from_le_bytes(v4.octets())]
            .map(|number| number.to_string().into_bytes())
            .to_vec(),
        IpAddr::V6(_) => Vec::new(),
    }
}

fn hexadecimal(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect()
}

/// Each word of four bytes reversed.
fn swapped(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks(4).flat_map(|word| word.iter().rev().copied()).collect()
}

/// The two addresses of a line of `/proc/net/tcp`, `tcp6`, `udp` and their like that begin at `at`, and where they end:
/// `0100007F:1F90 0200007F:C350`.
pub(super) fn proc_net(text: &[u8], at: usize) -> Option<([IpAddr; 2], usize)> {
    if at.checked_sub(1).and_then(|before| text.get(before)).is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let (local, rest) = endpoint(text.get(at..)?)?;
    let (peer, rest) = endpoint(rest.strip_prefix(b" ")?)?;
    Some(([local, peer], text.len().checked_sub(rest.len())?))
}

/// Address and what follows its port.
fn endpoint(text: &[u8]) -> Option<(IpAddr, &[u8])> {
    let digits = text.iter().take_while(|byte| is_digit(byte)).count();
    let (address, rest) = text.split_at_checked(digits)?;
    let address = match *address {
        [_, _, _, _, _, _, _, _] => IpAddr::from(Ipv4Addr::from(word(address)?)),
        _ if digits == 32 => {
            let mut octets = [0; 16];
            for (octets, digits) in octets.chunks_exact_mut(4).zip(address.chunks_exact(8)) {
                octets.copy_from_slice(&word(digits)?);
            }
            IpAddr::from(Ipv6Addr::from(octets))
        }
        _ => return None,
    };
    let (port, rest) = rest.strip_prefix(b":")?.split_at_checked(4)?;
    let ends = !rest.first().is_some_and(u8::is_ascii_alphanumeric);
    (port.iter().all(is_digit) && ends).then_some((address, rest))
}

/// The kernel writes capitals.
fn is_digit(byte: &u8) -> bool {
    byte.is_ascii_digit() || (b'A'..=b'F').contains(byte)
}

fn word(digits: &[u8]) -> Option<[u8; 4]> {
    let number = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    Some(number.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_kernel_are_read() {
        let line = b" 0: 0100007F:1F90 0D02010A:C350 0A ";
        let addresses = ["127.0.0.1", "10.1.2.13"].map(|text| text.parse().expect("valid"));
        assert_eq!(proc_net(line, 4), Some((addresses, 31)));
        assert_eq!(proc_net(line, 5), None, "in the middle of a number");
        let other: [&[u8]; 5] = [
            b"0100007F:1F90",
            b"0100007f:1f90 0d02010a:c350",
            b"0100007F:1F90 0D02010A:C3501",
            b"0100007F:1F90 0D02010A",
            b"100007F:1F90 0D02010A:C350",
        ];
        for text in other {
            assert_eq!(proc_net(text, 0), None, "{}", text.escape_ascii());
        }
    }
}
