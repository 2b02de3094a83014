//! Two builds on demos, in the terminal.

use std::fmt::Write;

use prony_bench::{DemoOptions, DemoReport, Demos, JudgedFrames, ProfiledBuilds};
use prony_stats::frames::{self, FrameComparison};
use prony_text::{Quantity, Table, count, printable_line, quantity, significant, thousands};

use super::metrics;
use crate::bench::demos::{basis, diverged, judged_frames, sentence, table, under_tool, until};
use crate::bench::profiled;
use crate::change::change;
use crate::text::counted;
use crate::words::{Judged, claim, with_interval};

/// Frames that are listed; --json has all.
const LISTED: usize = 5;

/// Times, and behind them instructions, where these were counted, too.
pub fn text(demos: &Demos) -> String {
    let counted = demos.counted.as_ref().map(counted::text).filter(|text| !text.is_empty());
    let counted = counted.map(|text| format!("\n{text}"));
    of_times(demos) + &counted.unwrap_or_default()
}

/// One demo in full, or a row for each of several.
fn of_times(demos: &Demos) -> String {
    if let ([only], 1) = (demos.all.as_slice(), demos.requested) {
        return of_one(&only.options, &only.report);
    }
    let [a, b] = demos.builds().map(printable_line);
    let rows = table(["A".to_owned(), "B".to_owned()], demos, str::to_owned).text();
    format!("A  {a}\nB  {b}\n{rows}{}; {}\n", sentence(["A", "B"], demos), basis(demos))
}

/// From this many frames on, a duration is given for a fixed number of frames instead of those of the demo.
const NORMALISED_FROM: usize = 1000;

/// `2.75 s for 120,000 frames`, or `0.52 s for its 151 frames`: few frames say nothing of that many more.
fn duration(build: &frames::Build, frames: usize) -> String {
    let whole_s = build.frame_s.estimate * frames as f64;
    match frames {
        NORMALISED_FROM.. => format!("{:.2} s for 120,000 frames", build.normalised_s),
        frames => format!("{} s for its {}", significant(whole_s), count(frames as u64, "frame")),
    }
}

fn of_one(options: &DemoOptions, report: &DemoReport) -> String {
    let mut out = String::new();
    let frames = match &report.frames {
        Ok(frames) => Some(frames),
        Err(error) => {
            let _ = writeln!(out, "{error}");
            None
        }
    };
    if let Some(until) = &report.until {
        let _ = writeln!(out, "{}", diverged(until));
    }
    if let Some(judged) = &report.judged {
        judged_lines(&mut out, judged);
    }
    if let Some(frames) = frames {
        for (letter, name, build) in
            [("A", &options.builds[0].name, frames.a), ("B", &options.builds[1].name, frames.b)]
        {
            let _ = writeln!(
                out,
                "{letter}  {}  {} a frame, {}, n = {}",
                printable_line(name),
                with_interval(&Quantity::of(build.frame_s.estimate, "second"), &build.frame_s),
                duration(&build, frames.frames),
                frames.pairs,
            );
        }
    }
    if let Some(outcome) = &report.outcome {
        match until(options, report) {
            Some(until) => out += &(until + "\n"),
            None => {
                let _ = writeln!(out, "{}", claim("B", outcome, Judged::TIMES, options.plan.margin, false));
            }
        }
        metrics(&mut out, outcome, Judged::TIMES, &|_| None);
        if let Some(others) = report.judged.as_ref().and_then(|judged| judged.others.as_ref()) {
            let _ = writeln!(out, "  CPU of other frames {}, informational", change(others));
        }
    }
    if let Some(frames) = frames {
        by_frame(&mut out, frames);
    }
    match &report.profile {
        Some(Ok(profile)) => by_function(&mut out, profile),
        Some(Err(error)) => out += &format!("  {}\n", profiled::failure(error)),
        None => {}
    }
    if let Some(under) = under_tool(options) {
        let _ = writeln!(out, "  {under}");
    }
    out
}

/// The frames that the answer is about, if not all of them.
fn judged_lines(out: &mut String, judged: &JudgedFrames) {
    let hint = if judged.is_automatic { "; --frames all takes each" } else { "" };
    let _ = writeln!(out, "{}{hint}", judged_frames(judged));
}

/// Functions whose time differs.
pub fn by_function(out: &mut String, profile: &ProfiledBuilds) {
    let mut table = Table::with_head(profiled::HEAD).numbers(1..5);
    for row in profiled::rows(profile) {
        table.row(row);
    }
    table.text().lines().for_each(|line| out.push_str(&format!("  {line}\n")));
    let _ = writeln!(out, "  {}", profiled::basis(profile));
}

/// Quantiles of a replay's frames, and the frames that stand out.
pub fn by_frame(out: &mut String, frames: &FrameComparison) {
    let _ = writeln!(out, "  CPU time of {} frames:", thousands(frames.frames as u64));
    for quantile in &frames.quantiles {
        let name = match quantile.p {
            p if p >= 1.0 => "max".to_owned(),
            p => format!("p{:.0}", p * 100.0),
        };
        let _ = writeln!(
            out,
            "    {name:4} {} → {}  {}",
            quantity(quantile.a_s, "second"),
            quantity(quantile.b_s, "second"),
            change(&quantile.ratio)
        );
    }
    if frames.changed.is_empty() {
        return;
    }
    let changed = count(frames.changed.len() as u64, "frame");
    let _ = writeln!(out, "  {changed} whose change differs from that of the typical frame:");
    for change in frames.changed.iter().take(LISTED) {
        let _ = writeln!(
            out,
            "    frame {:>7}  {} → {}",
            thousands(change.frame as u64),
            quantity(change.a_s, "second"),
            quantity(change.b_s, "second")
        );
    }
    if frames.changed.len() > LISTED {
        let _ = writeln!(out, "    and {} more", thousands((frames.changed.len() - LISTED) as u64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_stats::Interval;

    #[test]
    fn the_duration_of_a_demo_of_few_frames_is_of_its_own_frames() {
        let frame_s = Interval { estimate: 0.0052, low: 0.005, high: 0.0054, n: 12, confidence: 0.95 };
        let build = frames::Build { frame_s, normalised_s: 624.0 };
        assert_eq!(duration(&build, 151), "0.785 s for its 151 frames");
        assert_eq!(duration(&build, 6_705), "624.00 s for 120,000 frames");
    }
}
