//! Address of a peer, in the form used for lookups.

use core::net::{IpAddr, SocketAddr};

/// An address and a port as whole words; an IPv4 address is its mapped IPv6 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Endpoint {
    high: u64,
    low: u64,
    port_and_scope: u64,
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Endpoint {
        let scope = match address {
            SocketAddr::V4(_) => 0,
            SocketAddr::V6(address) => address.scope_id(),
        };
        let (high, low) = words(address.ip());
        Endpoint { high, low, port_and_scope: u64::from(address.port()) | u64::from(scope) << 32 }
    }
}

impl Endpoint {
    /// All of it; the middle of the last word, bits 16 to 31, is not used.
    pub fn words(&self) -> [u64; 3] {
        [self.high, self.low, self.port_and_scope]
    }
}

/// The address without its port.
pub(crate) fn words(address: IpAddr) -> (u64, u64) {
    let bits = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    };
    ((bits >> 64) as u64, bits as u64)
}

/// A connection as its CONNECT names it.
pub(crate) type Attempt = (Endpoint, u64);
