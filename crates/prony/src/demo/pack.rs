//! `prony demo pack`, and what of a server's files is in its demo.

use std::io::{BufWriter, Write};

use prony_replay::{LeaveOutReason, PackError, PackLimits, pack_files};
use prony_report::json::demo::pack::answer;
use prony_report::text::demo::pack::lines;
use prony_text::Untrusted;
use serde_json::json;

use crate::cli::PackArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};
use crate::trust;

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
        PackError::Archive(_) | PackError::Cut => Failure::new(format!("cannot pack {}: {error}", args.demo.display())),
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
