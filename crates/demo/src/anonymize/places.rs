//! Places of addresses and host names in a record, by the kind of record.

use std::net::{IpAddr, Ipv4Addr};

use crate::address::{FAMILY_INET, FAMILY_INET6};
use crate::{Class, Op, PartKind, Parts};

/// `struct utsname` of Linux: six fields of 65 bytes; the second is the node name.
pub(super) const UTSNAME_FIELD_BYTES: usize = 65;
pub(super) const UTSNAME_FIELDS: usize = 6;
const UTSNAME_NODE: usize = 1;
const UTSNAME_DOMAIN: usize = 5;
/// `AF_PACKET`, the family of an interface's own address.
const FAMILY_PACKET: u16 = 17;
/// Ethernet's and that of all that look like it.
pub(super) const HARDWARE_BYTES: usize = 6;

/// A part of a record that is known to be an address or a host name.
#[derive(Debug, Clone, Copy)]
pub(super) enum IdentifyingPart {
    Ip4(usize),
    Ip6(usize),
    Name(usize, usize),
    Hardware(usize),
}

pub(super) fn places(op: Option<Op>, record: &[u8]) -> impl Iterator<Item = IdentifyingPart> {
    let mut found = Vec::new();
    let mut paths = 0;
    for part in Parts::new(record) {
        match (PartKind::from_number(part.kind), op) {
            // The bare addresses of a `hostent`.
            (Some(PartKind::Addr), Some(Op::Gethostbyname)) => match part.bytes.len() {
                4 => found.push(IdentifyingPart::Ip4(part.offset)),
                16 => found.push(IdentifyingPart::Ip6(part.offset)),
                _ => {}
            },
            (Some(PartKind::Addr), _) => found.extend(socket_address(part.bytes, part.offset)),
            (Some(PartKind::Control), _) => control(part.bytes, part.offset, &mut found),
            (Some(PartKind::Value), Some(Op::Gethostname)) => found.push(c_string(part.bytes, part.offset)),
            (Some(PartKind::Value), Some(Op::Uname)) if part.bytes.len() >= UTSNAME_FIELD_BYTES * UTSNAME_FIELDS => {
                for field in [UTSNAME_NODE, UTSNAME_DOMAIN] {
                    let at = field * UTSNAME_FIELD_BYTES;
                    let name = part.bytes.get(at..at + UTSNAME_FIELD_BYTES).unwrap_or_default();
                    // What the kernel says when no domain is set.
                    if !name.starts_with(b"(none)\0") {
                        found.push(c_string(name, part.offset + at));
                    }
                }
            }
            (Some(PartKind::Path), Some(op)) if op.class() == Class::Name => {
                // Node, service, canonical name.
                if paths != 1 {
                    found.push(c_string(part.bytes, part.offset));
                }
                paths += 1;
            }
            _ => {}
        }
    }
    found.into_iter()
}

fn c_string(bytes: &[u8], at: usize) -> IdentifyingPart {
    IdentifyingPart::Name(at, bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()))
}

pub(super) fn is_unix(kind: u8, bytes: &[u8]) -> bool {
    kind == PartKind::Addr as u8 && bytes.starts_with(&[1, 0])
}

fn socket_address(bytes: &[u8], at: usize) -> Option<IdentifyingPart> {
    match u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?) {
        FAMILY_INET if bytes.len() >= 8 => Some(IdentifyingPart::Ip4(at + 4)),
        FAMILY_INET6 if bytes.len() >= 24 => Some(IdentifyingPart::Ip6(at + 8)),
        // struct sockaddr_ll: the length of the hardware address at 11, itself at 12.
        FAMILY_PACKET if bytes.len() >= 12 + HARDWARE_BYTES && bytes.get(11) == Some(&(HARDWARE_BYTES as u8)) => {
            Some(IdentifyingPart::Hardware(at + 12))
        }
        _ => None,
    }
}

/// `IP_PKTINFO` (level 0, type 8: two addresses) and `IPV6_PKTINFO` (level 41, type 50).
fn control(bytes: &[u8], base: usize, found: &mut Vec<IdentifyingPart>) {
    let mut at = 0;
    while let Some(head) = bytes.get(at..at + 16) {
        let word = |from: usize| crate::record::word(head, from).unwrap_or_default().cast_signed();
        let Some(length) = usize::try_from(word(0)).ok().filter(|&length| length >= 16 && at + length <= bytes.len())
        else {
            return;
        };
        let content = base + at + 16;
        match (word(8), word(12), length - 16) {
            (0, 8, 12..) => found.extend([IdentifyingPart::Ip4(content + 4), IdentifyingPart::Ip4(content + 8)]),
            (41, 50, 16..) => found.push(IdentifyingPart::Ip6(content)),
            _ => {}
        }
        at += length.next_multiple_of(8);
    }
}

pub(super) fn ip4(record: &[u8], at: usize) -> Option<Ipv4Addr> {
    Some(Ipv4Addr::from(<[u8; 4]>::try_from(record.get(at..at + 4)?).ok()?))
}

/// An IPv6 address, or the IPv4 address that it maps.
pub(super) fn ip6(record: &[u8], at: usize) -> Option<IpAddr> {
    let octets = <[u8; 16]>::try_from(record.get(at..at + 16)?).ok()?;
    Some(IpAddr::from(octets).to_canonical())
}

pub(super) fn hardware(record: &[u8], at: usize) -> Option<[u8; HARDWARE_BYTES]> {
    record.get(at..at + HARDWARE_BYTES)?.try_into().ok()
}
