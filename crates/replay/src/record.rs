//! Recording: starts a server, gathers what its threads write down, makes a demo of it.

mod disk;
mod objects;
mod pace;
pub(crate) mod stop;

use crate::channel::merge::Merger;
use crate::channel::{Channel, DrainError, Drained, Fault, Moment, RecordScope};
use crate::files::known::KnownDemos;
use crate::files::manifest::Opened;
use crate::files::pack::{self, PackLimits};
use crate::files::partial;
use crate::files::state::{self, StateError};
use crate::report::{DiskEnd, Progress, RecordCost, RecordReport, RecordWarning, SIDE_BY_SIDE};
use crate::server::environment;
use crate::server::facts::describe_machine;
use crate::server::goes_on::{GoesOn, exit_of};
use crate::server::inheritance::{Inheritance, ignores};
use crate::server::launch::beside::{self, Beside};
use crate::server::launch::{EBADF, Input, Launch, Launched};
use crate::server::library::{self, Libraries};
use crate::server::program::{self, Program, ProgramError};
use disk::{Disk, DiskState, Trouble};
use objects::{SEARCH, ServerObjects};
use pace::Pace;
use prony_demo::{Class, Exit, FrameRule, Head, Header, ObjectEntry, Op, PartKind, Parts, Trailer, note_text};
use prony_demo::{WriteError, Writer, WriterOptions};
use prony_machine::{Interrupt, signal_name};
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use stop::{Cut, FRAME_WITHIN};

/// Options of a recording, as `prony record` takes them.
#[derive(Debug, Clone)]
pub struct RecordOptions {
    /// Path of the demo to write.
    pub output: PathBuf,
    /// Replace what has that name, and what an earlier recording that was cut has left.
    pub replace: bool,
    /// The server and its arguments.
    pub command: Vec<OsString>,
    /// Text that makes the server end, on its standard input, when `limit` is over, instead of SIGTERM. Its input is then a pipe
    /// with nothing else in it.
    pub end_input: Option<Vec<u8>>,
    /// Directories to archive at the start.
    pub state: Vec<PathBuf>,
    /// Duration after which the recording ends.
    pub limit: Option<Duration>,
    /// Limits on the files that go into the demo, of those that the server only read.
    pub pack: PackLimits,
    /// Rule for the ends of frames.
    pub frame_rule: FrameRule,
    /// Beginnings of the names of further objects whose calls are not the server's.
    pub exclude_objects: Vec<String>,
    /// Compression level of zstd.
    pub level: i32,
    /// Scope of the recording: children and threads.
    pub scope: RecordScope,
    /// True if the server's standard output goes to our standard error.
    pub output_to_stderr: bool,
}

/// Error of making a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The command cannot be run under preload.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A state directory cannot be archived.
    #[error(transparent)]
    State(#[from] StateError),
    /// The demo cannot be written.
    #[error("cannot write `{path}`: {error}")]
    Write {
        /// The file; it keeps every whole block that came before.
        path: String,
        /// Error that the system returned.
        error: WriteError,
    },
    /// The server cannot be started.
    #[error("cannot start `{program}`: {error}")]
    Start {
        /// Path of the program file.
        program: String,
        /// Error that the system returned.
        error: io::Error,
    },
    /// The channel's descriptors lie above the limit.
    #[error("the limit of open descriptors is below 1,008, which the recording channel needs")]
    FewDescriptors,
    /// The library did not come up in the server.
    #[error("`{program}` ended before the recorder started in it ({}), so nothing was recorded", exit_text(*exit))]
    NotAttached {
        /// Path of the program file.
        program: String,
        /// Exit code or signal of the program.
        exit: Exit,
    },
    /// The server wrote over what the recorder in it had written down.
    #[error(
        "the server overwrote the memory that it shares with the recorder: {fault}; `{path}` contains what came \
         before"
    )]
    Channel {
        /// The file; it keeps every record that came before.
        path: String,
        /// Value that no library writes, and its place.
        fault: Fault,
    },
    /// Something of the system failed.
    #[error("cannot {what}: {error}")]
    System {
        /// Attempted action as a verb phrase.
        what: &'static str,
        /// Error that the system returned.
        error: io::Error,
    },
}

fn system(what: &'static str) -> impl Fn(io::Error) -> RecordError {
    move |error| RecordError::System { what, error }
}

/// Time that the recorder sleeps before it looks again whether a server ends.
const IDLE: Duration = Duration::from_millis(5);
/// How often a block is ended, so that a recording that is cut loses no more than this.
const BLOCK_EVERY: Duration = Duration::from_secs(1);
/// Time that a server has to end by itself after the request.
const GRACE: Duration = Duration::from_secs(10);
/// How long those are awaited that were ended by force, before the recording ends without the others.
const LAST_WAIT: Duration = Duration::from_millis(500);

/// Inode of a file; 0 where there is none.
fn inode(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |file| file.ino())
}

/// What a demo says of the server and of the machine.
fn header_of(
    options: &RecordOptions,
    program: &Program,
    environment: &[(OsString, OsString)],
    cwd: &Path,
    state: &[PathBuf],
    excluded: &[&[u8]],
) -> Header {
    let mut header = Header {
        executable: program.path.as_os_str().as_bytes().to_vec(),
        build_id: program.build_id.clone(),
        argv: options.command.iter().map(|argument| argument.as_bytes().to_vec()).collect(),
        cwd: cwd.as_os_str().as_bytes().to_vec(),
        environment: environment
            .iter()
            .map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec()))
            .collect(),
        recorded_at_unix_ns: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64),
        frame_rule: options.frame_rule,
        state_directories: state.iter().map(|path| path.as_os_str().as_bytes().to_vec()).collect(),
        excluded_objects: excluded.iter().map(|name| name.to_vec()).collect(),
        properties: Inheritance::own().properties(),
        ..Header::default()
    };
    describe_machine(&mut header);
    header.architecture = program.architecture.name().to_owned();
    header
}

/// Begins the file of the demo: the header and the state directories. What cannot be written from the start starts no server.
fn begin(
    partial: &Path,
    options: &RecordOptions,
    header: &Header,
    state: &[PathBuf],
) -> Result<(Writer<Disk<File>>, DiskState), RecordError> {
    let write = |error| RecordError::Write { path: partial.display().to_string(), error };
    let file = partial::create(partial, options.replace).map_err(|error| write(error.into()))?;
    let disk = Disk::new(file).map_err(system("start a thread"))?;
    let disk_state = disk.state();
    let mut writer = Writer::new(disk, header, WriterOptions { level: options.level }).map_err(write)?;
    for (number, path) in state.iter().enumerate() {
        state::archive(&mut writer, number as u32, path)?;
    }
    writer.flush_block().map_err(write)?;
    Ok((writer, disk_state))
}

/// Records a server until it ends, the time is up, or SIGINT or SIGTERM comes, which is passed on
/// to the server; or until SIGUSR1 comes, after which the server goes on unrecorded. `progress` is called a few times a second.
///
/// # Errors
/// [`RecordError`]; where a demo was begun, its file stays under the name with `.partial`.
pub fn record(options: &RecordOptions, progress: &mut dyn FnMut(Progress)) -> Result<RecordReport, RecordError> {
    let cwd = std::env::current_dir().map_err(system("find the working directory"))?;
    let environment = environment::to_record();
    let program = Program::find(&options.command, &cwd, std::env::var_os("PATH").as_deref())?;
    let state = state::directories(&options.state)?;
    let named = options.exclude_objects.iter().map(|name| name.as_bytes());
    let excluded: Vec<&[u8]> =
        library::EXCLUDED.iter().chain(&library::SANITIZERS).map(|name| name.as_bytes()).chain(named).collect();
    let header = header_of(options, &program, &environment, &cwd, &state, &excluded);

    let partial = partial::path_of(&options.output);
    let write = |error| RecordError::Write { path: partial.display().to_string(), error };
    let (writer, disk) = begin(&partial, options, &header, &state)?;

    let channel = Channel::to_record(&excluded, options.scope).map_err(system("make the channel to the server"))?;
    channel.hide(inode(&partial));
    channel.hide_replaced(inode(&options.output));
    let libraries = Libraries::in_memory().map_err(system("hold the preload library in memory"))?;
    let interrupt = Interrupt::catch_each(&[SIGINT, SIGTERM, SIGUSR1]).map_err(system("listen for signals"))?;
    let to_stderr = match options.output_to_stderr {
        true => Some(File::from(io::stderr().as_fd().try_clone_to_owned().map_err(system("share standard error"))?)),
        false => None,
    };
    let pipe = options.end_input.is_some().then(pipe).transpose().map_err(system("make a pipe to the server"))?;
    let launch = Launch {
        by_tool: false,
        argv: &options.command,
        executable: &program.path,
        environment: &environment,
        cwd: &cwd,
        architecture: program.architecture,
        mounts: &[],
        output: to_stderr.as_ref(),
        // A server must not die of its recorder.
        dies_with_us: false,
        inherits: true,
        inheritance: &Inheritance::of(&header),
        input: match &pipe {
            Some((end, _)) => Input::Pipe(end),
            None if io::IsTerminal::is_terminal(&io::stdin()) => Input::Nothing,
            None => Input::Own,
        },
    };
    Launched::adopt_orphans();
    let started = Moment::now();
    let server = launch.start(&channel, &libraries).map_err(|error| {
        let _ = fs::remove_file(&partial);
        match error.raw_os_error() {
            Some(EBADF) => RecordError::FewDescriptors,
            _ => RecordError::Start { program: program.path.display().to_string(), error },
        }
    })?;

    let end_input = pipe.map(|(_, end)| end).zip(options.end_input.clone());
    disk.run_free();
    let mut recording = Recording {
        end_input,
        end: End { cut: Cut::default(), disk, by_disk: None },
        objects: ServerObjects::new(channel.scans(), &header),
        channel,
        server,
        writer,
        merger: Merger::default(),
        pace: Pace::new(options.level),
        opened: Opened::new(&cwd),
        started,
        latest: started,
        notes: Notes::default(),
        beside: Vec::new(),
        follows_exec: options.scope.follow_exec,
        totals: Totals::default(),
    };
    let ended_at = options.limit.map(|limit| Instant::now() + limit);
    let goes_on = |pid, interrupt, is_ours: bool| GoesOn::new(pid, interrupt, ended_at.filter(|_| is_ours));
    let pid = recording.server.pid();
    let ended = match recording.run(options.limit, &interrupt, progress) {
        Ok(ended) => ended,
        Err(RunError::Write(error)) if recording.lets_go() => {
            return Ok(recording.so_far().broken(error, goes_on(pid, interrupt, true)));
        }
        Err(broken) => return Err(recording.interrupted(broken, &partial)),
    };
    if !recording.channel.attached() {
        let _ = fs::remove_file(&partial);
        let program = program.path.display().to_string();
        return Err(RecordError::NotAttached { program, exit: ended });
    }
    let goes_on = (ended == Exit::Cut).then(|| goes_on(pid, interrupt, recording.end.by_disk.is_some()));
    let so_far = recording.so_far();
    let finish = || recording.finish(ended, &state, options.pack, write);
    let finished = match &goes_on {
        // What waits to be written may take a slow disk long.
        Some(goes_on) => goes_on.meanwhile(finish),
        None => finish(),
    };
    let mut report = match (finished, goes_on) {
        (Err(RecordError::Write { error, .. }), Some(goes_on)) => return Ok(so_far.broken(error, goes_on)),
        (finished, goes_on) => RecordReport { goes_on, ..finished? },
    };
    partial::complete(&partial, &options.output, options.replace)
        .map_err(|error| RecordError::Write { path: options.output.display().to_string(), error: error.into() })?;
    // The demo is good all the same.
    if let Err(error) = KnownDemos::of_user().and_then(|known| known.add(&File::open(&options.output)?)) {
        report.warnings.push(RecordWarning::NotListed(Arc::new(error)));
    }
    Ok(report)
}

/// Both ends of a pipe, the one to read from first.
fn pipe() -> io::Result<(File, File)> {
    let (read, write) = io::pipe()?;
    Ok((OwnedFd::from(read).into(), OwnedFd::from(write).into()))
}

/// Reason why a recording was interrupted.
enum RunError {
    Write(WriteError),
    System(&'static str, io::Error),
    /// The server wrote nonsense to the shared memory.
    Channel(Fault),
}

impl From<WriteError> for RunError {
    fn from(error: WriteError) -> RunError {
        RunError::Write(error)
    }
}

impl From<Fault> for RunError {
    fn from(fault: Fault) -> RunError {
        RunError::Channel(fault)
    }
}

impl From<DrainError> for RunError {
    fn from(error: DrainError) -> RunError {
        match error {
            DrainError::System(error) => RunError::System("map the ring of a thread", error),
            DrainError::Fault(fault) => RunError::Channel(fault),
        }
    }
}

struct Recording {
    /// Pipe with the request to the server to end, and the text of it.
    end_input: Option<(File, Vec<u8>)>,
    channel: Channel,
    server: Launched,
    writer: Writer<Disk<File>>,
    end: End,
    merger: Merger,
    pace: Pace,
    opened: Opened,
    started: Moment,
    latest: Moment,
    objects: ServerObjects,
    notes: Notes,
    /// Names of the programs with sockets that are not recorded, and whether programs are recorded that the server runs.
    beside: Vec<String>,
    follows_exec: bool,
    totals: Totals,
}

/// Where the demo ends although the server goes on.
struct End {
    cut: Cut,
    disk: DiskState,
    /// What of the disk is the reason.
    by_disk: Option<DiskEnd>,
}

/// Notes of a recording about itself.
#[derive(Default)]
struct Notes {
    /// Notes about what could not be recorded.
    missed: Vec<String>,
    /// Notes about what was recorded in another way.
    covered: Vec<String>,
}

/// Amounts of what the server has written down and sent so far.
#[derive(Default)]
struct Totals {
    /// Bytes of the records, uncompressed.
    raw_bytes: u64,
    /// Number of calls that sent bytes.
    outputs: u64,
    /// Number of bytes that those calls sent.
    output_bytes: u64,
}

impl Recording {
    fn run(
        &mut self,
        limit: Option<Duration>,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Exit, RunError> {
        let start = Instant::now();
        let mut deadline = limit.map(|limit| start + limit);
        let mut block_at = start + BLOCK_EVERY;
        let (mut terminate_at, mut kill_at, mut leave_at) = (None, None, None);
        // The signal that ends the processes which the first one leaves behind.
        let mut last_request = None;
        let mut ended = None;
        let mut has_rested = true;
        loop {
            if let Some(request) = self.objects.scans.wanted() {
                self.search_objects(request);
            }
            let gathered = self.gather(false)?;
            let now = Instant::now();
            self.writer.set_level(self.pace.level(now, gathered.bytes, gathered.fullest, has_rested))?;
            if now >= block_at {
                self.writer.flush_block()?;
                self.search_new_objects();
                self.look_beside();
                block_at = now + BLOCK_EVERY;
                progress(Progress::Recording {
                    seconds: start.elapsed().as_secs_f64(),
                    raw_bytes: self.totals.raw_bytes,
                    file_bytes: self.writer.file_bytes(),
                });
            }
            self.look_at_disk(now);
            if self.end.cut.is_due(now, self.channel.attached()) {
                self.search_new_objects();
                self.look_beside();
                self.channel.end_recording();
                self.server.let_go();
                return Ok(Exit::Cut);
            }
            let signal = interrupt.take();
            if signal == Some(SIGUSR1) {
                self.end.cut.request(now + FRAME_WITHIN);
            }
            if let Some(signal) = signal.filter(|&signal| signal != SIGUSR1) {
                self.look_beside();
                // What a script starts in the background ignores SIGINT, and the server does as well unless it has a handler.
                let signal = if ignores(self.server.pid(), signal) { SIGTERM } else { signal };
                self.server.signal(signal);
                last_request = Some(signal);
                kill_at.get_or_insert(now + GRACE);
            }
            if deadline.is_some_and(|deadline| now >= deadline) {
                deadline = None;
                self.look_beside();
                match self.end_input.take() {
                    Some((mut input, text)) => {
                        // A server that reads nothing any more gets the signal.
                        let _ = io::Write::write_all(&mut input, &text);
                        terminate_at = Some(now + GRACE);
                    }
                    None => terminate_at = Some(now),
                }
            }
            if terminate_at.is_some_and(|terminate_at| now >= terminate_at) {
                terminate_at = None;
                self.server.signal(SIGTERM);
                last_request = Some(SIGTERM);
                kill_at.get_or_insert(now + GRACE);
            }
            if let Some(signal) = last_request
                && self.signal_left_behind(signal)
            {
                last_request = None;
            }
            if kill_at.is_some_and(|kill_at| now >= kill_at) {
                self.server.kill_group();
                leave_at.get_or_insert(now + LAST_WAIT);
            }
            ended = match ended {
                None => self.server.ended().map_err(|error| RunError::System("wait for the server", error))?,
                some => some,
            };
            let leaves = leave_at.is_some_and(|leave_at| now >= leave_at);
            if let Some(status) = ended.filter(|_| leaves || !self.others_run()) {
                self.gather(true)?;
                return Ok(exit_of(status));
            }
            has_rested = gathered.bytes < 1 << 20;
            let rest = self.pace.rest(now, gathered.bytes, gathered.fullest);
            if has_rested {
                // A server whose ring is full, or that has something to be searched, does not wait for the end of it.
                self.objects.scans.wait(rest);
            }
        }
    }

    /// Ends the demo where the disk takes no more of it.
    fn look_at_disk(&mut self, now: Instant) {
        let Some(trouble) = self.end.disk.trouble().filter(|_| self.end.by_disk.is_none()) else { return };
        let (end, within) = match trouble {
            Trouble::Full => (DiskEnd::Full, Duration::ZERO),
            Trouble::Slow(waiting_bytes) => (DiskEnd::Slow { waiting_bytes }, FRAME_WITHIN),
        };
        self.end.by_disk = Some(end);
        self.end.cut.request(now + within);
    }

    /// Lets a server go on without being recorded; false if none runs.
    fn lets_go(&mut self) -> bool {
        let runs = self.channel.attached() && matches!(self.server.ended(), Ok(None));
        if runs {
            self.channel.end_recording();
            self.server.let_go();
        }
        runs
    }

    /// What was recorded, of a demo that could not be completed.
    fn so_far(&self) -> RecordReport {
        RecordReport {
            recorded_s: self.latest.ns_since(&self.started) as f64 / 1e9,
            frames: self.writer.frames(),
            outputs: self.totals.outputs,
            output_bytes: self.totals.output_bytes,
            file_bytes: self.writer.file_bytes(),
            exit: Exit::Cut,
            cost: self.cost(),
            ..RecordReport::default()
        }
    }

    /// Ends the server after a failure of the recording; returns what failed.
    fn interrupted(&mut self, broken: RunError, partial: &Path) -> RecordError {
        self.end_server();
        self.end.disk.wait_again();
        let path = partial.display().to_string();
        match (broken, self.writer.flush_block()) {
            (RunError::Write(error), _) | (RunError::Channel(_), Err(error)) => RecordError::Write { path, error },
            (RunError::System(what, error), _) => RecordError::System { what, error },
            (RunError::Channel(fault), Ok(())) => RecordError::Channel { path, fault },
        }
    }

    /// Signals the server to end, and lets it: what it still writes down is thrown away.
    fn end_server(&mut self) {
        self.server.signal(SIGTERM);
        let deadline = Instant::now() + GRACE;
        let mut signaled = false;
        while Instant::now() < deadline && (matches!(self.server.ended(), Ok(None)) || self.others_run()) {
            signaled = signaled || self.signal_left_behind(SIGTERM);
            if self.channel.drain(|_, _, _, _| {}).is_err() {
                return;
            }
            std::thread::sleep(IDLE);
        }
    }

    /// Server processes besides the one that was started: a daemon, its workers.
    fn others_run(&mut self) -> bool {
        self.server.reap_orphans(&self.channel.processes());
        self.others().next().is_some()
    }

    fn others(&self) -> impl Iterator<Item = i32> {
        let processes = self.channel.processes();
        processes.into_iter().skip(1).filter(|&pid| pid > 0 && Launched::runs(pid))
    }

    /// Signals the others to end once the process that was started has gone and left them behind. False while it runs.
    fn signal_left_behind(&self, signal: i32) -> bool {
        let gone = self.channel.processes().first().is_some_and(|&first| !Launched::runs(first));
        if gone {
            self.others().for_each(|pid| Launched::signal_process(pid, signal));
        }
        gone
    }

    /// Names programs that hold a conversation of their own, which the demo does not have.
    fn look_beside(&mut self) {
        let take_part = self.channel.running();
        for Beside { pid, name } in beside::with_sockets(&take_part) {
            if !self.beside.contains(&name) {
                let hint = if self.follows_exec { "" } else { "; --follow-exec records what the server runs" };
                self.notes.missed.push(format!(
                    "the server runs `{name}` (process {pid}), which has sockets of its own: what passes through them is not recorded{hint}"
                ));
                self.beside.push(name);
            }
        }
    }

    /// Takes what the threads have written into the demo; returns how much it was.
    fn gather(&mut self, all: bool) -> Result<Drained, RunError> {
        let merger = &mut self.merger;
        let gathered = self.channel.drain(|process, leader, slot, run| merger.add(process, leader, slot, run))?;
        self.latest = Moment::now();
        self.totals.raw_bytes += gathered.bytes as u64;
        let rate = self.started.rate(&self.latest);
        let Recording { writer, opened, notes, totals, end: End { cut, .. }, .. } = self;
        merger.take(all, |process, head, record| {
            if cut.is_made() {
                return Ok(());
            }
            let op = Op::from_number(head.op);
            match op.map(Op::class) {
                Some(Class::Clock) => return Ok(writer.push_headed(process, record, head)?),
                Some(Class::Output) if head.ret > 0 => {
                    totals.outputs += 1;
                    totals.output_bytes += sent_bytes(record);
                }
                _ => {}
            }
            match op {
                Some(Op::NoteFile) => opened.note(process, head, record),
                Some(Op::OpenFile) if head.ret >= 0 => opened.note(process, head, record),
                Some(Op::OrderShared) => opened.take_turns(process, head.aux as u16),
                Some(Op::NoteUnrecordable) => notes.missed.extend(note_text(record)),
                Some(Op::NoteCovered) => notes.covered.extend(note_text(record)),
                _ => {}
            }
            let frames = writer.frames();
            writer.push_headed(process, record, &Head { time: rate.ns_until(head.time), ..*head })?;
            if writer.frames() > frames {
                cut.at_frame();
            }
            Ok::<(), RunError>(())
        })?;
        Ok(gathered)
    }

    /// What the recording cost while the server ran.
    fn cost(&self) -> RecordCost {
        RecordCost {
            threads_waited_s: self.channel.threads_waited().as_secs_f64(),
            room_awaited_s: self.channel.room_awaited().as_secs_f64(),
            recorder_cpu_s: self.pace.cpu_time().as_secs_f64(),
            record_bytes: self.totals.raw_bytes,
            fast_bytes: self.pace.fast_bytes,
        }
    }

    fn finish(
        mut self,
        ended: Exit,
        state: &[PathBuf],
        limits: PackLimits,
        write: impl Fn(WriteError) -> RecordError,
    ) -> Result<RecordReport, RecordError> {
        let duration_ns = self.latest.ns_since(&self.started);
        let cost = self.cost();
        let written = self.opened.written_elsewhere(state);
        let mut warnings: Vec<RecordWarning> = written.map(|path| RecordWarning::Written(path.to_owned())).collect();
        once_each(&mut self.notes.missed);
        if self.channel.ran_side_by_side() {
            self.notes.covered.push(SIDE_BY_SIDE.to_owned());
        }
        once_each(&mut self.notes.covered);
        for path in &self.objects.unsearched {
            self.notes.missed.push(format!(
                "{} was not searched within {:.2} s: time and randomness that it reads from the processor are not \
                 recorded, this time",
                path.display(),
                SEARCH.as_secs_f64()
            ));
        }
        for object in &self.objects.late {
            self.notes.missed.push(format!(
                "{} was loaded while the server ran and was not searched: it may contain system call instructions, \
                 which are not recorded",
                object.path.display()
            ));
        }
        let shared: Vec<String> = self.opened.updated_by_several().map(|path| path.display().to_string()).collect();
        if let Some((first, others)) = shared.split_first() {
            let others = match others.len() {
                0 => String::new(),
                count => format!(" and {count} more"),
            };
            self.notes.missed.push(format!(
                "several processes read and write {first}{others}: what one finds there may depend on what another \
                 did before, which is kept only with --processes-in-turn"
            ));
        }
        self.end.disk.wait_again();
        // No room is left for the content of files.
        let limits =
            if self.end.by_disk.is_some() { PackLimits { each_bytes: 0, all_bytes: 0, ..limits } } else { limits };
        let goes_on = ended == Exit::Cut;
        if let Some((input, _)) = self.end_input.take().filter(|_| goes_on) {
            // Closed, it would end a server that reads to the end of its input: it stays open as long as this process lives.
            let _ = input.into_raw_fd();
        }
        let left: Vec<(i32, String)> = self.others().map(|pid| (pid, Launched::name_of(pid))).collect();
        if !goes_on && !left.is_empty() {
            warnings.push(RecordWarning::LivesOn(left));
        }
        let overlapped = self.channel.overlapped();
        if overlapped > 0 {
            self.notes.missed.push(format!(
                "a thread waited for another without a call ({overlapped} ×), so both ran at the same time: a \
                 race between them may end differently in a replay"
            ));
        }
        warnings.extend(self.notes.missed.iter().cloned().map(RecordWarning::Note));
        let mut files = self.opened.manifest(state);
        let packed = pack::pack(&mut self.writer, &mut files, limits, |path, _| Some(path.to_owned()))
            .map_err(|error| write(WriteError::Io(error)))?;
        let trailer = Trailer {
            files,
            objects: self
                .objects
                .loaded
                .iter()
                .map(|object| ObjectEntry {
                    path: object.path.as_os_str().as_bytes().to_vec(),
                    build_id: program::build_id(&object.path),
                })
                .collect(),
            exit: ended,
            duration_ns,
            unsearched: self.objects.unsearched.drain(..).map(|path| path.into_os_string().into_vec()).collect(),
            notes: self.notes.missed.drain(..).chain(self.notes.covered.drain(..)).collect(),
            ..Trailer::default()
        };
        let (disk, totals) = self.writer.finish(&trailer).map_err(&write)?;
        // What was reserved behind the end is given back.
        let complete = |file: File| file.set_len(totals.file_bytes).and_then(|()| file.sync_all());
        disk.into_store().and_then(complete).map_err(|error| write(error.into()))?;
        Ok(RecordReport {
            recorded_s: duration_ns as f64 / 1e9,
            processes: u64::from(totals.processes),
            records: totals.records,
            frames: totals.frames,
            outputs: self.totals.outputs,
            output_bytes: self.totals.output_bytes,
            cost,
            file_bytes: totals.file_bytes,
            exit: ended,
            goes_on: None,
            disk_end: self.end.by_disk,
            packed,
            warnings,
        })
    }
}

/// Leaves the first of equal texts.
fn once_each(texts: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    texts.retain(|text| seen.insert(text.clone()));
}

fn sent_bytes(record: &[u8]) -> u64 {
    Parts::new(record).filter(|part| part.kind == PartKind::Out as u8).map(|part| part.bytes.len() as u64).sum()
}

/// End of a server as a phrase: `exited with 1`, `was ended by SIGTERM`.
pub fn exit_text(exit: Exit) -> String {
    match exit {
        Exit::Code(code) => format!("exited with {code}"),
        Exit::Signal(signal) => format!("was ended by {}", signal_name(signal)),
        Exit::Cut => "ended".to_owned(),
    }
}
