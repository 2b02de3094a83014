//! Text of a divergence: position, both sides, earlier calls.

use std::fmt::Write;

use prony_demo::dump::printable;
use prony_replay::{Divergence, NumberChange};
use prony_text::{printable_line, thousands};

use crate::divergence::detail;

/// Bytes of either side that are shown; the window of the report may be larger.
const SHOWN_BYTES: usize = 32;
/// Number of these shown before the byte that differs.
const SHOWN_BEFORE: usize = 12;

/// Appends everything that is known of a divergence.
pub fn describe(out: &mut String, found: &Divergence) {
    let process = if found.process > 0 { format!(" of process {}", found.process) } else { String::new() };
    let fd = if found.fd >= 0 { format!(", descriptor {}", found.fd) } else { String::new() };
    let byte = found.window.differing.map_or_else(String::new, |byte| format!(", byte {}", thousands(byte)));
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
    let detail = detail(found);
    if !detail.is_empty() {
        let _ = writeln!(out, "  {}", printable_line(&detail));
    }
    if !found.expected_call.is_empty() && found.expected_call != found.call {
        let _ = writeln!(out, "  recorded call: {}", found.expected_call);
    }
    if !(found.window.expected.is_empty() && found.window.found.is_empty()) {
        both_sides(out, found);
    }
    if let Some(NumberChange { byte, form, expected, found }) = found.number() {
        let _ = writeln!(out, "  as a number ({form}, byte {}): {expected} expected, {found} found", thousands(byte));
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
    let longer = found.window.expected.len().max(found.window.found.len());
    let in_window = found.window.differing.and_then(|byte| usize::try_from(byte.checked_sub(found.window.from)?).ok());
    let differs = in_window.filter(|&byte| byte <= longer).unwrap_or(0);
    let from = differs.saturating_sub(SHOWN_BEFORE);
    let shown = |side: &[u8]| side.get(from..side.len().min(from + SHOWN_BYTES)).unwrap_or_default().to_vec();
    let (expected, other) = (shown(&found.window.expected), shown(&found.window.found));
    let width = expected.len().max(other.len()) * 3;
    let start = found.window.from + from as u64;
    if start > 0 {
        let _ = writeln!(out, "  from byte {} on:", thousands(start));
    }
    for (name, side) in [("expected", &expected), ("found", &other)] {
        let _ = writeln!(out, "    {name:<8}  {:<width$} |{}|", prony_demo::dump::hex(side), printable(side));
    }
    let _ = writeln!(out, "    {:<8}  {}^^", "", " ".repeat((differs - from) * 3));
}
