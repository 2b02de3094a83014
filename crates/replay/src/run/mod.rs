//! Single replay: a build on a tape, until it ends, diverges or starves.

pub(crate) mod debugger;
mod directory;
mod order;
pub(crate) mod sockets;
pub(crate) mod stop_place;
pub(crate) mod tape;
mod windows;

pub(crate) mod decoder;
pub(crate) mod printed;
mod syscalls;

use crate::channel::merge::Merger;
use crate::channel::{
    CallCount, Channel, ClockShift, Counted, Divergence, DrainError, EventCounts, FailedCall, Fault, RealResult, Scans,
    Tapes, ThreadState,
};
use crate::files::mount::Mount;
use crate::report::Doing;
use crate::run::debugger::{Debugger, DebuggerError};
use crate::run::tape::{Source, Tape, TapeError};
use crate::run::windows::{FeedError, Feeding};
use crate::server::goes_on::exit_of;
use crate::server::inheritance::Inheritance;
use crate::server::launch::{Input, Launch, Launched};
use crate::server::library::Libraries;
use crate::server::objects;
use crate::server::program::{self, Program};
use crate::server::search;
use crate::server::tool::{Collects, Tool, ToolOptions};
use prony_channel::{ADDED_OUTPUT, FrameTime, MOST_FRAME_TIMES, UNSENT_OUTPUT};
use prony_demo::Exit;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Inputs of a replay that are the same for every repetition.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) build: &'a Build,
    pub(crate) excluded: &'a [&'a [u8]],
    /// File names of the objects in which the recording did not follow what they read from the processor.
    pub(crate) unsearched: &'a [Vec<u8>],
    pub(crate) libraries: &'a Libraries,
    pub(crate) output: Option<&'a File>,
    pub(crate) tolerant: bool,
    pub(crate) watchdog: Duration,
    /// True if the build keeps what explains a divergence.
    pub(crate) explained: bool,
    pub(crate) under: &'a ToolOptions,
    pub(crate) clock: ClockShift,
    pub(crate) demo_inode: u64,
    /// Flag that is set when a signal requests a stop.
    pub(crate) stop: Option<&'a AtomicBool>,
}

/// A build and what it is started with.
#[derive(Debug)]
pub(crate) struct Build {
    /// The command as it was given or recorded, of which `program` is the first word.
    pub(crate) command: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) cwd: PathBuf,
    pub(crate) inheritance: Inheritance,
    pub(crate) program: Program,
    /// The tool that starts it, if one does.
    pub(crate) tool: Option<Tool>,
}

/// Reason why a replay was not completed.
#[derive(Debug)]
pub(crate) enum RunError {
    System(io::Error),
    /// The build wrote nonsense to the shared memory.
    Channel(Fault),
    /// The demo could not be unpacked any further.
    Tape(TapeError),
    /// The debugger does not do what a debugger does.
    Debugger(DebuggerError),
    Interrupted,
}

/// What is called while a replay runs.
pub(crate) struct Callbacks<'a, 'd> {
    /// Called a few times a second with the number of records so far.
    pub(crate) progress: &'a mut dyn FnMut(u64),
    /// Attached to the thread that comes to the stop of the tape, or diverges before.
    pub(crate) debugger: Option<&'a mut Debugger<'d>>,
}

impl From<io::Error> for RunError {
    fn from(error: io::Error) -> RunError {
        RunError::System(error)
    }
}

impl From<Fault> for RunError {
    fn from(fault: Fault) -> RunError {
        RunError::Channel(fault)
    }
}

impl From<FeedError> for RunError {
    fn from(error: FeedError) -> RunError {
        match error {
            FeedError::Tape(error) => RunError::Tape(error),
            FeedError::Channel(fault) => RunError::Channel(fault),
            FeedError::System(error) => RunError::System(error),
        }
    }
}

impl From<DrainError> for RunError {
    fn from(error: DrainError) -> RunError {
        match error {
            DrainError::System(error) => RunError::System(error),
            DrainError::Fault(fault) => RunError::Channel(fault),
        }
    }
}

/// An output that differs from the recorded one in a tolerant run.
#[derive(Debug)]
pub(crate) struct Observed {
    pub(crate) process: u16,
    pub(crate) record: u64,
    /// Number of the message within one call.
    pub(crate) message: u32,
    pub(crate) bytes: Vec<u8>,
    pub(crate) kind: ObservedKind,
    pub(crate) thread: u16,
    pub(crate) op: u16,
    pub(crate) fd: i32,
    /// Address of an added output; `None` where the socket is connected, or the record has it.
    pub(crate) destination: Option<Vec<u8>>,
}

/// How an observed output stands to the recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObservedKind {
    /// Other bytes than the record has.
    Differs,
    /// No record has it; its number is that of the record that its thread stood before.
    Added,
    /// The record has it, and the build did not make it.
    NotSent,
}

/// Result of one replay, before it is interpreted.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) counted: Counted,
    pub(crate) frames: u64,
    pub(crate) times: Times,
    pub(crate) ending: Ending,
    /// Threads that had not ended when the build did.
    pub(crate) threads: Vec<ThreadState>,
    /// Exit status of what was started: the build, or the tool.
    pub(crate) exit: Exit,
    /// A tool ended before its server had.
    pub(crate) ended_by_tool: bool,
    /// The library came up in the build.
    pub(crate) attached: bool,
    /// The thread that was passed last in its turn: process, thread, record.
    pub(crate) passed: (u32, u32, u64),
    /// Calls made for real that failed, and how many there were.
    pub(crate) failures: (Vec<FailedCall>, u32),
    /// What the last calls returned that were made for real, where that is kept.
    pub(crate) returned: Vec<RealResult>,
    /// Calls of each hooked function, where they are counted.
    pub(crate) calls: Vec<CallCount>,
    /// Events, where they were counted.
    pub(crate) events: Option<EventCounts>,
    pub(crate) observed: Vec<Observed>,
}

/// Times of a replay and of its frames.
#[derive(Debug)]
pub(crate) struct Times {
    pub(crate) wall_s: f64,
    pub(crate) cpu_s: f64,
    /// Times of the frames, of `frames_in_each` together.
    pub(crate) frames: Vec<FrameTime>,
    pub(crate) frames_in_each: u64,
}

/// What ended a replay before the demo was at its end; nothing of it where the build followed it all the way.
#[derive(Debug)]
pub(crate) struct Ending {
    pub(crate) divergence: Option<Divergence>,
    pub(crate) starved: Option<Starved>,
    /// A signal ended the build.
    pub(crate) signal: Option<i32>,
    /// The build ended without having followed the demo to its end.
    pub(crate) ended_early: Option<ExitStatus>,
}

/// A replay that got nowhere.
#[derive(Debug)]
pub(crate) struct Starved {
    /// Threads with records left, and what they do.
    pub(crate) threads: Vec<(ThreadState, Doing)>,
    /// Activity of the process that was started.
    pub(crate) process: Doing,
    /// It makes calls all the time, of which the recording has none at this place.
    pub(crate) spins: bool,
}

/// Interval at which the progress of the replay is checked.
const LOOK: Duration = Duration::from_millis(50);
/// A build that computes for longer than this many watchdog times in one call is given up too.
const BUSY_FACTOR: u32 = 12;
/// A build that makes this many calls within one watchdog time of which the recording has none waits for something that does not come:
/// mostly for its clock, which goes on with the records only.
const MOST_ADDED_CALLS: u64 = 100_000;

/// Time that a tool gets to report, after the build has ended.
const TOOL_REPORTS: Duration = Duration::from_secs(60);

/// True if every process has followed the demo to its end.
fn is_complete(tape: &Tape, channel: &Channel) -> bool {
    tape.processes.iter().all(|&process| channel.ended(usize::from(process)))
}

/// Why a build is not watched any longer.
struct Watched {
    /// End of its first process, if it has ended.
    status: Option<ExitStatus>,
    starved: Option<Starved>,
    broken: Option<RunError>,
}

/// Waits for the end of a build: its own, that of its replay, or that of our patience.
fn watch(
    setup: &Setup,
    tape: &Tape,
    channel: &mut Channel,
    server: &mut Launched,
    feeding: Option<&Feeding>,
    observed: &mut Observations,
    callbacks: &mut Callbacks<'_, '_>,
) -> Result<Watched, RunError> {
    let interval = if setup.tolerant { Duration::from_millis(1) } else { LOOK };
    let start = Instant::now();
    let (mut progressed_at, mut shown_at) = (start, start);
    let mut last = 0;
    let (mut window, mut over_at) = (None, None);
    loop {
        let status = server.wait_for(interval)?;
        if let Some((debugger, halted)) = callbacks.debugger.as_deref_mut().zip(channel.halted()) {
            // Whatever it takes a person: no watchdog, and signals of the terminal are the debugger's.
            let broken = debugger.attach(channel, server, &halted).err().map(RunError::Debugger);
            return Ok(Watched { status: server.wait_for(Duration::ZERO)?, starved: None, broken });
        }
        let mut broken = None;
        if setup.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            broken = Some(RunError::Interrupted);
        } else if setup.tolerant {
            broken = observed.gather(channel).err();
        }
        if let Some(unfed) = feeding.and_then(Feeding::failed) {
            broken = Some(unfed.into());
        }
        if broken.is_some() {
            return Ok(Watched { status, starved: None, broken });
        }
        if status.is_some() && callbacks.debugger.is_some() {
            channel.drop_checkpoints();
        }
        if status.is_some() && (channel.divergence().is_some() || !server.reap_orphans(&channel.processes())) {
            return Ok(Watched { status, starved: None, broken: None });
        }
        let now = Instant::now();
        let records = channel.progress().wrapping_add(feeding.map_or(0, Feeding::progress));
        if now.duration_since(shown_at) > Duration::from_millis(200) {
            shown_at = now;
            (callbacks.progress)(channel.counted().records);
        }
        let has_tool = setup.build.tool.is_some();
        // A thread that has diverged is about to wait for the debugger.
        let has_diverged = channel.divergence().is_some() && callbacks.debugger.is_none();
        let is_over = has_diverged || has_tool && is_complete(tape, channel);
        if is_over {
            // A tool reports on the build once that has ended.
            let over_at = *over_at.get_or_insert(now);
            if !has_tool || now.duration_since(over_at) > TOOL_REPORTS {
                server.kill_group();
            }
            continue;
        }
        if records != last {
            (last, progressed_at) = (records, now);
            window = None;
            continue;
        }
        let (since, busy_before, added_before) = *window.get_or_insert_with(|| (now, busy_s(channel), added(channel)));
        if now.duration_since(since) > setup.watchdog {
            // Long work is no starvation: as long as the build uses the CPU for its own it gets more time.
            let busy_now = busy_s(channel);
            let is_busy = busy_now - busy_before > setup.watchdog.as_secs_f64() / 2.0;
            let added_now = added(channel);
            let spins = added_now.wrapping_sub(added_before) > MOST_ADDED_CALLS;
            if !is_busy || spins || now.duration_since(progressed_at) > setup.watchdog * BUSY_FACTOR {
                let starved = Some(Starved { spins, ..look_at(channel, server.pid()) });
                return Ok(Watched { status, starved, broken: None });
            }
            window = Some((now, busy_now, added_now));
        }
    }
}

/// What the library is to do for the tool, or to count without one.
fn prepare_for_tool(channel: &Channel, under: &ToolOptions) {
    channel.collect(under.collects != Collects::All, under.collects == Collects::Frames);
    if let Collects::Event(event) = under.collects {
        channel.count(event.kind, event.config);
    }
    if let Some(directory) = &under.writes_to {
        channel.hand_over(directory);
    }
}

/// These mounts, and the directory that a tool writes to, if it lies below one that is merged: what is written there would be lost.
fn with_directory_of_tool(mounts: &[Mount], under: &ToolOptions) -> io::Result<Vec<Mount>> {
    let mut mounts = mounts.to_vec();
    if let Some(directory) = &under.writes_to {
        let directory = directory.canonicalize()?;
        let is_hidden = |mount: &Mount| matches!(mount, Mount::Merge { place, .. } if directory.starts_with(place));
        if mounts.iter().any(is_hidden) {
            mounts.push(Mount::Bind { what: directory.clone(), place: directory });
        }
    }
    Ok(mounts)
}

/// Runs the build once against the tape.
pub(crate) fn run_once(
    setup: &Setup,
    tape: &Tape,
    mounts: &[Mount],
    callbacks: &mut Callbacks<'_, '_>,
) -> Result<Outcome, RunError> {
    let tapes = match &tape.source {
        Source::Whole(file) => Tapes::Whole(file),
        Source::Windows(plan) => Tapes::Windows { longest: plan.longest },
    };
    let frames_in_each = tape.frames.div_ceil(MOST_FRAME_TIMES).max(1);
    let mut channel =
        Channel::to_replay(setup.excluded, tapes, tape.frames + 1, frames_in_each, setup.tolerant, tape.past_libc)?;
    prepare_for_tool(&channel, setup.under);
    if setup.explained {
        channel.explain();
    }
    channel.shift_file_times(setup.clock);
    channel.hide(setup.demo_inode);
    let tool = setup.build.tool.as_ref();
    if let Some(debugger) = &callbacks.debugger {
        channel.want_halt();
        if debugger.goes_back() && tool.is_none() {
            channel.want_checkpoints(tape.stops.of(0));
        }
        if let Some(output) = debugger.output {
            channel.want_output(output);
        }
    }
    if let Some(tool) = tool {
        channel.wait_for(&tool.started);
    }
    let launch = Launch {
        argv: tool.map_or(&setup.build.command, |tool| &tool.command),
        executable: tool.map_or(&setup.build.program.path, |tool| &tool.executable),
        by_tool: tool.is_some(),
        architecture: setup.build.program.architecture,
        environment: &setup.build.environment,
        cwd: &setup.build.cwd,
        mounts: &with_directory_of_tool(mounts, setup.under)?,
        output: setup.output,
        input: Input::Nothing,
        dies_with_us: true,
        // The numbers of the recording are to be free.
        inherits: false,
        inheritance: &setup.build.inheritance,
    };
    let start = Instant::now();
    let _searcher = tape.past_libc.processor.then(|| Searcher::start(channel.scans(), setup));
    let feeding = match &tape.source {
        Source::Whole(_) => None,
        Source::Windows(plan) => Some(Feeding::start(&channel, plan)?),
    };
    let mut server = launch.start(&channel, setup.libraries)?;
    let limit = most_observed(tape);
    let mut observed = Observations { merger: Merger::default(), all: Vec::new(), bytes: 0, limit };
    let Watched { status, starved, mut broken } =
        watch(setup, tape, &mut channel, &mut server, feeding.as_ref(), &mut observed, callbacks)?;
    let wall_s = start.elapsed().as_secs_f64();
    if setup.tolerant && broken.is_none() {
        broken = observed.gather(&mut channel).err();
    }
    let complete = is_complete(tape, &channel);
    let ran_on = status.is_none();
    let status = end_all(&mut server, &channel, status)?;
    if let Some(broken) = broken {
        return Err(broken);
    }
    let divergence = channel.divergence();
    let undisturbed = divergence.is_none() && starved.is_none();
    // The status of a tool says nothing of a build that got to the end, or that the tool ended.
    let by_tool = undisturbed && tool.is_some() && !complete && status.signal().is_none() && !channel.ended(0);
    let undisturbed = undisturbed && !by_tool && !(tool.is_some() && complete);
    // The debugger was left, or ended the server.
    let mut left = false;
    if let Some(debugger) = callbacks.debugger.as_deref_mut().filter(|debugger| debugger.was_attached) {
        left = undisturbed && !complete && (ran_on || status.signal() == Some(libc_sigkill()));
        debugger.was_left = left;
    }
    let undisturbed = undisturbed && !left;
    let times = Times { wall_s, cpu_s: server.cpu_s(), frames: channel.frame_times()?, frames_in_each };
    Ok(Outcome {
        exit: exit_of(status),
        ended_by_tool: by_tool,
        counted: channel.counted(),
        frames: channel.frames(),
        ending: Ending {
            signal: status.signal().filter(|_| undisturbed),
            ended_early: (undisturbed && !complete && status.signal().is_none()).then_some(status),
            divergence,
            starved,
        },
        threads: channel.threads(),
        attached: channel.attached(),
        passed: channel.passed(),
        failures: channel.failures(),
        returned: channel.returned(),
        events: channel.events(&times.frames, frames_in_each),
        calls: channel.calls(),
        times,
        observed: observed.all,
    })
}

/// Ends what still runs of the server and reaps it. Returns how it ended: `status`, if it had ended by itself.
fn end_all(server: &mut Launched, channel: &Channel, status: Option<ExitStatus>) -> Result<ExitStatus, RunError> {
    server.kill_group();
    let status = match status {
        Some(status) => status,
        None => loop {
            if let Some(status) = server.wait_for(LOOK)? {
                break status;
            }
        },
    };
    for &pid in channel.processes().iter().filter(|&&pid| pid > 0 && Launched::runs(pid)) {
        Launched::signal_process(pid, libc_sigkill());
    }
    while server.reap_orphans(&channel.processes()) {
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(status)
}

/// A thread that searches the objects of the build as they are loaded.
struct Searcher {
    scans: Scans,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Searcher {
    fn start(scans: Scans, setup: &Setup) -> Searcher {
        let excluded = setup.excluded.iter().map(|name| name.to_vec());
        let excluded: Vec<Vec<u8>> = excluded.chain(setup.unsearched.iter().cloned()).collect();
        let program = setup.build.tool.as_ref().map(|tool| tool.started.program.clone());
        let over = Arc::new(AtomicBool::new(false));
        let (ended, waiting) = (Arc::clone(&over), scans.clone());
        let thread = std::thread::spawn(move || {
            let excluded: Vec<&[u8]> = excluded.iter().map(Vec::as_slice).collect();
            while !ended.load(Ordering::Relaxed) {
                if let Some(request) = waiting.wait(LOOK) {
                    let mut code = objects::mapped_code(request.pid).unwrap_or_default();
                    if let Some(program) = &program {
                        objects::leave_out_host(&mut code, request.pid, program);
                    }
                    let found = objects::loaded_objects(&code);
                    let searched = search::search(&found, None);
                    waiting.answer(false, &objects::sites(&code, &searched, &excluded, program.is_some()));
                }
            }
        });
        Searcher { scans, over, thread: Some(thread) }
    }
}

impl Drop for Searcher {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.scans.close();
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
    }
}

const fn libc_sigkill() -> i32 {
    signal_hook::consts::SIGKILL
}

/// Outputs that differ, in a tolerant run.
struct Observations {
    merger: Merger,
    all: Vec<Observed>,
    bytes: u64,
    limit: u64,
}

/// Bytes of outputs that a build may hand out: outputs may be longer than recorded, and several times as many are still no flood.
fn most_observed(tape: &Tape) -> u64 {
    tape.output_bytes.saturating_mul(4).saturating_add(16 << 20)
}

impl Observations {
    fn gather(&mut self, channel: &mut Channel) -> Result<(), RunError> {
        // Each slot's records are complete in themselves; the order of the process does not matter.
        let Observations { merger, all, bytes: gathered, limit } = self;
        channel.drain(|process, _, slot, run| merger.add(process, process, slot, run))?;
        merger.take(true, |process, head, record| {
            let part = |kind| prony_demo::Parts::first(record, kind);
            let out = part(prony_demo::PartKind::Out);
            let kind = match head.aux {
                ADDED_OUTPUT => ObservedKind::Added,
                UNSENT_OUTPUT => ObservedKind::NotSent,
                _ => ObservedKind::Differs,
            };
            if out.is_some() || kind == ObservedKind::NotSent {
                let bytes = out.unwrap_or_default();
                *gathered += bytes.len() as u64;
                if *gathered > *limit {
                    let what = "bytes of outputs that differ";
                    return Err(Fault { what, slot: 0, limit: *limit, found: *gathered }.into());
                }
                all.push(Observed {
                    process,
                    record: head.order,
                    message: head.aux,
                    bytes: bytes.to_vec(),
                    kind,
                    thread: head.thread,
                    op: head.op,
                    fd: head.fd,
                    destination: part(prony_demo::PartKind::Addr).map(<[u8]>::to_vec),
                });
            }
            Ok(())
        })
    }
}

/// Seconds that the threads of all processes of the build, as far as they live, have used a CPU or waited for one.
fn busy_s(channel: &Channel) -> f64 {
    let mut ns = 0.0;
    for pid in channel.processes().into_iter().filter(|&pid| pid > 0) {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for thread in threads.flatten() {
            let stat = std::fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            // Time on a CPU, time on the queue for one, turns.
            ns += stat.split(' ').take(2).filter_map(|ns| ns.trim().parse::<f64>().ok()).sum::<f64>();
        }
    }
    ns / 1e9
}

/// Finds out what holds the replay up.
fn look_at(channel: &Channel, pid: i32) -> Starved {
    let threads = channel.threads().into_iter().filter(|thread| !thread.finished);
    let threads = threads.map(|thread| (thread, if thread.waiting { Doing::Turn } else { doing(thread.tid) }));
    Starved { threads: threads.collect(), process: doing(pid), spins: false }
}

/// Calls of all threads that the recording does not have.
fn added(channel: &Channel) -> u64 {
    let counted = channel.counted();
    counted.clocks_added.wrapping_add(counted.resynced)
}

/// State of a thread, as the kernel reports it.
fn doing(tid: i32) -> Doing {
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{tid}/{name}")).unwrap_or_default();
    let stat = read("stat");
    match stat.rsplit(") ").next().and_then(|rest| rest.chars().next()) {
        None => return Doing::Gone,
        Some('R') => return Doing::Running,
        Some(_) => {}
    }
    // Its number, then its arguments in base 16; `running`, or -1 for none.
    let call = read("syscall");
    let mut words = call.split(' ');
    let Some(number) = words.next().and_then(|number| number.parse::<u32>().ok()) else {
        return Doing::Sleeping { call: String::new(), at: String::new() };
    };
    let i386 = program::is_i386(Path::new(&format!("/proc/{tid}/exe")));
    let argument = words.next().and_then(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok());
    let at = argument.filter(|_| syscalls::takes_descriptor(number, i386));
    let at = at.and_then(|fd| std::fs::read_link(format!("/proc/{tid}/fd/{fd}")).ok());
    Doing::Sleeping {
        call: syscalls::name(number, i386),
        at: at.map_or_else(String::new, |path| path.to_string_lossy().into_owned()),
    }
}
