//! The program that hands the frames of an interface to a socket, as bpf(2) takes it.
#![allow(unsafe_code, reason = "rustix has no bpf(2)")]

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// include/uapi/linux/bpf.h: commands, and the types that they are used with here.
const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE_ELEM: libc::c_int = 2;
const PROG_LOAD: libc::c_int = 5;
const LINK_CREATE: libc::c_int = 28;
const MAP_TYPE_XSKMAP: u32 = 17;
const PROG_TYPE_XDP: u32 = 6;
const ATTACH_TYPE_XDP: u32 = 37;
/// include/uapi/linux/if_link.h.
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

/// Instructions of 8 bytes: code, registers, offset, and a value. Frames of a queue without a socket go on to the kernel.
fn program(map: i32) -> [u64; 6] {
    let instruction = |code: u64, registers: u64, offset: u64, value: u32| {
        code | registers << 8 | offset << 16 | u64::from(value) << 32
    };
    [
        // r2 = context->rx_queue_index
        instruction(0x61, 0x12, 16, 0),
        // r1 = map
        instruction(0x18, 0x11, 0, map as u32),
        0,
        // r3 = XDP_PASS
        instruction(0xb7, 0x03, 0, 2),
        // r0 = bpf_redirect_map(r1, r2, r3)
        instruction(0x85, 0x00, 0, 51),
        // return r0
        instruction(0x95, 0x00, 0, 0),
    ]
}

/// Calls bpf(2) with a structure of the kernel's layout for this command.
fn bpf<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_int> {
    let start: *const T = attributes;
    // SAFETY: the kernel reads `size_of::<T>()` bytes at `start` and takes what is missing as 0; the addresses within are of
    // values that the callers keep until this returns.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, start, size_of::<T>()) };
    libc::c_int::try_from(result).ok().filter(|&result| result >= 0).ok_or_else(io::Error::last_os_error)
}

fn owned(descriptor: libc::c_int) -> OwnedFd {
    // SAFETY: the kernel has just made it, and nothing else owns it.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}

#[repr(C)]
struct MapCreate {
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
}

#[repr(C)]
struct MapUpdate {
    map: i32,
    _padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
struct ProgramLoad {
    kind: u32,
    instructions: u32,
    start: u64,
    license: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
}

#[repr(C)]
struct LinkCreate {
    program: i32,
    interface: u32,
    attach_type: u32,
    flags: u32,
}

/// Hands the frames that enter queue 0 of an interface to a socket, until what this returns is dropped, or the process ends.
pub(crate) fn attach(interface: u32, socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let map = MapCreate { kind: MAP_TYPE_XSKMAP, key_bytes: 4, value_bytes: 4, entries: 1 };
    let map = owned(bpf(MAP_CREATE, &map)?);
    let (queue, socket) = (0u32, socket.as_raw_fd());
    let address = |value: *const i32| value as u64;
    let key = (&raw const queue) as u64;
    let update = MapUpdate { map: map.as_raw_fd(), _padding: 0, key, value: address(&raw const socket), flags: 0 };
    bpf(MAP_UPDATE_ELEM, &update)?;
    let instructions = program(map.as_raw_fd());
    let load = ProgramLoad {
        kind: PROG_TYPE_XDP,
        instructions: instructions.len() as u32,
        start: instructions.as_ptr() as u64,
        license: c"Dual MIT/GPL".as_ptr() as u64,
        log_level: 0,
        log_bytes: 0,
        log: 0,
    };
    let program = owned(bpf(PROG_LOAD, &load)?);
    // In the driver where it can, otherwise behind it.
    let attach = |flags| {
        let link = LinkCreate { program: program.as_raw_fd(), interface, attach_type: ATTACH_TYPE_XDP, flags };
        bpf(LINK_CREATE, &link)
    };
    // The link keeps the program, and that one the map.
    attach(XDP_FLAGS_DRV_MODE).or_else(|_| attach(XDP_FLAGS_SKB_MODE)).map(owned)
}
