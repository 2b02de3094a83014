//! The machine code behind the numbers.

use std::fmt::Write;

use prony_limits::{Experiment, Limits, Listing};

/// Loops that differ from one another, each once, with the first case that ran it.
pub fn text(limits: &Limits, requested: &[Experiment]) -> String {
    let mut out = String::new();
    let mut seen: Vec<Vec<&str>> = Vec::new();
    for measured in limits.measured.iter().filter(|measured| requested.contains(&measured.experiment)) {
        let Some(listing) = &measured.listing else { continue };
        // Jumps hold addresses; their bytes are the same wherever the loop lies.
        let code: Vec<&str> = listing.loop_lines().map(|line| line.bytes.as_str()).collect();
        if seen.contains(&code) {
            continue;
        }
        let _ = write!(out, "\n{}: {}\n{}", measured.experiment, measured.name, loop_text(listing));
        seen.push(code);
    }
    out
}

/// Address, bytes and instruction of a loop; runs of the same instruction are shown once.
pub fn loop_text(listing: &Listing) -> String {
    let mut out = String::new();
    let lines: Vec<_> = listing.loop_lines().collect();
    let mut rest = lines.as_slice();
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|line| line.text == first.text && line.bytes == first.bytes).count();
        let hidden = if rest.len() == lines.len() { listing.left_out } else { 0 };
        let times = match (same, hidden) {
            (1, _) => String::new(),
            (same, 0) => format!("   {same} times"),
            (same, hidden) => format!("   {} times", same + hidden),
        };
        let _ = writeln!(out, "  {:x}  {:<22}  {}{times}", first.address, first.bytes, first.text);
        rest = &rest[same..];
    }
    let _ = writeln!(out, "  {} bytes of code per iteration", listing.loop_bytes);
    out
}
