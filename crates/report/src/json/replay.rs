//! The answer of a replay as JSON.

use prony_demo::Exit;
use prony_demo::dump::errno_name;
use prony_replay::{
    Cause, Difference, Divergence, DivergenceClass, Doing, FailedCall, Number, NumberChange, Recorded, ReplayReport,
    ThreadReport, Verdict,
};
use prony_stats::spread::Spread;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::divergence;
use crate::text::replay::causes;

/// The word that `verdict` has.
fn verdict(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Identical => "identical",
        Verdict::Tolerant => "tolerant",
        Verdict::Diverged => "diverged",
        Verdict::Weak(_) => "weak",
    }
}

/// Everything that is known of the replays, with the time of every frame.
pub fn answer(report: &ReplayReport) -> Value {
    let mut answer = Map::new();
    let mut put = |key: &str, value: Value| answer.insert(key.to_owned(), value);
    let wall = Spread::of(report.timing.wall_s.iter().copied());
    let cpu = Spread::of(report.timing.cpu_s.iter().copied());
    put("verdict", verdict(&report.verdict).into());
    if let Verdict::Weak(reasons) = &report.verdict {
        put("reasons", json!(reasons.iter().map(ToString::to_string).collect::<Vec<_>>()));
    }
    put("frames", report.frames.into());
    put("records", report.counted.records.into());
    put("outputs_verified", report.counted.outputs.into());
    put("output_bytes_verified", report.counted.output_bytes.into());
    let replays = report.tool.as_ref().map_or(report.timing.wall_s.len(), |tool| tool.exits.len());
    put("replays", replays.into());
    if let Some(tool) = &report.tool {
        put(
            "tool",
            json!({ "command": tool.command, "exits": tool.exits.iter().map(|&exit| ended(exit)).collect::<Vec<_>>() }),
        );
    }
    put("wall_s", json!(wall.map(|wall| wall.median)));
    put("cpu_s", json!(cpu.map(|cpu| cpu.median)));
    if report.timing.wall_s.len() > 1 {
        put("wall_s_spread", json!(wall.map(spread)));
        put("cpu_s_spread", json!(cpu.map(spread)));
        put("wall_s_list", json!(report.timing.wall_s));
        put("cpu_s_list", json!(report.timing.cpu_s));
    }
    put("recorded_s", json!(report.timing.recorded_s));
    put(
        "speedup",
        json!(wall.filter(|_| report.divergence.is_none()).map(|wall| report.timing.recorded_s / wall.median)),
    );
    put(
        "cpu_speedup",
        json!(cpu.filter(|_| report.divergence.is_none()).map(|cpu| report.timing.recorded_s / cpu.median)),
    );
    if report.timing.frames_in_each > 1 {
        put("frames_in_each", report.timing.frames_in_each.into());
    }
    let ms = |ns: u64| ns as f64 / 1e6 / report.timing.frames_in_each as f64;
    let milliseconds = |ns: &[u64]| Spread::of(ns.iter().map(|&ns| ms(ns))).map(spread);
    put("frame_ms", json!(milliseconds(&report.timing.frame_wall_ns)));
    put("frame_cpu_ms", json!(milliseconds(&report.timing.frame_cpu_ns)));
    let each = |ns: &[u64]| ns.iter().map(|&ns| ms(ns)).collect::<Vec<_>>();
    put("frame_ms_list", json!(each(&report.timing.frame_wall_ns)));
    put("frame_cpu_ms_list", json!(each(&report.timing.frame_cpu_ns)));
    put("crashed_as_recorded", report.crashed_as_recorded.into());
    put("clocks_added", report.counted.clocks_added.into());
    put("clocks_removed", report.counted.clocks_removed.into());
    put("resynced", report.resynced().into());
    put("overlapped", report.counted.overlapped.into());
    put("log_bytes_differing", report.counted.log_bytes_differing.into());
    put("variables_withheld", report.from_demo.variables_withheld.as_slice().into());
    put("files_laid_over", report.from_demo.files_laid_over.into());
    put("files_withheld", report.from_demo.files_withheld.into());
    put("directories_outside", report.from_demo.directories_outside.as_slice().into());
    put("warnings", report.warnings.iter().map(ToString::to_string).collect::<Vec<_>>().into());
    if let Some(tolerance) = &report.tolerance {
        put("tolerance", json!(tolerance));
    }
    if let Some(found) = &report.divergence {
        put("divergence", self::divergence(found));
        put("recorded_build", json!(report.surroundings.recorded_build));
        put("causes", report.causes.iter().map(cause).collect());
        put("failed_calls", report.evidence.failed_calls.iter().map(failed_call).collect());
        put("unfailed_calls", report.evidence.unfailed_calls.iter().map(failed_call).collect());
        put("notes", json!([report.surroundings.missed.as_slice(), &report.surroundings.notes].concat()));
        put("printed", json!(report.printed));
    }
    Value::Object(answer)
}

/// How a tool ended.
fn ended(exit: Exit) -> Value {
    match exit {
        Exit::Code(code) => json!({ "code": code }),
        Exit::Signal(signal) => json!({ "signal": signal }),
        Exit::Cut => Value::Null,
    }
}

fn cause(cause: &Cause) -> Value {
    json!({ "cause": cause.key(), "text": causes::sentence(cause) })
}

fn failed_call(failed: &FailedCall) -> Value {
    let (recorded, recorded_record, recorded_error) = match failed.recorded {
        Recorded::Succeeded(record) => ("succeeded", Some(record), None),
        Recorded::FailedWith(errno) => ("failed", None, Some(errno_name(errno))),
        Recorded::NotFailed => ("not_failed", None, None),
        Recorded::NotNoted => ("not_noted", None, None),
    };
    json!({
        "process": failed.process,
        "thread": failed.thread,
        "call": failed.call,
        "path": failed.path,
        "fd": failed.fd,
        "error": errno_name(failed.errno),
        "after_record": failed.after_record,
        "recorded": recorded,
        "recorded_record": recorded_record,
        "recorded_error": recorded_error,
    })
}

fn thread(thread: &ThreadReport) -> Value {
    let (doing, call, at) = match &thread.doing {
        Doing::Turn => ("waits", "", ""),
        Doing::Running => ("runs", "", ""),
        Doing::Sleeping { call, at } => ("sleeps", call.as_str(), at.as_str()),
        Doing::Finished => ("finished", "", ""),
        Doing::Gone => ("gone", "", ""),
    };
    json!({
        "process": thread.process,
        "thread": thread.thread,
        "record": thread.record,
        "call": thread.call,
        "waits_for_turn": thread.waits_for,
        "is_its_turn": thread.is_its_turn,
        "doing": doing,
        "system_call": call,
        "at": at,
    })
}

fn number(change: NumberChange) -> Value {
    let NumberChange { byte, form, expected, found } = change;
    let value = |number| match number {
        Number::Integer(number) => json!(number),
        Number::Float(number) => json!(number),
    };
    json!({ "byte": byte, "form": form.to_string(), "expected": value(expected), "found": value(found) })
}

fn spread(spread: Spread) -> Value {
    let Spread { min, median, p99, max, n } = spread;
    json!({ "min": min, "median": median, "p99": p99, "max": max, "n": n })
}

#[derive(Serialize)]
struct Facts<'a> {
    class: &'static str,
    difference: &'static str,
    expected_status: Option<i32>,
    found_status: Option<i32>,
    #[serde(flatten)]
    place: Position<'a>,
    #[serde(flatten)]
    data: Data,
    expected_call: &'a str,
    recent: &'a [String],
    backtrace: &'a [String],
    detail: String,
    threads: Vec<Value>,
}

/// Where the build left the recording.
#[derive(Serialize)]
struct Position<'a> {
    process: u16,
    thread: u16,
    record: u64,
    frame: u64,
    call: &'a str,
    fd: i32,
}

/// The data of the call on both sides.
#[derive(Serialize)]
struct Data {
    /// Position of the first byte that differs.
    byte: Option<u64>,
    /// Position at which both windows begin.
    window_from: u64,
    expected_hex: String,
    found_hex: String,
    /// The number that holds the byte.
    number: Option<Value>,
}

impl Facts<'_> {
    fn of(found: &Divergence) -> Facts<'_> {
        let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let (expected_status, found_status) = match found.difference {
            Difference::Status { expected, found } => (Some(expected), Some(found)),
            _ => (None, None),
        };
        Facts {
            class: key(found.class),
            difference: difference(found.difference),
            expected_status,
            found_status,
            place: Position {
                process: found.process,
                thread: found.thread,
                record: found.record,
                frame: found.frame,
                call: &found.call,
                fd: found.fd,
            },
            data: Data {
                byte: found.window.differing,
                window_from: found.window.from,
                expected_hex: digits(&found.window.expected),
                found_hex: digits(&found.window.found),
                number: found.number().map(number),
            },
            expected_call: &found.expected_call,
            recent: &found.recent,
            backtrace: &found.backtrace,
            detail: divergence::detail(found),
            threads: found.threads.iter().map(thread).collect(),
        }
    }
}

/// A divergence as an object.
pub(super) fn divergence(found: &Divergence) -> Value {
    json!(Facts::of(found))
}

/// The class as JSON has it.
pub fn key(class: DivergenceClass) -> &'static str {
    match class {
        DivergenceClass::Output => "output",
        DivergenceClass::Order => "order",
        DivergenceClass::UnrecordedCall => "unrecorded_call",
        DivergenceClass::Starvation => "starvation",
        DivergenceClass::EarlyExit => "early_exit",
        DivergenceClass::LateExit => "late_exit",
        DivergenceClass::MissingFile => "missing_file",
        DivergenceClass::Crash => "crash",
        DivergenceClass::Input => "input",
    }
}

/// Kind of difference within the class of a divergence, as JSON has it.
fn difference(difference: Difference) -> &'static str {
    match difference {
        Difference::Class => "class",
        Difference::Bytes => "bytes",
        Difference::NotSent => "not_sent",
        Difference::NotRecorded => "not_recorded",
        Difference::Destination => "destination",
        Difference::Room { .. } => "room",
        Difference::Descriptor(_) => "descriptor",
        Difference::Status { .. } => "status",
    }
}
