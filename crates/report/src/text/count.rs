//! Text of counted instructions: the totals, the verdict, and the functions that make the difference.

use std::fmt::Write;
use std::path::Path;

use prony_bench::count::{CountComparison, CountRange, CountReport, CountVerdict, CountedBuild, FunctionChange};
use prony_profile::distinct_names;
use prony_text::{Table, count, plain, significant, thousands};

use crate::bench::counted::{difference, names, readable, with_sign};

/// Functions that a table lists; --json has all.
const LISTED: usize = 10;
/// Functions that vary and are named.
const NAMED: usize = 3;

/// The whole answer. `limit`: a share of A's instructions below it is no difference.
pub fn text(demo: &Path, limit: f64, report: &CountReport) -> String {
    let replays = report.builds.first().map_or(0, |build| build.replays.len());
    let frames = match report.frames {
        0 => String::new(),
        frames => format!(" in {}", count(frames, "frame")),
    };
    let replays = count(replays as u64, "replay");
    let mut out =
        format!("{}: instructions of the server's own code{frames}, {replays} of each build\n", demo.display());
    let mut table = Table::new().numbers(1..2).indented(2);
    for (build, letter) in report.builds.iter().zip('A'..) {
        let total = CountComparison::of(build, build).totals[0];
        table.row([&format!("{letter} {}", build.name), &thousands(total.min), &repeats(total)]);
    }
    out += &table.text();
    match report.builds.as_slice() {
        [one] => functions(&mut out, one, report.frames),
        [a, others @ ..] => {
            for (b, letter) in others.iter().zip('B'..) {
                compared(&mut out, &CountComparison::of(a, b), letter, limit, report.frames);
            }
        }
        [] => {}
    }
    out + "a count is no time: it says nothing of caches, branches and waits\n"
}

/// How far the replays of a build agree.
fn repeats(total: CountRange) -> String {
    match total.spread() {
        0 => "the same each time".to_owned(),
        spread => format!("and up to {} more", thousands(spread)),
    }
}

fn compared(out: &mut String, compared: &CountComparison, letter: char, limit: f64, frames: u64) {
    let found = difference(compared);
    let spread = compared.spread();
    let verdict = match compared.verdict(limit) {
        CountVerdict::Equal => format!("equal: {letter} runs the same instructions, function by function"),
        CountVerdict::Same if compared.difference().unsigned_abs() <= spread => {
            format!("same: {letter} runs {found}, and replays of one build differ by up to {}", thousands(spread))
        }
        CountVerdict::Same => format!("same within {} %: {letter} runs {found}", plain(limit * 100.0)),
        CountVerdict::More | CountVerdict::Fewer => format!("{letter} runs {found}"),
    };
    let _ = writeln!(out, "{verdict}");
    if !compared.differing.is_empty() {
        let head = ["function", "A", &letter.to_string(), "difference", "a frame"];
        let mut table = Table::with_head(head).numbers(1..5).indented(2);
        let names = names(&compared.differing);
        for (change, name) in compared.differing.iter().zip(names).take(LISTED) {
            let [a, b] = change.counts.map(|range| thousands(range.min));
            let of_frame = of_frame(change.difference() as f64, frames, signed_number);
            table.row([&name, &a, &b, &with_sign(change.difference()), &of_frame]);
        }
        out.push_str(&table.text());
        if compared.differing.len() > LISTED {
            let _ = writeln!(out, "  … and {} more", count((compared.differing.len() - LISTED) as u64, "function"));
        }
    }
    varying(out, &compared.varying);
}

/// Functions whose count is another in each replay of the same build.
fn varying(out: &mut String, varying: &[FunctionChange]) {
    if varying.is_empty() {
        return;
    }
    let named: Vec<String> = names(&varying[..varying.len().min(NAMED)]);
    let _ = match varying.len() {
        1 => writeln!(out, "1 function varies by itself: {}", named.join(", ")),
        number => {
            let number = thousands(number as u64);
            writeln!(out, "{number} functions vary by themselves, most of all {}", named.join(", "))
        }
    };
}

/// The functions that run most instructions, of one build alone.
fn functions(out: &mut String, build: &CountedBuild, frames: u64) {
    let own = CountComparison::of(build, build);
    let Some(counts) = build.replays.first() else { return };
    let mut all: Vec<_> = counts.functions().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let total = counts.total().max(1) as f64;
    let names = distinct_names(all.iter().map(|(function, _)| function.symbol.as_str()));
    let mut table = Table::with_head(["function", "instructions", "a frame", "share", "in"]).numbers(1..4).indented(2);
    for (function, count) in all.iter().take(LISTED) {
        let of_frame = of_frame(*count as f64, frames, significant);
        let share = format!("{:.1} %", 100.0 * *count as f64 / total);
        table.row([&readable(function, &names), &thousands(*count), &of_frame, &share, &function.object]);
    }
    out.push_str(&table.text());
    varying(out, &own.varying);
}

/// Instructions of a frame; a dash where a demo has none, as of a server that waits in `recv`.
fn of_frame(instructions: f64, frames: u64, shown: fn(f64) -> String) -> String {
    if frames == 0 { "–".to_owned() } else { shown(instructions / frames as f64) }
}

fn signed_number(value: f64) -> String {
    format!("{}{}", if value < 0.0 { "−" } else { "+" }, significant(value.abs()))
}
