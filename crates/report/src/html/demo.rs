//! One demo on one self-contained page: the match along its time, frames opened into their calls, and a replay beside it.
//!
//! A demo may be a stranger's: what it says is text, in the page and in the page's data, and only so much of it.

mod stored;

pub use stored::{StoredError, StoredReplay};

use maud::{Markup, PreEscaped, html};
use prony_demo::timeline::{Lane, Moved, Timeline, Unit, UnitKind};
use prony_text::{Quantity, bytes, count, duration, printable_line, significant, thousands};
use serde_json::{Value, json};

use crate::html::bench::card;
use crate::html::document::{document, head, heading, verdict};
use crate::html::escape::json_in_script;
use crate::study::provenance;
use crate::study::sentences::Verdict;
use crate::svg::chart::bench::{self as charts, Values};
use crate::svg::chart::distributions::distributions;

const SCRIPT: &str = include_str!("demo.js");
/// Frames that are listed as the slowest.
const SLOWEST: usize = 10;
/// Bytes of a row of two sides beside each other: as many as fit on a phone.
const ROW_BYTES: usize = 8;
/// Rows of two sides: what a divergence keeps, and no more.
const ROWS_MAX: usize = 64;
/// Lines that are listed of each kind.
const LINES_MAX: usize = 40;
/// Letters of a line.
const LINE_LETTERS: usize = 400;

/// What a page of a demo shows.
#[derive(Debug)]
pub struct View<'a> {
    /// Name of the demo.
    pub title: &'a str,
    /// Facts about the recording, as name and value.
    pub facts: Vec<(&'static str, String)>,
    /// The demo along its time.
    pub timeline: &'a Timeline,
    /// A replay of it.
    pub replay: Option<Replay>,
    /// The version of prony that makes the page.
    pub version: &'a str,
}

/// Replays of a demo by one build.
#[derive(Debug, Clone, Default)]
pub struct Replay {
    /// The answer in a sentence.
    pub verdict: Option<Verdict>,
    /// Warnings and reasons, a sentence each.
    pub notes: Vec<String>,
    /// Time of each frame in milliseconds, one replay behind the other.
    pub frame_ms: Vec<f64>,
    /// Frames that each of these times is the mean of; 1 of most demos.
    pub frames_in_each: u64,
    /// Wall time of each replay, in seconds.
    pub wall_s: Vec<f64>,
    /// The machine, as `prony machine show --json` prints it; null where it is not known.
    pub machine: Value,
    /// The place at which the build left the recording.
    pub divergence: Option<Divergence>,
}

/// The place at which a build left the recording, both sides.
#[derive(Debug, Clone, Default)]
pub struct Divergence {
    /// Record, frame, thread and call, in words.
    pub place: String,
    /// What is known besides.
    pub detail: String,
    /// Number of the frame.
    pub frame: u64,
    /// Number of the record.
    pub record: u64,
    /// Offset of the first byte that differs in the whole output.
    pub byte: Option<u64>,
    /// Offset of the first byte of the two sides in the whole output.
    pub window_from: u64,
    /// Recorded bytes.
    pub expected: Vec<u8>,
    /// Bytes of the build.
    pub found: Vec<u8>,
    /// The recorded call, as `demo dump` prints it.
    pub expected_call: String,
    /// The calls before it.
    pub recent: Vec<String>,
    /// The functions from which the build made the call.
    pub backtrace: Vec<String>,
    /// Possible causes, a sentence each.
    pub causes: Vec<String>,
}

impl Replay {
    /// Typical time of each frame over the replays, in nanoseconds; of means the same for each of their frames.
    ///
    /// `frames`: those of the demo. The first one, which ends with the first wait, is start-up: a replay does not time it,
    /// and it has 0 here.
    pub fn frame_ns(&self, frames: u64) -> Vec<u64> {
        let each = self.frames_in_each.max(1);
        let replays = self.wall_s.len().max(1);
        let of_one = self.frame_ms.len() / replays;
        let mut one: Vec<f64> = Vec::with_capacity(replays);
        let mut typical = Vec::with_capacity(of_one);
        for place in 0..of_one {
            one.clear();
            one.extend(
                (0..replays)
                    .filter_map(|replay| self.frame_ms.get(replay * of_one + place))
                    .filter(|ms| ms.is_finite()),
            );
            one.sort_by(f64::total_cmp);
            let ms = one.get(one.len() / 2).copied().unwrap_or(0.0);
            typical.push((ms.clamp(0.0, 1e12) * 1e6) as u64);
        }
        let most = usize::try_from(frames).unwrap_or(usize::MAX);
        let timed = typical.into_iter().flat_map(|ns| std::iter::repeat_n(ns, each as usize));
        if of_one == 0 { Vec::new() } else { std::iter::once(0).chain(timed).take(most).collect() }
    }
}

impl View<'_> {
    /// The page: one HTML document that needs nothing else.
    pub fn page(&self) -> String {
        let frame_ns = self.replay.as_ref().map(|replay| replay.frame_ns(self.timeline.frames)).unwrap_or_default();
        let body = html! {
            (head(self.title, &html! { (self.shape()) }))
            main {
                @if let Some(replay) = &self.replay { (self.answer(replay)) }
                (self.time_line())
                (self.slowest(&frame_ns))
                (self.lanes())
                (self.facts())
            }
            script type="application/json" id="timeline" { (PreEscaped(json_in_script(&self.data(&frame_ns).to_string()))) }
        };
        document(self.title, 8, ("", &[SCRIPT]), self.version, &body)
    }

    fn shape(&self) -> String {
        let Timeline { frames, units, clients_all, more_clients, threads_all, .. } = self.timeline;
        let seconds = units.last().map_or(0, |unit| unit.end_ns) as f64 / 1e9;
        let calls: u64 = units.iter().map(|unit| unit.calls).sum();
        let more = if *more_clients { "more than " } else { "" };
        format!(
            "{}, {}, {}, {more}{}, {}",
            duration(seconds),
            count(*frames, "frame"),
            count(calls, "call"),
            count(*clients_all, "client"),
            count(*threads_all, "thread")
        )
    }

    fn answer(&self, replay: &Replay) -> Markup {
        let seconds: Vec<(f64, f64)> = replay
            .frame_ms
            .iter()
            .enumerate()
            .map(|(number, ms)| (number as f64, ms / 1e3))
            .filter(|(_, seconds)| seconds.is_finite())
            .collect();
        let values: Vec<f64> = seconds.iter().map(|point| point.1).collect();
        let name = match replay.frames_in_each {
            0 | 1 => "frames of the replay".to_owned(),
            each => format!("means of {} frames of the replay", thousands(each)),
        };
        let row = Values {
            name,
            series: 1,
            points: seconds,
            median: prony_stats::single_sample::median_interval(&values, 0.05),
        };
        let of_one = replay.frame_ms.len() / replay.wall_s.len().max(1);
        let runs: Vec<(f64, f64)> =
            replay.wall_s.iter().enumerate().map(|(number, wall)| (number as f64, *wall)).collect();
        html! {
            @if let Some(answer) = &replay.verdict { (verdict(answer)) }
            @if !replay.notes.is_empty() {
                ul class="notes" { @for note in replay.notes.iter().take(LINES_MAX) { li { (cut(note)) } } }
            }
            @if let Some(divergence) = &replay.divergence { (self.divergence(divergence)) }
            @if values.len() > 1 {
                div class="two" {
                    @if let Some(chart) = distributions(std::slice::from_ref(&row), "second") {
                        (card("Distribution of frame times", "line: median, shaded: its 95 % interval", &chart))
                    }
                    @let first = replay.frame_ms.get(..of_one).unwrap_or_default();
                    (card("Frames in the order of time", "band: fastest to slowest, line: median", &charts::frames(first)))
                    @if runs.len() > 2 {
                        @let runs = Values { name: "replay".to_owned(), series: 1, points: runs, median: None };
                        (card("Replays in the order of time", "wall time", &charts::values(&[runs], "second", false)))
                    }
                }
            }
        }
    }

    /// Both sides of a divergence beside each other.
    fn divergence(&self, found: &Divergence) -> Markup {
        html! {
            section id="divergence" {
                (heading("Divergence", &found.place))
                div class="card" {
                    @if !found.detail.is_empty() { p { (cut(&found.detail)) } }
                    @if !found.expected_call.is_empty() { p { "recorded call: " code { (cut(&found.expected_call)) } } }
                    @if !(found.expected.is_empty() && found.found.is_empty()) { (sides(found)) }
                    @if !found.causes.is_empty() {
                        h3 { "Possible causes" }
                        ul class="notes" { @for cause in found.causes.iter().take(LINES_MAX) { li { (cut(cause)) } } }
                    }
                    (lines("calls before it", &found.recent, true))
                    (lines("made at", &found.backtrace, false))
                }
            }
        }
    }

    fn time_line(&self) -> Markup {
        let what = match self.timeline.kind {
            UnitKind::Frames(1) => "one bar for each frame".to_owned(),
            UnitKind::Frames(each) => format!("one bar for {} frames", thousands(each)),
            UnitKind::Slices(ns) => format!(
                "the demo has no frames; one bar for {}",
                Quantity::of(ns as f64 / 1e9, "second").value(ns as f64 / 1e9)
            ),
        };
        html! {
            section id="match" {
                (heading("Time line", &what))
                noscript { p { "The time line needs the script of this page, which does not run here." } }
                div class="card" {
                    div class="tools" role="group" aria-label="time line" {
                        button id="before" aria-label="previous frame" { "‹" }
                        button id="behind" aria-label="next frame" { "›" }
                        button id="in" aria-label="zoom in" { "+" }
                        button id="out" aria-label="zoom out" { "−" }
                        button id="all" { "All" }
                        input id="search" type="search" maxlength="200" placeholder="360, 12.5 s, sendto, 127.0.0.1:27005, or bytes: ff ff"
                            aria-label="search frames: a number, a time, or words of a call";
                        span id="found" role="status" {}
                    }
                    canvas id="overview" aria-hidden="true" {}
                    canvas id="lanes" tabindex="0" role="img" aria-label="frames, clients and threads along the time" aria-describedby="said" {}
                    p id="said" role="status" {}
                    p class="help" {
                        "Arrow keys: from frame to frame. + and −, or Ctrl and the wheel: zoom. Drag: move. Home: all. Enter: the calls of the frame. \
                         S: the next slower one."
                    }
                }
            }
            section id="opened" hidden {
                h2 { span id="which" {} " " small id="about" {} }
                div class="card wide" { table id="calls" { tbody {} } }
                p class="tools" { button id="more" hidden { "more calls" } }
            }
        }
    }

    /// The slowest units by the replay, or as they were recorded.
    fn slowest(&self, frame_ns: &[u64]) -> Markup {
        let UnitKind::Frames(each) = self.timeline.kind else { return html! {} };
        let by_replay = !frame_ns.is_empty();
        let time = |unit: usize| match by_replay {
            true => unit_ns(frame_ns, unit, each),
            false => self.timeline.units[unit].busy_ns,
        };
        let mut order: Vec<usize> = (0..self.timeline.units.len()).filter(|&unit| time(unit) > 0).collect();
        order.sort_by_key(|&unit| (std::cmp::Reverse(time(unit)), unit));
        let basis = if by_replay {
            "by their time in the replay"
        } else {
            "by their work, as far as times of their calls tell"
        };
        html! {
            @if !order.is_empty() {
                section {
                    (heading("Slowest frames", basis))
                    div class="card wide" {
                        table {
                            thead { tr { th { "frame" } th class="n" { "at" } th class="n" { (if by_replay { "replay" } else { "work" }) } th class="n" { "recorded, with wait" } th class="n" { "calls" } } }
                            tbody {
                                @for &unit in order.iter().take(SLOWEST) {
                                    @let Unit { end_ns, calls, .. } = self.timeline.units[unit];
                                    @let from_ns = unit.checked_sub(1).map_or(0, |before| self.timeline.units[before].end_ns);
                                    tr {
                                        td { button data-unit=(unit) { (thousands(unit as u64 * each)) } }
                                        td class="n" { (significant(from_ns as f64 / 1e9)) " s" }
                                        td class="n" { (time_text(time(unit))) }
                                        td class="n" { (time_text(end_ns.saturating_sub(from_ns))) }
                                        td class="n" { (thousands(calls)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    /// The lanes as tables, for those who do not see them.
    fn lanes(&self) -> Markup {
        let Timeline { clients, threads, .. } = self.timeline;
        html! {
            @if !clients.is_empty() {
                section {
                    (heading("Clients", "the busiest, by bytes; of streams, calls instead of datagrams"))
                    div class="card wide" {
                        table {
                            thead { tr { th { "client" } @for name in ["datagrams in", "bytes in", "datagrams out", "bytes out"] { th class="n" { (name) } } } }
                            tbody {
                                @for lane in clients {
                                    @let all = total(lane);
                                    tr {
                                        th scope="row" { (lane.name) }
                                        td class="n" { (thousands(all.datagrams_in)) } td class="n" { (bytes(all.bytes_in)) }
                                        td class="n" { (thousands(all.datagrams_out)) } td class="n" { (bytes(all.bytes_out)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
            @if threads.len() > 1 {
                section {
                    h2 { "Threads" }
                    div class="card wide" {
                        table {
                            thead { tr { th { "thread" } th class="n" { "calls" } th class="n" { "share" } } }
                            tbody {
                                @let all: u64 = threads.iter().flat_map(|lane| &lane.cells).map(|cell| cell.1).sum();
                                @for lane in threads {
                                    @let calls: u64 = lane.cells.iter().map(|cell| cell.1).sum();
                                    tr {
                                        th scope="row" { (lane.name) }
                                        td class="n" { (thousands(calls)) }
                                        td class="n" { (format!("{:.1} %", calls as f64 * 100.0 / all.max(1) as f64)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    fn facts(&self) -> Markup {
        let machine = self.replay.as_ref().map(|replay| provenance::of_facts(&replay.machine)).unwrap_or_default();
        html! {
            section {
                h2 { "Recording" }
                dl { @for (name, value) in &self.facts { dt { (name) } dd { (cut(value)) } } }
            }
            @if !machine.is_empty() {
                section {
                    h2 { "Machine of the replay" }
                    dl { @for (name, value) in &machine { dt { (name) } dd { (value) } } }
                }
            }
        }
    }

    /// What the script draws: columns of whole numbers, times in microseconds.
    fn data(&self, frame_ns: &[u64]) -> Value {
        let timeline = self.timeline;
        let us = |ns: u64| ns / 1_000;
        let each = match timeline.kind {
            UnitKind::Frames(each) => each,
            UnitKind::Slices(_) => 0,
        };
        let mut before = 0;
        let ends: Vec<u64> = timeline
            .units
            .iter()
            .map(|unit| us(unit.end_ns) - std::mem::replace(&mut before, us(unit.end_ns)))
            .collect();
        let starts = |unit: u32| (unit as usize).checked_sub(1).map_or(0, |before| timeline.units[before].end_ns);
        let calls: serde_json::Map<String, Value> = timeline
            .calls
            .iter()
            .map(|(unit, calls)| {
                let start_ns = starts((*unit).min(timeline.units.len() as u32));
                let flat: Vec<u64> = calls
                    .iter()
                    .flat_map(|call| {
                        let after = us(call.time_ns.saturating_sub(start_ns));
                        [after, u64::from(call.thread), u64::from(call.text), u64::from(call.count), call.record]
                    })
                    .collect();
                (unit.to_string(), json!(flat))
            })
            .collect();
        let clients = timeline.clients.iter().map(|lane| {
            let cells = lane.cells.iter().flat_map(|&(unit, moved)| {
                [u64::from(unit), moved.datagrams_in, moved.bytes_in, moved.datagrams_out, moved.bytes_out]
            });
            json!({ "name": printable_line(&lane.name), "cells": cells.collect::<Vec<u64>>() })
        });
        let threads = timeline.threads.iter().map(|lane| {
            let cells = lane.cells.iter().flat_map(|&(unit, calls)| [u64::from(unit), calls]);
            json!({ "name": printable_line(&lane.name), "cells": cells.collect::<Vec<u64>>() })
        });
        let shown = if each > 0 && !frame_ns.is_empty() { timeline.units.len() } else { 0 };
        // Tenths of a microsecond: a frame may take less than one.
        let replay: Vec<u64> = (0..shown).map(|unit| unit_ns(frame_ns, unit, each) / 100).collect();
        let divergence = self.replay.as_ref().and_then(|replay| replay.divergence.as_ref());
        json!({
            "each": each,
            "frames": timeline.frames,
            "ends": ends,
            "busy": timeline.units.iter().map(|unit| us(unit.busy_ns)).collect::<Vec<u64>>(),
            "calls": timeline.units.iter().map(|unit| unit.calls).collect::<Vec<u64>>(),
            "replay": replay,
            "clients": clients.collect::<Vec<Value>>(),
            "threads": threads.collect::<Vec<Value>>(),
            "texts": printed(&timeline.texts),
            "names": printed(&timeline.thread_names),
            "opened": calls,
            "diverged": divergence.map(|found| json!([found.frame, found.record])),
        })
    }
}

/// Texts of others without characters that would turn around what follows, or hide: an escape in the page would end the
/// JSON.
fn printed(texts: &[String]) -> Vec<std::borrow::Cow<'_, str>> {
    texts.iter().map(|text| printable_line(text)).collect()
}

/// Time of a unit in the replay, of its frames together.
fn unit_ns(frame_ns: &[u64], unit: usize, each: u64) -> u64 {
    let first = unit.saturating_mul(each as usize);
    let last = first.saturating_add(each as usize).min(frame_ns.len());
    frame_ns.get(first..last).unwrap_or_default().iter().fold(0, |all, ns| all.saturating_add(*ns))
}

fn time_text(ns: u64) -> String {
    Quantity::of(ns as f64 / 1e9, "second").value(ns as f64 / 1e9)
}

fn total(lane: &Lane<Moved>) -> Moved {
    lane.cells.iter().fold(Moved::default(), |all, (_, one)| Moved {
        datagrams_in: all.datagrams_in + one.datagrams_in,
        bytes_in: all.bytes_in + one.bytes_in,
        datagrams_out: all.datagrams_out + one.datagrams_out,
        bytes_out: all.bytes_out + one.bytes_out,
    })
}

fn lines(title: &str, lines: &[String], open: bool) -> Markup {
    html! {
        @if !lines.is_empty() {
            details open[open] {
                summary { (title) }
                pre { @for line in lines.iter().take(LINES_MAX) { (cut(line)) "\n" } }
            }
        }
    }
}

/// Rows of both sides, those bytes marked that differ.
fn sides(found: &Divergence) -> Markup {
    let longer = found.expected.len().max(found.found.len());
    // The rows around the first difference.
    let differs = found.byte.and_then(|byte| usize::try_from(byte.checked_sub(found.window_from)?).ok()).unwrap_or(0);
    let first = (differs.min(longer) / ROW_BYTES).saturating_sub(ROWS_MAX / 2);
    let last = longer.div_ceil(ROW_BYTES).min(first + ROWS_MAX);
    let side = |of: &[u8], other: &[u8], row: usize| {
        html! {
            td {
                @for place in row * ROW_BYTES..(row + 1) * ROW_BYTES {
                    @match of.get(place) {
                        Some(byte) if other.get(place) != Some(byte) => b { (format!("{byte:02x}")) },
                        Some(byte) => (format!("{byte:02x}")),
                        None => i { "··" },
                    }
                    @if place + 1 < (row + 1) * ROW_BYTES { " " }
                }
            }
            td class="text" { (prony_demo::dump::printable(of.get(row * ROW_BYTES..of.len().min((row + 1) * ROW_BYTES)).unwrap_or_default())) }
        }
    };
    html! {
        table class="sides" {
            thead {
                tr {
                    th scope="col" { "byte" }
                    th scope="col" { "recorded" } th class="text" {}
                    th scope="col" { "replayed" } th class="text" {}
                }
            }
            tbody {
                @for row in first..last {
                    tr {
                        th scope="row" { (thousands(found.window_from + (row * ROW_BYTES) as u64)) }
                        (side(&found.expected, &found.found, row))
                        (side(&found.found, &found.expected, row))
                    }
                }
            }
        }
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LINE_LETTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_replay_begin_with_the_frame_behind_start_up() {
        let replay = |frame_ms: &[f64], replays: usize, frames_in_each: u64| Replay {
            frame_ms: frame_ms.to_vec(),
            wall_s: vec![1.0; replays],
            frames_in_each,
            ..Replay::default()
        };
        assert_eq!(replay(&[1.0, 2.0], 1, 1).frame_ns(3), [0, 1_000_000, 2_000_000]);
        // The median of three replays of two frames.
        assert_eq!(replay(&[1.0, 9.0, 3.0, 8.0, 2.0, 7.0], 3, 1).frame_ns(3), [0, 2_000_000, 8_000_000]);
        assert_eq!(replay(&[1.0, 2.0], 1, 2).frame_ns(5), [0, 1_000_000, 1_000_000, 2_000_000, 2_000_000]);
        // A file of a stranger claims more than the demo has.
        assert_eq!(replay(&[1.0], 1, u64::MAX).frame_ns(4).len(), 4);
        assert_eq!(replay(&[f64::NAN, 1e300], 1, 1).frame_ns(3), [0, 0, 1_000_000_000_000_000_000]);
        assert!(replay(&[], 1, 1).frame_ns(3).is_empty());
    }
}
