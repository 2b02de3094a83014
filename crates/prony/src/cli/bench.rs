//! Flags of `prony bench` and `prony selftest`. Where hyperfine has a flag that means the same, it has the same name.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::UnknownArgumentValueParser;
use clap::{Args, ValueEnum};
use prony_bench::parameters::Parameter;
use prony_bench::{Accepted, FrameKind};
use prony_machine::process::UserEvent;
use prony_stats::Metric;

use super::count::user_event;
use super::limits::amount;
use super::{DemoLimits, FileArgs, TrustArgs};
use crate::numbers::duration;

const BENCH_EXAMPLES: &str = "\
Examples:
  prony bench './old --fast data' './new --fast data'     compare two commands
  prony bench --shell 'grep -c x big | sort'              measure one command
  prony bench 'gzip big' 'xz big' 'zstd big'              rank several commands
  prony bench --demo match.demo ./server-old ./server-new compare two builds frame by frame
  prony bench --demo a.demo --demo b.demo ./old ./new     the same on several demos, with one verdict
  prony bench --duet ./old ./new                          run both at the same time on one CPU: for a shared machine
  prony bench --parameter threads=1,2,4 './sim -j {threads}'
  prony bench --python 'sorted(d)' --python 'list(d)' --setup 'd = {i: i for i in range(99)}'
  prony bench --pyperf old/bench.py --pyperf new/bench.py each benchmark of scripts that use pyperf.Runner
  prony bench --layouts 20 --build 'make -B -C old' --build 'make -B -C new' 'old/vm fib' 'new/vm fib'
  prony bench --demo match.demo --layouts 20 --build 'make -B -C old' --build 'make -B -C new' old/server new/server

Commands run alternately in random order until the result is decided or the time is up. Of two commands, the second is
compared with the first. Three or more, and all values of a parameter, are ranked, and each is compared with the fastest, or
with the one that --reference names. The judged metric is what the user waits for: wall time minus the wait for a CPU, together with
CPU time if that is most of it; or plain wall time if the wait is unknown, for example with parallel threads.
For two single-threaded commands that compute for 25 ms or more, prony uses an eighth of the time to run the first command
against itself, sequentially and in parallel on one CPU, and selects the method with less noise. --duet and --no-duet
override the selection.

Exit codes:
  0  B is faster, or the same within --margin; or commands were ranked, or a single one was measured
  1  B is slower; with --reference, any command is slower than it
  2  could not run, or a command failed
  3  unclear";

/// Measure commands and report which is faster.
#[derive(Debug, Args)]
#[command(after_help = BENCH_EXAMPLES)]
pub struct BenchArgs {
    /// Commands to compare, each in one argument; A is the first. Variables may come first: 'GOGC=200 ./server'
    #[arg(value_name = "COMMAND", required_unless_present_any = ["python", "pyperf"])]
    pub commands: Vec<String>,

    #[command(flatten)]
    pub replays: ReplayedArgs,
    #[command(flatten)]
    pub limits: DemoLimits,
    #[command(flatten)]
    pub plan: PlanArgs,
    #[command(flatten)]
    pub shell: ShellArgs,
    #[command(flatten)]
    pub hooks: HookArgs,
    #[command(flatten)]
    pub parameters: ParameterArgs,
    /// Name of a command in the output; one per command
    #[arg(short = 'n', long, value_name = "NAME", help_heading = "Commands to run")]
    pub command_name: Vec<String>,
    #[command(flatten)]
    pub python: PythonArgs,
    #[command(flatten)]
    pub execution: ExecutionArgs,
    #[command(flatten)]
    pub files: FileArgs,
    #[command(flatten)]
    pub trust: TrustArgs,
    #[command(flatten)]
    pub exports: ExportArgs,
    #[command(flatten)]
    pub amounts: AmountArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Demos that two builds replay, and what of them is compared.
#[derive(Debug, Args)]
pub struct ReplayedArgs {
    /// Replay this demo against two builds instead of running commands; of several demos, one verdict is given for all
    #[arg(long, value_name = "FILE", conflicts_with_all = ["python", "pyperf", "reference", "shell", "in_shell", "min_runs", "max_runs", "items", "svg", "prepare", "conclude", "setup", "cleanup", "parameter", "parameter_list", "parameter_scan", "pin", "fifo", "ignore_failure", "random_directory", "show_output"], help_heading = "Commands to run")]
    pub demo: Vec<PathBuf>,
    /// Judge the frames in which the recorded server did this: sending, receiving, working (either) or all [default: sending
    /// or working, if such frames are fewer than half and take more than half of the CPU time of A; else all]
    #[arg(
        long,
        value_name = "KIND",
        default_value = "auto",
        hide_default_value = true,
        requires = "demo",
        help_heading = "Replays"
    )]
    pub frames: JudgedFrames,
    /// Profile further replays of both builds, and list the functions whose time a frame differs
    #[arg(long, requires = "demo", conflicts_with = "decoder", help_heading = "Replays")]
    pub profile: bool,
    /// Once times are measured, count the instructions of both builds, too, as `prony count` does; counts do not enter the verdict
    #[arg(long, requires = "demo", conflicts_with_all = ["metric", "under", "layouts"], help_heading = "Replays")]
    pub count: bool,
    /// With --metric instructions, simulate caches and a branch predictor, as for `prony count`; they do not enter the verdict
    #[arg(long, requires = "demo", requires = "metric", help_heading = "Replays")]
    pub events: bool,
    /// Have this tool start both builds, as for `prony replay`: the times are those of the tool and the build together
    #[arg(long, value_name = "TOOL", requires = "demo", conflicts_with = "profile", help_heading = "Replays")]
    pub under: Option<String>,
    /// File with rules for numbers in outputs that may differ, as for `prony replay`
    #[arg(long, value_name = "FILE", requires = "demo", help_heading = "Replays")]
    pub tolerance: Option<PathBuf>,
    /// Compare the fields that this decoder finds in the datagrams, not their bytes, as for `prony replay`
    #[arg(long, value_name = "COMMAND", requires = "demo", help_heading = "Replays")]
    pub decoder: Option<String>,
}

/// Frames of a demo that a comparison is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum JudgedFrames {
    /// Those that suit the demo
    Auto,
    /// Frames that send
    Sending,
    /// Frames that receive
    Receiving,
    /// Frames that receive or send
    Working,
    /// All frames
    All,
}

impl JudgedFrames {
    /// The requested kind; `None` where it is to be chosen.
    pub fn kind(self) -> Option<FrameKind> {
        match self {
            JudgedFrames::Auto => None,
            JudgedFrames::Sending => Some(FrameKind::Sending),
            JudgedFrames::Receiving => Some(FrameKind::Receiving),
            JudgedFrames::Working => Some(FrameKind::Working),
            JudgedFrames::All => Some(FrameKind::All),
        }
    }
}

/// Plan of a bench: time limit, accuracy, number of runs, and the command with which others are compared.
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// Time limit: 8s, 500ms, 2m; a plain number is seconds [default: 8s; 30s with --python, and for each benchmark of
    /// --pyperf; 20s with --demo; the time of a dozen runs of each command or replay, up to 10m, if that is longer]
    #[arg(long, value_name = "DURATION", value_parser = time_limit, help_heading = "Duration and accuracy")]
    pub max_time: Option<Duration>,
    /// Tolerate differences below this: 2%, or 2. They are the same, or unclear, but never faster or slower
    /// [default: none is tolerated; the same is what differs by less than 1%]
    #[arg(long, value_name = "PERCENT", value_parser = margin, help_heading = "Duration and accuracy")]
    pub margin: Option<f64>,
    /// Maximum rate of false alarms: 5%, or 0.05 for the same
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = alpha, help_heading = "Duration and accuracy")]
    pub alpha: f64,
    /// Judge only this metric: wall, cpu, uncontended (wall time minus the wait for a CPU) or rss (peak memory); with --demo,
    /// instructions, which are counted as by `prony count`, or an event that the kernel counts in user mode: instructions:u, cycles:u,
    /// branch-misses:u, cache-misses:u or page-faults:u [default: what the user waits for]
    #[arg(long, value_name = "METRIC", value_parser = bench_metric, help_heading = "Duration and accuracy")]
    pub metric: Option<BenchMetric>,
    /// Run each command exactly N times, regardless of --max-time
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Duration and accuracy")]
    pub runs: Option<u32>,
    /// Run each command at least N times before a verdict, even beyond --max-time
    #[arg(short = 'm', long, value_name = "N", conflicts_with = "runs", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Duration and accuracy")]
    pub min_runs: Option<u32>,
    /// Run each command at most N times
    #[arg(short = 'M', long, value_name = "N", conflicts_with = "runs", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Duration and accuracy")]
    pub max_runs: Option<u32>,
    /// Warm-up runs of each command
    #[arg(short, long, value_name = "N", default_value_t = 1, help_heading = "Duration and accuracy")]
    pub warmup: u32,

    /// Minimum duration of a value of --python or of another worker
    #[arg(long, value_name = "DURATION", default_value = "100ms", value_parser = time_limit, help_heading = "Duration and accuracy")]
    pub min_time: Duration,

    /// Compare all other commands with this one, by its name, command or letter [default: the first of two, and the
    /// fastest of several]
    #[arg(long, value_name = "NAME", help_heading = "Commands to run")]
    pub reference: Option<String>,
}

/// Shell that runs the commands.
#[derive(Debug, Args)]
pub struct ShellArgs {
    /// Run commands in a shell: sh, or the one given
    #[arg(long, value_name = "SHELL", num_args = 0..=1, require_equals = true, default_missing_value = "sh", help_heading = "Commands to run")]
    pub shell: Option<String>,
    /// Run commands in this shell, for example bash; `none` for no shell (the default)
    #[arg(
        short = 'S',
        id = "in_shell",
        value_name = "SHELL",
        conflicts_with = "shell",
        help_heading = "Commands to run"
    )]
    pub in_shell: Option<String>,
    /// Run commands without a shell (the default)
    #[arg(short = 'N', conflicts_with_all = ["shell", "in_shell"], hide = true)]
    pub no_shell: bool,
}

/// Commands that run before and after the measured ones.
#[derive(Debug, Args)]
pub struct HookArgs {
    /// Run CMD before each run, not timed; one for all commands, or one per command
    #[arg(short, long, value_name = "CMD", help_heading = "Commands to run")]
    pub prepare: Vec<String>,
    /// Run CMD once before the first run of each command; one for all commands, or one per command. With --python,
    /// statements, all of them for each
    #[arg(short, long, value_name = "CMD", help_heading = "Commands to run")]
    pub setup: Vec<String>,
    /// Run CMD after each run, not timed; one for all commands, or one per command
    #[arg(short = 'C', long, value_name = "CMD", help_heading = "Commands to run")]
    pub conclude: Vec<String>,
    /// Run CMD once after the last run of each command
    #[arg(short, long, value_name = "CMD", help_heading = "Commands to run")]
    pub cleanup: Option<String>,
    #[command(flatten)]
    pub layouts: LayoutArgs,
}

/// Builds of two programs in many layouts.
#[derive(Debug, Args)]
pub struct LayoutArgs {
    /// Build each of two programs N times with its functions in another order, and compare the code apart from the layout,
    /// by runs of commands or, with --demo, by replays; 6 at least, 20 for a start
    #[arg(long, value_name = "N", requires = "build", value_parser = clap::value_parser!(u32).range(6..=1000), conflicts_with_all = ["profile", "python", "pyperf", "shell", "in_shell", "duet", "reference", "setup", "cleanup", "parameter", "parameter_list", "parameter_scan", "bytes", "operations", "items", "svg", "export_html"], help_heading = "Layouts")]
    pub layouts: Option<u32>,
    /// Command that builds the program, run by sh for each layout; one for both commands, or one per command. {program} stands
    /// for the path of the program
    #[arg(long, value_name = "CMD", requires = "layouts", help_heading = "Layouts")]
    pub build: Vec<String>,
    /// Build each program once, and have LLVM's BOLT (llvm-bolt) order its functions for each layout
    #[arg(long, requires = "layouts", help_heading = "Layouts")]
    pub bolt: bool,
    /// New or empty directory for the programs of all layouts: DIR/a/1/PROGRAM, DIR/b/as-built/PROGRAM; a study can take them
    #[arg(long, value_name = "DIR", requires = "layouts", help_heading = "Layouts")]
    pub keep_builds: Option<PathBuf>,
    /// Program that the build makes; one per command [default: the first word of the command]
    #[arg(long, value_name = "FILE", requires = "layouts", help_heading = "Layouts")]
    pub program: Vec<String>,
}

/// Values to substitute into the commands.
#[derive(Debug, Args)]
pub struct ParameterArgs {
    /// Run each command with each of these values in place of {NAME}; several parameters are crossed
    #[arg(long, value_name = "NAME=A,B,C", value_parser = parameter, help_heading = "Commands to run")]
    pub parameter: Vec<Parameter>,
    /// Same as --parameter, in hyperfine's syntax
    #[arg(short = 'L', long, value_names = ["NAME", "A,B,C"], num_args = 2, help_heading = "Commands to run")]
    pub parameter_list: Vec<String>,
    /// Run each command with each whole number from MIN to MAX in place of {NAME}; with -D, with any numbers
    #[arg(short = 'P', long, value_names = ["NAME", "MIN", "MAX"], num_args = 3, allow_hyphen_values = true, help_heading = "Commands to run")]
    pub parameter_scan: Vec<String>,
    /// Step size of --parameter-scan
    #[arg(short = 'D', long, value_name = "DELTA", requires = "parameter_scan", help_heading = "Commands to run")]
    pub parameter_step_size: Option<String>,
}

/// Statements and scripts of Python, and what runs them.
#[derive(Debug, Args)]
pub struct PythonArgs {
    /// Time a Python statement, as `pyperf timeit` does
    #[arg(
        long = "python",
        id = "python",
        value_name = "STATEMENT",
        group = "python_code",
        help_heading = "Commands to run"
    )]
    pub statements: Vec<String>,
    /// Run each benchmark of a Python script that uses pyperf.Runner, with the script's arguments; scripts are compared
    #[arg(long, value_name = "SCRIPT", group = "python_code", conflicts_with_all = ["commands", "shell", "prepare", "conclude", "setup", "cleanup", "parameter", "parameter_list", "parameter_scan", "duet", "bytes", "operations", "items"], help_heading = "Commands to run")]
    pub pyperf: Vec<String>,
    /// Interpreter for --python and --pyperf; two interpreters are compared
    #[arg(long, value_name = "PROGRAM", requires = "python_code", help_heading = "Commands to run")]
    pub interpreter: Vec<String>,
}

/// How each command runs: streams, CPU, pairs, directory, order.
#[derive(Debug, Args)]
pub struct ExecutionArgs {
    /// Redirect standard input from this file; `null` for none
    #[arg(long, value_name = "FILE", default_value = "null", help_heading = "Execution")]
    pub input: String,
    /// Redirect output to `null`, `pipe`, `inherit` or a file
    #[arg(long, value_name = "WHERE", default_value = "null", help_heading = "Execution")]
    pub output: String,
    /// Show the output of commands; same as --output=inherit
    #[arg(long, conflicts_with = "output", help_heading = "Execution")]
    pub show_output: bool,
    /// Accept runs with a non-zero exit code, or with one of these codes only: 1,42
    #[arg(short, long, value_name = "CODES", num_args = 0..=1, require_equals = true, default_missing_value = "all", value_parser = accepted, help_heading = "Execution")]
    pub ignore_failure: Option<Accepted>,
    /// Run on this CPU only
    #[arg(long, value_name = "CPU", help_heading = "Execution")]
    pub pin: Option<usize>,
    /// Run under SCHED_FIFO, with priority over all normal processes; needs root
    #[arg(long, help_heading = "Execution")]
    pub fifo: bool,
    /// Run both commands of a pair at the same time, in alternating slices on one CPU: for noise longer than a few milliseconds
    #[arg(long, conflicts_with_all = ["fifo", "python"], help_heading = "Execution")]
    pub duet: bool,
    /// Run pairs sequentially without trying --duet; for commands of which two cannot run at the same time
    #[arg(long, conflicts_with = "duet", help_heading = "Execution")]
    pub no_duet: bool,
    /// Run each pair in an empty directory of random depth; for commands that need no files from the current directory
    #[arg(long, alias = "scatter-directory", help_heading = "Execution")]
    pub random_directory: bool,
    /// Random seed for run order and environment
    #[arg(long, value_name = "N", help_heading = "Execution")]
    pub seed: Option<u64>,
}

/// Files to write results to.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Write all samples to FILE in pyperf's format
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub export_json: Option<PathBuf>,
    /// Write results to FILE in the format of `hyperfine --export-json`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub export_hyperfine: Option<PathBuf>,
    /// Write a Markdown table to FILE; with --demo, made for a comment on a pull request
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub export_markdown: Option<PathBuf>,
    /// Write a table in AsciiDoc to FILE
    #[arg(long, value_name = "FILE", conflicts_with = "demo", help_heading = "Output")]
    pub export_asciidoc: Option<PathBuf>,
    /// Write a table for Org mode to FILE
    #[arg(long, value_name = "FILE", conflicts_with = "demo", help_heading = "Output")]
    pub export_orgmode: Option<PathBuf>,
    /// Write each comparison as a test case to FILE, in the format of JUnit
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub export_junit: Option<PathBuf>,
    /// Write a CSV table to FILE
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub export_csv: Option<PathBuf>,
    /// Draw the commands, or their time along a parameter, in FILE
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub svg: Option<PathBuf>,
    /// Write a page to FILE: verdict or ranking, plot along a parameter, distribution, pairs in the order of time, machine
    #[arg(long, visible_alias = "html", value_name = "FILE", help_heading = "Output")]
    pub export_html: Option<PathBuf>,
    #[command(flatten)]
    unknown: UnknownArgs,
}

/// Amount of work in each run.
#[derive(Debug, Args)]
pub struct AmountArgs {
    /// Bytes moved per run: report the throughput in B/s, and the share of this machine's limits, as measured by `prony
    /// limits`
    #[arg(long, value_name = "N", value_parser = amount, conflicts_with_all = ["operations", "items", "python"], help_heading = "Output")]
    pub bytes: Option<f64>,
    /// Operations per run: report operations/s, and the share of this machine's limits
    #[arg(long, value_name = "N", value_parser = amount, conflicts_with_all = ["items", "python"], help_heading = "Output")]
    pub operations: Option<f64>,
    /// Items processed per run: report items/s
    #[arg(long, value_name = "N", value_parser = amount, conflicts_with = "python", help_heading = "Output")]
    pub items: Option<f64>,
}

/// Flags of hyperfine that have no counterpart: each is refused with what to do instead.
#[derive(Debug, Args)]
pub struct UnknownArgs {
    #[arg(short = 'u', long, hide = true, value_parser = UnknownArgumentValueParser::suggest("times are printed in the unit that fits; --export-json and --export-csv have seconds"))]
    time_unit: Option<String>,
    #[arg(long, hide = true, value_parser = UnknownArgumentValueParser::suggest("there are no colours; 2>/dev/null hides progress and warnings"))]
    style: Option<String>,
    #[arg(long, hide = true, value_parser = UnknownArgumentValueParser::suggest("the fastest comes first; with --reference commands stay in their order"))]
    sort: Option<String>,
}

const SELFTEST_EXAMPLES: &str = "\
Examples:
  prony selftest
  prony selftest './server --benchmark'     with your own command, to see whether the command itself is noisy

Exit codes:
  0  no more false alarms than --alpha
  2  could not run
  3  more false alarms than --alpha explains: do not trust verdicts on this machine";

/// Compare a command with itself: false alarms and smallest detectable difference.
#[derive(Debug, Args)]
#[command(after_help = SELFTEST_EXAMPLES)]
pub struct SelftestArgs {
    /// Command [default: built-in work of about 20 ms]
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
    /// Number of comparisons
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub comparisons: u32,
    /// Duration of each comparison
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = time_limit)]
    pub max_time: Duration,
    /// Maximum rate of false alarms
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = alpha)]
    pub alpha: f64,
    /// Run on this CPU only
    #[arg(long, value_name = "CPU")]
    pub pin: Option<usize>,
    /// Run under SCHED_FIFO, with priority over all normal processes; needs root
    #[arg(long)]
    pub fifo: bool,
    /// Random seed for run order and environment
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// The command that `prony selftest` compares with itself.
#[derive(Debug, Args)]
pub struct WorkArgs {
    /// Steps of integer arithmetic
    pub steps: u64,
}

/// A linker by its name, and its arguments.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct LinkArgs {
    /// Name of the linker, and its arguments
    #[arg(value_name = "LINKER", required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true)]
    pub linker: Vec<OsString>,
}

/// Reads which exit codes are accepted besides 0: `all`, or some with commas between them.
fn accepted(text: &str) -> Result<Accepted, String> {
    if text == "all" || text == "all-non-zero" {
        return Ok(Accepted::All);
    }
    let codes: Result<Vec<i32>, _> = text.split(',').map(|code| code.trim().parse::<u8>().map(i32::from)).collect();
    codes
        .map(Accepted::Codes)
        .map_err(|_| "expected exit codes from 0 to 255 with commas between them, or `all`".to_owned())
}

/// Reads `5%`, `0.5 %` or `0.05` as a share.
pub fn percent(text: &str) -> Result<f64, String> {
    let expected = || "expected a percentage between 0 and 100, such as 1% or 0.5%".to_owned();
    let number = text.trim().strip_suffix('%').ok_or_else(expected)?;
    let share = number.trim().parse::<f64>().map_err(|_| expected())? / 100.0;
    if share > 0.0 && share < 1.0 { Ok(share) } else { Err(expected()) }
}

/// Differences that are the same, where no margin is given: a share.
const SAME: f64 = 0.01;

impl PythonArgs {
    /// True if Python is measured: statements or scripts.
    pub fn is_used(&self) -> bool {
        !self.statements.is_empty() || !self.pyperf.is_empty()
    }
}

impl BenchArgs {
    /// Size below which differences are the same, as a share.
    pub fn margin(&self) -> f64 {
        self.plan.margin.unwrap_or(SAME)
    }
}

impl super::samples::CompareArgs {
    /// Size below which differences are the same, as a share.
    pub fn margin(&self) -> f64 {
        self.margin.unwrap_or(SAME)
    }
}

/// Reads a margin: a percentage with or without its sign. Below 1 a number without one may be meant as a share, so it
/// needs the sign.
pub fn margin(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number >= 1.0 => percent(&format!("{number}%")),
        Ok(number) if number > 0.0 => {
            Err(format!("expected a percentage with its sign, {number}% or {}%", prony_text::plain(number * 100.0)))
        }
        _ => percent(text),
    }
}

/// Reads a level: a percentage, or a share below 1 as in books of statistics.
pub fn alpha(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(share) if share > 0.0 && share < 1.0 => Ok(share),
        _ => percent(text),
    }
}

/// Reads a duration; a number without a unit is seconds.
pub fn time_limit(text: &str) -> Result<Duration, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => duration(&format!("{number}s")),
        _ => duration(text),
    }
}

/// Metric that a bench judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchMetric {
    /// One that is measured.
    Measured(Metric),
    /// Instructions of replays, which are counted.
    Instructions,
    /// Another event of replays, which the kernel counts.
    Event(UserEvent),
}

impl BenchMetric {
    /// The measured metric.
    pub fn measured(self) -> Option<Metric> {
        match self {
            BenchMetric::Measured(metric) => Some(metric),
            BenchMetric::Instructions | BenchMetric::Event(_) => None,
        }
    }
}

/// Reads the name of a metric that a bench judges.
fn bench_metric(text: &str) -> Result<BenchMetric, String> {
    if text == "instructions" {
        return Ok(BenchMetric::Instructions);
    }
    if text.ends_with(":u") {
        return user_event(text).map(BenchMetric::Event);
    }
    let is_measured = |metric: &Metric| !matches!(metric, Metric::AllocatedBytes | Metric::Allocations);
    let metric = Metric::from_name(text).filter(is_measured);
    let expected = || "expected wall, cpu, uncontended, rss or instructions".to_owned();
    metric.map(BenchMetric::Measured).ok_or_else(expected)
}

/// Reads the name of a metric of a file.
pub fn metric(text: &str) -> Result<Metric, String> {
    Metric::from_name(text).ok_or_else(|| {
        "expected wall, cpu, uncontended, rss, allocated_bytes (B/op) or allocations (allocs/op)".to_owned()
    })
}

fn parameter(text: &str) -> Result<Parameter, String> {
    let expected = || "expected a name and values, such as threads=1,2,4".to_owned();
    let (name, values) = text.split_once('=').ok_or_else(expected)?;
    Parameter::new(name, values).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_have_their_sign() {
        assert_eq!(percent("5%"), Ok(0.05));
        assert_eq!(percent("0.5 %"), Ok(0.005));
        for wrong in ["5", "0%", "100%", "-1%", "%", "x%"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_without_a_unit_mean_what_they_can_only_mean() {
        assert_eq!((margin("10"), margin("0.5%"), margin("2 %")), (Ok(0.1), Ok(0.005), Ok(0.02)));
        assert_eq!(margin("0.05"), Err("expected a percentage with its sign, 0.05% or 5%".to_owned()));
        assert_eq!((alpha("0.05"), alpha("5%"), alpha("5").is_err()), (Ok(0.05), Ok(0.05), true));
        assert_eq!((time_limit("3"), time_limit("0.5")), (Ok(Duration::from_secs(3)), Ok(Duration::from_millis(500))));
        assert_eq!(time_limit("2m"), Ok(Duration::from_secs(120)));
        for wrong in ["-3", "inf", "NaN", "3x", ""] {
            assert!(time_limit(wrong).is_err() && margin(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_comma_in_a_value_is_escaped() {
        let values = |text| parameter(text).map(|parameter| parameter.values);
        assert_eq!(values("a=1,2,4"), Ok(["1", "2", "4"].map(str::to_owned).to_vec()));
        assert_eq!(values(r"a=x\,y,z"), Ok(["x,y", "z"].map(str::to_owned).to_vec()));
        assert_eq!(values("a=1=2,"), Ok(["1=2", ""].map(str::to_owned).to_vec()));
        for wrong in ["a", "=1", "a="] {
            assert!(values(wrong).is_err(), "{wrong}");
        }
    }
}
