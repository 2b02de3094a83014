//! Verb `prony demo pcap`: writes the traffic as a pcap file.

use std::io::{self, IsTerminal, Write};

use prony_demo::pcap::{Pcap, PcapSummary};
use prony_report::text;

use crate::cli::PcapArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};

/// Bytes gathered before they are written.
const CHUNK_BYTES: usize = 1 << 20;

/// # Errors
/// When the demo cannot be read or the pcap not written.
pub fn run(args: &PcapArgs) -> Result<Exit, Failure> {
    if args.output.is_none() && io::stdout().is_terminal() {
        return Err(Failure::new("cannot write a pcap to a terminal")
            .hint(format!("use -o FILE, or `prony demo pcap {} | tshark -r -`", args.demo.display())));
    }
    let mut demo = super::open("export", &args.demo)?;
    let summary = match &args.output {
        None => {
            let mut out = io::stdout().lock();
            export(&mut demo, args, |bytes| out.write_all(bytes).map_err(|error| Failure::stdout(&error)))?
        }
        Some(path) => {
            let mut new = NewFile::create(path, args.force)?;
            let write = |bytes: &[u8]| new.file().write_all(bytes).map_err(|error| Failure::io("write", path, &error));
            let summary = export(&mut demo, args, write)?;
            new.finish()?;
            summary
        }
    };
    if args.json {
        output::print_json(&summary)?;
    } else {
        eprint!("{}", text::demo::pcap::text(&summary));
    }
    Ok(Exit::Good)
}

fn export(
    demo: &mut super::OpenDemo,
    args: &PcapArgs,
    mut write: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<PcapSummary, Failure> {
    let mut pcap = Pcap::new(demo.header().recorded_at_unix_ns);
    let mut records = demo.records();
    let mut gathered = Vec::new();
    while let Some((process, record)) = records.next().map_err(|error| Failure::demo("export", &args.demo, &error))? {
        pcap.handle_record(process, record);
        gathered.append(&mut pcap.take_bytes());
        if gathered.len() >= CHUNK_BYTES {
            write(&gathered)?;
            gathered.clear();
        }
    }
    gathered.append(&mut pcap.take_bytes());
    write(&gathered)?;
    Ok(pcap.summary().clone())
}
