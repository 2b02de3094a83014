//! Files that a demo brings, and those it does not, as JSON.

use prony_replay::{LeaveOutReason, LeftOut, PackReport};
use serde_json::{Value, json};

/// JSON value of the packed files and those left out.
pub fn answer(report: &PackReport) -> Value {
    let word = |file: &LeftOut| match file.why {
        LeaveOutReason::Private => "private",
        LeaveOutReason::Large => "large",
        LeaveOutReason::Gone => "not-found",
    };
    let left_out = report
        .left_out
        .iter()
        .map(|file| json!({ "path": file.path.to_string_lossy(), "size_bytes": file.size_bytes, "why": word(file) }));
    json!({ "files": report.files, "bytes": report.bytes, "left_out": left_out.collect::<Vec<_>>() })
}
