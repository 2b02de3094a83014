//! `prony demo frames`.

use std::fmt::Write;
use std::path::Path;

use prony_demo::{DemoError, FrameEntry};
use prony_text::Untrusted;
use serde::Serialize;
use serde_json::json;

use crate::cli::{FrameRange, FramesArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::numbers::{Spread, count, significant, thousands};
use crate::output;

#[derive(Debug, Serialize)]
struct Row {
    frame: usize,
    end_s: f64,
    took_ms: f64,
    first_record: u64,
    last_record: u64,
}

/// # Errors
/// When the demo cannot be read or has no such frame.
pub fn run(args: &FramesArgs) -> Result<Exit, Failure> {
    let demo = super::open("read", &args.demo)?;
    let rows = rows(demo.frames(), args.frames).map_err(|error| Failure::demo("read", &args.demo, &error))?;
    let spread = Spread::of(rows.iter().map(|row| row.took_ms));
    if args.json {
        let frame_ms = spread.map(|Spread { min, median, p99, max, n }| {
            json!({ "min": min, "median": median, "p99": p99, "max": max, "n": n })
        });
        output::print_json(&json!({ "frame_ms": frame_ms, "frames": rows }))?;
    } else {
        output::print(&text(&args.demo, &rows, spread))?;
    }
    Ok(Exit::Good)
}

fn rows(frames: &[FrameEntry], range: Option<FrameRange>) -> Result<Vec<Row>, DemoError> {
    let range = range.unwrap_or(FrameRange { first: 0, end: None });
    let first = usize::try_from(range.first).unwrap_or(usize::MAX);
    if first > 0 && first >= frames.len() {
        return Err(DemoError::NoFrame { frame: first, frames: frames.len() });
    }
    let end = range.end.and_then(|end| usize::try_from(end).ok()).unwrap_or(usize::MAX).min(frames.len());
    Ok((first..end)
        .map(|frame| {
            let FrameEntry { first_record, last_record, time_ns, .. } = frames[frame];
            let began_ns = frame.checked_sub(1).map_or(0, |before| frames[before].time_ns);
            let took_ms = time_ns.saturating_sub(began_ns) as f64 / 1e6;
            Row { frame, end_s: time_ns as f64 / 1e9, took_ms, first_record, last_record }
        })
        .collect())
}

fn text(path: &Path, rows: &[Row], spread: Option<Spread>) -> String {
    let mut out = format!("{}: {}", Untrusted::new(path), count(rows.len() as u64, "frame"));
    let Some(Spread { min, median, p99, max, n }) = spread else { return out + "\n" };
    let [min, median, p99, max] = [min, median, p99, max].map(significant);
    let _ = writeln!(
        out,
        ", each with its wait: min {min}  median {median}  p99 {p99}  max {max} ms, n = {}",
        thousands(n as u64)
    );
    let _ = writeln!(out, "{:>8}{:>14}{:>12}{:>12}{:>12}", "frame", "ended at s", "took ms", "calls", "from call");
    for Row { frame, end_s, took_ms, first_record, last_record } in rows {
        let calls = last_record - first_record + 1;
        let _ = writeln!(out, "{frame:>8}{end_s:>14.6}{took_ms:>12.3}{calls:>12}{first_record:>12}");
    }
    out
}
