//! `prony record` in the terminal.

use std::fmt::Write;
use std::path::Path;

use prony_replay::{RecordReport, RecordWarning, exit_text};
use prony_text::{Untrusted, bytes, count, significant};

use super::demo;

/// Answer to a recording, as text for people.
/// `ended_by_limit`: prony ended the server as its time was up.
pub fn text(output: &Path, report: &RecordReport, ended_by_limit: bool) -> String {
    let mut out = String::new();
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
    let limit = if ended_by_limit { ", after the time of --for" } else { "" };
    let _ = match &report.goes_on {
        Some(server) => writeln!(out, "  the server goes on as process {} and is not recorded any more", server.pid()),
        None => writeln!(out, "  the server {}{limit}", exit_text(report.exit)),
    };
    demo::pack::lines(&mut out, &report.packed);
    out
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
