//! Verb `prony demo info`: prints facts about a demo.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use prony_demo::dump::call_name;
use prony_demo::{Head, PartKind, Parts};
use prony_report::demo::{CallCount, Facts};
use prony_report::{json, text};

use crate::cli::InfoArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::trust;

/// # Errors
/// When the demo cannot be read.
pub fn run(args: &InfoArgs) -> Result<Exit, Failure> {
    let mut demo = super::open("read", &args.demo)?;
    let calls = if args.calls { Some(count_calls(&mut demo, &args.demo)?) } else { None };
    let files = match prony_replay::inspect_files(&mut demo) {
        Ok(found) => Some(found),
        Err(error) => {
            eprintln!("warning: {error}");
            None
        }
    };
    let totals = demo.trailer().map(|trailer| trailer.totals);
    let last_frame_ns = demo.frames().last().map_or(0, |frame| frame.time_ns);
    let facts = Facts {
        header: demo.header(),
        trailer: demo.trailer(),
        remains: demo.truncation().map(ToString::to_string),
        records: demo.truncation().map_or_else(|| totals.map_or(0, |totals| totals.records), |cut| cut.records),
        frames: demo.frames().len() as u64,
        file_bytes: demo.file_bytes(),
        duration_ns: demo.trailer().map_or(last_frame_ns, |trailer| trailer.duration_ns),
        known: trust::is_known(&args.demo),
        listed: trust::is_listed(&args.demo),
        files,
        calls,
    };
    if args.json {
        output::print_json(&json::demo::info::answer(&facts))?
    } else {
        output::print(&text::demo::info::text(&args.demo, &facts))?
    }
    Ok(Exit::Good)
}

fn count_calls(demo: &mut super::OpenDemo, path: &Path) -> Result<BTreeMap<String, CallCount>, Failure> {
    let mut counts: BTreeMap<u16, CallCount> = BTreeMap::new();
    let read = demo.for_each_record(|_, record| {
        if let Some(head) = Head::from_bytes(record) {
            let count = counts.entry(head.op).or_default();
            count.calls += 1;
            for part in Parts::new(record) {
                match PartKind::from_number(part.kind) {
                    Some(PartKind::In) => count.bytes_in += part.bytes.len() as u64,
                    Some(PartKind::Out) => count.bytes_out += part.bytes.len() as u64,
                    _ => {}
                }
            }
        }
        ControlFlow::Continue(())
    });
    read.map_err(|error| Failure::demo("read", path, &error))?;
    Ok(counts.into_iter().map(|(op, count)| (call_name(op), count)).collect())
}
