//! Conversion of addresses and host names. IPv4 only, as the structs are.

use std::ffi::{CStr, c_char, c_int};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ptr::{null, null_mut};

use crate::exported;
use crate::layout::Address;

impl Address {
    /// Address in the form that hosts use.
    pub fn to_socket_address(self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::from(self.host.to_ne_bytes()), self.port))
    }

    /// Address in the form that programs use; an IPv6 address becomes none.
    pub fn from_socket_address(address: SocketAddr) -> Address {
        let ip = match address.ip() {
            IpAddr::V4(ip) => ip,
            IpAddr::V6(ip) => ip.to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED),
        };
        Address { host: u32::from_ne_bytes(ip.octets()), port: address.port() }
    }

    /// Address in the form that the kernel uses.
    pub fn to_name(self) -> libc::sockaddr_in {
        libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: self.port.to_be(),
            sin_addr: libc::in_addr { s_addr: self.host },
            sin_zero: [0; 8],
        }
    }

    pub fn from_name(name: &libc::sockaddr_in) -> Address {
        Address { host: name.sin_addr.s_addr, port: u16::from_be(name.sin_port) }
    }
}

unsafe fn ip(name: *const c_char) -> Option<u32> {
    // SAFETY: the caller's `name` is a string.
    let name = unsafe { CStr::from_ptr(name) }.to_str().ok()?;
    Some(u32::from_ne_bytes(name.parse::<Ipv4Addr>().ok()?.octets()))
}

exported! {
    fn enet_address_set_host_ip(address: *mut Address, name: *const c_char) -> c_int, else -1, {
        let Some(host) = ip(name) else { return -1 };
        (*address).host = host;
        0
    }

    fn enet_address_set_host(address: *mut Address, name: *const c_char) -> c_int, else -1, {
        let mut hints: libc::addrinfo = std::mem::zeroed();
        hints.ai_family = libc::AF_INET;
        let mut found = null_mut();
        if libc::getaddrinfo(name, null(), &hints, &mut found) != 0 {
            return enet_address_set_host_ip(address, name);
        }
        let mut next = found;
        let mut result = -1;
        while !next.is_null() && result != 0 {
            if (*next).ai_family == libc::AF_INET && !(*next).ai_addr.is_null() {
                let found = (*next).ai_addr.cast::<libc::sockaddr_in>().read_unaligned();
                (*address).host = found.sin_addr.s_addr;
                result = 0;
            }
            next = (*next).ai_next;
        }
        libc::freeaddrinfo(found);
        if result == 0 { 0 } else { enet_address_set_host_ip(address, name) }
    }

    fn enet_address_get_host_ip(address: *const Address, name: *mut c_char, length: usize) -> c_int, else -1, {
        let text = Ipv4Addr::from((*address).host.to_ne_bytes()).to_string();
        if length <= text.len() {
            return -1;
        }
        name.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
        *name.add(text.len()) = 0;
        0
    }

    fn enet_address_get_host(address: *const Address, name: *mut c_char, length: usize) -> c_int, else -1, {
        let of = (*address).to_name();
        let bytes = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        let room = length.min(u32::MAX as usize) as libc::socklen_t;
        let flags = libc::NI_NAMEREQD;
        match libc::getnameinfo((&raw const of).cast(), bytes, name, room, null_mut(), 0, flags) {
            0 => 0,
            libc::EAI_NONAME => enet_address_get_host_ip(address, name, length),
            _ => -1,
        }
    }
}
