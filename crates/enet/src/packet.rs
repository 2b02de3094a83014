//! Packets, as the application gives and takes them.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

/// Bytes of a packet, shared by all that wait to send them.
#[derive(Clone)]
pub struct Payload(Bytes);

/// Longest payload that takes no allocation: what fits beside the length where the others have a pointer and its type.
const SHORT_BYTES: usize = 22;

#[derive(Clone)]
enum Bytes {
    Short { length: u8, bytes: [u8; SHORT_BYTES] },
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

    /// Content as a slice of bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Short { length, bytes } => bytes.get(..usize::from(*length)).unwrap_or_default(),
            Bytes::Shared(bytes) => bytes,
            Bytes::Owner(owner) => (**owner).as_ref(),
        }
    }

    /// The bytes in the value itself, if they are few.
    fn short(bytes: &[u8]) -> Option<Payload> {
        let mut short = [0; SHORT_BYTES];
        short.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Payload(Bytes::Short { length: bytes.len() as u8, bytes: short }))
    }
}

impl From<&[u8]> for Payload {
    fn from(bytes: &[u8]) -> Payload {
        Payload::short(bytes).unwrap_or_else(|| Payload(Bytes::Shared(bytes.into())))
    }
}

impl<const N: usize> From<&[u8; N]> for Payload {
    fn from(bytes: &[u8; N]) -> Payload {
        Payload::from(bytes.as_slice())
    }
}

impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Payload {
        Payload::short(&bytes).unwrap_or_else(|| Payload::owned_by(bytes))
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.as_bytes().len())
    }
}

/// Packet for the peer's application. Without a flag it may be lost, but is never delivered behind a later one of its
/// channel.
#[derive(Debug, Clone)]
pub struct Packet {
    /// Bytes of the packet, as the application gets them.
    pub payload: Payload,
    /// Delivery is guaranteed, in the order of the channel. Wins over the others.
    pub reliable: bool,
    /// Delivery may fail, and may be out of order.
    pub unsequenced: bool,
    /// Fragments of a packet that is too long for a datagram may be lost, and the packet with them.
    ///
    /// Long packets are sent reliably otherwise.
    pub fragments_unreliable: bool,
}

impl Packet {
    /// Reliable packet, delivered in order.
    pub fn reliable(payload: impl Into<Payload>) -> Packet {
        Packet { reliable: true, ..Packet::unreliable(payload) }
    }

    /// Unreliable packet, dropped when a later one overtook it.
    pub fn unreliable(payload: impl Into<Payload>) -> Packet {
        Packet { payload: payload.into(), reliable: false, unsequenced: false, fragments_unreliable: false }
    }

    /// Unsequenced packet, which may be lost and overtaken.
    pub fn unsequenced(payload: impl Into<Payload>) -> Packet {
        Packet { unsequenced: true, ..Packet::unreliable(payload) }
    }
}

/// Delivery kind of a received packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Reliable, in the order of the channel.
    Reliable,
    /// Unreliably and in order, in one datagram.
    Unreliable,
    /// Unreliably and in order, in several datagrams.
    UnreliableFragments,
    /// Unreliably and without any order (ENet's unsequenced).
    Unsequenced,
}

/// Packet that the peer sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// Channel it was sent on.
    pub channel: u8,
    /// Delivery guarantee of the packet.
    pub kind: Kind,
    /// Bytes of the packet, without any header.
    pub payload: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_has_the_bytes_it_was_made_of_whatever_their_number() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in [0, 1, SHORT_BYTES - 1, SHORT_BYTES, SHORT_BYTES + 1, bytes.len()] {
            let expected = &bytes[..length];
            for payload in
                [Payload::from(expected), Payload::from(expected.to_vec()), Payload::owned_by(expected.to_vec())]
            {
                assert_eq!(payload.clone().as_bytes(), expected);
            }
        }
    }

    #[test]
    fn short_payloads_make_no_payload_larger() {
        assert_eq!(size_of::<Payload>(), size_of::<(usize, Arc<[u8]>)>());
    }
}
