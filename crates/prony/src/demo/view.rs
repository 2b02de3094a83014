//! Verb `prony demo view`: writes a page that shows a demo along its time.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use prony_demo::timeline::{Interest, Timeline, UnitKind};
use prony_demo::{Header, Trailer};
use prony_report::{Divergence, Replay, Tone, Verdict, View};
use prony_text::{Untrusted, bytes, count, significant, thousands};
use serde::Deserialize;
use serde_json::{Value, json};

use super::info::{executable, server_exit};
use crate::cli::{FrameRange, ViewArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::numbers::date;
use crate::output::{self, NewFile};
use crate::trust;

/// Longest file of a replay that is read: times of a million frames, a hundred times.
const REPLAY_BYTES_MAX: u64 = 1 << 30;
/// Notes of a recording that are shown.
const NOTES_MAX: usize = 20;

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
    let mut stored: Stored = serde_json::from_value(answer)
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", page.path().display())))?;
    stored.machine = serde_json::to_value(facts).unwrap_or_default();
    write(demo, Some(stored), None, page).map(drop)
}

fn write(
    path: &Path,
    stored: Option<Stored>,
    frames: Option<FrameRange>,
    mut page: NewFile,
) -> Result<(usize, Timeline), Failure> {
    let mut demo = super::open("show", path)?;
    let all = demo.frames().len() as u64;
    let replay = stored.map(|stored| stored.replay(path, all)).transpose()?;
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
    let facts = facts(demo.header(), demo.trailer());
    let view = View { title: &title, facts, timeline: &timeline, replay, version: env!("CARGO_PKG_VERSION") };
    let html = view.page();
    let failed = |error: std::io::Error, page: &NewFile| Failure::io("write", page.path(), &error);
    page.file().write_all(html.as_bytes()).map_err(|error| failed(error, &page))?;
    page.finish()?;
    Ok((html.len(), timeline))
}

/// Facts about the recording, as `demo info` has them.
fn facts(header: &Header, trailer: Option<&Trailer>) -> Vec<(&'static str, String)> {
    let machine = [header.architecture.as_str(), &header.cpu_model, &header.kernel_release];
    let mut facts = vec![
        ("command", trust::command(header)),
        ("executable", executable(header)),
        ("machine", machine.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")),
        ("recorded", format!("{} by prony {}", date(header.recorded_at_unix_ns), header.prony_version)),
    ];
    if let Some(trailer) = trailer {
        facts.push(("server", server_exit(trailer.exit)));
        let notes = trailer.notes.iter().take(NOTES_MAX);
        facts.extend(notes.map(|note| ("note", Untrusted::new(note).to_string())));
    }
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

/// A replay as `prony replay --json` prints it, as far as the page shows it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stored {
    verdict: String,
    reasons: Vec<String>,
    frames: u64,
    outputs_verified: u64,
    output_bytes_verified: u64,
    replays: u64,
    wall_s: Option<f64>,
    wall_s_list: Vec<f64>,
    recorded_s: f64,
    speedup: Option<f64>,
    frames_in_each: Option<u64>,
    frame_ms_list: Vec<f64>,
    warnings: Vec<String>,
    divergence: Option<StoredDivergence>,
    causes: Vec<StoredCause>,
    machine: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StoredDivergence {
    class: String,
    process: u64,
    thread: u64,
    record: u64,
    frame: u64,
    call: String,
    fd: i64,
    byte: Option<u64>,
    window_from: u64,
    expected_hex: String,
    found_hex: String,
    expected_call: String,
    recent: Vec<String>,
    backtrace: Vec<String>,
    detail: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StoredCause {
    text: String,
}

fn read(path: &Path, demo: &Path) -> Result<Stored, Failure> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(REPLAY_BYTES_MAX).read_to_string(&mut text))
        .map_err(|error| Failure::io("read", path, &error))?;
    let hint = format!("make it with `prony replay {} --json > {}`", demo.display(), path.display());
    let wrong = |what: String| Failure::new(format!("cannot read {}: {what}", path.display())).hint(&hint);
    let stored: Stored = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    match stored.verdict.as_str() {
        "identical" | "tolerant" | "diverged" | "weak" => Ok(stored),
        found => Err(wrong(format!("expected the JSON of a replay, found the verdict `{}`", Untrusted::new(found)))),
    }
}

impl Stored {
    /// What the page shows of it. `frames`: those of the demo.
    fn replay(self, demo: &Path, frames: u64) -> Result<Replay, Failure> {
        let frames_in_each = self.frames_in_each.unwrap_or(1).max(1);
        // A replay has no frame behind the last whole one, or that one too.
        if self.frames > frames + 1 || self.divergence.as_ref().is_some_and(|found| found.frame > frames + 1) {
            let demo = Untrusted::new(demo);
            return Err(Failure::new(format!(
                "cannot show the replay: it is of {}, {demo} has {}",
                count(self.frames.max(self.divergence.map_or(0, |found| found.frame)), "frame"),
                thousands(frames)
            ))
            .hint("use the replay of this very demo"));
        }
        let wall_s = match (self.wall_s_list.is_empty(), self.wall_s) {
            (false, _) => self.wall_s_list,
            (true, Some(wall_s)) => vec![wall_s],
            (true, None) => Vec::new(),
        };
        let claim = match (self.verdict.as_str(), &self.divergence) {
            ("identical", _) => "Identical".to_owned(),
            ("tolerant", _) => "Tolerant, not identical".to_owned(),
            ("diverged", Some(found)) => format!("Diverged: {}", class(&found.class)),
            ("diverged", None) => "Diverged".to_owned(),
            _ => "Weak: nothing diverged, but the result proves little".to_owned(),
        };
        let tone = match self.verdict.as_str() {
            "identical" => Tone::Good,
            "diverged" => Tone::Bad,
            _ => Tone::Warn,
        };
        let verified = format!(
            "{}, {} verified over {}",
            count(self.outputs_verified, "output"),
            count(self.output_bytes_verified, "byte"),
            count(self.frames, "frame")
        );
        let speed = match (self.speedup, self.wall_s) {
            (Some(speedup), Some(wall_s)) => format!(
                "; replayed {} s in {} s ({}× real time), median of {}",
                significant(self.recorded_s),
                significant(wall_s),
                significant(speedup),
                count(self.replays, "replay")
            ),
            _ => String::new(),
        };
        let causes = self.causes.into_iter().map(|cause| cause.text).collect();
        Ok(Replay {
            verdict: Some(Verdict { tone, claim, basis: verified + &speed }),
            notes: [self.reasons, self.warnings].concat(),
            frame_ms: self.frame_ms_list,
            frames_in_each,
            wall_s,
            machine: self.machine,
            divergence: self.divergence.map(|found| found.divergence(causes)),
        })
    }
}

impl StoredDivergence {
    fn divergence(self, causes: Vec<String>) -> Divergence {
        let process = if self.process > 0 { format!(" of process {}", self.process) } else { String::new() };
        let fd = if self.fd >= 0 { format!(", descriptor {}", self.fd) } else { String::new() };
        let byte = self.byte.map_or_else(String::new, |byte| format!(", byte {}", thousands(byte)));
        let place = match self.call.is_empty() {
            true => class(&self.class),
            false => format!(
                "record {}{process}, frame {}, thread {}: {}{fd}{byte}",
                thousands(self.record),
                thousands(self.frame),
                self.thread,
                self.call
            ),
        };
        Divergence {
            place,
            detail: self.detail,
            frame: self.frame,
            record: self.record,
            byte: self.byte,
            window_from: self.window_from,
            expected: from_hex(&self.expected_hex),
            found: from_hex(&self.found_hex),
            expected_call: self.expected_call,
            recent: self.recent,
            backtrace: self.backtrace,
            causes,
        }
    }
}

/// The class of a divergence in words, from its key in JSON.
fn class(key: &str) -> String {
    match key {
        "output" => "different output".to_owned(),
        "order" => "different order of calls".to_owned(),
        "starvation" => "starved thread".to_owned(),
        other => other.replace('_', " "),
    }
}

/// Bytes of hex digits, up to the first that are none.
fn from_hex(digits: &str) -> Vec<u8> {
    let nibble = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    digits.as_bytes().chunks_exact(2).map_while(|pair| Some(nibble(pair[0])? << 4 | nibble(pair[1])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_a_stranger_end_where_they_are_none() {
        assert_eq!(from_hex("00ff7a"), [0, 255, 122]);
        assert!(from_hex("0g11").is_empty());
        assert!(from_hex("é1").is_empty());
        assert!(from_hex("1").is_empty());
    }

    #[test]
    fn the_replay_of_another_demo_is_refused() {
        let stored = |frames| Stored { verdict: "identical".to_owned(), frames, ..Stored::default() };
        assert!(stored(11).replay(Path::new("x.demo"), 10).is_ok());
        let failure = stored(5000).replay(Path::new("x.demo"), 10).expect_err("it has more frames").to_string();
        assert!(
            failure.starts_with("error: cannot show the replay: it is of 5,000 frames, x.demo has 10"),
            "{failure}"
        );
    }
}
