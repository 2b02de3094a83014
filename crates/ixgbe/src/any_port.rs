//! A port of any kind: a card, an interface of the kernel, or another process.

use std::os::fd::BorrowedFd;
use std::str::FromStr;

use crate::device::{Device, OpenError, Options};
use crate::dma::DmaError;
use crate::peer::VhostError;
use crate::pool::free::PoolKind;
use crate::pool::{Packet, Pool};
use crate::port::Port;
use crate::vfio;
use crate::vhost::VhostUser;
use crate::xdp::{XdpError, XdpSocket};

/// Names a port: the PCI address of a card, `xdp:INTERFACE`, `vhost-user:SOCKET`, or `vhost-user-server:SOCKET`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A card, by its PCI address.
    Card(String),
    /// An interface of the kernel, by its name.
    Interface(String),
    /// Another process that listens at the path of a Unix socket.
    Connect(String),
    /// Another process that connects to the path of a Unix socket.
    Listen(String),
}

impl FromStr for Address {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Address, Self::Err> {
        let after = |prefix| text.strip_prefix(prefix).map(str::to_owned);
        Ok(after("xdp:")
            .map(Address::Interface)
            .or_else(|| after("vhost-user:").map(Address::Connect))
            .or_else(|| after("vhost-user-server:").map(Address::Listen))
            .unwrap_or_else(|| Address::Card(text.to_owned())))
    }
}

impl Address {
    /// Whether it is a card, which needs memory on huge pages.
    pub fn is_card(&self) -> bool {
        matches!(self, Address::Card(_))
    }

    /// Allocates a pool for this port, and for others that are cards if this one is.
    ///
    /// # Errors
    /// [`DmaError`].
    pub fn pool(&self, kind: PoolKind, buffers: usize) -> Result<Pool, DmaError> {
        match self {
            Address::Card(address) if vfio::group(address).is_some() => Pool::for_iommu(kind, buffers),
            Address::Card(_) => Pool::of_kind(kind, buffers),
            _ => Pool::for_sockets(kind, buffers),
        }
    }
}

/// Reasons why a port cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// Those of a card.
    #[error(transparent)]
    Card(#[from] OpenError),
    /// Those of an interface.
    #[error(transparent)]
    Interface(#[from] XdpError),
    /// Those of another process.
    #[error(transparent)]
    Peer(#[from] VhostError),
}

/// A port of any kind, for programs to which the choice at every batch does not matter.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a program has few of them")]
pub enum AnyPort {
    /// A card.
    Card(Device),
    /// An interface of the kernel.
    Interface(XdpSocket),
    /// Another process.
    Peer(VhostUser),
}

impl AnyPort {
    /// Opens a port with a pool of [`Address::pool`]. One that is listened for is waited for.
    ///
    /// # Errors
    /// [`PortError`].
    pub fn open(address: &Address, pool: &mut Pool, options: Options) -> Result<AnyPort, PortError> {
        Ok(match address {
            Address::Card(address) => AnyPort::Card(Device::open(address, pool, options)?),
            Address::Interface(name) => AnyPort::Interface(XdpSocket::open(name, pool, options)?),
            Address::Connect(path) => AnyPort::Peer(VhostUser::connect(path, pool, options)?),
            Address::Listen(path) => AnyPort::Peer(VhostUser::listen(path, pool, options)?),
        })
    }

    /// The hardware address of an interface; `None` for other ports.
    pub fn hardware_address(&self) -> Option<[u8; 6]> {
        match self {
            AnyPort::Interface(port) => Some(port.hardware_address()),
            AnyPort::Card(_) | AnyPort::Peer(_) => None,
        }
    }
}

impl Port for AnyPort {
    #[inline]
    fn rx_batch(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>, max: usize) -> usize {
        match self {
            AnyPort::Card(port) => port.rx_batch(pool, packets, max),
            AnyPort::Interface(port) => port.rx_batch(pool, packets, max),
            AnyPort::Peer(port) => port.rx_batch(pool, packets, max),
        }
    }

    #[inline]
    fn tx_batch(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        match self {
            AnyPort::Card(port) => port.tx_batch(pool, packets),
            AnyPort::Interface(port) => port.tx_batch(pool, packets),
            AnyPort::Peer(port) => port.tx_batch(pool, packets),
        }
    }

    fn clean_up(&mut self, pool: &mut Pool) {
        match self {
            AnyPort::Card(port) => port.clean_up(pool),
            AnyPort::Interface(port) => port.clean_up(pool),
            AnyPort::Peer(port) => port.clean_up(pool),
        }
    }

    fn interrupt(&self) -> Option<BorrowedFd<'_>> {
        match self {
            AnyPort::Card(port) => port.interrupt(),
            AnyPort::Interface(port) => port.interrupt(),
            AnyPort::Peer(_) => None,
        }
    }

    fn enable_interrupt(&mut self) -> bool {
        match self {
            AnyPort::Card(port) => port.enable_interrupt(),
            AnyPort::Interface(port) => port.enable_interrupt(),
            AnyPort::Peer(_) => true,
        }
    }

    fn missed(&self) -> Option<u64> {
        match self {
            AnyPort::Card(port) => port.missed(),
            AnyPort::Interface(port) => port.missed(),
            AnyPort::Peer(port) => port.missed(),
        }
    }

    fn check(&mut self) -> Result<(), VhostError> {
        match self {
            AnyPort::Card(port) => port.check(),
            AnyPort::Interface(port) => port.check(),
            AnyPort::Peer(port) => port.check(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let read = |text: &str| text.parse::<Address>();
        assert_eq!(read("0000:03:00.0"), Ok(Address::Card("0000:03:00.0".to_owned())));
        assert_eq!(read("xdp:veth0"), Ok(Address::Interface("veth0".to_owned())));
        assert_eq!(read("vhost-user:/run/a"), Ok(Address::Connect("/run/a".to_owned())));
        assert_eq!(read("vhost-user-server:/run/a"), Ok(Address::Listen("/run/a".to_owned())));
    }
}
