//! Addresses as the kernel has them: `sockaddr_in` and `sockaddr_in6` of Linux, in bytes.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// `sizeof(struct sockaddr_in)` and `sizeof(struct sockaddr_in6)`, <netinet/in.h>.
const V4_BYTES: usize = 16;
const V6_BYTES: usize = 28;

/// An address in the kernel's form: family in the machine's byte order, port in the network's, then
/// the address (IPv4, 4 bytes), or flow label, address and scope (IPv6, 4, 16 and 4 bytes).
#[derive(Debug, Clone, Copy)]
#[repr(C, align(4))]
pub(crate) struct Name {
    pub bytes: [u8; V6_BYTES],
}

impl Name {
    pub const CAPACITY: usize = V6_BYTES;

    /// Name of which no byte counts.
    pub const NONE: Name = Name { bytes: [0; V6_BYTES] };

    /// The name of `address`, and how many of its bytes count.
    pub fn encode(address: SocketAddr) -> (Name, usize) {
        let mut bytes = [0; V6_BYTES];
        bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
        let length = match address {
            SocketAddr::V4(address) => {
                bytes[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
                bytes[4..8].copy_from_slice(&address.ip().octets());
                V4_BYTES
            }
            SocketAddr::V6(address) => {
                bytes[..2].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
                bytes[4..8].copy_from_slice(&address.flowinfo().to_be_bytes());
                bytes[8..24].copy_from_slice(&address.ip().octets());
                bytes[24..28].copy_from_slice(&address.scope_id().to_ne_bytes());
                V6_BYTES
            }
        };
        (Name { bytes }, length)
    }

    /// The address, if its first `length` bytes are one.
    pub fn decode(&self, length: usize) -> Option<SocketAddr> {
        let (&[family_0, family_1, port_0, port_1], rest) = self.bytes.split_first_chunk()?;
        let (&v4_or_flow, rest) = rest.split_first_chunk::<4>()?;
        let (&v6, rest) = rest.split_first_chunk::<16>()?;
        let (&scope, _) = rest.split_first_chunk::<4>()?;
        let port = u16::from_be_bytes([port_0, port_1]);
        match i32::from(u16::from_ne_bytes([family_0, family_1])) {
            libc::AF_INET if length >= V4_BYTES => {
                Some(SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::from(v4_or_flow), port)))
            }
            libc::AF_INET6 if length >= V6_BYTES => {
                let (flow, scope) = (u32::from_be_bytes(v4_or_flow), u32::from_ne_bytes(scope));
                Some(SocketAddr::V6(SocketAddrV6::new(Ipv6Addr::from(v6), port, flow, scope)))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_addresses() {
        for address in ["127.0.0.1:1", "255.255.255.255:65535", "[::1]:7777", "[fe80::1%3]:9"] {
            let address: SocketAddr = address.parse().unwrap();
            let (name, length) = Name::encode(address);
            assert_eq!(name.decode(length), Some(address));
            assert_eq!(name.decode(length - 1), None, "cut");
        }
    }

    #[test]
    fn names_are_laid_out_as_the_c_library_has_them() {
        assert_eq!(size_of::<libc::sockaddr_in>(), V4_BYTES);
        assert_eq!(size_of::<libc::sockaddr_in6>(), V6_BYTES);
        let (name, _) = Name::encode("1.2.3.4:258".parse().unwrap());
        assert_eq!(name.bytes[2..8], [1, 2, 1, 2, 3, 4]);
    }
}
