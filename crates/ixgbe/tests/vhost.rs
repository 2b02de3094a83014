//! The driver for virtio against a back end of its own, which reads and writes the shared memory as files: rings that wrap at
//! every offset, notifications, and peers that break every rule.

mod wire;

use std::fs::File;
use std::io::{IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};

use prony_ixgbe::{Options, Packet, Pool, PoolKind, Port, RingMistake, Statistics, VhostError, VhostUser};
use proptest::prelude::*;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use wire::Example;

const HEADER_BYTES: usize = 12;
const BUFFER_BYTES: u32 = 12 + 1792;
const VERSION_1: u64 = 1 << 32;
const PROTOCOL: u64 = 1 << 30;
const REPLY_ACK: u64 = 1 << 3;
const SMALL: Options = Options { ring_entries: 8, clean_batch: 1, prefetch: true, interrupt: false };

/// A part of the front end's memory.
struct Region {
    guest: Range<u64>,
    user: Range<u64>,
    file_offset: u64,
    file: File,
}

#[derive(Default)]
struct Ring {
    entries: u32,
    base: u32,
    /// Addresses of descriptors, used and available ring.
    places: [u64; 3],
    kick: Option<File>,
    polls_for_call: bool,
    is_enabled: bool,
    next_available: u16,
    next_used: u16,
}

/// What a back end says.
#[derive(Clone, Copy)]
struct Manners {
    features: u64,
    protocol_features: u64,
    /// The message to which something else comes than the answer.
    odd: Option<(u32, Odd)>,
}

#[derive(Clone, Copy)]
enum Odd {
    Close,
    Reject,
    Short,
    OtherNumber,
    NoReplyFlag,
}

const POLITE: Manners =
    Manners { features: VERSION_1 | PROTOCOL | 1 << 15, protocol_features: REPLY_ACK | 1, odd: None };

/// A back end of virtio-net.
struct Backend {
    socket: UnixStream,
    regions: Vec<Region>,
    rings: [Ring; 2],
    features: u64,
    acknowledges: bool,
    messages: Vec<u32>,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

impl Backend {
    /// Serves the set-up until both rings are started; `None` if the front end gave up, or the back end did.
    fn start(socket: UnixStream, manners: Manners) -> Option<Backend> {
        let (rings, regions, messages) = (Default::default(), Vec::new(), Vec::new());
        let mut backend = Backend { socket, regions, rings, features: 0, acknowledges: false, messages };
        loop {
            let needed = if backend.features & PROTOCOL == 0 { 10 } else { 13 };
            let is_started = match backend.features & PROTOCOL {
                0 => backend.rings.iter().all(|ring| ring.kick.is_some()),
                _ => backend.rings.iter().all(|ring| ring.is_enabled),
            };
            if is_started {
                assert!(backend.messages.len() >= needed, "{:?}", backend.messages);
                return Some(backend);
            }
            backend.serve(manners)?;
        }
    }

    fn serve(&mut self, manners: Manners) -> Option<()> {
        let mut header = [0; 12];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(8))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let read =
            recvmsg(&self.socket, &mut [IoSliceMut::new(&mut header)], &mut ancillary, RecvFlags::CMSG_CLOEXEC).ok()?;
        if read.bytes == 0 {
            return None;
        }
        assert_eq!(read.bytes, header.len(), "a header comes in one piece");
        let mut files: Vec<OwnedFd> = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(more) = message {
                files.extend(more);
            }
        }
        let (request, flags) = (word(&header, 0), word(&header, 4));
        assert_eq!(flags & 3, 1, "version 1");
        let mut payload = vec![0; word(&header, 8) as usize];
        self.socket.read_exact(&mut payload).ok()?;
        self.messages.push(request);
        let mut files = files.into_iter().map(File::from);
        let wants_reply = flags & 8 != 0;
        let ring = |payload: &[u8]| (payload[0] & 1) as usize;
        let mut answer = wants_reply.then_some(0);
        match request {
            1 => answer = Some(manners.features),
            2 => self.features = long(&payload, 0),
            3 => {}
            5 => {
                assert_eq!(payload.len(), 8 + 32 * word(&payload, 0) as usize);
                for region in payload[8..].chunks(32) {
                    let [guest, bytes, user, file_offset] = [0, 8, 16, 24].map(|at| long(region, at));
                    let file = files.next().expect("a file for each region");
                    self.regions.push(Region {
                        guest: guest..guest + bytes,
                        user: user..user + bytes,
                        file_offset,
                        file,
                    });
                }
            }
            8 => self.rings[ring(&payload)].entries = word(&payload, 4),
            9 => self.rings[ring(&payload)].places = [8, 16, 24].map(|at| long(&payload, at)),
            10 => self.rings[ring(&payload)].base = word(&payload, 4),
            12 => self.rings[ring(&payload)].kick = files.next(),
            13 => self.rings[ring(&payload)].polls_for_call = long(&payload, 0) & 1 << 8 != 0,
            15 => answer = Some(manners.protocol_features),
            16 => self.acknowledges = long(&payload, 0) & REPLY_ACK != 0,
            18 => self.rings[ring(&payload)].is_enabled = word(&payload, 4) == 1,
            other => panic!("message {other} was not expected"),
        }
        let (mut number, mut reply, mut bytes) = (request, 5u32, 8u32);
        match manners.odd.filter(|odd| odd.0 == request).map(|odd| odd.1) {
            None => {}
            Some(Odd::Close) => return None,
            Some(Odd::Reject) => answer = Some(7),
            Some(Odd::Short) => bytes = 4,
            Some(Odd::OtherNumber) => number = 99,
            Some(Odd::NoReplyFlag) => reply = 1,
        }
        if let Some(answer) = answer {
            let header = [number, reply, bytes].map(u32::to_ne_bytes).concat();
            // The front end may have gone already.
            self.socket.write_all(&[&header[..], &answer.to_ne_bytes()].concat()).ok()?;
        }
        Some(())
    }

    /// Where an address of a message (`is_user`) or of a descriptor is. Fails if it is in no region.
    fn place(&self, at: u64, bytes: u64, is_user: bool) -> (&File, u64) {
        let range = |region: &Region| if is_user { region.user.clone() } else { region.guest.clone() };
        let found = self.regions.iter().find(|region| range(region).start <= at && at + bytes <= range(region).end);
        let region = found.unwrap_or_else(|| panic!("{bytes} bytes at {at:#x} lie in no region"));
        (&region.file, at - range(region).start + region.file_offset)
    }

    fn read<const BYTES: usize>(&self, at: u64, is_user: bool) -> [u8; BYTES] {
        let (file, place) = self.place(at, BYTES as u64, is_user);
        let mut bytes = [0; BYTES];
        file.read_exact_at(&mut bytes, place).expect("the file has its length");
        bytes
    }

    fn write(&self, at: u64, bytes: &[u8], is_user: bool) {
        let (file, place) = self.place(at, bytes.len() as u64, is_user);
        file.write_all_at(bytes, place).expect("the file has its length");
    }

    /// The next descriptor of a ring: its identifier, address, length, and flags.
    fn next(&mut self, ring: usize) -> Option<(u16, u64, u32, u16)> {
        let [descriptors, _, available] = self.rings[ring].places;
        let entries = self.rings[ring].entries as u16;
        let index = u16::from_ne_bytes(self.read(available + 2, true));
        if index == self.rings[ring].next_available {
            return None;
        }
        let slot = u64::from(self.rings[ring].next_available % entries);
        self.rings[ring].next_available = self.rings[ring].next_available.wrapping_add(1);
        let id = u16::from_ne_bytes(self.read(available + 4 + slot * 2, true));
        assert!(id < entries, "descriptor {id} of {entries}");
        let descriptor: [u8; 16] = self.read(descriptors + u64::from(id) * 16, true);
        let flags = u16::from_ne_bytes([descriptor[12], descriptor[13]]);
        Some((id, long(&descriptor, 0), word(&descriptor, 8), flags))
    }

    /// Gives a descriptor back.
    fn give(&mut self, ring: usize, id: u32, length: u32) {
        let used = self.rings[ring].places[1];
        let slot = u64::from(self.rings[ring].next_used % self.rings[ring].entries as u16);
        self.write(used + 4 + slot * 8, &[id.to_ne_bytes(), length.to_ne_bytes()].concat(), true);
        let next = self.rings[ring].next_used.wrapping_add(1);
        self.rings[ring].next_used = next;
        self.write(used + 2, &next.to_ne_bytes(), true);
    }

    /// Has a frame received.
    fn deliver(&mut self, frame: &[u8]) {
        let (id, address, length, flags) = self.next(0).expect("there is a buffer");
        assert_eq!((length, flags), (BUFFER_BYTES, 2), "a buffer that the device writes");
        // A header with the number of buffers, which is not needed.
        let header = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
        self.write(address, &[&header, frame].concat(), false);
        self.give(0, id.into(), (HEADER_BYTES + frame.len()) as u32);
    }

    /// The next frame that was sent.
    fn sent(&mut self) -> Option<Vec<u8>> {
        let (id, address, length, flags) = self.next(1)?;
        assert_eq!(flags, 0, "one buffer that the device reads");
        let (file, place) = self.place(address, length.into(), false);
        let mut bytes = vec![0; length as usize];
        file.read_exact_at(&mut bytes, place).expect("the file has its length");
        self.give(1, id.into(), 0);
        let frame = bytes.split_off(HEADER_BYTES);
        assert_eq!(bytes, [0; HEADER_BYTES], "a header that asks for nothing");
        Some(frame)
    }

    /// Notifications since the last call.
    fn kicks(&self, ring: usize) -> u64 {
        let mut count = [0; 8];
        let mut kick = self.rings[ring].kick.as_ref().expect("it came with the set-up");
        kick.read_exact(&mut count).map_or(0, |()| u64::from_ne_bytes(count))
    }

    fn poll_mode(&self, is_polling: bool) {
        for ring in &self.rings {
            self.write(ring.places[1], &u16::from(is_polling).to_ne_bytes(), true);
        }
    }
}

/// The path of a socket, removed with its value.
struct Socket(PathBuf);

impl Socket {
    fn new() -> Socket {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Socket(std::env::temp_dir().join(format!("prony-vhost-{}-{number}", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path of digits and letters")
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn serve(socket: &Socket, manners: Manners) -> JoinHandle<Option<Backend>> {
    let listener = UnixListener::bind(&socket.0).expect("nobody has this name");
    thread::spawn(move || Backend::start(listener.accept().expect("the driver connects").0, manners))
}

fn pool(buffers: usize) -> Pool {
    Pool::for_sockets(PoolKind::Checked, buffers).expect("there is memory")
}

/// A driver and a back end that are set up.
fn pair(manners: Manners, pool: &mut Pool) -> (VhostUser, Backend) {
    let socket = Socket::new();
    let backend = serve(&socket, manners);
    let driver = VhostUser::connect(socket.path(), pool, SMALL).expect("the back end is there");
    (driver, backend.join().expect("it does not panic").expect("it was set up"))
}

/// What the set-up fails with.
fn refusal(manners: Manners) -> VhostError {
    let (socket, mut pool) = (Socket::new(), pool(64));
    let backend = serve(&socket, manners);
    let error = VhostUser::connect(socket.path(), &mut pool, SMALL).expect_err("a peer with bad manners");
    backend.join().expect("it does not panic");
    error
}

fn send(driver: &mut VhostUser, pool: &mut Pool, frame: &[u8]) {
    let mut packet = pool.take(frame.len()).expect("the pool has more than a ring");
    pool.bytes_mut(&mut packet).copy_from_slice(frame);
    let mut packets = vec![packet];
    assert_eq!(driver.tx_batch(pool, &mut packets), 1, "there is room");
}

/// Frames of different lengths and contents.
fn frame(number: u32) -> Vec<u8> {
    let bytes = 14 + (number as usize * 37) % 1779;
    (0..bytes).map(|byte| (byte as u32 + number) as u8).collect()
}

#[test]
fn the_set_up_requests_what_is_offered_and_nothing_else() {
    let mut pool = pool(64);
    let (mut driver, backend) = pair(POLITE, &mut pool);
    assert_eq!(backend.features, VERSION_1 | PROTOCOL);
    assert_eq!(backend.messages, [3, 1, 15, 16, 2, 5, 8, 10, 9, 13, 12, 8, 10, 9, 13, 12, 18, 18]);
    for ring in &backend.rings {
        assert_eq!((ring.entries, ring.base, ring.polls_for_call), (8, 0, true));
        let [descriptors, used, available] = ring.places;
        assert_eq!((descriptors % 16, used % 4, available % 2), (0, 0, 0), "aligned as 2.7 has it");
    }
    driver.check().expect("it works");
    let plain = Manners { features: VERSION_1, ..POLITE };
    let (_driver, backend) = pair(plain, &mut pool);
    assert_eq!(backend.features, VERSION_1);
    assert_eq!(
        backend.messages,
        [3, 1, 2, 5, 8, 10, 9, 13, 12, 8, 10, 9, 13, 12],
        "nothing of the protocol's features"
    );
}

#[test]
fn memory_that_a_peer_got_keeps_its_length() {
    let (_driver, backend) = pair(POLITE, &mut pool(64));
    assert_eq!(backend.regions.len(), 2);
    for region in &backend.regions {
        let bytes = region.file.metadata().expect("it is a file").len();
        assert_eq!(bytes, region.user.end - region.user.start);
        region.file.set_len(bytes / 2).expect_err("a page that is missing would end the driver");
        region.file.set_len(bytes + 4096).expect_err("it is sealed");
    }
}

/// Bursts of every length begin at every descriptor, and both indices wrap at 65,536.
#[test]
fn frames_are_whole_and_in_order_wherever_a_ring_wraps() {
    let mut pool = pool(64);
    let (mut driver, mut backend) = pair(POLITE, &mut pool);
    let mut packets = Vec::new();
    let (mut number, mut burst, mut bytes) = (0u32, 1, 0);
    while number < 66_000 {
        let first = number;
        for _ in 0..burst {
            backend.deliver(&frame(number));
            number += 1;
        }
        assert_eq!(driver.rx_batch(&mut pool, &mut packets, 32), burst);
        for (packet, number) in packets.iter().zip(first..) {
            assert_eq!(pool.bytes(packet), frame(number));
            bytes += packet.len() as u64 + 4;
        }
        assert_eq!(driver.tx_batch(&mut pool, &mut packets), burst);
        for number in first..number {
            assert_eq!(backend.sent(), Some(frame(number)));
        }
        burst = burst % 8 + 1;
    }
    let (received, received_bytes) = (number.into(), bytes);
    let (transmitted, transmitted_bytes) = (received, bytes);
    let all = Statistics { received, transmitted, received_bytes, transmitted_bytes, missed: 0 };
    assert_eq!(driver.statistics(), all);
    assert_eq!(driver.statistics(), Statistics::default());
    driver.clean_up(&mut pool);
    assert_eq!(pool.free(), 64 - 8, "all but the buffers that the peer has to fill");
    driver.check().expect("it works");
}

#[test]
fn descriptors_may_come_back_in_any_order() {
    let mut pool = pool(64);
    let (mut driver, mut backend) = pair(POLITE, &mut pool);
    for round in 0..100 {
        for number in 0..5 {
            send(&mut driver, &mut pool, &frame(number));
        }
        let mut taken: Vec<_> = (0..5).filter_map(|_| backend.next(1)).collect();
        taken.rotate_left(round % 5);
        taken.iter().for_each(|&(id, ..)| backend.give(1, id.into(), 0));
        let mut taken: Vec<_> = (0..5).filter_map(|_| backend.next(0)).collect();
        taken.rotate_left(round % 5);
        for &(id, address, ..) in &taken {
            backend.write(address, &[vec![0; HEADER_BYTES], frame(id.into())].concat(), false);
            backend.give(0, id.into(), (HEADER_BYTES + frame(id.into()).len()) as u32);
        }
        let mut packets = Vec::new();
        assert_eq!(driver.rx_batch(&mut pool, &mut packets, 32), 5);
        for (packet, (id, ..)) in packets.drain(..).zip(taken) {
            assert_eq!(pool.bytes(&packet), frame(id.into()));
            pool.give(packet);
        }
    }
    driver.check().expect("nothing is wrong with that");
}

#[test]
fn a_full_ring_and_an_empty_pool_lose_nothing() {
    let mut pool = pool(20);
    let (mut driver, mut backend) = pair(POLITE, &mut pool);
    let mut packets: Vec<Packet> = (0..10).map_while(|_| pool.take(60)).collect();
    assert_eq!(driver.tx_batch(&mut pool, &mut packets), 8, "as many as the ring has room for");
    assert_eq!(packets.len(), 2);
    for number in 0..4 {
        backend.deliver(&frame(number));
    }
    let mut received = Vec::new();
    assert_eq!(driver.rx_batch(&mut pool, &mut received, 32), 2, "as many as the pool has next buffers for");
    assert_eq!(pool.free(), 0);
    assert_eq!((0..9).filter_map(|_| backend.sent()).count(), 8);
    driver.clean_up(&mut pool);
    assert_eq!(pool.free(), 8);
    assert_eq!(driver.rx_batch(&mut pool, &mut received, 32), 2);
    for (packet, number) in received.iter().zip(0..) {
        assert_eq!(pool.bytes(packet), frame(number));
    }
    assert!(pool.take(1793).is_none(), "no frame reaches into the next one's header");
}

#[test]
fn a_peer_is_notified_only_if_it_requests_that() {
    let mut pool = pool(64);
    let (mut driver, mut backend) = pair(POLITE, &mut pool);
    let mut turn = |driver: &mut VhostUser, backend: &mut Backend| {
        send(driver, &mut pool, &frame(1));
        backend.deliver(&frame(2));
        let mut packets = Vec::new();
        assert_eq!(driver.rx_batch(&mut pool, &mut packets, 1), 1);
        packets.drain(..).for_each(|packet| pool.give(packet));
        [backend.kicks(0), backend.kicks(1)]
    };
    backend.poll_mode(true);
    assert_eq!(turn(&mut driver, &mut backend), [0, 0]);
    backend.poll_mode(false);
    assert_eq!(turn(&mut driver, &mut backend), [1, 1]);
}

#[test]
fn a_driver_can_be_the_side_that_listens() {
    let (socket, mut pool) = (Socket::new(), pool(64));
    let path = socket.0.clone();
    let backend = thread::spawn(move || {
        loop {
            match UnixStream::connect(&path) {
                Ok(stream) => return Backend::start(stream, POLITE),
                Err(_) => thread::yield_now(),
            }
        }
    });
    let mut driver = VhostUser::listen(socket.path(), &mut pool, SMALL).expect("the back end comes");
    let mut backend = backend.join().expect("it does not panic").expect("it was set up");
    assert!(!socket.0.exists(), "the socket is for one peer");
    send(&mut driver, &mut pool, &frame(3));
    assert_eq!(backend.sent(), Some(frame(3)));
}

/// One wrong step, and what the driver says about it.
fn broken(wrong: impl FnOnce(&mut Backend)) -> (&'static str, RingMistake) {
    let mut pool = pool(64);
    let (mut driver, mut backend) = pair(POLITE, &mut pool);
    for number in 0..3 {
        send(&mut driver, &mut pool, &frame(number));
    }
    wrong(&mut backend);
    let mut packets = Vec::new();
    driver.rx_batch(&mut pool, &mut packets, 32);
    driver.clean_up(&mut pool);
    let error = driver.check().expect_err("the driver noticed");
    let VhostError::Ring { queue, mistake, .. } = error else { panic!("{error}") };
    // Nothing moves any more, whatever the peer does.
    backend.deliver(&frame(9));
    assert_eq!(driver.rx_batch(&mut pool, &mut packets, 32), 0);
    let mut packets = vec![pool.take(60).expect("the pool has more")];
    assert_eq!((driver.tx_batch(&mut pool, &mut packets), packets.len()), (0, 1));
    (queue, mistake)
}

#[test]
fn a_peer_that_breaks_a_ring_is_named_and_left_alone() {
    use RingMistake::{Descriptor, Length, TooMany};
    let index = |ring: usize, value: u16| {
        broken(move |backend| backend.write(backend.rings[ring].places[1] + 2, &value.to_ne_bytes(), true))
    };
    assert_eq!(index(0, 9), ("receive", TooMany { found: 9, posted: 8 }));
    assert_eq!(index(0, u16::MAX), ("receive", TooMany { found: u16::MAX, posted: 8 }));
    assert_eq!(index(1, 4), ("transmit", TooMany { found: 4, posted: 3 }));
    let give = |ring, id, length| broken(move |backend| backend.give(ring, id, length));
    assert_eq!(give(0, 8, 72), ("receive", Descriptor { found: 8 }));
    assert_eq!(give(0, u32::MAX, 72), ("receive", Descriptor { found: u32::MAX }));
    // Only the three that were sent are on the other side.
    assert_eq!(give(1, 3, 0), ("transmit", Descriptor { found: 3 }));
    assert_eq!(give(1, 1 << 16, 0), ("transmit", Descriptor { found: 1 << 16 }));
    for length in [0, 11, BUFFER_BYTES + 1, 65_536 + 72, u32::MAX] {
        assert_eq!(give(0, 0, length), ("receive", Length { found: length }));
    }
    let twice = |ring, length| {
        broken(move |backend| {
            backend.give(ring, 2, length);
            backend.give(ring, 2, length);
        })
    };
    assert_eq!(twice(0, 72), ("receive", Descriptor { found: 2 }));
    assert_eq!(twice(1, 0), ("transmit", Descriptor { found: 2 }));
}

#[test]
fn a_frame_without_an_ethernet_header_is_dropped() {
    let mut pool = pool(64);
    let (mut driver, mut backend) = pair(POLITE, &mut pool);
    backend.deliver(&[]);
    backend.deliver(&[1; 13]);
    backend.deliver(&[2; 14]);
    let mut packets = Vec::new();
    assert_eq!(driver.rx_batch(&mut pool, &mut packets, 32), 1);
    assert_eq!(packets.iter().map(|packet| pool.bytes(packet)).collect::<Vec<_>>(), [[2; 14]]);
    assert_eq!(pool.free(), 64 - 8 - 1);
    driver.check().expect("short frames are no mistake");
}

#[test]
fn a_connection_that_ends_is_reported_and_opened_again() {
    let mut pool = pool(64);
    let (mut driver, mut backend) = pair(POLITE, &mut pool);
    driver.check().expect("it is there");
    backend.socket.write_all(b"?").expect("the driver is there");
    assert!(matches!(driver.check(), Err(VhostError::Message { .. })));
    let (mut driver, backend) = pair(POLITE, &mut pool);
    drop(backend);
    // A program that another test starts holds a copy of the socket until its `execve`.
    let error = loop {
        match driver.check() {
            Ok(()) => thread::yield_now(),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, VhostError::Closed { .. }), "{error}");
    assert!(error.to_string().ends_with(" closed the connection"), "{error}");
    let (mut driver, mut backend) = pair(POLITE, &mut pool);
    send(&mut driver, &mut pool, &frame(5));
    assert_eq!(backend.sent(), Some(frame(5)));
}

#[test]
fn a_forwarder_says_whose_peer_has_gone_or_breaks_a_ring() {
    let forward = |wrong: fn(Backend)| {
        let sockets = [Socket::new(), Socket::new()];
        let backends = [0, 1].map(|n: usize| serve(&sockets[n], POLITE));
        let [first, second] = [0, 1].map(|n: usize| format!("vhost-user:{}", sockets[n].path()));
        let forward = Example::start_with("forward", &[&first, &second], Stdio::piped());
        let [_first, second] = backends.map(|backend| backend.join().expect("no panic").expect("it was set up"));
        wrong(second);
        (forward.error(), sockets[1].path().to_owned())
    };
    let (error, path) = forward(drop);
    assert_eq!(error, format!("error: the peer of {path} closed the connection\n"));
    let (error, path) = forward(|mut backend| {
        backend.give(0, 1024, 72);
        // The driver has all the time that it needs.
        while backend.socket.read(&mut [0]).is_ok_and(|read| read > 0) {}
    });
    let mistake = "used descriptor 1024, which it does not have";
    assert_eq!(error, format!("error: the peer of {path} broke its receive queue: {mistake}\n"));
    let error = Example::fail("forward", &["vhost-user:/nowhere", "0000:03:00.0"]);
    assert_eq!(error, "error: expected two cards or two sockets, found one of each\n");
}

#[test]
fn a_peer_that_leaves_during_the_set_up_is_reported_at_every_message() {
    for message in [3, 1, 15, 16, 2, 5, 8, 10, 9, 13, 12, 18] {
        let error = refusal(Manners { odd: Some((message, Odd::Close)), ..POLITE });
        assert!(matches!(error, VhostError::Closed { .. }), "message {message}: {error}");
    }
}

#[test]
fn invalid_answers_are_reported_with_their_message() {
    for message in [2, 5, 8, 10, 9, 13, 12, 18] {
        let error = refusal(Manners { odd: Some((message, Odd::Reject)), ..POLITE });
        assert!(matches!(error, VhostError::Rejected { code: 7, .. }), "message {message}: {error}");
    }
    for (odd, says) in [
        (Odd::Short, "answered SET_MEM_TABLE with message 5, flags 0x5, 4 bytes"),
        (Odd::OtherNumber, "answered SET_MEM_TABLE with message 99, flags 0x5, 8 bytes"),
        (Odd::NoReplyFlag, "answered SET_MEM_TABLE with message 5, flags 0x1, 8 bytes"),
    ] {
        let error = refusal(Manners { odd: Some((5, odd)), ..POLITE });
        assert!(error.to_string().ends_with(says), "{error}");
    }
    let error = refusal(Manners { features: PROTOCOL, ..POLITE });
    assert!(error.to_string().ends_with("does not offer VIRTIO_F_VERSION_1, but 0x40000000"), "{error}");
}

#[test]
fn what_cannot_be_opened_is_reported() {
    let open = |pool: &mut Pool| {
        let socket = Socket::new();
        let listener = UnixListener::bind(&socket.0).expect("nobody has this name");
        let error = VhostUser::connect(socket.path(), pool, SMALL).expect_err("it cannot be opened");
        drop(listener);
        error.to_string()
    };
    assert_eq!(open(&mut pool(6)), "expected 8 free buffers in the pool, found 6");
    let mut list = Pool::for_sockets(PoolKind::List, 64).expect("there is memory");
    assert!(open(&mut list).ends_with("is an intrusive list, which the peer could change: use another kind"));
    let error = VhostUser::connect("/nowhere/at/all", &mut pool(64), SMALL).expect_err("there is no such path");
    assert!(error.to_string().starts_with("cannot connect to /nowhere/at/all: "), "{error}");
}

/// What a peer does that knows no rules.
#[derive(Debug, Clone)]
enum Step {
    /// Writes to a ring's part of the memory.
    Scribble {
        ring: usize,
        at: u64,
        bytes: Vec<u8>,
    },
    Give {
        ring: usize,
        id: u32,
        length: u32,
    },
    Deliver(u32),
    Take,
    /// What the driver does then.
    Receive(usize),
    Send(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ring = 0usize..2;
    let value = prop_oneof![0u32..10, any::<u32>()];
    let length = prop_oneof![0u32..2000, any::<u32>()];
    let step = prop_oneof![
        1 => (ring.clone(), 0u64..300, prop::collection::vec(any::<u8>(), 1..9))
            .prop_map(|(ring, at, bytes)| Step::Scribble { ring, at, bytes }),
        2 => (ring, value, length).prop_map(|(ring, id, length)| Step::Give { ring, id, length }),
        6 => (0u32..1000).prop_map(Step::Deliver),
        4 => Just(Step::Take),
        6 => (0usize..12).prop_map(Step::Receive),
        6 => (0usize..12).prop_map(Step::Send),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// The pool checks that no buffer is given back twice, and the memory that none lies outside.
    #[test]
    fn no_peer_makes_the_driver_panic_or_own_a_buffer_twice(steps in steps()) {
        let mut pool = pool(64);
        let (mut driver, mut backend) = pair(POLITE, &mut pool);
        let mut packets: Vec<Packet> = Vec::new();
        let mut marks = 0u64;
        for step in steps {
            match step {
                Step::Scribble { ring, at, bytes } => {
                    let from = backend.rings[ring].places[0];
                    // The second queue ends with its memory.
                    if at + bytes.len() as u64 <= 256 {
                        backend.write(from + at, &bytes, true);
                    }
                }
                Step::Give { ring, id, length } => backend.give(ring, id, length),
                Step::Deliver(number) => {
                    // Its own rings may be scribbled over: then it has no descriptor to use.
                    let [_, used, _] = backend.rings[0].places;
                    let next = backend.rings[0].next_used;
                    let slot = u64::from(next % 8);
                    backend.write(used + 4 + slot * 8, &[(number % 8).to_ne_bytes(), (12 + number).to_ne_bytes()].concat(), true);
                    backend.rings[0].next_used = next.wrapping_add(1);
                    backend.write(used + 2, &next.wrapping_add(1).to_ne_bytes(), true);
                }
                Step::Take => {
                    let next = backend.rings[1].next_used;
                    backend.give(1, u32::from(next % 8), 0);
                }
                Step::Receive(max) => {
                    let before = packets.len();
                    let received = driver.rx_batch(&mut pool, &mut packets, max);
                    prop_assert!(received <= max && packets.len() == before + received);
                    // Each buffer has one owner: a mark in one is in no other.
                    for packet in &mut packets[before..] {
                        prop_assert!((14..=1792).contains(&packet.len()));
                        marks += 1;
                        pool.bytes_mut(packet)[..8].copy_from_slice(&marks.to_ne_bytes());
                    }
                    let found: std::collections::BTreeSet<u64> =
                        packets.iter().map(|packet| long(pool.bytes(packet), 0)).collect();
                    prop_assert_eq!(found.len(), packets.len());
                }
                Step::Send(max) => {
                    let later = packets.split_off(packets.len().min(max));
                    driver.tx_batch(&mut pool, &mut packets);
                    packets.extend(later);
                }
            }
        }
        let _ = driver.check();
        packets.into_iter().for_each(|packet| pool.give(packet));
    }
}
