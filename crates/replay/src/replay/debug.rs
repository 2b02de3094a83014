//! Debugging: a build runs on a demo up to a place, and a debugger is attached to it there.

use crate::channel::OutputByte;
use crate::replay::{ReplayOptions, Replayer};
use crate::replay_error::ReplayError;
use crate::report::{Divergence, Progress, ReplayReport, Timing};
use crate::run::debugger::{Debugger, GdbOptions, Place, Session, Way};
use crate::run::stop_place::{StopPlace, StopPlan, StopRecord};
use crate::verdict::diverged;
use prony_channel::NoCheckpoint;
use prony_demo::dump::call_name;
use prony_demo::{Demo, DemoError};
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

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
    /// How the server came there.
    pub way: Way,
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
    /// A debugger was attached, in this replay or in one before it.
    pub was_debugged: bool,
    /// Result of the replay. Where the debugger was left before the end of the demo, it covers what was replayed until then.
    pub replay: ReplayReport,
    /// The debugger was left before the end of the demo, and nothing had diverged until then.
    pub was_left: bool,
}

/// Replays a demo up to `place`, or to a divergence before it, and starts gdb there; again to each place that gdb requests. Until then
/// the build runs natively. Returns when gdb has ended, with the last replay. `reached` is called before gdb is attached, `progress` a
/// few times a second.
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
    Ok(debug_all(options, place, None, gdb, reached, progress)?.report)
}

/// The same, with what gdb found. `output`: byte of the output of the place's record whose address gdb is to get.
pub(super) fn debug_all(
    options: &ReplayOptions,
    place: StopPlace,
    output: Option<OutputByte>,
    gdb: &GdbOptions,
    reached: &mut dyn FnMut(&Stopped),
    progress: &mut dyn FnMut(Progress),
) -> Result<Ended, ReplayError> {
    let (mut next, mut session, mut was_debugged) = ((StopPlan::at(place), Way::First), None::<Session>, false);
    let mut message = None;
    loop {
        let found = replay_to(options, (next, output), gdb, session.take(), reached, progress);
        let mut ended = match found.map_err(|failed| *failed) {
            Ok(ended) => ended,
            Err((error, Some(mut waiting))) => {
                waiting.refuse(&error.to_string())?;
                match waiting.next_replay()? {
                    Some(plan) => (next, session) = ((plan, AGAIN), Some(waiting)),
                    None => return Err(error),
                }
                continue;
            }
            Err((error, None)) => return Err(error),
        };
        was_debugged |= ended.report.stopped.is_some();
        ended.report.was_debugged = was_debugged;
        message = message.or(ended.message);
        ended.message = message;
        // It waits for an answer where the replay did not come to the place.
        if let (Some(waiting), false) = (&mut ended.session, ended.was_attached) {
            waiting.refuse("the replay ended without coming there")?;
            ended.next = waiting.next_replay()?.map(|plan| (plan, AGAIN));
        }
        match ended.next {
            Some(plan) => (next, session) = (plan, ended.session),
            None => return Ok(ended),
        }
    }
}

/// Nothing is known that keeps the server from having checkpoints.
const AGAIN: Way = Way::Again(NoCheckpoint::Nothing);

/// A replay up to a place, and the debugger that goes on.
pub(super) struct Ended {
    pub(super) report: DebugReport,
    pub(super) session: Option<Session>,
    /// Message of the first output that differed where a debugger was attached.
    pub(super) message: Option<u32>,
    next: Option<(StopPlan, Way)>,
    was_attached: bool,
}

fn replay_to(
    options: &ReplayOptions,
    ((plan, way), output): ((StopPlan, Way), Option<OutputByte>),
    gdb: &GdbOptions,
    session: Option<Session>,
    reached: &mut dyn FnMut(&Stopped),
    progress: &mut dyn FnMut(Progress),
) -> Result<Ended, Box<(ReplayError, Option<Session>)>> {
    if let (Some(stop), Some(_)) = (&options.stop, &session) {
        // Ctrl-C is for gdb while that runs, and reaches both.
        stop.store(false, Ordering::Relaxed);
    }
    let mut replayer = match Replayer::open_at(options, Some(plan)) {
        Ok(replayer) => replayer,
        Err(error) => return Err(Box::new((error, session))),
    };
    let planned = replayer.tape.stops.attached();
    let (mut stopped, mut script) = (None, None);
    let mut at_place = |place: &Place, session: Option<Session>| {
        let mut found = stopped_at(options, planned, place)?;
        script = gdb.script(&place.halted)?;
        found.script = script.as_ref().map(|script| script.path().to_path_buf());
        // One that gdb follows on its way to a place is its own affair.
        if place.plan.stretch.is_none() {
            reached(&found);
        }
        let (frame, diverged) = (found.frame, found.divergence.is_some());
        stopped = Some(found);
        match session {
            Some(mut session) => session.reached(&place.halted, frame, diverged).map(|()| session),
            None => gdb.start(&place.halted, frame, diverged),
        }
    };
    let tape = Arc::clone(&replayer.tape);
    let frames = if gdb.goes_back() { tape.frame_starts.as_slice() } else { &[] };
    let mut debugger = Debugger::new(&mut at_place, (plan, way), session, frames, options.watchdog);
    debugger.output = output;
    let replayed = replayer.replay_with(progress, Some(&mut debugger));
    let Debugger { session, next, way, message, was_attached, was_left, .. } = debugger;
    let next = next.map(|plan| (plan, way));
    drop(script);
    let mut replay = match replayed {
        Ok(replay) => replay,
        Err(error) => return Err(Box::new((error, session))),
    };
    if stopped.is_some() {
        // They are those of the person, too.
        replay.timing = Timing::before_replay(replay.timing.recorded_s);
    }
    let report = DebugReport { stopped, was_debugged: false, replay, was_left };
    Ok(Ended { report, session, message, next, was_attached })
}

/// What stands at the place of the thread that waits.
fn stopped_at(
    options: &ReplayOptions,
    planned: Option<StopRecord>,
    Place { halted, divergence, frame, way, .. }: &Place,
) -> Result<Stopped, DemoError> {
    let divergence = match divergence.clone() {
        Some(facts) => {
            let mut demo = Demo::open(BufReader::new(File::open(&options.demo).map_err(DemoError::Io)?))?;
            Some(diverged::from_player(&mut demo, facts)?)
        }
        None => None,
    };
    let frame = divergence.as_ref().map(|found| found.frame).or(*frame).or(planned.map(|stop| stop.frame));
    Ok(Stopped {
        process: halted.process as u16,
        thread: halted.thread as u16,
        pid: halted.pid,
        tid: halted.tid,
        frame: frame.unwrap_or_default(),
        record: halted.record,
        call: call_name(halted.op),
        fd: halted.fd,
        way: *way,
        divergence,
        script: None,
    })
}
