//! Flags of `prony bench` and `prony selftest`. Where hyperfine has a flag that means the same, it has the same name.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use prony_stats::judge::Metric;

use super::limits::amount;
use super::{DemoLimits, FileArgs, TrustArgs};
use crate::numbers::duration;

const BENCH_EXAMPLES: &str = "\
Examples:
  prony bench './old --fast data' './new --fast data'     is the new one slower or faster?
  prony bench --shell 'grep -c x big | sort'              how long does it take?
  prony bench --demo match.demo ./server-old ./server-new frame by frame
  prony bench --duet ./old ./new                          at once on one CPU: for a machine that others share
  prony bench --parameter threads=1,2,4 './sim -j {threads}'
  prony bench --python 'sorted(d)' --python 'list(d)' --setup 'd = {i: i for i in range(99)}'

Commands run in turns, in random order, until it is known which is faster or the time is up. A is the first command;
every other one is compared with it. What is judged is what the user waits for: wall time without the wait for a CPU, with
CPU time where that is most of it; and wall time as it is where the wait is not known, as of threads that run at once.
Of two commands with one thread that compute for 25 ms and more, the first is run against itself for an eighth of the time, in
turns and two at once on one CPU; the way that scatters less is taken. --duet and --no-duet say which.

Exit codes:
  0  B is faster, or the same within --margin; or one command was measured
  1  B is slower
  2  could not run, or a command failed
  3  unclear";

/// Measure commands, and say which is faster.
#[derive(Debug, Args)]
#[command(after_help = BENCH_EXAMPLES)]
pub struct BenchArgs {
    /// The commands; A first
    #[arg(value_name = "COMMAND", required_unless_present = "python")]
    pub commands: Vec<String>,

    /// Replay this demo against two builds instead of running commands
    #[arg(long, value_name = "FILE", conflicts_with_all = ["python", "shell", "prepare", "setup", "cleanup", "parameter", "parameter_list", "parameter_scan", "metric", "pin", "fifo", "ignore_failure", "scatter_directory", "show_output"], help_heading = "What runs")]
    pub demo: Option<PathBuf>,
    #[command(flatten)]
    pub limits: DemoLimits,

    /// Stop after this time at the latest: 8s, 500ms, 2m [default: 8s; with --python 30s, with --demo 20s, or as long as a
    /// dozen pairs of replays take]
    #[arg(long, value_name = "DURATION", value_parser = duration, help_heading = "How long and how sure")]
    pub max_time: Option<Duration>,
    /// Call differences below this the same
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = percent, help_heading = "How long and how sure")]
    pub margin: f64,
    /// Claim a difference where there is none in at most so many of all cases
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent, help_heading = "How long and how sure")]
    pub alpha: f64,
    /// Judge this metric alone: wall, cpu or net, which is wall time without the wait for a CPU
    /// [default: what the user waits for]
    #[arg(long, value_name = "METRIC", value_parser = metric, help_heading = "How long and how sure")]
    pub metric: Option<Metric>,
    /// Run every command exactly so often, however long it takes
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "How long and how sure")]
    pub runs: Option<u32>,
    /// Run every command so often before it counts
    #[arg(short, long, value_name = "N", default_value_t = 1, help_heading = "How long and how sure")]
    pub warmup: u32,

    /// Let a value of --python, or of another worker, last at least so long
    #[arg(long, value_name = "DURATION", default_value = "100ms", value_parser = duration, help_heading = "How long and how sure")]
    pub min_time: Duration,

    /// Give commands to a shell: sh, or the one named here
    #[arg(short = 'S', long, value_name = "SHELL", num_args = 0..=1, require_equals = true, default_missing_value = "sh", help_heading = "What runs")]
    pub shell: Option<String>,
    /// Run commands without a shell, as is done anyway
    #[arg(short = 'N', conflicts_with = "shell", hide = true)]
    pub no_shell: bool,
    /// Run this before each run, not measured; once, or one for each command
    #[arg(short, long, value_name = "CMD", help_heading = "What runs")]
    pub prepare: Vec<String>,
    /// Run this once before each command's first run; with --python a statement
    #[arg(short, long, value_name = "CMD", help_heading = "What runs")]
    pub setup: Option<String>,
    /// Run this once after each command's last run
    #[arg(short, long, value_name = "CMD", help_heading = "What runs")]
    pub cleanup: Option<String>,
    /// Run each command with each of these values in place of {NAME}; several multiply
    #[arg(long, value_name = "NAME=A,B,C", value_parser = parameter, help_heading = "What runs")]
    pub parameter: Vec<Parameter>,
    /// The same in hyperfine's words
    #[arg(short = 'L', long, value_names = ["NAME", "A,B,C"], num_args = 2, help_heading = "What runs")]
    pub parameter_list: Vec<String>,
    /// The same for whole numbers, or with -D for all numbers, from MIN to MAX
    #[arg(short = 'P', long, value_names = ["NAME", "MIN", "MAX"], num_args = 3, allow_hyphen_values = true, help_heading = "What runs")]
    pub parameter_scan: Vec<String>,
    /// Go from MIN to MAX in steps of this
    #[arg(short = 'D', long, value_name = "DELTA", requires = "parameter_scan", help_heading = "What runs")]
    pub parameter_step_size: Option<String>,
    /// Call the commands so, one for each
    #[arg(short = 'n', long, value_name = "NAME", help_heading = "What runs")]
    pub command_name: Vec<String>,
    /// Time a Python statement as `pyperf timeit` does
    #[arg(long, value_name = "STATEMENT", help_heading = "What runs")]
    pub python: Vec<String>,
    /// The interpreter of --python; two of them are compared
    #[arg(long, value_name = "PROGRAM", requires = "python", help_heading = "What runs")]
    pub interpreter: Vec<String>,

    /// Read standard input from this file: `null` for nothing
    #[arg(long, value_name = "FILE", default_value = "null", help_heading = "How it runs")]
    pub input: String,
    /// Print to `null`, `pipe`, `inherit` or a file
    #[arg(long, value_name = "WHERE", default_value = "null", help_heading = "How it runs")]
    pub output: String,
    /// Let commands print here, as --output=inherit
    #[arg(long, conflicts_with = "output", help_heading = "How it runs")]
    pub show_output: bool,
    /// Measure runs that end with another code than 0
    #[arg(short, long, help_heading = "How it runs")]
    pub ignore_failure: bool,
    /// Run on this CPU only
    #[arg(long, value_name = "CPU", help_heading = "How it runs")]
    pub pin: Option<usize>,
    /// Run under SCHED_FIFO, ahead of all that is not; needs root
    #[arg(long, help_heading = "How it runs")]
    pub fifo: bool,
    /// Run both commands of a pair at once, in turns on one CPU: for noise that lasts longer than some milliseconds
    #[arg(long, conflicts_with_all = ["fifo", "python"], help_heading = "How it runs")]
    pub duet: bool,
    /// Do not try whether running both at once scatters less; as two of the first command at once may disturb each other
    #[arg(long, conflicts_with = "duet", help_heading = "How it runs")]
    pub no_duet: bool,
    /// Run each round in an empty directory of another depth; for commands that need no files from here
    #[arg(long, help_heading = "How it runs")]
    pub scatter_directory: bool,
    /// Draw orders and surroundings again as before
    #[arg(long, value_name = "N", help_heading = "How it runs")]
    pub seed: Option<u64>,

    #[command(flatten)]
    pub files: FileArgs,
    #[command(flatten)]
    pub trust: TrustArgs,

    /// A run moves so many bytes: say what share of this machine's limits that is; `prony limits` measures them
    #[arg(long, value_name = "N", value_parser = amount, conflicts_with_all = ["operations", "python"], help_heading = "What comes out")]
    pub bytes: Option<f64>,
    /// A run makes so many operations: say what share of this machine's limits that is
    #[arg(long, value_name = "N", value_parser = amount, conflicts_with = "python", help_heading = "What comes out")]
    pub operations: Option<f64>,
    /// Write all samples here, in pyperf's format
    #[arg(long, value_name = "FILE", help_heading = "What comes out")]
    pub export_json: Option<PathBuf>,
    /// Write them here as `hyperfine --export-json` does
    #[arg(long, value_name = "FILE", help_heading = "What comes out")]
    pub export_hyperfine: Option<PathBuf>,
    /// Write a table in Markdown here
    #[arg(long, value_name = "FILE", help_heading = "What comes out")]
    pub export_markdown: Option<PathBuf>,
    /// Write a table in CSV here
    #[arg(long, value_name = "FILE", help_heading = "What comes out")]
    pub export_csv: Option<PathBuf>,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

const SELFTEST_EXAMPLES: &str = "\
Examples:
  prony selftest
  prony selftest './server --benchmark'     with a command of your own: what is noisy may be the command

Exit codes:
  0  as few false alarms as promised
  2  could not run
  3  more false alarms than --alpha explains: do not trust a verdict here";

/// Compare a command with itself, and say what a comparison here is worth.
#[derive(Debug, Args)]
#[command(after_help = SELFTEST_EXAMPLES)]
pub struct SelftestArgs {
    /// The command; if left out, one that computes for about 20 ms
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
    /// Compare so often
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub comparisons: u32,
    /// Take so long for each comparison
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = duration)]
    pub max_time: Duration,
    /// Claim a difference where there is none in at most so many of all cases
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    pub alpha: f64,
    /// Run on this CPU only
    #[arg(long, value_name = "CPU")]
    pub pin: Option<usize>,
    /// Run under SCHED_FIFO, ahead of all that is not; needs root
    #[arg(long)]
    pub fifo: bool,
    /// Draw orders and surroundings again as before
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// The command that `prony selftest` compares with itself.
#[derive(Debug, Args)]
pub struct WorkArgs {
    /// Steps of integer arithmetic
    pub steps: u64,
}

/// One name in braces, and what takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Without its braces.
    pub name: String,
    /// At least one.
    pub values: Vec<String>,
}

/// Reads `5%`, `0.5 %` or `0.05` as a share.
pub fn percent(text: &str) -> Result<f64, String> {
    let expected = || "expected a percentage between 0 and 100, as 1% or 0.5%".to_owned();
    let number = text.trim().strip_suffix('%').ok_or_else(expected)?;
    let share = number.trim().parse::<f64>().map_err(|_| expected())? / 100.0;
    if share > 0.0 && share < 1.0 { Ok(share) } else { Err(expected()) }
}

/// Reads the name of a metric.
pub fn metric(text: &str) -> Result<Metric, String> {
    Metric::from_name(text).ok_or_else(|| "expected wall, cpu or net".to_owned())
}

fn parameter(text: &str) -> Result<Parameter, String> {
    let expected = || "expected a name and values, as threads=1,2,4".to_owned();
    let (name, values) = text.split_once('=').ok_or_else(expected)?;
    Parameter::new(name, values).ok_or_else(expected)
}

impl Parameter {
    /// `values`: separated by commas; `\,` is a comma in a value, as in hyperfine. `None` without a name or a value.
    pub fn new(name: &str, values: &str) -> Option<Parameter> {
        let mut parts = vec![String::new()];
        let mut letters = values.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' if letters.peek() == Some(&',') => parts.last_mut()?.push(letters.next()?),
                ',' => parts.push(String::new()),
                other => parts.last_mut()?.push(other),
            }
        }
        (!name.is_empty() && !values.is_empty()).then(|| Parameter { name: name.to_owned(), values: parts })
    }
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
