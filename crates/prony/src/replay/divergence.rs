//! One divergence: what, where, both sides, what came before, and what to do next.

use std::fmt::Write;

use prony_demo::dump::printable;
use prony_text::printable_line;

use prony_replay::Cause;

use super::explain;
use crate::cli::ReplayArgs;
use crate::numbers::thousands;
use crate::report::{Divergence, DivergenceClass, ReplayReport};

/// Bytes of either side that are shown; the window of the report may be larger.
const SHOWN_BYTES: usize = 32;
/// Of these, before the byte that differs.
const SHOWN_BEFORE: usize = 12;

/// The words for a class.
pub(super) fn name(class: DivergenceClass) -> &'static str {
    match class {
        DivergenceClass::Output => "other output",
        DivergenceClass::Order => "other order of calls",
        DivergenceClass::UnrecordedCall => "a call that was not recorded",
        DivergenceClass::Starvation => "a thread starved",
        DivergenceClass::EarlyExit => "early exit",
        DivergenceClass::LateExit => "late exit",
        DivergenceClass::MissingFile => "missing file",
        DivergenceClass::Crash => "crash",
    }
}

/// The class and what is known best of it.
pub fn in_short(found: &Divergence) -> String {
    let what = if found.detail.is_empty() { &found.call } else { &found.detail };
    [name(found.class), what].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

/// The class as JSON has it.
pub(super) fn key(class: DivergenceClass) -> &'static str {
    match class {
        DivergenceClass::Output => "output",
        DivergenceClass::Order => "order",
        DivergenceClass::UnrecordedCall => "unrecorded_call",
        DivergenceClass::Starvation => "starvation",
        DivergenceClass::EarlyExit => "early_exit",
        DivergenceClass::LateExit => "late_exit",
        DivergenceClass::MissingFile => "missing_file",
        DivergenceClass::Crash => "crash",
    }
}

/// Appends everything that is known of a divergence.
pub(super) fn describe(out: &mut String, found: &Divergence) {
    let process = if found.process > 0 { format!(" of process {}", found.process) } else { String::new() };
    let fd = if found.fd >= 0 { format!(", descriptor {}", found.fd) } else { String::new() };
    let byte = found.byte.map_or_else(String::new, |byte| format!(", byte {}", thousands(byte)));
    if !found.call.is_empty() {
        let _ = writeln!(
            out,
            "  record {}{process}, frame {}, thread {}: {}{fd}{byte}",
            thousands(found.record),
            thousands(found.frame),
            found.thread,
            found.call,
        );
    }
    if !found.detail.is_empty() {
        let _ = writeln!(out, "  {}", printable_line(&found.detail));
    }
    if !found.expected_call.is_empty() && found.expected_call != found.call {
        let _ = writeln!(out, "  recorded call: {}", found.expected_call);
    }
    if !(found.expected.is_empty() && found.found.is_empty()) {
        both_sides(out, found);
    }
    section(out, "calls before it", &found.recent);
    section(out, "made at", &found.backtrace);
}

fn section(out: &mut String, title: &str, lines: &[String]) {
    if !lines.is_empty() {
        let _ = writeln!(out, "  {title}:");
        for line in lines {
            let _ = writeln!(out, "    {}", printable_line(line));
        }
    }
}

/// Hex and text of both sides, the byte in question marked below.
fn both_sides(out: &mut String, found: &Divergence) {
    let longer = found.expected.len().max(found.found.len());
    let in_window = found.byte.and_then(|byte| usize::try_from(byte.checked_sub(found.window_from)?).ok());
    let differs = in_window.filter(|&byte| byte <= longer).unwrap_or(0);
    let from = differs.saturating_sub(SHOWN_BEFORE);
    let shown = |side: &[u8]| side.get(from..side.len().min(from + SHOWN_BYTES)).unwrap_or_default().to_vec();
    let (expected, other) = (shown(&found.expected), shown(&found.found));
    let width = expected.len().max(other.len()) * 3;
    let start = found.window_from + from as u64;
    if start > 0 {
        let _ = writeln!(out, "  from byte {} on:", thousands(start));
    }
    for (name, side) in [("expected", &expected), ("found", &other)] {
        let _ = writeln!(out, "    {name:<8}  {:<width$} |{}|", prony_demo::dump::hex(side), printable(side));
    }
    let _ = writeln!(out, "    {:<8}  {}^^", "", " ".repeat((differs - from) * 3));
}

/// The next step, given the flags already in use.
pub(super) fn hint(args: &ReplayArgs, report: &ReplayReport, found: &Divergence) -> String {
    let explains = || format!("`{}` tells more", explain::command(args));
    let first = report.causes.first();
    if args.explain {
        // The frames of a demo are those of process 0.
        let place = match found.process {
            0 => format!("--frames {}", found.frame),
            process => format!("--process {process}"),
        };
        return format!("`prony demo dump {} {place} --full` shows what was recorded there", args.demo.display());
    }
    match (first, explain::in_short(report)) {
        (Some(cause @ Cause::MissingFile), _) => explain::step(args, report, found, cause),
        (_, Some(cause)) => format!("{cause}; {}", explains()),
        (_, None) => explains(),
    }
}
