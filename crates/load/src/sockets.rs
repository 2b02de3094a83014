//! The sockets of a thread, all under one host.
//!
//! To the host each socket is the address of a server of its own, so that it distinguishes the clients of one from those
//! of another, although all lead to the same server. One host has one set of timers and one list of who has something to
//! send; a host for each of thousands of clients would have as many, far apart in memory.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use prony_enet::Host;
use prony_enet_host::{BATCH, Datagram, OpenError, Socket, SocketOptions, guarded, prefetch};
use rustix::event::epoll;

use crate::options::{Options, Sharing};

/// Most clients of a socket. The protocol has 4,095 numbers for those of one address; a server that draws them finds
/// one while half of them are free.
pub(crate) const SOCKET_CLIENTS_MAX: usize = 2048;
/// One more than the longest datagram of the protocol.
const DATAGRAM_BYTES: usize = 4097;

/// Reasons why a socket is not available.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The socket could not be made.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The socket could not be made, or there is no route to the server.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Counts of socket errors of this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Errors {
    /// Times that the server's machine reported a closed port.
    pub port_closed: u64,
    /// Datagrams that the kernel did not take for lack of room.
    pub would_block: u64,
    /// Datagrams that came when the receive buffer was full, as far as it was reported.
    pub overflowed: u64,
}

enum Kind {
    Own(Vec<UdpSocket>),
    Shared(Vec<Shared>),
}

/// A socket of many clients, and what it is about to send.
struct Shared {
    socket: Socket,
    outbox: Vec<Datagram>,
    filled: usize,
    /// Errors that were reported until the last look.
    reported: u64,
}

/// The sockets of a thread.
pub(crate) struct Sockets {
    target: SocketAddr,
    epoll: OwnedFd,
    kind: Kind,
    errors: Errors,
    /// Sockets whose port was reported closed since the last query.
    closed: Vec<usize>,
    datagram: Vec<u8>,
    inbox: Box<[u8; DATAGRAM_BYTES]>,
}

/// Clients that share a socket.
pub(crate) fn clients_a_socket(sharing: Sharing) -> usize {
    match sharing {
        Sharing::Own => 1,
        Sharing::Shared => SOCKET_CLIENTS_MAX,
    }
}

/// Address by which a socket's server is known within the host.
pub(crate) fn address_of(socket: usize) -> SocketAddr {
    // fd00::/8, RFC 4193: an address that no host has.
    let place = u128::try_from(socket).unwrap_or(u128::MAX);
    (Ipv6Addr::from_bits(0xfd << 120 | place), 1).into()
}

fn socket_of(address: SocketAddr) -> Option<usize> {
    let SocketAddr::V6(address) = address else { return None };
    usize::try_from(address.ip().to_bits() & !(0xff << 120)).ok()
}

/// Index of a socket that is not available, with the reason.
pub(crate) type Failed = (usize, SocketError);

impl Sockets {
    /// Opens as many sockets as `clients` need.
    pub fn open(options: &Options, clients: usize) -> Result<Sockets, Failed> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|errno| (0, io::Error::from(errno).into()))?;
        let wanted = clients.div_ceil(clients_a_socket(options.connections.sharing));
        let target = options.target;
        let kind = match options.connections.sharing {
            Sharing::Own => Kind::Own(all(wanted, &epoll, || own(target))?),
            Sharing::Shared => Kind::Shared(all(wanted, &epoll, || shared(target))?),
        };
        let (errors, closed) = (Errors::default(), Vec::new());
        Ok(Sockets { target, epoll, kind, errors, closed, datagram: Vec::new(), inbox: Box::new([0; DATAGRAM_BYTES]) })
    }

    /// The descriptor that reports which sockets can be read.
    pub fn epoll(&self) -> &OwnedFd {
        &self.epoll
    }

    /// Counts of socket errors so far.
    pub fn errors(&self) -> Errors {
        let mut errors = self.errors;
        if let Kind::Shared(sockets) = &self.kind {
            for Shared { socket, .. } in sockets {
                let traffic = socket.traffic();
                errors.port_closed += traffic.receive_errors + traffic.refused;
                errors.would_block += traffic.would_block;
                errors.overflowed += traffic.overflowed;
            }
        }
        errors
    }

    /// A socket whose port was reported closed.
    pub fn next_closed(&mut self) -> Option<usize> {
        self.closed.pop()
    }

    /// Sends what `host` has to send.
    pub fn transmit(&mut self, host: &mut Host, now: Duration) {
        // After a panic, what others have to send follows.
        while guarded(host, |host| self.transmit_all(host, now)).is_some() {}
    }

    fn transmit_all(&mut self, host: &mut Host, now: Duration) {
        match &mut self.kind {
            Kind::Own(sockets) => {
                while let Some(transmit) = host.poll_transmit(now, &mut self.datagram) {
                    let Some(place) = socket_of(transmit.to).filter(|&place| place < sockets.len()) else { continue };
                    match sockets[place].send(&self.datagram) {
                        Ok(_) => {}
                        // What an earlier datagram met. This one is not on its way; what must arrive is sent again.
                        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                            self.errors.port_closed += 1;
                            self.closed.push(place);
                        }
                        Err(_) => self.errors.would_block += 1,
                    }
                }
            }
            Kind::Shared(sockets) => {
                while let Some(transmit) = host.poll_transmit(now, &mut self.datagram) {
                    let Some(place) = socket_of(transmit.to).filter(|&place| place < sockets.len()) else { continue };
                    if sockets[place].put(self.target, &mut self.datagram) {
                        sockets[place].send();
                    }
                }
                for shared in sockets.iter_mut().filter(|shared| shared.filled > 0) {
                    shared.send();
                }
                for (place, shared) in sockets.iter_mut().enumerate() {
                    shared.look(&mut self.closed, place);
                }
            }
        }
    }

    /// Takes in what came to a socket: one datagram, or of a shared one a batch. Epoll reports it again while there
    /// is more.
    ///
    /// # Errors
    /// What the kernel says of the socket itself.
    pub fn receive(&mut self, place: usize, host: &mut Host, now: Duration) -> io::Result<()> {
        let from = address_of(place);
        match &mut self.kind {
            Kind::Own(sockets) => match sockets[place].recv(&mut self.inbox[..]) {
                Ok(bytes) => {
                    let datagram = self.inbox.get(..bytes).unwrap_or_default();
                    guarded(host, |host| host.handle_datagram(now, from, datagram));
                }
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => {}
                    // Errors of others, kept for the next call, udp(7) and ip(7).
                    io::ErrorKind::ConnectionRefused
                    | io::ErrorKind::HostUnreachable
                    | io::ErrorKind::NetworkUnreachable => {
                        self.errors.port_closed += 1;
                        self.closed.push(place);
                    }
                    _ => return Err(error),
                },
            },
            Kind::Shared(sockets) => {
                let socket = &mut sockets[place].socket;
                let count = socket.receive()?;
                host.prefetch((0..count).filter_map(|entry| Some((from, socket.datagram(entry)?.1))), prefetch, |_| {});
                let mut entries = 0..count;
                // After a panic, the rest of the batch follows.
                while guarded(host, |host| {
                    for entry in &mut entries {
                        if let Some((_, bytes)) = socket.datagram(entry) {
                            host.handle_datagram(now, from, bytes);
                        }
                    }
                })
                .is_some()
                {}
                sockets[place].look(&mut self.closed, place);
            }
        }
        Ok(())
    }
}

impl Shared {
    /// Takes a datagram to send; true when no more fit.
    fn put(&mut self, to: SocketAddr, bytes: &mut Vec<u8>) -> bool {
        if self.filled == self.outbox.len() {
            self.outbox.push(Datagram { to, bytes: Vec::new() });
        }
        std::mem::swap(&mut self.outbox[self.filled].bytes, bytes);
        self.filled += 1;
        self.filled == BATCH
    }

    fn send(&mut self) {
        self.socket.send(&self.outbox[..self.filled]);
        self.filled = 0;
    }

    /// Adds its `place` to `closed` if an error was reported since the last look.
    fn look(&mut self, closed: &mut Vec<usize>, place: usize) {
        let reported = self.socket.receive_errors() + self.socket.refused();
        if std::mem::replace(&mut self.reported, reported) != reported {
            closed.push(place);
        }
    }
}

impl AsFd for Shared {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Opens as many as wanted, each with its place as what epoll reports of it.
fn all<S: AsFd>(wanted: usize, epoll: &OwnedFd, open: impl Fn() -> Result<S, SocketError>) -> Result<Vec<S>, Failed> {
    let one = |place: usize| {
        let socket = open()?;
        let data = epoll::EventData::new_u64(place as u64);
        epoll::add(epoll, &socket, data, epoll::EventFlags::IN).map_err(io::Error::from)?;
        Ok(socket)
    };
    (0..wanted).map(|place| one(place).map_err(|error| (place, error))).collect()
}

// Only a connected socket reports a closed port, udp(7).

fn own(target: SocketAddr) -> Result<UdpSocket, SocketError> {
    let socket = UdpSocket::bind(any(target))?;
    socket.set_nonblocking(true)?;
    socket.connect(target)?;
    Ok(socket)
}

fn shared(target: SocketAddr) -> Result<Shared, SocketError> {
    let mut socket = Socket::bind(any(target), &SocketOptions::default())?;
    socket.connect(target)?;
    Ok(Shared { socket, outbox: Vec::new(), filled: 0, reported: 0 })
}

fn any(target: SocketAddr) -> SocketAddr {
    match target.is_ipv4() {
        true => (Ipv4Addr::UNSPECIFIED, 0).into(),
        false => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_known_by_their_addresses() {
        for socket in [0, 1, 4095, 65_536, 1_000_000] {
            assert_eq!(socket_of(address_of(socket)), Some(socket));
        }
        assert_eq!(socket_of(([127, 0, 0, 1], 7777).into()), None);
    }
}
