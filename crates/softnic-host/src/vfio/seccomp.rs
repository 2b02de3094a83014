//! The kernel hands `ioctl`s of a driver to the device: a filter of seccomp with a listener (seccomp_unotify(2)).
//!
//! The filter lets everything pass but the requests of VFIO, so that a driver that works makes no call that is any slower.
#![deny(clippy::indexing_slicing)]
#![allow(unsafe_code, reason = "system calls that no crate has, some of them between fork and exec")]

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

use rustix::io::Errno;

/// The socket of the device in the mount namespace of its drivers, which takes listeners.
pub(crate) const SOCKET: &str = "/dev/vfio/seccomp";

// linux/audit.h
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// The first and the last request of VFIO.
const REQUESTS: [u32; 2] = [super::abi::GET_API_VERSION, 0x3bff];
/// `__X32_SYSCALL_BIT`: calls of another ABI of the same processor.
const X32: u32 = 0x4000_0000;

/// Instructions of classic BPF (linux/bpf_common.h).
const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const GREATER_OR_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const GREATER: u16 = (libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Offsets in `struct seccomp_data`; the request is the lower half of the second argument.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const REQUEST_AT: u32 = if cfg!(target_endian = "little") { 24 } else { 28 };

const fn step(code: u16, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf, k }
}

static FILTER: [libc::sock_filter; 10] = [
    step(LOAD, ARCHITECTURE_AT, 0, 0),
    step(EQUAL, ARCHITECTURE, 0, 6),
    step(LOAD, NUMBER_AT, 0, 0),
    step(GREATER_OR_EQUAL, X32, 4, 0),
    step(EQUAL, libc::SYS_ioctl as u32, 0, 3),
    step(LOAD, REQUEST_AT, 0, 0),
    step(GREATER_OR_EQUAL, REQUESTS[0], 0, 1),
    step(GREATER, REQUESTS[1], 0, 1),
    step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
    step(RETURN, libc::SECCOMP_RET_USER_NOTIF, 0, 0),
];

/// Hands the `ioctl`s of VFIO of this process, and of what it executes, to the device whose mount namespace this is.
///
/// Allocates nothing and takes no lock, so that it can be called between fork and exec.
///
/// # Errors
/// What the kernel returns: there is no device, or this process may not have a filter.
pub fn join_device() -> io::Result<()> {
    let check = |result: libc::c_int| if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) };
    // SAFETY: plain system calls on descriptors that are made here and structures that live through the calls. All zeros is a
    // valid value of each of the structures.
    unsafe {
        let own = |descriptor: RawFd| OwnedFd::from_raw_fd(descriptor);
        let socket = own(check(libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0))?);
        let mut address: libc::sockaddr_un = mem::zeroed();
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        for (to, &from) in address.sun_path.iter_mut().zip(SOCKET.as_bytes()) {
            *to = from as libc::c_char;
        }
        let bytes = size_of::<libc::sockaddr_un>() as libc::socklen_t;
        check(libc::connect(socket.as_raw_fd(), (&raw const address).cast(), bytes))?;
        let listener = own(check(install())?);
        let mut byte = 0u8;
        let mut vector = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
        // A control message of one descriptor takes 24 bytes; the words have its alignment.
        let mut control = [0u64; 3];
        let mut message: libc::msghdr = mem::zeroed();
        message.msg_iov = &raw mut vector;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(4) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(4) as _;
        ptr::write_unaligned(libc::CMSG_DATA(header).cast::<RawFd>(), listener.as_raw_fd());
        match libc::sendmsg(socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) {
            1 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Installs the filter; a descriptor of its listener, or -1.
fn install() -> libc::c_int {
    let program = libc::sock_fprog { len: FILTER.len() as u16, filter: FILTER.as_ptr().cast_mut() };
    let with = |flags: libc::c_ulong| {
        // SAFETY: the program lives through the call, which copies it.
        unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) as libc::c_int
        }
    };
    // Since Linux 5.19 no signal repeats a call that the device has begun to answer: runtimes send signals to their threads.
    let listener = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER as libc::c_ulong;
    match with(listener | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV as libc::c_ulong) {
        -1 => with(listener),
        descriptor => descriptor,
    }
}

/// Receives the listener that [`join_device`] has sent; `None` if it is not there yet, or never comes.
pub(crate) fn receive_listener(socket: BorrowedFd) -> io::Result<Option<OwnedFd>> {
    let mut byte = 0u8;
    let mut vector = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut control = [0u64; 3];
    // SAFETY: as in `join_device`; the kernel writes at most as much control data as there is room for, and a descriptor that
    // it writes is one that nothing else has.
    unsafe {
        let mut message: libc::msghdr = mem::zeroed();
        message.msg_iov = &raw mut vector;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(4) as _;
        let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
        match libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) {
            -1 => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                error => return Err(error),
            },
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ => {}
        }
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if header.is_null()
            || (*header).cmsg_level != libc::SOL_SOCKET
            || (*header).cmsg_type != libc::SCM_RIGHTS
            || (*header).cmsg_len as usize != libc::CMSG_LEN(4) as usize
        {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let descriptor = ptr::read_unaligned(libc::CMSG_DATA(header).cast::<RawFd>());
        Ok(Some(OwnedFd::from_raw_fd(descriptor)))
    }
}

/// An `ioctl` that waits for an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    id: u64,
    /// Thread that made it.
    pub(crate) thread: u32,
    /// Its file descriptor.
    pub(crate) descriptor: i32,
    pub(crate) request: u32,
    pub(crate) argument: u64,
}

/// What a listener has.
#[derive(Debug)]
pub(crate) enum Waiting {
    Nothing,
    Call(Call),
    /// All processes with the filter have ended, or it is not a listener.
    Ended,
}

/// The next call, without waiting for one.
pub(crate) fn next_call(listener: BorrowedFd) -> Waiting {
    let mut poll = libc::pollfd { fd: listener.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the structure lives through the call.
    match unsafe { libc::poll(&raw mut poll, 1, 0) } {
        1 if poll.revents & libc::POLLIN != 0 => {}
        1 => return Waiting::Ended,
        _ => return Waiting::Nothing,
    }
    let mut notification = MaybeUninit::<libc::seccomp_notif>::zeroed();
    // SAFETY: the structure has to be zero before, lives through the call, and is valid whatever the kernel writes to it.
    let notification = unsafe {
        match libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, notification.as_mut_ptr()) {
            0 => notification.assume_init(),
            // ENOENT: the thread was killed meanwhile.
            _ if matches!(io::Error::last_os_error().raw_os_error(), Some(libc::ENOENT | libc::EINTR)) => {
                return Waiting::Nothing;
            }
            _ => return Waiting::Ended,
        }
    };
    let [descriptor, request, argument, ..] = notification.data.args;
    Waiting::Call(Call {
        id: notification.id,
        thread: notification.pid,
        descriptor: descriptor as i32,
        request: request as u32,
        argument,
    })
}

/// True while the caller waits: before that, its PID may have become that of another process.
pub(crate) fn is_waiting(listener: BorrowedFd, call: &Call) -> bool {
    // SAFETY: the identifier lives through the call.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const call.id) == 0 }
}

/// How a call ends.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Outcome<'a> {
    Value(i64),
    Error(Errno),
    /// A new descriptor for this file.
    Descriptor(BorrowedFd<'a>),
    /// As it would without the filter.
    Continue,
}

/// Ends a call. A caller that was killed meanwhile needs no answer.
pub(crate) fn answer(listener: BorrowedFd, call: &Call, answer: Outcome) {
    let descriptor = listener.as_raw_fd();
    let (val, error, flags) = match answer {
        Outcome::Value(value) => (value, 0, 0),
        Outcome::Error(error) => (0, -error.raw_os_error(), 0),
        Outcome::Continue => (0, 0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
        Outcome::Descriptor(file) => {
            let add = libc::seccomp_notif_addfd {
                id: call.id,
                flags: libc::SECCOMP_ADDFD_FLAG_SEND as u32,
                srcfd: file.as_raw_fd() as u32,
                newfd: 0,
                newfd_flags: libc::O_CLOEXEC as u32,
            };
            // SAFETY: the structure lives through the call.
            match unsafe { libc::ioctl(descriptor, libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw const add) } {
                -1 => (0, -io::Error::last_os_error().raw_os_error().unwrap_or(libc::EMFILE), 0),
                _ => return,
            }
        }
    };
    let response = libc::seccomp_notif_resp { id: call.id, val, error, flags };
    // SAFETY: as above.
    unsafe { libc::ioctl(descriptor, libc::SECCOMP_IOCTL_NOTIF_SEND, &raw const response) };
}
