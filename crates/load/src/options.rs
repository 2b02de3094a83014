//! Options of a load on a server.

use std::net::SocketAddr;
use std::time::Duration;

use crate::stamp::STAMP_BYTES;

/// Options of a load on a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// UDP address of the server.
    pub target: SocketAddr,
    /// Number of clients, at least 1.
    pub clients: usize,
    /// What the clients send.
    pub traffic: Traffic,
    /// How the clients connect.
    pub connections: Connections,
    /// Duration of the measurement, after all clients are settled.
    pub duration: Duration,
    /// Threads that share the clients, at least 1.
    pub threads: usize,
    /// Answers that take longer are late.
    pub deadline: Duration,
    /// The server's process, if it runs here.
    pub server_pid: Option<u32>,
    /// Random seed for the phases of the clients.
    pub seed: u64,
}

/// Traffic of each client: its packets, and how they are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Traffic {
    /// Packets a second of each client; 0: connections are kept and nothing is sent but what the protocol does.
    pub rate_hz: f64,
    /// Bytes of a packet, at least [`STAMP_BYTES`].
    pub payload_bytes: usize,
    /// Answer requested from the server.
    pub reply: Reply,
    /// Channels of each connection, 1 to 255; packets go over them in turn.
    pub channels: u8,
    /// Share of packets that are sent reliably, 0 to 1.
    pub reliable: f64,
    /// ENet's throttle drops unreliable packets before they are sent, as it does when answers take now longer, now
    /// shorter. Otherwise it is disabled at both ends.
    pub throttle: bool,
    /// True if datagrams carry a CRC-32 checksum.
    pub checksum: bool,
    /// Datagrams are compressed by the stock library's range coder where that makes them shorter.
    pub range_coder: bool,
}

/// Connections of the clients: their order, sockets and time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connections {
    /// Clients that connect together; the next ones begin when these are connected or given up.
    pub batch: usize,
    /// Connections that take longer are given up.
    pub timeout: Duration,
    /// Assignment of sockets to clients.
    pub sharing: Sharing,
}

/// Answer requested from the server for each packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// No reply is expected: packets are only sent.
    None,
    /// Reply with as many bytes as the packet has.
    Echo,
    /// Reply with this number of bytes, at least [`STAMP_BYTES`].
    Bytes(u32),
}

/// Assignment of sockets to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Own socket for each client, as on separate machines.
    Own,
    /// Shared socket for up to 2,048 clients behind one address.
    Shared,
}

impl Reply {
    /// Bytes of an answer to a packet of `payload_bytes`, 0 for none.
    pub fn bytes(self, payload_bytes: usize) -> u32 {
        let shortest = STAMP_BYTES as u32;
        match self {
            Reply::None => 0,
            Reply::Echo => u32::try_from(payload_bytes).unwrap_or(u32::MAX).max(shortest),
            Reply::Bytes(bytes) => bytes.max(shortest),
        }
    }
}

impl Options {
    /// Time between two packets of a client; `None` if it sends none.
    pub fn period_ns(&self) -> Option<u64> {
        let rate_hz = self.traffic.rate_hz;
        (rate_hz > 0.0).then(|| ((1e9 / rate_hz) as u64).max(1))
    }

    /// Batches in which the clients connect.
    pub fn batches(&self) -> usize {
        self.clients.div_ceil(self.connections.batch.max(1))
    }

    /// Number of clients of batch `batch`.
    pub fn batch_clients(&self, batch: usize) -> usize {
        let size = self.connections.batch.max(1);
        self.clients.saturating_sub(batch * size).min(size)
    }
}
