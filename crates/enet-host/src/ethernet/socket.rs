//! A UDP socket of its own on an Ethernet port of `prony-ixgbe`.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::time::Duration;

use prony_ixgbe::{Address, AnyPort, DmaError, Options, Packet, Pool, PoolKind, Port, PortError, wait_for_frames};

use super::counts::{EthernetTraffic, Unsent};
use super::frame::{self, HEADER_BYTES, Mac, Station};
use super::link::{Handled, Link, LinkError, LinkOptions, Routed};
use crate::batch::{BATCH, Datagram};
use crate::clock;
use crate::prefetch::prefetch;
use crate::transport::Transport;

/// Lines of a frame that are brought near before it is read: all of a short one.
const PREFETCHED_BYTES: usize = 128;
/// Frames that one call takes in at most: a flood of frames that are refused ends here, and what is due is done.
const FRAMES_A_CALL: usize = 1024;
/// Longest wait while frames wait for room in the ring.
const RETRY: Duration = Duration::from_millis(1);
/// Waits between two checks of a port that is polled; a check is a system call.
const WAITS_A_CHECK: u32 = 1024;

/// How a port is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EthernetOptions {
    /// The station's link.
    pub link: LinkOptions,
    /// Hardware address; `None`: that of the interface, if the port is one.
    pub mac: Option<Mac>,
    /// Frames that the port keeps until they are read, and as many until they are sent: a power of two.
    pub ring_entries: usize,
    /// Waits sleep until a frame arrives, if the port can tell. Otherwise they poll it, and take a whole core.
    pub sleeps: bool,
}

impl Default for EthernetOptions {
    fn default() -> EthernetOptions {
        EthernetOptions { link: LinkOptions::default(), mac: None, ring_entries: 4096, sleeps: true }
    }
}

/// Reasons why a port was not opened.
#[derive(Debug, thiserror::Error)]
pub enum EthernetError {
    /// The port itself.
    #[error(transparent)]
    Port(#[from] PortError),
    /// Memory for its frames.
    #[error(transparent)]
    Memory(#[from] DmaError),
    /// The addresses of the station.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// Rings have a power of two as their size.
    #[error("expected a power of two from 64 to 32768 as the number of entries of a ring, found {found}")]
    Ring {
        /// Number that was given.
        found: usize,
    },
    /// The port has no hardware address that is known.
    #[error("no hardware address: this port has none of its own, set `EthernetOptions::mac`")]
    NoMac,
}

/// A datagram that was received, and lies where it arrived.
#[derive(Debug)]
struct Received {
    packet: Packet,
    from: SocketAddrV4,
    bytes: usize,
}

/// A UDP socket of its own on an Ethernet port: one port of one IPv4 address.
///
/// It answers ARP, and nothing else but what the host sends. Datagrams are read where they arrived, and no frame is allocated for.
#[derive(Debug)]
pub struct EthernetSocket<P> {
    port: P,
    pool: Pool,
    link: Link,
    /// Frames on their way from the port to `received`.
    arrived: Vec<Packet>,
    received: Vec<Received>,
    /// Frames on their way to the port: those that found no room in its ring lie at the front.
    outgoing: Vec<Packet>,
    /// Frames that may wait there; each keeps a buffer from those that arrive.
    outgoing_max: usize,
    waits: u32,
}

impl EthernetSocket<AnyPort> {
    /// Opens a port of any kind at an IPv4 address and port. One that is listened for is waited for.
    ///
    /// # Errors
    /// [`EthernetError`].
    pub fn open(port: &Address, address: SocketAddrV4, options: &EthernetOptions) -> Result<Self, EthernetError> {
        let entries = options.ring_entries;
        if !entries.is_power_of_two() || !(64..=32_768).contains(&entries) {
            return Err(EthernetError::Ring { found: entries });
        }
        // Known before the port is opened, which takes the interface from the kernel.
        let none_of_its_own = [2, 0, 0, 0, 0, 0];
        Link::new(Station { mac: options.mac.unwrap_or(none_of_its_own), address }, &options.link)?;
        let mut pool = port.pool(PoolKind::default(), buffers(entries))?;
        let port_options = Options { ring_entries: entries, interrupt: options.sleeps, ..Options::default() };
        let port = AnyPort::open(port, &mut pool, port_options)?;
        let mac = options.mac.or(port.hardware_address()).ok_or(EthernetError::NoMac)?;
        Ok(EthernetSocket::new(port, pool, Link::new(Station { mac, address }, &options.link)?, entries))
    }
}

/// Buffers for both rings, frames that wait for room, and a batch each way.
fn buffers(ring_entries: usize) -> usize {
    3 * ring_entries + 2 * BATCH
}

impl<P: Port> EthernetSocket<P> {
    /// A socket on a port that was opened with `pool`. As many frames as `outgoing_max` may wait for room in its ring.
    pub fn new(port: P, pool: Pool, link: Link, outgoing_max: usize) -> EthernetSocket<P> {
        EthernetSocket {
            port,
            pool,
            link,
            arrived: Vec::with_capacity(BATCH),
            received: Vec::with_capacity(BATCH),
            outgoing: Vec::with_capacity(outgoing_max + 2 * BATCH),
            outgoing_max,
            waits: 0,
        }
    }

    /// Address and port.
    pub fn local_address(&self) -> SocketAddrV4 {
        self.link.station().address
    }

    /// Hardware address.
    pub fn mac(&self) -> Mac {
        self.link.station().mac
    }

    /// Counts of the traffic so far. Asks the port for the frames that it dropped.
    pub fn traffic(&self) -> EthernetTraffic {
        EthernetTraffic { missed: self.port.missed(), ..self.link.traffic() }
    }

    /// Hands over what waits for room in the ring.
    fn push(&mut self) {
        if self.outgoing.is_empty() {
            return;
        }
        self.port.tx_batch(&mut self.pool, &mut self.outgoing);
        self.link.traffic.ring_full += u64::from(!self.outgoing.is_empty());
    }

    /// A buffer for a frame that is sent; `None` if all of them wait.
    fn buffer(&mut self, bytes: usize) -> Option<Packet> {
        if self.outgoing.len() >= self.outgoing_max {
            self.push();
        }
        let may_take = self.outgoing.len() < self.outgoing_max;
        let packet = if may_take { self.pool.take(bytes) } else { None };
        if packet.is_none() {
            self.link.traffic.count_unsent(Unsent::NoBuffer);
        }
        packet
    }

    /// Sends a frame that is written already.
    #[cold]
    fn send_frame(&mut self, frame: &[u8]) {
        if let Some(mut packet) = self.buffer(frame.len()) {
            self.pool.bytes_mut(&mut packet).copy_from_slice(frame);
            self.outgoing.push(packet);
        }
    }

    #[inline]
    fn send_one(&mut self, now: Duration, datagram: &Datagram) {
        let Routed { to, request } = self.link.route(now, datagram.to, datagram.bytes.len());
        if let Some(request) = request {
            self.send_frame(&request);
        }
        let Ok((mac, to)) = to else { return };
        let Some(mut packet) = self.buffer(frame::frame_bytes(datagram.bytes.len())) else { return };
        let written = {
            let frame = self.pool.bytes_mut(&mut packet);
            frame::write_datagram(frame, self.link.station(), mac, to, &datagram.bytes)
        };
        match written {
            Some(()) => {
                self.outgoing.push(packet);
                self.link.traffic.sent += 1;
            }
            None => {
                self.pool.give(packet);
                self.link.traffic.count_unsent(Unsent::TooLong);
            }
        }
    }

    /// Takes frames from the port until a batch of datagrams is full, or nothing is left. Returns how many frames there were.
    fn take_in(&mut self, now: Duration) -> usize {
        let room = BATCH - self.received.len();
        let count = self.port.rx_batch(&mut self.pool, &mut self.arrived, room);
        // Another core, or a card, has written them.
        for packet in &self.arrived {
            prefetch(self.pool.bytes(packet).as_ptr(), PREFETCHED_BYTES.min(packet.len()));
        }
        let mut arrived = std::mem::take(&mut self.arrived);
        for packet in arrived.drain(..) {
            match self.link.handle_frame(now, self.pool.bytes(&packet)) {
                Handled::Datagram { from, bytes } => self.received.push(Received { packet, from, bytes }),
                Handled::Answer(frame) => {
                    self.pool.give(packet);
                    self.send_frame(&frame);
                }
                Handled::Nothing => self.pool.give(packet),
            }
        }
        self.arrived = arrived;
        count
    }
}

impl<P: Port> Transport for EthernetSocket<P> {
    fn receive(&mut self) -> io::Result<usize> {
        for Received { packet, .. } in self.received.drain(..) {
            self.pool.give(packet);
        }
        // What was sent gives its buffers back, also where nothing more is sent.
        if self.pool.free() < BATCH {
            self.port.clean_up(&mut self.pool);
        }
        let (now, mut frames) = (clock::monotonic(), 0);
        while self.received.len() < BATCH && frames < FRAMES_A_CALL {
            let count = self.take_in(now);
            if count == 0 {
                break;
            }
            frames += count;
        }
        self.push();
        Ok(self.received.len())
    }

    #[inline]
    fn datagram(&self, entry: usize) -> Option<(SocketAddr, &[u8])> {
        let received = self.received.get(entry)?;
        let payload = self.pool.bytes(&received.packet).get(HEADER_BYTES..)?.get(..received.bytes)?;
        Some((received.from.into(), payload))
    }

    fn send(&mut self, datagrams: &[Datagram]) {
        let now = clock::monotonic();
        for datagram in datagrams {
            self.send_one(now, datagram);
        }
        self.push();
    }

    fn wait(&mut self, timeout: Duration) -> io::Result<bool> {
        self.waits = self.waits.wrapping_add(1);
        let sleeps = self.port.interrupt().is_some();
        if sleeps || self.waits.is_multiple_of(WAITS_A_CHECK) {
            self.port.check().map_err(io::Error::other)?;
        }
        let timeout = if self.outgoing.is_empty() { timeout } else { timeout.min(RETRY) };
        wait_for_frames(&mut [&mut self.port], Some(timeout))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::ethernet::Refused;
    use crate::ethernet::frame::{OWN, PEER};

    /// A wire: frames that arrive, and room for those that leave.
    #[derive(Default)]
    struct Wire {
        arriving: VecDeque<Vec<u8>>,
        left: Vec<Vec<u8>>,
        room: usize,
    }

    impl Port for Wire {
        fn rx_batch(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>, max: usize) -> usize {
            let count = self.arriving.len().min(max).min(pool.free());
            for frame in self.arriving.drain(..count) {
                let mut packet = pool.take(frame.len()).expect("so many are free");
                pool.bytes_mut(&mut packet).copy_from_slice(&frame);
                packets.push(packet);
            }
            count
        }

        fn tx_batch(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
            let count = packets.len().min(self.room);
            self.room -= count;
            for packet in packets.drain(..count) {
                self.left.push(pool.bytes(&packet).to_vec());
                pool.give(packet);
            }
            count
        }

        fn clean_up(&mut self, _pool: &mut Pool) {}
    }

    fn socket(buffers: usize, outgoing_max: usize) -> EthernetSocket<Wire> {
        let pool = Pool::for_sockets(PoolKind::Checked, buffers).expect("there is memory");
        let link = Link::new(OWN, &LinkOptions::default()).expect("the options are right");
        EthernetSocket::new(Wire { room: usize::MAX, ..Wire::default() }, pool, link, outgoing_max)
    }

    fn frame(payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; frame::frame_bytes(payload.len())];
        frame::write_datagram(&mut bytes, &PEER, OWN.mac, OWN.address, payload).expect("it fits");
        bytes
    }

    fn to_peer(number: u8) -> Datagram {
        Datagram { to: PEER.address.into(), bytes: vec![number; 20] }
    }

    /// The first byte of the payload of each frame that left.
    fn left(socket: &mut EthernetSocket<Wire>) -> Vec<u8> {
        let left = socket.port.left.drain(..).map(|frame| frame[HEADER_BYTES]);
        left.collect()
    }

    #[test]
    fn batches_are_full_until_nothing_is_left_and_datagrams_are_those_that_arrived() {
        let mut socket = socket(256, 64);
        for number in 0..150_u8 {
            socket.port.arriving.push_back(frame(&[number; 30]));
            // What is refused takes no place in a batch.
            socket.port.arriving.push_back(vec![0; 60]);
        }
        let mut seen = Vec::new();
        loop {
            let count = socket.receive().expect("the port works");
            for entry in 0..count {
                let (from, payload) = socket.datagram(entry).expect("it is there");
                assert_eq!((from, payload.len()), (PEER.address.into(), 30));
                seen.push(payload[0]);
            }
            assert!(socket.datagram(count).is_none());
            if count < BATCH {
                break;
            }
        }
        assert_eq!(seen, (0..150).collect::<Vec<u8>>());
        socket.receive().expect("the port works");
        assert_eq!(socket.pool.free(), 256, "each buffer is given back");
        assert_eq!((socket.traffic().received, socket.traffic().refused(Refused::Source)), (150, 150));
    }

    #[test]
    fn a_flood_of_frames_that_are_refused_ends_a_call() {
        let mut socket = socket(256, 64);
        socket.port.arriving.extend((0..5000).map(|_| vec![0; 60]));
        assert_eq!(socket.receive().expect("the port works"), 0);
        assert!(socket.port.arriving.len() > 5000 - FRAMES_A_CALL - BATCH, "{}", socket.port.arriving.len());
    }

    #[test]
    fn what_finds_no_room_in_the_ring_waits_in_order_and_what_is_too_much_is_counted() {
        let mut socket = socket(256, 10);
        socket.port.arriving.push_back(frame(b"hello"));
        socket.receive().expect("the port works");
        socket.port.room = 3;
        let datagrams: Vec<Datagram> = (0..20).map(to_peer).collect();
        socket.send(&datagrams);
        // Ten fill the list, of which three leave; three more fill it again.
        assert_eq!(left(&mut socket), [0, 1, 2]);
        assert_eq!((socket.traffic().sent, socket.traffic().unsent(Unsent::NoBuffer)), (13, 7));
        assert!(socket.traffic().ring_full > 0);
        socket.port.room = usize::MAX;
        socket.receive().expect("the port works");
        assert_eq!(left(&mut socket), [3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(socket.pool.free(), 256, "each buffer is given back");
    }

    #[test]
    fn without_a_free_buffer_datagrams_are_counted_and_requests_are_still_taken_in() {
        let mut socket = socket(4, 64);
        socket.port.arriving.push_back(frame(b"hello"));
        socket.receive().expect("the port works");
        socket.port.room = 0;
        socket.send(&(0..9).map(to_peer).collect::<Vec<_>>());
        assert_eq!((socket.traffic().sent, socket.traffic().unsent(Unsent::NoBuffer)), (3, 6));
        socket.port.room = usize::MAX;
        socket.port.arriving.push_back(frame::arp_request(&PEER, *OWN.address.ip()).to_vec());
        socket.receive().expect("the port works");
        assert_eq!(socket.port.left.len(), 4, "three datagrams and an answer");
        assert_eq!(socket.traffic().arp_answered, 1);
    }

    #[test]
    fn rings_and_addresses_are_checked_before_the_port_is_opened() {
        let none: Address = "xdp:prony-none".parse().expect("any text is an address");
        let open = |options: &EthernetOptions| {
            EthernetSocket::open(&none, OWN.address, options).expect_err("it is wrong").to_string()
        };
        let ring = EthernetOptions { ring_entries: 100, ..EthernetOptions::default() };
        assert!(open(&ring).ends_with("as the number of entries of a ring, found 100"));
        let link = LinkOptions { prefix_bits: 31, ..LinkOptions::default() };
        let link = EthernetOptions { link, ..EthernetOptions::default() };
        assert_eq!(open(&link), "expected a prefix of 16 to 30 bits, found 31");
        assert!(open(&EthernetOptions::default()).starts_with("cannot find the interface for prony-none: "));
    }
}
