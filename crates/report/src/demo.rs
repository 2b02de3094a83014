//! Facts about a demo, for every renderer.

use std::collections::BTreeMap;

use prony_demo::{Exit as ServerExit, Header, Trailer};
use prony_replay::{FileInspection, exit_text, recorded_command};
use prony_text::{Untrusted, date};
use serde::Serialize;

/// Facts about a demo that need no reading of its records.
#[derive(Debug)]
pub struct Facts<'a> {
    /// Head of the file.
    pub header: &'a Header,
    /// `None` where the demo is cut.
    pub trailer: Option<&'a Trailer>,
    /// Readable rest of a truncated demo.
    pub remains: Option<String>,
    /// Number of complete records.
    pub records: u64,
    /// Number of frames.
    pub frames: u64,
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// Time from the first record to the end, in nanoseconds.
    pub duration_ns: u64,
    /// This user recorded it on this machine.
    pub known: bool,
    /// A hash or a key in the user's configuration vouches for it.
    pub listed: bool,
    /// Files that run as their owner or load code; `None` when the archives cannot be read.
    pub files: Option<FileInspection>,
    /// Calls by name; `None` where they were not counted.
    pub calls: Option<BTreeMap<String, CallCount>>,
}

/// Number of times that a call was made, and bytes that it moved.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct CallCount {
    /// Number of calls.
    pub calls: u64,
    /// Bytes that the server got.
    pub bytes_in: u64,
    /// Bytes that the server gave.
    pub bytes_out: u64,
}

pub(crate) fn executable(header: &Header) -> String {
    match hex(&header.build_id) {
        id if id.is_empty() => Untrusted::bytes(&header.executable).to_string(),
        id => format!("{} (build id {id})", Untrusted::bytes(&header.executable)),
    }
}

pub(crate) fn server_exit(exit: ServerExit) -> String {
    match exit {
        ServerExit::Code(_) | ServerExit::Signal(_) => exit_text(exit),
        ServerExit::Cut => "was still running when the recording ended".to_owned(),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Facts about the recording, as `demo info` has them.
pub fn shown_facts(header: &Header, trailer: Option<&Trailer>) -> Vec<(&'static str, String)> {
    let machine = [header.architecture.as_str(), &header.cpu_model, &header.kernel_release];
    let mut facts = vec![
        ("command", recorded_command(header)),
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

/// Notes of a recording that are shown.
const NOTES_MAX: usize = 20;

#[cfg(test)]
mod tests;
