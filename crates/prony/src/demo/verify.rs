//! Verb `prony demo verify`: checks that a demo is complete.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use prony_demo::{Demo, DemoError, Problem, VerifyReport};
use prony_text::{Untrusted, bytes, count, thousands};
use serde_json::json;

use crate::cli::VerifyArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Problems that are printed; a damaged index may disagree in every frame.
const SHOWN: usize = 20;

/// # Errors
/// When the file is no demo.
pub fn run(args: &VerifyArgs) -> Result<Exit, Failure> {
    let failed = |error: DemoError| Failure::demo("verify", &args.demo, &error);
    let file = File::open(&args.demo).map_err(|error| failed(error.into()))?;
    let report = match Demo::open(BufReader::new(file)) {
        Ok(mut demo) => demo.verify().map_err(failed)?,
        // A demo all the same, of which nothing can be read.
        Err(error @ (DemoError::Block { .. } | DemoError::FileHead { .. } | DemoError::TooShort { found: 1.. })) => {
            return unreadable(args, &error);
        }
        Err(error) => return Err(failed(error)),
    };
    if args.json {
        output::print_json(&answer(&report))?;
    } else {
        output::print(&text(&args.demo, &report))?;
    }
    if report.is_sound() {
        return Ok(Exit::Good);
    }
    if let Some(hint) = hint(&args.demo, &report) {
        eprintln!("hint: {hint}");
    }
    Ok(Exit::Finding)
}

fn unreadable(args: &VerifyArgs, error: &DemoError) -> Result<Exit, Failure> {
    if args.json {
        output::print_json(&json!({ "sound": false, "committed": false, "problems": [error.to_string()] }))?;
    } else {
        output::print(&format!("{}: 1 problem\n  {error}\n  readable: nothing\n", Untrusted::new(&args.demo)))?;
    }
    eprintln!("hint: the header is lost, so nothing can be replayed: use a copy of the original, or record again");
    Ok(Exit::Finding)
}

fn hint(path: &Path, report: &VerifyReport) -> Option<String> {
    report.problems.iter().find_map(|problem| match problem {
        Problem::Truncated(cut) if cut.frames > 0 => Some(format!(
            "`prony replay {} --allow-truncated` replays the {} before the damage",
            path.display(),
            count(cut.frames, "complete frame")
        )),
        _ => None,
    })
}

fn text(path: &Path, report: &VerifyReport) -> String {
    let totals = &report.totals;
    let holds = format!(
        "{} in {}, {} of {} unpacked",
        count(totals.records, "record"),
        count(totals.frames, "frame"),
        count(u64::from(totals.blocks), "block"),
        bytes(totals.raw_bytes),
    );
    if report.is_sound() {
        return format!("{}: sound\n  {holds}, all checksums correct\n", Untrusted::new(path));
    }
    let mut out = format!("{}: {}\n", Untrusted::new(path), count(report.problems.len() as u64, "problem"));
    for problem in report.problems.iter().take(SHOWN) {
        out += &format!("  {problem}\n");
    }
    if report.problems.len() > SHOWN {
        out += &format!("  and {} more\n", thousands((report.problems.len() - SHOWN) as u64));
    }
    out + &format!("  readable: {holds}\n")
}

fn answer(report: &VerifyReport) -> serde_json::Value {
    let totals = &report.totals;
    json!({
        "sound": report.is_sound(),
        "committed": report.committed,
        "processes": totals.processes,
        "records": totals.records,
        "frames": totals.frames,
        "blocks": totals.blocks,
        "raw_bytes": totals.raw_bytes,
        "state_bytes": totals.state_bytes,
        "problems": report.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
