//! The answer of a replay in the terminal.

pub mod causes;
pub(super) mod divergence;

use std::fmt::Write;
use std::path::Path;

use prony_demo::Exit as ServerExit;
use prony_demo::tolerance::{Alignment, DecodedSummary, Growth, ToleranceSummary};
use prony_replay::{ReplayReport, ToolRun, Verdict, exit_text};
use prony_stats::spread::Spread;
use prony_text::{Untrusted, count, printable_line, quantity, significant, thousands};

use crate::divergence::{class_name, field_difference};

/// Answer to a replay, as text for people.
pub fn text(demo: &Path, report: &ReplayReport) -> String {
    let name = Untrusted::new(demo.file_name().unwrap_or(demo.as_os_str()));
    let mut out = String::new();
    let _ = match (&report.verdict, &report.divergence) {
        (Verdict::Diverged, Some(found)) => writeln!(out, "{name}: diverged: {}", class_name(found.class)),
        (Verdict::Diverged, None) => writeln!(out, "{name}: diverged"),
        (Verdict::Identical, _) => writeln!(out, "{name}: identical"),
        (Verdict::Tolerant, _) => writeln!(out, "{name}: tolerant, not identical"),
        (Verdict::Weak(_), _) => writeln!(out, "{name}: weak: nothing diverged, but the result proves little"),
    };
    if let Verdict::Weak(reasons) = &report.verdict {
        for reason in reasons {
            let _ = writeln!(out, "  because {}", printable_line(&reason.to_string()));
        }
    }
    if let Some(found) = &report.divergence {
        divergence::describe(&mut out, found);
    }
    let verified = format!(
        "{}, {} verified over {}",
        count(report.counted.outputs, "output"),
        count(report.counted.output_bytes, "byte"),
        count(report.frames, "frame")
    );
    let _ = match report.divergence {
        // The build went on after it.
        Some(_) if report.tolerance.is_some() => writeln!(out, "  in all: {verified}"),
        Some(_) => writeln!(out, "  before it: {verified}"),
        None => writeln!(out, "  {verified}"),
    };
    if let Some(tolerance) = report.tolerance.as_ref().filter(|tolerance| tolerance.has_differences()) {
        tolerated(&mut out, tolerance, report.divergence.is_none());
    }
    if let Some(decoded) = report.tolerance.as_ref().and_then(|tolerance| tolerance.decoded.as_ref()) {
        decoded_fields(&mut out, decoded);
    }
    if report.divergence.is_none() {
        times(&mut out, report);
    }
    if let Some(tool) = &report.tool {
        under_tool(&mut out, tool);
    }
    changes(&mut out, report);
    out
}

fn under_tool(out: &mut String, tool: &ToolRun) {
    let words: Vec<String> = tool.command.iter().map(|word| Untrusted::new(word).to_string()).collect();
    let exits: Vec<String> = tool.exits.iter().map(|&exit| exit_text(exit)).collect();
    let _ =
        writeln!(out, "  under `{}`, which {}; no times, since they are the tool's", words.join(" "), exits.join(", "));
}

fn times(out: &mut String, report: &ReplayReport) {
    let Some(wall) = Spread::of(report.timing.wall_s.iter().copied()) else { return };
    let speedup = report.timing.recorded_s / wall.median;
    let _ = writeln!(
        out,
        "  replayed {} in {} ({}× real time), {} frames/s, {}",
        seconds(report.timing.recorded_s),
        seconds(wall.median),
        significant(speedup),
        thousands((report.frames as f64 / wall.median) as u64),
        replays(&wall),
    );
    if let Some(cpu) = Spread::of(report.timing.cpu_s.iter().copied()) {
        let allows = match cpu.median < wall.median {
            true => format!(", which allows {}× real time", significant(report.timing.recorded_s / cpu.median)),
            // Processes ran beside each other.
            false => String::new(),
        };
        let _ = writeln!(out, "  CPU {}{allows}, {}", seconds(cpu.median), replays(&cpu));
    }
    let together = report.timing.frames_in_each;
    if let Some(frame) = Spread::of(report.timing.frame_wall_ns.iter().map(|&ns| ns as f64 / 1e9 / together as f64)) {
        let what = if together == 1 { "frame".to_owned() } else { format!("mean of {together} frames") };
        let _ = writeln!(
            out,
            "  {what}  min {}  median {}  p99 {}  max {}, n = {}",
            seconds(frame.min),
            seconds(frame.median),
            seconds(frame.p99),
            seconds(frame.max),
            thousands(frame.n as u64),
        );
    }
}

/// A time in the unit that suits it.
fn seconds(seconds: f64) -> String {
    quantity(seconds, "second")
}

/// Basis of a time: `one replay`, or the spread of several.
fn replays(spread: &Spread) -> String {
    match spread.n {
        1 => "one replay".to_owned(),
        n => format!("median of {n} replays from {} to {}", seconds(spread.min), seconds(spread.max)),
    }
}

fn tolerated(out: &mut String, found: &ToleranceSummary, is_within: bool) {
    if found.outputs_differing > 0 {
        let _ = writeln!(
            out,
            "  {} of {} differed in {}{}",
            thousands(found.outputs_differing),
            count(found.outputs_judged, "output"),
            count(found.fields_differing, "field"),
            if is_within { ", all within their limits" } else { "" },
        );
    }
    alignment(out, &found.alignment);
    for field in &found.fields {
        let _ = write!(out, "  rule {}, {}: ", field.rule + 1, Untrusted::new(&field.name));
        let Some(growth) = &field.growth else {
            let _ = writeln!(out, "{} masked", count(field.differing, "difference"));
            continue;
        };
        let _ = writeln!(
            out,
            "{}, largest {} in frame {} (record {}, byte {})",
            count(field.differing, "difference"),
            significant_small(field.largest),
            thousands(field.largest_frame),
            thousands(field.largest_record),
            field.largest_offset,
        );
        grown(out, growth);
    }
}

fn grown(out: &mut String, growth: &Growth) {
    let _ = writeln!(
        out,
        "    frames {} to {}: median of the largest per frame {} in the first tenth, {} in the last, \
         {} per frame (r² {}, n = {})",
        thousands(growth.first_frame),
        thousands(growth.last_frame),
        significant_small(growth.first_tenth_median),
        significant_small(growth.last_tenth_median),
        significant_small(growth.slope_per_frame),
        significant(growth.r_squared),
        thousands(growth.frames as u64),
    );
}

/// Discrete fields that are listed; `--json` has all.
const SHOWN_DISCRETE: usize = 8;

fn decoded_fields(out: &mut String, found: &DecodedSummary) {
    let _ = writeln!(
        out,
        "  decoder {}: {} of {} differed in {}",
        Untrusted::new(&found.decoder),
        thousands(found.values_differing),
        count(found.values, "value"),
        count(found.outputs, "output"),
    );
    let counts = [
        (found.outputs_opaque, "compared by bytes"),
        (found.outputs_differing_unseen, "with other bytes and the same fields"),
    ];
    let mut counts: Vec<String> =
        counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n, "output"))).collect();
    if found.values_shifted > 0 {
        counts.push(format!(
            "{} of the frame in which an early or late output went out",
            count(found.values_shifted, "value")
        ));
    }
    if !counts.is_empty() {
        let _ = writeln!(out, "    {}", counts.join(", "));
    }
    for field in &found.fields {
        let _ = write!(out, "  {}: {}", Untrusted::new(&field.field), count(field.differing, "difference"));
        let Some(growth) = &field.growth else {
            let _ = writeln!(out, "{}", if field.within.is_none() { ", masked" } else { ", in a missing value" });
            continue;
        };
        let _ = writeln!(
            out,
            ", largest {} ({}, frame {}, record {}), median {}{}",
            significant_small(field.largest),
            Untrusted::new(&field.largest_field),
            thousands(field.largest_frame),
            thousands(field.largest_record),
            significant_small(field.median),
            match field.beyond {
                0 => String::new(),
                beyond => format!(", {} beyond the limit", thousands(beyond)),
            },
        );
        grown(out, growth);
    }
    if let Some(first) = &found.first_discrete {
        let _ = writeln!(out, "  first discrete difference: {}", field_difference(first));
        for field in found.discrete.iter().take(SHOWN_DISCRETE) {
            let _ = writeln!(
                out,
                "    {}: {}, first in frame {}",
                Untrusted::new(&field.field),
                count(field.differing, "difference"),
                thousands(field.first.frame)
            );
        }
        if let Some(more) = found.discrete.len().checked_sub(SHOWN_DISCRETE).filter(|more| *more > 0) {
            let _ = writeln!(out, "    and {} more", thousands(more as u64));
        }
    }
    if let Some(first) = &found.first_beyond {
        let _ = writeln!(out, "  first difference beyond its limit: {}", field_difference(first));
    }
}

/// Outputs that stand in another frame than recorded, or on one side only.
fn alignment(out: &mut String, found: &Alignment) {
    let listed = |counts: [(u64, &str); 2]| {
        let counts = counts.iter().filter(|(n, _)| *n > 0);
        counts.map(|(n, what)| format!("{} {what}", count(*n, "output"))).collect::<Vec<_>>().join(", ")
    };
    let alone = listed([(found.added, "not recorded"), (found.not_sent, "not sent")]);
    if !alone.is_empty() {
        let _ = writeln!(out, "  {alone}");
    }
    if let Some(first) = &found.first_moved {
        let _ = writeln!(
            out,
            "  {} than recorded, by {} at most; the first in frame {} instead of {} (record {})",
            listed([(found.early, "earlier"), (found.late, "later")]),
            count(found.frames_apart, "frame"),
            thousands(first.replayed_frame),
            thousands(first.frame),
            thousands(first.record),
        );
    }
}

/// Differences of floats may be tiny, where an exponent says more than zeros.
fn significant_small(value: f64) -> String {
    if value != 0.0 && value.abs() < 1e-3 { format!("{value:.2e}") } else { significant(value) }
}

fn changes(out: &mut String, report: &ReplayReport) {
    let mut lines = Vec::new();
    if let Some(signal) = report.crashed_as_recorded {
        lines.push(format!("{}, as recorded", exit_text(ServerExit::Signal(signal))));
    }
    if report.counted.clocks_added > 0 {
        lines.push(format!("{} added", count(report.counted.clocks_added, "clock read")));
    }
    if report.counted.clocks_removed > 0 {
        lines.push(format!("{} skipped", count(report.counted.clocks_removed, "clock read")));
    }
    if report.counted.overlapped > 0 {
        lines.push(format!("{} of threads", count(report.counted.overlapped, "overlap")));
    }
    if report.resynced() > 0 {
        lines.push(format!("{} re-synchronised", count(report.resynced(), "call")));
    }
    if report.from_demo.files_laid_over > 0 {
        lines.push(format!(
            "{} from the demo instead of the local ones",
            count(report.from_demo.files_laid_over, "file")
        ));
    }
    if report.counted.log_bytes_differing > 0 {
        lines.push(format!("{} of log text differing", count(report.counted.log_bytes_differing, "byte")));
    }
    if !lines.is_empty() {
        let _ = writeln!(out, "  otherwise: {}", lines.join(", "));
    }
}
