//! A UDP socket that does not wait, and reports what it lost.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, getsockname, socket_with, sockopt};

use crate::batch::{Datagram, Destination, Received, Sending};

/// Requested in either direction. 8,000 peers that send within one millisecond need about 8,000 × 768 bytes, what
/// a short datagram takes in the kernel's account; a buffer of the stock library's 256 KiB holds some 340.
const BUFFER_BYTES: usize = 8 << 20;

/// Reads in a row that found nothing, after which the next is expected to find nothing either. One is not enough: a caller
/// that reads until nothing is left ends each round with one.
const QUIET: u8 = 2;

/// Options for opening a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SocketOptions {
    /// Bytes that the kernel keeps until they are read, in its own account: headers included.
    pub receive_buffer_bytes: usize,
    /// Bytes that it keeps until they are on the wire.
    pub send_buffer_bytes: usize,
    /// Others may be bound to the same port; each sender is served by one of them (SO_REUSEPORT, socket(7)).
    pub shares_port: bool,
}

impl Default for SocketOptions {
    fn default() -> Self {
        SocketOptions { receive_buffer_bytes: BUFFER_BYTES, send_buffer_bytes: BUFFER_BYTES, shares_port: false }
    }
}

/// Bytes of a buffer: requested, and granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferSize {
    /// Requested size of the buffer, in bytes.
    pub requested: usize,
    /// Actual size in bytes. Only the privileged get more than `net.core.rmem_max` and `net.core.wmem_max`.
    pub actual: usize,
}

impl BufferSize {
    /// True if the actual size is less than the requested one.
    pub fn is_cut(&self) -> bool {
        self.actual < self.requested
    }
}

/// Reasons why a socket was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The kernel made no socket.
    #[error("cannot create a UDP socket")]
    Create(#[source] io::Error),
    /// The address is taken, or none of this machine.
    #[error("cannot bind to {address}")]
    Bind {
        /// Address that was to be bound.
        address: SocketAddr,
        /// Error that the kernel returned.
        #[source]
        source: io::Error,
    },
}

/// Counts of the traffic of a socket and of its losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// Number of datagrams that were read.
    pub received: u64,
    /// Number of system calls that read datagrams.
    pub receive_calls: u64,
    /// Datagrams that came when the receive buffer was full, modulo 2^32.
    pub overflowed: u64,
    /// Errors of others that reading reported: a closed port, a network that is down. On a connected socket also closed
    /// ports that sending reported.
    pub receive_errors: u64,
    /// Number of datagrams that were written.
    pub sent: u64,
    /// Number of these that were part of trains, which the kernel cuts into datagrams: see UDP_SEGMENT in udp(7).
    pub sent_in_trains: u64,
    /// Number of system calls that wrote datagrams.
    pub send_calls: u64,
    /// Datagrams dropped here because the send buffer was full.
    pub would_block: u64,
    /// Datagrams that the kernel refused: no way to that address, or a filter.
    pub refused: u64,
}

impl Traffic {
    /// Every count with its name: for exports.
    pub fn named(&self) -> [(&'static str, u64); 9] {
        [
            ("received", self.received),
            ("receive_calls", self.receive_calls),
            ("overflowed", self.overflowed),
            ("receive_errors", self.receive_errors),
            ("sent", self.sent),
            ("sent_in_trains", self.sent_in_trains),
            ("send_calls", self.send_calls),
            ("would_block", self.would_block),
            ("refused", self.refused),
        ]
    }
}

/// UDP socket that reads and writes batches.
pub struct Socket {
    socket: OwnedFd,
    receive_buffer: BufferSize,
    send_buffer: BufferSize,
    /// Reads since the last that found something, up to [`QUIET`].
    empty_in_a_row: u8,
    received: Received,
    traffic: Traffic,
    sending: Sending,
    destination: Destination,
}

impl Socket {
    /// Opens a socket at `address`; with port 0, at a free port.
    ///
    /// # Errors
    /// [`OpenError`]: what is missing, and what the kernel says. A buffer that is smaller than requested is none:
    /// see [`Socket::receive_buffer`].
    pub fn bind(address: SocketAddr, options: &SocketOptions) -> Result<Socket, OpenError> {
        let socket = Socket::unbound(address.is_ipv6(), options)?;
        bind(&socket.socket, &address).map_err(|errno| OpenError::Bind { address, source: errno.into() })?;
        Ok(socket)
    }

    /// Opens a socket that is given a port when it sends first.
    ///
    /// # Errors
    /// [`OpenError::Create`].
    pub fn unbound(is_ipv6: bool, options: &SocketOptions) -> Result<Socket, OpenError> {
        let open = || -> rustix::io::Result<OwnedFd> {
            let family = if is_ipv6 { AddressFamily::INET6 } else { AddressFamily::INET };
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = socket_with(family, SocketType::DGRAM, flags, None)?;
            sockopt::set_socket_broadcast(&socket, true)?;
            if options.shares_port {
                sockopt::set_socket_reuseport(&socket, true)?;
            }
            Ok(socket)
        };
        let socket = open().map_err(|errno| OpenError::Create(errno.into()))?;
        let (receive, send) = (options.receive_buffer_bytes, options.send_buffer_bytes);
        // A size that is refused shows in what is granted.
        let _ = sockopt::set_socket_recv_buffer_size_force(&socket, receive)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&socket, receive));
        let _ = sockopt::set_socket_send_buffer_size_force(&socket, send)
            .or_else(|_| sockopt::set_socket_send_buffer_size(&socket, send));
        // The kernel answers with twice what was requested: the other half is its own, socket(7).
        let actual = |bytes: rustix::io::Result<usize>| bytes.unwrap_or(0) / 2;
        let receive_buffer =
            BufferSize { requested: receive, actual: actual(sockopt::socket_recv_buffer_size(&socket)) };
        let send_buffer = BufferSize { requested: send, actual: actual(sockopt::socket_send_buffer_size(&socket)) };
        Ok(Socket {
            socket,
            receive_buffer,
            send_buffer,
            received: Received::new(),
            sending: Sending::new(),
            traffic: Traffic::default(),
            empty_in_a_row: 0,
            destination: Destination::Each,
        })
    }

    /// Connects the socket: it receives from `address` only, reports when its port is closed, and sends all datagrams
    /// to it, whatever their addresses, neighbours of one length with one pass through the kernel.
    ///
    /// # Errors
    /// What the kernel says: no route to that address.
    pub fn connect(&mut self, address: SocketAddr) -> io::Result<()> {
        connect(&self.socket, &address)?;
        self.destination = Destination::Connected;
        Ok(())
    }

    /// Local address of the socket.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        Ok(getsockname(&self.socket)?.try_into()?)
    }

    /// Size of the receive buffer.
    pub fn receive_buffer(&self) -> BufferSize {
        self.receive_buffer
    }

    /// Size of the send buffer.
    pub fn send_buffer(&self) -> BufferSize {
        self.send_buffer
    }

    /// Counts of the traffic so far. Asks the kernel for the datagrams that it dropped.
    pub fn traffic(&self) -> Traffic {
        Traffic { overflowed: overflowed(self.socket.as_fd()).unwrap_or(0).into(), ..self.traffic }
    }

    /// Errors of others that were reported so far; one of the counts of [`Socket::traffic`].
    pub fn receive_errors(&self) -> u64 {
        self.traffic.receive_errors
    }

    /// Datagrams that the kernel refused so far; one of the counts of [`Socket::traffic`].
    pub fn refused(&self) -> u64 {
        self.traffic.refused
    }

    /// Reads what is there, up to [`crate::BATCH`] datagrams, and returns how many; what was read before is gone.
    ///
    /// # Errors
    /// What the kernel says, if the socket itself is broken. That a peer is not there is counted.
    #[inline]
    pub fn receive(&mut self) -> io::Result<usize> {
        self.received.clear();
        if self.empty_in_a_row < QUIET {
            return self.receive_batch();
        }
        self.traffic.receive_calls += 1;
        match self.received.read_one(self.socket.as_fd()) {
            Err(Errno::AGAIN) => Ok(0),
            looked => self.receive_behind(looked),
        }
    }

    fn receive_batch(&mut self) -> io::Result<usize> {
        let count = self.read()?;
        self.traffic.received += count as u64;
        self.empty_in_a_row = if count == 0 { (self.empty_in_a_row + 1).min(QUIET) } else { 0 };
        Ok(count)
    }

    /// Reads on after a look at a socket that was expected to be empty.
    #[cold]
    fn receive_behind(&mut self, looked: Result<usize, Errno>) -> io::Result<usize> {
        match looked {
            // To callers, a batch that is not full means that nothing is left: so all of it is read.
            Ok(one) => {
                self.traffic.received += one as u64;
                self.empty_in_a_row = 0;
                self.receive_batch().map(|more| one + more)
            }
            Err(errno) if self.is_of_others(errno)? => Ok(0),
            Err(_) => self.receive_batch(),
        }
    }

    /// Reads until the batch is full, or nothing is left.
    fn read(&mut self) -> io::Result<usize> {
        loop {
            self.traffic.receive_calls += 1;
            match self.received.read(self.socket.as_fd()) {
                Ok(count) => return Ok(count),
                Err(Errno::AGAIN) => return Ok(0),
                Err(errno) if self.is_of_others(errno)? => return Ok(0),
                Err(_) => {}
            }
        }
    }

    /// True for an error caused by another machine, which is counted: kept for the next call, udp(7) and ip(7), which
    /// then continues reading. False if only a signal arrived.
    fn is_of_others(&mut self, errno: Errno) -> io::Result<bool> {
        match errno {
            Errno::INTR => Ok(false),
            Errno::CONNREFUSED | Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::NETDOWN | Errno::NOBUFS => {
                self.traffic.receive_errors += 1;
                Ok(true)
            }
            _ => Err(errno.into()),
        }
    }

    /// Datagram `entry` of those that [`Socket::receive`] read last, and its sender.
    pub fn datagram(&self, entry: usize) -> Option<(SocketAddr, &[u8])> {
        self.received.datagram(entry)
    }

    /// Sends a batch of datagrams. What cannot be sent is counted, and lost like others on their way.
    pub fn send(&mut self, datagrams: &[Datagram]) {
        let sent = self.sending.write(self.socket.as_fd(), datagrams, self.destination);
        self.traffic.sent += sent.datagrams;
        self.traffic.sent_in_trains += sent.in_trains;
        self.traffic.send_calls += sent.calls;
        self.traffic.would_block += sent.would_block;
        self.traffic.refused += sent.failed;
        self.traffic.receive_errors += sent.port_closed;
    }

    /// Waits until something can be read, and returns whether it can; at most `timeout`. A signal ends no wait.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn wait(&self, timeout: Duration) -> io::Result<bool> {
        let until = std::time::Instant::now().checked_add(timeout);
        let mut left = timeout;
        loop {
            let time = Timespec::try_from(left).ok();
            let mut polled = [PollFd::new(&self.socket, PollFlags::IN)];
            match poll(&mut polled, time.as_ref()) {
                Ok(count) => return Ok(count > 0),
                Err(Errno::INTR) => {
                    left = until.map_or(timeout, |until| until.saturating_duration_since(std::time::Instant::now()));
                }
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl std::fmt::Debug for Socket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Socket").field("socket", &self.socket).field("traffic", &self.traffic).finish_non_exhaustive()
    }
}

/// Datagrams that the kernel dropped for lack of room. `SO_RXQ_OVFL` would tell with each datagram, which made reading
/// one dearer by a fiftieth.
fn overflowed(socket: BorrowedFd<'_>) -> Option<u32> {
    /// `SK_MEMINFO_VARS` and `SK_MEMINFO_DROPS`, <linux/sock_diag.h>; the option is there since Linux 4.12.
    const COUNTS: usize = 9;
    const DROPS: usize = 8;
    let mut counts = [0_u32; COUNTS];
    let mut bytes = size_of_val(&counts) as libc::socklen_t;
    // SAFETY: the option's value are as many integers, and `bytes` says so; both outlive the call.
    let result = unsafe {
        let (level, option) = (libc::SOL_SOCKET, libc::SO_MEMINFO);
        libc::getsockopt(socket.as_raw_fd(), level, option, counts.as_mut_ptr().cast(), &raw mut bytes)
    };
    (result == 0 && bytes as usize > DROPS * size_of::<u32>()).then_some(counts[DROPS])
}
