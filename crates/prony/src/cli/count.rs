//! Flags of `prony count`.

use std::path::PathBuf;

use clap::Args;
use prony_machine::process::UserEvent;

use super::bench::percent;
use super::{DemoLimits, FileArgs, TrustArgs};

const COUNT_EXAMPLES: &str = "\
Examples:
  prony count match.demo
  prony count match.demo './server-old +map dm1' './server-new +map dm1'
  prony count match.demo --frames ./old ./new
  prony count match.demo --inclusive ./old ./new
  prony count match.demo --events ./old ./new
  prony count match.demo --perf-event page-faults ./old ./new
  prony count match.demo --fail-above 0.5% ./old ./new

Each build replays the demo several times under valgrind, with a tool of prony's own that is built for it with `cc`; where that fails,
and with --events, it is Callgrind, which is slower. Instructions of the program and its libraries are counted, by function; those of prony's library and what it calls, of the loader and of generated code are not. Replays do the same
work, so most counts repeat to the last digit on any machine, under any load; what varies by itself is shown, and is no difference.
Calls of hooked functions of the C library are counted by name, with the bytes that they move.

Exit codes:
  0  no build runs more instructions than the first, or not by more than --fail-above
  1  a build does
  2  could not run, or a build diverges";

/// Replays of each build, unless the user says how many.
pub const REPLAYS_COUNTED: u32 = 3;

/// Count the instructions of builds on a demo, and compare them exactly.
#[derive(Debug, Args)]
#[command(after_help = COUNT_EXAMPLES)]
pub struct CountArgs {
    /// Demo that every build replays
    #[arg(value_name = "DEMO")]
    pub demo: PathBuf,
    /// Server commands, each in one argument, with variables in front: 'GOGC=200 ./server'; others are compared with the first
    /// [default: the recorded one]
    #[arg(value_name = "COMMAND")]
    pub commands: Vec<String>,
    /// Replays of each build: what differs between them varies by itself
    #[arg(long, value_name = "N", default_value_t = REPLAYS_COUNTED, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,
    /// Count each frame by itself, too: the costliest ones with their functions, and those in which builds differ
    #[arg(long)]
    pub frames: bool,
    /// Simulate caches of fixed sizes and a branch predictor, too: misses and mispredictions, with the functions that have them
    #[arg(long)]
    pub events: bool,
    /// Also count the instructions of functions with those of all that they call: which cost most, and the path to what differs
    #[arg(long, conflicts_with = "frames")]
    pub inclusive: bool,
    /// Count by Callgrind, and not by prony's own tool: the same counts, in several times the time
    #[arg(long)]
    pub callgrind: bool,
    /// Have the kernel count an event in place of Valgrind: instructions, cycles, branch-misses or cache-misses, by the counters of the
    /// processor (untested), or page-faults. Builds run at their own speed, and no functions are known
    #[arg(long, value_name = "EVENT", value_parser = user_event, conflicts_with_all = ["events", "inclusive", "callgrind"])]
    pub perf_event: Option<UserEvent>,
    /// Report a build as a finding if it runs this much more than the first
    #[arg(long, value_name = "PERCENT", default_value = "0.01%", value_parser = percent)]
    pub fail_above: f64,

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

/// Reads the name of an event that the kernel counts, as `perf` names it, with or without its `:u` for user mode.
pub fn user_event(text: &str) -> Result<UserEvent, String> {
    let name = text.strip_suffix(":u").unwrap_or(text);
    let found = UserEvent::ALL.into_iter().find(|event| event.name() == name);
    found.ok_or_else(|| format!("expected {}", UserEvent::ALL.map(UserEvent::name).join(", ")))
}
