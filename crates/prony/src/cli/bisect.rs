//! Flags of `prony bisect`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use prony_bench::count::SAME_WITHIN;

use super::bench::percent;
use super::{DemoLimits, FileArgs, TrustArgs};
use crate::numbers::duration;

const BISECT_EXAMPLES: &str = "\
Examples:
  prony bisect --demo match.demo --good v1.4 --build 'make -j2' -- ./server +map dm1
  prony bisect --demo match.demo --good v1.4 --bad main --find slowdown --build 'cargo build --release' \\
      -- target/release/server
  prony bisect --demo match.demo --good v1.4 --metric instructions --build 'make -j2' -- ./server +map dm1
  prony bisect --demo web.demo --good HEAD~200 --build true -- python3 {tree}/server.py

If the bad commit diverges from the demo, prony searches for the first commit that does. Otherwise it searches for the
first commit whose frames are slower, if the bad commit is slower than the good one by more than --margin. Each commit is
built and replayed in a directory of its own below --dir; the checkout and the repository are not touched, and changes
that are not committed are not part of the search. Along a merge, the search follows the first parent.

With --metric instructions, the first commit that runs more instructions is searched for, of any size and on a busy machine: counts do
not vary, and there is no error to be divided.

--alpha is the error probability of the whole search; it is divided among the steps. A commit that does not build, or whose
comparison does not decide, is skipped. After an interruption, the same command continues where it was.

Exit codes:
  0  the bad commit neither diverges nor is slower by more than --margin
  1  the commit was found
  2  could not run, or the good or the bad commit does not build
  3  not decided: several commits remain, or it is unclear whether the bad commit is slower";

/// Find the commit that made a demo diverge, its frames slower, or its instructions more.
#[derive(Debug, Args)]
#[command(after_help = BISECT_EXAMPLES)]
pub struct BisectArgs {
    /// Demo that every commit replays
    #[arg(long, value_name = "FILE")]
    pub demo: PathBuf,
    /// Commit that replays the demo as recorded, and fast
    #[arg(long, value_name = "COMMIT")]
    pub good: String,
    /// Commit that diverges, or is slower; a descendant of --good
    #[arg(long, value_name = "COMMIT", default_value = "HEAD")]
    pub bad: String,
    /// Shell command that builds a commit, run in this directory of its tree; `true` if there is nothing to build
    #[arg(long, value_name = "CMD")]
    pub build: String,
    /// Server command and its arguments; a relative path of the program, and {tree} in any argument, refer to the commit's
    /// tree
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,

    #[command(flatten)]
    pub search: SearchArgs,

    /// Directory in the repository to search [default: the current one]
    #[arg(long, value_name = "DIR", help_heading = "Files")]
    pub repository: Option<PathBuf>,
    /// Keep trees, builds and the log in DIR [default: a directory for each search below ~/.cache/prony/bisect]
    #[arg(long, value_name = "DIR", help_heading = "Files")]
    pub dir: Option<PathBuf>,
    /// Forget the steps of an earlier search with the same question; its builds are kept
    #[arg(long, help_heading = "Files")]
    pub restart: bool,

    #[command(flatten)]
    pub files: FileArgs,
    #[command(flatten)]
    pub trust: TrustArgs,
    #[command(flatten)]
    pub limits: DemoLimits,

    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What to search for, how exactly, and with how many replays.
#[derive(Debug, Args)]
pub struct SearchArgs {
    /// What to search for [default: a divergence if the bad commit diverges, otherwise a slowdown]
    #[arg(long, value_name = "WHAT", value_enum, help_heading = "Search")]
    pub find: Option<FindName>,
    /// What a slowdown is: more time of frames, or more instructions, which are counted by `prony count` and do not vary
    #[arg(long, value_name = "METRIC", value_enum, default_value = "time", help_heading = "Search")]
    pub metric: SearchedMetric,
    /// Ignore slowdowns below this [default: 1% of time, 0.01% of instructions]
    #[arg(long, value_name = "PERCENT", value_parser = percent, help_heading = "Search")]
    pub margin: Option<f64>,
    /// Maximum error probability of the whole search
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent, help_heading = "Search")]
    pub alpha: f64,
    /// Time limit of each comparison [default: 60s, or the time of a dozen pairs of replays]
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "Search")]
    pub max_time: Option<Duration>,
    /// Number of replays of the bad commit, to estimate how often it diverges; more replays of it mean fewer of the others
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Search")]
    pub replays: u32,
    /// Run both replays of a pair at the same time, in alternating slices on one CPU: for a shared machine
    #[arg(long, help_heading = "Search")]
    pub duet: bool,
    /// Random seed for the order of replays
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub seed: Option<u64>,
}

impl SearchArgs {
    /// The margin, as a share.
    pub fn margin(&self) -> f64 {
        self.margin.unwrap_or(match self.metric {
            SearchedMetric::Time => 0.01,
            SearchedMetric::Instructions => SAME_WITHIN,
        })
    }
}

/// Metric of which there may be more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SearchedMetric {
    /// CPU time of frames
    Time,
    /// Instructions of the server's own code
    Instructions,
}

/// What may be searched for, as the command line has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FindName {
    /// The first commit that diverges from the demo
    Divergence,
    /// The first commit whose frames are slower
    Slowdown,
}
