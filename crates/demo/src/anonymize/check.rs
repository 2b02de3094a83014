//! The third pass: searches the result for everything that was learned, in more spellings than are
//! replaced, and names what it finds.
//!
//! Searched are all texts, the bytes of addresses in either order, addresses in hexadecimal and as decimal
//! numbers, and strings as base64, as hexadecimal digits and in UTF-16. What a server read or sent through one descriptor is searched
//! as one stream, so that a string that two calls share is found, too.

use std::collections::HashMap;
use std::io::{Read, Seek};
use std::net::IpAddr;

use serde::Serialize;

use super::archive::{self, Event};
use super::hexadecimal;
use super::needles::Needles;
use super::replacements::{self, Edge};
use super::spelling::{self, Spelled};
use super::window::Window;
use super::{Anonymizer, HARDWARE_BYTES, is_distinct, is_text};
use crate::{Demo, DemoError, Head, PartKind, Parts};

/// Findings that are described; more are only counted.
const MOST_FINDINGS: usize = 1000;
/// Descriptors whose last bytes are kept at a time.
const MOST_STREAMS: usize = 4096;
/// Characters of base64 that are searched at least: fewer turn up by chance.
const BASE64_BYTES: usize = 8;

/// Result of searching an anonymised demo for remaining secrets.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Findings in the order of the file; at most 1,000.
    pub findings: Vec<Finding>,
    /// Number of findings, those past the first 1,000 included.
    pub found: u64,
    /// Secrets that could not be searched for, as they are replacements of others, too.
    pub not_searched: u64,
}

/// Something that was to be replaced and still is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Place of the finding in the file.
    pub place: Where,
    /// Kind of the secret: a string, a name, an address.
    pub kind: Kind,
    /// Encoding in which it was found.
    pub form: Form,
    /// Replacement of the secret elsewhere in the result; reveals nothing about the secret.
    pub replacement: String,
}

/// A place in a demo.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Where {
    /// Header of the demo, written at the start of the recording.
    Header {
        /// Name of the field in the header.
        field: &'static str,
        /// Offset of the finding in the field, in bytes.
        byte: u64,
    },
    /// Trailer of the demo, written at its end.
    Trailer {
        /// Name of the field in the trailer.
        field: &'static str,
        /// Offset of the finding in the field, in bytes.
        byte: u64,
    },
    /// Archive of a state directory, or of files that the server only read.
    State {
        /// Number of the directory; [`crate::FILES_ARCHIVE`] for those files.
        directory: u32,
        /// Path of the entry, as the result has it.
        entry: String,
        /// Byte of the content; `None`: in the names of the entry.
        byte: Option<u64>,
    },
    /// Record of a call, in one of its parts.
    Record {
        /// Index of the process in the recording, from 0.
        process: u16,
        /// Place of the record in its process.
        record: u64,
        /// Number of the call, see [`crate::Op`].
        call: u16,
        /// Place of the part in the record, from 0.
        part: usize,
        /// Offset of the finding in the part, in bytes.
        byte: u64,
        /// True when it begins in an earlier part or call of the same descriptor.
        split: bool,
    },
}

/// Kinds of secrets that are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A string of the user's.
    String,
    /// A host name, or its first label.
    HostName,
    /// The value of a variable with the name of a secret.
    SecretValue,
    /// An IPv4 or IPv6 address.
    Address,
    /// An address of an interface.
    HardwareAddress,
}

/// Encoding in which a secret was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Text as it is spelled.
    Text,
    /// Bytes of an address in network order.
    Bytes,
    /// Bytes of an address in reverse order.
    BytesReversed,
    /// Text in base64, at any of its three alignments.
    Base64,
    /// Hexadecimal digits, two for each byte, of a text or of an address.
    Hexadecimal,
    /// IPv4 address as one decimal number.
    Decimal,
    /// Text in UTF-16, little-endian, two bytes a character.
    Utf16,
}

/// Permitted neighbours of a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Any,
    NoWord,
    NoDecimal,
    NoHexadecimal,
    /// No digit of the same number.
    NoHexDigit,
}

#[derive(Debug, Clone, Copy)]
struct Needle {
    secret: u32,
    form: Form,
    beside: Beside,
}

/// A search for all secrets in all encodings.
struct Search<'a> {
    anonymizer: &'a Anonymizer,
    needles: Needles<Needle>,
    /// Kind and replacement of each secret.
    secrets: Vec<(Kind, String)>,
    /// Secrets that are replacements of others.
    ambiguous: Vec<bool>,
    by_address: HashMap<IpAddr, u32>,
    by_hardware: HashMap<[u8; HARDWARE_BYTES], u32>,
    check: Check,
}

/// Characters that a text may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Payload bytes of any kind.
    Payload,
    /// Text; four bytes of it are no address.
    Text,
    /// Structures of C: no text.
    Binary,
}

impl Anonymizer {
    /// Searches a demo that [`Anonymizer::demo`] wrote for everything that was to be replaced.
    ///
    /// # Errors
    /// [`DemoError`] when the demo cannot be read to its end.
    pub fn check<R: Read + Seek>(&self, demo: &mut Demo<R>) -> Result<Check, DemoError> {
        let mut search = Search::new(self);
        search.header(demo);
        for directory in demo.archives() {
            search.state_archive(directory, demo.state_archive(directory))?;
        }
        let mut tails = HashMap::new();
        let mut records = demo.records();
        while let Some((process, record)) = records.next()? {
            search.record(process, record, &mut tails);
        }
        search.trailer(demo);
        Ok(search.check)
    }
}

impl<'a> Search<'a> {
    fn new(anonymizer: &'a Anonymizer) -> Search<'a> {
        let mut search = Search {
            anonymizer,
            needles: Needles::new(),
            secrets: Vec::new(),
            ambiguous: Vec::new(),
            by_address: HashMap::new(),
            by_hardware: HashMap::new(),
            check: Check::default(),
        };
        for (place, word) in anonymizer.replacements.iter().enumerate() {
            let kind = anonymizer.kinds.iter().find(|(end, _)| place < *end).map_or(Kind::Address, |(_, kind)| *kind);
            // Raw addresses come below; what its owner wants to stay is no secret.
            if kind == Kind::Address || word.old.eq_ignore_ascii_case(&word.new) {
                continue;
            }
            let secret = search.secret(kind, String::from_utf8_lossy(&word.new).into_owned());
            let beside = if word.edge == Edge::Any { Beside::Any } else { Beside::NoWord };
            search.text(secret, &word.old, beside);
        }
        for (old, new) in anonymizer.map.replaced() {
            let secret = search.secret(Kind::Address, new.to_string());
            search.by_address.insert(old, secret);
            let beside = if old.is_ipv4() { Beside::NoDecimal } else { Beside::NoHexadecimal };
            search.text(secret, old.to_string().as_bytes(), beside);
            search.other_digits(secret, old);
            match old {
                IpAddr::V4(old) if is_distinct(old.octets()) => search.raw(secret, &old.octets()),
                // The bytes of these are the bytes of the IPv4 address.
                IpAddr::V6(old) if old.to_ipv4_mapped().is_none() => search.raw(secret, &old.octets()),
                _ => {}
            }
        }
        for (old, new) in &anonymizer.hardware {
            let secret = search.secret(Kind::HardwareAddress, hardware_text(new));
            search.by_hardware.insert(*old, secret);
            search.text(secret, hardware_text(old).as_bytes(), Beside::NoHexadecimal);
            search.raw(secret, old);
        }
        search.leave_out_replacements();
        search
    }

    fn secret(&mut self, kind: Kind, replacement: String) -> u32 {
        self.secrets.push((kind, replacement));
        self.ambiguous.push(false);
        self.secrets.len() as u32 - 1
    }

    fn text(&mut self, secret: u32, old: &[u8], beside: Beside) {
        let needle = |form, beside| Needle { secret, form, beside };
        self.needles.add_folded(old, needle(Form::Text, beside));
        if old.len() < 4 {
            return;
        }
        let hexadecimal: String = old.iter().map(|byte| format!("{byte:02x}")).collect();
        self.needles.add_folded(hexadecimal.as_bytes(), needle(Form::Hexadecimal, Beside::Any));
        let mut wide: Vec<u8> = old.iter().flat_map(|&byte| [byte, 0]).collect();
        // Its last zero may be the first byte of something else.
        wide.pop();
        self.needles.add_folded(&wide, needle(Form::Utf16, Beside::Any));
        for before in 0..3 {
            let encoded = base64_inside(old, before);
            if encoded.len() >= BASE64_BYTES {
                self.needles.add_exact(&encoded, needle(Form::Base64, Beside::Any));
            }
        }
    }

    /// An address in hexadecimal, and as one number.
    fn other_digits(&mut self, secret: u32, old: IpAddr) {
        if !hexadecimal::is_searched(old) {
            return;
        }
        let hexadecimal = Needle { secret, form: Form::Hexadecimal, beside: Beside::NoHexDigit };
        for spelling in hexadecimal::digits(old) {
            self.needles.add_folded(&spelling, hexadecimal);
        }
        for spelling in hexadecimal::separate(old) {
            // With colons it may be a part of another address.
            let beside = if spelling.contains(&b':') { Beside::NoHexadecimal } else { Beside::NoHexDigit };
            self.needles.add_folded(&spelling, Needle { beside, ..hexadecimal });
        }
        for spelling in hexadecimal::decimal(old) {
            self.needles.add_exact(&spelling, Needle { secret, form: Form::Decimal, beside: Beside::NoDecimal });
        }
    }

    fn raw(&mut self, secret: u32, bytes: &[u8]) {
        self.needles.add_exact(bytes, Needle { secret, form: Form::Bytes, beside: Beside::Any });
        let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
        self.needles.add_exact(&reversed, Needle { secret, form: Form::BytesReversed, beside: Beside::Any });
    }

    /// Leaves out secrets that are parts of replacements: they are in the result anyway and reveal nothing.
    fn leave_out_replacements(&mut self) {
        let replacements = self.anonymizer.replacements.iter().map(|word| word.new.clone());
        let addresses = self
            .anonymizer
            .map
            .replaced()
            .flat_map(|(_, new)| [vec![new.to_string().into_bytes()], hexadecimal::digits(new)].concat());
        let hardware = self.anonymizer.hardware.values().map(|new| hardware_text(new).into_bytes());
        let mut ambiguous = std::mem::take(&mut self.ambiguous);
        for replacement in replacements.chain(addresses).chain(hardware) {
            for at in 0..replacement.len() {
                self.each_at(&replacement, at, Content::Text, |_, needle| mark(&mut ambiguous, needle.secret));
            }
        }
        for (&address, &secret) in &self.by_address {
            if self.anonymizer.map.is_given(address) {
                mark(&mut ambiguous, secret);
            }
        }
        self.check.not_searched = ambiguous.iter().filter(|&&ambiguous| ambiguous).count() as u64;
        self.ambiguous = ambiguous;
    }

    /// Calls `each` with length and needle of all that begins at `at`.
    fn each_at(&self, text: &[u8], at: usize, content: Content, mut each: impl FnMut(usize, Needle)) {
        let is_left_out = |secret: u32| self.ambiguous.get(secret as usize).is_some_and(|&ambiguous| ambiguous);
        self.needles.at(text, at, |length, needle| {
            let is_raw = matches!(needle.form, Form::Bytes | Form::BytesReversed);
            let fits = match content {
                Content::Payload => true,
                Content::Text => !(is_raw && length == 4),
                Content::Binary => is_raw,
            };
            if fits && !is_left_out(needle.secret) && stands_alone(text, at, length, needle.beside) {
                each(length, needle);
            }
            false
        });
        if content == Content::Binary {
            return;
        }
        // Other spellings than the standard one.
        let Some(found) = spelling::address_at(text, at) else { return };
        let secret = match &found {
            Spelled::Ip4 { address, .. } => self.by_address.get(&IpAddr::from(*address)),
            Spelled::Ip6 { address, .. } => self.by_address.get(&IpAddr::from(*address)),
            Spelled::Hardware { address, .. } => self.by_hardware.get(address),
        };
        if let Some(&secret) = secret.filter(|&&secret| !is_left_out(secret)) {
            each(found.end() - at, Needle { secret, form: Form::Text, beside: Beside::Any });
        }
    }

    /// Searches `text[start..]`, all of it if nothing follows; gives back up to where.
    fn search(
        &mut self,
        text: &[u8],
        start: usize,
        last: bool,
        content: Content,
        place: impl Fn(u64) -> Where,
    ) -> usize {
        let ahead = self.ahead();
        let mut found = Vec::new();
        let mut at = start;
        while at < text.len() && (last || at + ahead <= text.len()) {
            self.each_at(text, at, content, |_, needle| found.push((at, needle)));
            at += 1;
        }
        // The standard spelling is found twice.
        found.dedup_by_key(|(at, needle)| (*at, needle.secret));
        for (at, needle) in found {
            self.report(needle, || place(at as u64));
        }
        at
    }

    fn ahead(&self) -> usize {
        spelling::LONGEST.max(self.needles.longest() + 1)
    }

    fn report(&mut self, needle: Needle, place: impl FnOnce() -> Where) {
        self.check.found += 1;
        if self.check.findings.len() < MOST_FINDINGS {
            let Some((kind, replacement)) = self.secrets.get(needle.secret as usize).cloned() else { return };
            self.check.findings.push(Finding { place: place(), kind, form: needle.form, replacement });
        }
    }

    fn header<R: Read + Seek>(&mut self, demo: &Demo<R>) {
        let header = demo.header().clone();
        let mut field = |field: &'static str, text: &[u8]| {
            self.search(text, 0, true, Content::Text, |byte| Where::Header { field, byte });
        };
        field("executable", &header.executable);
        field("directory", &header.cwd);
        header.argv.iter().for_each(|argument| field("argument", argument));
        for (name, value) in &header.environment {
            field("variable", &[name, &b"="[..], value].concat());
        }
        header.state_directories.iter().for_each(|path| field("state directory", path));
        header.excluded_objects.iter().for_each(|path| field("excluded object", path));
        for (name, value) in &header.properties {
            field("property", &[name.as_bytes(), b"=", value].concat());
        }
        field("flags of the processor", header.cpu_flags.join(" ").as_bytes());
        for text in [&header.architecture, &header.cpu_model, &header.kernel_release, &header.prony_version] {
            field("machine", text.as_bytes());
        }
    }

    fn trailer<R: Read + Seek>(&mut self, demo: &Demo<R>) {
        let trailer = demo.trailer().cloned().unwrap_or_default();
        let mut field = |field: &'static str, text: &[u8]| {
            self.search(text, 0, true, Content::Text, |byte| Where::Trailer { field, byte });
        };
        trailer.files.iter().for_each(|file| field("file", &file.path));
        trailer.objects.iter().for_each(|object| field("object", &object.path));
        trailer.unsearched.iter().for_each(|path| field("object that was not searched", path));
        trailer.notes.iter().for_each(|note| field("note", note.as_bytes()));
    }

    fn state_archive(&mut self, directory: u32, from: impl Read) -> Result<(), DemoError> {
        let mut window = Window::default();
        let mut entry = String::new();
        archive::walk(from, |event| {
            match event {
                Event::Header(header) => {
                    let name = archive::entry_name(header);
                    entry = String::from_utf8_lossy(&name).into_owned();
                    let place = |_| Where::State { directory, entry: entry.clone(), byte: None };
                    // The path as a whole, which may be in two fields, then the other texts.
                    self.search(&name, 0, true, Content::Text, place);
                    for field in &archive::TEXTS[1..4] {
                        self.search(archive::text(header, field.clone()), 0, true, Content::Text, place);
                    }
                }
                Event::Content { bytes, last } => {
                    let context = spelling::BEFORE;
                    window.push(bytes, last, context, |text, start, gone, last| {
                        self.search(text, start, last, Content::Payload, |at| Where::State {
                            directory,
                            entry: entry.clone(),
                            byte: Some(gone + at),
                        })
                    });
                }
            }
            Ok(())
        })
    }

    /// `tails`: the last bytes of what went through each descriptor in each direction.
    fn record(&mut self, process: u16, record: &[u8], tails: &mut HashMap<(u16, i32, u8), Vec<u8>>) {
        let Some(head) = Head::from_bytes(record) else { return };
        let ahead = self.ahead();
        for (number, part) in Parts::new(record).enumerate() {
            let place = |byte: u64, split| Where::Record {
                process,
                record: head.order,
                call: head.op,
                part: number,
                byte,
                split,
            };
            let kind = PartKind::from_number(part.kind);
            let content = match kind {
                // Numbers of descriptors, lengths and flags.
                Some(PartKind::Ready | PartKind::Message) => continue,
                _ if is_text(part.kind, part.bytes) => Content::Payload,
                _ => Content::Binary,
            };
            if matches!(kind, Some(PartKind::In | PartKind::Out)) {
                if tails.len() >= MOST_STREAMS && !tails.contains_key(&(process, head.fd, part.kind)) {
                    tails.clear();
                }
                let tail = tails.entry((process, head.fd, part.kind)).or_default();
                for needle in self.split(tail, part.bytes, ahead) {
                    self.report(needle, || place(0, true));
                }
            }
            self.search(part.bytes, 0, true, content, |byte| place(byte, false));
        }
    }

    /// Matches that begin in `tail` and end in `more`; `tail` then holds the last bytes of both.
    fn split(&self, tail: &mut Vec<u8>, more: &[u8], ahead: usize) -> Vec<Needle> {
        let before = tail.len();
        tail.extend_from_slice(more.get(..ahead).unwrap_or(more));
        let mut found = Vec::new();
        for at in 0..before {
            self.each_at(tail, at, Content::Text, |length, needle| {
                if at + length > before {
                    found.push((at, needle));
                }
            });
        }
        found.dedup_by_key(|(at, needle)| (*at, needle.secret));
        if more.len() > ahead {
            tail.clear();
            tail.extend_from_slice(more.get(more.len() - ahead..).unwrap_or_default());
        }
        let kept = tail.len().saturating_sub(ahead);
        tail.drain(..kept);
        found.into_iter().map(|(_, needle)| needle).collect()
    }
}

fn mark(list: &mut [bool], place: u32) {
    if let Some(marked) = list.get_mut(place as usize) {
        *marked = true;
    }
}

fn stands_alone(text: &[u8], at: usize, length: usize, beside: Beside) -> bool {
    let before = spelling::before(text, at);
    let rest = text.get(at + length..).unwrap_or_default();
    match beside {
        Beside::Any => true,
        Beside::NoWord => replacements::stands_alone(Edge::Word, before, rest.first()),
        Beside::NoDecimal => {
            !before.is_some_and(|byte| byte.is_ascii_digit()) && !rest.first().is_some_and(u8::is_ascii_digit)
        }
        Beside::NoHexDigit => replacements::stands_alone(Edge::Hexadecimal, before, rest.first()),
        Beside::NoHexadecimal => {
            let joined = |one: Option<u8>, other: Option<u8>| {
                one.is_some_and(|byte| byte.is_ascii_hexdigit())
                    || (one == Some(b':') && other.is_some_and(|byte| byte.is_ascii_hexdigit() || byte == b':'))
            };
            let second = at.checked_sub(2).and_then(|second| text.get(second).copied());
            !joined(before, second) && !joined(rest.first().copied(), rest.get(1).copied())
        }
    }
}

fn hardware_text(address: &[u8; HARDWARE_BYTES]) -> String {
    address.map(|byte| format!("{byte:02x}")).join(":")
}

/// The characters of base64 (RFC 4648) that `secret` alone decides, when `before` other bytes stand
/// before it in its group of three.
#[expect(
    clippy::indexing_slicing,
    reason = "bits are below the length of the secret, and six of them number a character"
)]
fn base64_inside(secret: &[u8], before: usize) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bit = |place: usize| secret[place / 8] >> (7 - place % 8) & 1;
    // The first character that begins at or behind the first bit of the secret.
    let skipped = (before * 8).next_multiple_of(6) - before * 8;
    (skipped..)
        .step_by(6)
        .take_while(|first| first + 6 <= secret.len() * 8)
        .map(|first| ALPHABET[(first..first + 6).fold(0, |value, place| value << 1 | usize::from(bit(place)))])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inside_of_base64_is_what_an_encoder_writes() {
        // `xyhunter2` and so on, by base64(1): aHVudGVyMg==, eGh1bnRlcjI=, eHlodW50ZXIy.
        assert_eq!(base64_inside(b"hunter2", 0), b"aHVudGVyM");
        assert_eq!(base64_inside(b"hunter2", 1), b"h1bnRlcj");
        assert_eq!(base64_inside(b"hunter2", 2), b"odW50ZXIy");
    }
}
