//! Takes addresses, host names and given strings out of a demo, so that the result still replays.
//!
//! Every replacement has the length of what it replaces, and the same one stands everywhere: in
//! addresses, in payloads both ways, in values and paths. So a server that prints a client's
//! address or its own host name prints the replacement, and the replay stays identical. It takes
//! two passes: [`Learner`] meets every address and name first, then [`Anonymizer`] rewrites.
//!
//! Limits: bytes that are compressed, encrypted or encoded cannot be searched; neither is a string
//! that two records share, nor an address as raw bytes inside a payload. A string that the
//! server's own program contains, or whose bytes it computes with (a checksum, a hash table's
//! order), can change what the server does; so can an address that it reads from a file on disk
//! and sends to. A replay of the result tells.

mod addresses;
mod archive;
mod words;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use serde::Serialize;

use crate::address::{FAMILY_INET, FAMILY_INET6};
use crate::{Class, Head, Op, PartKind, Parts};
use addresses::{AddressMap, Random};
use words::Words;

/// Labels of host names that are shorter than this stay, as `vm`, `db` or `com`: they say little,
/// and turn up in too many other places to be replaced wherever a server prints them.
const REPLACED_LABEL_BYTES: usize = 4;
/// `struct utsname` of Linux: six fields of 65 bytes; the second is the node name.
const UTSNAME_FIELD_BYTES: usize = 65;
const UTSNAME_FIELDS: usize = 6;
const UTSNAME_NODE: usize = 1;
const UTSNAME_DOMAIN: usize = 5;
/// `AF_PACKET`, the family of an interface's own address.
const FAMILY_PACKET: u16 = 17;
/// Ethernet's and that of all that look like it.
const HARDWARE_BYTES: usize = 6;

/// Variables that servers and libraries read to decide what they do; the rest is dropped.
const KEPT_VARIABLES: &[&str] = &["PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "SHELL", "PWD"];
const KEPT_PREFIXES: &[&str] = &["LC_", "LD_", "MALLOC_", "GLIBC_", "OMP_", "PRONY_"];

/// What to take out.
#[derive(Debug, Clone, Default)]
pub struct AnonymizeOptions {
    /// Chooses the replacements; equal seeds, equal replacements.
    pub seed: u64,
    /// Strings to replace wherever they stand.
    pub strings: Vec<Replacement>,
    /// Leave addresses as they are.
    pub keep_addresses: bool,
    /// Replace addresses of 127.0.0.0/8 too, by others of it.
    pub map_loopback: bool,
    /// Variables to keep beside those that are always kept.
    pub keep_variables: Vec<String>,
}

/// A string and what replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// What stands in the demo; not empty.
    pub old: Vec<u8>,
    /// What shall stand there, of the same length; `None`: letters for letters, digits for digits.
    pub new: Option<Vec<u8>>,
}

/// A replacement that would move the bytes after it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("replacement of `{}` expected {} bytes, found {}", .old.escape_ascii(), .old.len(), .found)]
pub struct ReplacementError {
    /// The string to replace.
    pub old: Vec<u8>,
    /// Length of what was to replace it.
    pub found: usize,
}

/// How much was replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct AnonymizeReport {
    /// Different addresses that got another.
    pub addresses: u64,
    /// Different host names that got another.
    pub host_names: u64,
    /// Different host names that stayed, because all their labels are short.
    pub host_names_kept: u64,
    /// Socket addresses rewritten in records.
    pub addresses_rewritten: u64,
    /// Texts rewritten: addresses, names and strings in payloads, values, paths and the header.
    pub texts_rewritten: u64,
    /// Variables dropped.
    pub variables_dropped: u64,
}

/// The first pass: meets what has to be replaced.
#[derive(Debug)]
pub struct Learner {
    options: AnonymizeOptions,
    addresses: BTreeSet<IpAddr>,
    names: BTreeSet<Vec<u8>>,
}

impl Learner {
    /// # Errors
    /// [`ReplacementError`] when a replacement has another length than its string.
    pub fn new(options: AnonymizeOptions) -> Result<Learner, ReplacementError> {
        for Replacement { old, new } in &options.strings {
            let found = new.as_ref().map_or(old.len(), Vec::len);
            if found != old.len() || old.is_empty() {
                return Err(ReplacementError { old: old.clone(), found });
            }
        }
        Ok(Learner { options, addresses: BTreeSet::new(), names: BTreeSet::new() })
    }

    /// Looks at a record.
    pub fn learn(&mut self, record: &[u8]) {
        let Some(head) = Head::from_bytes(record) else { return };
        let op = Op::from_number(head.op);
        for place in places(op, record) {
            match place {
                Place::Ip4(at) => self.addresses.extend(ip4(record, at).map(IpAddr::V4)),
                Place::Ip6(at) => self.addresses.extend(ip6(record, at)),
                Place::Hardware(_) => {}
                Place::Name(at, length) => {
                    let name = &record[at..at + length];
                    match std::str::from_utf8(name).ok().and_then(|name| name.parse::<IpAddr>().ok()) {
                        Some(address) => {
                            self.addresses.insert(address.to_canonical());
                        }
                        None if name.is_empty() || name.starts_with(b"localhost") => {}
                        None => {
                            self.names.insert(name.to_vec());
                        }
                    }
                }
            }
        }
    }

    /// Chooses the replacements.
    pub fn finish(self) -> Anonymizer {
        let mut map = AddressMap::new(self.options.seed, self.options.map_loopback);
        let mut words = Words::new(self.options.seed);
        let mut report = AnonymizeReport::default();
        // What the user asked for goes first, also inside a name.
        for Replacement { old, new } in &self.options.strings {
            words.add(old, new.as_deref(), words::Edge::Any);
        }
        for name in &self.names {
            if words.add_name(name, REPLACED_LABEL_BYTES) {
                report.host_names += 1;
            } else {
                report.host_names_kept += 1;
            }
        }
        if !self.options.keep_addresses {
            for &address in &self.addresses {
                let mapped = map.map(address);
                if mapped != address {
                    report.addresses += 1;
                    let edge = if address.is_ipv4() { words::Edge::Dotted } else { words::Edge::Colons };
                    words.add(address.to_string().as_bytes(), Some(mapped.to_string().as_bytes()), edge);
                }
            }
        }
        words.finish();
        Anonymizer { options: self.options, map, words, report }
    }
}

/// The second pass: rewrites in place, so sizes never change.
#[derive(Debug)]
pub struct Anonymizer {
    options: AnonymizeOptions,
    map: AddressMap,
    words: Words,
    report: AnonymizeReport,
}

impl Anonymizer {
    /// Rewrites a record.
    pub fn rewrite(&mut self, record: &mut [u8]) {
        let Some(head) = Head::from_bytes(record) else { return };
        let op = Op::from_number(head.op);
        let known: Vec<Place> = places(op, record).collect();
        // Binary addresses last: their bytes must not be taken for text, nor their text for bytes.
        let texts: Vec<(usize, usize)> = Parts::new(record)
            .filter(|part| {
                !matches!(
                    PartKind::from_number(part.kind),
                    Some(PartKind::Addr | PartKind::Ready | PartKind::Message | PartKind::Control)
                ) || is_unix(part.kind, part.bytes)
            })
            .map(|part| (part.offset, part.bytes.len()))
            .collect();
        for place in &known {
            if let Place::Name(at, length) = *place {
                self.report.texts_rewritten += u64::from(self.words.replace_whole(&mut record[at..at + length]));
            }
        }
        for (at, length) in texts {
            self.text(&mut record[at..at + length]);
        }
        if self.options.keep_addresses {
            return;
        }
        for place in known {
            let changed = match place {
                Place::Ip4(at) => ip4(record, at).is_some_and(|was| match self.map.map(IpAddr::V4(was)) {
                    IpAddr::V4(new) if new != was => {
                        record[at..at + 4].copy_from_slice(&new.octets());
                        true
                    }
                    _ => false,
                }),
                Place::Ip6(at) => ip6(record, at).is_some_and(|was| {
                    let new = self.map.map(was);
                    match new {
                        // The last four bytes of ::ffff:a.b.c.d.
                        IpAddr::V4(new) => record[at + 12..at + 16].copy_from_slice(&new.octets()),
                        IpAddr::V6(new) => record[at..at + 16].copy_from_slice(&new.octets()),
                    }
                    new != was
                }),
                Place::Hardware(at) => {
                    let new = hardware_address(self.options.seed, &record[at..at + HARDWARE_BYTES]);
                    record[at..at + HARDWARE_BYTES].copy_from_slice(&new);
                    true
                }
                Place::Name(..) => false,
            };
            self.report.addresses_rewritten += u64::from(changed);
        }
    }

    /// Rewrites text outside of records: arguments, paths, notes, contents of files.
    pub fn text(&mut self, text: &mut [u8]) {
        self.report.texts_rewritten += self.words.replace(text);
    }

    /// Rewrites names and contents in the tar archive of a state directory.
    pub fn state_archive(&mut self, archive: &mut [u8]) {
        archive::each_text(archive, |text| self.text(text));
    }

    /// Drops variables that a replay does not need and rewrites the values of those it keeps.
    pub fn environment(&mut self, variables: &mut Vec<(Vec<u8>, Vec<u8>)>) {
        let before = variables.len();
        variables.retain(|(name, _)| self.keeps(name));
        self.report.variables_dropped += (before - variables.len()) as u64;
        for (_, value) in variables {
            self.text(value);
        }
    }

    fn keeps(&self, name: &[u8]) -> bool {
        KEPT_VARIABLES.iter().any(|kept| kept.as_bytes() == name)
            || KEPT_PREFIXES.iter().any(|prefix| name.starts_with(prefix.as_bytes()))
            || self.options.keep_variables.iter().any(|kept| kept.as_bytes() == name)
    }

    /// How much was replaced so far.
    pub fn report(&self) -> AnonymizeReport {
        self.report
    }
}

/// Where in a record something stands that is known to be an address or a host name.
#[derive(Debug, Clone, Copy)]
enum Place {
    Ip4(usize),
    Ip6(usize),
    Name(usize, usize),
    Hardware(usize),
}

fn places(op: Option<Op>, record: &[u8]) -> impl Iterator<Item = Place> {
    let mut found = Vec::new();
    let mut paths = 0;
    for part in Parts::new(record) {
        match (PartKind::from_number(part.kind), op) {
            // The bare addresses of a `hostent`.
            (Some(PartKind::Addr), Some(Op::Gethostbyname)) => match part.bytes.len() {
                4 => found.push(Place::Ip4(part.offset)),
                16 => found.push(Place::Ip6(part.offset)),
                _ => {}
            },
            (Some(PartKind::Addr), _) => found.extend(socket_address(part.bytes, part.offset)),
            (Some(PartKind::Control), _) => control(part.bytes, part.offset, &mut found),
            (Some(PartKind::Value), Some(Op::Gethostname)) => found.push(c_string(part.bytes, part.offset)),
            (Some(PartKind::Value), Some(Op::Uname)) if part.bytes.len() >= UTSNAME_FIELD_BYTES * UTSNAME_FIELDS => {
                for field in [UTSNAME_NODE, UTSNAME_DOMAIN] {
                    let at = field * UTSNAME_FIELD_BYTES;
                    let name = &part.bytes[at..at + UTSNAME_FIELD_BYTES];
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

fn c_string(bytes: &[u8], at: usize) -> Place {
    Place::Name(at, bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()))
}

fn is_unix(kind: u8, bytes: &[u8]) -> bool {
    kind == PartKind::Addr as u8 && bytes.starts_with(&[1, 0])
}

fn socket_address(bytes: &[u8], at: usize) -> Option<Place> {
    match u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?) {
        FAMILY_INET if bytes.len() >= 8 => Some(Place::Ip4(at + 4)),
        FAMILY_INET6 if bytes.len() >= 24 => Some(Place::Ip6(at + 8)),
        // struct sockaddr_ll: the length of the hardware address at 11, itself at 12.
        FAMILY_PACKET if bytes.len() >= 12 + HARDWARE_BYTES && usize::from(bytes[11]) == HARDWARE_BYTES => {
            Some(Place::Hardware(at + 12))
        }
        _ => None,
    }
}

/// `IP_PKTINFO` (level 0, type 8: two addresses) and `IPV6_PKTINFO` (level 41, type 50).
fn control(bytes: &[u8], base: usize, found: &mut Vec<Place>) {
    let mut at = 0;
    while let Some(head) = bytes.get(at..at + 16) {
        let word = |from: usize| i32::from_le_bytes([head[from], head[from + 1], head[from + 2], head[from + 3]]);
        let Some(length) = usize::try_from(word(0)).ok().filter(|&length| length >= 16 && at + length <= bytes.len())
        else {
            return;
        };
        let content = base + at + 16;
        match (word(8), word(12), length - 16) {
            (0, 8, 12..) => found.extend([Place::Ip4(content + 4), Place::Ip4(content + 8)]),
            (41, 50, 16..) => found.push(Place::Ip6(content)),
            _ => {}
        }
        at += length.next_multiple_of(8);
    }
}

/// Another hardware address of the same kind: loopback's zeros stay, others become locally
/// administered unicast ones (IEEE 802: the two lowest bits of the first byte).
fn hardware_address(seed: u64, old: &[u8]) -> [u8; HARDWARE_BYTES] {
    if old.iter().all(|&byte| byte == 0) {
        return [0; HARDWARE_BYTES];
    }
    let mut random = Random::new(seed, old);
    let mut new: [u8; HARDWARE_BYTES] = std::array::from_fn(|_| random.below(256) as u8);
    new[0] = new[0] & !1 | 2;
    new
}

fn ip4(record: &[u8], at: usize) -> Option<Ipv4Addr> {
    Some(Ipv4Addr::from(<[u8; 4]>::try_from(record.get(at..at + 4)?).ok()?))
}

/// An IPv6 address, or the IPv4 address that it maps.
fn ip6(record: &[u8], at: usize) -> Option<IpAddr> {
    let octets = <[u8; 16]>::try_from(record.get(at..at + 16)?).ok()?;
    Some(IpAddr::from(octets).to_canonical())
}

#[cfg(test)]
mod tests;
