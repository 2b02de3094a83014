//! Limits and behaviour of a host.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use crate::crc32::crc32;
use crate::range_coder::RangeCoder;

/// Makes datagrams shorter, and long again. Both ends must have the same.
pub trait Compressor: Send {
    /// Appends `input`, compressed to at most `limit` bytes, and returns how many; `None`, appending nothing, otherwise.
    fn compress(&mut self, input: &[u8], limit: usize, output: &mut Vec<u8>) -> Option<usize>;

    /// Appends what `input` was, at most `limit` bytes, and returns how many; `None`, appending nothing, otherwise.
    fn expand(&mut self, input: &[u8], limit: usize, output: &mut Vec<u8>) -> Option<usize>;
}

impl Compressor for RangeCoder {
    fn compress(&mut self, input: &[u8], limit: usize, output: &mut Vec<u8>) -> Option<usize> {
        RangeCoder::compress(self, input, limit, output)
    }

    fn expand(&mut self, input: &[u8], limit: usize, output: &mut Vec<u8>) -> Option<usize> {
        RangeCoder::expand(self, input, limit, output)
    }
}

/// Four bytes over a datagram. Both ends must have the same.
pub type Checksum = Box<dyn Fn(&[u8]) -> [u8; 4] + Send>;

/// The checksum that the stock library offers.
pub fn crc32_checksum() -> Checksum {
    Box::new(|datagram| crc32(datagram).to_be_bytes())
}

/// Choices that the protocol leaves open: both are ENet 1.3 on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WireProfile {
    /// Numbers of a handshake are unpredictable, so that it cannot be completed without seeing the answer; a bandwidth is
    /// announced when it changed; pings are spread over their interval, and leave early with a packet.
    #[default]
    Hardened,
    /// Wire format of the stock library: numbers of a handshake can be guessed, and each connection and its end send
    /// the bandwidth to all peers again. For comparisons.
    Stock,
}

/// Limits and behaviour of a host.
pub struct Settings {
    /// Most channels of a peer, 1 to 255.
    pub channels: u8,
    /// Bytes of UDP payload, 576 to 4096, for connections made from now on.
    pub mtu: u32,
    /// Most connected peers of one address, whatever their ports.
    pub duplicate_peers: u32,
    /// Longest packet, in bytes, sent or received.
    pub packet_bytes_max: usize,
    /// Bytes of one peer that wait: for the application, or for what is missing before them.
    pub waiting_bytes_max: usize,
    /// Bytes of all peers together that wait for what is missing before them, counted as what their allocations take.
    ///
    /// The peers of an IPv4 address, or of an IPv6 network of 64 bits, hold no more of it than is left for others: one
    /// address at most a half, two a third each.
    ///
    /// What is next in order is taken beyond it, and beyond the limit of its peer, so that neither others nor its own
    /// early packets keep a peer from going on: a whole packet, and of those in pieces one reliable and one unreliable
    /// at a time, each with a bit a piece beside its bytes.
    pub held_bytes_max: usize,
    /// Checksum added to and expected in every datagram.
    pub checksum: Option<Checksum>,
    /// Compressor for datagrams, used when it makes them shorter.
    pub compressor: Option<Box<dyn Compressor>>,
    /// Choices that the protocol leaves open.
    pub wire_profile: WireProfile,
}

/// The stock library's default since 1.3.18; 1400 before.
const MTU: u32 = 1392;
const PACKET_BYTES: usize = 32 << 20;
const WAITING_BYTES: usize = 32 << 20;
/// Eight peers that fill their own limit.
const HELD_BYTES: usize = 256 << 20;

impl Default for Settings {
    fn default() -> Self {
        Settings {
            channels: 255,
            mtu: MTU,
            duplicate_peers: u32::MAX,
            packet_bytes_max: PACKET_BYTES,
            waiting_bytes_max: WAITING_BYTES,
            held_bytes_max: HELD_BYTES,
            checksum: None,
            compressor: None,
            wire_profile: WireProfile::default(),
        }
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("channels", &self.channels)
            .field("mtu", &self.mtu)
            .field("duplicate_peers", &self.duplicate_peers)
            .field("packet_bytes_max", &self.packet_bytes_max)
            .field("waiting_bytes_max", &self.waiting_bytes_max)
            .field("held_bytes_max", &self.held_bytes_max)
            .field("has_checksum", &self.checksum.is_some())
            .field("has_compressor", &self.compressor.is_some())
            .field("wire_profile", &self.wire_profile)
            .finish()
    }
}
