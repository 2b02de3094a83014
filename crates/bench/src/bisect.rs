//! Which commit made a demo diverge, its frames slower, or its instructions more: binary search over a history, with a build and replays at each
//! step.
//!
//! The search itself is [`prony_stats::bisection`]. Every step is in a log as soon as it is known, so a search that was
//! killed goes on where it was.

mod counting;
mod history;
mod log;
mod slowdown;
mod trees;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use prony_machine::Interrupt;
use prony_machine::own::{self, Lock, LockError, NotOurs, Ownership};
use prony_replay::{Divergence, ReplayError, ReplayOptions, ReplayReport, Replayer, Verdict};
use prony_stats::Interval;
use prony_stats::bisection::{Bisection, ErrorBudget, VersionState};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use counting::CountedChange;
pub(crate) use history::without_git_variables;
pub use history::{Commit, History, HistoryError};
pub use log::{LogError, Question};
pub use trees::{Built, TreeError, Trees};

use crate::command::{assignments, split_variables};
use crate::demo::DemoSource;
use crate::report::Event;
use log::Log;

/// What a commit may have made worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Regression {
    /// The build leaves the recording.
    Divergence,
    /// Its frames take longer.
    Slowdown,
    /// It runs more instructions.
    Instructions,
}

/// Options of a search.
#[derive(Debug, Clone)]
pub struct BisectOptions {
    /// The demo that every build replays.
    pub demo: DemoSource,
    /// Command that builds a commit, for `sh -c` in its tree.
    pub build: String,
    /// The server and its arguments. A program with a relative path, and `{tree}` in any word, are in the tree of a commit.
    pub command: Vec<OsString>,
    /// What is searched for; `None`: a divergence if the bad commit diverges, otherwise a slowdown.
    pub regression: Option<Regression>,
    /// Error probability of the whole search.
    pub alpha: f64,
    /// Slowdowns below this are none, nor are more instructions: a log ratio.
    pub margin: f64,
    /// Time limit of a comparison, in seconds.
    pub budget_s: f64,
    /// True if that time may be extended where replays take long.
    pub stretches: bool,
    /// Number of replays of the bad commit, which tell how often it diverges.
    pub replays: u32,
    /// Both replays of a pair run at once on this CPU, alternately.
    pub duet_cpu: Option<usize>,
    /// Seed for the order of replays.
    pub seed: u64,
    /// Facts of the machine, for the samples.
    pub machine: Value,
    /// Tuning of the machine, for the samples.
    pub tuning: Value,
}

/// Purpose of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Does the good commit replay the demo?
    GoodEnd,
    /// Is the bad commit bad, and in which way?
    BadEnd,
    /// A commit between both.
    Search,
    /// The commit that was found against the one before it.
    Effect,
}

/// A step of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Purpose of the step.
    pub purpose: Purpose,
    /// Position of the commit, from 0 for the good one.
    pub position: usize,
    /// Id of the commit.
    pub commit: String,
    /// Duration of the build in seconds; `None` if the commit was built before, or did not build.
    pub build_s: Option<f64>,
    /// What was found.
    #[serde(flatten)]
    pub found: Found,
}

/// What was found about a commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "found", rename_all = "snake_case")]
pub enum Found {
    /// The commit does not build.
    NotBuilt {
        /// Exit code or signal of the build.
        status: String,
    },
    /// The build cannot replay the demo, or not so that the question could be answered.
    NotReplayed {
        /// Reason, in a few words.
        why: String,
    },
    /// Every replay was identical.
    Identical {
        /// Number of replays.
        replays: u32,
        /// Number of bytes that the last of them verified.
        verified_bytes: u64,
    },
    /// Replays diverged.
    Diverged {
        /// Number of replays.
        replays: u32,
        /// Number of replays that diverged.
        diverged: u32,
        /// Number of the record at which the first of them did.
        record: u64,
        /// Frame of that record.
        frame: u64,
        /// Class and details of that divergence, in a few words.
        what: String,
    },
    /// Frames were compared with those of the good commit, or of the commit before.
    Compared {
        /// Log ratio of the times, with its interval; `None` without a pair.
        ratio: Option<Interval>,
        /// Log ratio that the commit was compared with.
        threshold: f64,
        /// Number of pairs of replays.
        pairs: usize,
        /// Duration of the comparison in seconds.
        elapsed_s: f64,
        /// True above the threshold, false below; `None` if undecided.
        above: Option<bool>,
    },
    /// Instructions were counted.
    Counted {
        /// Instructions of a replay, the least.
        instructions: u64,
        /// How far replays of the commit differ.
        spread: u64,
        /// What they were compared with: the middle between both ends, or those of the commit before; `None` of an end.
        threshold: Option<u64>,
        /// True above the threshold.
        above: Option<bool>,
        /// Functions that differ from the commit before, the largest difference first, of the commit that was found.
        functions: Vec<CountedChange>,
    },
}

/// Result of a search.
#[derive(Debug, Clone, PartialEq)]
pub enum Culprit {
    /// The commit at this position.
    Commit(usize),
    /// One of the commits at these positions: those before the last have no answer.
    OneOf(RangeInclusive<usize>),
    /// The bad commit is not worse than the good one.
    None,
    /// It is unknown whether the bad commit is worse.
    Undecided,
    /// A signal requested a stop before the end.
    Interrupted,
}

/// Results of a search: history, steps, culprit.
#[derive(Debug)]
pub struct BisectReport {
    /// The commits.
    pub history: History,
    /// What was searched for; `None` if the search ended before that was known.
    pub regression: Option<Regression>,
    /// Every step, in order.
    pub steps: Vec<Step>,
    /// Number of steps that an earlier search with the same question had done.
    pub resumed: usize,
    /// The commit that was found.
    pub culprit: Culprit,
    /// The log ratio between "unchanged" and "changed" in a search for a slowdown.
    pub threshold: Option<f64>,
    /// The error of the search, and its parts.
    pub budget: ErrorBudget,
    /// Trees that are kept: of the commit that was found and the one before it.
    pub trees: Vec<PathBuf>,
}

/// What happens while a search runs.
#[derive(Debug)]
pub enum Progress<'a> {
    /// The commits are known.
    Begun(&'a History),
    /// A commit is built.
    Building(&'a Commit),
    /// A commit replays the demo; how many times at most.
    Replaying(&'a Commit, u32),
    /// A commit is compared with another one.
    Comparing(&'a Commit, Event<'a>),
    /// A step is done, now or, where true, by an earlier search.
    Done(&'a Commit, &'a Step, bool),
}

/// Reasons why there is no search.
#[derive(Debug, thiserror::Error)]
pub enum BisectError {
    /// The history cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The directory of the search is not this user's own.
    #[error(transparent)]
    Directory(#[from] NotOurs),
    /// Another process searches in the directory.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The log cannot be used.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A tree cannot be made.
    #[error(transparent)]
    Tree(TreeError),
    /// The demo cannot be examined.
    #[error("{}: {error}", path.display())]
    Demo {
        /// Path of the demo.
        path: PathBuf,
        /// Error that the system returned.
        error: io::Error,
    },
    /// The command is the same program for every commit.
    #[error("`{0}` is the same program for every commit")]
    NotInTree(String),
    /// The good or the bad commit does not build.
    #[error("{which} commit {commit} does not build: {status}")]
    EndNotBuilt {
        /// `the good` or `the bad`.
        which: &'static str,
        /// Short id of the commit.
        commit: String,
        /// Exit code or signal of the build.
        status: String,
        /// The last lines that the build printed.
        printed: Vec<String>,
        /// File with all of them.
        log: PathBuf,
    },
    /// The good or the bad commit cannot replay the demo.
    #[error("{which} commit {commit} cannot replay the demo: {why}")]
    EndNotReplayed {
        /// `the good` or `the bad`.
        which: &'static str,
        /// Short id of the commit.
        commit: String,
        /// Reason, in a few words.
        why: String,
    },
    /// The good commit diverges.
    #[error("the good commit {commit} diverges from the demo: {what}")]
    GoodDiverges {
        /// Short id of the commit.
        commit: String,
        /// Class and details of the divergence.
        what: String,
    },
    /// The bad commit diverges where a slowdown is searched for.
    #[error("the bad commit {commit} diverges from the demo: {what}")]
    BadDiverges {
        /// Short id of the commit.
        commit: String,
        /// Class and details of the divergence.
        what: String,
    },
}

/// Reasons why a search ends early.
enum Stop {
    Interrupted,
    Error(BisectError),
}

impl From<BisectError> for Stop {
    fn from(error: BisectError) -> Stop {
        Stop::Error(error)
    }
}

impl From<LogError> for Stop {
    fn from(error: LogError) -> Stop {
        Stop::Error(BisectError::Log(error))
    }
}

impl From<TreeError> for Stop {
    fn from(error: TreeError) -> Stop {
        match error {
            TreeError::Interrupted => Stop::Interrupted,
            error => Stop::Error(BisectError::Tree(error)),
        }
    }
}

/// A directory whose name depends on the question alone, so that the same question finds its earlier steps.
pub fn directory_of(cache: &Path, question: &Question) -> PathBuf {
    let parts = [&question.good, &question.bad, &question.demo, &question.build].map(String::as_bytes);
    let words = question.command.iter().map(|word| word.as_bytes());
    // FNV-1a (Fowler, Noll & Vo): names a directory; the log in it has the whole question.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.into_iter().chain(words).flat_map(|part| part.iter().chain(&[0])) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    cache.join(format!("{hash:016x}"))
}

/// The question that a search with these options answers.
///
/// # Errors
/// [`BisectError::Demo`] if the demo cannot be examined.
pub fn question(options: &BisectOptions, history: &History) -> Result<Question, BisectError> {
    let path = &options.demo.path;
    let demo_error = |error| BisectError::Demo { path: path.clone(), error };
    let demo = path.canonicalize().map_err(demo_error)?;
    let facts = fs::metadata(&demo).map_err(demo_error)?;
    let id = |position: usize| history.commits.get(position).map(|commit| commit.id.clone()).unwrap_or_default();
    let seconds = u64::try_from(facts.mtime()).unwrap_or(0);
    Ok(Question {
        good: id(0),
        bad: id(history.last()),
        demo: demo.to_string_lossy().into_owned(),
        demo_bytes: facts.len(),
        demo_modified_ns: seconds * 1_000_000_000 + u64::try_from(facts.mtime_nsec()).unwrap_or(0),
        build: options.build.clone(),
        command: options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        regression: options.regression,
        alpha: options.alpha,
        margin: options.margin,
        replays: options.replays,
    })
}

/// Searches `history` for the commit that made the demo diverge, or its frames slower.
///
/// `directory`: the search's own, made if need be; trees, builds, samples and the log lie in it. `describe`: class and details
/// of a divergence in a few words.
///
/// # Errors
/// [`BisectError`] when the ends do not allow a search, or something fails. What was done before is in the log.
pub fn bisect(
    options: &BisectOptions,
    history: History,
    directory: &Path,
    interrupt: Option<&Interrupt>,
    describe: &dyn Fn(&Divergence) -> String,
    progress: &mut dyn FnMut(Progress),
) -> Result<BisectReport, BisectError> {
    if !is_in_tree(&options.command) {
        let program = split_variables(&options.command).1.first().map(|word| word.to_string_lossy().into_owned());
        return Err(BisectError::NotInTree(program.unwrap_or_default()));
    }
    let question = question(options, &history)?;
    own::make_directory(directory, 0o700)?;
    // Whatever the builds make of their directories, no other search is here.
    let _lock = Lock::take(&directory.join("lock"), Ownership::Ours)?;
    let directory = &directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let log = Log::open(directory, &question)?;
    progress(Progress::Begun(&history));
    let trees = match Trees::open(directory, &history, &options.build) {
        Ok(trees) => trees,
        Err(error) => return Err(BisectError::Tree(error)),
    };
    let budget = ErrorBudget::new(options.alpha, history.last());
    let mut run = Run {
        options,
        history: &history,
        directory,
        trees,
        log,
        steps: Vec::new(),
        resumed: 0,
        budget,
        regression: options.regression,
        threshold: None,
        interrupt,
        describe,
        progress,
    };
    let culprit = match run.search() {
        Ok(culprit) => culprit,
        Err(Stop::Interrupted) => Culprit::Interrupted,
        Err(Stop::Error(error)) => return Err(error),
    };
    let trees = if culprit == Culprit::Interrupted { Vec::new() } else { run.tidy(&culprit) };
    let Run { steps, resumed, regression, threshold, .. } = run;
    Ok(BisectReport { history, regression, steps, resumed, culprit, threshold, budget, trees })
}

/// True if another commit means another program: a relative path, or `{tree}` somewhere.
fn is_in_tree(command: &[OsString]) -> bool {
    let relative = |word: &OsString| Path::new(word).is_relative() && word.to_string_lossy().contains('/');
    split_variables(command).1.first().is_some_and(relative)
        || command.iter().any(|word| word.to_string_lossy().contains("{tree}"))
}

struct Run<'a> {
    options: &'a BisectOptions,
    history: &'a History,
    directory: &'a Path,
    trees: Trees,
    log: Log,
    steps: Vec<Step>,
    resumed: usize,
    budget: ErrorBudget,
    regression: Option<Regression>,
    threshold: Option<f64>,
    interrupt: Option<&'a Interrupt>,
    describe: &'a dyn Fn(&Divergence) -> String,
    progress: &'a mut dyn FnMut(Progress),
}

impl<'a> Run<'a> {
    fn search(&mut self) -> Result<Culprit, Stop> {
        let last = self.history.last();
        self.good_end(1)?;
        match (self.bad_end()?, self.regression) {
            (Some(divergence), None | Some(Regression::Divergence)) => {
                self.regression = Some(Regression::Divergence);
                let replays = self.budget.replays_needed(divergence, self.options.replays).unwrap_or(1);
                self.good_end(replays)?;
                let found = self.walk(|run, at| run.step(Purpose::Search, at, |run| run.replay(at, replays, false)))?;
                Ok(culprit(&found))
            }
            (Some(_), Some(Regression::Slowdown | Regression::Instructions)) => {
                let what = match self.steps.last().map(|step| &step.found) {
                    Some(Found::Diverged { what, .. }) => what.clone(),
                    _ => String::new(),
                };
                Err(BisectError::BadDiverges { commit: self.short(last), what }.into())
            }
            (None, Some(Regression::Divergence)) => Ok(Culprit::None),
            (None, Some(Regression::Instructions)) => self.more_instructions(),
            (None, _) => self.slowdown(),
        }
    }

    /// Asks one commit after the other until no question, or no part of the error, is left.
    fn walk(&mut self, mut ask: impl FnMut(&mut Run<'a>, usize) -> Result<Step, Stop>) -> Result<Bisection, Stop> {
        let mut search = Bisection::new(self.history.last());
        // One was about an end: that the good one never diverges, or that the bad one is slower.
        let mut questions = 1;
        while let Some(position) = search.next() {
            if questions >= self.budget.questions {
                break;
            }
            let answer = match ask(self, position)?.found {
                Found::NotBuilt { .. } | Found::NotReplayed { .. } => VersionState::Unknown,
                Found::Identical { .. } => {
                    questions += 1;
                    VersionState::Unchanged
                }
                Found::Diverged { .. } => VersionState::Changed,
                Found::Compared { above, .. } => {
                    questions += 1;
                    match above {
                        Some(true) => VersionState::Changed,
                        Some(false) => VersionState::Unchanged,
                        None => VersionState::Unknown,
                    }
                }
                Found::Counted { above: Some(true), .. } => VersionState::Changed,
                Found::Counted { .. } => VersionState::Unchanged,
            };
            search.tell(position, answer);
        }
        Ok(search)
    }

    fn good_end(&mut self, replays: u32) -> Result<(), Stop> {
        let step = self.step(Purpose::GoodEnd, 0, |run| run.replay(0, replays, false))?;
        let commit = self.short(0);
        match step.found {
            Found::Identical { .. } | Found::Compared { .. } | Found::Counted { .. } => Ok(()),
            Found::Diverged { what, .. } => Err(BisectError::GoodDiverges { commit, what }.into()),
            Found::NotBuilt { status } => Err(self.not_built("the good", 0, status)),
            Found::NotReplayed { why } => Err(BisectError::EndNotReplayed { which: "the good", commit, why }.into()),
        }
    }

    /// Number of replays of the bad commit that diverged; `None` if none did.
    fn bad_end(&mut self) -> Result<Option<u32>, Stop> {
        let last = self.history.last();
        // How often it diverges matters only to a search for that.
        let is_of_divergence = matches!(self.regression, None | Some(Regression::Divergence));
        let replays = if is_of_divergence { self.options.replays } else { 1 };
        let step = self.step(Purpose::BadEnd, last, |run| run.replay(last, replays, true))?;
        match step.found {
            Found::Diverged { diverged, .. } => Ok(Some(diverged)),
            Found::Identical { .. } | Found::Compared { .. } | Found::Counted { .. } => Ok(None),
            Found::NotBuilt { status } => Err(self.not_built("the bad", last, status)),
            Found::NotReplayed { why } => {
                Err(BisectError::EndNotReplayed { which: "the bad", commit: self.short(last), why }.into())
            }
        }
    }

    fn not_built(&self, which: &'static str, position: usize, status: String) -> Stop {
        let commit = &self.history.commits[position];
        let (printed, log) = (self.trees.printed(commit), self.trees.log(commit));
        Stop::Error(BisectError::EndNotBuilt { which, commit: self.short(position), status, printed, log })
    }

    fn short(&self, position: usize) -> String {
        self.history.commits.get(position).map(|commit| commit.short().to_owned()).unwrap_or_default()
    }

    /// A step: from the log, or built and then found by `find`.
    fn step(
        &mut self,
        purpose: Purpose,
        position: usize,
        find: impl FnOnce(&mut Run<'a>) -> Result<Found, Stop>,
    ) -> Result<Step, Stop> {
        let commit = &self.history.commits[position];
        let earlier = self.log.take(purpose, position);
        let resumed = earlier.is_some();
        let step = match earlier {
            Some(step) => step,
            None => {
                let built = self.built(position)?;
                let (build_s, found) = match built {
                    Built::No(status) => (None, Found::NotBuilt { status }),
                    Built::Yes(build_s) => (build_s, find(self)?),
                };
                let step = Step { purpose, position, commit: commit.id.clone(), build_s, found };
                self.log.push(&step)?;
                step
            }
        };
        self.resumed += usize::from(resumed);
        (self.progress)(Progress::Done(commit, &step, resumed));
        self.steps.push(step.clone());
        Ok(step)
    }

    fn built(&mut self, position: usize) -> Result<Built, Stop> {
        let commit = &self.history.commits[position];
        if self.interrupt.is_some_and(Interrupt::is_requested) {
            return Err(Stop::Interrupted);
        }
        (self.progress)(Progress::Building(commit));
        match self.trees.build(commit, self.interrupt) {
            // Ctrl-C reaches a `git` as well.
            Err(_) if self.interrupt.is_some_and(Interrupt::is_requested) => Err(Stop::Interrupted),
            built => Ok(built?),
        }
    }

    /// The command of a commit: its program, and `{tree}`, in its own tree.
    fn command(&self, position: usize) -> Vec<OsString> {
        command_in(&self.trees.directory(&self.history.commits[position]), &self.options.command)
    }

    fn replay_options(&self, position: usize) -> ReplayOptions {
        ReplayOptions { stop: self.interrupt.map(Interrupt::flag), ..self.options.demo.replay(&self.command(position)) }
    }

    /// Replays the demo up to `replays` times; `all`: also after one that diverged.
    fn replay(&mut self, position: usize, replays: u32, all: bool) -> Result<Found, Stop> {
        (self.progress)(Progress::Replaying(&self.history.commits[position], replays));
        let options = self.replay_options(position);
        let mut replayer = match Replayer::open(&options) {
            Ok(replayer) => replayer,
            Err(error) => return not_replayed(&error),
        };
        let (mut done, mut diverged, mut verified_bytes) = (0, 0, 0);
        let mut first: Option<ReplayReport> = None;
        while done < replays && (all || diverged == 0) {
            if self.interrupt.is_some_and(Interrupt::is_requested) {
                return Err(Stop::Interrupted);
            }
            let report = match replayer.replay(&mut |_| ()) {
                Ok(report) => report,
                Err(error) => return not_replayed(&error),
            };
            done += 1;
            verified_bytes = report.counted.output_bytes;
            if report.verdict == Verdict::Diverged {
                diverged += 1;
                first.get_or_insert(report);
            }
        }
        Ok(match first.and_then(|report| report.divergence) {
            None => Found::Identical { replays: done, verified_bytes },
            Some(divergence) => Found::Diverged {
                replays: done,
                diverged,
                record: divergence.record,
                frame: divergence.frame,
                what: (self.describe)(&divergence),
            },
        })
    }

    /// Removes all trees but those at the border; these are returned.
    fn tidy(&mut self, culprit: &Culprit) -> Vec<PathBuf> {
        let kept = match culprit {
            Culprit::Commit(at) => *at - 1..=*at,
            Culprit::OneOf(range) => range.start() - 1..=*range.end(),
            _ => 0..=self.history.last(),
        };
        for (position, commit) in self.history.commits.iter().enumerate() {
            let tree = self.trees.root(commit);
            if tree.exists() && !kept.contains(&position) {
                // One that cannot be removed only takes space.
                let _ = self.trees.remove(commit);
            }
        }
        let trees = kept.map(|position| self.trees.root(&self.history.commits[position]));
        trees.filter(|tree| tree.exists()).collect()
    }
}

fn culprit(search: &Bisection) -> Culprit {
    let candidates = search.candidates();
    if candidates.start() == candidates.end() { Culprit::Commit(*candidates.end()) } else { Culprit::OneOf(candidates) }
}

fn not_replayed(error: &ReplayError) -> Result<Found, Stop> {
    match error {
        ReplayError::Interrupted => Err(Stop::Interrupted),
        error => Ok(Found::NotReplayed { why: error.to_string() }),
    }
}

fn in_words(found: &Found) -> String {
    match found {
        Found::NotReplayed { why } => why.clone(),
        Found::NotBuilt { status } => status.clone(),
        _ => String::new(),
    }
}

fn command_in(directory: &Path, command: &[OsString]) -> Vec<OsString> {
    let tree = directory.to_string_lossy();
    let mut words: Vec<OsString> = command
        .iter()
        .map(|word| match word.to_str() {
            Some(text) if text.contains("{tree}") => OsString::from(text.replace("{tree}", &tree)),
            _ => word.clone(),
        })
        .collect();
    let place = assignments(&words);
    if let Some(program) = words.get_mut(place)
        && Path::new(program).is_relative()
        && program.to_string_lossy().contains('/')
    {
        let path = Path::new(program);
        *program = directory.join(path.strip_prefix(".").unwrap_or(path)).into_os_string();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_command_is_that_of_the_commit() {
        let tree = Path::new("/scratch/trees/0123456789ab/server");
        let of = |text: &str| command_in(tree, &words(text));
        assert_eq!(
            of("./build/server +map ./dm1"),
            words("/scratch/trees/0123456789ab/server/build/server +map ./dm1")
        );
        assert_eq!(of("build/server"), words("/scratch/trees/0123456789ab/server/build/server"));
        assert_eq!(of("A=b/c build/server"), words("A=b/c /scratch/trees/0123456789ab/server/build/server"));
        assert_eq!(of("python3 {tree}/server.py"), words("python3 /scratch/trees/0123456789ab/server/server.py"));
    }

    #[test]
    fn a_program_outside_of_the_tree_is_the_same_for_every_commit() {
        for text in ["./server", "build/server -v", "python3 {tree}/server.py"] {
            assert!(is_in_tree(&words(text)), "{text}");
        }
        for text in ["server", "/usr/games/teeworlds-server", "python3 server.py"] {
            assert!(!is_in_tree(&words(text)), "{text}");
        }
    }
}
