//! Text of instructions by frame: how many a frame takes, the costliest ones, and those in which builds differ.

use std::fmt::Write;

use prony_bench::count::{CountRange, CountedBuild, CountedFrames, FrameComparison};
use prony_profile::{CountedFunction, distinct_names};
use prony_text::{Table, count, thousands};

use crate::bench::counted::{Words, readable, with_sign};

/// Frames that a table lists; --json has all.
const LISTED: usize = 5;

/// The frames of one build.
pub fn frames(out: &mut String, build: &CountedBuild, events: &str) {
    let Some(frames) = &build.frames else { return };
    if frames.is_empty() {
        out.push_str("the demo has no frames: its server waits in none of the calls that end one\n");
        return;
    }
    let counts = frames.counts();
    let [before, all @ .., behind] = counts.as_slice() else { return };
    let mut sorted: Vec<u64> = all.iter().map(|range| range.min).collect();
    sorted.sort_unstable();
    let (Some(min), Some(median), Some(p99), Some(max)) =
        (sorted.first(), at(&sorted, 0.5), at(&sorted, 0.99), sorted.last())
    else {
        return;
    };
    let [min, median, p99, max] = [*min, median, p99, *max].map(thousands);
    let varying = all.iter().filter(|range| range.spread() > 0).count();
    let repeats = match varying {
        _ if build.replays.len() == 1 => String::new(),
        0 => ", each the same in all replays".to_owned(),
        _ => format!(", {} of them vary by themselves", thousands(varying as u64)),
    };
    let _ = writeln!(
        out,
        "{events} a frame: min {min}  median {median}  p99 {p99}  max {max}, n = {}{repeats}",
        thousands(all.len() as u64)
    );
    let [before, behind] = [before, behind].map(|range| thousands(range.min));
    let _ = writeln!(out, "{before} before the first frame, {behind} behind the last");
    costliest(out, frames, events);
}

/// The value below which this share of the sorted values lies; none of none.
fn at(sorted: &[u64], share: f64) -> Option<u64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((share * last as f64).round() as usize).copied()
}

fn costliest(out: &mut String, frames: &CountedFrames, events: &str) {
    let costliest = frames.costliest(LISTED);
    let all = costliest.iter().flat_map(|frame| &frame.most).map(|(function, _)| function);
    let name = names(all);
    let is_known = costliest.iter().any(|frame| !frame.most.is_empty());
    let head = ["frame", events, if is_known { "most of all in" } else { "" }];
    let mut table = Table::with_head(head).numbers(0..2).indented(2);
    for frame in &costliest {
        let total = frame.count.min.max(1) as f64;
        let most = frame
            .most
            .iter()
            .map(|(function, count)| format!("{} {:.0} %", name(function), 100.0 * *count as f64 / total));
        let most: Vec<String> = most.collect();
        table.row([thousands(frame.frame), thousands(frame.count.min), most.join(", ")]);
    }
    out.push_str(&table.text());
}

/// Frames in which two builds differ.
pub fn compared(out: &mut String, a: &CountedBuild, b: &CountedBuild, words: Words, letter: char) {
    let verb = words.verb;
    let Some(compared) = FrameComparison::of(a, b) else { return };
    let of = count(compared.common, "frame");
    if compared.differing.is_empty() {
        let _ = writeln!(out, "frames: {letter} {verb} as many as A in each of {of}");
        return;
    }
    let more = compared.differing.iter().filter(|change| change.difference() > 0).count();
    let differing = compared.differing.len();
    let [more, fewer] = [more, differing - more].map(|number| thousands(number as u64));
    let _ = writeln!(out, "frames: {letter} {verb} more in {more} of {of}, and fewer in {fewer}");
    let all = compared.differing.iter().take(LISTED).flat_map(|change| &change.most).map(|(function, _)| function);
    let name = names(all);
    let is_known = compared.differing.iter().any(|change| !change.most.is_empty());
    let most = if is_known { "most of all in" } else { "" };
    let head = ["frame", "A", &letter.to_string(), "difference", most];
    let mut table = Table::with_head(head).numbers(0..4).indented(2);
    for change in compared.differing.iter().take(LISTED) {
        let [a, b] = change.counts.map(|CountRange { min, .. }| thousands(min));
        let most: Vec<String> =
            change.most.iter().map(|(function, more)| format!("{} {}", name(function), with_sign(*more))).collect();
        table.row([thousands(change.frame), a, b, with_sign(change.difference()), most.join(", ")]);
    }
    out.push_str(&table.text());
    if differing > LISTED {
        let _ = writeln!(out, "  … and {} more", count((differing - LISTED) as u64, "frame"));
    }
}

/// Readable names that tell these functions from each other.
fn names<'a>(functions: impl Iterator<Item = &'a CountedFunction>) -> impl Fn(&CountedFunction) -> String {
    let distinct = distinct_names(functions.map(|function| function.symbol.as_str()));
    move |function| readable(function, &distinct)
}
