//! Text line or JSON object of a record.
//!
//! ```text
//! #412 frame 38 1.203441s t0 recvfrom(4, 1400) = 12 127.0.0.1:40112 in 12: ff ff ff ff 67 65 74 69 6e 66 6f 0a |....getinfo.|
//! ```
//!
//! Parts are shown by their kind, so a new call needs nothing here; a kind or a call that this
//! version does not know is shown by its number.

mod errno;

use std::fmt;
use std::net::IpAddr;

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use crate::address::Address;
use crate::{Class, Head, Op, Part, PartKind, Parts, READY_AGE, READY_AGE_SHIFT, WAIT_FOREVER};

pub use errno::errno_name;

/// Bytes of a payload that a line shows; enough for most protocols' first fields.
const PREVIEW_BYTES: usize = 16;
/// Bytes per line of a whole hex dump, as `hexdump -C` has it.
const DUMP_BYTES: usize = 16;

/// A record as [`fmt::Display`] and [`Serialize`] show it.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// Index of the process in the recording, from 0.
    pub process: u16,
    /// Frame of process 0 that was going on.
    pub frame: u64,
    /// Head of the record: call, time, result, descriptor.
    pub head: Head,
    /// Show every byte of every part on lines of their own instead of the first few.
    pub full: bool,
    record: &'a [u8],
}

impl<'a> Line<'a> {
    /// `None` when `record` does not begin with a head.
    pub fn new(process: u16, frame: u64, record: &'a [u8]) -> Option<Line<'a>> {
        Some(Line { process, frame, head: Head::from_bytes(record)?, full: false, record })
    }

    /// Line that shows every byte if `full`, otherwise an excerpt.
    pub fn in_full(mut self, full: bool) -> Line<'a> {
        self.full = full;
        self
    }

    /// The call alone.
    pub fn call(self) -> Call<'a> {
        Call(self)
    }

    fn parts(&self) -> Parts<'a> {
        Parts::new(self.record)
    }

    /// The name of the error, when the call failed.
    fn error(&self) -> Option<String> {
        let class = Op::from_number(self.head.op).map(Op::class);
        // Linux: the last page of the address space, so 4095 of them.
        let failed = (-4095..0).contains(&self.head.ret) && class != Some(Class::Clock);
        failed.then(|| errno_name(-self.head.ret as i32))
    }
}

/// The name of a call, or its number when this version does not know it.
pub fn call_name(op: u16) -> String {
    Op::from_number(op).map_or_else(|| format!("call {op}"), |op| op.name().to_owned())
}

/// The call of a [`Line`] alone: `recvfrom(4, 1400) = 12 127.0.0.1:40112 in 12: ff ff …`, without its place, process,
/// time and thread.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a>(Line<'a>);

impl fmt::Display for Call<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.call_text(f)
    }
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Head { thread, order, time, .. } = self.head;
        if self.process > 0 {
            write!(f, "p{} ", self.process)?;
        }
        let (seconds, micros) = (time / 1_000_000_000, time % 1_000_000_000 / 1000);
        write!(f, "#{order} frame {} {seconds}.{micros:06}s t{thread} ", self.frame)?;
        self.call_text(f)
    }
}

impl Line<'_> {
    fn call_text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Head { op, ret, fd, aux, .. } = self.head;
        write!(f, "{}(", call_name(op))?;
        let class = Op::from_number(op).map(Op::class);
        let mut arguments = Vec::new();
        if fd >= 0 {
            arguments.push(fd.to_string());
        }
        match class {
            Some(Class::Wait) if aux == WAIT_FOREVER => arguments.push("forever".to_owned()),
            Some(Class::Wait) => arguments.push(format!("{aux} ms")),
            Some(Class::Input | Class::Output) => arguments.push(aux.to_string()),
            _ if aux > 0 => arguments.push(aux.to_string()),
            _ => {}
        }
        write!(f, "{}) = ", arguments.join(", "))?;
        let is_of_processor = matches!(Op::from_number(op), Some(Op::Rdtsc | Op::Rdpid | Op::Cpuid));
        match (self.error(), class) {
            (Some(error), _) => write!(f, "-1 {error}")?,
            (None, Some(Class::Clock)) if ret >= 0 && !is_of_processor => {
                write!(f, "{}.{:09}s", ret / 1_000_000_000, ret % 1_000_000_000)?;
            }
            (None, _) => write!(f, "{ret}")?,
        }
        for part in self.parts() {
            write!(f, " ")?;
            part_text(f, op, &part, self.full)?;
        }
        Ok(())
    }
}

fn part_text(f: &mut fmt::Formatter<'_>, op: u16, part: &Part<'_>, full: bool) -> fmt::Result {
    match PartKind::from_number(part.kind) {
        Some(PartKind::Addr) => match address(op, part.bytes) {
            Some(address) => write!(f, "{address}"),
            None => bytes_text(f, "address", part.bytes, full),
        },
        Some(PartKind::Ready) => {
            write!(f, "{{")?;
            for (place, (fd, events)) in ready(part.bytes).enumerate() {
                write!(f, "{}{fd}: {:#x}", if place > 0 { ", " } else { "" }, events & !READY_AGE)?;
                match (events & READY_AGE) >> READY_AGE_SHIFT {
                    0 => {}
                    age => write!(f, " of the registration {age} before")?,
                }
            }
            write!(f, "}}")
        }
        Some(PartKind::Path) => write!(f, "\"{}\"", part.bytes.escape_ascii()),
        Some(PartKind::Message) => match message(part.bytes) {
            Some((length, flags)) => write!(f, "message({length}, {flags:#x})"),
            None => bytes_text(f, "message", part.bytes, full),
        },
        _ => bytes_text(f, &kind_name(part.kind), part.bytes, full),
    }
}

/// Text of an `Addr` part: a `sockaddr`, or the bare address of a `hostent`.
fn address(op: u16, bytes: &[u8]) -> Option<String> {
    if op == Op::Gethostbyname as u16 {
        let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
        return four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok().map(|ip| ip.to_string());
    }
    Address::from_bytes(bytes).map(|address| address.to_string())
}

fn kind_name(kind: u8) -> String {
    match PartKind::from_number(kind) {
        Some(PartKind::In) => "in".to_owned(),
        Some(PartKind::Out) => "out".to_owned(),
        Some(PartKind::Addr) => "address".to_owned(),
        Some(PartKind::Control) => "control".to_owned(),
        Some(PartKind::Ready) => "ready".to_owned(),
        Some(PartKind::Value) => "value".to_owned(),
        Some(PartKind::Path) => "path".to_owned(),
        Some(PartKind::Message) => "message".to_owned(),
        None => format!("part {kind}"),
    }
}

fn ready(bytes: &[u8]) -> impl Iterator<Item = (i32, u32)> {
    let words = bytes.as_chunks::<4>().0.as_chunks().0.iter();
    words.map(|&[fd, events]| (i32::from_le_bytes(fd), u32::from_le_bytes(events)))
}

fn message(bytes: &[u8]) -> Option<(u32, u32)> {
    let length = u32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
    Some((length, u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?)))
}

fn bytes_text(f: &mut fmt::Formatter<'_>, name: &str, bytes: &[u8], full: bool) -> fmt::Result {
    write!(f, "{name} {}:", bytes.len())?;
    if full {
        for (row, bytes) in bytes.chunks(DUMP_BYTES).enumerate() {
            write!(f, "\n    {:06x} {:<48} |{}|", row * DUMP_BYTES, hex(bytes), printable(bytes))?;
        }
        return Ok(());
    }
    let shown = bytes.get(..PREVIEW_BYTES).unwrap_or(bytes);
    if shown.is_empty() {
        return Ok(());
    }
    let cut = if shown.len() < bytes.len() { "…" } else { "" };
    write!(f, " {} |{}|{cut}", hex(shown), printable(shown))
}

/// Pairs of hex digits with a space between them.
pub fn hex(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    digits.join(" ")
}

/// The bytes as text, with a dot for what is no printable ASCII.
pub fn printable(bytes: &[u8]) -> String {
    bytes.iter().map(|&byte| if byte == b' ' || byte.is_ascii_graphic() { char::from(byte) } else { '.' }).collect()
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let head = &self.head;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("process", &self.process)?;
        map.serialize_entry("record", &head.order)?;
        map.serialize_entry("frame", &self.frame)?;
        map.serialize_entry("time_s", &(head.time as f64 / 1e9))?;
        map.serialize_entry("thread", &head.thread)?;
        map.serialize_entry("call", &call_name(head.op))?;
        if let Some(op) = Op::from_number(head.op) {
            map.serialize_entry("class", &format!("{:?}", op.class()).to_lowercase())?;
        }
        map.serialize_entry("fd", &head.fd)?;
        map.serialize_entry("aux", &head.aux)?;
        map.serialize_entry("ret", &head.ret)?;
        if let Some(error) = self.error() {
            map.serialize_entry("error", &error)?;
        }
        map.serialize_entry("parts", &PartList(head.op, self.parts()))?;
        map.end()
    }
}

struct PartList<'a>(u16, Parts<'a>);

impl Serialize for PartList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for part in self.1.clone() {
            list.serialize_element(&PartObject(self.0, part))?;
        }
        list.end()
    }
}

struct PartObject<'a>(u16, Part<'a>);

impl Serialize for PartObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Part { kind, bytes, .. } = self.1;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", &kind_name(kind))?;
        map.serialize_entry("length", &bytes.len())?;
        match PartKind::from_number(kind) {
            Some(PartKind::Addr) => {
                if let Some(address) = address(self.0, bytes) {
                    map.serialize_entry("address", &address)?;
                }
            }
            Some(PartKind::Ready) => map.serialize_entry("ready", &ready(bytes).collect::<Vec<_>>())?,
            Some(PartKind::Path) => map.serialize_entry("path", &String::from_utf8_lossy(bytes))?,
            _ => {}
        }
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        map.serialize_entry("hex", &digits)?;
        map.end()
    }
}

#[cfg(test)]
mod tests;
