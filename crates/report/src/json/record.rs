//! `prony record` as JSON.

use std::path::Path;

use prony_demo::Exit as ServerExit;
use prony_replay::{GoesOn, RecordReport, exit_text};
use serde_json::json;

use super::demo;
use crate::text::record::{disk_end, warning};

/// JSON value of a recording. `ended_by_limit`: prony ended the server as its time was up.
pub fn answer(output: &Path, report: &RecordReport, ended_by_limit: bool) -> serde_json::Value {
    let (exit_code, exit_signal) = match report.exit {
        ServerExit::Code(code) => (Some(code), None),
        ServerExit::Signal(signal) => (None, Some(signal)),
        ServerExit::Cut => (None, None),
    };
    json!({
        "demo": if report.is_partial() { format!("{}.partial", output.display()) } else { output.display().to_string() },
        "recorded_s": report.recorded_s,
        "processes": report.processes,
        "records": report.records,
        "frames": report.frames,
        "outputs": report.outputs,
        "output_bytes": report.output_bytes,
        "threads_waited_s": report.cost.threads_waited_s,
        "room_awaited_s": report.cost.room_awaited_s,
        "recorder_cpu_s": report.cost.recorder_cpu_s,
        "record_bytes": report.cost.record_bytes,
        "fast_record_bytes": report.cost.fast_bytes,
        "file_bytes": report.file_bytes,
        "exit": exit_text(report.exit),
        "exit_code": exit_code,
        "exit_signal": exit_signal,
        "ended_by_limit": ended_by_limit,
        "disk_end": report.disk_end.as_ref().map(|end| disk_end(output, end)),
        "goes_on_as_pid": report.goes_on.as_ref().map(GoesOn::pid),
        "packed": demo::pack::answer(&report.packed),
        "warnings": report.warnings.iter().map(warning).collect::<Vec<_>>(),
    })
}
