//! A debugger on a replay: attached once a thread waits for it, and waited for until it ends.

mod back;
mod gdb;
mod lldb;
mod session;

pub use back::Way;
pub use gdb::GdbOptions;
pub(crate) use session::Session;

use crate::channel::{Channel, Divergence, Halted, OutputByte};
use crate::run::debugger::session::Request;
use crate::run::stop_place::StopPlan;
use crate::server::launch::Launched;
use prony_channel::NoCheckpoint;
use std::fmt;
use std::fs;
use std::io;
use std::time::Duration;

/// Has a debugger attach to the thread that waits: the one that has requested the place, or a new one.
pub(crate) type AtPlace<'a> = dyn FnMut(&Place, Option<Session>) -> Result<Session, DebuggerError> + 'a;

/// Place at which a thread waits for a debugger.
pub(crate) struct Place {
    pub(crate) halted: Halted,
    /// What the build found there, where it diverged.
    pub(crate) divergence: Option<Divergence>,
    pub(crate) plan: StopPlan,
    /// Frame of the process that is going on, if that is process 0.
    pub(crate) frame: Option<u64>,
    pub(crate) way: Way,
}

/// Debugger that a replay is stopped for.
pub(crate) struct Debugger<'a> {
    at_place: &'a mut AtPlace<'a>,
    /// What the replay was begun for.
    pub(crate) plan: StopPlan,
    /// How it came to be begun.
    pub(crate) way: Way,
    /// First record of each frame of process 0; none where the debugger cannot go back.
    frames: &'a [u64],
    /// Time without progress after which another replay is begun instead of one from a checkpoint.
    patience: Duration,
    /// The debugger, while it runs.
    pub(crate) session: Option<Session>,
    /// The place to which it has the build replayed again.
    pub(crate) next: Option<StopPlan>,
    /// Byte of output of the record at which it is attached, whose address is wanted.
    pub(crate) output: Option<OutputByte>,
    /// Message of the output that differs, where the build diverged and the debugger is attached.
    pub(crate) message: Option<u32>,
    /// True once it was attached.
    pub(crate) was_attached: bool,
    /// True if the build had not ended on its own when the debugger did.
    pub(crate) was_left: bool,
}

/// Error of a debugger.
#[derive(Debug, thiserror::Error)]
pub enum DebuggerError {
    /// It cannot be started.
    #[error("cannot start `{program}`: {error}")]
    Start {
        /// Name of the program.
        program: String,
        /// Error that the system returned.
        error: io::Error,
    },
    /// What it runs first cannot be written.
    #[error("cannot write a script for the debugger: {0}")]
    Script(io::Error),
    /// What is requested takes gdb.
    #[error("expected gdb, found `{0}`, which cannot replay again")]
    NotGdb(String),
    /// It did not say what is so at the place.
    #[error("the debugger says nothing of the place: {0}")]
    NoFacts(String),
    /// It ended before it had stopped the server.
    #[error("the debugger ended ({status}) without attaching to process {pid}{}", restriction(*.ptrace_scope))]
    NotAttached {
        /// Kernel's id of the process (PID).
        pid: i32,
        /// Exit status of the debugger.
        status: std::process::ExitStatus,
        /// Value of `/proc/sys/kernel/yama/ptrace_scope`, if the kernel has that.
        ptrace_scope: Option<u8>,
    },
    /// The demo could not be read for what stands at the place.
    #[error(transparent)]
    Demo(#[from] prony_demo::DemoError),
    /// The debugger could not be waited for.
    #[error("cannot wait for the debugger: {0}")]
    Wait(io::Error),
}

fn restriction(scope: Option<u8>) -> String {
    scope.filter(|&scope| scope > 1).map(|scope| format!("; kernel.yama.ptrace_scope is {scope}")).unwrap_or_default()
}

/// Interval at which the thread is examined that a debugger is about to stop.
const LOOK: Duration = Duration::from_millis(2);

impl<'a> Debugger<'a> {
    /// `frames`: first record of each frame of process 0, none for a debugger that cannot go back; `patience`: time without progress after
    /// which a server that goes on from a checkpoint is given up.
    pub(crate) fn new(
        at_place: &'a mut AtPlace<'a>,
        (plan, way): (StopPlan, Way),
        session: Option<Session>,
        frames: &'a [u64],
        patience: Duration,
    ) -> Debugger<'a> {
        Debugger {
            at_place,
            plan,
            way,
            frames,
            patience,
            session,
            next: None,
            output: None,
            message: None,
            was_attached: false,
            was_left: false,
        }
    }

    /// True if it can go back: then the server is copied on its way.
    pub(crate) fn goes_back(&self) -> bool {
        !self.frames.is_empty()
    }

    /// Has a debugger attach to the thread that waits, and returns when it has ended, or wants the build replayed again. Where a checkpoint
    /// leads to the place that it wants, the server goes on from that.
    pub(crate) fn attach(
        &mut self,
        channel: &Channel,
        server: &mut Launched,
        halted: &Halted,
    ) -> Result<(), DebuggerError> {
        self.stop_at(channel, halted, self.plan, self.way)?;
        self.message = channel.output_place().map(|(_, message)| message);
        let mut divergence = channel.divergence().map(|found| found.record);
        while let Some(session) = &mut self.session {
            match session.request()? {
                Request::Replay(plan) => {
                    divergence = divergence.or(channel.divergence().map(|found| found.record));
                    let stops = back::stops(plan, self.frames, divergence);
                    let at = stops.map(|stops| back::go_on(channel, server, stops, divergence, self.patience));
                    match at.transpose().map_err(DebuggerError::Wait)?.flatten() {
                        Some((halted, record)) => self.stop_at(channel, &halted, plan, Way::Checkpoint(record))?,
                        None => {
                            (self.next, self.way) = (Some(plan), Way::Again(self.no_checkpoint(channel)));
                            break;
                        }
                    }
                }
                Request::Where(tid) => {
                    let record = channel.threads().iter().find(|thread| thread.tid == tid).map(|thread| thread.record);
                    session.place(record, channel.output_place().map(|(address, _)| address))?;
                }
                Request::End => break,
            }
        }
        Ok(())
    }

    fn no_checkpoint(&self, channel: &Channel) -> NoCheckpoint {
        if self.goes_back() { channel.no_checkpoint() } else { NoCheckpoint::Nothing }
    }

    /// Has the debugger stop the thread that waits.
    fn stop_at(&mut self, channel: &Channel, halted: &Halted, plan: StopPlan, way: Way) -> Result<(), DebuggerError> {
        let begun = self.frames.partition_point(|&first| first <= halted.record) as u64;
        let frame = begun.checked_sub(1).filter(|_| halted.process == 0);
        let place = Place { halted: *halted, divergence: channel.divergence(), plan, frame, way };
        let mut session = (self.at_place)(&place, self.session.take())?;
        while !is_stopped(halted) {
            if let Some(status) = session.ended()? {
                return Err(DebuggerError::NotAttached { pid: halted.pid, status, ptrace_scope: ptrace_scope() });
            }
            std::thread::sleep(LOOK);
        }
        self.was_attached = true;
        self.session = Some(session);
        channel.release();
        Ok(())
    }
}

impl fmt::Debug for Debugger<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Debugger").field("was_attached", &self.was_attached).finish_non_exhaustive()
    }
}

/// True once a debugger has stopped the thread, so that it runs no instruction before the debugger lets it.
fn is_stopped(halted: &Halted) -> bool {
    let status = fs::read_to_string(format!("/proc/{}/task/{}/status", halted.pid, halted.tid)).unwrap_or_default();
    let of = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    // `t`: stopped by a tracer (proc(5)).
    of("TracerPid:").is_some_and(|pid| pid != "0") && of("State:").is_some_and(|state| state.starts_with('t'))
}

fn ptrace_scope() -> Option<u8> {
    fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok()?.trim().parse().ok()
}
