//! A network interface of the kernel through AF_XDP, in place of a card: Documentation/networking/af_xdp.rst.
//!
//! In copy mode: the kernel copies frames into buffers of the pool and out of them, so that any interface will do. Of each
//! interface the first queue is used.
#![allow(unsafe_code, reason = "the kernel reads and writes the rings of a socket")]

use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::net::xdp::{SocketAddrXdp, SocketAddrXdpFlags, XdpRingOffset, XdpUmemReg, XdpUmemRegFlags};
use rustix::net::{AddressFamily, SendFlags, SocketType, bind, netdevice, send, socket, sockopt};

use crate::bpf;
use crate::checks::hold;
use crate::device::Options;
use crate::dma::Dma;
use crate::pool::{BUFFER_BYTES, FRAME_BYTES_MAX, HEADROOM_BYTES, Packet, Pool};
use crate::port::Port;

/// Places of the rings in the file that the socket is (include/uapi/linux/if_xdp.h).
const RECEIVE_RING_AT: u64 = 0;
const TRANSMIT_RING_AT: u64 = 0x8000_0000;
const FILL_RING_AT: u64 = 0x1_0000_0000;
const COMPLETION_RING_AT: u64 = 0x1_8000_0000;

/// An interface that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum XdpError {
    /// The kernel refuses a step of the set-up.
    #[error("cannot {what} for {interface}: {error}")]
    Refused {
        /// Attempted action as a verb phrase.
        what: &'static str,
        /// Name of the interface.
        interface: String,
        /// Error that the kernel returned.
        error: io::Error,
    },
    /// The pool is on huge pages, as cards need it, and not in memory that the kernel can have frames in.
    #[error("the pool of {interface} is one for cards: use `Pool::for_sockets`")]
    Pool {
        /// Name of the interface.
        interface: String,
    },
    /// The pool has too few buffers for the receive ring.
    #[error("expected {expected} free buffers in the pool, found {found}")]
    Buffers {
        /// Number of entries in the ring.
        expected: usize,
        /// Number of free buffers in the pool.
        found: usize,
    },
}

/// The first queue of a network interface.
#[derive(Debug)]
pub struct XdpSocket {
    /// Dropped first: then no frame enters the socket.
    _link: OwnedFd,
    socket: OwnedFd,
    /// Buffers that the kernel may fill.
    fill: Ring,
    receive: Ring,
    transmit: Ring,
    /// Buffers that were sent.
    completion: Ring,
    _buffers: Dma,
    hardware_address: [u8; 6],
    /// Frames that arrive are waited for.
    interrupts: bool,
}

impl XdpSocket {
    /// Takes the frames of an interface's first queue from the kernel, until it is dropped. Of `options`, `ring_entries` and `interrupt` count.
    ///
    /// `pool`: from [`Pool::for_sockets`].
    ///
    /// # Errors
    /// [`XdpError`].
    pub fn open(interface: &str, pool: &mut Pool, options: Options) -> Result<XdpSocket, XdpError> {
        let failed =
            |what| move |error: Errno| XdpError::Refused { what, interface: interface.to_owned(), error: error.into() };
        let buffers = pool.memory();
        let (start, bytes) =
            buffers.behind_headroom(HEADROOM_BYTES).ok_or(XdpError::Pool { interface: interface.to_owned() })?;
        let entries = options.ring_entries;
        let found = pool.free();
        if found < entries {
            return Err(XdpError::Buffers { expected: entries, found });
        }
        // A socket of AF_XDP cannot be queried.
        let (index, hardware_address) = socket(AddressFamily::UNIX, SocketType::DGRAM, None)
            .and_then(|socket| {
                let index = netdevice::name_to_index(&socket, interface)?;
                Ok((index, hardware_address(&socket, interface)?))
            })
            .map_err(failed("find the interface"))?;
        let socket = socket(AddressFamily::XDP, SocketType::RAW, None).map_err(failed("make an AF_XDP socket"))?;
        let memory = XdpUmemReg {
            addr: start,
            len: bytes,
            chunk_size: BUFFER_BYTES as u32,
            headroom: 0,
            flags: XdpUmemRegFlags::empty(),
            tx_metadata_len: 0,
        };
        let size = entries as u32;
        sockopt::set_xdp_umem_reg(&socket, memory).map_err(failed("register the pool"))?;
        sockopt::set_xdp_umem_fill_ring_size(&socket, size)
            .and_then(|()| sockopt::set_xdp_umem_completion_ring_size(&socket, size))
            .and_then(|()| sockopt::set_xdp_rx_ring_size(&socket, size))
            .and_then(|()| sockopt::set_xdp_tx_ring_size(&socket, size))
            .map_err(failed("size the rings"))?;
        let offsets = sockopt::xdp_mmap_offsets(&socket).map_err(failed("find the rings"))?;
        let ring = |offset: &XdpRingOffset, place, words| {
            Ring::map(&socket, offset, place, entries, words).map_err(failed("map the rings"))
        };
        let mut fill = ring(&offsets.fr, FILL_RING_AT, 1)?;
        let receive = ring(&offsets.rx, RECEIVE_RING_AT, 2)?;
        let transmit = ring(&offsets.tx, TRANSMIT_RING_AT, 2)?;
        let completion = ring(&offsets.cr, COMPLETION_RING_AT, 1)?;
        for _ in 0..entries {
            let Some(buffer) = pool.take_index() else { break };
            fill.put([address(buffer), 0]);
        }
        fill.publish();
        let to = SocketAddrXdp::new(SocketAddrXdpFlags::XDP_COPY, index, 0);
        bind(&socket, &to).map_err(failed("bind an AF_XDP socket"))?;
        let link = bpf::attach(index, socket.as_fd()).map_err(|error| XdpError::Refused {
            what: "attach an XDP program",
            interface: interface.to_owned(),
            error,
        })?;
        let interrupts = options.interrupt;
        Ok(XdpSocket {
            _link: link,
            socket,
            fill,
            receive,
            transmit,
            completion,
            _buffers: buffers,
            hardware_address,
            interrupts,
        })
    }

    /// The hardware address of the interface, as it was when the socket was opened.
    pub fn hardware_address(&self) -> [u8; 6] {
        self.hardware_address
    }

    /// Has the kernel send what is in the ring. In copy mode it does so within this call, some 32 frames at a time.
    fn send_waiting(&self) {
        loop {
            let before = self.transmit.waiting();
            if before == 0 {
                return;
            }
            // EAGAIN: there is more. Other errors are those of the interface, which may take frames later.
            let sent = send(&self.socket, &[], SendFlags::DONTWAIT);
            if sent != Err(Errno::AGAIN) || self.transmit.waiting() >= before {
                return;
            }
        }
    }
}

impl Port for XdpSocket {
    fn rx_batch(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>, max: usize) -> usize {
        // Without further packets to send, what an interface did not take before is sent only from here.
        self.send_waiting();
        let available = self.receive.available().min(max);
        let mut received = 0;
        while received < available {
            let Some(next) = pool.take_index() else { break };
            let [place, length] = self.receive.take();
            let (index, length) = (place / BUFFER_BYTES as u64, length as u32 as usize);
            hold(length <= FRAME_BYTES_MAX, "a frame lies in its buffer");
            packets.push(pool.parts().1.packet(index as u32, length as u16));
            self.fill.put([address(next), 0]);
            received += 1;
        }
        if received > 0 {
            self.receive.release();
            self.fill.publish();
        }
        received
    }

    fn tx_batch(&mut self, pool: &mut Pool, packets: &mut Vec<Packet>) -> usize {
        self.clean_up(pool);
        let room = self.transmit.room();
        let sent = packets.len().min(room);
        for packet in packets.drain(..sent) {
            let length = packet.len();
            if length > FRAME_BYTES_MAX {
                // No interface with buffers of this size has such an MTU.
                pool.give(packet);
                continue;
            }
            // Bits above the length are options, of which there are none.
            self.transmit.put([address(packet.index()) + HEADROOM_BYTES as u64, length as u64]);
        }
        self.transmit.publish();
        self.send_waiting();
        sent
    }

    fn clean_up(&mut self, pool: &mut Pool) {
        let sent = self.completion.available();
        for _ in 0..sent {
            let [place, _] = self.completion.take();
            pool.give_index((place / BUFFER_BYTES as u64) as u32);
        }
        if sent > 0 {
            self.completion.release();
        }
    }

    fn interrupt(&self) -> Option<BorrowedFd<'_>> {
        self.interrupts.then(|| self.socket.as_fd())
    }

    /// The kernel wakes those who wait for the socket whenever it has put frames in; there is nothing to switch on.
    fn enable_interrupt(&mut self) -> bool {
        !self.interrupts || self.receive.available() > 0
    }

    fn missed(&self) -> Option<u64> {
        let statistics = sockopt::xdp_statistics(&self.socket).ok()?;
        let full = statistics.rx_ring_full.unwrap_or(0) + statistics.rx_fill_ring_empty_descs.unwrap_or(0);
        Some(statistics.rx_dropped + full)
    }
}

/// The hardware address of an interface: SIOCGIFHWADDR in netdevice(7).
fn hardware_address(socket: &OwnedFd, interface: &str) -> Result<[u8; 6], Errno> {
    // SAFETY: all fields are integers, or a pointer that may be null: zeros are valid.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    // The last byte stays 0: the name was found, so it is shorter.
    for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    // SAFETY: the kernel reads the name of `request` and writes its address; `request` outlives the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR as _, &raw mut request) };
    if result < 0 {
        return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL));
    }
    // SAFETY: the kernel has written this field; before it was zeros.
    let bytes = unsafe { request.ifr_ifru.ifru_hwaddr.sa_data };
    bytes.first_chunk::<6>().map(|bytes| bytes.map(|byte| byte as u8)).ok_or(Errno::INVAL)
}

/// Place of a buffer in the memory that the kernel knows.
fn address(buffer: u32) -> u64 {
    u64::from(buffer) * BUFFER_BYTES as u64
}

/// A ring that the program shares with the kernel: one of them puts entries in, the other one takes them.
#[derive(Debug)]
struct Ring {
    start: NonNull<u8>,
    bytes: usize,
    producer_at: usize,
    consumer_at: usize,
    entries_at: usize,
    mask: u32,
    /// Words of eight bytes of an entry: 1 or 2.
    words: usize,
    /// Of producer or consumer, that which the program moves: what it will be when it is made known.
    next: u32,
}

impl Ring {
    fn map(socket: &OwnedFd, offset: &XdpRingOffset, place: u64, entries: usize, words: usize) -> Result<Ring, Errno> {
        let at = |offset: u64| usize::try_from(offset).map_err(|_| Errno::INVAL);
        let [producer_at, consumer_at, entries_at] = [at(offset.producer)?, at(offset.consumer)?, at(offset.desc)?];
        let bytes = entries_at + entries * words * 8;
        let is_inside = |at: usize| at.is_multiple_of(4) && at + 4 <= bytes;
        if !(is_inside(producer_at) && is_inside(consumer_at) && entries_at.is_multiple_of(8)) {
            return Err(Errno::INVAL);
        }
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::POPULATE);
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe { mmap(ptr::null_mut(), bytes, protection, flags, socket, place)? };
        let start = NonNull::new(start.cast()).ok_or(Errno::INVAL)?;
        let mask = entries as u32 - 1;
        Ok(Ring { start, bytes, producer_at, consumer_at, entries_at, mask, words, next: 0 })
    }

    #[inline]
    fn counter(&self, at: usize) -> &AtomicU32 {
        // SAFETY: `map` has checked that both places are aligned and lie in the mapping, which lives as long as `self`. The
        // kernel changes them, as another thread would.
        unsafe { &*self.start.as_ptr().add(at).cast::<AtomicU32>() }
    }

    #[inline]
    fn word(&self, index: u32, word: usize) -> &AtomicU64 {
        let place = (index & self.mask) as usize * self.words + word;
        // SAFETY: the mask keeps the index inside of the ring, and callers give a word below `words`; the place is aligned.
        unsafe { &*self.start.as_ptr().add(self.entries_at + place * 8).cast::<AtomicU64>() }
    }

    /// Entries that the kernel has put in and the program has not taken.
    #[inline]
    fn available(&self) -> usize {
        self.counter(self.producer_at).load(Ordering::Acquire).wrapping_sub(self.next) as usize
    }

    /// The first of them; there is one.
    #[inline]
    fn take(&mut self) -> [u64; 2] {
        let index = self.next;
        self.next = self.next.wrapping_add(1);
        let second = if self.words == 2 { self.word(index, 1).load(Ordering::Relaxed) } else { 0 };
        [self.word(index, 0).load(Ordering::Relaxed), second]
    }

    /// Gives the places of what was taken back to the kernel.
    #[inline]
    fn release(&self) {
        self.counter(self.consumer_at).store(self.next, Ordering::Release);
    }

    /// Entries that the program has made known and the kernel has not taken.
    #[inline]
    fn waiting(&self) -> u32 {
        self.next.wrapping_sub(self.counter(self.consumer_at).load(Ordering::Acquire))
    }

    #[inline]
    fn room(&self) -> usize {
        (self.mask + 1).saturating_sub(self.waiting()) as usize
    }

    /// Puts an entry in; there is room.
    #[inline]
    fn put(&mut self, words: [u64; 2]) {
        for (word, value) in words.into_iter().enumerate().take(self.words) {
            self.word(self.next, word).store(value, Ordering::Relaxed);
        }
        self.next = self.next.wrapping_add(1);
    }

    /// Makes known what was put in.
    #[inline]
    fn publish(&self) {
        self.counter(self.producer_at).store(self.next, Ordering::Release);
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is that of `map`, and no reference into it outlives `self`. If it cannot be unmapped it stays.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
