//! Verb `prony demo view`: writes a page that shows a demo along its time.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use prony_demo::timeline::{Interest, Timeline, UnitKind};
use prony_report::demo::shown_facts;
use prony_report::{StoredError, StoredReplay, View};
use prony_text::{Untrusted, bytes, count, thousands};
use serde_json::{Value, json};

use crate::cli::{FrameRange, ViewArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, NewFile};

/// Longest file of a replay that is read: times of a million frames, a hundred times.
const REPLAY_BYTES_MAX: u64 = 1 << 30;

/// # Errors
/// When the demo or the replay cannot be read, they do not belong together, or the page cannot be written.
pub fn run(args: &ViewArgs) -> Result<Exit, Failure> {
    let page = NewFile::create(&args.output, args.force)?;
    let stored = args.replay.as_deref().map(|path| read(path, &args.demo)).transpose()?;
    let (written, shown) = write(&args.demo, stored, args.frames, page)?;
    let summary = json!({
        "page": args.output.display().to_string(),
        "bytes": written,
        "frames": shown.frames,
        "units": shown.units.len(),
        "units_with_calls": shown.calls.len(),
    });
    if args.json {
        output::print_json(&summary)?;
    } else {
        let units = match shown.kind {
            UnitKind::Frames(1) => count(shown.frames, "frame"),
            UnitKind::Frames(each) => format!("{} in groups of {}", count(shown.frames, "frame"), thousands(each)),
            UnitKind::Slices(_) => format!("no frames, {}", count(shown.units.len() as u64, "slice")),
        };
        let with_calls = match shown.calls.len() == shown.units.len() {
            true => "all calls".to_owned(),
            false => format!("the calls of {} of {}", thousands(shown.calls.len()), thousands(shown.units.len())),
        };
        eprintln!("{}: {units}, {with_calls}, {}", Untrusted::new(&args.output), bytes(written as u64));
    }
    Ok(Exit::Good)
}

/// Writes the page of a replay that just took place. `answer`: the JSON of the replay.
///
/// # Errors
/// When the demo cannot be read or the page not be written.
pub fn export(demo: &Path, answer: Value, page: NewFile) -> Result<(), Failure> {
    let facts = prony_machine::facts(&prony_machine::Tree::machine());
    let stored = StoredReplay::of(answer, serde_json::to_value(facts).unwrap_or_default())
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", page.path().display())))?;
    write(demo, Some(stored), None, page).map(drop)
}

fn write(
    path: &Path,
    stored: Option<StoredReplay>,
    frames: Option<FrameRange>,
    mut page: NewFile,
) -> Result<(usize, Timeline), Failure> {
    let mut demo = super::open("show", path)?;
    let all = demo.frames().len() as u64;
    let replay = stored.map(|stored| stored.replay(all)).transpose();
    let replay = replay.map_err(|error| {
        let error = match error {
            StoredError::Frames { found, expected } => {
                format!("it is of {}, {} has {}", count(found, "frame"), Untrusted::new(path), thousands(expected))
            }
            other => other.to_string(),
        };
        Failure::new(format!("cannot show the replay: {error}")).hint("use the replay of this very demo")
    })?;
    let frames = frames.map(|range| range.first..range.end.unwrap_or(u64::MAX));
    if let Some(range) = frames.as_ref().filter(|range| range.start >= all.max(1)) {
        let error = prony_demo::DemoError::NoFrame { frame: range.start as usize, frames: all as usize };
        return Err(Failure::demo("show", path, &error));
    }
    let interest = Interest {
        frames,
        diverged: replay.as_ref().and_then(|replay| Some(replay.divergence.as_ref()?.frame)),
        frame_ns: replay.as_ref().map(|replay| replay.frame_ns(all)).unwrap_or_default(),
    };
    let timeline = Timeline::of(&mut demo, &interest).map_err(|error| Failure::demo("show", path, &error))?;
    let title = Untrusted::new(path.file_name().unwrap_or(path.as_os_str())).to_string();
    let facts = shown_facts(demo.header(), demo.trailer());
    let view = View { title: &title, facts, timeline: &timeline, replay, version: env!("CARGO_PKG_VERSION") };
    let html = view.page();
    let failed = |error: std::io::Error, page: &NewFile| Failure::io("write", page.path(), &error);
    page.file().write_all(html.as_bytes()).map_err(|error| failed(error, &page))?;
    page.finish()?;
    Ok((html.len(), timeline))
}

fn read(path: &Path, demo: &Path) -> Result<StoredReplay, Failure> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(REPLAY_BYTES_MAX).read_to_string(&mut text))
        .map_err(|error| Failure::io("read", path, &error))?;
    StoredReplay::parse(&text).map_err(|error| {
        Failure::new(format!("cannot read {}: {error}", path.display())).hint(format!(
            "make it with `prony replay {} --json > {}`",
            demo.display(),
            path.display()
        ))
    })
}
