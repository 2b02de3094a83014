//! Flags of the verbs that look at what a study found: `import`, `effects`, `diff` and `history`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::bench::percent;

const IMPORT_EXAMPLES: &str = "\
Examples:
  prony study import results.csv -o DIR
  prony study import results.csv -o DIR --factor Engine --factor Plugins --workload Demo --machine CPU \\
      --value 'Duration, msec' --frames Frames --normalise-to 120000

The first line names the columns; cells are separated by commas, semicolons, tabs or |. Empty cells of what names a row
repeat what stands above. Columns without a flag are guessed by their names, and standard error says how. Rows that are
alike are repeats; a row without a value is a cell that failed.

Exit codes: 0 imported, 2 the table cannot be read: line and column are told.";

/// Make the results of a study of a table that somebody else measured.
#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub struct ImportArgs {
    /// The table
    #[arg(value_name = "TABLE")]
    pub table: PathBuf,
    /// The directory of the study, which is made
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,

    /// A column of levels of something varied on purpose; several times, in order
    #[arg(long, value_name = "COLUMN", help_heading = "What the columns are")]
    pub factor: Vec<String>,
    /// A column that names what was worked on; several together name it
    #[arg(long, value_name = "COLUMN", help_heading = "What the columns are")]
    pub workload: Vec<String>,
    /// The column of machines
    #[arg(long, value_name = "COLUMN", help_heading = "What the columns are")]
    pub machine: Option<String>,
    /// The column of repeats
    #[arg(long, value_name = "COLUMN", help_heading = "What the columns are")]
    pub repeat: Option<String>,
    /// The column of values
    #[arg(long, value_name = "COLUMN", help_heading = "What the columns are")]
    pub value: Option<String>,
    /// The column of amounts of work, by which values are divided
    #[arg(long, value_name = "COLUMN", help_heading = "What the columns are")]
    pub frames: Option<String>,

    /// The unit of the values: s, ms, us, ns, B, kB, MB, or any other name
    #[arg(long, value_name = "UNIT", help_heading = "What the values are")]
    pub unit: Option<String>,
    /// State values for so much work; a round number near the median if left out
    #[arg(long, value_name = "N", value_parser = above_zero, help_heading = "What the values are")]
    pub normalise_to: Option<f64>,
    /// More is better, as for rates
    #[arg(long, conflicts_with = "lower_is_better", help_heading = "What the values are")]
    pub higher_is_better: bool,
    /// Less is better; taken for granted of times and bytes only
    #[arg(long, help_heading = "What the values are")]
    pub lower_is_better: bool,
    /// What the study is called; the name of the table if left out
    #[arg(long, value_name = "TEXT", help_heading = "What the values are")]
    pub title: Option<String>,

    /// Replace the results in DIR if there are any
    #[arg(long)]
    pub force: bool,
    /// Say in JSON what was imported
    #[arg(long)]
    pub json: bool,
}

const EFFECTS_EXAMPLES: &str = "\
Examples:
  prony study effects DIR
  prony study effects DIR --json | jq '.effects[] | select(.factor == \"Engine\")'

Percentages are of speed-up: +91 % is 1.91 times as fast. Cells that differ in one factor and nothing else are compared on
each machine and workload. A machine counts once: usual is the median of machines, the range goes from the least to the
greatest over machines and edges, and the interval is Student's over machines. With one machine, usual and range are over
its workloads, and the interval speaks of these very workloads, over their repeats; without repeats it is over
workloads. An edge is a pair of configurations that differ in that factor only.

Exit codes:
  0  told
  1  told, and the effect of some level cannot be told from others
  2  the study cannot be read
  3  no interval: one machine, one workload and one repeat";

/// Say what each level of each factor does.
#[derive(Debug, Args)]
#[command(after_help = EFFECTS_EXAMPLES)]
pub struct EffectsArgs {
    /// The directory of the study
    #[arg(value_name = "DIR")]
    pub study: PathBuf,
    /// Let intervals miss the truth in so many of all cases
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    pub alpha: f64,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

const DIFF_EXAMPLES: &str = "\
Examples:
  prony study diff old/ new/
  prony study diff old/ new/ --margin 2% --json

Factors, levels, workloads and machines are matched by name. Percentages are of speed-up of the new study. Its cells did
not run among those of the old one. With several machines, what each did between the two is in their spread. With one it
cannot be told from a change: its runs are taken to differ as their blocks do, which takes repeats, and a configuration is
known no better than from one block of each. Effects are compared within blocks, and are free of that.

Exit codes:
  0  faster, or the same within --margin
  1  a configuration, or all together, is slower, or an effect is less
  2  could not compare: another metric, other factors, nothing in common
  3  unclear: the last line says what the machine has to do with it";

/// Say what changed between two runs of a study.
#[derive(Debug, Args)]
#[command(after_help = DIFF_EXAMPLES)]
pub struct DiffArgs {
    /// The directory of the earlier study
    #[arg(value_name = "OLD")]
    pub old: PathBuf,
    /// The directory of the later study
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
    /// Call differences below this the same
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = percent)]
    pub margin: f64,
    /// Claim a difference where there is none in at most so many of all cases
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    pub alpha: f64,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

const HISTORY_EXAMPLES: &str = "\
Examples:
  prony study history results/2026-*
  prony study history a/ b/ c/ --export-github-action-benchmark points.json

The studies come oldest first; each is called by the name of its directory. Where a configuration changes for good is
marked (E-divisive with shuffles): of series without a change at most --alpha have one marked, all configurations together,
when the studies are independent of each other; more when each resembles the last. It takes seven studies or more.

Exit codes:
  0  no configuration changed for the worse at its last change
  1  one did
  2  a study cannot be read, or does not fit to the first";

/// Follow a study over commits.
#[derive(Debug, Args)]
#[command(after_help = HISTORY_EXAMPLES)]
pub struct HistoryArgs {
    /// The directories of the studies, oldest first
    #[arg(value_name = "DIR", required = true)]
    pub studies: Vec<PathBuf>,
    /// Mark a change where there is none in at most so many of all cases
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = percent)]
    pub alpha: f64,
    /// Shuffle again as before
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Write the last study's values for github-action-benchmark
    #[arg(long, value_name = "FILE")]
    pub export_github_action_benchmark: Option<PathBuf>,
    /// Replace the exported file if it exists
    #[arg(long, requires = "export_github_action_benchmark")]
    pub force: bool,
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

fn above_zero(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "expected a number above 0".to_owned())
}
