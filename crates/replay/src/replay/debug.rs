//! Debugging: a build runs on a demo up to a place, and a debugger is attached to it there.

use crate::channel::{self, Halted};
use crate::replay::{ReplayOptions, Replayer};
use crate::replay_error::ReplayError;
use crate::report::{Divergence, Progress, ReplayReport, Timing};
use crate::run::debugger::{Debugger, GdbOptions};
use crate::run::stop_place::{StopPlace, StopRecord};
use crate::verdict::diverged;
use prony_demo::dump::call_name;
use prony_demo::{Demo, DemoError};
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

/// Call of a server that waits for a debugger.
#[derive(Debug, Clone)]
pub struct Stopped {
    /// Index of the process in the recording, from 0.
    pub process: u16,
    /// Number of the thread within its process, from 0.
    pub thread: u16,
    /// Kernel's id of the process (PID).
    pub pid: i32,
    /// Kernel's id of the thread (TID).
    pub tid: i32,
    /// Frame of the process.
    pub frame: u64,
    /// Record of the process.
    pub record: u64,
    /// Name of the call.
    pub call: String,
    /// Descriptor of the call, or -1.
    pub fd: i32,
    /// The divergence that was found there, if the build diverged.
    pub divergence: Option<Divergence>,
    /// File of commands for the gdb that connects to a port, which is there until the debugger ends.
    pub script: Option<PathBuf>,
}

/// Result of a replay with a debugger.
#[derive(Debug)]
pub struct DebugReport {
    /// The place at which the debugger was attached; `None` if the replay ended without coming there.
    pub stopped: Option<Stopped>,
    /// Result of the replay. Where the debugger was left before the end of the demo, it covers what was replayed until then.
    pub replay: ReplayReport,
    /// The debugger was left before the end of the demo, and nothing had diverged until then.
    pub was_left: bool,
}

/// Replays a demo up to `place`, or to a divergence before it, and starts gdb there. Until then the build runs natively. Returns when
/// gdb has ended. `reached` is called before gdb is started, `progress` a few times a second.
///
/// # Errors
/// As [`crate::replay()`]; a place that the demo does not have; a debugger that does not attach.
pub fn debug(
    options: &ReplayOptions,
    place: StopPlace,
    gdb: &GdbOptions,
    reached: &mut dyn FnMut(&Stopped),
    progress: &mut dyn FnMut(Progress),
) -> Result<DebugReport, ReplayError> {
    let mut replayer = Replayer::open_at(options, Some(place))?;
    let planned = replayer.tape.stop;
    let (mut stopped, mut script) = (None, None);
    let mut start = |halted: &Halted, facts: Option<channel::Divergence>| {
        let mut found = stopped_at(options, planned, halted, facts)?;
        script = gdb.script(halted)?;
        found.script = script.as_ref().map(|script| script.path().to_path_buf());
        reached(&found);
        stopped = Some(found);
        gdb.start(halted)
    };
    let mut debugger = Debugger::new(&mut start);
    let mut replay = replayer.replay_with(progress, Some(&mut debugger))?;
    let was_left = debugger.was_left;
    drop(script);
    if stopped.is_some() {
        // They are those of the person, too.
        replay.timing = Timing::before_replay(replay.timing.recorded_s);
    }
    Ok(DebugReport { stopped, replay, was_left })
}

/// What stands at the place of the thread that waits.
fn stopped_at(
    options: &ReplayOptions,
    planned: Option<StopRecord>,
    halted: &Halted,
    facts: Option<channel::Divergence>,
) -> Result<Stopped, DemoError> {
    let divergence = match facts {
        Some(facts) => {
            let mut demo = Demo::open(BufReader::new(File::open(&options.demo).map_err(DemoError::Io)?))?;
            Some(diverged::from_player(&mut demo, facts)?)
        }
        None => None,
    };
    let frame = divergence.as_ref().map(|found| found.frame).or(planned.map(|stop| stop.frame));
    Ok(Stopped {
        process: halted.process as u16,
        thread: halted.thread as u16,
        pid: halted.pid,
        tid: halted.tid,
        frame: frame.unwrap_or_default(),
        record: halted.record,
        call: call_name(halted.op),
        fd: halted.fd,
        divergence,
        script: None,
    })
}
