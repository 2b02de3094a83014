//! Socket addresses as the kernel lays them out (`sockaddr` of Linux, native byte order little-endian).

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// `AF_UNIX` of Linux, an address family.
pub const FAMILY_UNIX: u16 = 1;
/// `AF_INET` of Linux, an address family.
pub const FAMILY_INET: u16 = 2;
/// `AF_INET6` of Linux, an address family.
pub const FAMILY_INET6: u16 = 10;

/// Address that a `sockaddr` holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// IPv4 or IPv6, with port. Flow label and scope of IPv6 are left out.
    Ip(SocketAddr),
    /// A path, an abstract name (begins with a zero byte), or nothing for an unnamed socket.
    Unix(Vec<u8>),
    /// Other address family, by its number.
    Other(u16),
}

impl Address {
    /// Reads a `sockaddr`; `None` when it ends early.
    pub fn from_bytes(bytes: &[u8]) -> Option<Address> {
        let family = u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?);
        Some(match family {
            FAMILY_INET => {
                let ip: [u8; 4] = bytes.get(4..8)?.try_into().ok()?;
                Address::Ip(SocketAddr::new(IpAddr::V4(Ipv4Addr::from(ip)), port(bytes)?))
            }
            FAMILY_INET6 => {
                let ip: [u8; 16] = bytes.get(8..24)?.try_into().ok()?;
                Address::Ip(SocketAddr::new(IpAddr::V6(Ipv6Addr::from(ip)), port(bytes)?))
            }
            FAMILY_UNIX => {
                let name = bytes.get(2..)?;
                let end = match name.first() {
                    Some(0) => name.len(),
                    _ => name.iter().position(|&byte| byte == 0).unwrap_or(name.len()),
                };
                Address::Unix(name.get(..end)?.to_vec())
            }
            other => Address::Other(other),
        })
    }

    /// The address, if it is one of IP.
    pub fn ip(&self) -> Option<SocketAddr> {
        match self {
            Address::Ip(address) => Some(*address),
            _ => None,
        }
    }
}

fn port(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Ip(address) => write!(f, "{address}"),
            Address::Unix(name) => match name.split_first() {
                None => write!(f, "unix:unnamed"),
                Some((0, name)) => write!(f, "unix:@{}", name.escape_ascii()),
                Some(_) => write!(f, "unix:{}", name.escape_ascii()),
            },
            Address::Other(family) => write!(f, "family {family}"),
        }
    }
}

#[cfg(test)]
pub(crate) fn sockaddr(address: &str) -> Vec<u8> {
    match address.parse().expect("tests give valid addresses") {
        SocketAddr::V4(v4) => {
            let mut bytes = vec![2, 0];
            bytes.extend(v4.port().to_be_bytes());
            bytes.extend(v4.ip().octets());
            bytes.extend([0; 8]);
            bytes
        }
        SocketAddr::V6(v6) => {
            let mut bytes = vec![10, 0];
            bytes.extend(v6.port().to_be_bytes());
            bytes.extend([0; 4]);
            bytes.extend(v6.ip().octets());
            bytes.extend([0; 4]);
            bytes
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_as_people_write_them() {
        for text in ["127.0.0.1:8303", "[2001:db8::1]:53"] {
            let address = Address::from_bytes(&sockaddr(text)).expect("whole address");
            assert_eq!(address.to_string(), text);
        }
        let unix = |name: &[u8]| Address::from_bytes(&[&[1, 0], name].concat()).expect("has a family").to_string();
        assert_eq!(unix(b"/run/x.sock\0junk"), "unix:/run/x.sock");
        assert_eq!(unix(b"\0bus"), "unix:@bus");
        assert_eq!(unix(b""), "unix:unnamed");
        assert_eq!(Address::from_bytes(&[16, 0]), Some(Address::Other(16)));
        assert_eq!(Address::from_bytes(&[2, 0, 1]), None);
    }
}
