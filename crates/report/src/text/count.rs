//! Text of counted instructions: the totals, the verdict, and the functions that make the difference.

mod events;
mod frames;
mod inclusive;
mod kernel;

use std::fmt::Write;
use std::path::Path;

use prony_bench::count::{
    CallComparison, CallTotals, CountComparison, CountRange, CountReport, CountVerdict, CountedBuild, Counter,
    Direction, FunctionChange,
};
use prony_profile::distinct_names;
use prony_text::{Table, count, plain, significant, thousands};

use crate::bench::counted::{Words, difference, names, readable, with_sign};

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
    let words = Words::of(&report.counter);
    let by_function = !matches!(report.counter, Counter::Kernel(..));
    let mut out =
        format!("{}: {} of the server's own code{frames}, {replays} of each build\n", demo.display(), words.events);
    let mut table = Table::new().numbers(1..2).indented(2);
    for (build, letter) in report.builds.iter().zip('A'..) {
        let total = CountComparison::of(build, build).totals[0];
        table.row([&format!("{letter} {}", build.name), &thousands(total.min), &repeats(total, build.replays.len())]);
    }
    out += &table.text();
    match report.builds.as_slice() {
        [one] => {
            if by_function {
                functions(&mut out, one, report.frames);
            }
            inclusive::functions(&mut out, one, report.frames);
            frames::frames(&mut out, one, words.events);
            events::events(&mut out, one);
            calls(&mut out, one);
        }
        [a, others @ ..] => {
            for (b, letter) in others.iter().zip('B'..) {
                compared(&mut out, &CountComparison::of(a, b), words, letter, limit, report.frames);
                inclusive::compared(&mut out, a, b, letter, report.frames);
                frames::compared(&mut out, a, b, words, letter);
                events::compared(&mut out, a, b, letter, limit);
                calls_compared(&mut out, &CallComparison::of(a, b), letter);
            }
        }
        [] => {}
    }
    match report.counter {
        Counter::Own => out += "counted by prony's tool for Valgrind\n",
        Counter::Callgrind => out += "counted by Callgrind\n",
        Counter::OnlyCallgrind(_) | Counter::Kernel(..) => {}
    }
    if let Counter::OnlyCallgrind(reason) = &report.counter {
        let _ = writeln!(out, "counted by Callgrind, which is slower than prony's own tool: {reason}");
    }
    if let Counter::Kernel(event, known) = &report.counter {
        return out + &kernel::how(*event, *known);
    }
    out + match report.builds.iter().any(|build| !build.simulated.is_empty()) {
        true => "a count is no time: caches and branches are simulated, and waits are not counted\n",
        false => "a count is no time: it says nothing of caches, branches and waits\n",
    }
}

/// How far the replays of a build agree.
fn repeats(total: CountRange, replays: usize) -> String {
    match total.spread() {
        _ if replays == 1 => "one replay".to_owned(),
        0 => "the same each time".to_owned(),
        spread => format!("and up to {} more", thousands(spread)),
    }
}

fn compared(out: &mut String, compared: &CountComparison, words: Words, letter: char, limit: f64, frames: u64) {
    let Words { verb, equal, .. } = words;
    let found = difference(compared);
    let spread = compared.spread();
    let verdict = match compared.verdict(limit) {
        CountVerdict::Equal => format!("equal: {letter} {verb} the same {equal}"),
        CountVerdict::Same if compared.difference().unsigned_abs() <= spread => {
            format!("same: {letter} {verb} {found}, and replays of one build differ by up to {}", thousands(spread))
        }
        CountVerdict::Same => format!("same within {} %: {letter} {verb} {found}", plain(limit * 100.0)),
        CountVerdict::More | CountVerdict::Fewer => format!("{letter} {verb} {found}"),
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
    let objects = counts.objects();
    let shares =
        objects.iter().take(LISTED).map(|(object, sum)| format!("{object} {:.1} %", 100.0 * *sum as f64 / total));
    let _ = writeln!(out, "by object: {}", shares.collect::<Vec<_>>().join(", "));
    varying(out, &own.varying);
}

/// The calls that one build makes most often, and the bytes that they move.
fn calls(out: &mut String, build: &CountedBuild) {
    let Some(calls) = build.calls.first().filter(|calls| !calls.is_empty()) else { return };
    let CallTotals { calls: number, read, written } = CallComparison::of(build, build).totals;
    let [number, read, written] = [number, read, written].map(|[range, _]| thousands(range.min));
    let _ = writeln!(out, "{number} calls of hooked functions: {read} bytes read, {written} bytes written");
    let mut calls: Vec<_> = calls.iter().collect();
    calls.sort_by_key(|call| std::cmp::Reverse(call.calls));
    let mut table = Table::with_head(["call", "calls", "bytes"]).numbers(1..3).indented(2);
    for call in calls.iter().take(LISTED) {
        let bytes = Direction::of(&call.name).map_or_else(|| "–".to_owned(), |_| thousands(call.bytes));
        table.row([&call.name, &thousands(call.calls), &bytes]);
    }
    out.push_str(&table.text());
}

/// Calls that two builds make in other numbers, or with other bytes.
fn calls_compared(out: &mut String, compared: &CallComparison, letter: char) {
    let CallTotals { calls, read, written } = compared.totals;
    if calls[0].max == 0 {
        return;
    }
    if compared.differing.is_empty() {
        let [number, read, written] = [calls, read, written].map(|[range, _]| thousands(range.min));
        let _ = writeln!(
            out,
            "calls of hooked functions: the same, {number} with {read} bytes read and {written} bytes written"
        );
        return;
    }
    let _ = writeln!(out, "calls of hooked functions that differ");
    let head = ["call", "A", &letter.to_string(), "difference", "bytes"];
    let mut table = Table::with_head(head).numbers(1..5).indented(2);
    let totals = [("all", calls, None), ("bytes read", read, None), ("bytes written", written, None)];
    let changes = compared.differing.iter().take(LISTED);
    let changes = changes.map(|change| (change.name.as_str(), change.calls, Some(change.differences()[1])));
    for (name, [a, b], bytes) in changes.chain(totals) {
        let difference = i64::try_from(i128::from(b.min) - i128::from(a.min)).unwrap_or(i64::MAX);
        let difference = if difference == 0 { "0".to_owned() } else { with_sign(difference) };
        let bytes = match bytes {
            None | Some(0) => "–".to_owned(),
            Some(bytes) => with_sign(bytes),
        };
        table.row([name, &thousands(a.min), &thousands(b.min), &difference, &bytes]);
    }
    out.push_str(&table.text());
    if compared.differing.len() > LISTED {
        let _ = writeln!(out, "  … and {} more", count((compared.differing.len() - LISTED) as u64, "call"));
    }
}

/// Instructions of a frame; a dash where a demo has none, as of a server that waits in `recv`.
fn of_frame(instructions: f64, frames: u64, shown: fn(f64) -> String) -> String {
    if frames == 0 { "–".to_owned() } else { shown(instructions / frames as f64) }
}

fn signed_number(value: f64) -> String {
    format!("{}{}", if value < 0.0 { "−" } else { "+" }, significant(value.abs()))
}
