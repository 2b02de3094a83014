//! `prony nic trace`: what a driver does.

use std::io::{self, Write};

use prony_ixgbe_regs::find;
use prony_machine::{Interrupt, Tree};
use prony_report::text;
use prony_softnic_host::{DeviceEvent, Direction, Event, Frame, ServeOptions, Written, serve};
use prony_text::{json, printable};
use serde::Serialize;

use super::{addresses, failure, reserve, serve as device, with_addresses};

use crate::cli::nic::TraceArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::NewFile;

/// The header of a pcap file with times in nanoseconds, and frames of Ethernet: libpcap, pcap-savefile(5).
const PCAP_HEADER: [u32; 6] = [0xa1b2_3c4d, 2 | 4 << 16, 0, 0, 65_535, 1];

/// Runs a driver, or waits for one, and prints what it does.
///
/// # Errors
/// What kept it from running.
pub fn run(args: &TraceArgs) -> Result<Exit, Failure> {
    let mut pcap = args.pcap.as_deref().map(|path| NewFile::create(path, args.force)).transpose()?;
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let addresses = addresses(args.ports);
    let command = (!args.command.is_empty()).then(|| with_addresses(&args.command, &addresses));
    let is_alone = command.is_none();
    let options = ServeOptions {
        addresses: addresses.clone(),
        binding: args.binding.binding(),
        rate: Some(args.rate),
        sizes: args.size.clone(),
        command,
        limit: Some(args.limit),
        is_tracing: true,
        with_frames: pcap.is_some(),
    };
    let tree = Tree::machine();
    let reserved = reserve(&tree, args.huge_pages)?;
    let mut out = Out { lines: io::BufWriter::with_capacity(1 << 16, io::stdout()), error: None };
    let mut frames = Vec::new();
    let stop = interrupt.flag();
    if pcap.is_some() {
        frames.extend(PCAP_HEADER.iter().flat_map(|word| word.to_le_bytes()));
    }
    let counts = serve(&options, &stop, &mut |happening| {
        match &happening {
            DeviceEvent::Ready { .. } if is_alone => device::tell(&addresses, options.binding, &happening),
            DeviceEvent::Ready { .. } => {}
            DeviceEvent::Frame(frame) => add_frame(&mut frames, frame),
            DeviceEvent::Notice(notice) if args.no_descriptors && matches!(notice.event, Event::Descriptor { .. }) => {}
            happening => out.line(&Line::of(&addresses, happening), args.json),
        }
        if out.error.is_some() {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    drop(reserved);
    let counts = counts.map_err(failure)?;
    out.finish()?;
    if let (Some(mut file), Some(path)) = (pcap.take(), &args.pcap) {
        file.file().write_all(&frames).map_err(|error| Failure::io("write", path, &error))?;
        file.finish()?;
    }
    eprint!("{}", device::text(&addresses, &counts));
    Ok(Exit::Good)
}

/// Standard output, and the first error that it gave.
struct Out {
    lines: io::BufWriter<io::Stdout>,
    error: Option<io::Error>,
}

impl Out {
    fn line(&mut self, line: &Line, as_json: bool) {
        let text = match as_json {
            // A line has no map with odd keys.
            true => json(&serde_json::to_string(line).unwrap_or_default()).into_owned(),
            false => printable(&line.text()).into_owned(),
        };
        if let Err(error) = writeln!(self.lines, "{text}") {
            self.error = Some(error);
        }
    }

    fn finish(mut self) -> Result<(), Failure> {
        let flushed = self.lines.flush();
        match self.error.map_or(flushed, Err) {
            Ok(()) => Ok(()),
            Err(error) => Err(Failure::stdout(&error)),
        }
    }
}

/// A line of the trace; docs/formats/nic-trace.md.
#[derive(Debug, Default, Serialize)]
struct Line {
    time_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<String>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    register: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl Line {
    fn of(addresses: &[String], happening: &DeviceEvent) -> Line {
        let seconds = |ns: u64| ns as f64 / 1e9;
        let text = |time_ns: u64, kind, text: String| Line {
            time_s: seconds(time_ns),
            kind,
            text: Some(text),
            ..Line::default()
        };
        match happening {
            DeviceEvent::Written { time_ns, port, write } => Line {
                time_s: seconds(*time_ns),
                port: Some(addresses[*port].clone()),
                kind: "write",
                register: Some(register(*write)),
                offset: Some(write.offset),
                value: Some(write.value),
                ..Line::default()
            },
            DeviceEvent::Attached { time_ns, pids, dma_bytes } => {
                text(*time_ns, "attach", format!("process {pids:?}, {dma_bytes} bytes of DMA memory"))
            }
            DeviceEvent::Detached { time_ns, working_queues } => {
                text(*time_ns, "detach", format!("{working_queues} queues worked; device reset"))
            }
            DeviceEvent::Notice(notice) => {
                let line = Line {
                    time_s: seconds(notice.time_ns),
                    port: Some(addresses[notice.port].clone()),
                    kind: "event",
                    ..Line::default()
                };
                match notice.event {
                    Event::Descriptor { direction, queue, index, address, bytes, end } => Line {
                        kind: "descriptor",
                        direction: Some(if direction == Direction::Receive { "receive" } else { "transmit" }),
                        queue: Some(queue),
                        index: Some(index),
                        address: Some(address),
                        bytes: Some(bytes.into()),
                        end: Some(end),
                        ..line
                    },
                    event => Line { text: Some(text::nic::event(&event)), ..line },
                }
            }
            DeviceEvent::Ready { .. } | DeviceEvent::Frame(_) => Line { kind: "event", ..Line::default() },
        }
    }

    fn text(&self) -> String {
        let port = self.port.as_deref().unwrap_or("");
        let what = match (&self.register, self.value, &self.text) {
            (Some(register), Some(value), _) => format!("{register} = {value:#010x}"),
            (_, _, Some(text)) => text.clone(),
            _ => {
                let end = if self.end == Some(true) { "" } else { ", more follows" };
                let (direction, queue) = (self.direction.unwrap_or(""), self.queue.unwrap_or(0));
                let (index, bytes) = (self.index.unwrap_or(0), self.bytes.unwrap_or(0));
                format!("{direction}[{queue}] {index}: {bytes} bytes at {:#x}{end}", self.address.unwrap_or(0))
            }
        };
        format!("{:12.6}  {port:<13} {:<11}{what}", self.time_s, self.kind)
    }
}

/// Name of a register: `RDT[0]`, or its offset.
fn register(write: Written) -> String {
    match find(write.offset) {
        Some((register, index)) if register.is_array => format!("{}[{index}]", register.name),
        Some((register, _)) => register.name.to_owned(),
        None => format!("{:#07x}", write.offset),
    }
}

fn add_frame(file: &mut Vec<u8>, frame: &Frame) {
    let length = frame.bytes.len() as u32;
    let (seconds, ns) = (frame.time_ns / 1_000_000_000, frame.time_ns % 1_000_000_000);
    for word in [seconds as u32, ns as u32, length, length] {
        file.extend(word.to_le_bytes());
    }
    file.extend(&frame.bytes);
}
