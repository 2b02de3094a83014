//! Takes addresses, host names and given strings out of a demo, so that the result still replays.
//!
//! Every replacement has the length of what it replaces, and the same one stands everywhere: in
//! addresses, in payloads both ways, in values, paths, files and notes, in any case and spelling.
//! So a server that prints a client's address or its own host name prints the replacement, and the
//! replay stays identical. It takes three passes: [`Learner`] meets every address and name first,
//! [`Anonymizer`] rewrites, and [`Anonymizer::check`] searches the result for what is left.
//!
//! Limits: bytes that are compressed or encrypted cannot be searched. A string that the server's
//! own program contains, or whose bytes it computes with (a checksum, a hash table's order), can
//! change what the server does; so can an address that it reads from a file on disk and sends to.
//! A replay of the result shows it.

mod addresses;
mod archive;
mod check;
mod copy;
mod hexadecimal;
mod needles;
mod places;
mod replacements;
mod spelling;
mod window;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde::Serialize;

use crate::{Head, Op, PartKind, Parts};
use addresses::{AddressMap, Random};
use places::{HARDWARE_BYTES, IdentifyingPart};
use replacements::{Edge, Replacements};
use spelling::Spelled;

pub use check::{Check, Finding, Form, Kind, Where};

/// Labels of host names that are shorter than this stay, as `vm`, `db` or `com`: they say little,
/// and turn up in too many other places to be replaced wherever a server prints them.
const REPLACED_LABEL_BYTES: usize = 4;
/// Addresses that are learned at most, so that a demo cannot fill the memory; about 100 MB.
const MOST_ADDRESSES: usize = 1 << 17;
/// Host names that are learned at most.
const MOST_NAMES: usize = 1 << 14;
/// `NI_MAXHOST`: the longest host name of `getnameinfo`.
const LONGEST_NAME: usize = 1025;
/// Bytes of the longest string that can be replaced.
pub const LONGEST_STRING: usize = 4096;

/// Variables that servers and libraries read to decide what they do; the rest is dropped.
const KEPT_VARIABLES: &[&str] = &["PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "SHELL", "PWD"];
const KEPT_PREFIXES: &[&str] = &["LC_", "LD_", "MALLOC_", "GLIBC_", "OMP_"];
/// Variables with the name of this machine.
const HOST_VARIABLES: &[&str] = &["HOSTNAME", "HOST"];
/// Parts of variable names that mark a secret value; upper case.
const SECRET_WORDS: &[&str] =
    &["SECRET", "TOKEN", "PASSW", "PASSPHRASE", "CREDENTIAL", "API_KEY", "APIKEY", "ACCESS_KEY"];
/// Shorter values of such variables are as often a switch or a number.
const SECRET_BYTES: usize = 8;

/// Options of an anonymisation: what is replaced and what is kept.
#[derive(Debug, Clone, Default)]
pub struct AnonymizeOptions {
    /// Chooses the replacements; equal seeds, equal replacements.
    pub seed: u64,
    /// Strings to replace wherever they stand.
    pub strings: Vec<Replacement>,
    /// Leave addresses as they are.
    pub keep_addresses: bool,
    /// Addresses to leave as they are, as a version number that reads as one.
    pub kept: Vec<IpAddr>,
    /// Replace addresses of 127.0.0.0/8 too, by others of it.
    pub map_loopback: bool,
    /// Replace IPv4 addresses where their four bytes stand in payloads and files, too, in either order.
    pub raw_addresses: bool,
    /// Variables to keep beside those that are always kept.
    pub keep_variables: Vec<String>,
}

/// A string and what replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// Bytes to replace; not empty.
    pub old: Vec<u8>,
    /// Replacement of the same length; `None`: random letters for letters, digits for digits.
    pub new: Option<Vec<u8>>,
}

/// A replacement that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplacementError {
    /// The replacement would move the bytes after it.
    #[error("replacement of `{}`: expected {} bytes, found {}", .old.escape_ascii(), .old.len(), .found)]
    Length {
        /// String to replace, as bytes; not empty.
        old: Vec<u8>,
        /// Length of what was to replace it.
        found: usize,
    },
    /// A demo is searched piece by piece.
    #[error("string to replace: expected at most {LONGEST_STRING} bytes, found {found}")]
    TooLong {
        /// Length of the string to replace, in bytes.
        found: usize,
    },
}

/// More to replace than memory is kept for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected at most {limit} different {what}, found more")]
pub struct TooMany {
    /// Kind of items that exceed the limit, plural.
    pub what: &'static str,
    /// Largest permitted number of different items.
    pub limit: usize,
}

/// Counts of replaced addresses, names and variables.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct AnonymizeReport {
    /// Different addresses that got another.
    pub addresses: u64,
    /// Number of addresses that occur in text only, a version number of four parts among them.
    pub addresses_in_text_only: u64,
    /// Different hardware addresses that got another.
    pub hardware_addresses: u64,
    /// Different host names that got another.
    pub host_names: u64,
    /// Different host names that stayed, because all their labels are short.
    pub host_names_kept: u64,
    /// Values of variables with the name of a secret that got another, wherever they stand.
    pub secret_values: u64,
    /// Socket addresses rewritten in records.
    pub addresses_rewritten: u64,
    /// Texts rewritten: addresses, names and strings in payloads, values, paths and the header.
    pub texts_rewritten: u64,
    /// Number of environment variables that were dropped.
    pub variables_dropped: u64,
}

/// The first pass: meets what has to be replaced.
#[derive(Debug)]
pub struct Learner {
    options: AnonymizeOptions,
    /// Decides which addresses stay; gives none a replacement before the end.
    map: AddressMap,
    addresses: BTreeSet<IpAddr>,
    /// Addresses that were met as such, not in text.
    certain: BTreeSet<IpAddr>,
    hardware: BTreeSet<[u8; HARDWARE_BYTES]>,
    names: BTreeSet<Vec<u8>>,
    secrets: BTreeSet<Vec<u8>>,
    too_many: Option<TooMany>,
}

impl Learner {
    /// # Errors
    /// [`ReplacementError`] when a replacement has another length than its string, or that is too long.
    pub fn new(options: AnonymizeOptions) -> Result<Learner, ReplacementError> {
        for Replacement { old, new } in &options.strings {
            let found = new.as_ref().map_or(old.len(), Vec::len);
            if found != old.len() || old.is_empty() {
                return Err(ReplacementError::Length { old: old.clone(), found });
            }
            if found > LONGEST_STRING {
                return Err(ReplacementError::TooLong { found });
            }
        }
        let kept = options.kept.iter().map(IpAddr::to_canonical).collect();
        Ok(Learner {
            map: AddressMap::new(options.seed, options.map_loopback, kept),
            options,
            addresses: BTreeSet::new(),
            certain: BTreeSet::new(),
            hardware: BTreeSet::new(),
            names: BTreeSet::new(),
            secrets: BTreeSet::new(),
            too_many: None,
        })
    }

    /// Collects addresses and names from a record.
    pub fn learn(&mut self, record: &[u8]) {
        let Some(head) = Head::from_bytes(record) else { return };
        let op = Op::from_number(head.op);
        for place in places::places(op, record) {
            match place {
                IdentifyingPart::Ip4(at) => self.certain_address(places::ip4(record, at).map(IpAddr::V4)),
                IdentifyingPart::Ip6(at) => self.certain_address(places::ip6(record, at)),
                IdentifyingPart::Hardware(at) => self.hardware_address(places::hardware(record, at)),
                IdentifyingPart::Name(at, length) => self.name(record.get(at..at + length).unwrap_or_default()),
            }
        }
        for part in Parts::new(record).filter(|part| is_text(part.kind, part.bytes)) {
            // Releases and versions of a kernel read as addresses now and then.
            if op != Some(Op::Uname) {
                self.text(part.bytes);
            }
        }
    }

    /// Looks for addresses in a text.
    pub fn text(&mut self, text: &[u8]) {
        self.text_from(text, 0, true);
    }

    /// As [`Learner::text`], for a path of a file that has to be found again: a row of numbers
    /// behind a letter is a version there, as in `/opt/server-1.2.3.4`.
    fn path(&mut self, path: &[u8]) {
        let mut at = 0;
        while at < path.len() {
            let found = spelling::address_at(path, at);
            let named = path.iter().take(at).rev().find(|byte| !matches!(byte, b'-' | b'_' | b'.'));
            at = match found {
                Some(Spelled::Ip4 { .. }) if named.is_some_and(u8::is_ascii_alphabetic) => at + 1,
                Some(spelled) if self.spelled(&spelled) => spelled.end(),
                _ => at + 1,
            };
        }
    }

    /// Learns from `text[start..]`, all of it if nothing follows; gives back up to where.
    fn text_from(&mut self, text: &[u8], start: usize, last: bool) -> usize {
        let mut at = start;
        while at < text.len() && (last || at + spelling::LONGEST <= text.len()) {
            if let Some((addresses, end)) = hexadecimal::proc_net(text, at) {
                for address in addresses {
                    self.address(address.to_canonical());
                }
                at = end;
                continue;
            }
            at = match spelling::address_at(text, at) {
                Some(spelled) if self.spelled(&spelled) => spelled.end(),
                _ => at + 1,
            };
        }
        at
    }

    /// False when it is not taken for an address.
    fn spelled(&mut self, spelled: &Spelled) -> bool {
        match spelled {
            Spelled::Ip4 { address, alone: true, .. } => self.address((*address).into()),
            Spelled::Ip6 { address, .. } if spelling::is_plausible(*address) => {
                self.address(IpAddr::from(*address).to_canonical());
                self.address((*address).into());
            }
            Spelled::Hardware { address, .. } => self.hardware_address(Some(*address)),
            _ => return false,
        }
        true
    }

    fn address(&mut self, address: IpAddr) {
        if self.options.keep_addresses || !self.map.replaces(address) {
            return;
        }
        if self.addresses.len() < MOST_ADDRESSES {
            self.addresses.insert(address);
        } else if !self.addresses.contains(&address) {
            self.too_many = Some(TooMany { what: "addresses", limit: MOST_ADDRESSES });
        }
    }

    fn certain_address(&mut self, address: Option<IpAddr>) {
        if let Some(address) = address {
            self.address(address);
            if self.addresses.contains(&address) {
                self.certain.insert(address);
            }
        }
    }

    fn hardware_address(&mut self, address: Option<[u8; HARDWARE_BYTES]>) {
        // Zeros are loopback's; the lowest bit of the first byte is set in addresses of groups (IEEE 802).
        let Some(address) = address.filter(|address| *address != [0; HARDWARE_BYTES] && address[0] & 1 == 0) else {
            return;
        };
        if self.options.keep_addresses {
            return;
        }
        if self.hardware.len() < MOST_ADDRESSES {
            self.hardware.insert(address);
        } else if !self.hardware.contains(&address) {
            self.too_many = Some(TooMany { what: "hardware addresses", limit: MOST_ADDRESSES });
        }
    }

    fn name(&mut self, name: &[u8]) {
        let is_address = !name.is_empty()
            && match spelling::address_at(name, 0) {
                Some(Spelled::Ip4 { octets: _, alone, .. }) => {
                    alone && std::str::from_utf8(name).is_ok_and(|name| name.parse::<IpAddr>().is_ok())
                }
                Some(Spelled::Ip6 { .. }) => true,
                _ => false,
            };
        if name.is_empty()
            || name.len() > LONGEST_NAME
            || is_address
            || name.starts_with(b"localhost")
            || name.starts_with(b"::")
        {
            return;
        }
        if self.names.len() < MOST_NAMES {
            self.names.insert(name.to_vec());
        } else if !self.names.contains(name) {
            self.too_many = Some(TooMany { what: "host names", limit: MOST_NAMES });
        }
    }

    /// Looks for addresses in the values of variables, for the name of the machine, and for values
    /// that their names call secrets.
    pub fn environment(&mut self, variables: &[(Vec<u8>, Vec<u8>)]) {
        for (name, value) in variables {
            self.text(value);
            let name = name.to_ascii_uppercase();
            if HOST_VARIABLES.iter().any(|host| host.as_bytes() == name) {
                self.name(value);
            }
            let is_called_secret =
                SECRET_WORDS.iter().any(|word| name.windows(word.len()).any(|part| part == word.as_bytes()));
            let has = |of: fn(&u8) -> bool| value.iter().any(of);
            // A password, and no switch, path or locator.
            let is_secret = (SECRET_BYTES..=LONGEST_STRING).contains(&value.len())
                && has(u8::is_ascii_alphabetic)
                && has(u8::is_ascii_digit)
                && !value.contains(&b'/');
            if is_called_secret && is_secret && self.secrets.len() < MOST_NAMES {
                self.secrets.insert(value.clone());
            }
        }
    }

    /// Chooses a replacement for everything that was collected.
    ///
    /// # Errors
    /// [`TooMany`] when there is more to replace than memory is kept for.
    pub fn finish(self) -> Result<Anonymizer, TooMany> {
        if let Some(too_many) = self.too_many {
            return Err(too_many);
        }
        let Learner { options, mut map, addresses, certain, hardware, names, secrets, .. } = self;
        let mut replacements = Replacements::new(options.seed);
        let mut report = AnonymizeReport::default();
        // What the user requested goes first, also inside a name.
        for Replacement { old, new } in &options.strings {
            replacements.add(old, new.as_deref(), Edge::Any);
        }
        let mut kinds = vec![(replacements.iter().count(), Kind::String)];
        for name in &names {
            if replacements.add_name(name, REPLACED_LABEL_BYTES) {
                report.host_names += 1;
            } else {
                report.host_names_kept += 1;
            }
        }
        kinds.push((replacements.iter().count(), Kind::HostName));
        for secret in &secrets {
            report.secret_values += u64::from(replacements.add(secret, None, Edge::Any));
        }
        kinds.push((replacements.iter().count(), Kind::SecretValue));
        map.give(&addresses);
        // An IPv4 address in the groups of an IPv6 address is that address in another spelling.
        let counted = map.replaced().filter(|(old, _)| *old == old.to_canonical());
        (report.addresses, report.addresses_in_text_only) =
            counted.fold((0, 0), |(all, in_text), (old, _)| (all + 1, in_text + u64::from(!certain.contains(&old))));
        let hardware: BTreeMap<_, _> =
            hardware.into_iter().map(|old| (old, hardware_replacement(options.seed, &old))).collect();
        report.hardware_addresses = hardware.len() as u64;
        add_raw(&mut replacements, &map, &hardware, options.raw_addresses);
        kinds.push((replacements.iter().count(), Kind::Address));
        Ok(Anonymizer { options, map, hardware, replacements, kinds, report, scratch: Vec::new() })
    }
}

/// Addresses as bytes. Four bytes may be anything else as well, so only on demand.
fn add_raw(
    replacements: &mut Replacements,
    map: &AddressMap,
    hardware: &BTreeMap<[u8; HARDWARE_BYTES], [u8; HARDWARE_BYTES]>,
    raw_addresses: bool,
) {
    for (old, new) in map.replaced() {
        match (old, new) {
            (IpAddr::V6(old), IpAddr::V6(new)) => replacements.add_raw(&old.octets(), &new.octets()),
            (IpAddr::V4(old), IpAddr::V4(new)) if raw_addresses && is_distinct(old.octets()) => {
                let (mut back, mut new_back) = (old.octets(), new.octets());
                replacements.add_raw(&back, &new_back);
                back.reverse();
                new_back.reverse();
                replacements.add_raw(&back, &new_back);
            }
            _ => {}
        }
        if hexadecimal::is_searched(old) {
            for (old, new) in hexadecimal::digits(old).iter().zip(&hexadecimal::digits(new)) {
                replacements.add_hexadecimal(old, new);
            }
        }
        if let (IpAddr::V4(old), IpAddr::V4(new)) = (old, new) {
            replacements.add_raw(&old.to_ipv6_mapped().octets(), &new.to_ipv6_mapped().octets());
        }
    }
    for (old, new) in hardware {
        replacements.add_raw(old, new);
    }
}

/// False for bytes as `10 0 0 0`, which are a small number far more often than an address.
fn is_distinct(octets: [u8; 4]) -> bool {
    octets.iter().filter(|&&octet| octet != 0).count() > 1
}

/// A locally administered hardware address of one machine (IEEE 802: the two lowest bits of the first byte).
fn hardware_replacement(seed: u64, old: &[u8; HARDWARE_BYTES]) -> [u8; HARDWARE_BYTES] {
    let mut random = Random::new(seed, old);
    let mut new: [u8; HARDWARE_BYTES] = std::array::from_fn(|_| random.below(256) as u8);
    new[0] = new[0] & !1 | 2;
    new
}

/// Parts that may hold text. Binary addresses are rewritten by their places: their bytes must not
/// be taken for text, nor their text for bytes.
fn is_text(kind: u8, bytes: &[u8]) -> bool {
    let binary = matches!(
        PartKind::from_number(kind),
        Some(PartKind::Addr | PartKind::Ready | PartKind::Message | PartKind::Control)
    );
    !binary || places::is_unix(kind, bytes)
}

/// The second pass: rewrites in place, so sizes never change.
#[derive(Debug)]
pub struct Anonymizer {
    options: AnonymizeOptions,
    map: AddressMap,
    hardware: BTreeMap<[u8; HARDWARE_BYTES], [u8; HARDWARE_BYTES]>,
    replacements: Replacements,
    /// Up to which word they are of which kind.
    kinds: Vec<(usize, Kind)>,
    report: AnonymizeReport,
    scratch: Vec<u8>,
}

/// Writes bytes to a place of a record, if it has room for all of them.
fn put<const N: usize>(record: &mut [u8], at: usize, bytes: [u8; N]) {
    if let Some(place) = record.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = bytes;
    }
}

impl Anonymizer {
    /// Replaces addresses and names in a record.
    pub fn rewrite(&mut self, record: &mut [u8]) {
        let Some(head) = Head::from_bytes(record) else { return };
        let op = Op::from_number(head.op);
        let known: Vec<IdentifyingPart> = places::places(op, record).collect();
        let texts: Vec<(usize, usize)> = Parts::new(record)
            .filter(|part| is_text(part.kind, part.bytes))
            .map(|part| (part.offset, part.bytes.len()))
            .collect();
        let bare_addresses =
            |at: usize| known.iter().any(|place| matches!(place, IdentifyingPart::Ip4(known) if *known == at));
        for place in &known {
            if let IdentifyingPart::Name(at, length) = *place {
                self.report.texts_rewritten +=
                    u64::from(self.replacements.replace_whole(record.get_mut(at..at + length).unwrap_or_default()));
            }
        }
        for (at, length) in texts {
            if !bare_addresses(at) {
                self.text(record.get_mut(at..at + length).unwrap_or_default());
            }
        }
        for place in known {
            let changed = match place {
                IdentifyingPart::Ip4(at) => {
                    places::ip4(record, at).is_some_and(|was| match self.map.map(IpAddr::V4(was)) {
                        IpAddr::V4(new) if new != was => {
                            put(record, at, new.octets());
                            true
                        }
                        _ => false,
                    })
                }
                IdentifyingPart::Ip6(at) => places::ip6(record, at).is_some_and(|was| {
                    let new = self.map.map(was);
                    match new {
                        // The last four bytes of ::ffff:a.b.c.d.
                        IpAddr::V4(new) => put(record, at + 12, new.octets()),
                        IpAddr::V6(new) => put(record, at, new.octets()),
                    }
                    new != was
                }),
                IdentifyingPart::Hardware(at) => {
                    let new = places::hardware(record, at).and_then(|was| self.hardware.get(&was));
                    if let Some(new) = new {
                        put(record, at, *new);
                    }
                    new.is_some()
                }
                IdentifyingPart::Name(..) => false,
            };
            self.report.addresses_rewritten += u64::from(changed);
        }
    }

    /// Rewrites text outside of records: arguments, paths, notes, contents of files.
    pub fn text(&mut self, text: &mut [u8]) {
        let mut source = std::mem::take(&mut self.scratch);
        source.clear();
        source.extend_from_slice(text);
        self.text_from(&source, 0, true, text);
        self.scratch = source;
    }

    /// Writes what stands for `text[start..]` to the same places of `out`, all of it if nothing
    /// follows; gives back up to where.
    fn text_from(&mut self, text: &[u8], start: usize, last: bool, out: &mut [u8]) -> usize {
        let ahead = self.ahead();
        let mut at = start;
        while at < text.len() && (last || at + ahead <= text.len()) {
            if let Some((length, new)) = self.replacements.at(text, at) {
                if let Some(place) = out.get_mut(at..at + length).filter(|place| place.len() == new.len()) {
                    place.copy_from_slice(&new);
                }
                at += length;
            } else if let Some(end) = spelling::address_at(text, at).and_then(|found| self.respell(&found, out)) {
                at = end;
            } else {
                at += 1;
                continue;
            }
            self.report.texts_rewritten += 1;
        }
        at
    }

    /// Bytes that have to be seen from a place on to know what begins there.
    fn ahead(&self) -> usize {
        spelling::LONGEST.max(self.replacements.longest() + 1)
    }

    /// Writes the replacement of an address, if it has one, and gives back where it ends.
    fn respell(&self, found: &Spelled, out: &mut [u8]) -> Option<usize> {
        match found {
            Spelled::Ip4 { address, octets, .. } => match self.map.map((*address).into()) {
                IpAddr::V4(new) if new != *address => Spelled::write4(octets, new, out),
                _ => return None,
            },
            Spelled::Ip6 { address, groups } => match self.map.map((*address).into()) {
                IpAddr::V6(new) if new != *address => Spelled::write6(groups, new, out),
                _ => return None,
            },
            Spelled::Hardware { address, pairs } => Spelled::write_hardware(pairs, *self.hardware.get(address)?, out),
        }
        Some(found.end())
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

    /// Counts of the replacements made so far.
    pub fn report(&self) -> AnonymizeReport {
        self.report
    }
}

#[cfg(test)]
mod tests;
