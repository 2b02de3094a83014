//! `prony record` in the terminal.

use std::fmt::{Display, Write};
use std::path::Path;

use prony_demo::WriteError;
use prony_replay::{DiskEnd, RecordReport, RecordWarning, exit_text};
use prony_text::{Untrusted, bytes, count, significant};

use super::demo;

/// Answer to a recording, as text for people.
/// `ended_by_limit`: prony ended the server as its time was up.
pub fn text(output: &Path, report: &RecordReport, ended_by_limit: bool) -> String {
    let mut out = String::new();
    if report.is_partial() {
        let recorded = significant(report.recorded_s);
        let _ = writeln!(out, "{}.partial: recorded {recorded} s, as far as it was written", Untrusted::new(output));
        goes_on(&mut out, report);
        return out;
    }
    let _ = writeln!(
        out,
        "{}: recorded {} s, {}, {}",
        Untrusted::new(output),
        significant(report.recorded_s),
        count(report.frames, "frame"),
        bytes(report.file_bytes),
    );
    let processes = match report.processes {
        0 | 1 => String::new(),
        several => format!(" of {several} processes"),
    };
    let _ = writeln!(
        out,
        "  {}{processes}, {} with {}",
        count(report.records, "call"),
        count(report.outputs, "output"),
        count(report.output_bytes, "byte"),
    );
    if let Some(waited_s) = report.noticeable_wait_s() {
        let _ = writeln!(
            out,
            "  threads were ready and waited for their turn: {} s in total, as one runs at a time",
            significant(waited_s)
        );
    }
    cost(&mut out, report);
    let limit = if ended_by_limit { ", after the time of --for" } else { "" };
    if report.goes_on.is_none() {
        let _ = writeln!(out, "  the server {}{limit}", exit_text(report.exit));
    }
    goes_on(&mut out, report);
    demo::pack::lines(&mut out, &report.packed);
    out
}

/// What the recorder took, and what the server had to wait for it.
fn cost(out: &mut String, report: &RecordReport) {
    let cost = &report.cost;
    let percent = |part: f64, whole: f64| significant(100.0 * part / whole.max(f64::MIN_POSITIVE));
    if report.recorded_s > 0.0 {
        let _ = writeln!(
            out,
            "  prony took {} s of CPU, {} % of one",
            significant(cost.recorder_cpu_s),
            percent(cost.recorder_cpu_s, report.recorded_s)
        );
    }
    if cost.fast_bytes > 0 {
        let _ = writeln!(
            out,
            "  {} % of the records were compressed less, as they came faster than the usual level takes",
            percent(cost.fast_bytes as f64, cost.record_bytes as f64)
        );
    }
    if cost.room_awaited_s > 0.0 {
        let _ = writeln!(
            out,
            "  threads waited for prony to take their records: {} s in total",
            significant(cost.room_awaited_s)
        );
    }
}

fn goes_on(out: &mut String, report: &RecordReport) {
    if let Some(server) = &report.goes_on {
        let _ = writeln!(out, "  the server goes on as process {} and is not recorded any more", server.pid());
    }
}

/// Why the disk ended the recording.
pub fn disk_end(output: &Path, end: &DiskEnd) -> String {
    match end {
        DiskEnd::Full => "the recording ended before the server: no space is left on the disk".to_owned(),
        DiskEnd::Slow { waiting_bytes } => format!(
            "the recording ended before the server: the disk did not keep up, {} waited to be written",
            bytes(*waiting_bytes)
        ),
        DiskEnd::Broken(error) => {
            let error: &dyn Display = match &**error {
                WriteError::Io(error) => error,
                error => error,
            };
            format!("the recording ended before the server: cannot write {}.partial: {error}", output.display())
        }
    }
}

/// A warning in one sentence.
pub fn warning(warning: &RecordWarning) -> String {
    match warning {
        RecordWarning::Written(path) => format!(
            "the server wrote `{}`, which is outside any --state directory: a replay writes it too, and reads its \
             content at that time",
            path.display()
        ),
        RecordWarning::Note(note) => note.clone(),
        RecordWarning::LivesOn(processes) => {
            let named: Vec<String> = processes.iter().map(|(pid, name)| format!("`{name}` ({pid})")).collect();
            let [it, verb] = if named.len() == 1 { ["it", "lives"] } else { ["them", "live"] };
            format!("{} {verb} on: the recording ended without {it}", named.join(", "))
        }
        RecordWarning::NotListed(error) => {
            format!("the demo cannot be added to the list of demos recorded here: {error}")
        }
    }
}
