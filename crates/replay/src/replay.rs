//! Replaying: a build on a demo, as often as requested, and what it came to.

pub(crate) mod both;
pub(crate) mod debug;

use crate::channel::ClockShift;
use crate::files::known::KnownDemos;
use crate::files::layout::LayoutError;
use crate::files::limits::Limits;
use crate::files::manifest::{self, Assets};
use crate::files::overlay::{self, Attributes, OverlayError, Plan, Roots};
use crate::files::regular::{self, is_below_made_up};
use crate::files::scratch;
use crate::files::state::{self, RestoreOptions, Restored, StateError};
use crate::files::trusted::TrustedDemos;
use crate::replay_error::{Privilege, ReplayError};
use crate::report::{
    Detail, Divergence, DivergenceClass, FilesLacking, Lack, ProcessorChange, Progress, ReplayReport, Surroundings,
    ToolRun, Verdict, Warning, WeakReason,
};
use crate::run::debugger::Debugger;
use crate::run::decoder::DecoderError;
use crate::run::printed::Printed;
use crate::run::sockets;
use crate::run::stop_place::StopPlan;
use crate::run::tape::{Tape, TapeError};
use crate::run::{Build, Callbacks, Ending, Observed, ObservedKind, Outcome, RunError, Setup, run_once};
use crate::server::environment::{self, Filter, Origin, Withheld};
use crate::server::facts::flags_lacking;
use crate::server::inheritance::Inheritance;
use crate::server::launch::EBADF;
use crate::server::launch::Launched;
use crate::server::library::{Libraries, SANITIZERS};
use crate::server::program::{self, Program};
use crate::server::tool::{Tool, ToolOptions};
use crate::verdict::cause;
use crate::verdict::diverged;
use crate::verdict::failures::{self, RecordPosition};
use crate::verdict::listings;
use crate::verdict::tolerated::{self, Comparison, JudgeError, Unlike};
use crate::verdict::traced;
use crate::verdict::unrecorded::{self, Times};
use prony_demo::tolerance::Rules;
use prony_demo::{Demo, DemoError, Exit, FileEntry, FileRole, FrameActivity, Header};
use prony_text::Untrusted;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};
use std::time::{Duration, SystemTime};

/// Options of a replay, as `prony replay` takes them.
#[derive(Debug)]
pub struct ReplayOptions {
    /// Path of the demo to replay.
    pub demo: PathBuf,
    /// The build and its arguments; empty for the recorded command.
    pub command: Vec<OsString>,
    /// Variables that are set over those of the recording.
    pub environment: Vec<(OsString, OsString)>,
    /// The tool that starts the build, if one does.
    pub under: ToolOptions,
    /// Number of replays, one after another.
    pub repeat: u32,
    /// Comparison of the outputs with the recorded ones.
    pub comparison: ComparisonOptions,
    /// Time without progress after which a replay is ended.
    pub watchdog: Duration,
    /// Differences that a replay is run in spite of.
    pub accept: AcceptOptions,
    /// Let the build print where this process prints.
    pub show_output: bool,
    /// Keep what explains a divergence: the last lines that it prints, if it does not print where this process does, and what
    /// its calls return that are made for real.
    pub explain: bool,
    /// Trust in the author of the demo.
    pub trust: TrustOptions,
    /// Directories and files of the state that are brought back.
    pub state: StateOptions,
    /// Source of the files that the server only read.
    pub files: FileOptions,
    /// Limits on the resources that the demo may use.
    pub limits: Limits,
    /// Flag that is set when a signal requests a stop.
    pub stop: Option<Arc<AtomicBool>>,
}

/// Comparison of the outputs of a build with the recorded ones.
#[derive(Debug, Clone, Default)]
pub struct ComparisonOptions {
    /// Rules for outputs that may differ a little.
    pub tolerance: Option<Rules>,
    /// Program and arguments of a decoder that reads the outputs; empty to compare their bytes.
    pub decoder: Vec<OsString>,
}

/// Differences between a recording and what replays it that are no reason to stop, or to doubt the result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AcceptOptions {
    /// Replay a demo that was cut.
    pub truncated: bool,
    /// Trust the result although the machine differs.
    pub other_machine: bool,
    /// Try a build of another architecture than that of the recorded server.
    pub other_architecture: bool,
}

/// Trust in the author of a demo.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustOptions {
    /// Take the demo for one that this user recorded here: its own command may run, and its state be brought back.
    pub trusted: bool,
    /// Variables that keep the recorded value although they may choose code.
    pub keep_variables: Vec<OsString>,
}

/// How the state directories of a demo are brought back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StateOptions {
    /// State directories that are brought back where they were recorded instead of over it.
    pub in_place: Vec<PathBuf>,
    /// Files of the state keep their bits for set-user-id and set-group-id.
    pub set_ids: bool,
}

/// Source of the files that the recorded server only read, if those of this machine are missing or differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileOptions {
    /// Nowhere: the build reads what is here.
    pub here: bool,
    /// Directories that are searched, by content, for files that are not in the demo.
    pub assets: Vec<PathBuf>,
    /// Directories below which files of the demo may be laid over those here, besides those that the demo states.
    pub overlay: Vec<PathBuf>,
}

impl ReplayOptions {
    /// Options for measuring builds here: one replay at a time that prints nothing.
    ///
    /// How the recording's machine differs is no matter between builds that all run here.
    pub fn to_measure(demo: PathBuf, command: Vec<OsString>) -> ReplayOptions {
        ReplayOptions {
            demo,
            command,
            environment: Vec::new(),
            under: ToolOptions::default(),
            repeat: 1,
            comparison: ComparisonOptions::default(),
            watchdog: Duration::from_secs(10),
            accept: AcceptOptions { other_machine: true, ..AcceptOptions::default() },
            show_output: false,
            explain: false,
            trust: TrustOptions::default(),
            state: StateOptions::default(),
            files: FileOptions::default(),
            limits: Limits::default(),
            stop: None,
        }
    }
}

/// As many times longer has a build under a tool for what is taken for a hang otherwise.
pub const SLOWER_UNDER_TOOL: u32 = 30;

/// What the kernel says where it does not mount: EPERM, EACCES, EBUSY, ENODEV, EINVAL, ENOSYS, ELOOP. It says none of
/// them of a program that it does not run but EACCES.
const REFUSED_MOUNTS: [i32; 7] = [1, 13, 16, 19, 22, 38, 40];

/// Decides for each file that the server only read where it comes from.
struct Planned<'a> {
    manifest: &'a [FileEntry],
    options: &'a FileOptions,
    trusted: bool,
    attributes: BTreeMap<PathBuf, Attributes>,
    assets: Assets,
    roots: Roots,
    seen: BTreeSet<PathBuf>,
    plan: Plan,
    withheld: u64,
    /// Directories of files that would be laid over those here, were the directories the demo's or the user's.
    outside: BTreeSet<PathBuf>,
}

impl<'a> Planned<'a> {
    fn of<R: io::Read + io::Seek>(
        demo: &mut Demo<R>,
        manifest: &'a [FileEntry],
        options: &'a FileOptions,
        trusted: bool,
        limits: &Limits,
    ) -> Result<Planned<'a>, StateError> {
        let packed = trusted && !options.here && manifest.iter().any(|entry| entry.content.is_some());
        let attributes = if packed { state::file_attributes(demo, limits)? } else { BTreeMap::new() };
        let assets = Assets::below(if options.here { &[] } else { &options.assets }, manifest);
        let stated = state::state_directories(demo).into_iter().chain([regular::os(&demo.header().cwd).into()]);
        let roots = Roots::of(stated, &options.overlay);
        let (seen, plan, outside) = (BTreeSet::new(), Plan::default(), BTreeSet::new());
        Ok(Planned { manifest, options, trusted, attributes, assets, roots, seen, plan, withheld: 0, outside })
    }

    /// True when the file of this machine is no matter.
    fn take(&mut self, number: usize, path: &Path, differs: bool) -> bool {
        let entry = &self.manifest[number];
        let content = entry.content.and_then(|content| self.manifest.get(content as usize));
        if self.options.here {
            return false;
        }
        if !self.trusted {
            let is_had = differs && (content.is_some() || self.assets.find(entry).is_some());
            self.withheld += u64::from(is_had);
            return false;
        }
        let name = content.and_then(|content| overlay::archived_name(&manifest::path_of(content)));
        let Some(seen) = overlay::seen_as(path) else { return false };
        let found = name.and_then(|name| self.attributes.get(&name).copied().map(|attributes| (name, attributes)));
        let climbed = overlay::climbed(path).into_iter().filter(|path| !path.is_dir()).collect::<Vec<_>>();
        if !self.roots.hold(&seen, true) || !climbed.iter().all(|path| self.roots.hold(path, false)) {
            if differs && (found.is_some() || self.assets.find(entry).is_some()) {
                self.outside.extend(seen.parent().map(Path::to_owned));
            }
            return false;
        }
        if let Some((name, attributes)) = found {
            // Web servers tell when a file was changed, others look at who may read it.
            if (differs || !attributes.are_those_of(path)) && self.seen.insert(seen.clone()) {
                self.plan.packed.entry(name).or_default().push(seen);
                self.plan.bytes += entry.size_bytes;
                self.plan.directories.extend(climbed);
            }
            return true;
        }
        // Looking for one reads whatever has its size.
        let Some(asset) = differs.then(|| self.assets.find(entry)).flatten() else { return false };
        if self.seen.insert(seen.clone()) {
            self.plan.assets.push((asset.to_owned(), seen));
            self.plan.directories.extend(climbed);
        }
        true
    }
}

/// Guard, so that remains of killed replays are looked for once.
static SWEPT: Once = Once::new();

/// Replays a demo as often as `options` says and compares the replays. `progress` is called a few times a second.
///
/// # Errors
/// [`ReplayError`] when nothing could be run; a build that diverges is no error.
pub fn replay(options: &ReplayOptions, progress: &mut dyn FnMut(Progress)) -> Result<ReplayReport, ReplayError> {
    Replayer::open(options)?.replay(progress)
}

/// A demo laid out for one build. Laying it out takes longer than many a replay, so who replays
/// again and again keeps this.
pub struct Replayer<'a> {
    options: &'a ReplayOptions,
    demo: Demo<BufReader<File>>,
    tape: Arc<Tape>,
    build: Build,
    /// Replays side by side share it: another copy lies in other pages, and frames differ by what their caches make of that.
    libraries: Arc<Libraries>,
    nowhere: File,
    demo_inode: u64,
    files: ReadFiles,
    warnings: Vec<Warning>,
    /// Recorded variables that the build does not get.
    withheld: Withheld,
    /// Reasons why the result would mean little.
    reasons: Vec<WeakReason>,
    surroundings: Surroundings,
}

/// Files that the recorded server only read: where the build finds them.
struct ReadFiles {
    /// Files of the recording that are not here.
    missing: Option<FilesLacking>,
    /// Files of the demo and others that are mounted over those here.
    plan: Plan,
    /// Files that the demo has and that differ here, where it is not trusted.
    withheld: u64,
    /// Directories of files that it has, that differ here, and that lie neither below its directories nor the user's.
    outside: Vec<String>,
}

impl<'a> Replayer<'a> {
    /// Reads the demo and finds the build.
    ///
    /// # Errors
    /// As [`replay`].
    pub fn open(options: &'a ReplayOptions) -> Result<Replayer<'a>, ReplayError> {
        Replayer::open_at(options, None)
    }

    /// The same, with a place at which replays stop for a debugger.
    fn open_at(options: &'a ReplayOptions, plan: Option<StopPlan>) -> Result<Replayer<'a>, ReplayError> {
        Replayer::with(options, |demo, file, program| {
            let in_system = |error| ReplayError::System { program: program.path.display().to_string(), error };
            let tape = Tape::of(
                demo,
                file,
                options.under.room(program, options.limits.memory_bytes),
                options.stop.as_deref(),
                plan,
            );
            let tape = Arc::new(tape.map_err(|error| match error {
                TapeError::Interrupted => ReplayError::Interrupted,
                error => ReplayError::Tape(error),
            })?);
            Ok((tape, Arc::new(Libraries::in_memory().map_err(in_system)?)))
        })
    }

    /// Another build on the same demo, which is laid out only once. `options` may differ in all but the demo.
    ///
    /// # Errors
    /// As [`replay`].
    pub fn beside(&self, options: &'a ReplayOptions) -> Result<Replayer<'a>, ReplayError> {
        Replayer::with(options, |_, _, _| Ok((Arc::clone(&self.tape), Arc::clone(&self.libraries))))
    }

    fn with(
        options: &'a ReplayOptions,
        lay_out: impl FnOnce(&mut Demo<BufReader<File>>, File, &Program) -> Result<(Arc<Tape>, Arc<Libraries>), ReplayError>,
    ) -> Result<Replayer<'a>, ReplayError> {
        let file = File::open(&options.demo).map_err(DemoError::Io)?;
        let listed = file.try_clone().map_err(DemoError::Io)?;
        let demo_inode = file.metadata().map_err(DemoError::Io)?.ino();
        let mut demo = Demo::open(BufReader::with_capacity(1 << 20, file))?;
        if let Some(cut) = demo.truncation().filter(|_| !options.accept.truncated) {
            return Err(ReplayError::Truncated(cut.clone()));
        }
        let header = demo.header();
        let build = !options.command.is_empty();
        // To tell an own demo from a trusted one takes reading it, which only the working directory is worth.
        let origin = if options.trust.trusted { Origin::Trusted } else { origin(&options.demo, &listed) };
        let trusted = origin.is_trusted();
        if let Some(privilege) = Privilege::of(header, build).filter(|_| !trusted) {
            return Err(ReplayError::NotTrusted(privilege));
        }
        let command: Vec<OsString> = match build {
            false => header.argv.iter().map(|argument| regular::os(argument)).collect(),
            true => options.command.clone(),
        };
        let mut warnings = Vec::new();
        let Environment { variables: environment, search, withheld: variables_withheld } =
            Environment::of(header, options, origin, &mut warnings);
        let inheritance = Inheritance::of(header);
        let inheritance = if trusted { inheritance } else { inheritance.restricted() };
        warnings.extend(inheritance.low_limits().into_iter().map(Warning::LowLimit));
        let cwd = PathBuf::from(regular::os(&header.cwd));
        if origin != Origin::Own && is_made_up(&cwd) && !is_own(&listed) {
            return Err(ReplayError::WorkingDirectory(cwd));
        }
        // A build given on the command line is looked for from where the person is.
        let here = if build { std::env::current_dir().unwrap_or_default() } else { cwd.clone() };
        let program = Program::find(&command, &here, search.as_deref())?;
        let tool = match options.under.command.is_empty() {
            true => None,
            false => {
                let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
                Some(Tool::of(&options.under.command, &program, &command, &cwd, path)?)
            }
        };
        let found = program.architecture.name();
        if is_known_other(&header.architecture, found) && !options.accept.other_architecture {
            let (program, recorded) = (program.path.display().to_string(), header.architecture.clone());
            return Err(ReplayError::OtherArchitecture { program, found, recorded });
        }

        let mut reasons = Vec::new();
        let reasons_to_fill = if options.accept.other_machine { None } else { Some(&mut reasons) };
        let mut surroundings = examine_surroundings(&demo, found, &mut warnings, reasons_to_fill);
        surroundings.command_given = build;
        surroundings.recorded_build = is_recorded(demo.header(), &program, &command);
        let (tape, libraries) = lay_out(&mut demo, listed, &program)?;
        let manifest = demo.trailer().map(|trailer| trailer.files.clone()).unwrap_or_default();
        let mut planned = Planned::of(&mut demo, &manifest, &options.files, trusted, &options.limits)?;
        let differences = manifest::differences(&manifest, |number, path, differs| planned.take(number, path, differs));
        let Planned { mut plan, withheld, outside, .. } = planned;
        let outside = outside.iter().map(|path| path.display().to_string()).collect();
        if !cwd.is_dir() {
            plan.directories.push(cwd.clone());
        }
        let missing = FilesLacking::of(&differences.missing, Lack::NotThere)
            .or_else(|| FilesLacking::of(&differences.not_regular, Lack::NotRegular));
        surroundings.changed = differences.changed.clone();
        surroundings.missed = tape.uncovered.clone();
        surroundings.files = manifest.iter().map(|file| String::from_utf8_lossy(&file.path).into_owned()).collect();
        let notes = demo.trailer().map(|trailer| trailer.notes.as_slice()).unwrap_or_default();
        surroundings.notes = notes.iter().filter(|note| !tape.uncovered.contains(note)).cloned().collect();
        for changed in differences.changed {
            warnings.push(Warning::Changed(changed.clone()));
            if !options.accept.other_machine {
                reasons.push(WeakReason::Changed(changed));
            }
        }
        reasons.extend(tape.uncovered.iter().cloned().map(WeakReason::Missed));
        let in_system = |error| ReplayError::System { program: program.path.display().to_string(), error };
        let nowhere = File::options().write(true).open("/dev/null").map_err(in_system)?;
        Ok(Replayer {
            options,
            demo,
            tape,
            build: Build { command, environment, cwd, inheritance, program, tool },
            libraries,
            nowhere,
            demo_inode,
            files: ReadFiles { missing, plan, withheld, outside },
            warnings,
            withheld: variables_withheld,
            reasons,
            surroundings,
        })
    }

    /// What the server did in each frame of the process that replays time, from frame 0 on. Reads the whole demo.
    ///
    /// # Errors
    /// When a block cannot be read.
    pub fn frame_activity(&mut self) -> Result<Vec<FrameActivity>, ReplayError> {
        Ok(prony_demo::frame_activity(&mut self.demo)?)
    }

    /// Number of frames of the process that replays time. The first one, up to the server's first wait, has no time.
    pub fn frames(&self) -> u64 {
        self.tape.frames
    }

    /// Replays as often as the options say. `progress` is called a few times a second.
    ///
    /// # Errors
    /// As [`replay`].
    pub fn replay(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<ReplayReport, ReplayError> {
        self.replay_with(progress, None)
    }

    fn replay_with(
        &mut self,
        progress: &mut dyn FnMut(Progress),
        mut debugger: Option<&mut Debugger<'_>>,
    ) -> Result<ReplayReport, ReplayError> {
        let Replayer { options, demo, tape, build, .. } = self;
        let (program, cwd) = (&build.program, &build.cwd);
        let recorded_ns = demo.trailer().map_or(tape.recorded_ns, |trailer| trailer.duration_ns);
        let mut report = ReplayReport::before_replay(recorded_ns as f64 / 1e9);
        report.warnings = self.warnings.clone();
        let mut reasons = self.reasons.clone();
        let recorded_exit = demo.trailer().map_or(Exit::Cut, |trailer| trailer.exit);
        let withheld = self.withheld.dropped.iter().chain(&self.withheld.replaced);
        report.from_demo.variables_withheld = withheld.map(|name| Untrusted::new(name).to_string()).collect();
        report.from_demo.files_laid_over = self.files.plan.files() as u64;
        report.from_demo.files_withheld = self.files.withheld;
        report.from_demo.directories_outside = self.files.outside.clone();
        report.surroundings = self.surroundings.clone();
        if let Some(missing) = &self.files.missing {
            let detail = Detail::FilesLacking(missing.clone());
            report.divergence = Some(diverged::plain(DivergenceClass::MissingFile, Some(detail)));
            report.verdict = Verdict::Diverged;
            report.causes = cause::causes(&report);
            return Ok(report);
        }
        let excluded = demo.header().excluded_objects.clone();
        let sanitizers = SANITIZERS.iter().map(|name| name.as_bytes());
        let sanitizers = sanitizers.filter(|name| excluded.iter().all(|known| known != name));
        let excluded: Vec<&[u8]> = excluded.iter().map(Vec::as_slice).chain(sanitizers).collect();
        let unsearched = unsearched_names(demo, &program.path);
        let in_system = |error| ReplayError::System { program: program.path.display().to_string(), error };
        let printed = match options.explain && !options.show_output {
            true => Some(Printed::start().map_err(in_system)?),
            false => None,
        };
        let recorded_at = demo.header().recorded_at_unix_ns;
        let mut setup = Setup {
            build,
            excluded: &excluded,
            unsearched: &unsearched,
            libraries: &self.libraries,
            output: (!options.show_output).then(|| printed.as_ref().map_or(&self.nowhere, Printed::file)),
            explained: options.explain,
            under: &options.under,
            clock: ClockShift::from_now(recorded_at),
            demo_inode: self.demo_inode,
            tolerant: options.comparison.tolerance.is_some() || !options.comparison.decoder.is_empty(),
            watchdog: if build.tool.is_some() { options.watchdog * SLOWER_UNDER_TOOL } else { options.watchdog },
            stop: options.stop.as_deref(),
        };
        let restoring = RestoreOptions {
            in_place: &options.state.in_place,
            limits: options.limits,
            set_ids: options.state.set_ids,
            stop: options.stop.as_deref(),
        };
        SWEPT.call_once(scratch::sweep);
        Launched::adopt_orphans();
        for run in 1..=options.repeat {
            // Before the state is restored: its files count as changed when that is done.
            setup.clock = ClockShift::from_now(recorded_at);
            let state = Restored::from_demo(demo, &self.files.plan, restoring).map_err(|error| match error {
                StateError::Restore { error: LayoutError::Interrupted, .. }
                | StateError::Files(OverlayError::Layout(LayoutError::Interrupted)) => ReplayError::Interrupted,
                error => ReplayError::State(error),
            })?;
            if run == 1 && state.set_ids_taken > 0 {
                report.warnings.push(Warning::SetIdsTaken(state.set_ids_taken));
            }
            let mut show = |records| {
                progress(Progress::Replaying { run, runs: options.repeat, records, of: tape.records });
            };
            let _left = sockets::UnusedPaths::of(&tape.sockets, cwd);
            let began = SystemTime::now();
            let mut callbacks = Callbacks { progress: &mut show, debugger: debugger.as_deref_mut() };
            let outcome = run_once(&setup, tape, &state.mounts, &mut callbacks)
                .map_err(|broken| run_failed(broken, &program.path, !state.mounts.is_empty()))?;
            if !outcome.attached {
                return Err(not_attached(build));
            }
            add_outcome(&mut report, &outcome, &options.under, recorded_exit);
            if outcome.ended_by_tool {
                reasons.push(WeakReason::EndedByTool { records: outcome.counted.records, of: tape.records });
            }
            report.crashed_as_recorded = crash_as_recorded(demo, tape, &outcome);
            report.divergence = match report.crashed_as_recorded {
                Some(_) => None,
                None => divergence(demo, tape, &outcome)?,
            };
            let circumstances =
                Circumstances { cwd, demo_inode: self.demo_inode, recorded_for_ns: recorded_ns, replay_began: began };
            examine(&mut report, demo, &outcome, &circumstances)?;
            if setup.tolerant {
                judge(demo, options, &outcome.observed, &mut report)?;
            }
            if report.divergence.is_some() {
                break;
            }
        }
        report.verdict = verdict(&report, tape, reasons);
        report.causes = cause::causes(&report);
        report.printed = printed.map(Printed::last_lines).unwrap_or_default();
        Ok(report)
    }
}

/// What a build finds in its environment.
struct Environment {
    variables: Vec<(OsString, OsString)>,
    /// Where its program is looked for.
    search: Option<OsString>,
    /// What it does not get as it was recorded.
    withheld: Withheld,
}

impl Environment {
    fn of(header: &Header, options: &ReplayOptions, origin: Origin, warnings: &mut Vec<Warning>) -> Environment {
        let build = !options.command.is_empty();
        let mut withheld = Withheld::default();
        let mut variables: Vec<(OsString, OsString)> =
            header.environment.iter().map(|(name, value)| (regular::os(name), regular::os(value))).collect();
        // What the user sets is neither withheld nor as it was recorded.
        variables.retain(|(recorded, _)| options.environment.iter().all(|(name, _)| name != recorded));
        // A build of the user's own is found, and loads what it loads, as if the user had started it.
        let own = |name: &OsStr| std::env::var_os(name);
        let filter =
            Filter { origin, keep: &options.trust.keep_variables, own: &own, is_safe: &environment::is_safe_directory };
        // The command of a demo is its author's program already, and runs only for those who trust him.
        if build {
            withheld = filter.apply(&mut variables);
            warnings.extend(warnings_of(&withheld, origin));
        }
        let mut search = variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
        if build {
            search = own(OsStr::new("PATH"));
        }
        for (name, value) in &options.environment {
            if name == "PATH" {
                search = Some(value.clone());
            }
            variables.retain(|(other, _)| other != name);
            variables.push((name.clone(), value.clone()));
        }
        Environment { variables, search, withheld }
    }
}

/// Adds what is known of a divergence: failed calls, changed listings, the source of a number or of bytes.
fn examine(
    report: &mut ReplayReport,
    demo: &mut Demo<BufReader<File>>,
    outcome: &Outcome,
    circumstances: &Circumstances<'_>,
) -> Result<(), ReplayError> {
    let Some(found) = &report.divergence else { return Ok(()) };
    let Circumstances { cwd, demo_inode, recorded_for_ns, replay_began } = *circumstances;
    let place = RecordPosition { process: found.process, thread: found.thread, record: found.record };
    let (failures, all) = &outcome.failures;
    (report.evidence.failed_calls, report.evidence.unfailed_calls) = failures::compared(demo, failures, *all, &place)?;
    report.evidence.listings = listings::changed(demo, failures, cwd, demo_inode)?;
    report.evidence.passed = diverged::passed(demo, outcome)?;
    let times = Times {
        recorded_at_unix_ns: demo.header().recorded_at_unix_ns,
        recorded_for_ns,
        replay_began,
        cwd,
        files: &report.surroundings.files,
    };
    report.evidence.source = found.number().and_then(|change| unrecorded::source(&change, &times));
    report.evidence.traced = traced::source(found, &outcome.returned, &report.surroundings, cwd);
    let of_process = |thread: &&crate::channel::ThreadState| thread.leader == u32::from(found.process);
    report.evidence.threads = outcome.threads.iter().filter(of_process).count();
    Ok(())
}

/// The error of a replay that could not be carried out.
fn run_failed(broken: RunError, program: &Path, has_mounts: bool) -> ReplayError {
    let program = program.display().to_string();
    match broken {
        RunError::Interrupted => ReplayError::Interrupted,
        RunError::Debugger(error) => ReplayError::Debugger(error),
        RunError::Tape(error) => ReplayError::Tape(error),
        RunError::Channel(fault) => ReplayError::Channel { program, fault },
        RunError::System(error) => match error.raw_os_error() {
            Some(EBADF) => ReplayError::FewDescriptors,
            Some(number) if has_mounts && REFUSED_MOUNTS.contains(&number) => ReplayError::Mount(error),
            _ => ReplayError::System { program, error },
        },
    }
}

/// What a divergence is examined by, besides the demo and the outcome.
#[derive(Clone, Copy)]
struct Circumstances<'a> {
    cwd: &'a Path,
    demo_inode: u64,
    recorded_for_ns: u64,
    replay_began: SystemTime,
}

/// Where a demo comes from, that the user did not say to trust. A list that cannot be believed knows nothing.
fn origin(demo: &Path, file: &File) -> Origin {
    let is_listed = || TrustedDemos::of_user().is_some_and(|list| list.contains(demo, file).unwrap_or(false));
    match () {
        () if is_own(file) => Origin::Own,
        () if is_listed() => Origin::Trusted,
        () => Origin::Unknown,
    }
}

/// True for a demo that this user recorded here. Reads all of it.
fn is_own(demo: &File) -> bool {
    KnownDemos::of_user().and_then(|known| known.contains(demo)).unwrap_or(false)
}

/// True for a directory of the file systems that the kernel makes up, and for one that leads there: `/proc/self/cwd` is where
/// the reader is, and what lies in `/dev` is no file.
fn is_made_up(directory: &Path) -> bool {
    is_below_made_up(directory) || directory.canonicalize().is_ok_and(|real| is_below_made_up(&real))
}

/// Recorded variables that the build does not get.
fn warnings_of(withheld: &Withheld, origin: Origin) -> impl Iterator<Item = Warning> {
    let warning = |names: &[OsString], kind: fn(Vec<String>, Origin) -> Warning| {
        let names: Vec<String> = names.iter().map(|name| Untrusted::new(name).to_string()).collect();
        (!names.is_empty()).then(|| kind(names, origin))
    };
    let dropped = warning(&withheld.dropped, Warning::VariablesDropped);
    let replaced = warning(&withheld.replaced, Warning::VariablesReplaced);
    dropped.into_iter().chain(replaced)
}

/// True if this is the program that was recorded, with its arguments; `None` where that is unknown.
fn is_recorded(header: &Header, program: &Program, command: &[OsString]) -> Option<bool> {
    let arguments = |command: &[OsString]| command.iter().skip(1).cloned().collect::<Vec<_>>();
    let recorded: Vec<OsString> = header.argv.iter().map(|argument| regular::os(argument)).collect();
    if arguments(command) != arguments(&recorded) {
        return Some(false);
    }
    let known = !header.build_id.is_empty() && !program.build_id.is_empty();
    known.then(|| header.build_id == program.build_id)
}

/// Structures of calls are recorded as the server has them, so a build of another architecture takes them for something else.
fn is_known_other(recorded: &str, found: &str) -> bool {
    ["x86_64", "i386", "aarch64"].contains(&recorded) && recorded != found
}

/// File names of the objects that were not searched while they were recorded. The build stands for the recorded one,
/// whatever its name.
fn unsearched_names(demo: &Demo<BufReader<File>>, build: &Path) -> Vec<Vec<u8>> {
    let unsearched = demo.trailer().map(|trailer| trailer.unsearched.as_slice()).unwrap_or_default();
    let executable = &demo.header().executable;
    let paths = unsearched.iter().map(|path| Path::new(OsStr::from_bytes(path)));
    let build = unsearched.contains(executable).then_some(build);
    paths.chain(build).filter_map(|path| Some(path.file_name()?.as_bytes().to_vec())).collect()
}

/// Says what of this machine is not as it was. `here`: the architecture of the build.
fn examine_surroundings<R: io::Read + io::Seek>(
    demo: &Demo<R>,
    here: &'static str,
    warnings: &mut Vec<Warning>,
    reasons: Option<&mut Vec<WeakReason>>,
) -> Surroundings {
    let mut found = Surroundings::default();
    let header = demo.header();
    let lacking = flags_lacking(header);
    if header.architecture != here {
        found.processor = Some(ProcessorChange::Architecture { recorded: header.architecture.clone(), here });
    } else if !lacking.is_empty() {
        found.processor = Some(ProcessorChange::FlagsLacking(lacking));
    }
    if let Some(change) = &found.processor {
        warnings.push(Warning::Processor(change.clone()));
        reasons.into_iter().for_each(|reasons| reasons.push(WeakReason::Processor(change.clone())));
    }
    let Some(trailer) = demo.trailer() else { return found };
    for object in &trailer.objects {
        let path = PathBuf::from(regular::os(&object.path));
        // The same file may have been named by another path.
        let is_server = object.path == header.executable || object.build_id == header.build_id;
        if !is_server && !object.build_id.is_empty() && program::build_id(&path) != object.build_id {
            found.libraries.push(path.display().to_string());
            warnings.push(Warning::OtherLibrary(path));
        }
    }
    for file in trailer.files.iter().filter(|file| file.role == FileRole::Written) {
        let path = PathBuf::from(regular::os(&file.path));
        found.written.push(path.display().to_string());
        warnings.push(Warning::Written(path));
    }
    let others = trailer.files.iter().filter(|file| file.role == FileRole::WrittenByOthers);
    found.written_by_others = others.map(|file| PathBuf::from(regular::os(&file.path)).display().to_string()).collect();
    found
}

/// Adds what a run came to.
fn add_outcome(report: &mut ReplayReport, outcome: &Outcome, under: &ToolOptions, recorded: Exit) {
    report.frames = outcome.frames;
    report.counted = outcome.counted;
    report.events = outcome.events.clone();
    if !under.command.is_empty() {
        add_tool(report, &under.command, outcome, recorded);
    }
    if under.command.is_empty() || under.timed {
        add_times(report, outcome);
    }
}

/// Why the player did not start: the build ended before, or its tool did not start it.
fn not_attached(build: &Build) -> ReplayError {
    let program = build.program.path.display().to_string();
    match &build.tool {
        Some(tool) => {
            let tool = tool.command.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
            ReplayError::NotStarted { tool, program }
        }
        None => ReplayError::NotAttached(program),
    }
}

/// Adds what a tool came to. It has times of its own, and those of the server mean nothing.
fn add_tool(report: &mut ReplayReport, words: &[OsString], outcome: &Outcome, recorded: Exit) {
    let command = words.iter().map(|word| word.to_string_lossy().into_owned());
    let tool = report.tool.get_or_insert_with(|| ToolRun {
        command: command.collect(),
        exits: Vec::new(),
        recorded,
        calls: Vec::new(),
    });
    tool.exits.push(outcome.exit);
    tool.calls = outcome.calls.clone();
}

/// Adds the times of the build and of its frames.
fn add_times(report: &mut ReplayReport, outcome: &Outcome) {
    let (timing, times) = (&mut report.timing, &outcome.times);
    timing.wall_s.push(times.wall_s);
    timing.cpu_s.push(times.cpu_s);
    timing.frames_in_each = times.frames_in_each;
    timing.frame_start_ns.extend(times.frames.iter().map(|frame| frame.start_ns));
    timing.frame_wall_ns.extend(times.frames.iter().map(|frame| frame.wall_ns));
    timing.frame_cpu_ns.extend(times.frames.iter().map(|frame| frame.cpu_ns));
}

/// The signal that ended the build, where it is the one that ended the recorded server, and no record is left.
fn crash_as_recorded<R: io::Read + io::Seek>(demo: &Demo<R>, tape: &Tape, outcome: &Outcome) -> Option<i32> {
    let recorded = demo.trailer().map(|trailer| trailer.exit);
    let is_complete = outcome.counted.records == tape.records;
    outcome.ending.signal.filter(|&signal| is_complete && recorded == Some(Exit::Signal(signal)))
}

fn divergence<R: io::Read + io::Seek>(
    demo: &mut Demo<R>,
    tape: &Tape,
    outcome: &Outcome,
) -> Result<Option<Divergence>, DemoError> {
    let (records, of) = (outcome.counted.records, tape.records);
    Ok(match &outcome.ending {
        Ending { divergence: Some(facts), .. } => Some(diverged::from_player(demo, facts.clone())?),
        Ending { starved: Some(starved), .. } => Some(diverged::from_starved(demo, starved)?),
        Ending { signal: Some(signal), .. } => {
            let detail = Detail::Signal { signal: *signal, records, of };
            Some(diverged::at_last_call(demo, DivergenceClass::Crash, &outcome.threads, detail)?)
        }
        Ending { ended_early: Some(status), .. } => {
            let detail = Detail::Ended { status: *status, records, of };
            Some(diverged::at_last_call(demo, DivergenceClass::EarlyExit, &outcome.threads, detail)?)
        }
        _ => None,
    })
}

/// Compares the outputs by the rules. They may differ long before the build leaves its demo.
fn judge<R: io::Read + io::Seek>(
    demo: &mut Demo<R>,
    options: &ReplayOptions,
    observed: &[Observed],
    report: &mut ReplayReport,
) -> Result<(), ReplayError> {
    let none = Rules::default();
    let comparison = Comparison {
        rules: options.comparison.tolerance.as_ref().unwrap_or(&none),
        decoder: &options.comparison.decoder,
        patience: options.watchdog,
        stop: options.stop.as_deref(),
        end: report.divergence.as_ref().map(|found| (found.process, found.record)),
    };
    let (summary, unlike) = tolerated::judge(demo, &comparison, observed).map_err(|error| match error {
        JudgeError::Demo(error) => ReplayError::Demo(error),
        JudgeError::Decoder(DecoderError::Interrupted) => ReplayError::Interrupted,
        JudgeError::Decoder(error) => ReplayError::Decoder(error),
    })?;
    let sent = || observed.iter().filter(|output| output.kind == ObservedKind::Differs);
    report.counted.outputs += sent().count() as u64;
    report.counted.output_bytes += sent().map(|output| output.bytes.len() as u64).sum::<u64>();
    report.tolerance = Some(summary);
    match unlike {
        None => {}
        Some(Unlike::Bytes(output)) => report.divergence = Some(diverged::from_output(demo, output)?),
        Some(Unlike::Field(field)) => report.divergence = Some(diverged::from_field(demo, field)?),
    }
    Ok(())
}

/// This many verified bytes say something of a build, however often its loop turned meanwhile.
const ENOUGH_BYTES: u64 = 1000;
/// With fewer, a server that ran for longer than this many frames had hardly any work.
const FEW_FRAMES: u64 = 50;

/// True if this many verified bytes say little: fewer than enough, and than one a frame of a server that ran for long.
fn is_little(output_bytes: u64, frames: u64) -> bool {
    frames > FEW_FRAMES && output_bytes < ENOUGH_BYTES.min(frames)
}

fn verdict(report: &ReplayReport, tape: &Tape, mut reasons: Vec<WeakReason>) -> Verdict {
    if report.divergence.is_some() {
        return Verdict::Diverged;
    }
    let (output_bytes, frames) = (report.counted.output_bytes, report.frames);
    match output_bytes {
        0 if tape.output_bytes == 0 => reasons.push(WeakReason::NothingSent),
        0 => reasons.push(WeakReason::NothingVerified),
        _ if is_little(output_bytes, frames) => reasons.push(WeakReason::LittleVerified { output_bytes, frames }),
        _ => {}
    }
    match &report.tolerance {
        _ if !reasons.is_empty() => Verdict::Weak(reasons),
        Some(summary) if summary.has_differences() => Verdict::Tolerant,
        _ => Verdict::Identical,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_little_by_its_bytes_and_not_by_frames_that_sent_none() {
        for (output_bytes, frames) in [(108_280, 179_975), (1_000, 1_000_000), (999, 999), (35, 20), (4, 50)] {
            assert!(!is_little(output_bytes, frames), "{output_bytes} bytes over {frames} frames");
        }
        assert!(is_little(999, 1_000) && is_little(35, 101) && is_little(4, 72));
    }
}
