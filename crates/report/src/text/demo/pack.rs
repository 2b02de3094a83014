//! Files that a demo brings, and those it does not, in the terminal.

use std::fmt::Write;

use prony_replay::{LeaveOutReason, LeftOut, PackReport};
use prony_text::{Untrusted, bytes, count};

/// Files that are named one by one; `--json` has more.
const NAMED_MOST: usize = 10;

/// Appends the packed files and those left out, as text for people.
pub fn lines(out: &mut String, report: &PackReport) {
    if report.files > 0 {
        let _ = writeln!(
            out,
            "  {} that the server read {} in the demo, {}",
            count(report.files, "file"),
            if report.files == 1 { "is" } else { "are" },
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
