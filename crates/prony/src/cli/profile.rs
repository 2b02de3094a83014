//! Flags of `prony profile`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use prony_machine::CpuSet;
use prony_profile::Component;
use regex_lite::Regex;

use super::{DemoLimits, FileArgs, FrameRange, TrustArgs};
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

Of each function the answer has two shares of the stack samples, with 95 % intervals: `self`, of those that ended in it, and
`incl.`, of those in which it or something it called was running. Inclusive shares add up to more than 100 %. Behind names,
_[k] marks functions of the kernel, _[j] code made at run time. Stacks are followed by frame pointers: build with
-fno-omit-frame-pointer, or give --dwarf; names need a program that is not stripped, inlined calls -g.

Exit codes:
  0  good
  2  could not run: usage, file, permission
  3  the result means little: few samples, many lost, the command failed";

/// Say where the time of a program goes: functions, components, a flame graph.
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
    /// Show stored stacks: folded ones, or what `perf script` prints
    Show(ShowArgs),
    /// Compare two stored profiles
    Diff(DiffArgs),
    /// Turn what `perf script` prints into folded stacks
    Fold(FoldArgs),
    /// Show what the zones of a program left
    Zones(ZonesArgs),
}

/// What to sample, and how.
#[derive(Debug, Args)]
pub struct TakeArgs {
    /// The command, or with --demo the build, and its arguments
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["attach", "all"])]
    pub command: Vec<OsString>,

    /// Sample the replay of this demo, by the recorded command if no other is given
    #[arg(long, value_name = "FILE", conflicts_with_all = ["attach", "all", "limit"], help_heading = "What is sampled")]
    pub demo: Option<PathBuf>,
    /// Replay so many times, for more samples
    #[arg(long, value_name = "N", default_value_t = 1, requires = "demo", value_parser = clap::value_parser!(u32).range(1..), help_heading = "What is sampled")]
    pub repeat: u32,
    /// Only samples in these frames of the replay: the slowest as p99, or 312, 300..320, 300.., ..20
    #[arg(long, value_name = "p99|A..B", requires = "demo", value_parser = frames, help_heading = "What is sampled")]
    pub frames: Option<Frames>,
    #[command(flatten)]
    pub limits: DemoLimits,
    /// Sample a process that runs, and what it starts
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..), help_heading = "What is sampled")]
    pub attach: Option<i32>,
    /// Sample whatever runs
    #[arg(long, conflicts_with = "attach", help_heading = "What is sampled")]
    pub all: bool,
    /// Only on these CPUs: 2, 0-3 or 1,5
    #[arg(long, value_name = "LIST", help_heading = "What is sampled")]
    pub cpu: Option<CpuSet>,
    /// Stop after this time: 30s, 500ms, 2m
    #[arg(long = "for", value_name = "DURATION", value_parser = duration, help_heading = "What is sampled")]
    pub limit: Option<Duration>,
    /// Sample where threads give their CPU up and for how long, instead of where they use it
    #[arg(long, help_heading = "What is sampled")]
    pub off_cpu: bool,

    /// Samples a second of each thread that runs
    #[arg(long, value_name = "HZ", default_value_t = 999, value_parser = clap::value_parser!(u32).range(1..=50_000), help_heading = "How it is sampled")]
    pub freq: u32,
    /// Walk stacks by the tables that compilers write for exceptions, for programs without frame pointers
    #[arg(long, help_heading = "How it is sampled")]
    pub dwarf: bool,
    /// Copy so much of each stack for --dwarf
    #[arg(long, value_name = "BYTES", default_value_t = 16_384, value_parser = clap::value_parser!(u32).range(256..=65_000), help_heading = "How it is sampled")]
    pub stack_bytes: u32,
    /// Let the command print, to standard error
    #[arg(long, help_heading = "How it is sampled")]
    pub show_output: bool,

    #[command(flatten)]
    pub files: FileArgs,
    #[command(flatten)]
    pub trust: TrustArgs,
    #[command(flatten)]
    pub answer: AnswerArgs,
    /// Write a file for speedscope here
    #[arg(long, value_name = "FILE", help_heading = "What is written")]
    pub speedscope: Option<PathBuf>,
    /// Write the text of `perf script` here, for the Firefox Profiler and others
    #[arg(long, value_name = "FILE", help_heading = "What is written")]
    pub perf_script: Option<PathBuf>,
}

/// What is shown and written of stacks.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// Show the share of the functions that match, under this name; may be given several times
    #[arg(long, value_name = "NAME=REGEX", value_parser = component, help_heading = "What is shown")]
    pub share: Vec<Component>,
    /// Show so many functions; JSON has all
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = "What is shown")]
    pub top: usize,
    /// Answer in JSON
    #[arg(long, help_heading = "What is shown")]
    pub json: bool,
    /// Write the folded stacks here
    #[arg(long, value_name = "FILE", help_heading = "What is written")]
    pub folded: Option<PathBuf>,
    /// Write a flame graph here, as SVG
    #[arg(long, value_name = "FILE", help_heading = "What is written")]
    pub flame: Option<PathBuf>,
    /// What stands above the flame graph
    #[arg(long, value_name = "TEXT", help_heading = "What is written")]
    pub title: Option<String>,
    /// Replace files that exist
    #[arg(long, help_heading = "What is written")]
    pub force: bool,
}

const SHOW_EXAMPLES: &str = "\
Examples:
  prony profile show server.folded --share 'retain|release=swift_(retain|release)' --share rx=rx_batch
  perf script | prony profile show - --flame server.svg";

/// Show stored stacks: folded ones, or what `perf script` prints.
#[derive(Debug, Args)]
#[command(after_help = SHOW_EXAMPLES)]
pub struct ShowArgs {
    /// Folded stacks or the text of `perf script`; - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    #[command(flatten)]
    pub answer: AnswerArgs,
}

const DIFF_EXAMPLES: &str = "\
Examples:
  prony profile diff old.folded new.folded
  prony profile diff old.folded new.folded --flame diff.svg
  prony profile diff old/ new/              a file a run: the intervals then hold what differs from run to run

Of each function: the share of the samples that ended in it (self), and of those in which it or something it called was running
(incl.), in both, and by how many points they differ, with an interval. The intervals hold together, over all functions. With two
runs or more of each build, * marks those that differ by more than chance. The roots of the two builds belong together,
whatever their files are called.

What grew is red in the flame graph, what shrank blue. Shares say where time goes, not how much there is:
`prony bench` says which build is faster.";

/// Compare two stored profiles: which functions' shares grew or shrank, by themselves and with what they call.
#[derive(Debug, Args)]
#[command(after_help = DIFF_EXAMPLES)]
pub struct DiffArgs {
    /// The first profile: folded stacks or the text of `perf script`, or a directory with a file for each of several runs
    #[arg(value_name = "A")]
    pub a: PathBuf,
    /// The second profile
    #[arg(value_name = "B")]
    pub b: PathBuf,
    /// Show so many functions; JSON has all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// Write a differential flame graph here, as SVG
    #[arg(long, value_name = "FILE")]
    pub flame: Option<PathBuf>,
    /// What stands above the flame graph
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Replace files that exist
    #[arg(long)]
    pub force: bool,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

const FOLD_EXAMPLES: &str = "\
Examples:
  perf script | prony profile fold - > server.folded
  prony profile fold perf.txt | flamegraph.pl > server.svg";

/// Turn what `perf script` prints into folded stacks, a line each: thread;main;tick 42.
#[derive(Debug, Args)]
#[command(after_help = FOLD_EXAMPLES)]
pub struct FoldArgs {
    /// The text of `perf script`; - for standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

const ZONES_EXAMPLES: &str = "\
Examples:
  cc -DPRONY_ZONES -Iinclude server.c -o server && ./server && prony profile zones prony.zones
  prony profile zones prony.zones --json";

/// Show what the zones of a program left: hits, time with and without what ran inside, bytes a second.
#[derive(Debug, Args)]
#[command(after_help = ZONES_EXAMPLES)]
pub struct ZonesArgs {
    /// What the program wrote: prony.zones, or the file that $PRONY_ZONES_FILE named
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// Some frames of a replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Frames {
    /// Those that took at least as long as this quantile of all, 0 to 1.
    Slowest(f64),
    /// By their numbers.
    Range(FrameRange),
}

fn frames(text: &str) -> Result<Frames, String> {
    let Some(percent) = text.strip_prefix('p') else { return super::frames(text).map(Frames::Range) };
    let percent = percent.parse::<f64>().ok().filter(|percent| (0.0..100.0).contains(percent));
    percent
        .map(|percent| Frames::Slowest(percent / 100.0))
        .ok_or_else(|| "expected a percentile from p0 to p99.9…, as p99".to_owned())
}

/// The name ends at the first `=`; without one the pattern is its own name.
fn component(text: &str) -> Result<Component, String> {
    let (name, pattern) = text.split_once('=').unwrap_or((text, text));
    if name.is_empty() || pattern.is_empty() {
        return Err("expected a name and a pattern, as 'send=sendto|sendmsg'".to_owned());
    }
    let functions = Regex::new(pattern).map_err(|error| format!("`{pattern}` is no pattern: {error}"))?;
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
