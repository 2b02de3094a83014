//! Hooks of name resolution. The results are lists in memory of the resolver; here every list is one block from
//! `malloc`, in record and replay, so the matching `free…` function has one thing to free.

use super::super::player;
use super::super::player::CallResult;
use super::super::real::hooks;
use super::super::recorder::{self, Piece};
use super::super::state::{errno, set_errno};
use super::{enter, leave};
use libc::{addrinfo, c_char, c_int, c_void, ifaddrs, sockaddr, socklen_t};
use prony_demo::{Op, PartKind};
use std::ptr::null_mut;

/// One entry of a list, as it is recorded; its address (and name) follow as parts.
#[repr(C)]
#[derive(Clone, Copy)]
struct Entry {
    flags: u32,
    family: i32,
    kind: i32,
    protocol: i32,
}

/// Entries of one answer; more are left out of the recording and of what the server sees.
const ENTRIES: usize = 64;

/// Room in one block for one entry of a list: node, address and name.
#[repr(C)]
struct Node<T> {
    node: T,
    address: libc::sockaddr_storage,
    extra: [libc::sockaddr_storage; 2],
    name: [u8; 256],
}

fn block<T>(count: usize) -> *mut Node<T> {
    // SAFETY: an ordinary allocation.
    unsafe { libc::calloc(count.max(1), size_of::<Node<T>>()).cast() }
}

/// Builds the list a replay gives the server.
fn build_addresses(answer: CallResult) -> *mut addrinfo {
    // SAFETY: the block has as many nodes; each is written within its bounds. All zero, as it is at first, is a valid
    // node.
    unsafe {
        let entries = || answer.read_values::<Entry>();
        let count = entries().count();
        if count == 0 {
            return null_mut();
        }
        let nodes = block::<addrinfo>(count);
        let mut addresses = answer.parts().filter(|part| part.kind == PartKind::Addr as u8);
        for (at, entry) in entries().enumerate() {
            let to = &mut *nodes.add(at);
            let address = addresses.next().map_or(&[] as &[u8], |part| part.bytes);
            let kept = address.len().min(size_of_val(&to.address));
            address.as_ptr().copy_to_nonoverlapping((&raw mut to.address).cast(), kept);
            to.node = addrinfo {
                ai_flags: entry.flags as c_int,
                ai_family: entry.family,
                ai_socktype: entry.kind,
                ai_protocol: entry.protocol,
                ai_addrlen: kept as socklen_t,
                ai_addr: (&raw mut to.address).cast(),
                ai_canonname: null_mut(),
                ai_next: if at + 1 < count { (&raw mut (*nodes.add(at + 1)).node).cast() } else { null_mut() },
            };
            if at == 0 {
                let name = answer.part(PartKind::Path, 2);
                if !name.is_empty() {
                    let kept = name.len().min(to.name.len() - 1);
                    to.name[..kept].copy_from_slice(&name[..kept]);
                    to.node.ai_canonname = to.name.as_mut_ptr().cast();
                }
            }
        }
        nodes.cast()
    }
}

unsafe fn address_length(address: *const sockaddr) -> usize {
    if address.is_null() {
        return 0;
    }
    // SAFETY: the caller passes an address that has a family.
    match c_int::from(unsafe { (*address).sa_family }) {
        libc::AF_INET => size_of::<libc::sockaddr_in>(),
        libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
        libc::AF_PACKET => size_of::<libc::sockaddr_ll>(),
        _ => size_of::<sockaddr>(),
    }
}

fn build_interfaces(answer: CallResult) -> *mut ifaddrs {
    // SAFETY: the block has as many nodes; each is written within its bounds. All zero, as it is at first, is a valid
    // node.
    unsafe {
        let entries = || answer.read_values::<Entry>();
        let count = entries().count();
        if count == 0 {
            return null_mut();
        }
        let nodes = block::<ifaddrs>(count);
        for (at, entry) in entries().enumerate() {
            let to = &mut *nodes.add(at);
            let name = answer.part(PartKind::Path, at);
            let kept = name.len().min(to.name.len() - 1);
            to.name[..kept].copy_from_slice(&name[..kept]);
            to.node = std::mem::zeroed();
            to.node.ifa_name = to.name.as_mut_ptr().cast();
            to.node.ifa_flags = entry.flags;
            let places = [&raw mut to.address, &raw mut to.extra[0], &raw mut to.extra[1]];
            let mut pointers = [null_mut::<sockaddr>(); 3];
            for (place, pointer) in places.into_iter().zip(&mut pointers).enumerate() {
                let bytes = answer.part(PartKind::Addr, at * 3 + place);
                let (room, pointer) = pointer;
                if bytes.len() > 1 {
                    bytes.as_ptr().copy_to_nonoverlapping(room.cast(), bytes.len().min(128));
                    *pointer = room.cast();
                }
            }
            to.node.ifa_addr = pointers[0];
            to.node.ifa_netmask = pointers[1];
            to.node.ifa_ifu = pointers[2];
            to.node.ifa_next = if at + 1 < count { nodes.add(at + 1).cast() } else { null_mut() };
        }
        nodes.cast()
    }
}

/// The list from a record that is about to be written: so the server sees the same list, made by
/// the same allocation, in both modes.
unsafe fn rebuilt<T>(pieces: &[Piece], build: unsafe fn(CallResult) -> *mut T) -> *mut T {
    // SAFETY: the caller passes pieces that live across the call; the record is complete.
    unsafe { recorder::in_memory(pieces, |record| build(CallResult::of(record))) }
}

unsafe extern "C" {
    fn inet_pton(family: c_int, text: *const c_char, to: *mut c_void) -> c_int;
}

/// True if a lookup has its answer in its arguments. A replay makes it too, and forgets what comes of it: the resolver
/// leaves holes in the heap, and some servers send where on it their objects lie.
unsafe fn has_own_answer(node: *const c_char, hints: *const addrinfo) -> bool {
    // SAFETY: the caller passes what the call was given: each is null, or a C string or hints.
    unsafe {
        let mut address = [0_u8; 16];
        let is_address = |family| inet_pton(family, node, address.as_mut_ptr().cast()) == 1;
        node.is_null()
            || !hints.is_null() && (*hints).ai_flags & libc::AI_NUMERICHOST != 0
            || [libc::AF_INET, libc::AF_INET6].into_iter().any(is_address)
    }
}

hooks! {
    fn getaddrinfo(node: *const c_char, service: *const c_char, hints: *const addrinfo, to: *mut *mut addrinfo) -> c_int {
        let (thread, recording) = enter();
        let result;
        if recording {
            let mut list = null_mut();
            result = super::blocking(thread, Op::Getaddrinfo, -1, || real::getaddrinfo(node, service, hints, &mut list));
            let before = errno();
            let mut entries = [Entry { flags: 0, family: 0, kind: 0, protocol: 0 }; ENTRIES];
            let mut pieces = [Piece::Nothing; 3 + 2 * ENTRIES];
            pieces[0] = Piece::path(node);
            pieces[1] = Piece::path(service);
            if result == 0 {
                pieces[2] = Piece::path((*list).ai_canonname);
                let mut next = list;
                for (at, entry) in entries.iter_mut().enumerate() {
                    if next.is_null() {
                        break;
                    }
                    let one = &*next;
                    *entry = Entry {
                        flags: one.ai_flags as u32,
                        family: one.ai_family,
                        kind: one.ai_socktype,
                        protocol: one.ai_protocol,
                    };
                    pieces[3 + 2 * at] = Piece::value(entry);
                    pieces[4 + 2 * at] = Piece::Bytes(PartKind::Addr, one.ai_addr.cast(), one.ai_addrlen as usize);
                    next = one.ai_next;
                }
                *to = rebuilt(&pieces, build_addresses);
            }
            recorder::emit(thread, Op::Getaddrinfo, -1, 0, i64::from(result), &pieces);
            if result == 0 {
                real::freeaddrinfo(list);
            }
            set_errno(before);
        } else {
            let answer = player::take(thread, Op::Getaddrinfo, -1);
            result = answer.code() as c_int;
            let mut unused = null_mut();
            if has_own_answer(node, hints) && real::getaddrinfo(node, service, hints, &mut unused) != 0 {
                unused = null_mut();
            }
            if result == 0 {
                *to = build_addresses(answer);
            }
            if !unused.is_null() {
                real::freeaddrinfo(unused);
            }
            player::done(thread, answer);
        }
        leave(thread);
        result
    }

    fn freeaddrinfo(list: *mut addrinfo) -> () {
        libc::free(list.cast());
    }

    fn getnameinfo(
        address: *const sockaddr,
        length: socklen_t,
        host: *mut c_char,
        host_room: socklen_t,
        service: *mut c_char,
        service_room: socklen_t,
        flags: c_int,
    ) -> c_int {
        let text = |to: *mut c_char, room: socklen_t| if to.is_null() || room == 0 { c"".as_ptr() } else { to };
        let give = |answer: CallResult, nth, to: *mut c_char, room: socklen_t| {
            if !to.is_null() && room > 0 {
                let kept = answer.fill(PartKind::Path, nth, to.cast(), room as usize - 1);
                *to.add(kept) = 0;
            }
        };
        let (thread, recording) = enter();
        let result;
        if recording {
            result = super::blocking(thread, Op::Gethostbyname, -1, || {
                real::getnameinfo(address, length, host, host_room, service, service_room, flags)
            });
            let before = errno();
            let found = result == 0;
            let pieces = [
                Piece::path(if found { text(host, host_room) } else { c"".as_ptr() }),
                Piece::path(if found { text(service, service_room) } else { c"".as_ptr() }),
            ];
            recorder::emit(thread, Op::Getnameinfo, -1, 0, i64::from(result), &pieces);
            set_errno(before);
        } else {
            let answer = player::take(thread, Op::Getnameinfo, -1);
            result = answer.code() as c_int;
            if flags & libc::NI_NUMERICHOST != 0 && !service.is_null() {
                // As for `has_own_answer`: a port may be looked for in a file.
                let mut unused = [0; 256];
                let room = unused.len() as socklen_t;
                real::getnameinfo(address, length, null_mut(), 0, unused.as_mut_ptr(), room, flags);
            }
            if result == 0 {
                give(answer, 0, host, host_room);
                give(answer, 1, service, service_room);
            }
            player::done(thread, answer);
        }
        leave(thread);
        result
    }

    fn getifaddrs(to: *mut *mut ifaddrs) -> c_int {
        let (thread, recording) = enter();
        let result;
        if recording {
            let mut list = null_mut();
            result = real::getifaddrs(&mut list);
            let before = errno();
            let mut entries = [Entry { flags: 0, family: 0, kind: 0, protocol: 0 }; ENTRIES];
            let mut pieces = [Piece::Nothing; 5 * ENTRIES];
            let mut next = list;
            for (at, entry) in entries.iter_mut().enumerate() {
                if result != 0 || next.is_null() {
                    break;
                }
                let one = &*next;
                entry.flags = one.ifa_flags;
                pieces[5 * at] = Piece::value(entry);
                pieces[5 * at + 1] = Piece::path(one.ifa_name);
                for (place, address) in [one.ifa_addr, one.ifa_netmask, one.ifa_ifu].into_iter().enumerate() {
                    pieces[5 * at + 2 + place] =
                        Piece::Bytes(PartKind::Addr, address.cast(), address_length(address));
                }
                next = one.ifa_next;
            }
            if result == 0 {
                *to = rebuilt(&pieces, build_interfaces);
            }
            recorder::emit(thread, Op::Getifaddrs, -1, 0, i64::from(result), &pieces);
            if result == 0 {
                real::freeifaddrs(list);
            }
            set_errno(before);
        } else {
            let answer = player::take(thread, Op::Getifaddrs, -1);
            result = answer.success() as c_int;
            if result == 0 {
                *to = build_interfaces(answer);
            }
            player::done(thread, answer);
        }
        leave(thread);
        result
    }

    fn freeifaddrs(list: *mut ifaddrs) -> () {
        libc::free(list.cast());
    }
}
