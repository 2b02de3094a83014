//! `prony nic trace`: what a driver does.

use std::io::{self, Write};

use prony_machine::{Interrupt, Tree};
use prony_report::nic::Line;
use prony_softnic_host::{DeviceEvent, Event, Frame, ServeOptions, serve};
use prony_text::{json, printable};

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
    let counts = serve(&options, &stop, &mut |happened| {
        match &happened {
            DeviceEvent::Ready { .. } if is_alone => device::tell(&addresses, options.binding, &happened),
            DeviceEvent::Ready { .. } => {}
            DeviceEvent::Frame(frame) => add_frame(&mut frames, frame),
            DeviceEvent::Notice(notice) if args.no_descriptors && matches!(notice.event, Event::Descriptor { .. }) => {}
            happened => out.line(&Line::of(&addresses, happened), args.json),
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

fn add_frame(file: &mut Vec<u8>, frame: &Frame) {
    let length = frame.bytes.len() as u32;
    let (seconds, ns) = (frame.time_ns / 1_000_000_000, frame.time_ns % 1_000_000_000);
    for word in [seconds as u32, ns as u32, length, length] {
        file.extend(word.to_le_bytes());
    }
    file.extend(&frame.bytes);
}
