//! A run: the threads of clients, and who watches them and the server.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use prony_machine::Tree;
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::failures::Failures;
use crate::generator::{Generator, GeneratorError, Part};
use crate::meter::Meter;
use crate::options::{Options, Sharing};
use crate::report::{Batch, GeneratorUse, Report, ServerUse, Wire};
use crate::run_state::RunState;
use crate::server::{Watch, drops};

/// Descriptors beside those of the clients: streams, epoll, files of `/proc`.
const DESCRIPTORS_BESIDE: u64 = 64;
/// Interval between two progress reports.
const LOOK: Duration = Duration::from_millis(100);

/// Reasons why there is no report.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// More sockets than a process may have.
    #[error("{clients} clients with one socket each need {needed} descriptors, but this process may have {limit}")]
    Descriptors {
        /// Number of clients requested.
        clients: usize,
        /// For them and what else is open.
        needed: u64,
        /// Hard limit of open descriptors (`RLIMIT_NOFILE`).
        limit: u64,
    },
    /// The server's process is not there, or has no readable CPU time.
    #[error("there is no process {pid} with readable CPU time")]
    NoServer {
        /// PID of the server's process.
        pid: u32,
    },
    /// Not one client got a connection.
    #[error("none of the clients connected")]
    NoConnection {
        /// Number of failures by reason.
        failures: Failures,
    },
    /// A thread could not go on.
    #[error(transparent)]
    Generator(#[from] GeneratorError),
}

/// Progress of a load, for a progress line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Clients that are connected so far.
    pub connected: u64,
    /// Clients that got no connection.
    pub failed: u64,
    /// Seconds that are measured so far; `None` while clients connect.
    pub measured_s: Option<f64>,
}

/// Makes the load and reports what came of it.
///
/// Ten times a second, `is_ended` is called for whether to end the run, and `progress` with how far it is.
///
/// # Errors
/// [`LoadError`]: there are not enough descriptors, no such process, not one connection, or a socket fails.
pub fn load(
    options: &Options,
    is_ended: impl Fn() -> bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report, LoadError> {
    let options = Options { threads: options.threads.clamp(1, options.clients.max(1)), ..options.clone() };
    raise_descriptors(&options)?;
    let tree = Tree::machine();
    let mut watch = options.server_pid.map(|pid| Watch::new(Tree::machine(), pid));
    if let (Some(watch), Some(pid)) = (&mut watch, options.server_pid)
        && !watch.begin()
    {
        return Err(LoadError::NoServer { pid });
    }
    // The kernel walks over all sockets for it, which takes a tenth of a second when ours are there: so before they are,
    // and when they are gone.
    let is_local = options.target.ip().is_loopback() || options.server_pid.is_some();
    let dropped = || if is_local { drops(&tree, options.target.port()) } else { None };
    let dropped_before = dropped();
    let state = RunState::new(&options);
    let generators: Vec<Generator> =
        (0..options.threads).map(|part| Generator::new(&options, &state, part)).collect::<Result<_, _>>()?;
    let mut seen = Seen { watch, server: ServerUse::default(), window: 0, looked_ns: 0 };
    let mut is_interrupted = false;
    let parts = thread::scope(|scope| {
        let (done, parts_done) = channel();
        for generator in generators {
            let (done, state) = (done.clone(), &state);
            scope.spawn(move || {
                let part = generator.run();
                if part.is_err() {
                    state.stop();
                }
                // Who waits for it is still there: the scope does not end before.
                let _ = done.send(part);
            });
        }
        drop(done);
        let mut parts: Vec<Part> = Vec::new();
        loop {
            match parts_done.recv_timeout(seen.time_left(&state)) {
                Ok(part) => parts.push(part?),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok::<_, GeneratorError>(parts),
            }
            seen.look(&state);
            if !is_interrupted && is_ended() {
                is_interrupted = true;
                state.stop();
            }
            let (connected, failed) = state.settled_clients();
            let since = |start_ns: u64| state.now_ns().saturating_sub(start_ns) as f64 / 1e9;
            let measured_s = state.span().map(|span| since(span.start_ns).min(options.duration.as_secs_f64()));
            progress(Progress { connected, failed, measured_s });
        }
    })?;
    let server_drops = dropped_before.zip(dropped()).map(|(before, now)| now.saturating_sub(before));
    let report = Report { server_drops, ..report(options, &state, parts, seen, is_interrupted) };
    if report.connected() == 0 && !is_interrupted {
        return Err(LoadError::NoConnection { failures: report.failures() });
    }
    Ok(report)
}

/// Has the kernel allow as many descriptors as the clients need.
pub(crate) fn raise_descriptors(options: &Options) -> Result<(), LoadError> {
    let needed = match options.connections.sharing {
        Sharing::Own => options.clients as u64 + DESCRIPTORS_BESIDE,
        Sharing::Shared => DESCRIPTORS_BESIDE,
    };
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let most = limit.maximum.unwrap_or(u64::MAX);
    limit.current = Some(needed.min(most));
    if most < needed || setrlimit(Resource::Nofile, limit).is_err() {
        return Err(LoadError::Descriptors { clients: options.clients, needed, limit: most });
    }
    Ok(())
}

/// Observations of the server, window by window.
struct Seen {
    watch: Option<Watch>,
    server: ServerUse,
    /// Edges of windows that are over: the first is the beginning.
    window: usize,
    looked_ns: u64,
}

impl Seen {
    /// Time to the next look.
    fn time_left(&self, state: &RunState) -> Duration {
        let Some(span) = state.span().filter(|span| self.window <= span.windows()) else { return LOOK };
        let edge_ns = span.window_start_ns(self.window);
        LOOK.min(Duration::from_nanos(edge_ns.saturating_sub(state.now_ns())))
    }

    /// Takes the counts when a window begins.
    fn look(&mut self, state: &RunState) {
        let Some(span) = state.span().filter(|span| self.window <= span.windows()) else { return };
        let now_ns = state.now_ns();
        if now_ns < span.window_start_ns(self.window) {
            return;
        }
        let is_first = self.window == 0;
        if let Some(watch) = &mut self.watch {
            match watch.look() {
                Some((usage, ended)) if !is_first => {
                    self.server.windows.push((now_ns - self.looked_ns, usage));
                    self.server.threads_ended += ended;
                }
                Some(_) => {}
                None => self.server.is_gone = true,
            }
        }
        (self.looked_ns, self.window) = (now_ns, self.window + 1);
    }
}

fn report(options: Options, state: &RunState, parts: Vec<Part>, seen: Seen, is_interrupted: bool) -> Report {
    let mut batches: Vec<Batch> = (0..options.batches())
        .map(|batch| Batch { clients: options.batch_clients(batch), ..Batch::default() })
        .collect();
    let mut meter = Meter::new(0, options.deadline.as_nanos() as u64);
    let (mut lost, mut wire, mut threads, mut remaining) = (Failures::default(), Wire::default(), Vec::new(), 0);
    for part in parts {
        for settled in &part.settled {
            let batch = &mut batches[settled.batch];
            match settled.outcome {
                Ok(()) => batch.times_ns.push(settled.ended_ns - settled.began_ns),
                Err(reason) => batch.failures.add(reason),
            }
        }
        meter.merge(&part.meter);
        lost.merge(&part.lost);
        wire = wire.plus(part.wire);
        threads.extend(part.usage);
        remaining += part.remaining;
    }
    for batch in &mut batches {
        batch.times_ns.sort_unstable();
    }
    let server = seen.watch.is_some().then_some(seen.server);
    Report {
        batches,
        lost,
        span: state.span(),
        meter,
        wire,
        server,
        server_drops: None,
        remaining,
        generator: GeneratorUse { threads },
        is_interrupted,
        options,
    }
}
