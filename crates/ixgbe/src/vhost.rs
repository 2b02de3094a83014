//! Another process in place of a card: virtio-net over vhost-user, of which this is the front end.
//!
//! The front end has the memory and the rings, and the peer, the back end, copies frames out of them and into them. Both poll.
//! Sources: the vhost-user protocol (docs/interop/vhost-user.rst of QEMU), and Virtual I/O Device (VIRTIO) 1.2, 5.1.
//!
//! A peer is not trusted: no message and nothing in the rings makes the program read or write outside of the pool. It can
//! read and change the frames of the whole pool at any time, as a card could without an IOMMU, and it can stop working, or
//! have the program wait: for an answer, and for a notification that it requested.

use std::io::{self, IoSlice, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Instant;
use std::{fs, io::ErrorKind};

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, sendmsg};

use crate::device::{Options, Statistics};
use crate::dma::Dma;
use crate::peer::{PATIENCE, VhostError};
use crate::pool::{Packet, Pool};
use crate::port::Port;
use crate::virtqueue::{Layout, ReceiveVirtqueue, RingMistake, TransmitVirtqueue};

/// Flags of a message: version 1, an answer, an answer is wanted.
const VERSION: u32 = 1;
const VERSION_MASK: u32 = 3;
const REPLY: u32 = 1 << 2;
const NEED_REPLY: u32 = 1 << 3;
/// VIRTIO_F_VERSION_1.
const FEATURE_VERSION_1: u64 = 1 << 32;
/// VHOST_USER_F_PROTOCOL_FEATURES: both sides negotiate features of the protocol, too.
const FEATURE_PROTOCOL: u64 = 1 << 30;
/// VHOST_USER_PROTOCOL_F_REPLY_ACK.
const PROTOCOL_REPLY_ACK: u64 = 1 << 3;
/// In the place of a file: there is none, the other side polls.
const NO_FILE: u64 = 1 << 8;
/// Where the peer finds the rings and the pool: addresses of our own choice, that say nothing about this process.
const RINGS_AT: u64 = 1 << 32;
const POOL_AT: u64 = 1 << 36;
/// Bytes of a frame check sequence, which virtio does not have and [`Statistics`] count.
const FRAME_CHECK_BYTES: u64 = 4;

/// The messages that are sent, by number and name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Request(u32, &'static str);

const GET_FEATURES: Request = Request(1, "GET_FEATURES");
const SET_FEATURES: Request = Request(2, "SET_FEATURES");
const SET_OWNER: Request = Request(3, "SET_OWNER");
const SET_MEM_TABLE: Request = Request(5, "SET_MEM_TABLE");
const SET_VRING_NUM: Request = Request(8, "SET_VRING_NUM");
const SET_VRING_ADDR: Request = Request(9, "SET_VRING_ADDR");
const SET_VRING_BASE: Request = Request(10, "SET_VRING_BASE");
const SET_VRING_KICK: Request = Request(12, "SET_VRING_KICK");
const SET_VRING_CALL: Request = Request(13, "SET_VRING_CALL");
const GET_PROTOCOL_FEATURES: Request = Request(15, "GET_PROTOCOL_FEATURES");
const SET_PROTOCOL_FEATURES: Request = Request(16, "SET_PROTOCOL_FEATURES");
const SET_VRING_ENABLE: Request = Request(18, "SET_VRING_ENABLE");

/// A virtio network device of another process, with one receive and one transmit queue.
#[derive(Debug)]
pub struct VhostUser {
    connection: Connection,
    receive: ReceiveVirtqueue,
    transmit: TransmitVirtqueue,
    /// What wakes a peer that does not poll: of the receive, and of the transmit queue.
    kicks: [OwnedFd; 2],
    statistics: Statistics,
    broken: Option<(&'static str, RingMistake)>,
    _buffers: Dma,
}

impl VhostUser {
    /// Connects to a peer that listens. Of `options`, the batch for sent buffers is as for a card.
    ///
    /// `pool`: from [`Pool::for_sockets`], and no intrusive list. The peers of all ports of a pool can read and change all of
    /// its frames.
    ///
    /// # Errors
    /// [`VhostError`].
    pub fn connect(path: &str, pool: &mut Pool, options: Options) -> Result<VhostUser, VhostError> {
        let socket = UnixStream::connect(path).map_err(failed("connect to", path))?;
        VhostUser::start(socket, path, pool, options)
    }

    /// Listens for one peer, and waits for it; otherwise as [`VhostUser::connect`]. The socket is removed when it has come.
    ///
    /// # Errors
    /// [`VhostError`].
    pub fn listen(path: &str, pool: &mut Pool, options: Options) -> Result<VhostUser, VhostError> {
        let listener = UnixListener::bind(path).map_err(failed("listen at", path))?;
        let accepted = listener.accept().map_err(failed("accept a peer at", path));
        fs::remove_file(path).map_err(failed("remove", path))?;
        VhostUser::start(accepted?.0, path, pool, options)
    }

    fn start(socket: UnixStream, path: &str, pool: &mut Pool, options: Options) -> Result<VhostUser, VhostError> {
        let buffers = pool.memory();
        if pool.is_intrusive() {
            return Err(VhostError::List { path: path.to_owned() });
        }
        let pool_file = buffers.file().ok_or_else(|| VhostError::Pool { path: path.to_owned() })?;
        let entries = options.ring_entries;
        let kick = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let kicks = kick().and_then(|first| Ok([first, kick()?]));
        let kicks = kicks.map_err(|error| failed("make an eventfd for", path)(error.into()))?;
        let layouts = {
            let first = Layout::new(0, entries);
            [first, Layout::new(first.end, entries)]
        };
        let rings = Dma::for_sockets(layouts[1].end, 0)?;
        let found = pool.free();
        let receive = ReceiveVirtqueue::new(rings.clone(), layouts[0], pool, POOL_AT, entries, options.prefetch);
        let receive = receive.ok_or(VhostError::Buffers { expected: entries, found })?;
        let transmit = TransmitVirtqueue::new(rings.clone(), layouts[1], POOL_AT, entries, options.clean_batch);
        let mut connection = Connection { socket, path: path.to_owned(), acknowledges: false };
        let rings_file = rings.file().ok_or_else(|| VhostError::Pool { path: path.to_owned() })?;
        connection.set_up(&[(RINGS_AT, rings_file), (POOL_AT, pool_file)], entries, &layouts, &kicks)?;
        let statistics = Statistics::default();
        Ok(VhostUser { connection, receive, transmit, kicks, statistics, broken: None, _buffers: buffers })
    }

    /// Frames and bytes since this was called last. What the peer could not deliver is known to it alone.
    pub fn statistics(&mut self) -> Statistics {
        std::mem::take(&mut self.statistics)
    }

    /// Keeps the first mistake, and notifies the peer where it requests that.
    #[inline]
    fn finish(&mut self, queue: Queue, result: Result<bool, RingMistake>) {
        let [receive, transmit] = &self.kicks;
        let (kick, name) = match queue {
            Queue::Receive => (receive, "receive"),
            Queue::Transmit => (transmit, "transmit"),
        };
        match result {
            Ok(false) => {}
            // A counter that is full says the same: EAGAIN.
            Ok(true) => drop(rustix::io::write(kick, &1u64.to_ne_bytes())),
            Err(mistake) => self.broken = Some((name, mistake)),
        }
    }
}

/// The queues of a port.
#[derive(Debug, Clone, Copy)]
enum Queue {
    Receive,
    Transmit,
}

/// Frames and their bytes on a wire.
fn count(packets: &[Packet]) -> (u64, u64) {
    let bytes = packets.iter().map(|packet| packet.len() as u64 + FRAME_CHECK_BYTES).sum();
    (packets.len() as u64, bytes)
}

impl Port for VhostUser {
    #[inline]
    fn rx_batch(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>, max: usize) -> usize {
        if self.broken.is_some() {
            return 0;
        }
        let before = packets.len();
        let result = self.receive.batch(pool, packets, max);
        self.finish(Queue::Receive, result);
        let (frames, bytes) = count(packets.get(before..).unwrap_or_default());
        self.statistics.received += frames;
        self.statistics.received_bytes += bytes;
        packets.len() - before
    }

    #[inline]
    fn tx_batch(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        if self.broken.is_some() {
            return 0;
        }
        let (frames, bytes) = count(packets);
        let result = self.transmit.batch(pool, packets);
        self.finish(Queue::Transmit, result);
        let (frames_left, bytes_left) = count(packets);
        self.statistics.transmitted += frames - frames_left;
        self.statistics.transmitted_bytes += bytes - bytes_left;
        (frames - frames_left) as usize
    }

    #[inline]
    fn clean_up(&mut self, pool: &mut Pool) {
        if self.broken.is_none() {
            let result = self.transmit.clean_up(pool).map(|()| false);
            self.finish(Queue::Transmit, result);
        }
    }

    fn check(&mut self) -> Result<(), VhostError> {
        let path = || self.connection.path.clone();
        if let Some((queue, mistake)) = self.broken {
            return Err(VhostError::Ring { path: path(), queue, mistake });
        }
        match recv(&self.connection.socket, &mut [0u8], RecvFlags::DONTWAIT | RecvFlags::PEEK) {
            Ok((0, _)) | Err(Errno::CONNRESET) => Err(VhostError::Closed { path: path() }),
            Ok(_) => Err(VhostError::Message { path: path() }),
            Err(Errno::AGAIN | Errno::INTR) => Ok(()),
            Err(error) => Err(failed("read", &self.connection.path)(error.into())),
        }
    }
}

fn failed(what: &'static str, path: &str) -> impl FnOnce(io::Error) -> VhostError {
    let path = path.to_owned();
    move |error| VhostError::Socket { what, path, error }
}

/// The socket, over which both sides say how they do without it.
#[derive(Debug)]
struct Connection {
    socket: UnixStream,
    path: String,
    /// The peer says of each message whether it could do that.
    acknowledges: bool,
}

impl Connection {
    fn set_up(
        &mut self,
        regions: &[(u64, (BorrowedFd<'_>, u64)); 2],
        entries: usize,
        layouts: &[Layout; 2],
        kicks: &[OwnedFd; 2],
    ) -> Result<(), VhostError> {
        self.send(SET_OWNER, &[], &[])?;
        let features = self.ask(GET_FEATURES)?;
        if features & FEATURE_VERSION_1 == 0 {
            return Err(VhostError::Features { path: self.path.clone(), features });
        }
        let has_protocol = features & FEATURE_PROTOCOL != 0;
        if has_protocol {
            let acknowledges = self.ask(GET_PROTOCOL_FEATURES)? & PROTOCOL_REPLY_ACK;
            self.send(SET_PROTOCOL_FEATURES, &words(&[acknowledges]), &[])?;
            self.acknowledges = acknowledges != 0;
        }
        // Nothing that a header would say something about.
        self.tell(SET_FEATURES, &words(&[FEATURE_VERSION_1 | features & FEATURE_PROTOCOL]), &[])?;
        // Number of regions, and four bytes to align; of each: address for the device, length, address in the messages
        // below, and offset in its file.
        let table = regions.iter().flat_map(|&(at, (_, bytes))| [at, bytes, at, 0]);
        let table: Vec<u64> = std::iter::once(regions.len() as u64).chain(table).collect();
        self.tell(SET_MEM_TABLE, &words(&table), &regions.map(|(_, (file, _))| file))?;
        for (queue, (layout, kick)) in layouts.iter().zip(kicks).enumerate() {
            let state = |value: u64| words(&[queue as u64 | value << 32]);
            let at = |offset: usize| RINGS_AT + offset as u64;
            self.tell(SET_VRING_NUM, &state(entries as u64), &[])?;
            self.tell(SET_VRING_BASE, &state(0), &[])?;
            let places = [at(layout.descriptors), at(layout.used), at(layout.available), 0];
            self.tell(SET_VRING_ADDR, &[state(0), words(&places)].concat(), &[])?;
            self.tell(SET_VRING_CALL, &words(&[queue as u64 | NO_FILE]), &[])?;
            self.tell(SET_VRING_KICK, &words(&[queue as u64]), &[kick.as_fd()])?;
        }
        if has_protocol {
            for queue in 0..layouts.len() as u64 {
                self.tell(SET_VRING_ENABLE, &words(&[queue | 1 << 32]), &[])?;
            }
        }
        Ok(())
    }

    /// Sends a message, and waits until the peer has done what it says, if it replies.
    fn tell(&mut self, request: Request, payload: &[u8], files: &[BorrowedFd<'_>]) -> Result<(), VhostError> {
        self.send(request, payload, files)?;
        let code = if self.acknowledges { self.answer(request)? } else { 0 };
        let message = request.1;
        if code == 0 { Ok(()) } else { Err(VhostError::Rejected { path: self.path.clone(), message, code }) }
    }

    /// Sends a message without payload. Returns the number that is its answer.
    fn ask(&mut self, request: Request) -> Result<u64, VhostError> {
        self.send(request, &[], &[])?;
        self.answer(request)
    }

    /// Header of 12 bytes: number, flags, length of the payload.
    fn send(&mut self, request: Request, payload: &[u8], files: &[BorrowedFd<'_>]) -> Result<(), VhostError> {
        let flags = VERSION | if self.acknowledges { NEED_REPLY } else { 0 };
        let header = [request.0, flags, payload.len() as u32];
        let message: Vec<u8> =
            header.iter().flat_map(|word| word.to_ne_bytes()).chain(payload.iter().copied()).collect();
        let failed = failed("send to", &self.path);
        self.socket.set_write_timeout(Some(PATIENCE)).map_err(self::failed("set up", &self.path))?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            ancillary.push(SendAncillaryMessage::ScmRights(files));
        }
        // A message is far shorter than what a socket takes at once.
        match sendmsg(&self.socket, &[IoSlice::new(&message)], &mut ancillary, SendFlags::NOSIGNAL) {
            Ok(sent) if sent == message.len() => Ok(()),
            Ok(_) | Err(Errno::AGAIN) => Err(VhostError::TimedOut { path: self.path.clone(), message: request.1 }),
            Err(Errno::PIPE | Errno::CONNRESET) => Err(VhostError::Closed { path: self.path.clone() }),
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Files that come with an answer are not received: the kernel closes them.
    fn answer(&mut self, request: Request) -> Result<u64, VhostError> {
        let until = Instant::now() + PATIENCE;
        let mut header = [[0; 4]; 3];
        self.receive(header.as_flattened_mut(), until, request)?;
        let [number, flags, bytes] = header.map(u32::from_ne_bytes);
        if number != request.0 || flags & (VERSION_MASK | REPLY) != VERSION | REPLY || bytes != 8 {
            let (path, message) = (self.path.clone(), request.1);
            return Err(VhostError::Answer { path, message, request: number, flags, bytes });
        }
        let mut payload = [0; 8];
        self.receive(&mut payload, until, request)?;
        Ok(u64::from_ne_bytes(payload))
    }

    fn receive(&mut self, mut bytes: &mut [u8], until: Instant, request: Request) -> Result<(), VhostError> {
        while !bytes.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            let timed_out = || VhostError::TimedOut { path: self.path.clone(), message: request.1 };
            if left.is_zero() {
                return Err(timed_out());
            }
            self.socket.set_read_timeout(Some(left)).map_err(failed("set up", &self.path))?;
            match self.socket.read(bytes) {
                Ok(0) => return Err(VhostError::Closed { path: self.path.clone() }),
                Ok(read) => bytes = bytes.get_mut(read..).unwrap_or_default(),
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock | ErrorKind::TimedOut => return Err(timed_out()),
                    ErrorKind::ConnectionReset => return Err(VhostError::Closed { path: self.path.clone() }),
                    _ => return Err(failed("read", &self.path)(error)),
                },
            }
        }
        Ok(())
    }
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}
