//! Verb `prony demo frames`: prints the times of frames.

use std::io::{self, Write};
use std::path::Path;

use prony_demo::{DemoError, FrameEntry, Frames};
use prony_stats::spread::Spread;
use prony_text::{Untrusted, count, quantity, thousands};
use serde::Serialize;
use serde_json::json;

use crate::cli::{FrameRange, FramesArgs};
use crate::exit::Exit;
use crate::failure::Failure;
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
    let rows = || rows(demo.frames(), args.frames).map_err(|error| Failure::demo("read", &args.demo, &error));
    // There may be millions: they are read twice, and never kept.
    let spread = Spread::of(rows()?.map(|row| row.took_ms));
    let mut out = output::stdout();
    let written = match args.json {
        true => write_json(&mut out, rows()?, spread),
        false => write_text(&mut out, &args.demo, rows()?, spread),
    };
    written.and_then(|()| out.flush()).map_err(|error| Failure::stdout(&error))?;
    Ok(Exit::Good)
}

fn rows(frames: &Frames, range: Option<FrameRange>) -> Result<impl Iterator<Item = Row>, DemoError> {
    let range = range.unwrap_or(FrameRange { first: 0, end: None });
    let first = usize::try_from(range.first).unwrap_or(usize::MAX);
    if first > 0 && first >= frames.len() {
        return Err(DemoError::NoFrame { frame: first, frames: frames.len() });
    }
    let end = range.end.and_then(|end| usize::try_from(end).ok()).unwrap_or(usize::MAX).min(frames.len());
    let mut began_ns = 0;
    let all = frames.iter().enumerate().map(move |(frame, entry)| {
        let FrameEntry { first_record, last_record, time_ns, .. } = entry;
        let took_ms = time_ns.saturating_sub(std::mem::replace(&mut began_ns, time_ns)) as f64 / 1e6;
        Row { frame, end_s: time_ns as f64 / 1e9, took_ms, first_record, last_record }
    });
    Ok(all.take(end).skip(first))
}

fn write_json(out: &mut impl Write, rows: impl Iterator<Item = Row>, spread: Option<Spread>) -> io::Result<()> {
    let frame_ms = spread.map(
        |Spread { min, median, p99, max, n }| json!({ "min": min, "median": median, "p99": p99, "max": max, "n": n }),
    );
    write!(out, "{{\n  \"frame_ms\": {},\n  \"frames\": [", json!(frame_ms))?;
    for (place, row) in rows.enumerate() {
        write!(out, "{}\n    {}", if place == 0 { "" } else { "," }, json!(row))?;
    }
    writeln!(out, "\n  ]\n}}")
}

fn write_text(
    out: &mut impl Write,
    path: &Path,
    rows: impl Iterator<Item = Row>,
    spread: Option<Spread>,
) -> io::Result<()> {
    write!(out, "{}: {}", Untrusted::new(path), count(spread.as_ref().map_or(0, |spread| spread.n as u64), "frame"))?;
    let Some(Spread { min, median, p99, max, n }) = spread else { return writeln!(out) };
    let [min, median, p99, max] = [min, median, p99, max].map(|ms| quantity(ms / 1e3, "second"));
    writeln!(
        out,
        ", each including its wait: min {min}  median {median}  p99 {p99}  max {max}, n = {}",
        thousands(n as u64)
    )?;
    writeln!(out, "{:>8}{:>14}{:>12}{:>12}{:>12}", "frame", "ended at s", "took ms", "calls", "from call")?;
    for Row { frame, end_s, took_ms, first_record, last_record } in rows {
        let calls = last_record - first_record + 1;
        writeln!(out, "{frame:>8}{end_s:>14.6}{took_ms:>12.3}{calls:>12}{first_record:>12}")?;
    }
    Ok(())
}
