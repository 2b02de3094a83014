//! Many datagrams with one system call: recvmmsg(2) and sendmmsg(2).

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{NonNull, addr_of, addr_of_mut, null_mut};

use prony_enet::wire::MTU_MAX;

use crate::address::Name;

/// Most datagrams of one system call. More win little: at 64 the entry into the kernel is below 1 % of the cost.
pub const BATCH: usize = 64;

/// One byte more than the longest datagram of the protocol, so that a longer one is seen to be so.
const DATAGRAM_BYTES: usize = MTU_MAX as usize + 1;

/// What one control message with a `u32` takes: CMSG_SPACE(4), on 64-bit machines 16 + 8.
const CONTROL_BYTES: usize = 24;

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

/// Datagrams as they came.
pub(crate) struct Received {
    arena: NonNull<Arena>,
    /// Entries that hold a datagram.
    count: usize,
}

// SAFETY: the arena is owned by this value alone, and nothing in it belongs to a thread.
unsafe impl Send for Received {}

impl Received {
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

    /// Reads what is there, up to a batch, in place of what was read before.
    pub fn read(&mut self, socket: BorrowedFd<'_>) -> io::Result<usize> {
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
            libc::recvmmsg(socket.as_raw_fd(), headers, BATCH as _, libc::MSG_DONTWAIT as _, null_mut())
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
    pub fn overflow(&self, entry: usize) -> Option<u32> {
        assert!(entry < self.count, "{} datagrams were read", self.count);
        let at = self.arena.as_ptr();
        // SAFETY: as in `datagram`; the header's control pointer and length are those of its control area, and the
        // kernel's messages in it are whole.
        unsafe {
            let header = addr_of!((*at).headers[entry].msg_hdr);
            let message = libc::CMSG_FIRSTHDR(header);
            let is_count = !message.is_null()
                && (*message).cmsg_level == libc::SOL_SOCKET
                && (*message).cmsg_type == libc::SO_RXQ_OVFL;
            is_count.then(|| libc::CMSG_DATA(message).cast::<u32>().read_unaligned())
        }
    }
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
    pub would_block: u64,
    pub failed: u64,
    pub calls: u64,
}

/// What sendmmsg reads.
#[derive(Default)]
pub(crate) struct Sending {
    names: Vec<(Name, usize)>,
    iovecs: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

// SAFETY: the pointers within are made and used in one call of `write`, which empties the vectors.
unsafe impl Send for Sending {}

impl Sending {
    /// Sends all of `datagrams`. One that cannot be sent is counted, and does not keep back those behind it: it is
    /// lost like others on their way, and what must arrive is sent again.
    pub fn write(&mut self, socket: BorrowedFd<'_>, datagrams: &[Datagram]) -> Sent {
        let mut sent = Sent::default();
        for datagrams in datagrams.chunks(BATCH) {
            self.write_batch(socket, datagrams, &mut sent);
        }
        sent
    }

    fn write_batch(&mut self, socket: BorrowedFd<'_>, datagrams: &[Datagram], sent: &mut Sent) {
        self.names.extend(datagrams.iter().map(|datagram| Name::encode(datagram.to)));
        self.iovecs.extend(datagrams.iter().map(|datagram| libc::iovec {
            // The kernel only reads from it.
            iov_base: datagram.bytes.as_ptr().cast_mut().cast(),
            iov_len: datagram.bytes.len(),
        }));
        for entry in 0..datagrams.len() {
            // SAFETY: a header of zeros is one without name, bytes and control messages.
            let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
            let (name, length) = &mut self.names[entry];
            header.msg_hdr.msg_name = addr_of_mut!(*name).cast();
            header.msg_hdr.msg_namelen = *length as libc::socklen_t;
            header.msg_hdr.msg_iov = addr_of_mut!(self.iovecs[entry]);
            header.msg_hdr.msg_iovlen = 1;
            self.headers.push(header);
        }
        let mut rest = self.headers.as_mut_slice();
        while !rest.is_empty() {
            sent.calls += 1;
            // SAFETY: `rest` are valid headers, whose pointers lead into `names`, `iovecs` and `datagrams`, which
            // stay as they are until the vectors are emptied below.
            let count = unsafe {
                let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
                libc::sendmmsg(socket.as_raw_fd(), rest.as_mut_ptr(), rest.len() as _, flags as _)
            };
            let done = if count > 0 {
                sent.datagrams += count as u64;
                (count as usize).min(rest.len())
            } else {
                // The error is that of the first: those before it were counted by the call before.
                match io::Error::last_os_error().raw_os_error() {
                    Some(libc::EINTR) => 0,
                    Some(libc::EAGAIN | libc::ENOBUFS) => {
                        sent.would_block += 1;
                        1
                    }
                    _ => {
                        sent.failed += 1;
                        1
                    }
                }
            };
            rest = &mut rest[done..];
        }
        self.headers.clear();
        self.iovecs.clear();
        self.names.clear();
    }
}
