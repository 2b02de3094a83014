//! `prony bisect`: finds the commit that made a demo diverge, or its frames slower.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use prony_bench::bisect::{
    BisectError, BisectOptions, BisectReport, Culprit, Found, History, HistoryError, LogError, Progress, Regression,
    TreeError, directory_of, question,
};
use prony_bench::{DemoSource, Event, duet_cpu};
use prony_machine::own::LockError;
use prony_machine::{Interrupt, Tree};
use prony_replay::ComparisonOptions;
use prony_report::{json, text};
use prony_text::count;

use crate::cli::{BisectArgs, FindName, SearchedMetric};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::numbers::random;
use crate::output;
use crate::progress::ProgressLine;
use crate::trust;

/// Time limit of a comparison unless the user sets one: smaller levels than those of one bench need more pairs.
const COMPARISON: Duration = Duration::from_secs(60);
/// Interval between two updates of the line.
const SHOW_EVERY: Duration = Duration::from_millis(200);

/// Searches, answers and says how it went.
///
/// # Errors
/// What kept it from running, an end of the history that does not build among it.
pub fn run(args: &BisectArgs) -> Result<Exit, Failure> {
    let opened = crate::demo::open_quietly("replay", &args.demo)?;
    let place = match &args.repository {
        Some(place) => place.clone(),
        None => env::current_dir().map_err(|error| Failure::io("find", Path::new("."), &error))?,
    };
    let history = History::read(&place, &args.good, &args.bad).map_err(|error| failure(args, error.into()))?;
    let options = options(args, trust::of(&args.demo, opened.header(), true, &args.trust)?)?;
    drop(opened);
    let question = question(&options, &history).map_err(|error| failure(args, error))?;
    let directory = match &args.dir {
        Some(directory) => std::path::absolute(directory).map_err(|error| Failure::io("find", directory, &error))?,
        None => directory_of(&cache()?.join("prony/bisect"), &question),
    };
    if let Some(root) = history.root.as_ref().filter(|root| directory.starts_with(root)) {
        return Err(Failure::new(format!("{} lies in the checkout {}", directory.display(), root.display()))
            .hint("choose a directory outside of it with --dir"));
    }
    if args.restart {
        forget(&directory)?;
    }
    if history.is_dirty {
        eprintln!("note: changes that are not committed are not part of the search");
    }
    let interrupt = Interrupt::catch().map_err(|error| Failure::new(format!("cannot catch signals: {error}")))?;
    let mut shown = Shown { line: ProgressLine::new(true), last: None };
    let describe = prony_report::divergence::in_short;
    let report =
        prony_bench::bisect::bisect(&options, history, &directory, Some(&interrupt), &describe, &mut |progress| {
            shown.tell(&progress)
        });
    drop(shown);
    let report = report.map_err(|error| failure(args, error))?;
    if args.json {
        output::print_json(&json::bisect::answer(args.search.alpha, args.search.margin(), &report))?;
    } else {
        output::print(&text::bisect::text(&args.demo, args.search.margin(), &report))?;
    }
    talk(args, &report, &directory);
    Ok(match report.culprit {
        Culprit::Commit(_) => Exit::Finding,
        Culprit::None => Exit::Good,
        Culprit::OneOf(_) | Culprit::Undecided | Culprit::Interrupted => Exit::NotTrusted,
    })
}

fn options(args: &BisectArgs, trusted: bool) -> Result<BisectOptions, Failure> {
    let duet_cpu = match args.search.duet {
        true => Some(duet_cpu().map_err(|error| Failure::new(format!("cannot choose a CPU for --duet: {error}")))?),
        false => None,
    };
    let is_counted = args.search.metric == SearchedMetric::Instructions;
    let find = args.search.find.or(is_counted.then_some(FindName::Slowdown));
    let knobs = prony_machine::tuned(&Tree::machine());
    Ok(BisectOptions {
        demo: DemoSource {
            path: args.demo.clone(),
            limits: args.limits.into(),
            trusted,
            keep_variables: args.trust.keep_variable.clone(),
            files: (&args.files).into(),
            comparison: ComparisonOptions::default(),
            under: Vec::new(),
        },
        build: args.build.clone(),
        command: args.command.clone(),
        regression: find.map(|find| match find {
            FindName::Divergence => Regression::Divergence,
            FindName::Slowdown if is_counted => Regression::Instructions,
            FindName::Slowdown => Regression::Slowdown,
        }),
        alpha: args.search.alpha,
        margin: args.search.margin().ln_1p(),
        budget_s: args.search.max_time.unwrap_or(COMPARISON).as_secs_f64(),
        stretches: args.search.max_time.is_none(),
        replays: args.search.replays,
        duet_cpu,
        seed: args.search.seed.unwrap_or_else(random),
        machine: serde_json::to_value(prony_machine::facts(&Tree::machine())).unwrap_or_default(),
        tuning: serde_json::json!({ "knobs": knobs, "duet": args.search.duet }),
    })
}

/// `$XDG_CACHE_HOME`, or `.cache` in the home directory.
fn cache() -> Result<PathBuf, Failure> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache"))).ok_or_else(|| {
        Failure::new("the user has no home directory, and XDG_CACHE_HOME is not set")
            .hint("choose a directory with --dir")
    })
}

/// Removes the log of an earlier search.
fn forget(directory: &Path) -> Result<(), Failure> {
    let log = directory.join("steps.jsonl");
    match fs::remove_file(&log) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Failure::io("remove", &log, &error)),
        _ => Ok(()),
    }
}

/// Says what to look at beside the answer, and the next step.
fn talk(args: &BisectArgs, report: &BisectReport, directory: &Path) {
    let verified = report.steps.iter().find_map(|step| match step.found {
        Found::Identical { verified_bytes, .. } => Some(verified_bytes),
        _ => None,
    });
    if verified == Some(0) {
        eprintln!("warning: the demo has no output to verify, so a divergence may go unnoticed");
    }
    let done = || count(report.steps.len() as u64, "step");
    match &report.culprit {
        Culprit::Interrupted => {
            eprintln!("warning: interrupted after {}", done());
            eprintln!("hint: the same command continues where it was");
        }
        Culprit::Undecided => eprintln!("hint: a longer --max-time, or --duet on a shared machine, decides more"),
        Culprit::OneOf(_) => {
            eprintln!("hint: the output of builds that failed is in {}", directory.join("builds").display());
        }
        Culprit::Commit(at) => {
            let commit = &report.history.commits[*at];
            if commit.parents > 1 {
                let id = commit.short();
                eprintln!(
                    "hint: {id} is a merge; --good $(git merge-base {id}^1 {id}^2) --bad {id}^2 searches the merged \
                     branch"
                );
            }
            if let (Some(tree), Some(Regression::Divergence)) = (report.trees.last(), report.regression) {
                eprintln!(
                    "hint: `prony replay --explain {} -- …` with the server in {} shows why",
                    args.demo.display(),
                    tree.display()
                );
            }
        }
        Culprit::None => {}
    }
}

/// Progress on one line, and the time at which it was shown last.
struct Shown {
    line: ProgressLine,
    last: Option<Instant>,
}

impl Shown {
    fn tell(&mut self, progress: &Progress) {
        match progress {
            Progress::Begun(history) => {
                let ends = [0, history.last()].map(|at| history.commits[at].short());
                eprintln!("{} from {} to {}", count(history.last() as u64, "commit"), ends[0], ends[1]);
            }
            Progress::Building(commit) => self.line.show_text(&format!("{}: building", commit.short())),
            Progress::Replaying(commit, replays) => {
                self.line.show_text(&format!("{}: up to {}", commit.short(), count(u64::from(*replays), "replay")));
            }
            Progress::Comparing(commit, Event::Round(round, _)) => {
                if self.last.is_none_or(|last| last.elapsed() >= SHOW_EVERY) {
                    self.last = Some(Instant::now());
                    let left_s = (round.budget_s - round.elapsed_s).max(0.0);
                    let pairs = count(round.rounds as u64, "pair");
                    self.line.show_text(&format!("{}: {pairs}, at most {left_s:.0} s left", commit.short()));
                }
            }
            Progress::Comparing(..) => {}
            Progress::Done(commit, step, resumed) => {
                self.line.clear();
                let earlier = if *resumed { " (done earlier)" } else { "" };
                eprintln!("{}  {}{earlier}", commit.short(), text::bisect::found(step));
            }
        }
    }
}

fn failure(args: &BisectArgs, error: BisectError) -> Failure {
    let demo = args.demo.display();
    let failure = Failure::new(format!("cannot bisect: {error}"));
    match error {
        BisectError::History(error) | BisectError::Tree(TreeError::Git(error)) => match error {
            HistoryError::NoGit(_) => failure.hint("install git"),
            HistoryError::NoRepository { .. } => failure.hint("name a directory of the repository with --repository"),
            HistoryError::NoCommit { .. } => failure.hint("`git log --oneline` lists commits"),
            HistoryError::NotAncestor { good, bad } => {
                failure.hint(format!("`git merge-base {good} {bad}` shows a commit that is an ancestor of both"))
            }
            HistoryError::Same { .. } | HistoryError::Git { .. } => failure,
        },
        BisectError::Lock(LockError::Busy { .. }) => failure.hint("wait for it, or use another --dir"),
        BisectError::Log(LogError::Other { .. } | LogError::NotALog(_)) => {
            failure.hint("use another --dir, or --restart to forget the earlier search")
        }
        BisectError::NotInTree(_) => failure.hint(
            "give a path relative to this directory, such as ./server, or use {tree} for the directory of a commit",
        ),
        BisectError::EndNotBuilt { printed, log, .. } => {
            failure.printed(&printed.join("\n")).hint(format!("all of its output is in {}", log.display()))
        }
        BisectError::EndNotReplayed { .. } => {
            failure.hint("the command after `--` is run in the tree of each commit; is that what --build makes?")
        }
        BisectError::GoodDiverges { .. } => {
            failure.hint(format!("record {demo} with a build of the good commit, or choose another good commit"))
        }
        BisectError::BadDiverges { .. } => {
            failure.hint("times are compared only where both builds replay identically; use --find divergence")
        }
        BisectError::Directory(_)
        | BisectError::Lock(_)
        | BisectError::Log(LogError::Io { .. })
        | BisectError::Tree(_)
        | BisectError::Demo { .. } => failure,
    }
}
