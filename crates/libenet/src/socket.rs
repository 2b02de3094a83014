//! Sockets for the program's own use. Hosts read and write theirs by batches, in `prony_enet_host`.

use std::ffi::c_int;
use std::io::Error;
use std::ptr::null_mut;

use crate::exported;
use crate::layout::{Address, Buffer};

/// Waits for this: the socket can be written to, read from, or a signal came.
const SEND: u32 = 1;
const RECEIVE: u32 = 2;
const INTERRUPT: u32 = 4;

/// ENET_SOCKOPT_*.
const NONBLOCK: c_int = 1;
const BROADCAST: c_int = 2;
const RCVBUF: c_int = 3;
const SNDBUF: c_int = 4;
const REUSEADDR: c_int = 5;
const RCVTIMEO: c_int = 6;
const SNDTIMEO: c_int = 7;
const ERROR: c_int = 8;
const NODELAY: c_int = 9;

const NAME_BYTES: libc::socklen_t = size_of::<libc::sockaddr_in>() as libc::socklen_t;

fn no_name() -> libc::sockaddr_in {
    Address { host: 0, port: 0 }.to_name()
}

fn errno() -> c_int {
    Error::last_os_error().raw_os_error().unwrap_or(0)
}

unsafe fn set<T>(socket: c_int, level: c_int, option: c_int, value: T) -> c_int {
    // SAFETY: the value outlives the call, and its size is given.
    unsafe { libc::setsockopt(socket, level, option, (&raw const value).cast(), size_of::<T>() as libc::socklen_t) }
}

fn interval(milliseconds: c_int) -> libc::timeval {
    let microseconds = i64::from(milliseconds) * 1000;
    libc::timeval { tv_sec: microseconds / 1_000_000, tv_usec: microseconds % 1_000_000 }
}

/// A header for `count` buffers, which lie as the kernel's do.
unsafe fn header(name: *mut libc::sockaddr_in, buffers: *const Buffer, count: usize) -> libc::msghdr {
    // SAFETY: zeros are a header without anything.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    if !name.is_null() {
        header.msg_name = name.cast();
        header.msg_namelen = NAME_BYTES;
    }
    const { assert!(size_of::<Buffer>() == size_of::<libc::iovec>()) };
    header.msg_iov = buffers.cast_mut().cast();
    header.msg_iovlen = count as _;
    header
}

exported! {
    /// `kind`: 1 a stream, 2 datagrams.
    fn enet_socket_create(kind: c_int) -> c_int, else -1, {
        libc::socket(libc::PF_INET, if kind == 2 { libc::SOCK_DGRAM } else { libc::SOCK_STREAM }, 0)
    }

    fn enet_socket_bind(socket: c_int, address: *const Address) -> c_int, else -1, {
        let name = if address.is_null() { no_name() } else { (*address).to_name() };
        libc::bind(socket, (&raw const name).cast(), NAME_BYTES)
    }

    fn enet_socket_get_address(socket: c_int, address: *mut Address) -> c_int, else -1, {
        let (mut name, mut bytes) = (no_name(), NAME_BYTES);
        if libc::getsockname(socket, (&raw mut name).cast(), &mut bytes) != 0 {
            return -1;
        }
        *address = Address::from_name(&name);
        0
    }

    fn enet_socket_listen(socket: c_int, backlog: c_int) -> c_int, else -1, {
        libc::listen(socket, if backlog < 0 { libc::SOMAXCONN } else { backlog })
    }

    fn enet_socket_accept(socket: c_int, address: *mut Address) -> c_int, else -1, {
        let (mut name, mut bytes) = (no_name(), NAME_BYTES);
        let accepted = libc::accept(socket, (&raw mut name).cast(), &mut bytes);
        if accepted >= 0 && !address.is_null() {
            *address = Address::from_name(&name);
        }
        accepted
    }

    fn enet_socket_connect(socket: c_int, address: *const Address) -> c_int, else -1, {
        let name = (*address).to_name();
        match libc::connect(socket, (&raw const name).cast(), NAME_BYTES) {
            -1 if errno() == libc::EINPROGRESS => 0,
            result => result,
        }
    }

    /// Bytes sent; 0 when the socket's buffer is full.
    fn enet_socket_send(
        socket: c_int,
        address: *const Address,
        buffers: *const Buffer,
        count: usize,
    ) -> c_int, else -1, {
        let mut name = if address.is_null() { no_name() } else { (*address).to_name() };
        let header = header(if address.is_null() { null_mut() } else { &mut name }, buffers, count);
        match libc::sendmsg(socket, &header, libc::MSG_NOSIGNAL) {
            -1 if errno() == libc::EAGAIN => 0,
            sent => sent as c_int,
        }
    }

    /// Bytes received; 0 when there are none, -1 too when there was no room for all.
    fn enet_socket_receive(
        socket: c_int,
        address: *mut Address,
        buffers: *mut Buffer,
        count: usize,
    ) -> c_int, else -1, {
        let mut name = no_name();
        let mut header = header(if address.is_null() { null_mut() } else { &mut name }, buffers, count);
        let received = libc::recvmsg(socket, &mut header, libc::MSG_NOSIGNAL);
        if received < 0 {
            return if errno() == libc::EAGAIN { 0 } else { -1 };
        }
        if header.msg_flags & libc::MSG_TRUNC != 0 {
            return -1;
        }
        if !address.is_null() {
            *address = Address::from_name(&name);
        }
        received as c_int
    }

    fn enet_socket_set_option(socket: c_int, option: c_int, value: c_int) -> c_int, else -1, {
        let level = libc::SOL_SOCKET;
        let result = match option {
            NONBLOCK => {
                let mut on = value;
                libc::ioctl(socket, libc::FIONBIO, &mut on)
            }
            BROADCAST => set(socket, level, libc::SO_BROADCAST, value),
            RCVBUF => set(socket, level, libc::SO_RCVBUF, value),
            SNDBUF => set(socket, level, libc::SO_SNDBUF, value),
            REUSEADDR => set(socket, level, libc::SO_REUSEADDR, value),
            RCVTIMEO => set(socket, level, libc::SO_RCVTIMEO, interval(value)),
            SNDTIMEO => set(socket, level, libc::SO_SNDTIMEO, interval(value)),
            NODELAY => set(socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, value),
            _ => -1,
        };
        if result == -1 { -1 } else { 0 }
    }

    fn enet_socket_get_option(socket: c_int, option: c_int, value: *mut c_int) -> c_int, else -1, {
        if option != ERROR {
            return -1;
        }
        let mut bytes = size_of::<c_int>() as libc::socklen_t;
        libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_ERROR, value.cast(), &mut bytes)
    }

    /// `how`: 0 no more reading, 1 no more writing, 2 neither.
    fn enet_socket_shutdown(socket: c_int, how: c_int) -> c_int, else -1, { libc::shutdown(socket, how) }

    fn enet_socket_destroy(socket: c_int) -> (), else (), {
        if socket >= 0 {
            libc::close(socket);
        }
    }

    fn enet_socketset_select(
        highest: c_int,
        readable: *mut libc::fd_set,
        writable: *mut libc::fd_set,
        timeout_ms: u32,
    ) -> c_int, else -1, {
        let mut time = interval(timeout_ms.min(i32::MAX as u32) as c_int);
        libc::select(highest.saturating_add(1), readable, writable, null_mut(), &mut time)
    }

    fn enet_socket_wait(socket: c_int, condition: *mut u32, timeout_ms: u32) -> c_int, else -1, {
        let requested = *condition;
        let mut polled = libc::pollfd { fd: socket, events: 0, revents: 0 };
        polled.events |= if requested & SEND != 0 { libc::POLLOUT } else { 0 };
        polled.events |= if requested & RECEIVE != 0 { libc::POLLIN } else { 0 };
        let count = libc::poll(&mut polled, 1, timeout_ms.min(i32::MAX as u32) as c_int);
        if count < 0 {
            if errno() == libc::EINTR && requested & INTERRUPT != 0 {
                *condition = INTERRUPT;
                return 0;
            }
            return -1;
        }
        *condition = 0;
        *condition |= if polled.revents & libc::POLLOUT != 0 { SEND } else { 0 };
        *condition |= if polled.revents & libc::POLLIN != 0 { RECEIVE } else { 0 };
        0
    }
}
