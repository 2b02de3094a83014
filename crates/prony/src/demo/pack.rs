//! `prony demo pack`, and what of a server's files is in its demo.

use std::fmt::Write as _;
use std::io::{BufWriter, Write};

use prony_replay::{LeaveOutReason, LeftOut, PackError, PackLimits, PackReport, pack_files};
use prony_text::{Untrusted, bytes, count};
use serde_json::{Value, json};

use crate::cli::PackArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};
use crate::trust;

/// Files that are named one by one; `--json` has more.
const NAMED_MOST: usize = 10;

/// # Errors
/// When the demo cannot be read or the new one not written.
pub fn run(args: &PackArgs) -> Result<Exit, Failure> {
    let mut demo = super::open("pack", &args.demo)?;
    let mut new = NewFile::create(&args.output, args.force)?;
    let limits = PackLimits { private: args.private, ..PackLimits::ALL };
    let packed = pack_files(&mut demo, BufWriter::new(new.file()), &args.assets, limits);
    let (mut out, report) = packed.map_err(|error| match error {
        PackError::Read(error) => Failure::demo("pack", &args.demo, &error),
        PackError::Write(error) => Failure::write(&args.output, &error),
        PackError::Held(_) | PackError::Cut => Failure::new(format!("cannot pack {}: {error}", args.demo.display())),
    })?;
    out.flush().map_err(|error| Failure::io("write", &args.output, &error))?;
    drop(out);
    new.finish()?;
    if trust::is_known(&args.demo) {
        trust::note(&args.output);
    }
    if args.json {
        output::print_json(&json!({ "file": args.output, "packed": answer(&report) }))?;
    } else {
        let mut text = format!("{}:\n", Untrusted::new(&args.output));
        lines(&mut text, &report);
        output::print(&text)?;
    }
    let lacks = |why| report.left_out.iter().any(|file| file.why == why);
    if lacks(LeaveOutReason::Gone) {
        eprintln!("hint: use --assets DIR to search for them below DIR, by content");
    } else if lacks(LeaveOutReason::Private) {
        eprintln!("hint: use --private to add files that are not world-readable");
    }
    Ok(if report.left_out.is_empty() { Exit::Good } else { Exit::Finding })
}

/// Appends the packed files and those left out, as text for people.
pub fn lines(out: &mut String, report: &PackReport) {
    if report.files > 0 {
        let _ = writeln!(
            out,
            "  {} that the server read are in the demo, {}",
            count(report.files, "file"),
            bytes(report.bytes)
        );
    }
    for file in report.left_out.iter().take(NAMED_MOST) {
        let _ = writeln!(
            out,
            "  not in the demo: {} ({}, {})",
            Untrusted::new(&file.path),
            bytes(file.size_bytes),
            why(file)
        );
    }
    let more = report.left_out.len().saturating_sub(NAMED_MOST);
    if more > 0 {
        let _ = writeln!(out, "  not in the demo: {more} more");
    }
}

fn why(file: &LeftOut) -> &'static str {
    match file.why {
        LeaveOutReason::Private => "not world-readable",
        LeaveOutReason::Large => "too large",
        LeaveOutReason::Gone => "not found",
    }
}

/// JSON value of the packed files and those left out.
pub fn answer(report: &PackReport) -> Value {
    let word = |file: &LeftOut| match file.why {
        LeaveOutReason::Private => "private",
        LeaveOutReason::Large => "large",
        LeaveOutReason::Gone => "not-found",
    };
    let left_out = report
        .left_out
        .iter()
        .map(|file| json!({ "path": file.path.to_string_lossy(), "size_bytes": file.size_bytes, "why": word(file) }));
    json!({ "files": report.files, "bytes": report.bytes, "left_out": left_out.collect::<Vec<_>>() })
}
