//! Many datagrams with one system call: recvmmsg(2) and sendmmsg(2).

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{NonNull, addr_of, addr_of_mut, null_mut};

use prony_enet::wire::MTU_MAX;
use rustix::io::Errno;

use crate::address::Name;

/// Most datagrams of one system call. More win little: at 64 the entry into the kernel is below 1 % of the cost.
pub const BATCH: usize = 64;

/// One byte more than the longest datagram of the protocol, so that a longer one is seen to be so.
const DATAGRAM_BYTES: usize = MTU_MAX as usize + 1;

/// Room for one control message with a `u16`: CMSG_SPACE(2), on 64-bit machines 16 + 8.
const CONTROL_BYTES: usize = 24;

#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

/// One datagram. Each begins with a line of its own, which is all that a short one takes.
#[repr(C, align(64))]
struct Bytes([u8; DATAGRAM_BYTES]);

/// Everything that recvmmsg writes to, at an address that does not change.
#[repr(C)]
struct Arena {
    headers: [libc::mmsghdr; BATCH],
    iovecs: [libc::iovec; BATCH],
    names: [Name; BATCH],
    bytes: [Bytes; BATCH],
}

/// Batch of received datagrams, with their senders.
pub(crate) struct Received {
    arena: NonNull<Arena>,
    /// Entries that hold a datagram.
    count: usize,
    /// Entries, from the first on, whose lengths of names are those that the kernel left.
    used: usize,
}

// SAFETY: the arena is owned by this value alone, and nothing in it belongs to a thread.
unsafe impl Send for Received {}

impl Received {
    #[expect(clippy::indexing_slicing, reason = "entries are below `BATCH`, of which the arena has as many")]
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
            }
        }
        // Every entry has its length set before its first use.
        Received { arena, count: 0, used: BATCH }
    }

    /// Empties the batch after it was read.
    pub fn clear(&mut self) {
        self.count = 0;
    }

    /// Reads one datagram, behind those that were read: the cheapest look, where nothing is expected. Fails with `EAGAIN`
    /// where nothing is there.
    #[expect(clippy::indexing_slicing, reason = "the entry is below `BATCH`, as was just asserted")]
    #[inline]
    pub fn read_one(&mut self, socket: BorrowedFd<'_>) -> Result<usize, Errno> {
        let (at, entry) = (self.arena.as_ptr(), self.count);
        assert!(entry < BATCH, "a batch has {BATCH} entries");
        let mut name_bytes = Name::CAPACITY as libc::socklen_t;
        // SAFETY: in bounds of the arena, which is ours alone and outlives the call; the lengths are those of its entry.
        let bytes = unsafe {
            let (to, name) = (addr_of_mut!((*at).bytes[entry]), addr_of_mut!((*at).names[entry]));
            let flags = libc::MSG_DONTWAIT;
            libc::recvfrom(socket.as_raw_fd(), to.cast(), DATAGRAM_BYTES, flags, name.cast(), &raw mut name_bytes)
        };
        if bytes < 0 {
            return Err(last_error());
        }
        // SAFETY: in bounds of the arena, which is ours alone.
        unsafe {
            let header = addr_of_mut!((*at).headers[entry]);
            ((*header).msg_len, (*header).msg_hdr.msg_namelen) = (bytes as libc::c_uint, name_bytes);
        }
        self.count += 1;
        self.used = self.used.max(self.count);
        Ok(1)
    }

    /// Reads what is there, behind what was read, until the batch is full, and returns how many that were. Fails with
    /// `EAGAIN` where nothing is there.
    #[expect(clippy::indexing_slicing, reason = "`used` is at most `BATCH`, of which the arena has as many")]
    pub fn read(&mut self, socket: BorrowedFd<'_>) -> Result<usize, Errno> {
        let (at, first) = (self.arena.as_ptr(), self.count);
        for entry in first..self.used {
            // SAFETY: in bounds of the arena, which is ours alone. The kernel left the lengths of what it wrote.
            unsafe { (*at).headers[entry].msg_hdr.msg_namelen = Name::CAPACITY as libc::socklen_t };
        }
        self.used = self.used.min(first);
        let room = BATCH - first;
        // SAFETY: from `first` on `headers` are this many valid headers, whose pointers lead into the arena, which outlives
        // the call.
        let count = unsafe {
            let headers = addr_of_mut!((*at).headers).cast::<libc::mmsghdr>().add(first);
            libc::recvmmsg(socket.as_raw_fd(), headers, room as _, libc::MSG_DONTWAIT as _, null_mut())
        };
        if count < 0 {
            return Err(last_error());
        }
        let count = (count as usize).min(room);
        self.count += count;
        self.used = self.count;
        Ok(count)
    }

    /// Datagram `entry` of those read last, and its sender; `None` if that is of a family that is unknown here.
    #[expect(
        clippy::indexing_slicing,
        reason = "the entry is below `count`, as was just asserted, and that at most `BATCH`"
    )]
    pub fn datagram(&self, entry: usize) -> Option<(SocketAddr, &[u8])> {
        assert!(entry < self.count, "{} datagrams were read", self.count);
        let at = self.arena.as_ptr();
        // SAFETY: in bounds, and filled by the kernel. Nothing writes to the arena while `self` is borrowed.
        let (header, name, bytes) =
            unsafe { (&(*at).headers[entry], &*addr_of!((*at).names[entry]), &*addr_of!((*at).bytes[entry])) };
        let length = (header.msg_len as usize).min(DATAGRAM_BYTES);
        Some((name.decode(header.msg_hdr.msg_namelen as usize)?, bytes.0.get(..length)?))
    }
}

/// Error of the last system call of this thread.
#[inline]
fn last_error() -> Errno {
    // SAFETY: it leads to the thread's own number.
    Errno::from_raw_os_error(unsafe { *libc::__errno_location() })
}

impl Drop for Received {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed nowhere else.
        unsafe { std::alloc::dealloc(self.arena.as_ptr().cast(), Layout::new::<Arena>()) };
    }
}

/// Datagram that is to be sent.
#[derive(Debug, Clone)]
pub struct Datagram {
    /// Address that the datagram goes to.
    pub to: SocketAddr,
    /// Payload; at most 65,507 bytes over IPv4.
    pub bytes: Vec<u8>,
}

/// Result of sending a batch of datagrams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    pub datagrams: u64,
    /// Number of these that the kernel cut from trains.
    pub in_trains: u64,
    pub would_block: u64,
    pub failed: u64,
    /// Closed ports that the peer's machine reported for earlier datagrams.
    pub port_closed: u64,
    pub calls: u64,
}

/// Destination of the datagrams of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    /// Own address of each datagram.
    Each,
    /// Peer of the connected socket, whatever the addresses of the datagrams.
    Connected,
}

/// Datagrams shorter than this are sent one by one: looking for others to the same address costs more than it saves.
/// On a connected socket there is nothing to look for.
const SEGMENT_BYTES_MIN: usize = 512;
/// Largest payload of an IPv4 datagram, and thus of a train, in bytes.
const TRAIN_BYTES_MAX: usize = 65_507;

/// Arguments of `sendmmsg`, kept between calls.
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
    pub fn write(&mut self, socket: BorrowedFd<'_>, datagrams: &[Datagram], destination: Destination) -> Sent {
        let mut sent = Sent::default();
        for datagrams in datagrams.chunks(BATCH) {
            match destination {
                Destination::Each => self.lay_out(datagrams),
                Destination::Connected => self.lay_out_connected(datagrams),
            }
            self.point();
            self.write_batch(socket, destination, &mut sent);
        }
        sent
    }

    /// Sorts a batch for one peer into trains: neighbours of one length, and a shorter one at the end.
    fn lay_out_connected(&mut self, datagrams: &[Datagram]) {
        // Length of the train's datagrams, and bytes of all of them; a train that has ended takes no more.
        let (mut size, mut train_bytes) = (0, usize::MAX);
        for (place, datagram) in datagrams.iter().enumerate() {
            let length = datagram.bytes.len();
            self.iovecs.push(libc::iovec {
                // The kernel only reads from it.
                iov_base: datagram.bytes.as_ptr().cast_mut().cast(),
                iov_len: length,
            });
            let fits = length > 0 && length <= size && train_bytes.saturating_add(length) <= TRAIN_BYTES_MAX;
            if let Some((_, count)) = self.trains.last_mut().filter(|_| self.takes_trains && fits) {
                *count += 1;
                train_bytes = if length < size { usize::MAX } else { train_bytes + length };
                continue;
            }
            (size, train_bytes) = (length, length);
            self.trains.push((place, 1));
            self.names.push((Name::NONE, 0));
            self.controls.push(Control([0; CONTROL_BYTES]));
        }
    }

    /// Sorts a batch into trains, most of which are one datagram long.
    #[expect(
        clippy::indexing_slicing,
        reason = "`taken` has an entry for each datagram, and no number comes from outside"
    )]
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
    #[expect(
        clippy::indexing_slicing,
        reason = "`lay_out` made a name and a control area for each train, and counted its vectors"
    )]
    fn point(&mut self) {
        for (entry, &(start, count)) in self.trains.iter().enumerate() {
            // SAFETY: a header of zeros is one without name, bytes and control messages.
            let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
            let (name, length) = &mut self.names[entry];
            // A name without bytes is none: sendmsg(2) of a connected socket.
            header.msg_hdr.msg_name = addr_of_mut!(*name).cast();
            header.msg_hdr.msg_namelen = *length as libc::socklen_t;
            header.msg_hdr.msg_iov = addr_of_mut!(self.iovecs[start]);
            header.msg_hdr.msg_iovlen = count as _;
            if count > 1 {
                header.msg_hdr.msg_control = addr_of_mut!(self.controls[entry]).cast();
                header.msg_hdr.msg_controllen = CONTROL_BYTES as _;
                let size = self.iovecs[start].iov_len as u16;
                // SAFETY: the control area is as long as the header says, which is room for a message with a u16.
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

    #[expect(
        clippy::indexing_slicing,
        reason = "`done` is below the number of headers, of which each has a train and a name"
    )]
    fn write_batch(&mut self, socket: BorrowedFd<'_>, destination: Destination, sent: &mut Sent) {
        let mut done = 0;
        while done < self.headers.len() {
            sent.calls += 1;
            let rest = &mut self.headers[done..];
            // SAFETY: `rest` are valid headers, whose pointers lead into `names`, `iovecs`, `controls` and the datagrams
            // that the caller of `write` borrows, which stay as they are until the vectors are emptied below.
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
                // Kept for the next call, udp(7): this train was not tried.
                Some(libc::ECONNREFUSED) if destination == Destination::Connected => sent.port_closed += 1,
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
        let sent = sending.write(from.as_fd(), &datagrams, Destination::Each);
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
        let sent = sending.write(from.as_fd(), &datagrams, Destination::Each);
        assert_eq!((sent.datagrams, sent.in_trains), (64, 64), "46 and 18: {sent:?}");
        let numbers: Vec<u8> = received(&to, BATCH).into_iter().map(|(number, _)| number).collect();
        assert_eq!(numbers, (0..BATCH as u8).collect::<Vec<u8>>());
    }

    #[test]
    fn neighbours_of_one_length_leave_a_connected_socket_as_trains() {
        let (from, to) = (socket(), socket());
        from.connect(to.local_addr().expect("it is bound")).expect("loopback has a route");
        let lengths = [26, 26, 26, 10, 10, 36, 26, 26, 0, 5];
        let datagrams: Vec<Datagram> =
            (1..).zip(lengths).map(|(number, length)| datagram(&from, number, length)).collect();
        let mut sending = Sending::new();
        let sent = sending.write(from.as_fd(), &datagrams, Destination::Connected);
        assert_eq!((sent.datagrams, sent.calls, sent.failed), (10, 1, 0), "{sent:?}");
        assert_eq!(sent.in_trains, 6, "26 26 26 10, 36 26: {sent:?}");
        let expected: Vec<usize> = lengths.into_iter().collect();
        let mut bytes = [0; 100];
        let came: Vec<usize> = expected.iter().map(|_| to.recv(&mut bytes).expect("it was sent")).collect();
        assert_eq!(came, expected);
    }

    #[test]
    fn a_closed_port_is_counted_once_and_costs_no_datagram_of_the_batch() {
        let (from, to) = (socket(), socket());
        let address = to.local_addr().expect("it is bound");
        from.connect(address).expect("loopback has a route");
        drop(to);
        let one = [Datagram { to: address, bytes: vec![1; 20] }];
        let mut sending = Sending::new();
        assert_eq!(sending.write(from.as_fd(), &one, Destination::Connected).datagrams, 1);
        // Over loopback the report has come when the call returns.
        let to = UdpSocket::bind(address).expect("it was free a moment ago");
        let sent = sending.write(from.as_fd(), &one, Destination::Connected);
        assert_eq!((sent.datagrams, sent.port_closed, sent.failed, sent.calls), (1, 1, 0, 2), "{sent:?}");
        assert_eq!(received(&to, 1), [(1, 20)]);
    }

    #[test]
    fn a_train_that_cannot_be_cut_leaves_datagram_by_datagram() {
        let (from, to) = (socket(), socket());
        // A socket that sends without checksums cannot cut: UDP_SEGMENT needs them (udp_send_skb).
        let on: libc::c_int = 1;
        // SAFETY: the option's value is one `int`, which outlives the call.
        let set = unsafe {
            libc::setsockopt(
                from.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_NO_CHECK,
                (&raw const on).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        assert_eq!(set, 0);
        let datagrams: Vec<Datagram> = (0..5).map(|number| datagram(&to, number, 1000)).collect();
        let mut sending = Sending::new();
        let sent = sending.write(from.as_fd(), &datagrams, Destination::Each);
        assert_eq!((sent.datagrams, sent.in_trains, sent.failed), (5, 0, 0), "{sent:?}");
        assert_eq!(received(&to, 5).len(), 5);
        let again = sending.write(from.as_fd(), &datagrams, Destination::Each);
        assert_eq!((again.datagrams, again.calls), (5, 1), "it is known now: {again:?}");
    }
}
