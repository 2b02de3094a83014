//! A host with its socket: one client, or as many as an address can have.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prony_enet::{Compressor, ConnectError, Host, PeerId, RangeCoder, Settings, crc32_checksum};
use prony_enet_host::{BATCH, Datagram, OpenError, Socket, SocketOptions, random_seed};

use crate::options::{Options, Sockets};

/// Most clients of one address: a header has twelve bits for them, and one number means none.
pub(crate) const ENDPOINT_CLIENTS_MAX: usize = 4095;
/// One more than the longest datagram of the protocol.
pub(crate) const DATAGRAM_BYTES: usize = 4097;

/// Why a socket is not there.
#[derive(Debug, thiserror::Error)]
pub enum EndpointError {
    /// It could not be made.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It could not be made, or there is no way to the server.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Datagrams between us and the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Errors {
    /// Times that the server's machine said that nobody listens.
    pub nobody_listens: u64,
    /// Datagrams that the kernel did not take for want of room.
    pub would_block: u64,
    /// Datagrams that came when the receive buffer was full, as far as it told.
    pub overflowed: u64,
}

enum Link {
    Own(UdpSocket),
    Shared(Box<Socket>),
}

/// A host with its socket.
pub(crate) struct Endpoint {
    pub host: Host,
    link: Link,
    target: SocketAddr,
    errors: Errors,
    /// Time of the entry among the timers that stands for this host.
    pub armed_ns: u64,
    /// It is among those that are flushed next.
    pub is_dirty: bool,
}

impl Endpoint {
    /// One for `clients`; those of a thread share `coder`.
    pub fn open(options: &Options, clients: usize, coder: &SharedCoder) -> Result<Endpoint, EndpointError> {
        let target = options.target;
        let any: SocketAddr = match target.is_ipv4() {
            true => (Ipv4Addr::UNSPECIFIED, 0).into(),
            false => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        // Only a connected socket is told that nobody listens, udp(7).
        let link = match options.sockets {
            Sockets::Own => {
                let socket = UdpSocket::bind(any)?;
                socket.set_nonblocking(true)?;
                socket.connect(target)?;
                Link::Own(socket)
            }
            Sockets::Shared => {
                let socket = Socket::bind(any, &SocketOptions::default())?;
                rustix::net::connect(&socket, &target).map_err(io::Error::from)?;
                Link::Shared(Box::new(socket))
            }
        };
        let settings = Settings {
            checksum: options.checksum.then(crc32_checksum),
            compressor: options.range_coder.then(|| Box::new(coder.clone()) as Box<dyn Compressor>),
            ..Settings::default()
        };
        let host = Host::new(clients, settings, &random_seed());
        Ok(Endpoint { host, link, target, errors: Errors::default(), armed_ns: u64::MAX, is_dirty: false })
    }

    /// Asks the server for a connection.
    pub fn connect(&mut self, channels: u8) -> Result<PeerId, ConnectError> {
        self.host.connect(self.target, channels.into(), 0)
    }

    /// What went wrong between us and the kernel.
    pub fn errors(&self) -> Errors {
        match &self.link {
            Link::Own(_) => self.errors,
            Link::Shared(socket) => {
                let traffic = socket.traffic();
                Errors {
                    nobody_listens: traffic.receive_errors + traffic.refused,
                    would_block: traffic.would_block,
                    overflowed: traffic.overflowed,
                }
            }
        }
    }

    /// Sends what there is to send.
    pub fn transmit(&mut self, now: Duration, scratch: &mut Scratch) {
        match &mut self.link {
            Link::Own(socket) => {
                while self.host.poll_transmit(now, &mut scratch.datagram).is_some() {
                    match socket.send(&scratch.datagram) {
                        Ok(_) => {}
                        // What an earlier datagram met. This one is not on its way; what must arrive is sent again.
                        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                            self.errors.nobody_listens += 1;
                        }
                        Err(_) => self.errors.would_block += 1,
                    }
                }
            }
            Link::Shared(socket) => loop {
                let mut filled = 0;
                while filled < BATCH {
                    if filled == scratch.outbox.len() {
                        scratch.outbox.push(Datagram { to: self.target, bytes: Vec::new() });
                    }
                    let datagram = &mut scratch.outbox[filled];
                    let Some(transmit) = self.host.poll_transmit(now, &mut datagram.bytes) else { break };
                    datagram.to = transmit.to;
                    filled += 1;
                }
                socket.send(&scratch.outbox[..filled]);
                if filled < BATCH {
                    return;
                }
            },
        }
    }

    /// Takes in what came: one datagram of a socket of one client, a batch of a shared one. The caller is told again
    /// while there is more.
    ///
    /// # Errors
    /// What the kernel says of the socket itself.
    pub fn receive(&mut self, now: Duration, scratch: &mut Scratch) -> io::Result<()> {
        match &mut self.link {
            Link::Own(socket) => match socket.recv(&mut scratch.inbox) {
                Ok(bytes) => self.host.handle_datagram(now, self.target, &scratch.inbox[..bytes]),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => {}
                    io::ErrorKind::ConnectionRefused
                    | io::ErrorKind::HostUnreachable
                    | io::ErrorKind::NetworkUnreachable => self.errors.nobody_listens += 1,
                    _ => return Err(error),
                },
            },
            Link::Shared(socket) => {
                for entry in 0..socket.receive()? {
                    if let Some((from, bytes)) = socket.datagram(entry) {
                        self.host.handle_datagram(now, from, bytes);
                    }
                }
            }
        }
        Ok(())
    }
}

impl AsFd for Endpoint {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.link {
            Link::Own(socket) => socket.as_fd(),
            Link::Shared(socket) => socket.as_fd(),
        }
    }
}

/// Memory that all endpoints of a thread use in turns.
pub(crate) struct Scratch {
    datagram: Vec<u8>,
    outbox: Vec<Datagram>,
    inbox: [u8; DATAGRAM_BYTES],
}

impl Scratch {
    pub fn new() -> Scratch {
        Scratch { datagram: Vec::new(), outbox: Vec::new(), inbox: [0; DATAGRAM_BYTES] }
    }
}

/// One range coder for all hosts of a thread: each keeps nothing from one datagram to the next, and takes 80 kB.
#[derive(Clone)]
pub(crate) struct SharedCoder(Arc<Mutex<RangeCoder>>);

impl SharedCoder {
    pub fn new() -> SharedCoder {
        SharedCoder(Arc::new(Mutex::new(RangeCoder::new())))
    }
}

impl Compressor for SharedCoder {
    fn compress(&mut self, input: &[u8], limit: usize, output: &mut Vec<u8>) -> Option<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).compress(input, limit, output)
    }

    fn expand(&mut self, input: &[u8], limit: usize, output: &mut Vec<u8>) -> Option<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).expand(input, limit, output)
    }
}
