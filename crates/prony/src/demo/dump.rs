//! Verb `prony demo dump`: prints records.

use std::io::Write;

use prony_demo::Head;
use prony_demo::dump::Line;
use prony_text::json;

use super::FrameOf;
use crate::cli::{DumpArgs, FrameRange};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// # Errors
/// When the demo cannot be read or has no such frame.
pub fn run(args: &DumpArgs) -> Result<Exit, Failure> {
    let failed = |error| Failure::demo("dump", &args.demo, &error);
    let mut demo = super::open("dump", &args.demo)?;
    let frames = demo.frames().clone();
    let range = args.frames.unwrap_or(FrameRange { first: 0, end: None });
    // The records behind the last whole frame go by the number that the next frame would have.
    let first = usize::try_from(range.first).unwrap_or(usize::MAX);
    let from_start = range.first == 0 || first == frames.len();
    let mut frame_of = FrameOf::from_frame(frames.iter(), if from_start { 0 } else { range.first });
    let mut records = match from_start {
        true => demo.records(),
        false => demo.records_from_frame(first).map_err(failed)?,
    };
    let mut out = output::stdout();
    while let Some((process, record)) = records.next().map_err(failed)? {
        let frame = frame_of.of(process, record);
        if range.end.is_some_and(|end| frame >= end) {
            break;
        }
        let wanted = frame >= range.first
            && args.process.is_none_or(|wanted| wanted == process)
            && (args.call.is_empty()
                || Head::from_bytes(record).is_some_and(|head| args.call.iter().any(|&op| op as u16 == head.op)));
        let Some(line) = Line::new(process, frame, record).filter(|_| wanted) else { continue };
        let written = if args.json {
            serde_json::to_string(&line).map_err(Into::into).and_then(|line| writeln!(out, "{}", json(&line)))
        } else {
            writeln!(out, "{}", line.in_full(args.full))
        };
        written.map_err(|error| Failure::stdout(&error))?;
    }
    out.flush().map_err(|error| Failure::stdout(&error))?;
    Ok(Exit::Good)
}
