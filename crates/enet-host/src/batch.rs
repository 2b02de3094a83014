//! Many datagrams with one system call: recvmmsg(2) and sendmmsg(2).

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{NonNull, addr_of, addr_of_mut, null_mut};
use std::time::Duration;

use prony_enet::wire::MTU_MAX;

use crate::address::Name;

/// Most datagrams of one system call. More win little: at 64 the entry into the kernel is below 1 % of the cost.
pub const BATCH: usize = 64;

/// One byte more than the longest datagram of the protocol, so that a longer one is seen to be so.
const DATAGRAM_BYTES: usize = MTU_MAX as usize + 1;

/// Room for control messages: one with a `u32` or a `u16`, CMSG_SPACE(4), and one with a `timespec`, CMSG_SPACE(16). On
/// 64-bit machines these are 16 + 8 and 16 + 16.
const CONTROL_BYTES: usize = 24 + 32;

#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

/// Everything that recvmmsg writes to, at an address that does not change.
#[repr(C)]
struct Arena {
    headers: [libc::mmsghdr; BATCH],
    iovecs: [libc::iovec; BATCH],
    names: [Name; BATCH],
    controls: [Control; BATCH],
    bytes: [[u8; DATAGRAM_BYTES]; BATCH],
}

/// Datagrams as they came, from whichever socket was read last.
pub struct Received {
    arena: NonNull<Arena>,
    /// Entries that hold a datagram.
    count: usize,
}

// SAFETY: the arena is owned by this value alone, and nothing in it belongs to a thread.
unsafe impl Send for Received {}

impl Received {
    /// Room for [`BATCH`] datagrams of the protocol: some 270 kB, of which the kernel gives what is used.
    pub fn new() -> Received {
        let layout = Layout::new::<Arena>();
        // SAFETY: the layout is not empty. All fields are integers, or pointers that may be null: zeros are valid.
        let arena = unsafe { alloc_zeroed(layout) }.cast::<Arena>();
        let Some(arena) = NonNull::new(arena) else { handle_alloc_error(layout) };
        let at = arena.as_ptr();
        for entry in 0..BATCH {
            // SAFETY: `at` is valid for writes, `entry` is in bounds, and no reference into the arena exists.
            unsafe {
                addr_of_mut!((*at).iovecs[entry])
                    .write(libc::iovec { iov_base: addr_of_mut!((*at).bytes[entry]).cast(), iov_len: DATAGRAM_BYTES });
                let header = addr_of_mut!((*at).headers[entry].msg_hdr);
                (*header).msg_name = addr_of_mut!((*at).names[entry]).cast();
                (*header).msg_iov = addr_of_mut!((*at).iovecs[entry]);
                (*header).msg_iovlen = 1;
                (*header).msg_control = addr_of_mut!((*at).controls[entry]).cast();
            }
        }
        // Every entry has its lengths set before its first use.
        Received { arena, count: BATCH }
    }

    /// Reads what is there, at most so many datagrams and a batch, in place of what was read before; returns how many.
    ///
    /// # Errors
    /// What the kernel says; nothing to read is [`io::ErrorKind::WouldBlock`].
    pub fn read(&mut self, socket: BorrowedFd<'_>, most: usize) -> io::Result<usize> {
        let at = self.arena.as_ptr();
        for entry in 0..self.count {
            // SAFETY: in bounds of the arena, which is ours alone. The kernel left the lengths of what it wrote.
            unsafe {
                let header = addr_of_mut!((*at).headers[entry].msg_hdr);
                (*header).msg_namelen = Name::CAPACITY as libc::socklen_t;
                (*header).msg_controllen = CONTROL_BYTES as _;
            }
        }
        self.count = 0;
        // SAFETY: `headers` are BATCH valid headers, whose pointers lead into the arena, which outlives the call.
        let count = unsafe {
            let headers = addr_of_mut!((*at).headers).cast::<libc::mmsghdr>();
            libc::recvmmsg(socket.as_raw_fd(), headers, most.min(BATCH) as _, libc::MSG_DONTWAIT as _, null_mut())
        };
        if count < 0 {
            return Err(io::Error::last_os_error());
        }
        self.count = (count as usize).min(BATCH);
        Ok(self.count)
    }

    /// Datagram `entry` of those read last, and its sender; `None` if that is of a family that is unknown here.
    pub fn datagram(&self, entry: usize) -> Option<(SocketAddr, &[u8])> {
        assert!(entry < self.count, "{} datagrams were read", self.count);
        let at = self.arena.as_ptr();
        // SAFETY: in bounds, and filled by the kernel. Nothing writes to the arena while `self` is borrowed.
        let (header, name, bytes) =
            unsafe { (&(*at).headers[entry], &*addr_of!((*at).names[entry]), &*addr_of!((*at).bytes[entry])) };
        let length = (header.msg_len as usize).min(DATAGRAM_BYTES);
        Some((name.decode(header.msg_hdr.msg_namelen as usize)?, &bytes[..length]))
    }

    /// Datagrams that the kernel dropped for want of room since the socket was opened, if datagram `entry` tells.
    pub(crate) fn overflow(&self, entry: usize) -> Option<u32> {
        self.control(entry, libc::SO_RXQ_OVFL)
    }

    /// When datagram `entry` arrived at this machine, by its clock of the time of day, if the socket tells: see
    /// [`stamp_arrivals`].
    pub fn arrived(&self, entry: usize) -> Option<Duration> {
        let time: libc::timespec = self.control(entry, libc::SCM_TIMESTAMPNS)?;
        Some(Duration::new(time.tv_sec.try_into().ok()?, time.tv_nsec.try_into().ok()?))
    }

    /// What the socket's message `kind` says of datagram `entry`, a value of plain data.
    fn control<T: Copy>(&self, entry: usize, kind: libc::c_int) -> Option<T> {
        assert!(entry < self.count, "{} datagrams were read", self.count);
        let at = self.arena.as_ptr();
        // SAFETY: as in `datagram`; the header's control pointer and length are those of its control area, and the
        // kernel's messages in it are whole: one that is as long as a message with a `T` holds one.
        unsafe {
            let header = addr_of!((*at).headers[entry].msg_hdr);
            let mut message = libc::CMSG_FIRSTHDR(header);
            while !message.is_null() {
                let (level, found, length) =
                    ((*message).cmsg_level, (*message).cmsg_type, (*message).cmsg_len as usize);
                if (level, found) == (libc::SOL_SOCKET, kind) && length >= libc::CMSG_LEN(size_of::<T>() as _) as usize
                {
                    return Some(libc::CMSG_DATA(message).cast::<T>().read_unaligned());
                }
                message = libc::CMSG_NXTHDR(header, message);
            }
            None
        }
    }
}

impl Default for Received {
    fn default() -> Received {
        Received::new()
    }
}

impl std::fmt::Debug for Received {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Received").field("count", &self.count).finish_non_exhaustive()
    }
}

/// Has the kernel note when each datagram arrives at `socket`, for [`Received::arrived`]: SO_TIMESTAMPNS, socket(7).
///
/// # Errors
/// What the kernel says.
pub fn stamp_arrivals(socket: BorrowedFd<'_>) -> io::Result<()> {
    turn_on(socket, libc::SO_TIMESTAMPNS)
}

/// Turns on an option of the socket itself.
pub(crate) fn turn_on(socket: BorrowedFd<'_>, option: libc::c_int) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the option's value is one `int`, which outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl Drop for Received {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed nowhere else.
        unsafe { std::alloc::dealloc(self.arena.as_ptr().cast(), Layout::new::<Arena>()) };
    }
}

/// A datagram to send.
#[derive(Debug, Clone)]
pub struct Datagram {
    /// To whom.
    pub to: SocketAddr,
    /// What; at most 65,507 bytes over IPv4.
    pub bytes: Vec<u8>,
}

/// What became of datagrams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    pub datagrams: u64,
    /// Of these, cut by the kernel from trains.
    pub in_trains: u64,
    pub would_block: u64,
    pub failed: u64,
    pub calls: u64,
}

/// Datagrams shorter than this are sent one by one: looking for others to the same address costs more than it saves.
const SEGMENT_BYTES_MIN: usize = 512;
/// What one datagram of IPv4 may carry, and so one train.
const TRAIN_BYTES_MAX: usize = 65_507;
/// What sendmmsg reads.
///
/// Long datagrams to one address, as the fragments of a packet, are given to the kernel as one train, which it cuts into
/// datagrams of one size: generic segmentation offload, `UDP_SEGMENT` in udp(7). The way through the kernel is
/// then paid for once. The last datagram of a train may be shorter.
pub(crate) struct Sending {
    names: Vec<(Name, usize)>,
    iovecs: Vec<libc::iovec>,
    controls: Vec<Control>,
    headers: Vec<libc::mmsghdr>,
    /// The first datagram of each header in `iovecs`, and how many it has.
    trains: Vec<(usize, usize)>,
    /// Datagrams that are part of a header already.
    taken: Vec<bool>,
    /// The kernel takes trains, as far as is known.
    takes_trains: bool,
}

// SAFETY: the pointers within are made and used in one call of `write`, which empties the vectors.
unsafe impl Send for Sending {}

impl Sending {
    pub fn new() -> Sending {
        Sending {
            names: Vec::new(),
            iovecs: Vec::new(),
            controls: Vec::new(),
            headers: Vec::new(),
            trains: Vec::new(),
            taken: Vec::new(),
            takes_trains: true,
        }
    }

    /// Sends all of `datagrams`; those to one address in their order. One that cannot be sent is counted, and does not
    /// keep back those behind it: it is lost like others on their way, and what must arrive is sent again.
    pub fn write(&mut self, socket: BorrowedFd<'_>, datagrams: &[Datagram]) -> Sent {
        let mut sent = Sent::default();
        for datagrams in datagrams.chunks(BATCH) {
            self.write_batch(socket, datagrams, &mut sent);
        }
        sent
    }

    /// Sorts a batch into trains, most of which are one datagram long.
    fn lay_out(&mut self, datagrams: &[Datagram]) {
        self.taken.clear();
        self.taken.resize(datagrams.len(), false);
        for (first, datagram) in datagrams.iter().enumerate() {
            if self.taken[first] {
                continue;
            }
            let start = self.iovecs.len();
            let mut add = |datagram: &Datagram| {
                self.iovecs.push(libc::iovec {
                    // The kernel only reads from it.
                    iov_base: datagram.bytes.as_ptr().cast_mut().cast(),
                    iov_len: datagram.bytes.len(),
                });
            };
            add(datagram);
            let size = datagram.bytes.len();
            if self.takes_trains && size >= SEGMENT_BYTES_MIN {
                let mut train_bytes = size;
                for (later, next) in datagrams.iter().enumerate().skip(first + 1) {
                    if next.to != datagram.to || self.taken[later] {
                        continue;
                    }
                    let length = next.bytes.len();
                    // What does not fit goes behind, and all after it, so that their order stays.
                    if length > size || length == 0 || train_bytes + length > TRAIN_BYTES_MAX {
                        break;
                    }
                    add(next);
                    self.taken[later] = true;
                    train_bytes += length;
                    if length < size {
                        break;
                    }
                }
            }
            self.trains.push((start, self.iovecs.len() - start));
            self.names.push(Name::encode(datagram.to));
            self.controls.push(Control([0; CONTROL_BYTES]));
        }
    }

    /// Makes the headers of what is laid out; from here on the vectors must not move.
    fn point(&mut self) {
        for (entry, &(start, count)) in self.trains.iter().enumerate() {
            // SAFETY: a header of zeros is one without name, bytes and control messages.
            let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
            let (name, length) = &mut self.names[entry];
            header.msg_hdr.msg_name = addr_of_mut!(*name).cast();
            header.msg_hdr.msg_namelen = *length as libc::socklen_t;
            header.msg_hdr.msg_iov = addr_of_mut!(self.iovecs[start]);
            header.msg_hdr.msg_iovlen = count as _;
            if count > 1 {
                header.msg_hdr.msg_control = addr_of_mut!(self.controls[entry]).cast();
                // SAFETY: only computes.
                header.msg_hdr.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<u16>() as _) } as _;
                let size = self.iovecs[start].iov_len as u16;
                // SAFETY: the control area is longer than the header says, which is room for a message with a u16.
                unsafe {
                    let message = libc::CMSG_FIRSTHDR(&raw const header.msg_hdr);
                    (*message).cmsg_level = libc::SOL_UDP;
                    (*message).cmsg_type = libc::UDP_SEGMENT;
                    (*message).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as _) as _;
                    libc::CMSG_DATA(message).cast::<u16>().write_unaligned(size);
                }
            }
            self.headers.push(header);
        }
    }

    fn write_batch(&mut self, socket: BorrowedFd<'_>, datagrams: &[Datagram], sent: &mut Sent) {
        self.lay_out(datagrams);
        self.point();
        let mut done = 0;
        while done < self.headers.len() {
            sent.calls += 1;
            let rest = &mut self.headers[done..];
            // SAFETY: `rest` are valid headers, whose pointers lead into `names`, `iovecs`, `controls` and `datagrams`,
            // which stay as they are until the vectors are emptied below.
            let count = unsafe {
                let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
                libc::sendmmsg(socket.as_raw_fd(), rest.as_mut_ptr(), rest.len() as _, flags as _)
            };
            if count > 0 {
                let count = (count as usize).min(rest.len());
                for &(_, datagrams) in &self.trains[done..done + count] {
                    sent.datagrams += datagrams as u64;
                    sent.in_trains += if datagrams > 1 { datagrams as u64 } else { 0 };
                }
                done += count;
                continue;
            }
            // The error is that of the first: those before it were counted by the call before.
            let (start, length) = self.trains[done];
            match io::Error::last_os_error().raw_os_error() {
                Some(libc::EINTR) => {}
                Some(libc::EAGAIN | libc::ENOBUFS) => {
                    sent.would_block += length as u64;
                    done += 1;
                }
                // A device or a way that cannot cut trains: EIO without checksums in hardware, EINVAL and EMSGSIZE
                // where a datagram is longer than the way takes (udp_send_skb in net/ipv4/udp.c).
                Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE | libc::EOPNOTSUPP) if length > 1 => {
                    self.takes_trains = false;
                    let name = self.names[done];
                    let singles: Vec<(usize, usize)> = (start..start + length).map(|one| (one, 1)).collect();
                    self.names.splice(done..=done, vec![name; length]);
                    self.controls.splice(done..=done, vec![Control([0; CONTROL_BYTES]); length]);
                    self.trains.splice(done..=done, singles);
                    self.headers.clear();
                    self.point();
                }
                _ => {
                    sent.failed += length as u64;
                    done += 1;
                }
            }
        }
        self.headers.clear();
        self.iovecs.clear();
        self.names.clear();
        self.controls.clear();
        self.trains.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd;
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    fn socket() -> UdpSocket {
        UdpSocket::bind("127.0.0.1:0").expect("loopback has ports")
    }

    fn datagram(to: &UdpSocket, number: u8, length: usize) -> Datagram {
        Datagram { to: to.local_addr().expect("it is bound"), bytes: vec![number; length] }
    }

    /// The first byte and the length of each datagram that came.
    fn received(at: &UdpSocket, count: usize) -> Vec<(u8, usize)> {
        let mut bytes = [0; 2000];
        let mut next = || {
            let length = at.recv(&mut bytes).expect("it was sent");
            assert!(bytes[..length].iter().all(|&byte| byte == bytes[0]), "datagrams are whole");
            (bytes[0], length)
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn the_kernel_tells_when_a_datagram_arrived_however_late_it_is_read() {
        let (from, to) = (socket(), socket());
        stamp_arrivals(to.as_fd()).expect("the option is there");
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later");
        let mut received = Received::new();
        let mut times = || {
            let before = now();
            Sending::new().write(from.as_fd(), &[datagram(&to, 1, 16), datagram(&to, 2, 16)]);
            let after = now();
            let mut arrived = || {
                assert_eq!(received.read(to.as_fd(), 1).expect("two were sent"), 1);
                received.arrived(0).expect("it is noted")
            };
            [before, arrived(), arrived(), after]
        };
        // The kernel begins to note some time after the first socket asks, and until then takes the time of the read.
        while !times().is_sorted() {}
        assert!(times().is_sorted(), "from then on it always does");
        assert_eq!(received.datagram(0).map(|(_, bytes)| bytes[0]), Some(2));
        assert_eq!(received.overflow(0), None, "it was not asked for");
    }

    #[test]
    fn long_datagrams_to_one_address_leave_as_trains_and_arrive_as_they_were() {
        let (from, one, other) = (socket(), socket(), socket());
        let datagrams = [
            datagram(&one, 1, 1400),
            datagram(&other, 2, 1400),
            datagram(&one, 3, 1400),
            datagram(&other, 4, 20),
            datagram(&one, 5, 600),
            // Behind a shorter one no train goes on, and a longer one begins another.
            datagram(&one, 6, 1400),
            datagram(&one, 7, 1400),
            datagram(&one, 8, 20),
            datagram(&one, 9, 20),
        ];
        let mut sending = Sending::new();
        let sent = sending.write(from.as_fd(), &datagrams);
        assert_eq!((sent.datagrams, sent.calls, sent.would_block, sent.failed), (9, 1, 0, 0), "{sent:?}");
        assert_eq!(sent.in_trains, 8, "1 3 5, 2 4 and 6 7 8: {sent:?}");
        let lengths = [(1, 1400), (3, 1400), (5, 600), (6, 1400), (7, 1400), (8, 20), (9, 20)];
        assert_eq!(received(&one, 7), lengths);
        assert_eq!(received(&other, 2), [(2, 1400), (4, 20)]);
    }

    #[test]
    fn a_train_is_no_longer_than_a_datagram_may_be() {
        let (from, to) = (socket(), socket());
        let datagrams: Vec<Datagram> = (0..BATCH as u8).map(|number| datagram(&to, number, 1400)).collect();
        let mut sending = Sending::new();
        let sent = sending.write(from.as_fd(), &datagrams);
        assert_eq!((sent.datagrams, sent.in_trains), (64, 64), "46 and 18: {sent:?}");
        let numbers: Vec<u8> = received(&to, BATCH).into_iter().map(|(number, _)| number).collect();
        assert_eq!(numbers, (0..BATCH as u8).collect::<Vec<u8>>());
    }

    #[test]
    fn a_train_that_cannot_be_cut_leaves_datagram_by_datagram() {
        let (from, to) = (socket(), socket());
        // A socket that sends without checksums cannot cut: UDP_SEGMENT needs them (udp_send_skb).
        turn_on(from.as_fd(), libc::SO_NO_CHECK).expect("the option is there");
        let datagrams: Vec<Datagram> = (0..5).map(|number| datagram(&to, number, 1000)).collect();
        let mut sending = Sending::new();
        let sent = sending.write(from.as_fd(), &datagrams);
        assert_eq!((sent.datagrams, sent.in_trains, sent.failed), (5, 0, 0), "{sent:?}");
        assert_eq!(received(&to, 5).len(), 5);
        let again = sending.write(from.as_fd(), &datagrams);
        assert_eq!((again.datagrams, again.calls), (5, 1), "it is known now: {again:?}");
    }
}
