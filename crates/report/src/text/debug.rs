//! Place at which a server waits for a debugger, in the terminal.

use std::path::Path;

use prony_replay::{NoCheckpoint, StopPlace, Stopped, Way};
use prony_text::{Untrusted, thousands};

use super::replay::divergence;
use crate::divergence::class_name;

/// What stands at the place: the call, and both sides where the build diverged. `wanted`: the place that was requested.
pub fn stopped(demo: &Path, wanted: StopPlace, at: &Stopped) -> String {
    let name = Untrusted::new(demo.file_name().unwrap_or(demo.as_os_str()));
    let server = format!("process {}, thread {}{}", at.pid, at.tid, way(at.way));
    let Some(found) = &at.divergence else {
        let fd = if at.fd >= 0 { format!(", descriptor {}", at.fd) } else { String::new() };
        let of = if at.process > 0 { format!(" of process {}", at.process) } else { String::new() };
        let (frame, record) = (thousands(at.frame), thousands(at.record));
        return format!(
            "{name}: stopped in frame {frame}, before the call of record {record}{of}: {}{fd}\n  {server}\n",
            Untrusted::new(&at.call)
        );
    };
    let before = match wanted {
        StopPlace::Divergence => String::new(),
        StopPlace::Frame(frame) => format!(" before frame {}", thousands(frame)),
        StopPlace::Record { record, .. } => format!(" before record {}", thousands(record)),
    };
    let mut out = format!("{name}: stopped where it diverged{before}: {}\n  {server}\n", class_name(found.class));
    divergence::describe(&mut out, found);
    out
}

/// How a server came to a place that another replay would lead to.
fn way(way: Way) -> String {
    let why = match way {
        Way::First => return String::new(),
        Way::Checkpoint(record) => return format!(", from a checkpoint at record {}", thousands(record)),
        Way::Again(why) => why,
    };
    let why = match why {
        NoCheckpoint::Nothing => "",
        NoCheckpoint::Threads => ": a server with several threads has no checkpoints",
        NoCheckpoint::Children => ": a server with children has no checkpoints",
        NoCheckpoint::SharedMemory => ": a server that shares memory has no checkpoints",
        NoCheckpoint::Files => ": a server that has a file open for reading and writing has no checkpoints",
        NoCheckpoint::Sandbox => ": a server in a sandbox has no checkpoints",
        NoCheckpoint::Refused => ": the system refused a checkpoint",
    };
    format!(", by another replay{why}")
}
