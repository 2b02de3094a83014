//! Packets, as the application gives and takes them.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// Bytes of a packet, shared by all that wait to send them.
#[derive(Clone)]
pub struct Payload(Bytes);

#[derive(Clone)]
enum Bytes {
    Shared(Arc<[u8]>),
    Owner(Arc<dyn AsRef<[u8]> + Send + Sync>),
}

impl Payload {
    /// Bytes that belong to `owner`, which is dropped when no peer needs them anymore.
    ///
    /// [`AsRef::as_ref`] must give the same bytes each time.
    pub fn owned_by(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Payload {
        Payload(Bytes::Owner(Arc::new(owner)))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Shared(bytes) => bytes,
            Bytes::Owner(owner) => (**owner).as_ref(),
        }
    }
}

impl From<&[u8]> for Payload {
    fn from(bytes: &[u8]) -> Payload {
        Payload(Bytes::Shared(bytes.into()))
    }
}

impl<const N: usize> From<&[u8; N]> for Payload {
    fn from(bytes: &[u8; N]) -> Payload {
        Payload::from(bytes.as_slice())
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Payload {
        Payload::owned_by(bytes)
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.as_bytes().len())
    }
}

/// A packet to send. Without a flag it may be lost, but is never delivered behind a later one of its channel.
#[derive(Debug, Clone)]
pub struct Packet {
    /// Delivered bytes.
    pub payload: Payload,
    /// It arrives, in the order of its channel. Wins over the others.
    pub reliable: bool,
    /// It may be lost and overtaken.
    pub unsequenced: bool,
    /// If it is too long for a datagram, its pieces may be lost, and the packet with them.
    ///
    /// Long packets are sent reliably otherwise.
    pub fragments_unreliable: bool,
}

impl Packet {
    /// One that arrives, in order.
    pub fn reliable(payload: impl Into<Payload>) -> Packet {
        Packet { reliable: true, ..Packet::unreliable(payload) }
    }

    /// One that may be lost, and is dropped when a later one overtook it.
    pub fn unreliable(payload: impl Into<Payload>) -> Packet {
        Packet { payload: payload.into(), reliable: false, unsequenced: false, fragments_unreliable: false }
    }

    /// One that may be lost and overtaken.
    pub fn unsequenced(payload: impl Into<Payload>) -> Packet {
        Packet { unsequenced: true, ..Packet::unreliable(payload) }
    }
}

/// Delivery kind of a received packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Reliably.
    Reliable,
    /// Unreliably, in one datagram.
    Unreliable,
    /// Unreliably, in several.
    UnreliableFragments,
    /// In no order.
    Unsequenced,
}

/// A packet that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Channel it was sent on.
    pub channel: u8,
    /// Delivery kind.
    pub kind: Kind,
    /// Contents of the packet.
    pub payload: Vec<u8>,
}
