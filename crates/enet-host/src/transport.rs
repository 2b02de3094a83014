//! What a driver sends datagrams through: a socket of the kernel, or one of its own on an Ethernet port.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use crate::batch::Datagram;
use crate::socket::Socket;

/// What datagrams go through, a batch at a time.
pub trait Transport {
    /// Takes in what is there, up to [`BATCH`](crate::BATCH) datagrams, and returns how many; what was taken in before is
    /// gone. A batch that is not full means that nothing was left.
    ///
    /// # Errors
    /// What makes the transport itself useless. Errors of one peer are counted.
    fn receive(&mut self) -> io::Result<usize>;

    /// Datagram `entry` of those that [`Transport::receive`] took in last, and its sender; `None` if that is of an unknown
    /// family.
    fn datagram(&self, entry: usize) -> Option<(SocketAddr, &[u8])>;

    /// Sends a batch of datagrams. What cannot be sent is counted, and lost like others on their way.
    fn send(&mut self, datagrams: &[Datagram]);

    /// Waits until something can be received, and returns whether that may be so; at most `timeout`.
    ///
    /// # Errors
    /// As [`Transport::receive`].
    fn wait(&mut self, timeout: Duration) -> io::Result<bool>;
}

impl Transport for Socket {
    #[inline]
    fn receive(&mut self) -> io::Result<usize> {
        Socket::receive(self)
    }

    #[inline]
    fn datagram(&self, entry: usize) -> Option<(SocketAddr, &[u8])> {
        Socket::datagram(self, entry)
    }

    #[inline]
    fn send(&mut self, datagrams: &[Datagram]) {
        Socket::send(self, datagrams);
    }

    fn wait(&mut self, timeout: Duration) -> io::Result<bool> {
        Socket::wait(self, timeout)
    }
}
