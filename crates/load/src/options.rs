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
    /// Clients that connect together while the others are measured, after a quarter of the duration; 0 for none.
    pub burst: usize,
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

    /// Batches in which the clients connect; the burst is the last.
    pub fn batches(&self) -> usize {
        self.batches_before_burst() + usize::from(self.burst() > 0)
    }

    /// Number of clients of batch `batch`.
    pub fn batch_clients(&self, batch: usize) -> usize {
        if batch >= self.batches_before_burst() {
            return if batch < self.batches() { self.burst() } else { 0 };
        }
        let size = self.connections.batch.max(1);
        (self.clients - self.burst()).saturating_sub(batch * size).min(size)
    }

    /// Batch of client `client`.
    pub fn batch_of(&self, client: usize) -> usize {
        let is_in_burst = client >= self.clients - self.burst();
        if is_in_burst { self.batches_before_burst() } else { client / self.connections.batch.max(1) }
    }

    /// Clients of the burst; at least one client is there before it.
    pub fn burst(&self) -> usize {
        self.connections.burst.min(self.clients.saturating_sub(1))
    }

    fn batches_before_burst(&self) -> usize {
        (self.clients - self.burst()).div_ceil(self.connections.batch.max(1))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Options of a load with these clients, of which `batch` connect at a time and `burst` at last.
    pub(crate) fn options(clients: usize, batch: usize, burst: usize) -> Options {
        Options {
            target: ([127, 0, 0, 1], 1).into(),
            clients,
            traffic: Traffic {
                rate_hz: 1.0,
                payload_bytes: STAMP_BYTES,
                reply: Reply::Echo,
                channels: 1,
                reliable: 0.0,
                throttle: false,
                checksum: false,
                range_coder: false,
            },
            connections: Connections { batch, burst, timeout: Duration::from_secs(1), sharing: Sharing::Own },
            duration: Duration::from_secs(1),
            threads: 1,
            deadline: Duration::from_secs(1),
            server_pid: None,
            seed: 1,
        }
    }

    #[test]
    fn every_client_is_in_one_batch_and_the_burst_is_the_last() {
        for (clients, batch, burst, expected) in [
            (50, 20, 0, &[20, 20, 10][..]),
            (40, 20, 0, &[20, 20]),
            (50, 20, 7, &[20, 20, 3, 7]),
            (50, 20, 30, &[20, 30]),
            (5, 20, 9, &[1, 4]),
            (1, 20, 9, &[1]),
        ] {
            let options = options(clients, batch, burst);
            let sizes: Vec<usize> = (0..options.batches()).map(|batch| options.batch_clients(batch)).collect();
            assert_eq!(sizes, expected, "{clients} {batch} {burst}");
            let mut counted = vec![0; options.batches()];
            (0..clients).for_each(|client| counted[options.batch_of(client)] += 1);
            assert_eq!(counted, expected, "{clients} {batch} {burst}");
            assert_eq!(options.batch_clients(options.batches()), 0);
        }
    }
}
