//! Text of what functions run with all that they call.

use std::cmp::Reverse;

use prony_bench::count::{CountComparison, CountedBuild};
use prony_profile::distinct_names;
use prony_text::{Table, count, significant, thousands};

use super::{of_frame, signed_number};
use crate::bench::counted::{names, readable, with_sign};

/// Functions that a table lists: those on top call each other, from `main` on. --json has all.
const LISTED: usize = 20;

/// The functions of one build that run most with what they call.
pub fn functions(out: &mut String, build: &CountedBuild, frames: u64) {
    let (Some(counts), Some(own)) = (build.inclusive.first(), build.replays.first()) else { return };
    let mut all: Vec<_> = counts.functions().collect();
    all.sort_by_key(|(_, count)| Reverse(*count));
    let total = own.total().max(1) as f64;
    let names = distinct_names(all.iter().map(|(function, _)| function.symbol.as_str()));
    let head = ["function and all that it calls", "instructions", "a frame", "share", "itself", "in"];
    let mut table = Table::with_head(head).numbers(1..5).indented(2);
    for (function, count) in all.iter().take(LISTED) {
        let of_frame = of_frame(*count as f64, frames, significant);
        let share = format!("{:.1} %", 100.0 * *count as f64 / total);
        let itself = thousands(own.of(function));
        table.row([&readable(function, &names), &thousands(*count), &of_frame, &share, &itself, &function.object]);
    }
    out.push_str(&table.text());
}

/// The functions of which two builds run other numbers with what they call: the path to what differs.
pub fn compared(out: &mut String, a: &CountedBuild, b: &CountedBuild, letter: char, frames: u64) {
    let Some(compared) = CountComparison::inclusive(a, b) else { return };
    if compared.differing.is_empty() {
        return;
    }
    let head = ["function and all that it calls", "A", &letter.to_string(), "difference", "a frame", "in"];
    let mut table = Table::with_head(head).numbers(1..5).indented(2);
    for (change, name) in compared.differing.iter().zip(names(&compared.differing)).take(LISTED) {
        let [a, b] = change.counts.map(|range| thousands(range.min));
        let of_frame = of_frame(change.difference() as f64, frames, signed_number);
        table.row([&name, &a, &b, &with_sign(change.difference()), &of_frame, &change.function.object]);
    }
    out.push_str(&table.text());
    if let Some(more @ 1..) = compared.differing.len().checked_sub(LISTED) {
        out.push_str(&format!("  … and {} more\n", count(more as u64, "function")));
    }
}
