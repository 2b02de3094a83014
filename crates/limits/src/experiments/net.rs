//! System calls, and datagrams over loopback: what the kernel takes to send and to receive, with no network in the way.
//!
//! One thread sends a block to itself and receives it; only the requested half is timed. On loopback the sender's call also
//! carries the datagram up to the receiver's queue, so sending costs more than it would into a network card.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, types};

use crate::case::{Case, Measure, Outcome};
use crate::case_context::{CaseContext, Setting};
use crate::experiment::Experiment;
use crate::tester::Passes;
use crate::ticks::now_ns;
use crate::unsupported::Unsupported;

/// Datagrams of a block: as many as `UDP_SEGMENT` takes (`UDP_MAX_SEGMENTS` was 64 until Linux 6.9).
const BLOCK: usize = 64;
/// A position update of a game, and what protocols send that avoid fragments.
const PAYLOADS: [usize; 2] = [64, 1000];
/// Bytes that one datagram may have over IPv4, all segments together.
const DATAGRAM_MAX: usize = 65_507;

/// Ways to send or receive a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Separate system call for each datagram, on a connected socket.
    Single,
    /// Separate system call for each datagram with its address: `sendto` and `recvfrom`.
    Addressed,
    /// `sendmmsg`, `recvmmsg`: one call a block.
    Batch,
    /// `UDP_SEGMENT`, `UDP_GRO`: one large datagram that the kernel cuts, or leaves whole.
    Segments,
    /// io_uring: one call a block.
    Ring,
}

impl Way {
    const ALL: [Way; 5] = [Way::Single, Way::Addressed, Way::Batch, Way::Segments, Way::Ring];

    fn word(self, sends: bool) -> &'static str {
        match (self, sends) {
            (Way::Single, true) => "send",
            (Way::Addressed, true) => "sendto",
            (Way::Batch, true) => "sendmmsg",
            (Way::Segments, true) => "sendmsg, UDP_SEGMENT",
            (Way::Ring, true) => "io_uring send",
            (Way::Single, false) => "recv",
            (Way::Addressed, false) => "recvfrom",
            (Way::Batch, false) => "recvmmsg",
            (Way::Segments, false) => "recv, UDP_GRO",
            (Way::Ring, false) => "io_uring recv",
        }
    }
}

pub fn cases(_: &Setting) -> Result<Vec<Case>, Unsupported> {
    let mut cases = vec![Case::new(Experiment::Net, "system call: getppid", Measure::SecondsEach(1.0), system_call)];
    for payload in PAYLOADS {
        for sends in [true, false] {
            for way in Way::ALL {
                let run = move |context: &mut CaseContext| measured(context, way, sends, payload);
                let name = format!("{}, {payload} bytes", way.word(sends));
                cases.push(
                    Case::new(Experiment::Net, name, Measure::EachSecond(BLOCK as f64, "datagrams"), run)
                        .with("way", way.word(sends))
                        .with("direction", if sends { "send" } else { "receive" })
                        .with("payload_bytes", payload)
                        .with("block", BLOCK),
                );
            }
        }
    }
    Ok(cases)
}

/// The cheapest call that the C library does not answer by itself.
fn system_call(context: &mut CaseContext) -> Result<Outcome, Unsupported> {
    let series = context.tester.repeat(Passes::Calibrated, |passes| {
        for _ in 0..passes {
            // SAFETY: getppid(2) takes nothing and always succeeds.
            unsafe { libc::syscall(libc::SYS_getppid) };
        }
    })?;
    Ok(Outcome { series, ..Outcome::default() })
}

fn measured(context: &mut CaseContext, way: Way, sends: bool, payload: usize) -> Result<Outcome, Unsupported> {
    let mut pair = Pair::new(payload, !sends && way == Way::Segments)?;
    let series = context.tester.repeat_timed(Passes::Calibrated, |passes| {
        let mut ns = 0;
        for _ in 0..passes {
            let before = now_ns();
            pair.send(if sends { way } else { pair.sender_for(way) })?;
            let between = now_ns();
            pair.receive(if sends { Way::Batch } else { way })?;
            ns += if sends { between - before } else { now_ns() - between };
        }
        Ok(ns)
    })?;
    Ok(Outcome { series, ..Outcome::default() })
}

/// Two sockets, and a block of datagrams between them.
struct Pair {
    // The first to be dropped: what is in flight uses the others.
    ring: Option<IoUring>,
    from: UdpSocket,
    to: UdpSocket,
    /// Sends to whom each call names.
    unconnected: UdpSocket,
    address: SocketAddr,
    payload: usize,
    /// Datagrams that fit into one call with segments.
    segments: usize,
    out: Vec<u8>,
    into: Vec<u8>,
}

impl Pair {
    fn new(payload: usize, merged: bool) -> Result<Pair, Unsupported> {
        let to = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let from = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let unconnected = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = to.local_addr()?;
        from.connect(address)?;
        // A block that was lost is an error, not a wait for ever.
        to.set_read_timeout(Some(std::time::Duration::from_secs(1)))?;
        if merged {
            set(&to, libc::SOL_UDP, libc::UDP_GRO, 1)?;
        }
        let bytes = BLOCK * payload.max(2048);
        let segments = (DATAGRAM_MAX / payload).min(BLOCK);
        let ring = IoUring::new(BLOCK as u32).ok();
        let (out, into) = (vec![7; bytes], vec![0; bytes.max(1 << 16)]);
        Ok(Pair { ring, from, to, unconnected, address, payload, segments, out, into })
    }

    /// Datagrams that are to be received merged must come merged.
    fn sender_for(&self, way: Way) -> Way {
        if way == Way::Segments { Way::Segments } else { Way::Batch }
    }

    fn send(&mut self, way: Way) -> Result<(), Unsupported> {
        match way {
            Way::Single => {
                for _ in 0..BLOCK {
                    self.from.send(&self.out[..self.payload])?;
                }
            }
            Way::Addressed => {
                for _ in 0..BLOCK {
                    self.unconnected.send_to(&self.out[..self.payload], self.address)?;
                }
            }
            Way::Batch => {
                let mut done = 0;
                while done < BLOCK {
                    done += self.batch(done, true)?;
                }
            }
            Way::Segments => self.send_segments()?,
            Way::Ring => self.ring(true)?,
        }
        Ok(())
    }

    fn receive(&mut self, way: Way) -> Result<(), Unsupported> {
        let mut done = 0;
        while done < BLOCK {
            done += match way {
                Way::Single => {
                    let length = self.to.recv(&mut self.into[..2048])?;
                    usize::from(length == self.payload)
                }
                Way::Addressed => {
                    let (length, _) = self.to.recv_from(&mut self.into[..2048])?;
                    usize::from(length == self.payload)
                }
                Way::Batch => self.batch(done, false)?,
                Way::Segments => self.to.recv(&mut self.into[..1 << 16])? / self.payload,
                Way::Ring => {
                    self.ring(false)?;
                    BLOCK
                }
            };
        }
        Ok(())
    }

    /// The rest of a block from `done` on, in one call; how many went.
    fn batch(&mut self, done: usize, sends: bool) -> io::Result<usize> {
        let (buffer, each) =
            if sends { (&mut self.out, self.payload) } else { (&mut self.into, 2048.max(self.payload)) };
        let mut parts: Vec<libc::iovec> = buffer
            .chunks_mut(each)
            .take(BLOCK - done)
            .map(|part| libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: part.len() })
            .collect();
        let mut messages: Vec<libc::mmsghdr> = parts
            .iter_mut()
            .map(|part| {
                // SAFETY: a message of zeros has no address and no data, which is what it should be.
                let mut message: libc::mmsghdr = unsafe { std::mem::zeroed() };
                message.msg_hdr.msg_iov = part;
                message.msg_hdr.msg_iovlen = 1;
                message
            })
            .collect();
        let (count, list) = (messages.len() as u32, messages.as_mut_ptr());
        // SAFETY: the messages, their parts and the buffer live longer than the call.
        let result = unsafe {
            match sends {
                true => libc::sendmmsg(self.from.as_raw_fd(), list, count, 0),
                false => {
                    libc::recvmmsg(self.to.as_raw_fd(), list, count, libc::MSG_WAITFORONE as _, std::ptr::null_mut())
                }
            }
        };
        usize::try_from(result).map_err(|_| io::Error::last_os_error())
    }

    /// As many datagrams a call as `UDP_SEGMENT` takes; udp(7).
    fn send_segments(&mut self) -> io::Result<()> {
        let mut done = 0;
        while done < BLOCK {
            let now = self.segments.min(BLOCK - done);
            let mut part = libc::iovec { iov_base: self.out.as_mut_ptr().cast(), iov_len: now * self.payload };
            // Room for one control message of two bytes, aligned as the header has to be.
            let mut control = [0u64; 4];
            // SAFETY: the control message lies in `control`, which has room for it, and all of it outlives the call.
            let result = unsafe {
                let mut message: libc::msghdr = std::mem::zeroed();
                message.msg_iov = &raw mut part;
                message.msg_iovlen = 1;
                message.msg_control = control.as_mut_ptr().cast();
                message.msg_controllen = libc::CMSG_SPACE(size_of::<u16>() as u32) as _;
                let head = libc::CMSG_FIRSTHDR(&raw const message);
                (*head).cmsg_level = libc::SOL_UDP;
                (*head).cmsg_type = libc::UDP_SEGMENT;
                (*head).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as u32) as _;
                libc::CMSG_DATA(head).cast::<u16>().write_unaligned(self.payload as u16);
                libc::sendmsg(self.from.as_raw_fd(), &raw const message, 0)
            };
            if result < 0 {
                return Err(io::Error::last_os_error());
            }
            done += now;
        }
        Ok(())
    }

    /// A block through io_uring: one call submits all and waits for all.
    fn ring(&mut self, sends: bool) -> Result<(), Unsupported> {
        let ring =
            self.ring.as_mut().ok_or_else(|| Unsupported::because("this kernel has no io_uring for this user"))?;
        for slot in 0..BLOCK {
            let entry = match sends {
                true => {
                    opcode::Send::new(types::Fd(self.from.as_raw_fd()), self.out.as_ptr(), self.payload as u32).build()
                }
                false => {
                    let at = self.into[slot * 2048..][..2048].as_mut_ptr();
                    opcode::Recv::new(types::Fd(self.to.as_raw_fd()), at, 2048).build()
                }
            };
            // SAFETY: the buffers outlive what is in flight: all of it is waited for below.
            unsafe { ring.submission().push(&entry) }.expect("as many entries as a block");
        }
        let mut done = 0;
        while done < BLOCK {
            // A datagram that was lost would be waited for without end.
            let patience = types::Timespec::new().sec(1);
            let arguments = types::SubmitArgs::new().timespec(&patience);
            match ring.submitter().submit_with_args(BLOCK - done, &arguments) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                submitted => {
                    submitted?;
                }
            }
            for entry in ring.completion() {
                done += 1;
                if entry.result() != self.payload as i32 {
                    let error = io::Error::from_raw_os_error(entry.result().saturating_neg().max(0));
                    return Err(Unsupported::because(format!("io_uring: {error}")));
                }
            }
        }
        Ok(())
    }
}

fn set(socket: &UdpSocket, level: i32, name: i32, value: i32) -> io::Result<()> {
    // SAFETY: the option is an int, of which the address and the size are given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_sends_a_block_a_block_arrives() {
        for payload in PAYLOADS {
            for way in [Way::Single, Way::Addressed, Way::Batch, Way::Segments] {
                let mut pair = Pair::new(payload, false).expect("sockets on loopback");
                pair.send(way).expect("loopback takes a block");
                for receiver in 0..BLOCK {
                    assert_eq!(pair.to.recv(&mut pair.into).ok(), Some(payload), "{way:?} {receiver}");
                }
                pair.to.set_nonblocking(true).expect("a socket");
                assert!(pair.to.recv(&mut pair.into).is_err(), "{way:?}: nothing is left");
            }
        }
    }

    #[test]
    fn every_receiver_takes_a_whole_block() {
        for way in [Way::Single, Way::Addressed, Way::Batch, Way::Segments] {
            let mut pair = Pair::new(64, way == Way::Segments).expect("sockets on loopback");
            pair.send(pair.sender_for(way)).expect("loopback takes a block");
            pair.receive(way).expect("it comes");
            pair.to.set_nonblocking(true).expect("a socket");
            assert!(pair.to.recv(&mut pair.into).is_err(), "{way:?}: nothing is left");
        }
    }
}
