//! Command-line flags of `prony profile`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use prony_machine::CpuSet;
use prony_profile::Component;
use regex_lite::Regex;

use super::{DemoLimits, FileArgs, FrameRange, TrustArgs, variable};
use crate::numbers::duration;

const PROFILE_USAGE: &str = "prony profile [OPTIONS] -- COMMAND...
       prony profile [OPTIONS] --demo FILE [-- BUILD...]
       prony profile [OPTIONS] --attach PID | --all
       prony profile show | diff | fold | zones FILE...";

const PROFILE_EXAMPLES: &str = "\
Examples:
  prony profile -- ./server +map dm1
  prony profile --flame server.svg --share 'send=sendto|sendmsg' -- ./server +map dm1
  prony profile --demo match.demo --repeat 20 --frames p99 -- ./server +map dm1
  prony profile --attach 4711 --for 10s --off-cpu
  prony profile diff old.folded new.folded --flame diff.svg

Each function has two shares of the stack samples, with 95 % intervals: `self` for samples that ended in it, and
`incl.` for samples in which it or a function it called was running. Inclusive shares add up to more than 100 %. The suffix
_[k] marks kernel functions, _[j] generated code. Stacks are unwound by frame pointers: build with -fno-omit-frame-pointer, or
use --dwarf. Names need a program that is not stripped; inlined calls need -g.

Exit codes:
  0  good
  2  could not run: usage, file, permission
  3  the result proves little: few samples, many lost, the command failed";

/// Profile a program: functions, components, flame graph.
#[derive(Debug, Args)]
#[command(after_help = PROFILE_EXAMPLES, override_usage = PROFILE_USAGE, args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct ProfileArgs {
    #[command(subcommand)]
    pub verb: Option<ProfileVerb>,
    #[command(flatten)]
    pub take: TakeArgs,
}

#[derive(Debug, Subcommand)]
pub enum ProfileVerb {
    /// Show stored stacks: folded stacks, or the output of `perf script`
    Show(ShowArgs),
    /// Compare two stored profiles
    Diff(DiffArgs),
    /// Convert the output of `perf script` to folded stacks
    Fold(FoldArgs),
    /// Show the zones that a program wrote
    Zones(ZonesArgs),
}

/// Options for taking a profile.
#[derive(Debug, Args)]
pub struct TakeArgs {
    /// Command, or with --demo the build, and its arguments
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["attach", "all"])]
    pub command: Vec<OsString>,

    #[command(flatten)]
    pub replay: ReplayTargetArgs,
    /// Sample a running process and its children
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..), help_heading = "Target")]
    pub attach: Option<i32>,
    /// Sample everything that runs
    #[arg(long, conflicts_with = "attach", help_heading = "Target")]
    pub all: bool,
    /// Only on these CPUs: 2, 0-3 or 1,5
    #[arg(long, value_name = "LIST", help_heading = "Target")]
    pub cpu: Option<CpuSet>,
    /// Stop after this time: 30s, 500ms, 2m
    #[arg(long = "for", value_name = "DURATION", value_parser = duration, help_heading = "Target")]
    pub limit: Option<Duration>,
    /// Sample where threads give up their CPU, and for how long, instead of where they use it
    #[arg(long, help_heading = "Target")]
    pub off_cpu: bool,

    #[command(flatten)]
    pub sampling: SamplingArgs,
    #[command(flatten)]
    pub files: FileArgs,
    #[command(flatten)]
    pub trust: TrustArgs,
    #[command(flatten)]
    pub answer: AnswerArgs,
    /// Write a speedscope file
    #[arg(long, value_name = "FILE", help_heading = "Output files")]
    pub speedscope: Option<PathBuf>,
    /// Write the text format of `perf script`, for the Firefox Profiler and other tools
    #[arg(long, value_name = "FILE", help_heading = "Output files")]
    pub perf_script: Option<PathBuf>,
}

/// Replays of a demo to sample.
#[derive(Debug, Args)]
pub struct ReplayTargetArgs {
    /// Sample replays of this demo [default command: the recorded one]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["attach", "all", "limit"], help_heading = "Target")]
    pub demo: Option<PathBuf>,
    /// Set a variable of the build on the demo, instead of what was recorded; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable, requires = "demo", help_heading = "Target")]
    pub env: Vec<(OsString, OsString)>,
    /// Refused: the samples would be of the tool
    #[arg(long, value_name = "TOOL", requires = "demo", hide = true)]
    pub under: Option<String>,
    /// Number of replays; more replays give more samples
    #[arg(long, value_name = "N", default_value_t = 1, requires = "demo", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Target")]
    pub repeat: u32,
    /// Only samples in these frames of the replay: the slowest, such as p99, or 312, 300..320, 300.., ..20
    #[arg(long, value_name = "p99|A..B", requires = "demo", value_parser = frames, help_heading = "Target")]
    pub frames: Option<Frames>,
    #[command(flatten)]
    pub limits: DemoLimits,
}

/// How the target is sampled.
#[derive(Debug, Args)]
pub struct SamplingArgs {
    /// Samples per second of each running thread
    #[arg(long, value_name = "HZ", default_value_t = 999, value_parser = clap::value_parser!(u32).range(1..=50_000), help_heading = "Sampling")]
    pub freq: u32,
    /// Unwind by exception tables (DWARF), for programs without frame pointers
    #[arg(long, help_heading = "Sampling")]
    pub dwarf: bool,
    /// Number of stack bytes to copy for --dwarf
    #[arg(long, value_name = "BYTES", default_value_t = 16_384, value_parser = clap::value_parser!(u32).range(256..=65_000), help_heading = "Sampling")]
    pub stack_bytes: u32,
    /// Show the command's output, on standard error
    #[arg(long, help_heading = "Sampling")]
    pub show_output: bool,
}

/// Options for showing and writing stacks.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// Show the combined share of the matching functions under this name; may be repeated
    #[arg(long, value_name = "NAME=REGEX", value_parser = component, help_heading = "Report")]
    pub share: Vec<Component>,
    /// Number of functions to show; JSON has all
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "Report")]
    pub top: usize,
    /// Print JSON
    #[arg(long, help_heading = "Report")]
    pub json: bool,
    /// Write the folded stacks to FILE
    #[arg(long, value_name = "FILE", help_heading = "Output files")]
    pub folded: Option<PathBuf>,
    /// Write a flame graph to FILE, as SVG
    #[arg(long, value_name = "FILE", help_heading = "Output files")]
    pub flame: Option<PathBuf>,
    /// Title of the flame graph
    #[arg(long, value_name = "TEXT", help_heading = "Output files")]
    pub title: Option<String>,
    /// Overwrite existing files
    #[arg(long, help_heading = "Output files")]
    pub force: bool,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  prony profile show server.folded --share 'retain|release=swift_(retain|release)' --share rx=rx_batch
  perf script | prony profile show - --flame server.svg";

/// Show stored stacks: folded stacks, or the output of `perf script`.
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub struct ShowArgs {
    /// Folded stacks or the output of `perf script`; - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub answer: AnswerArgs,
}

const DIFF_EXAMPLES: &str = "\
Examples:
  prony profile diff old.folded new.folded
  prony profile diff old.folded new.folded --flame diff.svg
  prony profile diff old/ new/              one file per run: intervals then include the variation between runs

Each function has two shares in both profiles and their differences in points: of the samples that ended in it (self), and of
those in which it or a function it called was running (incl.). The intervals are simultaneous over all functions. With at least
two runs of each build, * marks functions whose interval excludes 0. The roots of the two builds are matched,
whatever the names of their files.

In the flame graph, functions that grew are red and those that shrank blue. Shares show where time is spent, not how much:
use `prony bench` to find out which build is faster.";

/// Compare two stored profiles: the functions whose shares grew or shrank, self and inclusive.
#[derive(Debug, Args)]
#[command(after_help = DIFF_EXAMPLES)]
pub struct DiffArgs {
    /// First profile: folded stacks or the output of `perf script`, or a directory with one file per run
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// Second profile
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Number of functions to show; JSON has all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// Write a differential flame graph to FILE, as SVG
    #[arg(long, value_name = "FILE")]
    pub flame: Option<PathBuf>,
    /// Title of the flame graph
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Overwrite existing files
    #[arg(long)]
    pub force: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const FOLD_EXAMPLES: &str = "\
Examples:
  perf script | prony profile fold - > server.folded
  prony profile fold perf.txt | flamegraph.pl > server.svg";

/// Convert the output of `perf script` to folded stacks, one per line: thread;main;tick 42.
#[derive(Debug, Args)]
#[command(after_help = FOLD_EXAMPLES)]
pub struct FoldArgs {
    /// Output of `perf script`; - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

const ZONES_EXAMPLES: &str = "\
Examples:
  cc -DPRONY_ZONES -Iinclude server.c -o server && ./server && prony profile zones prony.zones
  prony profile zones prony.zones --json";

/// Show the zones that a program wrote: hits, inclusive and exclusive time, bytes per second.
#[derive(Debug, Args)]
#[command(after_help = ZONES_EXAMPLES)]
pub struct ZonesArgs {
    /// File that the program wrote: prony.zones, or that of $PRONY_ZONES_FILE
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Selection of frames of a replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Frames {
    /// Frames that took at least as long as this quantile of all, 0 to 1.
    Slowest(f64),
    /// Range of frame numbers.
    Range(FrameRange),
}

fn frames(text: &str) -> Result<Frames, String> {
    let Some(percent) = text.strip_prefix('p') else { return super::frames(text).map(Frames::Range) };
    let percent = percent.parse::<f64>().ok().filter(|percent| (0.0..100.0).contains(percent));
    percent
        .map(|percent| Frames::Slowest(percent / 100.0))
        .ok_or_else(|| "expected a percentile from p0 to p99.9…, such as p99".to_owned())
}

/// The name ends at the first `=`; without one the pattern is its own name.
fn component(text: &str) -> Result<Component, String> {
    let (name, pattern) = text.split_once('=').unwrap_or((text, text));
    if name.is_empty() || pattern.is_empty() {
        return Err("expected a name and a pattern, such as 'send=sendto|sendmsg'".to_owned());
    }
    let functions = Regex::new(pattern).map_err(|error| format!("`{pattern}` is not a regular expression: {error}"))?;
    Ok(Component { name: name.to_owned(), functions })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_frames_are_a_percentile_and_others_a_range() {
        assert_eq!(frames("p99"), Ok(Frames::Slowest(0.99)));
        assert_eq!(frames("5..7"), Ok(Frames::Range(FrameRange { first: 5, end: Some(7) })));
        for wrong in ["p", "p100", "p-1", "pNaN", "q9", ""] {
            assert!(frames(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_component_is_a_name_and_a_pattern() {
        let read = component("retain|release=swift_(retain|release)").expect("a component");
        assert_eq!(read.name, "retain|release");
        assert!(read.functions.is_match("swift_release") && !read.functions.is_match("swift_alloc"));
        assert_eq!(component("memcpy").expect("a component").name, "memcpy");
        for wrong in ["=x", "x=", "", "x=("] {
            assert!(component(wrong).is_err(), "{wrong}");
        }
    }
}
