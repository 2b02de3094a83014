//! Place at which a server waits for a debugger, in the terminal.

use std::path::Path;

use prony_replay::{StopPlace, Stopped};
use prony_text::{Untrusted, thousands};

use super::replay::divergence;
use crate::divergence::class_name;

/// What stands at the place: the call, and both sides where the build diverged. `wanted`: the place that was requested.
pub fn stopped(demo: &Path, wanted: StopPlace, at: &Stopped) -> String {
    let name = Untrusted::new(demo.file_name().unwrap_or(demo.as_os_str()));
    let server = format!("process {}, thread {}", at.pid, at.tid);
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
