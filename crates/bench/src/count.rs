//! Instructions of builds on a demo: counted, not measured.
//!
//! A replay has no network, no timers and one order of threads, so it runs the same instructions each time. A tool for Valgrind counts
//! them by function. Several replays of each build show which counts repeat: what threads that wait, hashes of addresses and the like add is
//! the spread of a function, and a difference between builds counts from beyond the spreads of both.

mod calls;
mod events;
mod frames;
mod tool;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::iter;
use std::path::{Path, PathBuf};

use prony_machine::Interrupt;
use prony_machine::perf::PerfError;
use prony_machine::process::UserEvent;
use prony_profile::{CallgrindError, CountedFunction, CountedParts, FunctionCounts, SimulatedCounts};
use prony_replay::{
    CallCount, Collects, CountedEvent, EventCounts, ReplayError, ReplayOptions, ReplayReport, ToolOptions, Verdict,
};

use crate::demo::{Build, DemoSource};
use crate::randomization::PADDING;
pub use calls::{CallChange, CallComparison, CallTotals, Direction};
pub use events::{EventComparison, SIMULATED_CACHES, SimulatedCache};
pub use frames::{CountedFrame, CountedFrames, FrameChange, FrameComparison};
use tool::Tool;
pub use tool::{CountBy, Counter, NoTool};

/// A share of A's instructions below which there is no difference, unless the user sets another.
pub const SAME_WITHIN: f64 = 0.0001;

/// Name of the object that a command runs.
const PROGRAM: &str = "program";

/// A demo, builds, and how often each replays it.
#[derive(Debug, Clone)]
pub struct CountOptions {
    /// The demo that all builds replay.
    pub demo: DemoSource,
    /// The builds; the first is compared with each other one. Without a command it is the recorded one.
    pub builds: Vec<Build>,
    /// Replays of each build.
    pub replays: u32,
    /// Program file of the recorded server.
    pub recorded: PathBuf,
    /// Count each frame by itself, too.
    pub frames: bool,
    /// Simulate caches and a branch predictor, too.
    pub events: bool,
    /// Count what functions call with them, too.
    pub inclusive: bool,
    /// What counts. What simulates caches is always Callgrind.
    pub by: CountBy,
}

/// Instructions of all builds.
#[derive(Debug, Clone)]
pub struct CountReport {
    /// In the order of the options.
    pub builds: Vec<CountedBuild>,
    /// Frames of a replay.
    pub frames: u64,
    /// How they were counted.
    pub counter: Counter,
}

/// Instructions of one build, one for each of its replays.
#[derive(Debug, Clone)]
pub struct CountedBuild {
    /// Name of the build.
    pub name: String,
    /// Of the code of the program, which is the object `program`, and its libraries, without directories and versions.
    pub replays: Vec<FunctionCounts>,
    /// Instructions of code that is not counted, in the first replay: prony's library, the loader, and code of no file.
    pub not_counted: u64,
    /// Hooked calls of the server by name, one list for each of its replays.
    pub calls: Vec<Vec<CallCount>>,
    /// Instructions of each function with all that it calls, one for each of its replays; empty where that was not requested. Callgrind's
    /// have what code that is not counted runs for a function, such as the loader.
    pub inclusive: Vec<FunctionCounts>,
    /// Each frame by itself, where that was requested and the demo has frames.
    pub frames: Option<CountedFrames>,
    /// Misses of simulated caches and mispredicted branches, one for each of its replays; empty where that was not requested.
    pub simulated: Vec<SimulatedCounts>,
    /// True if the stack of each of its replays was elsewhere, so that the spread of `simulated` has what addresses of the stack do.
    pub stack_moves: bool,
}

/// Least and greatest count of several replays. What varies is added: by waiting, by trying again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountRange {
    /// The least.
    pub min: u64,
    /// The greatest.
    pub max: u64,
}

/// A function in two builds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionChange {
    /// The function.
    pub function: CountedFunction,
    /// Instructions, or events, in A and in B.
    pub counts: [CountRange; 2],
}

/// What two builds differ by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountVerdict {
    /// No function differs.
    Equal,
    /// They differ by less than the spread of their replays, or than the limit.
    Same,
    /// B runs more instructions.
    More,
    /// B runs fewer.
    Fewer,
}

/// Instructions of two builds beside each other, or one event of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountComparison {
    /// Sums over all functions.
    pub totals: [CountRange; 2],
    /// Functions that differ by more than their spread, the largest difference first.
    pub differing: Vec<FunctionChange>,
    /// Functions whose count is not the same in all replays of one build, the largest spread first.
    pub varying: Vec<FunctionChange>,
}

/// Error of counting.
#[derive(Debug, thiserror::Error)]
pub enum CountError {
    /// A build cannot be replayed.
    #[error("cannot replay {} against `{name}`: {error}", demo.display())]
    Replay {
        /// Path of the demo.
        demo: PathBuf,
        /// Name of the build.
        name: String,
        /// Error of the replay.
        error: Box<ReplayError>,
    },
    /// A build left the recording: its instructions are those of other work.
    #[error("`{name}` diverged from {}", demo.display())]
    Diverged {
        /// Path of the demo.
        demo: PathBuf,
        /// Name of the build.
        name: String,
        /// What the replay found.
        report: Box<ReplayReport>,
    },
    /// What the tool wrote is not as expected.
    #[error("cannot read the counts of `{name}`: {error}")]
    Read {
        /// Name of the build.
        name: String,
        /// The line.
        error: CallgrindError,
    },
    /// The kernel does not count the event here.
    #[error("the kernel cannot count {}: {error}", event.name())]
    NoEvent {
        /// The event.
        event: UserEvent,
        /// Its reason.
        error: PerfError,
    },
    /// The kernel did not count the event all the time.
    #[error("the kernel did not count all {} of `{name}`: {error}", event.name())]
    EventLost {
        /// The event.
        event: UserEvent,
        /// Name of the build.
        name: String,
        /// The first error.
        error: io::Error,
    },
    /// The tool wrote nothing.
    #[error("nothing was counted of `{0}`")]
    Nothing(String),
    /// A directory for what the tool writes cannot be made or read.
    #[error("cannot keep counts in a temporary directory: {0}")]
    Directory(io::Error),
}

impl CountRange {
    fn over(counts: impl Iterator<Item = u64>) -> CountRange {
        let range = CountRange { min: u64::MAX, max: 0 };
        counts.fold(range, |range, count| CountRange { min: range.min.min(count), max: range.max.max(count) })
    }

    /// From the least to the greatest.
    pub fn spread(self) -> u64 {
        self.max.saturating_sub(self.min)
    }
}

impl FunctionChange {
    /// How many more B has, where both have their least.
    pub fn difference(&self) -> i64 {
        difference(self.counts)
    }

    fn spread(&self) -> u64 {
        widest(self.counts)
    }
}

fn widest(ranges: [CountRange; 2]) -> u64 {
    ranges.map(CountRange::spread).into_iter().max().unwrap_or_default()
}

fn difference([a, b]: [CountRange; 2]) -> i64 {
    i64::try_from(i128::from(b.min) - i128::from(a.min)).unwrap_or(i64::MAX)
}

impl CountComparison {
    /// Compares two builds.
    pub fn of(a: &CountedBuild, b: &CountedBuild) -> CountComparison {
        let replays = [a, b].map(|build| build.replays.iter().collect::<Vec<_>>());
        CountComparison::over(replays.each_ref().map(Vec::as_slice))
    }

    /// Compares what functions of two builds run with all that they call; `None` where that was not counted. A total says nothing there.
    pub fn inclusive(a: &CountedBuild, b: &CountedBuild) -> Option<CountComparison> {
        let replays = [a, b].map(|build| build.inclusive.iter().collect::<Vec<_>>());
        if replays.iter().any(Vec::is_empty) {
            return None;
        }
        let mut compared = CountComparison::over(replays.each_ref().map(Vec::as_slice));
        // Those on the path to what differs have its difference, each above what it calls.
        let order = |change: &FunctionChange| (change.difference().unsigned_abs(), change.counts[0].min);
        compared.differing.sort_by_key(|change| std::cmp::Reverse(order(change)));
        Some(compared)
    }

    /// Compares the counts of several replays of two builds.
    fn over(builds: [&[&FunctionCounts]; 2]) -> CountComparison {
        let all = builds.into_iter().flatten().flat_map(|counts| counts.functions()).map(|(function, _)| function);
        let functions: BTreeSet<&CountedFunction> = all.collect();
        let changes = functions.into_iter().map(|function| FunctionChange {
            function: function.clone(),
            counts: builds.map(|replays| CountRange::over(replays.iter().map(|counts| counts.of(function)))),
        });
        let changes: Vec<FunctionChange> = changes.collect();
        let is_known = |change: &&FunctionChange| change.function.is_known();
        let differs = |change: &&FunctionChange| change.difference().unsigned_abs() > change.spread();
        let mut differing: Vec<FunctionChange> = changes.iter().filter(is_known).filter(differs).cloned().collect();
        differing.sort_by_key(|change| std::cmp::Reverse(change.difference().unsigned_abs()));
        let mut varying: Vec<FunctionChange> =
            changes.into_iter().filter(|change| change.function.is_known() && change.spread() > 0).collect();
        varying.sort_by_key(|change| std::cmp::Reverse(change.spread()));
        let totals = builds.map(|replays| CountRange::over(replays.iter().map(|counts| counts.total())));
        CountComparison { totals, differing, varying }
    }

    /// How many more B has.
    pub fn difference(&self) -> i64 {
        difference(self.totals)
    }

    /// How far replays of one build differ, of the build of which they differ more.
    pub fn spread(&self) -> u64 {
        widest(self.totals)
    }

    /// The verdict; a share of A's total below `limit` is no difference.
    pub fn verdict(&self, limit: f64) -> CountVerdict {
        match self.difference() {
            0 if self.differing.is_empty() => CountVerdict::Equal,
            difference if difference.unsigned_abs() <= self.spread().max(self.least(limit)) => CountVerdict::Same,
            difference if difference > 0 => CountVerdict::More,
            _ => CountVerdict::Fewer,
        }
    }

    /// Functions that differ by more than their spread, and by more than the share `limit` of A's total.
    pub fn differing_above(&self, limit: f64) -> impl Iterator<Item = &FunctionChange> {
        let least = self.least(limit);
        self.differing.iter().filter(move |change| change.difference().unsigned_abs() > least)
    }

    fn least(&self, limit: f64) -> u64 {
        (limit * self.totals[0].min as f64) as u64
    }
}

/// Counts instructions, calls and events of all builds. `progress` gets the name of the build and the number of its replay before each.
///
/// # Errors
/// [`CountError`], of the first build that fails.
pub fn count(
    options: &CountOptions,
    interrupt: Option<&Interrupt>,
    progress: &mut dyn FnMut(&str, u32),
) -> Result<CountReport, CountError> {
    let recorded = fs::canonicalize(&options.recorded).ok();
    let programs = options.builds.iter().map(|build| match build.program() {
        Some(word) => program_file(word),
        None => recorded.clone(),
    });
    let programs: Vec<Option<PathBuf>> = programs.collect();
    // One that is not found is said to be so by its replay.
    let files: Vec<&Path> = programs.iter().map(|program| program.as_deref().unwrap_or(Path::new(""))).collect();
    let tool = match options.by {
        CountBy::Kernel(event) => Tool::kernel(event).map_err(|error| CountError::NoEvent { event, error })?,
        CountBy::Fastest if !options.events => Tool::build(&files),
        CountBy::Fastest | CountBy::Callgrind => Tool::callgrind(),
    };
    let mut report = CountReport { builds: Vec::new(), frames: 0, counter: tool.counter().clone() };
    for (build, program) in options.builds.iter().zip(&programs) {
        let mut counted = CountedBuild {
            name: build.name.clone(),
            replays: Vec::new(),
            not_counted: 0,
            calls: Vec::new(),
            inclusive: Vec::new(),
            frames: options.frames.then(CountedFrames::default),
            simulated: Vec::new(),
            stack_moves: options.events && options.replays > 1,
        };
        let one = OneBuild { options, tool: &tool, build, program: program.as_deref(), interrupt };
        for number in 1..=options.replays {
            progress(&build.name, number);
            let replayed = match counted.stack_moves.then(|| events::stack_shift_bytes(number)) {
                None => one.replay(None),
                Some(shift) => match one.replay(Some(shift)) {
                    // What it sends may depend on its environment, or on addresses of its stack.
                    Err(CountError::Diverged { .. }) => {
                        counted.stack_moves = false;
                        one.replay(None)
                    }
                    replayed => replayed,
                },
            };
            let (found, replay) = replayed?;
            counted.not_counted = if number == 1 { replay.not_counted } else { counted.not_counted };
            counted.replays.push(replay.counts);
            if let (Some(all), Some(frames)) = (&mut counted.frames, replay.frames) {
                all.add(frames);
            }
            counted.inclusive.extend(replay.inclusive);
            counted.simulated.extend(replay.simulated);
            let calls = found.tool.map(|tool| tool.calls).or(found.events.map(|events| events.calls));
            counted.calls.push(calls.unwrap_or_default());
            report.frames = found.frames;
        }
        report.builds.push(counted);
    }
    Ok(report)
}

/// True for the program and its libraries. The loader looks through prony's library too, and that has no file.
fn is_counted(object: &str) -> bool {
    let name = object.rsplit('/').next().unwrap_or(object);
    !(object == "???" || name.starts_with("ld-linux") || name.starts_with("vgpreload_"))
}

/// File of a program that a command names, behind all links.
pub(crate) fn program_file(word: &OsStr) -> Option<PathBuf> {
    let path = Path::new(word);
    if path.components().count() > 1 {
        return fs::canonicalize(path).ok();
    }
    let search = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&search).map(|directory| directory.join(path)).find(|path| path.is_file())?;
    fs::canonicalize(found).ok()
}

/// What an object is called in every build: the program has another path there, and libraries other directories and versions.
fn common_name(object: &str, program: Option<&Path>) -> String {
    if program == Some(Path::new(object)) {
        return PROGRAM.to_owned();
    }
    let name = object.rsplit('/').next().unwrap_or(object);
    name.find(".so").and_then(|at| name.get(..at + 3)).unwrap_or(name).to_owned()
}

/// A build that is to be replayed under the tool.
struct OneBuild<'a> {
    options: &'a CountOptions,
    tool: &'a Tool,
    build: &'a Build,
    /// File of its program, behind all links.
    program: Option<&'a Path>,
    interrupt: Option<&'a Interrupt>,
}

/// What was counted in a replay.
struct Replayed {
    counts: FunctionCounts,
    not_counted: u64,
    inclusive: Option<FunctionCounts>,
    frames: Option<CountedParts>,
    simulated: Option<SimulatedCounts>,
}

impl OneBuild<'_> {
    /// Replays once. `stack_shift_bytes`: how much larger the environment is made, which moves the stack.
    fn replay(&self, stack_shift_bytes: Option<usize>) -> Result<(ReplayReport, Replayed), CountError> {
        let OneBuild { options, tool, build, .. } = self;
        let directory = tempfile::tempdir().map_err(CountError::Directory)?;
        let padding = stack_shift_bytes.map(|bytes| (PADDING.into(), "x".repeat(bytes).into()));
        let replay = options.demo.replay(&build.command);
        let replay = ReplayOptions {
            under: self.tool_options(directory.path()),
            environment: replay.environment.into_iter().chain(padding).collect(),
            stop: self.interrupt.map(Interrupt::flag),
            ..replay
        };
        let (demo, name) = (&options.demo.path, &build.name);
        let report = prony_replay::replay(&replay, &mut |_| {}).map_err(|error| CountError::Replay {
            demo: demo.clone(),
            name: name.clone(),
            error: Box::new(error),
        })?;
        match report.verdict {
            Verdict::Diverged => {
                Err(CountError::Diverged { demo: demo.clone(), name: name.clone(), report: Box::new(report) })
            }
            _ => {
                let counted = match (&report.events, tool.event()) {
                    (Some(events), Some(event)) => self.of_event(event, events)?,
                    _ => self.read(directory.path())?,
                };
                Ok((report, counted))
            }
        }
    }

    /// What counts in a replay. A tool writes into `directory`.
    fn tool_options(&self, directory: &Path) -> ToolOptions {
        let OneBuild { options, tool, .. } = self;
        if let Some(event) = tool.event() {
            let (kind, config) = event.kind_and_config();
            let collects = Collects::Event(CountedEvent { kind, config });
            return ToolOptions { collects, ..ToolOptions::default() };
        }
        ToolOptions {
            command: tool.command(directory, options.inclusive).into_iter().chain(simulation(options)).collect(),
            collects: if options.frames { Collects::Frames } else { Collects::Server },
            timed: false,
            writes_to: Some(directory.to_owned()),
        }
    }

    /// Counts of an event of the kernel.
    fn of_event(&self, event: UserEvent, counted: &EventCounts) -> Result<Replayed, CountError> {
        if let Some(number) = counted.error {
            let error = io::Error::from_raw_os_error(number);
            return Err(CountError::EventLost { event, name: self.build.name.clone(), error });
        }
        let before = counted.before_frames;
        let behind = counted.of_process.saturating_sub(before).saturating_sub(counted.frames.iter().sum());
        let frames = iter::once(before).chain(counted.frames.iter().copied()).chain([behind]);
        Ok(Replayed {
            counts: CountedParts::of_all([counted.total]).sum(),
            not_counted: 0,
            inclusive: None,
            frames: (!counted.frames.is_empty()).then(|| CountedParts::of_all(frames)),
            simulated: None,
        })
    }

    /// Counts of all processes of a replay.
    fn read(&self, directory: &Path) -> Result<Replayed, CountError> {
        let name = &self.build.name;
        let inclusive = self.options.inclusive.then(FunctionCounts::default);
        let counts = FunctionCounts::default();
        let mut replay = Replayed { counts, not_counted: 0, inclusive, frames: None, simulated: None };
        for entry in fs::read_dir(directory).map_err(CountError::Directory)? {
            let bytes = entry.and_then(|entry| fs::read(entry.path())).map_err(CountError::Directory)?;
            // A process that ends by `exec` leaves its file empty.
            if bytes.is_empty() {
                continue;
            }
            let parts = CountedParts::read(&bytes).map_err(|error| CountError::Read { name: name.clone(), error })?;
            let all = parts.sum().total();
            let parts = parts.renamed(|CountedFunction { object, symbol }| {
                is_counted(&object).then(|| CountedFunction { object: common_name(&object, self.program), symbol })
            });
            let counts = parts.sum();
            replay.not_counted += all.saturating_sub(counts.total());
            replay.counts.add(counts);
            if let Some(inclusive) = &mut replay.inclusive {
                inclusive.add(parts.inclusive());
            }
            if let Some(simulated) = parts.simulated() {
                replay.simulated.get_or_insert_default().add(simulated);
            }
            // Frames are those of one process; each other one has one part.
            if parts.len() > 1 {
                replay.frames = Some(parts);
            }
        }
        match replay.counts.total() + replay.not_counted {
            0 => Err(CountError::Nothing(name.clone())),
            _ => Ok(replay),
        }
    }
}

/// Flags with which Callgrind simulates caches, if it is to.
fn simulation(options: &CountOptions) -> Vec<OsString> {
    if !options.events {
        return Vec::new();
    }
    let simulated = ["--cache-sim=yes", "--branch-sim=yes"].map(OsString::from).into_iter();
    simulated.chain(SIMULATED_CACHES.map(|cache| OsString::from(cache.flag()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(replays: &[&str]) -> CountedBuild {
        let read =
            |lines: &&str| FunctionCounts::read(format!("events: Ir\nob=/s\n{lines}").as_bytes()).expect("it is sound");
        CountedBuild {
            name: "s".to_owned(),
            replays: replays.iter().map(read).collect(),
            not_counted: 0,
            calls: Vec::new(),
            inclusive: Vec::new(),
            frames: None,
            simulated: Vec::new(),
            stack_moves: false,
        }
    }

    #[test]
    fn what_repeats_is_compared_to_the_last_instruction() {
        let a = build(&["fn=f\n1 100000\nfn=wait\n1 10\n", "fn=f\n1 100000\nfn=wait\n1 14\n"]);
        let b = build(&["fn=f\n1 100100\nfn=wait\n1 12\n", "fn=f\n1 100100\nfn=wait\n1 10\n"]);
        let compared = CountComparison::of(&a, &b);
        let [change] = compared.differing.as_slice() else { panic!("{compared:?}") };
        assert_eq!((change.function.symbol.as_str(), change.difference()), ("f", 100));
        let varying: Vec<&str> = compared.varying.iter().map(|change| change.function.symbol.as_str()).collect();
        assert_eq!(varying, ["wait"]);
        let limits = [0.0, 0.000_5, 0.002].map(|limit| compared.verdict(limit));
        assert_eq!(limits, [CountVerdict::More, CountVerdict::More, CountVerdict::Same]);
        assert_eq!(CountComparison::of(&b, &a).verdict(0.0), CountVerdict::Fewer);
        let own = CountComparison::of(&a, &a);
        assert_eq!((own.verdict(0.0), own.differing.len()), (CountVerdict::Equal, 0));
    }

    #[test]
    fn code_of_prony_and_of_the_loader_is_left_out() {
        let counted = ["/usr/bin/redis-server", "/lib/libc.so.6", "???", "/lib64/ld-linux-x86-64.so.2"].map(is_counted);
        assert_eq!(counted, [true, true, false, false]);
        let program = Some(Path::new("/new/server"));
        let names = ["/new/server", "/old/libx-2.so.1.3", "/bin/sh"].map(|object| common_name(object, program));
        assert_eq!(names, ["program", "libx-2.so", "sh"]);
        assert!(!is_counted("/usr/libexec/valgrind/vgpreload_core-amd64-linux.so"));
    }
}
